"""Kernels by their definitions, for one pair of rows or strings at a time.

References: J. Shawe-Taylor and N. Cristianini, Kernel Methods for Pattern Analysis (2004), chapters
9 and 11; C. Leslie et al., PSB 2002 (spectrum).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import exp, prod, sqrt
from typing import Any

from linsep.teaching.textbook.machine import Number, Row, score, total

Text = str | bytes
OfTwo = Callable[[Any, Any], Number]


def linear(x: Row, y: Row) -> Number:
    """<x, y>."""
    return score(x, y, 0)


def polynomial(x: Row, y: Row, degree: int = 3, gamma: Number = 1, coef0: Number = 1) -> Number:
    """Return (gamma <x, y> + coef0)^degree."""
    return (gamma * linear(x, y) + coef0) ** degree


def all_subsets(x: Row, y: Row) -> Number:
    """Return prod (1 + x_i y_i)."""
    return prod(1 + p * q for p, q in zip(x, y, strict=True))


def rbf(x: Row, y: Row, gamma: float) -> float:
    """Return exp(-gamma ||x - y||^2)."""
    return exp(-gamma * total((p - q) ** 2 for p, q in zip(x, y, strict=True)))


def spectrum(x: Text, y: Text, p: int) -> int:
    """Return the number of equal pairs of substrings of length p."""
    first, second = (Counter(s[i : i + p] for i in range(len(s) - p + 1)) for s in (x, y))
    return sum(times * second[part] for part, times in first.items())


def blended_spectrum(x: Text, y: Text, weights: Sequence[Number]) -> Number:
    """Return the sum of weights[p - 1] * spectrum(x, y, p)."""
    return sum(weight * spectrum(x, y, p) for p, weight in enumerate(weights, 1))


def normalized(kernel: OfTwo, x: Any, y: Any) -> float:
    """Return K(x, y) / sqrt(K(x, x) K(y, y)), or 0 if that is 0 / 0."""
    squares = kernel(x, x) * kernel(y, y)
    return kernel(x, y) / sqrt(squares) if squares > 0 else 0.0


def gram(kernel: OfTwo, X: Sequence, Y: Sequence) -> list[list[Number]]:
    """Return K of every pair."""
    return [[kernel(x, y) for y in Y] for x in X]
