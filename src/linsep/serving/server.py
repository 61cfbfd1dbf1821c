"""A server in one process: uvicorn, its connections and signals, and new models in place of old."""

import asyncio
import contextlib
import hashlib
import ipaddress
import math
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from httptools import HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from linsep.errors import LinsepError, ParameterError, hint
from linsep.serving.app import Service
from linsep.serving.bodies import Bodies
from linsep.serving.learning import Learning
from linsep.serving.limits import Limits
from linsep.serving.metrics import Metrics
from linsep.serving.model import Served, read_model, signature

#: seconds between looks at the model file, and in which requests may finish at the end
LOOK_EVERY, FINISH_WITHIN = 1.0, 30
#: seconds that an idle connection stays open: longer than proxies keep theirs
KEEP_ALIVE = 75
#: bytes of the head of a request
MOST_HEAD = 1 << 16
SHORTEST_TOKEN = 8


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_token(host: str, token: str | None, learns: bool) -> None:
    """Raise ParameterError if a token is needed or too short."""
    if token is None:
        secret = hint("protect it with {}", token="WORD")
        if not is_loopback(host):
            raise ParameterError(f"Others could reach the model at {host}", secret)
        if learns:
            raise ParameterError("Anybody on this machine could teach the model", secret)
    elif len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise ParameterError(
            f"The token needs at least {SHORTEST_TOKEN} characters, all of them printable ASCII."
        )


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; ParameterError if the address cannot be used."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with contextlib.ExitStack() as undo:
            bound = undo.enter_context(socket.socket(family, kind, number))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(2048)
            undo.pop_all()
    except OSError as problem:
        raise ParameterError(
            f"The server cannot listen on {host}, port {port} ({problem.strerror or problem}): "
            "choose another --port or --host."
        ) from None
    bound.setblocking(False)
    return bound


class Server:
    """A model that is ready to be served.

    Parameters
    ----------
    path : Path of the model file
    host, port : where to listen; port 0 takes a free one
    token : str or None
    log : Path of the log of rows to learn, or None
    limits : Limits
    say : function that is told what an operator should know
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
        log: Path | None = None,
        limits: Limits | None = None,
        say: Callable[[str], None] = print,
        **snapshots: Any,
    ):
        check_token(host, token, log is not None)
        self._path, self._say, self.limits = path, say, limits or Limits()
        self._seen = signature(path)
        served = read_model(path, self.limits)
        with contextlib.ExitStack() as undo:
            self._bodies = Bodies(self.limits)
            undo.callback(self._bodies.close)
            self.learning = None
            if log is not None:
                self.learning = Learning(log, served, self._bodies, say, **snapshots)
                undo.callback(self.learning.log.close)
                self.learning.warm_up()
            served.warm_up(self._bodies)
            self._socket = bound_socket(host, port)
            undo.pop_all()
        self.port: int = self._socket.getsockname()[1]
        self.service = Service(served, self.limits, token, self.learning, self._bodies)

    @property
    def served(self) -> Served:
        """The model that is served now."""
        return self.service.served

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until SIGTERM or Ctrl-C; ``ready`` is called when requests can come."""
        allow_many_files()
        # A thread that takes a large body apart must not keep small requests waiting.
        before = sys.getswitchinterval()
        sys.setswitchinterval(0.001)
        config = uvicorn.Config(
            self.service.app, interface="asgi3", http=Connection, ws="none", lifespan="off",
            log_config=None, log_level="error", access_log=False, server_header=False,
            timeout_keep_alive=KEEP_ALIVE, proxy_headers=False,
            limit_concurrency=self.limits.connections, timeout_graceful_shutdown=FINISH_WITHIN,
        )  # fmt: skip
        config.linsep_limits = self.limits  # type: ignore[attr-defined]
        config.linsep_metrics = self.service.metrics  # type: ignore[attr-defined]
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
        if self.learning is not None:
            self.learning.start(self.service.publish(loop))
        watching = asyncio.create_task(self._watch())
        self._handle_signals(loop)
        loop.call_soon(ready)
        try:
            await self._uvicorn.serve(sockets=[self._socket])
        finally:
            watching.cancel()
            if self.learning is not None:
                await asyncio.to_thread(self.learning.stop)

    def _handle_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        """SIGTERM and Ctrl-C end the server when requests are answered; a second one at once.
        SIGHUP reads the model again.
        """
        actions: dict[str, Callable[[], None]] = {
            "SIGINT": self.stop, "SIGTERM": self.stop, "SIGHUP": self._look_again,
        }  # fmt: skip
        for name, action in actions.items():
            # Windows has none, and threads of tests take none.
            with contextlib.suppress(AttributeError, NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(getattr(signal, name), action)

    def stop(self) -> None:
        """End the server when requests in flight are answered; called again, at once."""
        self._uvicorn.force_exit = self._uvicorn.should_exit
        self._uvicorn.should_exit = True

    def _look_again(self) -> None:
        self._seen = None

    async def _watch(self) -> None:
        """Take the model file again whenever it was replaced."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = signature(self._path)
            if now is not None and now != self._seen:
                self._seen = now
                await self.reload()

    async def reload(self) -> None:
        """Serve the model that is in the file now, if it is one; requests notice nothing."""
        metrics = self.service.metrics
        try:
            if self.learning is not None and not await asyncio.to_thread(self._is_the_same):
                raise LinsepError(
                    f"{self._path} was replaced, but the log is of the model before: it is served "
                    "on; start again with another log to serve the new one."
                )
            if self.learning is not None:
                return
            served = await asyncio.to_thread(self._read_again)
        except LinsepError as problem:
            metrics.failed_reloads += 1
            self._say(str(problem))
            return
        self.service.served = served
        metrics.reloads += 1
        self._say(f"serving model {served.version} now")

    def _is_the_same(self) -> bool:
        """Return whether the file is the model that the log began with."""
        try:
            return hashlib.sha256(self._path.read_bytes()).hexdigest() == self.service.served.digest
        except OSError:
            return False

    def _read_again(self) -> Served:
        served = read_model(self._path, self.limits)
        bodies = Bodies(self.limits)
        try:
            served.warm_up(bodies)
        finally:
            bodies.close()
        return served


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers, which would end the process by the same signal."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield


class _Together:
    """A transport that sends what is written in one turn of the loop, head and body, at once:
    system calls cost more than predictions.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop):
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []
        self.is_closing = transport.is_closing
        self.get_extra_info = transport.get_extra_info

    def write(self, data: bytes) -> None:
        """Send data in this turn."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """Send what is left, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._transport.write(data)


