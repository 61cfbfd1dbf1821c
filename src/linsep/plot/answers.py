"""Quality of predictions on labeled rows: which classes are confused, and the effect of other
thresholds.
"""

from textwrap import wrap
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from linsep.errors import DataError
from linsep.estimators._common.frames import to_score
from linsep.estimators._common.labels import brings_labels, check_sample_weight, label_text
from linsep.estimators._common.thresholds import Cuts, Rule, Threshold, check_two, number_of
from linsep.plot.display import (
    Display,
    codes_of,
    colors,
    ink,
    legend,
    limits,
    literal,
    make_room,
    new_axes,
    shortened,
    show_title,
    wrapped,
)
from linsep.plot.palettes import COLORS, color_map
from linsep.scoring import Scored, scored

#: classes beyond which a curve is the mean of the curves of all
MOST_CURVES = 8
#: points of a curve that is drawn; more are indistinguishable
MOST_PLACES = 2_000
#: classes of a confusion matrix that can be read
MOST_CONFUSED = 20
#: classes of a matrix whose names have room for two lines
MOST_NAMED = 12
#: letters in a line of a name beside a matrix
LONGEST_NAME = 24
#: places at which curves of many classes are averaged
GRID = np.linspace(0.0, 1.0, 501)
#: the share of rows whose gain a legend names
FIRST_ROWS = 0.1


