"""kill -9 and full disks: old files stay whole, and the next run is unaffected."""

import os
import random
import resource
import signal
import time
from functools import cache
from pathlib import Path

import numpy as np

import linsep
from campaign.batches import folder
from linsep import Perceptron, open_source
from linsep._system.files import SCRATCH_NAME
from linsep.errors import LinsepError


def _fit(path: Path, cache_folder: Path) -> Perceptron:
    source = open_source(path, cache=cache_folder)
    source.memory_bytes = 0
    return Perceptron(max_iter=4).fit(source)


@cache
def _expected() -> tuple[Path, bytes, float]:
    """Return a file of rows, the weights learned from it, and the seconds taken."""
    rng = np.random.default_rng(0)
    path = folder() / "rows.svm"
    lines = (f"{k % 2} 1:{rng.normal()!r} 2:{rng.normal()!r}\n" for k in range(3000))
    path.write_text("".join(lines))
    _fit(path, folder() / "warm")
    started = time.perf_counter()
    weights = _fit(path, folder() / "timed").coef_.tobytes()
    return path, weights, time.perf_counter() - started


def killed(draw: random.Random) -> str | None:
    """Kill a fit that writes its row cache and its model, at a random moment."""
    path, weights, seconds = _expected()
    rows, saved = folder() / "cache", folder() / "model.linsep"
    for old in rows.rglob("*.rows") if draw.random() < 0.7 else ():
        old.unlink()
    child = os.fork()
    if child == 0:
        try:
            linsep.save(_fit(path, rows), saved, force=True)
        finally:
            os._exit(0)
    time.sleep(draw.uniform(0, 1.3 * seconds))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if saved.exists() and linsep.load(saved).coef_.tobytes() != weights:
        return "a model of other weights"
    model = _fit(path, rows)
    if model.coef_.tobytes() != weights:
        return "other weights from what was left"
    linsep.save(model, saved, force=True)
    left = [
        p.name for p in (*rows.rglob("*"), *folder().iterdir()) if SCRATCH_NAME.fullmatch(p.name)
    ]
    return f"left for ever: {left}" if left else None


def no_room(draw: random.Random) -> str | None:
    """Fit and save with a random limit on file sizes: it works, or fails with one sentence."""
    path, weights, _ = _expected()
    rows, saved = folder() / "full", folder() / "full.linsep"
    for old in rows.rglob("*.rows") if draw.random() < 0.7 else ():
        old.unlink()
    if not saved.exists():
        linsep.save(_fit(path, rows), saved)
    child = os.fork()
    if child == 0:
        most = draw.choice((draw.randrange(2000), draw.randrange(120_000)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        status = 1
        try:
            linsep.save(_fit(path, rows), saved, force=True)
            status = 0
        except LinsepError:
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        return "no single sentence"
    if linsep.load(saved).coef_.tobytes() != weights:
        return "the saved model differs"
    left = [
        p.name for p in (*rows.rglob("*"), *folder().iterdir()) if SCRATCH_NAME.fullmatch(p.name)
    ]
    return f"left: {left}" if left else None
