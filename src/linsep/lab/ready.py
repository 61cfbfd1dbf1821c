"""Ready-made points: the worked examples of the lecture notes, and other shapes."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linsep import datasets

Points = tuple[Any, Any, tuple[str, ...], tuple[str, str]]
XY = ("x1", "x2")


class Ready(NamedTuple):
    """A ready-made scene: group, title, the function that returns its points, and settings."""

    group: str
    title: str
    make: Callable[[], Points]
    settings: dict[str, Any]


def _signs(load: Callable[..., Any], labels: tuple[str, ...] = ()) -> Points:
    """Return the points of a data set whose second class is 1."""
    X, y = load(return_X_y=True)
    return X, (y == 1).astype(int), labels, XY


def _clouds(gap: float, n: int = 40, seed: int = 3) -> Points:
    """Return two clouds whose centers are ``gap`` apart."""
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1], n // 2)
    centers = np.array([[-gap / 2, -gap / 4], [gap / 2, gap / 4]])
    return rng.normal(centers[codes], 0.8), codes, (), XY


def _outlier() -> Points:
    X, codes, labels, features = _clouds(5.0, 30, 5)
    return np.vstack([X, [[3.4, 1.6]]]), np.append(codes, 0), labels, features


def _four_clouds() -> Points:
    rng = np.random.default_rng(8)
    codes = np.repeat(np.arange(4), 12)
    centers = np.array([[-2.0, -2.0], [2.5, -1.5], [-2.0, 2.0], [2.0, 2.5]])
    return rng.normal(centers[codes], 0.55), codes, (), XY


def _sampled(shape: str, **how: float) -> Points:
    import sklearn.datasets

    return *getattr(sklearn.datasets, shape)(60, random_state=0, **how), (), XY


def _iris(*species: int, columns: tuple[int, int] = (2, 3)) -> Points:
    """Return two columns of these species, by default of petals."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    rows = np.isin(iris.target, species)
    codes = np.searchsorted(species, iris.target[rows])
    names = tuple(str(iris.target_names[k]) for k in species)
    first, second = (iris.feature_names[j].removesuffix(" (cm)") for j in columns)
    return iris.data[rows][:, columns], codes, names, (first, second)


def _regression(load: Callable[..., Any], *names: str) -> Points:
    X, y = load(return_X_y=True)
    return np.column_stack([X, y]), np.zeros(len(y), int), (), (names[0], names[1])


def _nothing() -> Points:
    return np.empty((0, 2)), np.empty(0, int), (), ("x", "y")


def _hours(gap: float) -> Points:
    """Return 20 exams, failed or passed after some hours of work."""
    rng = np.random.default_rng(4)
    hours = np.concatenate([rng.normal(3.0, 1.2, 10), rng.normal(3.0 + gap, 1.2, 10)])
    codes = np.repeat([0, 1], 10)
    return np.column_stack([np.abs(hours), codes]), codes, ("fail", "pass"), ("hours", "P")


def _first_steps() -> Points:
    """Return five points that a perceptron separates in four mistakes, all of them visible."""
    X = np.array([[-1, -3], [2, -2], [-2, 3], [-4, 0], [4, 3]])
    return X, np.array([0, 0, 1, 1, 1]), (), XY


