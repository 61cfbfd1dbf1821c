"""Memory is set by the batch; bits do not depend on threads of BLAS or processors."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression
from linsep._system.threads import one_blas_thread

# Learns in several passes with little memory to keep rows in; prints its peak in megabytes.
PROGRAM = """
import json, resource, sys
from linsep import Perceptron, open_source
source = open_source(sys.argv[1])
source.memory_bytes = 8 << 20
model = Perceptron(max_iter=3).fit(source)
unit = 1024 if sys.platform == "linux" else 1 << 20
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
print(json.dumps([peak, model.mistakes_.tolist(), len(model.coef_[0])]))
"""


def peak_of(path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.thorough
@pytest.mark.compiled
def test_a_larger_file_takes_no_more_memory(tmp_path):
    pytest.importorskip("resource")
    lines = []
    for i in range(20_000):
        columns = [1 + (i * 7 + j * j) % 97 + 100 * j for j in range(30)]
        lines.append(f"{i % 2} " + " ".join(f"{j}:0.{i % 9}37" for j in columns) + "\n")
    block = "".join(lines)
    peaks = {}
    for times in (1, 6, 12):
        path = tmp_path / f"{times}.svm"
        with open(path, "w") as file:
            for _ in range(times):
                file.write(block)
        peaks[times], mistakes, features = peak_of(path)
        assert features == 2997
        assert len(mistakes) <= 3
        path.unlink()
    assert peaks[12] < 1.1 * peaks[6]
    # Rows kept whole would take 11 x 20,000 x 30 x 12 bytes = 79 MB more than the smallest file.
    assert peaks[12] - peaks[1] < 60


# Fits each file with little memory for rows, after one of a few rows that loads and compiles all;
# prints the megabytes that each adds at its peak.
GROWTH = """
import sys
from pathlib import Path
from linsep import Perceptron, open_source
def memory(what):
    return int(Path("/proc/self/status").read_text().split(what + ":")[1].split()[0]) / 1024
def fit(path, budget):
    source = open_source(path, target="kind", scale="standard")
    source.memory_bytes = budget << 20
    Perceptron(max_iter=2).fit(source)
fit(sys.argv[1], 0), fit(sys.argv[1], 1)
for path, budget in zip(sys.argv[2::2], sys.argv[3::2]):
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    fit(path, int(budget))
    print(memory("VmHWM") - before)
"""


def write_parquet(path, rows, group):
    pq = pytest.importorskip("pyarrow.parquet")
    X = np.random.default_rng(0).normal(size=(20, rows))
    columns = {f"x{j}": x for j, x in enumerate(X)} | {"kind": (X[0] > 0).astype(int)}
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


@pytest.mark.thorough
@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
@pytest.mark.compiled
def test_streams_take_little_whatever_their_layout(tmp_path):
    rows = 400_000  # 64 MB
    cases = [
        (write_parquet(tmp_path / "many.parquet", rows, 10_000), 8, 120),
        # Rows that just fit stay in memory, and what is made of them meanwhile.
        (tmp_path / "many.parquet", 65, 160),
        (write_parquet(tmp_path / "one.parquet", rows, rows), 8, 120),
    ]
    small = write_parquet(tmp_path / "small.parquet", 2000, 1000)
    arguments = [str(part) for path, budget, _ in cases for part in (path, budget)]
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, small, *arguments],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    grown = [float(line) for line in done.stdout.split()]
    assert all(peak < most for peak, (_, _, most) in zip(grown, cases, strict=True)), grown


rng = np.random.default_rng(0)
WIDE, LONG = rng.normal(size=(400, 300)), rng.normal(size=(3000, 60))
LONG[:, 2] = np.arange(3000) % 9 == 0
Y = (LONG[:, 0] + LONG[:, 1] + 2 * rng.logistic(size=3000) > 0).astype(int)
Y[LONG[:, 2] > 0] = 1  # quasi-separable
FITS = {
    "linear": lambda: LinearRegression().fit(WIDE, WIDE[:, 0] + WIDE[:, 1] ** 2),
    "logistic": lambda: LogisticRegression().fit(LONG[:, 3:], Y),
    "quasi-separable": lambda: LogisticRegression().fit(LONG, Y),
    "bayes": lambda: GaussianNaiveBayes().fit(LONG, Y),
}


def bits(name):
    model = FITS[name]()
    if name == "bayes":
        return [model.means_, model.variances_]
    if name == "linear":
        return [model.coef_, model._fitted.root]
    return [model.coef_, model.intercept_, model.covariance_]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::linsep.errors.SeparationWarning")
@pytest.mark.parametrize("name", FITS)
def test_the_bits_do_not_depend_on_the_threads_of_blas(name):
    alone = bits(name)
    with threadpool_limits(1, "blas"):
        one = bits(name)
    for a, b in zip(alone, one, strict=True):
        assert np.array_equal(a, b, equal_nan=True)


@pytest.mark.thorough
@pytest.mark.compiled  # whose loops run side by side
@pytest.mark.filterwarnings("ignore::linsep.errors.SeparationWarning")
def test_fits_in_a_thread_pool_have_the_bits_of_one_alone():
    alone = {name: bits(name) for name in FITS}
    names = list(FITS) * 4
    with ThreadPoolExecutor(4) as pool:
        for name, found in zip(names, pool.map(bits, names), strict=True):
            for a, b in zip(alone[name], found, strict=True):
                assert np.array_equal(a, b, equal_nan=True), name


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::linsep.errors.SeparationWarning")
def test_the_last_fit_to_end_need_not_be_in_the_thread_of_the_first():
    entered, leave, seen = threading.Event(), threading.Event(), []

    def first():
        with one_blas_thread:
            entered.set()
            leave.wait(60)

    with threadpool_limits(2, "blas"):  # held by the main thread, which controls the number
        before = blas_threads()
        thread = threading.Thread(target=first)
        thread.start()
        entered.wait(60)
        seen.append(blas_threads())
        with one_blas_thread:
            leave.set()
            thread.join()
            seen.append(blas_threads())
        assert seen == [[1] * len(before)] * 2
        assert blas_threads() == before


# Fits models on dense rows; prints a hash of the weights and scores of each.
BITS = """
import hashlib, os, sys
import numpy as np
import linsep
if sys.argv[1:]:
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.5)
y = X @ rng.normal(size=30) + rng.normal(size=400) > 0
keeps = [linsep.Perceptron(max_iter=3, keep=keep) for keep in ("last", "average", "vote", "best")]
for model in (*keeps, linsep.LogisticRegression(), linsep.GaussianNaiveBayes()):
    arrays = model.fit(X, y).get_state()[0]
    bits = b"".join(arrays[name].tobytes() for name in sorted(arrays))
    print(hashlib.sha256(bits + model.decision_function(X).tobytes()).hexdigest())
"""


@pytest.mark.compiled
@pytest.mark.thorough
def test_one_cpu_and_one_blas_thread_give_the_bits_of_several():
    one, usual, single = (
        subprocess.run(
            [sys.executable, "-c", BITS, *words], env=os.environ | env, capture_output=True,
            check=True,
        ).stdout.split()
        for words, env in ((["one CPU"], {}), ([], {}), ([], {"OPENBLAS_NUM_THREADS": "1"}))
    )  # fmt: skip
    assert len(set(usual)) == 6
    assert one == usual == single
