"""The addresses of a server: an ASGI application of Starlette."""

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from linsep.errors import LinsepError
from linsep.serving.batching import Batches
from linsep.serving.bodies import FORMATS, Bodies
from linsep.serving.learning import Job, Labelled, Learning, Learnt, learn
from linsep.serving.limits import Limits, Refused
from linsep.serving.metrics import Metrics
from linsep.serving.model import Served, Wanted
from linsep.serving.openapi import document, page
from linsep.serving.requests import (
    JSON,
    BodyReader,
    Gone,
    Guard,
    fields_of,
    head_of,
    wanted_of,
)

#: JSON bodies up to so many bytes are answered at once, larger ones by another thread
AT_ONCE = 1 << 16
#: rows that the served model learns between predictions
ROWS_A_TURN = 500
#: addresses that need no token: they say nothing of the model
OPEN = ("/", "/health")
TEXT, HTML = b"text/plain; version=0.0.4; charset=utf-8", b"text/html; charset=utf-8"

Scope = dict[str, Any]
Answer = tuple[bytes, bytes, list[tuple[bytes, bytes]]]


class Service:
    """A served model, its log and its counts, and what answers each address.

    Parameters
    ----------
    served : Served
    limits : Limits
    token : str or None
        Needed by every address but :data:`OPEN`.
    learning : Learning or None
    bodies : Bodies
        Of the thread that predicts.
    """

    def __init__(
        self,
        served: Served,
        limits: Limits,
        token: str | None,
        learning: Learning | None,
        bodies: Bodies,
    ):
        self.served, self.limits, self.learning = served, limits, learning
        self.metrics, self._batches, self._guard = Metrics(), Batches(bodies), Guard(token)
        self._reader = BodyReader(limits)
        self._frozen: tuple[Served, int, Served] | None = None
        # One thread, so that large bodies are taken apart one after the other.
        self._large = ThreadPoolExecutor(1, thread_name_prefix="large")
        self._large_bodies = Bodies(limits)
        answers: dict[str, tuple[str, Callable[..., Awaitable[Answer]]]] = {
            "/": ("GET", self._page),
            "/health": ("GET", self._health),
            "/predict": ("POST", self._predict),
            "/learn": ("POST", self._learn),
            "/model": ("GET", self._model),
            "/model/file": ("GET", self._file),
            "/metrics": ("GET", self._metrics),
            "/openapi.json": ("GET", self._openapi),
        }
        routes = [
            Route(path, Endpoint(self, path, answer), methods=[method])
            for path, (method, answer) in answers.items()
        ]
        handlers: Any = {HTTPException: self._no_address}
        self._others = Starlette(routes=routes, exception_handlers=handlers)
        self._others.router.redirect_slashes = False

    async def app(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer a request: predictions at once, others by way of Starlette's router."""
        if scope["path"] == "/predict" and scope["method"] == "POST":
            await self.answer("/predict", self._predict, scope, receive, send)
        else:
            await self._others(scope, receive, send)

    def close(self) -> None:
        """End the thread and remove temporary files."""
        self._large.shutdown(cancel_futures=True)
        self._large_bodies.close()

    async def answer(
        self, path: str, make: Callable[..., Awaitable[Answer]], scope: Scope, receive: Any,
        send: Any,
    ) -> None:  # fmt: skip
        """Answer a request by ``make``, or say in one sentence why not; count it."""
        started, status = perf_counter(), 200
        headers: list[tuple[bytes, bytes]] = []
        try:
            if path not in OPEN:
                self._guard.check(scope["headers"])
            kind, content, headers = await make(scope, receive)
        except Gone:
            return
        except Refused as refusal:
            status, headers = refusal.status, list(refusal.headers)
            kind, content = JSON, _sentence(refusal.sentence)
        except LinsepError as problem:
            # Hints are about parameters of Python.
            plain = problem.render(lambda hint: None)
            status, kind, content = 422, JSON, _sentence(plain)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            status, kind = 500, JSON
            content = _sentence("A fault of linsep: its server printed what happened.")
        await _send(send, status, kind, content, headers)
        self.metrics.count(path, status, perf_counter() - started)

    async def _page(self, scope: Scope, receive: Any) -> Answer:
        return HTML, page(), [(b"content-security-policy", POLICY)]

    async def _health(self, scope: Scope, receive: Any) -> Answer:
        return JSON, b'{"status":"ok"}', []

    async def _model(self, scope: Scope, receive: Any) -> Answer:
        return JSON, orjson.dumps(self.served.about()), []

    async def _metrics(self, scope: Scope, receive: Any) -> Answer:
        counts = {}
        if self.learning is not None:
            log = self.learning
            counts = {"rows": log.log.n_rows, "commits": log.commits, "snapshots": log.snapshots}
        return TEXT, self.metrics.text(self.served.about(), counts).encode(), []

    async def _openapi(self, scope: Scope, receive: Any) -> Answer:
        found = document(self.served, self.limits, self.learning is not None)
        return JSON, orjson.dumps(found), []

    async def _file(self, scope: Scope, receive: Any) -> Answer:
        served = self.frozen()
        content = await self._elsewhere(served.file_bytes)
        name = f'attachment; filename="{served.version}.linsep"'.encode()
        return b"application/octet-stream", content, [
            (b"content-disposition", name), _version(served.version),
        ]  # fmt: skip

    async def _predict(self, scope: Scope, receive: Any) -> Answer:
        wanted = wanted_of(scope["query_string"])
        head = head_of(scope["headers"])
        if head.type not in FORMATS and head.type not in (JSON, b""):
            known = ", ".join(kind.decode() for kind in (JSON, *FORMATS))
            raise Refused(
                415,
                f"The Content-Type is {head.type.decode('ascii', 'replace')[:60]!r}: send {known}.",
            )
        body = await self._reader.read(head, receive)
        if head.type in FORMATS:
            served = self.frozen()
            version = served.version
            found = await self._elsewhere(self._of_file, served, body, FORMATS[head.type], wanted)
        elif len(body) > AT_ONCE:
            served = self.frozen()
            version = served.version
            found = await self._elsewhere(self._of_rows, served, body, wanted)
        else:
            (rows,) = fields_of(body, ("rows",), self.limits)
            found, version = await self._batches.answer(self.served, rows, wanted)
        self.metrics.rows_predicted += len(found["predictions"])
        return JSON, orjson.dumps(found), [_version(version)]

    def _of_rows(self, served: Served, body: bytes, wanted: Wanted) -> dict[str, Any]:
        (rows,) = fields_of(body, ("rows",), self.limits)
        with served.opened(rows, self._large_bodies) as source:
            return served.answer(source, wanted)

    def _of_file(self, served: Served, body: bytes, format: str, wanted: Wanted) -> dict[str, Any]:
        with served.opened_body(body, format, self._large_bodies) as source:
            return served.answer(source, wanted)

    async def _learn(self, scope: Scope, receive: Any) -> Answer:
        learning = self.learning
        if learning is None:
            raise Refused(
                403, "This server does not learn: start it with --log FILE and --token WORD."
            )
        head = head_of(scope["headers"])
        if head.type not in (JSON, b""):
            raise Refused(415, "Rows to learn come as JSON: send application/json.")
        body = await self._reader.read(head, receive)
        names = ("ids", "rows", "labels")
        ids, rows, labels = fields_of(body, names, self.limits)
        labelled = learning.labelled(ids, rows, labels)
        found = await self._submitted(learning, labelled)
        self.metrics.rows_learnt += found.new
        self.metrics.rows_known += found.known
        content = {"learnt": found.new, "known": found.known, "rows": found.rows}
        return JSON, orjson.dumps(content), [_version(self.served.version_after(found.rows))]

    async def _submitted(self, learning: Learning, labelled: Labelled) -> Learnt:
        """Let rows wait for the writer; return what came of them, or raise their refusal."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Learnt | Refused] = loop.create_future()

        def done(found: Learnt | Refused) -> None:
            loop.call_soon_threadsafe(_resolve, future, found)

        learning.submit(Job(labelled, done))
        found = await future
        if isinstance(found, Refused):
            raise found
        return found

    def publish(self, loop: asyncio.AbstractEventLoop) -> Callable[[Any, np.ndarray], None]:
        """Return the function by which the writer lets the served model learn, in the loop."""

        async def follow(X: Any, y: np.ndarray) -> None:
            for first in range(0, len(y), ROWS_A_TURN):
                part = slice(first, first + ROWS_A_TURN)
                learn(self.served.model, X[part], y[part])
                self.served.learnt += len(y[part])
                await asyncio.sleep(0)

        return lambda X, y: asyncio.run_coroutine_threadsafe(follow(X, y), loop).result()

    def frozen(self) -> Served:
        """Return the model as it is now, for the other thread."""
        now = self.served, self.served.learnt
        if self._frozen is None or self._frozen[:2] != now:
            self._frozen = *now, self.served.copied(self.learning is not None)
        return self._frozen[2]

    async def _no_address(self, request: Any, problem: Any) -> Any:
        """Return the answer to an unknown address or method; count it."""
        from starlette.responses import Response

        path, status = request.url.path, problem.status_code
        words = f"There is no {path[:60]}: GET / lists the addresses."
        if status == 405:
            allowed = ", ".join(sorted(problem.headers["Allow"].split(", ")))
            words = f"{path} does not take {request.method}: use {allowed}."
        self.metrics.count_refused(status)
        return Response(_sentence(words), status, problem.headers, media_type="application/json")

    async def _elsewhere(self, work: Callable[..., Any], *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._large, work, *arguments)


#: the page may use nothing but what it brings, and this server
POLICY = (
    b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    b"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)


class Endpoint:
    """One address, as an ASGI application: Starlette's requests and responses cost more time."""

    def __init__(self, service: Service, path: str, make: Callable[..., Awaitable[Answer]]):
        self._service, self._path, self._make = service, path, make

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer a request."""
        await self._service.answer(self._path, self._make, scope, receive, send)


def _resolve(future: asyncio.Future, found: Learnt | Refused) -> None:
    if not future.done():
        future.set_result(found)


def _version(version: str) -> tuple[bytes, bytes]:
    return b"linsep-model", version.encode()


def _sentence(text: str) -> bytes:
    return orjson.dumps({"error": text})


async def _send(
    send: Any, status: int, kind: bytes, content: bytes, more: list[tuple[bytes, bytes]]
) -> None:
    length = str(len(content)).encode()
    headers = [(b"content-type", kind), (b"content-length", length), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
