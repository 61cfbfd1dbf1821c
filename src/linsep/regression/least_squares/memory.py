"""How many features least squares can hold the products of."""

import os
from math import isqrt

from linsep.errors import DataError, hint

#: bytes at the peak for each product of two features, measured: in floats and in 106 bits
FLOATS_BYTES, DOUBLED_BYTES = 170, 380
#: features whose products are too many for any memory
MOST_FEATURES = 1 << 14


def refuse_too_many(features: int, product_bytes: int) -> None:
    """Raise DataError for features whose products need more than three quarters of the memory."""
    most = _most(product_bytes)
    if features > most:
        bits = _most(DOUBLED_BYTES).bit_length() - 1  # so many are never refused
        inexact = " with 106 bits" if product_bytes == DOUBLED_BYTES else ""
        raise DataError(
            f"Least squares of {features:,} features needs all their products{inexact}, which are "
            "too many for memory",
            f"choose at most {most:,} features",
            hint("hash into fewer with {}", hash_bits=bits),
            hint("with {}", text_bits=bits),
        )


def _most(product_bytes: int) -> int:
    return min(MOST_FEATURES, isqrt(_memory() * 3 // (4 * product_bytes)))


def _memory() -> int:
    """Return the bytes of memory of this machine, 8 GB if it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30
