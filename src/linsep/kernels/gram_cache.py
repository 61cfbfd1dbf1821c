"""Rows of a Gram matrix, computed when first needed: a learner needs only the kernel values of the
examples that cause updates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.kernels.base import Kernel, rows_of
from linsep.kernels.foreign import GramRows


class GramCache:
    """Kernel values of prepared examples with all, ``values``, of which some rows are ``known``.

    A given Gram matrix (:class:`linsep.kernels.Precomputed`) is used directly.
    """

    def __init__(self, kernel: Kernel, examples: Any):
        self.kernel, self.examples, n = kernel, examples, rows_of(examples)
        whole = examples.whole if isinstance(examples, GramRows) else None
        self.values, self._given = np.empty((n, n)) if whole is None else whole, whole is not None
        self.known = np.full(n, self._given)

    def keep(self, examples: np.ndarray) -> None:
        """Compute the rows of these examples that are not there yet."""
        missing = examples[~self.known[examples]]
        if missing.size:
            self.values[missing] = self.kernel.gram(self.examples[missing], self.examples)
            self.known[missing] = True

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return kernel values of shape (a.size, b.size)."""
        self.keep(b)
        return np.ascontiguousarray(self.values[np.ix_(b, a)].T)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the computed rows as arrays to be stored; none of a given matrix."""
        computed = np.flatnonzero(self.known)
        if self._given:
            return {}
        return {"gram.rows": self.values[computed], "gram.examples": computed}
