"""``linsep.Text``: raw texts to rows of numbers, as a scikit-learn transformer."""

from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError
from linsep.parameters import HasParameters
from linsep.sources.text.counting import NotUtf8, Settings, TextCounter


class Text(HasParameters, TransformerMixin, BaseEstimator):
    """Words and n-grams of texts as features, hashed or with a vocabulary.

    For the same settings the columns and values are those of scikit-learn's HashingVectorizer
    (the default), CountVectorizer (``vocabulary=True, norm=None``) and TfidfVectorizer
    (``vocabulary=True, use_idf=True``).

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}, default "word"
        What n-grams are of: words (of two letters, digits or underscores or more), characters, or
        characters within one word, with a blank before and after it.
    ngram_range : (int, int), default (1, 1)
        Fewest and most words or characters of an n-gram.
    lowercase : bool, default True
        Lower-case texts first.
    vocabulary : bool, default False
        Learn the terms in ``fit`` and give each a column. False hashes them (MurmurHash3): nothing
        is learnt, and memory does not grow with the texts.
    n_features : int, default 2**18
        Number of hashed columns.
    alternate_sign : bool, default True
        Whether the hash also decides if a term adds 1 or -1, so that terms that share a column
        cancel on average.
    min_df, max_df : int or float, default 1 and 1.0
        Terms of the vocabulary occur in at least and at most so many texts (int) or this share of
        them (float).
    binary : bool, default False
        Every count is 1.
    sublinear_tf : bool, default False
        Replace a count c by 1 + ln(c); signed counts keep their sign.
    use_idf : bool, default False
        Multiply by ln((1 + texts) / (1 + texts with the column)) + 1, learnt in ``fit``.
    norm : {"l2", "l1", None}, default "l2"
        Divide each row by its length, or by the sum of its absolute values.

    Attributes
    ----------
    vocabulary_ : dict of term to column, if there is a vocabulary
    idf_ : array of shape (columns,), if ``use_idf``

    Raises
    ------
    ParameterError
        For an invalid parameter.
    DataError
        If texts are no strings, or a vocabulary is empty or has more than 4,194,304 terms.

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

    analyzer: str = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    vocabulary: bool = False
    n_features: int = 1 << 18
    alternate_sign: bool = True
    min_df: float = 1
    max_df: float = 1.0
    binary: bool = False
    sublinear_tf: bool = False
    use_idf: bool = False
    norm: str | None = "l2"

    def settings(self) -> Settings:
        """Return the parameters, checked; raise ParameterError for one that is invalid."""
        return Settings(**self.get_params()).checked()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary and the weights of its terms from texts, if there are any.

        Parameters
        ----------
        X : iterable of str, or Arrow array of strings, of shape (texts,)
        y : ignored
        """
        self._fit(_as_arrow(X))
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sp.csr_matrix:
        """Return ``fit(X).transform(X)``, reading the texts once."""
        texts = _as_arrow(X)
        self._fit(texts)
        return _checked(self._counter.rows, texts)

    def transform(self, X: Any) -> sp.csr_matrix:
        """Return the rows of texts: float64 of shape (texts, columns).

        Parameters
        ----------
        X : iterable of str, or Arrow array of strings, of shape (texts,)
        """
        if self.settings().learns:
            check_is_fitted(self, msg="This %(name)s has not read any text yet: call fit first.")
            return _checked(self._counter.rows, _as_arrow(X))
        return _checked(TextCounter(self.settings()).rows, _as_arrow(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the terms of the vocabulary, in the order of the columns; an array of strings.

        Raises DataError if columns are hashed.
        """
        if not self.vocabulary:
            raise DataError("Hashed columns have no names: set vocabulary=True.")
        check_is_fitted(self, msg="This %(name)s has not read any text yet: call fit first.")
        return np.array(self._counter.terms, dtype=object)

    def _fit(self, texts: pa.Array) -> None:
        counter = TextCounter(self.settings())
        if counter.settings.learns:
            _checked(counter.learn, texts)
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
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = bool(self.vocabulary or self.use_idf)
        return tags


def _checked(method: Any, texts: pa.Array) -> Any:
    try:
        return method(texts)
    except NotUtf8 as error:
        raise DataError(f"Text {error.text} is not UTF-8 ({error}): correct it.") from None


def _as_arrow(X: Any) -> pa.Array | pa.ChunkedArray:
    """Return texts as an Arrow array of strings; DataError unless all are."""
    if isinstance(X, pa.ChunkedArray | pa.Array):
        if not (pa.types.is_string(X.type) or pa.types.is_large_string(X.type)):
            raise DataError(f"Texts must be strings, not {X.type}: convert them.")
        found = X
    else:
        if isinstance(X, str | bytes):
            raise DataError("Texts must be a list of strings, not one: put it into a list.")
        if isinstance(X, dict) or hasattr(X, "columns"):
            raise DataError(
                "Texts must be a list of strings, not a table: give one of its columns."
            )
        X = list(X)
        for number, text in enumerate(X):
            if not isinstance(text, str):
                raise DataError(
                    f"Text {number} is of type {type(text).__name__}, not a string: convert it."
                )
        try:
            found = pa.array(X, pa.large_string())
        except UnicodeEncodeError as error:
            number = next(n for n, text in enumerate(X) if _has_surrogates(text))
            raise DataError(
                f"Text {number} has half of a surrogate pair, which is no character: remove it."
            ) from error
    if found.null_count:
        number = found.is_null().to_pylist().index(True)
        raise DataError(f"Text {number} is missing: fill it, as with an empty string.")
    return found


def _has_surrogates(text: str) -> bool:
    return any(0xD800 <= ord(letter) < 0xE000 for letter in text)
