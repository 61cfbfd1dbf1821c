"""Kernels by their definitions, for one pair of rows or strings at a time.

References: J. Shawe-Taylor and N. Cristianini, Kernel Methods for Pattern Analysis (2004), chapters
9 and 11; C. Leslie et al., PSB 2002 (spectrum) and Bioinformatics 20 (2004) (mismatch); H. Lodhi et
al., JMLR 2 (2002) (subsequences).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import exp, prod, sqrt
from typing import Any

from linsep.teaching.textbook.machine import Number, Row, score, total

Text = str | bytes
OfTwo = Callable[[Any, Any], Number]


def linear(x: Row, y: Row) -> Number:
    """<x, y>."""
    return score(x, y, 0)


def polynomial(
    x: Row, y: Row, degree: int = 3, gamma: Number = 1, coef0: Number = 1
) -> Number:  # fmt: skip
    """Return (gamma <x, y> + coef0)^degree."""
    return (gamma * linear(x, y) + coef0) ** degree


def all_subsets(x: Row, y: Row) -> Number:
    """Return prod (1 + x_i y_i)."""
    return prod(1 + p * q for p, q in zip(x, y, strict=True))


def rbf(x: Row, y: Row, gamma: float) -> float:
    """Return exp(-gamma ||x - y||^2)."""
    return exp(-gamma * total((p - q) ** 2 for p, q in zip(x, y, strict=True)))


def laplacian(x: Row, y: Row, gamma: float) -> float:
    """Return exp(-gamma sum |x_i - y_i|)."""
    return exp(-gamma * total(abs(p - q) for p, q in zip(x, y, strict=True)))


def spectrum(x: Text, y: Text, p: int) -> int:
    """Return the number of equal pairs of substrings of length p."""
    return _common(_substrings(x, p), _substrings(y, p))


def blended_spectrum(x: Text, y: Text, weights: Sequence[Number]) -> Number:
    """Return the sum of weights[p - 1] * spectrum(x, y, p)."""
    return sum(weight * spectrum(x, y, p) for p, weight in enumerate(weights, 1))


def mismatch(x: str, y: str, p: int, mismatches: int, alphabet: str) -> int:
    """Return the spectrum kernel, with each substring counted as all its neighbors."""
    sides = []
    for text in (x, y):
        counts: Counter = Counter()
        for substring, times in _substrings(text, p).items():
            for near in neighbors(substring, mismatches, alphabet):
                counts[near] += times
        sides.append(counts)
    return _common(*sides)


def neighbors(text: str, mismatches: int, alphabet: str) -> set[str]:
    """Return the texts that differ in at most ``mismatches`` letters, changed to letters of the
    alphabet.
    """
    found = set()
    for places in combinations(range(len(text)), mismatches):
        for letters in product(alphabet, repeat=mismatches):
            # A letter may be changed to itself, so that fewer changes are included, except for
            # letters outside the alphabet, which are added below.
            changed = list(text)
            for place, letter in zip(places, letters, strict=True):
                changed[place] = letter
            found.add("".join(changed))
    return found | (neighbors(text, mismatches - 1, alphabet) if mismatches else set())


def subsequence(x: Text, y: Text, p: int, decay: Number) -> Number:
    """Return the sum over common subsequences of length p of decay to the extent of both."""
    return _common(_subsequences(x, p, decay), _subsequences(y, p, decay))


def normalized(kernel: OfTwo, x: Any, y: Any) -> float:
    """Return K(x, y) / sqrt(K(x, x) K(y, y)), or 0 if that is 0 / 0."""
    squares = kernel(x, x) * kernel(y, y)
    return kernel(x, y) / sqrt(squares) if squares > 0 else 0.0


def gram(kernel: OfTwo, X: Sequence, Y: Sequence) -> list[list[Number]]:
    """Return K of every pair."""
    return [[kernel(x, y) for y in Y] for x in X]


def alignment(K: Sequence[Row], T: Sequence[Row], centered: bool = True) -> float:
    """Return <K, T> / (||K|| ||T||); with ``centered``, rows and columns first get mean zero.

    T is the matrix of the labels: 1 for two rows of one class, -1/(classes - 1) for others.
    """
    if centered:
        K, T = _centered(K), _centered(T)
    a, b = ([value for row in matrix for value in row] for matrix in (K, T))
    squares = linear(a, a) * linear(b, b)
    return linear(a, b) / sqrt(squares) if squares > 0 else 0.0


def _centered(K: Sequence[Row]) -> list[list[float]]:
    n = len(K)
    rows = [sum(row) / n for row in K]
    columns = [sum(column) / n for column in zip(*K, strict=True)]
    mean = sum(rows) / n
    return [[K[i][j] - rows[i] - columns[j] + mean for j in range(n)] for i in range(n)]


def _substrings(x: Text, p: int) -> Counter:
    return Counter(x[i : i + p] for i in range(len(x) - p + 1))


def _subsequences(x: Text, p: int, decay: Number) -> Counter:
    found: Counter = Counter()
    for places in combinations(range(len(x)), p):
        found[tuple(x[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
    return found


def _common(a: Counter, b: Counter) -> Any:
    return sum(times * b[part] for part, times in a.items())
