"""What the lab answers about random scenes, and whether Python elsewhere answers the same."""

from math import isclose

from linsep.lab.answer import answer
from linsep.lab.pages import plain_scene
from linsep.lab.verdict import NO_BOUND
from scenes import random_scenes

#: learners whose rules have sums, products and quotients only
RATIONAL = {"perceptron", "batch", "passive-aggressive", "arow"}
#: relative differences: of twelve digits, and of the six that a table shows
TWELVE, SHOWN, TINY = 1e-12, 1e-5, 1e-288
KINDS = "scene", "proof", "table", "script", "certificate"


def messages(count, seed=0, most=60):
    """What a page asks about random scenes, each with whether the rule is rational."""
    found = []
    for scene in random_scenes(count, seed, most):
        rational = scene["learner"] in RATIONAL and scene["schedule"] != "inverse_sqrt"
        for kind in KINDS:
            asked = {"kind": kind, "number": len(found), "scene": plain_scene(scene)["scene"]}
            found.append((rational, asked | ({"format": "csv"} if kind == "table" else {})))
    return found


def differences(rational, asked, found):
    """Where another answer is not that of the server, as paths; rational rules have the same bits,
    others twelve digits.
    """
    want = answer(asked)
    if asked["kind"] == "proof" and "proof" in want:
        return list(of_proofs(want["proof"], found["proof"]))
    if asked["kind"] == "table" and not rational:
        want, found = ({**one, "text": [float_or(cell) for line in one.get("text", "").splitlines()
                        for cell in line.split(",")]} for one in (want, found))  # fmt: skip
        return list(unequal(SHOWN, want, found))
    return list(unequal(0.0 if rational else TWELVE, want, found))


def float_or(cell):
    try:
        return float(cell)
    except ValueError:
        return cell


def of_proofs(want, found):
    """Yield where proofs differ: on the page some things are not known, and it says so. Verdicts
    are exact whatever the rule.
    """
    for name in ("verdict", "kernel"):
        if found[name] is None or found[name]["kind"] != "undecided":
            yield from unequal(0.0, want[name], found[name], name)
        else:
            assert found[name]["title"] == "Not known"
    mine, theirs = ({b["name"]: b for b in proof["bounds"]} for proof in (want, found))
    for name, bound in theirs.items():
        yield from unequal(TWELVE, mine[name], bound, name)
    if not theirs and found["unbounded"] != NO_BOUND:
        yield from unequal(TWELVE, want["unbounded"], found["unbounded"], "unbounded")
    if theirs:
        yield from unequal(TWELVE, want["widest"], found["widest"], "widest")


def unequal(tolerance, want, found, path=""):
    """Yield the paths at which plain data differ, numbers by more than a relative tolerance."""
    if isinstance(want, dict) and isinstance(found, dict) and want.keys() == found.keys():
        for name, value in want.items():
            yield from unequal(tolerance, value, found[name], f"{path}.{name}")
    elif isinstance(want, list | tuple) and isinstance(found, list | tuple):
        if len(want) != len(found):
            yield f"{path}: {len(want)} and {len(found)}"
        for k, pair in enumerate(zip(want, found, strict=False)):
            yield from unequal(tolerance, *pair, f"{path}[{k}]")
    elif isinstance(want, float | int) and isinstance(found, float | int):
        if want != found and not isclose(want, found, rel_tol=tolerance, abs_tol=tolerance * TINY):
            yield f"{path}: {want!r} and {found!r}"
    elif want != found:
        yield f"{path}: {want!r:.300} and {found!r:.300}"
