"""Systems of equations in whole numbers by FLINT, which cannot be interrupted: long ones in a
process of its own, which can be stopped. It runs this file.
"""

import math
import os
import pickle
import subprocess
import sys
from typing import Any

from flint import fmpz_mat


def solved(square: fmpz_mat, right: fmpz_mat) -> tuple[fmpz_mat, int] | None:
    """Return the X with ``square X = right`` times a positive number, and that number; None if the
    matrix is singular. By Dixon's p-adic expansions.
    """
    try:
        above, below = square.solve(right).numer_denom()  # type: ignore[attr-defined]
    except ZeroDivisionError:
        return None
    return above, int(below)


def solved_elsewhere(
    square: fmpz_mat, right: fmpz_mat, seconds: float
) -> tuple[fmpz_mat, int] | None:
    """Return :func:`solved`, computed by another process, which is killed on Ctrl-C and, with
    subprocess.TimeoutExpired, when the seconds are over.
    """
    left = seconds if math.isfinite(seconds) else None
    question = pickle.dumps((left, _plain(square), _plain(right)))
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    ) as process:  # fmt: skip
        try:
            answer, _ = process.communicate(question, left)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise RuntimeError(f"exact elimination ended with code {process.returncode}")
    found = pickle.loads(answer)
    return None if found is None else (fmpz_mat(*found[0]), found[1])


def _plain(matrix: fmpz_mat) -> tuple[int, int, list[int]]:
    return matrix.nrows(), matrix.ncols(), [int(m) for m in matrix.entries()]


def _answer() -> Any:
    seconds, square, right = pickle.load(sys.stdin.buffer)
    if os.name == "posix" and seconds is not None:  # in case the parent is killed
        import resource

        most = math.ceil(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    found = solved(fmpz_mat(*square), fmpz_mat(*right))
    return None if found is None else (_plain(found[0]), found[1])


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(_answer()))
