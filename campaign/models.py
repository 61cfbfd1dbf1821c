"""Damaged model files, and forged ones: any edit with a matching checksum.

Damaged files must be refused in a sentence. Forged files must be refused in a sentence too, or load
as a model that predicts, whatever its numbers.
"""

import copy
import json
import random
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

import linsep
from campaign.batches import folder
from campaign.damage import judged, mutated
from linsep import kernels
from linsep._system.sealed import sealed, unsealed
from linsep.errors import LinsepError
from linsep.model_files import MODEL_FILE

ROWS = np.random.default_rng(0).normal(size=(40, 3))
SIDES = (ROWS[:, 0] + ROWS[:, 1] ** 2 > 0.5).astype(int)
CODES = (ROWS[:, 0] > 0).astype(int) + (ROWS[:, 1] > 0)
WORDS = np.array(["ab", "ba", "abc", "cab"] * 10, dtype=object)
#: fits of every kind of model
FITS: list[Callable[[], Any]] = [
    lambda: linsep.Perceptron(max_iter=3, keep="average").fit(ROWS, SIDES),
    lambda: linsep.Perceptron(max_iter=3, keep="vote", multiclass="ovo").fit(ROWS, CODES),
    lambda: linsep.MarginPerceptron(max_iter=3).fit(ROWS, SIDES),
    lambda: linsep.BalancedWinnow(max_iter=3).fit(abs(ROWS), SIDES),
    lambda: linsep.KernelPerceptron(kernel="rbf", max_iter=3).fit(ROWS, CODES),
    lambda: linsep.KernelPerceptron(kernel=kernels.Spectrum(2), max_iter=3).fit(WORDS, SIDES),
    lambda: linsep.LinearRegression().fit(ROWS, ROWS[:, 0] + SIDES),
    lambda: linsep.LogisticRegression().fit(ROWS, SIDES),
    lambda: linsep.LogisticRegression().fit(ROWS, CODES),
    lambda: linsep.GaussianNaiveBayes().fit(ROWS, CODES),
]
ODD = [
    None, True, False, -1, 0, 1, 2, 3, 0.5, 1e308, -1e308, 10**9, 2**31, 2**63, 10**400, "", "x",
    "linear", "rbf", "ovo", "native", "vote", "average", "nan", "\0", "a" * 5000, [], [1], [[1]],
    {}, {"a": 1}, {"kernel": "Sum", "parameters": {}}, float("nan"), float("inf"),
]  # fmt: skip
KINDS = ["f8", "f4", "i8", "i4", "u1", "?", "f2"]


@cache
def _whole() -> list[tuple[Any, bytes]]:
    """Return fitted models as in their files: arrays and description, and the bytes."""
    path = folder() / "whole.linsep"
    found = []
    for fit in FITS:
        with warnings.catch_warnings(action="ignore"):
            linsep.save(fit(), path, force=True)
        found.append((unsealed(path, MODEL_FILE), path.read_bytes()))
    return found


def damaged_model(draw: random.Random) -> str | None:
    """Check that a damaged model is refused in a sentence."""
    _, whole = draw.choice(_whole())
    return judged(mutated(whole, draw), whole, "model.linsep", linsep.load)


def forged_model(draw: random.Random) -> None:
    """Check that an edited model with a matching checksum is refused, or predicts."""
    number = draw.randrange(len(FITS))
    (tensors, about), _ = _whole()[number]
    arrays, content, path = dict(tensors), json.loads(json.dumps(about)), folder() / "edited.linsep"
    X = WORDS if number == 5 else abs(ROWS) if number == 3 else ROWS
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"), suppress(LinsepError):
        for _ in range(draw.choice((1, 1, 2, 4))):
            if draw.random() < 0.5:
                _edit_arrays(arrays, draw)
            else:
                _edit_json(content, draw)
        path.write_bytes(sealed(arrays, content))
        model = linsep.load(path)
        repr(model)
        if getattr(model, "n_features_in_", None) == about["features"]:
            model.predict(X)
        linsep.save(model, folder() / "again.linsep", force=True)
        linsep.load(folder() / "again.linsep")


def _edit_arrays(arrays: dict[str, np.ndarray], draw: random.Random) -> None:
    if not arrays:
        return
    name = draw.choice(sorted(arrays))
    array = arrays[name].copy()
    kind = draw.randrange(6)
    if kind == 0:
        del arrays[name]
        return
    if kind == 1 and array.size:
        odd = draw.choice((np.nan, np.inf, -np.inf, -1, 0, 1e308, 5e-324, 2**62, -(2**62), 1e9))
        array.reshape(-1)[draw.randrange(array.size)] = np.array(odd).astype(array.dtype)
    elif kind == 2:
        array = array.astype(draw.choice(KINDS))
    elif kind == 3:
        array = draw.choice((array[:0], array[:-1], array[None], array.reshape(-1), array.T))
    elif kind == 4 and array.ndim:
        array = np.repeat(array, 2, axis=draw.randrange(array.ndim))
    else:
        array = arrays[draw.choice(sorted(arrays))]
    arrays[name] = np.ascontiguousarray(array)


def _edit_json(content: Any, draw: random.Random) -> None:
    holder, key = content, draw.choice(list(content))
    while isinstance(holder[key], dict | list) and holder[key] and draw.random() < 0.8:
        holder = holder[key]
        key = draw.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    was = holder[key]
    if isinstance(holder, dict) and draw.random() < 0.1:
        del holder[key]
    elif type(was) is int and draw.random() < 0.5:
        holder[key] = draw.choice(
            (was + 1, was - 1, -was, was * 10**6, was / 2 if abs(was) < 2**1000 else 0)
        )
    else:
        holder[key] = copy.deepcopy(draw.choice(ODD))
