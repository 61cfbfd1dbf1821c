"""Least squares as stable as the data needs, with all that inference asks for.

Three ways, each refusing what it cannot answer for:

- *exact*: some hundred thousand values are summed without rounding and solved in FLINT's balls,
  whose radius proves the digits: estimates are the true ones of these floats, rounded.
- *floats*: sums of products by BLAS, refined by residuals, where the correlations have a condition
  number of at most 1e6.
- *doubled*: what floats cannot answer for, with sums of products of 106 bits. The usual remedy,
  a QR factorisation, loses digits with the condition number, and normal equations with its square;
  but from twice as many digits that is no more, and the sums are formed by BLAS in one pass
  over the rows, in memory that does not depend on their number.
"""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import fsum
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import ctx

from linsep.errors import DataError
from linsep.regression.blocks import Block, Blocks
from linsep.regression.elimination import Elimination, eliminate
from linsep.regression.moments import Moments, Solved, solve
from linsep.regression.precise import ROWS, balls, floats, pairs, products
from linsep.regression.threads import in_order

#: rows that hold at most so many values, in at most so many columns, are solved exactly
EXACT_VALUES, EXACT_WIDTH = 1 << 17, 52
#: bits of the balls; the second where the first do not prove 64 bits of every number
PRECISIONS = (640, 2560)
#: a column is dependent where changes of this relative size can make it so
TOLERANCE, SINGLE_TOLERANCE = 2.0**-50, 2.0**-21
#: what sums of 106 bits, rounded again and again, cannot tell from zero
DOUBLED_TOLERANCE = 2.0**-48
#: their rounding error, relative to the squared lengths that are summed
DOUBLED_ERROR = 2.0**-104


class DependentFeaturesWarning(UserWarning):
    """Features are combinations of others, which leaves their weights undetermined."""


class IllConditionedWarning(UserWarning):
    """Features are so nearly dependent that less than eight digits of the weights are sure."""


@dataclass
class LeastSquares:
    """The weights with the least (weighted) sum of squared residuals, and what is left.

    Attributes
    ----------
    coef : array of shape (features,), zero for those that are left out
    intercept : float
    kept : bool array of shape (features,)
        False where a feature is a combination of earlier ones and the intercept.
    combinations : dict of feature to array of shape (1 + features,)
        What multiples of the intercept and the other features add up to each that is left out.
    root : array of shape (rank, 1 + features)
        root' root is the inverse of the sums of products of the intercept and the features kept:
        times the residual variance, the covariance of the estimates. Its first row is that of the
        intercept at the means, if there is one.
    means : array of shape (features,), zeros without an intercept
    spread : array of shape (features,)
        Square roots of the sums of squares of the features, about their means with an intercept.
    rss, tss : float
        Sums of squares of residuals and of y, about its mean with an intercept, both weighted.
    perfect : bool
        The residuals are no more than rounding of the data; rss is then zero.
    n_rows : int, those of positive weight
    total_weight, log_weights : float, sums of the weights and of their logarithms
    fit_intercept : bool
    way : "exact", "floats" or "doubled"
    """

    coef: np.ndarray
    intercept: float
    kept: np.ndarray
    root: np.ndarray
    means: np.ndarray
    spread: np.ndarray
    rss: float
    tss: float
    perfect: bool
    n_rows: int
    total_weight: float
    log_weights: float
    fit_intercept: bool
    way: str
    combinations: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        """Number of estimates: features that are kept, and the intercept."""
        return len(self.root)

    @property
    def inflation(self) -> np.ndarray:
        """Variance inflation factors, by which correlations with the others multiply variances.

        Array of shape (features,): 1 without any, NaN where a feature is left out (Belsley, Kuh
        and Welsch, Regression Diagnostics, 1980, section 3.1).
        """
        factors = np.square(self.root[:, 1:]).sum(axis=0) * self.spread**2
        return np.where(self.kept, factors, np.nan)


def least_squares(
    blocks: Blocks, *, fit_intercept: bool = True, reread: bool = True
) -> LeastSquares:
    """The least squares solution for the rows of ``blocks``.

    Parameters
    ----------
    blocks : function that walks over all rows anew
        At least one row, all values finite; the last block is as wide as any.
    fit_intercept : bool
    reread : bool
        Rows are cheap to read again, which is then done to refine; else only if need be.

    Raises
    ------
    DataError
        For more than 16,384 features, and values whose squares are beyond floating point.
    """
    few = _few(blocks)
    with np.errstate(over="ignore", invalid="ignore"):
        found = _many(blocks, fit_intercept, reread) if few is None else _exact(few, fit_intercept)
    if not (np.isfinite(found.coef).all() and np.isfinite([found.intercept, found.rss]).all()):
        raise DataError(
            "The weights, or the squares of the residuals, are beyond floating point: scale the "
            "features and y."
        )
    return found


