"""Long computations of FLINT in a separate process, which can be stopped, unlike FLINT.

``python -m linsep.separability.elimination_process`` reads a matrix from its input and writes the
result. Numbers are hexadecimal, which is fast to read and write.
"""

import math
import os
import subprocess
import sys

from flint import fmpz_mat

from linsep.separability.time_limit import check_time, doing, seconds_left


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


def elsewhere(task: str, matrix: fmpz_mat) -> tuple[fmpz_mat, int, int]:
    """Return the result of a function above, computed by another process.

    Raises
    ------
    TooLarge
        If the time is up. Then, and on Ctrl-C, the other process is killed.
    """
    doing(f"exact elimination of {matrix.nrows():,} rows and {matrix.ncols():,} columns")
    left = max(0.0, seconds_left())
    with subprocess.Popen(
        [sys.executable, "-m", __name__, task, repr(left)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        text=True,
    ) as process:  # fmt: skip
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


def _written(matrix: fmpz_mat) -> str:
    numbers = " ".join(hex(int(m)) for m in matrix.entries())
    return f"{matrix.nrows()} {matrix.ncols()}\n{numbers}\n"


def _read(text: str) -> fmpz_mat:
    head, numbers = text.split("\n", 1)
    rows, columns = map(int, head.split())
    return fmpz_mat(rows, columns, [int(number, 16) for number in numbers.split()])


def main() -> None:
    """Answer for the matrix on standard input, within the seconds given as the last argument."""
    task, seconds = sys.argv[1], float(sys.argv[2])
    if os.name == "posix" and math.isfinite(seconds):  # in case the parent is killed
        import resource  # not on Windows

        most = math.ceil(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    matrix, below, rank = {"reduced_form": reduced_form, "solved_form": solved_form}[task](
        _read(sys.stdin.read())
    )
    sys.stdout.write(f"{hex(below)} {hex(rank)}\n{_written(matrix)}")


if __name__ == "__main__":
    main()
