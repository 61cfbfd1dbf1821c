"""How the columns of a table become features and labels.

Numeric and bool columns are one feature each, in file order. A text column is one feature per
value, named ``column=value``; the values are learnt in order of first appearance (by row, then by
column) and get the next free places behind the numeric features, whatever the size of a batch.
With ``hash_bits`` they share 2**hash_bits places instead: a value's place is the low bits of the
CRC-32 of ``column=value`` in UTF-8, the same in every process and version.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from linsep.errors import DataError, way

#: text columns with more values than this are hashed or left out, so that memory stays flat
MOST_VALUES = 1 << 20

#: tells where row i of the table at hand stands
Place = Callable[[int], str]


@dataclass
class Columns:
    """What each column of a table means; all of it goes into the recipe.

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
    hash_bits : places of the text features are 2**hash_bits; None learns the values
    exclude : names left out
    dtype : "float32" or "float64"
    """

    numeric: dict[str, str]
    text: dict[str, dict[str, int]]
    target: str | None
    target_kind: str | None
    missing: str = "error"
    hash_bits: int | None = None
    exclude: list[str] = field(default_factory=list)
    dtype: str = "float64"
    means: dict[str, float] = field(default_factory=dict)
    scale: dict[str, list[float]] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Number of features so far."""
        if self.text and self.hash_bits is not None:
            return len(self.numeric) + (1 << self.hash_bits)
        return len(self.numeric) + sum(map(len, self.text.values()))

    @property
    def names(self) -> list[str] | None:
        """Names of the features so far; None when text columns are hashed."""
        if self.text and self.hash_bits is not None:
            return None
        names = list(self.numeric) + [""] * (self.width - len(self.numeric))
        for column, values in self.text.items():
            for value, place in values.items():
                names[place] = f"{column}={value}"
        return names


