"""Encode the columns of a table as features and labels, after a survey of all rows where means,
spreads or the values of text are needed.

Numeric and bool columns are one feature each, in file order. Behind them a text column is one
feature per value, named ``column=value``, in the order of the columns and, within one, of the
values (by code point). A reference level has no feature, and rare values may share one. With
``hash_bits`` values share 2**hash_bits places instead: a value's place is the low bits of the
CRC-32 of ``column=value`` in UTF-8, the same in every process and version. Products of columns are
next, and columns whose words are features come last. Where ``missing`` is "indicator", missing text
is a value, and a column of numbers that misses some has that value alone.
"""

from collections import Counter
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.errors import DataError, Hint, hint
from linsep.sources.formats import FILLED
from linsep.sources.tables.columns import NONE, UNKNOWN, Columns, Key, Product
from linsep.sources.tables.spellings import NO_NUMBER, canonical
from linsep.sources.tables.table_file import (
    Place,
    as_text,
    decoded,
    numbers_in,
    plain_values,
    text_codes,
)
from linsep.validation.checks import EXACT, check_counts

#: most characters of a label
LONGEST_LABEL = 1000
#: rows that are assembled from columns at once, so that they stay in the processor's cache
ROWS_AT_ONCE = 4096
#: the levels of missing values, and of all values of few rows
MISSING, RARE = "(missing)", "(rare)"
#: text columns with more values than this are hashed or left out, so that memory stays flat
MOST_VALUES = 1 << 20
#: the number of the value of a column of text in each row, -1 where it is missing, and the values
Cells = tuple[np.ndarray, list[Any]]


