"""What happens to a row cache when the disk, another process or another thread interferes."""

import errno
import os
import threading
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from numba import config

from linsep.batches import Batch
from linsep.compiled.row_records import checksum
from linsep.sources import row_cache as row_cache_module
from linsep.sources.row_cache import (
    RowCache,
    RowCacheDamaged,
    RowCacheError,
    RowCacheWriter,
)
from refusals import refused
from row_cache_rows import KEY, SLOW, some_rows, sparse_rows, write


def attempt(path, data):
    """All rows of a row cache with these bytes; None when it is refused."""
    path.write_bytes(data)
    row_cache = RowCache.open(path, KEY)
    with suppress(RowCacheDamaged):
        return row_cache and row_cache.read_blocks(np.arange(row_cache.n_blocks))
    return None


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


def test_records_of_other_blocks_and_other_files_are_noticed(tmp_path):
    path = tmp_path / "a"
    X, y = np.arange(256.0).reshape(128, 2), np.ones(128)
    write(path, X, y).close()
    data = path.read_bytes()
    size = 16 + 64 * (4 + 16)
    first, second, rest = (
        data[24 : 24 + size],
        data[24 + size : 24 + 2 * size],
        data[24 + 2 * size :],
    )
    assert attempt(path, data[:24] + first + second + rest) is not None
    assert attempt(path, data[:24] + second + first + rest) is None
    write(path, X, y).close()  # the same rows again, in a file of its own
    later = path.read_bytes()
    assert attempt(path, later[:24] + first + later[24 + size :]) is None


def test_a_file_cut_or_changed_while_open_is_noticed(tmp_path, monkeypatch):
    path = tmp_path / "a"
    row_cache = write(path, *some_rows())
    row_cache.read_blocks([0, 1, 2])
    with open(path, "r+b") as file:
        file.seek(60)
        file.write(b"\xff")
    with refused(RowCacheDamaged, "damaged-file"):
        row_cache.read_blocks([2, 0])
    os.truncate(path, 100)
    with refused(RowCacheDamaged, "damaged-file"):
        row_cache.read_blocks([2])

    def broken(*arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(row_cache_module, "_pread", broken)
    with refused(RowCacheDamaged, "damaged-file"):
        row_cache.read_blocks([2])


def test_checksum_notices_single_bits_and_exchanged_words():
    rng = np.random.default_rng(0)
    seed = np.uint64(5)
    words = rng.integers(0, 2**64, 150, dtype=np.uint64)
    words[::2] = np.float64(1).view(np.uint64)
    words[1::4] = np.float64(-1).view(np.uint64)  # differ in their top bit only
    seen = {int(checksum(words, seed)), int(checksum(words, np.uint64(6)))}
    tried = 2
    step = 13 if config.DISABLE_JIT else 1
    for at in range(0, len(words), step):
        for bit in range(0, 64, step):
            words[at] ^= np.uint64(1 << bit)
            seen.add(int(checksum(words, seed)))
            words[at] ^= np.uint64(1 << bit)
            tried += 1
        for other in range(0, at, step):
            if words[at] != words[other]:
                words[[at, other]] = words[[other, at]]
                seen.add(int(checksum(words, seed)))
                words[[at, other]] = words[[other, at]]
                tried += 1
    assert len(seen) == tried


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("after", range(4))
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call, after):
    path = tmp_path / "a"
    write(path, *some_rows(3)).close()
    old = path.read_bytes()
    real, calls = getattr(os, call), []

    def full(*arguments):
        calls.append(call)
        if len(calls) > (after if call == "write" else 0):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments)

    monkeypatch.setattr(row_cache_module.os, call, full)
    with refused(RowCacheError, "cannot-write"):
        write(path, *some_rows(), cuts=(10, 74, 120))
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_bytes() == old


@pytest.mark.skipif(os.name == "nt", reason="Windows opens no folders")
def test_the_folder_is_synced_once_the_file_is_in_its_place(tmp_path, monkeypatch):
    done, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        done.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def replaced(*paths):
        done.append("in place")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write(tmp_path / "a", *some_rows(3)).close()
    assert done[1:] == ["in place", tmp_path.stat().st_ino]


