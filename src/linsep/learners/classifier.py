"""The online classifiers as scikit-learn estimators: fit, partial_fit, and fitted attributes."""

from collections.abc import Callable, Iterator, Set
from contextlib import closing
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import assert_all_finite, validate_data

from linsep._system.interrupts import interrupts_allowed, interrupts_deferred
from linsep.checkpoints.saving import Saving, as_checkpoint
from linsep.compiled.loop import UPDATES
from linsep.compiled.rows import Unit, as_rows, scales
from linsep.errors import DataError, LinsepError
from linsep.estimators._common import labels
from linsep.estimators._common.fitted_state import StopReason
from linsep.estimators._common.frames import to_learn
from linsep.estimators._common.labels import FLOATS, brings_labels, codes_given
from linsep.estimators._common.showing import HasEquation
from linsep.learners.keeping import KeepBest, KeepLast, keeping_of
from linsep.learners.passes import (
    Course,
    PassReport,
    Plan,
    Progress,
    Run,
    close_pass,
    learn_batch,
    passes,
    stop_sentence,
)
from linsep.learners.predicting import PredictsOnline
from linsep.learners.state import BadRow, Learner, State, Unlearnable
from linsep.parameters import (
    Demonstration,
    HasParameters,
    Keep,
    Multiclass,
    Tie,
    check_parameters,
    fitted_parameter,
    parameter,
)
from linsep.rows.arrays import ArrayStream, HoldOut, RowStream, summed
from linsep.validation.labels import check_beside, labels_of
from linsep.validation.sparse import as_csr
from linsep.validation.values import check_prepared, faults_named