class Connection(HttpToolsProtocol):
    """A connection whose request heads must come in time and may not be endless."""

    def __init__(self, config: Any, *arguments: Any, **more: Any):
        super().__init__(config, *arguments, **more)
        self._patience: float = config.linsep_limits.header_seconds
        self._metrics: Metrics = config.linsep_metrics
        self._timer: asyncio.TimerHandle | None = None
        self._in_head, self._head_bytes = True, 0
        self._arrived, self._again = b"", b""

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request, not for ever."""
        super().connection_made(transport)
        self.transport = _Together(transport, self.loop)  # type: ignore[assignment]
        self._timer = self.loop.call_later(self._patience, self._too_late)

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        """Note that the head is complete."""
        if self.parser.should_upgrade() and self._should_upgrade():
            return  # it comes again, without its Upgrade
        self._in_head = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if max(len(self.connections), len(self.tasks)) >= (self.limit_concurrency or math.inf):
            self._metrics.count_refused(503)  # which uvicorn answers
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived; heads that stay incomplete are timed and counted."""
        self._arrived = data
        super().data_received(data)
        while again := self._again:
            data = self._arrived = again
            self._again = b""
            super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD:
                self._refuse(b"431 Request Header Fields Too Large", "The head is too large.")
            elif self._timer is None:
                self._timer = self.loop.call_later(self._patience, self._too_late)

    def _should_upgrade(self) -> bool:
        """Return whether :meth:`handle_websocket_upgrade` is to be called."""
        return self.parser.get_method() != b"CONNECT"

    def handle_websocket_upgrade(self) -> None:
        """Let a request be parsed again without its header Upgrade, which servers may ignore.

        Java's HttpClient offers HTTP/2 by it with every request, and the parser takes what follows
        the head, the body, for the other protocol.
        """
        offset = sys.exception().args[0]  # type: ignore[union-attr]  # of HttpParserUpgrade
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        lines += [b"%b: %b" % pair for pair in self.headers if pair[0] != b"upgrade"]
        self._again = b"\r\n".join([*lines, b"", self._arrived[offset:]])
        self.parser = HttpRequestParser(self)  # the other may take this request for its last
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP in the form of all errors."""
        self._refuse(b"400 Bad Request", "The request is not valid HTTP.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _too_late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self._refuse(
                b"408 Request Timeout",
                f"The head of the request did not arrive within {self._patience:g} seconds.",
            )

    def _refuse(self, status: bytes, sentence: str) -> None:
        self._metrics.count_refused(int(status[:3]))
        content = b'{"error":"%b"}' % sentence.encode()
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%b" % (status, len(content), content)
        )
        self.transport.close()


def allow_many_files() -> None:
    """Let this process have as many connections as the system allows."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = 1 << 16 if hard == resource.RLIM_INFINITY else min(hard, 1 << 16)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
