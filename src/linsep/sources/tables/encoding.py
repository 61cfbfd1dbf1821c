"""Encode the columns of a table as features and labels.

Numeric and bool columns are one feature each, in file order. Behind them a text column is one
feature per value, named ``column=value``, in the order of the columns and, within one, of the
values (by code point). A reference level has no feature, and rare values may share one. With
``hash_bits`` values share 2**hash_bits places instead: a value's place is the low bits of the
CRC-32 of ``column=value`` in UTF-8, the same in every process and version. Columns whose words are
features come last.
"""

from collections import Counter
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from linsep.errors import DataError, hint
from linsep.sources.exact import EXACT, exact_numbers, refuse_rounded
from linsep.sources.tables.columns import Columns
from linsep.sources.tables.products import Cells, cells_of, entries
from linsep.sources.tables.table_file import (
    Place,
    decoded,
    numbers_in,
    plain_values,
    text_codes,
)

#: most characters of a label
LONGEST_LABEL = 1000
#: rows that are assembled from columns at once, so that they stay in the processor's cache
ROWS_AT_ONCE = 4096
#: codes of a missing value or reference level, and of a value not seen in training
_NONE, _UNKNOWN = -1, -2


class Encoder:
    """Turns tables into features and labels.

    Attributes
    ----------
    unseen : dict of text column to how many of its values were met that the columns do not have
    filled : dict of column to how many missing values of it were replaced
    unanswered : bool array or None
        Which rows of the last table have a missing value, where ``missing`` is "skip".
    """

    def __init__(self, columns: Columns, labels_needed: bool):
        self.columns = columns
        self.unseen: dict[str, int] = {}
        self.filled: Counter[str] = Counter()
        self.unanswered: np.ndarray | None = None
        self.lows = np.full(len(columns.numeric), np.inf)
        self.highs = np.full(len(columns.numeric), -np.inf)
        self._labels_needed, self._far_inputs = labels_needed, set[str]()
        self._kept, self._left_out = set[Any](), set[Any]()

    def survey(self, table: pa.Table, place: Place) -> tuple[np.ndarray, dict[str, dict[Any, int]]]:
        """Return the numbers (NaN where missing) of the rows that :meth:`encode` keeps, and in how
        many rows the values of their text columns and products are; raises what it would raise.
        Learns the words of others, and formulas.
        """
        table, X, place, _ = self._selected(table, place)
        if self.columns.formula is not None:
            self.columns.formula.take(table)
        for name, counter in self.columns.words.items():
            if counter.learns:
                _told(counter.learn, _texts(table, name), name, place)
        self._labels(table, place)
        cells = self._cells(table, place)
        for product in self.columns.products:
            cells[product.name] = cells_of(product, cells, table.num_rows)
        counts = {}
        for name, (codes, values) in cells.items():
            rows = np.bincount(codes[codes >= 0], minlength=len(values))
            counts[name] = dict(zip(values, rows.tolist(), strict=True))
        return X, counts

    def encode(
        self, table: pa.Table, place: Place, exact: bool = False
    ) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray | None, np.ndarray | None]:
        """Return the features (an array, or a canonical csr_matrix when there are text columns or
        words), the labels or None, and which rows were kept, None for all.

        With ``exact``, numbers that no double equals are kept as Python numbers in an array;
        otherwise, and in scaled columns, decimals below 2^53 are rounded.

        Raises DataError at infinity, at a missing value unless ``missing`` says otherwise, and at
        a number beyond 2^53 that would be rounded.
        """
        label = self._label(table)
        table, X, place, kept = self._selected(table, place)
        if label and self.columns.missing == "drop" and self.columns.target_kind == "text":
            rows = pa.array(np.ones(len(label), bool) if kept is None else kept)
            self._kept.update(label.filter(rows).unique().to_pylist())
            self._left_out.update(label.filter(pc.invert(rows)).unique().to_pylist())
        if self.columns.missing in {"zero", "mean"} and (holes := np.isnan(X)).any():
            means = self.columns.means
            fill = np.array([means.get(name, 0.0) for name in self.columns.numeric], X.dtype)
            np.copyto(X, fill, where=holes)
            self.filled.update(
                dict(zip(self.columns.numeric, holes.sum(axis=0).tolist(), strict=True))
            )
        cells = self._cells(table, place)
        if self.columns.missing != "skip":
            gaps = {name: int((codes < 0).sum()) for name, (codes, _) in cells.items()}
            self.filled.update(gaps)
        if X.size:
            np.minimum(self.lows, _over_rows(np.minimum, X), out=self.lows)
            np.maximum(self.highs, _over_rows(np.maximum, X), out=self.highs)
        names, floats = list(self.columns.numeric), X
        exact &= not self.columns.scale and self.columns.formula is None
        multiplied = {name for p in self.columns.products for name in (p.first, p.second)}
        if far := [n for n in self.far if n in names and (n in multiplied or not exact)]:
            for name in far:
                refuse_rounded(table, name, X[:, names.index(name)], place)
        if exact:
            sparse = bool(cells or self.columns.words)
            X = exact_numbers(table, names, X, sparse, place)
        if self.columns.scale:
            center, spread = np.array(list(self.columns.scale.values()), X.dtype).T
            X -= center
            X /= spread
        y = self._labels(table, place)
        whole = self._with_indicators(X, cells) if cells else X
        if self.columns.products and not cells:
            made = [entries(one, self.columns, floats, {})[1] for one in self.columns.products]
            whole = np.column_stack([X, *made])
        if self.columns.words:
            whole = self._with_words(whole, table, place)
        return whole, y, kept

    def _selected(self, table: pa.Table, place: Place) -> tuple[pa.Table, np.ndarray, Place, Any]:
        """Return the rows to keep and their numbers, where each stands, and which rows of the table
        they are (None: all).
        """
        columns, formula = self.columns, self.columns.formula
        X = np.empty((table.num_rows, 0)) if formula else self.numbers(table, place)
        kept, self.unanswered = self._complete(table, X, place), None
        if columns.missing == "skip":
            self.unanswered = np.zeros(len(X), bool) if kept is None else ~kept
            X[self.unanswered] = 0
            some, among, kept = *_filtered(table, place, kept), None
        else:
            table, place = some, among = _filtered(table, place, kept)
            X = X if kept is None else X[kept]
        self._check_inputs(some, among)
        if formula:
            X = np.zeros((table.num_rows, len(formula.names)))
            X[... if self.unanswered is None else ~self.unanswered] = formula.rows(some, among)
        return table, X, place, kept

    def _check_inputs(self, table: pa.Table, place: Place) -> None:
        """Raise DataError for a number that float64 does not hold in a column of a formula, of
        weights, offsets or counts.
        """
        names = [name for name, _ in self.columns.numbers_beside if name in table.column_names]
        if (formula := self.columns.formula) is not None:
            names += [name for name, kind in formula.inputs.items() if kind == "number"]
        for name in names:
            floats = numbers_in(table, name)
            if (np.abs(floats) >= EXACT).any():
                self._far_inputs.add(name)
                refuse_rounded(table, name, floats, place)

    @property
    def lost_classes(self) -> list[str]:
        """The labels of rows that were all left out because of missing values."""
        return sorted(self._left_out - self._kept - {None})

    @property
    def far(self) -> list[str]:
        """The columns of numbers that had a number of 2^53 or more so far."""
        found = sorted(self._far_inputs)
        if self.columns.formula is not None:  # its features are not columns
            return found
        far = (self.highs >= EXACT) | (self.lows <= -EXACT)
        return found + [
            name for name, large in zip(self.columns.numeric, far.tolist(), strict=True) if large
        ]

    def numbers(self, table: pa.Table, place: Place) -> np.ndarray:
        """Return the numeric features, NaN where missing, shape (rows, numeric columns)."""
        X = np.empty((table.num_rows, len(self.columns.numeric)), self.columns.dtype)
        kind = pa.float32() if self.columns.dtype == "float32" else pa.float64()
        names, start = list(self.columns.numeric), 0
        values = [plain_values(table.column(name)).cast(kind, safe=False) for name in names]
        for batch in pa.Table.from_arrays(values, names).to_batches(max_chunksize=ROWS_AT_ONCE):
            some = slice(start, start + batch.num_rows)
            for number, column in enumerate(batch.columns):
                X[some, number] = column.to_numpy(zero_copy_only=False)
            start = some.stop
        with np.errstate(all="ignore"):
            fine = np.isfinite(X.sum(dtype=np.float64))
        if not fine and (beyond := np.isinf(X)).any():
            row, number = np.argwhere(beyond)[0]
            raise DataError(
                place(row) + f", column '{names[number]}' is infinite: "
                f"replace the value or leave out the row.",
                code="not-finite",
                column=names[number],
            )
        return X

    def _label(self, table: pa.Table) -> pa.ChunkedArray | None:
        name = self.columns.target
        return plain_values(table.column(name)) if name in table.column_names else None

    def _complete(self, table: pa.Table, X: np.ndarray, place: Place) -> np.ndarray | None:
        """Return which rows miss no value that they need, None for all."""
        columns, formula, label, holes = self.columns, self.columns.formula, self._label(table), {}
        unlabeled = _missing(label) if label is not None and self._labels_needed else None
        if unlabeled is not None and "drop" not in (columns.missing, columns.unlabeled):
            raise DataError(
                place(int(np.argmax(unlabeled))) + f" has no label in column '{columns.target}'",
                "fill it in", hint("leave such rows out with {}", unlabeled="drop"),
                code="missing-value", column=columns.target,
            )  # fmt: skip
        if columns.missing in {"error", "drop", "skip"}:
            names = [*columns.text, *(formula.inputs if formula else ())]
            found = {name: _missing(plain_values(table.column(name))) for name in names}
            with np.errstate(all="ignore"):
                whole = np.isfinite(X.sum(dtype=np.float64))
            if not whole:
                gaps = np.isnan(X)
                found |= {n: gaps[:, k] for k, n in enumerate(columns.numeric) if gaps[:, k].any()}
            asked = True if unlabeled is None else ~unlabeled
            holes = {
                name: gaps for name, gaps in found.items()
                if gaps is not None and (gaps & asked).any()
            }  # fmt: skip
        if holes and columns.missing == "error":
            row, name = min((int(np.argmax(gaps & asked)), name) for name, gaps in holes.items())
            ways = [hint("leave out such rows with {}", missing="drop")]
            if not self._labels_needed:
                ways = [hint("leave its prediction empty with {}", missing="skip")]
            elif not formula:
                ways = [
                    hint("replace it by 0 with {}", missing="zero"),
                    hint("by the column mean with {}", missing="mean"), *ways,
                    hint("leave out the column with {}", exclude=[name]),
                ]  # fmt: skip
            raise DataError(
                place(row) + f", column '{name}' has no value", "fill it in", *ways,
                code="missing-value", column=name,
            )  # fmt: skip
        gaps = [*holes.values(), *([] if unlabeled is None else [unlabeled])]
        return ~np.logical_or.reduce(gaps) if gaps else None

    def _cells(self, table: pa.Table, place: Place) -> dict[str, Cells]:
        names = self.columns.text
        return {name: text_codes(table.column(name), name, place) for name in names}

    def _labels(self, table: pa.Table, place: Place) -> np.ndarray | None:
        label = self._label(table)
        if not label or (not self._labels_needed and _missing(label) is not None):
            return None
        kind = self.columns.target_kind
        if kind == "text":
            codes, values = text_codes(label, self.columns.target, place)
            for code, value in enumerate(values):  # numpy's text, or memory, would not hold others
                if "\0" in value or len(value) > LONGEST_LABEL:
                    raise DataError(
                        place(int(np.argmax(codes == code))) + f" has a label of {len(value):,} "
                        f"characters, or with a NUL character, in column '{self.columns.target}': "
                        "correct it, or choose another column.",
                        code="bad-value",
                        column=self.columns.target,
                    )
            return np.array(values, dtype=np.str_)[codes]
        y = np.array(label.to_numpy())
        if y.dtype.kind in "biu" and kind != "float":
            return y
        y = y.astype(np.float64)
        if (far := np.abs(y) >= EXACT).any():  # where floats no longer distinguish whole numbers
            row = int(np.argmax(far))
            raise DataError(
                place(row) + f" has a label in column '{self.columns.target}' that is infinite or "
                "has too many digits: shorten it.",
                code="not-finite" if np.isinf(y[row]) else "not-exact",
                column=self.columns.target,
            )
        if kind == "float":
            return y
        if (np.trunc(y) != y).any():
            # The first labels were whole numbers, this one is not: all are floats from here on.
            self.columns.target_kind = "float"
            return y
        return y.astype(np.int64)

    def _with_indicators(self, X: np.ndarray, cells: dict[str, Cells]) -> sp.csr_matrix:
        products, (rows, first) = self.columns.products, X.shape
        columns = np.empty((rows, first + len(cells) + len(products)), np.int32)
        values = np.ones(columns.shape, X.dtype)
        columns[:, :first] = np.arange(first)
        values[:, :first] = X
        for number, (name, (codes, distinct)) in enumerate(cells.items(), first):
            # The last entry is what code -1, missing, picks.
            places = np.array([*(self._place(name, value) for value in distinct), _NONE], np.int32)
            found = places[codes]
            columns[:, number] = found
            values[found < 0, number] = 0
            if count := int((found == _UNKNOWN).sum()):
                self.unseen[name] = self.unseen.get(name, 0) + count
        for number, product in enumerate(products, first + len(cells)):
            columns[:, number], values[:, number] = entries(product, self.columns, X, cells)
        stored = values != 0
        ends = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
        ends = ends.astype(np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64)
        shape = (rows, self.columns.indicators_end)
        matrix = sp.csr_matrix((values[stored], columns[stored], ends), shape=shape)
        matrix.sum_duplicates()  # sorts as well; only hashed values can collide
        return matrix

    def _with_words(
        self, X: np.ndarray | sp.csr_matrix, table: pa.Table, place: Place
    ) -> sp.csr_matrix:
        blocks = [X] if X.shape[1] else []
        for name, counter in self.columns.words.items():
            texts = _texts(table, name)
            self.filled[name] += texts.null_count
            rows = _told(counter.rows, texts, name, place)
            blocks.append(rows if rows.dtype == X.dtype else rows.astype(X.dtype))
        if len(blocks) == 1:
            return blocks[0]
        joined = sp.hstack([sp.csr_matrix(block) for block in blocks], format="csr", dtype=X.dtype)
        joined.has_canonical_format = True
        return joined

    def _place(self, name: str, value: str) -> int:
        bits = self.columns.hash_bits
        if bits is not None:
            # Python's own hash would be another in every process.
            low = crc32(f"{name}={value}".encode()) & ((1 << bits) - 1)
            return len(self.columns.numeric) + low
        level = self.columns.level(name, value)
        if level is None:
            return _UNKNOWN
        if self.columns.reference.get(name) == level:
            return _NONE
        return self.columns.text[name].get(level, _UNKNOWN)


