"""The online classifiers as scikit-learn estimators: fit, partial_fit, fitted attributes; their
predictions, and the draws that break ties.
"""

from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager, closing, nullcontext
from copy import copy
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from operator import itemgetter
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from linsep._system.interrupts import interrupts_allowed, interrupts_deferred
from linsep.batches import NO_IMPORTANCE, Batch
from linsep.compiled.jit import direct
from linsep.compiled.loop import pass_loop
from linsep.compiled.rows import Unit, as_rows, scales
from linsep.errors import DataError, LinsepError, ParameterError, refuse
from linsep.estimators import labels
from linsep.estimators.fitted_state import calls_back
from linsep.estimators.frames import adds_rows, in_memory, to_learn, to_predict, with_features
from linsep.estimators.labels import FLOATS, HasReference, codes_given
from linsep.estimators.predicting import Prediction, decided, probabilities_of, share_right
from linsep.estimators.reading import StopReason, stop_sentence
from linsep.estimators.showing import HasEquation, PlotsDecision
from linsep.learners.passes import Course, PassReport, Run, all_passes, close_pass, learn_batch
from linsep.learners.state import (
    Draws,
    KeepBest,
    KeepLast,
    KeepVote,
    Learner,
    State,
    Unlearnable,
    decision,
    keeping_of,
    predicted,
)
from linsep.parameters import (
    HasParameters,
    Keep,
    Multiclass,
    Tie,
    check_parameters,
    fitted_parameter,
    parameter,
)
from linsep.rows.arrays import ArrayStream, HoldOut, MemoryStream, mixed_bits
from linsep.sources.base import Source
from linsep.validation import checks
from linsep.words import row_text


def numbered(X: Any, n_features: int | None) -> np.ndarray:
    """Hash rows, of numbers by their first ``n_features`` values; uint64 of shape (rows,)."""
    if X.ndim == 1:  # strings or other objects
        texts = (r if isinstance(r, bytes) else str(r).encode("utf-8", "surrogatepass") for r in X)
        digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    X = sp.csr_matrix(X[:, :n_features])
    X.sum_duplicates()
    values, columns = X.data.astype(np.float64), X.indices.astype(np.uint64)
    hashes = mixed_bits(values.view(np.uint64) ^ mixed_bits(columns + np.uint64(1)))
    hashes[values == 0] = 0  # stored zeros do not matter
    # Sums do not depend on the order of values, so that dense and sparse rows hash alike.
    sums = np.append(np.uint64(0), np.cumsum(hashes, dtype=np.uint64))
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


class OnlinePrediction(Prediction):
    """Predictions of an online classifier for the rows of a source."""

    def codes(self) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        model, draws = self.model, self.model.draws()
        for batch in self.batches():
            known = self.fitted_width(batch.X, model.n_features_in_)
            scores, codes = model.scored(known, batch.X, draws, self.source, batch.first)
            scores = batch.answers(scores)
            yield batch, scores, decided(model, scores, codes)