_THROUGH_ZERO = {"intercept": False}
_ALL_IRIS = {"shuffle": True, "rounds": 1000}
_NOTES, _SHAPES, _IRIS = "Worked examples", "Shapes", "Iris"
_LINES, _DESCENT = "Lines, curves, Gaussians", "Descent"
READY = {
    "first-steps": Ready(_SHAPES, "Five points, easy", _first_steps, {}),
    "five-points": Ready(
        _NOTES, "Five points, separable", partial(_signs, datasets.load_five_points),
        {"start": (-1.0, 0.0, 0.0)},
    ),
    "four-points": Ready(
        _NOTES, "Four points, a line through 0", partial(_signs, datasets.load_four_points),
        _THROUGH_ZERO,
    ),
    "xor": Ready(
        _NOTES, "Exclusive or", partial(_signs, datasets.load_exclusive_or), _THROUGH_ZERO
    ),
    "inseparable": Ready(
        _NOTES, "Five points, not separable",
        partial(_signs, datasets.load_inseparable_points, ("2", "1")), {"start": (1.0, 1.0, 1.0)},
    ),
    "clouds": Ready(_SHAPES, "Two clouds", partial(_clouds, 4.6), {}),
    "almost": Ready(_SHAPES, "Barely separable", partial(_clouds, 2.6), {"rounds": 1000}),
    "nearly": Ready(_SHAPES, "Almost separable", partial(_clouds, 2.8, seed=23), {"rounds": 1000}),
    "outlier": Ready(_SHAPES, "One outlier", _outlier, {"rounds": 1000}),
    "200-points": Ready(
        _SHAPES, "200 points, close together", partial(_clouds, 4.4, 200, 11), {"shuffle": True}
    ),
    "moons": Ready(
        _SHAPES, "Two moons", partial(_sampled, "make_moons", noise=0.12),
        {"learner": "kernel", "width": 2.0},
    ),
    "circles": Ready(
        _SHAPES, "Two circles", partial(_sampled, "make_circles", noise=0.08, factor=0.4),
        {"learner": "kernel", "kernel": "poly"},
    ),
    "four-clouds": Ready(_SHAPES, "Four clouds", _four_clouds, {"classes": "ovr"}),
    "iris-easy": Ready(_IRIS, "Setosa, versicolor", partial(_iris, 0, 1), {}),
    "iris-hard": Ready(_IRIS, "Versicolor, virginica", partial(_iris, 1, 2), {"rounds": 1000}),
    "iris": Ready(_IRIS, "Petal length, petal width", partial(_iris, 0, 1, 2), _ALL_IRIS),
    **{
        f"iris-{first}-{second}".replace(" ", "-"): Ready(
            _IRIS, f"{first.capitalize()}, {second}", partial(_iris, 0, 1, 2, columns=columns),
            _ALL_IRIS,
        )
        for first, second, columns in (
            ("sepal length", "sepal width", (0, 1)), ("sepal length", "petal length", (0, 2)),
            ("sepal length", "petal width", (0, 3)), ("sepal width", "petal length", (1, 2)),
            ("sepal width", "petal width", (1, 3)),
        )
    },
    "worked-line": Ready(
        _LINES, "Line: five points", partial(_regression, datasets.load_line, "x", "y"),
        {"room": "line"},
    ),
    "blood-pressure": Ready(
        _LINES, "Line: age and blood pressure",
        partial(_regression, datasets.load_blood_pressure, "age", "pressure"), {"room": "line"},
    ),
    "hours": Ready(_LINES, "Curve: hours and an exam", partial(_hours, 2.2), {"room": "curve"}),
    "hours-apart": Ready(
        _LINES, "Curve: an exam, separated", partial(_hours, 7.0), {"room": "curve"}
    ),
    "bayes-iris": Ready(_LINES, "Bayes: iris", partial(_iris, 0, 1, 2), {"room": "bayes"}),
    "descent": Ready(_DESCENT, "Narrow valley", _nothing, {"room": "descent", "eta": 0.09}),
    "descent-minima": Ready(
        _DESCENT, "Two minima", _nothing,
        {"room": "descent", "surface": "two-minima", "from": (0.2, 1.2), "eta": 0.1},
    ),
    "descent-line": Ready(
        _DESCENT, "Line of blood pressure",
        partial(_regression, datasets.load_blood_pressure, "age", "pressure"),
        {"room": "descent", "surface": "squared-error", "from": (0.0, 0.0), "eta": 1e-5},
    ),
}  # fmt: skip
FIRST = "first-steps"
