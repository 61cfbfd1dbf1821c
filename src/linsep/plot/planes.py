"""The plane in which rows are drawn: two features, or two directions of many."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from linsep.errors import DataError, hint, refuse
from linsep.estimators.labels import feature_names, listed
from linsep.parameters import fitted_parameter
from linsep.plot.display import limits, wrapped
from linsep.validation.checks import faults_named
from linsep.words import counted

#: end of the names of features that a recipe has standardized
STANDARDIZED = " (standardized)"


class Plane(NamedTuple):
    """A plane in the space of the features: ``origin + s * across + t * up``.

    ``title`` describes how it was chosen if rows lie outside of it, else it is empty.
    """

    origin: np.ndarray
    across: np.ndarray
    up: np.ndarray
    names: tuple[str, str]
    title: str

    def coordinates(self, X: Any) -> np.ndarray:
        """Return the coordinates (s, t) of rows, shape (rows, 2)."""
        axes = np.column_stack([self.across, self.up])
        return np.asarray(X @ axes) - self.origin @ axes

    def points(self, places: np.ndarray) -> np.ndarray:
        """Return the rows at these coordinates, shape (points, features)."""
        return self.origin + places[:, :1] * self.across + places[:, 1:] * self.up

    def line(self, normal: np.ndarray, offset: float) -> tuple[np.ndarray, float]:
        """Return the normal and offset, in coordinates (s, t), of the line of zero scores."""
        within = np.array([normal @ self.across, normal @ self.up])
        return within, float(normal @ self.origin + offset)


def numbers_of(X: Any) -> Any:
    """Return X as a finite array or CSR matrix of float64; ValueError for anything else."""
    with faults_named(X):
        return check_array(X, accept_sparse="csr", dtype=np.float64)


def names_of(X: Any, n: int, model: Any = None) -> list[str]:
    """Return the names of a data frame's columns, else of a model's features, else x0, x1, ..."""
    if hasattr(X, "columns"):
        return [str(column) for column in X.columns]
    if getattr(model, "n_features_in_", None) == n:
        return said_of(model, feature_names(model))
    return [f"x{j}" for j in range(n)]


def said_of(model: Any, names: Sequence[str]) -> list[str]:
    scaled = len(getattr(model, "recipe_", {}).get("scale") or ())  # the first features
    return [f"{name}{STANDARDIZED * (k < scaled)}" for k, name in enumerate(names)]


def in_units(names: Sequence[str], across: str, up: str) -> tuple[str, str]:
    said = STANDARDIZED if any(name.endswith(STANDARDIZED) for name in names) else ""
    return across + said, up + said


def weight_of(name: str) -> str:
    return name if name == "intercept" else f"weight of {name}"


def frame_like(X: Any, rows: np.ndarray) -> Any:
    """Return rows as a data frame if X is one, because estimators compare names."""
    if not hasattr(X, "columns"):
        return rows
    return type(X)(dict(zip(X.columns, rows.T, strict=True)))


def plane_of(model: Any, X: Any, features: Sequence[int | str] | None) -> Plane:
    """Return the plane in which to draw a classifier and the rows of X.

    It is of two features, the only ones or those given; else of the weights of a linear classifier
    (of several classes, where they vary most); else of the directions in which rows vary most.
    """
    d, names = X.shape[1], names_of(X, X.shape[1], model)
    if features is not None or d == 2:
        return plane_through(names, X, features)
    refuse(DataError, (
        d == 1,
        "A plane needs two features, but there is one: draw a line with AugmentationDisplay or "
        "`linsep plot augmentation`.", "unsupported", None,
    ))  # fmt: skip
    if (normal := normal_of(model)) is not None:
        return plane_along(normal, X, names)
    coef = _weights(model)
    if len(coef) > 1:
        about = f"{d:,} features, projected onto the plane in which weights of classes vary most"
        plane = plane_of_span(coef - coef.mean(axis=0), mean_of(X), X, about)
        return plane._replace(names=in_units(names, *plane.names))
    return Plane(
        mean_of(X), *completed([], X), in_units(names, "first component", "second component"),
        f"{d:,} features, projected on their two principal components",
    )  # fmt: skip


def plane_through(
    names: Sequence[str], X: Any, features: Sequence[int | str] | None = None
) -> Plane:
    """Return the plane of two features, the others fixed at their means."""
    known = list(names)
    first, second = (0, 1) if features is None else _two_positions(features, known)
    axes, origin = np.eye(len(known)), mean_of(X)
    origin[[first, second]] = 0.0
    about = others_fixed(len(known) - 2)
    return Plane(origin, axes[first], axes[second], (known[first], known[second]), about)


def plane_along(normal: np.ndarray, X: Any, names: Sequence[str]) -> Plane:
    """Return the plane of a normal vector and the orthogonal direction in which rows vary most."""
    across = normal / np.abs(normal).max()
    across /= np.linalg.norm(across)
    return Plane(
        mean_of(X), *completed([across], X),
        in_units(names, "distance along w", "widest direction"),
        f"{X.shape[1]:,} features, projected on w and the widest direction orthogonal to it",
    )  # fmt: skip


def plane_of_span(vectors: np.ndarray, origin: np.ndarray, X: Any, said: str) -> Plane:
    """Return the plane in which vectors are longest, completed by the widest directions of X."""
    _, sizes, directions = np.linalg.svd(vectors, full_matrices=False)
    found = list(directions[:2][sizes[:2] > 1e-9 * sizes[0]])
    return Plane(origin, *completed(found, X), ("first direction", "second direction"), said)


def dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def mean_of(X: Any) -> np.ndarray:
    return np.asarray(X.mean(axis=0)).ravel()


def grid_around(
    points: np.ndarray, n: int, share: float = 0.08
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return ``n`` coordinates in each direction, and the points of their grid, row by row."""
    axes = [np.linspace(*limits(column, share), n) for column in points.T]
    return axes, np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))


