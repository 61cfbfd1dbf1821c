"""The soft margin as C grows, from values where only the length of the weights changes to values
where nothing changes.
"""

import math
import warnings
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning

from linsep._system.interrupts import interrupts_deferred
from linsep.batches import joined
from linsep.certificate.verdicts import Separable
from linsep.drawing import display
from linsep.errors import DataError, ParameterError, hint
from linsep.estimators import labels
from linsep.estimators.frames import to_learn
from linsep.inference.table import Printed
from linsep.layout import table_lines
from linsep.mistake_bounds.margins import augmented
from linsep.parameters import check_parameters
from linsep.separability.deciding import separation
from linsep.soft_margins.classifier import Loss, warn_of_gap
from linsep.soft_margins.linear import SoftMargin
from linsep.soft_margins.problem import row_squares
from linsep.words import counted

#: most values of the grid, which has 1 and 3 times powers of ten
MOST = 25
#: how near a score is to 1 or -1 that is on the margin; relative size of a sum that is zero
ON_MARGIN, ZERO = 1e-6, 1e-8
#: share of the objective below which losses and gaps are rounding errors
ROUNDING = 1e-9
#: change by which squares have come near enough to their limit
NEAR = 1e-3
#: numbers in the equations that decide whether a larger C changes anything
MOST_NUMBERS = 10_000_000
HEADINGS = ["C", "objective", "gap", "|w|", "margin", "loss", "free", "bounded", "errors"]


