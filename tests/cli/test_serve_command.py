"""``linsep serve`` as a process: how it starts, which signals it takes, what it refuses."""

import json
import os
import signal
import socket
import sys
import time

import pytest

import linsep
import linsep.serving
from command_line import assert_refused
from served import TOKEN, Client, Forked

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(os.name == "nt", reason="sends signals of POSIX"),
]

X = [[4.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-2.0, -2.0]]


def fitted(folder, **how):
    labels = how.pop("labels", ["+", "-", "-", "+"])
    model = linsep.Perceptron(shuffle=False, **how).fit(X, labels)
    return linsep.save(model, folder / "m.linsep", force=True)


def test_requests_in_flight_finish_and_rows_stay(tmp_path):
    fitted(tmp_path)
    server = Forked("serve", "m.linsep", "--log", "rows.log", "--port", 0, cwd=tmp_path,
                    LINSEP_TOKEN=TOKEN)  # fmt: skip
    lines = server.started(4)
    assert "log      rows.log, 0 rows learned" in lines
    assert TOKEN not in lines
    client = Client(int(lines.splitlines()[0].rstrip("/").rpartition(":")[2]), TOKEN)
    assert client.learn(["a"], X[:1], ["+"])["rows"] == 1
    os.kill(server.pid, signal.SIGHUP)  # of the same file nothing is said
    client.get("/health")
    fitted(tmp_path, labels=["-", "+", "+", "-"])
    assert "the log belongs to the previous model" in server.stderr.readline()
    body = json.dumps({"ids": ["b"], "rows": X[1:2], "labels": ["+"]}).encode()
    with client.raw() as slow:
        head = f"POST /learn HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        slow.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:9])
        client.get("/health")  # the head of the slow one has been read before
        os.kill(server.pid, signal.SIGTERM)
        refused_soon(client.port)
        slow.sendall(body[9:])
        answer = slow.recv(10_000)
    client.close()
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b'{"learned":1,"duplicates":0,"rows":2}')
    assert server.waited() == (0, "", "")
    assert linsep.load(tmp_path / "rows.log-2.linsep").n_features_in_ == 2


def test_ctrl_c_ends_it(tmp_path):
    fitted(tmp_path)
    server = Forked("serve", "m.linsep", "--port", 0, cwd=tmp_path)
    assert server.started(3).endswith("Ctrl-C ends it\n")
    assert server.ended(signal.SIGINT) == (0, "", "")


def refused_soon(port):
    """Wait until nobody listens any more."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            return
        time.sleep(0.02)
    raise AssertionError("the server still listens")


def test_what_is_refused(tmp_path):
    fitted(tmp_path)
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    linsep.save(linsep.LinearRegression().fit(X, [1.0, 2.0, 4.0, 3.0]), tmp_path / "line.linsep")
    kernel = linsep.kernels.Spectrum(2)
    strings = linsep.KernelPerceptron(kernel=kernel).fit(["aaaa", "bbbb"], [0, 1])
    linsep.save(strings, tmp_path / "strings.linsep")
    linsep.save(linsep.Perceptron(early_stopping=True).fit(X * 9, list("+--+") * 9),
                tmp_path / "stops.linsep")  # fmt: skip
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words, said, code in [
            (["none.linsep"], "There is no model file none.linsep", 1),
            (["data.csv"], "data.csv is not a model file", 1),
            (["strings.linsep"], "has a kernel of strings or of a Gram matrix", 1),
            (["m.linsep", "--host", "0.0.0.0"], "at 0.0.0.0: protect it with --token WORD", 2),
            (["m.linsep", "--log", "l"], "could train the model: protect it with --token WORD", 2),
            (["m.linsep", "--token", "short"], "at least 8 printable", 2),
            (["m.linsep", "--port", port], f"cannot listen on 127.0.0.1, port {port}", 2),
            (
                ["m.linsep", "--max-body", "many"],
                "--max-body 'many' is not a valid size of a body",
                2,
            ),
            (["m.linsep", "--max-body", "0"], "--max-body '0' is not a valid size of a body", 2),
            (["m.linsep", "--max-rows", "0"], "--max-rows", 2),
            (
                ["line.linsep", "--log", "l", "--token", TOKEN],
                "does not support online learning",
                1,
            ),
            (
                ["stops.linsep", "--log", "l", "--token", TOKEN],
                "early_stopping is not supported",
                1,
            ),
            (["m.linsep", "--log", "data.csv", "--token", TOKEN], "not a log of linsep serve", 1),
            (["m.linsep", "--log", "m.linsep", "--token", TOKEN], "not a log of linsep", 1),
            (["m.linsep", "--log", "no/l", "--token", TOKEN], "The folder no does not exist", 1),
        ]:
            assert_refused("serve", *words, cwd=tmp_path, said=said, exit_code=code)


def test_without_uvicorn_it_says_what_to_install(tmp_path, monkeypatch):
    fitted(tmp_path)
    monkeypatch.delitem(sys.modules, "linsep.serving.server", raising=False)
    monkeypatch.delitem(vars(linsep.serving), "Server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert_refused("serve", "m.linsep", cwd=tmp_path, code="missing-package")
