"""Rows and labels in lanes, which can be read many times; the values of their constraints in
floats, with rounding bounds, and in integers times a fraction.
:mod:`linsep.certificate.constraints` defines the constraints.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch, joined
from linsep.certificate.canonical import Block, labeled_rows, padded, same_as_doubles
from linsep.certificate.constraints import (
    Constraints,
    Row,
    Subject,
    Weights,
    constraints_of,
    floats_of,
)
from linsep.errors import DataError, NoRows
from linsep.lanes import in_lanes
from linsep.separability.time_limit import within_time
from linsep.validation.checks import refuse_continuous

#: numbers in a lane of dense rows: few enough to stay in the processor's cache
LANE_VALUES = 1 << 18
#: rows in a lane of sparse rows
SPARSE_ROWS = 1 << 15
#: most numbers in some rows that are copied
MOST_COPIED = 1 << 23


def doubles(X: Any) -> Any:
    """Return rows in float64; sparse ones, which hold no longer numbers, as they are."""
    return X if sp.issparse(X) else X.astype(np.float64, copy=False)


def sides_of(subject: Subject) -> np.ndarray:
    """Return the side of each class of a question of two sides: 1, -1, or 0 for no side."""
    return np.array([int(C[0, 0]) if len(C) else 0 for C in subject.signs])


def exact_row(X: Any, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and exact values of a row: floats if these are exact, whatever type other
    rows need.
    """
    if sp.issparse(X):
        start, end = X.indptr[row : row + 2]
        return X.indices[start:end], X.data[start:end]
    values = X[row]
    if values.dtype == object and (values == (floats := doubles(values))).all():
        values = floats
    return np.arange(len(values)), values


