"""Weights from visits of all rows: right where they are found, and never the reason for a verdict
that is wrong.
"""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from fourier_motzkin import kind_of
from linsep import separation
from linsep.certificate.constraints import question_of
from linsep.separability import dual_descent, search
from linsep.separability.data import data_of
from linsep.separability.deciding import subject_of
from thoroughness import examples

small = st.integers(-2, 2)
tables = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.tuples(*[small] * d, st.booleans()), min_size=2, max_size=9).filter(
        lambda rows: len({row[-1] for row in rows}) == 2
    )
)


def question_about(data, fit_intercept):
    subject = subject_of(data, fit_intercept, None, "")
    return question_of(subject.of_sides(subject.classes[1:], subject.classes[:1]))


def planted(n, d, nonzeros, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, nonzeros / d, "csr", random_state=rng, data_rvs=rng.standard_normal)
    return X, (X @ rng.standard_normal(d) > 0) ^ (rng.random(n) < noise)


def exact_values(X, y, w):
    w = [Fraction(x) for x in w.tolist()]
    for i, side in enumerate(y.tolist()):
        row = X[[i]].tocoo()
        value = sum(Fraction(x) * w[j] for j, x in zip(row.col, row.data.tolist(), strict=True))
        yield (value + (w[-1] if len(w) > X.shape[1] else 0)) * (1 if side else -1)


@pytest.mark.both
@examples(60)
@given(tables, st.booleans(), st.sampled_from([0, -30, 30, -530, 600]), st.booleans())
def test_verdicts_with_visits_agree_with_the_oracle(rows, fit_intercept, power, sparse):
    """Rows of very different lengths, repeated rows, rows of zeros."""
    table = np.array(rows)
    X, y = table[:, :-1].astype(float), table[:, -1].astype(bool)
    signs = np.where(y, 1, -1)
    powers = np.where(np.arange(len(X)) % 2, power, 0)
    Z = np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X
    if not fit_intercept:  # the length of a row does not change the verdict
        X = np.ldexp(X, powers[:, None])
    expected, _ = kind_of((Z * signs[:, None]).astype(int).tolist())
    X = sp.csr_matrix(X) if sparse else X
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "MOST_WEIGHTS", 0)
        patch.setattr(search, "QUICK_ROUNDS", 0)
        verdict = separation(X, y, fit_intercept=fit_intercept)
    assert verdict.kind == expected
    assert verdict.verify(X, y, exact=True)


@pytest.mark.compiled
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_that_are_found_separate_exactly(fit_intercept):
    X, y = planted(400, 150, 10, seed=1)
    data = data_of(X, y)
    w = dual_descent.descended(data, question_about(data, fit_intercept))
    assert w.size == 150 + fit_intercept
    assert min(exact_values(X, y, w)) > 0


@pytest.mark.compiled
def test_rows_that_no_weights_separate_end_the_visits():
    X, y = planted(600, 60, 10, seed=2, noise=0.2)
    data = data_of(X, y)
    assert dual_descent.descended(data, question_about(data, True)) is None


@pytest.mark.compiled
def test_many_sparse_rows_are_decided_by_visits(monkeypatch):
    found = []

    def remembered(*args):
        found.append(dual_descent.descended(*args))
        return found[-1]

    monkeypatch.setattr(search, "descended", remembered)
    monkeypatch.setattr(search, "MOST_WEIGHTS", 100)
    monkeypatch.setattr(search, "QUICK_ROUNDS", 1)
    X, y = planted(4_000, 600, 10, seed=3)
    verdict = separation(X, y)
    assert verdict.kind == "separable"
    assert len(found) == 1
    assert found[0] is not None
    assert verdict.verify(X, y, exact=True)
    low, high = verdict.margin
    assert 0 < low < high
