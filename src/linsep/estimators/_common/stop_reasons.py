"""Why a run ended, as a word and as a sentence."""

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
ALL_PASSES = "the maximum number of passes was reached and the last pass still had mistakes"
_SENTENCES = {
    StopReason.CONVERGED: "a whole pass made no mistake: its weights separate the rows",
    StopReason.CLEAN: (
        "a whole pass made no mistake, but some scores are zero: its weights put no row on the "
        "wrong side but do not separate the rows"
    ),
    StopReason.CYCLE: "the weights recurred, so no number of passes will separate these rows",
    StopReason.MAX_ITER: (
        f"{ALL_PASSES}; linsep.separation(X, y) shows whether the rows are separable"
    ),
    StopReason.EARLY_STOP: (
        "predictions on held-out rows stopped improving, or a callback stopped the fit"
    ),
    StopReason.INTERRUPTED: (
        "Ctrl-C, a signal or a callback ended training; the weights reached so far are kept"
    ),
}


def stop_sentence(reason: StopReason, native: bool, tie: str, changed: bool = False) -> str:
    """Return the sentence on why a run ended; ``changed``: weights changed in the last pass. With
    the ``native`` rule of several classes, a row whose class wins a tie is not a mistake, so the
    weights need not separate the rows.
    """
    if reason == StopReason.CLEAN and changed:
        return (
            "a whole pass made no mistake but changed the weights, which need not separate the rows"
        )
    if reason != StopReason.CONVERGED or not native or tie == "random":
        return reason.sentence
    winner = "smaller" if tie == "negative" else "larger"
    return (
        "a whole pass made no mistake: no class scores higher than the row's own class; equal "
        f"scores go to the {winner} class"
    )
