"""Least squares by the method that the data need.

Three methods, each used only where it is accurate:

- *exact*: up to some hundred thousand values in up to thirty columns are summed without rounding
  and solved in FLINT's balls, whose radii prove the digits: the exact solution for these floats,
  rounded.
- *floats*: sums of products by BLAS with iterative refinement, if the correlation matrix has a
  condition number of at most 1e6 and residuals exceed rounding errors.
- *doubled*: all other data, by sums of products of 106 bits of exactly centred columns. A QR
  factorisation loses digits with the condition number, normal equations with its square; with twice
  as many digits they are as accurate, and BLAS forms the sums in one pass over the rows in constant
  memory.
"""

import operator
import warnings
from collections.abc import Iterable, Iterator
from functools import reduce
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from linsep._system.threads import one_blas_thread
from linsep.errors import DataError, FeatureOverflow
from linsep.lanes import Block, Blocks, Lanes, joined
from linsep.linear.columns import (
    ScaledColumns,
    added_ranges,
    digits_of,
    exact_zeros,
    independent,
    ranges_of,
    slices_suffice,
    whole_products,
)
from linsep.linear.extended_precision import (
    ROWS,
    Elimination,
    Pair,
    balls,
    eliminate,
    floats,
    pairs,
    products,
    two_sum,
)
from linsep.linear.moments import DOUBLED_BYTES, Moments, Solved, refuse_too_many, solve
from linsep.linear.result import LeastSquares, Targets

#: most values and most columns for the exact method
EXACT_VALUES, EXACT_WIDTH = 1 << 17, 32
#: bits of the balls; quadrupled until they prove 64 bits of every number
PRECISION = 640
#: relative length that rounded sums of 106 bits cannot distinguish from zero
DOUBLED_TOLERANCE = 2.0**-48
#: their rounding error, relative to the squared lengths summed
DOUBLED_ERROR = 2.0**-104
#: smallest relative length of residuals that are accurate enough in floats
LEAST_RESIDUAL = 1e-8


class DependentFeaturesWarning(UserWarning):
    """Features are linear combinations of others, so their weights are undetermined."""


class IllConditionedWarning(UserWarning):
    """Features are so nearly dependent that fewer than eight digits of the weights are reliable."""


def least_squares(
    blocks: Blocks | Lanes, *, fit_intercept: bool = True, reread: bool = True
) -> LeastSquares:
    """Return the least squares solution for the rows of ``blocks``.

    Parameters
    ----------
    blocks : function that returns an iterator over all rows, or Lanes
        At least one row, all values finite.
    fit_intercept : bool
    reread : bool
        Whether rows are cheap to read again, for refinement; else they are reread only if needed.

    Raises
    ------
    DataError
        If the products of the features do not fit in three quarters of the memory, or squares of
        values overflow.
    """
    rows = blocks if isinstance(blocks, Lanes) else Lanes(blocks)
    few = rows.few(_too_many)
    # whatever other threads do: with more BLAS threads, the bits would depend on their number
    with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
        found = _many(rows, fit_intercept, reread) if few is None else _exact(few, fit_intercept)
        sizes = [found.intercept, found.rss]
    lost = ~(np.isfinite(found.means) & np.isfinite(found.spread))
    if lost.any():
        raise FeatureOverflow(int(np.argmax(lost)))
    if not (np.isfinite(found.coef).all() and np.isfinite(sizes).all()):
        raise DataError(
            "The weights, or the squares of the residuals, are beyond floating point: scale the "
            "features and y."
        )
    return found


def _many(rows: Lanes, fit_intercept: bool, reread: bool) -> LeastSquares:
    """Solve in floats, or in sums of 106 bits if floats are not accurate enough."""
    moments = Moments(rows, fit_intercept)
    solved = None
    if moments.y.low < moments.y.high or not fit_intercept:
        solved = solve(moments, fit_intercept, reread)
    if solved is not None and solved.vouches(LEAST_RESIDUAL):
        return _from_floats(solved, moments, fit_intercept)
    return _doubled(rows, moments, fit_intercept)


def _too_many(rows: int, features: int) -> bool:
    """Return whether rows are too many for the exact method."""
    width = features + 2
    return width > EXACT_WIDTH or rows * width > EXACT_VALUES


def _exact(found: list[Block], fit_intercept: bool) -> LeastSquares:
    """Solve in balls, with increasing precision until every digit is proved."""
    from flint import ctx

    y = Targets.of(joined(found))
    ranges = reduce(added_ranges, map(ranges_of, found))
    columns = ScaledColumns(ranges, fit_intercept, _digits(found[-1].X.dtype))
    with ctx.workprec(PRECISION):
        if slices_suffice(ranges, found):
            G = balls((len(columns.exponents),) * 2)
            for part in _parts(found):
                G = G + products(part, columns.exponents, columns.centres, balls)
        else:
            G = whole_products(found, columns.exponents)
        ordered, precision = columns.ordered(G), PRECISION
        rules = columns.rules(G, nothing=lambda kept, j: not independent(ordered, [*kept, j]))
    while True:
        with ctx.workprec(precision):
            done = eliminate(ordered, balls, rules)
            if _proved(done, ordered):
                return columns.fit(done, G, y, "exact")
        precision *= 4


