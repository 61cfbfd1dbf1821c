"""The endpoints of a server: an ASGI application.

A few fixed endpoints need no framework: a dictionary finds them, and a prediction takes less time
than the request and response objects of a framework.
"""

import asyncio
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import orjson

from linsep import model_files
from linsep.errors import LinsepError
from linsep.serving.learning import LabeledRows, Learning
from linsep.serving.limits import Budget, Limits, Refused
from linsep.serving.metrics import Metrics
from linsep.serving.model import Served
from linsep.serving.openapi import (
    LEARNED_ROWS,
    PREDICTIONS,
    ROWS_TO_LEARN,
    ROWS_TO_PREDICT,
    TEXT,
    Endpoint,
    document,
    page,
)
from linsep.serving.requests import (
    JSON,
    ClientGone,
    HostCheck,
    check_bearer,
    fields_of,
    read_body,
    wanted_of,
)
from linsep.serving.rows import FORMATS, Bodies

#: JSON bodies up to so many bytes are answered at once, larger ones by another thread
AT_ONCE = 1 << 16
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
        self.metrics = Metrics()
        if learning is not None:
            self.metrics.watch_log({
                "rows": lambda: learning.log.n_rows,
                "commits": lambda: learning.commits,
                "snapshots": lambda: learning.snapshots,
            })  # fmt: skip
        self._hosts, self._token, self._bodies = hosts, token, bodies
        self._frozen: tuple[Served, int, Served] | None = None
        # One thread, so that large bodies are taken apart one after the other.
        self._large = ThreadPoolExecutor(1, thread_name_prefix="large")
        self._large_bodies, self._large_budget = Bodies(), Budget(limits)
        #: reads rows to learn in that thread; of a log, the model is never another
        self._large_reader = served.copied(learns=False)
        self._endpoints = {endpoint.path: endpoint for endpoint in self._declared()}

    def _declared(self) -> list[Endpoint]:
        """Return all endpoints."""
        off = "" if self.learning else " This server does not learn: it was started without --log."
        reading = (400, 413, 415, 422, 503)
        return [
            Endpoint("/", "GET", self._page, kind=HTML, needs_token=False),
            Endpoint("/predict", "POST", self._predict, "Predict rows.", ROWS_TO_PREDICT,
                     PREDICTIONS, errors=reading),
            Endpoint("/learn", "POST", self._learn, "Train the model on labeled rows, in order. "
                     "Each row has an ID, so it is safe to send it again." + off,
                     ROWS_TO_LEARN, LEARNED_ROWS, errors=(403, 409, *reading)),
            Endpoint("/model", "GET", self._model,
                     "The version, learner, classes and columns of the model."),
            Endpoint("/model/file", "GET", self._file, "The current model as a file.",
                     answer=TEXT, kind=b"application/octet-stream"),
            Endpoint("/health", "GET", self._health, "Health check.", needs_token=False),
            Endpoint("/metrics", "GET", self._metrics, "Metrics in Prometheus format.", answer=TEXT,
                     kind=PROMETHEUS),
            Endpoint("/openapi.json", "GET", self._openapi, "This document."),
        ]  # fmt: skip

    async def app(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it with an error message; count it."""
        started, status, path, kind = perf_counter(), 200, "other", JSON
        headers: list[tuple[bytes, bytes]] = []
        try:
            self._hosts.check(scope["headers"], scope["http_version"])
            endpoint = self._endpoint(scope)
            path, own = endpoint.path, endpoint.kind
            if endpoint.needs_token:
                check_bearer(self._token, scope["headers"])
            content, headers = await endpoint.make(scope, receive)
            kind = own
        except ClientGone:
            return
        except asyncio.CancelledError:  # at the end of the server, which waits no longer
            status, content = 503, _sentence("The server is shutting down: try again.")
        except Refused as refusal:
            status, headers = refusal.status, list(refusal.headers)
            content = _sentence(refusal.sentence, code="bad-request")
        except LinsepError as problem:
            # Hints are about parameters of Python.
            text, status = problem.render(lambda hint: None), 422
            place = {k: v for k, v in problem.fields.items() if k in ("row", "column")}
            content = _sentence(text, code=problem.code, **place)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            status = 500
            text = "Internal error in linsep: see the log of the server."
            content = _sentence(text, code="bug")
        length = str(len(content)).encode()
        headers = [(b"content-type", kind), (b"content-length", length), *headers]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})
        self.metrics.count(path, status, perf_counter() - started)

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
        content = await self._elsewhere(lambda budget: model_files.to_bytes(served.model))
        name = f'attachment; filename="{served.version}.linsep"'.encode()
        return content, [(b"content-disposition", name), _version(served.version)]

    async def _predict(self, scope: Scope, receive: Any) -> Answer:
        wanted = wanted_of(scope["query_string"])
        kind, body = await read_body(scope["headers"], receive, self.limits.body)
        if kind not in FORMATS and kind not in (JSON, b""):
            known = ", ".join(each.decode() for each in (JSON, *FORMATS))
            found = kind.decode("ascii", "replace")[:60]
            raise Refused(415, f"The Content-Type is {found!r}: send {known}.")

        def answer(served: Served, bodies: Bodies, budget: Budget) -> dict[str, Any]:
            if (format := FORMATS.get(kind)) is not None:
                opened = served.opened_body(body, format, bodies, budget, wanted.missing)
            else:
                (rows,) = fields_of(body, ("rows",), self.limits)
                opened = served.opened(rows, bodies, budget, wanted.missing)
            with opened as source:
                return served.answer(source, wanted, budget)

        if kind in FORMATS or len(body) > AT_ONCE:
            served = self.frozen()
            answered = await self._elsewhere(lambda b: answer(served, self._large_bodies, b))
        else:
            served = self.served
            answered = answer(served, self._bodies, Budget(self.limits))
        self.metrics.counters["rows_predicted"].inc(len(answered["predictions"]))
        return orjson.dumps(answered), [_version(served.version)]

    async def _learn(self, scope: Scope, receive: Any) -> Answer:
        learning = self.learning
        if learning is None:
            raise Refused(
                403, "This server does not learn: start it with --log FILE and --token WORD."
            )
        kind, body = await read_body(scope["headers"], receive, self.limits.body)
        if kind not in (JSON, b""):
            raise Refused(415, "/learn accepts only JSON: send application/json.")

        def labeled(served: Served, bodies: Bodies) -> LabeledRows:
            ids, rows, labels = fields_of(body, ("ids", "rows", "labels"), self.limits)
            return learning.labeled(ids, rows, labels, served, bodies)

        if len(body) > AT_ONCE:
            checked = await self._elsewhere(
                lambda budget: labeled(self._large_reader, self._large_bodies)
            )
        else:
            checked = labeled(self.served, self._bodies)
        found = await learning.learned(checked)
        self.metrics.counters["rows_learned"].inc(found.new)
        self.metrics.counters["rows_duplicate"].inc(found.duplicates)
        content = {"learned": found.new, "duplicates": found.duplicates, "rows": found.rows}
        return orjson.dumps(content), [_version(self.served.version_after(found.rows))]

    def frozen(self) -> Served:
        """Return a copy of the current model for the other thread."""
        now = self.served, self.served.learned
        if self._frozen is None or self._frozen[:2] != now:
            self._frozen = *now, self.served.copied(self.learning is not None)
        return self._frozen[2]

    async def _elsewhere(self, work: Callable[[Budget], Any]) -> Any:
        """Run ``work`` in the thread of large bodies, with a budget that starts when it starts."""

        def begun() -> Any:
            self._large_budget = budget = Budget(self.limits)
            return work(budget)

        return await asyncio.get_running_loop().run_in_executor(self._large, begun)


def _version(version: str) -> tuple[bytes, bytes]:
    return b"linsep-model", version.encode()


def _sentence(text: str, code: str = "unreachable", **fields: Any) -> bytes:
    return orjson.dumps({"error": text, "code": code} | fields)
