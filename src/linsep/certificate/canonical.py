"""Rows for proofs: read once, block by block, and hashed in a canonical form.

The hash therefore covers exactly the checked rows. All numbers are little-endian. Three sequences
go into a SHA-256 each, row by row:

- heads: the number of the row's label, in order of first appearance, and the number of its *runs*,
  the longest stretches of neighboring columns with nonzero values; 32 bits each;
- runs: the first column and the length of each; 32 bits each;
- nonzero values: the 64 bits of the equal double. A number that float64 cannot represent is the
word ``sign << 63 | 0x7ff8 << 48 | p << 24 | q``, then the p words of its numerator and the q
  words of its denominator, lowest first; q is 0 for integers.

The hash is the SHA-256 of ``linsep rows 1\\n``, of these three sums (32 bytes each) and, as ASCII
JSON, of ``{"rows": n, "features": d, "labels": [...]}``, labels in order of first appearance.

So equal values give the same hash however they are stored, in arrays of any type, in sparse
matrices or in files, and rows can be hashed before their number or width is known. Labels are text,
numbers or booleans; a float without fraction is treated as an integer.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pkgutil import resolve_name
from typing import Any

import numpy as np
import scipy.sparse as sp

import linsep
from linsep.certificate.numbers import labeled_rows, same_as_doubles, tidy
from linsep.errors import DataError

HEADER = b"linsep rows 1\n"
#: columns and lengths have 32 bits
MOST_COLUMNS = 2**32 - 1
#: marks a number that is not a double: the bit pattern of NaN, which no row holds
LONG = 0x7FF8 << 48
NEGATIVE = 1 << 63
LIMB = 2**64 - 1
#: numbers in a block: few enough to stay in the processor's cache
BLOCK_VALUES = 1 << 18
#: error bound of a number that underflows, which may become zero
TINY = 2.0**-1021


def plain_label(label: Any) -> Any:
    """Return a label as a plain value; raise DataError if it is not text, a number or a boolean."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    if isinstance(plain, str | int | float):  # True and False are ints, too
        return plain
    raise DataError(
        f"The label {label!r} is a {type(label).__name__}: convert the labels to text, numbers or "
        "booleans.", code="label-type", value=label,
    )  # fmt: skip


