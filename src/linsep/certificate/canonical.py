"""The canonical form of rows and labels, whose SHA-256 a proof holds.

All numbers are little-endian. Three sequences go into a SHA-256 each, row by row:

- heads: the number of the row's label, in order of first appearance, and the number of its *runs*,
  the longest stretches of neighbouring columns with nonzero values; 32 bits each;
- runs: the first column and the length of each; 32 bits each;
- nonzero values: the 64 bits of the double that equals each. A number that equals no double is the
  word ``sign << 63 | 0x7ff8 << 48 | p << 24 | q``, then the p words of its numerator and the q
  words of its denominator, lowest first; q is 0 for integers.

The hash is the SHA-256 of ``linsep rows 1\\n``, of these three sums (32 bytes each) and, as ASCII
JSON, of ``{"rows": n, "features": d, "labels": [...]}``, labels in order of first appearance.

So equal values give the same hash however they are stored, in arrays of any type, in sparse
matrices or in files, and rows can be hashed before their number or width is known. Labels are text,
numbers or booleans; a float without fraction counts as an integer.
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
#: bytes from which on another thread does the hashing
BESIDE = 1 << 17
#: marks a number that equals no double: the bits of NaN, which no row holds
LONG = 0x7FF8 << 48
NEGATIVE = 1 << 63
LIMB = 2**64 - 1
EXACT = 2**53


class Canonical:
    """Incremental hash of rows and labels, fed batch by batch.

    Attributes
    ----------
    labels : list
        Plain values, in order of first appearance.
    n_rows, n_features : int
    """

    def __init__(self) -> None:
        self.labels: list[Any] = []
        self.n_rows = self.n_features = 0
        self._numbers: dict[tuple[type, Any], int] = {}
        self._sums = sha256(), sha256(), sha256()
        self._beside = ThreadPoolExecutor(1, "linsep-hash")
        self._hashing: Future[None] | None = None

    def number(self, label: Any) -> int:
        """Return the number of a label, numbering new labels as they come."""
        label = plain_label(label)
        number = self._numbers.setdefault((type(label), label), len(self.labels))
        if number == len(self.labels):
            self.labels.append(label)
        return number

    def add(self, X: Any, numbers: np.ndarray) -> None:
        """Add rows (dense, or CSR without repeated entries) and the numbers of their labels."""
        self.n_rows += X.shape[0]
        self.n_features = max(self.n_features, X.shape[1])
        if self.n_features > MOST_COLUMNS:
            raise DataError(f"{self.n_features:,} features are too many for a proof.")
        parts = sequences(X, numbers)
        self._wait()
        if parts[2].nbytes < BESIDE:
            self._update(parts)
        else:  # while the caller works on the rows
            self._hashing = self._beside.submit(self._update, parts)

    def sha256(self) -> str:
        """Return the hash of all rows so far, 64 hexadecimal digits."""
        self._wait()
        about = {"rows": self.n_rows, "features": self.n_features, "labels": self.labels}
        sums = b"".join(one.digest() for one in self._sums)
        return sha256(HEADER + sums + json.dumps(about).encode()).hexdigest()

    def _update(self, parts: Sequence[np.ndarray]) -> None:
        for one, part in zip(self._sums, parts, strict=True):
            one.update(np.ascontiguousarray(part, part.dtype.newbyteorder("<")).data)

    def _wait(self) -> None:
        if self._hashing is not None:
            self._hashing.result()
            self._hashing = None


def plain_label(label: Any) -> Any:
    """Return a label as a plain value; DataError if it is not text, a number or a boolean."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    if isinstance(plain, str | int | float):  # True and False are ints, too
        return plain
    raise DataError(
        f"The label {label!r} is a {type(label).__name__}: labels are text, numbers or booleans, "
        "so convert them first."
    )


def sequences(X: Any, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return heads and runs of some rows, uint32 of shape (n, 2), and the words of their values."""
    counts, first, lengths, values = _of_sparse(X) if sp.issparse(X) else _of_dense(X)
    heads = np.column_stack([numbers.astype(np.uint32), counts.astype(np.uint32)])
    runs = np.empty((len(first), 2), dtype=np.uint32)
    runs[:, 0], runs[:, 1] = first, lengths
    return heads, runs, _words_of(values)


def _of_dense(X: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return runs per row, first columns and lengths of the runs, and nonzero values."""
    n, d = X.shape
    present = X != 0
    if present.all():
        return np.full(n, min(d, 1)), np.zeros(n * min(d, 1)), np.full(n * min(d, 1), d), X.ravel()
    line = np.zeros(1 + n * (d + 1), dtype=bool)  # all rows in one line, with gaps
    line[1:].reshape(n, d + 1)[:, :d] = present
    begins, ends = np.flatnonzero(line[1:] != line[:-1]).reshape(-1, 2).T
    rows = np.arange(n + 1) * (d + 1)
    counts = np.diff(np.searchsorted(begins, rows))
    return counts, begins - np.repeat(rows[:-1], counts), ends - begins, X[present]


def _of_sparse(X: Any) -> tuple[np.ndarray, ...]:
    """Return the same for CSR rows."""
    columns, values, ends = X.indices, X.data, X.indptr
    present = values != 0
    if not present.all():
        columns, values = columns[present], values[present]
        ends = np.append(0, np.cumsum(present))[ends]
    begins = np.ones(len(columns), dtype=bool)
    np.not_equal(columns[1:], columns[:-1] + 1, out=begins[1:])
    begins[ends[:-1][ends[:-1] < ends[1:]]] = True
    first = np.flatnonzero(begins)
    counts = np.diff(np.searchsorted(first, ends))
    return counts, columns[first], np.diff(first, append=len(columns)), values


def _words_of(values: np.ndarray) -> np.ndarray:
    """Return the words of nonzero values."""
    if values.dtype.kind == "f" or (values.dtype.kind in "iu" and _are_short(values)):
        return values.astype(np.float64, copy=False).view(np.uint64)
    flat = [word for value in values.tolist() for word in words_of_number(value)]
    return np.array(flat, dtype=np.uint64)


def _are_short(values: np.ndarray) -> bool:
    """Return whether all integers are small enough to equal doubles."""
    return not values.size or max(int(values.max()), -int(values.min())) <= EXACT


def words_of_number(value: Any) -> Sequence[int]:
    """Return the words of one nonzero number."""
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
