import numpy as np
import pytest
import scipy.sparse as sp

from linsep import Perceptron
from linsep.errors import DataError
from linsep.sources import ArraySource
from refusals import refused


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_batches_are_the_rows_again_and_again(storage, batch_rows):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (50, 4)).astype(float), rng.integers(0, 3, 50)
    source = ArraySource(storage(X), y, batch_rows=batch_rows)
    for _ in range(2):
        batches = list(source.batches())
        rows = [b.X.toarray() if sp.issparse(b.X) else b.X for b in batches]
        assert np.array_equal(np.concatenate(rows), X)
        assert np.array_equal(np.concatenate([b.y for b in batches]), y)
        assert [b.first for b in batches] == list(range(0, 50, batch_rows))
    learned = Perceptron(max_iter=5).fit(source)
    assert np.array_equal(learned.coef_, Perceptron(max_iter=5).fit(X, y).coef_)


def test_rows_are_not_copied():
    X = np.zeros((10, 3), dtype=np.float32)
    batch = next(ArraySource(X, np.zeros(10)).batches())
    assert np.shares_memory(batch.X, X)


@pytest.mark.parametrize(
    ("X", "y", "code"),
    [
        (np.zeros((0, 3)), None, "shape"),
        (np.zeros(3), None, "shape"),
        (np.zeros((3, 2)), np.zeros(4), "shape"),
    ],
)
def test_unusable_arrays_are_refused(X, y, code):
    with refused(DataError, code):
        ArraySource(X, y)


def test_a_batch_needs_a_row():
    with pytest.raises(ValueError, match="at least 1"):
        ArraySource(np.zeros((2, 2)), batch_rows=0)
