"""Readings of a source by an estimator, and why a run ended, as a word and as a sentence."""

from collections.abc import Generator, Iterator
from contextlib import closing
from enum import StrEnum
from math import inf
from typing import Any

from linsep._system.interrupts import interrupts_allowed
from linsep.errors import warn_caller


class StopReason(StrEnum):
    """Why a run ended; compares equal to its name, e.g. ``"converged"``."""

    CONVERGED = "converged"
    CLEAN = "clean"
    CYCLE = "cycle"
    MAX_ITER = "max_iter"
    EARLY_STOP = "early_stop"
    INTERRUPTED = "interrupted"

    @property
    def sentence(self) -> str:
        """The reason in one sentence."""
        return _SENTENCES[self]


_NO_MISTAKE = "a whole pass made no mistake"
_SENTENCES = {
    "converged": f"{_NO_MISTAKE}: its weights separate the rows",
    "clean": f"{_NO_MISTAKE}, but some scores are zero: its weights do not separate the rows",
    "cycle": "the weights recurred, so no number of passes will separate these rows",
    "max_iter": "the maximum number of passes was reached and the last pass still had mistakes; "
    "its separation(X, y) shows whether the rows are separable",
    "early_stop": "predictions on held-out rows stopped improving, or a callback stopped the fit",
    "interrupted": (
        "Ctrl-C, a signal or a callback ended training; the weights reached so far are kept"
    ),
}


def stop_sentence(reason: StopReason, native: bool, tie: str, changed: bool = False) -> str:
    """Return why a run ended, in a sentence; with the ``native`` rule of several classes, a row
    whose class wins a tie is not a mistake.
    """
    if reason == StopReason.CLEAN and changed:
        return f"{_NO_MISTAKE} but changed the weights, which need not separate the rows"
    if reason != StopReason.CONVERGED or not native or tie == "random":
        return reason.sentence
    equal = f"equal scores go to the {'smaller' if tie == 'negative' else 'larger'} class"
    return f"{_NO_MISTAKE}: no class scores higher than the row's own class; {equal}"


class Reading:
    """Readings of a source within ``interrupts_deferred``: Ctrl-C ends the first one early, later
    ones stop at the same row. Before the first row, or in a later reading, KeyboardInterrupt is
    raised.
    """

    #: number of rows read by the last reading, to which the reader adds
    rows = 0
    #: number of rows at which readings end; None before the first has ended
    end: float | None = None

    def of(self, items: Iterator[Any]) -> Generator[Any, None, None]:
        self.rows = 0
        with closing(items):  # type: ignore[type-var]
            while self.end is None or self.rows < self.end:
                try:
                    with interrupts_allowed():
                        item = next(items, None)
                except KeyboardInterrupt:
                    if self.end is not None or not self.rows:
                        raise
                    self.end = self.rows
                    return
                if item is None:
                    self.end = self.end or inf
                    return
                yield item

    def finish(self, model: Any, name: str) -> None:
        """Warn, set the stop reason and raise KeyboardInterrupt if the reading was interrupted."""
        if self.end is not None and self.end < inf:
            model.stop_reason_ = StopReason.INTERRUPTED
            used = f"the estimates use the first {self.rows:,} rows of {name}"
            warn_caller(f"The reading was interrupted: {used}.")
            raise KeyboardInterrupt
