"""``linsep serve`` as a process: how it starts, which signals it takes, what it refuses."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

import linsep
from command_line import assert_refused, here
from served import TOKEN, Client

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(os.name == "nt", reason="sends signals of POSIX"),
]

X = [[4.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-2.0, -2.0]]


def fitted(folder, **how):
    labels = how.pop("labels", ["+", "-", "-", "+"])
    model = linsep.Perceptron(shuffle=False, **how).fit(X, labels)
    return linsep.save(model, folder / "m.linsep", force=True)


@contextmanager
def process(*arguments, cwd):
    """A server in a process of its own, its client, and what it prints at the start."""
    command = [sys.executable, "-W", "error", "-m", "linsep", "serve", *map(str, arguments)]
    env = os.environ | {"LINSEP_TOKEN": TOKEN}
    server = subprocess.Popen(
        [*command, "--port", "0"], cwd=cwd, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    lines = []
    while not lines or "Ctrl-C" not in lines[-1]:
        lines.append(server.stdout.readline())
        assert lines[-1], server.communicate(timeout=30)
    client = Client(int(lines[0].split(":")[-1].strip(" /\n")), TOKEN)
    client.process, client.lines = server, "".join(lines)
    try:
        yield client
    finally:
        client.close()
        if server.poll() is None:
            server.kill()
        server.communicate(timeout=30)


def test_requests_in_flight_finish_and_rows_stay(tmp_path):
    fitted(tmp_path)
    log = ("m.linsep", "--log", "rows.log")
    with process(*log, cwd=tmp_path) as client:
        assert "log      rows.log, 0 rows learnt" in client.lines
        assert client.learn(["a"], X[:1], ["+"])["rows"] == 1
        client.process.send_signal(signal.SIGHUP)
        assert "the log is of the model before" in client.process.stderr.readline()
        body = json.dumps({"ids": ["b"], "rows": X[1:2], "labels": ["+"]}).encode()
        slow = client.raw()
        head = f"POST /learn HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        slow.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:9])
        client.get("/health")  # the head of the slow one has been read before
        client.process.send_signal(signal.SIGTERM)
        refused_soon(client.port)
        slow.sendall(body[9:])
        answer = slow.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b'{"learnt":1,"known":0,"rows":2}')
        slow.close()
        out, said = client.process.communicate(timeout=30)
        assert (client.process.returncode, out, said) == (0, "", "")
        assert TOKEN not in client.lines
    assert linsep.load(tmp_path / "rows.log-2.linsep").n_features_in_ == 2


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
            (["strings.linsep"], "has a kernel whose rows are no numbers", 1),
            (["m.linsep", "--host", "0.0.0.0"], "at 0.0.0.0: protect it with --token WORD", 2),
            (["m.linsep", "--log", "l"], "could teach the model: protect it with --token WORD", 2),
            (["m.linsep", "--token", "short"], "at least 8 characters", 2),
            (["m.linsep", "--port", port], f"cannot listen on 127.0.0.1, port {port}", 2),
            (["m.linsep", "--max-body", "many"], "'many' is no size", 1),
            (["m.linsep", "--max-rows", "0"], "--max-rows", 2),
            (["line.linsep", "--log", "l", "--token", TOKEN], "does not learn row by row", 1),
            (["stops.linsep", "--log", "l", "--token", TOKEN], "early_stopping must be False", 1),
            (["m.linsep", "--log", "no/l", "--token", TOKEN], "The folder no does not exist", 1),
        ]:
            assert_refused("serve", *words, cwd=tmp_path, said=said, code=code)
        # The lock of a log stays beside it, so it is refused apart.
        for log, said in {"data.csv": "not a log of linsep serve", "m.linsep": "not a log"}.items():
            done = here("serve", "m.linsep", "--log", log, "--token", TOKEN, cwd=tmp_path)
            assert (done.returncode, done.stderr.count("\n")) == (1, 1)
            assert said in done.stderr


def test_without_uvicorn_it_says_what_to_install(tmp_path, monkeypatch):
    fitted(tmp_path)
    monkeypatch.delitem(sys.modules, "linsep.serving.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert_refused("serve", "m.linsep", cwd=tmp_path, said=r"pip install 'linsep\[serve\]'")
