"""The ways to keep weights, by the names of the parameter ``keep``."""

from linsep.engine.keeping import KeepAverage, KeepBest, KeepLast
from linsep.engine.votes import KeepVote

NAMES = ("last", "average", "vote", "best")


def keeping_of(keep: str, vote_megabytes: float, tie: str) -> KeepLast:
    """A new keeper of weights; ``vote_megabytes`` and ``tie`` matter to a vote only."""
    if keep == "vote":
        return KeepVote(vote_megabytes, tie)
    return {"last": KeepLast, "average": KeepAverage, "best": KeepBest}[keep]()
