"""Races from files: reading svmlight text, and text to saved model as whole processes."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.data import svmlight_text
from benchmarks.harness import Race, Side
from linsep.sources.svmlight import load_svmlight

MEGABYTES = 1000
SCRATCH = Path(tempfile.gettempdir()) / f"linsep-bench-{os.getpid()}"

# Each program learns from the file it is given and saves a model; it prints its accuracy on the
# rows before it learnt them (progressive validation) and its seconds without imports.
LINSEP = """
import sys, time, json
from linsep import Perceptron, save
from linsep.sources.opening import open_source
import linsep.estimators.perceptron, linsep.model_file
started = time.perf_counter()
model = Perceptron(max_iter=1).fit(open_source(sys.argv[1]))
save(model, sys.argv[2], force=True)
print(json.dumps([model.progressive_accuracy_, time.perf_counter() - started]))
"""
VOWPAL_WABBIT = """
import sys, time, json
from vowpalwabbit import Workspace
started = time.perf_counter()
learner = Workspace(f"-d {sys.argv[1]} -f {sys.argv[2]} --loss_function hinge --binary --quiet")
loss = learner.get_sum_loss() / learner.get_weighted_examples()
learner.finish()
print(json.dumps([1.0 - loss, time.perf_counter() - started]))
"""
SCIKIT_LEARN = """
import sys, time, json, pickle
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron
started = time.perf_counter()
X, y = load_svmlight_file(sys.argv[1])
X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")
model = Perceptron(max_iter=1, tol=None, shuffle=False).fit(X, y)
with open(sys.argv[2], "wb") as file:
    pickle.dump(model, file)
print(json.dumps([None, time.perf_counter() - started]))
"""


class Program:
    """A program run as a process of its own on one file."""

    def __init__(self, source: str, data: Path, name: str, inside: bool):
        SCRATCH.mkdir(exist_ok=True)
        self.script, self.model = SCRATCH / f"run_{name}.py", SCRATCH / f"{name}.model"
        self.script.write_text(source)
        self.data, self.inside = data, inside
        self.accuracy: float | None = None

    def __call__(self) -> float | None:
        """Run it; its own seconds where imports are left out, else None: the wall clock counts."""
        command = [sys.executable, str(self.script), str(self.data), str(self.model)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.accuracy, seconds = json.loads(printed.splitlines()[-1])
        return seconds if self.inside else None


def programs(
    work: str, theirs: str, source: str, for_vw: bool, goal: float, repeats: int, inside: bool
) -> Race:
    """Text to saved model, linsep against another program."""
    ours = Program(LINSEP, svmlight_text(MEGABYTES), "linsep", inside)
    other = Program(source, svmlight_text(MEGABYTES, for_vw), theirs.split(maxsplit=1)[0], inside)
    return Race(
        work, Side("linsep", ours), Side(theirs, other), goal, repeats,
        lambda: (ours.accuracy, other.accuracy),
    )  # fmt: skip


@contextmanager
def one_core() -> Iterator[None]:
    """Keep every thread of this process on one core, where the system lets us."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def reading(goal: float, against_one: bool) -> Race:
    """svmlight text into a CSR matrix, the same rows compared to the bit."""
    path = svmlight_text(200 if against_one else 70)
    result: dict[str, Any] = {}

    def alone() -> Any:
        with one_core():
            return load_svmlight(path, threads=1)

    def ours() -> None:
        result["ours"] = load_svmlight(path) if against_one else alone()

    def theirs() -> None:
        result["theirs"] = alone() if against_one else load_svmlight_file(str(path))

    def same() -> tuple[None, None]:
        (X, y), (Z, t) = result["ours"], result["theirs"]
        if not (np.array_equal(X.data, Z.data) and np.array_equal(X.indices, Z.indices)):
            raise AssertionError("the two sides read different rows")
        if not (np.array_equal(X.indptr, Z.indptr) and np.array_equal(y, t)):
            raise AssertionError("the two sides read different rows")
        return None, None

    name = "linsep, one core" if against_one else "scikit-learn load_svmlight_file"
    cores = "two cores" if against_one else "one core"
    return Race(
        f"svmlight text into CSR, {cores}", Side("linsep", ours), Side(name, theirs), goal, 5, same
    )


def races() -> dict[str, Callable[[], Race]]:
    """Every race of this file by its short name."""
    gigabyte = "svmlight text (1 GB) to saved model, one pass"
    vw = "Vowpal Wabbit, its own format"
    return {
        "svmlight": lambda: reading(15, against_one=False),
        "svmlight-threads": lambda: reading(1.7, against_one=True),
        "file-vw": lambda: programs(
            gigabyte + ", imports out", vw, VOWPAL_WABBIT, True, 3, 3, inside=True
        ),
        "process-vw": lambda: programs(
            gigabyte + ", whole process", vw, VOWPAL_WABBIT, True, 2, 3, inside=False
        ),
        "process-sklearn": lambda: programs(
            gigabyte + ", whole process", "scikit-learn load + fit", SCIKIT_LEARN, False, 10, 1,
            inside=False,
        ),
    }  # fmt: skip
