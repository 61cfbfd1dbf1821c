"""Rows for proofs: read without rounding, block by block, and hashed in a canonical form.

Numbers that fit one of numpy's types come in an array of that type. Otherwise (integers beyond
2^53 beside floats, decimals, fractions, long doubles) the array holds Python's int, float and
Fraction objects.

The hash covers exactly the checked rows. All numbers are little-endian. Three sequences
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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from linsep._system.interrupts import cached_property
from linsep.errors import DataError
from linsep.validation.checks import as_csr, check_beside, faults_named, labels_of, tidy
from linsep.words import row_text

#: types that are kept: exact, and supported by numpy's products
KEPT_TYPES = [np.float64, np.float32, *(np.dtype(f"{s}{b}") for s in "iu" for b in (1, 2, 4, 8))]
#: integers up to here are exact in floats
EXACT = 2**53
#: numbers that are not doubles lie between its inverse and it: they round to normal numbers
LARGEST = 2**1000
#: decimals with larger powers of ten are out of range
MOST_POWER = 400
HEADER = b"linsep rows 1\n"
#: marks a number that is not a double: the bit pattern of NaN, which no row holds
LONG = 0x7FF8 << 48
#: numbers in a block: few enough to stay in the processor's cache
BLOCK_VALUES = 1 << 18
#: error bound of a number that underflows, which may become zero
TINY = 2.0**-1021


def exact_rows(X: Any) -> Any:
    """Return the numbers of an array, nested lists, a matrix or a data frame, without rounding;
    DataError, with the place, for missing and infinite numbers and what is no number.
    """
    with faults_named(X, exact=True):
        if hasattr(X, "column_names"):  # a table of Arrow
            return _joined(zip(X.column_names, X.columns, strict=True))
        if hasattr(X, "iloc"):
            if not len(X.dtypes) or not all(hasattr(kind, "fill_value") for kind in X.dtypes):
                return _joined((name, X.iloc[:, j]) for j, name in enumerate(X.columns))
            X = X.sparse.to_coo()
        if sp.issparse(X):
            X = as_csr(X)
            if X.dtype in (np.longdouble, object):
                values = _column(X.data, "of stored values")
                if values.dtype == object:
                    raise DataError(
                        "X holds numbers that are not exactly representable as float64: pass a "
                        "dense array.", code="not-exact", option="X",
                    )  # fmt: skip
                X = sp.csr_matrix((values, X.indices, X.indptr), X.shape)
            return tidy(_checked(X))
        given = X if hasattr(X, "dtype") else np.asarray(X)
        if given is not X and given.dtype.kind == "f" and (np.abs(given) >= EXACT).any():
            given = np.array(X, dtype=object)  # numpy rounds long integers beside floats
        if given.dtype in (object, np.longdouble) and given.dtype != np.float64:
            return _joined(enumerate(_checked(given).T))
        return _checked(given)


class Labeled(NamedTuple):
    """Rows, the sorted labels, each row's index into them, and feature names or None."""

    X: Any
    classes: np.ndarray
    codes: np.ndarray
    names: list[str] | None


def check_labels(n_rows: int, n_labels: int) -> None:
    """Raise DataError unless there is a label for every row."""
    if n_rows != n_labels:
        raise DataError(
            f"X has {n_rows:,} rows, but y has {n_labels:,} labels: pass one label per row.",
            code="shape", option="y",
        )  # fmt: skip


def labeled_rows(X: Any, y: Any) -> Labeled:
    """Return rows and labels; raise ValueError for missing values and different lengths."""
    if y is None:
        raise DataError("The labels y are missing: pass y with X.", code="no-labels", option="y")
    check_beside(X, y=y)
    names = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", None)
    rows, y = exact_rows(X), labels_of(y)
    check_labels(rows.shape[0], len(y))
    classes, codes = np.unique(y, return_inverse=True)
    return Labeled(rows, classes, codes, None if names is None else list(map(str, names)))


def padded(X: Any, width: int) -> Any:
    """Return the rows with zero columns for features that appear in later batches."""
    if X.shape[1] == width:
        return tidy(X)
    if sp.issparse(X):
        return tidy(sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width)))
    return np.hstack([X, np.zeros((X.shape[0], width - X.shape[1]), X.dtype)])


def same_as_doubles(X: Any) -> bool:
    """Return whether every number equals a double."""
    numbers = X.data if sp.issparse(X) else X
    if numbers.dtype.kind == "f" or (numbers.dtype != object and numbers.dtype.itemsize < 8):
        return True
    if numbers.dtype != object:
        numbers = numbers[np.abs(numbers.astype(np.float64)) >= EXACT]
    return all(map(_fits, numbers.ravel().tolist()))


def _checked(X: Any) -> Any:
    """Apply scikit-learn's checks to an array or sparse matrix; of longer numbers, to its shape."""
    short = X.dtype not in (object, np.longdouble)
    kinds = KEPT_TYPES if short else None
    with np.errstate(over="ignore", invalid="ignore"):  # it sums all numbers
        return check_array(X, accept_sparse="csr", dtype=kinds, order="C", ensure_all_finite=short)


