"""Edges of requests, from outside: a server process, HTTP, its memory and its seconds."""

import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pytest

import linsep
from served import TOKEN, Client, process

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of processes in /proc"),
]

MB = 1 << 20
ARROW = "application/vnd.apache.arrow.stream"


def table_model(folder):
    """A model of a number and a text column."""
    (folder / "rows.csv").write_text("a,c,y\n1,x,u\n2,z,v\n3,x,u\n4,z,v\n")
    model = linsep.Perceptron(max_iter=2).fit(linsep.open_source(folder / "rows.csv", target="y"))
    linsep.save(model, folder / "m.linsep")


def array_model(folder, classes=2, features=4):
    """A model of arrays with so many classes."""
    rng = np.random.default_rng(1)
    model = linsep.Perceptron(max_iter=1)
    labels = [f"class {k % classes}" for k in range(2 * classes)]
    model.fit(rng.normal(size=(2 * classes, features)), labels)
    linsep.save(model, folder / "m.linsep")


def arrow(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def asked(server, client, body, kind, path="/predict"):
    """Status and answer, within some seconds and some memory whatever the body is."""
    server.forget_peak()
    before, started = server.peak(), time.monotonic()
    status, found, _ = client.ask("POST", path, body, kind)
    assert time.monotonic() - started < 12
    assert server.peak() - before < 500 * MB
    client.get("/health")  # and others are answered
    return status, found


def test_a_new_key_a_row(tmp_path):
    """Columns that the model does not have are never made."""
    table_model(tmp_path)
    lines = [b'{"a":1,"c":"x","k%05d":1}' % k for k in range(9_999)]
    lines = [line + b" " * 14 for line in lines]
    with process(tmp_path, "m.linsep") as (server, client):
        status, found = asked(server, client, b"\n".join(lines), "application/jsonl")
        assert (status, len(found["predictions"])) == (200, 9_999)
        # The column that the model needs comes last, or never.
        late = [b'{"a":1,"k%05d":1}' % k for k in range(9_999)]
        status, found = asked(
            server, client, b"\n".join([*late, b'{"c":"x"}']), "application/jsonl"
        )
        assert (status, "no value" in found["error"]) == (422, True)
        status, found = asked(server, client, b"\n".join(late), "application/jsonl")
        assert (status, "no column 'c'" in found["error"]) == (422, True)
        rows = {"rows": [{"a": 1, "c": "x", f"k{k:05d}": 1} for k in range(9_999)]}
        status, found = asked(server, client, json.dumps(rows), "application/json")
        assert (status, "'k00000'" in found["error"]) == (422, True)


def test_columns_of_arrow_that_expand(tmp_path):
    """Ten megabytes of a body that stand for gigabytes."""
    table_model(tmp_path)
    rows, text = 9_999, "x" * MB
    numbers = pa.array(np.ones(rows))
    dictionary = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), [text])
    views = np.zeros(rows, [("length", "i4"), ("prefix", "S4"), ("buffer", "i4"), ("at", "i4")])
    views["length"], views["prefix"] = len(text), b"xxxx"
    view = pa.Array.from_buffers(
        pa.string_view(), rows, [None, pa.py_buffer(views.tobytes()), pa.py_buffer(text.encode())]
    )
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array([text]))
    with process(tmp_path, "m.linsep") as (server, client):
        for column in (dictionary, view, runs):
            status, found = asked(
                server, client, arrow(pa.table({"a": numbers, "c": column})), ARROW
            )
            assert status in (200, 413, 415, 422), found
            # Other columns are not read at all.
            table = pa.table({"a": numbers, "c": ["x"] * rows, "more": column})
            status, found = asked(server, client, arrow(table), ARROW)
            assert status in (200, 413, 415), found


