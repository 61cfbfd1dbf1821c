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

    Raises
    ------
    TooLarge
        If the time is up.
    """
    matrix = sp.csc_matrix(A)
    low, high = (np.broadcast_to(bound, A.shape[1]) for bound in bounds)
    used = np.flatnonzero((np.diff(matrix.indptr) > 0) | (cost != 0) | (low > 0) | (high < 0))
    doing(f"a linear program of {A.shape[0]:,} rows and {used.size:,} columns")
    matrix, low, high = matrix[:, used], low[used], high[used]
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = np.asarray(cost[used], dtype=np.float64)
    program.row_lower_, program.row_upper_ = (np.broadcast_to(b, matrix.shape[0]) for b in rows)
    program.col_lower_, program.col_upper_ = low, high
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
    value = solver.getInfo().objective_function_value
    return Solution(value, x, np.array(found.row_dual))


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


class Split(NamedTuple):
    """A partition of the rows by a weight vector and a combination (Goldman and Tucker, 1956).

    Attributes
    ----------
    free : bool array
        The rows with ``<w, a> > 0``; all others are zero under every w with ``A w >= 0``.
    w : float array
        Weights.
    multipliers : float array
        At least 1 on the other rows, 0 on the free ones; the rows times these add up to zero.
    """

    free: np.ndarray
    w: np.ndarray
    multipliers: np.ndarray


def equilibrated(A: Any) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """Scale rows and columns by powers of two to entries near 1; return A and the scales."""
    scaled = sp.csr_matrix(A, dtype=np.float64, copy=True)
    rows, columns = np.zeros(A.shape[0]), np.zeros(A.shape[1])
    for _ in range(3):
        for axis, powers in ((0, columns), (1, rows)):
            top = np.ravel(abs(scaled).max(axis=axis).todense())
            change = np.where(top > 0, -np.frexp(top)[1], 0.0)
            powers += change  # noqa: PLW2901 - in place
            factors = np.ldexp(1.0, change.astype(int).clip(-1000, 1000))
            scale = sp.diags(factors)
            scaled = sp.csr_matrix(scaled @ scale if axis == 0 else scale @ scaled)
    return scaled, rows, columns


def pushes(A: sp.csr_matrix) -> Iterator[tuple[np.ndarray, Split | None]]:
    """Yield weights with no row negative, and None; at the end weights and the :class:`Split`.

    Each program maximizes the sum over the rows that are not free yet, until the sum is zero and
    the dual variables are the multipliers. Ends early if a program fails.
    """
    scaled, rows, columns = equilibrated(A)
    free = np.zeros(scaled.shape[0], dtype=bool)
    w = np.zeros(scaled.shape[1])
    while (result := _pushed(scaled, ~free)) is not None:
        pushed = scaled @ result.x > 1e-6
        with np.errstate(over="ignore"):
            if not (pushed & ~free).any():
                found = np.where(free, 0.0, 1.0 + result.multipliers)
                weights = np.ldexp(w, columns.astype(int))
                yield weights, Split(free, weights, np.ldexp(found, rows.astype(int)))
                return
            first = not free.any()
            free |= pushed
            w += result.x
            if first:
                yield np.ldexp(w, columns.astype(int)), None


def _pushed(scaled: sp.csr_matrix, counted: np.ndarray) -> Solution | None:
    """Solve Konis' program (2007): maximize the sum of counted ``A w >= 0`` over |w| <= 1."""
    cost = -np.ravel(scaled[counted].sum(axis=0))
    return solved(cost, scaled, (0.0, np.inf), (-1.0, 1.0), COARSE)


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
        w = np.ldexp(result.x, columns.astype(int))
    elif result is not None:
        found = np.append(result.multipliers, 1.0)
        multipliers = np.where(found > 1e-11, np.ldexp(found, rows.astype(int)), 0.0)
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
    found = np.where(result.x > 1e-11, result.x, 0.0)
    with np.errstate(over="ignore"):
        found = np.ldexp(found, rows.astype(int))
    return found if np.isfinite(found).all() else None
