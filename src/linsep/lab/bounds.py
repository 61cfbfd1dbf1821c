"""The mistakes of a run against the theorems that bound them."""

from typing import Any

import numpy as np

from linsep.errors import LinsepError
from linsep.lab.run import dense_codes
from linsep.lab.scene import Scene
from linsep.mistake_bounds import theorems
from linsep.mistake_bounds.bounding import Case, RunSummary, bounds_of_run
from linsep.mistake_bounds.bounds import Bounds, Unknown

#: what is said beside a bound; {passes} are those of the run
ABOUT = {
    "Novikoff": "(R/margin)², for any number of passes",
    "hinge": "for points that overlap too; {passes}",
    "hinge, sharp": "the same proof, without its last estimate",
    "squared hinge": "Freund and Schapire 1999",
    "8/gamma^2": "updates, of points scaled to length 1",
    "passive-aggressive": "wrong predictions; Crammer et al. 2006; {passes}",
    "disjunction": "Littlestone 1988",
    "L1 margin": "Grove, Littlestone and Schuurmans 2001",
}
#: a larger (R/margin)² in a kernel's space may come of rounding the features
CLEAR = 1e10
#: most dimensions of a kernel's space in which hinge bounds are computed
MOST_DIMENSIONS = 12
#: relative size of an eigenvalue of a Gram matrix that counts as zero
ROUNDING = 1e-12


def bounds_of(scene: Scene, run: dict[str, Any]) -> dict[str, Any]:
    """Return the bounds on the mistakes of a run, or why none is stated.

    ``bounds`` is a list of name, value, what is counted and a remark, ``unbounded`` says why it is
    empty; ``widest`` has what ||w||/M is computed from, None if it bounds no margin.
    """
    passes = run["pass"][-1]
    why = why_unbounded(scene)
    if why:
        return {"bounds": [], "unbounded": why, "widest": None}
    summary = summary_of(scene, passes)
    codes = np.array(dense_codes(scene))
    if scene["learner"] == "kernel":
        return of_kernel_run(scene, summary, codes)
    try:
        found = bounds_of_run(summary, scene.X, codes, np.unique(codes))
    except (ValueError, LinsepError) as problem:
        return {"bounds": [], "unbounded": str(problem), "widest": None}
    widest = None
    if scene["learner"] == "perceptron" and len(set(scene.codes)) == 2:
        widest = {"rate": scene["rate"], "intercept": scene["intercept"],
                  "margin": found.margin[0] if found.margin else None}  # fmt: skip
    return listed_bounds(found, passes) | {"widest": widest}


def listed_bounds(found: Bounds, passes: int) -> dict[str, Any]:
    """Return bounds as the page shows them, or why there is none."""
    many = f"{passes:,} pass{'' if passes == 1 else 'es'}"
    reason = next(iter(found.left_out.values()), "no theorem is about it")
    return {
        "bounds": [
            {"name": bound.name, "value": float(bound.value), "what": bound.what,
             "about": ABOUT.get(bound.name, "").format(passes=many)}
            for bound in found.bounds
        ],
        "unbounded": "" if found.bounds else f"No bound: {reason}.",
    }  # fmt: skip


def of_kernel_run(scene: Scene, summary: RunSummary, codes: np.ndarray) -> dict[str, Any]:
    """Return the bounds in the space of the kernel: Novikoff's, or if nothing separates, hinges.

    The rows are features whose products are the Gram matrix. Hinge bounds need a program in as many
    dimensions, which takes too long in many.
    """
    features = features_of(gram_of(scene))
    case = Case(summary, features, codes, int(codes.max()) + 1, None)
    try:
        value = theorems.novikoff(case.problems)
    except Unknown:
        value = np.inf
    if value < CLEAR:
        bounds = [{"name": "Novikoff", "value": value, "what": "mistakes",
                   "about": ABOUT["Novikoff"]}]  # fmt: skip
        found: dict[str, Any] = {"bounds": bounds, "unbounded": ""}
    elif case.problems[0].A.shape[1] <= MOST_DIMENSIONS:
        found = listed_bounds(
            bounds_of_run(summary, features, codes, np.unique(codes)), summary.passes
        )
        found["bounds"] = [bound for bound in found["bounds"] if bound["name"] != "Novikoff"]
    else:
        found = {"bounds": [], "unbounded": "No bound: no curve separates the classes clearly, and "
                 "other bounds are computed here in a space of few dimensions only."}  # fmt: skip
    for bound in found["bounds"][:1]:
        bound["about"] += ", in the space of the kernel"
    return found | {"widest": None}


def summary_of(scene: Scene, passes: int) -> RunSummary:
    """Return what the theorems need to know of a run."""
    learner, promotion = scene["learner"], scene["promotion"]
    name, numbers = {
        "perceptron": ("perceptron", {}),
        "kernel": ("perceptron", {}),
        "margin": ("margin", {"gamma": scene["gamma"], "epsilon": 0.5}),
        "passive-aggressive": ("pa", {"C": scene["C"], "soft": 0.0}),
        "winnow": ("winnow", {"promotion": promotion, "threshold": None}),
        "balanced-winnow": ("balanced-winnow", {"promotion": promotion, "threshold": 0.0}),
    }[learner]
    intercept = learner == "balanced-winnow" or (
        scene["intercept"] and learner not in ("winnow", "kernel")
    )
    return RunSummary(
        name, {**numbers, "literals": None, "majority": 1}, scene["classes"], intercept,
        passes=passes,
    )  # fmt: skip


def why_unbounded(scene: Scene) -> str:
    """Return why no bound is stated for a scene, "" if one is."""
    learner = scene["learner"]
    if learner == "batch":
        return (
            "No bound: the theorems are about rules that correct one point at a time, and the "
            "batch rule corrects all of them at once."
        )
    if learner == "margin" and not scene["gamma"]:
        return "No bound: 8/gamma² needs a target margin, and here each run chooses its own."
    if learner == "passive-aggressive" and scene["intercept"]:
        return (
            "No bound with an intercept: the theorem is about updates whose length is that of the "
            "features alone."
        )
    if any(scene["start"]) and learner not in ("margin", "kernel"):
        return "No bound: the theorems are about runs that start at 0, and this one does not."
    if learner == "perceptron" and scene["schedule"] != "constant":
        return "No bound: the theorems are about a constant learning rate."
    return ""


def gram_of(scene: Scene) -> np.ndarray:
    """Return the Gram matrix of a scene's kernel, without compiling anything."""
    X, width = scene.X, scene["width"]
    if scene["kernel"] == "rbf":
        return np.exp(-width * ((X[:, None] - X) ** 2).sum(axis=2))
    return (width * (X @ X.T) + 1.0) ** scene["degree"]


def features_of(K: np.ndarray) -> np.ndarray:
    """Return rows whose products are a Gram matrix, up to rounding."""
    values, vectors = np.linalg.eigh(K)
    kept = values > ROUNDING * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])
