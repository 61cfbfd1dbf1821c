"""What open_source takes: names, arrays; threads that end."""

import io
import threading
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from linsep import Perceptron, open_source
from linsep.errors import DataError
from linsep.sources import ArraySource, formats
from refusals import refused


def test_names_may_come_from_a_glob(tmp_path):
    for name in ("a.svm", "b.svm"):
        (tmp_path / name).write_text("1 1:1\n-1 2:1\n")
    batches = open_source(Path(tmp_path).glob("*.svm")).batches()
    assert sum(batch.X.shape[0] for batch in batches) == 4


def test_data_that_are_no_paths_are_refused_in_one_sentence():
    for data in [None, 3, [1, 2], b"rows.csv", np.zeros((2, 2)), pd.Series([1, 2])]:
        with pytest.raises(TypeError):
            open_source(data)


def test_batches_are_the_rows_again_and_again():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (50, 4)).astype(float), rng.integers(0, 3, 50)
    for storage, batch_rows in ((np.asarray, 7), (sp.csr_matrix, 1), (sp.csc_matrix, 1000)):
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


def test_unusable_arrays_are_refused():
    for X, y in [(np.zeros((0, 3)), None), (np.zeros(3), None), (np.zeros((3, 2)), np.zeros(4))]:
        with refused(DataError, "shape"):
            ArraySource(X, y)


@pytest.mark.compiled
def test_the_end_waits_for_a_thread_that_has_a_file(monkeypatch):
    monkeypatch.setattr(formats, "PATIENCE", 5.0)
    stream = io.BytesIO(b"text")
    gone, held, begun = weakref.ref(stream), [formats.arrow_file(stream)], threading.Event()
    del stream
    thread = threading.Timer(0.05, lambda: (begun.set(), held.clear()))
    thread.start()
    formats.wait_for_threads()
    assert begun.is_set()
    assert gone() is None
    thread.join()
