"""Every leaf of every kind of certificate, edited in every way: refused, or still a true proof."""

import copy
import json
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from sklearn.datasets import load_iris

from command_line import here
from linsep import Perceptron, from_json, separation
from linsep.errors import DataError
from linsep.theory.verdicts import Separations

IRIS = load_iris(return_X_y=True)
QUASI = np.array([[1.0, 2], [2, 0], [3, 1], [3, 1], [4, 1]]), np.array([0, 0, 0, 1, 1])
XOR = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]), np.array([1, 0, 0, 1])
LONG = np.array([[2**62 + 1], [2**62 + 3], [2**62 + 4]]), np.array([0, 0, 1])
THREE = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [2, 2], [2, 1]]), np.array([0, 0, 1, 1, 2, 2])
DATA = {
    "separable": (IRIS[0][:100:9], IRIS[1][:100:9]),
    "long weights": LONG,
    "quasi-separable": QUASI,
    "overlapping": XOR,
    "several": THREE,
}
WRONG = [None, True, -1, 0, 1, 2, 0.5, -0.5, 1e308, 10**400, "", "x", "0x0", "-0x1", "0x3", "1/0"]
WRONG += [
    "0x1/0x0",
    "0x2/0x3",
    "inf",
    "nan",
    [],
    [1],
    {},
    {"0": "0x1/0x1"},
    float("nan"),
    float("inf"),
]
WRONG += ["0x" + "f" * 3000, [[[[[]]]]]]


def places(plain, path=()):
    """The path of everything inside a JSON value."""
    yield path
    if isinstance(plain, dict | list):
        for key, child in plain.items() if isinstance(plain, dict) else enumerate(plain):
            yield from places(child, (*path, key))


def edited(plain, path, change):
    """A copy in which ``change(container, key)`` has happened at a path."""
    result = copy.deepcopy(plain)
    at = result
    for key in path[:-1]:
        at = at[key]
    change(at, path[-1])
    return result


def value_at(plain, path):
    for key in path:
        plain = plain[key]
    return plain


def nearby(value):
    """Values of the same type that mean something else."""
    if type(value) is int:
        return [value + 1, value - 1, -value, value * 2**70]
    if type(value) is float:
        return [value * 1.5, -value, np.nextafter(value, np.inf), value * 1e-3]
    if isinstance(value, str) and "0x" in value and "/" not in value:
        return [hex(int(value, 16) + 1), hex(-int(value, 16)), hex(int(value, 16) << 5000)]
    if isinstance(value, str) and "/" in value:
        above, below = value.split("/")
        return [hex(int(above, 16) + 1) + "/" + below, above + "/" + hex(int(below, 16) + 1)]
    if isinstance(value, list) and value:
        return [value[1:], value[:-1], value[::-1], value * 2, [*value, value[0]]]
    if isinstance(value, dict) and value:
        first, *rest = value.items()
        return [
            dict(rest),
            {**value, "new": 1},
            {"x": first[1], **dict(rest)},
            {"7": first[1], **value},
        ]
    return []


def edits(plain):
    for path in places(plain):
        if not path:
            continue
        was = value_at(plain, path)
        for value in [*WRONG, *nearby(was)]:
            yield edited(plain, path, lambda at, key, value=value: at.__setitem__(key, value))
        yield edited(plain, path, lambda at, key: at.__delitem__(key))


def is_true(verdict, X, y):
    """Whether a verdict says the truth, told without the library."""
    subject = verdict.subject
    signs = np.where(np.isin(y, subject.positive), 1, np.where(np.isin(y, subject.negative), -1, 0))
    rows = [
        [int(s) * Fraction(v) for v in [*row, *([1] if subject.fit_intercept else [])]]
        for row, s in zip(X.tolist(), signs.tolist(), strict=True)
        if s
    ]
    if verdict.kind != "separable":
        return True  # the kind is compared with the one that is known
    w = [*verdict.coef[0], *(verdict.intercept if subject.fit_intercept else [])]
    w = [Fraction(x) for x in w]
    low = min(sum(a * b for a, b in zip(row, w, strict=True)) for row in rows)
    square = sum(x * x for x in w[: X.shape[1]])
    return low > 0 and low**2 >= Fraction(verdict.margin[0]) ** 2 * square


def parts(claim):
    return claim.verdicts() if isinstance(claim, Separations) else [claim]


