"""Quality of predictions on labeled rows: confused classes, and the effect of other thresholds.

scikit-learn's displays import pyplot, and have neither a mean of many classes nor the predictions.
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.utils.validation import check_consistent_length

from linsep.errors import DataError, refuse
from linsep.estimators.frames import to_score
from linsep.estimators.labels import check_sample_weight, label_text
from linsep.estimators.thresholds import Cuts, Rule, Threshold, check_two
from linsep.mistake_bounds.margins import codes_of
from linsep.plot import display
from linsep.plot.display import MARKERS, Display, draw_reference, ink, literal, wrapped
from linsep.plot.palettes import color_map, colors, hue
from linsep.scoring import Scored, scored
from linsep.validation.checks import check_beside, labels_of

#: classes beyond which a curve is the mean of the curves of all
MOST_CURVES = 8
#: points of a curve that is drawn; more are indistinguishable
MOST_PLACES = 2_000
#: classes of a confusion matrix that can be read, and those whose names have room for two lines
MOST_CONFUSED, MOST_NAMED = 20, 12
#: places at which curves of many classes are averaged
GRID = np.linspace(0.0, 1.0, 501)
#: the share of rows whose gain a legend names
FIRST_ROWS = 0.1


class Ranked(NamedTuple):
    """One class against all others, at every cut and at the predictions.

    ``alarms`` and ``recall`` are the shares of negative and of positive rows predicted positive;
    ``positive`` and ``said`` those of all rows that belong to the class, and are predicted to.
    """

    cuts: Cuts
    alarms: float
    recall: float
    positive: float
    said: float
    auc: float
    average_precision: float


class _Answers(Display):
    """Base class of pictures of scored predictions."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, ax: Any = None
    ) -> Self:
        """Draw a fitted classifier on rows not used for training.

        Parameters
        ----------
        estimator : fitted classifier, also of another library
            Two classes are ranked by decision values, several by probabilities if available.
        X, y : rows and their classes; omit y if X has the labels, as in ``model.score(X)``
        sample_weight : array of shape (rows,), default ones
        """
        return cls.from_scored(estimator, answers_of(estimator, X, y, sample_weight), ax=ax)

    @classmethod
    def from_scored(cls, estimator: Any, found: Scored, *, ax: Any = None) -> Self:
        """Draw the result of :func:`linsep.scoring.scored`, as :meth:`from_estimator`."""
        counted = (found.weights > 0) & (found.truth < found.classes.size)
        refuse(DataError, (
            not counted.any(), "No row has a label that the model knows: pass rows of its classes.",
            "unknown-label", None,
        ))  # fmt: skip
        known = found if counted.all() else found.rows(counted)
        return cls(**cls._numbers(estimator, known)).plot(ax)

    @classmethod
    def _numbers(cls, estimator: Any, known: Scored) -> dict[str, Any]:
        # of rows with a positive weight and a known label
        raise NotImplementedError


def answers_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Scored:
    """Return the scored predictions of a classifier, also of another library."""
    display.check_drawable(estimator, "classes_", "has no classes; use a classifier.")
    if (source := to_score(estimator, X, y, sample_weight)) is not None:
        return scored(estimator, source)
    why = "The rows have no labels to compare predictions with: pass y."
    refuse(DataError, (y is None, why, "no-labels", None))
    predicted, classes = np.asarray(estimator.predict(X)), estimator.classes_
    codes = codes_of(y, classes, len(predicted))
    weights = check_sample_weight(sample_weight, codes.size)
    weights = weights if weights.size else np.ones(codes.size)
    check_consistent_length(codes, weights)
    probabilities = estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else None
    scores = probabilities
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X))
    elif scores is not None and classes.size == 2:
        scores = scores[:, 1]
    return Scored(
        classes, codes, np.searchsorted(classes, predicted), weights, scores, probabilities, None,
        check_two(estimator) if classes.size == 2 else 1,
    )  # fmt: skip


