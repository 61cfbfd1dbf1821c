"""Signatures of rows, which show whether two models were fitted to the same rows.

The signature of rows 0, 1, ... is the sum of B^i h(y_i, offset_i, w_i) modulo 2^64, where y is a
number or that of a class, and h mixes bits (as S. Vigna's splitmix64). Signatures of neighboring
rows are joined like polynomials, so the result depends neither on batches nor on the process that
reads them. Rows of weight 0 are ignored. Features are not included, since models of the same rows
may have different features.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from linsep.batches import Batch

#: B, and the constants of splitmix64
_BASE = 0xD1342543DE82EF95
_FACTOR, _HALF = np.uint64(0xBF58476D1CE4E5B9), np.uint64(30)


class Signature(NamedTuple):
    """The signature of neighboring rows, a number of 64 bits; their number, and whether all weights
    are whole numbers.
    """

    rows: int = 0
    value: int = 0
    whole: bool = True

    @classmethod
    def of(
        cls, y: np.ndarray, weights: np.ndarray | None, offset: np.ndarray | None = None
    ) -> "Signature":
        """Return the signature of rows whose y are floats, or codes of classes."""
        kept = slice(None) if weights is None or weights.all() else weights > 0
        mixed, whole = np.full(y[kept].size, _FACTOR), True
        for part, usual in ((y, 0.0), (offset, 0.0), (weights, 1.0)):
            values = np.float64(usual) if part is None else part[kept].astype(np.float64)
            mixed ^= (values + 0.0).view(np.uint64)  # zeros have one sign
            mixed *= _FACTOR
            mixed ^= mixed >> _HALF
        if weights is not None:
            whole = bool((weights % 1 == 0).all())
        return cls(mixed.size, int((mixed * _powers(mixed.size)).sum()), whole)

    def __add__(self, more: "Signature") -> "Signature":  # type: ignore[override]
        value = (self.value + pow(_BASE, self.rows, 1 << 64) * more.value) % (1 << 64)
        return Signature(self.rows + more.rows, value, self.whole and more.whole)

    @property
    def text(self) -> str:
        """The value as hexadecimal digits, for files."""
        return f"{self.value:016x}"


@lru_cache(maxsize=4)
def _powers(count: int) -> np.ndarray:
    """Return B^0, B^1, ... modulo 2^64."""
    powers = np.full(count, _BASE, dtype=np.uint64)
    powers[:1] = 1
    return np.multiply.accumulate(powers)


def of_lane(lane: Batch) -> Signature:
    """Return the signature of a lane of rows and class codes."""
    return Signature.of(lane.y, lane.weights, lane.offset)


def checked(text: object) -> str | None:
    """Return the signature in a file, or None; raise ValueError for an invalid one."""
    if text is not None and not (isinstance(text, str) and re.fullmatch("[0-9a-f]{16}", text)):
        raise ValueError("an invalid signature of rows")
    return text
