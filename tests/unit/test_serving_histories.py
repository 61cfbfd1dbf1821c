"""Logs that are copied, linked or moved, and the version of the model that gave an answer."""

import asyncio
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import linsep

pytest.importorskip("uvicorn")

from linsep.serving.limits import Limits
from linsep.serving.log import LogError
from linsep.serving.model import JoinedRequests, Wanted, read_model
from linsep.serving.rows import Bodies
from refusals import refused
from served import TOKEN, serving

pytestmark = pytest.mark.compiled

ROWS = [[1.0, 2.0], [2.0, -1.0], [-3.0, 1.0], [0.5, 0.5]]


@pytest.fixture
def model(tmp_path):
    fitted = linsep.Perceptron(max_iter=2).fit(np.array(ROWS), ["a", "b", "b", "a"])
    return linsep.save(fitted, tmp_path / "m.linsep")


def taught(model, log, label, many=2):
    """Let a server learn rows of one label; return the weights after them."""
    with serving(model, token=TOKEN, log=log) as client:
        client.learn([f"{k}" for k in range(many)], ROWS[:many], [label] * many)
        return client.server.served.model.coef_.tobytes()


def served_weights(model, log):
    with serving(model, token=TOKEN, log=log) as client:
        return client.server.served.model.coef_.tobytes(), client.said


def test_the_snapshot_of_another_log_is_no_part_of_this_one(tmp_path, model):
    """Two histories of as many rows: a copy of one log beside the snapshot of the other."""
    (tmp_path / "A").mkdir()
    (tmp_path / "B").mkdir()
    one, other = (taught(model, tmp_path / name / "s.log", name.lower()) for name in "AB")
    assert one != other
    assert served_weights(model, tmp_path / "A" / "s.log") == (one, [])
    shutil.copy(tmp_path / "B" / "s.log", tmp_path / "A" / "s.log")
    found, said = served_weights(model, tmp_path / "A" / "s.log")
    assert found == other
    assert len(said) == 1
    assert "s.log-2.linsep is not the snapshot recorded in s.log: its rows are learned" in said[0]


def test_a_snapshot_that_is_damaged_is_passed_over(tmp_path, model):
    expected = taught(model, tmp_path / "s.log", "a")
    snapshot = tmp_path / "s.log-2.linsep"
    for damaged in (snapshot.read_bytes()[:-9], b""):
        snapshot.write_bytes(damaged)
        found, said = served_weights(model, tmp_path / "s.log")
        assert found == expected
        assert "s.log-2.linsep is not the snapshot" in said[0]


def test_a_model_named_like_a_snapshot_of_the_log_is_refused(tmp_path, model):
    """Who removes the log and goes on from its snapshot: the next one would remove the model."""
    taught(model, tmp_path / "s.log", "a")
    (tmp_path / "s.log").unlink()
    snapshot, link = tmp_path / "s.log-2.linsep", tmp_path / "link.linsep"
    link.symlink_to(snapshot)
    for name in (snapshot, link):
        with (
            refused(LogError, "conflict"),
            serving(name, token=TOKEN, log=tmp_path / "s.log"),
        ):
            pass
    assert not (tmp_path / "s.log").exists()
    taught(snapshot, tmp_path / "other.log", "a")
    assert snapshot.exists()


def test_a_link_to_a_log_is_that_log(tmp_path, model):
    taught(model, tmp_path / "s.log", "a", 1)
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / "link.log"
    link.symlink_to(tmp_path / "s.log")
    with (
        serving(model, token=TOKEN, log=tmp_path / "s.log"),
        refused(LogError, "in-use"),
        serving(model, token=TOKEN, log=link),
    ):
        pass
    with serving(model, token=TOKEN, log=link) as client:
        assert client.learn(["new"], ROWS[:1], ["b"]) == {"learned": 1, "duplicates": 0, "rows": 2}
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["link.log"]
    assert (tmp_path / "s.log-2.linsep").exists()


def test_a_log_that_is_moved_learns_nothing_until_it_is_back(tmp_path, model):
    log, away = tmp_path / "s.log", tmp_path / "s.log.1"
    row = {"rows": ROWS[:1], "labels": ["a"]}
    with serving(model, token=TOKEN, log=log) as client:
        client.learn(["0"], ROWS[:1], ["a"])
        log.rename(away)
        status, sentence = client.refused("/learn", {"ids": ["1"], **row})
        assert status == 503
        assert "s.log was moved or removed while it was served" in sentence
        log.touch()
        assert client.refused("/learn", {"ids": ["1"], **row})[0] == 503
        away.replace(log)
        assert client.learn(["1"], ROWS[:1], ["a"])["rows"] == 2
    with closing(sqlite3.connect(log)) as db:
        assert db.execute("SELECT id FROM rows ORDER BY number").fetchall() == [("0",), ("1",)]


def test_the_version_is_that_of_the_scores(model):
    """The model learns between the scores of a request and its answer."""
    served = read_model(model, Limits())
    wanted = Wanted(scores=True)

    async def asked():
        batches = JoinedRequests(bodies)
        answer = asyncio.ensure_future(batches.answer(served, ROWS[:1], wanted))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(learn)  # behind the scores, before the answer
        return await answer

    def learn():
        served.model.partial_fit(np.array(ROWS[1:2]), ["a"])
        served.learned += 1

    with closing(Bodies(Limits())) as bodies:
        before = served.model.decision_function(ROWS[:1]).tolist()
        found, version = asyncio.run(asked())
    assert (found["scores"], version) == (before, served.digest[:16])
    assert served.version == f"{version}+1"
    assert served.model.decision_function(ROWS[:1]).tolist() != before


def test_the_version_after_rows_that_were_learned(tmp_path, model):
    with serving(model, token=TOKEN, log=tmp_path / "s.log") as client:
        body = b'{"ids": ["0"], "rows": [[1, 2]], "labels": ["b"]}'
        for number in (1, 1):  # the second time the row is known
            _, found, headers = client.ask("POST", "/learn", body, "application/json")
            assert found["rows"] == number
            assert headers["linsep-model"] == f"{client.server.served.digest[:16]}+{number}"
