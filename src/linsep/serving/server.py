"""A server in one process: uvicorn, signals, and reloading of the model."""

import asyncio
import contextlib
import ipaddress
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from httptools import HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from linsep.errors import LinsepError, ParameterError, hint
from linsep.serving.app import Service
from linsep.serving.learning import Learning
from linsep.serving.limits import Limits
from linsep.serving.log import digest_of
from linsep.serving.model import Served, read_model, signature
from linsep.serving.requests import LOOPBACK_HOSTS, HostCheck
from linsep.serving.rows import Bodies

#: seconds between looks at the model file, and in which requests may finish at the end
LOOK_EVERY, FINISH_WITHIN = 1.0, 2
#: seconds that an idle connection stays open: longer than proxies keep theirs
KEEP_ALIVE = 75
SHORTEST_TOKEN = 8


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_token(host: str, token: str | None, learns: bool) -> None:
    """Raise ParameterError if a token is needed or too short."""
    if token is not None:
        if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
            raise ParameterError(
                f"The token needs at least {SHORTEST_TOKEN} printable ASCII characters.",
                option="token",
            )
        return
    why = None if is_loopback(host) else f"Other machines could reach the model at {host}"
    if learns:
        why = why or "Any user of this machine could train the model"
    if why is not None:
        raise ParameterError(
            why, hint("protect it with {}", token="WORD"), code="unsafe", option="token"
        )


def host_check(host: str, allowed: Sequence[str]) -> HostCheck:
    """Return the check of the Host header; raise ParameterError for an invalid name.

    Only this machine can reach a server on loopback, under a few names. Other servers may have any
    name, so names are checked only if they are given.
    """
    for name in allowed:
        if not re.fullmatch(r"[A-Za-z0-9._-]+|\[?[0-9a-fA-F:.]+\]?", name):
            raise ParameterError(
                f"{name!r} is not a host name",
                hint("give a name without a port to {}", allowed_host=None),
                option="allowed_host", value=name,
            )  # fmt: skip
    if not allowed and not is_loopback(host):
        return HostCheck(None)
    return HostCheck([*LOOPBACK_HOSTS, host, *allowed])


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise ParameterError if the address cannot be used."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as problem:
        raise ParameterError(
            f"The server cannot listen on {host}, port {port} ({problem.strerror or problem}): "
            "choose another --port or --host."
        ) from None
    bound.setblocking(False)
    return bound


