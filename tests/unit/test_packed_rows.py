"""Dense rows that are mostly zeros: packed for many passes, and still the same to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from linsep import BalancedWinnow, Perceptron
from linsep.compiled.loop import score_matrix
from linsep.compiled.rows import Csr, as_rows, packed
from linsep.sources import ArraySource
from storages import weights


@pytest.fixture(autouse=True)
def _few_values_are_packed_too(monkeypatch):
    monkeypatch.setattr("linsep.compiled.rows.WORTH_PACKING", 0)


def mostly_zeros(n=60, d=37, k=3, share=0.2, seed=0):
    """Rows of k classes; some have no value, some few, some all."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.standard_normal((k, d))[y] + 2 * rng.standard_normal((n, d))
    X *= rng.random((n, d)) < share * rng.random((n, 1)) * 2
    X[7], X[8] = 0.0, rng.standard_normal(d)
    X[9, ::2] = -0.0
    return X, y


@pytest.mark.parametrize(("kind", "width"), [(np.float32, 7), (np.float64, 37)])
def test_packed_rows_score_as_they_did(width, kind):
    X = np.ascontiguousarray(mostly_zeros(d=width)[0], dtype=kind)
    rows = as_rows(X)
    thin = packed(rows)
    assert isinstance(thin, Csr)
    W = np.random.default_rng(1).standard_normal((width + 1, 8))
    found = [np.empty((60, 8)) for _ in range(2)]
    for one, scores in zip((rows, thin), found, strict=True):
        score_matrix(one, 60, W, 1.0, scores)
    assert np.array_equal(*found)
    np.testing.assert_allclose(found[0], X @ W[:-1] + W[-1], rtol=1e-6, atol=1e-6)
    half = sp.csr_array((thin.values, thin.columns, thin.starts), shape=X.shape)
    assert np.array_equal(half.toarray(), X)
    assert thin.values.size <= X.size / 2
    assert np.diff(thin.starts)[8] == width


@pytest.mark.parametrize(
    ("learner", "multiclass", "keep"),
    [
        (Perceptron, "native", "vote"), (Perceptron, "ovr", "average"),
        (Perceptron, "ovo", "best"), (BalancedWinnow, "native", "last"),
    ],
)  # fmt: skip
def test_packed_streamed_and_in_parts_are_the_same_to_the_bit(learner, multiclass, keep):
    X, y = mostly_zeros()
    options = {"multiclass": multiclass, "keep": keep}
    inside = learner(max_iter=4, **options).fit(X, y)
    for memory in (0, 1 << 20):
        source = ArraySource(X, y, batch_rows=7)
        source.memory_bytes = memory
        streamed = learner(max_iter=4, **options).fit(source)
        assert weights(streamed) == weights(inside)
        assert np.array_equal(streamed.decision_function(X), inside.decision_function(X))
    once, parts = learner(max_iter=2, shuffle=False, **options), learner(**options)
    once.fit(X, y)
    for _ in range(2):
        for at in range(0, 60, 7):
            parts.partial_fit(X[at : at + 7], y[at : at + 7], classes=range(3))
    if keep != "best":  # which counts out the rows of a pass
        assert weights(parts) == weights(once)
        assert np.array_equal(parts.decision_function(X), once.decision_function(X))
