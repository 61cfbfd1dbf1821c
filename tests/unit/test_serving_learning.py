"""Rows learned over HTTP: the model is bit-identical to partial_fit on the log, row by row."""

import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import linsep
from linsep.errors import DataError, LinsepError
from linsep.serving.limits import Budget, Limits, Refused
from linsep.serving.log import Entry, LogError, RowLog
from linsep.serving.model import Wanted, read_model
from linsep.serving.rows import RequestRows
from refusals import refused
from served import TOKEN, Client, serving

pytestmark = pytest.mark.compiled

CLASSES = ["a", "b", "c"]
MODELS = {
    "average": linsep.Perceptron(keep="average", max_iter=2),
    "vote-ovr": linsep.Perceptron(keep="vote", multiclass="ovr", max_iter=2),
    "best-ovo": linsep.PassiveAggressive(keep="best", multiclass="ovo", max_iter=2),
    "schedule": linsep.Perceptron(schedule="inverse_sqrt", learning_rate=0.7, max_iter=2),
    "batch": linsep.Perceptron(update="batch", max_iter=2),
    "margin": linsep.MarginPerceptron(keep="average", gamma=0.1, max_iter=2),
    "kernel-budget": linsep.KernelPerceptron(kernel="rbf", gamma=0.5, budget=8, max_iter=2),
}


def rows_of(seed, many):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(many, 4))
    codes = (X @ rng.normal(size=(4, 3))).argmax(axis=1)
    return X, np.array(CLASSES)[codes]


def fitted(model, folder):
    X, y = rows_of(0, 40)
    return linsep.save(model.fit(X, y), folder / "m.linsep", force=True)


def replayed(path, X, y):
    """The oracle: the model of the file, and one call of partial_fit for each row."""
    model = linsep.load(path)
    for k in range(len(y)):
        model.partial_fit(X[k : k + 1], y[k : k + 1])
    return model


def state_of(model):
    weights = getattr(model, "dual_coef_", None)
    weights = model.coef_ if weights is None else weights
    state = model.fitted_run().state
    # A file leaves out arrays of zeros.
    shaped = {name: array.tobytes() for name, array in state.shaped.items() if array.any()}
    counts = {name: array.tobytes() for name, array in state.counts.items()}
    return weights.tobytes(), shaped, counts, state.rounds, state.n_updates


def of_file(client, folder):
    (folder / "now.linsep").write_bytes(client.get("/model/file"))
    return linsep.load(folder / "now.linsep")


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_a_replay_to_the_bit_before_and_after_restarts(name, tmp_path):
    path, (X, y) = fitted(MODELS[name], tmp_path), rows_of(1, 60)
    how = {"token": TOKEN, "log": tmp_path / "log.db", "rows_a_snapshot": 16}
    sent = 0
    for sizes in ([1, 2, 7], [20, 1], [13]):  # three servers, one after the other
        with serving(path, **how) as client:
            assert client.get("/model")["rows_learned"] == sent
            for size in sizes:
                part = slice(sent, sent + size)
                ids = [f"row {k}" for k in range(sent, sent + size)]
                answer = client.learn(ids, X[part].tolist(), y[part].tolist())
                sent += size
                assert answer == {"learned": size, "duplicates": 0, "rows": sent}
            expected = replayed(path, X[:sent], y[:sent])
            assert state_of(client.server.served.model) == state_of(expected)
            assert client.predict(X.tolist())["predictions"] == expected.predict(X).tolist()
            found = of_file(client, tmp_path)
            assert state_of(found) == state_of(expected)
    snapshots = [p.name for p in tmp_path.glob("log.db-*")]
    assert snapshots == [f"log.db-{sent}.linsep"]
    # Without its snapshot, all rows are learned again.
    (tmp_path / snapshots[0]).unlink()
    with serving(path, **how) as client:
        assert state_of(client.server.served.model) == state_of(expected)


