"""Parsed rows that somebody else could have written are not learned."""

import os
import stat
import warnings
from unittest import mock

import pytest

import linsep
from linsep import Perceptron, open_source
from linsep._system.files import CacheWarning, UnsafeFolder, _warned, private_folder
from linsep.rows import source_stream as stream


@pytest.fixture(autouse=True)
def warned_anew():
    _warned.clear()


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{k % 2} 1:{k % 5 + 3 * (k % 2)} 2:{k % 3}\n" for k in range(40)))
    return path


def learned(path, cache):
    source = open_source(path, cache=cache)
    source.memory_bytes = 0
    model = Perceptron(max_iter=2).fit(source)
    return model.coef_.tolist(), source.kept


def planted(rows, cache):
    """The cache of other rows in place of the cache of ``rows``."""
    _, kept = learned(rows, cache)
    options = open_source(rows).options() | {"version": linsep.__version__}
    key, text = stream.source_key([str(rows)], options), rows.read_text()
    other = rows.with_name("other.svm")
    other.write_text(text.replace("0 1:", "9 1:"))
    kept.unlink()
    with mock.patch.object(stream, "source_key", return_value=key):
        learned(other, cache)
    return kept


@pytest.mark.parametrize("who", ["others can write", "somebody else", "writable file", "link"])
def test_a_planted_cache_is_not_learned(rows, tmp_path, who):
    expected, _ = learned(rows, None)
    cache = tmp_path / "cache"
    kept = planted(rows, cache)
    assert learned(rows, cache)[0] != expected  # where it is trusted
    if who == "others can write":
        kept.parent.chmod(0o777)
    elif who == "somebody else":
        if os.geteuid() != 0:
            pytest.skip("only root may give files away")
        os.chown(kept.parent, 12345, -1)
    elif who == "writable file":
        kept.chmod(0o666)
    else:
        kept.rename(tmp_path / "elsewhere")
        kept.symlink_to(tmp_path / "elsewhere")
    with warnings.catch_warnings(record=True, action="always") as heard:
        assert [learned(rows, cache)[0], learned(rows, cache)[0]] == [expected, expected]
    if who in ("writable file", "link"):
        assert not heard
        assert stat.S_IMODE(kept.lstat().st_mode) == 0o600  # made again
    else:
        assert [warning.category for warning in heard] == [CacheWarning]


def test_folders_of_our_own_are_closed_to_others(tmp_path):
    umask = os.umask(0)
    try:
        made = private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(umask)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (made, made.parent)] == [0o700, 0o700]
    made.chmod(0o755)  # others could read, but not write
    assert stat.S_IMODE(private_folder(made).stat().st_mode) == 0o700


def test_a_link_in_the_way_is_followed_before_it_is_checked(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to("open")
    with pytest.raises(UnsafeFolder):
        private_folder(tmp_path / "link" / "cache")
