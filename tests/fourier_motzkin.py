"""Exact answers to small systems of linear inequalities, by elimination: the oracle of proofs."""

from fractions import Fraction


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
