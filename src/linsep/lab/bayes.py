"""The room of naive Bayes: a Gaussian for each class, and where their probabilities are equal."""

import warnings
from typing import Any

import numpy as np

from linsep.errors import DataError, SeparationWarning
from linsep.lab.fields import plain
from linsep.lab.scene import Scene
from linsep.naive_bayes import GaussianNaiveBayes
from linsep.teaching.trace.table import short

NEEDS = "Place points of at least two classes: each of them becomes a Gaussian."


def bayes_of(scene: Scene) -> dict[str, Any]:
    """Return the Gaussians of all classes and the probabilities of the points.

    ``weights`` has an intercept and two weights per class: the logarithms of its probability, up
    to a number that all classes share. Deviations are shared too, so that two classes are equally
    probable on a line. The numbers are those of :class:`linsep.GaussianNaiveBayes`.
    """
    present = sorted(set(scene.codes))
    if len(present) < 2:
        raise DataError(NEEDS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SeparationWarning)
        model = GaussianNaiveBayes().fit(scene.X, np.array(scene.codes))
    apart = any(issubclass(one.category, SeparationWarning) for one in caught)
    weights = model.to_logistic(present[0]).weights_
    names, axes = [scene.class_names[code] for code in present], scene.features
    probable = model.predict_proba(scene.X)
    wrong = np.flatnonzero(np.argmax(probable, axis=1) != np.searchsorted(present, scene.codes))
    deviations = np.sqrt(model.variances_)
    return {
        "kind": "bayes",
        "present": present,
        "weights": [[0.0, 0.0, 0.0], *([b, w1, w2] for w1, w2, b in weights.tolist())],
        "means": model.means_.tolist(),
        "deviations": deviations.tolist(),
        "wrong": wrong.tolist(),
        "title": _odds(names, weights[0].tolist(), axes) if len(names) == 2
        else "Each point to the class that is most probable there",
        "sentences": _sentences(len(wrong), len(scene.codes), apart),
        "numbers": [
            *([f"{name}: share", short(float(share))]
              for name, share in zip(names, model.priors_, strict=True)),
            *([f"{name}: mean of {axis}", short(float(mean))]
              for name, means in zip(names, model.means_, strict=True)
              for axis, mean in zip(axes, means, strict=True)),
            *([f"deviation of {axis}", short(float(deviation))]
              for axis, deviation in zip(axes, deviations, strict=True)),
        ],
        "columns": ["point", *axes, "class", *(f"P({name})" for name in names)],
        "rows": [
            [k + 1, x, y, scene.class_names[code], *map(float, probable[k])]
            for k, (x, y, code) in enumerate(scene.points)
        ],
        "assumptions": [], "panels": [],
    }  # fmt: skip


def _odds(names: list[str], weights: list[float], axes: tuple[str, str]) -> str:
    """Return the logarithm of the odds as an equation."""
    *slopes, b = weights
    terms = [f"{'−' if w < 0 else '+'} {short(abs(w))} {axis}"
             for w, axis in zip(slopes, axes, strict=True)]  # fmt: skip
    return f"ln P({names[1]})/P({names[0]}) = {short(b)} {' '.join(terms)}".replace("-", "−")


def _sentences(wrong: int, n: int, apart: bool) -> list[str]:
    said = [
        "Each class is a Gaussian with its own mean, the cross; the ellipses are one and two "
        "standard deviations wide. It is naive: within a class the features are independent, "
        "so that no ellipse is tilted.",
        "The classes share the deviations, so that two of them are equally probable on a line.",
        f"{wrong} of {n} points {'is' if wrong == 1 else 'are'} more probable in another class.",
    ]
    if apart:
        said.append(
            "A feature varies between the classes but within none: its Gaussian has no width, and "
            "is given a tiny one."
        )
    return said


def script_of_bayes(scene: Scene) -> str:
    """Return a script that prints the numbers of the room."""
    X = ", ".join(f"[{plain(x)}, {plain(y)}]" for x, y, _ in scene.points)
    y = [scene.class_names[code] for code in scene.codes]
    return (
        f"from linsep import GaussianNaiveBayes\n\nX = [{X}]\ny = {y!r}\n"
        "model = GaussianNaiveBayes().fit(X, y)\n"
        "print(model.classes_, model.priors_, model.means_, model.variances_ ** 0.5)\n"
        "print(model.equation_)\nprint(model.predict_proba(X))\n"
    )
