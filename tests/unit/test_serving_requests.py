"""What requests may do: limits, tokens, slow and rude clients, new models in place of old ones."""

import asyncio
import json
import os
import re
import threading
import time
from contextlib import closing

import numpy as np
import pandas
import pyarrow as pa
import pytest

import linsep
from linsep.errors import LinsepError
from linsep.serving.limits import Limits
from linsep.serving.model import JoinedRequests, Served, Wanted
from linsep.serving.rows import Bodies
from linsep.serving.server import is_loopback
from refusals import refused
from served import TOKEN, Client, serving

pytestmark = pytest.mark.compiled


def model_file(folder, sign=1.0, name="m.linsep"):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    y = np.where(sign * X[:, 0] > 0, "up", "down")
    return linsep.save(linsep.Perceptron(max_iter=9).fit(X, y), folder / name, force=True)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = model_file(tmp_path_factory.mktemp("served"))
    limits = Limits(body=20_000, rows=50, features=8)
    with serving(path, limits=limits) as client:
        yield client


ROW = [1.0, 0.0, 0.0, 0.0]
ARROW = "application/vnd.apache.arrow.stream"


def arrow(table, compression=None):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def file_of(table, compression=None):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def end_of(raw):
    """The footer of an Arrow file, and what follows it."""
    return raw[-10 - int.from_bytes(raw[-10:-6], "little") :]


