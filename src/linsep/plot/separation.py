"""Separability: verdicts and their proofs, margins, fewest errors, suspicious labels, chance."""

from fractions import Fraction
from typing import Any, Self

import numpy as np
from matplotlib.patches import Polygon
from scipy.spatial import ConvexHull, QhullError

from linsep.certificate.errors import FewestErrors
from linsep.certificate.verdicts import QuasiSeparable, Separable, Separations, Undecided, Verdict
from linsep.chance.asymptotics import phase_transition
from linsep.chance.counting import Dichotomies
from linsep.errors import ArgumentError, DataError, refuse
from linsep.estimators.frames import in_memory
from linsep.estimators.labels import label_text
from linsep.mistake_bounds.margins import margin_distribution
from linsep.plot import display, planes
from linsep.plot.display import GRAY, Display, cut, density_title, draw_rings, ink, show_title
from linsep.plot.palettes import hue
from linsep.plot.planes import box_around, line_ends, names_of, numbers_of, plane_along, said_of
from linsep.suspecting import SuspiciousLabels
from linsep.validation.checks import labels_of
from linsep.words import a, counted

#: more labels than that on one side are called the others
MOST_LABELS = 3
#: rows whose labels are suspicious that are drawn, and characters of a label
MOST_SUSPICIOUS, LONGEST_LABEL = 15, 18
#: rows for each weight, up to which a curve is drawn at least
MOST_ROWS_A_WEIGHT = 4.0
#: signals that are drawn
SIGNALS = np.linspace(0.0, 6.0, 61)


