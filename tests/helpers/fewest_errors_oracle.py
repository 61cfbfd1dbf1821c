"""The fewest errors of any hyperplane, by trying them all in whole numbers: the oracle of tests.

The reflected row of x with label y is a = y [x; 1]. Weights w err on it if <a, w> <= 0 (strict), or
if <a, w> < 0 (weak, and w is not 0). Which rows w gets wrong depends only on the cell of the
arrangement of the planes <a, w> = 0 in which w is:

- Weak errors never become more if w moves to the boundary of its cell, so some ray in which
  dimension - 1 independent planes meet is best: try them all. If the rows do not span the space,
  some w that is not 0 has <a, w> = 0 for all of them.
- Strict errors never become more if w moves off a plane, and every cell has such a ray. Near the
  ray, the rows off it have their signs, and those on it are a problem of one dimension less.
"""

from fractions import Fraction
from itertools import combinations
from math import gcd, lcm

from fourier_motzkin import has_solution


def fewest_errors(rows, labels, weights=None, strict=True, fit_intercept=True):
    """The least total weight of errors: labels are 1 and -1, numbers ints, fractions or floats."""
    a = [reflected(x, y, fit_intercept) for x, y in zip(rows, labels, strict=True)]
    c = [Fraction(x) for x in (weights if weights is not None else [1] * len(a))]
    assert all(x >= 0 for x in c)
    below = lcm(*(x.denominator for x in c))
    whole = [int(x * below) for x in c]
    found = strict_errors(a, whole, {}) if strict else weak_errors(a, whole)
    return Fraction(found, below)


def reflected(x, y, fit_intercept):
    """y [x; 1], times a positive number, in whole numbers."""
    assert y in (1, -1)
    row = [y * Fraction(v) for v in x] + [Fraction(y)] * fit_intercept
    below = lcm(*(v.denominator for v in row))
    return tuple(int(v * below) for v in row)


def weak_errors(a, c):
    if len(independent_columns(a)) < len(a[0]):
        return 0
    return min(total(c, negative(a, w)) for ray in rays(a) for w in (ray, minus(ray)))


def strict_errors(a, c, known):
    """``known`` has the answers to problems of lower dimension by their rows."""
    columns = independent_columns(a)
    if not columns:
        return sum(c)
    key = tuple(zip(a, c, strict=True))
    if key not in known:
        # Rows depend on each other as their entries in these columns do.
        a = [tuple(row[j] for j in columns) for row in a]
        best = sum(c)
        for ray in rays(a):
            on = [i for i, row in enumerate(a) if dot(row, ray) == 0]
            off = min(total(c, negative(a, w)) for w in (ray, minus(ray)))
            if off < best:
                there = strict_errors([a[i] for i in on], [c[i] for i in on], known) if on else 0
                best = min(best, off + there)
        known[key] = best
    return known[key]


def rays(a):
    """One of every two opposite directions in which dimension - 1 independent planes meet."""
    found = set()
    for chosen in combinations(sorted({max(row, minus(row)) for row in a}), len(a[0]) - 1):
        w = across(chosen, len(a[0]))
        if any(w):
            common = gcd(*w)
            w = tuple(x // common for x in w)
            found.add(max(w, minus(w)))
    return found


def across(rows, size):
    """The minors of size - 1 rows: orthogonal to them, and 0 if they depend on each other."""
    return tuple(
        (-1) ** j * determinant([row[:j] + row[j + 1 :] for row in rows]) for j in range(size)
    )


def determinant(rows):
    if not rows:
        return 1
    if len(rows) == 2:
        return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]
    return sum(
        (-1) ** j * x * determinant([row[:j] + row[j + 1 :] for row in rows[1:]])
        for j, x in enumerate(rows[0])
        if x
    )


def independent_columns(a):
    """The columns that are no combination of those before them, by elimination."""
    left, columns = [[Fraction(x) for x in row] for row in a], []
    for j in range(len(a[0])):
        pivot = next((row for row in left if row[j]), None)
        if pivot is not None:
            columns.append(j)
            left = [
                [x - row[j] / pivot[j] * p for x, p in zip(row, pivot, strict=True)]
                for row in left
                if row is not pivot
            ]
    return columns


def negative(a, w):
    return [i for i, row in enumerate(a) if dot(row, w) < 0]


def total(c, chosen):
    return sum(c[i] for i in chosen)


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def minus(a):
    return tuple(-x for x in a)


def fewest_by_subsets(rows, labels, weights=None, strict=True, fit_intercept=True):
    """The same, by all sets of rows to get right: an exact program decides whether one can be."""
    a = [reflected(x, y, fit_intercept) for x, y in zip(rows, labels, strict=True)]
    c = [Fraction(x) for x in (weights if weights is not None else [1] * len(a))]
    size = len(a[0])
    unit = [tuple(int(i == j) for i in range(size)) for j in range(size)]
    best = None
    for bits in range(2 ** len(a)):
        right = [row for i, row in enumerate(a) if bits >> i & 1]
        lost = sum((x for i, x in enumerate(c) if not bits >> i & 1), Fraction(0))
        if best is not None and lost >= best:
            continue
        if strict:
            possible = not right or has_solution([], right)
        else:
            possible = any(has_solution(right, [s]) for e in unit for s in (e, minus(e)))
        best = lost if possible else best
    return best
