"""Rows learned over HTTP: the model is bit-identical to partial_fit on the log, row by row."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

import linsep
from linsep.errors import LinsepError
from linsep.serving.log import Entry, RowLog
from refusals import refused
from served import TOKEN, Client, serving

CLASSES = ["a", "b", "c"]
MODELS = {
    "average": linsep.Perceptron(keep="average", max_iter=2),
    "vote-ovr": linsep.Perceptron(keep="vote", multiclass="ovr", max_iter=2),
    "best-ovo": linsep.PassiveAggressive(keep="best", multiclass="ovo", max_iter=2),
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


def ids_in(log):
    with closing(sqlite3.connect(log)) as db:
        return [id for (id,) in db.execute("SELECT id FROM rows ORDER BY number")]


def sent(client, **content):
    """Status and code of a request to learn."""
    status, found, _ = client.ask("POST", "/learn", json.dumps(content), "application/json")
    return status, found.get("code")


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_a_replay_to_the_bit_before_and_after_restarts(name, tmp_path):
    path, (X, y) = fitted(MODELS[name], tmp_path), rows_of(1, 44)
    how = {"token": TOKEN, "log": tmp_path / "log.db"}
    done = 0
    for sizes in ([1, 2, 7], [20, 1], [13]):  # three servers, one after the other
        with serving(path, **how) as client:
            assert client.get("/model")["rows_learned"] == done
            for size in sizes:
                part = slice(done, done + size)
                ids = [f"row {k}" for k in range(done, done + size)]
                answer = client.learn(ids, X[part].tolist(), y[part].tolist())
                done += size
                assert answer == {"learned": size, "duplicates": 0, "rows": done}
            expected = replayed(path, X[:done], y[:done])
            assert state_of(client.server.served.model) == state_of(expected)
            assert client.predict(X.tolist())["predictions"] == expected.predict(X).tolist()
            (tmp_path / "now.linsep").write_bytes(client.get("/model/file"))
            assert state_of(linsep.load(tmp_path / "now.linsep")) == state_of(expected)
            version = client.ask("GET", "/model/file")[2]["linsep-model"]
            assert version == f"{client.server.served.digest[:16]}+{done}"


def test_many_clients_at_once_are_learned_in_the_order_of_the_log(tmp_path):
    """Rows that the learner refuses do not harm those committed with them."""
    X = np.abs(rows_of(2, 150)[0])
    y = np.where(X[:, 0] > X[:, 1], "a", "b")
    path = linsep.save(linsep.Winnow(max_iter=2).fit(X[120:], y[120:]), tmp_path / "m.linsep")
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:

        def work(first):
            own = Client(client.port, TOKEN)
            for k in range(first, first + 20):
                row = -X[k] if k % 5 == 0 else X[k]  # Winnow takes no negative numbers
                status, _ = sent(own, ids=[str(k)], rows=[row.tolist()], labels=[y[k]])
                assert status == (422 if k % 5 == 0 else 200)
                own.predict([X[k].tolist()])
            own.close()

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(0, 120, 20)))
        found = client.server.served.model
    order = [int(id) for id in ids_in(tmp_path / "log.db")]
    assert sorted(order) == [k for k in range(120) if k % 5]
    assert state_of(found) == state_of(replayed(path, X[order], y[order]))


def test_ids_make_retries_safe(tmp_path):
    path, (X, y) = fitted(MODELS["average"], tmp_path), rows_of(3, 4)
    rows, labels, log = X.tolist(), y.tolist(), tmp_path / "log.db"
    with serving(path, token=TOKEN, log=log) as client:
        assert client.learn(["a", "b"], rows[:2], labels[:2])["learned"] == 2
        again = client.learn(["b", "c", "a"], [rows[1], rows[2], rows[0]],
                             [labels[1], labels[2], labels[0]])  # fmt: skip
        assert again == {"learned": 1, "duplicates": 2, "rows": 3}
        other = {"ids": ["d", "a"], "rows": [rows[3]] * 2, "labels": [labels[3]] * 2}
        assert sent(client, **other)[0] == 409
    with serving(path, token=TOKEN, log=log) as client:  # another server knows them, too
        assert client.learn(["a"], rows[:1], labels[:1])["duplicates"] == 1
        other = next(label for label in CLASSES if label != labels[0])
        assert sent(client, ids=["a"], rows=rows[:1], labels=[other])[0] == 409
        metrics = client.get("/metrics").decode()
        assert "linsep_rows_duplicate_total 1.0\n" in metrics
        assert "linsep_log_rows 3.0\n" in metrics
    assert ids_in(log) == ["a", "b", "c"]


def test_the_same_row_may_be_written_differently(tmp_path):
    (tmp_path / "rows.csv").write_text("a,t,y\n1,u,p\n-1,v,q\n2,v,p\n")
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    same = {
        "rows.csv": ([1, "u"], [1.0, "u"], {"t": "u", "a": 1}, {"a": 1.0, "t": "u", "y": "q"}),
        "rows.svm": ([1, 0], [1.0, 0.0], {"1": 1}, {"2": 0, "1": 1.0}),
    }
    for name, written in same.items():
        source = linsep.open_source(tmp_path / name, **({"target": "y"} if "csv" in name else {}))
        model = linsep.Perceptron(max_iter=2).fit(source)
        path, label = linsep.save(model, tmp_path / f"{name}.linsep"), model.classes_[0].item()
        with serving(path, token=TOKEN, log=tmp_path / f"{name}.log") as client:
            learned = [client.learn(["a"], [row], [label])["learned"] for row in written]
            assert learned == [1, 0, 0, 0]
            other = [2, *written[0][1:]]
            assert sent(client, ids=["a"], rows=[other], labels=[label])[0] == 409
            label = model.classes_[1].item()
            assert sent(client, ids=["a"], rows=[written[0]], labels=[label])[0] == 409


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows_that_cannot_be_learned_are_not_logged(tmp_path):
    path, (X, y) = fitted(linsep.Perceptron(max_iter=2), tmp_path), rows_of(4, 3)
    fine = {"ids": ["x"], "rows": X[:1].tolist(), "labels": [y[0]]}
    deep = json.loads("[" * 900 + "]" * 900)
    bad = [
        *({"labels": [label]} for label in ("d", 0, deep)),
        *({"rows": [row]} for row in ([1, 2, 3], [1e308] * 4)),
        *({"ids": ids} for ids in ([""], ["x" * 201], ["a\n"], [7], ["x", "y"])),
        {"more": []},
        {"ids": [], "rows": [], "labels": []},
        {"ids": ["x", "x"], "rows": X[:2].tolist(), "labels": y[:2].tolist()},
    ]
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:
        client.learn(["before"], (X[1:2] * 1e-3).tolist(), [y[1]])
        for changed in bad:
            assert sent(client, **fine | changed)[0] == 422, changed
        # The rest of the request is not learned either, and later requests are.
        mixed = {"ids": ["p", "q"], "rows": [X[0].tolist(), [1e308] * 4], "labels": ["a", "b"]}
        assert sent(client, **mixed)[0] == 422
        assert client.learn(["x"], X[:1].tolist(), [y[0]])["rows"] == 2
        found = state_of(client.server.served.model)
    assert found == state_of(replayed(path, np.array([X[1] * 1e-3, X[0]]), y[[1, 0]]))


def test_models_that_cannot_learn_are_refused(tmp_path):
    X, y = rows_of(6, 60)
    for model in (
        linsep.LinearRegression().fit(X, X[:, 0] + 1),
        linsep.Perceptron(early_stopping=True, max_iter=3).fit(X, y),
        linsep.Perceptron(class_weight="balanced", max_iter=3).fit(X, y),
    ):
        path = linsep.save(model, tmp_path / "m.linsep", force=True)
        with refused(LinsepError, "unsupported"), serving(path, token=TOKEN, log=tmp_path / "l"):
            pass
    assert not (tmp_path / "l").exists()


DIGEST = "ab" * 32


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.db"
    with closing(RowLog(path, DIGEST)) as log:
        log.append(Entry(str(k), f"[{k}]", '"a"') for k in range(6))
        log.append([Entry("last", "[9]", '"b"')])
    return path


EDITS = {
    "a row": ("UPDATE rows SET row = '[8]' WHERE number = 3", "damaged-file"),
    "a label": ("UPDATE rows SET label = '1' WHERE number = 2", "damaged-file"),
    "an id": ("UPDATE rows SET id = 'x' WHERE number = 1", "damaged-file"),
    "a type": ("UPDATE rows SET row = x'00' WHERE number = 5", "damaged-file"),
    "removed": ("DELETE FROM rows WHERE number = 4", "damaged-file"),
    "swapped": ("UPDATE rows SET number = -number WHERE number IN (1, 2)", "damaged-file"),
    "kind": ("PRAGMA application_id = 1", "wrong-format"),
}


def test_edited_logs_are_refused(log):
    whole = log.read_bytes()
    for edit, (statement, code) in EDITS.items():
        log.write_bytes(whole)
        with closing(sqlite3.connect(log)) as db, db:
            db.execute(statement)
        for _ in range(2):  # nothing is held: another attempt says the same
            with pytest.raises(LinsepError) as caught:
                RowLog(log, DIGEST)
            assert caught.value.code == code, edit
    for damaged in (b"number,id\n1,2\n", whole[:4096] + bytes(len(whole) - 4096)):
        log.write_bytes(damaged)
        with pytest.raises(LinsepError):
            RowLog(log, DIGEST)


def test_one_server_a_log(log, tmp_path):
    link = tmp_path / "link.log"
    link.symlink_to(log)
    with closing(RowLog(link, DIGEST)), refused(LinsepError, "in-use"):
        RowLog(log, DIGEST)
    with refused(LinsepError, "damaged-file"):
        RowLog(log, "cd" * 32)  # of another model
    with closing(RowLog(log, DIGEST)) as again:
        assert again.n_rows == 7


def test_a_full_disk_and_learning_goes_on(tmp_path):
    path, (X, y) = fitted(MODELS["average"], tmp_path), rows_of(8, 3)
    rows, labels = X.tolist(), y.tolist()
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:
        client.learn(["a"], rows[:1], labels[:1])
        db = client.server.learning.log._db
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages}")  # what SQLite says when the disk is full
        ids = [f"{k:0200}" for k in range(200)]
        assert sent(client, ids=ids, rows=[rows[1]] * 200, labels=[labels[1]] * 200)[0] == 503
        assert client.get("/model")["rows_learned"] == 1
        db.execute("PRAGMA max_page_count = 1000000")
        client.learn(["b", "c"], rows[1:], labels[1:])
        found = state_of(client.server.served.model)
    assert found == state_of(replayed(path, X, y))


def test_faults_that_nobody_foresaw_leave_no_request_waiting(tmp_path, monkeypatch):
    path, (X, y) = fitted(MODELS["average"], tmp_path), rows_of(9, 3)
    body = {"ids": ["a"], "rows": X[:1].tolist(), "labels": y[:1].tolist()}
    with serving(path, token=TOKEN, log=tmp_path / "log.db") as client:
        with monkeypatch.context() as patch:
            patch.setattr("linsep.serving.learning.learn_in_order", lambda *_: 1 / 0)
            assert sent(client, **body)[0] == 500
        assert client.learn(**body)["learned"] == 1
        assert state_of(client.server.served.model) == state_of(replayed(path, X[:1], y[:1]))


def test_no_log_no_learning(tmp_path):
    with serving(fitted(MODELS["average"], tmp_path)) as client:
        assert sent(client, ids=["a"], rows=[[1] * 4], labels=["a"])[0] == 403
