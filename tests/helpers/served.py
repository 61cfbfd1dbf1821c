"""A server in a thread of this process, and a client that keeps its connection."""

import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("uvicorn")

from linsep.cli.main import main
from linsep.serving.server import Server

TOKEN = "a-token-of-the-tests"


class Client:
    def __init__(self, port, token=None):
        self.port, self.token = port, token
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(self, method, path, body=None, kind=None, token=None, **headers):
        """Status, content (JSON if it is) and headers of an answer."""
        if kind is not None:
            headers["Content-Type"] = kind
        if token := token or self.token:
            headers["Authorization"] = f"Bearer {token}"
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if content and answer.headers["content-type"] == "application/json":
            content = json.loads(content)
        return answer.status, content, answer.headers

    def get(self, path):
        status, content, _ = self.ask("GET", path)
        assert status == 200, content
        return content

    def post(self, path, content, kind="application/json"):
        """The answer of a request that succeeds; what is no bytes is sent as JSON."""
        body = content if isinstance(content, bytes) else json.dumps(content)
        status, found, _ = self.ask("POST", path, body, kind)
        assert status == 200, found
        return found

    def predict(self, rows, ask=""):
        return self.post(f"/predict{ask}", {"rows": rows})

    def learn(self, ids, rows, labels):
        return self.post("/learn", {"ids": ids, "rows": rows, "labels": labels})

    def refused(self, path, content, kind="application/json"):
        """Status and message of a request that is refused."""
        body = content if isinstance(content, bytes) else json.dumps(content)
        status, found, _ = self.ask("POST", path, body, kind)
        assert status >= 400
        assert {"error", "code"} <= found.keys() <= {"error", "code", "row", "column"}
        return status, found["error"]

    def raw(self):
        """A connection to send bytes as they are."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def close(self):
        self._connection.close()


@contextmanager
def serving(path, **how):
    """Serve a model file in a thread; yields a client, which knows the server."""
    said = []
    server = Server(path, say=said.append, **how)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,))
    thread.start()
    client = Client(server.port, how.get("token"))
    client.server, client.said = server, said
    try:
        assert ready.wait(60)
        yield client
    finally:
        client.close()
        server.stop()
        thread.join(60)
    assert not thread.is_alive()


class Forked:
    """``linsep`` with these words in a process of its own, without the seconds that imports take.

    Attributes
    ----------
    stdout, stderr : files to read
    """

    def __init__(self, *words, cwd, **environment):
        self.has_ended = False
        pipes = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ |= environment
            sys.argv = ["linsep", *map(str, words)]
            sys.stdout, sys.stderr = (os.fdopen(writing, "w", buffering=1) for _, writing in pipes)
            main()
        for _, writing in pipes:
            os.close(writing)
        self.stdout, self.stderr = (os.fdopen(reading) for reading, _ in pipes)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        """End it where a test has failed."""
        if not self.has_ended:
            os.kill(self.pid, signal.SIGKILL)
            self.waited()

    def started(self, lines):
        """What it prints at the start."""
        return "".join(self.stdout.readline() for _ in range(lines))

    def ended(self, number=signal.SIGTERM):
        """Send a signal; the exit code, and what it has printed since."""
        os.kill(self.pid, number)
        return self.waited()

    def waited(self):
        """The exit code, and what it has printed since the start."""
        until = time.monotonic() + 30
        while (found := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > until:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.01)
        self.has_ended = True
        with self.stdout, self.stderr:
            return os.waitstatus_to_exitcode(found[1]), self.stdout.read(), self.stderr.read()
