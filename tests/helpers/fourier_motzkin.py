"""Exact answers to small systems of linear inequalities, by elimination: the oracle of proofs."""

from fractions import Fraction

import numpy as np


def has_solution(weak, strict):
    """Whether some w has <a, w> >= 0 for all ``weak`` and <a, w> > 0 for all ``strict`` rows."""
    system = [(tuple(map(Fraction, a)), False) for a in weak]
    system += [(tuple(map(Fraction, a)), True) for a in strict]
    for _ in range(len((weak or strict)[0])):
        system = without_first(system)
    return not any(is_strict for _, is_strict in system)


def without_first(system):
    """The same question with one unknown fewer: Fourier and Motzkin."""
    ups = [(a, s) for a, s in system if a[0] > 0]
    downs = [(a, s) for a, s in system if a[0] < 0]
    rest = {(scaled(a[1:]), s) for a, s in system if a[0] == 0}
    for a, s in ups:
        for b, t in downs:
            both = [x * -b[0] + y * a[0] for x, y in zip(a[1:], b[1:], strict=True)]
            rest.add((scaled(both), s or t))
    return list(rest)


def scaled(a):
    top = max((abs(x) for x in a), default=0)
    return tuple(x / top for x in a) if top else tuple(a)


def kind_of(rows):
    """The kind of reflected rows, and those that are zero under all weak solutions."""
    rows = [tuple(row) for row in rows]
    bound = [i for i, row in enumerate(rows) if not has_solution(rows, [row])]
    kinds = {0: "separable", len(rows): "overlapping"}
    return kinds.get(len(bound), "quasi-separable"), bound


def first_kept(rows, width, intercept):
    """The columns that are no combination of those before them, each block's last coming first."""
    order = [
        j
        for start in range(0, len(rows[0]), width)
        for j in ([start + width - 1] if intercept else [])
        + list(range(start, start + width - intercept))
    ]
    kept = []
    for j in order:
        if rank([[row[k] for k in [*kept, j]] for row in rows]) > len(kept):
            kept.append(j)
    return sorted(kept)


def rank(rows):
    """The rank of a matrix, by Gauss."""
    left, found = [[Fraction(x) for x in row] for row in rows], 0
    for column in range(len(left[0])):
        pivot = next((i for i in range(found, len(left)) if left[i][column]), None)
        if pivot is None:
            continue
        left[found], left[pivot] = left[pivot], left[found]
        for i in range(found + 1, len(left)):
            times = left[i][column] / left[found][column]
            left[i] = [x - times * y for x, y in zip(left[i], left[found], strict=True)]
        found += 1
    return found


def limits_of(rows, width, intercept):
    """What becomes of every coefficient: which signs it has where no reflected row is negative.

    Dependent columns have coefficients of zero.
    """
    size, kept = len(rows[0]), first_kept(rows, width, intercept)
    unit = [tuple(int(i == j) for i in range(size)) for j in range(size)]
    less = [tuple(-x for x in e) for e in unit]
    weak = [tuple(row) for row in rows]
    weak += [e[j] for j in range(size) if j not in kept for e in (unit, less)]
    words = {(True, True): "infinite", (True, False): "+inf", (False, True): "-inf"}
    found = []
    for j in range(size):
        signs = j in kept and has_solution(weak, [unit[j]]), has_solution(weak, [less[j]])
        found.append(words.get(signs, "finite") if j in kept else "dependent")
    return found


def two_sided(X, y, fit_intercept):
    """Every row z, or -z for class 0: <w, z> > 0."""
    Z = np.hstack([X, np.ones((len(X), 1), int)]) if fit_intercept else X
    return (Z * np.where(y, 1, -1)[:, None]).tolist()


def of_classes(X, y, fit_intercept):
    """Every class above every other, <w_own - w_rival, z> > 0; the last has weights of zero."""
    Z = np.hstack([X, np.ones((len(X), 1), int)]) if fit_intercept else X
    last, found = y.max(), []
    for z, own in zip(Z, y, strict=True):
        for rival in range(last + 1):
            if rival != own:
                row = np.zeros((last + 1, len(z)), Z.dtype)
                row[own], row[rival] = z, -z
                found.append(row[:last].ravel().tolist())
    return found
