"""Separability: verdicts and their proofs, margins, fewest errors, suspicious labels, chance."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np

from linsep.certificate.errors import FewestErrors
from linsep.certificate.verdicts import QuasiSeparable, Separable, Separations, Undecided, Verdict
from linsep.chance.asymptotics import phase_transition
from linsep.chance.counting import Dichotomies
from linsep.errors import ArgumentError, DataError
from linsep.estimators.frames import in_memory
from linsep.estimators.labels import label_text
from linsep.mistake_bounds.margins import margin_distribution
from linsep.plot.display import (
    GRAY,
    Display,
    class_handles,
    cut,
    density_title,
    draw_rings,
    draw_rows,
    ink,
    legend,
    literal,
    new_axes,
    show_title,
    wrapped,
)
from linsep.plot.palettes import COLORS
from linsep.plot.plane import (
    Plane,
    box_around,
    completed,
    line_ends,
    names_of,
    numbers_of,
    plane_along,
    plane_through,
    said_of,
    show_plane,
)
from linsep.suspecting import SuspiciousLabels
from linsep.validation.checks import labels_of
from linsep.words import counted

#: more labels than that on one side are called the others
MOST_LABELS = 3
#: characters of a suspicious label
LONGEST_LABEL = 18
#: rows for each weight, up to which a curve is drawn at least
MOST_ROWS_A_WEIGHT = 4.0
#: signals that are drawn
SIGNALS = np.linspace(0.0, 6.0, 61)


class SeparationDisplay(Display):
    """The rows of a separability verdict, with its proof.

    For separable rows, the picture shows the separator with its margin, and the rows that limit the
    margin. For overlapping rows, it shows a few rows of both sides whose convex hulls meet, at a
    marked point. (Without an intercept both hulls include the origin.) For quasi-separable rows, it
    shows a line with no row on the wrong side, and the rows that must lie on it. Create it with
    :meth:`from_verdict`.

    Attributes
    ----------
    verdict : Verdict
    plane : the plane that is drawn
    points : array of shape (rows, 2), coordinates of the rows of both sides
    y : int array of shape (rows,), 1 on the positive side, 0 on the negative side
    sides : array of two str, the names of the negative and the positive side
    line : (normal, offset) or None, in coordinates of the plane
    proof : int array, the rows that prove the verdict, as indices of ``points``
    hulls : list of two arrays of shape (places, 2), or empty
        For overlapping rows, the points whose convex hulls meet.
    common : array of shape (2,), a point in both hulls, or None
    points_ : list of PathCollection, one per side; list of PolyCollection, the density, for many
        rows
    line_ : Line2D, or None for overlapping rows
    margin_lines_ : list of Line2D, the margin of separable rows
    proof_ : PathCollection, rings around the rows that prove the verdict
    hulls_ : list of two Polygon, or empty
    common_ : Line2D, a mark where the hulls meet, or None

    Examples
    --------
    >>> from linsep import datasets, separation
    >>> from linsep.plot import SeparationDisplay
    >>> X, y = datasets.load_exclusive_or(return_X_y=True)
    >>> display = SeparationDisplay.from_verdict(separation(X, y), X, y)
    >>> display.common.tolist()
    [0.0, 0.0]
    """

    @classmethod
    def from_verdict(cls, verdict: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a verdict and its rows.

        Parameters
        ----------
        verdict : Separable, QuasiSeparable or Overlapping
            A verdict of :func:`linsep.separation`; for several classes one of the two-sided
            verdicts, such as ``verdict.pairs["a", "b"]``.
        X : array, sparse matrix or data frame of shape (rows, features)
            Two features are drawn directly. More are projected onto the normal of the separator, or
            onto the plane in which the rows of the infeasibility certificate vary most.
        y : array of shape (rows,)

        Raises
        ------
        DataError
            For rows other than the verdict's, several verdicts, a verdict on a Gram matrix or on
            all classes at once, an undecided verdict, and a single feature.
        TypeError
            For an object that is not a verdict.
        """
        X, y, *_ = in_memory(X, y)
        _check_drawn(verdict, X, y)
        about, rows, labels = verdict.subject, numbers_of(X), labels_of(y)
        positive, negative = (np.isin(labels, side) for side in (about.positive, about.negative))
        chosen = np.flatnonzero(positive | negative)
        combined = verdict.support if isinstance(verdict, Separable) else verdict.witness
        proof = np.array(combined.rows, dtype=int)
        names = list(about.names or names_of(X, about.n_features))
        weights, line, common, hulls = _weights_of(verdict), None, None, []
        if weights is None:
            shares = np.array(combined.shares()) * np.where(positive[proof], 1.0, -1.0)
            some = rows[proof]
            some = some.toarray() if hasattr(some, "toarray") else some
            hulls = [some[shares < 0], some[shares > 0]]
            # the multipliers of the certificate give a weighted sum of rows of zero
            total = max(-shares[shares < 0].sum(), shares[shares > 0].sum())
            common = shares[shares > 0] @ hulls[1] / total
            if not about.fit_intercept:  # both hulls include the origin
                hulls = [np.vstack([hull, np.zeros(rows.shape[1])]) for hull in hulls]
            plane = _plane_of(hulls, common, rows, names)
            hulls, common = [plane.coordinates(hull) for hull in hulls], plane.coordinates(common)
        else:
            normal = weights[:-1]
            two = len(names) == 2
            plane = plane_through(names, rows) if two else plane_along(normal, rows[chosen], names)
            line = plane.line(normal, weights[-1])
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
        ).plot(ax, **kwargs)  # fmt: skip

    def plot(self, ax: Any = None, *, size: float = 28.0) -> Self:
        """Draw on ``ax`` or on new axes; ``size`` is the area of a point, in square points."""
        self.figure_, self.ax_ = new_axes(ax)
        self.margin_lines_: list[Any] = []
        separable = isinstance(self.verdict, Separable)
        box = box_around(np.vstack([self.points, *self.hulls]), 0.08)
        self.points_ = draw_rows(self.ax_, self.points, self.y, self.sides, size)
        if self.line is not None:
            normal, offset = self.line
            nearest = float(np.abs(self.points @ normal + offset).min()) if separable else 0.0
            said = "separator" if separable else "no row on the wrong side"
            for shift in (0.0, -nearest, nearest) if separable else (0.0,):
                look = {"linewidth": 0.8, "ls": "--", "label": "its margin"}
                look = look if shift else {"linewidth": 1.5, "zorder": 3, "label": said}
                ends = line_ends(normal, offset + shift, *box)
                self.margin_lines_ += self.ax_.plot(*ends, color=ink(), **look)
            self.line_ = self.margin_lines_.pop(0)
        self._draw_hulls()
        claim = self.verdict.kind
        if separable:
            low, high = (f"{end:.4g}" for end in self.verdict.margin)
            claim = f"separable, widest margin {low}" + f" to {high}" * (low != high)
        names = {"separable": "rows that bound the margin", "overlapping": "witness"}
        shown = self.points[self.proof]
        said = f"{names.get(self.verdict.kind, 'rows on the boundary')} ({len(shown):,})"
        self.proof_ = draw_rings(self.ax_, shown, 4 * size, "-", said)
        show_plane(self.ax_, self.plane.names, *box)
        show_title(self.ax_, claim, self.plane.title, density_title(len(self.points)))
        classes = class_handles(self.points_, len(self.points), self.sides)
        drawn = (self.proof_, self.line_, *self.margin_lines_[:1], *self.hulls_, self.common_)
        self.legend_ = legend(self.ax_, [*classes, *drawn])
        return self

    def _draw_hulls(self) -> None:
        from matplotlib.patches import Polygon

        more = "" if self.verdict.subject.fit_intercept else " and the origin"
        looks = zip(self.hulls, COLORS, ("--", "-"), self.sides, strict=False)
        self.hulls_ = [
            self.ax_.add_patch(
                Polygon(
                    convex_hull(ends), facecolor=(color, 0.25), edgecolor=color, linewidth=1.5,
                    ls=style, zorder=2.5, label=wrapped(f"hull of {name}{more}"),
                )
            )
            for ends, color, style, name in looks
        ]  # fmt: skip
        if self.common is not None:
            (self.common_,) = self.ax_.plot(
                *self.common[:, None], color=COLORS[5], marker="*", ls="", markersize=15,
                fillstyle="none", zorder=5, label="point in both hulls",
            )  # fmt: skip


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Return the corners of the convex hull of points in the plane, in order around it."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # of few points, or on a line
        return np.unique(points, axis=0)[[0, -1]]