class SeparationDisplay(Display):
    """The rows of a separability verdict, with its proof.

    Of separable rows: the separator with its margin, and the rows that limit it. Of overlapping
    rows: a few of both sides whose convex hulls meet at a marked point (without an intercept both
    include the origin). Of quasi-separable rows: a line with no row on the wrong side, and the rows
    that must lie on it.

    Attributes
    ----------
    verdict : Verdict
    plane : the plane that is drawn
    points : array of shape (rows, 2), coordinates of the rows of both sides
    y : int array of shape (rows,), 1 on the positive side, 0 on the negative side
    sides : array of two str, the names of the negative and the positive side
    line : (normal, offset) or None, in coordinates of the plane
    proof : int array, the rows that prove the verdict, as indices of ``points``
    hulls : list of two arrays of shape (places, 2), or empty, whose convex hulls meet
    common : array of shape (2,), a point in both hulls, or None
    line_ : Line2D, or None for overlapping rows
    margin_lines_ : list of Line2D, the margin of separable rows
    proof_ : PathCollection, rings around the rows that prove the verdict
    hulls_ : list of two Polygon, or empty
    common_ : Line2D, a mark where the hulls meet, or None
    """

    @classmethod
    def from_verdict(cls, verdict: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw a verdict and its rows.

        Parameters
        ----------
        verdict : Separable, QuasiSeparable or Overlapping
            By :func:`linsep.separation`; of several classes one such as ``verdict.pairs["a", "b"]``
        X : array, sparse matrix or data frame of shape (rows, features)
            More than two features are projected onto the normal of the separator, or onto the plane
            in which the rows of the infeasibility certificate vary most.
        y : array of shape (rows,)
        """
        X, y, *_ = in_memory(X, y)
        _check_drawn(verdict, X, y)
        about, rows, labels = verdict.subject, numbers_of(X), labels_of(y)
        positive, negative = (np.isin(labels, side) for side in (about.positive, about.negative))
        chosen = np.flatnonzero(positive | negative)
        combined = verdict.support if isinstance(verdict, Separable) else verdict.witness
        proof = np.array(combined.rows, dtype=int)
        names = list(about.names or names_of(X, about.n_features))
        plane = planes.plane_through(names, rows) if len(names) == 2 else None
        line, common, hulls = None, None, []
        if isinstance(verdict, Separable | QuasiSeparable):
            weights = _weights_of(verdict)
            plane = plane or plane_along(weights[:-1], rows[chosen], names)
            line = plane.line(weights[:-1], weights[-1])
        else:
            shares = np.array(combined.shares()) * np.where(positive[proof], 1.0, -1.0)
            some = planes.dense(rows[proof])
            hulls = [some[shares < 0], some[shares > 0]]
            # the multipliers of the certificate give a weighted sum of rows of zero
            total = max(-shares[shares < 0].sum(), shares[shares > 0].sum())
            common = shares[shares > 0] @ hulls[1] / total
            if not about.fit_intercept:  # both hulls include the origin
                hulls = [np.vstack([hull, np.zeros(rows.shape[1])]) for hull in hulls]
            said = f"{len(names):,} features, projected onto the plane in which the certificate is"
            plane = plane or planes.plane_of_span(
                np.vstack(hulls) - common, common, rows, f"{said} widest"
            )
            hulls, common = [plane.coordinates(hull) for hull in hulls], plane.coordinates(common)
        if isinstance(verdict, QuasiSeparable):
            proof = np.array(verdict.boundary, dtype=int)
        sides = [
            ", ".join(map(label_text, side)) if len(side) <= MOST_LABELS else "the others"
            for side in (about.negative, about.positive)
        ]
        return cls(
            verdict=verdict, plane=plane, points=plane.coordinates(rows[chosen]),
            y=positive[chosen].astype(int), sides=np.array(sides, dtype=object), line=line,
            proof=np.searchsorted(chosen, proof), hulls=hulls, common=common,
        ).plot(ax)  # fmt: skip

    def _draw(self) -> list[Any]:
        self.margin_lines_: list[Any] = []
        box = box_around(np.vstack([self.points, *self.hulls]), 0.08)
        classes = self._draw_rows(self.points, self.y, self.sides)
        claim, ringed = self.verdict.kind, "rows on the boundary"
        if isinstance(self.verdict, Separable):
            normal, offset = self.line
            nearest = float(np.abs(self.points @ normal + offset).min())
            for shift in (-nearest, nearest):
                self.margin_lines_ += self.ax_.plot(
                    *line_ends(normal, offset + shift, *box), color=ink(), linewidth=0.8, ls="--",
                    label="its margin",
                )  # fmt: skip
            low, high = (f"{end:.4g}" for end in self.verdict.margin)
            claim = f"separable, widest margin {low}" + f" to {high}" * (low != high)
            ringed = "rows that bound the margin"
        if self.line is not None:
            normal, offset = self.line
            (self.line_,) = self.ax_.plot(
                *line_ends(normal, offset, *box), color=ink(), linewidth=1.5, zorder=3,
                label="separator" if self.margin_lines_ else "no row on the wrong side",
            )  # fmt: skip
        more = " and the origin" * (not self.verdict.subject.fit_intercept)
        self.hulls_ = [
            self.ax_.add_patch(
                Polygon(
                    convex_hull(ends), facecolor=(hue(k), 0.25), edgecolor=hue(k), linewidth=1.5,
                    ls=("--", "-")[k], zorder=2.5,
                    label=display.wrapped(f"hull of {self.sides[k]}{more}"),
                )
            )
            for k, ends in enumerate(self.hulls)
        ]  # fmt: skip
        if self.common is not None:
            ringed = "witness"
            (self.common_,) = self.ax_.plot(
                *self.common[:, None], color=hue(5), marker="*", ls="", markersize=15,
                fillstyle="none", zorder=5, label="point in both hulls",
            )  # fmt: skip
        shown = self.points[self.proof]
        self.proof_ = draw_rings(self.ax_, shown, 112.0, f"{ringed} ({{}})")
        planes.show_plane(self.ax_, self.plane.names, *box)
        show_title(self.ax_, claim, self.plane.title, density_title(len(self.points)))
        drawn = (self.proof_, self.line_, *self.margin_lines_[:1], *self.hulls_, self.common_)
        return [*classes, *drawn]


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Return the corners of the convex hull of points in the plane, in order around it."""
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # of few points, or on a line
        return np.unique(points, axis=0)[[0, -1]]


def _check_drawn(verdict: Any, X: Any, y: Any) -> None:
    if not isinstance(verdict, Verdict | Separations):
        raise ArgumentError(
            f"{a(type(verdict).__name__, first=True)} is not a verdict of linsep.separation."
        )
    about: Any = getattr(verdict, "subject", None)
    several = about is None or about.multinomial
    for wrong, why in (
        (several, "There are several classes: draw one of verdict.pairs or verdict.against_rest."),
        (not several and about.columns is not None,
         "A verdict on a Gram matrix has no feature weights to draw."),
        (isinstance(verdict, Undecided),
         f"An undecided verdict has no proof to draw: {getattr(verdict, 'reason', '')}."),
        (not several and about.n_features == 1, "A plane needs two features, but X has one."),
    ):  # fmt: skip
        refuse(DataError, (wrong, why, "unsupported", None))
    check = verdict.verify(X, y, exact=False)
    refuse(DataError, (
        check.holds is False, f"This verdict is not drawn: {check.reason}", "bad-proof", None,
    ))  # fmt: skip


def _weights_of(verdict: Separable | QuasiSeparable) -> np.ndarray:
    # with the intercept, scaled to a maximum of 1
    if isinstance(verdict, Separable):
        exact: dict[int, Any] = dict(enumerate((*verdict.coef[0], verdict.intercept[0])))
    else:
        exact = dict(verdict.direction)
    largest = max(abs(Fraction(w)) for w in exact.values())
    weights = np.zeros(verdict.subject.n_features + 1)
    weights[list(exact)] = [float(Fraction(w) / largest) for w in exact.values()]
    return weights


class MarginDisplay(Display):
    """Cumulative distribution of the geometric margins of rows.

    A row on the wrong side has a negative margin, so the height of a curve at 0 is the error.

    Attributes
    ----------
    margins : array of shape (rows,), ascending
    certified : the proved interval of the widest margin of the rows, or None
    name : str, the label of the axis
    curve_ : Line2D
    zero_ : Line2D at 0
    certified_ : Polygon of the interval of the widest margin, or None
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, verdict: Any = None, ax: Any = None
    ) -> Self:
        """Draw the margins of rows under a linear classifier.

        Parameters
        ----------
        estimator : fitted linear classifier
        X, y : rows and their classes
        verdict : result of ``linsep.separation(X, y, margin="max")``, default None
            Its interval of the widest margin is drawn.
        """
        margins = np.sort(margin_distribution(estimator, X, y).rows)
        (name,) = said_of(estimator, ["geometric margin"])
        return cls(margins=margins, certified=getattr(verdict, "margin", None), name=name).plot(ax)

    def _draw(self) -> list[Any]:
        ordered = self.margins
        (self.curve_,) = self.ax_.plot(
            np.append(ordered[0], ordered), np.arange(len(ordered) + 1) / len(ordered),
            color=hue(0), drawstyle="steps-post",
            label=f"rows: {100 * float((ordered <= 0).mean()):.3g}% at most 0",
        )  # fmt: skip
        self.zero_ = self.ax_.axvline(0.0, color=ink(), linewidth=0.8)
        if self.certified is not None:
            low, high = (float(end) for end in self.certified)
            self.certified_ = self.ax_.axvspan(
                low, max(high, np.nextafter(low, np.inf)), color=hue(2), alpha=0.8,
                label=f"widest margin of all: {low:.4g}",
            )  # fmt: skip
        self.ax_.set(xlabel=self.name, ylabel="share of the rows", ylim=(0, 1.02))
        return [self.curve_, self.certified_]


class FewestErrorsDisplay(Display):
    """The fewest errors of any hyperplane: both ends of the interval over the time of the search,
    with the gap between them shaded.

    Attributes
    ----------
    seconds, low, high : arrays of shape (changes,)
    low_, high_ : Line2D
    open_ : the shaded area between the ends
    """

    @classmethod
    def from_errors(cls, errors: FewestErrors, *, ax: Any = None) -> Self:
        """Draw the history of the attribute ``errors`` of a verdict that was not read from a
        proof.
        """
        why = "This interval was read from a proof, which has no history to draw."
        refuse(DataError, (not errors.history, why, "unsupported", None))
        seconds, low, high = np.array(errors.history).T
        return cls(seconds=seconds, low=low, high=high).plot(ax)

    def _draw(self) -> list[Any]:
        # the first weights are those before anything was tried
        shown = slice(1 if len(self.seconds) > 2 else 0, None)
        seconds, low, high = self.seconds[shown], self.low[shown], self.high[shown]
        look: dict[str, Any] = {"drawstyle": "steps-post", "marker": ".", "markersize": 5}
        (self.high_,) = self.ax_.plot(
            seconds, high, color=hue(5), label="errors of a hyperplane", **look
        )
        (self.low_,) = self.ax_.plot(seconds, low, color=hue(0), label="proved least", **look)
        self.open_ = self.ax_.fill_between(
            seconds, low, high, step="post", color=GRAY, alpha=0.25, linewidth=0
        )
        self.ax_.set(xlabel="seconds", ylabel="errors", ylim=(0, None))
        last = f"{low[-1]:,.6g} to " * bool(low[-1] != high[-1]) + f"{high[-1]:,.6g}"
        show_title(self.ax_, f"fewest errors of any hyperplane: {last}")
        return [self.high_, self.low_]


class SuspiciousLabelsDisplay(Display):
    """The scores of the most suspicious rows as bars, with their row numbers and labels.

    Attributes
    ----------
    labels : SuspiciousLabels
    bars_ : BarContainer

    Examples
    --------
    >>> import linsep
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = linsep.suspicious_labels(X[50:], y[50:], time_limit=5)
    >>> float(found.plot().bars_[0].get_width())
    1.0
    """

    @classmethod
    def from_labels(cls, labels: SuspiciousLabels, *, ax: Any = None) -> Self:
        """Draw the first 15 rows of the result of :func:`linsep.suspicious_labels`."""
        refuse(DataError, (
            not labels, "No labels are suspicious: there is nothing to draw.", "no-rows", None,
        ))  # fmt: skip
        return cls(labels=labels).plot(ax)

    def _draw(self) -> list[Any]:
        shown = self.labels[:MOST_SUSPICIOUS]
        labels = cut([label_text(one.label) for one in shown], LONGEST_LABEL)
        names = [
            display.literal(f"row {self.labels.name(one)}: {label}")
            for one, label in zip(shown, labels, strict=True)
        ]
        self.bars_ = self.ax_.barh(
            range(len(shown)), [one.score for one in shown], color=hue(0), tick_label=names
        )
        self.ax_.invert_yaxis()
        self.ax_.set(xlabel="score", xlim=(0, 1))
        show_title(self.ax_, "labels that deserve a second look")
        return []


class ChanceDisplay(Display):
    """The probability that a hyperplane separates random labels, by number of rows (Cover 1965).

    Attributes
    ----------
    n_dimensions : int, dimension of the space that the rows span
    fit_intercept : bool
    n_distinct : int, number of distinct rows, which is marked
    bound : bool, whether the mark bounds the probability from above
    curve_ : Line2D, the probability by number of rows per weight
    place_ : Line2D, a mark at the number of rows
    capacity_ : Line2D at two rows per weight, where the probability is 1/2
    """

    @classmethod
    def from_verdict(cls, verdict: Any, *, ax: Any = None) -> Self:
        """Draw the probability for the rows of a two-sided verdict of :func:`linsep.separation`
        that was not read from a proof.
        """
        chance: Any = getattr(verdict, "chance", None)
        refuse(DataError, (
            chance is None or not chance.known,
            "Only a two-sided verdict returned by linsep.separation has the number and the "
            "dimension of the distinct rows: pass such a verdict.", "unsupported", None,
        ))  # fmt: skip
        return cls(
            n_dimensions=chance.n_dimensions, fit_intercept=chance.fit_intercept,
            n_distinct=chance.n_distinct, bound=chance.enough or chance.tied,
        ).plot(ax)  # fmt: skip

    def _draw(self) -> list[Any]:
        d, intercept, n = self.n_dimensions, self.fit_intercept, self.n_distinct
        width = max(1, d + intercept)
        most = max(MOST_ROWS_A_WEIGHT * width, 1.2 * n)
        rows = np.unique(np.linspace(1, most, 400).round().astype(int))
        (self.curve_,) = self.ax_.plot(
            rows / width, [float(Dichotomies(k, d, intercept)) for k in rows.tolist()],
            color=hue(0), label=f"random labels in {counted(d, 'dimension')}",
        )  # fmt: skip
        self.capacity_ = self.ax_.axvline(
            2.0, color=ink(), linewidth=0.8, ls=":", label="two rows per weight: 1/2"
        )
        (self.place_,) = self.ax_.plot(
            [n / width], [float(Dichotomies(n, d, intercept))], "o", ls="", zorder=3,
            color=hue(5), clip_on=False,
            label=counted(n, "distinct row") + ", or less" * self.bound,
        )  # fmt: skip
        self.ax_.set(
            xlabel="distinct rows per weight", ylabel="probability that all are separable",
            xlim=(0, None), ylim=(-0.02, 1.02),
        )  # fmt: skip
        show_title(self.ax_, "Separable by chance? (Cover 1965)")
        return [self.curve_, self.capacity_, self.place_]


class PhaseTransitionDisplay(Display):
    """Where a logistic regression has a maximum likelihood estimate (Candès and Sur 2020).

    Parameters
    ----------
    intercept : float, default=0.0
        The log-odds of the positive class with all columns at their means.
    ratio : float or None, default=None
        Ratio of columns to rows of some data, which is marked
    signal : float, default=0.0
        at this standard deviation of the log-odds.

    Attributes
    ----------
    curve_ : Line2D, the largest ratio of columns to rows with an estimate, by the signal
    exists_ : PolyCollection, the area below it
    place_ : Line2D, the mark, or None
    """

    def __init__(self, intercept: float = 0.0, ratio: float | None = None, signal: float = 0.0):
        super().__init__(intercept=intercept, ratio=ratio, signal=signal)

    def _draw(self) -> list[Any]:
        kappa = np.array([phase_transition(self.intercept, gamma) for gamma in SIGNALS])
        (self.curve_,) = self.ax_.plot(
            SIGNALS, kappa, color=hue(0), label="phase transition", zorder=3
        )
        self.exists_ = self.ax_.fill_between(
            SIGNALS, 0.0, kappa, color=hue(0), alpha=0.15, linewidth=0,
            label="an estimate exists",
        )  # fmt: skip
        if self.ratio is not None:
            (self.place_,) = self.ax_.plot(
                [self.signal], [self.ratio], "o", color=hue(5), zorder=4, label="the data"
            )
        self.ax_.set(
            xlabel="signal (standard deviation of the log-odds)", ylabel="columns / rows",
            xlim=(SIGNALS[0], SIGNALS[-1]), ylim=(0.0, max(0.6, 1.1 * (self.ratio or 0.0))),
        )  # fmt: skip
        intercept = f"intercept {self.intercept:g}" if self.intercept else ""
        show_title(self.ax_, "Maximum likelihood estimates (Candès and Sur 2020)", intercept)
        return [self.curve_, self.exists_, self.place_]
