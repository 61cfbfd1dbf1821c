"""Cases in forked processes: one that crashes or hangs ends its batch, not the rest.

A case is a function of a random generator that returns what is wrong, or None. The same seed and
number draw the same case.
"""

import math
import mmap
import os
import random
import resource
import shutil
import signal
import struct
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, NoReturn

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
    first = 0
    while first < limits.count and not limits.over():
        place = tempfile.mkdtemp(prefix="linsep-campaign-")
        try:
            last = min(first + batch, limits.count)
            one = _Batch(case, limits, Path(place), max(hang_seconds, HANG_SECONDS))
            first = one.run(first, last, found)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return found


class _Batch:
    """The cases of one process."""

    def __init__(self, case: Case, limits: Limits, place: Path, hang_seconds: float):
        self.case, self.limits, self.place = case, limits, place
        self.hang_seconds = hang_seconds
        self.number = mmap.mmap(-1, 8)  # of the running case: written by the child, read here

    def run(self, first: int, last: int, found: Counter) -> int:
        """Run cases in a process; return the first that it did not reach."""
        reading, writing = Pipe(duplex=False)
        self.number[:] = struct.pack("q", first)
        child = os.fork()
        if child == 0:
            self._work(first, last, writing)
        writing.close()
        hung, ended = self._watch(child, first, reading, found)
        done = self.at()
        if hung or ended:
            _note(found, "hangs" if hung else "crashes", done, f"status {ended}")
            done += 1
        found["cases"] += done - first
        return done

    def at(self) -> int:
        """The number of the running case, or of the next at the end."""
        return int(struct.unpack("q", self.number[:])[0])

    def _patience(self, first: bool) -> float:
        return max(self.hang_seconds, FIRST_SECONDS) if first else self.hang_seconds

    def _watch(
        self, child: int, first: int, reading: Connection, found: Counter
    ) -> tuple[bool, int]:
        """Wait for the end of a process; return whether it hung, and its status."""
        at, since, hung = -1, time.monotonic(), False
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if self.at() != at:
                at, since = self.at(), time.monotonic()
            elif not hung and time.monotonic() - since > self._patience(at == first):
                hung = True
                os.kill(child, signal.SIGKILL)
            _drain(reading, found)
            time.sleep(0.005)
        _drain(reading, found)
        return hung, ended[1]

    def _work(self, first: int, last: int, out: Connection) -> NoReturn:
        status = 1
        tempfile.tempdir = str(self.place)
        inherited = _resident_kilobytes()
        try:
            for number in range(first, last):
                self.number[:] = struct.pack("q", number)
                if self.limits.over():
                    break
                if (wrong := self.case(random.Random(f"{self.limits.seed} {number}"))) is not None:
                    out.send(("wrong", number, wrong[:2000]))
                self.number[:] = struct.pack("q", number + 1)
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


def _drain(reading: Connection, found: Counter) -> None:
    """Count what a process has sent so far."""
    try:
        while reading.poll():
            _note(found, *reading.recv())
    except EOFError:
        return


def _note(found: Counter, what: str, number: int, text: str) -> None:
    found[what] += 1
    print(f"  case {number}: {what}: {text}", flush=True)
