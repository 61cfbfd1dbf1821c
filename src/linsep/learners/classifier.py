"""Base classes of the online classifiers: labels, passes, callbacks, fit and partial_fit."""

from collections.abc import Set
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import assert_all_finite, validate_data

from linsep.checkpoints.saving import Saving
from linsep.compiled.core.row_arrays import as_rows
from linsep.compiled.core.rows import Unit, scales
from linsep.errors import DataError, LinsepError
from linsep.estimators._common import checking as labels
from linsep.estimators._common.checking import FLOATS, brings_labels
from linsep.estimators._common.reference import codes_given
from linsep.interrupts import held
from linsep.label_faults import check_beside, labels_of
from linsep.learners.attributes import Counted
from linsep.learners.checkpointing import saving_of
from linsep.learners.from_source import fit_source
from linsep.learners.keeping import keeping_of
from linsep.learners.passes import Run
from linsep.learners.predicting import Predicts
from linsep.learners.proofs import Proofs
from linsep.learners.running import Runs
from linsep.learners.state import BadRow, Learner, State
from linsep.learnt import check_prepared, learnt
from linsep.parameters import HasParameters, Keep, Multiclass, Tie, check_parameters, parameter
from linsep.rows.arrays import ArrayStream, summed
from linsep.rows.holding_out import HoldOut
from linsep.sparse_rows import as_csr
from linsep.value_faults import faults_named


