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


def solved_elsewhere(
    square: fmpz_mat, right: fmpz_mat, seconds: float
) -> tuple[fmpz_mat, int] | None:
    """Return the X with ``square X = right`` times a positive number, and that number; None if the
    matrix is singular. The process is killed on Ctrl-C and, with subprocess.TimeoutExpired, when
    the seconds are over.
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
    try:
        found: Any = fmpz_mat(*square).solve(fmpz_mat(*right))
    except ZeroDivisionError:
        return None
    above, below = found.numer_denom()
    return _plain(above), int(below)


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(_answer()))
