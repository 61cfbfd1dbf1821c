"""Long computations of FLINT in a separate process, which can be stopped, unlike FLINT.

This file is run as a program that reads a matrix from its input and writes the result.
"""

import math
import os
import pickle
import subprocess
import sys

from flint import fmpz_mat


def reduced_form(matrix: fmpz_mat) -> tuple[fmpz_mat, int, int]:
    """Return the reduced echelon form, scaled to integers, the scale, and the rank."""
    found, below, rank = matrix.rref()
    return found, int(below), rank


def solved_form(both: fmpz_mat) -> tuple[fmpz_mat, int, int]:
    """Return the solution of a square system beside its right sides, as integers over a positive
    one, by Dixon's p-adic expansions; the rank is 0 if the system is singular.
    """
    n, table = both.nrows(), both.tolist()
    try:
        found = fmpz_mat([line[:n] for line in table]).solve(fmpz_mat([line[n:] for line in table]))
    except ZeroDivisionError:
        return fmpz_mat(0, 0), 1, 0
    above, below = found.numer_denom()  # type: ignore[attr-defined]
    return above, int(below), n


def elsewhere(task: str, matrix: fmpz_mat, seconds: float) -> tuple[fmpz_mat, int, int]:
    """Return the result of a function above, computed by another process.

    Raises
    ------
    subprocess.TimeoutExpired
        If the seconds are over. Then, and on Ctrl-C, the other process is killed.
    """
    left = seconds if math.isfinite(seconds) else None
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    ) as process:  # fmt: skip
        try:
            answer, _ = process.communicate(pickle.dumps((task, left, *_plain(matrix))), left)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise RuntimeError(f"exact elimination ended with code {process.returncode}")
    shape, below, rank = pickle.loads(answer)
    return fmpz_mat(*shape), below, rank


def _plain(matrix: fmpz_mat) -> tuple[int, int, list[int]]:
    return matrix.nrows(), matrix.ncols(), [int(m) for m in matrix.entries()]


def _answer() -> None:
    task, seconds, *shape = pickle.load(sys.stdin.buffer)
    if os.name == "posix" and seconds is not None:  # in case the parent is killed
        import resource

        most = math.ceil(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    found, below, rank = globals()[task](fmpz_mat(*shape))
    sys.stdout.buffer.write(pickle.dumps((_plain(found), below, rank)))


if __name__ == "__main__":
    _answer()
