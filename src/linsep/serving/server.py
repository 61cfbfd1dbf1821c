"""A server in one process: uvicorn, signals, and reloading of the model."""

import asyncio
import contextlib
import ipaddress
import re
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from linsep.errors import LinsepError, ParameterError, hint
from linsep.serving.app import Service
from linsep.serving.learning import Learning
from linsep.serving.limits import Limits
from linsep.serving.log import digest_of
from linsep.serving.model import Served, read_model

#: seconds between looks at the model file, in which requests may finish at the end, and that idle
#: connections stay open, longer than proxies keep theirs
LOOK_EVERY, FINISH_WITHIN, KEEP_ALIVE = 1.0, 2, 75
SHORTEST_TOKEN = 8
_OFFER = re.compile(rb"(?i)\r\nupgrade: h2c(?=\r\n|$)")
#: how this machine is called from itself
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


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
            short = f"The token needs at least {SHORTEST_TOKEN} printable ASCII characters."
            raise ParameterError(short, option="token")
    elif learns or not is_loopback(host):
        who = "Any user of this machine could train" if learns else "Other machines could use"
        advice = hint("protect it with {}", token="WORD")
        raise ParameterError(f"{who} the model", advice, code="unsafe", option="token")


def hosts_of(host: str, allowed: Sequence[str]) -> set[bytes] | None:
    """Return the host names that requests may have; raise ParameterError for an invalid name.

    A server that other machines can reach may have any name (None), unless some are given.
    """
    for name in allowed:
        if not re.fullmatch(r"[A-Za-z0-9._-]+|\[?[0-9a-fA-F:.]+\]?", name):
            advice = hint("give a name without a port to {}", allowed_host=None)
            raise ParameterError(f"{name!r} is not a host name", advice, option="allowed_host")
    if not allowed and not is_loopback(host):
        return None
    names = [name.strip("[]").lower() for name in (*LOOPBACK_HOSTS, host, *allowed)]
    return {(f"[{name}]" if ":" in name else name).encode() for name in names}


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise ParameterError if the address cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as problem:
        why = f"The server cannot listen on {host}, port {port} ({problem.strerror or problem})"
        raise ParameterError(f"{why}: choose another --port or --host.") from None


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

    Attributes
    ----------
    port : int

    Raises
    ------
    LinsepError
        If the model, the log or the address cannot be used.
    """

    def __init__(
        self, path: Path, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None,
        allowed_hosts: Sequence[str] = (), log: Path | None = None, limits: Limits | None = None,
        say: Callable[[str], None] = print,
    ):  # fmt: skip
        check_token(host, token, log is not None)
        hosts, self.learning = hosts_of(host, allowed_hosts), None
        self._path, self._say = path, say
        served = read_model(path, limits or Limits())
        with contextlib.ExitStack() as undo:
            if log is not None:
                self.learning = Learning(log, served)
                undo.callback(self.learning.log.close)
                served = self.learning.served
            served.warm_up()
            self._socket = bound_socket(host, port)
            undo.pop_all()
        self.port: int = self._socket.getsockname()[1]
        self.service = Service(served, hosts, token, self.learning)

    @property
    def served(self) -> Served:
        """The current model."""
        return self.service.served

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until SIGTERM or Ctrl-C; ``ready`` is called when the server accepts requests."""
        # A thread that takes a large body apart must not keep small requests waiting.
        sys.setswitchinterval(0.001)
        config = uvicorn.Config(
            self.service.app, interface="asgi3", http=Connection, ws="none", lifespan="off",
            log_config=None, log_level="critical", access_log=False, server_header=False,
            timeout_keep_alive=KEEP_ALIVE, proxy_headers=False,
            timeout_graceful_shutdown=FINISH_WITHIN,
        )  # fmt: skip
        self._uvicorn = uvicorn.Server(config)
        with contextlib.suppress(ValueError):  # threads of tests take no signals
            for name in {"SIGINT", "SIGTERM", "SIGHUP"} & {*dir(signal)}:
                signal.signal(getattr(signal, name), lambda *_: None)  # uvicorn takes two of them
        with (
            contextlib.closing(self.service),
            self._socket,
            asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
        ):
            runner.run(self._serve(ready))

    async def _serve(self, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(ready)
        watching = loop.create_task(self._watch())
        try:
            await self._uvicorn.serve(sockets=[self._socket])
        finally:
            watching.cancel()
            if self.learning is not None:
                await asyncio.to_thread(self.learning.close)

    def stop(self) -> None:
        """Stop the server after open requests."""
        self._uvicorn.should_exit = True

    async def _watch(self) -> None:
        """Serve the model file whenever it was replaced by another; never with a log, which belongs
        to a model.
        """
        counters, seen = self.service.metrics.counters, None
        while self.learning is None:
            await asyncio.sleep(LOOK_EVERY)
            if not self._path.exists():
                continue
            try:
                about = self._path.stat()
                before, seen = seen, (about.st_mtime_ns, about.st_size, about.st_ino)
                if seen == before:
                    continue
                if await asyncio.to_thread(digest_of, self._path) != self.served.digest:
                    served = await asyncio.to_thread(read_model, self._path, self.service.limits)
                    await asyncio.to_thread(served.warm_up)
                    self.service.served = served
                    counters["reloads"].inc()
                    self._say(f"now serving model {served.version}")
            except (LinsepError, OSError) as problem:
                counters["failed_reloads"].inc()
                self._say(str(problem))


class Connection(HttpToolsProtocol):
    """uvicorn's connection, without the offers of HTTP/2 that Java's HttpClient sends with every
    request: the parser would skip the body.
    """

    def data_received(self, data: bytes) -> None:
        """Parse the data received."""
        head, end, rest = data.partition(b"\r\n\r\n")
        super().data_received(_OFFER.sub(b"", head) + end + rest)
