"""Memory is set by the batch; bits do not depend on threads of BLAS or processors."""

import json
import subprocess
import sys

import numpy as np
import pytest
from campaign.same_bits import measured
from threadpoolctl import threadpool_limits

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression

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


@pytest.mark.compiled
@pytest.mark.thorough
def test_one_cpu_and_one_blas_thread_give_the_bits_of_several():
    usual = measured("usual", "Perceptron")
    assert len(set(usual.values())) > 4  # by keep
    assert measured("one CPU", "Perceptron") == usual
    assert measured("one BLAS thread", "Perceptron") == usual
