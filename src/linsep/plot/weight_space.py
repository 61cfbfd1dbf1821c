"""Which weights every row allows."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError
from linsep.label_faults import check_beside
from linsep.learnt import check_columns
from linsep.mistake_bounds.linear import linear_of
from linsep.plot.display import COLOURS, Display, ink, legend, new_axes, wrapped
from linsep.plot.plane import names_of, numbers_of, weight_of

#: more lines than that are a grey mass
MOST_LINES = 500


class WeightSpaceDisplay(Display):
    """The half-plane of weights that every row allows, the solutions, and the path of a run.

    A row with its class, reflected to ``y z`` (z with the constant feature where there is an
    intercept), allows the weights a with ``<a, y z> > 0``. What all of them allow is the solution
    region, a cone: exactly the weights that make no mistake. It is best made with
    :meth:`from_data` or :meth:`from_trace`.

    Parameters
    ----------
    reflected : array of shape (rows, 2)
        The rows times their sides, ``y z``.
    names : tuple of two str
        Of the weights.
    path : array of shape (rounds, 2) or None
        The weights of a run, one round after the other.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : LineCollection, the boundary of every half-plane
    region_ : Polygon of the solution region, or None where there is none
    centre_ : Line2D along the weights of the largest cosine margin, or None
    path_ : Line2D of the weights of the run, or None
    start_, end_ : Line2D of the first and the last weights, or None
    legend_ : Legend

    Examples
    --------
    >>> from linsep.plot import WeightSpaceDisplay
    >>> display = WeightSpaceDisplay.from_data([[2.0, 1.0], [1.0, 3.0]], [1, 0])
    >>> display.solvable
    True
    """

    def __init__(
        self, *, reflected: np.ndarray, names: tuple[str, str], path: np.ndarray | None = None
    ) -> None:
        self.reflected, self.names, self.path = reflected, names, path

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        fit_intercept: bool = False,
        path: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the weight space of rows of two classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, 2), or (rows, 1) with an intercept
        y : array of shape (rows,)
            Two classes; the larger is the positive side.
        fit_intercept : bool, default=False
            Whether the second weight is the intercept.
        path : array of shape (rounds, 2), default None
            Weights of a run, to be drawn as a path.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            For another number of weights than two, or of classes.
        """
        check_beside(X, y=y)
        rows = numbers_of(X)
        if rows.shape[1] + fit_intercept != 2:
            raise DataError(
                f"A weight space is drawn of two weights, not of {rows.shape[1] + fit_intercept}: "
                "bring two features, or one with fit_intercept=True."
            )
        rows = rows.toarray() if sp.issparse(rows) else rows
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) != 2:
            raise DataError(f"A weight space is drawn of two classes, and y has {len(classes)}.")
        names = names_of(X, rows.shape[1])
        if fit_intercept:
            rows, names = np.column_stack([rows, np.ones(len(rows))]), [*names, "intercept"]
        reflected = rows * np.where(codes == 1, 1.0, -1.0)[:, None]
        path = None if path is None else np.asarray(path, dtype=np.float64)
        made = cls(reflected=reflected, names=(names[0], names[1]), path=path)
        return made.plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the weight space of rows with the weights that a classifier has learnt."""
        check_is_fitted(estimator)
        known = linear_of(estimator)
        check_columns(estimator, X)
        weights = np.ravel(known.coef)
        if known.fit_intercept:
            weights = np.append(weights, known.intercept)
        return cls.from_data(
            X, y, fit_intercept=known.fit_intercept, path=weights[None], ax=ax, **kwargs
        )

    @property
    def solvable(self) -> bool:
        """Whether some weights make no mistake."""
        return self._cone() is not None

    def plot(self, ax: Any = None, *, radius: float | None = None) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        radius : float, default None
            How far the axes reach on every side; None reaches beyond the path.
        """
        from matplotlib.collections import LineCollection
        from matplotlib.patches import Polygon

        self.figure_, self.ax_ = new_axes(ax)
        reach = 1.0 if self.path is None else 1.25 * float(np.abs(self.path).max())
        reach = radius or reach or 1.0
        cone = self._cone()
        self.region_: Any = None
        self.centre_: Any = None
        self.path_: Any = None
        self.start_: Any = None
        self.end_: Any = None
        handles: list[Any] = []
        if cone is not None:
            corners = 4 * reach * np.array([[0.0, 0.0], *cone])
            self.region_ = self.ax_.add_patch(
                Polygon(corners, color=COLOURS[2], alpha=0.3, linewidth=0, label="solutions")
            )
            handles.append(self.region_)
        directions = np.column_stack([-self.reflected[:, 1], self.reflected[:, 0]])
        lengths = np.linalg.norm(directions, axis=1)
        directions = directions[lengths > 0] / lengths[lengths > 0, None]
        ends = 3 * reach * directions[:MOST_LINES]
        self.lines_ = self.ax_.add_collection(
            LineCollection(
                list(np.stack([-ends, ends], axis=1)), colors=[ink()], linewidths=0.6, alpha=0.5,
                label="rows",
            )
        )  # fmt: skip
        handles.append(self.lines_)
        handles += self._draw_centre(reach) + self._draw_path()
        self.ax_.set(
            xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal",
            xlabel=wrapped(weight_of(self.names[0])), ylabel=wrapped(weight_of(self.names[1])),
        )  # fmt: skip
        self.ax_.set_title("" if cone is not None else "no weights satisfy every row")
        self.legend_ = legend(self.ax_, handles)
        return self

    def _draw_centre(self, reach: float) -> list[Any]:
        """The weights of the largest cosine margin: their angle with every line is the widest."""
        cone = self._cone()
        if cone is None:
            return []
        middle = cone.sum(axis=0)
        if not np.any(middle):
            return []
        end = 3 * reach * middle / np.linalg.norm(middle)
        (self.centre_,) = self.ax_.plot(
            [0, end[0]], [0, end[1]], color=COLOURS[2], linewidth=1.5, label="largest cosine margin"
        )
        return [self.centre_]

    def _draw_path(self) -> list[Any]:
        if self.path is None:
            return []
        many = len(self.path) > 1
        (self.path_,) = self.ax_.plot(
            *self.path.T, color=COLOURS[5], linewidth=1.0, marker=".", markersize=4,
            label="weights, round by round",
        )  # fmt: skip
        (self.end_,) = self.ax_.plot(
            *self.path[-1:].T, color=COLOURS[5], marker="o", ls="", label="last weights"
        )
        if many:
            (self.start_,) = self.ax_.plot(
                *self.path[:1].T, color=COLOURS[0], marker="s", ls="", label="first weights"
            )
        return [
            handle for handle in (self.path_ if many else None, self.start_, self.end_) if handle
        ]

    def _cone(self) -> np.ndarray | None:
        """The two unit vectors that bound the weights allowed by every row; None if there are none.

        Every row that is not zero allows an open half-plane of directions, so the cone is what is
        left of the angles of the first after the others have cut.
        """
        rows = self.reflected
        if not len(rows) or not np.any(rows, axis=1).all():
            return None  # a row of zeros allows no weights
        angles = np.arctan2(rows[:, 1], rows[:, 0])
        away = np.angle(np.exp(1j * (angles - angles[0])))  # from that of the first row
        low, high = float(away.max()) - np.pi / 2, float(away.min()) + np.pi / 2
        if low >= high:
            return None
        ends = np.array([low, high]) + angles[0]
        return np.column_stack([np.cos(ends), np.sin(ends)])
