"""What a fit has come to, step by step: for those who look on, ask it to stop, or interrupt it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: what a climb tells after each step: the weights as it has them, the log-likelihood there, and how
#: far, in standard errors, the maximum was where the step began (NaN: not known)
Told = Callable[[np.ndarray, float, float], None]


class Stopped(Exception):
    """Somebody who looks on has asked a climb to stop."""


class SoFar(NamedTuple):
    """Where a climb is.

    Attributes
    ----------
    weights : array of shape (q, width), of the features as they are
    dependent : numbers of the features that are left out
    log_likelihood, distance : as told
    n_iter : int, steps that were made
    """

    weights: np.ndarray
    dependent: tuple[int, ...]
    log_likelihood: float
    distance: float
    n_iter: int


class Steps:
    """What the climbs of one fit tell.

    Parameters
    ----------
    look : function without arguments or None
        Called after each step; may raise :class:`Stopped`.

    Attributes
    ----------
    so_far : SoFar or None, before the first step
    asked : what a climb ended with, while it is asked whether there is a maximum; else None
    ended : what all ended with, while intervals are worked out; else None
    intervals : list, those of the first weights by profiles
    """

    def __init__(self, look: Callable[[], None] | None = None) -> None:
        self.look = look
        self.so_far: SoFar | None = None
        self.asked: Any = None
        self.ended: Any = None
        self.intervals: list[Any] = []

    def of(self, raw: Callable[[np.ndarray], np.ndarray], dependent: tuple[int, ...] = ()) -> Told:
        """What a climb should tell, whose weights ``raw`` brings to the features as they are."""

        def told(B: np.ndarray, log_likelihood: float, distance: float) -> None:
            n_iter = self.so_far.n_iter + 1 if self.so_far else 1
            self.so_far = SoFar(raw(B), dependent, float(log_likelihood), distance, n_iter)
            if self.look is not None:
                self.look()

        return told

    def doing(self, max_iter: int) -> str:
        """What is being done now, in a few words; steps may be made beyond ``max_iter`` to tell
        whether there is a maximum.
        """
        if self.ended is not None:
            return f"profile interval {len(self.intervals) + 1:,} of {self.ended.weights.size:,}"
        if self.asked is not None:
            return "deciding whether there is a maximum"
        made = self.so_far.n_iter if self.so_far else 0
        most = f" of at most {max_iter:,}" if made < max_iter else ""
        return f"iteration {made + 1:,}{most}"


def unheard(B: np.ndarray, log_likelihood: float, distance: float) -> None:
    """Nobody looks on."""
