"""The cache folder keeps what was used last, up to a limit."""

import os
from types import SimpleNamespace

import pytest

import linsep._system.caches
from linsep._system.caches import cache_limit
from linsep.errors import LinsepError
from linsep.sources.row_cache import RowCache
from refusals import refused
from row_cache_rows import KEY, some_rows, write

YOUNG, MIDDLE, OLD, NEW, UNMARKED, FOLDER, LINK = (f"{digit}" * 32 + ".rows" for digit in "0123456")
OURS = YOUNG, MIDDLE, OLD
FOREIGN = "letter.txt", "thread.rows"


@pytest.fixture
def folder(tmp_path):
    """Three caches, the last used longest ago, and files of somebody else, older still."""
    for age, name in enumerate((*OURS, *FOREIGN)):
        write(tmp_path / name, *some_rows()).close()
        os.utime(tmp_path / name, (0, 1e9 - age))
    (tmp_path / UNMARKED).write_text("named as a cache, but not written by us")
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "photo.jpg").write_text("precious")
    (tmp_path / LINK).symlink_to(tmp_path / "letter.txt")
    return tmp_path


def left(folder):
    """The caches that are left; what is not ours is."""
    assert {path.name for path in folder.iterdir()} >= {*FOREIGN, UNMARKED, FOLDER, LINK}
    assert (folder / FOLDER / "photo.jpg").exists()
    return [name for name in (*OURS, NEW) if (folder / name).exists()]


def room_for(monkeypatch, folder, caches):
    size = (folder / OLD).stat().st_size
    monkeypatch.setenv("LINSEP_CACHE_GB", repr((caches + 0.5) * size / 1e9))


def test_what_was_used_longest_ago_goes_first(folder, monkeypatch):
    room_for(monkeypatch, folder, 3)
    write(folder / NEW, *some_rows()).close()
    assert left(folder) == [YOUNG, MIDDLE, NEW]


def test_reading_a_cache_is_using_it(folder, monkeypatch):
    RowCache.open(folder / OLD, KEY).close()
    room_for(monkeypatch, folder, 2)
    write(folder / NEW, *some_rows()).close()
    assert left(folder) == [OLD, NEW]


def test_the_cache_just_written_stays_whatever_its_size(folder, monkeypatch):
    monkeypatch.setenv("LINSEP_CACHE_GB", "0")
    row_cache = write(folder / NEW, *some_rows(900))
    assert sum(batch.size for batch in row_cache.iterate()) == 900
    assert left(folder) == [NEW]


def test_a_cache_removed_while_it_is_read_is_read_to_its_end(folder, monkeypatch):
    row_cache = RowCache.open(folder / OLD, KEY)
    monkeypatch.setenv("LINSEP_CACHE_GB", "0")
    write(folder / NEW, *some_rows()).close()
    if (folder / OLD).exists():
        pytest.skip("this system removes no open file")
    assert sum(batch.size for batch in row_cache.iterate()) == 150


def test_without_limit_all_stay(folder, monkeypatch):
    monkeypatch.setenv("LINSEP_CACHE_GB", "inf")
    write(folder / NEW, *some_rows()).close()
    assert len(left(folder)) == 4


@pytest.mark.parametrize("wrong", ["many", "-1", "nan"])
def test_a_limit_that_is_no_number(folder, monkeypatch, wrong):
    monkeypatch.setenv("LINSEP_CACHE_GB", wrong)
    with refused(LinsepError, "bad-option"):
        write(folder / NEW, *some_rows())
    assert left(folder) == list(OURS)


@pytest.mark.parametrize(("disk", "limit"), [(1e12, 20e9), (50e9, 10e9)])
def test_the_limit_fits_the_disk(tmp_path, monkeypatch, disk, limit):
    monkeypatch.delenv("LINSEP_CACHE_GB", raising=False)
    monkeypatch.setattr(
        linsep._system.caches.shutil, "disk_usage", lambda folder: SimpleNamespace(total=int(disk))
    )
    assert cache_limit(tmp_path) == limit