def test_many_clients_at_once_are_learned_in_the_order_of_the_log(tmp_path):
    path, (X, y) = fitted(MODELS["average"], tmp_path), rows_of(2, 240)
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:

        def work(first):
            own = Client(client.port, TOKEN)
            for k in range(first, first + 40):
                own.learn([str(k)], [X[k].tolist()], [y[k]])
                own.predict([X[k].tolist()])
            own.close()

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(0, 240, 40)))
        commits = client.server.learning.commits
        found = client.server.served.model
    order = [int(id) for (id,) in rows_in(tmp_path / "log.db", "id")]
    assert sorted(order) == list(range(240))
    assert state_of(found) == state_of(replayed(path, X[order], y[order]))
    assert commits <= 240


def rows_in(log, columns):
    with sqlite3.connect(log) as db:
        found = db.execute(f"SELECT {columns} FROM rows ORDER BY number").fetchall()
    db.close()
    return found


def test_ids_make_retries_safe(tmp_path):
    path, (X, y) = fitted(MODELS["average"], tmp_path), rows_of(3, 4)
    rows, labels, log = X.tolist(), y.tolist(), tmp_path / "log.db"
    with serving(path, token=TOKEN, log=log) as client:
        assert client.learn(["a", "b"], rows[:2], labels[:2])["learned"] == 2
        again = client.learn(["b", "c", "a"], [rows[1], rows[2], rows[0]],
                             [labels[1], labels[2], labels[0]])  # fmt: skip
        assert again == {"learned": 1, "duplicates": 2, "rows": 3}
        sent = {"ids": ["d", "a"], "rows": [rows[3], rows[3]], "labels": [labels[3]] * 2}
        status, why = client.refused("/learn", sent)
        assert (status, why) == (
            409,
            "ids[1] is 'a', an ID that already belongs to a different row: "
            "give each row its own ID.",
        )
    with serving(path, token=TOKEN, log=log) as client:  # another server knows them, too
        assert client.learn(["a"], rows[:1], labels[:1]) == {
            "learned": 0,
            "duplicates": 1,
            "rows": 3,
        }
        other = next(label for label in CLASSES if label != labels[0])
        sent = {"ids": ["a"], "rows": rows[:1], "labels": [other]}
        assert client.refused("/learn", sent)[0] == 409
        metrics = client.get("/metrics").decode()
        assert "linsep_rows_duplicate_total 1.0\n" in metrics
        assert "linsep_log_rows 3.0\n" in metrics
    assert [id for (id,) in rows_in(log, "id")] == ["a", "b", "c"]