def _check_drawn(verdict: Any, X: Any, y: Any) -> None:
    """Raise unless this is a drawable two-sided verdict on these rows."""
    if isinstance(verdict, Separations):
        raise DataError(
            "There are several verdicts: draw one of verdict.pairs or verdict.against_rest.",
            code="unsupported",
        )
    if not isinstance(verdict, Verdict):
        raise ArgumentError(f"A {type(verdict).__name__} is not a verdict of linsep.separation.")
    about = verdict.subject
    if about.columns is not None:
        raise DataError(
            "A verdict on a Gram matrix has no feature weights to draw.", code="unsupported"
        )
    if about.multinomial:
        raise DataError(
            "A verdict on all classes at once cannot be drawn: draw a two-sided verdict.",
            code="unsupported",
        )
    if isinstance(verdict, Undecided):
        raise DataError(
            f"An undecided verdict has no proof to draw: {verdict.reason}.", code="unsupported"
        )
    check = verdict.verify(X, y, exact=False)
    if check.holds is False:
        raise DataError(f"This verdict is not drawn: {check.reason}", code="bad-proof")
    if about.n_features == 1:
        raise DataError("A plane needs two features, but X has one.", code="unsupported")


def _weights_of(verdict: Any) -> np.ndarray | None:
    """The weights with the intercept, scaled to a maximum of 1; None for overlapping rows."""
    d = verdict.subject.n_features
    exact: Mapping[int, Any]
    if isinstance(verdict, Separable):
        exact = dict(enumerate((*verdict.coef[0], verdict.intercept[0])))
    elif isinstance(verdict, QuasiSeparable):
        exact = verdict.direction
    else:
        return None
    largest = max(abs(Fraction(w)) for w in exact.values())
    weights = np.zeros(d + 1)
    for j, w in exact.items():
        weights[j] = float(Fraction(w) / largest)
    return weights


