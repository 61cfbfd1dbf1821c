"""The cache folder keeps what was used last, up to a limit."""

import os
from types import SimpleNamespace

import pytest

import linsep.paths
from linsep.errors import LinsepError
from linsep.paths import cache_limit, trim
from linsep.sources.spool import Spool
from spool_rows import KEY, some_rows, write


@pytest.fixture
def folder(tmp_path):
    """Three caches, the last used longest ago, and a file of somebody else, older still."""
    for age, name in enumerate(("young.spool", "middle.spool", "old.spool", "letter.txt")):
        write(tmp_path / name, *some_rows()).close()
        os.utime(tmp_path / name, (0, 1e9 - age))
    return tmp_path


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def room_for(monkeypatch, folder, caches):
    size = (folder / "old.spool").stat().st_size
    monkeypatch.setenv("LINSEP_CACHE_GB", repr((caches + 0.5) * size / 1e9))


def test_what_was_used_longest_ago_goes_first(folder, monkeypatch):
    room_for(monkeypatch, folder, 3)
    write(folder / "new.spool", *some_rows()).close()
    assert left(folder) == ["letter.txt", "middle.spool", "new.spool", "young.spool"]


def test_reading_a_cache_is_using_it(folder, monkeypatch):
    Spool.open(folder / "old.spool", KEY).close()
    room_for(monkeypatch, folder, 2)
    write(folder / "new.spool", *some_rows()).close()
    assert left(folder) == ["letter.txt", "new.spool", "old.spool"]


def test_the_cache_just_written_stays_whatever_its_size(folder, monkeypatch):
    monkeypatch.setenv("LINSEP_CACHE_GB", "0")
    spool = write(folder / "new.spool", *some_rows(900))
    assert sum(codes.size for _, codes in spool.iterate()) == 900
    assert left(folder) == ["letter.txt", "new.spool"]


def test_a_cache_removed_while_it_is_read_is_read_to_its_end(folder, monkeypatch):
    spool = Spool.open(folder / "old.spool", KEY)
    monkeypatch.setenv("LINSEP_CACHE_GB", "0")
    write(folder / "new.spool", *some_rows()).close()
    if (folder / "old.spool").exists():
        pytest.skip("this system removes no open file")
    assert sum(codes.size for _, codes in spool.iterate()) == 150


def test_without_limit_all_stay(folder, monkeypatch):
    monkeypatch.setenv("LINSEP_CACHE_GB", "inf")
    write(folder / "new.spool", *some_rows()).close()
    assert len(left(folder)) == 5


@pytest.mark.parametrize("wrong", ["many", "-1", "nan"])
def test_a_limit_that_is_no_number(folder, monkeypatch, wrong):
    monkeypatch.setenv("LINSEP_CACHE_GB", wrong)
    with pytest.raises(LinsepError, match=rf"LINSEP_CACHE_GB is '{wrong}': .*gigabytes"):
        write(folder / "new.spool", *some_rows())
    assert len(left(folder)) == 4


@pytest.mark.parametrize(("disk", "limit"), [(1e12, 20e9), (50e9, 10e9)])
def test_the_limit_fits_the_disk(tmp_path, monkeypatch, disk, limit):
    monkeypatch.delenv("LINSEP_CACHE_GB", raising=False)
    monkeypatch.setattr(
        linsep.paths.shutil, "disk_usage", lambda folder: SimpleNamespace(total=int(disk))
    )
    assert cache_limit(tmp_path) == limit


def test_folders_count_with_all_they_hold(tmp_path):
    for age, name in enumerate(("keep", "young", "old")):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "code").write_bytes(bytes(1000))
        os.utime(tmp_path / name, (0, 1e9 + (5 if name == "old" else -age)))
    trim(tmp_path.iterdir(), 2000, tmp_path / "keep")
    assert left(tmp_path) == ["keep", "old"]
