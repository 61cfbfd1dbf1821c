"""Parsed rows on disk: what comes back, faults of disks and processes, the limit of the folder."""

import errno
import os
import resource
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numba import config

from linsep.batches import Batch
from linsep.errors import LinsepError
from linsep.sources.row_cache import RowCache, RowCacheWriter, row_cache_path, source_key
from refusals import refused
from row_cache_rows import KEY, some_rows, sparse_rows, write, written
from thoroughness import examples

LABELS = [-1.0, 2.5, 1e-300], [7, -(2**62)], [True, False], ["cat", "", "čačka", 'with "quotes"\n']


def narrowed(X, width):
    """The columns before ``width``; dense rows have all."""
    if not sp.issparse(X):
        return X
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
    index, weighted = draw(st.sampled_from(["i4", "i8"])), draw(st.booleans())
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=5)))
    widths = sorted(draw(st.lists(st.integers(1, width), min_size=len(cuts), max_size=len(cuts))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = sparse_rows(rng, rows, width, value, index)
    X = X if kind == "csr" else np.frombuffer(rng.bytes(X.dtype.itemsize * rows * width), value)
    X = X if kind == "csr" else X.reshape(rows, width)
    y, weights = rng.integers(0, 4, rows).astype(np.int32), rng.random(rows)
    edges = list(pairwise([0, *cuts, rows]))
    batches = [
        Batch(narrowed(X[lo:hi], w), y[lo:hi], lo, weights[lo:hi] if weighted else None)
        for (lo, hi), w in zip(edges, [*widths, width], strict=True)
    ]
    blocks = draw(st.lists(st.integers(0, (rows - 1) // 64), min_size=1, max_size=12))
    return batches, width, y, weights if weighted else None, np.array(blocks, dtype=int)


def joined(batches, width):
    """All rows in one array or matrix, zeros where a batch was narrower."""
    if sp.issparse(batches[0].X):
        parts = []
        for batch in batches:
            part = sp.csr_matrix((batch.X.shape[0], width), dtype=batch.X.dtype)
            part.data, part.indices, part.indptr = batch.X.data, batch.X.indices, batch.X.indptr
            parts.append(part)
        return sp.vstack(parts, format="csr")
    return np.vstack([batch.X for batch in batches])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("row caches")


@pytest.mark.both
@given(cases())
@examples(150, 38)
def test_any_rows_come_back_in_any_order_of_blocks(folder, case):
    batches, width, y, weights, blocks = case
    stored = written(folder / "any.rows", batches, width)
    everything = joined(batches, width)
    assert (stored.n_rows, stored.n_features) == everything.shape
    assert stored.n_blocks == (len(y) + 63) // 64
    X, numbers, _, own, *_ = stored.read_blocks(blocks)
    rows = np.concatenate([np.arange(len(y))[64 * b : 64 * b + 64] for b in blocks] or [[]])
    rows = rows.astype(int)
    same_rows(X, everything[rows])
    if sp.issparse(X):
        assert X.indices.dtype == X.indptr.dtype == batches[0].X.indices.dtype
    same_bits(numbers, y[rows])
    parts = list(stored.iterate())
    same_bits(np.concatenate([part.y for part in parts]), y)
    if weights is None:
        assert own is parts[0].weights is None
    else:
        same_bits(own, weights[rows])
        same_bits(np.concatenate([part.weights for part in parts]), weights)
    stack = sp.vstack if sp.issparse(X) else np.vstack
    same_rows(stack([X for X, *_ in parts]), everything)
    stored.close()


@pytest.mark.both
def test_what_the_file_says_about_itself(tmp_path):
    X, y = some_rows()
    names, recipe = ["a", "b", "c", "d", "e", "f"], {"hash_bits": None, "columns": ["a"]}
    path = tmp_path / "made" / "folder" / "rows.rows"
    about = {"recipe": lambda: recipe, "feature_names": names, "dropped": 2, "filled": {"a": 1}}
    for labels in LABELS:
        write(path, X, y, (3, 70), labels=labels, **about).close()
        # tuples are lists in JSON
        row_cache = RowCache.open(path, {**KEY, "files": [("rows.svm", 10, 20)]})
        assert row_cache.labels == labels
        assert [*map(type, row_cache.labels)] == [*map(type, labels)]
    assert (row_cache.n_rows, row_cache.n_features, row_cache.n_blocks) == (150, 5, 3)
    assert (row_cache.feature_names, row_cache.recipe) == (names, recipe)
    assert (row_cache.dropped, row_cache.filled) == (2, {"a": 1})
    assert path.stat().st_mode & 0o777 == 0o600
    row_cache.close()
    with pytest.raises(OSError, match="descriptor"):
        row_cache.read_blocks([0])
    for X in (sp.csr_matrix((200, 3)), np.zeros((1, 3))):  # without values
        write(tmp_path / "few", X, np.zeros(X.shape[0], np.int32)).close()
        row_cache = RowCache.open(tmp_path / "few", KEY)
        same_rows(row_cache.read_blocks(np.arange(row_cache.n_blocks))[0], X)


@pytest.mark.both
def test_key_and_path_follow_files_and_options(tmp_path):
    data = tmp_path / "rows.svm"
    data.write_text("1 1:2\n")
    before = source_key([data], {"zero_based": False})
    assert before == source_key([tmp_path / "." / "rows.svm"], {"zero_based": False})
    path = row_cache_path(tmp_path, before)
    write(path, *some_rows(3), key=before).close()
    RowCache.open(path, before).close()
    assert RowCache.open(tmp_path, KEY) is None
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


def attempt(path, data):
    """All rows of a row cache with these bytes; None when it is refused."""
    path.write_bytes(data)
    row_cache = RowCache.open(path, KEY)
    return row_cache and row_cache.read_blocks(np.arange(row_cache.n_blocks))


@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_every_changed_byte_and_every_cut_is_noticed(tmp_path, kind):
    path = tmp_path / "a"
    X, y = some_rows(70, 2, kind)
    write(path, X.astype(np.float32), y).close()
    data = path.read_bytes()
    assert attempt(path, data) is not None
    step = 7 if config.DISABLE_JIT else 1
    for at in range(0, len(data), step):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        assert attempt(path, bytes(changed)) is None, at
        assert attempt(path, data[:at]) is None, at
    assert attempt(path, data + b"\0" * 8) is None


@pytest.mark.parametrize("call", ["fsync", "replace", 0, 5000])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call):
    path = tmp_path / "a"
    write(path, *some_rows(3)).close()
    old = path.read_bytes()

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if isinstance(call, str):
        monkeypatch.setattr(os, call, full)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (call, limits[1]))
    try:
        with pytest.raises(OSError, match=r"No space|too large"):
            write(path, *some_rows(), cuts=(10, 74, 120))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_bytes() == old
    with pytest.raises(FileExistsError):
        RowCacheWriter(path / "in a file", KEY)


def test_giving_up_leaves_nothing(tmp_path):
    writer = RowCacheWriter(tmp_path / "a", KEY)
    writer.write(Batch(*some_rows(), 0))
    assert len(os.listdir(tmp_path)) == 1
    for _ in range(2):
        writer.abort()
        assert not os.listdir(tmp_path)


def test_a_link_in_the_place_of_a_cache_is_replaced(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "a").symlink_to("mine")
    write(tmp_path / "a", *some_rows()).close()
    assert (tmp_path / "mine").read_text() == "precious"
    assert RowCache.open(tmp_path / "a", KEY).n_rows == 150


@pytest.mark.skipif(config.DISABLE_JIT, reason="takes a file much larger than the buffers")
def test_memory_does_not_grow_with_the_file(tmp_path):
    X = sparse_rows(np.random.default_rng(0), 2000, 60)
    y = np.arange(2000, dtype=np.int32) % 7
    write(tmp_path / "a", X, y).close()
    tracemalloc.start()
    try:
        row_cache = written(tmp_path / "a", (Batch(X, y, 2000 * i) for i in range(80)), 60)
        wrote = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        assert sum(batch.size for batch in row_cache.iterate()) == 160_000
        read = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "a").stat().st_size > 40e6
    assert wrote < 3e6
    assert read < 5e6


YOUNG, MIDDLE, OLD, NEW, UNMARKED, FOLDER, LINK = (f"{digit}" * 32 + ".rows" for digit in "0123456")
OURS = YOUNG, MIDDLE, OLD
FOREIGN = "letter.txt", "thread.rows"


@pytest.fixture
def full(tmp_path):
    """Three caches, the last used longest ago, and files of somebody else, older still."""
    for age, name in enumerate((*OURS, *FOREIGN)):
        write(tmp_path / name, *some_rows()).close()
        os.utime(tmp_path / name, (0, 1e9 - age))
    (tmp_path / UNMARKED).write_text("named as a cache, but not written by us")
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "photo.jpg").write_text("precious")
    (tmp_path / LINK).symlink_to(tmp_path / "letter.txt")
    return tmp_path


def left(full):
    """The caches that are left; what is not ours is."""
    assert {path.name for path in full.iterdir()} >= {*FOREIGN, UNMARKED, FOLDER, LINK}
    assert (full / FOLDER / "photo.jpg").exists()
    return [name for name in (*OURS, NEW) if (full / name).exists()]


def test_what_was_used_longest_ago_goes_first(full, monkeypatch):
    size = (full / OLD).stat().st_size
    row_cache = RowCache.open(full / OLD, KEY)  # reading a cache is using it
    monkeypatch.setenv("LINSEP_CACHE_GB", repr(2.5 * size / 1e9))
    write(full / NEW, *some_rows()).close()
    assert left(full) == [OLD, NEW]
    monkeypatch.setenv("LINSEP_CACHE_GB", "0")
    write(full / NEW, *some_rows()).close()
    assert left(full) == [NEW]  # the cache just written stays
    assert sum(batch.size for batch in row_cache.iterate()) == 150  # though it has no name now
    for wrong in ("many", "-1", "nan"):
        monkeypatch.setenv("LINSEP_CACHE_GB", wrong)
        with refused(LinsepError, "bad-option"):
            write(full / NEW, *some_rows())