def _plane_of(ends: list[np.ndarray], common: np.ndarray, X: Any, names: list[str]) -> Plane:
    """The plane of two features; with more, the plane in which the rows of the certificate vary
    most.
    """
    d = len(names)
    if d == 2:
        return plane_through(names, X)
    rows = np.vstack(ends) - common
    sizes, directions = np.linalg.svd(rows, full_matrices=False)[1:]
    across, up = completed(list(directions[:2][sizes[:2] > 1e-9 * sizes[0]]), X)
    said = f"{d:,} features, projected onto the plane in which the certificate is widest"
    return Plane(common, across, up, ("first direction", "second direction"), said)


class MarginDisplay(Display):
    """Cumulative distribution of the geometric margins of rows.

    A row on the wrong side has a negative margin, so the height of a curve at 0 is the error.
    Create it with :meth:`from_estimator`.

    Attributes
    ----------
    margins : dict of str to array, the margins of each set of rows, by name
    certified : the proved interval of the widest margin of the rows, or None
    name : str, the label of the axis
    curves_ : list of Line2D, one per set of rows
    zero_ : Line2D at 0
    certified_ : Polygon of the interval of the widest margin, or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import Perceptron
    >>> from linsep.plot import MarginDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(keep="average").fit(X, y == 0)
    >>> display = MarginDisplay.from_estimator(model, X, y == 0)
    >>> float(display.curves_[0].get_xdata()[1].round(3)) > 0
    True
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, X_test: Any = None, y_test: Any = None,
        verdict: Any = None, ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the margins of rows under a linear classifier.

        Parameters
        ----------
        estimator : fitted linear classifier
        X, y : the training rows and their classes
        X_test, y_test : other rows, default None
        verdict : result of ``linsep.separation(X, y, margin="max")``, default None
            Its interval of the widest margin is drawn.

        Raises
        ------
        DataError, ValueError
            As in :func:`linsep.margin_distribution`.
        """
        first = "rows" if X_test is None else "training"
        found = {first: margin_distribution(estimator, X, y).rows}
        if X_test is not None:
            found["test"] = margin_distribution(estimator, X_test, y_test).rows
        certified = getattr(verdict, "margin", None)
        (name,) = said_of(estimator, ["geometric margin"])
        return cls(margins=found, certified=certified, name=name).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax`` or on new axes; ``kwargs`` are passed to the curves."""
        self.figure_, self.ax_ = new_axes(ax)
        self.curves_ = []
        for (name, margins), color, style in zip(
            self.margins.items(), COLORS, ("-", "--", ":", "-."), strict=False
        ):
            ordered = np.sort(margins)
            shares = np.arange(len(ordered) + 1) / len(ordered)
            label = f"{name}: {100 * float((ordered <= 0).mean()):.3g}% at most 0"
            look = {"color": color, "ls": style, "drawstyle": "steps-post", "label": label} | kwargs
            self.curves_ += self.ax_.plot(np.append(ordered[0], ordered), shares, **look)
        self.zero_ = self.ax_.axvline(0.0, color=ink(), linewidth=0.8)
        if self.certified is not None:
            low, high = (float(end) for end in self.certified)
            self.certified_ = self.ax_.axvspan(
                low, max(high, np.nextafter(low, np.inf)), color=COLORS[2], alpha=0.8,
                label=f"widest margin of all: {low:.4g}",
            )  # fmt: skip
        self.ax_.set(xlabel=self.name, ylabel="share of the rows", ylim=(0, 1.02))
        self.legend_ = legend(self.ax_, [*self.curves_, self.certified_])
        return self


class FewestErrorsDisplay(Display):
    """The fewest errors of any hyperplane: both ends of the interval over the time of the search,
    with the gap between them shaded.

    Create it with :meth:`from_errors`.

    Attributes
    ----------
    seconds, low, high : arrays of shape (changes,)
    low_, high_ : Line2D
    open_ : the shaded area between the ends

    Examples
    --------
    >>> import linsep
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = linsep.separation(X[50:], y[50:], errors=True).errors
    >>> float(found.plot().high_.get_ydata()[-1])
    1.0
    """

    @classmethod
    def from_errors(cls, errors: FewestErrors, **kwargs: Any) -> Self:
        """Draw the history of the attribute ``errors`` of a verdict; ``kwargs`` go to :meth:`plot`.

        Raises
        ------
        DataError
            For an interval read from a proof, which has no history.
        """
        if not errors.history:
            raise DataError(
                "This interval was read from a proof, which has no history to draw.",
                code="unsupported",
            )
        seconds, low, high = np.array(errors.history).T
        return cls(seconds=seconds, low=low, high=high).plot(**kwargs)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.figure_, self.ax_ = new_axes(ax)
        # the first weights are those before anything was tried
        shown = slice(1 if len(self.seconds) > 2 else 0, None)
        seconds, low, high = self.seconds[shown], self.low[shown], self.high[shown]
        look: dict[str, Any] = {"drawstyle": "steps-post", "marker": ".", "markersize": 5}
        (self.high_,) = self.ax_.plot(
            seconds, high, color=COLORS[5], label="errors of a hyperplane", **look
        )
        (self.low_,) = self.ax_.plot(seconds, low, color=COLORS[0], label="proved least", **look)
        self.open_ = self.ax_.fill_between(
            seconds, low, high, step="post", color=GRAY, alpha=0.25, linewidth=0
        )
        self.ax_.set(xlabel="seconds", ylabel="errors", ylim=(0, None))
        self.legend_ = legend(self.ax_, [self.high_, self.low_])
        last = f"{low[-1]:,.6g} to " * bool(low[-1] != high[-1]) + f"{high[-1]:,.6g}"
        show_title(self.ax_, f"fewest errors of any hyperplane: {last}")
        return self


class SuspiciousLabelsDisplay(Display):
    """The scores of the most suspicious rows as bars, with their row numbers and labels.

    Create it with :meth:`from_labels`.

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
    def from_labels(cls, labels: SuspiciousLabels, **kwargs: Any) -> Self:
        """Draw the result of :func:`linsep.suspicious_labels`; DataError if there are none.

        ``kwargs`` are passed to :meth:`plot`.
        """
        if not labels:
            raise DataError("No labels are suspicious: there is nothing to draw.", code="no-rows")
        return cls(labels=labels).plot(**kwargs)

    def plot(self, ax: Any = None, *, most: int = 15) -> Self:
        """Draw at most ``most`` rows on ``ax``, or on a new figure."""
        self.figure_, self.ax_ = new_axes(ax)
        shown = self.labels[:most]
        labels = cut([label_text(one.label) for one in shown], LONGEST_LABEL)
        names = [
            literal(f"row {self.labels.name(one)}: {label}")
            for one, label in zip(shown, labels, strict=True)
        ]
        places = range(len(shown))
        self.bars_ = self.ax_.barh(places, [one.score for one in shown], color=COLORS[0])
        self.ax_.set_yticks(places, names)
        self.ax_.invert_yaxis()
        self.ax_.set(xlabel="score", xlim=(0, 1))
        show_title(self.ax_, "labels that deserve a second look")
        return self


