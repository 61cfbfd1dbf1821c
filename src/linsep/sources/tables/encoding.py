"""Encode the columns of a table as features and labels.

Numeric and bool columns are one feature each, in file order. Behind them a text column is one
feature per value, named ``column=value``, in the order of the columns and, within one, of the
values (by code point). A reference level has no feature, and rare values may share one. With
``hash_bits`` values share 2**hash_bits places instead: a value's place is the low bits of the
CRC-32 of ``column=value`` in UTF-8, the same in every process and version. Columns whose words are
features come last.
"""

from collections import Counter
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.errors import DataError, hint
from linsep.sources.exact import EXACT, not_exact, rounded_cells
from linsep.sources.tables.columns import Columns
from linsep.sources.tables.conversions import NO_NUMBER
from linsep.sources.tables.products import Cells, entries
from linsep.sources.tables.spellings import canonical
from linsep.sources.tables.table_file import (
    Place,
    as_text,
    decoded,
    numbers_in,
    plain_values,
    text_codes,
)
from linsep.validation.checks import check_counts

#: most characters of a label
LONGEST_LABEL = 1000
#: rows that are assembled from columns at once, so that they stay in the processor's cache
ROWS_AT_ONCE = 4096
#: codes of a missing value or reference level, and of a value not seen in training
_NONE, _UNKNOWN = -1, -2


