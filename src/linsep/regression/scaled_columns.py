"""Columns as their products are summed, centred and scaled without rounding, and the way back."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linsep.regression.elimination import Elimination, Rules
from linsep.regression.linear_fit import LeastSquares
from linsep.regression.moments import Moments
from linsep.regression.precise import floats
from linsep.regression.ranges import Ranges


class ScaledColumns:
    """The columns 1, y and the features.

    Parameters
    ----------
    ranges : Ranges, of y and the features
    fit_intercept : bool
    digits : int, of how many bits are sure in the values of features
    centred : bool
        Whether to subtract centres, where that is exact.

    Attributes
    ----------
    exponents : int array of shape (width,), of the powers of two that columns are divided by
    centres : array of shape (width,), what is subtracted from them before
    order : list of int
        The columns as they are eliminated: the intercept if there is one, the features, y.
    """

    def __init__(
        self, ranges: Ranges, fit_intercept: bool, digits: int, *, centred: bool = False
    ) -> None:
        self.fit_intercept = fit_intercept
        width = 1 + ranges.low.size
        self.centres = np.zeros(width)
        if centred and fit_intercept:
            self.centres[1:] = ranges.centres()
        ends = [np.abs(end - self.centres[1:]) for end in (ranges.low, ranges.high)]
        tops = np.concatenate([[0.0], np.maximum(*ends)])
        self.exponents = np.where(tops > 0, np.frexp(tops)[1], 0)
        self.order = [*([0] if fit_intercept else []), *range(2, width), 1]
        self._same = np.concatenate([[False], ranges.same])
        bits = np.array([53, 53, *[digits] * (width - 2)])
        self._units = np.ldexp(1.0, -bits)
        self._rounded = np.concatenate([[False], ranges.rounded(bits[1:])])

    def ordered(self, G: Any) -> Any:
        """Products of the columns in the order in which they are eliminated."""
        return G[self.order][:, self.order]

    def rules(
        self, G: Any, *, noise: float = 0.0, nothing: Callable[..., bool] | None = None
    ) -> Rules:
        """What decides about these columns, of which G has the products."""
        means, _, own = self._about_means(G)
        lengths = np.sqrt(own + means**2 * float(floats(G[0, 0])))
        roundings = self._rounded * self._units * lengths
        next_to_nothing = own * self._units**1.5
        return Rules(roundings[self.order], next_to_nothing[self.order], noise, nothing)

    def fit(self, done: Elimination, G: Any, moments: Moments, way: str) -> LeastSquares:
        """Everything in floats, of the columns as they were given."""
        d, first = len(G) - 2, int(self.fit_intercept)
        units, unit_y = np.ldexp(1.0, self.exponents[2:]), np.ldexp(1.0, self.exponents[1])
        parts, left = self._of_given(done.parts), floats(done.left)
        means, rest, own = self._about_means(G)
        kept = [j for j in done.kept if j < d + first]
        is_kept = np.isin(np.arange(d) + first, kept)
        perfect = done.kept[-1:] != [d + first]
        residual = 0.0 if perfect else np.sqrt(left[-1])
        explained = np.sqrt(own[1] - left[-1] if perfect else done.taken[first:].sum())
        return LeastSquares(
            coef=np.where(is_kept, -parts[-1, 1:] * unit_y, 0.0),
            intercept=float(-parts[-1, 0] * unit_y),
            kept=is_kept,
            root=parts[kept] / np.sqrt(left[kept])[:, None],
            means=means[2:] * units,
            mean_y=float(means[1] * unit_y),
            means_rest=np.ldexp(rest, self.exponents)[1:],
            spread=np.sqrt(own[2:]) * units,
            residual_norm=float(residual * unit_y),
            y_norm=float(np.sqrt(own[1]) * unit_y),
            explained_norm=float(explained * unit_y),
            perfect=perfect,
            n_rows=moments.n_rows,
            total_weight=float(floats(G[0, 0])),
            log_weights=moments.log_weights,
            fit_intercept=self.fit_intercept,
            way=way,
            combinations={
                j: self._combination(parts[j + first], j) for j in np.flatnonzero(~is_kept).tolist()
            },
        )

    def _combination(self, part: np.ndarray, feature: int) -> np.ndarray:
        """What multiples of the intercept and the features add up to one."""
        row = -part * np.ldexp(1.0, self.exponents[2 + feature])
        row[1 + feature] = 0.0
        return row

    def _of_given(self, parts: Any) -> np.ndarray:
        """The multipliers of the intercept and the features, as they were given, in floats."""
        n, first = len(parts), int(self.fit_intercept)
        given = np.zeros((n, n - first))  # the column of y itself is not needed
        given[:, 1:] = floats(parts)[:, first:-1] * np.ldexp(1.0, -self.exponents[2:])
        if first:
            # A column less its centre is a column less a multiple of the intercept.
            centres = np.ldexp(self.centres, -self.exponents)[self.order]
            shifted = (parts * centres).sum(axis=1) if centres.any() else 0.0
            given[:, 0] = floats(parts[:, 0] - shifted)
        return given

    def _about_means(self, G: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The means of all columns, what these floats lack, and squared lengths about the means.

        All are scaled; without an intercept zeros, and squared lengths.
        """
        diagonal = np.arange(len(G))
        if not self.fit_intercept:
            return np.zeros(len(G)), np.zeros(len(G)), floats(G[diagonal, diagonal])
        means = G[0] / G[0, 0]
        own = floats(G[diagonal, diagonal] - G[0] * means)
        means = means + np.ldexp(self.centres, -self.exponents)
        return floats(means), floats(means - floats(means)), np.where(self._same, 0.0, own)