class PredictsOnline(PlotsDecision, HasReference):
    """Scores, classes and accuracy on rows, using the weights that a run kept."""

    _run: Run
    stop_reason_: StopReason | None
    random_state: Any
    n_features_in_: int
    #: returns rows as they are scored
    _rows_to_score: Any
    #: returns the scores of all machines for X and ``whole``, X with features not seen in training
    machine_scores: Any

    def fitted_run(self) -> Run:
        """Return the fit; raise NotFittedError (an AttributeError) if there is no fit."""
        if "_run" not in self.__dict__:
            check_is_fitted(self)
        return self._run

    def predictions(self, source: Source) -> Prediction:
        return OnlinePrediction(self, source)

    def draws(self) -> Draws | None:
        if fitted_parameter(self, "tie") != "random":
            return None
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        salt = mixed_bits(np.array([seed], dtype=np.uint64))
        return lambda X: mixed_bits(numbered(X, self.__dict__.get("n_features_in_")) ^ salt)

    def scored(
        self, X: Any, whole: Any, draws: Draws | None = None, source: Source | None = None,
        first: int = 0,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return the decision values and class codes of rows, of a source from row ``first`` on."""
        scores = self.machine_scores(X, whole)
        bad = np.argwhere(~np.isfinite(scores))
        if bad.size:
            with checks.faults_named(X, self):
                assert_all_finite(checks.as_csr(X), input_name="X")
            row = first + int(bad[0, 0])
            where = row_text(row).capitalize() if source is None else source.where(row)
            raise DataError(
                f"{where}: the score overflows float64; scale the features.",
                code="overflow", **{"row": row + 1} | getattr(where, "fields", {}),
            )  # fmt: skip
        tie = fitted_parameter(self, "tie")
        values = decision(self._run.state, scores, tie)
        codes = predicted(values, tie, draws and (lambda rows: draws(whole[rows])))
        return self.scores_turned(values), self.codes_turned(codes)

    def decision_function(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return scores, computed exactly as in training.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            A source is read batch by batch; open it with ``recipe=model.recipe_``.
        missing : None, or "skip" for NaN in rows with a missing value

        Returns
        -------
        array of shape (rows,) for two classes, else (rows, classes)
            For two classes, positive for the larger one. For one-vs-one, the number of pairs won
            plus the summed scores, scaled to break ties only. With ``keep="vote"``, the share of
            the votes.
        """
        self.fitted_run()
        X = to_predict(self, X, missing)
        if isinstance(X, Source):
            return np.concatenate([values for _, values, _ in self.predictions(X).codes()])
        X = self._rows_to_score(X)
        return self.scored(X, X)[0]

    @available_if(lambda m: hasattr(m, "calibration_") or getattr(m, "scores_are_log_odds", False))
    def predict_proba(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return the probabilities that :func:`linsep.calibrate` fitted, or those of
        :class:`linsep.OnlineLogistic`, shape (rows, classes); arguments as for ``predict``.
        """
        return probabilities_of(self, self.decision_function(X, missing))

    def predict(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Predict the class with the highest score for each row; ``tie`` decides equal scores.

        With ``tie="random"`` the draw depends on ``random_state`` and the values of the row only.
        After :func:`linsep.set_threshold`, the positive of two classes is predicted for scores of
        at least the threshold.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
        missing : None, or "skip" for None in rows with a missing value

        Returns
        -------
        array of shape (rows,), with the type of the labels, or of objects if a row is skipped
        """
        self.fitted_run()
        X = to_predict(self, X, missing)
        if isinstance(X, Source):
            return self.predictions(X).labels()
        X = self._rows_to_score(X)
        return self.classes_[decided(self, *self.scored(X, X, self.draws()))]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on rows X with labels y, weighted by ``sample_weight``; or, without
        both, on a Source, data frame or path with the training columns and labels.
        """
        return share_right(self, X, y, sample_weight)


class OnlineClassifier(
    PredictsOnline, CallbackSupportMixin, ClassifierMixin, HasParameters, BaseEstimator
):
    """Base class of the classifiers that are trained row by row, pass after pass.

    Parameters
    ----------
    multiclass : {"native", "ovr", "ovo"}, default="native"
        Strategy for more than two classes: one joint rule, one-vs-rest, or one-vs-one. A mistake of
        the joint rule adds the example to the true class and subtracts it from the predicted one.
    max_iter : int, default=1000
        Maximum number of passes over the data.
    shuffle : bool, default=True
        Visit the rows in random order in every pass after the first.
    random_state : int, RandomState or None, default=0
        Seed for shuffling, held-out rows and random ties.
    early_stopping : bool, default=False
        Stop when the accuracy on held-out rows, by sample weights, no longer improves. With
        ``keep="last"`` the weights of the best pass are kept, unless the run converged. For other
        values of ``keep`` the model is then trained again on all rows for as many passes.
    validation_fraction : float, default=0.1
        Fraction of the rows of each class to hold out.
    n_iter_no_change : int, default=5
        Passes without improvement before stopping early.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the updates for a class. "balanced": total weight of the rows / (classes * weight
        of the rows of the class); rows of weight 0 are ignored.
    reference : label or None, default=None
        The class with target -1 (two classes only), which determines the signs of weights. None:
        the smaller class. As in scikit-learn, :meth:`decision_function` is always positive for the
        larger class.
    tie : {"negative", "positive", "random"}, default="negative"
        Class of a score of zero, or of equal scores of several classes: the smaller, the larger, or
        a seeded draw, where the native rule treats a tie as a mistake during training, and a
        one-vs-one score of zero is half a win for each class.

    Attributes
    ----------
    classes_ : array of the sorted labels
    reference_ : the class with target -1; None for several classes
    n_iter_ : number of passes made
    mistakes_ : array of shape (passes,), mistakes in each pass; with ovr and ovo, summed over
        the binary classifiers; all rows passed to partial_fit are one pass
    n_updates_ : int, number of updates
    calibration_ : the calibration of :func:`linsep.calibrate`, required for ``predict_proba``
    stop_reason_ : "converged", "clean" (without a mistake, but with scores of zero, or weights
        that changed), "cycle", "max_iter", "early_stop" or "interrupted"; None after partial_fit
    stop_sentence_ : the stop reason as a sentence; known after fit, not partial_fit
    cycle_ : the :class:`linsep.certificate.cycles.Cycle` that ended the run, with ``verify(X, y)``,
        or None; with ovr and ovo the ``Cycles`` of the binary classifiers
    validation_scores_ : array of shape (passes,), accuracy on the held-out rows after each pass
        without them; with early_stopping. This and the next two are at score 0, whatever the
        ``threshold_``
    validation_curve_ : array of shape (passes, 2), error rates of the weights kept after each of
        these passes on training rows and on held-out rows
    progressive_accuracy_ : share of the rows of the first pass predicted correctly before learning
    n_features_in_ : number of features
    feature_names_in_ : names of the features, if X has only string names
    """

    #: values of a parameter that are worth comparing, as the command line spells them
    grid_example: ClassVar[str] = "keep=last,average"
    #: whether features and initial weights must not be negative
    positive_only: ClassVar[bool] = False
    #: the parameters that fix the shape and meaning of the state
    shaping: ClassVar[tuple[str, ...]] = (
        "multiclass", "fit_intercept", "threshold", "keep", "reference", "normalize", "tie", "zero",
    )  # fmt: skip
    #: whether what shards learn can be mixed
    mixable: ClassVar[bool] = False

    multiclass: Multiclass = parameter(default="native")
    max_iter: int = parameter(default=1000, at_least=1)
    shuffle: bool = parameter(default=True)
    random_state: Any = 0
    early_stopping: bool = parameter(default=False)
    validation_fraction: float = parameter(default=0.1, above=0.0, below=1.0)
    n_iter_no_change: int = parameter(default=5, at_least=1)
    class_weight: Any = None
    reference: Any = None
    tie: Tie = parameter(default="negative")

    def learner(self) -> Learner:
        """Return the learner; raise ValueError if parameters are incompatible."""
        raise NotImplementedError

    #: returns X and y, validated unless the pass loop checks rows one by one
    checked_rows: ClassVar[Callable[..., tuple[Any, np.ndarray]]]
    #: return the passes over rows, ``again`` if there are several, with further arguments of
    #: :class:`linsep.rows.arrays.MemoryStream`
    _stream: ClassVar[Callable[..., MemoryStream]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.positive_only
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_one_row": None}  # the weights of a copy are others

    @property
    def n_updates_(self) -> int:
        return self.fitted_run().state.n_updates

    @property
    def mistakes_(self) -> np.ndarray:
        run = self.fitted_run()
        open_pass = [] if run.open_mistakes is None else [run.open_mistakes]
        return np.array([p.mistakes for p in run.reports] + open_pass, dtype=np.int64)

    @property
    def n_iter_(self) -> int:
        return len(self.mistakes_)

    @property
    def cycle_(self) -> Any:
        return self.fitted_run().cycle

    @property
    def stop_sentence_(self) -> str:
        run = self.fitted_run()
        reason = StopReason(self._known("stop_sentence_", self.stop_reason_))
        if run.cycle is not None:
            return str(run.cycle.sentence)
        if reason == StopReason.EARLY_STOP:
            if run.reports[-1].stop_reason is None:
                return "a callback stopped the fit"
            trial = run.trial or run.reports
            why = "the last pass without the held-out rows had no mistake"
            if trial[-1].stop_reason == StopReason.EARLY_STOP:
                best = max(run.scored, key=lambda report: report.validation_score or 0.0)
                why = f"held-out accuracy stopped improving after pass {best.number + 1}"
            passes = f"{len(trial)} pass{'es' * (len(trial) > 1)}"
            return why + f"; then trained on all rows for {passes}" * (run.trial is not None)
        changed = bool(run.reports) and run.reports[-1].updates > 0
        native = run.state.n_classes > 2 and run.state.multiclass == "native"
        return stop_sentence(reason, native, fitted_parameter(self, "tie"), changed)

    @property
    def progressive_accuracy_(self) -> float:
        first, *_ = self._known("progressive_accuracy_", self.fitted_run().reports)
        return 1.0 - first.errors / max(1, first.rows)

    @property
    def validation_scores_(self) -> np.ndarray:
        scores = [p.validation_score for p in self.fitted_run().scored]
        return np.array(self._known("validation_scores_", scores, "early_stopping=True"))

    @property
    def validation_curve_(self) -> np.ndarray:
        held_out = self.validation_scores_
        learned = [p.training_score for p in self.fitted_run().scored]  # None becomes NaN
        return 1.0 - np.column_stack([np.array(learned, np.float64), held_out])

    @property
    def criterion_(self) -> np.ndarray:
        values = [p.criterion for p in self.fitted_run().reports if p.criterion is not None]
        return np.array(self._known("criterion_", values, 'update="batch"'))

    @property
    def mixture_(self) -> Any:
        """The shards of a fit on a cluster, :class:`linsep.learners.mixing.Mixture`."""
        return self._known("mixture_", self.fitted_run().mixture, "a fit on a cluster")

    def _known(self, name: str, value: Any, how: str = "fit, not partial_fit") -> Any:
        if not value:
            raise AttributeError(f"{name} is only available with {how}.")
        return value

    def scoring_copy(self) -> Any:
        """Return a copy with the same scores that computes averaged weights once."""
        other, run = copy(self), self.fitted_run()
        state = copy(run.state)
        state.shaped, state.counts = {"W": run.keeping.weights(run.state)}, {}
        other._run = replace(run, state=state, keeping=KeepLast())
        return other

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state as arrays and plain JSON, see :mod:`linsep.learners.stored`."""
        from linsep.learners import stored

        self.check_same_parameters("save")
        return stored.state_of(self)

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set what :meth:`get_state` returned; LookupError, TypeError or ValueError if wrong."""
        from linsep.learners import stored

        stored.set_state(self, arrays, facts)

    def saving(self, checkpoint: Any) -> AbstractContextManager[Any]:
        if checkpoint is None:
            return nullcontext()
        from linsep.checkpoints.saving import as_checkpoint
        from linsep.learners.stored import SavedOnlineFit

        return SavedOnlineFit(as_checkpoint(checkpoint), self)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train on these rows once, in their order.

        One call with many rows and many calls with one row give bit-identical weights, except with
        ``update="batch"``, which makes one update per call, and with a ``budget``, where support
        vectors are removed at the end of each call.

        Parameters
        ----------
        X : rows as for :meth:`fit`, or a batch of a source, but not a Gram matrix or a Source
            Parameters of a kernel that are computed from data come from the first call.
        y : array of shape (rows,); None for the labels of a batch
        classes : array of all labels that will occur; required only in the first call
        sample_weight : array of shape (rows,), default ones

        Raises
        ------
        ValueError
            As in ``fit``, and if ``classes`` or a parameter that shapes the weights has changed.
        """
        one_row = vars(self).get("_one_row")
        if one_row is None or sample_weight is not None or not one_row(self, X, y, classes):
            self._learn_more(X, y, classes, sample_weight)
        return self

    @adds_rows
    def _learn_more(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        from linsep.learners.proofs import runs_otherwise

        learner, first = self.check_partial_fit(classes), not hasattr(self, "_run")
        if not first:
            self.check_same_parameters("partial_fit")
        checks.check_beside(X, y=y, sample_weight=sample_weight)
        rows, y = self.checked_rows(X, y, learner, reset=first, checked=True)
        known, codes, counted = self._labeled_so_far(y, classes, sample_weight)
        with interrupts_deferred():
            run = self.start_run(learner, known, rows) if first else self._run
            run.fresh = run.fresh and not runs_otherwise(self)
            run.weighted = run.weighted or bool(counted.size)
            run.state.own()
            if self.get_params(deep=False) != (run.learner.made_of or self._learned_with):
                run.learner, learner.made_of = learner, self.get_params(deep=False)
            if run.mixture is not None:
                run.mixture, run.fresh = None, False
            if isinstance(run.keeping, KeepBest):
                run.keeping.open_pocket(run.state)
            self._forget_calibration()
            stream = self._stream(rows, False, codes, counted, 0, False)
            course = Course(run, stream, self.tie, number=1)
            course.begin()
            try:  # an open pass, which the next call continues
                for row_batch in stream.row_batches(0):
                    learn_batch(course, row_batch)
                close_pass(course)
            except Unlearnable as problem:
                raise self._refusal(problem, " (the rows before it were used)") from None
            finally:
                run.open_mistakes = (run.open_mistakes or 0) + course.mistakes
                self._select()
            self.stop_reason_ = None
            self._one_row = one_row(self, classes) if codes.size == 1 else None

    def _labeled_so_far(
        self, y: np.ndarray, classes: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        listed = list(classes) if isinstance(classes, Set) else classes
        known = self.classes_ if classes is None else np.unique(checks.labels_of(listed))
        if hasattr(self, "_run") and not np.array_equal(known, self.classes_):
            raise DataError(
                "classes differ from the first call to partial_fit.",
                code="unknown-label", option="classes",
            )  # fmt: skip
        labels.check_two_classes(known)
        codes = labels.known_codes(known, y)
        weights = labels.check_sample_weight(sample_weight, len(y), all_may_be_zero=True)
        counted = labels.importance(self.class_weight, known, codes, weights)
        return known, codes_given(self, known, codes), counted

    def fit_rows(
        self, X: Any, y: Any, sample_weight: Any = None, saving: Any = None, groups: Any = None,
        seed: int | None = None, **given: Any,
    ) -> Self:  # fmt: skip
        """Fit to rows in memory; ``given`` are initial weights."""
        learner = self.learner()
        self.__dict__.pop("recipe_", None)  # the rows are features, no longer columns of a source
        rows, y = self.checked_rows(X, y, learner, reset=True, checked=False)
        classes, codes, counted = labels.labeled(self, y, sample_weight)
        if (self.early_stopping or not counted.all()) and rows.dtype != object:
            with checks.faults_named(rows, self):  # skipped rows are not checked while learning
                assert_all_finite(checks.as_csr(rows), input_name="X")
        if saving is not None:
            saving.check_arrays(rows, classes, codes, counted)
        seed = self.draw_seed(saving) if seed is None else seed
        hold = None
        if self.early_stopping:  # whatever the class weights
            weights = labels.check_sample_weight(sample_weight, codes.size)
            hold = HoldOut(self.validation_fraction, classes.size, seed, weights, groups=groups)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        with interrupts_deferred():
            run = self.start_run(learner, classes, rows, **given)
            run.seed, run.weighted = seed, bool(counted.size)
            run.left_out |= not counted.all()
            how = codes, counted, seed, bool(self.shuffle), hold
            stream = self._stream(rows, self.max_iter > 1, *how)
            course = Course(run, stream, self.tie, self.max_iter, saving)
            try:
                self.run_passes(course, all_passes(self, course), rows, y, metadata)
            except Unlearnable as problem:
                if problem.code == "overflow":
                    with checks.faults_named(rows, self):
                        assert_all_finite(checks.as_csr(rows), input_name="X")
                raise self._refusal(problem) from None
            finally:
                self._select()
            if run.cycle is not None:
                run.cycle.remember(rows, y)
        return self

    def _select(self) -> None:
        """Forget rows that have no weight after training."""

    def check_partial_fit(self, classes: Any = None) -> Learner:
        check_parameters(self)
        learner = self.learner()
        for option, value in (("early_stopping", True), ("class_weight", "balanced")):
            if getattr(self, option) == value:
                raise ParameterError(
                    f"{option}={value!r} needs all rows at once, which partial_fit never has: "
                    "choose another value, or call fit.", code="unsupported", option=option,
                )  # fmt: skip
        refuse(ParameterError, (
            classes is None and not hasattr(self, "_run"),
            "partial_fit needs classes at first.", "needs-option", "classes",
        ))  # fmt: skip
        return learner

    def draw_seed(self, saving: Any = None) -> int:
        """Return the seed of a fit: of the fit to continue, or from ``random_state``."""
        if saving is not None and saving.seed is not None:
            return saving.seed
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def new_state(self, learner: Learner, n_classes: int, n_features: int) -> State:
        intercept = bool(getattr(self, "fit_intercept", False))
        return State(self.multiclass, n_classes, n_features, intercept, learner.fill)

    def start_run(
        self, learner: Learner, classes: np.ndarray, rows: Any, coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Run:  # fmt: skip
        """Store and return a run with a new state, for rows in memory, or as many features."""
        n_features = rows if isinstance(rows, int) else rows.shape[1]
        state = self.new_state(learner, classes.size, n_features)
        coef = labels.initial(coef_init, (state.n_columns, n_features), "coef_init")
        intercept = labels.initial(intercept_init, (state.n_columns,), "intercept_init")
        refuse(ParameterError, (
            intercept is not None and intercept.any() and not state.bias,
            "intercept_init needs fit_intercept.", "conflict", "intercept_init",
        ))  # fmt: skip
        state.set_weights(coef, intercept)
        learner.start(state, coef, intercept)
        self.classes_, self.stop_reason_ = classes, None
        self._learned_with = self.get_params(deep=False)
        self._forget_calibration()
        by_class = self.class_weight if isinstance(self.class_weight, dict) else {}
        self._run = Run(
            state, learner, keeping_of(self),
            fresh=not (np.any(coef) or np.any(intercept)),
            weighted=self.class_weight is not None, left_out=0 in by_class.values(),
        )  # fmt: skip
        return self._run

    def _forget_calibration(self) -> None:
        for name in ("calibration_", "threshold_"):
            self.__dict__.pop(name, None)

    def check_same_parameters(self, who: str) -> None:
        free = () if self._run.state.n_classes > 2 else ("multiclass",)
        names = [name for name in self.shaping if hasattr(self, name) and name not in free]
        changed = [name for name in names if fitted_parameter(self, name) != getattr(self, name)]
        if changed:
            raise ParameterError(
                f"{who} needs the {' and '.join(changed)} of the last fit: set them back, or fit "
                "again.", code="conflict", option=changed[0],
            )  # fmt: skip

    def run_passes(
        self, course: Course, reports: Iterator[PassReport], X: Any = None, y: Any = None,
        metadata: Any = None,
    ) -> None:  # fmt: skip
        """Make the passes of a course, with callbacks. Ctrl-C takes effect only while waiting for
        rows, between slices and in callbacks: weights, counts and reports stay consistent.
        """
        self.progress_ = course
        known = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        watched = hasattr(self, "_skl_callbacks")
        try:
            with interrupts_deferred(), closing(reports):  # type: ignore[type-var]
                most = self.max_iter * (2 if self.early_stopping else 1)  # there may be two runs
                root = self._init_callback_context(max_subtasks=most)
                with interrupts_allowed():
                    root.call_on_fit_task_begin(**known)
                while self.stop_reason_ is None:
                    if watched:
                        task = root.subcontext(task_name="pass")
                        with interrupts_allowed():
                            task.call_on_fit_task_begin(**known)
                    self.stop_reason_ = next(reports).stop_reason
                    if self.stop_reason_ == StopReason.CYCLE:
                        self._run.cycle = self._cycle_turned(self._run.cycle)
                    if watched:
                        copied = {"reconstruction_attributes": self._snapshot}
                        with interrupts_allowed():
                            if task.call_on_fit_task_end(**known, **copied):
                                self.stop_reason_ = self.stop_reason_ or StopReason.EARLY_STOP
        except KeyboardInterrupt:
            self.stop_reason_ = self.stop_reason_ or StopReason.INTERRUPTED
            raise
        except LinsepError:  # bad data: the weights learned so far are not usable
            del self._run
            raise
        finally:  # without the rows
            self.progress_ = replace(self.progress_, stream=None, saving=None)
            self.progress_.stage = "measuring"
        root.call_on_fit_task_end(**known, reconstruction_attributes=self._snapshot)

    def _snapshot(self) -> dict[str, Any]:
        return {"_run": self._run.snapshot(), "_learned_with": self._learned_with}

    def _refusal(self, problem: Unlearnable, end: str = "") -> DataError:
        row, column = problem.row, problem.column
        if isinstance(column, int):
            column = getattr(self, "feature_names_in_", range(column + 1))[column]
        message = problem.message_for(f"feature {column!r}")
        place, number = ("", None) if row is None else (f"{row_text(row).capitalize()}: ", row + 1)
        return DataError(f"{place}{message}{end}.", code=problem.code, row=number, column=column)


class LinearClassifier(HasEquation, OnlineClassifier):
    """Base class of the online linear classifiers: parameters and :meth:`learner` are to define.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Fit an intercept, the weight of an additional feature that is always 1.
    keep : {"last", "average", "vote", "best"}, default="last"
        Weights to predict with: the last, the mean, a vote of all, or the best so far. "average":
        the mean over all steps (examples seen). "vote": each version of the weights votes with the
        number of steps it survived. "best": the pocket algorithm with ratchet; after each pass the
        mistakes of the longest-surviving and the last weights on all rows are counted, and the
        weights with the fewest so far are kept. (Minimizing the number of mistakes is NP-hard.)
        partial_fit, which sees each row once, keeps the longest-surviving weights.
    vote_mb : float, default=256
        Memory in MB for the updates stored by a vote. Each takes 20 bytes plus 16 per value of its
        row, and all are read to predict. If they exceed it, fit raises an error.
    normalize : bool, default=False
        Scale every row to length 1, in training and prediction, without a copy.

    Attributes
    ----------
    equation_ : the weights as a printable equation in the features and units of the data
    coef_ : array of shape (1, features), (classes, features) or (pairs, features), the weights used
        to predict (with ``keep="vote"`` the last version)
    intercept_ : array of shape (1,), (classes,) or (pairs,)
    report_ : the bound that the run proves without the rows, a
        :class:`linsep.mistake_bounds.bounds.Bounds`: after M mistakes no separator has a margin
        above ||w||/M; ``bounds(X, y)`` adds the bounds that need the rows
    """

    fit_intercept: bool = parameter(default=True)
    keep: Keep = parameter(default="last")
    vote_mb: float = parameter(default=256.0, above=0.0)
    normalize: bool = parameter(default=False)

    @classmethod
    def from_weights(
        cls, coef: Any, intercept: Any = None, *, classes: Any = (-1, 1), **parameters: Any
    ) -> Self:
        """Return a classifier of ascending classes with weights of the shapes of ``coef_`` (or one
        row) and ``intercept_`` (default zeros), from which ``partial_fit`` learns more.
        """
        model, W = cls(**parameters), np.atleast_2d(coef)
        check_parameters(model)
        model.start_run(model.learner(), checks.labels_of(classes), W.shape[1], W, intercept)
        model.n_features_in_ = W.shape[1]
        return model

    @property
    def coef_(self) -> np.ndarray:
        return self.fitted_run().weights()[0]

    @property
    def intercept_(self) -> np.ndarray:
        return self.fitted_run().weights()[1]

    @calls_back
    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, intercept_init: Any = None,
        sample_weight: Any = None, checkpoint: Any = None,
    ) -> Self:  # fmt: skip
        """Fit by passes over all rows until a stopping criterion holds.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            Not copied if float32 or float64 and C-contiguous, or CSR; dense rows of several classes
            that are mostly zeros are packed. A source (:func:`linsep.open_source`) is learned while
            it is read, in constant memory, with the same weights; it has its own labels: omit y.
        y : array of shape (rows,)
            Labels of any type; with two classes, the one that is not the ``reference`` is +1.
        coef_init : array with the shape of ``coef_``, default zeros
        intercept_init : array with the shape of ``intercept_``, default zeros
        sample_weight : array of shape (rows,), default ones
            Multiplies the row's update (the exponent of multiplicative updates, or C if the learner
            has one), its mistakes in ``keep="best"`` and its part in ``early_stopping``; an average
            or a vote counts rows. A row of weight 0 is skipped, but must be finite.
        checkpoint : path or :class:`linsep.Checkpoint`, default None
            File in which the fit saves its state, to resume from with bit-identical results.

        Raises
        ------
        ValueError
            If a parameter, row, label or weight is invalid; the message names its position.
        """
        check_parameters(self)
        with self.saving(checkpoint) as saving:
            if (source := to_learn(self, X, y, sample_weight)) is not None:
                from linsep.learners.from_source import fit_source

                fit_source(self, source, coef_init, intercept_init, saving)
            else:
                initial = {"coef_init": coef_init, "intercept_init": intercept_init}
                self.fit_rows(X, y, sample_weight, saving, **initial)
        return self

    @property
    def report_(self) -> Any:
        from linsep.learners.proofs import report_of

        return report_of(self)

    def bounds(self, X: Any, y: Any, *, literals: int | None = None, majority: int = 1) -> Any:
        """Return :func:`linsep.bounds` of this learner on its training rows, with its mistakes.

        Parameters
        ----------
        X, y : the training rows in their order, or the rows of all calls of partial_fit
        literals, majority : as for :func:`linsep.bounds`

        Returns
        -------
        linsep.mistake_bounds.bounds.Bounds
            Bounds that do not apply, such as after initial weights or with weighted rows, are in
            ``left_out`` with the reason.

        Raises
        ------
        DataError
            If the rows are not those of the fit, which is repeated: their mistakes are others.
        """
        from linsep.learners.proofs import bounds_of

        return bounds_of(self, X, y, literals, majority)

    def separation(self, X: Any, y: Any = None, **how: Any) -> Any:
        """Return :func:`linsep.separation` of these rows, ``how`` it is asked, with the
        ``fit_intercept`` and ``normalize`` of this estimator, which is not changed.
        """
        from linsep.mistake_bounds.margins import seen_rows
        from linsep.separability.deciding import separation

        if self.normalize:
            arrays = "normalize needs arrays."
            refuse(DataError, (hasattr(X, "batches"), arrays, "conflict", "normalize"))
            checks.check_beside(X, y=y)
            X, y, *_ = in_memory(X, y)
            X = seen_rows(X, False, True)
        X, y = with_features(X, y)
        return separation(X, y, fit_intercept=bool(self.fit_intercept), **how)

    @property
    def learns_intercept(self) -> bool:
        """Whether the intercept is trained as the weight of a feature that is always 1."""
        return "fit_intercept" in self.get_params(deep=False) and bool(self.fit_intercept)

    def checked_rows(
        self, X: Any, y: Any, learner: Learner, *, reset: bool, checked: bool
    ) -> tuple[Any, np.ndarray]:
        X = checks.rows_to_fit(X, self, FLOATS, "C", checked=checked, reset=reset)
        y = labels.label_a_row(self, y, X.shape[0])
        X = checks.tidy(X) if self.normalize or learner.needs_lengths else X
        if checked and type(learner).check is not Learner.check:
            try:
                learner.check(as_rows(X))
            except Unlearnable as bad:
                raise self._refusal(bad) from None
        return X, y

    def _stream(self, rows: Any, again: bool, *how: Any) -> MemoryStream:
        stream = ArrayStream(rows, *how, unit=bool(self.normalize))  # type: ignore[misc]
        if again and self._run.state.n_classes > 2 and not self._run.learner.needs_lengths:
            stream.pack()
        return stream

    def _rows_to_score(self, X: Any) -> Any:
        checks.check_prepared(self)
        return checks.rows_to_fit(X, self, FLOATS, "C", checked=False, reset=False)

    def machine_scores(self, X: Any, whole: Any) -> np.ndarray:
        rows, n = as_rows(X), X.shape[0]
        if fitted_parameter(self, "normalize"):  # features without a weight count in the length
            rows = Unit(as_rows(checks.tidy(X)), scales(as_rows(checks.tidy(whole)), n))
        return self._run.keeping.scores(self._run.state, rows, n)


def one_row(model: Any, classes: Any) -> Callable[[Any, Any, Any, Any], bool] | None:
    """Return a function that learns a row of 64-bit floats as ``partial_fit`` does, if all else is
    like in the call before, which had these ``classes``, and returns whether it did; None if the
    rows of a model need more than to be learned.
    """
    run, known = model.fitted_run(), vars(model)
    learner, state = run.learner, run.state
    alone = (
        not isinstance(run.keeping, KeepVote | KeepBest)
        and not (learner.by_pass or learner.rows_at_once)
        and type(learner).check is Learner.check
        and model.class_weight is None and not getattr(model, "normalize", True)
        and not known.keys() & {"feature_names_in_", "recipe_"}
    )  # fmt: skip
    if not alone:
        return None
    before = list(classes) if isinstance(classes, list) else None
    parameters_of = itemgetter(*model._learned_with)
    parameters = parameters_of(known)
    codes = model.codes_turned(np.arange(model.classes_.size)).tolist()
    code_of = dict(zip(model.classes_.tolist(), codes, strict=True))
    row, code, tally = np.zeros((1, state.n_features)), np.zeros(1, np.int32), np.zeros(4, np.int64)
    given = (
        state.scheme(model.tie, count_errors=False), learner.rule(state),
        run.keeping.compiled(state, 0), state.W, state.bias, as_rows(row), code, NO_IMPORTANCE,
        np.zeros(1, np.int64),
    )  # fmt: skip
    learned = partial(direct(pass_loop, *given, 0, tally), *given)
    mistakes, updates, rounds = run.open_mistakes, state.n_updates, state.rounds

    def learn(model: Any, X: Any, y: Any, classes: Any) -> bool:
        known = vars(model)
        like = (
            type(X) is np.ndarray and X.shape == row.shape and X.dtype == np.float64
            and type(y) in (np.ndarray, list) and len(y) == 1
            and (classes is None or (type(classes) is list and classes == before))
            and known.get("_run") is run and "calibration_" not in known
            and "threshold_" not in known and parameters_of(known) == parameters
        )  # fmt: skip
        if not like:
            return False
        try:
            code[0] = code_of[y[0]]
        except (KeyError, TypeError):  # TypeError: of an array, which has no hash
            return False
        row[0] = X[0]
        try:
            # A row without a finite score changes nothing.
            return bool(learned(state.rounds, tally))
        finally:  # also where Ctrl-C comes between the weights and their counts
            run.open_mistakes = mistakes + tally.item(0)
            state.n_updates = updates + tally.item(1)
            state.rounds = rounds + tally.item(3)

    return learn