def ranked(known: Scored, what: str) -> dict[Any, Ranked]:
    """Return the classes that have rows, each against all others; of two only the positive."""
    present = np.unique(known.truth)
    if known.scores is None:
        why = "This classifier has no scores; only its confusion matrix can be drawn."
        raise DataError(why, code="unsupported")
    refuse(DataError, (
        present.size < 2,
        f"linsep.plot needs rows of two or more classes to draw {what}, but all of these are "
        f"of class {label_text(known.classes[present[0]])}: add rows of other classes.",
        "class-count", None,
    ))  # fmt: skip
    curves, weights = {}, known.weights
    for code in [known.positive] if known.classes.size == 2 else present.tolist():
        scores, positive, said = known.column(code), known.truth == code, known.predicted == code
        share, found = np.average([positive, said], axis=1, weights=weights)
        curves[known.classes[code]] = Ranked(
            Cuts.of(positive, scores, weights),
            float(np.average(said[~positive], weights=weights[~positive])),
            float(np.average(said[positive], weights=weights[positive])),
            float(share), float(found),
            float(roc_auc_score(positive, scores, sample_weight=weights)),
            float(average_precision_score(positive, scores, sample_weight=weights)),
        )  # fmt: skip
    return curves


def _thinned(*parts: np.ndarray) -> tuple[np.ndarray, ...]:
    n = len(parts[0])
    kept = np.unique(np.linspace(0, n - 1, min(n, MOST_PLACES)).round().astype(int))
    return tuple(part[kept] for part in parts)


class Curves(_Answers):
    """Base class for curves of classes, each against all others, with a point for the predictions.

    Attributes
    ----------
    classes : dict of label to Ranked
        The positive of two classes, else all classes that have rows.
    curves_ : list of Line2D, one per class; for more than eight classes one, the mean
    others_ : list of Line2D of the single classes, if their mean is drawn
    points_ : list of Line2D, where the classifier's predictions lie
    baseline_ : Line2D of uninformative scores
    """

    #: what is drawn, the labels of the axes, the measure of a curve, and the style of its steps
    _what: ClassVar[str]
    _axes: ClassVar[tuple[str, str]]
    _measure: ClassVar[str]
    _chance: ClassVar[str] = ""
    _steps: ClassVar[str] = "default"

    @classmethod
    def _numbers(cls, estimator: Any, known: Scored) -> dict[str, Any]:
        return {"classes": ranked(known, cls._what)}

    def _curve(self, one: Ranked) -> tuple[np.ndarray, np.ndarray, tuple[float, float], float]:
        """Return the curve of a class, where its predictions are, and its measure."""
        raise NotImplementedError

    def _baseline(self) -> Any:
        return draw_reference(self.ax_, label=self._chance)

    def _draw(self) -> list[Any]:
        self.ax_.set(
            xlabel=self._axes[0], ylabel=self._axes[1], xlim=(-0.02, 1.02), ylim=(-0.02, 1.02),
            aspect="equal",
        )  # fmt: skip
        self.baseline_ = self._baseline()
        found = {label_text(label): self._curve(one) for label, one in self.classes.items()}
        if len(found) > MOST_CURVES:
            return [*self._draw_mean(found), self.baseline_]
        self.curves_, self.points_ = [], []
        for (name, (x, y, place, worth)), color in zip(
            found.items(), colors(len(found)), strict=True
        ):
            self.curves_ += self.ax_.plot(
                *_thinned(x, y), color=color, drawstyle=self._steps,
                label=wrapped(f"{name}: {self._measure.format(f'{worth:.3g}')}"),
            )  # fmt: skip
            self.points_ += self.ax_.plot(
                *np.reshape(place, (2, 1)), color=color, marker="o", markersize=7, ls="none",
                zorder=4, markeredgecolor=self.ax_.get_facecolor(), label="as predicted",
            )  # fmt: skip
        return [*self.curves_, self.points_[-1], self.baseline_]

    def _draw_mean(self, found: dict[str, Any]) -> list[Any]:
        worth = {name: curve[3] for name, curve in found.items()}
        ends = {max(worth, key=worth.__getitem__): ("highest", hue(0))}
        ends[min(worth, key=worth.__getitem__)] = ("lowest", hue(5))
        heights, self.others_ = [], []
        for name, (x, y, *_) in found.items():
            stepped = self._steps != "default"
            at = np.searchsorted(x, GRID).clip(max=x.size - 1)
            heights.append(y[at] if stepped else np.interp(GRID, x, y))
            word, color = ends.get(name, ("", ink()))
            self.others_ += self.ax_.plot(
                GRID, heights[-1], color=color, label=wrapped(f"{word} {worth[name]:.3g}: {name}"),
                linewidth=1.2 if word else 0.6, alpha=1.0 if word else 0.35,
            )  # fmt: skip
        said = self._measure.format(f"{np.mean(list(worth.values())):.3g}")
        self.curves_ = self.ax_.plot(
            GRID, np.mean(heights, axis=0), color=ink(), linewidth=2.0, zorder=4,
            label=f"mean of {len(worth):,} classes: {said}",
        )  # fmt: skip
        self.curves_ += [
            line for name, line in zip(found, self.others_, strict=True) if name in ends
        ]
        return self.curves_