REFUSED = [
    (b"", 400, "The body is not JSON"),
    (b"{", 400, "The body is not JSON"),
    (b"nonsense", 400, "The body is not JSON"),
    (b'{"rows": [[1, 2, 3, NaN]]}', 400, "The body is not JSON"),
    (b'{"rows": [[1, 2, 3, 1e999]]}', 400, "infinity"),
    (b'{"rows": [[1, 2, 3, "\xff"]]}', 400, "The body is not JSON"),
    (b'{"rows": ["\\ud800"]}', 400, "The body is not JSON"),
    (b'{"rows": ' + b"[" * 9_000 + b"]" * 9_000 + b"}", 400, "depth"),
    (
        b'{"rows": ' + b"[" * 900 + b"]" * 900 + b"}",
        422,
        "rows[0] has 1 value, but the model",
    ),
    (b"[[1, 2, 3, 4]]", 422, 'an object of lists: {"rows": [...]}'),
    (b'{"row": [1, 2, 3, 4]}', 422, "an object of lists"),
    (b'{"rows": 7}', 422, "an object of lists"),
    (b'{"rows": [[1, 2, 3, 4]], "scores": true}', 422, "unknown field 'scores'"),
    (b'{"rows": []}', 422, "There are no rows"),
    (b'{"rows": [[1, 2, 3, 9007199254740993]]}', 422, "is 9007199254740993, which is not exactly"),
    (b'{"rows": [[1, 2, 3, 4]], "rows": []}', 422, "has the field 'rows' twice in one object"),
    (b'{"rows": [[1, 2, 3, 4]], "rows" : []}', 422, "has the field 'rows' twice in one object"),
    (b'{"rows": [{"a": 1, "b": "\\":", "a": 2}]}', 422, "has the field 'a' twice in one object"),
    (b'{"rows": [{"a": 1, "\\u0061": 2}]}', 422, "has the field 'a' twice in one object"),
    (b'{"rows": [[1, 2, 3]]}', 422, "rows[0] has 3 values, but the model has 4 columns"),
    (b'{"rows": [[1, 2, 3, 4], [1, 2, 3, 4, 5]]}', 422, "rows[1] has 5 values"),
    (b'{"rows": [[1, 2, 3, 4, 5, 6, 7, 8, 9]]}', 422, "more than 8 features, the limit"),
    (b'{"rows": [[]]}', 422, "rows[0] has 0 values"),
    (b'{"rows": [7]}', 422, "rows[0] is 7: give a list of 4 values"),
    (b'{"rows": [null]}', 422, "rows[0] is null: give a list of 4 values"),
    (b'{"rows": [[1, 2, 3, 4], 5]}', 422, "rows[1] is 5: give a list of 4 values, as the rows"),
    (b'{"rows": ["text"]}', 422, 'rows[0] is "text": give a list'),
    (b'{"rows": [{"a": 1}]}', 422, 'rows[0] is {"a": 1}: give a list'),
    (b'{"rows": [[1, 2, 3, "4"]]}', 422, "column 'feature 3' holds \"4\", not a number"),
    (b'{"rows": [[1, 2, 3, [4]]]}', 422, "column 'feature 3' holds [4], not a number"),
    (b'{"rows": [[1, 2, 3, {}]]}', 422, "column 'feature 3' holds {}, not a number"),
    (b'{"rows": [[' + b"[" * 990 + b"]" * 990 + b", 2, 3, 4]]}", 422, "holds [[[[[[[["),
    (b'{"rows": [[1, 2, 3, null]]}', 422, "rows[0], column 'feature 3' has no value"),
    (json.dumps({"rows": [ROW] * 51}).encode(), 413, "more than 50 rows, the limit"),
    (b" " * 20_001, 413, "more than 19.53 kB, the limit of this server (--max-body)"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_bodies_that_are_refused(client, number):
    body, status, why = REFUSED[number]
    found = client.refused("/predict", body)
    assert (found[0], why in found[1]) == (status, True), found


def test_what_is_asked_for(client):
    body = json.dumps({"rows": [ROW]}).encode()
    assert client.predict([ROW], "?scores=false") == {"predictions": ["up"]}
    gap = [*ROW[:-1], None]
    found = client.predict([ROW, gap, ROW], "?missing=skip&scores=1&explanations=1")
    assert found["predictions"] == ["up", None, "up"]
    assert [found[name][1] for name in ("scores", "explanations")] == [None, None]
    assert found["scores"][0] == found["scores"][2] == client.predict([ROW], "?scores")["scores"][0]
    assert set(client.predict([ROW], "?scores")) == {"predictions", "scores", "classes"}
    for query, why in {
        "?color=1": "'color': choose from scores, probabilities, explanations",
        "?scores=maybe": "scores is 'maybe': choose true or false",
        "?probabilities=1": "without probabilities: request scores, or fit",
        "?missing=drop": "missing is 'drop': choose error or skip",
    }.items():
        status, found = client.refused("/predict" + query, body)
        assert (status, why in found) == (422, True), found
    many = json.dumps({"rows": [ROW] * 50})
    assert client.ask("POST", "/predict?explanations=1", many, "application/json")[0] == 200


def test_addresses_and_methods(client):
    for method, path, status, why in [
        ("GET", "/nothing", 404, "There is no /nothing"),
        ("GET", "/predict", 405, "/predict does not support GET: use POST"),
        ("POST", "/health", 405, "use GET, HEAD"),
        ("GET", "/model/", 404, "There is no /model/"),
        ("GET", "/%2e%2e/etc/passwd", 404, "There is no"),
    ]:
        found = client.ask(method, path)
        assert found[0] == status
        assert why in found[1]["error"]
    assert client.get("/health") == {"status": "ok"}
    found = client.ask("POST", "/predict", b"x", "application/xml")
    assert found[0] == 415
    found = client.ask("POST", "/predict", b"x", "application/json", **{"Content-Encoding": "gzip"})
    assert (found[0], "compressed" in found[1]["error"]) == (415, True)
    assert client.ask("HEAD", "/health")[0] == 200  # and the connection goes on
    assert client.get("/health") == {"status": "ok"}


def test_tables_are_limited_as_well(tmp_path):
    wide = pa.table({f"c{k}": [1.0] for k in range(12)})
    narrow, X = pa.table(dict.fromkeys("wxyz", [1.0] * 2)), np.eye(4)
    y = ["a", "b", "a", "b"]
    model = linsep.Perceptron(max_iter=3).fit(pa.table(dict(zip("wxyz", X, strict=True)))
                                              .to_pandas(), y)  # fmt: skip
    path = linsep.save(model, tmp_path / "m.linsep")
    limits = Limits(rows=3, features=10)
    lines = b"w,x,y,z\n" + b"1,2,3,4\n" * 3
    with serving(path, limits=limits) as client:
        expected = model.predict(pa.table({c: [k + 1.0] for k, c in enumerate("wxyz")}).to_pandas())
        assert client.post("/predict", lines, "text/csv")["predictions"] == expected.tolist() * 3
        assert client.predict([{"z": 4, "y": 3, "x": 2, "w": 1}])["predictions"] == list(expected)
        for body, kind, status, why in [
            (lines + b"1,2,3,4\n", "text/csv", 413, "more than 3 rows"),
            (b"," * 12 + b"\n1\n", "text/csv", 422, "The table has more than 10 features"),
            (arrow(wide), ARROW, 422, "The table has more than 10 features"),
            (arrow(wide.select([0]), "zstd"), ARROW, 415, "send them uncompressed"),
            (arrow(narrow, "zstd") + end_of(file_of(wide)), ARROW, 415, "send them uncompressed"),
            (arrow(wide.select([0]))[:-40], ARROW, 422, "The body has no column"),
            (arrow(narrow)[:-200], ARROW, 422, "The body is damaged or not an Arrow file"),
            (b"w,x,y\n1,2,3\n", "text/csv", 422, "The body has no column 'z'"),
            (
                b"w,x,y,z\n1,2,3,four\n",
                "text/csv",
                422,
                "Line 2 of the body, column 'z' holds 'four', not a number",
            ),
            (b"w,x,y,z\n1,2,3,\n", "text/csv", 422, "Line 2 of the body, column 'z' has no value"),
            (b"w,x,y,z\n", "text/csv", 422, "The body has no rows: send at least one."),
            (b"", "text/csv", 422, "The body has no rows: send at least one."),
            (b"\x00\xff", "text/csv", 422, "The body"),
            (
                b'{"w": [[[[[]]]]], "x": 1, "y": 1, "z": 1}',
                "application/jsonl",
                422,
                "Line 1 of the body",
            ),
            (b'{"w": ' + b"[" * 990 + b"]" * 990 + b"}", "application/jsonl", 422, "Line 1 of"),
            (b"w=1", "application/x-www-form-urlencoded", 415, "The Content-Type is 'app"),
            (b"1 1:2\n", "text/plain", 415, "The model was trained on a table"),
        ]:
            found = client.refused("/predict", body, kind)
            assert (found[0], why in found[1]) == (status, True), found
        near = client.refused("/predict", {"rows": [{"w": 1, "x": 2, "y": 3, "Z": 4}]})
        assert "column 'Z', which the model does not have" in near[1]
        left = os.listdir(client.server._bodies._folder.name)
        assert left == []


def test_rows_that_are_no_lines_of_text(tmp_path):
    (tmp_path / "rows.vw").write_text("1 | a b\n-1 | c\n")
    model = linsep.Perceptron(max_iter=2).fit(linsep.open_source(tmp_path / "rows.vw", hash_bits=8))
    with serving(linsep.save(model, tmp_path / "m.linsep")) as client:
        for rows, why in [
            ([7], "rows[0] is 7: give a line of Vowpal Wabbit's text."),
            ([[7]], "rows[0] is [7]: give a line of Vowpal Wabbit's text."),
            (["| a", 7], "rows[1] is 7: give a line of Vowpal Wabbit's text, as the rows before."),
            (["| a", ""], "rows[1] is not one line of Vowpal Wabbit's text: give one line per row"),
        ]:
            status, found = client.refused("/predict", {"rows": rows})
            assert (status, found.startswith(why)) == (422, True), found
        assert client.predict(["| a"])["predictions"] == [1]


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
        other.close()
        assert client.predict([ROW])["predictions"] == ["up"]
    assert TOKEN not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"host": "0.0.0.0"}, "unsafe"),
        ({"host": "::"}, "unsafe"),
        ({"host": "192.0.2.7"}, "unsafe"),
        ({"token": "short"}, "bad-option"),
        ({"token": "with\nnew lines"}, "bad-option"),
        ({"host": "192.0.2.7", "token": TOKEN}, "bad-option"),
        ({"host": "no.such.host.invalid", "token": TOKEN}, "bad-option"),
    ],
)
def test_servers_that_are_refused(tmp_path, how, code):
    with refused(LinsepError, code), serving(model_file(tmp_path), **how):
        pass