class OnlineClassifier(
    Runs, Counted, CallbackSupportMixin, ClassifierMixin, HasParameters, BaseEstimator
):
    """Base of the classifiers that learn row by row, pass after pass."""

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

    def _learner(self) -> Learner:
        """Return the learner; raise ValueError if parameters are incompatible."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def _labels_checked(self, y: Any, n_rows: int) -> np.ndarray:
        """Return y as one label per row."""
        if y is None:
            who = f"This {type(self).__name__} estimator"
            raise ValueError(f"{who} requires y to be passed, but the target y is None.")
        y = labels_of(y)
        if n_rows != y.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} "
                f"rows, y has {y.shape[0]}."
            )
        return y

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

    def _check_partial(self, classes: Any) -> Learner:
        """Return the learner; raise ValueError if partial_fit is not possible."""
        check_parameters(self)
        learner = self._learner()
        if self.early_stopping:
            raise ValueError(
                "early_stopping must be False with partial_fit, which never has all rows to hold "
                "some out; set it to False, or call fit."
            )
        if classes is None and not hasattr(self, "_state"):
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
        if not np.array_equal(known, self.classes_ if hasattr(self, "_state") else known):
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

    def _hold_out(self, n_classes: int, sample_weight: Any, n_rows: int) -> HoldOut | None:
        """Return the rule that holds rows out, if any; class weights are ignored, as in sklearn."""
        if not self.early_stopping:
            return None
        weights = labels.check_sample_weight(sample_weight, n_rows)
        groups = self.__dict__.get("_groups")  # of a source that was read into memory
        return HoldOut(self.validation_fraction, n_classes, self._run_seed, weights, groups=groups)

    def _refusal(self, row: int | None, problem: LinsepError) -> ValueError:
        """Return the error for a row, with the feature's name if it has one."""
        message, names = str(problem), getattr(self, "feature_names_in_", None)
        if isinstance(problem, BadRow) and names is not None:
            message = problem.message_for(f"feature {names[problem.column]!r}")
        return DataError(f"{message}." if row is None else f"Row {row}: {message}.")

    def _seed(self, saving: Saving | None = None) -> int:
        """Return the seed of a fit: from ``random_state``, or given to repeat another fit or to go
        on with it.
        """
        drawn = None if saving is None else saving.seed
        drawn = self.__dict__.get("_given_seed") if drawn is None else drawn
        if drawn is None:
            drawn = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self._run_seed: int = drawn
        return drawn

    def _begin(self, state: State, classes: np.ndarray, fresh: bool) -> None:
        """Set the initial state."""
        self._state, self.classes_ = state, classes
        self._learnt_with = self.get_params(deep=False)
        self._forget_calibration()
        self._passes, self._open_mistakes, self._cycle, self.stop_reason_ = [], None, None, None
        self._weighted, self._fresh = self.class_weight is not None, fresh
        weights = self.class_weight if isinstance(self.class_weight, dict) else {}
        self._left_out = bool(self.early_stopping) or 0 in weights.values()

    def _shaping(self) -> dict[str, Any]:
        """Return the parameters that fix the shape and meaning of the state, as they are now."""
        names = (
            "multiclass", "fit_intercept", "threshold", "keep", "reference", "normalize", "tie",
            "zero",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def _check_same(self, who: str, but: tuple[str, ...] = ()) -> None:
        """Raise ValueError if parameters (except ``but``) differ from those of the last fit."""
        free = but if self._state.n_classes > 2 else (*but, "multiclass")
        now = self._shaping().items()
        changed = [k for k, v in now if k not in free and learnt(self, k) != v]
        if changed:
            raise ValueError(
                f"{who} needs the {' and '.join(changed)} of the last fit; set "
                f"{'it' if len(changed) == 1 else 'them'} back, or fit anew without warm_start."
            )


class LinearClassifier(Proofs, Predicts, OnlineClassifier):
    """Base of the online linear classifiers; a subclass has parameters and :meth:`_learner`."""

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
            Multiplies the row's update (for Winnow its exponent, for
            :class:`linsep.PassiveAggressive` its C), its mistakes in ``keep="best"`` and, if held
            out, its part in ``early_stopping``; rounds of an average or a vote count rows. A row of
            weight 0 is skipped, but must be finite.
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
        self.__dict__.pop("_schedule", None)
        with saving_of(checkpoint, self) as saving:
            if brings_labels(X, y, sample_weight):
                fit_source(self, X, coef_init, intercept_init, saving)
            else:
                self._fit_rows(X, y, (coef_init, intercept_init), sample_weight, saving)
        return self

    def _fit_rows(
        self, X: Any, y: Any, start: tuple[Any, Any], sample_weight: Any, saving: Saving
    ) -> None:
        """Fit to rows in memory, from the weights ``start``."""
        learner = self._learner()
        X, y = self._checked(X, y, learner, reset=True, checked=False)
        classes, codes, counted = self._labelled(y, sample_weight)
        if self.early_stopping or not counted.all():  # skipped rows are not checked while learning
            with faults_named(X, self):
                assert_all_finite(as_csr(X), input_name="X")
        saving.check_arrays(X, classes, codes, counted)
        seed, unit = self._seed(saving), bool(self.normalize)
        hold = self._hold_out(classes.size, sample_weight, codes.size)
        stream = ArrayStream(X, codes, counted, seed, bool(self.shuffle), hold, unit)
        if classes.size > 2 and self.max_iter > 1 and not learner.needs_lengths:
            stream.pack()
        if self.warm_start and X.shape[1] != getattr(self, "coef_", X).shape[1]:
            raise ValueError("warm_start needs as many features as the last fit had.")
        with held():
            run = self._start(learner, classes, X.shape[1], *start)
            self._weighted = bool(counted.size)
            self._left_out |= not counted.all()
            self._fit(run, stream, X, y, sample_weight, saving)

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
        learner, first = self._check_partial(classes), not hasattr(self, "_state")
        check_beside(X, y=y, sample_weight=sample_weight)
        X, y = self._checked(X, y, learner, reset=first, checked=True)
        known, codes, counted = self._labelled_so_far(y, classes, sample_weight)
        stream = ArrayStream(X, codes, counted, seed=0, shuffle=False, unit=bool(self.normalize))
        try:
            learner.check(stream.rows)
        except BadRow as bad:
            raise self._refusal(bad.row, bad) from None
        with held():
            if first:
                self._start(learner, known, X.shape[1], None, None)
            self._check_same("partial_fit")
            if self._runs_otherwise():
                self._fresh = False
            self._state.own()
            self._weighted = self._weighted or bool(counted.size)
            self._learn_once(Run(self._state, learner, self._keeping, []), stream)
        return self

    def _checked(
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
        y = self._labels_checked(y, X.shape[0])
        return summed(X) if self.normalize or learner.needs_lengths else X, y

    def _rows_to_score(self, X: Any) -> Any:
        check_prepared(self, X)
        voting = learnt(self, "keep") == "vote"
        with faults_named(X, self):
            return validate_data(
                self, as_csr(X, columns=voting), accept_sparse="csr", dtype=FLOATS, order="C",
                reset=False, ensure_all_finite=False,
            )  # fmt: skip

    def _machine_scores(self, X: Any, whole: Any) -> np.ndarray:
        if not learnt(self, "normalize"):
            return self._keeping.scores(self._state, as_rows(X), X.shape[0])
        # Features without a weight count in the length of a row.
        rows = Unit(as_rows(summed(X)), scales(as_rows(summed(whole)), X.shape[0]))
        return self._keeping.scores(self._state, rows, X.shape[0])

    def _start(
        self, learner: Learner, classes: np.ndarray, n_features: int, coef: Any, intercept: Any
    ) -> Run:
        """Return a run with a new state, or with warm_start the old one."""
        warm = self.warm_start and hasattr(self, "_state")
        if warm:
            if not np.array_equal(classes, self.classes_):
                raise ValueError("warm_start needs the classes of the last fit; y has others.")
            self._check_same("warm_start", but=("keep", "normalize", "tie", "zero"))
            state = self._state
            state.own()
            state.grow(n_features)
        else:
            state = State(
                self.multiclass, classes.size, n_features, bool(self.fit_intercept), learner.fill
            )
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
        self._begin(state, classes, fresh=not warm and not given)
        self._keeping = keeping_of(
            self.keep, self.vote_mb, self.tie, getattr(self, "zero", "mistake")
        )
        return Run(state, learner, self._keeping, self._passes)