class ChanceDisplay(Display):
    """The probability that a hyperplane separates random labels, by number of rows (Cover 1965).

    Create it with :meth:`from_verdict`.

    Attributes
    ----------
    n_dimensions : int, dimension of the space that the rows span
    fit_intercept : bool
    n_distinct : int, number of distinct rows, which is marked
    bound : bool
        Whether the mark is an upper bound of the probability or a lower bound of the number of
        rows.
    curve_ : Line2D, the probability by number of rows per weight
    place_ : Line2D, a mark at the number of rows
    capacity_ : Line2D at two rows per weight, where the probability is 1/2

    Examples
    --------
    >>> import numpy as np
    >>> from linsep import separation
    >>> from linsep.plot import ChanceDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 60))
    >>> display = ChanceDisplay.from_verdict(separation(X, np.arange(100) % 2))
    >>> round(float(display.place_.get_ydata()[0]), 6)
    0.986737
    """

    @classmethod
    def from_verdict(cls, verdict: Any, *, ax: Any = None) -> Self:
        """Draw the probability for the rows of a two-sided verdict of :func:`linsep.separation`.

        Raises
        ------
        DataError
            For a verdict read from a proof, for several verdicts, and if the dimension of the rows
            is not known.
        """
        chance = getattr(verdict, "chance", None)
        if chance is None or not chance.known:
            raise DataError(
                "Only a two-sided verdict returned by linsep.separation has the number and the "
                "dimension of the distinct rows: pass such a verdict.",
                code="unsupported",
            )
        return cls(
            n_dimensions=chance.n_dimensions, fit_intercept=chance.fit_intercept,
            n_distinct=chance.n_distinct, bound=chance.enough or chance.tied,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` or on new axes."""

        def probability(n_rows: int) -> float:
            return float(Dichotomies(n_rows, self.n_dimensions, self.fit_intercept))

        self.figure_, self.ax_ = new_axes(ax)
        width = max(1, self.n_dimensions + self.fit_intercept)
        most = max(MOST_ROWS_A_WEIGHT * width, 1.2 * self.n_distinct)
        rows = np.unique(np.linspace(1, most, 400).round().astype(int))
        (self.curve_,) = self.ax_.plot(
            rows / width, list(map(probability, rows.tolist())), color=COLORS[0],
            label=f"random labels in {counted(self.n_dimensions, 'dimension')}",
        )  # fmt: skip
        self.capacity_ = self.ax_.axvline(
            2.0, color=ink(), linewidth=0.8, ls=":", label="two rows per weight: 1/2"
        )
        said = counted(self.n_distinct, "distinct row") + ", or less" * self.bound
        (self.place_,) = self.ax_.plot(
            [self.n_distinct / width], [probability(self.n_distinct)], "o", ls="", zorder=3,
            color=COLORS[5], clip_on=False, label=said,
        )  # fmt: skip
        self.ax_.set(
            xlabel="distinct rows per weight", ylabel="probability that all are separable",
            xlim=(0, None), ylim=(-0.02, 1.02),
        )  # fmt: skip
        show_title(self.ax_, "Separable by chance? (Cover 1965)")
        self.legend_ = legend(self.ax_, [self.curve_, self.capacity_, self.place_])
        return self


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

    Examples
    --------
    >>> from linsep.plot import PhaseTransitionDisplay
    >>> display = PhaseTransitionDisplay(ratio=0.2, signal=5**0.5).plot()
    >>> float(display.curve_.get_ydata()[0].round(6))
    0.5
    """

    def __init__(self, intercept: float = 0.0, ratio: float | None = None, signal: float = 0.0):
        super().__init__(intercept=intercept, ratio=ratio, signal=signal)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` or on new axes."""
        self.figure_, self.ax_ = new_axes(ax)
        kappa = np.array([phase_transition(self.intercept, gamma) for gamma in SIGNALS])
        (self.curve_,) = self.ax_.plot(
            SIGNALS, kappa, color=COLORS[0], label="phase transition", zorder=3
        )
        self.exists_ = self.ax_.fill_between(
            SIGNALS, 0.0, kappa, color=COLORS[0], alpha=0.15, linewidth=0,
            label="an estimate exists",
        )  # fmt: skip
        if self.ratio is not None:
            look = {"ls": "", "color": COLORS[5], "zorder": 4, "label": "the data"}
            (self.place_,) = self.ax_.plot([self.signal], [self.ratio], "o", **look)
        self.ax_.set(
            xlabel="signal (standard deviation of the log-odds)", ylabel="columns / rows",
            xlim=(SIGNALS[0], SIGNALS[-1]), ylim=(0.0, max(0.6, 1.1 * (self.ratio or 0.0))),
        )  # fmt: skip
        intercept = f"intercept {self.intercept:g}" if self.intercept else ""
        show_title(self.ax_, "Maximum likelihood estimates (Candès and Sur 2020)", intercept)
        self.legend_ = legend(self.ax_, [self.curve_, self.exists_, self.place_])
        return self
