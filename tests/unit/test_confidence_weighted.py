"""AROW and SCW: steps by hand, and variances that stay with the weights."""

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep import AROW, SCW
from linsep.sources import ArraySource
from storages import blobs


def test_the_best_pass_brings_its_variances_back():
    A, b = blobs(60, 3, 2, spread=4.0, seed=1)
    how = {"early_stopping": True, "shuffle": False}
    model = AROW(n_iter_no_change=3, **how).fit(A, b)
    passes = int(model.validation_scores_.argmax()) + 1
    assert passes < model.n_iter_
    same = AROW(max_iter=passes, **how).fit(A, b)
    assert np.array_equal(same.coef_, model.coef_)
    assert np.array_equal(same.variances_, model.variances_)


def test_a_pass_without_a_mistake_proves_no_separation():
    A, b = [[2.0, 0.0], [0.0, 2.0], [3.0, 1.0]], [1, 0, 1]
    model = AROW(shuffle=False).fit(A, b)
    assert model.mistakes_[-1] == 0
    assert str(model.stop_reason_) == "clean"
    traced = linsep.trace(AROW(shuffle=False), A, b)
    assert (str(traced.stop_reason), len(traced)) == ("clean", 3 * model.n_iter_)
    # Where no row is nearer than 1 the weights do not change, and separate the rows.
    still = AROW(shuffle=False).fit(A, b, coef_init=[[5.0, -5.0]])
    assert str(still.stop_reason_) == "converged"


def same(a, b):
    """Whether two models have the same weights and variances, to the bit."""
    names = ("coef_", "intercept_", "variances_", "intercept_variances_")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def with_parameters(model, **how):
    return type(model)(**model.get_params() | how)


class Widening(ArraySource):
    """Sparse batches that are as wide as what was seen so far."""

    def batches(self):
        width = 1
        for batch in super().batches():
            width = max(width, int(batch.X.indices.max(initial=0)) + 1)
            yield batch._replace(X=batch.X[:, :width])


@pytest.mark.parametrize("model", [AROW(), SCW(multiclass="ovo")], ids=["native", "ovo"])
def test_variances_stay_with_the_weights(model, tmp_path):
    k, model = 3, with_parameters(model, max_iter=3, shuffle=False)
    A, b = blobs(40, 4, k, spread=3.0, seed=2)
    b[::5] = (b[::5] + 1) % k  # no pass is clean
    model.fit(A, b)
    assert ((model.variances_ > 0) & (model.variances_ < 1)).all()
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert same(back, model)
    sparse = with_parameters(model).fit(sp.csr_matrix(A), b)
    assert sparse.coef_ == pytest.approx(model.coef_, rel=1e-9)
    parts = with_parameters(model)
    for at in range(0, 40, 7):
        parts.partial_fit(A[at : at + 7], b[at : at + 7], classes=range(k))
        parts = linsep.load(linsep.save(parts, tmp_path / "m", force=True))
    assert same(parts, with_parameters(model, max_iter=1).fit(A, b))


def test_rows_may_widen():
    model = SCW(max_iter=3)
    A, b = blobs(60, 7, 3, spread=3.0, seed=4)
    A[:20, 3:] = A[20:40, 5:] = 0.0
    source = Widening(sp.csr_matrix(A), b, batch_rows=10)
    assert same(with_parameters(model).fit(source), with_parameters(model).fit(sp.csr_matrix(A), b))
