"""The probabilities that separable classes determine, as regions and steps instead of a curve.

If some weights have no row on the wrong side, the likelihood has no maximum: it keeps growing along
all such weights, which form a cone C. Let K be the cone of the sign-flipped rows, with the constant
feature. In the limit a point has probability 1 if it is in K, since no weights in C have it on the
other side, and 0 if it is in -K. In both, where all of C vanishes, the finite coefficients
determine its probability (Albert and Anderson 1984; Geyer 2009). Elsewhere the data do not
determine it.
"""

from collections.abc import Callable
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.special import expit

from linsep.logistic.delta import Curves
from linsep.logistic.outcomes import SEPARATED
from linsep.plot.plane import mean_of

#: rows of more numbers would take linear programs of many seconds
MOST_NUMBERS = 400_000
#: characters of a line of a title
LINE = 54
#: what titles say
ADVICE = "Firth's penalty or l2 gives one curve"
OPEN = "the data leave the hatched part open"
#: distance, as a share of the picture, that is treated as zero
NEAR = 1e-6


class Certain(NamedTuple):
    """The two convex regions where the data determine a probability, by their corners.

    Attributes
    ----------
    zero, one : arrays of shape (corners, 1 or 2)
        The regions where it is 0 and 1: both ends of an interval, the corners of a polygon, or
        empty.
    """

    zero: np.ndarray
    one: np.ndarray

    def at(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether each point (one per row) is in either region."""
        return _inside(self.zero, places), _inside(self.one, places)


class Question:
    """Decides where rows determine the probability.

    Parameters
    ----------
    rows : array or CSR matrix of shape (rows, features)
    is_shown : bool array of shape (rows,)
        Whether they belong to the class that is shown.
    intercept : bool
    """

    def __init__(self, rows: Any, is_shown: np.ndarray, intercept: bool):
        rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
        self._intercept = intercept
        self._center = rows.mean(axis=0) if intercept else np.zeros(rows.shape[1])
        spread = np.abs(rows - self._center).max(axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        signed = self._scaled(rows) * np.where(is_shown, 1.0, -1.0)[:, None]
        self._cone = np.unique(signed / np.abs(signed).max(axis=1, initial=1e-300)[:, None], axis=0)

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        """Return rows, centered and scaled, with the constant feature if there is an intercept."""
        scaled = (rows - self._center) / self._spread
        return np.column_stack([scaled, np.ones(len(rows))]) if self._intercept else scaled

    def certain(self, ends: np.ndarray, corners: np.ndarray) -> Certain:
        """Return the determined parts of an interval or a rectangle.

        Parameters
        ----------
        ends : array of shape (1 or 2, 2)
            The coordinates of its ends.
        corners : array of shape (2 or 3, features)
            The rows at its lower left corner, and at the ends of the sides that start there.
        """
        first, *others = self._scaled(corners)
        sides = np.array([other - first for other in others])
        size = np.ptp(ends, axis=1)
        zero, one = (
            ends[:, 0] + size * _convex(Slice(sign * self._cone, first, sides))
            for sign in (-1.0, 1.0)
        )
        return Certain(zero, one)


class Slice:
    """The intersection of a cone with a plane, in coordinates from 0 to 1."""

    def __init__(self, cone: np.ndarray, origin: np.ndarray, sides: np.ndarray):
        self.axes = len(sides)
        self._equations, self._origin = np.vstack([cone, -sides]).T, origin
        self._bounds = [(0.0, None)] * len(cone) + [(0.0, 1.0)] * self.axes

    def farthest(self, direction: tuple[float, ...]) -> np.ndarray | None:
        """Return the farthest point in a direction; None if the intersection is empty."""
        cost = np.zeros(len(self._bounds))
        cost[-self.axes :] = np.negative(direction)
        found = linprog(
            cost, A_eq=self._equations, b_eq=self._origin, bounds=self._bounds, method="highs",
            options={"primal_feasibility_tolerance": 1e-9},
        )  # fmt: skip
        return np.array(found.x[-self.axes :]) if found.status == 0 else None


def _convex(part: Slice) -> np.ndarray:
    """Return the corners of a convex set, in order around it."""
    across = (0.0,) * (part.axes - 1)
    right, left = part.farthest((1.0, *across)), part.farthest((-1.0, *across))
    if right is None or left is None:
        return np.empty((0, part.axes))
    if part.axes == 1:
        return np.array([left, right])
    above, below = _beyond(part, right, left, 1.0), _beyond(part, left, right, -1.0)
    return np.array([right, *above, left, *below])


def _beyond(part: Slice, start: np.ndarray, end: np.ndarray, up: float) -> list[np.ndarray]:
    """Return the corners between two corners, to the left of the segment between them."""
    x, y = end - start
    length = float(np.hypot(x, y))
    outward = (float(y / length), float(-x / length)) if length > NEAR else (0.0, up)
    found = part.farthest(outward)
    if found is None or (found - start) @ outward <= NEAR:
        return []
    return [*_beyond(part, start, found, up), found, *_beyond(part, found, end, up)]


def _inside(corners: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return whether points are in an interval, or in a polygon of positive area."""
    if len(corners) <= places.shape[1] - 1:
        return np.zeros(len(places), bool)
    low, size = places.min(axis=0), np.ptp(places, axis=0)
    corners, places = (corners - low) / size, (places - low) / size
    if places.shape[1] == 1:
        near: np.ndarray = (corners[0] - NEAR <= places) & (places <= corners[1] + NEAR)
        return near[:, 0]
    x, y = corners.T
    u, v = np.roll(x, -1) - x, np.roll(y, -1) - y  # the sides, to the left
    if x @ np.roll(y, -1) - y @ np.roll(x, -1) < NEAR:
        return np.zeros(len(places), bool)
    inside = np.ones(len(places), bool)
    for k in range(len(x)):
        inside &= u[k] * (places[:, 1] - y[k]) - v[k] * (places[:, 0] - x[k]) >= -NEAR
    return inside


def diverges(model: Any) -> bool:
    """Return whether the likelihood of a logistic regression has no maximum."""
    return model.stop_reason_ in SEPARATED


def answered_by(model: Any, X: Any, y: Any, rows: Any, is_shown: np.ndarray) -> Question | None:
    """Return the subproblem posed by the training rows; None for other rows, which determine
    nothing, and for too many rows for linear programs.
    """
    verdict = model.separation_
    if verdict is None or rows.shape[0] * (rows.shape[1] + 1) > MOST_NUMBERS:
        return None
    if verdict.verify(X, y, exact=False).holds is False:
        return None
    return Question(rows, is_shown, bool(verdict.subject.fit_intercept))


class Limit(NamedTuple):
    """The limit of a probability over one or two features.

    Attributes
    ----------
    grid : list of arrays, as for :class:`LogisticDisplay`
        A point where the limit jumps occurs three times: with the probability before, at and after
        the jump.
    values : array, NaN where the probability is not determined
    certain : Certain, or None if unknown or if the limit is a curve
    said : str
        Its description in the title.
    curve : bool
        Whether all coefficients along it are finite.
    """

    grid: list[np.ndarray]
    values: np.ndarray
    certain: Certain | None
    said: str
    curve: bool = False


def limit_over_line(
    model: Any, question: Question | None, grid: np.ndarray, places: np.ndarray,
    score: Callable[[np.ndarray], np.ndarray],
) -> Limit:  # fmt: skip
    """Return the limit over one feature.

    Parameters
    ----------
    grid : array of shape (places,), the feature
    places : array of shape (places, features)
    score : function from points to their scores for the class that is shown
    """
    scores = score(places)
    if question is None:
        return _kept(model, [grid], scores, places)
    certain = question.certain(grid[None, [0, -1]], places[[0, -1]])
    if np.all(certain.at(grid[:, None]), axis=0).all():
        return _curve(model, [grid], scores)
    grid = np.unique(np.concatenate([grid, certain.zero.ravel(), certain.one.ravel()]))
    zero, one = certain.at(grid[:, None])
    values = np.where(one, 1.0, np.where(zero, 0.0, np.nan))
    step = np.flatnonzero(zero & one)
    if not step.size:
        return Limit([grid], values, certain, _of_gap(model, certain))
    at = grid[step].mean()
    share = (at - grid[0]) / np.ptp(grid)
    there = expit(score(places[:1] + share * (places[-1:] - places[:1])))
    rest = np.delete(grid, step), np.delete(values, step)
    at = round(float(at), int(np.ceil(-np.log10(NEAR * np.ptp(grid)))))
    return Limit(
        *_with_step(*rest, at, float(there[0])),
        certain,
        said=f"{model.stop_reason_}: a step at {at:.4g}; {ADVICE}",
    )


def _with_step(
    grid: np.ndarray, values: np.ndarray, at: float, there: float
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return a grid and its probabilities with a step added between two points."""
    k = int(np.searchsorted(grid, at))
    three = [values[max(k - 1, 0)], there, values[min(k, grid.size - 1)]]
    return [np.insert(grid, k, [at] * 3)], np.insert(values, k, three)


def limit_over_plane(
    model: Any, question: Question | None, grid: list[np.ndarray], points: Any, scores: np.ndarray
) -> Limit:
    """Return the limit over two features.

    Parameters
    ----------
    grid : list of two arrays, the coordinates of the places
    points : function from coordinates, shape (points, 2), to points
    scores : array of shape (rows, columns), for the class that is shown
    """
    x, y = grid
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    if question is None:
        return _kept(model, grid, scores, points(places))
    corners = np.array([[x[0], y[0]], [x[-1], y[0]], [x[0], y[-1]]])
    certain = question.certain(np.array([x[[0, -1]], y[[0, -1]]]), points(corners))
    zero, one = (part.reshape(scores.shape) for part in certain.at(places))
    if (zero & one)[1:-1, 1:-1].all():
        return _curve(model, grid, scores)
    values = np.where(one, 1.0, np.where(zero, 0.0, np.nan))
    said = OPEN
    if not np.isnan(values).any():
        said = "between 0 and 1 only on the line"
    return Limit(grid, values, certain, f"{model.stop_reason_}: {said}; {ADVICE}")


def _curve(model: Any, grid: list[np.ndarray], scores: np.ndarray) -> Limit:
    """Return a limit that is a curve, with finite coefficients along it."""
    said = f"{model.stop_reason_}: limit of the rows on the boundary"
    return Limit(grid, expit(scores), None, said, curve=True)


def _kept(model: Any, grid: list[np.ndarray], scores: np.ndarray, places: np.ndarray) -> Limit:
    """Return the limit that the weights alone determine, for rows other than the training rows:
    where all diverging terms have one sign, or the sides of the boundary of separable classes.
    """
    if model.stop_reason_ != "separable":
        values = Curves(model).probabilities(places)[:, 0].reshape(scores.shape)
        said = f"{model.stop_reason_}: the limit, where the weights show it; {ADVICE}"
        return Limit(grid, values, None, said)
    values = np.where(scores > 0, 1.0, 0.0)
    if len(grid) == 1 and values[0] != values[-1]:
        (x,) = grid
        at = float(x[0] - scores[0] / (scores[-1] - scores[0]) * np.ptp(x))
        grid, values = _with_step(x, values, at, 0.5)
    said = f"separable: a step somewhere between the classes; {ADVICE}"
    return Limit(grid, values, None, said)


def _of_gap(model: Any, certain: Certain) -> str:
    """Return the title of a limit that is nowhere between 0 and 1."""
    ends, said = np.sort(np.concatenate([certain.zero.ravel(), certain.one.ravel()])), OPEN
    if len(ends) == 4:
        said = f"any curve fits between {ends[1]:.4g} and {ends[2]:.4g}"
    return f"{model.stop_reason_}: {said}; {ADVICE}"


def fixed_at(model: Any, rows: Any, question: Question | None) -> tuple[np.ndarray, str]:
    """Return the means of the features, and over which rows: for quasi-separable classes the rows
    on the boundary, where probabilities are between 0 and 1.
    """
    if model.stop_reason_ != "quasi-separable":
        return mean_of(rows), ""
    if question is not None:
        boundary = np.array(model.separation_.boundary)
    else:
        found = Curves(model).probabilities(rows)[:, 0]
        boundary = np.flatnonzero((found > 0) & (found < 1))
    if not boundary.size:
        return mean_of(rows), ""
    return mean_of(rows[boundary]), f" over the {len(boundary):,} rows on the boundary"


def titled(*lines: str) -> str:
    """Return sentences as title lines that fit the picture."""
    whole = "; ".join(filter(None, lines)).split("; ")
    return "\n".join(part for line in whole for part in wrap(line, LINE))
