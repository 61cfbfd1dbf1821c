"""Signatures of rows, which show whether two models were fitted to the same rows.

The signature of rows 0, 1, ... is the sum of B^i h(y_i, w_i) modulo 2^64, where h mixes y, or the
number of its class, the offset and the weight (S. Vigna's splitmix64). Signatures of neighboring
rows are joined like polynomials, so the result depends neither on batches nor on the process that
reads them. Rows of weight 0 are ignored. Features are not included, since models of the same rows
may have different features.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from linsep.batches import Batch

#: B, and the constants of splitmix64
_BASE = 0xD1342543DE82EF95
_GAMMA, _FACTOR, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(30)
_MODULUS = 1 << 64
#: digits of a signature as text
_DIGITS = 16


class Signature(NamedTuple):
    """The signature of neighboring rows.

    Attributes
    ----------
    rows : int, number of rows of positive weight
    value : int, from 0 to 2^64 - 1
    whole : bool, whether all weights are whole numbers
    """

    rows: int = 0
    value: int = 0
    whole: bool = True

    @classmethod
    def of(
        cls, y: np.ndarray, weights: np.ndarray | None, offset: np.ndarray | None = None
    ) -> "Signature":
        """Return the signature of rows whose y are floats, or codes of classes."""
        if weights is not None and weights.size and not weights.all():
            offset = None if offset is None else offset[weights > 0]
            y, weights = y[weights > 0], weights[weights > 0]
        mixed, whole = _mixed(_bits(y)), True
        if offset is not None:
            apart = _bits(offset) * _FACTOR  # zero for an offset of 0
            mixed ^= apart ^ (apart >> _HALF)
        if weights is not None and weights.size and (weights != 1.0).any():
            whole = bool((weights == np.rint(weights)).all())
            apart = (_bits(weights) - _ONE) * _FACTOR  # zero for a weight of 1
            apart ^= apart >> _HALF
            mixed *= apart + apart + np.uint64(1)
        mixed *= _powers(y.size)
        return cls(y.size, int(mixed.sum()), whole)

    def __add__(self, more: "Signature") -> "Signature":  # type: ignore[override]
        shifted = pow(_BASE, self.rows, _MODULUS) * more.value
        value = (self.value + shifted) % _MODULUS
        return Signature(self.rows + more.rows, value, self.whole and more.whole)

    @property
    def text(self) -> str:
        """The value as hexadecimal digits, for files."""
        return f"{self.value:0{_DIGITS}x}"


def _bits(values: np.ndarray) -> np.ndarray:
    """Return the bit patterns of numbers as floats; zeros have one sign."""
    found: np.ndarray = (values + 0.0).astype(np.float64, copy=False).view(np.uint64)
    return found


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Mix bits in place (the first half of splitmix64)."""
    bits += _GAMMA
    bits ^= bits >> _HALF
    bits *= _FACTOR
    bits ^= bits >> _HALF
    return bits


_ONE = _bits(np.ones(1))


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
    if text is None:
        return None
    if (
        not isinstance(text, str)
        or len(text) != _DIGITS
        or not set(text) <= set("0123456789abcdef")
    ):
        raise ValueError("an invalid signature of rows")
    return text
