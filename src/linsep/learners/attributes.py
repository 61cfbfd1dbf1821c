"""Fitted attributes of the online classifiers: weights, counts, and reports of each pass."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.estimators._common.equations import HasEquation
from linsep.estimators._common.reference import HasReference
from linsep.estimators._common.stop_reasons import StopReason
from linsep.learners.keeping import KeepLast
from linsep.learners.passes import PassReport, stop_sentence
from linsep.learners.state import State
from linsep.learnt import learnt


class Counted(HasReference):
    """Attributes computed from the counts in the state and the reports of the passes."""

    _state: State
    _keeping: KeepLast
    _passes: list[PassReport]
    _open_mistakes: int | None
    _cycle: Any
    stop_reason_: StopReason | None

    @property
    def n_updates_(self) -> int:
        """Number of updates over all passes."""
        return self._fitted().n_updates

    def _forget_calibration(self) -> None:
        """Forget probabilities that were learnt for other weights, and how these were mixed."""
        for name in ("calibration_", "mixture_", "_mixes"):
            self.__dict__.pop(name, None)

    def _fitted(self) -> State:
        """Return the state; NotFittedError, which is an AttributeError, if there is none."""
        if "_state" not in self.__dict__:
            check_is_fitted(self)
        return self._state

    @property
    def mistakes_(self) -> np.ndarray:
        """Mistakes in each pass; all rows given to partial_fit count as one pass."""
        self._fitted()
        open_pass = [] if self._open_mistakes is None else [self._open_mistakes]
        return np.array([p.mistakes for p in self._passes] + open_pass, dtype=np.int64)

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
        self._fitted()
        return self._cycle

    @property
    def stop_sentence_(self) -> str:
        """Why the run ended, in one sentence; known after fit, not partial_fit."""
        state = self._fitted()
        if self.stop_reason_ is None:
            raise AttributeError("stop_sentence_ is known after fit, not partial_fit.")
        if self._cycle is not None:
            return str(self._cycle.sentence)
        return stop_sentence(self.stop_reason_, state, learnt(self, "tie"))

    @property
    def progressive_accuracy_(self) -> float:
        """Share of the first pass's rows predicted correctly before they were learnt."""
        self._fitted()
        if not self._passes:
            raise AttributeError("progressive_accuracy_ is known after fit, not partial_fit.")
        return 1.0 - self._passes[0].errors / max(1, self._passes[0].rows)

    @property
    def validation_scores_(self) -> np.ndarray:
        """Accuracy on the held-out rows after each pass; only with early_stopping."""
        self._fitted()
        scores = [p.validation_score for p in self._passes if p.validation_score is not None]
        if not scores:
            raise AttributeError("validation_scores_ is only known with early_stopping=True.")
        return np.array(scores)

    @property
    def validation_curve_(self) -> np.ndarray:
        """Error rates of the weights kept after each pass, shape (passes, 2): on the training rows
        and on the held-out rows; only with early_stopping.
        """
        self.validation_scores_  # noqa: B018  raises if there are none
        measured = [p for p in self._passes if p.validation_score is not None]
        return 1.0 - np.array(
            [[np.nan if p.training_score is None else p.training_score, p.validation_score]
             for p in measured], dtype=np.float64,
        )  # fmt: skip

    @property
    def criterion_(self) -> np.ndarray:
        """J_p at the start of each pass; only with update="batch"."""
        self._fitted()
        values = [p.criterion for p in self._passes if p.criterion is not None]
        if not values:
            raise AttributeError('criterion_ is only known with update="batch".')
        return np.array(values)


class Fitted(HasEquation, Counted):
    """Adds the weights of a linear classifier."""

    @property
    def coef_(self) -> np.ndarray:
        """Weights used to predict (with ``keep="vote"`` the last version), shape (1, features) for
        two classes, else one row per class (or pair).
        """
        state = self._fitted()
        return state.split(self._keeping.weights(state))[0]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, one per row of ``coef_``."""
        state = self._fitted()
        return state.split(self._keeping.weights(state))[1]
