"""The endpoints of a server: an ASGI application.

A few fixed endpoints need no framework: a dictionary finds them, and a prediction takes less time
than the request and response objects of a framework.
"""

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
import orjson

from linsep.errors import LinsepError
from linsep.serving.learning import LabeledRows, Learning, learn_in_order
from linsep.serving.limits import Budget, Limits, Refused
from linsep.serving.metrics import Metrics
from linsep.serving.model import JoinedRequests, Served, Wanted
from linsep.serving.openapi import (
    Endpoint,
    LearnedRows,
    Predictions,
    RowsToLearn,
    RowsToPredict,
    document,
    page,
)
from linsep.serving.requests import (
    JSON,
    BodyReader,
    ClientGone,
    HostCheck,
    TokenCheck,
    fields_of,
    head_of,
    wanted_of,
)
from linsep.serving.rows import FORMATS, Bodies

#: JSON bodies up to so many bytes are answered at once, larger ones by another thread
AT_ONCE = 1 << 16
#: rows that the served model learns between predictions
ROWS_A_TURN = 500
PROMETHEUS, HTML = b"text/plain; version=0.0.4; charset=utf-8", b"text/html; charset=utf-8"
#: the page may use nothing but what it brings, and this server
POLICY = (
    b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    b"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)

Scope = dict[str, Any]
#: content and headers beside its type and length
Answer = tuple[bytes, list[tuple[bytes, bytes]]]


class Service:
    """A served model, its log and its metrics, and the handler of each endpoint.

    Parameters
    ----------
    served : Served
    limits : Limits
    hosts : HostCheck
    token : str or None
        Required by every endpoint that returns information about the model.
    learning : Learning or None
    bodies : Bodies
        Of the thread that predicts.
    """

    def __init__(
        self,
        served: Served,
        limits: Limits,
        hosts: HostCheck,
        token: str | None,
        learning: Learning | None,
        bodies: Bodies,
    ):
        self.served, self.limits, self.learning = served, limits, learning
        self.metrics, self._joined = Metrics(), JoinedRequests(bodies)
        if learning is not None:
            self.metrics.watch_log({
                "rows": lambda: learning.log.n_rows,
                "commits": lambda: learning.commits,
                "snapshots": lambda: learning.snapshots,
            })  # fmt: skip
        self._hosts, self._token = hosts, TokenCheck(token)
        self._reader, self._bodies = BodyReader(limits), bodies
        self._frozen: tuple[Served, int, Served] | None = None
        # One thread, so that large bodies are taken apart one after the other.
        self._large = ThreadPoolExecutor(1, thread_name_prefix="large")
        self._large_bodies, self._large_budget = Bodies(limits), Budget(limits)
        #: reads rows to learn in that thread; of a log, the model is never another
        self._large_reader = served.copied(learns=False)
        self._endpoints = {endpoint.path: endpoint for endpoint in self._declared()}

    def _declared(self) -> list[Endpoint]:
        """Return all endpoints."""
        off = "" if self.learning else " This server does not learn: it was started without --log."
        reading = (400, 413, 415, 422, 503)
        return [
            Endpoint("/", "GET", self._page, kind=HTML, needs_token=False),
            Endpoint(
                "/predict", "POST", self._predict, "Predict rows.", RowsToPredict, Predictions,
                errors=reading,
            ),
            Endpoint(
                "/learn", "POST", self._learn,
                "Train the model on labeled rows, in order. Each row has an ID, so it is safe to "
                "send it again." + off,
                RowsToLearn, LearnedRows, errors=(403, 409, *reading),
            ),
            Endpoint("/model", "GET", self._model,
                     "The version, learner, classes and columns of the model."),
            Endpoint("/model/file", "GET", self._file, "The current model as a file.",
                     answer=str, kind=b"application/octet-stream"),
            Endpoint("/health", "GET", self._health, "Health check.",
                     needs_token=False),
            Endpoint("/metrics", "GET", self._metrics, "Metrics in Prometheus format.", answer=str,
                     kind=PROMETHEUS),
            Endpoint("/openapi.json", "GET", self._openapi, "This document."),
        ]  # fmt: skip

    async def app(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it with an error message; count it."""
        started, status, path, kind = perf_counter(), 200, "", JSON
        headers: list[tuple[bytes, bytes]] = []
        try:
            self._hosts.check(scope["headers"], scope["http_version"])
            endpoint = self._endpoint(scope)
            path, kind = endpoint.path, endpoint.kind
            if endpoint.needs_token:
                self._token.check(scope["headers"])
            content, headers = await endpoint.make(scope, receive)
        except ClientGone:
            return
        except asyncio.CancelledError:  # at the end of the server, which waits no longer
            status, kind = 503, JSON
            content = _sentence("The server is shutting down: try again.", code="unreachable")
        except Refused as refusal:
            status, headers, kind = refusal.status, list(refusal.headers), JSON
            content = _sentence(refusal.sentence, code="bad-request")
        except LinsepError as problem:
            # Hints are about parameters of Python.
            text, status, kind = problem.render(lambda hint: None), 422, JSON
            place = {
                name: problem.fields[name] for name in ("row", "column") if name in problem.fields
            }
            content = _sentence(text, code=problem.code, **place)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            status, kind = 500, JSON
            text = "Internal error in linsep: see the log of the server."
            content = _sentence(text, code="bug")
        await _send(send, status, kind, content, headers)
        if path:
            self.metrics.count(path, status, perf_counter() - started)
        else:
            self.metrics.count_refused(status)

    def _endpoint(self, scope: Scope) -> Endpoint:
        """Return the handler of a request; raise Refused without one."""
        path, method = scope["path"], scope["method"]
        endpoint = self._endpoints.get(path)
        if endpoint is None:
            raise Refused(404, f"There is no {path[:60]}: GET / lists the endpoints.")
        allowed = ("GET", "HEAD") if endpoint.method == "GET" else (endpoint.method,)
        if method not in allowed:
            words = ", ".join(allowed)
            raise Refused(
                405, f"{path} does not support {method}: use {words}.", (b"allow", words.encode())
            )
        return endpoint

    def close(self) -> None:
        """Stop the thread and remove temporary files."""
        self._large_budget.end()
        self._large.shutdown(wait=False, cancel_futures=True)
        self._large_bodies.close()

    async def _page(self, scope: Scope, receive: Any) -> Answer:
        return page(), [(b"content-security-policy", POLICY)]

    async def _health(self, scope: Scope, receive: Any) -> Answer:
        return b'{"status":"ok"}', []

    async def _model(self, scope: Scope, receive: Any) -> Answer:
        return orjson.dumps(self.served.about()), []

    async def _metrics(self, scope: Scope, receive: Any) -> Answer:
        return self.metrics.text(self.served.version, type(self.served.model).__name__), []

    async def _openapi(self, scope: Scope, receive: Any) -> Answer:
        return orjson.dumps(document([*self._endpoints.values()], self.served, self.limits)), []

    async def _file(self, scope: Scope, receive: Any) -> Answer:
        served = self.frozen()
        content = await self._elsewhere(lambda budget: served.file_bytes())
        name = f'attachment; filename="{served.version}.linsep"'.encode()
        return content, [(b"content-disposition", name), _version(served.version)]

    async def _predict(self, scope: Scope, receive: Any) -> Answer:
        wanted = wanted_of(scope["query_string"])
        head = head_of(scope["headers"])
        if head.type not in FORMATS and head.type not in (JSON, b""):
            known = ", ".join(kind.decode() for kind in (JSON, *FORMATS))
            raise Refused(
                415,
                f"The Content-Type is {head.type.decode('ascii', 'replace')[:60]!r}: send {known}.",
            )
        async with self._reader.reading(head, receive) as body:
            if head.type in FORMATS or len(body) > AT_ONCE:
                served, format = self.frozen(), FORMATS.get(head.type)
                version = served.version
                found = await self._elsewhere(
                    lambda budget: self._predicted(served, body, format, wanted, budget)
                )
            else:
                (rows,) = fields_of(body, RowsToPredict, self.limits)
                found, version = await self._joined.answer(self.served, rows, wanted)
            content = orjson.dumps(found)
        self.metrics.rows_predicted.inc(len(found["predictions"]))
        return content, [_version(version)]

    def _predicted(
        self, served: Served, body: bytes, format: str | None, wanted: Wanted, budget: Budget
    ) -> dict[str, Any]:
        """Return the answer to a file of a format, or to JSON."""
        if format is not None:
            bodies = self._large_bodies
            with served.opened_body(body, format, bodies, budget, wanted.missing) as source:
                return served.answer(source, wanted, budget)
        (rows,) = fields_of(body, RowsToPredict, self.limits)
        with served.opened(rows, self._large_bodies, budget, wanted.missing) as source:
            return served.answer(source, wanted, budget)

    async def _learn(self, scope: Scope, receive: Any) -> Answer:
        learning = self.learning
        if learning is None:
            raise Refused(
                403, "This server does not learn: start it with --log FILE and --token WORD."
            )
        head = head_of(scope["headers"])
        if head.type not in (JSON, b""):
            raise Refused(415, "/learn accepts only JSON: send application/json.")
        async with self._reader.reading(head, receive) as body:

            def labeled(served: Served, bodies: Bodies, budget: Budget) -> LabeledRows:
                ids, rows, labels = fields_of(body, RowsToLearn, self.limits)
                return learning.labeled(ids, rows, labels, served, bodies, budget)

            if len(body) > AT_ONCE:
                checked = await self._elsewhere(
                    lambda budget: labeled(self._large_reader, self._large_bodies, budget)
                )
            else:
                checked = labeled(self.served, self._bodies, Budget(self.limits))
            found = await asyncio.wrap_future(learning.submit(checked))
        self.metrics.rows_learned.inc(found.new)
        self.metrics.rows_duplicate.inc(found.duplicates)
        content = LearnedRows(learned=found.new, duplicates=found.duplicates, rows=found.rows)
        return orjson.dumps(content), [_version(self.served.version_after(found.rows))]

    def publish(self, loop: asyncio.AbstractEventLoop) -> Callable[[Any, np.ndarray], None]:
        """Return the function that updates the served model, called by the writer and run in the
        loop.
        """

        async def follow(X: Any, y: np.ndarray) -> None:
            for first in range(0, len(y), ROWS_A_TURN):
                part = slice(first, first + ROWS_A_TURN)
                learn_in_order(self.served.model, X[part], y[part])
                self.served.learned += len(y[part])
                await asyncio.sleep(0)

        return lambda X, y: asyncio.run_coroutine_threadsafe(follow(X, y), loop).result()

    def frozen(self) -> Served:
        """Return a copy of the current model for the other thread."""
        now = self.served, self.served.learned
        if self._frozen is None or self._frozen[:2] != now:
            self._frozen = *now, self.served.copied(self.learning is not None)
        return self._frozen[2]

    async def _elsewhere(self, work: Callable[[Budget], Any]) -> Any:
        """Run ``work`` in the thread of large bodies, with a budget of its own that starts when the
        thread starts.
        """

        def begun() -> Any:
            self._large_budget = budget = Budget(self.limits)
            return work(budget)

        return await asyncio.get_running_loop().run_in_executor(self._large, begun)


def _version(version: str) -> tuple[bytes, bytes]:
    return b"linsep-model", version.encode()


def _sentence(text: str, **fields: Any) -> bytes:
    return orjson.dumps({"error": text} | fields)


async def _send(
    send: Callable[[dict[str, Any]], Awaitable[None]],
    status: int,
    kind: bytes,
    content: bytes,
    more: list[tuple[bytes, bytes]],
) -> None:
    length = str(len(content)).encode()
    headers = [(b"content-type", kind), (b"content-length", length), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
