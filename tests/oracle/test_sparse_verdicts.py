"""Rows that single columns decide, and weights from visits of all rows, against elimination."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from fourier_motzkin import kind_of, of_classes, two_sided
from linsep import separation
from linsep.certificate.constraints import Subject
from linsep.separability import search
from linsep.separability.data import data_of
from thoroughness import examples

#: mostly zeros, and numbers of all sizes
numbers = st.sampled_from([0] * 8 + [1, 1, -1, 2, 0.1, -3e-9, 7e11])


def asked(rows, classes, intercept, sparse):
    """The data, their question, and all constraints in fractions, with the number of each row."""
    table = np.array(rows, dtype=float)
    X, y = table[:, :-1], table[:, -1].astype(int)
    sides = ((1,), (0,)) if classes == 2 else ((), ())
    subject = Subject(tuple(range(classes)), *sides, intercept, *X.shape, None, "")
    exact = np.array([[Fraction(x) for x in row] for row in X.tolist()], dtype=object)
    made = two_sided if classes == 2 else of_classes
    owner = np.repeat(np.arange(len(X)), classes - 1)
    data = data_of(sp.csr_matrix(X) if sparse else X, y)
    return data, subject, made(exact, y, intercept), owner.tolist()


@pytest.mark.parametrize("classes", [2, 3])
@examples(60)
@given(st.data(), st.booleans(), st.booleans())
def test_verdicts_on_rows_of_zeros_are_those_of_elimination(classes, draw, intercept, sparse):
    rows = draw.draw(tables(classes))
    data, _, constraints, owner = asked(rows, classes, intercept, sparse)
    verdict = separation(data, fit_intercept=intercept, formulations=("multinomial",))
    verdict = getattr(verdict, "multinomial", verdict)
    kind, bound = kind_of(constraints)
    assert verdict.kind == kind
    check = verdict.verify(np.array(rows)[:, :-1], np.array(rows)[:, -1].astype(int), exact=True)
    assert check, check.reason
    if kind == "quasi-separable":
        assert verdict.boundary == tuple(sorted({owner[i] for i in bound}))


def planted(n, d, nonzeros, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, nonzeros / d, "csr", random_state=rng, data_rvs=rng.standard_normal)
    return X, (X @ rng.standard_normal(d) > 0) ^ (rng.random(n) < noise)


def tables(classes):
    """Rows with their class in the last column."""
    return st.integers(1, 3 if classes == 2 else 1).flatmap(
        lambda d: st.lists(
            st.tuples(*[numbers] * d, st.integers(0, classes - 1)),
            min_size=2,
            max_size=8 if classes == 2 else 6,
        ).filter(lambda rows: len({row[-1] for row in rows}) == classes)
    )


@examples(60)
@given(tables(2), st.booleans(), st.booleans())
def test_verdicts_with_visits_agree_with_the_oracle(rows, fit_intercept, sparse):
    """Rows of very different lengths, repeated rows, rows of zeros."""
    data, _, constraints, _ = asked(rows, 2, fit_intercept, sparse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "MOST_WEIGHTS", 0)
        patch.setattr(search, "QUICK_ROUNDS", 0)
        verdict = separation(data, fit_intercept=fit_intercept)
    assert verdict.kind == kind_of(constraints)[0]
    table = np.array(rows, dtype=float)
    assert verdict.verify(table[:, :-1], table[:, -1].astype(int))


@pytest.mark.compiled
@pytest.mark.parametrize(("noise", "kind"), [(0.0, "separable"), (0.2, "overlapping")])
def test_many_sparse_rows_are_decided(monkeypatch, noise, kind):
    monkeypatch.setattr(search, "MOST_WEIGHTS", 100)
    monkeypatch.setattr(search, "QUICK_ROUNDS", 1)
    X, y = planted(4_000, 600 if kind == "separable" else 60, 10, seed=3, noise=noise)
    verdict = separation(X, y)
    assert verdict.kind == kind
    assert verdict.verify(X, y, exact=True)