def test_the_same_row_may_be_written_differently(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("a,t,y\n1,u,p\n-1,v,q\n2,v,p\n")
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    same = {
        "rows.csv": ([1, "u"], [1.0, "u"], {"t": "u", "a": 1}, {"a": True, "t": "u", "y": "q"}),
        "rows.svm": ([1, 0], [1.0, 0.0], {"1": 1}, {"2": 0, "1": True}),
    }
    for name, written in same.items():
        source = linsep.open_source(tmp_path / name, **({"target": "y"} if "csv" in name else {}))
        model = linsep.Perceptron(max_iter=2).fit(source)
        path, label = linsep.save(model, tmp_path / f"{name}.linsep"), model.classes_[0].item()
        with serving(path, token=TOKEN, log=tmp_path / f"{name}.log") as client:
            learned = [client.learn(["a"], [row], [label])["learned"] for row in written]
            assert learned == [1, 0, 0, 0]
            other = [2, *written[0][1:]]
            for changed in ({"rows": [other]}, {"labels": [model.classes_[1].item()]}):
                sent = {"ids": ["a"], "rows": [written[0]], "labels": [label]} | changed
                assert client.refused("/learn", sent)[0] == 409
            if name == "rows.csv":  # the label may be in the row, but not anything
                row = {"a": 1, "t": "u", "y": json.loads("[" * 900 + "]" * 900)}
                sent = {"ids": ["b"], "rows": [row], "labels": [label]}
                assert "rows[0] is nested too deeply" in client.refused("/learn", sent)[1]


def test_rows_that_cannot_be_learned_are_not_logged(tmp_path):
    path, (X, y) = fitted(linsep.Perceptron(max_iter=2), tmp_path), rows_of(4, 3)
    fine = {"ids": ["x"], "rows": X[:1].tolist(), "labels": [y[0]]}
    deep = json.loads("[" * 900 + "]" * 900)
    bad = [
        (
            {"labels": ["d"]},
            422,
            'labels[0] is "d", which is not a class of the model: its classes ',
        ),
        ({"labels": [0]}, 422, "labels[0] is 0, which is not a class"),
        ({"labels": [["a"]]}, 422, 'labels[0] is ["a"], which is not a class'),
        ({"labels": [deep]}, 422, "labels[0] is [[[[[[[["),
        ({"labels": [None]}, 422, "labels[0] is null, which is not a class"),
        ({"rows": [[1, 2, 3]]}, 422, "rows[0] has 3 values, but the model has 4 columns"),
        ({"rows": [[1, 2, 3, None]]}, 422, "rows[0], column 'feature 3' has no value"),
        ({"rows": [[1, 2, 3, "4"]]}, 422, "column 'feature 3' holds \"4\", not a number"),
        ({"rows": [[1e308, 1e308, 1e308, 1e308]] * 1}, 422, "rows[0]: the score overflows"),
        ({"ids": [""]}, 422, "ids[0] is not an ID"),
        ({"ids": ["x" * 201]}, 422, "ids[0] is not an ID"),
        ({"ids": ["a\n"]}, 422, "ids[0] is not an ID"),
        ({"ids": [7]}, 422, "ids[0] is not an ID"),
        ({"ids": ["x", "y"]}, 422, "The body has 2 ids and 1 row: send one of each"),
        ({"more": []}, 422, "The body has an unknown field 'more'"),
        ({"ids": [], "rows": [], "labels": []}, 422, "There are no ids"),
    ]
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:
        client.learn(["before"], (X[1:2] * 1e-3).tolist(), [y[1]])
        for changed, status, why in bad:
            found = client.refused("/learn", fine | changed)
            assert (found[0], why in found[1]) == (status, True), found
        twice = {"ids": ["x", "x"], "rows": X[:2].tolist(), "labels": y[:2].tolist()}
        assert "ids[1] is 'x' again" in client.refused("/learn", twice)[1]
        # The rest of the request is not learned either, and later requests are.
        mixed = {"ids": ["p", "q"], "rows": [X[0].tolist(), [1e308] * 4], "labels": ["a", "b"]}
        status, why = client.refused("/learn", mixed)
        assert (status, why.endswith("nothing of the request was learned.")) == (422, True)
        assert client.learn(["x"], X[:1].tolist(), [y[0]])["rows"] == 2
        found = state_of(client.server.served.model)
    rows = np.array([X[1] * 1e-3, X[0]])
    assert found == state_of(replayed(path, rows, y[[1, 0]]))


def test_bad_rows_do_not_harm_those_committed_with_them(tmp_path):
    X = np.abs(rows_of(5, 70)[0])
    y = np.where(X[:, 0] > X[:, 1], "a", "b")
    path = linsep.save(linsep.Winnow(max_iter=2).fit(X[30:], y[30:]), tmp_path / "m.linsep")
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:

        def work(k):
            own = Client(client.port, TOKEN)
            row = -X[k] if k % 5 == 0 else X[k]  # Winnow takes no negative numbers
            sent = json.dumps({"ids": [str(k)], "rows": [row.tolist()], "labels": [y[k]]})
            status = own.ask("POST", "/learn", sent, "application/json")[0]
            own.close()
            return status

        with ThreadPoolExecutor(10) as pool:
            statuses = list(pool.map(work, range(30)))
        found = state_of(client.server.served.model)
    order = [int(id) for (id,) in rows_in(tmp_path / "log.db", "id")]
    assert statuses == [422 if k % 5 == 0 else 200 for k in range(30)]
    assert sorted(order) == [k for k in range(30) if k % 5]
    assert found == state_of(replayed(path, X[order], y[order]))


def test_a_row_that_would_spoil_the_weights_is_refused(tmp_path):
    X, y = rows_of(10, 40)
    how = {"learning_rate": 1e10, "max_iter": 2, "fit_intercept": False}
    path = linsep.save(linsep.Perceptron(**how).fit(X, y), tmp_path / "m.linsep")
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:
        fine = client.learn(["a"], X[:1].tolist(), [y[0]])
        rows = [[0.0, 0.0, 0.0, 1e299]] * 3
        for label in CLASSES:  # two of these are mistakes
            sent = {"ids": [label], "rows": rows[:1], "labels": [label]}
            client.ask("POST", "/learn", json.dumps(sent), "application/json")
        assert client.get("/model")["rows_learned"] < 4
        assert fine["rows"] == 1
        assert len(client.predict(X.tolist())["predictions"]) == 40
        found = state_of(client.server.served.model)
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:
        assert state_of(client.server.served.model) == found


def test_answers_are_finite_or_refused(tmp_path):
    X, y = rows_of(11, 30)
    kernel = MODELS["kernel-budget"].fit(X, y)
    line = linsep.LinearRegression().fit(X, 1e9 * X[:, 0])
    odds = linsep.LogisticRegression().fit(X * 1e-9, np.arange(30) % 2)
    for model, value, code in [
        (kernel, np.inf, "not-finite"),
        (line, 1e308, "overflow"),
        (odds, 1e308, "overflow"),
    ]:
        served = read_model(linsep.save(model, tmp_path / "m.linsep", force=True), Limits())
        row = RequestRows(np.array([[value, 0.0, 0.0, 0.0]]))
        with np.errstate(all="ignore"), refused((Refused, DataError), code):
            served.answer(row, Wanted(), Budget(Limits()))
    model = linsep.Perceptron(max_iter=3, learning_rate=1e9).fit(X, y)
    served = read_model(linsep.save(model, tmp_path / "m.linsep", force=True), Limits())
    row = RequestRows(np.array([[1e298, -1e298, 1e298, 1e298]]) * 1e2)
    with np.errstate(all="ignore"), refused(DataError, "overflow"):
        served.answer(row, Wanted(explanations=True), Budget(Limits()))


def test_models_that_cannot_learn_are_refused(tmp_path):
    X, y = rows_of(6, 60)
    tree = {
        "a LinearRegression, which does not support online learning": linsep.LinearRegression().fit(
            X, X[:, 0] + 1
        ),
        "early_stopping is not supported": linsep.Perceptron(early_stopping=True, max_iter=3).fit(
            X, y
        ),
        "pass a dict of weights": linsep.Perceptron(class_weight="balanced", max_iter=3).fit(X, y),
    }
    for _why, model in tree.items():
        path = linsep.save(model, tmp_path / "m.linsep", force=True)
        with refused(LinsepError, "unsupported"), serving(path, token=TOKEN, log=tmp_path / "l"):
            pass
    assert not (tmp_path / "l").exists()


DIGEST = "ab" * 32


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.db"
    log = RowLog(path, DIGEST)
    log.append(Entry(str(k), f"[{k}]", '"a"') for k in range(6))
    log.append([Entry("last", "[9]", '"b"')])
    (tmp_path / "log.db-7.linsep").write_bytes(b"a model")
    log.add_snapshot(log.next_snapshot())
    log.close()
    return path


def changed(path, *statements):
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


EDITS = {
    "a row": ("UPDATE rows SET row = '[8]' WHERE number = 3", "row 3 does not match its hash"),
    "a label": ("UPDATE rows SET label = '1' WHERE number = 2", "row 2 does not match its hash"),
    "an id": ("UPDATE rows SET id = 'x' WHERE number = 1", "row 1 does not match its hash"),
    "a type": ("UPDATE rows SET row = x'00' WHERE number = 5", "row 5 does not match its hash"),
    "removed": ("DELETE FROM rows WHERE number = 4", "row 4 does not match its hash"),
    "cut": ("DELETE FROM rows WHERE number > 5", "it has 5 rows, and a snapshot after row 7"),
    "swapped": ("UPDATE rows SET number = -number WHERE number IN (1, 2)", "row 1 does not match"),
    "format": ("UPDATE about SET value = '2' WHERE name = 'format'", "has log format '2'"),
    "model": ("UPDATE about SET value = 'cd' WHERE name = 'model'", "belongs to another model"),
    "table": ("DROP TABLE rows", "is damaged"),
    "kind": ("PRAGMA application_id = 1", "is not a log of linsep serve"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_logs_are_refused_in_a_sentence(log, edit):
    statement, why = EDITS[edit]
    changed(log, statement)
    with pytest.raises(LogError) as caught:
        RowLog(log, DIGEST)
    assert why in str(caught.value)
    assert str(caught.value).count("\n") == 0
    # Nothing is held: another attempt says the same.
    with pytest.raises(LogError, match=re.escape(caught.value.message[-20:-1])):
        RowLog(log, DIGEST)


def test_damaged_logs_are_refused_in_a_sentence(log, tmp_path):
    content = log.read_bytes()
    for name, damaged in {
        "text": b"number,id\n1,2\n" * 1000,
        "half": content[: len(content) // 2],
        "header": content[:100],
        "zeros": content[:4096] + bytes(len(content) - 4096),
    }.items():
        log.write_bytes(damaged)
        (tmp_path / "log.db.lock").unlink(missing_ok=True)
        with pytest.raises(LogError) as caught:
            RowLog(log, DIGEST)
        assert str(log) in str(caught.value), name
        assert not (tmp_path / "log.db.lock").exists()
        assert str(caught.value).count("\n") == 0


def test_one_server_a_log(log):
    log.with_name("log.db.lock").unlink()
    first = RowLog(log, DIGEST)
    with refused(LogError, "in-use"):
        RowLog(log, DIGEST)
    first.close()
    RowLog(log, DIGEST).close()


def test_a_full_disk_is_a_sentence_and_learning_goes_on(tmp_path, monkeypatch):
    path, (X, y) = fitted(MODELS["average"], tmp_path), rows_of(8, 3)
    rows, labels = X.tolist(), y.tolist()
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:
        client.learn(["a"], rows[:1], labels[:1])
        db = client.server.learning.log._db
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages}")  # what SQLite says when the disk is full
        sent = {"ids": ["b"], "rows": [rows[1]], "labels": [labels[1]]}
        big = sent | {"ids": [f"{k:0200}" for k in range(200)], "rows": [rows[1]] * 200,
                      "labels": [labels[1]] * 200}  # fmt: skip
        status, why = client.refused("/learn", big)
        assert (status, "full" in why, why.endswith("nothing was learned.")) == (503, True, True)
        assert client.get("/model")["rows_learned"] == 1
        db.execute("PRAGMA max_page_count = 1000000")
        client.learn(["b", "c"], rows[1:], labels[1:])
        found = state_of(client.server.served.model)
    assert found == state_of(replayed(path, X, y))


def test_faults_that_nobody_foresaw_leave_no_request_waiting(tmp_path, monkeypatch):
    path, (X, y) = fitted(MODELS["average"], tmp_path), rows_of(9, 3)
    rows, labels = X.tolist(), y.tolist()
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:
        learning = client.server.learning
        publish = learning._publish
        monkeypatch.setattr(learning, "_publish", lambda X, y: 1 / 0)
        sent = {"ids": ["a"], "rows": rows[:1], "labels": labels[:1]}
        assert client.refused("/learn", sent)[0] == 500
        monkeypatch.setattr(learning, "_publish", publish)
        # The row is in the log but not in the model: no other row may be learned in front of it.
        status, why = client.refused("/learn", sent | {"ids": ["b"]})
        assert (status, why) == (503, "The model is behind its log: restart the server.")
        assert "ZeroDivisionError" in client.said[0]
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:
        assert client.learn(["a"], rows[:1], labels[:1]) == {
            "learned": 0,
            "duplicates": 1,
            "rows": 1,
        }
        assert state_of(client.server.served.model) == state_of(replayed(path, X[:1], y[:1]))


def test_no_token_no_learning(tmp_path):
    path = fitted(MODELS["average"], tmp_path)
    with serving(path) as client:
        status, why = client.refused("/learn", {"ids": ["a"], "rows": [[1] * 4], "labels": ["a"]})
        assert (status, "--log FILE and --token" in why) == (403, True)
    with (
        pytest.raises(LinsepError, match="Any user of this machine could train"),
        serving(path, log=tmp_path / "log"),
    ):
        pass
