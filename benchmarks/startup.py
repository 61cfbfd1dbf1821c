"""What starting costs: imports beside scikit-learn's, and a whole `linsep fit` on a small file."""

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

REPEATS = 7


def seconds(*commands: list[str]) -> list[float]:
    """Median of each command as a whole process, run in turn after one warm-up."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(REPEATS + 1):
        for k, command in enumerate(commands):
            started = perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times[k].append(perf_counter() - started)
    return [median(own[1:]) for own in times]


def main() -> None:
    """Print the two figures that matter."""
    python = sys.executable
    peers = "import numpy, sklearn.linear_model"
    alone, ours = seconds(
        [python, "-c", peers], [python, "-c", f"{peers}; import linsep; linsep.Perceptron"]
    )
    print(f"import linsep.Perceptron after numpy and scikit-learn: +{ours - alone:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.svm"
        path.write_text("1 1:1 2:1\n-1 1:-1 3:1\n" * 50)
        (whole,) = seconds([python, "-m", "linsep", "fit", str(path)])
    print(f"linsep fit on a small file, second time, start to end: {whole:.2f} s")
