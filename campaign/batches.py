"""Cases in forked processes: one that crashes or hangs ends its batch, not the rest.

A case is a function of a random generator that returns what is wrong, None where nothing is. The
same seed and number draw the same case.
"""

import mmap
import os
import random
import signal
import struct
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

Case = Callable[[random.Random], str | None]
BATCH, HANG_SECONDS, MOST_KILOBYTES = 500, 10.0, 1_000_000


def run(case: Case, count: int, seed: int = 0, batch: int = BATCH) -> Counter:
    """Count how ``count`` cases ended; what is wrong is printed with the number of the case."""
    found: Counter = Counter(cases=0)
    first = 0
    while first < count:
        first = _batch(case, first, min(first + batch, count), seed, found)
    return found


def _batch(case: Case, first: int, last: int, seed: int, found: Counter) -> int:
    """Run cases in one process; returns the first that it did not come to."""
    progress = mmap.mmap(-1, 16)  # the number of the case, and the memory at the beginning
    reading, writing = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        _work(case, first, last, seed, progress, writing)
    writing.close()
    at, since, hung = -1, time.monotonic(), False
    while not (ended := os.wait4(child, os.WNOHANG))[0]:
        now = struct.unpack("q", progress[:8])[0]
        if now != at:
            at, since = now, time.monotonic()
        elif time.monotonic() - since > HANG_SECONDS:
            hung = True
            os.kill(child, signal.SIGKILL)
        _drain(reading, found)
        time.sleep(0.005)
    at = struct.unpack("q", progress[:8])[0]
    _drain(reading, found)
    if hung or ended[1]:
        _note(found, "hangs" if hung else "crashes", at, f"status {ended[1]}")
    inherited = struct.unpack("q", progress[8:])[0]
    if (grown := ended[2].ru_maxrss - inherited) > MOST_KILOBYTES:
        _note(found, "over 1 GB", at, f"{grown} kB")
    done = at + 1 if hung or ended[1] else last
    found["cases"] += done - first
    return done


def _resident_kilobytes() -> int:
    """Return the memory in use now: a forked process begins with most of its parent's."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def _drain(reading: Connection, found: Counter) -> None:
    """Note what a process has said so far; at its end there is nothing more."""
    try:
        while reading.poll():
            _note(found, "wrong", *reading.recv())
    except EOFError:
        return


def _note(found: Counter, what: str, number: int, said: str) -> None:
    found[what] += 1
    print(f"  case {number}: {what}: {said}", flush=True)


def _work(
    case: Case, first: int, last: int, seed: int, progress: mmap.mmap, out: Connection
) -> None:
    status = 1
    progress[8:] = struct.pack("q", _resident_kilobytes())
    try:
        for number in range(first, last):
            progress[:8] = struct.pack("q", number)
            if (wrong := case(random.Random(f"{seed} {number}"))) is not None:
                out.send((number, wrong[:300]))
        status = 0
    except BaseException as fault:
        out.send((number, f"the case itself failed: {fault!r}"[:300]))
    finally:
        os._exit(status)