def sequences(X: Any, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return heads and runs of some rows, uint32 of shape (n, 2), and the words of their values."""
    n, width = X.shape
    if not sp.issparse(X) and width and (X != 0).all():
        values, counts, runs = X.ravel(), np.ones(n), np.tile([0, width], (n, 1))
    else:
        columns, values, ends = _nonzero(X)
        begins = np.ones(len(columns), dtype=bool)
        np.not_equal(columns[1:], columns[:-1] + 1, out=begins[1:])
        begins[ends[:-1][ends[:-1] < ends[1:]]] = True
        first = np.flatnonzero(begins)
        counts = np.diff(np.searchsorted(first, ends))
        runs = np.column_stack([columns[first], np.diff(first, append=len(columns))])
    heads, runs = np.column_stack([numbers, counts]).astype(np.uint32), runs.astype(np.uint32)
    if same_as_doubles(values):
        return heads, runs, values.astype(np.float64, copy=False).view(np.uint64)
    words = [word for value in values.tolist() for word in words_of_number(value)]
    return heads, runs, np.array(words, dtype=np.uint64)


def _nonzero(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return columns and values of what is not zero, row by row, and the ends of the rows."""
    if not sp.issparse(X):
        present = X != 0
        ends = np.append(0, np.cumsum(np.count_nonzero(present, axis=1)))
        return np.nonzero(present)[1], X[present], ends
    present = X.data != 0
    return X.indices[present], X.data[present], np.append(0, np.cumsum(present))[X.indptr]


def words_of_number(value: Any) -> Sequence[int]:
    """Return the words of one nonzero number."""
    exact = Fraction(value)
    if abs(exact) < 2**1024 - 2**970 and float(exact) == exact:
        return [int(np.float64(float(exact)).view(np.uint64))]
    parts = abs(exact.numerator), exact.denominator if exact.denominator > 1 else 0
    above, below = ([m >> k & LIMB for k in range(0, m.bit_length(), 64)] for m in parts)
    return [(exact < 0) * NEGATIVE | LONG | len(above) << 24 | len(below), *above, *below]


@dataclass
class Block:
    """Some rows, dense or CSR without repeated entries; the numbers of their labels, in order of
    first appearance; and the number of the first row.
    """

    X: Any
    numbers: np.ndarray
    first: int

    @cached_property
    def floats(self) -> Any:
        """X in float64; other numbers are rounded."""
        return self.X if self.X.dtype == np.float64 else self.X.astype(np.float64)

    @cached_property
    def lengths(self) -> np.ndarray:
        """The length of every row in float64; every square is taken as at least TINY."""
        X = self.floats
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        return np.sqrt(np.ravel(squares) + X.shape[1] * TINY)

    def row(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and values of a row of the block."""
        if sp.issparse(self.X):
            start, end = self.X.indptr[place : place + 2]
            return self.X.indices[start:end], self.X.data[start:end]
        return np.arange(self.X.shape[1]), self.X[place]


def rows_of(X: Any, y: Any) -> tuple[Any, Any]:
    """Return rows and labels unchanged or, for a data frame with text columns, a source of both,
    opened by the reader in :data:`linsep.TOOLS`, because the checker does not read files.
    """
    X, y, _ = resolve_name(linsep.TOOLS["frame"])(X, y)
    return X, y


class Reading:
    """One reading of rows and labels, with counts of the rows read so far.

    Sources have ``exactly()``, which yields batches of rows and labels; open data have ``coded()``,
    which yields batches of rows and label indices into ``classes``.
    """

    def __init__(self, X: Any, y: Any = None) -> None:
        opened = hasattr(X, "coded") or (y is None and hasattr(X, "exactly"))
        self._given: Any = X if opened else labeled_rows(X, y)
        self.n_rows = self.n_features = 0
        self._numbers: dict[tuple[type, Any], int] = {}
        self._sums = sha256(), sha256(), sha256()

    @property
    def labels(self) -> list[Any]:
        """The labels read so far as plain values, in order of first appearance."""
        return [label for _, label in self._numbers]

    @property
    def names(self) -> tuple[str, ...] | None:
        """Feature names, or None; of a source once its rows were read."""
        given = self._given
        names = given.feature_names if hasattr(given, "feature_names") else given.names
        return None if names is None else tuple(map(str, names))

    def blocks(self) -> Iterator[Block]:
        """Yield all rows, in order."""
        for X, classes, codes in self._coded():
            numbers = np.empty(len(classes), int)
            seen, places = np.unique(codes, return_index=True)
            for code in seen[np.argsort(places)].tolist():
                label = plain_label(classes[code])
                numbers[code] = self._numbers.setdefault((type(label), label), len(self._numbers))
            X = tidy(X)  # noqa: PLW2901
            self.n_features = max(self.n_features, X.shape[1])
            if self.n_features > MOST_COLUMNS:
                raise DataError(
                    f"{self.n_features:,} features are too many for a proof.",
                    code="too-large", value=self.n_features,
                )  # fmt: skip
            size = X.nnz if sp.issparse(X) else X.size
            step = max(1, BLOCK_VALUES * X.shape[0] // max(1, size))
            for start in range(0, X.shape[0], step):
                part, of = X[start : start + step], numbers[codes[start : start + step]]
                for one, words in zip(self._sums, sequences(part, of), strict=True):
                    one.update(np.ascontiguousarray(words, words.dtype.newbyteorder("<")).data)
                block = Block(part, of, self.n_rows)
                self.n_rows += part.shape[0]
                yield block

    def _coded(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """Yield batches of rows, the labels, and the index of each row's label."""
        given = self._given
        if hasattr(given, "coded"):
            yield from ((X, given.classes, codes) for X, codes in given.coded())
        else:
            yield from ((X, *np.unique(y, return_inverse=True)) for X, y, *_ in given.exactly())

    def sha256(self) -> str:
        """Return the hash of all rows so far, 64 hexadecimal digits."""
        about = {"rows": self.n_rows, "features": self.n_features, "labels": self.labels}
        sums = b"".join(one.digest() for one in self._sums)
        return sha256(HEADER + sums + json.dumps(about).encode()).hexdigest()


def read_whole(X: Any, y: Any = None) -> Reading:
    """Return the reading of all rows and labels."""
    reading = Reading(X, y)
    for _ in reading.blocks():
        pass
    return reading


def sha256_of(X: Any, y: Any = None) -> str:
    """Return the hash of rows and labels in canonical form."""
    return read_whole(X, y).sha256()