def answers_of(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Scored:
    """Return the scored predictions of a classifier on labeled rows.

    Parameters
    ----------
    estimator : fitted classifier, also of another library, with decision values or probabilities
    X : array, sparse matrix or data frame; for a classifier of linsep also rows with labels: a
        Source, or a file or data frame with the training columns
    y : array of shape (rows,); None if X has the labels
    sample_weight : array of shape (rows,), or None
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, "classes_"):
        raise DataError(
            f"{type(estimator).__name__} has no classes; use a classifier.", code="unsupported"
        )
    X = to_score(estimator, X, y)
    if brings_labels(X, y, sample_weight):
        found: Scored = scored(estimator, X)
        return found
    if y is None:
        raise DataError(
            "The rows have no labels to compare predictions with: pass y.", code="no-labels"
        )
    predicted, classes = np.asarray(estimator.predict(X)), estimator.classes_
    codes = codes_of(y, classes, len(predicted))
    weights = check_sample_weight(sample_weight, codes.size)
    weights = weights if weights.size else np.ones(codes.size)
    check_consistent_length(codes, weights)
    probabilities = estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else None
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X))
    elif probabilities is not None:
        scores = probabilities[:, 1] if classes.size == 2 else probabilities
    else:
        raise DataError(
            f"{type(estimator).__name__} has no scores; only a confusion matrix can be drawn.",
            code="unsupported",
        )
    return Scored(
        classes, codes, np.searchsorted(classes, predicted), weights, scores, probabilities, None,
        check_two(estimator) if classes.size == 2 else 1,
    )  # fmt: skip


def _counting(found: Scored) -> Scored:
    """Return the rows with a positive weight and a known label; DataError if there are none."""
    some = (found.weights > 0) & (found.truth < found.classes.size)
    if not some.any():
        raise DataError(
            "No row has a label that the model knows: pass rows of its classes.",
            code="unknown-label",
        )
    return found if some.all() else found.rows(some)


class Ranked(NamedTuple):
    """One class against all others: the counts at every cut, and at the predictions.

    Attributes
    ----------
    cuts : Cuts
    point : (share of the negative rows, share of the positive rows) predicted positive
    auc, average_precision : float, by scikit-learn
    """

    cuts: Cuts
    point: tuple[float, float]
    auc: float
    average_precision: float

    @property
    def positive(self) -> float:
        """The share of the rows that belong to the class."""
        right, wrong = self.cuts.right[-1], self.cuts.wrong[-1]
        return float(right / (right + wrong))

    @property
    def predicted(self) -> tuple[float, float]:
        """Precision, and the share of the rows that are predicted to be of the class."""
        alarms, recall = self.point
        right, wrong = recall * self.positive, alarms * (1 - self.positive)
        return (right / (right + wrong) if right + wrong else np.nan), right + wrong


def ranked(found: Scored, what: str) -> dict[Any, Ranked]:
    """Return the classes that have rows, each against all others; for two classes only the
    positive.

    ``what`` is drawn; DataError if all rows are of one class.
    """
    known = _counting(found)
    present = np.unique(known.truth)
    if present.size < 2:
        label = label_text(known.classes[present[0]])
        raise DataError(
            f"linsep.plot needs rows of two or more classes to draw {what}, but all of these are "
            f"of class "
            f"{label}: add rows of other classes.",
            code="class-count",
        )
    of = [known.positive] if known.classes.size == 2 else present.tolist()
    return {known.classes[k]: _ranked(known, k, known.column(k)) for k in of}


def _ranked(known: Scored, code: int, scores: np.ndarray) -> Ranked:
    positive, said, weights = known.truth == code, known.predicted == code, known.weights
    right, wrong = (float(weights[said & side].sum()) for side in (positive, ~positive))
    cuts = Cuts.of(positive, scores, weights)
    area, precision = (
        float(metric(positive, scores, sample_weight=weights))
        for metric in (roc_auc_score, average_precision_score)
    )
    return Ranked(cuts, (wrong / cuts.wrong[-1], right / cuts.right[-1]), area, precision)


def _thinned(*parts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return some of the points of a long curve, including its ends."""
    n = len(parts[0])
    if n <= MOST_PLACES:
        return parts
    kept = np.unique(np.linspace(0, n - 1, MOST_PLACES).round().astype(int))
    return tuple(part[kept] for part in parts)


class Curves(Display):
    """Base class for curves of classes, each against all others, with a point for the predictions.

    Parameters
    ----------
    classes : dict of label to Ranked
        The positive of two classes, else all classes that have rows.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curves_ : list of Line2D, one per class; for more than eight classes one, the mean
    others_ : list of Line2D of the single classes, if their mean is drawn
    points_ : list of Line2D, where the classifier's predictions lie
    baseline_ : Line2D of uninformative scores
    legend_ : Legend
    """

    classes: dict[Any, Ranked]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, ax: Any = None,
        **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the curves of a fitted classifier on rows not used for training.

        Parameters
        ----------
        estimator : fitted classifier, also of another library
            Two classes are ranked by decision values, several by probabilities if available.
        X, y : rows and their classes; omit y if X has the labels, as in ``model.score(X)``
        sample_weight : array of shape (rows,), default ones
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            If all rows are of one class, or a label is not a class of the classifier.
        """
        return cls.from_scored(
            estimator, answers_of(estimator, X, y, sample_weight), ax=ax, **kwargs
        )

    @classmethod
    def from_scored(cls, estimator: Any, found: Scored, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves of the result of :func:`linsep.scoring.scored`, as
        :meth:`from_estimator`.
        """
        return cls(classes=ranked(found, cls._what)).plot(ax, **kwargs)

    #: what is drawn, and the style in which steps are
    _what, _steps = "", "default"

    def _line(self, one: Ranked) -> tuple[np.ndarray, np.ndarray]:
        """Return the curve of a class."""
        raise NotImplementedError

    def _height(self, one: Ranked) -> np.ndarray:
        """Return the curve of a class at the points of the grid."""
        x, y = self._line(one)
        return np.interp(GRID, x, y)

    def _place(self, one: Ranked) -> tuple[float, float]:
        """Return where the predictions of a class are."""
        raise NotImplementedError

    def _worth(self, one: Ranked) -> tuple[str, float]:
        """Return the name of a curve's quality measure, with {} for its value, and the value."""
        raise NotImplementedError

    def _baseline(self) -> Any:
        """Draw the line of uninformative scores; return it."""
        raise NotImplementedError

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax`` or on new axes.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        **kwargs : passed to the curves, such as ``linewidth=2``
        """
        self.figure_, self.ax_ = new_axes(ax)
        self.curves_: list[Any] = []
        self.others_: list[Any] = []
        self.points_: list[Any] = []
        self.baseline_ = self._baseline()
        if len(self.classes) > MOST_CURVES:
            self._draw_mean(kwargs)
        else:
            for (label, one), color in zip(
                self.classes.items(), colors(len(self.classes)), strict=True
            ):
                self._draw_class(label_text(label), one, color, kwargs)
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        self.legend_ = legend(self.ax_, [*self.curves_, self._dot(), self.baseline_])
        if ax is None:
            make_room(self.figure_, self.legend_)
        return self

    def _dot(self) -> Any:
        """Return the legend entry for the points; None without points."""
        from matplotlib.lines import Line2D

        if len(self.points_) < 2:
            return self.points_[0] if self.points_ else None
        return Line2D([], [], color=ink(), marker="o", ls="none", label="as predicted")

    def _draw_class(self, name: str, one: Ranked, color: Any, kwargs: dict[str, Any]) -> None:
        look = {"color": color, "linewidth": 1.5, "drawstyle": self._steps} | kwargs
        (line,) = self.ax_.plot(*_thinned(*self._line(one)), **look)
        what, value = self._worth(one)
        line.set_label(wrapped(f"{name}: {what.format(f'{value:.3g}')}"))
        self.curves_.append(line)
        look = {"color": color, "marker": "o", "markersize": 7, "ls": "none", "zorder": 4}
        (point,) = self.ax_.plot(*([x] for x in self._place(one)), **look)
        point.set(markeredgecolor=self.ax_.get_facecolor(), label="as predicted")
        self.points_.append(point)

    def _draw_mean(self, kwargs: dict[str, Any]) -> None:
        """Draw all curves thinly, the best and the worst class with their names, and the mean."""
        heights = {label: self._height(one) for label, one in self.classes.items()}
        worth = {label: self._worth(one)[1] for label, one in self.classes.items()}
        what, _ = self._worth(next(iter(self.classes.values())))
        ends = {max(worth, key=worth.__getitem__): ("highest", COLORS[0])}
        ends[min(worth, key=worth.__getitem__)] = ("lowest", COLORS[5])
        named = []
        for label, height in heights.items():
            word, color = ends.get(label, ("", ink()))
            look = {"linewidth": 1.2 if word else 0.6, "alpha": 1.0 if word else 0.35}
            (line,) = self.ax_.plot(GRID, height, color=color, **look)
            line.set_label(wrapped(f"{word} {worth[label]:.3g}: {label_text(label)}"))
            self.others_.append(line)
            named += [line] if word else []
        look = {"color": ink(), "linewidth": 2.0, "zorder": 4} | kwargs
        (mean,) = self.ax_.plot(GRID, np.mean(list(heights.values()), axis=0), **look)
        average = float(np.mean(list(worth.values())))
        said = what.format(f"{average:.3g}")
        mean.set_label(f"mean of {len(worth):,} classes: {said}")
        self.curves_ = [mean, *named]


class RocDisplay(Curves):
    """ROC curves: the true positive rate of a class against the false positive rate.

    Every point of a curve corresponds to a threshold. The area below the curve (AUC) is the
    probability that a row of the class has a higher score than a row of the other classes; the
    diagonal corresponds to chance. A dot marks the classifier's predictions. For two classes there
    is one curve, for the positive class (not the reference); for more than eight classes, it is the
    mean of the curves of all classes, each against all others.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import linsep
    >>> from linsep.plot import RocDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = linsep.Perceptron(keep="average").fit(X[:300], y[:300])
    >>> display = RocDisplay.from_estimator(model, X[300:], y[300:])
    >>> [round(one.auc, 3) for one in display.classes.values()]
    [0.984]
    """

    _what = "the ROC curve"

    def _line(self, one: Ranked) -> tuple[np.ndarray, np.ndarray]:
        return one.cuts.alarms, one.cuts.recall

    def _place(self, one: Ranked) -> tuple[float, float]:
        return one.point

    def _worth(self, one: Ranked) -> tuple[str, float]:
        return "AUC {}", one.auc

    def _baseline(self) -> Any:
        self.ax_.set(xlabel="false positive rate", ylabel="true positive rate (recall)")
        return self.ax_.axline(
            (0.0, 0.0), slope=1.0, color=ink(), linewidth=0.8, ls=":", label="chance: 0.5"
        )


class PrecisionRecallDisplay(Curves):
    """Precision against recall of a class.

    The average precision is the area below the steps. Uninformative scores have the share of the
    class as precision, a dotted line. A dot marks the classifier's predictions. Classes are drawn
    as in :class:`RocDisplay`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import linsep
    >>> from linsep.plot import PrecisionRecallDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = linsep.Perceptron(keep="average").fit(X[:300], y[:300])
    >>> display = PrecisionRecallDisplay.from_estimator(model, X[300:], y[300:])
    >>> [round(one.average_precision, 3) for one in display.classes.values()]
    [0.995]
    """

    _what, _steps = "precision and recall", "steps-pre"

    def _line(self, one: Ranked) -> tuple[np.ndarray, np.ndarray]:
        precision = one.cuts.precision
        return one.cuts.recall, np.append(precision[1], precision[1:])  # from the left edge on

    def _height(self, one: Ranked) -> np.ndarray:
        recall, precision = self._line(one)
        return precision[np.searchsorted(recall, GRID).clip(max=recall.size - 1)]

    def _place(self, one: Ranked) -> tuple[float, float]:
        return one.point[1], one.predicted[0]

    def _worth(self, one: Ranked) -> tuple[str, float]:
        return "AP {}", one.average_precision

    def _baseline(self) -> Any:
        self.ax_.set(xlabel="recall", ylabel="precision")
        shares = [one.positive for one in self.classes.values()]
        look = {"color": ink(), "linewidth": 0.8, "ls": ":"}
        if 1 < len(shares) <= MOST_CURVES:
            for share, color in zip(shares, colors(len(shares)), strict=True):
                line = self.ax_.axhline(share, **look | {"color": color})
            line.set_label("chance: the share of the class")
            return line
        share = float(np.mean(shares))
        return self.ax_.axhline(share, label=f"chance: {share:.3g}", **look)


class GainDisplay(Curves):
    """Cumulative gain: the share of a class among the rows with the highest scores.

    If a tenth of the customers can be called, the curve at 0.1 shows which share of those who would
    leave is reached by calling the highest scores. Divided by 0.1, the value by chance (the
    diagonal), this is the lift. A dot marks the classifier's predictions. Classes are drawn as in
    :class:`RocDisplay`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import linsep
    >>> from linsep.plot import GainDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = linsep.Perceptron(keep="average").fit(X[:300], y[:300])
    >>> display = GainDisplay.from_estimator(model, X[300:], y[300:])
    >>> display.ax_.get_xlabel()
    'share of the rows, highest scores first'
    """

    _what = "the gain"

    def _line(self, one: Ranked) -> tuple[np.ndarray, np.ndarray]:
        return one.cuts.share, one.cuts.recall

    def _place(self, one: Ranked) -> tuple[float, float]:
        return one.predicted[1], one.point[1]

    def _worth(self, one: Ranked) -> tuple[str, float]:
        gain = float(np.interp(FIRST_ROWS, one.cuts.share, one.cuts.recall))
        return f"lift {{}} in the first {100 * FIRST_ROWS:g}%", gain / FIRST_ROWS

    def _baseline(self) -> Any:
        self.ax_.set(
            xlabel="share of the rows, highest scores first", ylabel="share of the class found"
        )
        return self.ax_.axline(
            (0.0, 0.0), slope=1.0, color=ink(), linewidth=0.8, ls=":", label="chance: lift 1"
        )


class ThresholdDisplay(Display):
    """Precision, recall, F1 and the share of rows predicted positive at every threshold.

    The threshold is a probability, or a score of a classifier without probabilities. A vertical
    line marks the classifier's threshold; if it was chosen by cost, the mean cost per row is also
    drawn, on the right axis. Create it with :meth:`from_estimator`.

    Parameters
    ----------
    at : array of shape (places,), ascending thresholds
    curves : dict of str to array of shape (places,)
        The curves drawn, by name.
    costs : array of shape (places,) or None
        The mean cost per row.
    used : float
        The threshold that the classifier uses.
    rule : str
        The rule that chose it; empty without a rule.
    usual : float
        The default threshold.
    name : str
        What the threshold applies to, such as "probability of yes".

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curves_ : list of Line2D
    cost_ : Line2D or None
    cost_ax_ : Axes with the scale of the costs, or None
    used_, usual_ : Line2D of the thresholds; ``usual_`` is None if the default is used
    legend_ : Legend

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import linsep
    >>> from linsep.plot import ThresholdDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = linsep.Perceptron(keep="average").fit(X[:200], y[:200])
    >>> model = linsep.calibrate(model, X[200:400], y[200:400])
    >>> display = ThresholdDisplay.from_estimator(model, X[400:], y[400:])
    >>> display.name
    'probability of 1'
    """

    at: np.ndarray
    curves: dict[str, np.ndarray]
    costs: np.ndarray | None = None
    used: float
    rule: str = ""
    usual: float
    name: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, ax: Any = None,
        **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw a fitted classifier of two classes; see :meth:`RocDisplay.from_estimator`."""
        return cls.from_scored(
            estimator, answers_of(estimator, X, y, sample_weight), ax=ax, **kwargs
        )

    @classmethod
    def from_scored(cls, estimator: Any, found: Scored, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the result of :func:`linsep.scoring.scored`."""
        positive = check_two(estimator)
        (label, one), *_ = ranked(found, "thresholds").items()
        cuts, known, what, rule = one.cuts, _counting(found), "score", None
        usual = used = 0.0
        threshold = getattr(estimator, "threshold_", None)
        if isinstance(threshold, Threshold):
            used, rule = threshold.score, Rule.of(threshold.rule)
        if known.probabilities is not None:
            what, values = "probability", known.probabilities[:, positive]
            cuts = Cuts.of(known.truth == positive, values, known.weights)
            used, usual = (_probability(estimator, positive, score) for score in (used, usual))
        order = slice(None, None, -1)
        named = {
            "precision": cuts.precision, "recall": cuts.recall, "F1": cuts.f1,
            "share predicted": cuts.share,
        }  # fmt: skip
        total = cuts.right[-1] + cuts.wrong[-1]
        costs = None
        if rule is not None and rule.name == "cost":
            costs = cuts.cost(rule)[order] / total
        return cls(
            at=cuts.at[order], curves={k: v[order] for k, v in named.items()}, costs=costs,
            used=used, rule="" if rule is None else str(rule), usual=usual,
            name=f"{what} of {label_text(label)}",
        ).plot(ax, **kwargs)  # fmt: skip

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax`` or on new axes.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        **kwargs : passed to the curves, such as ``linewidth=2``
        """
        self.figure_, self.ax_ = new_axes(ax)
        probability = self.name.startswith("probability")
        ends = (-0.02, 1.02) if probability else limits(np.append(self.at, [self.used, self.usual]))
        look = {"linewidth": 1.5, "drawstyle": "steps-pre"} | kwargs
        self.curves_ = []
        for (name, values), color in zip(self.curves.items(), COLORS, strict=False):
            self.curves_ += self._step(self.ax_, values, ends, color=color, label=name, **look)
        self.cost_: Any = None
        self.cost_ax_: Any = None
        if self.costs is not None:
            self._draw_costs(ends, look)
        said = f" ({self.rule})" if self.rule else ""
        self.used_ = self.ax_.axvline(
            self.used, color=ink(), linewidth=1.2, ls="--", label=f"used: {self.used:.3g}{said}"
        )
        self.usual_ = None
        if self.used != self.usual:
            self.usual_ = self.ax_.axvline(
                self.usual, color=ink(), linewidth=0.8, ls=":", label=f"default: {self.usual:.3g}"
            )
        self.ax_.set(xlabel=wrapped(f"threshold: {self.name}"), xlim=ends, ylim=(-0.02, 1.02))
        self.legend_ = legend(self.ax_, [*self.curves_, self.cost_, self.used_, self.usual_])
        if self.cost_ax_ is not None:  # beside the scale of the costs
            self.legend_.set_bbox_to_anchor((1.2, 1.0))
        if ax is None:
            make_room(self.figure_, self.legend_)
        return self

    def _step(self, ax: Any, values: np.ndarray, ends: tuple[float, float], **look: Any) -> Any:
        """Draw values from the left edge, where all rows are predicted positive, to the right."""
        x, y = _thinned(np.append(self.at, ends[1]), np.append(values, values[-1]))
        return ax.plot(np.append(ends[0], x), np.append(values[0], y), **look)

    def _draw_costs(self, ends: tuple[float, float], look: dict[str, Any]) -> None:
        self.cost_ax_ = self.ax_.twinx()
        missed = self.rule.removeprefix("cost=").replace(":", " a missed positive, ")
        (self.cost_,) = self._step(
            self.cost_ax_, np.asarray(self.costs), ends, color=COLORS[5], label="cost",
            **look | {"linewidth": 2.0},
        )  # fmt: skip
        self.cost_ax_.set_ylabel(f"mean cost per row ({missed} a false alarm)", color=COLORS[5])
        self.cost_ax_.tick_params(axis="y", colors=COLORS[5])
        # the cost of predicting all positive may be many times the cost of predicting none
        costs = np.asarray(self.costs)
        self.cost_ax_.set_ylim(0, 1.1 * min(costs.max(), 2 * costs[-1]))


def _probability(estimator: Any, positive: int, score: float) -> float:
    """Return the probability at a score; 1/2 for other libraries, whatever the scores are."""
    known = type(estimator).__module__.startswith("linsep.")
    return number_of(estimator, positive, score) if known else 0.5


class ConfusionDisplay(Display):
    """Confusion matrix: one row per class, one column per prediction.

    Each cell shows the number of rows (or their weight) and the share of the rows of the class,
    which also sets the color. With more than 20 classes, those with the most mistakes are drawn.
    Create it with :meth:`from_estimator`.

    Parameters
    ----------
    counts : array of shape (classes, classes)
        The number or weight of rows of a class (row) predicted as a class (column).
    totals : array of shape (classes,)
        The weight of the rows of each class.
    names : list of str
    title : str

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    image_ : AxesImage of the shares
    texts_ : list of Text

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import linsep
    >>> from linsep.plot import ConfusionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = linsep.Perceptron(keep="average").fit(X[::2], y[::2])
    >>> ConfusionDisplay.from_estimator(model, X[1::2], y[1::2]).counts.astype(int).tolist()
    [[25, 0, 0], [0, 24, 1], [0, 1, 24]]
    """

    counts: np.ndarray
    totals: np.ndarray
    names: list[str]
    title: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, ax: Any = None,
        **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the confusion matrix of a fitted classifier; arguments as in
        :meth:`RocDisplay.from_estimator`.
        """
        return cls.from_scored(
            estimator, answers_of(estimator, X, y, sample_weight), ax=ax, **kwargs
        )

    @classmethod
    def from_scored(cls, estimator: Any, found: Scored, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the result of :func:`linsep.scoring.scored`."""
        known, k = _counting(found), found.classes.size
        counts = confusion_matrix(
            known.truth, known.predicted, labels=np.arange(k), sample_weight=known.weights
        ).astype(np.float64)
        totals, title, shown = counts.sum(axis=1), "", np.arange(k)
        if k > MOST_CONFUSED:
            wrong = counts - np.diag(np.diag(counts))
            mistakes = wrong.sum(axis=0) + wrong.sum(axis=1)
            shown = np.sort(np.argsort(-mistakes, kind="stable")[:MOST_CONFUSED])
            title = f"the {MOST_CONFUSED} of {k:,} classes with the most mistakes"
        names = [label_text(found.classes[c]) for c in shown]
        return cls(
            counts=counts[np.ix_(shown, shown)], totals=totals[shown], names=names, title=title
        ).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None) -> Self:
        """Draw on ``ax`` or on a new figure, which grows with the number of classes.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        cmap : str or Colormap, default None
            A matplotlib color map, from a share of 0 to a share of 1.
        """
        self.figure_, self.ax_ = new_axes(ax)
        k = len(self.names)
        if ax is None:
            self.figure_.set_size_inches(4.4 + 0.42 * k, 3.4 + 0.42 * k)
        shares = np.divide(
            self.counts, self.totals[:, None], out=np.zeros_like(self.counts),
            where=self.totals[:, None] > 0,
        )  # fmt: skip
        cmap = color_map("Blues") if cmap is None else cmap
        self.image_ = self.ax_.imshow(shares, cmap=cmap, vmin=0.0, vmax=1.0)
        size = "medium" if k <= 4 else "small" if k <= 8 else 6.5
        self.texts_ = []
        for (row, column), count in np.ndenumerate(self.counts):
            share = shares[row, column]
            text = f"{_amount(count)}\n{100 * share:.{int(share < 0.0995)}f}%" if count else "0"
            self.texts_.append(
                self.ax_.text(
                    column, row, text, ha="center", va="center", fontsize=size,
                    color="white" if share > 0.5 else "black", alpha=1.0 if count else 0.4,
                )
            )  # fmt: skip
        names = [_in_lines(name) if k <= MOST_NAMED else name for name in self.names]
        names = [literal(name if "\n" in name else shortened(name, LONGEST_NAME)) for name in names]
        self.ax_.set(xticks=range(k), yticks=range(k), xlabel="predicted", ylabel="class")
        aslant = max(map(len, names)) * k > 40
        look = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if aslant else {}
        self.ax_.set_xticklabels(names, **look)
        self.ax_.set_yticklabels(names)
        show_title(self.ax_, self.title, "rows, and their share of the class")
        return self


def _in_lines(name: str) -> str:
    """Return a name in at most two lines, each short enough to fit beside a matrix."""
    return "\n".join(wrap(name, LONGEST_NAME, max_lines=2, placeholder=" ...")) or name


def _amount(weight: float) -> str:
    """Return a number of rows, or their weight."""
    return f"{weight:,.0f}" if weight == int(weight) else f"{weight:.3g}"
