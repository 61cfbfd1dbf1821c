"""Standardize features: center, scale, and leave out or replace dependent ones."""

from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point
from linsep.batches import Batch
from linsep.compiled import logistic
from linsep.compiled.logistic import pair_sums
from linsep.compiled.rows import as_rows
from linsep.errors import FeatureOverflow
from linsep.lanes import in_lanes
from linsep.linear.extended_precision import Pair, pairs, two_product, two_sum
from linsep.logistic.likelihood import Likelihood, Terms
from linsep.logistic.outcomes import Around
from linsep.logistic.rows import Batches, RowLanes, block_rows, lane_rows

#: a column with a smaller relative residual is replaced
NEAR = 0.03
#: a column whose residual is a smaller share of its terms is left out: with its large weight,
#: scores would lose their digits
LOST = 2.0**-40
#: and below this the residual is a rounding error of pairs: the column is exactly dependent
NOTHING = 2.0**-90
#: relative distance at which coefficients are rounded to numbers of few bits, and their bits
BITS, SNAP = 20, 1e-11
MOST_ROUNDS = 100

#: returns an iterator over blocks of raw rows as float64, without rows of weight 0
RawBlocks = Callable[[], Iterator[np.ndarray]]


class Orthogonalized(NamedTuple):
    """Replacements of nearly dependent columns.

    Attributes
    ----------
    columns : tuple of int
        Indices of the features replaced.
    centers : array of shape (features,)
        Subtracted from the features first, without rounding.
    units : int array of shape (features,)
        Exponents of the powers of two that then divide them.
    parts : Pair of shape (columns, features + 1)
        Coefficients of these quotients, and of 1, in each new column.
    """

    columns: tuple[int, ...]
    centers: np.ndarray
    units: np.ndarray
    parts: Pair

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return the new columns of some rows, shape (rows, columns)."""
        return combined(np.ldexp(X - self.centers, -self.units), self.parts)

    def raw(self, W: np.ndarray) -> np.ndarray:
        """Convert weights to the raw features.

        Parameters
        ----------
        W : array of shape (q, features + 1)
            Weights of the features, with new columns for replaced ones, and of a constant 1.
        """
        new = pairs(W.shape)
        for k, j in enumerate(self.columns):
            new = new + _pair_times(self.parts[k][None, :], W[:, [j]])
        new.hi[:, :-1] = np.ldexp(new.hi[:, :-1], -self.units)
        new.lo[:, :-1] = np.ldexp(new.lo[:, :-1], -self.units)
        for j in np.flatnonzero(self.centers).tolist():
            new[:, -1] = new[:, -1] + _pair_times(new[:, j], np.full(len(W), -self.centers[j]))
        rest = W.copy()
        rest[:, list(self.columns)] = 0.0
        return (new + rest).hi

    def straight(self, W: np.ndarray) -> np.ndarray:
        """Convert weights of the raw features; the inverse of :meth:`raw`."""
        found = W.copy()
        for k in reversed(range(len(self.columns))):
            j = self.columns[k]
            weight = np.ldexp(found[:, j], self.units[j])
            part = np.ldexp(self.parts.hi[k, :-1], -self.units)
            found[:, :-1] -= weight[:, None] * part
            found[:, -1] -= weight * (self.parts.hi[k, -1] - part @ self.centers)
            found[:, j] = weight
        return found


def combined(D: np.ndarray, parts: Pair) -> np.ndarray:
    """Return linear combinations of columns and 1 for some rows, rounded once.

    Parameters
    ----------
    D : array of shape (rows, features)
    parts : Pair of shape (combinations, features + 1), the coefficients
    """
    found = np.empty((len(D), len(parts)))
    pair_sums(D, np.ascontiguousarray(parts.hi), np.ascontiguousarray(parts.lo), found)
    return found


def _pair_times(pair: Pair, factor: np.ndarray) -> Pair:
    """Return a pair times floats, broadcast."""
    hi, error = two_product(*np.broadcast_arrays(pair.hi, factor))
    return Pair(*two_sum(hi, error + pair.lo * factor))


def _solved(factor: np.ndarray, right: np.ndarray, trans: str = "N") -> np.ndarray:
    """Solve a lower triangular system, which may be empty: old releases of scipy refuse that."""
    if not right.size:
        return right
    return sla.solve_triangular(factor, right, lower=True, trans=trans)


class Columns:
    """Replaces nearly dependent columns.

    Parameters
    ----------
    blocks : function that returns an iterator over all rows
    n_features : int
    intercept : bool
    lost : float
        Share of its terms below which a residual is left out.
    """

    def __init__(self, blocks: RawBlocks, n_features: int, intercept: bool, lost: float = LOST):
        self.blocks, self.d, self.intercept, self.lost = blocks, n_features, intercept, lost
        self.n_rows, low, high = 0, np.full(n_features, np.inf), np.full(n_features, -np.inf)
        for X in blocks():
            self.n_rows += len(X)
            low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
        # a column whose values are within a factor of two is centered without rounding (Sterbenz)
        far = (np.sign(low) == np.sign(high)) & (
            np.maximum(abs(low), abs(high)) <= 2.0 * np.minimum(abs(low), abs(high))
        )
        self.centers = np.where(far & intercept, low, 0.0)
        top = np.maximum(abs(low - self.centers), abs(high - self.centers))
        self.units = np.where(top > 0, np.frexp(top)[1], 0)
        self.parts = pairs((n_features, n_features + 1))
        self.parts.hi[:, :n_features] = np.eye(n_features)
        self.first = np.zeros(n_features + 1)
        self.replaced: set[int] = set()
        self.left_out: dict[int, bool] = {}

    def gram(self) -> np.ndarray:
        """Return the products of the current columns, a constant 1 last."""
        G, replaced = np.zeros((self.d + 1,) * 2), sorted(self.replaced)
        for X in self.blocks():
            D = self._differences(X)
            V = np.column_stack([D, np.ones(len(D))])
            if replaced:
                V[:, replaced] = combined(D, self.parts[replaced])
            G += V.T @ V
        return G

    def _differences(self, X: np.ndarray) -> np.ndarray:
        return np.ldexp(X - self.centers, -self.units)

    def straighten(self) -> np.ndarray:
        """Replace columns until all those kept are far from the span of earlier ones.

        Returns the products of the resulting columns, a constant 1 last.
        """
        for n_round in range(MOST_ROUNDS):
            G = self.gram()
            lengths = np.sqrt(np.diag(G))
            if not n_round:
                self.first = lengths
            near = self._near(G, lengths, np.abs(self.parts.hi) @ self.first)
            self.replaced = (self.replaced | near.keys()) - self.left_out.keys()
            if not near:
                return G
            for j, (columns, multiples) in near.items():
                self._subtract(j, columns, multiples)
        raise AssertionError("residuals shrink in every round")

    def _near(
        self, G: np.ndarray, lengths: np.ndarray, sizes: np.ndarray
    ) -> dict[int, tuple[list[int], np.ndarray]]:
        """Return the nearly dependent columns, with the columns and coefficients to subtract."""
        scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
        C = G * scale * scale[:, None]
        kept: list[int] = []
        factor = np.zeros(G.shape)  # Cholesky factor of the columns kept, lower triangular
        near = {}
        for j in [self.d] * self.intercept + [j for j in range(self.d) if j not in self.left_out]:
            n = len(kept)
            if j < self.d and (n == self.n_rows or lengths[j] <= NOTHING * sizes[j]):
                self.left_out[j] = True  # as many columns span any set of rows
                continue
            line = _solved(factor[:n, :n], C[kept, j])
            square = float(C[j, j] - line @ line)
            if square <= NEAR**2:
                multiples = _solved(factor[:n, :n], line, trans="T")
                near[j] = kept[:], multiples * scale[kept] / scale[j]
            elif j in self.replaced and lengths[j] <= self.lost * sizes[j]:
                self.left_out[j] = False
            else:
                factor[n, :n], factor[n, n] = line, np.sqrt(square)
                kept.append(j)
        return near

    def _subtract(self, j: int, columns: list[int], multiples: np.ndarray) -> None:
        """Subtract multiples of columns from column j."""
        mantissas, exponents = np.frexp(multiples)
        short = np.rint(np.ldexp(mantissas, BITS))
        close = np.abs(np.ldexp(mantissas, BITS) - short) <= SNAP * 2.0**BITS
        multiples = np.where(close, np.ldexp(short, exponents - BITS), multiples)
        row = self.parts[j]
        for k, multiple in zip(columns, multiples.tolist(), strict=True):
            if k < self.d:
                row = row + _pair_times(self.parts[k], np.full(self.d + 1, -multiple))
            else:
                row[[k]] = row[[k]] + np.array([-multiple])
        self.parts[j] = row

    def straight(self) -> Orthogonalized | None:
        """Return the replacements; None if there are none."""
        columns = tuple(sorted(self.replaced))
        if not columns:
            return None
        return Orthogonalized(columns, self.centers, self.units, self.parts[list(columns)])


#: a relative Cholesky pivot above this proves that no column is dependent, even so nearly that
#: floats lose half their digits
SURE = 1e-7
#: largest spread of values, and inverse of the smallest, because variances are squares
MOST_SPREAD = 1e150
#: with very many features, those with values below 2 to this, and above its inverse, are not scaled
ORDINARY = 10


class Standardization(NamedTuple):
    """Standardization of features to (x - center) * scale, some replaced by residuals.

    Attributes
    ----------
    centers, scales : arrays of shape (features,); scale 0 leaves a feature out
    dependent : indices of the features left out, as combinations of others
    nearly : indices of those among them that are only nearly combinations of others
    straight : Orthogonalized or None, the replacements of nearly dependent features
    """

    centers: np.ndarray
    scales: np.ndarray
    dependent: tuple[int, ...] = ()
    nearly: tuple[int, ...] = ()
    straight: Orthogonalized | None = None

    def raw(self, B: np.ndarray, intercept: bool) -> np.ndarray:
        """Convert weights to the raw features, the intercept last."""
        d = len(self.scales)
        W = np.zeros((len(B), d + 1))
        W[:, :d] = B[:, :d] * self.scales
        if intercept:
            W[:, d] = B[:, d] - W[:, :d] @ self.centers
        if self.straight is not None:
            W = self.straight.raw(W)
        return W[:, : d + intercept]

    def around(self, B: np.ndarray) -> Around:
        """Return a center of the raw features, and the scores there, which lose no digits; None
        without an intercept.
        """
        d, straight = len(self.scales), self.straight
        if B.shape[1] == d:
            return None
        if straight is None:
            return self.centers, B[:, d].copy()
        columns = list(straight.columns)
        center = self.centers.copy()
        center[columns] = straight.centers[columns]
        values = straight.of(center[None, :])[0] - self.centers[columns]
        return center, B[:, d] + B[:, columns] @ (values * self.scales[columns])

    def standard(self, W: np.ndarray, intercept: bool, around: Around = None) -> np.ndarray:
        """Convert weights of the raw features, whose scores are known at a point if ``around`` is
        given; weights of features left out become 0.
        """
        d = len(self.scales)
        if self.straight is not None:
            around = None
            W = np.column_stack([W[:, :d], W[:, d] if intercept else np.zeros(len(W))])
            W = self.straight.straight(W)[:, : d + intercept]
        B = W.copy()
        B[:, :d] = W[:, :d] / np.where(self.scales > 0, self.scales, np.inf)
        if intercept:
            center, at = around or (np.zeros(d), W[:, d])
            B[:, d] = at + W[:, :d] @ (self.centers - center)
        return B

    def matrix(self, intercept: bool) -> np.ndarray:
        """Return the matrix that converts standardized weights to the raw features."""
        return self.raw(np.eye(len(self.scales) + intercept), intercept).T

    @property
    def noise(self) -> np.ndarray:
        """Return the errors of the standardized values beside rounding: sums in pairs of floats are
        accurate to 100 bits of their terms.
        """
        found = np.zeros(len(self.scales))
        if self.straight is not None:
            terms = np.abs(self.straight.parts.hi).sum(axis=1)
            columns = list(self.straight.columns)
            found[columns] = 2.0**-98 * terms * self.scales[columns]
        return found

    def batches(self, batches: Batches) -> Batches:
        """Return the batches with the replaced columns; cached if the rows are in memory."""
        straight = self.straight
        if straight is None:
            return batches
        given = batches()
        if isinstance(given, list):
            done = [_with_new_columns(batch, straight) for batch in given]
            return lambda: done
        return lambda: (_with_new_columns(batch, straight) for batch in batches())


def _with_new_columns(batch: Batch, straight: Orthogonalized) -> Batch:
    """Return the rows as float64, with the new columns in the place of those that they replace."""
    columns, d = list(straight.columns), len(straight.centers)
    new = np.concatenate([straight.of(X) for X, _ in raw_blocks([batch], d)])
    X = batch.X.astype(np.float64)  # new columns have more digits than float32
    if not sp.issparse(X):
        X[:, columns] = new
        return batch._replace(X=X)
    X.resize(batch.size, d)
    X.data[np.isin(X.indices, columns)] = 0.0  # what the new values are added to
    starts = np.arange(batch.size + 1) * len(columns)
    parts = new.ravel(), np.tile(columns, batch.size), starts
    return batch._replace(X=X + sp.csr_matrix(parts, shape=X.shape))


def sampled(batches: Batches, most: int) -> tuple[Batches, bool]:
    """Return about ``most`` evenly spread rows of the first batch, and whether they are all rows.

    Sparse rows are copied, dense rows are views.
    """
    given = iter(batches())
    with closing(given) if hasattr(given, "close") else nullcontext():  # type: ignore[type-var]
        return _sampled(given, most)


def _sampled(given: Iterator[Batch], most: int) -> tuple[Batches, bool]:
    first = next(given)
    step = first.size // most
    if step < 4:
        more = next(given, None)
        return lambda: iter([first]), more is None
    part = first.rows(np.arange(0, first.size, step))
    return lambda: iter([part]), False


def standardization(
    sample: Batches, everything: Batches, whole: bool, d: int, intercept: bool, find: bool,
) -> Standardization:  # fmt: skip
    """Return the standardization, computed from a sample if that suffices.

    Without ``find``, dependent features are not searched for, and no feature is left out.

    Raises
    ------
    FeatureOverflow
        If the squared spread of a feature overflows or underflows.
    """
    centers, scales = _moments(sample, d, intercept)
    if not find:
        return Standardization(centers, np.where(scales > 0, scales, 1.0))
    if _independent(sample, centers, scales, intercept):
        return Standardization(centers, scales)
    if not whole:
        centers, scales = _moments(everything, d, intercept)
        if _independent(everything, centers, scales, intercept):
            return Standardization(centers, scales)
    return straightened(everything, centers, scales, intercept)


def sized(batches: Batches, d: int, find: bool) -> Standardization:
    """Return the standardization of very many features: none is centered, to keep zeros, and those
    with very large or small values are divided by a power of two.

    With ``find``, features that are zero in all rows are left out.

    Raises
    ------
    FeatureOverflow
        As in :func:`standardization`.
    """
    top = np.zeros(d)
    for batch in batches():
        interruption_point()
        if sp.issparse(batch.X):
            X, counted = batch.X, batch.importance > 0
            chosen = slice(None) if counted.all() else np.repeat(counted, np.diff(X.indptr))
            np.maximum.at(top, X.indices[chosen], np.abs(X.data[chosen]).astype(np.float64))
            continue
        for X in _counted(lambda it=batch: [it], d):  # type: ignore[misc]
            np.maximum(top, np.abs(X).max(axis=0), out=top)
    _refuse_sizes(top)
    exponents = np.where(top > 0, np.frexp(top)[1], 0)
    scales = np.ldexp(1.0, np.where(np.abs(exponents) > ORDINARY, -exponents, 0))
    if not find:
        return Standardization(np.zeros(d), scales)
    absent = tuple(np.flatnonzero(top == 0).tolist())
    return Standardization(np.zeros(d), np.where(top > 0, scales, 0.0), absent)


def refuse_overflow(batches: Batches, d: int, intercept: bool) -> None:
    """Raise FeatureOverflow as :func:`standardization` does, for solvers on raw features."""
    _moments(batches, d, intercept)


def _moments(batches: Batches, d: int, intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return means (0 without an intercept) and 1 / root mean square around them (0 if that is 0).

    Sums are of differences from the first row, to keep the digits of a small spread far from zero,
    divided by powers of two, so that squares neither underflow nor overflow.
    """
    first, top = np.zeros(d), np.zeros(d)
    for n_block, Z in enumerate(_counted(batches, d)):
        if not n_block and intercept:
            first = Z[0].copy()
        with np.errstate(over="ignore"):
            top = np.maximum(top, np.abs(Z - first).max(axis=0))
    _refuse_sizes(top)
    exponents = np.where(top > 0, np.frexp(top)[1], 0)
    means, squares, total = np.zeros(d), np.zeros(d), 0.0
    for X, weights in raw_blocks(batches(), d):
        more = float(weights.sum())
        if not more:
            continue
        X[weights == 0] = first  # may be beyond the sizes that were seen
        Z = np.ldexp(X - first, -exponents)
        total += more
        own = weights @ Z / more if intercept else means
        shift = own - means
        squares += (total - more) * more / total * shift**2 + weights @ (Z - own) ** 2
        means = means + shift * more / total
    spread = np.ldexp(np.sqrt(squares / max(total, 1e-300)), exponents)
    scales = np.where(top > 0, 1.0 / np.where(top > 0, spread, 1.0), 0.0)
    return first + np.ldexp(means, exponents), scales


