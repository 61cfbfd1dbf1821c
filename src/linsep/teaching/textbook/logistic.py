"""Two-class logistic regression in plain Python: gradient ascent, Newton's method, Firth's.

Labels are 0 and 1; the intercept is the last weight.
"""

from collections.abc import Iterator, Sequence
from math import exp, log, log1p, sqrt

Rows = Sequence[Sequence[float]]


def probability(x: Sequence[float], w: Sequence[float]) -> float:
    """Return P(y = 1 | x) = 1 / (1 + exp(-(intercept + <w, x>)))."""
    score = sum(a * b for a, b in zip(w, [*x, 1.0], strict=True))
    return 1.0 / (1.0 + exp(-score)) if score >= 0 else exp(score) / (1.0 + exp(score))


def log_likelihood(X: Rows, y: Sequence[int], w: Sequence[float]) -> float:
    """Return l(w) = sum of y <w, z> - ln(1 + exp(<w, z>)), where z is the row with a 1."""
    total = 0.0
    for x, label in zip(X, y, strict=True):
        score = sum(a * b for a, b in zip(w, [*x, 1.0], strict=True))
        total += label * score - max(score, 0.0) - log1p(exp(-abs(score)))
    return total


def slope(X: Rows, y: Sequence[int], w: Sequence[float]) -> list[float]:
    """Return the gradient: sum of z (y - p)."""
    total = [0.0] * len(w)
    for x, label in zip(X, y, strict=True):
        left = label - probability(x, w)
        total = [t + left * z for t, z in zip(total, [*x, 1.0], strict=True)]
    return total


def information(X: Rows, w: Sequence[float]) -> list[list[float]]:
    """Return the negative Hessian: sum of p (1 - p) z z'."""
    total = [[0.0] * len(w) for _ in w]
    for x in X:
        p, z = probability(x, w), [*x, 1.0]
        for i, a in enumerate(z):
            for j, b in enumerate(z):
                total[i][j] += p * (1.0 - p) * a * b
    return total


def gradient_ascent(X: Rows, y: Sequence[int], *, rate: float, eps: float) -> Iterator[list[float]]:
    """Yield the weights, from zero: w += rate * gradient, while the step is longer than eps."""
    w = [0.0] * (len(X[0]) + 1)
    while True:
        yield w
        step = [rate * s for s in slope(X, y, w)]
        if sqrt(sum(s * s for s in step)) <= eps:
            return
        w = [a + b for a, b in zip(w, step, strict=True)]


def newton(X: Rows, y: Sequence[int], steps: int, *, firth: bool = False) -> list[float]:
    """Return the weights after some steps of Newton's method from zero.

    With ``firth`` by the modified score, sum of z (y - p + h (1/2 - p)), where h is the leverage
    of the row (Firth 1993).
    """
    w = [0.0] * (len(X[0]) + 1)
    for _ in range(steps):
        H = information(X, w)
        score = slope(X, y, w)
        if firth:
            for x in X:
                z, p = [*x, 1.0], probability(x, w)
                leverage = p * (1.0 - p) * sum(a * b for a, b in zip(z, solve(H, z), strict=True))
                score = [s + leverage * (0.5 - p) * a for s, a in zip(score, z, strict=True)]
        w = [a + b for a, b in zip(w, solve(H, score), strict=True)]
    return w


def penalized(X: Rows, y: Sequence[int], w: Sequence[float]) -> float:
    """Return Firth's ``l*(w) = l(w) + ln |I(w)| / 2``."""
    H, total = information(X, w), log_likelihood(X, y, w)
    for k in range(len(H)):  # the determinant is the product of the pivots
        total += log(H[k][k]) / 2.0
        for i in range(k + 1, len(H)):
            ratio = H[i][k] / H[k][k]
            H[i] = [a - ratio * b for a, b in zip(H[i], H[k], strict=True)]
    return total


def solve(A: Sequence[Sequence[float]], b: Sequence[float]) -> list[float]:
    """Solve A x = b by Gaussian elimination with row exchanges."""
    rows = [[*line, right] for line, right in zip(A, b, strict=True)]
    n = len(rows)
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        for i in range(n):
            if i != k:
                ratio = rows[i][k] / rows[k][k]
                rows[i] = [p - ratio * q for p, q in zip(rows[i], rows[k], strict=True)]
    return [rows[k][n] / rows[k][k] for k in range(n)]
