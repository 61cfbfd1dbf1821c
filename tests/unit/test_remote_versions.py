"""What web servers may say of a file and of a request, asked through :func:`linsep.open_source`."""

import re
import socket
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from command_line import here
from linsep import open_source
from linsep.errors import DataError
from refusals import refused
from remote_tables import new_stores

pytestmark = pytest.mark.compiled
fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

#: more than the first request asks for
ROWS = 120_000
TEXT = ("a,b,kind\n" + "".join(f"{k / 7!r},{k % 13},{'xy'[k % 2]}\n" for k in range(ROWS))).encode()
TAG = '"one"'


class Answer:
    """What a server says of one request; a test may change it."""

    def __init__(self, start, end, size):
        self.status, self.body = 206, TEXT[start:end]
        self.headers = {"Content-Range": f"bytes {start}-{end - 1}/{size}", "ETag": TAG}


class Server:
    """A web server whose answers ``change(number, answer, request)`` before they are sent.

    Attributes
    ----------
    asked : list of (time, headers) of the requests
    """

    def __init__(self, change=lambda number, answer, request: None, most=1 << 30):
        owner, self.asked = self, []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *of):
                pass

            def do_GET(self):
                owner.asked.append((time.monotonic(), dict(self.headers)))
                number, wanted = len(owner.asked) - 1, self.headers.get("Range")
                start, end = 0, len(TEXT)
                if wanted:
                    first, last = re.fullmatch(r"bytes=(\d*)-(\d+)", wanted).groups()
                    start = int(first) if first else len(TEXT) - int(last)
                    end = min(int(last) + 1 if first else len(TEXT), len(TEXT), start + most)
                answer = Answer(start, end, len(TEXT))
                if not wanted:
                    answer.status = 200
                    del answer.headers["Content-Range"]
                change(number, answer, self)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/x.csv"

    def __enter__(self):
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def rows_of(address):
    batches = list(open_source(address, target="kind", scale="none").batches())
    return np.vstack([batch.X for batch in batches]).tolist()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("local") / "x.csv"
    path.write_bytes(TEXT)
    return rows_of(path)


def headers(from_number, **changes):
    """A change of the headers of all requests from a number on; None removes one."""

    def change(number, answer, request):
        for name, value in changes.items() if number >= from_number else ():
            answer.headers[name.replace("_", "-")] = value
            if value is None:
                del answer.headers[name.replace("_", "-")]

    return change


DATE = formatdate(1e9, usegmt=True)
OTHER = [
    (headers(1, ETag=None), r"\(its ETag is gone\)"),
    (lambda *of: headers(0, ETag=None)(*of) if of[0] == 0 else None, "it has an ETag now"),
    (headers(1, ETag='"two"'), "changed while"),
    (headers(1, ETag='W/"two"'), "changed while"),
    (lambda *of: (headers(0, ETag=None)(*of), headers(1, Last_Modified=DATE)(*of)), "changed"),
    (
        lambda *of: (
            headers(0, ETag=None)(*of),
            of[0] or headers(0, Last_Modified=DATE)(*of),
        ),
        "changed",
    ),
]


@pytest.mark.parametrize("case", range(len(OTHER)))
def test_a_version_that_differs_or_is_gone_is_a_change(case):
    change, said = OTHER[case]
    with (
        Server(change) as server,
        refused(DataError, "file-changed") as found,
    ):
        rows_of(server.address)
    assert re.search(said, str(found.value))


SAME = {
    "weak and strong tags": lambda *of: headers(0, ETag=TAG if of[0] % 2 else f"W/{TAG}")(*of),
    "no tags": headers(0, ETag=None),
    "a date beside a tag": headers(1, Last_Modified=DATE),
}


@pytest.mark.parametrize("case", SAME)
def test_the_same_version(case, expected):
    with Server(SAME[case]) as server:
        assert rows_of(server.address) == expected
        assert len(server.asked) > 1


@pytest.mark.parametrize("first", [0, 1])
def test_a_range_of_a_file_of_unknown_size(expected, first):
    def change(number, answer, request):
        if number >= first and "Content-Range" in answer.headers:
            said = answer.headers["Content-Range"]
            answer.headers["Content-Range"] = said.partition("/")[0] + "/*"

    with Server(change) as server:
        assert rows_of(server.address) == expected


def test_a_range_of_a_file_of_unknown_size_on_the_command_line(tmp_path):
    change = headers(0, Content_Range="bytes 0-99/*")

    def short(number, answer, request):
        if answer.status == 206:
            change(number, answer, request)
            answer.body = TEXT[:100]

    with Server(short) as server:
        done = here(
            "fit", server.address, "--target", "kind", "--max-iter", "1", "--no-cache", cwd=tmp_path
        )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("most", [50_000, 1_000_000])
def test_a_server_that_caps_ranges(expected, most):
    with Server(most=most) as server:
        assert rows_of(server.address) == expected
        assert len(server.asked) >= len(TEXT) / most


def in_a_second():
    return formatdate(time.time() + 2, usegmt=True)  # whole seconds: at least one


