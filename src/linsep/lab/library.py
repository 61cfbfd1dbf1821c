"""Proofs that need the whole library: verdicts on many points, and the bounds of all learners."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import linsep
from linsep.errors import LinsepError
from linsep.lab.run import arguments_of, dense_codes
from linsep.lab.scene import Scene
from linsep.lab.verdict import NOVIKOFF, Kinds, Plain, why_unbounded
from linsep.learners.proofs import run_to_come
from linsep.mistake_bounds.bounds import Bound, Bounds, Unknown
from linsep.mistake_bounds.theorems import Case, RunSummary, bounds_of_run, novikoff

#: the remark beside a bound, in place of its source; {passes} of the run
ABOUT = {
    "Novikoff": NOVIKOFF,
    "hinge": "also for overlapping points; {passes}",
    "hinge, sharp": "a sharper form of the hinge bound",
    "8/gamma^2": "updates, for points scaled to length 1",
}
#: a larger (R/margin)² in a kernel's space may come of rounding the features
CLEAR = 1e10
#: most dimensions of a kernel's space in which hinge bounds are computed
MOST_DIMENSIONS = 12
#: relative size below which an eigenvalue of a Gram matrix is treated as zero
ROUNDING = 1e-12


def verdict_on(
    X: Any, codes: Sequence[int], intercept: bool, time_limit: float, margin: bool = True
) -> Plain | Kinds:
    """Return the verdict of :func:`linsep.separation` on points, or on their images."""
    found: Any = linsep.separation(
        np.array(X), np.array(codes), fit_intercept=intercept, margin="max" if margin else None,
        time_limit=time_limit,
    )  # fmt: skip
    if hasattr(found, "against_rest"):
        joint = "undecided" if found.multinomial is None else found.multinomial.kind
        return Kinds(
            [one.kind for one in found.against_rest.values()],
            {(int(a), int(b)): one.kind for (a, b), one in found.pairs.items()}, joint,
        )  # fmt: skip
    if found.kind == "undecided":
        return Plain("undecided", reason=found.reason)
    if found.kind == "separable":
        rows = list(found.support.rows) if margin else []
        weights = [found.intercept[0] if intercept else 0.0, *found.coef[0]]
        return Plain("separable", rows, weights=[*map(float, weights)] if margin else [],
                     margin=found.margin)  # fmt: skip
    total = sum(found.witness.multipliers)
    return Plain(
        found.kind, list(found.witness.rows),
        [Fraction(m, total) for m in found.witness.multipliers],
        boundary=list(found.boundary) if found.kind == "quasi-separable" else [],
    )  # fmt: skip


def bounds_of(scene: Scene, run: dict[str, Any]) -> dict[str, Any]:
    """Return the bounds on the mistakes of a run, or the reason why there is no bound.

    ``bounds`` is a list of name, value, what is counted and a remark; ``unbounded`` is the reason
    if it is empty; ``widest`` has the terms of ||w||/M, None if it bounds no margin.
    """
    passes, codes = run["pass"][-1], np.array(dense_codes(scene))
    if scene["learner"] == "kernel":
        return of_kernel_run(scene, passes, codes)
    estimator = arguments_of(scene).make()
    summary, obstacle = run_to_come(estimator, passes)
    why = why_unbounded(scene, estimator.get_params(deep=False), obstacle)
    if why:
        return {"bounds": [], "unbounded": why, "widest": None}
    try:
        found = bounds_of_run(summary, scene.X, codes, np.unique(codes))
    except (ValueError, LinsepError) as problem:
        return {"bounds": [], "unbounded": str(problem), "widest": None}
    widest = None
    if hasattr(estimator, "learning_rate") and len(set(scene.codes)) == 2:
        widest = {"rate": scene["rate"], "intercept": scene["intercept"],
                  "margin": found.margin[0] if found.margin else None}  # fmt: skip
    return listed_bounds(found, passes) | {"widest": widest}


def listed_bounds(found: Bounds, passes: int) -> dict[str, Any]:
    """Return bounds as the page shows them, or the reason why there is no bound."""
    many = f"{passes:,} pass{'' if passes == 1 else 'es'}"
    reason = next(iter(found.left_out.values()), "no theorem applies")
    return {
        "bounds": [
            {"name": bound.name, "value": float(bound.value), "what": bound.what,
             "about": remark_on(bound, many)}
            for bound in found.bounds
        ],
        "unbounded": "" if found.bounds else f"No bound: {reason}.",
    }  # fmt: skip


def remark_on(bound: Bound, passes: str) -> str:
    """Return the remark beside a bound: its source, and the passes."""
    if bound.name in ABOUT:
        return ABOUT[bound.name].format(passes=passes)
    return "; ".join([bound.source, *[passes] * bool(bound.by_pass)])


def of_kernel_run(scene: Scene, passes: int, codes: np.ndarray) -> dict[str, Any]:
    """Return the bounds in the space of the kernel: Novikoff's, or if nothing separates, hinges.

    The rows are features whose products are the Gram matrix. Hinge bounds need a program in as many
    dimensions, which takes too long in many.
    """
    # The theorems about the perceptron hold in that space.
    learner = linsep.Perceptron(fit_intercept=False)
    summary = RunSummary(learner, scene["classes"], fit_intercept=False, passes=passes)
    features = features_of(gram_of(scene))
    case = Case(summary, features, codes, int(codes.max()) + 1, None)
    try:
        value = novikoff(case.problems)
    except Unknown:
        value = np.inf
    if value < CLEAR:
        bounds = [{"name": "Novikoff", "value": value, "what": "mistakes",
                   "about": ABOUT["Novikoff"]}]  # fmt: skip
        found: dict[str, Any] = {"bounds": bounds, "unbounded": ""}
    elif case.problems[0].A.shape[1] <= MOST_DIMENSIONS:
        found = listed_bounds(bounds_of_run(summary, features, codes, np.unique(codes)), passes)
        found["bounds"] = [bound for bound in found["bounds"] if bound["name"] != "Novikoff"]
    else:
        found = {"bounds": [], "unbounded": "No bound: no curve clearly separates the classes, and "
                 "other bounds are computed only for kernels of few dimensions."}  # fmt: skip
    for bound in found["bounds"][:1]:
        bound["about"] += ", in the feature space of the kernel"
    return found | {"widest": None}


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
