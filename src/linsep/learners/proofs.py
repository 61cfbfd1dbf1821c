"""Mistake bounds of a fit, and separability verdicts, as methods of linear classifiers."""

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError
from linsep.estimators._common import checking as labels
from linsep.estimators._common.stop_reasons import StopReason
from linsep.label_faults import check_beside
from linsep.learners.attributes import Fitted
from linsep.learnt import check_columns

#: relative error of norms of weights, beside 2^-50 for each update
ROUNDING = 1e-9
#: an update that underflows loses less than this of a weight
LOST = 2.0**-1000


class Proofs(Fitted):
    """Mistake bounds of the run, and verdicts on data with the estimator's parameters.

    A subclass names its theorems in :meth:`_theorems`.
    """

    _weighted: bool
    _fresh: bool
    classes_: np.ndarray
    normalize: bool
    fit_intercept: bool
    early_stopping: bool

    @property
    def report_(self) -> Any:
        """What the run proves without the rows: after M mistakes no separator has a margin above
        ||w||/M. A :class:`linsep.mistake_bounds.bounds.Bounds`; :meth:`bounds` adds bounds that
        need the rows.
        """
        from linsep.mistake_bounds.bounds import Bound, Bounds

        self._fitted()
        fit = self._in_its_fit()
        widest, why = fit._widest(fit._theorems()[0])
        interval = getattr(self, "margin_interval_", None)
        return Bounds(
            () if widest is None else (
                Bound("||w||/M", widest, "margin", type(self).__name__,
                      "A. Novikoff, On convergence proofs for perceptrons (1962)"),
            ),
            {} if widest is not None else {"||w||/M": why},
            margin=None if interval is None else (interval[0] or 0.0, interval[1]),
            mistakes=int(self.mistakes_.sum()),
            passes=self.n_iter_,
        )  # fmt: skip

    def bounds(self, X: Any, y: Any, *, literals: int | None = None, majority: int = 1) -> Any:
        """Return the mistake bounds of this learner on its training rows, with its mistakes.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features)
            The rows of the fit in their order, or those of all calls of partial_fit. The fit is
            repeated, and rows that lead to other mistakes are refused.
        y : array of shape (rows,)
        literals : int, default=None
            For Winnow: the number of features in the disjunction, which is checked; None searches
            for one.
        majority : int, default=1
            For Winnow: how many of the ``literals`` are on in positive rows at least, and not in
            others, which is checked; 1 is a disjunction.

        Returns
        -------
        linsep.mistake_bounds.bounds.Bounds
            As :func:`linsep.bounds`, with the mistakes of the run. Bounds that do not apply, such
            as after initial weights or with weighted rows, are in ``left_out`` with the reason. The
            theorems assume real arithmetic, so none is stated if floats may have underflowed or
            weights of Winnow reached 1e150.

        Raises
        ------
        DataError, ValueError
            If rows, features or labels are not those of the fit, or X has NaN or infinity or is a
            source, or ``literals`` or ``majority`` is not a positive number.
        """
        from linsep.learners.proofs import refuse_others, why_not_again
        from linsep.mistake_bounds.bounding import bounds_of_run, check_literals
        from linsep.mistake_bounds.bounds import Bounds
        from linsep.mistake_bounds.cases import RunSummary

        state = self._fitted()
        check_literals(literals, majority)
        given, (X, codes) = X, self._same_data(X, y)
        fit = self._in_its_fit()
        if hasattr(self, "mixture_"):
            from linsep.learners.sharded_fit import bounds_of_mixture

            return bounds_of_mixture(fit, (given, y), X, codes)
        why = fit._obstacle() or why_not_again(self)
        learner, numbers = fit._theorems()
        if why is not None:
            return Bounds((), {"mistake bounds": why}, mistakes=int(self.mistakes_.sum()))
        refuse_others(fit, given, y)
        updates = state.counts.get("total") if learner == "margin" else None
        errors = sum(p.errors for p in self._passes) if self._open_mistakes is None else None
        run = RunSummary(
            learner,
            numbers | {"literals": literals, "majority": majority},
            state.multiclass,
            learner != "winnow" and bool(state.bias),
            bool(fit.normalize),
            self.n_iter_,
            int(self.mistakes_.sum()),
            self.n_updates_ if updates is None else int(updates.sum()),
            errors,
            fit._widest(learner)[0],
        )
        return bounds_of_run(run, X, codes, np.arange(len(self.classes_)))

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

    def _in_its_fit(self) -> Any:
        """Return a shallow copy with the parameters of the fit."""
        model = copy(self)
        model.__dict__.update(getattr(self, "_learnt_with", {}))
        return model

    def _premises(self) -> tuple[Any, ...]:
        """Return what the present parameters say about a run that proves something."""
        return self._theorems(), self._obstacle(), bool(self.early_stopping)

    def _runs_otherwise(self) -> bool:
        """Return whether the proofs of its fit are not those of a run with present parameters."""
        return self._premises() != self._in_its_fit()._premises()

    def _theorems(self) -> tuple[str, dict[str, Any]]:
        """Return the learner's name in the mistake bounds and the parameters they need."""
        raise NotImplementedError

    def _obstacle(self) -> str | None:
        """Return why mistake bounds do not apply to this run, or None if they do."""
        if not hasattr(self, "_fresh"):
            return "a model from a file does not say how it began"
        if not self.__dict__.get("_mixes", self._fresh):
            return (
                "it did not start from the learner's own initial weights, mixed other weights, or "
                "changed its parameters"
            )
        return "its rows or classes have weights" if self._weighted else None

    def _added(self) -> float:
        """Return how many examples were added to the weights; of shards, as far as they count."""
        mixture = self.__dict__.get("mixture_")
        return float(self.mistakes_.sum()) if mixture is None else mixture.weighted_mistakes

    def _total_rate(self, learner: str) -> float | None:
        """Return the sum of the rates of all updates; None if the learner does not add examples."""
        if learner != "margin":
            return None
        return float(self._state.per_machine("total", np.float64).sum())

    def _widest(self, learner: str) -> tuple[float | None, str]:
        """Return ||w||/M, an upper bound on every separator's margin, or why it is not known.

        For any separator u of length 1, every update adds at least the rate times the margin to
        <w, u> <= ||w||. With several machines, the smallest margin is below the sum of the lengths
        over the sum of the mistakes.
        """
        from linsep.mistake_bounds.rounding import length

        why = Proofs._obstacle(self)
        if why is not None:
            return None, why
        total = self._total_rate(learner)
        if total is None:
            return None, "it applies to learners that add examples at a constant rate"
        stopped = self.stop_reason_
        if learner != "margin" and self.early_stopping and stopped != StopReason.CONVERGED:
            return None, "weights of an earlier pass were restored"
        if not total:
            return None, "no mistake was made"
        state = self._state
        W = state.W.reshape(len(state.W), -1)[:, : state.n_columns]
        joint = state.n_machines < state.n_columns
        long = length(W) if joint else sum(map(length, W.T))
        mistakes = float(self.mistakes_.sum())
        if long < mistakes * W.size * LOST:
            return None, "updates are so small that they may have been rounded to zero"
        return long / total * (1 + ROUNDING + mistakes * 2.0**-50), ""

    def _same_data(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return rows and label codes; raise DataError if shapes or labels are not the fit's."""
        if hasattr(X, "batches"):
            raise DataError("Bounds need arrays: read the source into memory first.")
        from linsep.mistake_bounds.linear import checked_rows

        given, X, y, width = X, checked_rows(X), np.asarray(y), self._state.n_features
        if X.shape[1] != width or y.shape != (X.shape[0],):
            raise DataError(
                f"X of shape {X.shape} and y of shape {y.shape} are not what was learnt: "
                f"{width} features and a label a row."
            )
        check_columns(self, given)
        known = self.classes_
        codes = labels.encode_with(y, known)
        if codes is None:
            unknown = labels.unknown_labels(y, known)
            raise DataError(f"y has labels that were not learnt: {unknown}.")
        return X, self._codes_turned(codes)


#: weights learnt from dense and from sparse rows differ by rounding
TOLERANCE = 1e-6


def why_not_again(model: Any) -> str | None:
    """Return why a fit cannot be repeated, or None if it can."""
    if model.stop_reason_ == StopReason.INTERRUPTED:
        return "it was interrupted within a pass"
    if model._open_mistakes is not None and model._passes:
        return "rows were learnt by fit and more by partial_fit"
    return None


def refuse_others(model: Any, X: Any, y: Any) -> None:
    """Raise DataError unless fitting X and y again gives the same mistakes and weights.

    Dense and sparse rows are summed in different orders, so both are tried.
    """
    for rows in (X, other_form(X)):
        again = learnt_again(model, rows, y)
        if same(again, model):
            return
    known, found = (f"{m.mistakes_.sum():,} mistakes in {m.n_iter_:,}" for m in (model, again))
    raise DataError(
        f"X and y are not the rows of the fit: learning from them makes {found} passes and other "
        f"weights, the fit made {known}. Give its rows in their order; the bounds need them."
    )


def learnt_again(model: Any, X: Any, y: Any) -> Any:
    """Return another estimator, fitted to X and y as the model was."""
    again = type(model)(**model.get_params(deep=False))
    again.warm_start, again.verbose = False, 0
    if model._open_mistakes is not None:
        return again.partial_fit(X, y, classes=model.classes_)
    again.max_iter, again._given_seed = model.n_iter_, model._run_seed
    if hasattr(model, "mixture_"):
        from linsep.learners.sharded_fit import fit_in_shards

        return fit_in_shards(again, X, y, list(model.mixture_.rows), model.mixture_.mixing)
    return again.fit(X, y)


def other_form(X: Any) -> Any:
    """Return sparse rows as dense and dense rows as sparse."""
    return X.toarray() if sp.issparse(X) else sp.csr_matrix(X)


def same(one: Any, other: Any) -> bool:
    """Return whether both made the same mistakes and have the same weights up to rounding."""
    if not np.array_equal(one.mistakes_, other.mistakes_):
        return False
    W, V = (model._state.W.reshape(len(model._state.W), -1) for model in (one, other))
    n = min(len(W), len(V)) - 1
    scale = max(np.abs(V).max(), np.finfo(float).tiny)
    used = [np.vstack([A[:n], A[-1:]])[:, : other._state.n_columns] / scale for A in (W, V)]
    rest = np.abs(W[n:-1]).max(initial=0.0) / scale
    return bool(np.abs(used[0] - used[1]).max() <= TOLERANCE and rest <= TOLERANCE)
