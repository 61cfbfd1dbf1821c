"""What every linear classifier of the library shares: data in, engine run, attributes out."""

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import assert_all_finite, validate_data

from linsep.compiled.rows import Unit, as_rows, scales
from linsep.engine.feed import ArrayFeed, summed
from linsep.engine.keepings import keeping_of
from linsep.engine.learners import BadRow, Learner
from linsep.engine.loop import Run
from linsep.engine.state import State
from linsep.estimators import labels
from linsep.estimators.facts import check_parameters
from linsep.estimators.from_source import fit_source
from linsep.estimators.online import OnlineClassifier
from linsep.estimators.predicting import LABELS_TWICE, Predicts
from linsep.estimators.proofs import Proofs
from linsep.interrupts import held
from linsep.sources.base import Source
from linsep.sparse_rows import as_csr

FLOATS = (np.float64, np.float32)


class LinearClassifier(Proofs, Predicts, OnlineClassifier):
    """Base of the online linear classifiers; a subclass has parameters and :meth:`_learner`."""

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Learn from all rows, pass after pass, until there is a reason to stop.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            Used without a copy when it is float32 or float64 and C-contiguous, or CSR with int32
            or int64 indices; only dense rows of several classes that are mostly zeros are also
            kept packed where they are visited more than once. A source
            (:func:`linsep.open_source`) is learnt as it is read, in flat memory, with the same
            weights; it brings its own labels, so y is left out.
        y : array of shape (rows,)
            Labels of any type; the larger of two is the positive class.
        coef_init : array of the shape of ``coef_``, default zeros
        intercept_init : array of the shape of ``intercept_``, default zeros
        sample_weight : array of shape (rows,), default ones
            A row's update is multiplied by its weight (Winnow's exponent is, and the C of
            :class:`linsep.PassiveAggressive`), and so is what a mistake on it counts for
            ``keep="best"``; the rounds of an average or a vote count rows.
            A row of weight 0 is never visited, but must be finite as all others.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter, row, label, weight or initial weight that cannot be learnt from; the
            message says which, where, and what to do.
        """
        check_parameters(self, self._parameters)
        self.__dict__.pop("_schedule", None)
        if isinstance(X, Source):
            if y is not None or sample_weight is not None:
                raise ValueError(LABELS_TWICE)
            fit_source(self, X, coef_init, intercept_init)
            return self
        learner = self._learner()
        X, y = self._checked(X, y, learner, reset=True, finite=False)
        classes, codes, counted = self._labelled(y, sample_weight)
        if not counted.all():  # rows that are never visited are not seen by their scores
            assert_all_finite(X, input_name="X")
        seed, unit = self._seed(), bool(self.normalize)
        hold = self._hold_out(classes, seed)
        feed = ArrayFeed(X, codes, counted, seed, bool(self.shuffle), hold, unit)
        if classes.size > 2 and self.max_iter > 1 and not learner.needs_lengths:
            feed.pack()
        if self.warm_start and X.shape[1] != getattr(self, "coef_", X).shape[1]:
            raise ValueError("warm_start needs as many features as the last fit had.")
        with held():
            run = self._start(learner, classes, X.shape[1], coef_init, intercept_init)
            self._weighted = bool(counted.size)
            self._left_out |= not counted.all()
            self._fit(run, feed, X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn from these rows once, in their order, never shuffled.

        Rows in one call or one row a call give the same weights to the bit, but with the batch
        rule of :class:`linsep.Perceptron`, which makes one update a call. (A margin that ``fit``
        would find by halving after each pass stays at 1/2: give one.)

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features)
        y : array of shape (rows,)
        classes : array of all labels that will ever come; needed in the first call only
        sample_weight : array of shape (rows,), default ones

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As ``fit`` does, and where ``classes`` or a parameter that shapes the weights
            (``multiclass``, ``fit_intercept``, ``threshold``, ``keep``) are not those of before.
        """
        learner, first = self._check_partial(classes), not hasattr(self, "_state")
        X, y = self._checked(X, y, learner, reset=first, finite=True)
        known, codes, counted = self._labelled_so_far(y, classes, sample_weight)
        feed = ArrayFeed(X, codes, counted, seed=0, shuffle=False, unit=bool(self.normalize))
        try:
            learner.check(feed.rows)
        except BadRow as bad:
            raise self._refusal(bad.row, bad) from None
        with held():
            if first:
                self._start(learner, known, X.shape[1], None, None)
            self._check_same("partial_fit")
            self._weighted = self._weighted or bool(counted.size)
            self._learn_once(Run(self._state, learner, self._keeping), feed)
        return self

    def _checked(
        self, X: Any, y: Any, learner: Learner, *, reset: bool, finite: bool
    ) -> tuple[Any, np.ndarray]:
        """X and y as learning takes them; finiteness of X is otherwise seen by the scores."""
        X = validate_data(
            self, as_csr(X), accept_sparse="csr", dtype=FLOATS, order="C", reset=reset,
            ensure_all_finite=finite,
        )  # fmt: skip
        y = self._labels_checked(y, X.shape[0])
        return summed(X) if self.normalize or learner.needs_lengths else X, y

    def _rows_to_score(self, X: Any) -> Any:
        return validate_data(
            self, as_csr(X), accept_sparse="csr", dtype=FLOATS, order="C", reset=False,
            ensure_all_finite=False,
        )  # fmt: skip

    def _machine_scores(self, X: Any, whole: Any) -> np.ndarray:
        if not self.normalize:
            return self._keeping.scores(self._state, as_rows(X), X.shape[0])
        # Features without a weight make a row longer all the same.
        rows = Unit(as_rows(summed(X)), scales(as_rows(summed(whole)), X.shape[0]))
        return self._keeping.scores(self._state, rows, X.shape[0])

    def _start(
        self, learner: Learner, classes: np.ndarray, n_features: int, coef: Any, intercept: Any
    ) -> Run:
        """A fresh state, or with warm_start the old one where it fits."""
        warm = self.warm_start and hasattr(self, "_state")
        if warm:
            if not np.array_equal(classes, self.classes_):
                raise ValueError("warm_start needs the classes of the last fit; y has others.")
            self._check_same("warm_start", but=("keep",))
            state = self._state
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
        given = [array for array in (coef, intercept) if array is not None]
        self._begin(state, classes, not warm and not any(array.any() for array in given))
        self._keeping = keeping_of(self.keep, self.vote_megabytes, self.tie)
        return Run(state, learner, self._keeping)