class Encoder:
    """Turns tables into batches of one reading.

    Parameters
    ----------
    columns : Columns
    wanted : whether labels, weights and groups must be there

    """

    def __init__(self, columns: Columns, wanted: bool):
        self.columns = columns
        #: unknown values met, and missing ones that were replaced, by column
        self.unseen, self.filled = Counter[str](), Counter[str]()
        #: classes of all rows, and of those that miss no value, where others are left out
        self.met, self.kept = set[Any](), set[Any]()
        self._wanted, self._labels_needed = wanted, wanted and columns.successes is None

    def encode(self, table: pa.Table, place: Place) -> tuple[Batch, np.ndarray]:
        """Return the rows that are kept, and which rows of the table they are. Features are an
        array, or a canonical csr_matrix when there are text columns or words; a row of counts is
        two rows: successes of class 1, and failures of class 0, with their numbers as weights.
        """
        columns, label = self.columns, self._label(table)
        table, place, X, rows, unanswered = self.selected(table, place)
        if label and columns.missing == "drop" and columns.target_kind == "text":
            self.met.update(label.unique().to_pylist())
            self.kept.update(label.take(pa.array(rows)).unique().to_pylist())
        y, cells = self.labels(table, place), self.cells(table, place, X)
        if columns.missing in FILLED and (holes := np.isnan(X)).any():
            fill = [columns.means.get(name, 0.0) for name in columns.numeric]
            np.copyto(X, np.array(fill, X.dtype), where=holes)
            self.filled.update(dict(zip(columns.numeric, holes.sum(axis=0).tolist(), strict=True)))
        if columns.missing not in ("skip", "indicator"):
            self.filled.update({name: int((codes < 0).sum()) for name, (codes, _) in cells.items()})
        if columns.scale:
            center, spread = np.array(list(columns.scale.values()), X.dtype).T
            X -= center
            X /= spread
        whole = self._with_indicators(X, cells) if cells else X
        if columns.products and not cells:
            made = [self._entries(one, X, {})[1] for one in columns.products]
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

    def _numbers(self, table: pa.Table, place: Place) -> np.ndarray:
        X = np.empty((table.num_rows, len(self.columns.numeric)), self.columns.dtype)
        kind = pa.float32() if self.columns.dtype == "float32" else pa.float64()
        names, start = list(self.columns.numeric), 0
        values = [plain_values(table.column(name)).cast(kind, safe=False) for name in names]
        for batch in pa.Table.from_arrays(values, names).to_batches(max_chunksize=ROWS_AT_ONCE):
            some = slice(start, start + batch.num_rows)
            for number, column in enumerate(batch.columns):
                X[some, number] = column.to_numpy(zero_copy_only=False)
            start = some.stop
        for number, name in enumerate(names) if not _all_finite(X) else ():
            ways = "replace the value", "leave out the row"
            forbid(np.isinf(X[:, number]), place, name, "is infinite", *ways, code="not-finite")
        return X

    def _label(self, table: pa.Table) -> pa.ChunkedArray | None:
        name = self.columns.target
        return plain_values(table.column(name)) if name in table.column_names else None

    def _complete(self, table: pa.Table, X: np.ndarray, place: Place) -> np.ndarray | None:
        """Return which rows miss no value that they need, None for all."""
        columns, formula, label = self.columns, self.columns.formula, self._label(table)
        asked, holes = np.ones(table.num_rows, bool), dict[str, np.ndarray]()
        if label is not None and self._labels_needed:
            asked = ~_missing(label)
        if "drop" not in (columns.missing, columns.unlabeled):
            drop = hint("leave such rows out with {}", unlabeled="drop")
            said, code = "has no label", "missing-value"
            forbid(~asked, place, columns.target, said, "fill it in", drop, code=code)
        if columns.missing in {"error", "drop", "skip"}:
            names = [*columns.text, *(formula.inputs if formula else ())]
            gaps = {name: _missing(plain_values(table.column(name))) & asked for name in names}
            if not _all_finite(X):
                gaps |= {name: np.isnan(X[:, k]) & asked for k, name in enumerate(columns.numeric)}
            holes = {name: gap for name, gap in gaps.items() if gap.any()}
        if holes and columns.missing == "error":
            _, name = min((int(np.argmax(gap)), name) for name, gap in holes.items())
            ways = [hint("leave out such rows with {}", missing="drop")]
            if not self._wanted:
                ways = [hint("leave its prediction empty with {}", missing="skip")]
            elif formula is None:
                ways = [
                    hint("replace it by 0 with {}", missing="zero"),
                    hint("by the column mean with {}", missing="mean"), *ways,
                    hint("leave out the column with {}", exclude=[name]),
                ]  # fmt: skip
            said, code = "has no value", "missing-value"
            forbid(holes[name], place, name, said, "fill it in", *ways, code=code)
        complete = ~np.logical_or.reduce([~asked, *holes.values()])
        return None if complete.all() else complete

    def cells(self, table: pa.Table, place: Place, X: np.ndarray) -> dict[str, Cells]:
        cells, numeric = dict[str, Cells](), list(self.columns.numeric)
        for name in self.columns.text:
            column = table.column(name)
            if name in numeric:
                cells[name] = np.isnan(X[:, numeric.index(name)]) - 1, [MISSING]
                continue
            if self.columns.missing == "indicator":
                column = as_text(column).fill_null(MISSING)
            cells[name] = text_codes(column, name, place)
        return cells

    def labels(self, table: pa.Table, place: Place) -> np.ndarray | None:
        label, kind, name = self._label(table), self.columns.target_kind, self.columns.target
        if not label or (not self._labels_needed and _missing(label).any()):
            return None
        if kind == "text":
            codes, values = text_codes(label, name, place)
            # Numpy's text, or memory, would not hold others.
            odd = np.array(["\0" in value or len(value) > LONGEST_LABEL for value in values])
            said = f"has more than {LONGEST_LABEL:,} characters, or a NUL character"
            ways = "correct it", "choose another label column"
            forbid(odd[codes], place, name, said, *ways, code="bad-value")
            return np.array(values, dtype=np.str_)[codes]
        y = np.array(label.to_numpy())
        if y.dtype.kind in "biu" and kind != "float":
            return y
        y = y.astype(np.float64)
        forbid(np.isinf(y), place, name, "is infinite", "correct it", code="not-finite")
        far = np.abs(y) >= EXACT  # where floats no longer distinguish whole numbers
        forbid(far, place, name, "is a label of too many digits", "shorten it", code="not-exact")
        if kind != "float" and (np.trunc(y) == y).all():
            return y.astype(np.int64)
        self.columns.target_kind = "float"  # from here on, also where the first were whole
        return y

    def _with_beside(self, batch: Batch, table: pa.Table, place: Place) -> Batch:
        columns, there = self.columns, {*table.column_names}
        parts = [] if columns.formula is None else columns.formula.offset_values(table)
        if columns.offset is not None and columns.offset in there:
            parts.append(numbers_in(table, columns.offset))
        if parts:
            with np.errstate(over="ignore"):
                offset = np.sum(parts, axis=0)
            gaps, name = np.isnan(offset), columns.offset or "offset"
            if columns.missing != "skip":
                forbid(gaps, place, name, "has no value", "fill it in", code="missing-value")
            forbid(np.isinf(offset), place, name, "is infinite", "correct it", code="not-finite")
            others = False if batch.unanswered is None else batch.unanswered
            unanswered = gaps | others if gaps.any() else batch.unanswered
            batch = batch._replace(offset=np.where(gaps, 0.0, offset), unanswered=unanswered)
        if not self._wanted:
            return batch
        if columns.weight is not None and columns.weight in there:
            weights = numbers_in(table, columns.weight)
            name, ways = columns.weight, ["weights must be finite and at least 0"]
            forbid(np.isnan(weights), place, name, "has no value", *ways, code="missing-value")
            bad = ~(np.isfinite(weights) & (weights >= 0))
            said = "has the weight {:g}"
            forbid(bad, place, name, said, *ways, code="out-of-range", values=weights)
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
        name, numbers = str(self.columns.group), self.columns.group_kind == "number"
        codes, values = text_codes(table.column(name), name, place)
        # The last entry is what code -1, missing, picks.
        missing = np.array([*(numbers and x.strip() in NO_NUMBER for x in values), True])[codes]
        said, way = "has no value", "every row needs a group"
        forbid(missing, place, name, said, way, code="missing-value")
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
            places = [*(self.columns.place_of(name, value) for value in distinct), NONE]
            found = np.array(places, np.int32)[codes]
            columns[:, number] = found
            values[found < 0, number] = 0
            if count := int((found == UNKNOWN).sum()):
                self.unseen[name] += count
        for number, product in enumerate(products, first + len(cells)):
            columns[:, number], values[:, number] = self._entries(product, X, cells)
        starts = np.arange(rows + 1, dtype=np.int32) * columns.shape[1]
        shape = (rows, self.columns.indicators_end)
        matrix = sp.csr_matrix((values.ravel(), columns.ravel(), starts), shape=shape)
        matrix.eliminate_zeros()  # among them values without a feature, whose column is none
        matrix.sum_duplicates()  # sorts as well; only hashed values can collide
        return matrix

    def _entries(
        self, product: Product, X: np.ndarray, cells: dict[str, Cells]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the feature of a product that is not zero in each row, and its value."""
        names = list(self.columns.numeric)
        numbers = [X[:, names.index(name)] for name in product.columns if name in names]
        with np.errstate(over="ignore"):
            values = np.prod(numbers, axis=0)
        codes, keys = crossed(product, cells, X.shape[0])
        places = [*(self.columns.place_of_pair(product, key) for key in keys), NONE]
        found = np.array(places, np.int64)[codes]
        return found, np.where(found < 0, 0, values)

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


def forbid(
    bad: np.ndarray, place: Place, name: str | None, said: str, *ways: str | Hint, code: str,
    values: Any = None,
) -> None:  # fmt: skip
    """Raise DataError for the first bad row, whose value in a column stands for {}."""
    if bad.any():
        row = int(np.argmax(bad))
        said = f", column '{name}' {said if values is None else said.format(values[row])}"
        raise DataError(place(row) + said, *ways, code=code, column=name)


def _all_finite(X: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X.sum(dtype=np.float64)))


def _missing(column: pa.ChunkedArray) -> np.ndarray:
    return column.is_null(nan_is_null=True).to_numpy()


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


def crossed(product: Product, cells: dict[str, Cells], rows: int) -> Cells:
    """Return the values of the columns of text in each row, together: keys, as cells."""
    codes, keys = np.zeros(rows, np.int64), list[Key]([()])
    for name in product.texts:
        more, values = cells[name]
        width = max(1, len(values))
        pairs = np.where((codes < 0) | (more < 0), -1, codes * width + more)
        known, codes = np.unique(pairs, return_inverse=True)
        codes = codes - (-1 in known)
        keys = [(*keys[k // width], values[k % width]) for k in known.tolist() if k >= 0]
    return codes, keys


class Moments:
    """Counts, means and spreads of ``width`` columns, ignoring NaN; sums are of blocks of rows from
    the first one, so that no digit depends on the batches.
    """

    BLOCK = 1024

    def __init__(self, width: int):
        self.counts = np.zeros(width, np.int64)
        self._sums, self._squares = np.zeros(width), np.zeros(width)
        self._lows, self._highs = np.full(width, np.inf), np.full(width, -np.inf)
        self._open = np.empty((0, width))

    def add(self, X: np.ndarray) -> None:
        rows = np.concatenate([self._open, X]) if len(self._open) else X
        whole = len(rows) // self.BLOCK * self.BLOCK
        for first in range(0, whole, self.BLOCK):
            self._add(rows[first : first + self.BLOCK])
        self._open = rows[whole:].copy()

    def _add(self, X: np.ndarray) -> None:
        X = X.astype(np.float64, copy=False)
        self._lows = np.fmin(self._lows, np.fmin.reduce(X, axis=0))
        self._highs = np.fmax(self._highs, np.fmax.reduce(X, axis=0))
        with np.errstate(all="ignore"):
            counts = len(X) - np.isnan(X).sum(axis=0)
            sums = np.nansum(X, axis=0)
            means = sums / np.maximum(counts, 1)
            # Chan, Golub and LeVeque (1979): squares about the mean of both parts.
            between = (means - self._means()) ** 2 * counts * self.counts
            self._squares += np.nansum((X - means) ** 2, axis=0)
            self._squares += between / np.maximum(counts + self.counts, 1)
        self._sums += sums
        self.counts += counts

    def _means(self) -> np.ndarray:
        return self._sums / np.maximum(self.counts, 1)

    def described(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the means, 0 without values; the standard deviations, 1 if 0 or not finite; and
        the counts of all rows, after the last one.
        """
        if len(self._open):
            self._add(self._open)
        # A sum of equal values is rounded: their mean is that value.
        means = np.where(self._lows == self._highs, self._lows, self._means())
        spreads = np.sqrt(self._squares / np.maximum(self.counts, 1))
        usable = (self._lows < self._highs) & (spreads > 0) & np.isfinite(spreads)
        return means, np.where(usable, spreads, 1.0), self.counts


class Survey:
    """Takes all rows of a table once and completes its columns; ``name`` is for errors."""

    def __init__(self, encoder: Encoder, name: str, moments: bool, min_count: int | None):
        self._columns = columns = encoder.columns
        self._encoder, self._name, self._min_count = encoder, name, min_count or 1
        self._moments = Moments(len(columns.numeric)) if moments else None
        named = [*columns.text, *(p.name for p in columns.products if p.texts)]
        self._counts = {name: Counter[Any]() for name in named if columns.hash_bits is None}

    def take(self, table: pa.Table, place: Place) -> int:
        """Count values, learn the words of texts, and add up numbers in the rows that an encoder
        keeps; return how many these are.
        """
        columns = self._columns
        table, place, X, rows, _ = self._encoder.selected(table, place)
        for name, counter in columns.words.items():
            if counter.learns:
                told(counter.learn, table, name, place)
        self._encoder.labels(table, place)
        if columns.formula is not None:
            columns.formula.take(table)
        elif self._moments is not None:
            self._moments.add(X)
        cells = self._encoder.cells(table, place, X)
        cells |= {p.name: crossed(p, cells, len(rows)) for p in columns.products}
        for name, known in self._counts.items():
            codes, values = cells[name]
            counts = np.bincount(codes[codes >= 0], minlength=len(values)).tolist()
            known.update({value: n for value, n in zip(values, counts, strict=True) if n})
            if len(known) > MOST_VALUES:
                what = "Column" if name in columns.text else "The product"
                raise DataError(
                    f"{what} '{name}' has more than {MOST_VALUES} different values",
                    hint("leave it out with {}", exclude=[name]),
                    hint("hash the values with {}", hash_bits=20),
                    code="too-large", column=name,
                )  # fmt: skip
        return len(rows)

    def finish(self, scale: bool, reference_level: Any) -> None:
        columns = self._columns
        for name, counter in columns.words.items():
            try:
                counter.finish()
            except DataError as error:
                raise error.at(f"{self._name}, column '{name}': ", column=name) from None
        if columns.formula is not None:
            features = columns.formula.learn()
            columns.numeric = dict.fromkeys(columns.formula.names, "number")
            if self._moments is not None:
                self._moments = Moments(len(columns.numeric))
                for X in features:
                    self._moments.add(X)
        described = zip(*self._moments.described(), strict=True) if self._moments else ()
        for name, (mean, spread, values) in zip(columns.numeric, described, strict=False):
            if columns.missing in ("mean", "indicator"):
                if not values:
                    said = f"{self._name}, column '{name}' has no values and therefore no mean"
                    leave = hint("leave it out with {}", exclude=[name])
                    raise DataError(said, leave, code="missing-value", column=name)
                columns.means[name] = float(mean)
            if scale:
                columns.scale[name] = [float(mean), float(spread)]
        place = len(columns.numeric)
        for name in columns.text if columns.hash_bits is None else ():
            levels = self._levels(name, reference_level)
            columns.text[name] = {value: place + k for k, value in enumerate(levels)}
            place += len(levels)
        columns.text = {  # but for numbers of which none is missing
            name: places for name, places in columns.text.items()
            if places or name not in columns.numeric or columns.hash_bits is not None
        }  # fmt: skip
        columns.add_places({name: {*rows} for name, rows in self._counts.items()}, place)
        if not (columns.indicators_end or columns.words or columns.formula):
            said = f"{self._name} has no features: every column has the same text in all rows"
            raise DataError(said, code="no-columns")

    def _levels(self, name: str, reference_level: Any) -> list[str]:
        """Return the values of a text column that have indicators, in the order of these:
        categories in theirs, others by code point, and last the one of all rare values.
        """
        columns, rows, level = self._columns, self._counts[name], RARE
        if name in columns.numeric:
            return [*rows]
        few = {value for value, n in rows.items() if n < self._min_count}
        ranks = {value: rank for rank, value in enumerate(columns.levels.get(name, ()))}
        others = len(ranks)
        if columns.missing == "indicator":
            ranks[MISSING] = others + 1
        levels = sorted(rows.keys() - few, key=lambda v: (ranks.get(v, others), v))
        while level in rows:
            level = f"({level})"
        if few:
            about = {"values": sorted(few), "min_count": self._min_count}
            columns.rare[name] = {"level": level} | about
            levels.append(level)
        if reference_level is None or not levels:
            return levels
        value = {} if reference_level == "first" else reference_level
        value = value.get(name, levels[0])
        if value not in levels:
            some = ", ".join(f"'{known}'" for known in levels[:20])
            raise DataError(
                f"{self._name}, column '{name}' has no value '{value}' to be the reference level, "
                f"only {some}",
                hint("choose one of these with {}", reference_level=None),
                code="unknown-value", column=name, option="reference_level", value=value,
            )  # fmt: skip
        columns.reference[name] = value
        return [other for other in levels if other != value]