class Data:
    """Rows and labels that can be read many times.

    Each call of ``batches`` returns an iterator over all rows, of the full width, or a list of
    whole lanes. Their y are codes, indices into the sorted labels ``classes``; X holds Python
    numbers where float64 is not exact.
    """

    def __init__(
        self,
        batches: Callable[[], Iterable[Batch]],
        classes: np.ndarray,
        shape: tuple[int, int],
        names: Any,
        sparse: bool,
    ) -> None:
        self.classes, self._batches = classes, batches
        self.n_rows, self.n_features = shape
        self.names = None if names is None else [str(name) for name in names]
        self.sparse = sparse

    def lanes(self) -> Iterator[Batch]:
        """Yield all rows in order, in blocks that stay in the processor's cache."""
        few = SPARSE_ROWS if self.sparse else max(1, LANE_VALUES // max(1, self.n_features))
        parts = self._batches()
        if isinstance(parts, list):
            return (lane for part in parts for lane in part.cut(few))
        return in_lanes(parts, few)

    def coded(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield the rows as given, with the codes of their labels."""
        for batch in self._batches():
            yield batch.X, batch.y

    def labels(self) -> list[Any]:
        """Return the classes as Python values; integral floats become ints, as in files."""
        plain = self.classes.tolist()
        return [int(x) if isinstance(x, float) and x.is_integer() else x for x in plain]

    def some(self, numbers: np.ndarray) -> list[Batch]:
        """Return the rows with these sorted numbers."""
        found = []
        for lane in self.lanes():
            start, stop = np.searchsorted(numbers, [lane.first, lane.first + lane.size])
            if start < stop:
                found.append(lane.rows(numbers[start:stop] - lane.first))
            if stop == len(numbers):
                break
        return found

    def rows(self, numbers: np.ndarray) -> Iterator[tuple[int, Batch, int]]:
        """Yield the rows with these sorted numbers as (number, batch, index in the batch)."""
        places = ((batch, place) for batch in self.some(numbers) for place in range(batch.size))
        for number, (batch, place) in zip(numbers.tolist(), places, strict=False):
            yield number, batch, place

    def with_columns(self, columns: Sequence[int]) -> "Data":
        """Return all rows, in memory, with some of the columns."""
        rows = joined(list(self._batches()))
        names = None if self.names is None else [self.names[j] for j in columns]
        return self.of(rows._replace(X=rows.X[:, list(columns)]), names)

    def of(self, rows: Batch, names: Any) -> "Data":
        """Return other rows, in memory, with the same labels."""
        return Data(lambda: [rows], self.classes, rows.X.shape, names, self.sparse)


def off_boundary(
    data: Data, subject: Subject, boundary: Sequence[int] | np.ndarray
) -> tuple[Data, np.ndarray]:
    """Return the rows of two sides that are not on the boundary, and their numbers; all rows if
    they are too many, or if a row has several constraints.
    """
    every, on = np.arange(data.n_rows), np.array(boundary, dtype=int)
    if subject.blocks > 1:
        return data, every
    found, numbers, size = [], [], 0
    for lane in within_time(data.lanes()):
        off = subject.active[lane.y]
        ends = np.searchsorted(on, [lane.first, lane.first + lane.size])
        off[on[slice(*ends)] - lane.first] = False
        found.append(lane.rows(off))
        numbers.append(lane.first + np.flatnonzero(off))
        size += found[-1].X.size
        if size > MOST_COPIED:
            return data, every
    return data.of(joined(found)._replace(first=0), data.names), np.concatenate(numbers)


def data_of(X: Any, y: Any = None) -> Data:
    """Open arrays, a data frame, a sparse matrix, or a :mod:`linsep.sources` source (without y).

    Numbers are kept exactly; see :mod:`linsep.certificate.canonical`.
    """
    if isinstance(X, Data):
        return X
    if y is None and hasattr(X, "batches"):
        return _from_source(X)
    rows, classes, codes, names = labeled_rows(X, y)
    refuse_continuous(classes)
    sparse = sp.issparse(rows)
    if not sparse and rows.dtype.itemsize < 8 and rows.size <= MOST_COPIED:
        rows = doubles(rows)  # exactly, and once instead of in every pass
    whole = Batch(rows, codes)
    return _of_two_classes(Data(lambda: [whole], classes, rows.shape, names, sparse))


def _of_two_classes(data: Data) -> Data:
    if len(data.classes) < 2:
        (only,) = data.labels()
        raise DataError(
            f"All rows have the label {only}: separation needs at least two classes.",
            code="class-count", value=only,
        )  # fmt: skip
    return data


def weights_of(source: Any) -> np.ndarray | None:
    """Return the weights of all rows of a source; None if all are 1."""
    if not hasattr(source, "exactly"):
        return None
    found = [batch.weights for batch in source.exactly()]
    given = [weights for weights in found if weights is not None]
    return np.concatenate(given) if given else None


def _from_source(source: Any) -> Data:
    """Read a source once for its classes and width; keep its rows in memory if they are few."""

    def exact_batches() -> Iterator[Batch]:
        """Yield the rows, as Python's numbers where doubles are too short."""
        for X, y, first, *_ in source.exactly():
            short = X.dtype == object and same_as_doubles(X)
            yield Batch(X.astype(np.float64) if short else X, y, first)

    kept: list[Batch] | None = []
    labels: set[Any] = set()
    n_rows = width = size = 0
    sparse = False
    for X, y, first, *_ in exact_batches():
        refuse_continuous(y, lambda row: source.where(first + row))  # noqa: B023
        labels.update(y.tolist())
        n_rows, width, sparse = first + X.shape[0], max(width, X.shape[1]), sp.issparse(X)
        size += X.data.nbytes * (1 + 4 * (X.dtype == object)) + (X.indices.nbytes if sparse else 0)
        if kept is not None:
            kept.append(Batch(X.copy(), y.copy(), first))
            kept = kept if size <= source.memory_bytes else None
    if not n_rows:
        raise NoRows(f"All rows of {source.name} have weight 0: check the weights.")
    classes = np.array(sorted(labels))

    def coded() -> Iterator[Batch]:
        for X, y, first, *_ in exact_batches() if kept is None else kept:
            yield Batch(padded(X, width), np.searchsorted(classes, y), first)

    names = source.feature_names
    data = _of_two_classes(Data(coded, classes, (n_rows, width), names, sparse))
    if kept is not None:
        lanes = list(data.lanes())
        data = Data(lambda: lanes, classes, (n_rows, width), names, sparse)
    return data


class Scanned(NamedTuple):
    """The constraints of a lane, and their values at some weights in floats: the exact value lies
    within ``bound`` of ``value``.
    """

    batch: Batch
    given: Constraints
    value: np.ndarray
    bound: np.ndarray

    @property
    def norm(self) -> np.ndarray:
        """The length of [x; 1] of the row of each constraint."""
        lengths = self.given.block.lengths[self.given.place]
        return np.hypot(lengths, float(self.given.subject.fit_intercept))

    def exactly(self, places: np.ndarray) -> Iterator[tuple[int, tuple[Row, Fraction]]]:
        """Yield some constraints as (place, (integers, factor))."""
        return ((k, self.given.exact(k)) for k in places.tolist())


def scan(data: Data, weights: Weights) -> Iterator[Scanned]:
    """Yield each lane with the values of its constraints."""
    for lane in within_time(data.lanes()):
        # Converted once a lane: numbers that are not doubles are Python's objects.
        given = constraints_of(weights.subject, Block(lane.X, lane.y, lane.first), lane.y)
        if given.place.size:
            yield Scanned(lane, given, *weights.products(given))


def constraints(
    subject: Subject, batch: Batch, rows: np.ndarray, which: np.ndarray
) -> sp.csr_matrix:
    """Return some constraints of a batch in floats, as a matrix without stored zeros."""
    return subject.matrix(doubles(batch.X[rows]), subject.signs_of(batch.y[rows], which))


def root_above(square: Fraction) -> float:
    """Return the square root rounded up, for numbers of any size."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    try:
        root = math.ldexp(math.sqrt(square / Fraction(4) ** half) * (1 + 1e-15), half)
    except OverflowError:
        return math.inf
    return math.nextafter(root, math.inf) if square else 0.0


def sparse_floats(rows: list[Row], size: int) -> sp.csr_matrix:
    """Return rows as floats, each divided by a power of two near its largest entry."""
    starts = np.cumsum([0, *map(len, rows)])
    columns = [j for row in rows for j in row]
    return sp.csr_matrix(
        ([x for row in rows for x in floats_of(row.values())], columns, starts),
        shape=(len(rows), size),
    )
