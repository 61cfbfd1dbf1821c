"""Strings as rows: checked, encoded as numbers, and counted by substrings."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.compiled.kernels import count_rows
from linsep.errors import DataError

#: largest numbers whose product fits in an int64
MOST_CODES = 2**62


class Letters:
    """Concatenated strings: string i is ``text[begins[i]:ends[i]]``, code points or bytes."""

    def __init__(self, text: np.ndarray, begins: np.ndarray, ends: np.ndarray):
        self.text, self.begins, self.ends = text, begins, ends

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, key: Any) -> Letters:
        return Letters(self.text, self.begins[key], self.ends[key])

    @property
    def lengths(self) -> np.ndarray:
        """Length of every string."""
        return self.ends - self.begins


class Grams:
    """The substrings of the columns, sorted: an array of shape (columns,) of str or bytes.

    Rows counted together share one instance. The common columns of two instances are cached in the
    one asked as long as the other exists.
    """

    def __init__(self, names: np.ndarray):
        self.names = names
        self._common: weakref.WeakKeyDictionary[Grams, Any] = weakref.WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return Grams, (self.names,)

    def common(self, other: Grams) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns of both that have the same substrings."""
        if other not in self._common:
            at = np.searchsorted(other.names, self.names)
            at = np.minimum(at, max(len(other.names) - 1, 0))
            same = other.names[at] == self.names if len(other.names) else np.zeros(len(at), bool)
            self._common[other] = np.flatnonzero(same), at[same]
        return self._common[other]


class Counts:
    """Counts of the substrings of ``grams`` in every string, as a CSR ``matrix``."""

    def __init__(self, matrix: sp.csr_array, grams: Grams):
        self.matrix, self.grams = matrix, grams

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, key: Any) -> Counts:
        return Counts(self.matrix[key], self.grams)


def letters_of(X: Any, kernel: Any) -> Letters:
    """Return X as :class:`Letters`, uint32 code points of str or uint8 of bytes.

    Raises
    ------
    DataError
        If X is not a list of str or of bytes: no rows, a single string, numbers, None, or both.
    """
    if isinstance(X, str | bytes):
        raise DataError(f"X is one string, but {kernel!r} takes several: give a list of strings.")
    if sp.issparse(X) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__iter__"):
        shape = f"an array of shape {X.shape}" if hasattr(X, "shape") else f"{X!r}"
        raise DataError(f"X is {shape}, but {kernel!r} takes strings: give a list of str or bytes.")
    rows = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if not rows:
        raise DataError(f"X has no rows: {kernel!r} needs at least one string.")
    kind = bytes if isinstance(rows[0], bytes) else str
    for i, row in enumerate(rows):
        if not isinstance(row, kind):
            message = f"{row!r}, {type(row).__name__}"
            first = (
                f", while row 0 is {kind.__name__}" if i and isinstance(row, str | bytes) else ""
            )
            raise DataError(
                f"Row {i} is {message}{first}: {kernel!r} takes a list of str or a list of bytes."
            )
    if kind is bytes:
        text = np.frombuffer(b"".join(rows), dtype=np.uint8)
    else:
        text = np.frombuffer("".join(rows).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    ends = np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)))
    return Letters(text, np.concatenate([[0], ends[:-1]]), ends)


def same_kind(a: np.ndarray, b: np.ndarray) -> None:
    """Raise DataError if one array has bytes and the other has str."""
    if (a.dtype.itemsize == 1 or a.dtype.kind == "S") != (
        b.dtype.itemsize == 1 or b.dtype.kind == "S"
    ):
        raise DataError("Strings of str meet strings of bytes: give the same kind on both sides.")


def alphabet(text: np.ndarray) -> np.ndarray:
    """Return the letters that occur, sorted, with the dtype of ``text``."""
    return np.flatnonzero(np.bincount(text)).astype(text.dtype)


def ranks(text: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the index of every letter in ``known`` (sorted, with all letters) as int64."""
    table = np.zeros(int(known[-1]) + 1 if len(known) else 1, dtype=np.int64)
    table[known] = np.arange(len(known))
    return table[text]


def window_codes(digits: np.ndarray, base: int, p: int) -> tuple[np.ndarray, int]:
    """Return a code for every window of p digits, equal for equal windows, and a bound on them.

    Codes are in the order of the windows. If windows are too long for numbers of that base, the two
    halves are numbered first, and then the pairs.
    """
    n = max(0, len(digits) - p + 1)
    if base**p < MOST_CODES:
        codes = np.zeros(n, dtype=np.int64)
        for k in range(p):
            codes *= base
            codes += digits[k : k + n]
        return codes, base**p
    half = p // 2
    left, right = (distinct(*window_codes(digits, base, size)) for size in (half, p - half))
    bound = right[1]
    return left[0][:n] * bound + right[0][half : half + n], left[1] * bound


def distinct(codes: np.ndarray, bound: int) -> tuple[np.ndarray, int]:
    """Return the codes renumbered from 0 without gaps, in their order, and their number."""
    if bound > 2 * len(codes) + 65_536:
        values, numbered = np.unique(codes, return_inverse=True)
        return numbered, len(values)
    table = np.zeros(bound, dtype=np.int64)
    table[codes] = 1
    table = np.cumsum(table)
    return table[codes] - 1, int(table[-1]) if bound else 0


def counted(rows: Letters, p: int) -> tuple[sp.csr_array, np.ndarray]:
    """Count every substring of length p in every string.

    Returns a CSR matrix of shape (rows, substrings) and the substrings as letters, an array of
    shape (substrings, p), in order.
    """
    text, longest = rows.text, int(rows.lengths.max(initial=0))
    if p > longest:
        return sp.csr_array((len(rows), 0)), text[:0].reshape(0, 1)
    known = alphabet(text)
    codes, bound = window_codes(ranks(text, known), max(len(known), 2), p)
    inside = np.ones(len(text), dtype=bool)
    for k in range(1, p):  # no window starts at the last p - 1 places of a string
        places = rows.ends - k
        inside[places[places >= rows.begins]] = False
    places = np.flatnonzero(inside[: len(codes)])
    columns, n_grams = distinct(codes[places], bound)
    first = np.zeros(n_grams, dtype=np.int64)
    first[columns] = places
    starts = np.concatenate([[0], np.cumsum(np.maximum(rows.lengths - p + 1, 0))])
    values, indices, indptr = count_rows(columns, starts, n_grams)
    matrix = sp.csr_array((values, indices, indptr), shape=(len(rows), n_grams))
    return matrix, text[first[:, None] + np.arange(p)]


def as_strings(grams: np.ndarray) -> np.ndarray:
    """Convert substrings from letters of shape (substrings, p) to an array of str or bytes."""
    n, p = grams.shape
    kind = f"S{p}" if grams.dtype.itemsize == 1 else f"U{p}"
    return np.ascontiguousarray(grams).view(kind).reshape(n)
