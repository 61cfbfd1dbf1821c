"""Progress of a fit after each step, for callbacks and for Ctrl-C."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

#: called after each step of an ascent with its weights, the log-likelihood there, and the distance
#: to the maximum, in standard errors, from where the step began (NaN: unknown)
Report = Callable[[np.ndarray, float, float], None]
#: a point of the raw features, and the scores of the classes there; None if weights suffice
Around: TypeAlias = tuple[np.ndarray, np.ndarray] | None


class Stopped(Exception):
    """A callback has asked the fit to stop."""


class SoFar(NamedTuple):
    """State of an ascent.

    Attributes
    ----------
    weights : array of shape (q, width), of the features as they are
    dependent : numbers of the features that are left out
    log_likelihood, distance : as in :data:`Report`
    n_iter : int, number of steps
    around : Around
    """

    weights: np.ndarray
    dependent: tuple[int, ...]
    log_likelihood: float
    distance: float
    n_iter: int
    around: Around = None


class Steps:
    """Records the progress of one fit.

    Parameters
    ----------
    after_step : function without arguments or None
        Called after each step; may raise :class:`Stopped`.

    Attributes
    ----------
    so_far : SoFar or None, before the first step
    suspect : the fit and its limits while separation is being decided; else None
    finished : the fit without intervals while these are computed; else None
    intervals : list of the profile intervals computed so far
    """

    def __init__(self, after_step: Callable[[], None] | None = None) -> None:
        self.after_step = after_step
        self.so_far: SoFar | None = None
        self.suspect: Any = None
        self.finished: Any = None
        self.intervals: list[Any] = []

    def of(
        self, raw: Callable[[np.ndarray], np.ndarray], dependent: tuple[int, ...] = (),
        around: Callable[[np.ndarray], Around] = lambda B: None,
    ) -> Report:  # fmt: skip
        """Return the callback of an ascent; ``raw`` converts its weights to the raw features, and
        ``around`` to scores at a centre.
        """

        def report(B: np.ndarray, log_likelihood: float, distance: float) -> None:
            n_iter = self.so_far.n_iter + 1 if self.so_far else 1
            self.so_far = SoFar(
                raw(B), dependent, float(log_likelihood), distance, n_iter, around(B)
            )
            if self.after_step is not None:
                self.after_step()

        return report

    def doing(self, max_iter: int) -> str:
        """Return the current stage as text; steps beyond ``max_iter`` are possible, to prove that
        there is a maximum.
        """
        if self.finished is not None:
            size = self.finished.weights.size
            return f"profile interval {len(self.intervals) + 1:,} of {size:,}"
        if self.suspect is not None:
            return "deciding whether there is a maximum"
        made = self.so_far.n_iter if self.so_far else 0
        most = f" of at most {max_iter:,}" if made < max_iter else ""
        return f"iteration {made + 1:,}{most}"


def no_report(B: np.ndarray, log_likelihood: float, distance: float) -> None:
    """Ignore the step."""