def same_claims(claim, known, X, y):
    """Whether what an edited certificate that holds claims is among what is known."""
    ours = {}
    for v in parts(known):
        ours.setdefault(sides(v)[::-1], v)
    ours |= {sides(v): v for v in parts(known)}
    return all(same_claim(v, ours[sides(v)], X, y) for v in parts(claim))


def sides(verdict):
    return frozenset(verdict.subject.positive), frozenset(verdict.subject.negative)


def same_claim(verdict, known, X, y):
    but = {"names": None, "positive": (), "negative": ()}
    if replace(verdict.subject, **but) != replace(known.subject, **but):
        return False
    if verdict.kind != known.kind:
        return False
    if verdict.kind == "quasi-separable":
        limits, ours = verdict.limits(), known.limits()
        # without the evidence of a sign none is claimed
        weaker = {"+inf": "infinite", "-inf": "infinite"}
        same = all(word in (ours[j], weaker.get(ours[j])) for j, word in limits.items())
        return verdict.boundary == known.boundary and limits.keys() == ours.keys() and same
    if verdict.kind == "separable" and not verdict.subject.multinomial:
        return is_true(verdict, X, y) and verdict.margin[1] >= known.margin[0] * (1 - 1e-9)
    return True


@pytest.mark.parametrize("name", DATA)
def test_edited_verdicts_are_refused_or_true(name):
    X, y = DATA[name]
    verdict = separation(X, y, margin="max")
    plain = json.loads(verdict.to_json())
    counts = {"read": 0, "refused": 0, "true": 0}
    step = 5 if name == "several" else 1  # of seven verdicts alike
    for one in islice(edits(plain), 0, None, step):
        try:
            claim = from_json(json.dumps(one))
        except DataError:
            counts["read"] += 1
            continue
        check = claim.verify(X, y, exact=True)
        if check:
            assert str(claim)
            assert same_claims(claim, verdict, X, y), one
            counts["true"] += 1
        else:
            assert check.reason.startswith("It does not hold: ")
            assert check.reason.endswith(".")
            counts["refused"] += 1
        assert isinstance(bool(claim.verify(X, y)), bool)
    assert counts["read"] > 100
    assert counts["refused"] > 20


def test_edited_cycles_are_refused_or_true():
    X, y = XOR
    cycle = Perceptron(fit_intercept=False, shuffle=False).fit(X, y).cycle_
    assert cycle.verify(X, y)
    refused = 0
    for one in edits(json.loads(cycle.to_json())):
        try:
            claim = from_json(json.dumps(one))
        except DataError:
            refused += 1
            continue
        check = claim.verify(X, y)
        if not check:
            assert check.reason.startswith("It does not hold: ")
            refused += 1
        else:  # other numbers of the passes, or multiples of the weights, cycle as well
            assert claim.again > claim.first
    assert refused > 100


def test_deep_nesting_and_long_decimals_are_one_sentence():
    for text in ("[" * 100_000, '{"format": ' * 5_000, "1" * 5_000, b"\xff\xfe", b"", "null", "[]"):
        with pytest.raises(DataError) as refusal:
            from_json(text)
        assert str(refusal.value).count("\n") == 0


def test_the_command_line_tells_refusals_from_errors(tmp_path):
    lines = ["a,b,label", *(f"{a},{b},{t}" for (a, b), t in zip(*XOR, strict=True))]
    (tmp_path / "xor.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "other.csv").write_text("\n".join([*lines[:-1], "-1,-1,0"]) + "\n")
    proof, data = str(tmp_path / "proof.json"), str(tmp_path / "xor.csv")
    assert (
        here("separate", data, "--target", "label", "--proof", proof, cwd=tmp_path).returncode == 0
    )
    assert here("verify", proof, data, cwd=tmp_path).returncode == 0
    other = here("verify", proof, str(tmp_path / "other.csv"), cwd=tmp_path)
    assert other.returncode == 1
    assert "does not hold" in other.stdout + other.stderr
    text = (tmp_path / "proof.json").read_text()
    for bad in (text[:-20], text.replace("overlapping", "separable"), "", "[[[", "1" * 5_000):
        (tmp_path / "bad.json").write_text(bad)
        result = here("verify", str(tmp_path / "bad.json"), data, cwd=tmp_path)
        assert result.returncode not in (0,), bad
        assert "Traceback" not in result.stderr
    assert here("verify", str(tmp_path / "none.json"), data, cwd=tmp_path).returncode == 1