def test_loopback():
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "localhost", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


def slow_clients(client, many):
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    slow = [client.raw() for _ in range(many)]
    for number, one in enumerate(slow):
        # Nothing, half a head, a head without its body, half a body.
        one.sendall((b"", head[:30], head + b"Content-Length: 9\r\n\r\n",
                     head + b'Content-Length: 9\r\n\r\n{"ro')[number % 4])  # fmt: skip
    return slow


def test_slow_clients_do_not_block_others(client):
    slow = slow_clients(client, 200)  # which have ten seconds
    for _ in range(20):
        assert client.predict([ROW])["predictions"] == ["up"]
    for one in slow:
        one.close()


def test_slow_clients_are_told_and_closed(tmp_path):
    limits = Limits(header_seconds=0.2, body_seconds=0.2)
    with serving(model_file(tmp_path), limits=limits) as client:
        for one in slow_clients(client, 12):
            answer = received(one)
            assert answer.startswith(b"HTTP/1.1 408")
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"].endswith(".")


def received(connection):
    """All that comes until the connection is closed."""
    with connection:
        return b"".join(iter(lambda: connection.recv(1000), b""))


def test_endless_heads_and_bodies(client):
    with client.raw() as one:
        one.sendall(b"GET /health HTTP/1.1\r\n")
        many = b"".join(b"X-%d: %b\r\n" % (k, b"x" * 1000) for k in range(10_000))
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            one.sendall(many)
    with client.raw() as one:
        one.sendall(
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        answer = b""
        try:
            for _ in range(100):
                one.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
            answer = one.recv(1000)
        except OSError:
            pass
        assert answer == b"" or answer.startswith(b"HTTP/1.1 413")
    one = client.raw()
    one.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
    answer = received(one)
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.endswith(b'{"error":"The request is not valid HTTP."}')
    assert client.get("/health") == {"status": "ok"}


def test_rude_requests_say_nothing_on_the_screen(client, caplog):
    """Upgrades are not made, and what is no HTTP is refused."""
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    head += b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    for sent, status in [(head, b"200"), (b"nonsense\r\n\r\n", b"400")]:
        with client.raw() as one:
            one.sendall(sent)
            assert one.recv(1000).startswith(b"HTTP/1.1 " + status)
    assert client.get("/health") == {"status": "ok"}
    assert caplog.records == []


def test_requests_in_one_packet_are_answered_in_order(client):
    body = json.dumps({"rows": [ROW]}).encode()
    one = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (
        len(body),
        body,
    )
    end = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with client.raw() as connection:
        connection.sendall(one * 5 + end)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.count(b'{"predictions":["up"]}') == 5
    assert answer.endswith(b'{"status":"ok"}')


def test_requests_answered_together_have_their_own_answers(tmp_path):
    """As many as come in one turn, some of which are refused or ask for more."""
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "c": list("xyxz"), "y": list("uvuv")})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    source = linsep.open_source(tmp_path / "rows.csv", target="y", scale="standard")
    model = linsep.Perceptron(max_iter=5).fit(source)
    served = Served(model, "m", "00" * 32, Limits())
    with closing(Bodies(Limits())) as bodies:
        alone = JoinedRequests(bodies)._alone
        requests = [([{"a": k, "c": "xyz"[k % 3]}], Wanted(scores=k % 4 == 0)) for k in range(12)]
        requests += [
            ([{"a": None, "c": "x"}, {"a": 1, "c": "x"}], Wanted(missing="skip")),
            ([{"a": 2, "c": "y"}], Wanted(missing="skip")),
            ([[1.5, "x"], [0.5, "z"]], Wanted()),
            ([{"a": 1, "c": "new"}], Wanted()),
            ([{"a": "1", "c": "x"}], Wanted()),
            ([{"a": 1}], Wanted()),
            ([{"a": 1, "c": "x"}], Wanted(probabilities=True)),
            ([{"a": 1, "c": "x"}], Wanted(explanations=True)),
            ([[1, "x"]] * 40, Wanted()),
        ]

        async def together():
            batches = JoinedRequests(bodies)
            waiting = [batches.answer(served, rows, wanted) for rows, wanted in requests]
            return await asyncio.gather(*waiting, return_exceptions=True)

        for (rows, wanted), found in zip(requests, asyncio.run(together()), strict=True):
            if isinstance(found, Exception):
                with pytest.raises(type(found), match=re.escape(str(found))):
                    alone(served, rows, wanted)
            else:
                assert found == alone(served, rows, wanted)


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
        # A file that is no model changes nothing but a count, and a sentence says why.
        wait_until(lambda: answers)
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
        assert "is not a model file" in client.said[0]
        assert client.said[1] == f"now serving model {second}"