def test_interactions_of_long_namespaces(tmp_path):
    """Four thousand features times four thousand, in a line of 40 kB."""
    (tmp_path / "rows.vw").write_text("1 |a b |c d\n-1 |a e |c f\n")
    source = linsep.open_source(tmp_path / "rows.vw", hash_bits=18, interactions=["ac"])
    linsep.save(linsep.Perceptron(max_iter=1).fit(source), tmp_path / "m.linsep")
    words = " ".join(f"w{k}" for k in range(4_000))
    with process(tmp_path, "m.linsep") as (server, client):
        line = f"|a {words} |c {words}\n"
        for body, kind in [
            (line * 100, "text/plain"),
            (json.dumps({"rows": line.splitlines() * 100}), "application/json"),
        ]:
            status, found = asked(server, client, body, kind)
            assert (status, "--max-memory" in str(found)) == (413, True), found
        assert client.predict(["|a b |c d"])["predictions"] == [1]


@pytest.mark.thorough
def test_clients_that_never_read(tmp_path):
    """Forty of them, each with an answer of 19 MB: others are answered on."""
    array_model(tmp_path, classes=100)
    body = json.dumps({"rows": [[1.0, 2.0, 3.0, 4.0]] * 9_999}).encode()
    head = b"POST /predict?scores=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    with process(tmp_path, "m.linsep") as (server, client), ExitStack() as rude:
        before = server.peak()
        for _ in range(40):
            one = rude.enter_context(socket.create_connection(("127.0.0.1", client.port)))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.sendall(head % len(body) + body)
        until = time.monotonic() + 90
        while time.monotonic() < until and rows_predicted(client) < 40 * 9_999:
            time.sleep(0.2)
        assert rows_predicted(client) == 40 * 9_999
        assert client.predict([[1.0, 2.0, 3.0, 4.0]])["predictions"]
        assert server.peak() - before < 550 * MB
        started = time.monotonic()
        os.kill(server.pid, signal.SIGTERM)
        assert server.waited()[0] == 0
        assert time.monotonic() - started < 20  # five on a machine that does nothing else


def rows_predicted(client):
    lines = client.get("/metrics").decode().splitlines()
    line = next(line for line in lines if line.startswith("linsep_rows_predicted_total "))
    return int(float(line.split()[1]))


@pytest.mark.thorough
def test_the_end_under_load(tmp_path):
    """SIGTERM ends within five seconds, whatever waits or comes; what was learned stays."""
    array_model(tmp_path, features=40)
    rows = [[1.0] * 40] * 9_999
    predict = json.dumps({"rows": rows}).encode()
    words = ["m.linsep", "--log", "rows.log"]
    acknowledged, number = [], iter(range(10**9))
    with process(tmp_path, *words, lines=4, LINSEP_TOKEN=TOKEN) as (server, client):

        def load(learns):
            own = Client(client.port, TOKEN)
            while not server.has_ended:
                try:
                    if learns:
                        ids = [f"{next(number)}" for _ in range(2_000)]
                        learned = {
                            "ids": ids,
                            "rows": rows[:2_000],
                            "labels": ["class 0", "class 1"] * 1_000,
                        }
                        status, found, _ = own.ask("POST", "/learn", json.dumps(learned))
                        if status == 200:
                            acknowledged.append(found["rows"])
                    else:
                        own.ask("POST", "/predict", predict)
                except OSError:
                    own.close()
                    time.sleep(0.02)
            own.close()

        threads = [threading.Thread(target=load, args=(k < 4,)) for k in range(12)]
        for thread in threads:
            thread.start()
        slow = client.raw()  # has sent a part of its body
        head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        slow.sendall(f"{head}Content-Length: 99\r\n\r\n".encode() + b'{"rows":')
        time.sleep(2)
        started = time.monotonic()
        os.kill(server.pid, signal.SIGTERM)
        code, _, said = server.waited()
        took = time.monotonic() - started
        for thread in threads:
            thread.join()
        slow.close()
    assert (code, said) == (0, "")
    assert took < 20  # as above
    with process(tmp_path, *words, lines=4, LINSEP_TOKEN=TOKEN) as (server, client):
        assert client.get("/model")["rows_learned"] >= max(acknowledged)


