"""kill -9, Ctrl-C and full disks during fits: files stay whole, and the next run is unaffected.

A fit writes its row cache, perhaps its checkpoint, and its model. It is ended at random moments, up
to three times; then the same fit runs, or is resumed, undisturbed.
"""

import random
import shutil
import signal
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import linsep
from campaign.batches import ended_early, folder
from linsep import Checkpoint, KernelPerceptron, LogisticRegression, Perceptron, open_source
from linsep._system.files import SCRATCH_NAME
from linsep.errors import CheckpointError

#: fits by name: the estimator, and whether it learns from a file, without and with a row cache
FITS: dict[str, tuple[Callable[[], Any], str]] = {
    "average": (lambda: Perceptron(max_iter=60, keep="average", multiclass="ovr"), "arrays"),
    "vote": (lambda: Perceptron(max_iter=30, keep="vote", early_stopping=True), "arrays"),
    "stream": (lambda: Perceptron(max_iter=12, keep="best"), "stream"),
    "cached": (lambda: Perceptron(max_iter=12, early_stopping=True), "cached"),
    "kernel": (lambda: KernelPerceptron(max_iter=12, budget=60, keep="average"), "arrays"),
    "logistic": (lambda: LogisticRegression(solver="gradient_ascent", max_iter=60), "arrays"),
}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT)


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


def _fit(name: str, checkpoint: Checkpoint | None = None) -> Any:
    warnings.simplefilter("ignore")  # that the fit was interrupted, or had too few iterations
    make, rows = FITS[name]
    X, y, path = _rows()
    if rows == "arrays":
        return make().fit(X, y, checkpoint=checkpoint)
    source = open_source(path, cache=folder() / "cache" if rows == "cached" else None)
    source.memory_bytes = 0
    return make().fit(source, checkpoint=checkpoint)


def _bits(model: Any) -> bytes:
    return b"".join(array.tobytes() for _, array in sorted(model.get_state()[0].items()))


@cache
def _expected(name: str) -> tuple[bytes, float]:
    """Return what a fit learns without an interruption, and the seconds it takes."""
    _fit(name)
    started = time.perf_counter()
    return _bits(_fit(name)), time.perf_counter() - started


def fit_ended(draw: random.Random, checkpoints: bool, full: bool) -> str | None:
    """End a fit early, by signals or by a limit on the size of files, and run it again."""
    name = draw.choice(list(FITS))
    expected, seconds = _expected(name)
    saved, path = folder() / "model.linsep", folder() / "fit.checkpoint"
    saved.unlink(missing_ok=True)
    if draw.random() < 0.5:
        shutil.rmtree(folder() / "cache", ignore_errors=True)
    checkpoint = Checkpoint(path, every=draw.choice((0.001, seconds / 20))) if checkpoints else None
    for _ in range(draw.randrange(1, 4)):
        if checkpoint is not None:
            checkpoint.keep = True
        how = None if full else draw.choice(SIGNALS)
        status = ended_early(
            lambda: linsep.save(_fit(name, checkpoint), saved, force=True), how,
            draw.uniform(0, 1.2 * seconds), draw.randrange(100_000) if full else None,
        )  # fmt: skip
        if status and how != signal.SIGKILL:
            return f"{name} ended with {status}"
        if saved.exists() and _bits(linsep.load(saved)) != expected:
            return f"a saved model of other weights: {name}"
        try:
            if path.exists():
                Checkpoint(path).read()
        except CheckpointError as problem:
            return f"a half-written checkpoint: {problem}"
    model = _fit(name, Checkpoint(path) if checkpoints else None)
    if _bits(model) != expected:
        return f"other bits of {name}"
    linsep.save(model, saved, force=True)
    left = [p.name for p in folder().rglob("*") if SCRATCH_NAME.fullmatch(p.name)]
    left += [p.name for p in folder().glob("fit.*")]
    return f"left for ever: {left}" if left else None
