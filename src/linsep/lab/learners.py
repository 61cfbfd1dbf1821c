"""The estimator of a scene, and the arguments of its run."""

from typing import Any, NamedTuple

import linsep
from linsep.lab.scene import Scene

ESTIMATORS = {
    "perceptron": "Perceptron", "batch": "Perceptron", "margin": "MarginPerceptron",
    "passive-aggressive": "PassiveAggressive", "winnow": "Winnow",
    "balanced-winnow": "BalancedWinnow", "kernel": "KernelPerceptron",
}  # fmt: skip


class Arguments(NamedTuple):
    """What the library is called with.

    ``estimator`` is the name of a class, ``parameters`` are its own, ``start`` the initial weights
    that ``trace`` and ``fit`` take, or nothing.
    """

    estimator: str
    parameters: dict[str, Any]
    start: dict[str, Any]

    def make(self, **more: Any) -> Any:
        """Return the estimator."""
        return getattr(linsep, self.estimator)(**self.parameters | more)


def arguments_of(scene: Scene) -> Arguments:
    """Return what the library is called with to run a scene."""
    learner = scene["learner"]
    chosen: dict[str, Any] = {"max_iter": scene["rounds"], "shuffle": scene["shuffle"]}
    if scene["shuffle"]:
        chosen["random_state"] = scene["seed"]
    if len(set(scene.codes)) > 2:
        chosen["multiclass"] = scene["classes"]
    if learner in ("perceptron", "batch", "margin", "passive-aggressive"):
        chosen["fit_intercept"] = scene["intercept"]
    chosen |= _OWN[learner](scene)
    start: dict[str, Any] = {}
    if any(scene["start"]) and learner not in ("margin", "kernel"):
        vectors = n_vectors(scene)
        b, *w = scene["start"]
        start["coef_init"] = w if vectors == 1 else [w] * vectors
        if scene["intercept"] or learner in ("winnow", "balanced-winnow"):
            start["intercept_init"] = b if vectors == 1 else [b] * vectors
    return Arguments(ESTIMATORS[learner], chosen, start)


def n_vectors(scene: Scene) -> int:
    """Return the number of weight vectors: one of two classes, else one per class or pair."""
    k = len(set(scene.codes))
    if k <= 2:
        return 1
    return k * (k - 1) // 2 if scene["classes"] == "ovo" else k


def _perceptron(scene: Scene) -> dict[str, Any]:
    return {"learning_rate": scene["rate"], "schedule": scene["schedule"]}


def _kernel(scene: Scene) -> dict[str, Any]:
    chosen = {"kernel": scene["kernel"], "gamma": scene["width"]}
    return chosen | ({"degree": scene["degree"]} if scene["kernel"] == "poly" else {})


_OWN = {
    "perceptron": _perceptron,
    "batch": lambda scene: {"update": "batch", **_perceptron(scene)},
    "margin": lambda scene: {"gamma": scene["gamma"] or "auto"},
    "passive-aggressive": lambda scene: {"C": scene["C"]},
    "winnow": lambda scene: {"promotion": scene["promotion"]},
    "balanced-winnow": lambda scene: {"promotion": scene["promotion"]},
    "kernel": _kernel,
}
