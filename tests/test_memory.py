"""Memory is set by the batch, not by the file."""

import json
import subprocess
import sys

import pytest

from linsep.compiled.jit import COMPILING

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


@pytest.mark.slow
@pytest.mark.skipif(not COMPILING, reason="too slow without the compiler")
def test_a_larger_file_takes_no_more_memory(tmp_path):
    pytest.importorskip("resource")
    lines = []
    for i in range(20_000):
        columns = [1 + (i * 7 + j * j) % 97 + 100 * j for j in range(30)]
        lines.append(f"{i % 2} " + " ".join(f"{j}:0.{i % 9}37" for j in columns) + "\n")
    block = "".join(lines)
    peaks = {}
    for times in (1, 12, 24):
        path = tmp_path / f"{times}.svm"
        with open(path, "w") as file:
            for _ in range(times):
                file.write(block)
        peaks[times], mistakes, features = peak_of(path)
        assert features == 2997
        assert len(mistakes) <= 3
        path.unlink()
    assert peaks[24] < 1.1 * peaks[12]
    # Rows kept whole would take 24 x 20,000 x 30 x 12 bytes = 173 MB more than the smallest file.
    assert peaks[24] - peaks[1] < 130
