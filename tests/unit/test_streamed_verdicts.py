"""Verdicts on files that do not fit in memory are those on arrays."""

import numpy as np
import pytest
import scipy.sparse as sp

from linsep import open_source, separation
from linsep.separability import data as rows_of_data
from linsep.sources.arrays import ArraySource
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled


def written(path, X, y):
    last = X.shape[1] - 1  # written even where it is zero: it tells how many there are
    lines = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        used = [f"{j + 1}:{x!r}" for j, x in enumerate(row) if x or j == last]
        lines.append(f"{label} {' '.join(used)}")
    path.write_text("\n".join(lines) + "\n")
    source = open_source(str(path))
    source.memory_bytes = 100
    return source


def drawn(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([5, 40, 700])), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)).round(1) if seed % 2 else rng.integers(-2, 3, (n, d)).astype(float)
    score = X @ rng.normal(size=d)
    y = (score > np.median(score)).astype(int)
    if seed % 3 == 0:
        y[rng.integers(n)] ^= 1
    if seed % 5 == 0:
        X[:, -1] = np.nextafter(X[:, 0], np.where(y, np.inf, -np.inf))
    y[0], y[1] = 0, 1
    return X, y


@pytest.mark.parametrize("seed", range(24 if THOROUGH else 8))
def test_verdicts_on_streams_are_those_on_arrays(tmp_path, seed):
    X, y = drawn(seed)
    margin = "max" if seed % 2 else None
    source = written(tmp_path / "rows.svm", X, y)
    here, there = separation(X, y, margin=margin), separation(source, margin=margin)
    assert here.kind == there.kind
    assert here.kind != "separable" or here.margin == pytest.approx(there.margin, rel=1e-6)
    assert here.kind != "quasi-separable" or here.boundary == there.boundary
    for verdict in (here, there):
        assert verdict.verify(source, exact=True), verdict.verify(source, exact=True).reason
        assert verdict.verify(X, y, exact=True), verdict.verify(X, y, exact=True).reason


@pytest.mark.parametrize("seed", range(10))
def test_verdicts_do_not_depend_on_batches(monkeypatch, seed):
    monkeypatch.setattr(rows_of_data, "LANE_VALUES", 150)
    monkeypatch.setattr(rows_of_data, "SPARSE_ROWS", 40)
    X, y = drawn(seed)
    X = sp.csr_matrix(X) if seed % 4 == 1 else X
    y = y if seed % 3 else y + (np.arange(len(y)) % 3 == 0)
    margin = "max" if seed % 2 else None
    expected = separation(X, y, margin=margin)
    for rows, memory in ((1, 1 << 20), (7, 1 << 20), (64, 0)):
        source = ArraySource(X, y, batch_rows=rows)
        source.memory_bytes = memory
        assert separation(source, margin=margin) == expected


def test_rows_do_not_depend_on_the_numbers_of_others():
    """A number that no double equals makes its batch one of Python's numbers."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (60, 2)).astype(object)
    X[X[:, 0] > 0] /= 8
    X[17, 1] = 2**53 + 1
    y = rng.integers(0, 2, 60)
    expected = separation(X, y)
    for rows in (1, 9):
        assert separation(ArraySource(X, y, batch_rows=rows)) == expected
    assert expected.verify(X, y, exact=True)
