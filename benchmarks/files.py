"""Races from files: reading svmlight text, and text to saved model as whole processes."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from benchmarks.data import svmlight_text
from benchmarks.harness import Race
from linsep.sources.svmlight import SvmlightSource

MEGABYTES = 1000
SCRATCH = Path(tempfile.gettempdir()) / f"linsep-bench-{os.getpid()}"

# Each script learns from the file it is given and saves a model; it prints its accuracy on the
# rows before it learned them (progressive validation) and its seconds without imports.
LINSEP = """
import sys, time, json
from linsep import Perceptron, save
from linsep.sources.opening import open_source
import linsep.learners.perceptron, linsep.model_files
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
# The command lines that people type; DATA and MODEL are filled in.
LINSEP_COMMAND = "linsep fit DATA --model MODEL --max-iter 1 --force --json"
AROW_COMMAND = f"{LINSEP_COMMAND} --learner arow"
VOWPAL_WABBIT_COMMAND = "vowpalwabbit -d DATA -f MODEL --loss_function hinge --binary"


class Program:
    """A script or a command line, run as a process of its own on one file."""

    accuracy: float | None = None

    def __init__(self, source: str, data: Path, name: str):
        SCRATCH.mkdir(exist_ok=True)
        places = {"DATA": str(data), "MODEL": str(SCRATCH / f"{name}.model")}
        self.script = "\n" in source
        words = ["-m", *(places.get(word, word) for word in source.split())]
        self.command = [
            sys.executable, *(["-c", source, *places.values()] if self.script else words)
        ]  # fmt: skip

    def __call__(self) -> float | None:
        """Run it; return a script's own seconds, without its imports."""
        done = subprocess.run(self.command, check=True, capture_output=True, text=True)
        if self.script:
            self.accuracy, seconds = json.loads(done.stdout.splitlines()[-1])
            return seconds
        self.accuracy = progressive_accuracy(done.stdout, done.stderr)
        return None


def progressive_accuracy(stdout: str, stderr: str) -> float | None:
    """What a command line says of the rows before it learned them."""
    if stdout.startswith("{"):
        return json.loads(stdout)["progressive_accuracy"]
    loss = re.search(r"average loss = ([\d.]+)", stderr + stdout)
    return None if loss is None else 1.0 - float(loss[1])


def programs(work: str, ours: str, theirs: str, repeats: int = 5) -> Race:
    """Text to saved model, linsep against Vowpal Wabbit."""
    us = Program(ours, svmlight_text(MEGABYTES), "linsep")
    other = Program(theirs, svmlight_text(MEGABYTES, for_vw=True), "vw")
    return Race(
        f"svmlight text (1 GB) to saved model, one pass{work}", "Vowpal Wabbit, its own format",
        us, other, repeats, lambda: (us.accuracy, other.accuracy),
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


def reading(against_one: bool) -> Race:
    """svmlight text into a CSR matrix; both sides must read bit-identical rows."""
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
    return Race(f"svmlight text into CSR, {cores}", name, ours, theirs, 5, same)


def load_svmlight(path: Path, **options: Any) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return X and y of a file, with the options of SvmlightSource."""
    source = SvmlightSource([path], **options)
    batches: list[Any] = list(source.batches())
    starts = np.cumsum([0] + [batch.X.nnz for batch in batches]).tolist()
    rows = batches[-1].first + batches[-1].size
    X = sp.csr_matrix((rows, batches[-1].X.shape[1]))
    X.data, X.indices = np.empty(starts[-1]), np.empty(starts[-1], np.int32)
    X.indptr, y = np.zeros(rows + 1, np.int32), np.empty(rows)

    def place(k: int) -> None:
        part, labels, first, *_ = batches[k]
        begin, end, last = starts[k], starts[k + 1], first + len(labels)
        X.data[begin:end], X.indices[begin:end] = part.data, part.indices
        np.add(part.indptr[1:], begin, out=X.indptr[first + 1 : last + 1])
        y[first:last] = labels
        batches[k] = None  # let go once copied, so that the rows are in memory about once

    # Fresh memory is slow to touch for the first time, so every core takes its share.
    with ThreadPoolExecutor(source.threads) as pool:
        list(pool.map(place, range(len(batches))))
    X.has_sorted_indices = X.has_canonical_format = True
    return X, y


def races() -> dict[str, Callable[[], Race]]:
    """Every race of this file by its short name."""
    return {
        "svmlight": lambda: reading(against_one=False),
        "svmlight-threads": lambda: reading(against_one=True),
        "file-vw": lambda: programs(", imports out", LINSEP, VOWPAL_WABBIT),
        "process-vw": lambda: programs(", whole process", LINSEP_COMMAND, VOWPAL_WABBIT_COMMAND),
        "process-vw-arow": lambda: programs(
            " of AROW, whole process", AROW_COMMAND, VOWPAL_WABBIT_COMMAND, 3
        ),
    }
