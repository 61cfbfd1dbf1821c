"""Texts to rows: what :class:`linsep.Text` and text columns of tables have in common.

Hashed columns are those of scikit-learn's HashingVectorizer, others those of its CountVectorizer,
and weights those of its TfidfTransformer.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from linsep.compiled.text_counting import Hashed, Keys, Known, count_terms, weigh_rows
from linsep.compiled.text_cutting import Cutting, Texts, special_texts
from linsep.errors import DataError, hint
from linsep.parallel import thread_count
from linsep.sources.text.seen import NO_NEWS, NONE_KEPT, SeenTerms, empty_news
from linsep.sources.text.settings import ANALYZERS, NORMS, Settings
from linsep.sources.text.unicode_table import table
from linsep.sources.text.vocabulary import empty, learnt, of_terms, terms_of, texts_of

#: least first byte of a code point whose lower case needs more than a table
LEAST_SPECIAL = 0xC4
#: bytes of texts that one thread counts at a time; what is kept of terms depends on it
PIECE = 1 << 20

TextColumn: TypeAlias = pa.Array | pa.ChunkedArray


class NotUtf8(ValueError):
    """A text is not UTF-8: its number among the texts given, and the first bad byte in it."""

    def __init__(self, text: int, at: int, byte: int):
        super().__init__(f"byte 0x{byte:02x} after {at:,} others")
        self.text = text


class TextCounter:
    """Turns texts into rows of numbers.

    Parameters
    ----------
    settings : Settings, checked
    keep_terms : whether to keep the terms of hashed columns, in bounded memory, for
        :attr:`seen`

    Attributes
    ----------
    terms : list of str, the vocabulary in the order of its columns; None if hashed or not learnt
    idf : array of shape (columns,), empty unless they are used and learnt
    n_texts : number of texts learnt from
    seen : SeenTerms or None
    """

    def __init__(self, settings: Settings, keep_terms: bool = False):
        self.settings = settings
        self.terms: list[str] | None = None
        self.idf, self.n_texts = np.empty(0), 0
        self.document_frequencies = np.empty(0, np.int64)
        hashed = not settings.vocabulary
        self.seen = SeenTerms(settings.n_features) if keep_terms and hashed else None
        self._words = empty()
        self._cutting = Cutting(
            table(settings.lowercase), ANALYZERS[settings.analyzer], *settings.ngram_range
        )
        if settings.use_idf and hashed:
            self.document_frequencies = np.zeros(settings.n_features, np.int64)

    @property
    def n_columns(self) -> int:
        """Number of columns; 0 before a vocabulary is learnt."""
        if not self.settings.vocabulary:
            return self.settings.n_features
        return len(self.terms or ())

    def learn(self, column: TextColumn) -> None:
        """Add texts to the document frequencies, of a vocabulary or of hashed columns.

        Raises DataError if the vocabulary becomes too large, NotUtf8 for bytes that are no text.
        """
        self.n_texts += len(column)
        if self.settings.vocabulary:
            for first, piece in _pieces(column):
                texts = self._texts(piece)
                self._words, number, fault = learnt(self._words, texts, self._cutting)
                _check_utf8(texts, first, number, fault)
        elif self.settings.use_idf:
            _, columns, _ = self._counted(column)
            self.document_frequencies += np.bincount(columns, minlength=self.n_columns)

    def finish(self) -> None:
        """Fix the vocabulary and the weights of its terms, after all texts were learnt.

        Raises DataError if no term is left.
        """
        if self.settings.vocabulary:
            self._choose_terms()
        if self.settings.use_idf:
            self._weigh_columns()

    def _choose_terms(self) -> None:
        found = self._words.texts[: self._words.size[0]]
        low, high = (
            limit if isinstance(limit, int) else limit * self.n_texts
            for limit in (self.settings.min_df, self.settings.max_df)
        )
        chosen = (found >= low) & (found <= high)
        if not chosen.any():
            if not found.size:
                raise DataError("No word is in the texts: give texts of two letters or more.")
            raise DataError(
                f"No word is in {low:g} texts or more and in {high:g} or fewer",
                hint("change {}", min_df=None, max_df=None),
            )
        terms = terms_of(self._words, chosen)
        order = sorted(range(len(terms)), key=terms.__getitem__)
        self.restore([terms[k] for k in order], found[chosen][order], self.n_texts)

    def restore(self, terms: list[str] | None, frequencies: np.ndarray, n_texts: int) -> None:
        """Set what was learnt: terms in order (None if hashed), and in how many texts they are."""
        self.terms, self.n_texts, self.document_frequencies = terms, n_texts, frequencies
        if terms is not None:
            self._words = of_terms(terms)
        if self.settings.use_idf:
            self._weigh_columns()

    def _weigh_columns(self) -> None:
        # The order of operations is scikit-learn's, so that the last digit is the same, too.
        idf = np.full(self.n_columns, float(self.n_texts + 1))
        idf /= self.document_frequencies + 1.0
        self.idf = np.log(idf) + 1.0

    def rows(self, column: TextColumn) -> sp.csr_matrix:
        """Return the rows of texts, shape (texts, columns), float64, canonical.

        Raises NotUtf8 for bytes that are no text.
        """
        values, columns, starts = self._counted(column)
        matrix = sp.csr_matrix((len(column), self.n_columns))
        small = values.size < 1 << 31
        matrix.data, matrix.indices = values, columns if small else columns.astype(np.int64)
        matrix.indptr = starts.astype(np.int32) if small else starts
        matrix.has_canonical_format = True
        return matrix

    def _counted(self, column: TextColumn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weighed counts, columns and starts of rows, made by all threads."""
        pieces = list(_pieces(column))
        with ThreadPoolExecutor(thread_count()) as pool:
            found = list(pool.map(self._count_piece, pieces))
            stored = np.cumsum([0, *(values.size for values, *_ in found)])
            values, columns = np.empty(stored[-1]), np.empty(stored[-1], np.int32)
            starts = np.zeros(len(column) + 1, np.int64)

            def place(first: int, before: int, end: int, piece: tuple[Any, ...]) -> None:
                values[before:end], columns[before:end], ends, _ = piece
                starts[first + 1 : first + 1 + ends.size] = ends + before

            firsts = [first for first, _ in pieces]
            list(pool.map(place, firsts, stored[:-1], stored[1:], found))
        if self.seen is not None:
            for *_, news in found:
                self.seen.keep(news)
        return values, columns, starts

    def _count_piece(self, piece: tuple[int, pa.Array]) -> tuple[Any, ...]:
        """Return weighed counts, columns, ends of rows, and terms to be kept, of some texts."""
        first, column = piece
        texts, sink = self._texts(column), self._sink()
        values, columns, starts, number, fault = count_terms(
            texts, self._cutting, sink, self.n_columns
        )
        _check_utf8(texts, first, number, fault)
        if self.settings.binary:
            values[:] = 1.0
        if self.settings.sublinear_tf:
            stored = values != 0.0
            logs = np.log(np.abs(values), where=stored, out=np.zeros_like(values)) + 1.0
            values = np.where(stored, np.copysign(logs, values), 0.0)
        weigh_rows(values, columns, starts, self.idf, NORMS[self.settings.norm])
        return values, columns, starts[1:], sink.news if self.seen is not None else None

    def _sink(self) -> Any:
        keys = Keys(np.empty(0, np.uint32), np.empty(0, np.int64))
        if self.settings.vocabulary:
            return Known(keys, self._words)
        seen, news = (NONE_KEPT, NO_NEWS) if self.seen is None else (self.seen.arrays, empty_news())
        signed = self.settings.alternate_sign
        return Hashed(keys, self.n_columns, signed, seen, news)

    def _texts(self, column: pa.Array) -> Texts:
        """Return the buffers of texts, those in lower case for which a table does not suffice."""
        texts = texts_of(column)
        inside = texts.data[texts.offsets[0] : texts.offsets[-1]]
        if not self.settings.lowercase or inside.max(initial=0) < LEAST_SPECIAL:
            return texts
        special = special_texts(texts)
        if not special.any():
            return texts
        found = column.cast(pa.large_binary()).to_pylist()
        for number in np.flatnonzero(special):
            with suppress(UnicodeDecodeError):  # the loop finds the same and says where
                found[number] = found[number].decode().lower().encode()
        return texts_of(pa.array(found, pa.large_binary()))


def _pieces(column: TextColumn) -> Iterator[tuple[int, pa.Array]]:
    """Yield the number of its first text and about :data:`PIECE` bytes of texts, or one text."""
    first = 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        offsets = texts_of(chunk).offsets
        steps = np.arange(offsets[0] + PIECE, offsets[-1], PIECE)
        edges = np.unique([0, *np.searchsorted(offsets, steps), len(chunk)]).tolist()
        for begin, end in pairwise(edges):
            yield first + begin, chunk.slice(begin, end - begin)
        first += len(chunk)


def _check_utf8(texts: Texts, first: int, number: int, fault: int) -> None:
    """Raise NotUtf8 if there is a fault in a text; ``first`` is the number of the first."""
    if fault:
        at = -1 - fault
        raise NotUtf8(first + number, int(at - texts.offsets[number]), int(texts.data[at]))
