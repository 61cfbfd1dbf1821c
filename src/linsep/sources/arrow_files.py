"""Python files that Arrow's threads read.

The last to let go of such a file may be one of those threads, which needs Python for that: if
Python ends meanwhile, the thread is torn out of C++ and the process aborts. So the end waits.
"""

import atexit
import time
from typing import Any
from weakref import WeakSet

import pyarrow as pa

#: most seconds that the end of the process waits, as it does for files that are never closed
PATIENCE = 0.2
_given: "WeakSet[Any]" = WeakSet()


def arrow_file(stream: Any) -> pa.PythonFile:
    """Return a file for Arrow that reads a Python one."""
    _given.add(stream)
    return pa.PythonFile(stream, "r")


@atexit.register
def wait_for_threads() -> None:
    """Wait until nobody has any of the files."""
    end = time.monotonic() + PATIENCE
    while len(_given) and time.monotonic() < end:
        time.sleep(0.0005)
