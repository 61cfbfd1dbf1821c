import os
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from linsep.batches import Batch
from linsep.sources import row_cache
from linsep.sources.row_cache import (
    RowCache,
    RowCacheError,
    RowCacheWriter,
    row_cache_path,
    source_key,
)
from refusals import refused
from row_cache_rows import KEY, some_rows, sparse_rows, write
from thoroughness import examples

pytestmark = pytest.mark.both

LABELS = {
    "float": [-1.0, 2.5, float("inf"), 1e-300],
    "int": [7, -(2**62), 0, 3],
    "bool": [True, False],
    "str": ["cat", "", "čačka", 'with "quotes"\n'],
}
DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_, "str": np.str_}


def narrowed(X, width):
    """The columns before ``width``."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X[:, :width])
    counts = [0, *(np.count_nonzero(X.indices[a:b] < width) for a, b in pairwise(X.indptr))]
    kept = X.indices < width
    Y = sp.csr_matrix((X.shape[0], width), dtype=X.dtype)
    Y.data, Y.indices, Y.indptr = X.data[kept], X.indices[kept], np.cumsum(counts).astype("int32")
    Y.indices, Y.indptr = Y.indices.astype(X.indices.dtype), Y.indptr.astype(X.indices.dtype)
    return Y


def same_bits(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def same_rows(X, expected):
    assert X.shape == expected.shape
    if not sp.issparse(expected):
        assert X.flags.c_contiguous
        same_bits(X, expected)
        return
    assert X.has_canonical_format
    X.check_format()
    assert list(X.indptr) == list(expected.indptr)
    same_bits(X.data, expected.data)
    assert list(X.indices) == list(expected.indices)


@st.composite
def cases(draw):
    rows = draw(st.integers(1, 300))
    width = draw(st.integers(1, 9))
    kind, value = draw(st.sampled_from(["csr", "dense"])), draw(st.sampled_from(["f4", "f8"]))
    index, label = draw(st.sampled_from(["i4", "i8"])), draw(st.sampled_from(sorted(LABELS)))
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=5)))
    widths = sorted(draw(st.lists(st.integers(1, width), min_size=len(cuts), max_size=len(cuts))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = sparse_rows(rng, rows, width, value, index)
    X = X if kind == "csr" else np.frombuffer(rng.bytes(X.dtype.itemsize * rows * width), value)
    X = X if kind == "csr" else X.reshape(rows, width)
    y = np.array(LABELS[label], DTYPES[label])[rng.integers(0, len(LABELS[label]), rows)]
    edges = list(pairwise([0, *cuts, rows]))
    batches = [
        Batch(narrowed(X[lo:hi], w), y[lo:hi], lo)
        for (lo, hi), w in zip(edges, [*widths, width], strict=True)
    ]
    blocks = draw(st.lists(st.integers(0, (rows - 1) // 64), max_size=12))
    return batches, width, y, np.array(blocks, dtype=int)


def joined(batches, width):
    """All rows in one array or matrix, zeros where a batch was narrower."""
    if sp.issparse(batches[0].X):
        parts = []
        for batch in batches:
            part = sp.csr_matrix((batch.X.shape[0], width), dtype=batch.X.dtype)
            part.data, part.indices, part.indptr = batch.X.data, batch.X.indices, batch.X.indptr
            parts.append(part)
        return sp.vstack(parts, format="csr")
    return np.vstack([np.pad(b.X, ((0, 0), (0, width - b.X.shape[1]))) for b in batches])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("row caches")


@given(cases(), st.sampled_from([1 << 12, 1 << 19]))
@examples(150, 38)
def test_any_rows_come_back_in_any_order_of_blocks(folder, case, gulp):
    batches, width, y, blocks = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_cache, "BUFFER_BYTES", gulp)
        with RowCacheWriter(folder / "any.rows", KEY) as writer:
            for batch in batches:
                writer.write(batch)
            stored = writer.commit(n_features=width)
        everything = joined(batches, width)
        assert (stored.n_rows, stored.n_features) == everything.shape
        assert stored.n_blocks == (len(y) + 63) // 64
        first = sorted(set(y.tolist()), key=y.tolist().index)
        assert stored.labels == first
        assert list(map(type, stored.labels)) == list(map(type, first))
        X, codes, *_ = stored.read_blocks(blocks)
        rows = np.concatenate([np.arange(len(y))[64 * b : 64 * b + 64] for b in blocks] or [[]])
        rows = rows.astype(int)
        same_rows(X, everything[rows])
        if sp.issparse(X):
            assert X.indices.dtype == X.indptr.dtype == batches[0].X.indices.dtype
        assert codes.dtype == np.int32
        assert [stored.labels[code] for code in codes] == y[rows].tolist()
        parts = list(stored.iterate(2000))
        assert [label for part in parts for label in part.y] == [first.index(v) for v in y]
        stack = sp.vstack if sp.issparse(X) else np.vstack
        same_rows(stack([X for X, *_ in parts]), everything)
        stored.close()


def test_what_the_file_says_about_itself(tmp_path):
    X, y = some_rows()
    names, recipe = ["a", "b", "c", "d", "e", "f"], {"hash_bits": None, "columns": ["a"]}
    path = tmp_path / "made" / "folder" / "rows.rows"
    write(path, X, y, (3, 70), n_features=6, feature_names=names, recipe=recipe).close()
    row_cache = RowCache.open(
        path, {**KEY, "files": [("rows.svm", 10, 20)]}
    )  # tuples are lists in JSON
    assert (row_cache.kind, row_cache.n_rows, row_cache.n_features, row_cache.n_blocks) == (
        "csr",
        150,
        6,
        3,
    )
    assert (row_cache.feature_names, row_cache.recipe) == (names, recipe)
    with pytest.raises(IndexError, match="no block beyond 2"):
        row_cache.read_blocks([3])
    with pytest.raises(IndexError):
        row_cache.read_blocks([-1])
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o600
    row_cache.remove()
    assert not list(path.parent.iterdir())
    with pytest.raises(ValueError, match="closed"):
        row_cache.read_blocks([0])


def test_one_row_and_rows_without_values(tmp_path):
    for X in (sp.csr_matrix((1, 3)), sp.csr_matrix((200, 3)), np.zeros((1, 3))):
        row_cache = write(tmp_path / "few", X, np.full(X.shape[0], "x"))
        same_rows(row_cache.read_blocks(np.arange(row_cache.n_blocks))[0], X)
        assert RowCache.open(tmp_path / "few", KEY).labels == ["x"]


def test_values_may_get_narrower_but_neither_wider_nor_of_another_kind(tmp_path):
    X, y = some_rows(10)
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    with RowCacheWriter(tmp_path / "a", KEY) as writer:
        writer.write(Batch(X, y, 0))
        writer.write(Batch(wide, y, 10))  # int64 columns that fit in int32
        writer.write(Batch(X.astype(np.float32), y, 20))
        row_cache = writer.commit()
    Y, *_ = row_cache.read_blocks([0])
    assert (Y.dtype, Y.indices.dtype, Y.shape) == (np.float64, np.int32, (30, 5))
    huge = sp.csr_matrix((1, 2**33))
    whole = sp.csr_matrix(np.eye(10, dtype=int))
    for one, other in ((X.astype("f4"), X), (X, np.ones((10, 5))), (X, huge), (None, whole)):
        with RowCacheWriter(tmp_path / "b", KEY) as writer:
            if one is not None:
                writer.write(Batch(one, y, 0))
            with refused(RowCacheError, "shape"):
                writer.write(Batch(other, y[: other.shape[0]], 10))
    assert os.listdir(tmp_path) == ["a"]


def test_unsorted_columns_are_sorted_in_a_copy(tmp_path):
    X = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([4, 0, 4]), np.array([0, 3])), (1, 5))
    row_cache = write(tmp_path / "a", X, np.array([1]))
    assert row_cache.read_blocks([0])[0].toarray().tolist() == [[2, 0, 0, 0, 4]]
    assert X.indices.tolist() == [4, 0, 4]


def test_labels_of_mixed_number_types_and_objects(tmp_path):
    X = np.ones((2, 1))
    with RowCacheWriter(tmp_path / "a", KEY) as writer:
        writer.write(Batch(X, np.array([3, 1]), 0))
        writer.write(Batch(X, np.array([1.0, 2.5]), 2))
        writer.write(Batch(X, np.array(["1", "b"], dtype=object), 4))
        row_cache = writer.commit()
    assert row_cache.labels == [3, 1, 2.5, "1", "b"]
    assert row_cache.read_blocks([0])[1].tolist() == [0, 1, 1, 2, 3, 4]
    nothing, mixed = np.array([None, None]), np.array(["a", 1], dtype=object)
    for bad in (None, np.array([1.0, np.nan]), nothing, mixed, np.array([1.0])):
        with (
            RowCacheWriter(tmp_path / "b", KEY) as writer,
            refused(RowCacheError, "label-type"),
        ):
            writer.write(Batch(X, bad, 0))


def test_key_and_path_follow_files_and_options(tmp_path):
    data = tmp_path / "rows.svm"
    data.write_text("1 1:2\n")
    before = source_key([data], {"zero_based": False})
    assert before == source_key([tmp_path / "." / "rows.svm"], {"zero_based": False})
    path = row_cache_path(tmp_path, before)
    write(path, *some_rows(3), key=before).close()
    RowCache.open(path, before).close()
    about = data.stat()
    os.utime(data, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    later = source_key([data], {"zero_based": False})
    data.write_text("1 1:22\n")
    os.utime(data, ns=(about.st_atime_ns, about.st_mtime_ns))
    longer = source_key([data], {"zero_based": False})
    for stale in (later, longer):
        assert row_cache_path(tmp_path, stale) == path  # so the new one replaces the old
        assert RowCache.open(path, stale) is None
    other = source_key([data], {"zero_based": True})
    assert row_cache_path(tmp_path, other) != path
    assert RowCache.open(path, other) is None
    with pytest.raises(FileNotFoundError):
        source_key([tmp_path / "none"], {})


def test_other_versions_and_machines_are_stale(tmp_path, monkeypatch):
    path = tmp_path / "a"
    write(path, *some_rows(3)).close()
    data = path.read_bytes()
    path.write_bytes(data[:8] + data[8:16][::-1] + data[16:])  # the other byte order
    assert RowCache.open(path, KEY) is None
    path.write_bytes(data)
    monkeypatch.setattr(row_cache, "FORMAT", 2)
    assert RowCache.open(path, KEY) is None
    assert RowCache.open(tmp_path, KEY) is None
    assert RowCache.open(tmp_path / "none", KEY) is None


def test_batches_have_about_the_size_asked_for(tmp_path):
    X = np.zeros((6400, 10))
    with RowCacheWriter(tmp_path / "a", KEY) as writer:
        writer.write(Batch(X[:, :1].copy(), X[:, 0], 0))
        writer.write(Batch(X, X[:, 0], 6400))
        row_cache = writer.commit()
    sizes = [X.nbytes + codes.nbytes for X, codes, *_ in row_cache.iterate(100_000)]
    assert max(sizes) <= 100_000
    assert len(sizes) < 15
    assert len(list(row_cache.iterate(1))) == row_cache.n_blocks