def wait_until(holds):
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_model_that_learns_is_not_replaced(tmp_path):
    path = model_file(tmp_path)
    with serving(path, token=TOKEN, log=tmp_path / "log") as client:
        client.learn(["a"], [ROW], ["down"])
        before = client.get("/model")["version"]
        model_file(tmp_path, sign=-1.0)
        wait_until(lambda: client.said)
        assert "the log belongs to the previous model" in client.said[0]
        assert client.get("/model")["version"] == before
    with (
        refused(LinsepError, "other-model"),
        serving(path, token=TOKEN, log=tmp_path / "log"),
    ):
        pass


def test_metrics_are_what_prometheus_reads(client):
    parser = pytest.importorskip("prometheus_client.parser")
    client.predict([ROW] * 3)
    client.refused("/predict", {"rows": []})
    client.refused("/predict", {"rows": [ROW] * 51})
    families = {f.name: f for f in parser.text_string_to_metric_families(
        client.get("/metrics").decode())}  # fmt: skip
    served = [s for s in families["linsep_requests"].samples if s.labels["path"] == "/predict"]
    assert {s.labels["status"] for s in served} >= {"200", "422", "413"}
    buckets = [s.value for s in families["linsep_request_seconds"].samples
               if s.name.endswith("_bucket") and s.labels["path"] == "/predict"]  # fmt: skip
    assert buckets == sorted(buckets)
    assert buckets[-1] == sum(s.value for s in served)
    assert families["linsep_rows_predicted"].samples[0].value >= 3


