"""Why a run ended, in a word and in a sentence."""

from enum import StrEnum


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


#: the command line adds other advice than Python
ALL_PASSES = "all passes allowed were made and the last still had mistakes"
_SENTENCES = {
    StopReason.CONVERGED: "a whole pass made no mistake: its weights separate the rows",
    StopReason.CLEAN: (
        "a whole pass made no mistake, but some scores are zero: its weights put no row on the "
        "wrong side, and do not separate the rows"
    ),
    StopReason.CYCLE: "the weights came back, so no number of passes will separate these rows",
    StopReason.MAX_ITER: (f"{ALL_PASSES}; linsep.separation(X, y) says if rows are separable"),
    StopReason.EARLY_STOP: (
        "held-out rows were predicted no better for some passes, or a callback asked"
    ),
    StopReason.INTERRUPTED: "it was interrupted; what was learned until then is kept",
}


def stop_sentence(reason: StopReason, native: bool, tie: str, changed: bool = False) -> str:
    """Return the sentence on why a run ended; ``changed``: weights changed in the last pass. The
    ``native`` rule of several classes makes no mistake in a row whose class wins a tie, so its
    weights need not separate the rows.
    """
    if reason == StopReason.CLEAN and changed:
        return (
            "a whole pass made no mistake, but changed the weights: those after it need not "
            "separate the rows"
        )
    if reason != StopReason.CONVERGED or not native or tie == "random":
        return reason.sentence
    winner = "smaller" if tie == "negative" else "larger"
    return (
        "a whole pass made no mistake: no class has a higher score than that of the row; equal "
        f"scores go to the {winner} class"
    )