@dataclass(frozen=True, eq=False, repr=False)
class SoftMarginPath(Printed):
    """Result of :func:`soft_margin_path`; ``print(path)`` shows a table.

    Attributes
    ----------
    Cs : array of shape (costs,), ascending
    models : list of fitted :class:`linsep.SoftMargin`, one for each C
    losses : array of shape (costs,), the sum of the losses, multiplied by C in the objective
    errors : int array of shape (costs,), rows that are predicted wrongly
    objectives, bounds, gaps : arrays of shape (costs,), of :class:`linsep.SoftMargin`
    norms, margins : arrays of shape (costs,), |w|, and 1 / |w|, the distance of the lines of score
        1 and -1 from the boundary (|w| includes a penalized intercept)
    free, bounded : int arrays of shape (costs,), numbers of support vectors on the margin, and
        inside it or on the wrong side
    coef : array of shape (costs, features)
    intercepts : array of shape (costs,)
    n_rows : int
    final : int or None, the index of the first C beyond which nothing changes
    separable : bool, whether the last weights separate the classes in floating point
    verdict : Separable or None, with the proof of the widest margin of separable classes
    """

    Cs: np.ndarray
    models: list[SoftMargin]
    losses: np.ndarray
    errors: np.ndarray
    objectives: np.ndarray
    bounds: np.ndarray
    gaps: np.ndarray
    norms: np.ndarray
    margins: np.ndarray
    free: np.ndarray
    bounded: np.ndarray
    coef: np.ndarray
    intercepts: np.ndarray
    n_rows: int
    final: int | None
    separable: bool
    verdict: Separable | None
    header = ()

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return labels.feature_names(self.models[0])

    @property
    def limit(self) -> str:
        """The limit as C grows, in one or two sentences."""
        what = "the hard margin" if self.separable else "the weights of least total loss"
        found = f"As C grows, the weights tend to {what}."
        if self.final is not None:
            found = f"From C = {self.Cs[self.final]:g} on the weights stay the same: {what}."
        if self.verdict is not None:
            low, high = self.verdict.margin
            found += f" The widest margin is proved to be between {low:.7g} and {high:.7g}."
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain lists, with the limit in words."""
        arrays = {name: v.tolist() for name, v in vars(self).items() if isinstance(v, np.ndarray)}
        return arrays | {
            "features": self.feature_names,
            "classes": labels.plain_labels(self.models[0].classes_),
            "separable": self.separable,
            "widest_margin": None if self.verdict is None else list(self.verdict.margin),
            "constant_from": None if self.final is None else float(self.Cs[self.final]),
            "limit": self.limit,
        }

    def plot(self, **kwargs: Any) -> Any:
        """Draw weights and support vectors over C, by
        :meth:`linsep.plot.SoftMarginPathDisplay.from_path`.
        """
        return display("SoftMarginPathDisplay").from_path(self, **kwargs)

    @property
    def title(self) -> str:
        """The classes, the size of the data, and the loss."""
        model = self.models[0]
        plus = labels.positive_code(model)
        sides = [labels.label_text(model.classes_[k]) for k in (plus, 1 - plus)]
        loss = "the hinge" if model.loss == "hinge" else "squares of the hinge"
        rows, features = counted(self.n_rows, "row"), counted(self.coef.shape[1], "feature")
        return f"{sides[0]} against {sides[1]}, {rows}, {features}; loss: {loss}"

    @property
    def notes(self) -> list[str]:
        """The limit."""
        return [self.limit]

    def _cells(self, digits: int = 5) -> list[list[str]]:
        lines = [HEADINGS]
        losses = np.where(self.Cs * self.losses < ROUNDING * self.objectives, 0.0, self.losses)
        for k, C in enumerate(self.Cs):
            gap = f"{self.gaps[k]:.0e}" if self.gaps[k] > ROUNDING else f"<{ROUNDING:.0e}"
            numbers = [f"{each[k]:.5g}" for each in (self.norms, self.margins, losses)]
            counts = [f"{each[k]:,}" for each in (self.free, self.bounded, self.errors)]
            lines.append([f"{C:g}", f"{self.objectives[k]:.5g}", gap, *numbers, *counts])
        return lines

    def _lines(self) -> list[str]:
        return table_lines(self._cells(), [True] * len(HEADINGS))


def soft_margin_path(
    X: Any,
    y: Any = None,
    Cs: Any = None,
    *,
    sample_weight: Any = None,
    loss: Loss = "hinge",
    fit_intercept: bool = True,
    penalize_intercept: bool = False,
    class_weight: Any = None,
    reference: Any = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> SoftMarginPath:
    """Fit the soft margin of two classes for growing C, each starting from the dual variables of
    the previous fit.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (rows, features), or a source
        A source is read into memory; it has its own labels, so omit y.
    y : array of shape (rows,)
        Labels of two classes.
    Cs : numbers above 0, default None
        None uses 1 and 3 times powers of ten, at most 25 values. The first is the largest below
        which only the length of the weights grows, in proportion to C. The last is the first beyond
        which the weights stay the same: the hard margin for separable classes, else the least total
        loss. The path ends earlier when all but ``tol`` of the objective is loss, and with squared
        losses, which only converge, when a step changes neither their sum nor the length of the
        weights by a thousandth.
    sample_weight, loss, fit_intercept, penalize_intercept, class_weight, reference, tol, max_iter
        As for :class:`linsep.SoftMargin`.

    Returns
    -------
    SoftMarginPath
        ``print(path)`` is a table, ``path.plot()`` draws the weights, ``path.models`` has the
        fitted models, and ``path.limit`` describes the effect of a larger C. For separable classes
        it includes the widest margin, proved by ``separation(X, y, margin="max")`` within 20
        seconds.

    Raises
    ------
    ValueError
        If there are not exactly two classes, if a C is not above 0 or not finite, and for input
        that :class:`linsep.SoftMargin` refuses.

    Warns
    -----
    ConvergenceWarning
        Once, if a gap is larger than ``tol``.

    Notes
    -----
    Whether a larger C changes nothing is decided in floating point. The weights w and b at C are
    final exactly if 0 is a subgradient of the total hinge there, which the rows on the margin
    decide: there are 0 <= l_i <= c_i with sum_i l_i y_i x_i = 0 (and sum_i l_i y_i = 0), where l_i
    is c_i inside the margin and 0 outside. The reason is that -w/C is also a subgradient, and
    subgradients form a convex set, so -w/C' is a subgradient for every C' > C (T. Hastie, S.
    Rosset, R. Tibshirani and J. Zhu, The entire regularization path for the support vector machine,
    JMLR 5, 2004).

    Examples
    --------
    >>> from linsep import soft_margin_path
    >>> X, y = [[2, 1], [4, 3], [3, 5], [1, 3], [5, 6]], [1, 1, 1, -1, -1]
    >>> path = soft_margin_path(X, y, Cs=[0.1, 1, 10])
    >>> path.losses.round(4).tolist(), path.margins.round(4).tolist()
    ([3.8, 2.4444, 2.4444], [7.0711, 0.9, 0.9])
    """
    model = SoftMargin(
        loss=loss, fit_intercept=fit_intercept, penalize_intercept=penalize_intercept,
        class_weight=class_weight, reference=reference, tol=tol, max_iter=max_iter,
    )  # fmt: skip
    check_parameters(model)
    if Cs is not None:
        given = Cs
        try:
            Cs = np.unique(np.asarray(given, dtype=np.float64))
        except (TypeError, ValueError):
            Cs = np.zeros(1)
        if not Cs.size or not (np.isfinite(Cs) & (Cs > 0)).all():
            raise ParameterError(
                f"Cs is {given!r}, but must hold finite numbers above 0",
                hint("leave out {}", Cs=None), option="Cs", value=given,
            )  # fmt: skip
    search = _Search(model, X, y, sample_weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = search.path(Cs)
    worst = int(np.argmax(path.gaps))
    if path.gaps[worst] > tol:
        warn_of_gap(path.models[worst], f"At C={path.Cs[worst]:g} the")
    return path


#: a model, and the scores of all rows times their signs
_Fit = tuple[SoftMargin, np.ndarray]


class _Search:
    """Checked rows of two classes, and the model that is fitted to them for growing C.

    ``Z`` has the weight of a penalized or free intercept as a column of ones.
    """

    def __init__(self, model: SoftMargin, X: Any, y: Any, sample_weight: Any) -> None:
        names = None
        if (source := to_learn(model, X, y, sample_weight)) is not None:
            read, names = joined(list(source.batches())), source.feature_names
            X, y, sample_weight = read.X, read.y, read.weights
        self.model, self.X = model, model._checked(X)
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        y = labels.label_a_row(model, y, self.X.shape[0])
        self.classes, self.codes, weights = labels.labeled(model, y, sample_weight)
        if self.classes.size > 2:
            raise DataError(
                f"A path needs two classes, but y has {self.classes.size:,}: pass one class "
                "against the rest.", code="class-count", value=self.classes.size,
            )  # fmt: skip
        self.weights = weights if weights.size else np.ones(len(y))
        self.signs, self.used = 2.0 * self.codes - 1.0, self.weights > 0
        self.Z = augmented(self.X) if model.fit_intercept else self.X
        self.free = model.fit_intercept and not model.penalize_intercept
        self.hinge = model.loss == "hinge"

    def fit(self, C: float, before: _Fit | None = None) -> _Fit:
        """Fit at C, starting from the dual variables at the previous C, scaled with C."""
        model = copy(self.model)
        model.C = C
        if before is not None:
            last, model._start = before[0], np.zeros(len(self.codes))
            model._start[last.support_] = np.abs(last.dual_coef_[0]) * (C / last.C)
        with interrupts_deferred():
            model._fit_codes(self.X, self.classes, self.codes, self.weights)
        model.__dict__.pop("_start", None)
        return model, self.signs * (self.X @ model.coef_[0] + model.intercept_[0])

    def loss(self, scores: np.ndarray) -> float:
        """Return the sum of the losses times weights."""
        short = np.maximum(1.0 - scores, 0.0)
        return float(self.weights @ (short if self.hinge else short**2))

    def grid(self) -> list[float]:
        """Return the values of C from the largest up to which only the length of the weights
        changes; for squared losses, which change from the beginning, from an approximation.

        The weights are C v at first. With a free intercept, the duals of both classes have equal
        sums, at most the weight W of the smaller class, so |v| is at most W times the diameter D of
        the rows. A C of 2 / (W D^2) is therefore below the result, to which scores are
        extrapolated.
        """
        sides = np.bincount(self.codes, self.weights, 2)
        square = float(row_squares((self.X if self.free else self.Z)[self.used]).max()) or 1.0
        C = 0.5 / ((sides.min() if self.free else sides.sum()) * square)
        C *= 1.0 if self.hinge else 1e-3
        lean = (sides[1] - sides[0]) / sides.sum() if self.free else 0.0
        base = self.signs * (np.sign(lean) if self.hinge else lean)  # scores times signs at C = 0
        near = self.used & (base < 1.0 - 1e-9)
        rises = (self.fit(C)[1] - base)[near] / (1.0 - base)[near]
        if (quickest := float(rises.max(initial=0.0))) > 1e-12:
            C /= quickest
        power = math.floor(math.log10(C))
        grid = [float(f"{m}e{k}") for k in range(power - 1, power + MOST) for m in (1, 3)]
        first = max(k for k, each in enumerate(grid) if each <= C * 1.02)
        return grid[first : first + MOST]

    def ends(self, last: _Fit, before: _Fit | None) -> bool:
        """Return whether a grid ends: nothing changes, or hardly anything."""
        model, scores = last
        done = model.duality_gap_ > 0.1 or self.is_final(scores)
        if done or before is None:
            return done
        if self.hinge:
            penalty = float(np.square(model.coef_).sum()) / 2
            return penalty <= model.tol * model.objective_ and model.duality_gap_ > ROUNDING
        old, new = (
            np.array([np.linalg.norm(one.coef_), self.loss(s)]) for one, s in (before, last)
        )
        near = np.abs(new - old) <= NEAR * np.abs(new)
        return bool(near[0] and (near[1] or (scores[self.used] > 0).all()))

    def is_final(self, scores: np.ndarray) -> bool:
        """Return whether 0 is a subgradient of the total hinge, so that a larger C changes
        nothing.
        """
        inside = self.used & (scores < 1.0 - ON_MARGIN)
        on = self.used & (np.abs(scores - 1.0) <= ON_MARGIN)
        if not self.hinge or on.sum() * self.Z.shape[1] > MOST_NUMBERS:
            return False
        amounts = self.weights * self.signs
        scale = abs(self.Z[inside]).T @ np.abs(amounts[inside])
        scale = np.where(scale > 0, scale, 1.0)
        left = self.Z[inside].T @ amounts[inside] / scale
        if inside.any() and on.any():
            columns = self.Z[on].toarray() if hasattr(self.Z, "toarray") else self.Z[on]
            A = (columns * amounts[on][:, None] / scale).T
            method = "bvls" if on.sum() <= 500 else "trf"
            left = A @ lsq_linear(A, -left, (0.0, 1.0), method=method, tol=1e-14).x + left
        return bool((np.abs(left) <= ZERO).all())

    def path(self, Cs: np.ndarray | None) -> SoftMarginPath:
        """Return the path of given values of C, or of the grid until it ends."""
        found: list[_Fit] = []
        for C in self.grid() if Cs is None else Cs.tolist():
            found.append(self.fit(C, found[-1] if found else None))
            if Cs is None and self.ends(found[-1], found[-2] if found[1:] else None):
                break
        models, scores = [one for one, _ in found], np.array([each for _, each in found])

        def each(name: str) -> np.ndarray:
            return np.array([np.ravel(getattr(model, name)) for model in models]).squeeze(1)

        coef, bounded = np.array([model.coef_[0] for model in models]), each("n_bounded_")
        intercepts = each("intercept_")
        extra = intercepts * bool(self.model.fit_intercept and not self.free)
        norms = np.hypot(np.linalg.norm(coef, axis=1), extra)
        separable, verdict = bool((scores[-1, self.used] > 0).all()), None
        if separable:
            rows = (self.X if self.free else self.Z)[self.used]
            how: dict[str, Any] = {"margin": "max", "time_limit": 20.0}
            verdict = separation(rows, self.signs[self.used], fit_intercept=bool(self.free), **how)
        with np.errstate(divide="ignore"):
            margins = 1.0 / norms
        return SoftMarginPath(
            Cs=each("C"), models=models, losses=np.array([*map(self.loss, scores)]),
            errors=((scores * self.signs > 0) != (self.codes == 1)).sum(axis=1),
            objectives=each("objective_"), bounds=each("lower_bound_"), gaps=each("duality_gap_"),
            norms=norms, margins=margins, free=each("n_support_") - bounded, bounded=bounded,
            coef=coef, intercepts=intercepts, n_rows=len(self.codes), separable=separable,
            final=next((k for k, each in enumerate(scores) if self.is_final(each)), None),
            verdict=verdict if isinstance(verdict, Separable) else None,
        )  # fmt: skip