class Encoder:
    """Turns tables into batches of one reading.

    Parameters
    ----------
    columns : Columns
    wanted : whether labels, weights and groups must be there

    Attributes
    ----------
    unseen : dict of text column to how many of its values were met that the columns do not have
    filled : dict of column to how many missing values of it were replaced
    far : the columns of numbers that have one of 2^53 or more in the last table
    """

    def __init__(self, columns: Columns, wanted: bool):
        self.columns, self.far = columns, list[str]()
        self.unseen, self.filled = Counter[str](), Counter[str]()
        self._wanted, self._labels_needed = wanted, wanted and columns.successes is None
        self._labels_met, self._labels_kept = set[Any](), set[Any]()

    def encode(
        self, table: pa.Table, place: Place, exact: bool = False
    ) -> tuple[Batch, np.ndarray]:
        """Return the rows that are kept, and which rows of the table they are. Features are an
        array, or a canonical csr_matrix when there are text columns or words; a row of counts is
        two rows: successes of class 1, and failures of class 0, with their numbers as weights.

        With ``exact``, numbers that no double equals are kept as Python numbers in an array;
        otherwise, and in scaled columns, decimals below 2^53 are rounded.

        Raises DataError at infinity, at a missing value unless ``missing`` says otherwise, and at
        a number beyond 2^53 that would be rounded.
        """
        columns, label = self.columns, self._label(table)
        table, place, X, rows, unanswered = self.selected(table, place)
        y = self.labels(table, place)
        if label and columns.missing == "drop" and columns.target_kind == "text":
            self._labels_met.update(as_text(label).unique().to_pylist())
        if columns.missing in {"zero", "mean"} and (holes := np.isnan(X)).any():
            fill = [columns.means.get(name, 0.0) for name in columns.numeric]
            np.copyto(X, np.array(fill, X.dtype), where=holes)
            self.filled.update(dict(zip(columns.numeric, holes.sum(axis=0).tolist(), strict=True)))
        cells = self.cells(table, place)
        if columns.missing != "skip":
            self.filled.update({name: int((codes < 0).sum()) for name, (codes, _) in cells.items()})
        floats, X = X, self._checked(table, X, place, exact, bool(cells or columns.words))
        if columns.scale:
            center, spread = np.array(list(columns.scale.values()), X.dtype).T
            X -= center
            X /= spread
        whole = self._with_indicators(X, cells) if cells else X
        if columns.products and not cells:
            made = [entries(one, columns, floats, {})[1] for one in columns.products]
            whole = np.column_stack([X, *made])
        if columns.words:
            whole = self._with_words(whole, table, place)
        return self._with_beside(Batch(whole, y, unanswered=unanswered), table, place), rows

    def selected(
        self, table: pa.Table, place: Place
    ) -> tuple[pa.Table, Place, np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the rows to keep, where each stands, their numbers (NaN where missing), which rows
        of the table they are, and which of them get no prediction.
        """
        formula, every = self.columns.formula, np.arange(table.num_rows)
        X = np.empty((len(every), 0)) if formula else self._numbers(table, place)
        complete = self._complete(table, X, place)
        rows, full, at = every, table, place
        if complete is not None:
            rows, full, X = every[complete], table.filter(pa.array(complete)), X[complete]
            at = lambda row: place(int(rows[row]))  # noqa: E731
        X = formula.rows(full, at) if formula else X
        if self.columns.missing != "skip":
            return full, at, X, rows, None
        whole = np.zeros((len(every), X.shape[1]), X.dtype)
        whole[rows] = X
        unanswered = np.zeros(len(every), bool) if complete is None else ~complete
        return table, place, whole, every, unanswered

    @property
    def lost_classes(self) -> list[str]:
        """The labels of rows that were all left out because of missing values."""
        return sorted(self._labels_met - self._labels_kept - {None})

    def _numbers(self, table: pa.Table, place: Place) -> np.ndarray:
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
        if not _all_finite(X) and (beyond := np.isinf(X)).any():
            row, number = np.argwhere(beyond)[0]
            raise DataError(
                place(row) + f", column '{names[number]}' is infinite",
                "replace the value", "leave out the row",
                code="not-finite", column=names[number],
            )  # fmt: skip
        return X

    def _checked(
        self, table: pa.Table, X: np.ndarray, place: Place, exact: bool, sparse: bool
    ) -> np.ndarray:
        """Return the numbers or, if they shall be ``exact``, an array of Python numbers if these
        have more digits. DataError for others that are rounded: from 2^53 on, or in ``sparse`` rows
        and those with products that shall be exact.
        """
        columns, formula, found, self.far = self.columns, self.columns.formula, X, []
        exact &= not columns.scale and formula is None
        far = exact or (X.size and max(X.max(), -X.min()) >= EXACT)
        names = list(columns.numeric) if far and formula is None else []
        others = [n for n, what in columns.beside.items() if what != "groups"]
        others += [n for n, kind in formula.inputs.items() if kind == "number"] if formula else []
        others = [name for name in others if name in table.column_names]
        for number, name in enumerate(names + others):
            keeps = exact and number < len(names) and not (sparse or columns.products)
            floats = X[:, number] if number < len(names) else numbers_in(table, name)
            self.far += [name] * bool((np.abs(floats) >= EXACT).any())
            least = 0.0 if exact else EXACT
            for row, value in rounded_cells(table.column(name), floats, least).items():
                if not keeps:
                    leave = hint("leave the column out with {}", exclude=[name])
                    raise not_exact(place(row) + f", column '{name}'", value, leave, column=name)
                found = X.astype(object) if found is X else found
                found[row, number] = value
        return found

    def _label(self, table: pa.Table) -> pa.ChunkedArray | None:
        name = self.columns.target
        return plain_values(table.column(name)) if name in table.column_names else None

    def _complete(self, table: pa.Table, X: np.ndarray, place: Place) -> np.ndarray | None:
        """Return which rows miss no value that they need, None for all."""
        columns, formula, label = self.columns, self.columns.formula, self._label(table)
        unlabeled = _missing(label) if label is not None and self._labels_needed else None
        if unlabeled is not None and "drop" not in (columns.missing, columns.unlabeled):
            raise DataError(
                place(int(np.argmax(unlabeled))) + f" has no label in column '{columns.target}'",
                "fill it in", hint("leave such rows out with {}", unlabeled="drop"),
                code="missing-value", column=columns.target,
            )  # fmt: skip
        holes: dict[str, np.ndarray] = {}
        if columns.missing in {"error", "drop", "skip"}:
            names = [*columns.text, *(formula.inputs if formula else ())]
            gaps = {name: _missing(plain_values(table.column(name))) for name in names}
            if not _all_finite(X):
                gaps |= dict(zip(columns.numeric, np.isnan(X).T, strict=True))
            holes = {name: gap for name, gap in gaps.items() if gap is not None and gap.any()}
        if columns.missing == "error":
            asked = True if unlabeled is None else ~unlabeled
            firsts = [(int(np.argmax(gap & asked)), name) for name, gap in holes.items()
                      if (gap & asked).any()]  # fmt: skip
            if firsts:
                row, name = min(firsts)
                raise self._no_value(place(row), name)
        lost = [*holes.values(), *([] if unlabeled is None else [unlabeled])]
        return ~np.logical_or.reduce(lost) if lost else None

    def _no_value(self, place: str, name: str) -> DataError:
        ways = [hint("leave out such rows with {}", missing="drop")]
        if not self._labels_needed:
            ways = [hint("leave its prediction empty with {}", missing="skip")]
        elif not self.columns.formula:
            ways = [
                hint("replace it by 0 with {}", missing="zero"),
                hint("by the column mean with {}", missing="mean"), *ways,
                hint("leave out the column with {}", exclude=[name]),
            ]  # fmt: skip
        said = place + f", column '{name}' has no value"
        return DataError(said, "fill it in", *ways, code="missing-value", column=name)

    def cells(self, table: pa.Table, place: Place) -> dict[str, Cells]:
        names = self.columns.text
        return {name: text_codes(table.column(name), name, place) for name in names}

    def labels(self, table: pa.Table, place: Place) -> np.ndarray | None:
        label, kind, name = self._label(table), self.columns.target_kind, self.columns.target
        if not label or (not self._labels_needed and _missing(label) is not None):
            return None
        if kind == "text":
            codes, values = text_codes(label, name, place)
            self._labels_kept.update(values)
            for code, value in enumerate(values):  # numpy's text, or memory, would not hold others
                if "\0" in value or len(value) > LONGEST_LABEL:
                    row = int(np.argmax(codes == code))
                    said = f", column '{name}' has a NUL character, or {len(value):,} of others"
                    ways = "correct it", "choose another label column"
                    raise DataError(place(row) + said, *ways, code="bad-value", column=name)
            return np.array(values, dtype=np.str_)[codes]
        y = np.array(label.to_numpy())
        if y.dtype.kind in "biu" and kind != "float":
            return y
        y = y.astype(np.float64)
        if (far := np.abs(y) >= EXACT).any():  # where floats no longer distinguish whole numbers
            row = int(np.argmax(far))
            raise DataError(
                place(row) + f" has the label {y[row]:g} in column '{name}'",
                "shorten it", code="not-finite" if np.isinf(y[row]) else "not-exact", column=name,
            )  # fmt: skip
        if kind == "float":
            return y
        if (np.trunc(y) != y).any():
            # The first labels were whole numbers, this one is not: all are floats from here on.
            self.columns.target_kind = "float"
            return y
        return y.astype(np.int64)

    def _with_beside(self, batch: Batch, table: pa.Table, place: Place) -> Batch:
        """Return rows with their offsets and, if they are wanted, weights, groups and counts."""
        columns, there = self.columns, {*table.column_names}
        parts = [] if columns.formula is None else columns.formula.offset_values(table)
        if columns.offset is not None and columns.offset in there:
            parts.append(numbers_in(table, columns.offset))
        if parts:
            with np.errstate(over="ignore"):
                offset = np.sum(parts, axis=0)
            gaps = np.isnan(offset)
            bad = np.isinf(offset) | (gaps & (columns.missing != "skip"))
            _refuse(bad, offset, place, columns.offset, "offset", "finite")
            others = False if batch.unanswered is None else batch.unanswered
            unanswered = gaps | others if gaps.any() else batch.unanswered
            batch = batch._replace(offset=np.where(gaps, 0.0, offset), unanswered=unanswered)
        if not self._wanted:
            return batch
        if columns.weight is not None and columns.weight in there:
            weights = numbers_in(table, columns.weight)
            bad = ~(np.isfinite(weights) & (weights >= 0))
            _refuse(bad, weights, place, columns.weight, "weight", "finite and at least 0")
            batch = batch._replace(weights=weights)
        if columns.group in there:
            batch = batch._replace(groups=self._groups(table, place))
        if columns.successes is None or columns.trials is None:
            return batch
        successes, trials = (numbers_in(table, n) for n in (columns.successes, columns.trials))
        check_counts(successes, trials, place)
        twice = batch.rows(np.repeat(np.arange(batch.size), 2))
        weights = np.column_stack([successes, trials - successes]).ravel()
        return twice._replace(y=np.tile(np.array([1, 0]), batch.size), weights=weights)

    def _groups(self, table: pa.Table, place: Place) -> np.ndarray:
        """Return a number of 64 bits for the group of each row; DataError for a row without one."""
        name, numbers = str(self.columns.group), self.columns.group_kind == "number"
        codes, values = text_codes(table.column(name), name, place)
        # The last entry is what code -1, missing, picks.
        missing = np.array([*(numbers and x.strip() in NO_NUMBER for x in values), True])[codes]
        if missing.any():
            raise DataError(
                place(int(np.argmax(missing))) + f", column '{name}' has no value",
                "every row needs a group", code="missing-value", column=name,
            )  # fmt: skip
        # Of a million groups, two share a number about once in forty million tables.
        spelled = (canonical(value.strip()) if numbers else value for value in values)
        digests = [blake2b(value.encode(), digest_size=8).digest() for value in spelled]
        return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)[codes]

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
                self.unseen[name] += count
        for number, product in enumerate(products, first + len(cells)):
            columns[:, number], values[:, number] = entries(product, self.columns, X, cells)
        starts = np.arange(rows + 1, dtype=np.int32) * columns.shape[1]
        shape = (rows, self.columns.indicators_end)
        matrix = sp.csr_matrix((values.ravel(), columns.ravel(), starts), shape=shape)
        matrix.eliminate_zeros()  # among them values without a feature, whose column is none
        matrix.sum_duplicates()  # sorts as well; only hashed values can collide
        return matrix

    def _with_words(
        self, X: np.ndarray | sp.csr_matrix, table: pa.Table, place: Place
    ) -> sp.csr_matrix:
        blocks = [X] if X.shape[1] else []
        for name, counter in self.columns.words.items():
            self.filled[name] += decoded(table.column(name)).null_count
            rows = told(counter.rows, table, name, place)
            blocks.append(rows if rows.dtype == X.dtype else rows.astype(X.dtype))
        if len(blocks) == 1:
            return blocks[0]
        joined = sp.hstack([sp.csr_matrix(block) for block in blocks], format="csr", dtype=X.dtype)
        joined.has_canonical_format = True
        return joined

    def _place(self, name: str, value: str) -> int:
        if self.columns.hash_bits is not None:
            return self.columns.hashed(f"{name}={value}")
        level = self.columns.level(name, value)
        return _UNKNOWN if level is None else self.columns.text[name].get(level, _NONE)


def _refuse(
    bad: np.ndarray, values: np.ndarray, place: Place, name: str | None, what: str, must: str
) -> None:
    """Raise DataError for the first of the values beside rows that is bad."""
    if bad.any():
        row = int(np.argmax(bad))
        missing, column = bool(np.isnan(values[row])), f", column '{name}'" * (name is not None)
        said = f"{column} has {f'no {what}' if missing else f'the {what} {values[row]:g}'}"
        raise DataError(
            place(row) + said, f"{what}s must be {must}",
            code="missing-value" if missing else "out-of-range", column=name,
        )  # fmt: skip


def _all_finite(X: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X.sum(dtype=np.float64)))


def _missing(column: pa.ChunkedArray) -> np.ndarray | None:
    """Return which rows are null or NaN; None when none is."""
    if column.null_count or pa.types.is_floating(column.type):
        gaps = column.is_null(nan_is_null=True).to_numpy()
        return gaps if gaps.any() else None
    return None


def told(method: Any, table: pa.Table, name: str, place: Place) -> Any:
    """Call a method of a counter with the texts of a column, of which missing ones are empty;
    errors name the place of bytes that are not text.
    """
    from linsep.sources.text import NotUtf8

    texts = decoded(table.column(name))
    texts = texts if texts.type == pa.string() else texts.cast(pa.large_string())
    try:
        return method(texts.fill_null("") if texts.null_count else texts)
    except NotUtf8 as error:
        raise DataError(
            place(error.text) + f", column '{name}' is not UTF-8 text ({error})",
            "correct it", code="encoding", column=name,
        ) from None  # fmt: skip
    except DataError as error:
        raise error.at(f"Column '{name}': ", column=name) from None
