"""The closed walk of the weights of a run that cycles."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.certificate.cycles import Cycle, Cycles
from linsep.errors import DataError
from linsep.label_faults import labels_of
from linsep.learnt import check_columns
from linsep.plot.display import COLOURS, Display, legend, new_axes, wrapped
from linsep.plot.plane import box_around, names_of, numbers_of, same_scale, weight_of
from linsep.teaching.textbook.perceptron import BatchPerceptron, Perceptron
from linsep.teaching.textbook.running import run

#: more steps than that have no numbers, and not all of them arrows
MOST_ARROWS = 40


class CycleDisplay(Display):
    """The weights of a perceptron in a cycle: a closed walk that no number of passes leaves.

    Two weights are drawn as they are; more are projected on the two principal components of the
    walk, and the title says so. It is best made with :meth:`from_estimator`.

    Parameters
    ----------
    path : array of shape (updates + 1, weights)
        The weights at the start and after every update; the last are the first.
    ends : int array of shape (passes,)
        The number of updates up to the end of each pass.
    names : list of str
        Of the weights.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    path_ : Line2D through the weights
    passes_ : Line2D, the weights at the start of the passes
    start_ : Line2D, the weights that come back
    arrows_ : list of Annotation, the direction of steps
    numbers_ : list of Text, the updates after which the weights are there; empty for long walks
    legend_ : Legend

    Examples
    --------
    >>> from linsep import Perceptron, datasets
    >>> from linsep.plot import CycleDisplay
    >>> X, y = datasets.load_exclusive_or(return_X_y=True)
    >>> model = Perceptron(fit_intercept=False, shuffle=False).fit(X, y)
    >>> CycleDisplay.from_estimator(model, X, y).path.tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0]]
    """

    def __init__(self, *, path: np.ndarray, ends: np.ndarray, names: list[str]) -> None:
        self.path, self.ends, self.names = path, ends, names

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the cycle that ended a run.

        Parameters
        ----------
        estimator : fitted perceptron with ``stop_reason_ == "cycle"``
        X, y : the rows of the fit in their order, and their labels
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            If the run did not end in a cycle, or in those of several machines; otherwise as
            :meth:`from_cycle`.
        """
        check_is_fitted(estimator)
        cycle = getattr(estimator, "cycle_", None)
        if cycle is None:
            why = getattr(estimator, "stop_reason_", None) or "it made no passes"
            raise DataError(f"This {type(estimator).__name__} did not stop in a cycle: {why}.")
        check_columns(estimator, X)
        return cls.from_cycle(cycle, X, y, ax=ax, **kwargs)

    @classmethod
    def from_cycle(
        cls, cycle: Cycle | Cycles, X: Any, y: Any, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a cycle, after it has been checked.

        Parameters
        ----------
        cycle : Cycle
        X, y : the rows that it is about, and their labels
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            If it is no cycle of these rows, for one of a kernel machine, for those of several
            machines, and for a single weight.
        """
        if isinstance(cycle, Cycles) and len(cycle) == 1:
            (cycle,) = cycle
        if isinstance(cycle, Cycles):
            raise DataError(
                f"These are cycles of {len(cycle)} machines: draw one of them, such as "
                "CycleDisplay.from_cycle(model.cycle_.cycles[0], X, y)."
            )
        if cycle.gram:
            raise DataError("A cycle of a kernel machine has no weights of features to draw.")
        check = cycle.verify(X, y)
        if not check:
            raise DataError(f"This cycle is not drawn: {check.reason}")
        names = [*names_of(X, cycle.n_features), *["intercept"] * cycle.fit_intercept]
        if cycle.joint:
            names = [f"{label}: {name}" for label in np.unique(labels_of(y)) for name in names]
        if len(names) == 1:
            raise DataError("A cycle is drawn of two weights or more, not of one.")
        places = list(_walk(cycle, numbers_of(X), np.unique(y, return_inverse=True)[1]))
        path = np.array([weights for weights, _ in places], dtype=np.float64)
        passes = np.array([number for _, number in places[1:]])
        ends = np.searchsorted(passes, np.arange(cycle.passes), side="right")
        return cls(path=path, ends=ends, names=names).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        **kwargs : passed to the path, such as ``linewidth=2``
        """
        self.figure_, self.ax_ = new_axes(ax)
        points, labels, said = self._projected()
        look: dict[str, Any] = {"color": COLOURS[5], "linewidth": 0.6, "alpha": 0.5} | kwargs
        many = len(points) - 1 > MOST_ARROWS
        (self.path_,) = self.ax_.plot(
            *points.T, marker="" if many else ".", label=f"{len(points) - 1:,} updates", **look
        )
        starts = np.append(0, self.ends[:-1])
        (self.passes_,) = self.ax_.plot(
            *points[starts].T, color=COLOURS[0], marker="o", ls="", markersize=4, zorder=4,
            label=f"start of {len(starts):,} pass{'es' * (len(starts) > 1)}",
        )  # fmt: skip
        (self.start_,) = self.ax_.plot(
            *points[:1].T, color=COLOURS[2], marker="s", ls="", markersize=8, zorder=3,
            label="weights that come back",
        )  # fmt: skip
        box = box_around(points)
        self.ax_.set(xlim=box[0], ylim=box[1], xlabel=wrapped(labels[0]), ylabel=wrapped(labels[1]))
        if same_scale(*box):
            self.ax_.set_aspect("equal")
        self._draw_arrows(points)
        self.numbers_: list[Any] = [] if many else self._draw_numbers(points)
        self.ax_.set_title(said, fontsize="medium")
        self.legend_ = legend(self.ax_, [self.start_, self.passes_, self.path_])
        return self

    def _projected(self) -> tuple[np.ndarray, tuple[str, str], str]:
        """The points to draw, the labels of the axes, and what is said of them."""
        if len(self.names) == 2:
            return self.path, (weight_of(self.names[0]), weight_of(self.names[1])), ""
        centred = self.path - self.path.mean(axis=0)
        _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
        share = float((sizes[:2] ** 2).sum() / (sizes**2).sum())
        said = f"{len(self.names):,} weights, projected on their two principal components"
        said += f"\n({100 * share:.3g} % of their variance)"
        return centred @ directions[:2].T, ("first component", "second component"), said

    def _draw_arrows(self, points: np.ndarray) -> None:
        """Bent arrows, so that steps there and back lie side by side."""
        steps = len(points) - 1
        shown = np.unique(np.linspace(0, steps - 1, min(steps, MOST_ARROWS)).astype(int))
        look = {
            "arrowstyle": "-|>", "color": COLOURS[5], "connectionstyle": "arc3,rad=0.12",
            "shrinkA": 3, "shrinkB": 3,
        }  # fmt: skip
        self.arrows_ = [
            self.ax_.annotate(
                "", xy=tuple(points[k + 1]), xytext=tuple(points[k]), arrowprops=look, zorder=2
            )
            for k in shown.tolist()
        ]

    def _draw_numbers(self, points: np.ndarray) -> list[Any]:
        """The numbers of the updates beside the weights that they lead to."""
        from matplotlib.patheffects import withStroke

        edge = [withStroke(linewidth=2.5, foreground=self.ax_.get_facecolor())]
        there: dict[tuple[float, ...], list[str]] = {}
        for k, place in enumerate(points):
            there.setdefault(tuple(np.round(place, 9)), []).append(str(k))
        return [
            self.ax_.annotate(
                ", ".join(numbers), xy=place, xytext=(6, 6), textcoords="offset points",
                fontsize="small", zorder=5, path_effects=edge,
            )
            for place, numbers in there.items()
        ]  # fmt: skip


def _walk(cycle: Cycle, X: Any, codes: np.ndarray) -> Iterator[tuple[list[Fraction], int]]:
    """Yield the weights of a cycle and the pass, at the start and after every update.

    Numbers are exact: the textbook's perceptron learns fractions.
    """
    dense = X.toarray() if hasattr(X, "toarray") else X
    exact = Fraction if cycle.base == 2 else lambda x: Fraction(str(x))
    rows = [[exact(x) for x in row] for row in dense.tolist()]
    sides = codes.tolist()
    if not cycle.joint:
        kept = [k for k, code in enumerate(sides) if code in cycle.positive + cycle.negative]
        rows, sides = [rows[k] for k in kept], [int(sides[k] in cycle.positive) for k in kept]
    weights = [[Fraction(w, cycle.unit) for w in vector] for vector in cycle.vectors()]
    coef, intercept = [vector[:-1] for vector in weights], [vector[-1] for vector in weights]
    rule = Perceptron if cycle.update == "single" else BatchPerceptron
    steps = run(
        rule(Fraction(cycle.step * cycle.base**cycle.power, cycle.unit), zero=cycle.zero),
        "native" if cycle.joint else "binary", rows, sides, cycle.n_classes if cycle.joint else 2,
        fit_intercept=cycle.fit_intercept, max_iter=cycle.passes, tie=cycle.tie,
        weights=coef if cycle.joint else coef[0],
        intercept=intercept if cycle.joint else intercept[0],
    )  # fmt: skip
    yield _flat(coef, intercept, cycle.fit_intercept), 0
    for step in steps:
        if step.updates:
            coef, intercept = (
                (step.weights, step.intercept)
                if cycle.joint
                else ([step.weights], [step.intercept])
            )
            yield _flat(coef, intercept, cycle.fit_intercept), step.pass_number


def _flat(coef: list, intercept: list, fit_intercept: bool) -> list[Fraction]:
    """All weights in a row, each intercept after its class."""
    return [
        w
        for vector, b in zip(coef, intercept, strict=True)
        for w in (*vector, *[b] * fit_intercept)
    ]