def test_the_document_is_openapi_and_the_page_needs_nothing_else(client):
    validator = pytest.importorskip("openapi_spec_validator")
    document = client.get("/openapi.json")
    validator.validate(document)
    schema = document["components"]["schemas"]
    assert schema["Label"] == {"enum": ["down", "up"]}
    example = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
    assert len(client.predict(example["example"]["rows"])["predictions"]) == 1
    page = client.get("/").decode()
    assert re.findall(r"https?://[^\s\"'<]+", page) == []
    assert not re.search(r"<script[^>]+src|<link[^>]+href=\"(?!data:)|@import|url\(", page)


def test_a_file_of_the_model(client, tmp_path):
    (tmp_path / "copy.linsep").write_bytes(client.get("/model/file"))
    assert linsep.load(tmp_path / "copy.linsep").predict([ROW]).tolist() == ["up"]


def test_the_threshold_of_a_model_is_stated_and_used(client, tmp_path):
    assert client.get("/model")["threshold"] is None
    model = linsep.load(model_file(tmp_path, name="before.linsep"))
    linsep.set_threshold(model, 1e6)  # a score that no row has
    with serving(linsep.save(model, tmp_path / "high.linsep")) as other:
        about = other.get("/model")["threshold"]
        assert (about["positive"], about["of"], about["at"]) == ("up", "score", 1e6)
        assert other.predict([ROW])["predictions"] == ["down"]
    assert client.predict([ROW])["predictions"] == ["up"]
