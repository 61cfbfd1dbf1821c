"""Verdicts on small data agree with an exact oracle, and every certificate verifies exactly."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from fourier_motzkin import kind_of
from linsep import from_json, separation
from thoroughness import examples

pytestmark = pytest.mark.compiled

small = st.integers(-2, 2)


def tables(most_rows=9, most_columns=3):
    return st.integers(1, most_columns).flatmap(
        lambda d: st.lists(
            st.tuples(*[small] * d, st.booleans()), min_size=2, max_size=most_rows
        ).filter(lambda rows: len({row[-1] for row in rows}) == 2)
    )


def reflected(X, y, fit_intercept, one):
    signs = np.where(y, 1, -1)
    Z = np.hstack([X, np.full((len(X), 1), one)]) if fit_intercept else X
    return (Z * signs[:, None]).tolist()


@examples(150)
@given(tables(), st.booleans(), st.sampled_from(["int", "float", "sparse"]))
def test_small_data_agree_with_the_oracle(rows, fit_intercept, storage):
    table = np.array(rows)
    X, y = table[:, :-1], table[:, -1].astype(bool)
    scale = 8 if storage == "float" else 1
    given_X = {"int": X, "float": X / scale, "sparse": sp.csr_matrix(X.astype(float))}[storage]
    expected, bound = kind_of(reflected(X, y, fit_intercept, scale))
    verdict = separation(given_X, y, fit_intercept=fit_intercept)
    assert verdict.kind == expected
    assert verdict.verify(given_X, y)
    assert verdict.verify(given_X, y, exact=True)
    if expected == "quasi-separable":
        assert list(verdict.boundary) == bound
    if expected != "separable":
        assert len(verdict.witness.rows) <= X.shape[1] + 1 + fit_intercept
    assert from_json(verdict.to_json()) == verdict
