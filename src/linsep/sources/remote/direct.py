"""Ranges of web servers, received by threads straight to where they are read.

aiohttp makes objects of what comes, copies them and holds Python's lock meanwhile, which takes
twice the processor time from who parses the rows. It is asked first, and always where its settings
ask for more than a connection to the server.
"""

import asyncio
import atexit
import os
import socket
import ssl
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

#: ranges that are received at once, of all files
THREADS = 16


class Place(NamedTuple):
    """A file on a web server, as it was asked for: scheme, host, port, the rest, and headers."""

    scheme: str
    host: str
    port: int
    path: str
    headers: dict[str, str]


class Unlike(Exception):
    """An answer that is no plain range: aiohttp is to ask again."""


def place_of(answer: Any, fs: Any) -> Place | None:
    """Return where an answer of aiohttp came from, None if only aiohttp can ask there again."""
    from fsspec.implementations.http import get_client

    alone = {"auto_decompress", "auth", "cookies", "headers"}
    plain = fs.get_client is get_client and fs.client_kwargs.keys() <= alone
    if answer.history or answer.cookies or not plain or fs.kwargs.keys() - {"headers"}:
        return None
    url, headers = answer.url, dict(answer.request_info.headers)
    headers.pop("Range", None)
    return Place(url.scheme, url.raw_host, url.port, url.raw_path_qs, headers)


class Fetch:
    """One range of a file, received in a thread.

    Parameters
    ----------
    place : Place
    asked : the Range header
    room : to be filled
    begun : function of status and headers that is called before the body, which it may refuse, and
        that returns how many bytes it should have, None if it is not to be read
    silence : seconds without a byte
    """

    def __init__(self, place: Place, asked: str, room: memoryview, begun: Any, silence: float):
        self._place, self._range, self._room = place, asked, room
        self._begun, self._silence = begun, silence
        self._connection: HTTPConnection | None = None
        self._stopped = False

    async def received(self) -> int | None:
        """Fill the room; return how many bytes came, None if ``begun`` wants none.

        Raises what ``begun`` and sockets raise, IncompleteRead, and Unlike.
        """
        coming: Future[int | None] = Future()
        _work(os.getpid()).put((self, coming))
        waiting = asyncio.wrap_future(coming)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self._stop(coming)
            await asyncio.wait([waiting])  # then nothing writes to the room any more
            if not waiting.cancelled():
                waiting.exception()
            raise

    def run(self) -> int | None:
        """Make the request, as :meth:`received` does."""
        idle = _idle(os.getpid(), self._place[:3])
        connection, answer = self._asked(idle)
        try:
            due = self._begun(answer.status, answer.headers)
            return None if due is None else self._fill(answer, due)
        finally:
            if answer.isclosed() and not answer.will_close and len(idle) < THREADS:
                idle.append(connection)
            else:
                connection.close()

    def _asked(self, idle: "deque[HTTPConnection]") -> tuple[HTTPConnection, HTTPResponse]:
        """Return the start of an answer, and the connection that it comes by."""
        with suppress(IndexError, ConnectionError):  # servers hang up after a while
            return self._ask(idle.pop())
        return self._ask(_connection(self._place, self._silence))

    def _ask(self, connection: HTTPConnection) -> tuple[HTTPConnection, HTTPResponse]:
        self._connection = connection
        headers = self._place.headers | {"Range": self._range}
        try:
            connection.request("GET", self._place.path, headers=headers)
            return connection, connection.getresponse()
        except BaseException as error:
            connection.close()
            if isinstance(error, HTTPException) and not isinstance(error, OSError):
                raise Unlike from None
            raise

    def _fill(self, answer: HTTPResponse, due: int) -> int:
        came = 0
        while came < due and not self._stopped and not answer.isclosed():
            count = answer.readinto(self._room[came:due])
            if not count and answer.length:
                raise IncompleteRead(b"", due - came)
            came += count
        if not answer.isclosed() and answer.read(1):  # or what stands behind the last of chunks
            raise Unlike
        return came

    def _stop(self, coming: "Future[int | None]") -> None:
        self._stopped = True
        coming.cancel()
        if self._connection is not None and (sock := self._connection.sock) is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def _connection(place: Place, silence: float) -> HTTPConnection:
    if place.scheme == "https":
        return HTTPSConnection(place.host, place.port, timeout=silence, context=_trusted())
    return HTTPConnection(place.host, place.port, timeout=silence)


@cache
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()


@cache
def _idle(process: int, server: tuple[str, str, int]) -> "deque[HTTPConnection]":
    """Return the open connections to a server that nobody uses, which end with the process."""
    idle: deque[HTTPConnection] = deque()
    atexit.register(_close, idle)
    return idle


def _close(idle: "deque[HTTPConnection]") -> None:
    while idle:
        idle.pop().close()


@cache
def _work(process: int) -> "SimpleQueue[tuple[Fetch, Future[int | None]]]":
    """Return the queue of threads of a process, which end with it, whatever they wait for."""
    queue: SimpleQueue[tuple[Fetch, Future[int | None]]] = SimpleQueue()
    for number in range(THREADS):
        Thread(target=_serve, args=(queue,), name=f"linsep-receive-{number}", daemon=True).start()
    return queue


def _serve(queue: "SimpleQueue[tuple[Fetch, Future[int | None]]]") -> None:
    while True:
        fetch, coming = queue.get()
        if coming.set_running_or_notify_cancel():
            try:
                coming.set_result(fetch.run())
            except BaseException as error:
                coming.set_exception(error)
        del fetch, coming
