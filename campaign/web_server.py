"""A web server of files on this machine, which is as slow and as faulty as one wishes.

``python -m campaign.web_server FOLDER --delay 0.02`` prints its address and serves until its input
ends; for each line of it, it prints the seconds of the processor that it took so far.
"""

import argparse
import hashlib
import socket
import struct
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote

#: what may go wrong with a request, beside the numbers of answers that refuse it
FAULTS = (
    "reset",  # the connection is reset before an answer
    "cut",  # the connection ends in the middle of the body
    "slow",  # the body comes in small pieces, with pauses
    "stall",  # nothing comes for a long time
    "short",  # fewer bytes than asked for, in a whole answer
    "changed",  # the file is another one, with another ETag
)


class WebServer:
    """Serves files over HTTP, in a thread; a context manager.

    Parameters
    ----------
    files : dict of path, such as "/rows.csv", to bytes or the Path of a file; may change
    fault : function of the number of a request, from 0, and its path, that returns one of
        :data:`FAULTS` or None
    delay : seconds added to each request
    ranges, lengths, tags, dates : whether answers have parts of files, Content-Length, ETag,
        Last-Modified
    encoding : Content-Encoding to name

    Attributes
    ----------
    requests : list of (method, path, Range header, fault), in order
    """

    def __init__(
        self, files: dict[str, Any], *, fault: Callable[[int, str], str | None] | None = None,
        delay: float = 0.0, ranges: bool = True, lengths: bool = True, tags: bool = True,
        dates: bool = True, encoding: str | None = None, stall: float = 30.0,
    ):  # fmt: skip
        self.files, self.fault, self.delay = files, fault, delay
        self.ranges, self.lengths, self.tags, self.dates = ranges, lengths, tags, dates
        self.encoding, self.stall = encoding, stall
        self.requests: list[tuple[str, str, str | None, str | None]] = []
        self.lock = Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self

    @property
    def url(self) -> str:
        """The address, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "WebServer":
        # A short interval ends the server quickly.
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads, block_on_close, request_queue_size = True, False, 128
    owner: WebServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients give up, as expected


class _Handler(BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm, timeout = "HTTP/1.1", True, 60
    server: _Server

    def log_message(self, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        owner, path = self.server.owner, unquote(self.path)
        path = path if path in owner.files else path.partition("?")[0]  # stands for any query
        asked = self.headers.get("Range") if owner.ranges else None
        with owner.lock:
            number = len(owner.requests)
            fault = owner.fault(number, path) if owner.fault is not None else None
            owner.requests.append((self.command, path, self.headers.get("Range"), fault))
        time.sleep(owner.delay)
        if fault == "stall":
            time.sleep(owner.stall)
        if fault in ("reset", "stall"):
            return self._reset()
        if path not in owner.files:
            fault = "404"
        if fault is not None and fault.isdecimal():
            return self._refuse(int(fault))
        content = owner.files[path]
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        start, end = 0, size
        if asked is not None:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, end = int(first or 0), min(size, int(last) + 1 if last else size)
            if not first:  # the last bytes
                start, end = max(0, size - int(last)), size
            if start >= size:
                return self._refuse(416, {"Content-Range": f"bytes */{size}"})
            if fault == "short":
                end = max(start + 1, (start + end) // 2)
        self._send(content, start, end, size, asked is not None, fault)

    def _send(
        self, content: Any, start: int, end: int, size: int, partial: bool, fault: str | None
    ) -> None:
        owner = self.server.owner
        self.send_response(206 if partial else 200)
        if partial:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        if owner.lengths:
            self.send_header("Content-Length", str(end - start))
        else:
            self.send_header("Transfer-Encoding", "chunked")
        if owner.tags:
            self.send_header("ETag", f'"{_tag(content)}{"x" if fault == "changed" else ""}"')
        if owner.dates:
            day = 2 if fault == "changed" else 1
            self.send_header("Last-Modified", f"Thu, 0{day} Jan 2026 00:00:00 GMT")
        if owner.encoding is not None:
            self.send_header("Content-Encoding", owner.encoding)
        self.end_headers()
        if self.command == "HEAD":
            return
        if not isinstance(content, bytes) and fault is None and owner.lengths:
            with content.open("rb") as file:
                self.connection.sendfile(file, start, end - start)
            return
        data = (content if isinstance(content, bytes) else content.read_bytes())[start:end]
        if fault == "cut":
            data = data[: len(data) // 2]
        step = max(1, -(-len(data) // (20 if fault == "slow" else 1)))
        for at in range(0, len(data), step):
            self._write(data[at : at + step])
            if fault == "slow":
                self.wfile.flush()
                time.sleep(0.002)
        if fault == "cut":
            self.close_connection = True
        elif not owner.lengths:
            self.wfile.write(b"0\r\n\r\n")

    def _write(self, data: bytes) -> None:
        if self.server.owner.lengths:
            self.wfile.write(data)
        else:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _refuse(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _reset(self) -> None:
        """Close the connection with RST in place of FIN."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.connection.close()


def _tag(content: Any) -> str:
    if isinstance(content, bytes):
        return hashlib.blake2b(content, digest_size=8).hexdigest()
    return f"{content.stat().st_mtime_ns:x}"


def main() -> None:
    """Serve a folder."""
    parser = argparse.ArgumentParser(prog="python -m campaign.web_server", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds added to each request")
    options = parser.parse_args()
    files = {f"/{path.name}": path for path in options.folder.iterdir() if path.is_file()}
    with WebServer(files, delay=options.delay) as server:
        print(server.url, flush=True)
        for _ in sys.stdin:
            print(time.process_time(), flush=True)


if __name__ == "__main__":
    main()