def _many(blocks: Blocks, fit_intercept: bool, reread: bool) -> LeastSquares:
    """Solve in floats, or in sums of 106 bits where these do not do."""
    moments = Moments(fit_intercept)
    moments.read(blocks)
    solved = solve(blocks, moments, fit_intercept, reread)
    if solved is not None:
        return _from_floats(solved, moments, fit_intercept)
    return _doubled(blocks, moments, fit_intercept)


def _few(blocks: Blocks) -> list[Any] | None:
    """All rows, if they are few enough to be solved exactly."""
    found, rows, width = [], 0, 0
    for block in blocks():
        rows, width = rows + block.y.size, block.X.shape[1] + 2
        if width > EXACT_WIDTH or rows * width > EXACT_VALUES:
            return None
        found.append(block)
    return found


def _exact(found: list[Any], fit_intercept: bool) -> LeastSquares:
    """Solve in balls that are made finer until they prove every digit."""
    width = found[-1].X.shape[1] + 2
    exponents = _exponents(found, width)
    for precision in PRECISIONS:
        with ctx.workprec(precision):
            G = balls((width, width))
            for part in _parts(found):
                G = G + products(part, exponents, balls)
            done = eliminate(_ordered(G, fit_intercept), balls, _tolerance(found[0].X.dtype))
            if _proved(done):
                break
    moments = Moments(fit_intercept)
    for block in found:
        moments.count(block)
    with ctx.workprec(precision):
        return _from_elimination(done, G, exponents, moments, fit_intercept, "exact")


def _proved(done: Elimination) -> bool:
    """Whether every number that will be read is known to 64 bits, or known to be nothing."""
    for row in [*done.kept, len(done.left) - 1]:
        numbers = [*done.parts[row, : row + 1], done.left[row]]
        if not all(
            b.rel_accuracy_bits() >= 64 or (b.contains(0) and b.rad() < 1e-60) for b in numbers
        ):
            return False
    return True


def _doubled(blocks: Blocks, moments: Moments, fit_intercept: bool) -> LeastSquares:
    """Solve from sums of 106 bits."""
    width = len(moments.total)
    exponents = _exponents(blocks(), width)
    G = pairs((width, width))
    for part in in_order(lambda part: products(part, exponents, pairs), _parts(blocks())):
        G = G + part
    tolerance = max(_tolerance(moments.dtype), DOUBLED_TOLERANCE)
    done = eliminate(_ordered(G, fit_intercept), pairs, tolerance)
    _check_digits(done)
    return _from_elimination(done, G, exponents, moments, fit_intercept, "doubled")


def _check_digits(done: Elimination) -> None:
    """Warn where what is left of a column is near to what sums of 106 bits lose of it."""
    kept = [j for j in done.kept if j < len(done.left) - 1]
    left = floats(done.left)[kept]
    lost = DOUBLED_ERROR * (done.sizes[kept] ** 2 / left).max(initial=0.0)
    if lost > 1e-8:
        warnings.warn(
            f"Features are so nearly combinations of others that about {-np.log10(lost):.0f} "
            "digits of their weights are sure: leave some out, or subtract what they share.",
            IllConditionedWarning,
            stacklevel=7,
        )