@pytest.mark.parametrize("status", [503, 429])
@pytest.mark.parametrize("after", [lambda: "1", in_a_second], ids=["seconds", "date"])
@pytest.mark.parametrize("number", [0, 2])
def test_retry_after(expected, status, after, number):
    def change(n, answer, request):
        if n == number:
            answer.status, answer.body = status, b""
            answer.headers = {"Retry-After": after()}

    with Server(change) as server:
        assert rows_of(server.address) == expected
        refused = server.asked[number][0]
        again = [at for at, _ in server.asked if at > refused + 0.9]
    assert 0.9 < min(again) - refused < 3


def test_a_server_that_asks_to_wait_for_long():
    def change(n, answer, request):
        answer.status, answer.body, answer.headers = 503, b"", {"Retry-After": "86400"}

    with Server(change) as server:
        with refused(DataError, "unreachable"):
            rows_of(server.address)
        assert len(server.asked) == 1


def redirect(to):
    def change(n, answer, request):
        answer.status, answer.body, answer.headers = 302, b"", {"Location": to()}

    return change


SECRETS = {"X-Api-Key": "hush", "Authorization": "Bearer hush", "Cookie": "id=hush"}


@pytest.mark.parametrize("where", ["kwargs", "client_kwargs"])
def test_what_identifies_us_does_not_follow_a_redirect_to_another_server(
    monkeypatch, expected, where
):
    settings = {"headers": SECRETS}
    conf = settings if where == "kwargs" else {"client_kwargs": settings}
    monkeypatch.setitem(fsspec.config.conf, "http", conf)
    new_stores()
    with Server() as other, Server(redirect(lambda: other.address)) as first:
        assert rows_of(first.address) == expected
        assert all(headers.get("X-Api-Key") == "hush" for _, headers in first.asked)
        assert all(headers["Authorization"] == "Bearer hush" for _, headers in first.asked)
        assert len(other.asked) > 1
        assert not any(SECRETS.keys() & headers.keys() for _, headers in other.asked)
        assert "hush" not in str(other.asked)
    new_stores()


def test_what_identifies_us_follows_a_redirect_on_the_same_server(expected):
    """A user in the address, and a path that is relative."""
    seen = []

    def change(n, answer, request):
        seen.append((request.path, request.headers.get("Authorization")))
        if request.path == "/x.csv":
            answer.status, answer.body, answer.headers = 307, b"", {"Location": "y/x.csv"}

    with Server(change) as server:
        assert rows_of(server.address.replace("//", "//me:hush@")) == expected
    assert {path for path, _ in seen} == {"/x.csv", "/y/x.csv"}
    assert len({said for _, said in seen}) == 1
    assert seen[0][1].startswith("Basic ")


HOPELESS = {
    400: "400 Bad Request", 401: "is denied", 403: "is denied", 404: "There is no file",
    405: "405 Method", 410: "There is no file", 414: "414", 451: "451", 501: "501", 505: "505",
}  # fmt: skip


@pytest.mark.parametrize("status", HOPELESS)
def test_what_cannot_succeed_is_tried_once(status):
    def change(n, answer, request):
        answer.status, answer.body, answer.headers = status, b"", {}

    with Server(change) as server:
        with pytest.raises(DataError, match=HOPELESS[status]) as found:
            rows_of(server.address)
        assert "tried" not in str(found.value)
        assert len(server.asked) == 1


@pytest.mark.parametrize("to", ["ftp://127.0.0.1/x.csv", "http://[", "file:///etc/passwd"])
def test_a_redirect_to_what_is_not_a_web_server(to):
    with Server(redirect(lambda: to)) as server:
        with refused(DataError, "unreachable"):
            rows_of(server.address)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("nothing://host/x.csv", "bad-url"),
        ("http://host:99999/x.csv", "bad-url"),
        ("https://{plain}/x.csv", "unreachable"),
    ],
)
def test_addresses_that_cannot_be_read_are_refused_at_once(address, code):
    with Server() as server:
        began = time.monotonic()
        with refused(DataError, code) as found:
            rows_of(address.format(plain=server.address.split("/")[2]))
    assert "tried" not in str(found.value)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("alert", "said"),
    [(112, "unrecognized name"), (40, "handshake failure"), (70, "protocol version")],
)
def test_a_server_that_refuses_tls_is_asked_once(alert, said):
    came = []

    def refuse():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                came.append(connection.recv(2000))
                connection.sendall(bytes([21, 3, 1, 0, 2, 2, alert]))

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=refuse, daemon=True).start()
        with refused(DataError, "unreachable") as found:
            rows_of(f"https://127.0.0.1:{server.getsockname()[1]}/x.csv")
    assert "tried" not in str(found.value)
    assert len(came) == 1


def test_a_marker_in_a_local_folder_is_not_a_data_file(tmp_path):
    for name, text in {"part-0": "a,b,kind\n1,2,x\n3,4,y\n", "_SUCCESS": ""}.items():
        (tmp_path / name).write_text(text)
    for data in (tmp_path, f"{tmp_path}/*"):
        source = open_source(data, format="csv", target="kind", scale="none")
        assert np.vstack([batch.X for batch in source.batches()]).tolist() == [[1, 2], [3, 4]]