class Encoder:
    """Turns tables into features and labels.

    Parameters
    ----------
    columns : Columns
        Learns new text values as they appear, if `learn` says so.
    learn : bool
        False leaves the values of text columns as they are and counts the others in `unseen`.
    labels_needed : bool
        False makes the labels None where some are missing instead of refusing them.
    """

    def __init__(self, columns: Columns, learn: bool, labels_needed: bool):
        self.columns = columns
        self.unseen: dict[str, int] = {}
        self.lows = np.full(len(columns.numeric), np.inf)
        self.highs = np.full(len(columns.numeric), -np.inf)
        self._learn = learn
        self._labels_needed = labels_needed

    def encode(
        self, table: pa.Table, place: Place
    ) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray | None, np.ndarray | None]:
        """Return the features, the labels, and which rows were kept.

        Parameters
        ----------
        table : pa.Table
            At least one row, with the columns of :attr:`columns` (the target may be absent).
        place : function from a row of the table to where it stands, for errors

        Returns
        -------
        X : C-contiguous array, or canonical csr_matrix when there are text columns
        y : array of shape (rows kept,) or None
        kept : bool array of shape (rows,), or None when all are kept

        Raises DataError at infinity, and at a missing value unless ``missing`` says otherwise.
        """
        X, texts, label, kept = self._parts(table, place)
        if kept is not None:
            mask, place = pa.array(kept), _place_of_kept(place, np.flatnonzero(kept))
            X, texts = X[kept], {name: column.filter(mask) for name, column in texts.items()}
            label = None if label is None else label.filter(mask)
        if self.columns.missing in {"zero", "mean"} and (holes := np.isnan(X)).any():
            means = self.columns.means
            fill = np.array([means.get(name, 0.0) for name in self.columns.numeric], X.dtype)
            np.copyto(X, fill, where=holes)
        self._widen(X)
        if self.columns.scale:
            centre, spread = np.array(list(self.columns.scale.values()), X.dtype).T
            X -= centre
            X /= spread
        y = None if label is None else self._labels(label, place)
        return (self._with_indicators(X, texts, place) if texts else X), y, kept

    def _widen(self, X: np.ndarray) -> None:
        """Take the rows into the :attr:`lows` and :attr:`highs` of the numeric columns."""
        if X.shape[0]:
            np.minimum(self.lows, X.min(axis=0), out=self.lows)
            np.maximum(self.highs, X.max(axis=0), out=self.highs)

    def kept(self, table: pa.Table, place: Place) -> np.ndarray | None:
        """Return which rows of the table :meth:`encode` keeps, without learning anything."""
        return self._parts(table, place)[3]

    def numbers(self, table: pa.Table, place: Place) -> np.ndarray:
        """Return the numeric features, NaN where missing, shape (rows, numeric columns)."""
        X = np.empty((table.num_rows, len(self.columns.numeric)), self.columns.dtype)
        kind = pa.float32() if self.columns.dtype == "float32" else pa.float64()
        for number, name in enumerate(self.columns.numeric):
            X[:, number] = plain(table.column(name)).cast(kind, safe=False).to_numpy()
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
        texts = {name: as_text(table.column(name)) for name in columns.text}
        named = columns.target if columns.target in table.column_names else None
        label = None if named is None else plain(table.column(named))
        holes = {}
        if label is not None and self._labels_needed and (gaps := _missing(label)) is not None:
            if columns.missing != "drop":
                raise DataError(
                    f"{place(int(np.argmax(gaps)))} has no label in column '{named}'",
                    "fill it in",
                    way("leave such rows out with {}", missing="drop"),
                )
            holes[""] = gaps
        if columns.missing in {"error", "drop"}:
            holes |= self._holes(X, texts)
        if holes and columns.missing == "error":
            row, name = min((int(np.argmax(gaps)), name) for name, gaps in holes.items())
            raise DataError(
                f"{place(row)}, column '{name}' has no value",
                "fill it in",
                way("take it for zero with {}", missing="zero"),
                way("for the mean of the column with {}", missing="mean"),
                way("leave out such rows with {}", missing="drop"),
                way("the column with {}", exclude=[name]),
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

    def _with_indicators(
        self, X: np.ndarray, texts: dict[str, pa.ChunkedArray], place: Place
    ) -> sp.csr_matrix:
        found = {name: coded(column, name, place) for name, column in texts.items()}
        if self._learn and self.columns.hash_bits is None:
            self._learn_values(found)
        rows, first = X.shape
        columns = np.empty((rows, first + len(texts)), np.int32)
        values = np.ones(columns.shape, X.dtype)
        columns[:, :first] = np.arange(first)
        values[:, :first] = X
        for number, (name, (codes, distinct)) in enumerate(found.items(), first):
            # The last entry is what code -1, missing, picks.
            places = np.array([*(self._place(name, value) for value in distinct), -1], np.int32)
            columns[:, number] = places[codes]
            unknown = places[codes] < 0
            values[unknown, number] = 0
            if not self._learn and (count := int((unknown & (codes >= 0)).sum())):
                self.unseen[name] = self.unseen.get(name, 0) + count
        stored = values != 0
        ends = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
        ends = ends.astype(np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64)
        shape = (rows, self.columns.width)
        matrix = sp.csr_matrix((values[stored], columns[stored], ends), shape=shape)
        matrix.sum_duplicates()  # sorts as well; only hashed values can collide
        return matrix

    def _place(self, name: str, value: str) -> int:
        bits = self.columns.hash_bits
        if bits is None:
            return self.columns.text[name].get(value, -1)
        return len(self.columns.numeric) + (crc32(f"{name}={value}".encode()) & ((1 << bits) - 1))

    def _learn_values(self, found: dict[str, tuple[np.ndarray, list[str]]]) -> None:
        fresh = []
        for order, (name, (codes, values)) in enumerate(found.items()):
            known = self.columns.text[name]
            new = [code for code, value in enumerate(values) if value not in known]
            if not new:
                continue
            if len(known) + len(new) > MOST_VALUES:
                raise DataError(
                    f"Column '{name}' has more than {MOST_VALUES} different values",
                    way("leave it out with {}", exclude=[name]),
                    way("hash the values with {}", hash_bits=20),
                )
            backwards = np.flatnonzero(codes >= 0)[::-1]
            first = np.empty(len(values), np.int64)
            first[codes[backwards]] = backwards  # the last one written is the first row
            fresh += [(int(first[code]), order, name, values[code]) for code in new]
        width = self.columns.width
        for number, (_, _, name, value) in enumerate(sorted(fresh)):
            self.columns.text[name][value] = width + number


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with a dictionary replaced by its values, and decimals by floats."""
    if pa.types.is_dictionary(column.type):
        return plain(column.cast(column.type.value_type))
    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a text column of any Arrow type as plain strings."""
    return plain(column).cast(pa.string())


def coded(column: pa.ChunkedArray, name: str | None, place: Place) -> tuple[np.ndarray, list[str]]:
    """Return each row's text as a number and the different texts, by first appearance.

    Parameters
    ----------
    column : pa.ChunkedArray of shape (rows,)
    name : what the column is called in errors
    place : function from a row to where it stands, for errors

    Returns
    -------
    codes : int32 array of shape (rows,), -1 where the column is null
    values : list of str; ``values[code]`` is the text

    Raises DataError where text is not UTF-8.
    """
    found = as_text(column).combine_chunks().dictionary_encode()
    codes = found.indices.fill_null(-1).to_numpy()
    try:
        return codes, found.dictionary.to_pylist()
    except UnicodeDecodeError as error:
        bad = next(code for code, value in enumerate(found.dictionary) if not _is_utf8(value))
        raise DataError(
            f"{place(int(np.argmax(codes == bad)))}, column '{name}' is not UTF-8 text",
            "correct it",
            way("leave the column out with {}", exclude=[name]),
        ) from error


def _place_of_kept(place: Place, rows: np.ndarray) -> Place:
    return lambda row: place(int(rows[row]))


def _missing(column: pa.ChunkedArray) -> np.ndarray | None:
    """Return which rows are null or NaN; None when none is."""
    if column.null_count or pa.types.is_floating(column.type):
        gaps = column.is_null(nan_is_null=True).to_numpy()
        return gaps if gaps.any() else None
    return None


def _is_utf8(value: pa.StringScalar) -> bool:
    try:
        value.as_py()
    except UnicodeDecodeError:
        return False
    return True
