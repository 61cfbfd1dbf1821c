"""Compiled code is kept between runs, and is never older than the source."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import linsep
from linsep.compiled.jit import COMPILING

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(not COMPILING, reason="nothing is compiled")]

LEARN = """
import json
import numpy as np
import linsep
from linsep.compiled.code_cache import code_folder
from linsep.compiled.weights import Last
from linsep.compiled.rules.perceptron import Constant
from linsep.compiled.rows import as_rows
from linsep.compiled.rules.perceptron import PerceptronRule
from linsep.compiled.loop import pass_loop
from linsep.learners.state import State

state, rows = State("native", 2, 1, True), as_rows(np.full((1, 1), 3.0))
pass_loop(
    state.scheme("negative", False), PerceptronRule(Constant(1.0)), Last(), state.W, 1.0, rows,
    np.ones(1, np.int32), np.full(1, 4.0), np.zeros(1, np.int64), 0, np.zeros(3, np.int64),
)
print(json.dumps({
    "package": linsep.__file__, "folder": str(code_folder()), "weights": state.W.tolist(),
    "loaded": sum(pass_loop.stats.cache_hits.values()),
    "made": sum(pass_loop.stats.cache_misses.values()),
}))
"""

ONCE = "machine(weights)) * importance * y)"
TWICE = "machine(weights)) * importance * y * 2.0)"


class Copy:
    """A copy of the package with a compile cache of its own."""

    def __init__(self, folder):
        self.package, self.cache = folder / "linsep", folder / "cache"
        shutil.copytree(
            Path(linsep.__file__).parent, self.package, ignore=shutil.ignore_patterns("__pycache__")
        )

    def learn(self, cache=None):
        """What one mistake on the row [3] of weight 4 does, in a new process."""
        # Without bytecode files: Python itself does not notice an edit that keeps size and time.
        settings = {"PYTHONPATH": str(self.package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        settings["LINSEP_CACHE_DIR"] = str(cache or self.cache)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", LEARN],
            env=os.environ | settings, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert Path(found["package"]).parent == self.package
        return found

    def edit(self, name, old, new):
        """Replace text of an inner file; where the size stays, so does the time."""
        path = self.package / "compiled" / name
        before, text = path.stat(), path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
        if len(old) == len(new):
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert path.stat().st_size == before.st_size
            assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_code_is_compiled_once_and_again_after_any_edit(tmp_path):
    copy = Copy(tmp_path)
    first, second = copy.learn(), copy.learn()
    assert (first["loaded"], first["made"]) == (0, 1)
    assert (second["loaded"], second["made"]) == (1, 0)
    assert first["weights"] == second["weights"] == [12.0, 4.0]
    assert Path(first["folder"]).is_relative_to(copy.cache)

    # Neither file is the one the loop stands in, whose time and size are all that numba looks at.
    copy.edit("rules/perceptron.py", ONCE, TWICE)
    edited = copy.learn()
    assert edited["weights"] == [24.0, 8.0]
    assert (edited["loaded"], edited["made"]) == (0, 1)
    copy.edit("weights.py", "    array[j] += amount", "    array[j] -= amount")
    assert copy.learn()["weights"] == [-24.0, -8.0]

    copy.edit("weights.py", "    array[j] -= amount", "    array[j] += amount")
    copy.edit("rules/perceptron.py", TWICE, ONCE)
    again = copy.learn()
    assert (again["weights"], again["loaded"]) == ([12.0, 4.0], 1)


PRESSED = """
import signal
import numpy as np
from numba.core import event
from linsep.compiled.row_records import checksum

class Presser(event.Listener):
    def on_start(self, happened):
        signal.raise_signal(signal.SIGINT)

    def on_end(self, happened):
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
words, seed = np.ones(3, np.uint64), np.uint64(1)
before = signal.getsignal(signal.SIGINT)
with event.install_listener("numba:compile", Presser()):
    try:
        checksum(words, seed)
    except KeyboardInterrupt:
        assert signal.getsignal(signal.SIGINT) is before
        print(len(checksum.signatures), sum(checksum.stats.cache_misses.values()))
"""


def test_ctrl_c_waits_for_the_compiler(tmp_path):
    # Within it, Ctrl-C would be swallowed by a callback, or leave half a function behind.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PRESSED],
        env=os.environ | {"LINSEP_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 1\n", "")