class RocDisplay(Curves):
    """ROC curves: the true positive rate of a class against the false positive rate.

    Every point of a curve corresponds to a threshold. The area below the curve (AUC) is the
    probability that a row of the class has a higher score than a row of the other classes; the
    diagonal corresponds to chance. A dot marks the classifier's predictions. For two classes there
    is one curve, for the positive class (not the reference); for more than eight classes, it is the
    mean of the curves of all classes, each against all others.
    """

    _what, _measure, _chance = "the ROC curve", "AUC {}", "chance: 0.5"
    _axes = "false positive rate", "true positive rate (recall)"

    def _curve(self, one: Ranked) -> Any:
        return one.cuts.alarms, one.cuts.recall, (one.alarms, one.recall), one.auc


class PrecisionRecallDisplay(Curves):
    """Precision against recall of a class.

    The average precision is the area below the steps. Uninformative scores have the share of the
    class as precision, a dotted line. A dot marks the classifier's predictions. Classes are drawn
    as in :class:`RocDisplay`.
    """

    _what, _measure, _steps = "precision and recall", "AP {}", "steps-pre"
    _axes = "recall", "precision"

    def _curve(self, one: Ranked) -> Any:
        precision = one.cuts.precision
        steps = np.append(precision[1], precision[1:])  # from the left edge on
        place = one.recall, one.recall * one.positive / one.said if one.said else np.nan
        return one.cuts.recall, steps, place, one.average_precision

    def _baseline(self) -> Any:
        shares, said = [one.positive for one in self.classes.values()], "the share of the class"
        if not 1 < len(shares) <= MOST_CURVES:
            shares = [float(np.mean(shares))]
            said = f"{shares[0]:.3g}"
        palette = colors(len(shares)) if shares[1:] else [ink()]
        for share, color in zip(shares, palette, strict=True):
            line = self.ax_.axhline(
                share, color=color, linewidth=0.8, ls=":", label="chance: " + said
            )
        return line


class GainDisplay(Curves):
    """Cumulative gain: the share of a class among the rows with the highest scores.

    If a tenth of the customers can be called, the curve at 0.1 shows which share of those who would
    leave is reached by calling the highest scores. Divided by 0.1, the value by chance (the
    diagonal), this is the lift. A dot marks the classifier's predictions. Classes are drawn as in
    :class:`RocDisplay`.
    """

    _what, _chance = "the gain", "chance: lift 1"
    _measure = f"lift {{}} in the first {100 * FIRST_ROWS:g}%"
    _axes = "share of the rows, highest scores first", "share of the class found"

    def _curve(self, one: Ranked) -> Any:
        share, recall = one.cuts.share, one.cuts.recall
        lift = float(np.interp(FIRST_ROWS, share, recall)) / FIRST_ROWS
        return share, recall, (one.said, one.recall), lift


