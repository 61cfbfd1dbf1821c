"""What a run is fed: passes over rows, whatever they are stored in."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from linsep.compiled.packing import packed
from linsep.compiled.rows import Dense, as_rows
from linsep.engine.order import Mixing, hold_out, shuffled

NO_IMPORTANCE = np.empty(0)


def summed(X: Any) -> Any:
    """X with no column twice in a row; itself where that is so."""
    if not sp.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


class Visit(NamedTuple):
    """Rows to walk: where they are, what they are, in which order.

    ``order`` lists row numbers within ``rows`` (a range, or an array where some are left out or
    shuffled). ``first`` is the number of the first row within the whole, None where rows were
    drawn from all over.
    """

    rows: Any
    codes: np.ndarray
    importance: np.ndarray
    order: np.ndarray | range
    n_features: int
    first: int | None


class Feed(Protocol):
    """Passes over the rows of one data set; ``n_rows`` is None until they are all known.
    ``shuffle`` says whether passes after the first have an order of their own, ``reads`` whether
    rows are waited for because they are read, ``of_features`` whether weights are those of
    features, not of examples.
    """

    n_rows: int | None
    shuffle: bool
    reads: bool
    of_features: bool

    def visits(self, pass_number: int) -> Iterator[Visit]:
        """The rows to learn from, in the order of that pass."""
        ...

    def held_out(self) -> Iterator[Visit]:
        """The rows kept from learning, in given order."""
        ...

    def learnt(self) -> Iterator[Visit] | None:
        """The rows learnt from, in given order; None when they would have to be parsed again."""
        ...


class HoldOut:
    """Draws the held-out rows, the same whether rows come at once or in batches."""

    def __init__(self, fraction: float, n_classes: int, seed: int):
        self.fraction = fraction
        self.start = np.random.default_rng([seed, n_classes]).random(n_classes)
        self.seen = np.zeros(n_classes, dtype=np.int64)

    def draw(self, codes: np.ndarray) -> np.ndarray:
        """Mask of the held-out rows among the next rows."""
        return hold_out(codes, self.fraction, self.start, self.seen)


class MemoryFeed:
    """In which order rows in memory are visited.

    Parameters
    ----------
    codes : int32 class of each row
    importance : float64 weight of each row or empty; rows of weight 0 are never visited
    seed, shuffle : passes after the first are shuffled if asked to
    hold_out : who draws the held-out rows, or None to learn from all
    """

    reads, of_features = False, True

    def __init__(
        self,
        codes: np.ndarray,
        importance: np.ndarray,
        seed: int,
        shuffle: bool,
        hold_out: HoldOut | None = None,
    ):
        self.codes, self.importance, self.seed, self.shuffle = codes, importance, seed, shuffle
        self.n_rows: int | None = codes.size
        self._learnable = self._held_out = None
        if hold_out is not None or importance.size:
            held = hold_out.draw(codes) if hold_out else np.zeros(codes.size, dtype=bool)
            counted = importance > 0 if importance.size else np.ones(codes.size, dtype=bool)
            self._learnable, self._held_out = counted & ~held, np.flatnonzero(counted & held)
        self._hands = 0

    def order(self, pass_number: int) -> np.ndarray | range:
        """The rows to learn from, shuffled after the first pass if asked to."""
        if not (self.shuffle and pass_number):
            return (
                range(self.codes.size)
                if self._learnable is None
                else np.flatnonzero(self._learnable)
            )
        if not self._hands:
            self._hands = Mixing().see(self.codes).hands
        order = shuffled(self.codes.size, self.seed, pass_number, self._hands)
        return order if self._learnable is None else order[self._learnable[order]]

    def held_out_rows(self) -> np.ndarray | range:
        """The rows kept from learning, in given order."""
        return range(0) if self._held_out is None else self._held_out


class ArrayFeed(MemoryFeed):
    """Passes over rows in memory.

    Parameters
    ----------
    X : C-contiguous array or CSR matrix, float32 or float64, not copied
    codes, importance, seed, shuffle, hold_out : see :class:`MemoryFeed`
    unit : whether rows are seen as if scaled to length 1
    """

    def __init__(
        self,
        X: Any,
        codes: np.ndarray,
        importance: np.ndarray,
        seed: int,
        shuffle: bool,
        hold_out: HoldOut | None = None,
        unit: bool = False,
    ):
        super().__init__(codes, importance, seed, shuffle, hold_out)
        self.rows, self.n_features = as_rows(X, unit), X.shape[1]

    def pack(self) -> None:
        """Pack dense rows that are mostly zeros: passes of several classes then take a third of the
        time. Not where lengths matter, which differ in the last bit.
        """
        if isinstance(self.rows, Dense):
            self.rows = packed(self.rows)

    def _visit(self, order: np.ndarray | range) -> Iterator[Visit]:
        yield Visit(self.rows, self.codes, self.importance, order, self.n_features, 0)

    def visits(self, pass_number: int) -> Iterator[Visit]:
        """One visit: all learnable rows, in the order of that pass."""
        return self._visit(self.order(pass_number))

    def held_out(self) -> Iterator[Visit]:
        """One visit: the held-out rows in given order."""
        return self._visit(self.held_out_rows())

    def learnt(self) -> Iterator[Visit]:
        """One visit: the learnable rows in given order."""
        return self._visit(self.order(0))
