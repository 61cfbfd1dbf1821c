"""Encode the columns of a table as features and labels.

Numeric and bool columns are one feature each, in file order. Behind them a text column is one
feature per value, named ``column=value``, in the order of the columns and, within one, of the
values (by code point). A reference level has no feature. With ``hash_bits`` values share
2**hash_bits places instead: a value's place is the low bits of the CRC-32 of ``column=value`` in
UTF-8, the same in every process and version. Columns whose words are features come last.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from linsep.errors import DataError, hint
from linsep.sources.exact import EXACT, exact_numbers, refuse_rounded
from linsep.sources.feature_names import shown_names
from linsep.sources.tables.cells import Place, as_text, coded, plain
from linsep.sources.tables.words import empty_texts, learn_words, with_words

#: most characters of a label
LONGEST_LABEL = 1000

#: rows that are put together from columns at once: they should stay in the processor's cache
ROWS_AT_ONCE = 1024

#: codes of a missing value or reference level, and of a value not seen in training
_NONE, _UNKNOWN = -1, -2


@dataclass
class Columns:
    """Roles and encoding of the columns of a table, as stored in the recipe.

    Attributes
    ----------
    numeric : dict of name to "number" or "bool", in feature order
    text : dict of name to dict of value to feature (empty when hashed)
    target : name of the label column or None
    target_kind : "int", "float", "bool", "text"; None without a target
    missing : "error", "zero", "drop", "mean"
    means : dict of name to mean; filled for missing="mean"
    scale : dict of numeric name to what is subtracted and then divided by; empty to leave values
        as they are
    reference : dict of text column to the value that has no feature, for columns that have one
    hash_bits : places of the text features are 2**hash_bits; None learns the values
    exclude : names left out
    weight, group : names of the columns of weights and groups, or None
    group_kind : "number", "bool" or "text"
    words : dict of text column whose words are features to what counts them
    seen : terms that training saw in hashed columns, where a recipe has them
    dtype : "float32" or "float64"
    """

    numeric: dict[str, str]
    text: dict[str, dict[str, int]]
    target: str | None
    target_kind: str | None
    missing: str = "error"
    hash_bits: int | None = None
    exclude: list[str] = field(default_factory=list)
    weight: str | None = None
    group: str | None = None
    group_kind: str = "text"
    dtype: str = "float64"
    means: dict[str, float] = field(default_factory=dict)
    scale: dict[str, list[float]] = field(default_factory=dict)
    reference: dict[str, str] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    def order_values(self, values: dict[str, set[str]], reference: dict[str, str]) -> None:
        """Give every value of the text columns, but for ``reference``, its feature."""
        self.reference, place = reference, len(self.numeric)
        for name, known in values.items():
            ordered = sorted(known - {reference.get(name, "")} if name in reference else known)
            self.text[name] = {value: place + k for k, value in enumerate(ordered)}
            place += len(ordered)

    @property
    def width(self) -> int:
        """Number of features so far."""
        return self.indicators_end + sum(c.n_columns for c in self.words.values())

    @property
    def indicators_end(self) -> int:
        """Number of features before those of words."""
        if self.text and self.hash_bits is not None:
            return len(self.numeric) + (1 << self.hash_bits)
        return len(self.numeric) + sum(map(len, self.text.values()))

    @property
    def names(self) -> list[str] | None:
        """Names of the features so far; None when text columns are hashed."""
        if self.text and self.hash_bits is not None:
            return None
        if not all(counter.settings.vocabulary for counter in self.words.values()):
            return None
        shown = shown_names(self.numeric, self.text, self.words)
        names = [shown[c] for c in self.numeric] + [""] * (self.indicators_end - len(self.numeric))
        for column, values in self.text.items():
            for value, place in values.items():
                names[place] = f"{shown[column]}={value}"
        for column, counter in self.words.items():
            names += [f"{shown[column]}:{term}" for term in counter.terms or ()]
        return names


class Encoder:
    """Turns tables into features and labels.

    Parameters
    ----------
    columns : Columns
    labels_needed : bool
        False makes the labels None where some are missing instead of refusing them.

    Attributes
    ----------
    unseen : dict of text column to how many of its values were met that the columns do not have
    filled : dict of column to how many missing values of it were replaced
    """

    def __init__(self, columns: Columns, labels_needed: bool):
        self.columns = columns
        self.unseen: dict[str, int] = {}
        self.filled: Counter[str] = Counter()
        self.lows = np.full(len(columns.numeric), np.inf)
        self.highs = np.full(len(columns.numeric), -np.inf)
        self._labels_needed = labels_needed

    def survey(self, table: pa.Table, place: Place) -> tuple[np.ndarray, dict[str, list[str]]]:
        """Return the numbers (NaN where missing) of the rows that :meth:`encode` keeps, and which
        values their text columns have; raises what it would raise. Learns the words of others.
        """
        X, texts, label, place, kept = self._selected(table, place)
        learn_words(table, self.columns.words, kept, place)
        if label is not None:
            self._labels(label, place)
        return X, {name: coded(column, name, place)[1] for name, column in texts.items()}

    def encode(
        self, table: pa.Table, place: Place, exact: bool = False
    ) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray | None, np.ndarray | None]:
        """Return the features, the labels, and which rows were kept.

        Parameters
        ----------
        table : pa.Table
            At least one row, with the columns of :attr:`columns` (the target may be absent).
        place : function from a row of the table to where it stands, for errors
        exact : whether numbers that no double equals are kept as Python's, and X then is an array
            of these; otherwise, and of columns that are scaled, decimals below 2^53 are rounded

        Returns
        -------
        X : C-contiguous array, or canonical csr_matrix when there are text columns or words
        y : array of shape (rows kept,) or None
        kept : bool array of shape (rows,), or None when all are kept

        Raises DataError at infinity, at a missing value unless ``missing`` says otherwise, and at
        a number beyond 2^53 that would be rounded.
        """
        X, texts, label, place, kept = self._selected(table, place)
        if self.columns.missing in {"zero", "mean"} and (holes := np.isnan(X)).any():
            means = self.columns.means
            fill = np.array([means.get(name, 0.0) for name in self.columns.numeric], X.dtype)
            np.copyto(X, fill, where=holes)
            self.filled.update(
                dict(zip(self.columns.numeric, holes.sum(axis=0).tolist(), strict=True))
            )
        self.filled.update({name: column.null_count for name, column in texts.items()})
        self._widen(X)
        names = list(self.columns.numeric)
        if exact and not self.columns.scale:
            X = exact_numbers(table, names, kept, X, bool(texts or self.columns.words), place)
        elif far := self.far:
            refuse_rounded(table, far, kept, X[:, [names.index(name) for name in far]], place)
        if self.columns.scale:
            centre, spread = np.array(list(self.columns.scale.values()), X.dtype).T
            X -= centre
            X /= spread
        y = None if label is None else self._labels(label, place)
        whole = self._with_indicators(X, texts, place) if texts else X
        if self.columns.words:
            whole = with_words(whole, table, self.columns.words, kept, place)
            self.filled.update(empty_texts(table, self.columns.words, kept))
        return whole, y, kept

    def _selected(
        self, table: pa.Table, place: Place
    ) -> tuple[np.ndarray, dict[str, pa.ChunkedArray], pa.ChunkedArray | None, Place, Any]:
        """Return numbers, text columns and labels of the rows to keep, where each stands, and
        which rows of the table they are (None: all).
        """
        X, texts, label, kept = self._parts(table, place)
        if kept is None:
            return X, texts, label, place, None
        mask, place = pa.array(kept), _place_of_kept(place, np.flatnonzero(kept))
        texts = {name: column.filter(mask) for name, column in texts.items()}
        return X[kept], texts, None if label is None else label.filter(mask), place, kept

    def _widen(self, X: np.ndarray) -> None:
        """Take the rows into the :attr:`lows` and :attr:`highs` of the numeric columns."""
        if X.shape[0]:
            np.minimum(self.lows, X.min(axis=0), out=self.lows)
            np.maximum(self.highs, X.max(axis=0), out=self.highs)

    @property
    def far(self) -> list[str]:
        """The numeric columns that had a number of 2^53 or more so far."""
        far = (self.highs >= EXACT) | (self.lows <= -EXACT)
        return [
            name for name, large in zip(self.columns.numeric, far.tolist(), strict=True) if large
        ]

    def kept(self, table: pa.Table, place: Place) -> np.ndarray | None:
        """Return which rows of the table :meth:`encode` keeps, without learning anything."""
        return self._parts(table, place)[3]

    def numbers(self, table: pa.Table, place: Place) -> np.ndarray:
        """Return the numeric features, NaN where missing, shape (rows, numeric columns)."""
        X = np.empty((table.num_rows, len(self.columns.numeric)), self.columns.dtype)
        kind = pa.float32() if self.columns.dtype == "float32" else pa.float64()
        values = [
            plain(table.column(name), name).cast(kind, safe=False).to_numpy()
            for name in self.columns.numeric
        ]
        for start in range(0, table.num_rows, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            for number, column in enumerate(values):
                X[some, number] = column[some]
        with np.errstate(all="ignore"):
            fine = np.isfinite(X.sum(dtype=np.float64))
        if not fine and (beyond := np.isinf(X)).any():
            row, number = np.argwhere(beyond)[0]
            raise DataError(
                f"{place(row)}, column '{list(self.columns.numeric)[number]}' is infinite: "
                f"replace the value or leave out the row."
            )
        return X

    def _parts(
        self, table: pa.Table, place: Place
    ) -> tuple[np.ndarray, dict[str, pa.ChunkedArray], pa.ChunkedArray | None, np.ndarray | None]:
        """Return numbers, text columns, labels and which rows to keep (None: all)."""
        columns = self.columns
        X = self.numbers(table, place)
        texts = {name: as_text(table.column(name), name) for name in columns.text}
        named = columns.target if columns.target in table.column_names else None
        label = None if named is None else plain(table.column(named), named)
        holes = {}
        if label is not None and self._labels_needed and (gaps := _missing(label)) is not None:
            if columns.missing != "drop":
                raise DataError(
                    f"{place(int(np.argmax(gaps)))} has no label in column '{named}'",
                    "fill it in",
                    hint("leave such rows out with {}", missing="drop"),
                )
            holes[""] = gaps
        if columns.missing in {"error", "drop"}:
            holes |= self._holes(X, texts)
        if holes and columns.missing == "error":
            row, name = min((int(np.argmax(gaps)), name) for name, gaps in holes.items())
            raise DataError(
                f"{place(row)}, column '{name}' has no value",
                "fill it in",
                hint("take it for zero with {}", missing="zero"),
                hint("for the mean of the column with {}", missing="mean"),
                # every row has a prediction, also of a model that was learnt so
                *[hint("leave out such rows with {}", missing="drop")] * self._labels_needed,
                hint("the column with {}", exclude=[name]),
            )
        return X, texts, label, ~np.logical_or.reduce(list(holes.values())) if holes else None

    def _holes(self, X: np.ndarray, texts: dict[str, pa.ChunkedArray]) -> dict[str, np.ndarray]:
        """Return, for each feature column with missing values, in which rows they are."""
        holes = {name: gaps for name in texts if (gaps := _missing(texts[name])) is not None}
        with np.errstate(all="ignore"):
            if not np.isfinite(X.sum(dtype=np.float64)):
                for number, name in enumerate(self.columns.numeric):
                    if (gaps := np.isnan(X[:, number])).any():
                        holes[name] = gaps
        return holes

    def _labels(self, label: pa.ChunkedArray, place: Place) -> np.ndarray | None:
        if (not self._labels_needed and _missing(label) is not None) or not len(label):
            return None
        kind = self.columns.target_kind
        if kind == "text":
            codes, values = coded(label, self.columns.target, place)
            self._check_labels(codes, values, place)
            return np.array(values, dtype=np.str_)[codes]
        y = np.array(label.to_numpy())
        if y.dtype.kind in "biu" and kind != "float":
            return y
        y = y.astype(np.float64)
        if np.isinf(y).any():
            raise DataError(
                f"{place(int(np.argmax(np.isinf(y))))} has an infinite label in column "
                f"'{self.columns.target}': correct it."
            )
        if (np.abs(y) >= 2.0**53).any():  # where floats tell whole numbers no longer apart
            raise DataError(
                f"{place(int(np.argmax(np.abs(y) >= 2.0**53)))} has a label in column "
                f"'{self.columns.target}' with too many digits: shorten the labels."
            )
        if kind == "float":
            return y
        if (np.trunc(y) != y).any():
            # The first labels were whole numbers, this one is not: all are floats from here on.
            self.columns.target_kind = "float"
            return y
        return y.astype(np.int64)

    def _check_labels(self, codes: np.ndarray, values: list[str], place: Place) -> None:
        """Refuse labels that numpy's text would cut, or that no memory would hold."""
        for code, value in enumerate(values):
            if "\0" in value or len(value) > LONGEST_LABEL:
                what = "with a NUL character" if "\0" in value else f"of {len(value):,} characters"
                raise DataError(
                    f"{place(int(np.argmax(codes == code)))} has a label {what} in column "
                    f"'{self.columns.target}': correct it, or choose another column."
                )

    def _with_indicators(
        self, X: np.ndarray, texts: dict[str, pa.ChunkedArray], place: Place
    ) -> sp.csr_matrix:
        rows, first = X.shape
        columns = np.empty((rows, first + len(texts)), np.int32)
        values = np.ones(columns.shape, X.dtype)
        columns[:, :first] = np.arange(first)
        values[:, :first] = X
        for number, (name, column) in enumerate(texts.items(), first):
            codes, distinct = coded(column, name, place)
            # The last entry is what code -1, missing, picks.
            places = np.array([*(self._place(name, value) for value in distinct), _NONE], np.int32)
            found = places[codes]
            columns[:, number] = found
            values[found < 0, number] = 0
            if count := int((found == _UNKNOWN).sum()):
                self.unseen[name] = self.unseen.get(name, 0) + count
        stored = values != 0
        ends = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
        ends = ends.astype(np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64)
        shape = (rows, self.columns.indicators_end)
        matrix = sp.csr_matrix((values[stored], columns[stored], ends), shape=shape)
        matrix.sum_duplicates()  # sorts as well; only hashed values can collide
        return matrix

    def _place(self, name: str, value: str) -> int:
        bits = self.columns.hash_bits
        if bits is not None:
            low = crc32(f"{name}={value}".encode()) & ((1 << bits) - 1)
            return len(self.columns.numeric) + low
        if self.columns.reference.get(name) == value:
            return _NONE
        return self.columns.text[name].get(value, _UNKNOWN)


def _place_of_kept(place: Place, rows: np.ndarray) -> Place:
    return lambda row: place(int(rows[row]))


def _missing(column: pa.ChunkedArray) -> np.ndarray | None:
    """Return which rows are null or NaN; None when none is."""
    if column.null_count or pa.types.is_floating(column.type):
        gaps = column.is_null(nan_is_null=True).to_numpy()
        return gaps if gaps.any() else None
    return None
