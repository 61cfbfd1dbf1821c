"""Web servers that lie, stall or never end: one sentence, in bounded time and memory.

What is promised of remote files, and where it is tested through public names only:

- ranges, caps, versions, Retry-After, redirects, TLS: ``test_remote_versions``
- each fault once and at every request, caches, secrets, formats: ``test_remote_files``
- S3, FTP and memory, folders, wildcards, markers: ``test_remote_stores``
- Google Storage: ``test_remote_gs``
- what is requested, and how often: ``test_remote_requests``; certificates: ``test_remote_https``
- servers as they should not be: here
"""

import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from linsep import open_source
from linsep.errors import DataError
from refusals import refused
from remote_tables import impatient

pytest.importorskip("aiohttp")
TEXT = (
    "a,b,kind\n" + "".join(f"{k / 7!r},{k % 13},{'xy'[k % 2]}\n" for k in range(90_000))
).encode()
HUGE = 100 * 10**12


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    impatient(monkeypatch, silence=0.4)


@contextmanager
def raw_server(answer):
    """A server that gives every connection to ``answer(connection, head of the request, ended)``;
    yields an address and the heads of all requests.
    """
    heads, ended = [], Event()

    def serve(connection):
        with connection:
            connection.settimeout(20)
            try:
                while head := connection.recv(1 << 16).decode():
                    heads.append(head)
                    if answer(connection, head, ended) is None:
                        return
            except OSError:
                pass  # the client has gone

    def accept():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x.csv", heads
        ended.set()
        server.shutdown(socket.SHUT_RDWR)


def asked(head):
    """The first and last byte that a request asks for."""
    first, last = re.search(r"\r\nrange: bytes=(\d*)-(\d+)", head, re.IGNORECASE).groups()
    return (int(first), int(last)) if first else (max(0, len(TEXT) - int(last)), len(TEXT) - 1)


def part(connection, head, size, extra=""):
    """Answer a request with what there is of its range, of a file that is declared as so large."""
    first, last = asked(head)
    body = TEXT[first : last + 1]
    if not body:
        said = f"HTTP/1.1 416 No\r\nContent-Range: bytes */{size}\r\nContent-Length: 0\r\n\r\n"
        connection.sendall(said.encode())
    else:
        said = (
            f"HTTP/1.1 206 Part\r\nContent-Range: bytes {first}-{first + len(body) - 1}/{size}\r\n"
        )
        said += f'ETag: "a"\r\n{extra}Content-Length: {len(body)}\r\n\r\n'
        connection.sendall(said.encode() + body)
    return True


def read(address):
    return sum(len(batch.y) for batch in open_source(address, target="kind").batches())


@pytest.mark.thorough
def test_a_file_that_is_said_to_have_a_hundred_terabytes():
    code = (
        "import resource, sys\n"
        "from linsep import open_source\n"
        "from linsep.errors import DataError\n"
        "used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "source = open_source(sys.argv[1], target='kind')\n"
        "before = used()\n"
        "try:\n"
        "    print(sum(len(batch.y) for batch in source.batches()))\n"
        "except DataError as error:\n"
        "    print(error)\n"
        "print((used() - before) // 1024)\n"
    )  # fmt: skip
    began = time.monotonic()
    with raw_server(lambda connection, head, _: part(connection, head, HUGE)) as (address, _):
        done = subprocess.run(
            [sys.executable, "-c", code, address], capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
    said, megabytes = done.stdout.splitlines() or [done.stderr, "0"]
    assert re.search(r"x\.csv (changed while it was read|cannot be read)", said), done.stderr
    assert int(megabytes) < 300
    assert time.monotonic() - began < 40


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_a_table_that_is_said_to_have_a_hundred_terabytes(name):
    with raw_server(lambda connection, head, _: part(connection, head, HUGE)) as (address, _):
        began = time.monotonic()
        with refused(DataError, "unreachable"):
            read(address.replace("x.csv", name))
        assert time.monotonic() - began < 20


def drip(connection, head, ended):
    connection.sendall(b"HTTP/1.1 206 Part\r\nX-Filler: ")
    while not ended.wait(0.05):
        connection.sendall(b"x")


SLOW = {"says nothing": lambda connection, head, ended: ended.wait(20) and None, "its head": drip}


@pytest.mark.parametrize("how", SLOW)
def test_a_server_that_stalls_or_sends_its_head_slowly(how):
    with raw_server(SLOW[how]) as (address, heads):
        began = time.monotonic()
        with refused(DataError, "unreachable"):
            read(address)
        assert time.monotonic() - began < 10
        assert len(heads) == 5


def test_a_server_that_stalls_after_half_of_the_file():
    def halfway(connection, head, ended):
        if asked(head)[1] < len(TEXT) // 2:
            return part(connection, head, len(TEXT))
        return SLOW["says nothing"](connection, head, ended)

    with raw_server(halfway) as (address, _):
        began = time.monotonic()
        with refused(DataError, "unreachable"):
            read(address)
        assert time.monotonic() - began < 20


def test_a_body_that_does_not_end():
    def endless(connection, head, ended):
        first, last = asked(head)
        said = f"HTTP/1.1 206 Part\r\nContent-Range: bytes {first}-{last}/{HUGE}\r\n"
        said += "Transfer-Encoding: chunked\r\n\r\n"
        connection.sendall(said.encode())
        block = b"10000\r\n" + b"1,2,x\n" * 10922 + b"3,4\n" + b"\r\n"
        while not ended.is_set():
            connection.sendall(block)

    with raw_server(endless) as (address, _):
        began = time.monotonic()
        with refused(DataError, "unreachable"):
            read(address)
        assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "said",
    ["bytes 5-1/10", "bytes 0-18446744073709551615/18446744073709551616", "bytes -1-5/9",
     "lines 0-5/9",
     "bytes 0-5/0", "bytes 00-05/5", "bytes " + "9" * 400 + "-5/9"],
)  # fmt: skip
def test_ranges_that_make_no_sense(said):
    def odd(connection, head, ended):
        body = TEXT[:6]
        text = f"HTTP/1.1 206 Part\r\nContent-Range: {said}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(text.encode() + body)
        return True

    with raw_server(odd) as (address, _):
        began = time.monotonic()
        with pytest.raises(DataError, match=r"x\.csv"):
            read(address)
        assert time.monotonic() - began < 20