class ThresholdDisplay(_Answers):
    """Precision, recall, F1 and the share of rows predicted positive at every threshold.

    The threshold is a probability, or a score of a classifier without probabilities. A vertical
    line marks the classifier's threshold; if it was chosen by cost, the mean cost per row is also
    drawn, on the right axis.

    Attributes
    ----------
    at : array of shape (places,), ascending thresholds
    curves : dict of str to array of shape (places,), the curves drawn
    costs : array of shape (places,), the mean cost per row, or None
    used, usual : float, the threshold that the classifier uses, and the default
    rule : str, the rule that chose it, or ""
    name : str, what the threshold applies to, such as "probability of yes"
    curves_ : list of Line2D
    cost_ : Line2D or None
    cost_ax_ : Axes with the scale of the costs, or None
    used_, usual_ : Line2D of the thresholds; ``usual_`` is None if the default is used
    """

    @classmethod
    def _numbers(cls, estimator: Any, known: Scored) -> dict[str, Any]:
        positive = check_two(estimator)
        (label, one), *_ = ranked(known, "thresholds").items()
        cuts, what, rule = one.cuts, "score", None
        usual = used = 0.0
        threshold = getattr(estimator, "threshold_", None)
        if isinstance(threshold, Threshold):
            used, rule = threshold.score, Rule.of(threshold.rule)
        if known.probabilities is not None:
            what, values = "probability", known.probabilities[:, positive]
            cuts = Cuts.of(known.truth == positive, values, known.weights)
            # of other libraries it is 1/2, whatever the scores are
            ours = type(estimator).__module__.startswith("linsep.")
            usual, used = (
                Threshold(at, positive, "").number(estimator) if ours else 0.5
                for at in (usual, used)
            )
        costs = None
        if rule is not None and rule.name == "cost":
            costs = cuts.cost(rule)[::-1] / (cuts.right[-1] + cuts.wrong[-1])
        curves = {
            "precision": cuts.precision, "recall": cuts.recall, "F1": cuts.f1,
            "share predicted": cuts.share,
        }  # fmt: skip
        return {
            "at": cuts.at[::-1], "curves": {name: curve[::-1] for name, curve in curves.items()},
            "costs": costs, "used": used, "rule": "" if rule is None else str(rule),
            "usual": usual, "name": f"{what} of {label_text(label)}",
        }  # fmt: skip

    def _draw(self) -> list[Any]:
        ends = display.limits(np.append(self.at, [self.used, self.usual]))
        ends = (-0.02, 1.02) if self.name.startswith("probability") else ends

        def steps(ax: Any, values: np.ndarray, **look: Any) -> Any:  # on the left all are positive
            x, y = _thinned(np.append(self.at, ends[1]), np.append(values, values[-1]))
            x, y = np.append(ends[0], x), np.append(values[0], y)
            return ax.plot(x, y, drawstyle="steps-pre", **look)[0]

        self.curves_ = [
            steps(self.ax_, values, color=hue(k), label=name)
            for k, (name, values) in enumerate(self.curves.items())
        ]
        if self.costs is not None:
            self._right, self.cost_ax_ = 1.2, self.ax_.twinx()
            missed = self.rule.removeprefix("cost=").replace(":", " a missed positive, ")
            self.cost_ = steps(self.cost_ax_, self.costs, linewidth=2.0, color=hue(5), label="cost")
            self.cost_ax_.set_ylabel(f"mean cost per row ({missed} a false alarm)", color=hue(5))
            self.cost_ax_.tick_params(axis="y", colors=hue(5))
            # the cost of predicting all positive may be many times the cost of predicting none
            self.cost_ax_.set_ylim(0, 1.1 * min(self.costs.max(), 2 * self.costs[-1]))
        said = f"used: {self.used:.3g}" + f" ({self.rule})" * bool(self.rule)
        self.used_ = self.ax_.axvline(self.used, color=ink(), linewidth=1.2, ls="--", label=said)
        if self.used != self.usual:
            self.usual_ = self.ax_.axvline(
                self.usual, color=ink(), linewidth=0.8, ls=":", label=f"default: {self.usual:.3g}"
            )
        self.ax_.set(xlabel=wrapped(f"threshold: {self.name}"), xlim=ends, ylim=(-0.02, 1.02))
        return [*self.curves_, self.cost_, self.used_, self.usual_]


