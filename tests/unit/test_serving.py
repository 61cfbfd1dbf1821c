"""What requests may do: bodies, limits, hosts, tokens, and new models in place of old ones."""

import json
import os
import re
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import linsep
from linsep.errors import LinsepError
from linsep.serving.limits import Limits
from linsep.serving.server import is_loopback
from refusals import refused
from served import TOKEN, Client, serving

ROW = [1.0, 0.0, 0.0, 0.0]
ARROW = "application/vnd.apache.arrow.stream"


def model_file(folder, sign=1.0):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    y = np.where(sign * X[:, 0] > 0, "up", "down")
    return linsep.save(linsep.Perceptron(max_iter=9).fit(X, y), folder / "m.linsep", force=True)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = model_file(tmp_path_factory.mktemp("served"))
    with serving(path, limits=Limits(body=20_000, rows=50)) as client:
        yield client


def arrow(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


DEEP = b"[" * 900 + b"]" * 900
REFUSED = [
    (b"", 400, "bad-request"),
    (b'{"rows": [[1, 2, 3, NaN]]}', 400, "bad-request"),
    (b'{"rows": [[1, 2, 3, "\xff"]]}', 400, "bad-request"),
    (b'{"rows": ' + b"[" * 9_000 + b"]" * 9_000 + b"}", 400, "bad-request"),
    (b'{"rows": ' + DEEP + b"}", 422, "shape"),
    (b"[[1, 2, 3, 4]]", 422, "bad-request"),
    (b'{"rows": 7}', 422, "bad-request"),
    (b'{"rows": [[1, 2, 3, 4]], "scores": true}', 422, "bad-request"),
    (b'{"rows": []}', 422, "bad-request"),
    (b'{"rows": [[1, 2, 3, 9007199254740993]]}', 422, "not-exact"),
    (b'{"rows": [[1, 2, 3, 4], [1, 2, 3, 4, 5]]}', 422, "shape"),
    (b'{"rows": [null]}', 422, "shape"),
    (b'{"rows": [{"a": 1}]}', 422, "shape"),
    (b'{"rows": [[1, 2, 3, "4"]]}', 422, "bad-value"),
    (b'{"rows": [[1, 2, 3, true]]}', 422, "bad-value"),
    (b'{"rows": [[' + DEEP + b", 2, 3, 4]]}", 422, "bad-value"),
    (b'{"rows": [[1, 2, 3, null]]}', 422, "missing-value"),
    (json.dumps({"rows": [ROW] * 51}).encode(), 413, "bad-request"),
    (b" " * 20_001, 413, "bad-request"),
]


def test_bodies_that_are_refused(client):
    for body, status, code in REFUSED:
        found = client.ask("POST", "/predict", body, "application/json")
        assert (found[0], found[1]["code"]) == (status, code), (body[:80], found)
    found = client.ask("POST", "/predict", b'{"rows": [[1, 2, 3, 4], [1, 2, 3, "4"]]}')
    assert (found[1]["row"], found[1]["column"]) == (1, "feature 3")


def test_what_is_asked_for(client):
    body = json.dumps({"rows": [ROW]}).encode()
    assert client.predict([ROW], "?scores=false") == {"predictions": ["up"]}
    found = client.predict([ROW, [*ROW[:-1], None], ROW], "?missing=skip&scores=1&explanations=1")
    assert found["predictions"] == ["up", None, "up"]
    assert [found[name][1] for name in ("scores", "explanations")] == [None, None]
    assert found["scores"][0] == found["scores"][2] == client.predict([ROW], "?scores")["scores"][0]
    for query in ("?color=1", "?scores=maybe", "?probabilities=1", "?missing=drop"):
        assert client.refused("/predict" + query, body)[0] == 422


def test_addresses_and_methods(client):
    for method, path, status in [
        ("GET", "/nothing", 404),
        ("GET", "/predict", 405),
        ("POST", "/health", 405),
        ("GET", "/%2e%2e/etc/passwd", 404),
        ("HEAD", "/health", 200),
        ("GET", "/health", 200),
    ]:
        assert client.ask(method, path)[0] == status
    assert client.ask("POST", "/predict", b"x", "application/xml")[0] == 415
    zipped = client.ask("POST", "/predict", b"x", "text/csv", **{"Content-Encoding": "gzip"})
    assert zipped[0] == 415
    metrics = client.get("/metrics").decode()
    assert 'linsep_requests_total{path="other",status="404"} 2.0\n' in metrics


def test_who_sends_all_before_it_reads_sees_why_a_body_is_refused(client):
    for sent in (b" " * 200_000, (b" " * 10_000 for _ in range(20))):
        assert client.ask("POST", "/predict", sent, "application/json")[0] == 413


def test_tables_are_limited_as_well(tmp_path):
    table = pa.table({"c": [1.0]})
    frame = pa.table(dict(zip("wxyz", np.eye(4), strict=True))).to_pandas()
    model = linsep.Perceptron(max_iter=3).fit(frame, ["a", "b", "a", "b"])
    lines = b"w,x,y,z\n" + b"1,2,3,4\n" * 3
    path = linsep.save(model, tmp_path / "m.linsep")
    with serving(path, limits=Limits(rows=3)) as client:
        expected = client.predict([[1, 2, 3, 4]])["predictions"]
        assert client.post("/predict", lines, "text/csv")["predictions"] == expected * 3
        assert client.predict([{"z": 4, "y": 3, "x": 2, "w": 1}])["predictions"] == expected
        for body, kind, status, code in [
            (lines + b"1,2,3,4\n", "text/csv", 413, "bad-request"),
            (arrow(table)[:-40], ARROW, 422, "unknown-column"),
            (b"w,x,y\n1,2,3\n", "text/csv", 422, "unknown-column"),
            (b"w,x,y,z\n1,2,3,four\n", "text/csv", 422, "not-a-number"),
            (b"w,x,y,z\n1,2,3,\n", "text/csv", 422, "missing-value"),
            (b"", "text/csv", 422, "no-rows"),
            (b"1 1:2\n", "text/plain", 415, "bad-request"),
        ]:
            found = client.ask("POST", "/predict", body, kind)
            assert (found[0], found[1]["code"]) == (status, code), found
            assert str(tmp_path) not in found[1]["error"]
        body = json.dumps({"rows": [{"w": 1, "x": 2, "y": 3, "Z": 4}]})
        near = client.ask("POST", "/predict", body, "application/json")
        assert (near[1]["code"], near[1]["column"]) == ("unknown-column", "Z")


def test_tabs_are_told_by_the_content_type(tmp_path):
    (tmp_path / "a.csv").write_text("a;b;y\n1;2;u\n3;-4;v\n")
    source = linsep.open_source(tmp_path / "a.csv", target="y", delimiter=";")
    model = linsep.save(linsep.Perceptron(max_iter=2).fit(source), tmp_path / "m.linsep")
    with serving(model) as client:
        wanted = client.predict([[5, 6]])
        assert client.post("/predict", b"a;b\n5;6\n", "text/csv") == wanted
        assert client.post("/predict", b"a\tb\n5\t6\n", "text/tab-separated-values") == wanted


@pytest.mark.parametrize("name", ["rows.vw", "rows.svm"])
def test_rows_that_are_no_lines_of_text(tmp_path, name):
    (tmp_path / "rows.vw").write_text("1 | a b\n-1 | c\n")
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    how = {"hash_bits": 8} if name == "rows.vw" else {}
    model = linsep.Perceptron(max_iter=2).fit(linsep.open_source(tmp_path / name, **how))
    bad = [["| a", 7], ["| a\n| b"]] if name == "rows.vw" else [[{"x": 1}], [{"1:2\n1 1": 1}]]
    with serving(linsep.save(model, tmp_path / "m.linsep")) as client:
        for rows in bad:
            assert client.refused("/predict", {"rows": rows})[0] == 422
        good = ["| a"] if name == "rows.vw" else [{"1": 1}]
        assert client.predict(good)["predictions"] == [1]


def test_budgets(tmp_path):
    path = model_file(tmp_path)
    body = json.dumps({"rows": [ROW] * 5_000})
    for limits in (Limits(memory=10_000), Limits(seconds=1e-9)):
        with serving(path, limits=limits) as client:
            assert client.refused("/predict", body.encode())[0] == 413


def test_a_token_is_needed_where_it_is_given(tmp_path, capfd):
    with serving(model_file(tmp_path), token=TOKEN) as client:
        other = Client(client.port)
        assert other.get("/health") == {"status": "ok"}
        assert other.ask("GET", "/")[0] == 200
        for path in ("/predict", "/learn", "/model", "/model/file", "/metrics", "/openapi.json"):
            method = "POST" if path in ("/predict", "/learn") else "GET"
            for token in (None, "wrong", TOKEN + "x", TOKEN[:-1], "é"):
                status, found, headers = other.ask(method, path, token=token)
                assert (status, headers["www-authenticate"]) == (401, "Bearer")
                assert TOKEN not in json.dumps(found)
        assert other.ask("GET", f"/model?token={TOKEN}")[0] == 401  # never in an address
        assert other.ask("GET", "/model", Authorization=f"bEARER {TOKEN}")[0] == 200
        other.close()
    assert TOKEN not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"host": "0.0.0.0"}, "unsafe"),
        ({"log": "log"}, "unsafe"),
        ({"token": "short"}, "bad-option"),
        ({"token": "with\nnew lines"}, "bad-option"),
        ({"allowed_hosts": ["a b"]}, "bad-option"),
        ({"host": "192.0.2.7", "token": TOKEN}, "bad-option"),
    ],
)
def test_servers_that_are_refused(tmp_path, how, code):
    with refused(LinsepError, code), serving(model_file(tmp_path), **how):
        pass
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "localhost", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


