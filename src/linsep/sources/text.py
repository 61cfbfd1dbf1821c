"""Texts to rows: :class:`linsep.Text`, a scikit-learn transformer, and the code that it shares with
text columns of tables.

Hashed columns match scikit-learn's HashingVectorizer, other columns its CountVectorizer, and
weights its TfidfTransformer.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from itertools import pairwise
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from linsep._system.threads import thread_count
from linsep.compiled.rows import read_only
from linsep.compiled.text_counting import (
    ByHash,
    ByVocabulary,
    TextColumns,
    Vocabulary,
    add_terms,
    count_terms,
    learn_terms,
    rebuilt,
    weigh_rows,
)
from linsep.compiled.text_cutting import (
    BLANK,
    CHAR,
    CHAR_WB,
    LETTER,
    WORD,
    Cutting,
    Texts,
    special_texts,
)
from linsep.errors import DataError, ParameterError, hint
from linsep.parameters import HasParameters, check_parameters, parameter
from linsep.sources.base import as_matrix

ANALYZERS = {"word": WORD, "char": CHAR, "char_wb": CHAR_WB}
NORMS = {None: 0, "l1": 1, "l2": 2}
#: most words or characters of an n-gram
LONGEST = 100
#: most hashed columns, as in scikit-learn
MOST_COLUMNS = (1 << 31) - 1


class Text(HasParameters, TransformerMixin, BaseEstimator):
    """Words and n-grams of texts as features, hashed or with a vocabulary.

    For the same settings, columns and values are the same as in scikit-learn's HashingVectorizer
    (the default), CountVectorizer (``vocabulary=True, norm=None``) and TfidfVectorizer
    (``vocabulary=True, use_idf=True``).

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}, default "word"
        Unit of n-grams: words (two or more letters, digits or underscores), characters, or
        characters within a word, with a blank before and after it.
    ngram_range : (int, int), default (1, 1)
        Fewest and most words or characters of an n-gram.
    lowercase : bool, default True
        Whether to convert texts to lower case first.
    vocabulary : bool, default False
        Whether ``fit`` learns the terms and gives each a column. False hashes them (MurmurHash3):
        there is no vocabulary, and memory does not grow with the texts.
    n_features : int, default 2**18
        Number of hashed columns.
    alternate_sign : bool, default True
        Whether the hash also determines the sign (1 or -1) of a term, so that terms sharing a
        column cancel on average.
    min_df, max_df : int or float, default 1 and 1.0
        Minimum and maximum number, or share (float, at most 1.0), of texts in which a term of the
        vocabulary occurs.
    binary : bool, default False
        Set every count to 1.
    sublinear_tf : bool, default False
        Replace a count c by 1 + ln(c); signed counts keep their sign.
    use_idf : bool, default False
        Multiply by ln((1 + texts) / (1 + texts with the column)) + 1, learned in ``fit``.
    norm : {"l2", "l1", None}, default "l2"
        Divide each row by its Euclidean length ("l2") or by the sum of its absolute values ("l1").

    Attributes
    ----------
    vocabulary_ : dict of term to column, if there is a vocabulary
    idf_ : array of shape (columns,), if ``use_idf``

    Raises
    ------
    ParameterError
        For an invalid parameter.
    DataError
        If texts are not strings, or a vocabulary is empty or has more than 4,194,304 terms.

    Examples
    --------
    >>> from linsep import Text
    >>> Text().fit_transform(["Free entry!", "see you at home"]).shape
    (2, 262144)
    >>> words = Text(vocabulary=True, norm=None).fit(["see you", "you see, you win"])
    >>> words.get_feature_names_out().tolist()
    ['see', 'win', 'you']
    >>> words.transform(["you and you"]).toarray()
    array([[0., 0., 2.]])
    """

    analyzer: Literal["word", "char", "char_wb"] = parameter(default="word")
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = parameter(default=True)
    vocabulary: bool = parameter(default=False)
    n_features: int = parameter(default=1 << 18, at_least=1, at_most=MOST_COLUMNS)
    alternate_sign: bool = parameter(default=True)
    min_df: float = parameter(default=1, at_least=0)
    max_df: float = parameter(default=1.0, at_least=0)
    binary: bool = parameter(default=False)
    sublinear_tf: bool = parameter(default=False)
    use_idf: bool = parameter(default=False)
    norm: Literal["l2", "l1"] | None = parameter(default="l2")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary and the weights of its terms from texts, if there are any.

        Parameters
        ----------
        X : iterable of str, or Arrow array of strings, of shape (texts,)
        y : ignored
        """
        self._fit(_texts_given(X))
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sp.csr_matrix:
        """Return ``fit(X).transform(X)``, reading the texts once."""
        texts = _texts_given(X)
        self._fit(texts)
        return _row_named(self._counter.rows, texts)

    def transform(self, X: Any) -> sp.csr_matrix:
        """Return the rows of texts, float64 of shape (texts, columns)."""
        counter = TextCounter(self)
        if counter.learns:
            check_is_fitted(self, msg="This %(name)s has not read any text yet: call fit first.")
            counter = self._counter
        return _row_named(counter.rows, _texts_given(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the terms of the vocabulary, in the order of the columns; an array of strings.

        Raises DataError if columns are hashed.
        """
        if not self.vocabulary:
            raise DataError(
                "Hashed columns have no names: set vocabulary=True.",
                code="unsupported", option="vocabulary",
            )  # fmt: skip
        check_is_fitted(self, msg="This %(name)s has not read any text yet: call fit first.")
        return np.array(self._counter.terms, dtype=object)

    def _fit(self, texts: pa.Array) -> None:
        counter = TextCounter(self)
        if counter.learns:
            _row_named(counter.learn, texts)
            counter.finish()
        self._counter = counter
        if counter.terms is not None:
            self.vocabulary_ = {term: column for column, term in enumerate(counter.terms)}
        if self.use_idf:
            self.idf_ = counter.idf

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_counter")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.sparse = True, False
        tags.input_tags.two_d_array = False
        tags.requires_fit = bool(self.vocabulary or self.use_idf)
        return tags


def _row_named(method: Any, texts: pa.Array) -> Any:
    try:
        return method(texts)
    except NotUtf8 as error:
        raise _bad_text(error.text, f"is not UTF-8 ({error}): correct it", "encoding") from None


def _texts_given(X: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(X, pa.ChunkedArray | pa.Array):
        if X.type not in (pa.string(), pa.large_string()):
            raise DataError(f"Texts must be strings, not {X.type}: convert them.", code="bad-value")
        if X.null_count:
            number = X.is_null().index(True).as_py()
            raise _bad_text(number, "is missing: fill it, as with ''", "missing-value")
        return X
    if isinstance(X, str | bytes | dict) or hasattr(X, "columns"):
        said = f"Texts must be a list of strings, not a {type(X).__name__}"
        raise DataError(said, "pass a list, or a column", code="bad-value")
    X = list(X)
    for number, text in enumerate(X):
        if not isinstance(text, str):
            said = f"is of type {type(text).__name__}, not a string: convert it"
            raise _bad_text(number, said, "bad-value")
    try:
        return pa.array(X, pa.large_string())
    except UnicodeEncodeError as error:
        said = "has half of a surrogate pair, which is not a character: remove it"
        raise _bad_text(X.index(error.object), said, "encoding") from None


def _bad_text(number: int, said: str, code: str) -> DataError:
    return DataError(f"Text {number} {said}.", code=code, row=number)


def checked(text: Text) -> Text:
    """Return a transformer of plain values; ParameterError for a parameter that is invalid."""
    check_parameters(text)
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in asdict(text).items()}
    pair = tuple(text.ngram_range) if isinstance(text.ngram_range, list | tuple) else ()
    if not (len(pair) == 2 and all(isinstance(n, int | np.integer) for n in pair)
            and 1 <= pair[0] <= pair[1] <= LONGEST):  # fmt: skip
        raise ParameterError(
            f"ngram_range is {text.ngram_range!r}: choose two lengths of n-grams, such as (1, 2), "
            f"at most {LONGEST}.", option="ngram_range", value=text.ngram_range,
        )  # fmt: skip
    if not text.vocabulary and (text.min_df, text.max_df) != (1, 1.0):
        raise ParameterError(
            "min_df and max_df apply to a vocabulary: set vocabulary=True.",
            code="needs-option", option="vocabulary",
        )  # fmt: skip
    return Text(**plain | {"ngram_range": tuple(map(int, pair))})


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
    """Turns texts into rows of numbers; ``keep_terms`` keeps the terms of the first texts, which
    name hashed columns.

    Attributes
    ----------
    terms : list of str, the vocabulary in the order of its columns; None if hashed or not learned
    idf : array of shape (columns,), empty unless they are used and learned
    n_texts : number of texts learned from
    """

    def __init__(self, settings: Text, keep_terms: bool = False):
        self.settings = settings = checked(settings)
        self.terms: list[str] | None = None
        self.idf, self.n_texts = np.empty(0), 0
        self.document_frequencies = np.empty(0, np.int64)
        hashed = not settings.vocabulary
        self.keeps_terms = keep_terms and hashed
        #: bytes of texts whose terms are still to be kept
        self._unread = NAMED_BYTES * self.keeps_terms
        self._words = empty_vocabulary(*[MOST_NAMES, NAMED_BYTES] * self.keeps_terms)
        table, unit = code_point_table(settings.lowercase), ANALYZERS[settings.analyzer]
        self._cutting = Cutting(table, unit, *settings.ngram_range)
        if settings.use_idf and hashed:
            self.document_frequencies = np.zeros(settings.n_features, np.int64)

    @property
    def parameters(self) -> dict[str, Any]:
        return asdict(self.settings) | {"ngram_range": list(self.settings.ngram_range)}

    def to_json(self) -> dict[str, Any]:
        """Return the settings and what was learned: terms, and in how many texts they are."""
        counts = self.document_frequencies.tolist() if self.settings.use_idf else []
        about = {"settings": self.parameters, "terms": self.terms, "texts": self.n_texts}
        return about | {"frequencies": counts}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "TextCounter":
        """Return what :meth:`to_json` described; ValueError, KeyError or TypeError if it is bad."""
        counter = cls(Text(**stored["settings"]))
        terms, counts = stored["terms"], np.array(stored["frequencies"], dtype=np.int64)
        if counter.learns and (terms is not None or not counter.settings.vocabulary):
            counter.restore(terms, counts, stored["texts"])
            distinct = terms is None or len({*terms} - {""}) == len(terms) > 0
            if not distinct or counter.idf.size != counter.settings.use_idf * counter.n_columns:
                raise ValueError("this is not what was learned of texts")
        return counter

    @property
    def learns(self) -> bool:
        """Whether all texts must be read before the first row is known."""
        return self.settings.vocabulary or self.settings.use_idf

    @property
    def n_columns(self) -> int:
        """Number of columns; 0 before a vocabulary is learned."""
        if not self.settings.vocabulary:
            return self.settings.n_features
        return len(self.terms or ())

    def learn(self, column: TextColumn) -> None:
        """Add texts to the document frequencies; DataError if a vocabulary becomes too large,
        NotUtf8 for bytes that are not text.
        """
        self.n_texts += len(column)
        if self.settings.vocabulary:
            for first, piece in _pieces(column):
                texts, number, more = self._texts(piece), 0, True
                while more:
                    # What was added of the text at hand is known, and not counted twice.
                    number, fault = learn_terms(texts, number, self._cutting, self._words)
                    if more := bool(self._words.size[2]):
                        self._words = _grown(self._words)
                _check_utf8(texts, first, number, fault)
        elif self.settings.use_idf:
            _, columns, _ = self._counted(column)
            self.document_frequencies += np.bincount(columns, minlength=self.n_columns)

    def finish(self) -> None:
        """Fix the vocabulary and the weights of its terms; DataError if no term is left."""
        if not self.settings.vocabulary:
            return self.restore(None, self.document_frequencies, self.n_texts)
        size = int(self._words.size[0])
        found = self._words.texts[:size]
        low, high = (
            limit * self.n_texts if isinstance(limit, float) and limit <= 1 else limit
            for limit in (self.settings.min_df, self.settings.max_df)
        )
        chosen = (found >= low) & (found <= high)
        if not chosen.any():
            said = f"No word occurs in {low:g} or more texts and in {high:g} or fewer"
            ways = [hint("change {}", min_df=None, max_df=None)] * bool(size)
            letters = "words have two or more letters"
            raise DataError(said, letters, *ways, code="no-columns")
        known = _as_arrow(self._words.pool, self._words.ends[: size + 1])
        terms = known.filter(pa.array(chosen)).to_pylist()
        order = sorted(range(len(terms)), key=terms.__getitem__)
        return self.restore([terms[k] for k in order], found[chosen][order], self.n_texts)

    def restore(self, terms: list[str] | None, frequencies: np.ndarray, n_texts: int) -> None:
        """Set what was learned: terms in order (None if hashed), and in how many texts they are."""
        self.terms, self.n_texts, self.document_frequencies = terms, n_texts, frequencies
        if terms is not None:
            texts = texts_of(pa.array([*terms, 8 * "\0"], pa.large_string()))
            self._words = empty_vocabulary(max(1, len(terms)), max(1, int(texts.offsets[-2])))
            add_terms(texts._replace(offsets=texts.offsets[:-1]), self._words)
        if self.settings.use_idf:
            # The order of operations is scikit-learn's, so that the last digit is the same, too.
            self.idf = np.log((n_texts + 1.0) / (frequencies + 1.0)) + 1.0

    def rows(self, column: TextColumn) -> sp.csr_matrix:
        """Return the rows of texts; NotUtf8 for bytes that are not text."""
        for _, piece in _pieces(column):
            if self._unread <= 0:
                break
            self._unread -= piece.nbytes
            learn_terms(self._texts(piece), 0, self._cutting, self._words)  # until there is no room
        return as_matrix(*self._counted(column), self.n_columns)

    def terms_kept(self) -> list[Any]:
        """Return terms of hashed columns and the column of each, by first appearance, as JSON."""
        terms = _as_arrow(self._words.pool, self._words.ends[: self._words.size[0] + 1])
        found = self._words.hashes[: len(terms)].astype(np.int64)
        columns = np.where(found < 1 << 31, found, (1 << 32) - found) % self.n_columns
        return [terms.to_pylist(), columns.tolist()]

    def _counted(self, column: TextColumn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weighed counts, columns and starts of rows, made by all threads."""
        nothing = np.empty(0), np.empty(0, np.int32), np.empty(0, np.int64)
        with ThreadPoolExecutor(thread_count()) as pool:
            found = [nothing, *pool.map(self._count_piece, _pieces(column))]
            values, columns, sizes = pool.map(np.concatenate, zip(*found, strict=True))
        return values, columns, np.append(0, np.cumsum(sizes))

    def _count_piece(self, piece: tuple[int, pa.Array]) -> tuple[Any, ...]:
        """Return weighed counts, columns and sizes of rows of some texts."""
        first, column = piece
        texts = self._texts(column)
        keys = TextColumns(np.empty(0, np.uint32), np.empty(0, np.int64))
        sink: Any = ByHash(keys, self.n_columns, self.settings.alternate_sign)
        if self.settings.vocabulary:
            sink = ByVocabulary(keys, self._words)
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
        return values, columns, np.diff(starts)

    def _texts(self, column: pa.Array) -> Texts:
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


#: their lower case is two characters, or depends on the letters around them
SPECIAL = "\u0130\u03a3"
_ALL = 0x110000


@cache
def code_point_table(lowercase: bool) -> np.ndarray:
    r"""Return one number for each code point, int32: four times its lower case (or itself), plus
    LETTER if ``\w`` matches that, or BLANK if ``\s`` does.

    Code points of :data:`SPECIAL` stand for themselves; the caller must lower-case them before.
    """
    points = np.arange(_ALL, dtype=np.int32)
    letters, lower = points.view("U1"), points.copy()
    kinds = LETTER * (np.strings.isalnum(letters) | (letters == "_"))
    kinds += BLANK * np.strings.isspace(letters)
    if lowercase:
        text = "".join("\0" if letter in SPECIAL else letter for letter in map(chr, range(_ALL)))
        lower[:] = np.frombuffer(text.lower().encode("utf-32-le", "surrogatepass"), np.int32)
        special = list(map(ord, SPECIAL))
        lower[special] = special
    return (4 * lower + kinds[lower]).astype(np.int32)


#: most terms that name hashed columns, and bytes of the texts that have them
MOST_NAMES, NAMED_BYTES = 1 << 19, 1 << 23
#: most terms of a vocabulary while it is learned, and their bytes
MOST_TERMS, MOST_BYTES = 1 << 22, 1 << 27
_TERMS, _BYTES = 1 << 12, 1 << 16


def empty_vocabulary(n_terms: int = _TERMS, n_bytes: int = _BYTES) -> Vocabulary:
    table = 1 << max(4, 2 * n_terms - 1).bit_length()
    return Vocabulary(
        places=np.full(table, -1, np.int32), hashes=np.zeros(n_terms, np.uint32),
        pool=np.zeros(n_bytes, np.uint8), ends=np.zeros(n_terms + 1, np.int64),
        texts=np.zeros(n_terms, np.int64), last=np.zeros(n_terms, np.int64),
        size=np.zeros(3, np.int64),
    )  # fmt: skip


def texts_of(column: pa.Array) -> Texts:
    """Return the buffers of an Arrow array of strings; missing values must be filled."""
    kind = np.int64 if str(column.type).startswith("large") else np.int32
    _, offsets, data = column.buffers()
    begin = np.frombuffer(offsets, kind)[column.offset :][: len(column) + 1].astype(np.int64)
    some = data if data is not None and data.size else bytes(1)
    return Texts(read_only(np.frombuffer(some, np.uint8)), begin)


def _as_arrow(pool: np.ndarray, ends: np.ndarray) -> pa.Array:
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(pool[: ends[-1]].tobytes())]
    return pa.Array.from_buffers(pa.large_string(), len(ends) - 1, buffers)


def _grown(words: Vocabulary) -> Vocabulary:
    full = int(words.size[0] == words.hashes.size)
    n_terms, n_bytes = words.hashes.size << full, words.pool.size << (not full)
    if n_terms > MOST_TERMS or n_bytes > MOST_BYTES:
        raise DataError(
            f"The vocabulary has more than {MOST_TERMS:,} words, or {MOST_BYTES >> 20} MB of them",
            hint("hash them by leaving out {}", vocabulary=True), "use shorter n-grams",
            code="too-large",
        )  # fmt: skip
    more, size = empty_vocabulary(n_terms, n_bytes), int(words.size[0])
    for name in ("hashes", "texts", "last", "ends", "pool", "size"):
        old = getattr(words, name)
        getattr(more, name)[: old.size] = old
    more.size[2] = 0
    rebuilt(more.places, more.hashes, size)
    return more


def described(words: dict[str, Any]) -> str:
    """Return what the text columns of a recipe become, in a line."""
    ways: dict[str, list[str]] = {}
    for name, stored in words.items():
        how = Text(**stored["settings"])
        units = {"word": "words", "char": "characters", "char_wb": "characters within words"}
        low, high = how.ngram_range
        spans = f"n-grams of {low if low == high else f'{low} to {high}'} " * (high > 1)
        terms, hashed = stored["terms"] or (), f"hashed into {how.n_features:,} columns"
        size = f"a vocabulary of {len(terms):,}" if how.vocabulary else hashed
        flags = {"binary": how.binary, "sublinear": how.sublinear_tf, "tf-idf": how.use_idf}
        parts = [spans + units[how.analyzer], size, *(flag for flag in flags if flags[flag])]
        ways.setdefault(", ".join([*parts, f"{how.norm or 'no'} norm"]), []).append(name)
    return "; ".join(f"{', '.join(names)}: {way}" for way, names in ways.items())
