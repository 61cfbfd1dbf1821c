"""Signals to commands at random moments: files stay whole, nothing is left, the next run works.

A command runs in a process forked from one that has imported linsep, which saves two seconds each,
or, sometimes, in an interpreter of its own. It gets a signal (sometimes a second one), and then the
same command runs again undisturbed.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
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
from linsep.cli.main import main
from linsep.cli.proofs import read_proof
from linsep.errors import LinsepError
from linsep.validation.checks import of_features

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
#: one in this many commands has an interpreter of its own
OWN = 20
#: approximate seconds that an interpreter takes to start
OWN_SECONDS = 2.5
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


class Running:
    """A running command, in a session of its own, with temporary files in ``scratch``."""

    def __init__(
        self, place: Path, arguments: list[str], environment: dict[str, str], own: bool = False
    ):
        self.place, self.started = place, time.monotonic()
        environment = environment | {"TMPDIR": str(place / "scratch"), "OMP_NUM_THREADS": "1"}
        with (place / "output").open("wb") as output:
            self.process: Any = None
            if own:
                self.process = self._in_own_interpreter(arguments, environment, output)
                self.pid = self.process.pid
            else:
                # Signals are blocked until the new process has its handlers.
                signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
                self.pid = os.fork()
                if self.pid == 0:
                    self._in_fork(arguments, environment, output)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def _in_own_interpreter(self, arguments: list[str], environment: Any, output: Any) -> Any:
        return subprocess.Popen(
            [sys.executable, "-m", "linsep", *arguments], cwd=self.place, stdout=output,
            stderr=output, start_new_session=True,
            env=os.environ | environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    def _in_fork(self, arguments: list[str], environment: Any, output: Any) -> None:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setsid()
            os.chdir(self.place)
            for number in (1, 2):
                os.dup2(output.fileno(), number)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
            os.environ.update(environment)
            tempfile.tempdir = None
            sys.argv = ["linsep", *arguments]
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            main()
        except KeyboardInterrupt:  # before the command begins
            os._exit(130)
        finally:
            os._exit(99)

    def send(self, number: int) -> None:
        """Send a signal, unless the process has just ended."""
        os.kill(self.pid, number)

    def wait(self) -> Ended | None:
        """Return how it ended, or None after the time limit."""
        while not (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            if time.monotonic() - self.started > PATIENCE:
                os.killpg(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return None
            time.sleep(0.002)
        code = os.waitstatus_to_exitcode(ended[1])
        if self.process is not None:
            self.process.returncode = code  # already waited for
        output = (self.place / "output").read_text(errors="replace")
        return Ended(code if code >= 0 else 128 - code, output, time.monotonic() - self.started)


def left_by(place: Path) -> list[str]:
    """Return what no command should leave: temporary files, and processes of its session."""
    known = {
        "rows.svm",
        "dense.csv",
        "words.csv",
        "words.jsonl",
        "learned",
        "out",
        "output",
        "kept",
    }
    left = [path.name for path in place.iterdir() if path.name not in known | {"scratch"}]
    left += [path.name for path in (place / "scratch").iterdir()]
    return left + [path.name for path in (place / "kept").rglob("*.tmp")]


@cache
def _place() -> Path:
    """Return a folder with data and a model."""
    place = folder() / "commands"
    (place / "scratch").mkdir(parents=True)
    _write_data(place)
    fit = "fit dense.csv --target kind --no-cache --model learned --force"
    _succeed(place, fit)
    return place


@cache
def _undisturbed(number: int) -> tuple[float, Any]:
    """Return how long a command takes and what it writes, by the second run of two."""
    place = _place()
    for _ in range(2):
        seconds = _succeed(place, COMMANDS[number])
        shutil.rmtree(place / "kept", ignore_errors=True)
    return seconds, _content(place / "out")


def _succeed(place: Path, words: str) -> float:
    """Run a command, which must succeed; return its seconds."""
    ended = Running(place, words.split(), {}).wait()
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
        read_proof(path)
        return data
    if data[:1] in (b"a", b"b"):
        if data.count(b"\n") != ROWS:
            raise ValueError("some predictions are missing")
        return data
    model = linsep.load(path)
    vars(model).pop("feature_names_in_", None)  # or it would warn of rows without names
    with of_features():
        assert len(model.predict(np.zeros((2, model.n_features_in_)))) == 2
    return {name: array.tobytes() for name, array in load_file(path).items()}


def signaled(draw: random.Random) -> str | None:
    """Send a command one or two signals at random moments; then run it again."""
    _load_loops()
    number = draw.randrange(len(COMMANDS))
    own = draw.randrange(OWN) == 0
    most = 1.2 * _undisturbed(number)[0] + (OWN_SECONDS if own else 0)
    return _signaled(number, draw, most, own, {})


@cache
def _load_loops() -> None:
    """Load most loops, so that forked processes need not."""
    content(_place() / "learned")
    source = linsep.open_source(_place() / "rows.svm")
    linsep.Perceptron(max_iter=2).fit(source)


def signaled_compiling(draw: random.Random) -> str | None:
    """Do the same while the command compiles its loops into an empty cache."""
    number = draw.choice((0, 2, 5, 7))
    cache_folder = folder() / "code"
    shutil.rmtree(cache_folder, ignore_errors=True)
    environment = {"LINSEP_CACHE_DIR": str(cache_folder)}
    wrong = _signaled(number, draw, COMPILING_SECONDS, False, environment)
    left = [path.name for path in cache_folder.rglob("*.tmp")]
    if not any(cache_folder.rglob("*.code")):
        wrong = wrong or "no compiled code was kept"
    return wrong or (f"left in the cache: {left}" if left else None)


def _signaled(
    number: int, draw: random.Random, most: float, own: bool, environment: dict[str, str]
) -> str | None:
    """Return what is wrong after signals within ``most`` seconds, or with the next run."""
    place, whole = _place(), _undisturbed(number)[1]
    out = place / "out"
    if draw.random() < 0.5:
        shutil.copy(place / "learned", out)
    else:
        out.unlink(missing_ok=True)
    if draw.random() < 0.5:
        shutil.rmtree(place / "kept", ignore_errors=True)
    signals = [draw.choice(SIGNALS) for _ in range(draw.choice((1, 1, 2)))]
    running = Running(place, COMMANDS[number].split(), environment, own)
    time.sleep(draw.uniform(0, most))
    for one in signals:
        running.send(one)
        time.sleep(draw.choice((0, draw.uniform(0, 0.05))))
    wrong = _wrong_after(signals, running.wait(), place, whole, own)
    wrong = wrong or _wrong_again(number, environment)
    return wrong and f"{COMMANDS[number]}, {[one.name for one in signals]}: {wrong}"


def _wrong_after(
    signals: list[signal.Signals], ended: Ended | None, place: Path, whole: Any, own: bool
) -> str | None:
    """Return what is wrong right after a signal."""
    if ended is None:
        return "it did not end"
    if ended.code not in {0, *(128 + one for one in signals)}:
        return f"exit code {ended.code}: {ended.output}"
    if "Traceback" in ended.output and not own:  # Python's own, before anything of linsep runs
        return f"a traceback: {ended.output}"
    if signal.SIGKILL not in signals and (left := left_by(place)):
        return f"left: {left}"
    return _wrong_file(place, whole if ended.code == 0 else None)


def _wrong_file(place: Path, whole: Any) -> str | None:
    """Return what is wrong with the file that a command writes."""
    out = place / "out"
    if not out.exists():
        return None if whole is None else "done, and nothing written"
    try:
        found = _content(out)
    except (LinsepError, ValueError) as problem:
        return f"the file is not whole: {problem}"
    if whole is not None and found != whole:
        return "done, and something else written"
    return None


def _wrong_again(number: int, environment: dict[str, str]) -> str | None:
    """Return what is wrong with the next run."""
    place, whole = _place(), _undisturbed(number)[1]
    ended = Running(place, COMMANDS[number].split(), environment).wait()
    if ended is None or ended.code:
        return f"the next run ended {ended}"
    if (wrong := _wrong_file(place, whole)) is not None:
        return f"the next run: {wrong}"
    left = left_by(place)
    return f"left for ever: {left}" if left else None
