"""Random requests to a server: an answer, or one sentence; never a fault, never a path."""

import asyncio
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import linsep
from campaign.batches import folder
from linsep.serving.rows import TABLES
from linsep.serving.server import Server

NUMBERS = (0, 1, -1, 1e308, -1e308, 5e-324, 2**53 + 1, 2**63, 2**64, 10**30, 0.1)
TEXTS = (
    "", "x", "red", "1", "1:2", "3:4 5:6", "| a", "|a b:1 c", "-1 1:2", "#", "\n", "1:nan", "é",
    "|a x:inf", "\0", "x" * 2000, "1 1:1 1:2", "999999999999:1", "0:1", "٣",
)  # fmt: skip
QUERIES = (b"", b"", b"scores", b"explanations=1", b"probabilities=1", b"scores&explanations")


@cache
def _services(place: Path) -> list[tuple[Any, bytes]]:
    """Return the services of some models, each with a body in the format of its data."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).round(3)
    labels = np.where(X[:, 0] > 0, "up", "down")
    colors = np.array(["red", "blue"])[(X[:, 1] > 0).astype(int)]
    table = "a,b,c,color,y\n" + "".join(
        f"{a},{b},{c},{color},{label}\n"
        for (a, b, c), color, label in zip(X, colors, labels, strict=True)
    )
    pairs = "".join(f"{1 if a > 0 else -1} 1:{a} 2:{b} 7:{c}\n" for a, b, c in X)
    words = "".join(f"{1 if a > 0 else -1} |x up:{a} |y side{b > 0}\n" for a, b, _ in X)
    found = []
    for name, content, how in (
        ("rows.csv", table, {"target": "y", "scale": "standard"}),
        ("rows.svm", pairs, {}),
        ("rows.vw", words, {"hash_bits": 8}),
    ):
        (place / name).write_text(content)
        source = linsep.open_source(place / name, **how)
        model = linsep.Perceptron(keep="average", max_iter=3).fit(source)
        saved = linsep.save(model, place / f"{name}.linsep")
        found.append((Server(saved, say=lambda _: None).service, content.encode()))
    kernel = linsep.KernelPerceptron(kernel="rbf", max_iter=3).fit(X, labels)
    saved = linsep.save(kernel, place / "kernel.linsep")
    return [*found, (Server(saved, say=lambda _: None).service, b"1,2\n")]


def answered(draw: random.Random) -> str | None:
    """Send a random request to a random model."""
    service, data = draw.choice(_services(folder()))
    row = service.served.reader.example()
    rows = [_changed(row, draw) for _ in range(draw.choice((1, 1, 2, 5)))]
    body, kind = json.dumps({"rows": rows}).encode(), b"application/json"
    if draw.random() < 0.3:
        kind = draw.choice([*TABLES, b"text/plain"])
        body = draw.choice((body, data, draw.randbytes(50)))
    if draw.random() < 0.3:
        edited = bytearray(body)
        for _ in range(3):
            edited[draw.randrange(len(edited))] = draw.choice(b",\n\"'1:| \x00\xffaNn-[]{}")
        body = bytes(edited)
    status, content = asyncio.run(_sent(service, body, kind, draw.choice(QUERIES)))
    found = json.loads(content, parse_constant=lambda name: 1 / 0)
    if status == 200:
        return None if len(found["predictions"]) else "no predictions"
    why = found["error"]
    if status == 500 or "\n" in why or len(why) > 600 or str(folder()) in why:
        return f"{status} {why} for {body[:300]!r}"
    return None


def _value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(8)
    if kind == 0 and depth < 3:
        return [_value(draw, depth + 1) for _ in range(draw.randrange(6))]
    if kind == 1 and depth < 3:
        return {draw.choice(TEXTS): _value(draw, depth + 1) for _ in range(draw.randrange(4))}
    return draw.choice((None, True, draw.choice(NUMBERS), draw.choice(TEXTS), draw.gauss(0, 3)))


def _changed(row: Any, draw: random.Random) -> Any:
    """Return a row with some values changed, or anything."""
    if draw.random() < 0.2:
        return _value(draw)
    if isinstance(row, str):
        letters = list(row)
        for _ in range(draw.randrange(4)):
            letters[draw.randrange(len(letters))] = draw.choice(" :|#-1.e\tnaif\n\x00é9")
        return "".join(letters)
    row = dict(row) if isinstance(row, dict) else dict(enumerate(row))
    for _ in range(draw.randrange(3)):
        row[draw.choice([*row, "3"])] = _value(draw)
    if draw.random() < 0.1:
        row.pop(next(iter(row)))
    return list(row.values()) if 0 in row else row


async def _sent(service: Any, body: bytes, kind: bytes, query: bytes) -> tuple[int, bytes]:
    """Return the status and content of the answer to a prediction, without a network."""
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/predict",
        "query_string": query, "headers": [(b"content-type", kind)],
    }  # fmt: skip
    parts: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(part: dict[str, Any]) -> None:
        parts.append(part)

    await service.app(scope, receive, send)
    return parts[0]["status"], parts[1]["body"]
