"""Kernel values between numbered examples, remembered where there is room."""

import os
from typing import Any

import numpy as np

from linsep.errors import DataError, way
from linsep.interrupts import checkpoint, window


class Grams:
    """Kernel values between examples that are called by their numbers.

    Parameters
    ----------
    kernel : a :class:`linsep.kernels.Kernel` that knows its numbers
    examples : rows prepared by it
    n_examples : how many
    cache_bytes : if the Gram matrix of all fits in, values are kept; else none is
    """

    def __init__(self, kernel: Any, examples: Any, n_examples: int, cache_bytes: float = 0):
        self.kernel, self.examples, self.n_examples = kernel, examples, n_examples
        self.rows_at_once = kernel.rows_at_once
        size = 8 * n_examples**2
        self._known: np.ndarray | None = None
        if size <= cache_bytes:
            _check_memory(size, n_examples)
            self._known = np.full((n_examples, n_examples), np.nan)

    @property
    def cached(self) -> bool:
        """Whether values are kept."""
        return self._known is not None

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Kernel values of shape (a.size, b.size)."""
        checkpoint()
        if self._known is None:
            return self._computed(a, b)
        found = self._known[np.ix_(a, b)]
        missing = np.isnan(found)
        if missing.any():
            rows, columns = a[missing.any(axis=1)], b[missing.any(axis=0)]
            values = self._computed(rows, columns)
            self._known[np.ix_(rows, columns)] = values
            self._known[np.ix_(columns, rows)] = values.T
            found = self._known[np.ix_(a, b)]
        return found

    def _computed(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        with window():  # a kernel may be anybody's function
            return self.kernel.gram(self.examples[a], self.examples[b])


def memory_bytes() -> int | None:
    """What memory this machine has; None where it does not say."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _check_memory(size: int, n_examples: int) -> None:
    """Raise DataError where the machine has less memory than the cache would take."""
    there = memory_bytes()
    if there is not None and size > there:
        raise DataError(
            f"The Gram matrix of {n_examples:,} rows takes {size / 1e6:,.0f} MB, but this machine "
            f"has {there / 1e6:,.0f}",
            way("lower {}", cache_mb=None),
        )