def box_around(points: np.ndarray, share: float = 0.12) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of both axes around points: a square, unless one side is far longer."""
    ends = np.array([limits(axis, share) for axis in points.T])
    if same_scale(*ends):
        middle, half = ends.mean(axis=1), np.ptp(ends, axis=1).max() / 2
        ends = np.column_stack([middle - half, middle + half])
    return ends[0], ends[1]


def same_scale(xs: np.ndarray, ys: np.ndarray) -> bool:
    """Whether axes with these limits can have equal scales, which preserve right angles."""
    return bool(1 / 3 < np.ptp(xs) / np.ptp(ys) < 3)


def show_plane(ax: Any, names: Sequence[str], xs: np.ndarray, ys: np.ndarray) -> None:
    ax.set(xlabel=wrapped(names[0]), ylabel=wrapped(names[1]))
    ax.set(xlim=(xs[0], xs[-1]), ylim=(ys[0], ys[-1]))
    if same_scale(xs, ys):
        ax.set_aspect("equal")


def line_ends(
    normal: np.ndarray, offset: float, xs: np.ndarray, ys: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where ``normal @ p + offset = 0`` meets two lines through edges of a rectangle."""
    a, b = normal
    if abs(b) * np.ptp(ys) >= abs(a) * np.ptp(xs):
        return xs, -(a * xs + offset) / b
    return -(b * ys + offset) / a, ys


def normal_of(model: Any) -> np.ndarray | None:
    """Return the weights of a linear classifier of two classes, or None; also if all are zero."""
    coef = _weights(model)
    return coef[0] if len(coef) == 1 and np.any(coef) else None


def _weights(model: Any) -> np.ndarray:
    if fitted_parameter(model, "keep") == "vote":
        return np.zeros((1, 1))
    return np.atleast_2d(dense(getattr(model, "coef_", np.zeros(1)))).astype(np.float64)


def completed(found: list[np.ndarray], X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return two directions: the orthonormal ones found, completed by the widest ones."""
    while len(found) < 2:
        found = [*found, _widest(X, found)]
    return found[0], found[1]


def _widest(X: Any, without: list[np.ndarray]) -> np.ndarray:
    mean = mean_of(X)
    d = mean.size
    basis = np.reshape(without, (len(without), d))

    def project(v: np.ndarray) -> np.ndarray:
        return v - (basis @ v) @ basis

    def times(v: np.ndarray) -> np.ndarray:
        v = project(np.ravel(v))
        scores = X @ v - mean @ v
        return project(X.T @ scores - mean * scores.sum())

    start = project(np.random.default_rng(0).standard_normal(d))
    operator = sp.linalg.LinearOperator((d, d), matvec=times)
    try:
        found = project(sp.linalg.eigsh(operator, k=1, v0=start)[1][:, 0])
    except sp.linalg.ArpackError:  # there is no such direction
        found = np.zeros(d)
    if not np.linalg.norm(found) > 0.0:  # all rows are alike but along those left out
        found[:] = np.arange(d) == np.argmin((basis**2).sum(axis=0))
        found = project(found)
    found = found / np.linalg.norm(found)
    return found * (1.0 if found[np.argmax(np.abs(found))] > 0 else -1.0)


def along_feature(X: Any, j: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return feature j of X, a grid of n values around it, and rows of these and of means."""
    x = dense(X[:, [j]]).ravel()
    grid = np.linspace(*limits(x), n)
    places = np.tile(mean_of(X), (n, 1))
    places[:, j] = grid
    return x, grid, places


def others_fixed(others: int) -> str:
    return f"the other {counted(others, 'feature')} fixed at the mean" if others else ""


def _two_positions(features: Sequence[int | str], names: list[str]) -> tuple[int, int]:
    given = [features] if isinstance(features, str) else list(features)
    if len(given) != 2 or given[0] == given[1]:
        raise DataError(
            f"A plane needs two different features, not {listed(given)}",
            hint(
                "name two, such as {}", features=[n.removesuffix(STANDARDIZED) for n in names[:2]]
            ),
            code="bad-option",
            option="features",
            value=features,
        )
    return feature_position(given[0], names), feature_position(given[1], names)


def feature_position(feature: int | str, names: list[str]) -> int:
    """Return the index of a feature given by index or name; DataError if unknown."""
    names = [name.removesuffix(STANDARDIZED) for name in names]
    if feature not in (names if isinstance(feature, str) else range(len(names))):
        raise DataError(
            f"There is no feature {feature!r}; the features are: {', '.join(names[:8])}.",
            code="unknown-column",
            column=feature,
        )
    return names.index(feature) if isinstance(feature, str) else int(feature)
