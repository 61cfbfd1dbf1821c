"""The linear online classifiers as scikit-learn estimators: fit, partial_fit, fitted attributes."""

from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from linsep.compiled.rows import Unit, as_rows, scales
from linsep.errors import DataError, ParameterError
from linsep.estimators._common import labels
from linsep.estimators._common.fitted_state import calls_back
from linsep.estimators._common.frames import in_memory, to_learn, with_features
from linsep.estimators._common.labels import FLOATS, brings_labels
from linsep.estimators._common.showing import HasEquation
from linsep.learners.online import OnlineClassifier
from linsep.learners.passes import Run
from linsep.learners.state import Learner, Unlearnable
from linsep.parameters import Keep, check_parameters, fitted_parameter, parameter
from linsep.rows.arrays import ArrayStream, HoldOut, MemoryStream
from linsep.validation.labels import check_beside
from linsep.validation.sparse import tidy
from linsep.validation.values import check_prepared, rows_to_fit


class LinearClassifier(HasEquation, OnlineClassifier):
    """Base class of the online linear classifiers: parameters and :meth:`learner` are to define."""

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

    fit_intercept: bool = parameter(default=True, help="fit an intercept")
    keep: Keep = parameter(
        default="last",
        help="weights to predict with: the last, the mean, a vote of all, or the best so far",
    )
    vote_mb: float = parameter(
        default=256.0,
        above=0.0,
        help="memory in MB for the updates stored by a vote, 16 bytes per value of each row",
    )
    normalize: bool = parameter(default=False, help="scale every row to length 1")

    @calls_back
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit by passes over all rows until a stopping criterion holds.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            Not copied if float32 or float64 and C-contiguous, or CSR (a million int64 indices or
            fewer are); dense rows of several classes that are mostly zeros are packed. A source
            (:func:`linsep.open_source`) is used for training while it is read, in constant memory,
            with the same weights; it has its own labels, so omit y.
        y : array of shape (rows,)
            Labels of any type; with two classes, the one that is not the ``reference`` is +1.
        coef_init : array with the shape of ``coef_``, default zeros
        intercept_init : array with the shape of ``intercept_``, default zeros
        sample_weight : array of shape (rows,), default ones
            Multiplies the row's update (the exponent of multiplicative updates, or C if the learner
            has one), its mistakes in ``keep="best"`` and, if held out, its part in
            ``early_stopping``; an average or a vote counts rows, not weights. A row of weight 0 is
            skipped, but must be finite.
        checkpoint : path or :class:`linsep.Checkpoint`, default None
            A file in which the fit saves its state. If the process ends early, the fit can resume
            from it with bit-identical results.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, row, label, weight or initial weight is invalid; the message names it,
            its position, and a remedy.
        """
        check_parameters(self)
        with self.saving(checkpoint) as saving:
            X, y, sample_weight = to_learn(self, X, y, sample_weight)
            if brings_labels(X, y, sample_weight):
                from linsep.learners.from_source import fit_source

                fit_source(self, X, coef_init, intercept_init, saving)
            else:
                self.fit_rows(
                    X, y, sample_weight, saving,
                    coef_init=coef_init, intercept_init=intercept_init,
                )  # fmt: skip
        return self

    @property
    def report_(self) -> Any:
        """The bound that the run proves without the rows: after M mistakes no separator has a
        margin above ||w||/M. A :class:`linsep.mistake_bounds.bounds.Bounds`; :meth:`bounds` adds
        bounds that need the rows.
        """
        from linsep.learners.proofs import report_of

        return report_of(self)

    def bounds(self, X: Any, y: Any, *, literals: int | None = None, majority: int = 1) -> Any:
        """Return the mistake bounds of this learner on its training rows, with its mistakes.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features)
            The training rows in their order, or the rows of all calls of partial_fit. The fit is
            repeated, and rows that lead to different mistakes are refused.
        y : array of shape (rows,)
        literals : int, default=None
            For multiplicative updates: the number of features in the disjunction, which is
            checked; None searches for one.
        majority : int, default=1
            A row is positive if and only if at least this many of the ``literals`` are on, which is
            checked; 1 is a disjunction.

        Returns
        -------
        linsep.mistake_bounds.bounds.Bounds
            As :func:`linsep.bounds`, with the mistakes of the run. Bounds that do not apply, such
            as after initial weights or with weighted rows, are in ``left_out`` with the reason. The
            theorems assume real arithmetic, so no bound is stated for rates beyond 1e100 or below
            1e-100, or if multiplied weights may have reached 1e150.

        Raises
        ------
        DataError, ValueError
            If rows, features or labels differ from the fit, X has NaN or infinity or is a source,
            its largest number is not between 1e-100 and 1e100, or ``literals`` or ``majority`` is
            not a positive number.
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
        from linsep.mistake_bounds.margins import seen_rows
        from linsep.separability.deciding import separation

        if self.normalize:
            if hasattr(X, "batches"):
                raise DataError(
                    "With normalize=True pass arrays: rows must be scaled first.",
                    code="conflict", option="normalize",
                )  # fmt: skip
            check_beside(X, y=y)
            X, y, *_ = in_memory(X, y)
            X = seen_rows(X, False, True)
        X, y, _ = with_features(X, y)
        return separation(X, y, fit_intercept=bool(self.fit_intercept), **how)

    @property
    def learns_intercept(self) -> bool:
        """Whether the intercept is trained as the weight of a feature that is always 1."""
        return bool(self.fit_intercept)

    def twin(self) -> Any:
        """Return the rule of :mod:`linsep.textbook` with these parameters; None without one."""
        if not self.command_name:  # a learner outside the package
            return None
        from linsep.teaching import textbook

        batch = getattr(self, "update", "") == "batch"
        rule = getattr(textbook, "BatchPerceptron" if batch else type(self).__name__)
        names = {field.name: field.name for field in fields(rule)} | {"normalized": "rescale"}
        own = {name: getattr(self, parameter, None) for name, parameter in names.items()}
        # floats, as in the loops: fractions of whole numbers would be rounded elsewhere
        own = {name: float(value) if type(value) is int else value for name, value in own.items()}
        return rule(**{name: value for name, value in own.items() if value is not None})

    #: whether the state counts the rates of the updates, which is restored with the weights
    counts_rates: ClassVar[bool] = False

    def _total_rate(self) -> float | None:
        """Return the sum of the rates of all updates; None if the learner does not add examples."""
        return None

    def _counted_updates(self) -> float:
        """Return the number that bounds on updates count."""
        return self.n_updates_

    def checked_rows(
        self, X: Any, y: Any, learner: Learner, *, reset: bool, checked: bool
    ) -> tuple[Any, np.ndarray]:
        X = rows_to_fit(X, self, FLOATS, order="C", checked=checked, columns=checked, reset=reset)
        y = labels.label_a_row(self, y, X.shape[0])
        X = tidy(X) if self.normalize or learner.needs_lengths else X
        if checked and type(learner).check is not Learner.check:
            try:
                learner.check(as_rows(X))
            except Unlearnable as bad:
                raise self._refusal(bad) from None
        return X, y

    def _stream(
        self, rows: Any, codes: np.ndarray, counted: np.ndarray, seed: int | None = None,
        hold: HoldOut | None = None,
    ) -> MemoryStream:  # fmt: skip
        if seed is None:
            return ArrayStream(rows, codes, counted, 0, False, unit=bool(self.normalize))
        shuffle, unit = bool(self.shuffle), bool(self.normalize)
        stream = ArrayStream(rows, codes, counted, seed, shuffle, hold, unit)
        run = self.fitted_run()
        if run.state.n_classes > 2 and self.max_iter > 1 and not run.learner.needs_lengths:
            stream.pack()
        return stream

    def _rows_to_score(self, X: Any) -> Any:
        check_prepared(self)
        voting = fitted_parameter(self, "keep") == "vote"
        return rows_to_fit(X, self, FLOATS, "C", checked=False, columns=voting, reset=False)

    def machine_scores(self, X: Any, whole: Any) -> np.ndarray:
        rows, n = as_rows(X), X.shape[0]
        if fitted_parameter(self, "normalize"):  # features without a weight count in the length
            rows = Unit(as_rows(tidy(X)), scales(as_rows(tidy(whole)), n))
        return self._run.keeping.scores(self._run.state, rows, n)

    def _start(
        self, learner: Learner, classes: np.ndarray, rows: Any, coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Run:  # fmt: skip
        if self.warm_start and hasattr(self, "_run"):
            self._check_width(rows.shape[1], self._run.state.n_features)
        return self.start_run(learner, classes, rows.shape[1], coef_init, intercept_init)

    def start_run(
        self, learner: Learner, classes: np.ndarray, n_features: int, coef: Any, intercept: Any
    ) -> Run:
        """Store and return a run with a new state, or with warm_start the old one."""
        warm = self.warm_start and hasattr(self, "_run")
        if warm:
            state = self._state_to_continue(classes, ("keep", "normalize", "tie", "zero"))
            state.own()
            state.grow(n_features)
        else:
            state = self.new_state(learner, classes.size, n_features)
        coef = labels.initial(coef, (state.n_columns, state.n_features), "coef_init")
        intercept = labels.initial(intercept, (state.n_columns,), "intercept_init")
        if intercept is not None and intercept.any() and not self.fit_intercept:
            raise ParameterError(
                "intercept_init must be zero or omitted if fit_intercept is False.",
                code="conflict", option="intercept_init",
            )  # fmt: skip
        learner.start(state, coef, intercept, warm)
        given = any(array is not None and array.any() for array in (coef, intercept))
        return self._begin(state, learner, classes, fresh=not warm and not given)
