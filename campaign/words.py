"""Random texts as rows of numbers, against scikit-learn's vectorizers and Python's decoder."""

import random
import sys
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from linsep import Text
from linsep.sources import text as counting

#: letters of every length in UTF-8, marks, blanks, and those whose lower case is another length
ODD = "aAzZ09__ \t\n\u00a0\u2003.,-'éÉßİıΣσς\u0301ǅÅ日本\u200d😀𝐀𐐀ٱ²½\x1c\x85\x00"
SURROGATES = range(0xD800, 0xE000)


def counted(draw: random.Random) -> str | None:
    """Check that texts have scikit-learn's columns and values, or that a bad byte is named."""
    data = [_text(draw).encode() for _ in range(draw.randrange(1, 6))]
    if draw.random() < 0.3:
        _damage(draw, data)
    low = draw.choice((1, 1, 1, 2, 3))
    how: dict[str, Any] = {
        "analyzer": draw.choice(("word", "word", "char", "char_wb")),
        "ngram_range": (low, low + draw.choice((0, 0, 1, 3))),
        "lowercase": draw.random() < 0.7,
        "norm": draw.choice(("l2", "l1", None)),
    }
    if vocabulary := draw.random() < 0.3:
        how |= {"use_idf": draw.random() < 0.5, "sublinear_tf": draw.random() < 0.5}
    else:
        how |= {"n_features": draw.choice((1, 7, 64, 1 << 18, (1 << 31) - 2))}
    ours = counting.TextCounter(Text(vocabulary=vocabulary, **how))
    # Pieces of a few bytes are counted by several threads.
    with patch.object(counting, "PIECE", draw.choice((1, 16, 1 << 20))):
        found = _found(ours, pa.array(data, pa.large_binary()), vocabulary)
    theirs = TfidfVectorizer(**how) if vocabulary else HashingVectorizer(**how)
    expected = _expected(theirs, data)
    return None if found == expected else f"{data!r} {how}: {found} against {expected}"[:2000]


def _text(draw: random.Random) -> str:
    kind = draw.random()
    letters = "ab c" if kind < 0.3 else ODD
    length = draw.choice((0, 1, 5, 30, 30, 200))
    if kind < 0.8:
        return "".join(draw.choice(letters) for _ in range(length))
    points = (draw.randrange(sys.maxunicode + 1) for _ in range(length))
    return "".join(chr(point) for point in points if point not in SURROGATES)


def _damage(draw: random.Random, data: list[bytes]) -> None:
    """Replace, add or remove a byte of one text."""
    number = draw.randrange(len(data))
    at = draw.randrange(len(data[number]) + 1)
    new = bytes([draw.randrange(256)]) * draw.randrange(2)
    data[number] = data[number][:at] + new + data[number][at + draw.randrange(2) :]


def _found(counter: counting.TextCounter, column: pa.Array, vocabulary: bool) -> Any:
    try:
        if vocabulary:
            counter.learn(column)
            counter.finish()
        return _parts(counter.rows(column))
    except counting.NotUtf8 as fault:
        return fault.text, str(fault)
    except counting.DataError:
        return "no words"


def _expected(vectorizer: Any, data: list[bytes]) -> Any:
    texts = []
    for number, text in enumerate(data):
        try:
            texts.append(text.decode())
        except UnicodeDecodeError as error:
            said = f"byte 0x{text[error.start]:02x} after {error.start:,} others"
            return number, said
    try:
        return _parts(vectorizer.fit_transform(texts))
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        return "no words"


def _parts(X: Any) -> Any:
    X.sort_indices()
    values = np.round(X.data, 12)  # weights of a vocabulary may differ in the last digit
    return X.shape, X.indptr.tolist(), X.indices.tolist(), values.tolist()