def _refuse_sizes(top: np.ndarray) -> None:
    """Raise FeatureOverflow if squares of the largest values overflow or underflow."""
    small = (top > 0) & (top < 1.0 / MOST_SPREAD)
    bad = (top > MOST_SPREAD) | small
    if bad.any():
        first = int(np.argmax(bad))
        raise FeatureOverflow(first, small=bool(small[first]))


def raw_blocks(batches: Any, d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of raw rows as float64, in a buffer that is reused, and their weights."""
    most = block_rows(d)
    room, one, none = np.empty((most, d)), np.ones(d), np.zeros(d)
    for lane in in_lanes(batches, lane_rows(d)):
        rows = as_rows(lane.X)
        for start in range(0, lane.size, most):
            interruption_point()
            X = room[: min(most, lane.size - start)]
            logistic.standardized(rows, start, X, none, one)
            known = lane.importance[start : start + len(X)]
            yield X, known if known.size else np.ones(len(X))


def _counted(batches: Batches, d: int) -> Iterator[np.ndarray]:
    """Yield blocks of the rows with nonzero weight."""
    for X, weights in raw_blocks(batches(), d):
        counted = X if weights.all() else X[weights > 0]
        if len(counted):
            yield counted


def _independent(
    batches: Batches, centers: np.ndarray, scales: np.ndarray, intercept: bool
) -> bool:
    """Return whether a Cholesky factor of the Gram matrix proves all columns independent."""
    if not (scales > 0).all():
        return False
    # offsets say nothing of the columns
    terms = Terms(1, centers, scales, intercept, offsets=False)
    likelihood = Likelihood(RowLanes(batches), terms)
    gram = likelihood.at(np.zeros(likelihood.shape)).hessian
    assert gram is not None
    roots = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    try:
        factor = sla.cholesky(gram * roots * roots[:, None], check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return bool(np.diag(factor).min(initial=1.0) ** 2 > SURE)


def whole(batches: Batches, d: int, intercept: bool) -> Standardization:
    """Return the standardization that leaves out only exactly dependent columns."""
    return straightened(batches, *_moments(batches, d, intercept), intercept, NOTHING)


def of_all(batches: Batches, d: int, intercept: bool) -> Standardization:
    """Return the standardization of all columns, dependent or not; columns of zeros and ones are
    only centered.
    """
    centers, scales = _moments(batches, d, intercept)
    marks = scales > 0
    for batch in batches():
        if sp.issparse(batch.X):
            marks[batch.X.indices[(batch.X.data != 0.0) & (batch.X.data != 1.0)]] = False
        else:
            marks &= ((batch.X == 0.0) | (batch.X == 1.0)).all(axis=0)
    return Standardization(centers, np.where(marks, 1.0, scales))


def straightened(
    batches: Batches, centers: np.ndarray, scales: np.ndarray, intercept: bool, lost: float = LOST
) -> Standardization:
    """Return the standardization that leaves out features dependent on earlier ones and replaces
    nearly dependent ones.

    Residuals below the share ``lost`` of their terms are left out as well.
    """
    columns = Columns(lambda: _counted(batches, len(centers)), len(centers), intercept, lost)
    G = columns.straighten()
    straight, dependent = columns.straight(), tuple(sorted(columns.left_out))
    centers, scales = centers.copy(), scales.copy()
    for j in straight.columns if straight else ():
        # residuals have means near zero and a moderate spread: see Columns
        centers[j] = G[j, -1] / G[-1, -1] if intercept else 0.0
        scales[j] = 1.0 / np.sqrt(G[j, j] / G[-1, -1] - centers[j] ** 2)
    scales[list(dependent)] = 0.0
    nearly = tuple(j for j in dependent if not columns.left_out[j])
    return Standardization(centers, scales, dependent, nearly, straight)