def test_hosts_of_strangers_are_refused(tmp_path):
    """A page elsewhere whose name points here (DNS rebinding) is told nothing."""

    def status_of(client, hosts, version="1.1"):
        with client.raw() as one:
            one.sendall(f"GET /model HTTP/{version}\r\n{hosts}\r\n".encode())
            return int(one.recv(10_000).split()[1])

    path = model_file(tmp_path)
    with serving(path) as client:
        for host in ("127.0.0.1", "LocalHost", "[::1]", f"localhost:{client.port}"):
            assert status_of(client, f"Host: {host}\r\n") == 200
        for host in ("evil.example", "localhost.evil.example", "", "localhost:x", "x@localhost"):
            assert status_of(client, f"Host: {host}\r\n") == 421
        assert status_of(client, "Host: localhost\r\n" * 2) == 400
        assert status_of(client, "") == 400
        assert status_of(client, "", version="1.0") == 200
    with serving(path, allowed_hosts=["models.example"]) as client:
        for host, status in (("models.example:80", 200), ("localhost", 200), ("x", 421)):
            assert status_of(client, f"Host: {host}\r\n") == status
    with serving(path, host="0.0.0.0", token=TOKEN) as client:
        assert status_of(client, "Host: any.example\r\n") == 401


def test_the_body_counts_beside_an_offer_of_http_2(client):
    """Java's HttpClient makes one with every request."""
    body = json.dumps({"rows": [ROW]}).encode()
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    post = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n" % len(body)
    with client.raw() as connection:
        connection.sendall(post + offer + b"\r\n" + body)
        while not (answer := connection.recv(1 << 16)).endswith(b"}"):
            pass
        assert answer.endswith(b'{"predictions":["up"]}')


