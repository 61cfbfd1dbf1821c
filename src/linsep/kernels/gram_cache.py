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
        self._given = examples.whole if isinstance(examples, GramRows) else None
        self.values = np.empty((n, n)) if self._given is None else self._given
        self.known = np.full(n, self._given is not None)

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
        """Return the computed rows as arrays to be stored."""
        computed = np.flatnonzero(self.known & (self._given is None))
        return {"gram.rows": self.values[computed], "gram.examples": computed}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it does not fit."""
        values, examples, n = arrays["gram.rows"], arrays["gram.examples"], self.known.size
        if values.shape != (examples.size, n):
            raise ValueError(f"kernel values of shape {values.shape}")
        if not examples.size:
            return
        if not 0 <= examples.min() <= examples.max() < n:
            raise ValueError("kernel values of examples that do not exist")
        self.values[examples], self.known[examples] = values, True
