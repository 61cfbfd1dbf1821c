"""One server a log, whatever the file is called, and what is removed while it is served."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

import linsep

pytest.importorskip("uvicorn")

from linsep.serving.log import Entry, LogError, RowLog
from refusals import refused
from served import TOKEN, serving

DIGEST = "ab" * 32
ROWS = [[1.0, 2.0], [-2.0, -1.0]]


@pytest.fixture
def model(tmp_path):
    fitted = linsep.Perceptron(max_iter=2).fit(np.array(ROWS), ["a", "b"])
    return linsep.save(fitted, tmp_path / "m.linsep")


def entries(*ids):
    return [Entry(id, "[1]", '"a"') for id in ids]


def ids_of(path):
    with closing(sqlite3.connect(path)) as db:
        return [id for (id,) in db.execute("SELECT id FROM rows ORDER BY number")]


def in_another_process(path, *ids):
    """What another server says of a log, or that it added rows."""
    program = f"""
from pathlib import Path
from linsep.serving.log import Entry, LogError, RowLog
try:
    log = RowLog(Path({str(path)!r}), {DIGEST!r})
    log.append(Entry(id, "[1]", '"a"') for id in {ids!r})
    log.close()
    print(log.n_rows, "rows")
except LogError as problem:
    print(problem)
"""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.compiled
def test_a_second_server_through_a_hard_link_is_refused(tmp_path, model):
    log, link = tmp_path / "s.log", tmp_path / "link.log"
    body = {"ids": ["1"], "rows": ROWS[:1], "labels": ["a"]}
    with serving(model, token=TOKEN, log=log) as client:
        client.learn(["0"], ROWS[:1], ["a"])
        os.link(log, link)
        with (
            refused(LogError, "unsupported"),
            serving(model, token=TOKEN, log=link),
        ):
            pass
        status, sentence = client.refused("/learn", body)
        assert (status, "s.log is a file with 2 names" in sentence) == (503, True)
        link.unlink()
        assert client.learn(**body) == {"learned": 1, "duplicates": 0, "rows": 2}
    assert ids_of(log) == ["0", "1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "m.linsep", "s.log", "s.log-2.linsep", "s.log.lock",
    ]  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize("ending", [".lock", "-wal", "-shm"])
def test_what_is_removed_beside_a_log_is_noticed_before_the_next_answer(tmp_path, model, ending):
    log = tmp_path / "s.log"
    with serving(model, token=TOKEN, log=log) as client:
        client.learn(["0"], ROWS[:1], ["a"])
        os.unlink(f"{log}{ending}")
        for id in ("1", "0"):  # a new row, and one that is known
            body = {"ids": [id], "rows": ROWS[:1], "labels": ["a"]}
            status, sentence = client.refused("/learn", body)
            assert status == 503
            assert f"s.log{ending} was moved or removed while the log was served" in sentence
        assert client.predict(ROWS[:1])["predictions"] == ["a"]
    assert ids_of(log) == ["0"]
    with serving(model, token=TOKEN, log=log) as client:
        assert client.learn(["0", "1"], ROWS, ["a", "b"]) == {
            "learned": 1,
            "duplicates": 1,
            "rows": 2,
        }


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere SQLite's locks are in the way")
@pytest.mark.parametrize("how", ["moved", "linked", "without its lock"])
def test_the_file_is_locked_whatever_it_is_called(tmp_path, how):
    path, other = tmp_path / "a.log", tmp_path / "b.log"
    log = RowLog(path, DIGEST)
    log.append(entries("0"))
    if how == "moved":
        path.rename(other)
    elif how == "linked":
        os.link(path, other)
        path.unlink()
    else:
        (tmp_path / "a.log.lock").unlink()
        other = path
    assert "is used by another server" in in_another_process(other, "1")
    with refused(LogError, "file-changed"):
        log.append(entries("2"))
    log.close()
    assert in_another_process(other, "1") == "2 rows"  # all that were acknowledged are there
    assert ids_of(other) == ["0", "1"]


def test_rows_of_a_log_that_is_gone_are_not_thrown_away(tmp_path):
    """As SQLite does with what lies beside a new file."""
    path = tmp_path / "s.log"
    log = RowLog(path, DIGEST)
    log.append(entries("0"))
    shutil.copy(path, tmp_path / "copy")
    path.unlink()
    log.close()
    for _ in range(2):
        with refused(LogError, "damaged-file"):
            RowLog(path, DIGEST)
        assert not path.exists()
    shutil.copy(tmp_path / "copy", path)
    with closing(RowLog(path, DIGEST)) as log:
        assert log.n_rows == 1
