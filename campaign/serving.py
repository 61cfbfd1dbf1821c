"""kill -9 of a server under load: no acknowledged row is lost, none is learned twice."""

import http.client
import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

import linsep
from campaign.batches import folder
from linsep.serving.server import Server

TOKEN, CLIENTS, CLASSES = "campaign-token", 4, ("a", "b", "c")
MODELS: tuple[Callable[[], Any], ...] = (
    lambda: linsep.Perceptron(keep="average", max_iter=3),
    lambda: linsep.PassiveAggressive(keep="vote", multiclass="ovr", max_iter=3),
    lambda: linsep.Perceptron(keep="best", multiclass="ovo", update="single", max_iter=3),
    lambda: linsep.KernelPerceptron(kernel="rbf", gamma=0.5, budget=10, max_iter=3),
)


class World:
    """What a batch of cases knows: the model, the rows sent and acknowledged, and the replay."""

    def __init__(self, draw: random.Random):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 4))
        labels = np.array(CLASSES)[X[:, :3].argmax(axis=1)]
        model = draw.choice(MODELS)().fit(X, labels)
        self.path = linsep.save(model, folder() / "served.linsep")
        self.log = folder() / "served.log"
        #: the rows of all requests by id, and whether each was acknowledged
        self.sent: dict[str, tuple[list[float], str]] = {}
        self.acknowledged: set[str] = set()
        self.replay, self.replayed = linsep.load(self.path), 0
        self.number, self.lock = 0, threading.Lock()

    def new(self, draw: random.Random) -> dict[str, Any]:
        """Return a request of one to three rows that were never sent."""
        many = draw.choice((1, 1, 1, 2, 3))
        with self.lock:
            ids = [f"row {self.number + k}" for k in range(many)]
            self.number += many
            rows = [[draw.gauss(0, 1) for _ in range(4)] for _ in ids]
            labels = [draw.choice(CLASSES) for _ in ids]
            self.sent |= dict(zip(ids, zip(rows, labels, strict=True), strict=True))
        return {"ids": ids, "rows": rows, "labels": labels}


_worlds: dict[Path, World] = {}


def killed(draw: random.Random) -> str | None:
    """Kill a server that learns from several clients, start it again, and compare."""
    world = _worlds.get(folder()) or _worlds.setdefault(folder(), World(draw))
    server, port = _started(world, wait=draw.random() < 0.9)
    stop = threading.Event()
    seeds = [draw.random() for _ in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        seeded = [random.Random(seed) for seed in (seeds if port else [])]
        clients = [pool.submit(_load, world, port, each, stop) for each in seeded]
        time.sleep(draw.uniform(0, 0.3))
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
        stop.set()
    for client in clients:
        client.result()  # raises what was no answer
    server, port = _started(world, wait=True)
    try:
        return _wrong(world, port) if port else "it did not start again"
    finally:
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)


def _started(world: World, wait: bool) -> tuple[int, int]:
    """Fork a server; return its process and port, 0 if it ended or need not be waited for."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            server = Server(world.path, token=TOKEN, log=world.log, say=lambda _: None)
            server.run(lambda: _say(writing, server.port))
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as ready:
        return child, int(ready.readline() or 0) if wait else 0


def _say(pipe: int, port: int) -> None:
    with suppress(OSError):  # nobody waits for it
        os.write(pipe, b"%d\n" % port)
    os.close(pipe)


def _ask(connection: http.client.HTTPConnection, path: str, content: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    method, body = ("GET", None) if content is None else ("POST", json.dumps(content))
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    found = answer.read()
    if answer.status != 200:
        raise AssertionError(f"{path}: {answer.status} {found!r}")
    return found


def _load(world: World, port: int, draw: random.Random, stop: threading.Event) -> None:
    """Send rows, some of them twice, and predictions, until the server is gone."""
    gone = OSError, http.client.HTTPException
    with closing(_connection(port)) as connection, suppress(*gone):
        while not stop.is_set():
            request = world.new(draw)
            for _ in range(draw.choice((1, 1, 2))):
                _ask(connection, "/learn", request)
                with world.lock:
                    world.acknowledged.update(request["ids"])
            _ask(connection, "/predict", {"rows": request["rows"]})


def _connection(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=20)


def _wrong(world: World, port: int) -> str | None:
    """Return what is wrong with a server that was started again, None if nothing is."""
    with closing(_connection(port)) as connection:
        entries = _entries(world)
        if why := _wrong_rows(world, entries) or _wrong_model(world, connection, entries):
            return why
        # Rows whose answer got lost are sent again: those in the log are known, others are new.
        known = {id for id, _, _ in entries}
        for id in [id for id in world.sent if id not in world.acknowledged]:
            row, label = world.sent[id]
            found = json.loads(
                _ask(connection, "/learn", {"ids": [id], "rows": [row], "labels": [label]})
            )
            if (found["duplicates"], found["learned"]) != ((1, 0) if id in known else (0, 1)):
                return f"{id}, in the log: {id in known}, sent again: {found}"
            world.acknowledged.add(id)
        entries = _entries(world)
        return _wrong_rows(world, entries) or _wrong_model(world, connection, entries)


def _entries(world: World) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(world.log)) as log:
        return log.execute("SELECT id, row, label FROM rows ORDER BY number").fetchall()


def _wrong_rows(world: World, entries: list[tuple[str, str, str]]) -> str | None:
    ids = [id for id, _, _ in entries]
    if len(set(ids)) < len(ids):
        return "a row was learned twice"
    if lost := world.acknowledged.difference(ids):
        return f"lost, though acknowledged: {sorted(lost)[:5]}"
    for id, row, label in entries:
        if (json.loads(row), json.loads(label)) != world.sent[id]:
            return f"{id} is another row in the log"
    return None


def _wrong_model(
    world: World, connection: http.client.HTTPConnection, entries: list[tuple[str, str, str]]
) -> str | None:
    """Compare the model that is served, and its count, with a replay of the log."""
    for _, row, label in entries[world.replayed :]:
        world.replay.partial_fit([json.loads(row)], [json.loads(label)])
    world.replayed = len(entries)
    if (rows := json.loads(_ask(connection, "/model"))["rows_learned"]) != len(entries):
        return f"a model of {rows} rows, and a log of {len(entries)}"
    (folder() / "now.linsep").write_bytes(_ask(connection, "/model/file"))
    linsep.save(world.replay, folder() / "replay.linsep", force=True)
    served, expected = (
        {n: a.tobytes() for n, a in linsep.load(folder() / name).get_state()[0].items()}
        for name in ("now.linsep", "replay.linsep")
    )
    return None if served == expected else f"other bits in arrays of {sorted(served)}"