def _parts(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield from block.cut(ROWS)


def _tolerance(dtype: np.dtype) -> float:
    return SINGLE_TOLERANCE if dtype == np.float32 else TOLERANCE


def _exponents(blocks: Any, width: int) -> np.ndarray:
    """For each of the columns 1 (zero), y and the features, the power of two above all values."""
    tops = np.zeros(width, np.longdouble)
    for block in blocks:
        tops[1] = max(tops[1], np.abs(block.y).max())
        high = abs(block.X).max(axis=0)
        high = high.toarray().ravel() if sp.issparse(high) else high
        tops[2 : 2 + high.size] = np.maximum(tops[2 : 2 + high.size], high)
    return np.where(tops > 0, np.frexp(tops)[1], 0)


def _ordered(G: Any, fit_intercept: bool) -> Any:
    """The products with y last, and without the intercept if there is none."""
    order = [*([0] if fit_intercept else []), *range(2, len(G)), 1]
    return G[order][:, order]


def _from_elimination(
    done: Elimination,
    G: Any,
    exponents: np.ndarray,
    moments: Moments,
    fit_intercept: bool,
    way: str,
) -> LeastSquares:
    """Everything in floats, of the columns as they were given."""
    d, first = len(G) - 2, int(fit_intercept)
    units, unit_y = np.ldexp(1.0, exponents[2:]), np.ldexp(1.0, exponents[1])
    parts = np.zeros((d + first + 1, 1 + d))  # the column of y itself is not needed
    parts[:, 1 - first :] = floats(done.parts)[:, :-1]
    parts[:, 1:] /= units
    left = floats(done.left)
    means, spread = _about_means(G, fit_intercept)
    kept = [j for j in done.kept if j < d + first]
    is_kept = np.isin(np.arange(d) + first, kept)
    perfect = bool(left[-1] <= (TOLERANCE * done.sizes[-1]) ** 2)
    combinations = {}
    for feature in np.flatnonzero(~is_kept).tolist():
        combinations[feature] = -parts[feature + first] * units[feature]
        combinations[feature][1 + feature] = 0.0
    return LeastSquares(
        coef=np.where(is_kept, -parts[-1, 1:] * unit_y, 0.0),
        intercept=float(-parts[-1, 0] * unit_y),
        kept=is_kept,
        root=parts[kept] / np.sqrt(left[kept])[:, None],
        means=means[2:] * units,
        spread=spread[2:] * units,
        rss=0.0 if perfect else float(left[-1] * unit_y**2),
        tss=float((spread[1] * unit_y) ** 2),
        perfect=perfect,
        n_rows=moments.n_rows,
        total_weight=float(floats(G[0, 0])),
        log_weights=moments.log_weights,
        fit_intercept=fit_intercept,
        way=way,
        combinations=combinations,
    )


def _about_means(G: Any, fit_intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """The means of all columns, and their lengths about them; zeros and lengths without them."""
    diagonal = np.arange(len(G))
    squares = floats(G[diagonal, diagonal])
    if not fit_intercept:
        return np.zeros(len(G)), np.sqrt(squares)
    about = floats(G[diagonal, diagonal] - G[0] * G[0] / G[0, 0])
    return floats(G[0] / G[0, 0]), np.sqrt(_nothing_below(about, squares))


def _nothing_below(about: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Sums of squares about means, zero where they are only rounding of values that are equal."""
    return np.where(about > TOLERANCE**2 * squares, about, 0.0)


def _from_floats(solved: Solved, moments: Moments, fit_intercept: bool) -> LeastSquares:
    """Everything of the columns as they were given, from the shifted and scaled ones."""
    scale, unit_y, total = moments.scale[2:], moments.scale[1], float(moments.total[0, 0])
    shift, shift_y = moments.shift[2:], moments.shift[1]
    coef = solved.beta[2:] * (unit_y / scale)
    means = shift + solved.means * scale if fit_intercept else np.zeros(shift.size)
    inner = solved.inverse_root / scale
    root = np.column_stack([-(inner @ means), inner])
    intercept = 0.0
    if fit_intercept:
        root = np.vstack([np.eye(1, 1 + shift.size) / np.sqrt(total), root])
        intercept = shift_y + solved.beta[0] * unit_y - fsum(coef * shift)
    lengths = np.sqrt(solved.spread**2 * scale**2 + total * means**2)
    size = np.sqrt(solved.tss * unit_y**2 + total * shift_y**2) + np.abs(coef) @ lengths
    perfect = np.sqrt(solved.rss) * unit_y <= TOLERANCE * size
    tss = _nothing_below(np.array(solved.tss), np.array(total * (shift_y / unit_y) ** 2))
    return LeastSquares(
        coef=coef,
        intercept=float(intercept),
        kept=np.ones(shift.size, dtype=bool),
        root=root,
        means=means,
        spread=solved.spread * scale,
        rss=0.0 if perfect else float(solved.rss * unit_y**2),
        tss=float(tss * unit_y**2),
        perfect=bool(perfect),
        n_rows=moments.n_rows,
        total_weight=total,
        log_weights=moments.log_weights,
        fit_intercept=fit_intercept,
        way="floats",
    )
