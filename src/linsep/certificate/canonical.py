"""The one form of rows and labels of which a proof holds the SHA-256.

It is a sequence of 64-bit words, little-endian. Each row, in order, is

- ``class << 32 | runs``: the number of its label, by first appearance, and the number of runs;
- ``column << 32 | length`` for every run: a longest stretch of neighbouring columns whose values
  are not zero;
- these values, in order: the bits of the double that equals the value. A number that equals no
  double is the word ``sign << 63 | 0x7ff8 << 48 | p << 24 | q``, then p words that are its
  numerator and q that are its denominator, lowest first; q is 0 where it is whole.

After the last row come a word of ones and, as ASCII JSON, ``{"rows": n, "features": d, "labels":
[...]}`` with the labels by first appearance. Before all stands the line ``linsep rows 1``.

So equal values give the same hash however they are stored, in arrays of any type, in sparse
matrices or in files, and neither the number of rows nor that of columns need be known beforehand.
Labels are text, numbers, true or false; a float that is whole is a whole number.
"""

import json
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError

HEADER = b"linsep rows 1\n"
#: columns and lengths have 32 bits
MOST_COLUMNS = 2**32 - 1
#: from so many bytes on another thread hashes them
BESIDE = 1 << 17
#: begins a number that equals no double: the bits of NaN, which no row holds
LONG = 0x7FF8 << 48
NEGATIVE = 1 << 63
LIMB = 2**64 - 1
EXACT = 2**53


class Canonical:
    """Rows and labels on their way into a hash, a batch after another.

    Attributes
    ----------
    labels : list
        Plain values, by first appearance.
    n_rows, n_features : int
    """

    def __init__(self) -> None:
        self.labels: list[Any] = []
        self.n_rows = self.n_features = 0
        self._numbers: dict[tuple[type, Any], int] = {}
        self._hash = sha256(HEADER)
        self._beside = ThreadPoolExecutor(1, "linsep-hash")
        self._hashing: Future[None] | None = None

    def number(self, label: Any) -> int:
        """The number of a label, a new one for a new label."""
        label = plain_label(label)
        number = self._numbers.setdefault((type(label), label), len(self.labels))
        if number == len(self.labels):
            self.labels.append(label)
        return number

    def add(self, X: Any, numbers: np.ndarray) -> None:
        """Take in rows, dense or CSR without repeated entries, and the numbers of their labels."""
        self.n_rows += X.shape[0]
        self.n_features = max(self.n_features, X.shape[1])
        if self.n_features > MOST_COLUMNS:
            raise DataError(f"{self.n_features:,} features are more than proofs can be about.")
        found = words(X, numbers).astype("<u8", copy=False)
        self._wait()
        if found.nbytes < BESIDE:
            self._hash.update(found.data)
        else:  # while the rows are looked at
            self._hashing = self._beside.submit(self._hash.update, found.data)

    def sha256(self) -> str:
        """64 hexadecimal digits of all rows so far."""
        self._wait()
        about = {"rows": self.n_rows, "features": self.n_features, "labels": self.labels}
        digest = self._hash.copy()
        digest.update(b"\xff" * 8 + json.dumps(about).encode())
        return digest.hexdigest()

    def _wait(self) -> None:
        if self._hashing is not None:
            self._hashing.result()
            self._hashing = None


def plain_label(label: Any) -> Any:
    """A label as a plain value; DataError where it is no text, number or boolean."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    if isinstance(plain, str | int | float):  # True and False are ints, too
        return plain
    raise DataError(
        f"The label {label!r} is a {type(label).__name__}: labels are text, numbers or booleans, "
        "so convert them first."
    )


def words(X: Any, numbers: np.ndarray) -> np.ndarray:
    """The words of some rows: uint64."""
    d = X.shape[1]
    numbers = numbers.astype(np.uint64)
    if sp.issparse(X):
        columns, values, ends = X.indices, X.data, X.indptr.astype(np.int64)
        present = values != 0
        if not present.all():
            columns, values = columns[present], values[present]
            ends = np.append(0, np.cumsum(present))[ends]
    else:
        present = X != 0
        if d and X.dtype.kind == "f" and present.all():
            return _full(X, numbers)
        columns, values = np.nonzero(present)[1], X[present]
        ends = np.append(0, np.cumsum(np.count_nonzero(present, axis=1)))
    begins = np.ones(len(columns), dtype=bool)
    np.not_equal(columns[1:], columns[:-1] + 1, out=begins[1:])
    begins[ends[:-1][ends[:-1] < ends[1:]]] = True
    return _joined(numbers, columns, begins, ends, *_words_of(values))


def _full(X: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The words of rows without a zero: one run each."""
    found = np.empty((X.shape[0], X.shape[1] + 2), dtype=np.uint64)
    found[:, 0] = numbers << np.uint64(32) | np.uint64(1)
    found[:, 1] = X.shape[1]
    found[:, 2:].view(np.float64)[:] = X
    return found.ravel()


def _joined(
    numbers: np.ndarray,
    columns: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    values: np.ndarray,
    sizes: np.ndarray | None,
) -> np.ndarray:
    """Heads, runs and values in their places; row r has the entries up to ends[r + 1]."""
    first = np.flatnonzero(begins)
    lengths = np.diff(np.append(first, len(columns)))
    runs = columns[first].astype(np.uint64) << np.uint64(32) | lengths.astype(np.uint64)
    runs_before = np.append(0, np.cumsum(begins))[ends]
    words_before = ends if sizes is None else np.append(0, np.cumsum(sizes))[ends]
    per_row = np.diff(runs_before)
    heads = np.arange(len(numbers)) + runs_before[:-1] + words_before[:-1]
    places = np.arange(len(runs)) + np.repeat(
        np.arange(1, len(numbers) + 1) + words_before[:-1], per_row
    )
    found = np.empty(len(numbers) + len(runs) + len(values), dtype=np.uint64)
    rest = np.ones(len(found), dtype=bool)
    rest[heads] = rest[places] = False
    found[heads] = numbers << np.uint64(32) | per_row.astype(np.uint64)
    found[places] = runs
    found[rest] = values
    return found


def _words_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The words of values that are not zero, and how many each has; None: one each."""
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False).view(np.uint64), None
    if values.dtype.kind in "iu" and _are_short(values):
        return values.astype(np.float64).view(np.uint64), None
    lists = [words_of_number(value) for value in values.tolist()]
    flat = np.array([word for one in lists for word in one], dtype=np.uint64)
    return flat, np.array([len(one) for one in lists], dtype=np.int64)


def _are_short(values: np.ndarray) -> bool:
    """Whether all integers equal doubles for being small."""
    return not values.size or max(int(values.max()), -int(values.min())) <= EXACT


def words_of_number(value: Any) -> Sequence[int]:
    """The words of one number that is not zero."""
    exact = Fraction(value)
    try:
        near = float(exact)
    except OverflowError:
        near = 0.0
    if near == exact:
        return [int(np.float64(near).view(np.uint64))]
    above = _limbs(abs(exact.numerator))
    below = _limbs(exact.denominator) if exact.denominator > 1 else []
    return [(exact < 0) * NEGATIVE | LONG | len(above) << 24 | len(below), *above, *below]


def _limbs(number: int) -> list[int]:
    count = -(-number.bit_length() // 64)
    return [number >> 64 * k & LIMB for k in range(count)]
