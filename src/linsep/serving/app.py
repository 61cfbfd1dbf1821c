"""The endpoints of a server: an ASGI application.

A dictionary finds the few endpoints; the objects of a framework would take longer than predictions.
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
from linsep.serving import openapi
from linsep.serving.learning import Learning
from linsep.serving.limits import Budget, Refused
from linsep.serving.metrics import Metrics
from linsep.serving.model import Served
from linsep.serving.openapi import Endpoint
from linsep.serving.requests import JSON, check_bearer, check_host, read_body, wanted_of

#: JSON bodies up to so many bytes are answered at once, larger ones by another thread
AT_ONCE = 1 << 16
PROMETHEUS, HTML = b"text/plain; version=0.0.4; charset=utf-8", b"text/html; charset=utf-8"
#: the page may use nothing but what it brings, and this server
POLICY = (
    b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

Scope = dict[str, Any]
#: content, and the model that made it, where it is of a model
Answer = tuple[bytes, Served | None]


class Service:
    """A served model, its log and its metrics, and the handler of each endpoint.

    ``hosts`` are the host names of this server, see :func:`check_host`; ``token`` is required by
    every endpoint that returns information about the model.
    """

    def __init__(
        self, served: Served, hosts: set[bytes] | None, token: str | None, learning: Learning | None
    ):
        self.served, self.limits, self.learning = served, served.limits, learning
        self.metrics = Metrics()
        self._hosts, self._token = hosts, token
        # One thread, so that large bodies are taken apart one after the other.
        self._large = ThreadPoolExecutor(1, thread_name_prefix="large")
        self._large_budget = Budget(self.limits)
        self._endpoints = {endpoint.path: endpoint for endpoint in self._declared()}

    def _declared(self) -> list[Endpoint]:
        learns = "Train on labeled rows, in order; with their IDs it is safe to send them again."
        return [
            Endpoint("/", "GET", lambda *_: openapi.PAGE, kind=HTML, needs_token=False),
            Endpoint("/predict", "POST", self._predict, "Predict rows.", openapi.ROWS_TO_PREDICT,
                     openapi.PREDICTIONS),
            Endpoint("/learn", "POST", self._learn, learns, openapi.ROWS_TO_LEARN,
                     openapi.LEARNED_ROWS),
            Endpoint("/model", "GET", lambda *_: orjson.dumps(self.served.about()),
                     "The version, learner, classes and columns of the model."),
            Endpoint("/model/file", "GET", self._file, "The current model as a file.",
                     answer=openapi.TEXT, kind=b"application/octet-stream"),
            Endpoint("/health", "GET", lambda *_: b'{"status":"ok"}', "Health check.",
                     needs_token=False),
            Endpoint("/metrics", "GET", lambda *_: self.metrics.text(self.served),
                     "Metrics in Prometheus format.", answer=openapi.TEXT, kind=PROMETHEUS),
            Endpoint("/openapi.json", "GET", lambda *_: orjson.dumps(
                openapi.document(self._endpoints.values(), self.served)), "This document."),
        ]  # fmt: skip

    async def app(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it with an error message; count it."""
        started, status, path, kind = perf_counter(), 200, "other", JSON
        headers: list[tuple[bytes, bytes]] = []
        try:
            check_host(self._hosts, scope["headers"], scope["http_version"])
            endpoint = self._endpoint(scope["path"], scope["method"])
            path = endpoint.path
            if endpoint.needs_token:
                check_bearer(self._token, scope["headers"])
            made = endpoint.make(scope, receive)
            content, served = (made, None) if isinstance(made, bytes) else await made
            kind = endpoint.kind
            headers += [(b"linsep-model", served.version.encode())] if served else []
            headers += [(b"content-security-policy", POLICY)] if kind is HTML else []
        except asyncio.CancelledError:  # at the end of the server, which waits no longer
            status, content = 503, _sentence("The server is shutting down: try again.")
        except Refused as refusal:
            status, headers = refusal.status, list(refusal.headers)
            content = _sentence(str(refusal), code="bad-request")
        except LinsepError as problem:
            # Hints are about parameters of Python.
            text, status = problem.render(lambda hint: None), 422
            place = {k: v for k, v in problem.fields.items() if k in ("row", "column")}
            content = _sentence(text, code=problem.code, **place)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            text, status = "Internal error in linsep: see the log of the server.", 500
            content = _sentence(text, code="bug")
        length = str(len(content)).encode()
        headers += [(b"content-type", kind), (b"content-length", length)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})
        self.metrics.count(path, status, perf_counter() - started)

    def _endpoint(self, path: str, method: str) -> Endpoint:
        """Return the endpoint of a request; raise Refused without one."""
        endpoint = self._endpoints.get(path)
        if endpoint is None:
            raise Refused(404, f"There is no {path[:60]}: GET / lists the endpoints.")
        allowed = ["GET", "HEAD"] if endpoint.method == "GET" else ["POST"]
        if method not in allowed:
            words = ", ".join(allowed)
            why = f"{path} does not support {method}: use {words}."
            raise Refused(405, why, (b"allow", words.encode()))
        return endpoint

    def close(self) -> None:
        """Stop the thread."""
        self._large_budget.end()
        self._large.shutdown(wait=False, cancel_futures=True)

    async def _file(self, scope: Scope, receive: Any) -> Answer:
        served = self.served
        return await self._done(True, lambda _: model_files.to_bytes(served.model)), served

    async def _predict(self, scope: Scope, receive: Any) -> Answer:
        wanted = wanted_of(scope["query_string"])
        kind, body = await read_body(scope["headers"], receive, self.limits.body)
        served = self.served

        def answer(budget: Budget) -> dict[str, Any]:
            with served.opened(kind, body, wanted.missing, budget) as source:
                return served.answer(source, wanted, budget)

        large = len(body) > AT_ONCE or kind != JSON or wanted.explanations
        answered = await self._done(large, answer)
        self.metrics.counters["rows_predicted"].inc(len(answered["predictions"]))
        return orjson.dumps(answered), served

    async def _learn(self, scope: Scope, receive: Any) -> Answer:
        if (learning := self.learning) is None:
            raise Refused(403, "This server does not learn: start it with --log and --token.")
        kind, body = await read_body(scope["headers"], receive, self.limits.body)
        if kind != JSON:
            raise Refused(415, "/learn accepts only JSON: send application/json.")
        large = len(body) > AT_ONCE
        rows = await self._done(large, lambda budget: learning.labeled(body, budget))
        outcome = await learning.learned(rows)
        self.served = learning.served
        self.metrics.counters["rows_learned"].inc(outcome["learned"])
        self.metrics.counters["rows_duplicate"].inc(outcome["duplicates"])
        return orjson.dumps(outcome), self.served

    async def _done(self, large: bool, work: Callable[[Budget], Any]) -> Any:
        """Do ``work``, large work in another thread, with a budget that starts when it starts."""
        if not large:
            return work(Budget(self.limits))

        def begun() -> Any:
            self._large_budget = budget = Budget(self.limits)
            return work(budget)

        return await asyncio.get_running_loop().run_in_executor(self._large, begun)


def _sentence(text: str, code: str = "unreachable", **fields: Any) -> bytes:
    return orjson.dumps({"error": text, "code": code} | fields)
