"""Connections: uvicorn's, with time limits for request heads and for reading answers."""

import asyncio
import math
import sys
import time
from typing import Any

from httptools import HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from linsep.serving.limits import Limits
from linsep.serving.metrics import Metrics

#: bytes of the head of a request
MOST_HEAD = 1 << 16


class UnreadAnswers:
    """Answers that their clients have not read yet, which stay in memory.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits):
        self._most, self._seconds = limits.answers, limits.answer_seconds
        #: transports, those first that have not been read from for the longest time, with the
        #: bytes they had then
        self._waiting: dict[Any, tuple[int, float]] = {}

    def watch(self, transport: Any) -> None:
        """Register a transport with unread data; beyond the limit, close those that have waited
        longest.
        """
        if not (size := transport.get_write_buffer_size()):
            return
        self._waiting.setdefault(transport, (size, time.monotonic()))
        total = self.look()
        for waiting in list(self._waiting):
            if total <= self._most:
                break
            total -= waiting.get_write_buffer_size()
            self._give_up(waiting)

    def look(self) -> int:
        """Return the bytes of all unread answers; drop those that were read, and close connections
        whose client has stopped reading.
        """
        now, total = time.monotonic(), 0
        for transport, (before, since) in list(self._waiting.items()):
            size = transport.get_write_buffer_size()
            total += size
            if size < before:
                del self._waiting[transport]  # to come last
                if size:
                    self._waiting[transport] = size, now
            elif now - since > self._seconds:
                total -= size
                self._give_up(transport)
        return total

    def give_up_all(self) -> None:
        """Close all connections whose clients have not read their answers."""
        for transport in list(self._waiting):
            self._give_up(transport)

    def _give_up(self, transport: Any) -> None:
        del self._waiting[transport]
        transport.abort()


class WholeAnswers:
    """A transport that sends everything written in one turn of the loop, head and body, at once:
    system calls cost more than predictions.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop, unread: UnreadAnswers):
        self._transport, self._loop, self._unread = transport, loop, unread
        self._parts: list[bytes] = []
        self.is_closing = transport.is_closing
        self.get_extra_info = transport.get_extra_info

    def write(self, data: bytes) -> None:
        """Send data in this turn."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """Send the rest, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._transport.write(data)
            self._unread.watch(self._transport)


class Connection(HttpToolsProtocol):
    """A connection with limits on the time and size of request heads."""

    def __init__(
        self, *arguments: Any, limits: Limits, metrics: Metrics, unread: UnreadAnswers, **more: Any
    ):
        super().__init__(*arguments, **more)
        self._patience, self._metrics, self._unread = limits.header_seconds, metrics, unread
        self._timer: asyncio.TimerHandle | None = None
        self._in_head, self._head_bytes = True, 0
        self._arrived, self._again = b"", b""

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request, up to the time limit."""
        super().connection_made(transport)
        self.transport = WholeAnswers(transport, self.loop, self._unread)  # type: ignore[assignment]
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
        """Parse the data received; incomplete heads are limited in time and size."""
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
        """Parse a request again without its Upgrade header, which servers may ignore.

        Java's HttpClient offers HTTP/2 this way with every request, and the parser would read the
        body as the other protocol.
        """
        offset = sys.exception().args[0]  # type: ignore[union-attr]  # of HttpParserUpgrade
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        lines += [b"%b: %b" % pair for pair in self.headers if pair[0] != b"upgrade"]
        self._again = b"\r\n".join([*lines, b"", self._arrived[offset:]])
        self.parser = HttpRequestParser(self)  # the other may take this request for its last
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP with an error in the usual form."""
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