def _over_rows(least: np.ufunc, X: np.ndarray) -> np.ndarray:
    """Return the least, or the greatest, of each column."""
    rows, width = X.shape
    # numpy takes its time with each row, so rows are put together to long ones first.
    together = max(1, min(rows, 512 // max(1, width)))
    whole = rows - rows % together
    long = least.reduce(X[:whole].reshape(-1, together * width), axis=0)
    found = least.reduce(long.reshape(together, width), axis=0)
    return found if whole == rows else least(found, least.reduce(X[whole:], axis=0))


def _missing(column: pa.ChunkedArray) -> np.ndarray | None:
    """Return which rows are null or NaN; None when none is."""
    if column.null_count or pa.types.is_floating(column.type):
        gaps = column.is_null(nan_is_null=True).to_numpy()
        return gaps if gaps.any() else None
    return None


def _filtered(table: pa.Table, place: Place, kept: np.ndarray | None) -> tuple[pa.Table, Place]:
    if kept is None:
        return table, place
    rows = np.flatnonzero(kept)
    return table.filter(pa.array(kept)), lambda row: place(int(rows[row]))


def _texts(table: pa.Table, name: str) -> pa.ChunkedArray:
    column = decoded(table.column(name))
    return column if column.type == pa.string() else column.cast(pa.large_string())


def _told(method: Any, texts: pa.Array, name: str, place: Place) -> Any:
    """Call a method of a counter, which treats missing texts as empty; errors name the place of
    bytes that are not text.
    """
    from linsep.sources.text import NotUtf8

    try:
        return method(texts.fill_null("") if texts.null_count else texts)
    except NotUtf8 as error:
        raise DataError(
            place(error.text) + f", column '{name}' is not UTF-8 text ({error})",
            "correct it",
            code="encoding", column=name,
        ) from None  # fmt: skip
    except DataError as error:
        raise error.at(f"Column '{name}': ", column=name) from None
