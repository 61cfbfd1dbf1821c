"""Texts as rows of numbers: words, n-grams, hashed columns and weights of words.

The definitions match scikit-learn's text vectorizers, which are the oracle of the tests.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator


def grams(
    text: str, analyzer: str = "word", ngram_range: tuple[int, int] = (1, 1), lowercase: bool = True
) -> Iterator[str]:
    """Yield the n-grams of a text.

    Parameters
    ----------
    text : str
    analyzer : "word" (words of two letters or more), "char" (any characters) or "char_wb"
        (characters of one word, with a blank before and after it)
    ngram_range : minimum and maximum number of words or characters of an n-gram
    lowercase : whether to lower-case the text first
    """
    low, high = ngram_range
    text = text.lower() if lowercase else text
    if analyzer == "word":
        words = re.findall(r"\w\w+", text)
        for n in range(low, high + 1):
            yield from (" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
    elif analyzer == "char":
        text = re.sub(r"\s\s+", " ", text)
        for n in range(low, high + 1):
            yield from (text[i : i + n] for i in range(len(text) - n + 1))
    else:
        for word in text.split():
            padded = f" {word} "
            for n in range(low, high + 1):
                if len(padded) <= n:  # a short word counts once
                    yield padded
                    break
                yield from (padded[i : i + n] for i in range(len(padded) - n + 1))


def murmurhash3(key: bytes) -> int:
    """Return the 32-bit MurmurHash3 of ``key`` with seed 0, as a signed number (Appleby, 2011)."""
    mask, h = 0xFFFFFFFF, 0
    for start in range(0, len(key), 4):
        k = int.from_bytes(key[start : start + 4], "little") * 0xCC9E2D51 & mask
        k = (k << 15 | k >> 17) * 0x1B873593 & mask
        h ^= k
        if start + 4 <= len(key):
            h = ((h << 13 | h >> 19) * 5 + 0xE6546B64) & mask
    h ^= len(key)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def hashed_row(terms: Iterable[str], n_features: int, signed: bool = True) -> dict[int, float]:
    """Return the columns and values of a text: each term adds 1, or -1 if ``signed`` and its hash
    is negative, to the column of its hash (Weinberger et al., 2009). Terms that share a column
    then cancel on average.
    """
    row: dict[int, float] = {}
    for term in terms:
        h = murmurhash3(term.encode())
        column = abs(h) % n_features
        row[column] = row.get(column, 0.0) + (-1.0 if signed and h < 0 else 1.0)
    return row


def learned_vocabulary(
    texts: Iterable[Iterable[str]], least: float = 1, most: float = math.inf
) -> dict[str, int]:
    """Return the columns of the terms that occur in ``least`` to ``most`` texts, in order."""
    occurrences = Counter(term for terms in texts for term in set(terms))
    kept = sorted(term for term, count in occurrences.items() if least <= count <= most)
    return {term: column for column, term in enumerate(kept)}


def counted_row(terms: Iterable[str], vocabulary: dict[str, int]) -> dict[int, float]:
    """Return how often each term of the vocabulary occurs, by column."""
    counts = Counter(vocabulary[term] for term in terms if term in vocabulary)
    return {column: float(count) for column, count in counts.items()}


def inverse_frequencies(rows: list[dict[int, float]], n_features: int) -> list[float]:
    """Return ln((1 + texts) / (1 + texts with the column)) + 1 of each column."""
    occurrences = Counter(column for row in rows for column in row)
    return [math.log((1 + len(rows)) / (1 + occurrences[j])) + 1 for j in range(n_features)]


def weighted_row(
    row: dict[int, float],
    *,
    binary: bool = False,
    sublinear: bool = False,
    idf: list[float] | None = None,
    norm: str | None = None,
) -> dict[int, float]:
    """Return the row with counts replaced: 1 (binary), 1 + ln(count) (sublinear), times the
    inverse frequency of the column, divided by the norm ("l1" or "l2") of the row.
    """
    if binary:
        row = dict.fromkeys(row, 1.0)
    if sublinear:
        row = {j: math.copysign(1 + math.log(abs(v)), v) if v else v for j, v in row.items()}
    if idf is not None:
        row = {j: v * idf[j] for j, v in row.items()}
    power = {"l1": 1, "l2": 2}.get(norm or "")
    length = 0.0 if power is None else sum(abs(v) ** power for v in row.values()) ** (1 / power)
    return {j: v / length for j, v in row.items()} if length else row