class Server:
    """A model ready to be served.

    Parameters
    ----------
    path : Path of the model file
    host, port : address to listen on; port 0 chooses a free port
    token : str or None
    allowed_hosts : further host names of this server
    log : Path of the log of rows to learn, or None
    limits : Limits
    say : function that reports messages to the operator
    snapshots : further arguments of :class:`Learning`

    Attributes
    ----------
    port : int

    Raises
    ------
    LinsepError
        If the model, the log or the address cannot be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        allowed_hosts: Sequence[str] = (),
        log: Path | None = None,
        limits: Limits | None = None,
        say: Callable[[str], None] = print,
        **snapshots: Any,
    ):
        check_token(host, token, log is not None)
        hosts = host_check(host, allowed_hosts)
        self._path, self._say, self.limits = path, say, limits or Limits()
        self._seen = signature(path)
        served = read_model(path, self.limits)
        with contextlib.ExitStack() as undo:
            bodies = Bodies()
            undo.callback(bodies.close)
            self.learning = None
            if log is not None:
                self.learning = Learning(log, served, bodies, say, **snapshots)
                undo.callback(self.learning.log.close)
                self.learning.warm_up()
            served.warm_up(bodies)
            self._socket = bound_socket(host, port)
            undo.pop_all()
        self.port: int = self._socket.getsockname()[1]
        self._bodies = bodies
        self.service = Service(served, self.limits, hosts, token, self.learning, bodies)

    @property
    def served(self) -> Served:
        """The current model."""
        return self.service.served

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until SIGTERM or Ctrl-C; ``ready`` is called when the server accepts requests."""
        # A thread that takes a large body apart must not keep small requests waiting.
        before = sys.getswitchinterval()
        sys.setswitchinterval(0.001)
        config = uvicorn.Config(
            self.service.app, interface="asgi3", http=Connection, ws="none", lifespan="off",
            log_config=None, log_level="critical", access_log=False, server_header=False,
            timeout_keep_alive=KEEP_ALIVE, proxy_headers=False,
            limit_concurrency=self.limits.connections, timeout_graceful_shutdown=FINISH_WITHIN,
        )  # fmt: skip
        self._uvicorn = _Uvicorn(config)
        try:
            with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
                runner.run(self._serve(ready))
        finally:
            sys.setswitchinterval(before)
            self._socket.close()
            self.service.close()
            self._bodies.close()

    async def _serve(self, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        learning = None if self.learning is None else loop.create_task(self.learning.run())
        watching = loop.create_task(self._watch())
        actions: dict[str, Callable[[], None]] = {
            "SIGINT": self.stop, "SIGTERM": self.stop, "SIGHUP": self._look_again,
        }  # fmt: skip
        for name, action in actions.items():
            # Windows has none, and threads of tests take none.
            with contextlib.suppress(AttributeError, NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(getattr(signal, name), action)
        loop.call_soon(ready)
        try:
            await self._uvicorn.serve(sockets=[self._socket])
        finally:
            watching.cancel()
            if learning is not None:
                await self.learning.stop(learning)  # type: ignore[union-attr]

    def stop(self) -> None:
        """Stop the server after open requests; when called again, at once."""
        self._uvicorn.force_exit = self._uvicorn.should_exit
        self._uvicorn.should_exit = True

    def _look_again(self) -> None:
        self._seen = None

    async def _watch(self) -> None:
        """Reload the model file whenever it was replaced."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = signature(self._path)
            if now is not None and now != self._seen:
                self._seen = now
                await self.reload()

    async def reload(self) -> None:
        """Reload the model file, if it is valid, without interrupting requests."""
        counters = self.service.metrics.counters
        try:
            if self.learning is not None:
                if await asyncio.to_thread(self._is_the_same):
                    return
                raise LinsepError(
                    f"{self._path} was replaced, but the log belongs to the previous model, which "
                    "is still served: restart with another log to serve the new model.",
                    code="other-model", path=self._path,
                )  # fmt: skip
            served = await asyncio.to_thread(self._read_again)
        except LinsepError as problem:
            counters["failed_reloads"].inc()
            self._say(str(problem))
            return
        self.service.served = served
        counters["reloads"].inc()
        self._say(f"now serving model {served.version}")

    def _is_the_same(self) -> bool:
        """Return whether the file is the model that the log belongs to."""
        try:
            return digest_of(self._path) == self.served.digest
        except OSError:
            return False

    def _read_again(self) -> Served:
        served = read_model(self._path, self.limits)
        with contextlib.closing(Bodies()) as bodies:
            served.warm_up(bodies)
        return served


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers, which would end the process with the same signal."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield


class Connection(HttpToolsProtocol):
    """uvicorn's connection, which ignores offers of other protocols.

    Java's HttpClient offers HTTP/2 with every request, and the parser would read the body as the
    other protocol; so the request is parsed again without the offer.
    """

    def data_received(self, data: bytes) -> None:
        """Parse the data received."""
        self._arrived, again = data, [data]
        while again:
            self._again = again
            super().data_received(again.pop())

    def _should_upgrade(self) -> bool:
        return bool(self.parser.get_method() != b"CONNECT")

    def handle_websocket_upgrade(self) -> None:
        """Parse a request again without its Upgrade header."""
        offset = sys.exception().args[0]  # type: ignore[union-attr]  # of HttpParserUpgrade
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        lines += [b"%b: %b" % pair for pair in self.headers if pair[0] != b"upgrade"]
        self._arrived = b"\r\n".join([*lines, b"", self._arrived[offset:]])
        self._again.append(self._arrived)
        self.parser = HttpRequestParser(self)  # the other may take this request for its last
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