def _proved(done: Elimination, G: np.ndarray) -> bool:
    """Return whether every number of the result is known to 64 bits, or to be zero."""
    if not all(_known(done.left[row]) for row in done.kept):
        return False
    parts = [ball for row in done.kept for ball in done.parts[row, : row + 1]]
    if not all(_known(ball) or (ball.contains(0) and ball.rad() < 1e-60) for ball in parts):
        return False
    unsure = np.array([not _known(ball) for ball in done.parts[-1]])
    unsure[[j for j in range(unsure.size) if j not in done.kept]] = False
    return not unsure.any() or bool(exact_zeros(G, done.kept)[unsure].all())


def _known(ball: Any) -> bool:
    return ball.rel_accuracy_bits() >= 64


def _doubled(rows: Lanes, moments: Moments, fit_intercept: bool) -> LeastSquares:
    """Solve by sums of 106 bits."""
    refuse_too_many(rows.width, DOUBLED_BYTES)
    ranges = rows.sum(ranges_of, added_ranges).wider(1 + rows.width)
    columns = ScaledColumns(ranges, fit_intercept, _digits(moments.dtype), centred=True)
    G = rows.sum(Doubled(columns.exponents, columns.centres), operator.add)
    done = eliminate(columns.ordered(G), pairs, columns.rules(G, noise=DOUBLED_TOLERANCE))
    _check_digits(done)
    return columns.fit(done, G, moments.y, "doubled")


def _check_digits(done: Elimination) -> None:
    """Warn if the residual of a column is close to the rounding errors of its sums."""
    kept = [j for j in done.kept if j < len(done.left) - 1]
    left = floats(done.left)[kept]
    lost = DOUBLED_ERROR * (done.sizes[kept] ** 2 / left).max(initial=0.0)
    if lost > 1e-8:
        warnings.warn(
            f"Features are so nearly combinations of others that only about "
            f"{-np.log10(lost):.0f} digits of their weights are reliable: leave some out, or "
            "subtract what they share.",
            IllConditionedWarning,
            stacklevel=7,
        )


class Doubled(NamedTuple):
    """Sums of products of 106 bits, of columns minus centres over powers of two."""

    exponents: np.ndarray
    centres: np.ndarray

    def __call__(self, lane: Block) -> Pair:
        """Return those of a lane."""
        parts = [products(part, *self, pairs) for part in lane.cut(ROWS)]
        return reduce(operator.add, parts)


def _digits(dtype: np.dtype) -> int:
    """Return the number of reliable bits in the values of features, at most those of floats."""
    return min(53, digits_of(dtype))


def _parts(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield from block.cut(ROWS)


def _from_floats(solved: Solved, moments: Moments, fit_intercept: bool) -> LeastSquares:
    """Return the result for the original columns from that for shifted and scaled ones."""
    scale, unit_y, total = moments.scale[2:], moments.scale[1], moments.weight
    shift, shift_y = moments.shift[2:], moments.shift[1]
    coef = solved.beta[2:] * (unit_y / scale)
    means, rest = two_sum(shift, solved.means[1:] * scale)
    mean_y, rest_y = two_sum(shift_y, solved.means[0] * unit_y)
    inner = solved.inverse_root / scale
    root = np.column_stack([-(inner @ means), inner])
    intercept = 0.0
    if fit_intercept:
        root = np.vstack([np.eye(1, 1 + shift.size) / np.sqrt(total), root])
        intercept = fsum([shift_y, solved.beta[0] * unit_y, *(-coef * shift)])
    return LeastSquares(
        coef=coef,
        intercept=float(intercept),
        kept=np.ones(shift.size, dtype=bool),
        root=root,
        means=means,
        mean_y=float(mean_y),
        means_rest=np.concatenate([[rest_y], rest]),
        spread=solved.spread * scale,
        residual_norm=float(np.sqrt(solved.rss) * unit_y),
        y_norm=float(np.sqrt(solved.tss) * unit_y),
        explained_norm=float(np.sqrt(solved.explained) * unit_y),
        perfect=False,
        n_rows=moments.y.rows,
        total_weight=total,
        log_weights=moments.y.log_weights,
        fit_intercept=fit_intercept,
        method="floats",
        two_values=moments.y.both,
        deviation=moments.y.deviation,
    )
