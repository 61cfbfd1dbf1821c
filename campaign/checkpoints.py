"""kill -9, SIGTERM and full disks during fits with checkpoints: results are bit-identical."""

import os
import random
import resource
import shutil
import signal
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import linsep
from campaign.batches import folder
from linsep import Checkpoint, KernelPerceptron, LogisticRegression, Perceptron, open_source
from linsep._system.files import SCRATCH_NAME
from linsep.errors import CheckpointError

#: fits by name: the estimator, and whether it learns from a file, without and with a row cache
FITS: dict[str, tuple[Any, str]] = {
    "average": (lambda: Perceptron(max_iter=60, keep="average", multiclass="ovr"), "arrays"),
    "vote": (lambda: Perceptron(max_iter=30, keep="vote", early_stopping=True), "arrays"),
    "stream": (lambda: Perceptron(max_iter=12, keep="best"), "stream"),
    "cached": (lambda: Perceptron(max_iter=12, early_stopping=True), "cached"),
    "kernel": (lambda: KernelPerceptron(max_iter=12, budget=60, keep="average"), "arrays"),
    "logistic": (lambda: LogisticRegression(solver="gradient_ascent", max_iter=60), "arrays"),
}


@cache
def _rows() -> tuple[np.ndarray, np.ndarray, Path]:
    """Return rows, labels, and a file of them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 6)), rng.integers(0, 3, 900)
    X += np.eye(3)[y] @ rng.normal(size=(3, 6))
    path = folder() / "rows.svm"
    lines = (
        f"{label} " + " ".join(f"{k + 1}:{x!r}" for k, x in enumerate(row.tolist()))
        for row, label in zip(X, y.tolist(), strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    return X, y, path


def _fit(name: str, checkpoint: Checkpoint | None = None) -> bytes:
    """Fit and return the bytes of what was learned."""
    warnings.simplefilter("ignore")  # that the fit was interrupted, or had too few iterations
    make, rows = FITS[name]
    X, y, path = _rows()
    model = make()
    if rows == "arrays":
        model.fit(X, y, checkpoint=checkpoint)
    else:
        source = open_source(path, cache=folder() / "cache" if rows == "cached" else None)
        source.memory_bytes = 0
        model.fit(source, checkpoint=checkpoint)
    if name == "logistic":
        return model.coef_.tobytes()
    last, kept = (
        model.fitted_run().state.W,
        model.fitted_run().keeping.weights(model.fitted_run().state),
    )
    return last.tobytes() + kept.tobytes() + repr(model.fitted_run().reports).encode()


@cache
def _expected(name: str) -> tuple[bytes, float]:
    """Return what a fit learns without an interruption, and the seconds it takes."""
    _fit(name)
    started = time.perf_counter()
    return _fit(name), time.perf_counter() - started


def resumed(draw: random.Random) -> str | None:
    """Kill, terminate or starve a fit at random moments, until it ends, bit-identical."""
    name = draw.choice(list(FITS))
    expected, seconds = _expected(name)
    path = folder() / "fit.checkpoint"
    if name == "stream" and draw.random() < 0.5:
        shutil.rmtree(folder() / "cache", ignore_errors=True)
    every = draw.choice((0.001, seconds / 20, "200 rows"))
    for _ in range(draw.randrange(1, 4)):
        found = _ended_early(draw, name, Checkpoint(path, every=every), seconds)
        if found is not None:
            return found
        try:
            Checkpoint(path).read()
        except CheckpointError as problem:
            return f"a half-written checkpoint: {problem}"
    if _fit(name, Checkpoint(path)) != expected:
        return f"other bits of {name}"
    left = [
        p.name for p in folder().iterdir() if SCRATCH_NAME.fullmatch(p.name) or "fit." in p.name
    ]
    return f"left for ever: {left}" if left else None


def _ended_early(draw: random.Random, name: str, checkpoint: Checkpoint, seconds: float) -> Any:
    """Run a fit in a process of its own and end it early, perhaps."""
    how = draw.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT, None))
    most = draw.randrange(100_000) if how is None else None
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Ctrl-C in a library's clean-up
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if most is not None:  # writing fails, the fit continues
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            checkpoint.keep = True
            _fit(name, checkpoint)
        except linsep.errors.LinsepError:
            pass  # a row cache that does not fit
        finally:
            os._exit(0)
    time.sleep(draw.uniform(0, 1.2 * seconds))
    if how is not None:
        os.kill(child, how)
    ended = os.waitpid(child, 0)[1]
    if how != signal.SIGKILL and ended not in (0, signal.SIGINT):
        return f"a process that ended with {ended}"
    with checkpoint.locked():  # nobody holds it any more
        return None