def test_a_new_model_is_served_without_a_dropped_request(tmp_path):
    path = model_file(tmp_path)
    with serving(path) as client:
        going, statuses, answers = threading.Event(), [], []

        def ask():
            own = Client(client.port)
            body = json.dumps({"rows": [ROW]})
            while not going.is_set():
                status, found, headers = own.ask("POST", "/predict", body, "application/json")
                statuses.append(status)
                answers.append((headers["linsep-model"], found["predictions"][0]))
            own.close()

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        first = client.get("/model")["version"]
        wait_until(lambda: answers)
        # A file that is no model changes nothing but a count.
        (tmp_path / "half").write_bytes(b"half a model")
        os.replace(tmp_path / "half", path)
        wait_until(lambda: "failed_reloads_total 1" in client.get("/metrics").decode())
        assert client.get("/model")["version"] == first
        model_file(tmp_path, sign=-1.0)
        wait_until(lambda: client.get("/model")["version"] != first)
        second = client.get("/model")["version"]
        wait_until(lambda: answers[-1][0] == second)
        going.set()
        for thread in threads:
            thread.join()
    assert set(statuses) == {200}
    assert set(answers) == {(first, "up"), (second, "down")}


def wait_until(true):
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_answers_are_finite_or_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 4))
    line = linsep.LinearRegression().fit(X, 1e9 * X[:, 0])
    with serving(linsep.save(line, tmp_path / "m.linsep")) as client:
        body = json.dumps({"rows": [[1e308, 0.0, 0.0, 0.0]]})
        status, found, _ = client.ask("POST", "/predict", body, "application/json")
        assert (status, found["code"]) == (422, "overflow")


def test_the_document_is_openapi_and_the_page_needs_nothing_else(client):
    document = client.get("/openapi.json")
    pytest.importorskip("openapi_spec_validator").validate(document)
    assert document["components"]["schemas"]["Label"] == {"enum": ["down", "up"]}
    example = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
    assert len(client.predict(example["example"]["rows"])["predictions"]) == 1
    page = client.get("/").decode()
    assert re.findall(r"https?://[^\s\"'<]+", page) == []
    assert not re.search(r"<script[^>]+src|<link[^>]+href=\"(?!data:)|@import|url\(", page)
