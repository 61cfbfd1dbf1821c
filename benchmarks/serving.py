"""Predictions of one row over HTTP: a server on one core, a client on another, kept connections."""

import itertools
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import linsep

SECONDS, REPEATS, CONNECTIONS = 2.0, 5, (1, 8, 32)
TOKEN, PLAIN_PORT = "benchmark-token", 8931


def request_of(path: str, content: Any) -> bytes:
    """Return a whole request."""
    body = json.dumps(content).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def load(port: int, requests: Any, connections: int) -> list[float]:
    """Send the next request on each connection when its answer has come; seconds of each."""
    found: list[float] = []
    with selectors.DefaultSelector() as selector:
        for _ in range(connections):
            one = socket.create_connection(("127.0.0.1", port))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            one.sendall(next(requests))
            selector.register(one, selectors.EVENT_READ, time.perf_counter())
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            for key, _ in selector.select(1):
                answer = key.fileobj.recv(1 << 16)
                if not answer.startswith((b"HTTP/1.1 200", b"{")):
                    raise SystemExit(f"no answer: {answer!r}")
                if not answer.endswith(b"}"):  # the head alone
                    continue
                now = time.perf_counter()
                found.append(now - key.data)
                key.fileobj.sendall(next(requests))
                selector.modify(key.fileobj, selectors.EVENT_READ, now)
        for key in list(selector.get_map().values()):
            key.fileobj.close()
    return found


def processor_seconds(process: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(name: str, server: Any, port: int, requests: Any, rows: int = 1) -> None:
    """Print medians of some runs for each number of connections."""
    for connections in CONNECTIONS:
        runs = []
        load(port, requests, connections)  # the first run warms up
        for _ in range(REPEATS):
            before = processor_seconds(server.pid)
            times = sorted(load(port, requests, connections))
            used = processor_seconds(server.pid) - before
            runs.append((
                rows * len(times) / SECONDS, rows * len(times) / used,
                1e3 * times[len(times) // 2], 1e3 * times[int(0.99 * len(times))],
            ))  # fmt: skip
        rate, share, middle, high = (median(values) for values in zip(*runs, strict=True))
        print(f"{name:28}{connections:>12}{rate:>10,.0f}{share:>18,.0f}{middle:>9.2f}{high:>9.2f}")


def models(folder: Path) -> dict[str, tuple[Path, Any]]:
    """Return model files, each with a row: of numbers, and with text columns."""
    from sklearn.datasets import load_digits, load_iris

    X, y = load_digits(return_X_y=True)
    model = linsep.Perceptron(keep="average", max_iter=20).fit(X, y)
    found = {"64 numbers, 10 classes": (linsep.save(model, folder / "a.linsep"), X[0].tolist())}
    iris = load_iris(as_frame=True).frame
    iris["color"] = ["red", "blue", "green"] * 50
    iris.to_csv(folder / "iris.csv", index=False)
    source = linsep.open_source(folder / "iris.csv", target="target", scale="standard")
    model = linsep.Perceptron(keep="average", max_iter=20).fit(source)
    row = json.loads(iris.drop(columns="target").iloc[0].to_json())
    return found | {"4 numbers, a text column": (linsep.save(model, folder / "b.linsep"), row)}


#: a server of ten lines: Starlette, and scikit-learn's perceptron of the same digits
PLAIN = """
import sys, uvicorn
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
model = Perceptron(max_iter=20).fit(*load_digits(return_X_y=True))
async def predict(request):
    rows = (await request.json())["rows"]
    return JSONResponse({"predictions": model.predict(rows).tolist()})
app = Starlette(routes=[Route("/predict", predict, methods=["POST"])])
print("http://127.0.0.1:" + sys.argv[1], flush=True)
uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
"""


def served(folder: Path, *words: Any) -> tuple[Any, int]:
    """Start a server on the first processor, and keep this process on the others."""
    server = subprocess.Popen(
        [sys.executable, *map(str, words)], stdout=subprocess.PIPE, text=True, cwd=folder,
        env=os.environ | {"LINSEP_TOKEN": TOKEN},
    )  # fmt: skip
    assert server.stdout is not None
    port = int(server.stdout.readline().rstrip("/\n").rpartition(":")[2])
    if "-c" in words:
        time.sleep(2)  # it listens after it has said so
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(server.pid, cores[:1])
        os.sched_setaffinity(0, cores[1:])
    return server, port


def main() -> None:
    """Print a table; the load of the machine stands above it."""
    cores = os.sched_getaffinity(0)
    print(f"load {os.getloadavg()[0]:.1f}; medians of {REPEATS} runs of {SECONDS:g} s")
    print(f"{'predictions':28}{'connections':>12}{'a second':>10}{'a core second':>18}"
          f"{'p50 ms':>9}{'p99 ms':>9}")  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = models(folder)
        for title, (path, row) in made.items():
            own = ["-m", "linsep", "serve", path, "--port", "0"]
            plain = {"Starlette and scikit-learn": ["-c", PLAIN, PLAIN_PORT]}
            for side, words in ({title: own} | (plain if len(row) == 64 else {})).items():
                server, port = served(folder, *words)
                request = request_of("/predict", {"rows": [row]})
                show(side, server, port, itertools.repeat(request))
                request = request_of("/predict", {"rows": [row] * 100})
                show("the same, 100 per request", server, port,
                     itertools.repeat(request), 100)  # fmt: skip
                server.terminate()
                server.wait()
        path, row = made["64 numbers, 10 classes"]
        server, port = served(
            folder, "-m", "linsep", "serve", path, "--port", "0", "--log", "rows.log"
        )
        ids = itertools.count()
        show("rows learned, one per request", server, port, (
            request_of("/learn", {"ids": [str(next(ids))], "rows": [row], "labels": [3]})
            for _ in itertools.count()
        ))  # fmt: skip
        server.terminate()
        server.wait()
    os.sched_setaffinity(0, cores)
