"""Long eliminations in a separate process, which can be stopped, unlike FLINT.

``python -m linsep.separability.elimination_process`` reads a matrix from its input and writes
its reduced echelon form. Numbers are hexadecimal, which is fast to read and write.
"""

import math
import os
import subprocess
import sys

from flint import fmpz_mat

from linsep.separability.time_limit import check_time, doing, seconds_left


def reduced_elsewhere(matrix: fmpz_mat) -> tuple[fmpz_mat, int, int]:
    """Return the result of ``matrix.rref()``: the scaled reduced form, the scale, and the rank.

    Raises
    ------
    TooLarge
        If the time is up. Then, and on Ctrl-C, the other process is killed.
    """
    doing(f"exact elimination of {matrix.nrows():,} rows and {matrix.ncols():,} columns")
    left = max(0.0, seconds_left())
    search_path = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        [sys.executable, "-m", "linsep.separability.elimination_process", repr(left)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": search_path},
        text=True,
    ) as process:
        try:
            answer, _ = process.communicate(_written(matrix), left if math.isfinite(left) else None)
        except subprocess.TimeoutExpired:
            check_time()
            raise
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise RuntimeError(f"exact elimination ended with code {process.returncode}")
    head, text = answer.split("\n", 1)
    below, rank = (int(number, 16) for number in head.split())
    return _read(text), below, rank


def _end_after(seconds: float) -> None:
    """Let the system end this process, in case its parent is killed."""
    if os.name == "posix" and math.isfinite(seconds):
        import resource  # not on Windows

        most = math.ceil(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))


def _written(matrix: fmpz_mat) -> str:
    numbers = " ".join(hex(int(m)) for m in matrix.entries())
    return f"{matrix.nrows()} {matrix.ncols()}\n{numbers}\n"


def _read(text: str) -> fmpz_mat:
    head, numbers = text.split("\n", 1)
    rows, columns = map(int, head.split())
    return fmpz_mat(rows, columns, [int(number, 16) for number in numbers.split()])


def main() -> None:
    """Reduce the matrix on standard input, within the seconds given as the argument."""
    _end_after(float(sys.argv[1]))
    matrix, below, rank = _read(sys.stdin.read()).rref()
    sys.stdout.write(f"{hex(int(below))} {hex(rank)}\n{_written(matrix)}")


if __name__ == "__main__":
    main()
