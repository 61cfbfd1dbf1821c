"""Signals to commands at random moments: files stay whole, nothing is left, the next run works.

A command runs in a process forked from one that has imported linsep, which saves two seconds each.
It gets a signal (sometimes a second one), and then the same command runs again undisturbed.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file

import linsep
import linsep.cli.app  # imported once, for all forked processes
import linsep.logistic.estimator
from campaign.batches import folder
from linsep.certificate.proofs import read
from linsep.cli.main import main
from linsep.errors import LinsepError
from linsep.model_files import loaded
from linsep.validation.checks import of_features

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
#: time limit of a command in seconds; it may have to wait for compiled code
PATIENCE = 180.0
#: seconds within which most loops of a command are compiled
COMPILING_SECONDS = 10.0
ROWS = 1500
#: each writes ``out``
COMMANDS = [
    "fit rows.svm --max-iter 30 --no-cache --model out --force",
    "fit rows.svm --max-iter 30 --keep average --cache kept --model out --force",
    "fit dense.csv --target kind --max-iter 30 --no-cache --model out --force",
    "fit words.csv --target kind --cache kept --model out --force",
    "fit words.jsonl --target kind --test words.jsonl --cache kept --model out --force",
    "fit dense.csv --target kind --learner logistic --model out --force",
    "fit dense.csv --target number --learner linear --model out --force",
    "fit rows.svm --learner kernel --max-iter 5 --model out --force",
    "predict learned dense.csv --output out --force",
    "separate dense.csv --target kind --proof out --force",
]


KNOWN = {"rows.svm", "dense.csv", "words.csv", "words.jsonl", "learned", "out", "output", "kept",
         "scratch"}  # fmt: skip


def _write_data(place: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(ROWS, 3)), rng.integers(0, 2, ROWS)
    rows = [(*map(repr, row), "ab"[k]) for row, k in zip(X.tolist(), y.tolist(), strict=True)]
    lines = [f"{'ab'.index(k)} 1:{a} 2:{b} 3:{c}\n" for a, b, c, k in rows]
    (place / "rows.svm").write_text("".join(lines))
    dense = [f"{a},{b},{c},{k}\n" for a, b, c, k in rows]
    (place / "dense.csv").write_text("x,z,number,kind\n" + "".join(dense))
    words = [f"{a},w{int(c[-1])},{k}\n" for a, _, c, k in rows]
    (place / "words.csv").write_text("x,word,kind\n" + "".join(words))
    objects = [f'{{"x": {a}, "word": "w{c[-1]}", "kind": "{k}"}}\n' for a, _, c, k in rows]
    (place / "words.jsonl").write_text("".join(objects))


class Ended(NamedTuple):
    """How a command ended: its exit code as in a shell, its output, and its seconds."""

    code: int
    output: str
    seconds: float


def _run(
    words: str, signals: Sequence[tuple[float, signal.Signals]] = (), **environment: str
) -> Ended | None:
    """Run a command, in a session of its own, with temporary files in ``scratch``, and send it
    signals, each after some seconds; return how it ended, None if it did not in time.
    """
    place, started = _place(), time.monotonic()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until it has its handlers
    if (child := os.fork()) == 0:
        _become(place, words, environment)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    for after, one in signals:
        time.sleep(after)
        os.kill(child, one)
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() - started > PATIENCE:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(ended[1])
    output = (place / "output").read_text(errors="replace")
    return Ended(code if code >= 0 else 128 - code, output, time.monotonic() - started)


def _become(place: Path, words: str, environment: dict[str, str]) -> None:
    """Be the command, in a forked process."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        os.chdir(place)
        output = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(output, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        os.environ.update(environment | {"TMPDIR": str(place / "scratch"), "OMP_NUM_THREADS": "1"})
        tempfile.tempdir = None
        sys.argv = ["linsep", *words.split()]
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        main()
    except KeyboardInterrupt:  # before the command begins
        os._exit(130)
    finally:
        os._exit(99)


def left_by(place: Path) -> list[str]:
    """Return what no command should leave: temporary files."""
    left = [path.name for path in place.iterdir() if path.name not in KNOWN]
    left += [path.name for path in (place / "scratch").iterdir()]
    return left + [path.name for path in (place / "kept").rglob("*.tmp")]


@cache
def _place() -> Path:
    """Return a folder with data."""
    place = folder() / "commands"
    (place / "scratch").mkdir(parents=True)
    _write_data(place)
    return place


@cache
def _learned() -> Path:
    """Return a model."""
    _succeed("fit dense.csv --target kind --no-cache --model learned --force")
    return _place() / "learned"


@cache
def _undisturbed(number: int) -> tuple[float, Any]:
    """Return how long a command takes and what it writes, by the second run of two."""
    for _ in range(2):
        seconds = _succeed(COMMANDS[number])
        shutil.rmtree(_place() / "kept", ignore_errors=True)
    return seconds, _content(_place() / "out")


def _succeed(words: str) -> float:
    """Run a command, which must succeed; return its seconds."""
    ended = _run(words)
    if ended is None or ended.code:
        raise RuntimeError(f"{words} ended {ended}")
    return ended.seconds


def _content(path: Path) -> Any:
    """Read a result file in another process, to keep this one without compiled loops."""
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        return pool.submit(content, path).result()


def content(path: Path) -> Any:
    """Return the content of a result file, equal in every run; raise if it is not whole."""
    data = path.read_bytes()
    if data[:1] == b"{":
        read(data)
        return data
    if data[:1] in (b"a", b"b"):
        if data.count(b"\n") != ROWS:
            raise ValueError("some predictions are missing")
        return data
    model = loaded(path)
    with of_features():
        assert len(model.predict(np.zeros((2, model.n_features_in_)))) == 2
    return {name: array.tobytes() for name, array in load_file(path).items()}


def signaled(draw: random.Random) -> str | None:
    """Send a command one or two signals at random moments; then run it again."""
    _load_loops()
    number = draw.randrange(len(COMMANDS))
    return _signaled(number, draw, 1.2 * _undisturbed(number)[0])


@cache
def _load_loops() -> None:
    """Load most loops, so that forked processes need not."""
    content(_learned())
    linsep.Perceptron(max_iter=2).fit(linsep.open_source(_place() / "rows.svm"))


def signaled_compiling(draw: random.Random) -> str | None:
    """Do the same while the command compiles its loops into an empty cache."""
    compiled = folder() / "code"
    shutil.rmtree(compiled, ignore_errors=True)
    number, environment = draw.choice((0, 2, 5, 7)), {"LINSEP_CACHE_DIR": str(compiled)}
    wrong = _signaled(number, draw, COMPILING_SECONDS, **environment)
    left = [path.name for path in compiled.rglob("*.tmp")]
    if not any(compiled.rglob("*.code")):
        wrong = wrong or "no compiled code was kept"
    return wrong or (f"left in the cache: {left}" if left else None)


def _signaled(number: int, draw: random.Random, most: float, **environment: str) -> str | None:
    """Return what is wrong after signals within ``most`` seconds, or with the next run."""
    learned, place, whole = _learned(), _place(), _undisturbed(number)[1]
    if draw.random() < 0.5:
        shutil.copy(learned, place / "out")
    else:
        (place / "out").unlink(missing_ok=True)
    if draw.random() < 0.5:
        shutil.rmtree(place / "kept", ignore_errors=True)
    moments = [draw.uniform(0, most), draw.choice((0, draw.uniform(0, 0.05)))]
    signals = [(after, draw.choice(SIGNALS)) for after in moments[: draw.choice((1, 1, 2))]]
    ended = _run(COMMANDS[number], signals, **environment)
    sent = [one for _, one in signals]
    if (wrong := _wrong_after(sent, ended, whole)) is None:
        wrong = _wrong_after([], _run(COMMANDS[number], **environment), whole)
        wrong = wrong and f"the next run: {wrong}"
    return wrong and f"{COMMANDS[number]}, {[one.name for one in sent]}: {wrong}"


def _wrong_after(signals: list[signal.Signals], ended: Ended | None, whole: Any) -> str | None:
    """Return what is wrong right after a command."""
    if ended is None:
        return "it did not end"
    if ended.code not in {0, *(128 + one for one in signals)}:
        return f"exit code {ended.code}: {ended.output}"
    if "Traceback" in ended.output:
        return f"a traceback: {ended.output}"
    if signal.SIGKILL not in signals and (left := left_by(_place())):
        return f"left: {left}"
    out, done = _place() / "out", ended.code == 0
    if not out.exists():
        return "done, and nothing written" if done else None
    try:
        found = _content(out)
    except (LinsepError, ValueError) as problem:
        return f"the file is not whole: {problem}"
    return "done, and something else written" if done and found != whole else None
