"""The columns that decide a verdict alone are those of elimination in fractions."""

from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from hypothesis import given, strategies as st

from fourier_motzkin import kind_of
from linsep import from_json, separation
from linsep.certificate.verdicts import Separations
from thoroughness import examples

#: what the columns of a table are multiplied by: numbers of every size, and none that floats hold
SCALES = {
    "int": 1, "halves": 0.5, "tiny": 2.0**-1060, "huge": 2.0**1000, "thirds": Fraction(1, 3),
    "long": 2**60 + 1,
}  # fmt: skip


def reflected(X, y, columns, fit_intercept):
    """The constraints on weights of some columns: of two classes, or of all together."""
    labels = sorted(set(y))
    blocks = max(len(labels) - 1, 1)
    found = []
    for x, label in zip(X, y, strict=True):
        z = [Fraction(x[j]) for j in columns] + [Fraction(1)] * fit_intercept
        if len(labels) == 2:
            found.append([v if label == labels[1] else -v for v in z])
            continue
        for rival in set(labels) - {label}:
            row = [Fraction(0)] * (blocks * len(z))
            for one, sign in ((label, 1), (rival, -1)):
                k = labels.index(one)
                if k < blocks:
                    row[k * len(z) : (k + 1) * len(z)] = [sign * v for v in z]
            found.append(row)
    return found


class Brute:
    """The kind of verdict of all columns, and of each."""

    def __init__(self, X, y, fit_intercept):
        self.width = len(X[0])
        self.kinds = [kind_of(reflected(X, y, [j], fit_intercept))[0] for j in range(self.width)]
        self.kind = kind_of(reflected(X, y, range(self.width), fit_intercept))[0]

    def alone(self, kind):
        return tuple(j for j in range(self.width) if self.kinds[j] == kind)


def check(verdict, brute):
    assert verdict.kind == brute.kind
    found = verdict.deciding_columns
    if brute.kind == "overlapping":
        assert found is None
        return
    assert found.alone == brute.alone("separable")
    assert found.touching == brute.alone("quasi-separable")


def tables(most_rows, most_columns, labels):
    return st.integers(1, most_columns).flatmap(
        lambda d: st.lists(
            st.tuples(*[st.integers(-2, 2)] * d, st.integers(0, labels - 1)),
            min_size=2,
            max_size=most_rows,
        ).filter(lambda rows: len({row[-1] for row in rows}) == labels)
    )


@examples(80)
@given(tables(7, 3, 2), st.booleans(), st.sampled_from([*SCALES, "sparse"]))
def test_two_classes_agree_with_brute_force(rows, fit_intercept, storage):
    whole, y = [row[:-1] for row in rows], [row[-1] for row in rows]
    if storage == "sparse":
        X = sp.csr_matrix(np.array(whole, dtype=float))
    else:
        X = np.array([[x * SCALES[storage] for x in row] for row in whole], dtype=None)
    verdict = separation(X, y, fit_intercept=fit_intercept)
    # the intercept apart, columns of other scales have the same verdicts
    check(verdict, Brute(whole, y, fit_intercept))
    assert from_json(verdict.to_json()) == verdict


@examples(30)
@given(tables(5, 2, 3), st.booleans())
def test_several_classes_agree_with_brute_force(rows, fit_intercept):
    X, y = np.array([row[:-1] for row in rows]), np.array([row[-1] for row in rows])
    found = separation(X, y, fit_intercept=fit_intercept)
    assert isinstance(found, Separations)
    check(found.multinomial, Brute(X.tolist(), y.tolist(), fit_intercept))
    for label, verdict in found.against_rest.items():
        check(verdict, Brute(X.tolist(), (y == label).tolist(), fit_intercept))
    for (a, b), verdict in found.pairs.items():
        some = (y == a) | (y == b)
        check(verdict, Brute(X[some].tolist(), y[some].tolist(), fit_intercept))
