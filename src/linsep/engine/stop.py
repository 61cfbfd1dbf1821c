"""Why a run ended, with a sentence for people."""

from enum import StrEnum


class StopReason(StrEnum):
    """Why passes ended; compares equal to its name, e.g. ``"converged"``."""

    CONVERGED = "converged"
    CYCLE = "cycle"
    MAX_ITER = "max_iter"
    EARLY_STOP = "early_stop"
    INTERRUPTED = "interrupted"

    @property
    def sentence(self) -> str:
        """What happened, in one sentence."""
        return _SENTENCES[self]


_SENTENCES = {
    StopReason.CONVERGED: "a whole pass made no mistake: its weights separate the rows",
    StopReason.CYCLE: "the weights came back, so no number of passes will separate these rows",
    StopReason.MAX_ITER: (
        "all passes allowed were made and the last still had mistakes; linsep.separation(X, y) "
        "says if rows are separable"
    ),
    StopReason.EARLY_STOP: (
        "held-out rows were predicted no better for some passes, or a callback asked"
    ),
    StopReason.INTERRUPTED: "it was interrupted; what was learnt until then is kept",
}
