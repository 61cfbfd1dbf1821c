"""Edits of proofs: every part of their JSON, changed in every way; and what of it is still true."""

import copy
import json
import re
from fractions import Fraction

import numpy as np

HEX = re.compile("-?0x[0-9a-f]+")
WRONG = [None, True, False, -1, 0, 1, 2, 0.5, -0.5, 1.0, 1e308, 10**400, "", "x", "0x0", "-0x1"]
WRONG += ["0x3", "1/0", "0x1/0x1", "inf", "nan", "\ud800", "A", "a" * 64, [], [1], {}]
WRONG += [
    {"0": "0x1"},
    {"0": {"0": "0x1"}},
    float("nan"),
    float("inf"),
    "0x" + "f" * 3000,
    [[[[[]]]]],
]


def written(plain):
    """JSON as proofs are written."""
    return json.dumps(plain, indent=1) + "\n"


def places(plain, path=()):
    """The path of everything inside a JSON value."""
    yield path
    if isinstance(plain, dict | list):
        for key, child in plain.items() if isinstance(plain, dict) else enumerate(plain):
            yield from places(child, (*path, key))


def value_at(plain, path):
    for key in path:
        plain = plain[key]
    return plain


def edited(plain, path, change):
    """A copy in which ``change(container, key)`` has happened at a path."""
    result = copy.deepcopy(plain)
    change(value_at(result, path[:-1]), path[-1])
    return result


def nearby(value):
    """Values of the same type that mean something else, or the same written otherwise."""
    if type(value) is int:
        near = [float(value)] if abs(value) < 2**1000 else []
        return [value + 1, value - 1, -value, value * 2**70, bool(value), *near]
    if type(value) is float:
        whole = [int(value)] if np.isfinite(value) else []
        return [value * 1.5, -value, float(np.nextafter(value, np.inf)), value * 1e-3, *whole]
    if isinstance(value, str) and HEX.fullmatch(value):
        number = int(value, 16)
        others = [hex(number + 1), hex(-number), hex(number << 5000), hex(number * 3)]
        return [*others, value.replace("0x", "0x0"), value.upper(), number]
    if isinstance(value, str):
        return [value + "x", value[::-1], value[:-1], value.upper()]
    if isinstance(value, list) and value:
        return [value[1:], value[:-1], value[::-1], value * 2, [*value, value[0]]]
    if isinstance(value, dict) and value:
        first, *rest = value.items()
        return [dict(rest), {**value, "new": 1}, {"x": first[1], **dict(rest)},
                {"7": first[1], **value}, dict([*rest, first])]  # fmt: skip
    return []


def edits(plain):
    """Every single edit: (path, the edited copy)."""
    for path in places(plain):
        if not path:
            continue
        was = value_at(plain, path)
        for value in [*WRONG, *nearby(was)]:
            if value != was or type(value) is not type(was):
                yield (
                    path,
                    edited(plain, path, lambda at, key, value=value: at.__setitem__(key, value)),
                )
        yield path, edited(plain, path, lambda at, key: at.__delitem__(key))


# Why an edited proof is still one. Everything else must be refused.


def why_true(path, claim, known, X, y):
    """The reason why an edit that is accepted leaves a true claim; None where there is none."""
    field = path[2] if path[0] == "verdicts" and len(path) > 2 else path[0]
    return REASONS.get(field) if still_true(claim, known, X, y) else None


def still_true(claim, known, X, y):
    """Whether a claim agrees with one that is true."""
    ours, theirs = {sides(v): v for v in parts(known)}, parts(claim)
    if any(sides(v) not in ours for v in theirs):
        return False
    pairs = [(v, ours[sides(v)]) for v in theirs]
    right = {"quasi-separable": same_quasi, "separable": right_margin, "overlapping": no_more}
    return all(
        v.kind == w.kind and v.subject.classes == w.subject.classes and right[v.kind](v, w, X, y)
        for v, w in pairs
    )


REASONS = {
    "recipe": "how files were read is no part of the claim: linsep verify compares it itself",
    "data": "arrays have no names that those of the features could be compared with",
    "coef": "other weights separate the rows, too, by the margin that is claimed",
    "intercept": "other weights separate the rows, too, by the margin that is claimed",
    "margin": "a wider interval says less",
    "support": "other multipliers bound the margin by what is claimed, too",
    "witness": "other multipliers vanish, too: the claim is the same",
    "spanning": "other multipliers vanish, too: the claim is the same",
    "direction": "other weights are right, too: boundary and limits are the same",
    "basis": "other rows span the same space",
    "signs": "other rows add up to the same coefficient; without them no sign is claimed",
}


def parts(claim):
    return claim.verdicts() if hasattr(claim, "verdicts") else [claim]


def sides(verdict):
    return verdict.subject.positive, verdict.subject.negative


def no_more(verdict, known, X, y):
    return True


def same_quasi(verdict, known, X, y):
    """The same boundary, and limits that say the same, or less: no sign without its evidence."""
    limits, ours = verdict.limits(), known.limits()
    less = {"+inf": "infinite", "-inf": "infinite"}
    same = all(word in (ours[name], less.get(ours[name])) for name, word in limits.items())
    return verdict.boundary == known.boundary and same


def right_margin(verdict, known, X, y):
    """Whether weights and margin are right, told without the library in fractions."""
    subject = verdict.subject
    if subject.multinomial:
        return verdict.margin == (0.0, np.inf)  # the weights are the checker's task
    if verdict.margin[1] < known.margin[0] * (1 - 1e-9):
        return False  # weights with a wider margin are known
    signs = np.where(np.isin(y, subject.positive), 1, np.where(np.isin(y, subject.negative), -1, 0))
    constant = [1] if subject.fit_intercept else []
    rows = [
        [int(s) * Fraction(v) for v in [*row, *constant]]
        for row, s in zip(X.tolist(), signs.tolist(), strict=True)
        if s
    ]
    w = [Fraction(x) for x in (*verdict.coef[0], *(verdict.intercept if constant else ()))]
    low = min(sum(a * b for a, b in zip(row, w, strict=True)) for row in rows)
    square = sum(x * x for x in w[: X.shape[1]])
    return low > 0 and low**2 >= Fraction(verdict.margin[0]) ** 2 * square
