"""The arrays of a model: those to predict with, and those that learning goes on from."""

from typing import Any

import numpy as np

from linsep.engine.keepings import keeping_of
from linsep.engine.state import State
from linsep.engine.votes import KeepVote

VOTES = ("features", "columns", "amounts", "starts", "rounds", "machines")


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    """Arrays by name: ``coef`` and ``intercept`` to predict with, then whatever else there is.

    ``last.*`` are the weights that learn where others predict, ``weights.NAME.*`` other arrays of
    their shape, ``counts.NAME`` one number a machine, ``vote.*`` the changes of a vote.
    """
    state, found = model._state, {"coef": model.coef_, "intercept": model.intercept_}
    if model.keep != "last":
        found["last.coef"], found["last.intercept"] = state.split(state.W)
    for name, array in state.shaped.items():
        if name == "pocket" or (name != "W" and array.any()):
            found[f"weights.{name}.coef"], found[f"weights.{name}.intercept"] = state.split(array)
    found |= {f"counts.{name}": array for name, array in state.counts.items()}
    if isinstance(model._keeping, KeepVote) and model._keeping.first is not None:
        first = model._keeping.first_weights(state)
        found["vote.first.coef"], found["vote.first.intercept"] = state.split(first)
        found |= {f"vote.{name}": array for name, array in model._keeping.changes().items()}
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


def restore(model: Any, arrays: dict[str, np.ndarray], rounds: int) -> None:
    """Give ``model`` the state that these arrays were; ValueError where they do not fit."""
    coef = arrays["coef"]
    if coef.ndim != 2:
        raise ValueError(f"weights of shape {coef.shape}")
    fill = model._learner().fill
    state = State(
        model.multiclass, model.classes_.size, coef.shape[1], bool(model.fit_intercept), fill
    )
    model._state, model._learnt_with, state.rounds = state, model._shaping(), rounds
    model._keeping = keeping_of(model.keep, model.vote_megabytes, model.tie)
    last = "last." if "last.coef" in arrays else ""
    _fill(state, state.W, arrays, last)
    for key, array in arrays.items():
        if key.startswith("weights.") and key.endswith(".coef"):
            name = key.split(".")[1]
            _fill(state, state.like_weights(name), arrays, f"weights.{name}.")
        if key.startswith("counts."):
            own = state.per_machine(key.removeprefix("counts."), array.dtype.type)
            if array.shape != own.shape:
                raise ValueError(f"{key} of shape {array.shape}")
            own[:] = array
    if isinstance(model._keeping, KeepVote) and "vote.first.coef" in arrays:
        first = np.zeros_like(state.W)
        _fill(state, first, arrays, "vote.first.")
        model._keeping.restore(state, first, {name: arrays[f"vote.{name}"] for name in VOTES})


def _fill(state: State, array: np.ndarray, arrays: dict[str, np.ndarray], prefix: str) -> None:
    for own, name in zip(state.split(array), ("coef", "intercept"), strict=True):
        stored = arrays[prefix + name]
        if stored.shape != own.shape or stored.dtype != np.float64:
            raise ValueError(f"{prefix}{name} of {stored.dtype} {stored.shape}")
        if not np.isfinite(stored).all():
            raise ValueError(f"{prefix}{name} that is not finite")
        own[:] = stored
