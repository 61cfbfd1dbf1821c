"""The soft margin as C grows, from values where only the length of the weights changes to values
where nothing changes.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning

from linsep.batches import joined
from linsep.certificate.verdicts import Separable
from linsep.drawing import display
from linsep.errors import DataError, ParameterError, hint, warn_caller
from linsep.estimators._common import labels
from linsep.estimators._common.frames import to_learn
from linsep.layout import table_lines, wrapped
from linsep.separability.deciding import separation
from linsep.soft_margins.linear import SoftMargin
from linsep.soft_margins.problem import row_squares
from linsep.words import counted, escaped

#: the grid has 1 and 3 times powers of ten, and at most so many of them
MANTISSAS, MOST = (1.0, 3.0), 25
#: how near a score is to 1 or -1 that is on the margin; relative size of a sum that is zero
ON_MARGIN, ZERO = 1e-6, 1e-8
#: share of the objective below which losses and gaps are rounding errors
ROUNDING = 1e-9
#: change by which squares have come near enough to their limit
NEAR = 1e-3
#: seconds for the proof of the widest margin
TIME_LIMIT = 20.0
#: numbers in the equations that decide whether a larger C changes anything
MOST_NUMBERS = 10_000_000
HEADINGS = ["C", "objective", "gap", "|w|", "margin", "loss", "free", "bounded", "errors"]


class Rows(NamedTuple):
    """Rows of two classes in the form that a path uses.

    Attributes
    ----------
    X : float array or CSR matrix of shape (rows, features)
    y, sample_weight : as for :meth:`linsep.SoftMargin.fit`
    signs : float64 array of shape (rows,), 1 for the positive class
    weights : float64 array of shape (rows,), including class weights
    bias : "free", "penalized" or None
    names : names of the features, or None
    """

    X: Any
    y: Any
    sample_weight: Any
    signs: np.ndarray
    weights: np.ndarray
    bias: str | None
    names: Any


@dataclass(frozen=True, eq=False)
class SoftMarginPath:
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
    n_rows: int
    final: int | None
    separable: bool
    verdict: Separable | None
    objectives: np.ndarray = field(init=False)
    bounds: np.ndarray = field(init=False)
    gaps: np.ndarray = field(init=False)
    norms: np.ndarray = field(init=False)
    margins: np.ndarray = field(init=False)
    free: np.ndarray = field(init=False)
    bounded: np.ndarray = field(init=False)
    coef: np.ndarray = field(init=False)
    intercepts: np.ndarray = field(init=False)
    feature_names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        def each(name: str) -> np.ndarray:
            return np.array([np.ravel(getattr(model, name)) for model in self.models])

        coef, intercepts = each("coef_"), each("intercept_")[:, 0]
        bounded, first = each("n_bounded_")[:, 0], self.models[0]
        extra = intercepts * bool(first.fit_intercept and first.penalize_intercept)
        norms = np.hypot(np.linalg.norm(coef, axis=1), extra)
        with np.errstate(divide="ignore"):
            margins = 1.0 / norms
        vars(self).update(
            objectives=each("objective_")[:, 0], bounds=each("lower_bound_")[:, 0],
            gaps=each("duality_gap_")[:, 0], free=each("n_support_")[:, 0] - bounded,
            bounded=bounded, coef=coef, intercepts=intercepts, norms=norms, margins=margins,
            feature_names=labels.feature_names(first),
        )  # fmt: skip

    @property
    def limit(self) -> str:
        """The limit as C grows, in one or two sentences."""
        if self.final is not None:
            what = "the hard margin" if self.separable else "the weights of least total loss"
            found = f"From C = {self.Cs[self.final]:g} on the weights stay the same: {what}."
        elif self.separable:
            found = "The classes are separable: the soft margin tends to the hard margin."
        else:
            found = "As C grows, the weights tend to the least total loss."
        if self.verdict is not None:
            low, high = self.verdict.margin
            found += f" The widest margin is proved to be between {low:.7g} and {high:.7g}."
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain lists, with the limit in words."""
        names = (
            "Cs", "objectives", "bounds", "gaps", "norms", "margins", "losses", "free", "bounded",
            "errors", "intercepts", "coef",
        )  # fmt: skip
        found: dict[str, Any] = {name: getattr(self, name).tolist() for name in names}
        return found | {
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

    def _cells(self) -> Iterator[list[str]]:
        """Yield the lines of the table."""
        for k, C in enumerate(self.Cs.tolist()):
            numbers = self.objectives[k], self.norms[k], self.margins[k], self.losses[k]
            objective, norm, margin, loss = (f"{x:.5g}" for x in numbers)
            loss = "0" if C * self.losses[k] < ROUNDING * self.objectives[k] else loss
            counts = [f"{int(x[k]):,}" for x in (self.free, self.bounded, self.errors)]
            gap = f"{self.gaps[k]:.0e}" if self.gaps[k] > ROUNDING else f"<{ROUNDING:.0e}"
            yield [f"{C:g}", objective, gap, norm, margin, loss, *counts]

    def _about(self) -> str:
        model = self.models[0]
        plus = labels.positive_code(model)
        sides = [labels.label_text(model.classes_[k]) for k in (plus, 1 - plus)]
        loss = "the hinge" if model.loss == "hinge" else "squares of the hinge"
        rows, features = counted(self.n_rows, "row"), counted(self.coef.shape[1], "feature")
        return f"{sides[0]} against {sides[1]}, {rows}, {features}; loss: {loss}"

    def __repr__(self) -> str:
        return f"<SoftMarginPath: {len(self.Cs)} values of C, {self.Cs[0]:g} to {self.Cs[-1]:g}>"

    def __str__(self) -> str:
        lines = table_lines([HEADINGS, *self._cells()], [True] * len(HEADINGS))
        return "\n".join([*wrapped(escaped(self._about())), *lines, *wrapped(self.limit)])

    def _repr_html_(self) -> str:
        rows = [
            "".join(f"<{tag} style='text-align:right'>{escape(cell)}</{tag}>" for cell in row)
            for tag, row in [("th", HEADINGS), *(("td", row) for row in self._cells())]
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<p>{escape(self._about())}</p><table>{body}</table><p>{escape(self.limit)}</p>"


def soft_margin_path(
    X: Any,
    y: Any = None,
    Cs: Any = None,
    *,
    sample_weight: Any = None,
    loss: str = "hinge",
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
    ([3.05, 2.4444, 2.4444], [2.0, 0.9, 0.9])
    """
    shared = {
        "loss": loss, "fit_intercept": fit_intercept, "penalize_intercept": penalize_intercept,
        "class_weight": class_weight, "reference": reference, "tol": tol, "max_iter": max_iter,
    }  # fmt: skip
    given = None if Cs is None else _checked(Cs)
    rows = _rows(X, y, sample_weight, SoftMargin(**shared))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [*_fits(rows, shared, given)]
    path = _path(rows, found)
    worst = int(np.argmax(path.gaps))
    if path.gaps[worst] > tol:
        warn_caller(
            ConvergenceWarning(
                f"At C={path.Cs[worst]:g} the objective is within {path.gaps[worst]:.1g} of the "
                f"optimum, but tol={tol:g} is smaller: raise max_iter or tol, or scale the "
                f"features."
            )
        )
    return path


def _checked(Cs: Any) -> np.ndarray:
    """Return given values of C, ascending and without repeats."""
    try:
        found = np.unique(np.asarray(Cs, dtype=np.float64))
    except (TypeError, ValueError):
        found = np.array([math.nan])
    if not found.size or not (np.isfinite(found) & (found > 0)).all():
        raise ParameterError(
            f"Cs is {Cs!r}, but must hold finite numbers above 0", hint("leave out {}", Cs=None),
            option="Cs", value=Cs,
        )  # fmt: skip
    return found


def _rows(X: Any, y: Any, sample_weight: Any, model: SoftMargin) -> Rows:
    """Return the rows of a path, which are checked as for a fit."""
    X, y, sample_weight = to_learn(model, X, y, sample_weight)
    names = None
    if labels.brings_labels(X, y, sample_weight):
        read = joined(list(X.batches()))
        names = X.feature_names
        X, y, sample_weight = read.X, read.y, read.weights
    X = model._checked(X)
    names = getattr(model, "feature_names_in_", names)
    y = labels.label_a_row(model, y, X.shape[0])
    classes, codes = labels.encode(y)
    labels.check_two_classes(classes)
    if classes.size > 2:
        one = labels.listed(classes[:1].tolist())
        raise DataError(
            f"A path needs two classes, but y has {classes.size:,}: pass y == {one} for one "
            "class against the rest.", code="class-count", value=classes.size,
        )  # fmt: skip
    weights = labels.check_sample_weight(sample_weight, len(y))
    weights = labels.importance(model.class_weight, classes, codes, weights)
    weights = weights if weights.size else np.ones(len(y))
    signs = 2.0 * labels.codes_given(model, classes, codes) - 1.0
    bias = None
    if model.fit_intercept:
        bias = "penalized" if model.penalize_intercept else "free"
    return Rows(X, y, sample_weight, signs, weights, bias, names)


class Fit(NamedTuple):
    """A model, its C, the scores of all rows times their signs, and their losses times weights."""

    C: float
    model: SoftMargin
    scores: np.ndarray
    losses: np.ndarray

    @property
    def penalty_share(self) -> float:
        """The share of the objective that is not loss, and that a larger C makes smaller."""
        return float(np.square(self.model.coef_).sum()) / 2 / self.model.objective_


def _fits(rows: Rows, shared: dict[str, Any], Cs: np.ndarray | None) -> Iterator[Fit]:
    grid = islice(_grid_from(_first(rows, shared)), MOST) if Cs is None else Cs.tolist()
    last: Fit | None = None
    for C in grid:
        before, last = last, _fit(rows, shared, C, last)
        yield last
        if Cs is None and (last.model.duality_gap_ > 0.1 or _ends(rows, last, before)):
            return


def _fit(rows: Rows, shared: dict[str, Any], C: float, before: Fit | None) -> Fit:
    """Fit at C, starting from the dual variables at the previous C, scaled with C."""
    model = SoftMargin(C=C, **shared)
    if before is not None:
        start = np.zeros(len(rows.signs))
        start[before.model.support_] = np.abs(before.model.dual_coef_[0]) * (C / before.C)
        model._start = start
    model.fit(rows.X, rows.y, rows.sample_weight)
    model.__dict__.pop("_start", None)
    toward_plus = 1.0 if labels.positive_code(model) else -1.0
    scores = rows.signs * toward_plus * model.decision_function(rows.X)
    short = np.maximum(1.0 - scores, 0.0)
    return Fit(C, model, scores, rows.weights * (short if model.loss == "hinge" else short**2))


def _grid_from(C: float) -> Iterator[float]:
    """Yield the numbers of the grid, starting with the largest that is at most C."""
    power = math.floor(math.log10(C))
    grid = (float(f"{m:g}e{k}") for k in range(power - 1, power + MOST) for m in MANTISSAS)
    return (each for each in grid if each * (3.4 if f"{each:e}"[0] == "1" else 3.3) > C)


def _first(rows: Rows, shared: dict[str, Any]) -> float:
    """Return the C up to which only the length of the weights changes; for squared losses, which
    change from the beginning, an approximation.

    The weights are C v at first. With a free intercept, the duals of both classes have equal sums,
    at most the weight W of the smaller class, so |v| is at most W times the diameter D of the rows.
    A C of 2 / (W D^2) is therefore below the result, to which scores are extrapolated.
    """
    counted = rows.weights > 0
    sides = [float(rows.weights[counted & (rows.signs == side)].sum()) for side in (1.0, -1.0)]
    square = float(row_squares(rows.X[counted]).max()) + (rows.bias == "penalized") or 1.0
    weight = min(sides) if rows.bias == "free" else sum(sides)
    C = 1.0 / (2 * weight * square) * (1.0 if shared["loss"] == "hinge" else 1e-3)
    if not 1e-280 < C < 1e280:
        return 1.0
    base = np.zeros(len(rows.signs))  # the score times the sign at C = 0
    if rows.bias == "free":
        lean = (sides[0] - sides[1]) / sum(sides)
        base = rows.signs * (np.sign(lean) if shared["loss"] == "hinge" else lean)
    near = counted & (base < 1.0 - 1e-9)
    rises = (_fit(rows, shared, C, None).scores - base)[near] / (1.0 - base)[near]
    quickest = float(rises.max(initial=0.0))
    return C / quickest if quickest > 1e-12 else C


def _ends(rows: Rows, last: Fit, before: Fit | None) -> bool:
    """Return whether a grid ends: nothing changes, or hardly anything."""
    if last.model.loss == "hinge":
        return _is_final(rows, last) or (before is not None and last.penalty_share <= last.model.tol
                                         and last.model.duality_gap_ > ROUNDING)  # fmt: skip
    if before is None:
        return False
    old, new = (
        np.array([np.linalg.norm(one.model.coef_), one.losses.sum()]) for one in (before, last)
    )
    near = np.abs(new - old) <= NEAR * np.abs(new)
    return bool(near[0] and (near[1] or _separated(rows, last)))


def _separated(rows: Rows, fit: Fit) -> bool:
    """Return whether all rows with positive weight are on their side."""
    return bool((fit.scores[rows.weights > 0] > 0).all())


def _is_final(rows: Rows, fit: Fit) -> bool:
    """Return whether 0 is a subgradient of the total hinge, so that a larger C changes nothing."""
    used = rows.weights > 0
    inside = used & (fit.scores < 1.0 - ON_MARGIN)
    on = np.flatnonzero(used & (np.abs(fit.scores - 1.0) <= ON_MARGIN))
    X = rows.X
    if on.size * (X.shape[1] + 1) > MOST_NUMBERS:
        return False
    if not inside.any():
        return True

    if rows.bias is not None:
        ones = np.ones((X.shape[0], 1))
        X = sp.hstack([X, ones], "csr") if sp.issparse(X) else np.hstack([X, ones])
    amounts = rows.weights * rows.signs
    rest = X[inside].T @ amounts[inside]
    scale = abs(X[inside]).T @ np.abs(amounts[inside])
    scale = np.where(scale > 0, scale, 1.0)
    left = rest
    if on.size:
        columns = X[on].toarray() if sp.issparse(X) else X[on]
        A = (columns * amounts[on][:, None] / scale).T
        method = "bvls" if on.size <= 500 else "trf"
        found = lsq_linear(A, -rest / scale, (0.0, 1.0), method=method, tol=1e-14)
        left = (A @ found.x) * scale + rest
    return bool((np.abs(left) <= ZERO * scale).all())


def _path(rows: Rows, found: list[Fit]) -> SoftMarginPath:
    final = None
    if found[0].model.loss == "hinge":
        final = next((k for k, one in enumerate(found) if _is_final(rows, one)), None)
    separable = _separated(rows, found[-1])
    errors = [int((one.model.predict(rows.X) != rows.y).sum()) for one in found]
    for one in found if rows.names is not None else ():
        one.model.feature_names_in_ = np.array(rows.names, dtype=object)
    return SoftMarginPath(
        Cs=np.array([one.C for one in found]),
        models=[one.model for one in found],
        losses=np.array([float(one.losses.sum()) for one in found]),
        errors=np.array(errors),
        n_rows=len(rows.signs), final=final, separable=separable,
        verdict=_widest(rows) if separable else None,
    )  # fmt: skip


def _widest(rows: Rows) -> Separable | None:
    """Return the proof of the widest margin, if time permits; a penalized intercept is the weight
    of a feature that is always 1.
    """
    used = rows.weights > 0
    X = rows.X[used]
    if rows.bias == "penalized":
        ones = np.ones((X.shape[0], 1))
        X = sp.hstack([X, ones], "csr") if sp.issparse(X) else np.hstack([X, ones])
    found = separation(
        X, rows.signs[used], fit_intercept=rows.bias == "free", margin="max", time_limit=TIME_LIMIT
    )
    return found if isinstance(found, Separable) else None
