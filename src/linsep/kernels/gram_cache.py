"""Rows of a Gram matrix, computed when first needed: a learner needs only the kernel values of the
examples that cause updates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.kernels.base import Kernel, rows_of
from linsep.kernels.foreign import GramRows


class GramCache:
    """Rows of the Gram matrix of examples: kernel values of one example with all.

    Parameters
    ----------
    kernel : a fitted kernel
    examples : rows prepared by it
    most_rows : int
        Number of rows kept; the least recently used rows are replaced. A given Gram matrix
        (:class:`linsep.kernels.Precomputed`) is used directly.

    Attributes
    ----------
    values : float64 of shape (rows, examples)
        In memory as far as it is used.
    places : int64 of shape (examples,)
        The row of ``values`` with K(x_i, x_j) for all j; -1 if it is not kept.
    """

    def __init__(self, kernel: Kernel, examples: Any, most_rows: int):
        self.kernel, self.examples, n = kernel, examples, rows_of(examples)
        given = examples.whole if isinstance(examples, GramRows) else None
        self.values = np.empty((min(most_rows, n), n)) if given is None else given
        self.places = np.full(n, -1) if given is None else np.arange(n)
        #: the example of each row of values, and its turn, which is higher the later it was used
        self._owners, self._turns = np.full(len(self.values), -1), np.arange(len(self.values))

    def keep(self, examples: np.ndarray) -> None:
        """Compute the rows of these examples, at most ``most_rows``, that are not kept yet."""
        places = self.places[examples]
        self._use(places[places >= 0])
        missing = examples[places < 0]
        if missing.size:
            self._put(missing, self.kernel.gram(self.examples[missing], self.examples))

    def _use(self, places: np.ndarray) -> None:
        if places.size:
            self._turns[places] = self._turns.max() + 1 + np.arange(places.size)

    def _put(self, examples: np.ndarray, values: np.ndarray) -> None:
        places = np.argpartition(self._turns, examples.size - 1)[: examples.size]
        owners = self._owners[places]
        self.places[owners[owners >= 0]] = -1
        self.values[places], self._owners[places], self.places[examples] = values, examples, places
        self._use(places)

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return kernel values of shape (a.size, b.size); the rows of ``b`` must be kept."""
        self.keep(b)
        return np.ascontiguousarray(self.values[np.ix_(self.places[b], a)].T)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the rows as arrays to be stored, the most recently used at the end."""
        order = np.argsort(self._turns)
        used = order[self._owners[order] >= 0]
        return {"gram.rows": self.values[used], "gram.examples": self._owners[used]}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it does not fit."""
        values, examples = arrays["gram.rows"], arrays["gram.examples"]
        n = self.places.size
        if values.shape != (examples.size, n) or examples.size > len(self.values):
            raise ValueError(f"kernel values of shape {values.shape}")
        if examples.size and not 0 <= examples.min() <= examples.max() < n:
            raise ValueError("kernel values of examples that do not exist")
        if examples.size:
            self._put(examples, values)
            self._use(self.places[examples])