def test_a_real_limit_on_file_size(tmp_path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = RowCacheWriter(tmp_path / "a", KEY)
    X, y = some_rows(20_000 // SLOW, 9, "dense")
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(RowCacheError, match="free some space"):
            writer.write(Batch(X, y, 0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not os.listdir(tmp_path)
    with pytest.raises(RowCacheError, match="aborted"):
        writer.commit()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with refused(RowCacheError, "cannot-write"):
        RowCacheWriter(tmp_path / "file" / "a", KEY)


def test_giving_up_leaves_nothing(tmp_path):
    def interrupted():
        with RowCacheWriter(tmp_path / "a", KEY) as writer:
            writer.write(Batch(*some_rows(), 0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    writer = RowCacheWriter(tmp_path / "a", KEY)
    assert len(os.listdir(tmp_path)) == 1
    writer.abort()
    writer.abort()
    with refused(RowCacheError, "cannot-write"):
        writer.write(Batch(*some_rows(), 0))
    for n_features, rows in ((4, 3), (None, 0)):
        with refused(RowCacheError, "shape"):
            write(tmp_path / "a", *some_rows(rows), n_features=n_features)
    assert not os.listdir(tmp_path)


def test_two_writers_of_one_file(tmp_path):
    path = tmp_path / "a"
    one, two = RowCacheWriter(path, KEY), RowCacheWriter(path, KEY)
    one.write(Batch(np.zeros((100, 2)), np.zeros(100), 0))
    two.write(Batch(np.ones((100, 2)), np.ones(100), 0))
    first, second = one.commit(), two.commit()
    assert first.read_blocks([1])[0].sum() == 0  # still its own file, though it has no name now
    assert second.read_blocks([1])[0].sum() == 72
    assert RowCache.open(path, KEY).labels == [1.0]
    assert os.listdir(tmp_path) == ["a"]


def test_replaced_between_commit_and_open(tmp_path, monkeypatch):
    real = os.replace
    other = RowCacheWriter(tmp_path / "b", {**KEY, "options": {}})
    other.write(Batch(*some_rows(), 0))
    other.commit().close()

    def overtaken(start, end):
        real(start, end)
        real(tmp_path / "b", end)

    monkeypatch.setattr(row_cache_module.os, "replace", overtaken)
    with refused(RowCacheError, "file-changed"):
        write(tmp_path / "a", *some_rows())


@pytest.mark.parametrize("pread", [True, False])
def test_several_threads_read_at_once(tmp_path, monkeypatch, pread):
    if not pread:
        monkeypatch.delattr(os, "preadv", raising=False)
    X = np.repeat(np.arange(6400.0 // SLOW), 3).reshape(-1, 3)
    row_cache = write(tmp_path / "a", X, X[:, 0] % 2)
    wrong = []

    def read(seed):
        rng = np.random.default_rng(seed)
        with suppress(RowCacheError):
            for _ in range(40 // SLOW):
                blocks = rng.integers(0, row_cache.n_blocks, 20)
                rows = np.concatenate([np.arange(len(X))[64 * b : 64 * b + 64] for b in blocks])
                wrong.append(not np.array_equal(row_cache.read_blocks(blocks)[0], X[rows]))

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * (40 // SLOW * 8)


@pytest.mark.skipif(config.DISABLE_JIT, reason="takes a file much larger than the buffers")
def test_memory_does_not_grow_with_the_file(tmp_path):
    X = sparse_rows(np.random.default_rng(0), 2000, 60)
    y = np.arange(2000) % 7
    write(tmp_path / "a", X, y).close()
    tracemalloc.start()
    try:
        with RowCacheWriter(tmp_path / "a", KEY) as writer:
            for i in range(80):
                writer.write(Batch(X, y, 2000 * i))
            row_cache = writer.commit()
        wrote = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        assert sum(batch.size for batch in row_cache.iterate(1 << 20)) == 160_000
        read = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "a").stat().st_size > 40e6
    assert wrote < 3e6
    assert read < 5e6
