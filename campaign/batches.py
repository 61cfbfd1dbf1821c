"""Cases in forked processes: one that crashes or hangs ends its batch, not the rest.

A case is a function of a random generator that returns what is wrong, or None. The same seed and
number draw the same case.
"""

import math
import os
import random
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, NoReturn

from linsep.errors import LinsepError

Case = Callable[[random.Random], str | None]
BATCH, HANG_SECONDS, MOST_KILOBYTES = 500, 10.0, 1_000_000
#: the first case of a process may have to compile loops
FIRST_SECONDS = 300.0


class Limits(NamedTuple):
    """The number of cases, their seed, and the ``time.monotonic()`` at which to stop."""

    count: int
    seed: str = "0"
    until: float = math.inf

    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.until


def folder() -> Path:
    """Return the folder of a batch for all its files, which is removed at the end."""
    return Path(tempfile.gettempdir())


def run(case: Case, limits: Limits, batch: int = BATCH, hang_seconds: float = 0.0) -> Counter:
    """Count how cases ended; print what is wrong with the number of the case.

    A case hangs after the larger of ``hang_seconds`` and ``HANG_SECONDS``.
    """
    found: Counter = Counter(cases=0)
    patience = max(hang_seconds, HANG_SECONDS)
    while found["cases"] < limits.count and not limits.over():
        last = min(found["cases"] + batch, limits.count)
        place = tempfile.mkdtemp(prefix="linsep-campaign-")
        try:
            _batch(case, limits, last, place, patience, found)
        finally:  # not as a context manager, which a forked command would end, too
            shutil.rmtree(place, ignore_errors=True)
    return found


def _batch(
    case: Case, limits: Limits, last: int, place: str, patience: float, found: Counter
) -> None:
    """Run cases in a process, and count them as far as it gets."""
    first = at = found["cases"]
    reading, writing = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        _work(case, limits, range(first, last), place, writing)
    writing.close()
    since, hung = time.monotonic(), False
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        while reading.poll(0 if ended else 0.005):
            try:
                what, number, text = reading.recv()
            except EOFError:
                time.sleep(0.005)
                break
            if what == "done":
                at, since = number + 1, time.monotonic()
            else:
                _note(found, what, number, text)
        if ended:
            break
        most = max(patience, FIRST_SECONDS) if at == first else patience
        if not hung and time.monotonic() - since > most:
            hung = True
            os.kill(child, signal.SIGKILL)
    if hung or status:
        _note(found, "hangs" if hung else "crashes", at, f"status {status}")
        at += 1
    found["cases"] = at


def _work(case: Case, limits: Limits, numbers: range, place: str, out: Connection) -> NoReturn:
    status, number = 1, numbers.start
    tempfile.tempdir = place
    inherited = _resident_kilobytes()
    try:
        for number in numbers:
            if limits.over():
                break
            if (wrong := case(random.Random(f"{limits.seed} {number}"))) is not None:
                out.send(("wrong", number, wrong[:2000]))
            out.send(("done", number, ""))
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - inherited
            if grown > MOST_KILOBYTES:  # a new process measures the next cases
                out.send(("over 1 GB", number, f"{grown:,} kB"))
                break
        status = 0
    except BaseException as fault:
        where = traceback.extract_tb(fault.__traceback__)[-1]
        out.send(("wrong", number, f"{fault!r} in {where.name}"[:2000]))
    finally:
        os._exit(status)


def _resident_kilobytes() -> int:
    """Return the memory in use; a forked process starts with most of its parent's."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def _note(found: Counter, what: str, number: int, text: str) -> None:
    found[what] += 1
    print(f"  case {number}: {what}: {text}", flush=True)


def ended_early(
    work: Callable[[], object], how: signal.Signals | None, after: float, most: int | None = None
) -> int:
    """Do some work in another process, which gets a signal after some seconds, or may write no file
    of more than ``most`` bytes; return its status, 0 also after an interrupt or a refusal.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Ctrl-C in a library's clean-up
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if most is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            work()
            status = 0
        except (LinsepError, KeyboardInterrupt):
            status = 0
        finally:
            os._exit(status)
    if how is not None:
        time.sleep(after)
        os.kill(child, how)
    return os.waitpid(child, 0)[1]
