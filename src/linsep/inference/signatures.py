"""Signatures of rows, which show whether two models were fitted to the same rows.

The signature of rows 0, 1, ... is the sum of B^i h(y_i, offset_i, w_i) modulo 2^64, where y is a
number or that of a class, and h mixes bits (as S. Vigna's splitmix64). Signatures of neighboring
rows are joined like polynomials, so the result depends neither on batches nor on the process that
reads them. Rows of weight 0 are ignored. Features are not included, since models of the same rows
may have different features.
"""

import re
from typing import Any, NamedTuple

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
    def of(cls, lane: Batch) -> "Signature":
        """Return the signature of rows whose y are floats, or codes of classes."""
        weights = lane.weights
        kept = slice(None) if weights is None or weights.all() else weights > 0
        mixed = np.full(lane.y[kept].size, _FACTOR)
        for part, usual in ((lane.y, 0.0), (lane.offset, 0.0), (weights, 1.0)):
            values = np.float64(usual) if part is None else part[kept].astype(np.float64)
            mixed = (mixed ^ (values + 0.0).view(np.uint64)) * _FACTOR  # zeros have one sign
            mixed ^= mixed >> _HALF
        powers = np.full(mixed.size, _BASE, dtype=np.uint64)
        powers[:1] = 1
        value = int((mixed * np.multiply.accumulate(powers)).sum())
        return cls(mixed.size, value, weights is None or bool((weights % 1 == 0).all()))

    def __add__(self, more: "Signature") -> "Signature":  # type: ignore[override]
        value = (self.value + pow(_BASE, self.rows, 1 << 64) * more.value) % (1 << 64)
        return Signature(self.rows + more.rows, value, self.whole and more.whole)

    @property
    def text(self) -> str:
        """The value as hexadecimal digits, for files."""
        return f"{self.value:016x}"


def checked(text: Any) -> str | None:
    """Return the signature in a file, or None; raise an error for an invalid one."""
    if text is not None and not re.fullmatch("[0-9a-f]{16}", text):
        raise ValueError("an invalid signature of rows")
    return text