def test_hosts_of_strangers_are_refused(tmp_path):
    """A page elsewhere whose name points here (DNS rebinding) is told nothing."""
    array_model(tmp_path)
    body = b'{"rows": [[1, 2, 3, 4]]}'
    with process(tmp_path, "m.linsep") as (_, client):
        here = ["127.0.0.1", "localhost", "LocalHost", "[::1]", f"localhost:{client.port}"]
        away = ["evil.example", f"evil.example:{client.port}", "localhost.evil.example", "",
                "127.0.0.1.nip.io", "localhost:x", "localhost@evil.example"]  # fmt: skip
        for method, path in (("POST", "/predict"), ("GET", "/model"), ("GET", "/"), ("GET", "/no")):
            for hosts, wrong in ((here, False), (away, True)):
                for host in hosts:
                    status = status_of(client, method, path, f"Host: {host}\r\n", body)
                    assert (status == 421) == wrong, (method, path, host, status)
        two = "Host: localhost\r\nHost: evil.example\r\n"
        assert status_of(client, "GET", "/model", two) == 400
        assert status_of(client, "GET", "/model", "Host: localhost\r\n" * 2) == 400
        assert status_of(client, "GET", "/model", "") == 400
        assert status_of(client, "GET", "/model", "", version="1.0") == 200
    more = ["--allowed-host", "models.example", "--allowed-host", "other.example"]
    with process(tmp_path, "m.linsep", *more) as (_, client):
        for host, status in [("models.example", 200), ("other.example:80", 200), ("x", 421),
                             ("localhost", 200)]:  # fmt: skip
            assert status_of(client, "GET", "/model", f"Host: {host}\r\n") == status
    everywhere = ["m.linsep", "--host", "0.0.0.0"]
    with process(tmp_path, *everywhere, LINSEP_TOKEN=TOKEN) as (_, client):
        assert status_of(client, "GET", "/health", "Host: any.example\r\n") == 200
    with process(tmp_path, *everywhere, *more, LINSEP_TOKEN=TOKEN) as (_, client):
        assert status_of(client, "GET", "/health", "Host: any.example\r\n") == 421
        assert status_of(client, "GET", "/health", "Host: models.example\r\n") == 200


def status_of(client, method, path, hosts, body=b"", version="1.1"):
    with client.raw() as one:
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        one.sendall(f"{method} {path} HTTP/{version}\r\n{hosts}{length}\r\n".encode() + body)
        return int(one.recv(10_000).split()[1])


def test_rows_to_learn_do_not_hold_up_others(tmp_path):
    """Bodies of megabytes are taken apart beside the loop that answers small ones."""
    array_model(tmp_path, features=100)
    rows = np.random.default_rng(1).normal(size=(4_000, 100)).tolist()
    ids, labels = [str(k) for k in range(4_000)], ["class 0", "class 1"] * 2_000
    big = json.dumps({"ids": ids, "rows": rows, "labels": labels}).encode()
    words = ["m.linsep", "--log", "rows.log"]
    with process(tmp_path, *words, lines=4, LINSEP_TOKEN=TOKEN) as (_, client):
        small, longest, done = Client(client.port, TOKEN), [], []

        def learn():
            done.append(client.ask("POST", "/learn", big, "application/json"))

        for _ in range(3):
            thread = threading.Thread(target=learn)
            thread.start()
            longest.append(0.0)
            while thread.is_alive():
                started = time.monotonic()
                small.get("/health")
                longest[-1] = max(longest[-1], time.monotonic() - started)
            thread.join()
        small.close()
    assert [status for status, _, _ in done] == [200] * 3
    assert min(longest) < 0.35  # 0.6 in the loop itself, if nothing else runs on the machine


def test_budgets_are_options(tmp_path):
    """A request may take so many bytes of memory, and seconds."""
    table_model(tmp_path)
    body = "a,c\n" + "1,x\n" * 5_000
    with process(tmp_path, "m.linsep", "--max-memory", "10kB") as (_, client):
        for content, kind in [(body, "text/csv"), (json.dumps({"rows": [[1, "x"]] * 5_000}), None)]:
            status, found, _ = client.ask("POST", "/predict", content, kind)
            assert (status, "--max-memory" in found["error"]) == (413, True)
        assert client.predict([[1, "x"]])["predictions"] == ["u"]
    with process(tmp_path, "m.linsep", "--max-seconds", "0.000001") as (_, client):
        status, found, _ = client.ask("POST", "/predict", body, "text/csv")
        assert (status, "--max-seconds" in found["error"]) == (413, True)