def _joined(columns: Iterable[tuple[Any, Any]]) -> Any:
    """Return columns, given with their names, as one array in a common exact type."""
    exact = [_column(values, name) for name, values in columns]
    common = np.result_type(*exact) if exact else np.dtype(object)
    if common.kind == "f" and not all(map(same_as_doubles, exact)):
        common = np.dtype(object)
    found = np.empty((len(exact[0]) if exact else 0, len(exact)), dtype=common)
    for j, column in enumerate(exact):
        found[:, j] = column.tolist() if common.kind == "O" else column
    return _checked(found)


def _column(values: Any, name: Any) -> np.ndarray:
    """Return a column of numpy, pandas or Arrow as an array of an exact type."""
    if not isinstance(getattr(values, "dtype", None), np.dtype):  # of Arrow, or of pandas' own
        import pyarrow as pa

        column = pa.Array.from_pandas(values) if hasattr(values, "dtype") else values
        number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        exact = number and not column.null_count
        values = column if exact else np.array(column.to_pylist(), dtype=object)
    values = np.asarray(values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("a number is not finite")
    if values.dtype in KEPT_TYPES:
        return values
    with np.errstate(over="ignore", under="ignore"):
        if values.dtype.kind in "bf" and (values == (near := values.astype(np.float64))).all():
            return near
    numbers = [_number(x, name, i) for i, x in enumerate(values)]
    return np.array(numbers, np.float64 if all(map(_fits, numbers)) else object)


def _number(value: Any, name: Any, row: int) -> int | float | Fraction:
    """Return the exact value of a cell as a Python number."""
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or str(plain) in ("<NA>", "NaT"):
        raise ValueError("a number is missing")
    place = f"{row_text(row).capitalize()}, column {name!r}"
    far = isinstance(plain, Decimal) and plain.is_finite() and abs(plain.adjusted()) > MOST_POWER
    try:
        exact = Fraction(LARGEST) if far else Fraction(*plain.as_integer_ratio())
    except AttributeError:
        raise DataError(
            f"{place} is {str(value)[:40]!r} of type {type(value).__name__}: convert it to a "
            "number, leave the column out, or pass linsep.open_source(frame, target=...), which "
            "reads text.", code="not-a-number", row=row + 1, column=name, value=value,
        ) from None  # fmt: skip
    except OverflowError:
        raise ValueError("a number is not finite") from None
    if isinstance(plain, float):
        return plain
    if exact and not Fraction(1, LARGEST) < abs(exact) < LARGEST:
        raise DataError(
            f"{place} is outside the range of float64: scale the column.",
            code="overflow", row=row + 1, column=name, value=value,
        )  # fmt: skip
    if _fits(exact):
        return float(exact)
    return plain if isinstance(plain, int) else exact


def _fits(x: Any) -> bool:
    """Return whether a number within the range of doubles equals one."""
    return bool(float(x) == x)


# The hash.


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
        present = X.data != 0 if sp.issparse(X) else X != 0
        if sp.issparse(X):
            columns, values = X.indices[present], X.data[present]
            ends = np.append(0, np.cumsum(present))[X.indptr]
        else:
            columns, values = np.nonzero(present)[1], X[present]
            ends = np.append(0, np.cumsum(np.count_nonzero(present, axis=1)))
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


def words_of_number(value: Any) -> Sequence[int]:
    """Return the words of one nonzero number."""
    exact = Fraction(value)
    if abs(exact) < 2**1024 - 2**970 and float(exact) == exact:
        return [int(np.float64(float(exact)).view(np.uint64))]
    parts = abs(exact.numerator), exact.denominator if exact.denominator > 1 else 0
    above, below = ([m >> k & 2**64 - 1 for k in range(0, m.bit_length(), 64)] for m in parts)
    return [(exact < 0) << 63 | LONG | len(above) << 24 | len(below), *above, *below]


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
        given = self._given
        if isinstance(given, Labeled):
            parts = iter([given[:3]])
        elif hasattr(given, "coded"):
            parts = ((X, given.classes, codes) for X, codes in given.coded())
        else:
            parts = ((tidy(X), *np.unique(y, return_inverse=True)) for X, y, *_ in given.exactly())
        for X, classes, codes in parts:
            numbers = np.empty(len(classes), int)
            seen, places = np.unique(codes, return_index=True)
            for code in seen[np.argsort(places)].tolist():
                label = plain_label(classes[code])
                numbers[code] = self._numbers.setdefault((type(label), label), len(self._numbers))
            self.n_features = max(self.n_features, X.shape[1])
            size = X.nnz if sp.issparse(X) else X.size
            step = max(1, BLOCK_VALUES * X.shape[0] // max(1, size))
            for start in range(0, X.shape[0], step):
                part, of = X[start : start + step], numbers[codes[start : start + step]]
                for one, words in zip(self._sums, sequences(part, of), strict=True):
                    one.update(np.ascontiguousarray(words, words.dtype.newbyteorder("<")).data)
                block = Block(part, of, self.n_rows)
                self.n_rows += part.shape[0]
                yield block

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