class ConfusionDisplay(_Answers):
    """Confusion matrix: one row per class, one column per prediction.

    Each cell shows the number of rows (or their weight) and the share of the rows of the class,
    which also sets the color. With more than 20 classes, those with the most mistakes are drawn.

    Attributes
    ----------
    counts : array of shape (classes, classes)
        The number or weight of rows of a class (row) predicted as a class (column).
    totals : array of shape (classes,), the weight of the rows of each class
    names : list of str
    title : str
    image_ : AxesImage of the shares
    texts_ : list of Text
    """

    @classmethod
    def _numbers(cls, estimator: Any, known: Scored) -> dict[str, Any]:
        k = known.classes.size
        counts = confusion_matrix(
            known.truth, known.predicted, labels=np.arange(k), sample_weight=known.weights
        ).astype(np.float64)
        totals, title, shown = counts.sum(axis=1), "", np.arange(k)
        if k > MOST_CONFUSED:
            mistakes = totals + counts.sum(axis=0) - 2 * np.diag(counts)
            shown = np.sort(np.argsort(-mistakes, kind="stable")[:MOST_CONFUSED])
            title = f"the {MOST_CONFUSED} of {k:,} classes with the most mistakes"
        return {
            "counts": counts[np.ix_(shown, shown)], "totals": totals[shown], "title": title,
            "names": [label_text(known.classes[code]) for code in shown],
        }  # fmt: skip

    def _draw(self) -> list[Any]:
        k = len(self.names)
        if getattr(self.figure_, "grows", False):
            self.figure_.set_size_inches(4.4 + 0.42 * k, 3.4 + 0.42 * k)
        shares = self.counts / np.where(self.totals > 0, self.totals, 1.0)[:, None]
        self.image_ = self.ax_.imshow(shares, cmap=color_map("Blues"), vmin=0.0, vmax=1.0)
        size = "medium" if k <= 4 else "small" if k <= 8 else 6.5
        self.texts_ = []
        for (row, column), count in np.ndenumerate(self.counts):
            share = shares[row, column]
            amount = f"{count:,.0f}" if count == int(count) else f"{count:.3g}"
            text = f"{amount}\n{100 * share:.{int(share < 0.0995)}f}%" if count else "0"
            self.texts_.append(
                self.ax_.text(
                    column, row, text, ha="center", va="center", fontsize=size,
                    color="white" if share > 0.5 else "black", alpha=1.0 if count else 0.4,
                )
            )  # fmt: skip
        names = list(map(wrapped, self.names))
        if k > MOST_NAMED:
            names = list(map(literal, display.cut(self.names, display.LONGEST_NAME)))
        aslant = max(map(len, names)) * k > 40
        look = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if aslant else {}
        self.ax_.set_xticks(range(k), names, **look)
        self.ax_.set_yticks(range(k), names)
        self.ax_.set(xlabel="predicted", ylabel="class")
        display.show_title(self.ax_, self.title, "rows, and their share of the class")
        return []


class ReliabilityDisplay(Display):
    """Calibration curves: mean predicted probability against observed frequency.

    The bins have equal numbers of rows, as in scikit-learn's ``calibration_curve`` with
    ``strategy="quantile"``. There is one curve for two classes, for the larger class, else one per
    class.

    Attributes
    ----------
    curves : dict of label to tuple
        Mean predicted probability and observed frequency by bin, and the Brier score.
    curves_ : list of Line2D, one per class
    diagonal_ : Line2D
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, n_bins: int = 10,
        ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the calibration curves of a classifier with probabilities.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``
        X, y : rows not used for training, and their classes
        sample_weight : array of shape (rows,), default ones
        n_bins : int, default 10
        """
        refuse(DataError, (
            not hasattr(estimator, "predict_proba"),
            f"This {type(estimator).__name__} has no probabilities: calibrate its scores with "
            f"linsep.calibrate or `linsep fit --calibrate`.", "unsupported", None,
        ))  # fmt: skip
        check_beside(X, y=y)
        found, y = estimator.predict_proba(X), labels_of(y)
        codes, curves = codes_of(y, estimator.classes_, len(found)), {}
        for k in range(int(len(estimator.classes_) == 2), len(estimator.classes_)):
            own, p = codes == k, found[:, k]
            observed, predicted = _calibration_curve(own, p, sample_weight, n_bins)
            brier = np.average((p - own) ** 2, weights=sample_weight)
            curves[estimator.classes_[k]] = predicted, observed, float(brier)
        return cls(curves=curves).plot(ax)

    def _draw(self) -> list[Any]:
        self.diagonal_ = draw_reference(self.ax_, label="as predicted")
        self.curves_ = []
        shades = colors(len(self.curves))
        for k, (label, (predicted, observed, brier)) in enumerate(self.curves.items()):
            self.curves_ += self.ax_.plot(
                predicted, observed, color=shades[k], marker=MARKERS[k % len(MARKERS)],
                markersize=4, label=wrapped(f"{label_text(label)}: Brier score {brier:.3g}"),
            )  # fmt: skip
        self.ax_.set(
            xlabel="predicted probability", ylabel="observed frequency",
            xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal",
        )  # fmt: skip
        return [*self.curves_, self.diagonal_]


def _calibration_curve(
    is_class: np.ndarray, predicted: np.ndarray, weights: Any, n_bins: int
) -> tuple[np.ndarray, np.ndarray]:
    # scikit-learn's calibration_curve does not support weights
    weights = np.ones(len(predicted)) if weights is None else np.asarray(weights)
    edges = np.quantile(predicted, np.linspace(0.0, 1.0, n_bins + 1))
    bins = np.searchsorted(edges[1:-1], predicted)
    totals, right, sums = (
        np.bincount(bins, weights * part, n_bins) for part in (1.0, is_class, predicted)
    )
    some = totals > 0
    return right[some] / totals[some], sums[some] / totals[some]