class OnlineClassifier(
    PredictsOnline, CallbackSupportMixin, ClassifierMixin, HasParameters, BaseEstimator
):
    """Base of the classifiers that learn row by row, pass after pass.

    What a fit has learnt is in one :class:`linsep.learners.passes.Run`, from which the fitted
    attributes are computed.
    """

    # What a learner says of itself, so that commands, pages and proofs need not know it.

    #: its name on the command line
    command_name: ClassVar[str] = ""
    #: values of a parameter that are worth comparing, as the command line spells them
    grid_example: ClassVar[str] = "keep=last,average"
    #: whether features and initial weights must not be negative
    positive_only: ClassVar[bool] = False
    #: whether updates add examples, so that the weights of shards can be mixed
    mixable: ClassVar[bool] = False
    #: how pages show it
    demonstrations: ClassVar[tuple[Demonstration, ...]] = ()

    multiclass: Multiclass = parameter(
        default="native",
        help="how to learn more than two classes: one joint rule, one-vs-rest, or one-vs-one",
    )
    max_iter: int = parameter(
        default=1000, at_least=1, help="maximum number of passes over the data"
    )
    shuffle: bool = parameter(default=True, help="visit rows in random order after the first pass")
    random_state: Any = 0
    early_stopping: bool = parameter(
        default=False, help="stop when the accuracy on held-out rows no longer improves"
    )
    validation_fraction: float = parameter(
        default=0.1, above=0.0, below=1.0, help="share of the rows to hold out"
    )
    n_iter_no_change: int = parameter(
        default=5, at_least=1, help="passes without improvement before stopping early"
    )
    class_weight: Any = None
    reference: Any = None
    warm_start: bool = parameter(default=False, help="continue from the weights of the last fit")
    verbose: int = parameter(
        default=0, at_least=0, also=(True, False), help="1 prints a line per pass"
    )
    tie: Tie = parameter(
        default="negative",
        help="class of a row whose score is exactly zero: the smaller, the larger, or a seeded "
        "draw",
    )

    def learner(self) -> Learner:
        """Return the learner; raise ValueError if parameters are incompatible."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.positive_only = True, self.positive_only
        return tags

    # What is known of a fit.

    @property
    def n_updates_(self) -> int:
        """Number of updates over all passes."""
        return self.fitted_run().state.n_updates

    @property
    def mistakes_(self) -> np.ndarray:
        """Mistakes in each pass; all rows given to partial_fit count as one pass."""
        run = self.fitted_run()
        open_pass = [] if run.open_mistakes is None else [run.open_mistakes]
        return np.array([p.mistakes for p in run.reports] + open_pass, dtype=np.int64)

    @property
    def n_iter_(self) -> int:
        """Number of passes."""
        return len(self.mistakes_)

    @property
    def cycle_(self) -> Any:
        """The :class:`linsep.certificate.cycles.Cycle` that ended the run and proves that no
        number of passes will separate the rows; with ovr and ovo the
        :class:`linsep.certificate.cycles.Cycles` of the machines; None if there was none.
        """
        return self.fitted_run().cycle

    @property
    def stop_sentence_(self) -> str:
        """Why the run ended, in one sentence; known after fit, not partial_fit."""
        run = self.fitted_run()
        if self.stop_reason_ is None:
            raise AttributeError("stop_sentence_ is known after fit, not partial_fit.")
        if run.cycle is not None:
            return str(run.cycle.sentence)
        return stop_sentence(self.stop_reason_, run.state, fitted_parameter(self, "tie"))

    @property
    def progressive_accuracy_(self) -> float:
        """Share of the first pass's rows predicted correctly before they were learnt."""
        reports = self.fitted_run().reports
        if not reports:
            raise AttributeError("progressive_accuracy_ is known after fit, not partial_fit.")
        return 1.0 - reports[0].errors / max(1, reports[0].rows)

    @property
    def validation_scores_(self) -> np.ndarray:
        """Accuracy on the held-out rows after each pass; only with early_stopping."""
        reports = self.fitted_run().reports
        scores = [p.validation_score for p in reports if p.validation_score is not None]
        if not scores:
            raise AttributeError("validation_scores_ is only known with early_stopping=True.")
        return np.array(scores)

    @property
    def validation_curve_(self) -> np.ndarray:
        """Error rates of the weights kept after each pass, shape (passes, 2): on the training rows
        and on the held-out rows; only with early_stopping.
        """
        self.validation_scores_  # noqa: B018  raises if there are none
        measured = [p for p in self._run.reports if p.validation_score is not None]
        return 1.0 - np.array(
            [[np.nan if p.training_score is None else p.training_score, p.validation_score]
             for p in measured], dtype=np.float64,
        )  # fmt: skip

    @property
    def criterion_(self) -> np.ndarray:
        """J_p at the start of each pass; only with update="batch"."""
        values = [p.criterion for p in self.fitted_run().reports if p.criterion is not None]
        if not values:
            raise AttributeError('criterion_ is only known with update="batch".')
        return np.array(values)

    @property
    def mixture_(self) -> Any:
        """The shards of a fit on a cluster, :class:`linsep.learners.mixing.Mixture`."""
        if self.fitted_run().mixture is None:
            raise AttributeError("mixture_ is known after a fit in shards.")
        return self._run.mixture

    def scoring_copy(self) -> Any:
        """Return a copy of the same scores whose averaged weights are computed once."""
        other, run = copy(self), self.fitted_run()
        state = copy(run.state)
        state.shaped = {"W": run.keeping.weights(run.state)}
        other._run = replace(run, state=state, keeping=KeepLast())
        return other

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what was learnt as arrays and plain JSON.

        Returns
        -------
        arrays : dict of arrays, by the names that :mod:`linsep.learners.stored` lists
        facts : dict
            ``classes`` (type and values), ``calibration`` (method or None), ``kernel`` (a dict, or
            None) and ``training``: counts, reports of the passes, and what proofs need to know.

        Raises
        ------
        ValueError
            If parameters that shape the weights are not those of the fit.
        """
        from linsep.learners import stored

        self.check_same_parameters("save")
        return stored.state_of(self)

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Take what :meth:`get_state` returned, with the parameters of now.

        Raises
        ------
        LookupError, TypeError, ValueError
            If it is incomplete or inconsistent: shapes, types and sizes are checked.
        """
        from linsep.learners import stored

        stored.set_state(self, arrays, facts)

    def saving(self, checkpoint: Any) -> Saving:
        """Return how a fit is saved; ``checkpoint`` as given to ``fit``."""
        if checkpoint is None:
            return Saving()
        from linsep.learners.stored import SavedOnlineFit

        return SavedOnlineFit(as_checkpoint(checkpoint), self)

    # Labels and weights of rows.

    def _labelled(
        self, y: np.ndarray, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the classes, and the code and weight of each row (no weights if all are 1)."""
        classes, codes = labels.encode(y)
        labels.check_two_classes(classes)
        weights = labels.check_sample_weight(sample_weight, len(y))
        counted = labels.importance(self.class_weight, classes, codes, weights)
        if counted.size:
            labels.warn_of_weightless(classes, np.bincount(codes, counted, classes.size))
        return classes, codes_given(self, classes, codes), counted

    def check_partial_fit(self, classes: Any = None) -> Learner:
        """Return the learner; raise ValueError if partial_fit is not possible."""
        check_parameters(self)
        learner = self.learner()
        if self.early_stopping:
            raise ValueError(
                "early_stopping must be False with partial_fit, which never has all rows to hold "
                "some out; set it to False, or call fit."
            )
        if classes is None and not hasattr(self, "_run"):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels at once, which partial_fit never has; "
                "give a dict of weights."
            )
        return learner

    def _labelled_so_far(
        self, y: np.ndarray, classes: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As :meth:`_labelled`, with the classes of the first call to partial_fit."""
        listed = list(classes) if isinstance(classes, Set) else classes
        known = np.unique(labels_of(listed)) if classes is not None else self.classes_
        if not np.array_equal(known, self.classes_ if hasattr(self, "_run") else known):
            raise ValueError("classes differ from those of the first call to partial_fit.")
        labels.check_two_classes(known)
        codes = labels.encode_with(y, known)
        if codes is None:
            raise ValueError(
                f"y has labels that are not in classes: {labels.unknown_labels(y, known)}; "
                "list every label in the first call to partial_fit."
            )
        weights = labels.check_sample_weight(sample_weight, len(y), all_may_be_zero=True)
        counted = labels.importance(self.class_weight, known, codes, weights)
        return known, codes_given(self, known, codes), counted

    def _hold_out(
        self, n_classes: int, seed: int, sample_weight: Any, n_rows: int, groups: Any = None
    ) -> HoldOut | None:
        """Return the rule that holds rows out, if any: by themselves, or by their ``groups``. Class
        weights are ignored, as in scikit-learn.
        """
        if not self.early_stopping:
            return None
        weights = labels.check_sample_weight(sample_weight, n_rows)
        return HoldOut(self.validation_fraction, n_classes, seed, weights, groups=groups)

    # Passes.

    def draw_seed(self, saving: Saving | None = None) -> int:
        """Return the seed of a fit: from ``random_state``, or that of the fit to go on with."""
        if saving is not None and saving.seed is not None:
            return saving.seed
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def new_state(self, learner: Learner, n_classes: int, n_features: int) -> State:
        """Return a state that has learnt nothing."""
        intercept = bool(getattr(self, "fit_intercept", False))
        return State(self.multiclass, n_classes, n_features, intercept, learner.fill)

    def _begin(self, state: State, learner: Learner, classes: np.ndarray, fresh: bool) -> Run:
        """Hold a new run, with the parameters of now."""
        self.classes_, self.stop_reason_ = classes, None
        self._learnt_with = self.get_params(deep=False)
        self._forget_calibration()
        by_class = self.class_weight if isinstance(self.class_weight, dict) else {}
        self._run = Run(
            state,
            learner,
            keeping_of(self),
            fresh=fresh,
            weighted=self.class_weight is not None,
            left_out=bool(self.early_stopping) or 0 in by_class.values(),
        )
        return self._run

    def _forget_calibration(self) -> None:
        """Forget probabilities that were learnt for other weights."""
        if hasattr(self, "calibration_"):
            del self.calibration_

    def _shaping(self) -> dict[str, Any]:
        """Return the parameters that fix the shape and meaning of the state, as they are now."""
        names = (
            "multiclass", "fit_intercept", "threshold", "keep", "reference", "normalize", "tie",
            "zero",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def check_same_parameters(self, who: str, but: tuple[str, ...] = ()) -> None:
        """Raise ValueError if parameters (except ``but``) differ from those of the last fit."""
        free = but if self._run.state.n_classes > 2 else (*but, "multiclass")
        now = self._shaping().items()
        changed = [k for k, v in now if k not in free and fitted_parameter(self, k) != v]
        if changed:
            raise ValueError(
                f"{who} needs the {' and '.join(changed)} of the last fit; set "
                f"{'it' if len(changed) == 1 else 'them'} back, or fit anew without warm_start."
            )

    def _learn_once(self, stream: RowStream) -> None:
        """Learn the rows in an open pass, which the next call to partial_fit continues."""
        run, progress = self._run, Progress()
        scheme = run.state.scheme(self.tie, count_errors=False)
        self._forget_calibration()
        if run.mixture is not None:
            run.mixture, run.fresh = None, False
        if isinstance(run.keeping, KeepBest):
            run.keeping.open_pocket(run.state)
        with interrupts_deferred():
            try:
                for row_batch in stream.row_batches(0):
                    learn_batch(run, scheme, row_batch, progress)
                progress.tally[UPDATES] += close_pass(run, scheme)
            except Unlearnable as problem:
                raise ValueError(
                    f"Row {problem.row}: {problem} (the rows before it were learnt)."
                ) from None
            finally:
                run.state.n_updates += progress.updates
                run.open_mistakes = (run.open_mistakes or 0) + progress.mistakes
            self.stop_reason_ = None

    def _learn_rows(
        self, stream: RowStream, X: Any, y: Any, sample_weight: Any, saving: Saving
    ) -> None:
        """Learn from rows in memory until a stopping criterion holds."""
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        try:
            self.run_passes(
                lambda plan: passes(Course(self._run, stream, plan, self.progress_), saving),
                X, y, metadata,
            )  # fmt: skip
        except Unlearnable as problem:
            as_csr(X)
            if problem.not_finite:
                with faults_named(X, self):
                    assert_all_finite(X, input_name="X")
            raise self._refusal(problem.row, problem.bad or problem) from None
        if self._run.cycle is not None:
            self._run.cycle.remember(X, y)

    def run_passes(
        self, start: Callable[[Plan], Iterator[PassReport]], X: Any, y: Any, metadata: Any
    ) -> None:
        """Run the passes that ``start`` yields and call scikit-learn's callbacks for each.

        Ctrl-C takes effect only while waiting for rows, between slices of rows and in callbacks, so
        that weights, counts and reports stay consistent.
        """
        self.progress_ = Progress()
        plan = Plan(self.max_iter, self.n_iter_no_change if self.early_stopping else None, self.tie)
        known = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        try:
            with interrupts_deferred(), closing(start(plan)) as made:  # type: ignore[type-var]
                root = self._init_callback_context(max_subtasks=self.max_iter)
                with interrupts_allowed():
                    root.call_on_fit_task_begin(**known)
                while self.stop_reason_ is None:
                    self._one_pass(made, root, known)
        except KeyboardInterrupt:
            self.stop_reason_ = self.stop_reason_ or StopReason.INTERRUPTED
            raise
        except LinsepError:  # bad data: the weights learnt so far are not usable
            del self._run
            raise
        root.call_on_fit_task_end(**known, reconstruction_attributes=self._snapshot)

    def _one_pass(self, made: Iterator[PassReport], root: Any, known: dict[str, Any]) -> None:
        """Run the next pass, with callbacks before and after."""
        task = root.subcontext(task_name="pass")
        with interrupts_allowed():
            task.call_on_fit_task_begin(**known)
        self._note(next(made))
        if self.stop_reason_ == StopReason.INTERRUPTED:
            next(made)  # raises the KeyboardInterrupt that ended the pass
        with interrupts_allowed():
            if task.call_on_fit_task_end(**known, reconstruction_attributes=self._snapshot):
                self.stop_reason_ = self.stop_reason_ or StopReason.EARLY_STOP

    def _note(self, report: PassReport) -> None:
        """Store and print the report of a pass."""
        self.stop_reason_ = report.stop_reason
        self._run.cycle = self._cycle_turned(self.progress_.cycle)
        if self.verbose:
            held_out = report.validation_score
            print(
                f"pass {report.number + 1}: {report.mistakes:,} mistakes in {report.rows:,} rows"
                + ("" if held_out is None else f", held-out accuracy {held_out:.4f}")
            )

    def _snapshot(self) -> dict[str, Any]:
        """Return the attributes of a copy that predicts as if fit had ended here."""
        return {"_run": self._run.snapshot(), "_learnt_with": self._learnt_with}

    def _refusal(self, row: int | None, problem: LinsepError) -> ValueError:
        """Return the error for a row, with the feature's name if it has one."""
        message, names = str(problem), getattr(self, "feature_names_in_", None)
        if isinstance(problem, BadRow) and names is not None:
            message = problem.message_for(f"feature {names[problem.column]!r}")
        return DataError(f"{message}." if row is None else f"Row {row}: {message}.")


class LinearClassifier(HasEquation, OnlineClassifier):
    """Base of the online linear classifiers; a subclass has parameters, :meth:`learner` and the
    theorems about it.
    """

    @property
    def coef_(self) -> np.ndarray:
        """Weights used to predict (with ``keep="vote"`` the last version), shape (1, features) for
        two classes, else one row per class (or pair).
        """
        return self.fitted_run().weights()[0]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, one per row of ``coef_``."""
        return self.fitted_run().weights()[1]

    fit_intercept: bool = parameter(default=True, help="learn an intercept")
    keep: Keep = parameter(
        default="last",
        help="weights to predict with: the last, the mean, a vote of all, or the best so far",
    )
    vote_mb: float = parameter(
        default=256.0,
        above=0.0,
        help="memory in MB for the updates that a vote stores, 16 bytes per value of each row",
    )
    normalize: bool = parameter(default=False, help="scale every row to length 1")

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        checkpoint: Any = None,
    ) -> Any:
        """Fit by passes over all rows until a stopping criterion holds.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            Not copied if float32 or float64 and C-contiguous, or CSR (a million int64 indices or
            fewer are); dense rows of several classes that are mostly zeros are packed. A source
            (:func:`linsep.open_source`) is learnt as it is read, in constant memory, with the same
            weights; it has its own labels, so omit y.
        y : array of shape (rows,)
            Labels of any type; of two, the one that is not the ``reference`` is +1.
        coef_init : array of the shape of ``coef_``, default zeros
        intercept_init : array of the shape of ``intercept_``, default zeros
        sample_weight : array of shape (rows,), default ones
            Multiplies the row's update (its exponent in multiplicative updates, its C where there
            is one), its mistakes in ``keep="best"`` and, if held out, its part in
            ``early_stopping``; rounds of an average or a vote count rows. A row of weight 0 is
            skipped, but must be finite.
        checkpoint : path or :class:`linsep.Checkpoint`, default None
            A file in which the fit saves its state. If the process ends early, the fit can resume
            from it, to the same bits.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, row, label, weight or initial weight is invalid; the message says which,
            where, and what to do.
        """
        check_parameters(self)
        with self.saving(checkpoint) as saving:
            X, y, sample_weight = to_learn(X, y, sample_weight)
            if brings_labels(X, y, sample_weight):
                from linsep.learners.from_source import fit_source

                fit_source(self, X, coef_init, intercept_init, saving)
            else:
                self.fit_rows(X, y, coef_init, intercept_init, sample_weight, saving)
        return self

    def fit_rows(
        self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None,
        sample_weight: Any = None, saving: Saving | None = None,
    ) -> Any:  # fmt: skip
        """Fit to rows in memory, as :meth:`fit` does, and return self."""
        saving = saving or Saving()
        learner = self.learner()
        if not self.warm_start:  # the rows are features, and not those of a source any more
            self.__dict__.pop("recipe_", None)
        X, y = self.checked_rows(X, y, learner, reset=True, checked=False)
        classes, codes, counted = self._labelled(y, sample_weight)
        if self.early_stopping or not counted.all():  # skipped rows are not checked while learning
            with faults_named(X, self):
                assert_all_finite(as_csr(X), input_name="X")
        saving.check_arrays(X, classes, codes, counted)
        seed, unit = self.draw_seed(saving), bool(self.normalize)
        hold = self._hold_out(classes.size, seed, sample_weight, codes.size)
        stream = ArrayStream(X, codes, counted, seed, bool(self.shuffle), hold, unit)
        if classes.size > 2 and self.max_iter > 1 and not learner.needs_lengths:
            stream.pack()
        if self.warm_start and X.shape[1] != getattr(self, "coef_", X).shape[1]:
            raise ValueError("warm_start needs as many features as the last fit had.")
        with interrupts_deferred():
            run = self.start_run(learner, classes, X.shape[1], coef_init, intercept_init)
            run.seed, run.weighted = seed, bool(counted.size)
            run.left_out |= not counted.all()
            self._learn_rows(stream, X, y, sample_weight, saving)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn from these rows once, in their order.

        One call with many rows and many calls with one row give the same weights to the bit, except
        with ``update="batch"`` of :class:`linsep.Perceptron`, which makes one update per call.
        (``gamma="auto"`` of :class:`linsep.MarginPerceptron` stays at 1/2.)

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features)
        y : array of shape (rows,)
        classes : array of all labels that will occur; required in the first call only
        sample_weight : array of shape (rows,), default ones

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in ``fit``, and if ``classes`` or a parameter that shapes the weights
            (``multiclass``, ``fit_intercept``, ``threshold``, ``keep``, ``reference``,
            ``normalize``, ``tie``, ``zero``) has changed.
        """
        from linsep.learners.proofs import runs_otherwise

        learner, first = self.check_partial_fit(classes), not hasattr(self, "_run")
        check_beside(X, y=y, sample_weight=sample_weight)
        X, y = self.checked_rows(X, y, learner, reset=first, checked=True)
        known, codes, counted = self._labelled_so_far(y, classes, sample_weight)
        stream = ArrayStream(X, codes, counted, seed=0, shuffle=False, unit=bool(self.normalize))
        try:
            learner.check(stream.rows)
        except BadRow as bad:
            raise self._refusal(bad.row, bad) from None
        with interrupts_deferred():
            if first:
                self.start_run(learner, known, X.shape[1], None, None)
            self.check_same_parameters("partial_fit")
            run = self._run
            run.fresh = run.fresh and not runs_otherwise(self)
            run.weighted = run.weighted or bool(counted.size)
            run.state.own()
            run.go_on_with(learner)
            self._learn_once(stream)
        return self

    @property
    def report_(self) -> Any:
        """What the run proves without the rows: after M mistakes no separator has a margin above
        ||w||/M. A :class:`linsep.mistake_bounds.bounds.Bounds`; :meth:`bounds` adds bounds that
        need the rows.
        """
        from linsep.learners.proofs import report_of

        return report_of(self)

    def bounds(self, X: Any, y: Any, *, literals: int | None = None, majority: int = 1) -> Any:
        """Return the mistake bounds of this learner on its training rows, with its mistakes.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features)
            The rows of the fit in their order, or those of all calls of partial_fit. The fit is
            repeated, and rows that lead to other mistakes are refused.
        y : array of shape (rows,)
        literals : int, default=None
            For multiplicative updates: the number of features in the disjunction, which is
            checked; None searches for one.
        majority : int, default=1
            How many of the ``literals`` are on in positive rows at least, and not in others,
            which is checked; 1 is a disjunction.

        Returns
        -------
        linsep.mistake_bounds.bounds.Bounds
            As :func:`linsep.bounds`, with the mistakes of the run. Bounds that do not apply, such
            as after initial weights or with weighted rows, are in ``left_out`` with the reason. The
            theorems assume real arithmetic, so none is stated if floats may have underflowed or
            multiplied weights have reached 1e150.

        Raises
        ------
        DataError, ValueError
            If rows, features or labels are not those of the fit, or X has NaN or infinity or is a
            source, or ``literals`` or ``majority`` is not a positive number.
        """
        from linsep.learners.proofs import bounds_of

        return bounds_of(self, X, y, literals, majority)

    def separation(self, X: Any, y: Any = None, **how: Any) -> Any:
        """Decide whether a hyperplane separates the rows, with a proof: :func:`linsep.separation`.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), data frame, or source
        y : array of shape (rows,), not for a source
        **how : ``margin`` and ``formulations`` of :func:`linsep.separation`

        Returns
        -------
        linsep.certificate.verdicts.Verdict
            Computed with this estimator's ``fit_intercept`` and ``normalize``.
            The estimator need not be fitted, and is not changed.

        Raises
        ------
        ValueError
            As :func:`linsep.separation`.
        """
        from linsep.mistake_bounds.problems import seen_rows
        from linsep.separability.deciding import separation

        if self.normalize:
            if hasattr(X, "batches"):
                raise DataError("With normalize=True give arrays: rows have to be scaled first.")
            check_beside(X, y=y)
            X = seen_rows(X, False, True, False)
        return separation(X, y, fit_intercept=bool(self.fit_intercept), **how)

    @property
    def learns_intercept(self) -> bool:
        """Whether the intercept is learnt, as the weight of a feature that is always 1."""
        return bool(self.fit_intercept)

    def twin(self) -> Any:
        """Return the rule of :mod:`linsep.textbook` with these parameters; None without one."""
        return None

    # What theorems say of a run; a learner with theorems overrides these.

    #: whether its theorems are about Euclidean lengths
    euclidean: ClassVar[bool] = True
    #: whether the rule scales rows, with their constant feature, to length 1
    scales_rows: ClassVar[bool] = False
    #: whether :func:`linsep.bounds` states its bounds, for its best parameters
    bounded_in_advance: ClassVar[bool] = False
    #: whether the state counts the rates of the updates, which is restored with the weights
    counts_rates: ClassVar[bool] = False

    def theorems(self, case: Any) -> list[Any]:
        """Return each :class:`linsep.mistake_bounds.bounding.Theorem` about a ``case`` of this
        learner, which a :class:`linsep.mistake_bounds.bounding.Case` describes.
        """
        return []

    def premises(self) -> tuple[Any, ...]:
        """Return the parameters that its theorems are about."""
        return ()

    def obstacle(self) -> str | None:
        """Return why mistake bounds do not apply to this run, or None if they do."""
        if type(self).theorems is LinearClassifier.theorems:
            return f"no theorem about {type(self).__name__} is known"
        return self._run.obstacle() if hasattr(self, "_run") else None

    def beyond_floats(self, case: Any) -> str | None:
        """Return why underflow or saturation may have affected a run, or None."""
        return None

    def _total_rate(self) -> float | None:
        """Return the sum of the rates of all updates; None if the learner does not add examples."""
        return None

    def _counted_updates(self) -> float:
        """Return what bounds on updates count."""
        return self.n_updates_

    def checked_rows(
        self, X: Any, y: Any, learner: Learner, *, reset: bool, checked: bool
    ) -> tuple[Any, np.ndarray]:
        """Return X and y validated. Unless ``checked``, finiteness and column indices are left to
        the pass loop, which checks them row by row.
        """
        if not reset:
            check_prepared(self, X)
        with faults_named(X, self):
            X = validate_data(
                self, as_csr(X, columns=checked), accept_sparse="csr", dtype=FLOATS, order="C",
                reset=reset, ensure_all_finite=checked,
            )  # fmt: skip
        y = labels.label_a_row(self, y, X.shape[0])
        return summed(X) if self.normalize or learner.needs_lengths else X, y

    def _rows_to_score(self, X: Any) -> Any:
        check_prepared(self, X)
        voting = fitted_parameter(self, "keep") == "vote"
        with faults_named(X, self):
            return validate_data(
                self, as_csr(X, columns=voting), accept_sparse="csr", dtype=FLOATS, order="C",
                reset=False, ensure_all_finite=False,
            )  # fmt: skip

    def machine_scores(self, X: Any, whole: Any) -> np.ndarray:
        """Return the scores of every machine; ``whole`` has features not seen in training, too."""
        if not fitted_parameter(self, "normalize"):
            return self._run.keeping.scores(self._run.state, as_rows(X), X.shape[0])
        # Features without a weight count in the length of a row.
        rows = Unit(as_rows(summed(X)), scales(as_rows(summed(whole)), X.shape[0]))
        return self._run.keeping.scores(self._run.state, rows, X.shape[0])

    def start_run(
        self, learner: Learner, classes: np.ndarray, n_features: int, coef: Any, intercept: Any
    ) -> Run:
        """Hold and return a run with a new state, or with warm_start the old one."""
        warm = self.warm_start and hasattr(self, "_run")
        if warm:
            if not np.array_equal(classes, self.classes_):
                raise ValueError("warm_start needs the classes of the last fit; y has others.")
            self.check_same_parameters("warm_start", but=("keep", "normalize", "tie", "zero"))
            state = self._run.state
            state.own()
            state.grow(n_features)
        else:
            state = self.new_state(learner, classes.size, n_features)
            learner.begin(state)
        coef = labels.initial(coef, (state.n_columns, state.n_features), "coef_init")
        intercept = labels.initial(intercept, (state.n_columns,), "intercept_init")
        if intercept is not None and intercept.any() and not self.fit_intercept:
            raise ValueError("intercept_init must be zero or left out when fit_intercept is False.")
        learner.check_initial(coef, intercept, warm)
        state.forget()
        state.set_weights(coef, intercept)
        learner.start(state)
        given = any(array is not None and array.any() for array in (coef, intercept))
        return self._begin(state, learner, classes, fresh=not warm and not given)
