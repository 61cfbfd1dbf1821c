"""The linear programs of the search, solved by HiGHS in floats.

Rows and columns are first scaled by powers of two, so that the largest entry of each is near 1.
"""

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import highspy
import numpy as np
import scipy.sparse as sp

from linsep.separability.time_limit import check_time, doing, seconds_left

#: feasibility tolerances: the solver's default, and a finer one
COARSE, FINE = 1e-7, 1e-9
#: seconds between checks for Ctrl-C while a solver runs
LOOK = 0.05


class Solution(NamedTuple):
    """The optimum of a linear program: its value, its variables, and a multiplier per row."""

    value: float
    x: np.ndarray
    multipliers: np.ndarray


class Silent(highspy.Highs):
    """A solver that prints nothing, not even its name."""

    def enableCallbacks(self) -> None:
        """Turn output off first: HiGHS 1.16 prints its name here, while the solver is made."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()


def solved(
    cost: np.ndarray, A: Any, rows: tuple[Any, Any], bounds: tuple[Any, Any], tolerance: float
) -> Solution | None:
    """Minimize ``cost x`` with ``A x`` and ``x`` between bounds; None if the solver gives up.

    Variables without effect are left out: most columns of hashed words are empty.
    """
    matrix = sp.csc_matrix(A)
    low, high = (np.broadcast_to(bound, A.shape[1]) for bound in bounds)
    used = np.flatnonzero((np.diff(matrix.indptr) > 0) | (cost != 0) | (low > 0) | (high < 0))
    doing(f"a linear program of {A.shape[0]:,} rows and {used.size:,} columns")
    matrix = matrix[:, used]
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = np.asarray(cost[used], dtype=np.float64)
    program.row_lower_, program.row_upper_ = (np.broadcast_to(b, matrix.shape[0]) for b in rows)
    program.col_lower_, program.col_upper_ = low[used], high[used]
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = matrix.indptr
    program.a_matrix_.index_ = matrix.indices
    program.a_matrix_.value_ = matrix.data
    solver = Silent()
    settings: dict[str, Any] = {"solver": "simplex", "time_limit": max(0.0, seconds_left())}
    settings |= {f"{kind}_feasibility_tolerance": tolerance for kind in ("primal", "dual")}
    for name, value in settings.items():
        solver.setOptionValue(name, value)
    solver.passModel(program)
    run(solver)
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        check_time()
        return None
    found, x = solver.getSolution(), np.zeros(A.shape[1])
    x[used] = found.col_value
    return Solution(solver.getInfo().objective_function_value, x, np.array(found.row_dual))


def run(solver: highspy.Highs) -> None:
    """Solve in another thread, so that Ctrl-C reaches the main one.

    highspy's own ``startSolve`` allows only one solver at a time in a process.
    """
    stop = threading.Event()

    def stop_if_asked(event: Any) -> None:
        if stop.is_set():
            event.interrupt()

    solver.cbSimplexInterrupt += stop_if_asked
    thread = threading.Thread(target=solver.run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(LOOK)
    finally:
        stop.set()
        thread.join()
        solver.cbSimplexInterrupt -= stop_if_asked


def equilibrated(A: Any) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """Scale rows and columns to entries near 1; return A and the powers of two of both."""
    scaled = sp.csr_matrix(A, dtype=np.float64, copy=True)
    powers = [np.zeros(n, dtype=int) for n in scaled.shape]
    places = [np.repeat(np.arange(scaled.shape[0]), np.diff(scaled.indptr)), scaled.indices]
    for axis in (1, 0) * 3:
        top = np.zeros(scaled.shape[axis])
        np.maximum.at(top, places[axis], np.abs(scaled.data))
        change = np.where(top > 0, -np.frexp(top)[1], 0)
        powers[axis] += change
        scaled.data = np.ldexp(scaled.data, change[places[axis]])
    return scaled, *powers


def pushes(A: sp.csr_matrix) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
    """Yield weights with no row negative, the rows on which they are positive, and whether all
    other rows are zero under all such weights (Goldman and Tucker, 1956), which ends it.

    Each program is Konis' (2007): maximize the sum of the rows that are not positive yet over
    ``A w >= 0`` and |w| <= 1, until it is zero. Ends early if a program fails.
    """
    scaled, _, columns = equilibrated(A)
    free, w = np.zeros(scaled.shape[0], dtype=bool), np.zeros(scaled.shape[1])
    last = False
    while not last:
        cost = -np.ravel(scaled[~free].sum(axis=0))
        result = solved(cost, scaled, (0.0, np.inf), (-1.0, 1.0), COARSE)
        if result is None:
            return
        pushed = scaled @ result.x > 1e-6
        first, last = not free.any(), not (pushed & ~free).any()
        if not last:
            free, w = free | pushed, w + result.x
        if first or last:
            with np.errstate(over="ignore"):
                yield np.nan_to_num(np.ldexp(w, columns)), free, last


def alternatives(A: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return weights positive on the last row of ``A`` and negative on none, and multipliers.

    The nonnegative multipliers, of few rows and the last, give a sum of zero. One of the two
    results is all zeros.
    """
    scaled, rows, columns = equilibrated(A)
    w, multipliers = np.zeros(A.shape[1]), np.zeros(A.shape[0])
    cost = -np.ravel(scaled[-1].toarray())
    result = solved(cost, scaled[:-1], (0.0, np.inf), (-1.0, 1.0), FINE)
    if result is not None and result.value < -1e-7:
        w = np.ldexp(result.x, columns)
    elif result is not None:
        found = np.append(result.multipliers, 1.0)
        multipliers = np.where(found > 1e-11, np.ldexp(found, rows), 0.0)
    return w, multipliers


def few_rows(A: Any, floor: np.ndarray, prices: np.ndarray | None = None) -> np.ndarray | None:
    """Return multipliers >= ``floor`` of few rows that add up to zero: a corner of the cone.

    If ``floor`` is all zeros, they sum to 1 over the scaled rows, and at most one more row than
    columns is used. The ``prices`` of the multipliers, by default 1 for those without a floor,
    choose the corner. None if the solver finds no such multipliers.
    """
    if not A.shape[1]:
        return np.ones(A.shape[0])
    scaled, rows, _ = equilibrated(A)
    n, d = scaled.shape
    equal, right = scaled.T, np.zeros(d)
    if not floor.any():
        equal, right = sp.vstack([equal, np.ones((1, n))]), np.append(right, 1.0)
    prices = np.where(floor > 0, 0.0, 1.0) if prices is None else prices
    result = solved(prices, equal, (right, right), (floor, np.inf), FINE)
    if result is None:
        return None
    with np.errstate(over="ignore"):
        found = np.ldexp(np.where(result.x > 1e-11, result.x, 0.0), rows)
    return found if np.isfinite(found).all() else None
