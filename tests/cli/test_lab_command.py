"""``linsep lab``: files, refusals, who is let in, and sessions that end."""

import asyncio
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

import linsep.lab
from command_line import assert_refused, here, run

pytestmark = pytest.mark.compiled


def test_a_page_is_written_to_a_file(tmp_path):
    done = here("lab", "--scene", "xor", "--export", "run.html", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "page     run.html\n")
    assert "No line through 0 separates" in (tmp_path / "run.html").read_text()
    assert_refused("lab", "--export", "run.html", cwd=tmp_path, code="file-exists")
    state = "points=0,0,0;1,1,1&rate=0.5"
    assert here("lab", "--scene", state, "--export", "a.html", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["--scene", "nothing"], "no ready-made setup 'nothing': choose one of first-steps, ", 2),
        (["--scene", "points=1,2"], "two coordinates and a class", 2),
        (["--address", "0.0.0.0", "--no-browser"], "--token SECRET", 2),
        (["--token", "short", "--no-browser"], "at least 8 characters", 2),
    ],
)
def test_what_is_refused(tmp_path, arguments, said, code):
    assert_refused("lab", *arguments, cwd=tmp_path, said=said, exit_code=code)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "no-file"),
        (b"\xff\xfe", "encoding"),
        (b"words", "bad-scene"),
        (b"# T\n## S\n[s](#data=no)\n", "bad-scene"),
    ],
)
def test_a_lesson_that_cannot_be_shown(tmp_path, content, code):
    if content is not None:
        (tmp_path / "missing.md").write_bytes(content)
    assert_refused("lab", "missing.md", "--no-browser", cwd=tmp_path, code=code)


def test_an_address_of_another_machine_is_refused(tmp_path):
    where = ("--address", "203.0.113.9", "--token", "long-enough", "--no-browser")
    done = run("lab", *where, cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot listen on 203.0.113.9" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_panel_it_says_what_to_install(tmp_path, monkeypatch):
    for name in [m for m in sys.modules if m.split(".")[0] == "panel" or m == "linsep.lab.server"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(linsep.lab), "bound_server", raising=False)  # as if never imported
    monkeypatch.setitem(sys.modules, "panel", None)
    assert_refused("lab", cwd=tmp_path, code="missing-package")


@pytest.fixture(scope="module")
def protected():
    """A lab with a token, and its address."""
    command = [sys.executable, "-W", "error", "-m", "linsep", "lab", "--no-browser", "--port", "0"]
    server = subprocess.Popen(
        [*command, "--token", "open-sesame"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    line = server.stdout.readline()
    yield line.split()[1]
    server.terminate()
    server.communicate(timeout=20)


def asked(url, **headers):
    """Status and text that a server answers."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as found:
            return found.status, found.read().decode(), found.headers
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.status, refusal.read().decode(), refusal.headers


def test_a_token_is_asked_for(protected):
    plain = protected.partition("?")[0]
    for url in (
        plain,
        plain + "?token=",
        plain + "?token=open-sesam",
        plain + "autoload.js?bokeh-autoload-element=a",
    ):
        status, said, _ = asked(url)
        assert status in (403, 404), url
        assert "docs_json" not in said
    status, said, headers = asked(protected)
    assert status == 200
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert asked(plain, Cookie=cookie.partition(";")[0])[0] == 200
    assert asked(plain, Cookie="linsep-lab=visitor")[0] == 403


def websocket(url, origin, token):
    """Whether the server opens a web socket for pages of this origin."""
    from tornado.httpclient import HTTPClientError, HTTPRequest
    from tornado.websocket import websocket_connect

    async def connected():
        request = HTTPRequest(
            re.sub("^http", "ws", url) + "ws",
            headers={"Origin": origin, "Sec-WebSocket-Protocol": f"bokeh, {token}"},
        )
        try:
            socket = await websocket_connect(request, subprotocols=["bokeh", token])
        except HTTPClientError as refusal:
            return refusal.code
        socket.close()
        while await socket.read_message() is not None:  # until the server has closed it, too
            pass
        return 200

    return asyncio.run(connected())


@contextmanager
def served(names=""):
    """The address of a lab in a process of its own, which may allow names of hosts."""
    begin = f"import linsep.lab.server as lab; server = lab.bound_server({names})"
    code = begin + "; print(server.port, flush=True); server.start(); server.io_loop.start()"
    command = [sys.executable, "-c", code]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/"
    finally:
        server.terminate()
        server.communicate(timeout=20)


def token_of(url):
    """The token that a page of the lab opens its web socket with."""
    return re.search(r'"token":\s*"([^"]+)"', asked(url)[1])[1]


@pytest.mark.thorough
def test_pages_of_other_origins_are_refused():
    with served() as url:
        token = token_of(url)
        assert websocket(url, url.rstrip("/"), token) == 200
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
            assert websocket(url, origin, token) == 403


@pytest.mark.thorough
def test_hosts_of_strangers_are_refused():
    """A page elsewhere whose name points here (DNS rebinding) gets no page of the lab."""
    with served() as url:
        port = url.rstrip("/").rpartition(":")[2]
        for host, status in [
            ("localhost", 200), (f"127.0.0.1:{port}", 200), ("LOCALHOST", 200),
            ("evil.example", 421), (f"evil.example:{port}", 421), ("127.0.0.1.nip.io", 421),
            (f"models.example:{port}", 421),
        ]:  # fmt: skip
            assert asked(url, Host=host)[0] == status, host
    with served(names='allowed_hosts=["models.example"]') as url:
        assert asked(url, Host="models.example")[0] == 200
        assert asked(url, Host="evil.example")[0] == 421


def test_the_lab_as_a_folder_of_files(tmp_path):
    pytest.importorskip("linsep_pyodide")
    done = here("lab", "--static", "site", "--scene", "xor", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("page     site/index.html, 13.")
    assert (tmp_path / "site" / "pyodide" / "pyodide.asm.wasm").stat().st_size > 9_000_000
    assert_refused("lab", "--static", "site", cwd=tmp_path, code="file-exists")
    (tmp_path / "own.md").write_text("# Mine\n\n## One\n[s](#data=xor)\n")
    done = here("lab", "own.md", "--static", "site", "--force", cwd=tmp_path)
    assert "site/index.html?lesson=own" in done.stdout
    (tmp_path / "bad.md").write_text("no lesson")
    assert_refused("lab", "bad.md", "--static", "new", cwd=tmp_path, code="bad-scene")
    assert not (tmp_path / "new").exists()


def test_an_exported_page_has_no_lesson(tmp_path):
    (tmp_path / "own.md").write_text("# Mine\n\n## One\n[s](#data=xor)\n")
    said = "--export writes a setup without a lesson"
    assert_refused("lab", "own.md", "--export", "a.html", cwd=tmp_path, said=said, exit_code=2)


def test_help_names_the_export(tmp_path):
    done = here("lab", "--help", cwd=tmp_path)
    assert "--export" in done.stdout


PRICES = "day;area;price;sold\n" + "".join(
    f"2024-01-{k:02};{k},5;{k % 4},25 €;{'yes' if k % 3 else 'no'}\n" for k in range(1, 31)
)
HOW = ("--delimiter", ";", "--target", "sold", "--decimal", ",", "--units", "--exclude", "day")


def test_the_rows_of_a_file_are_a_scene(tmp_path):
    (tmp_path / "prices.csv").write_text(PRICES)
    done = here("lab", "prices.csv", *HOW, "--export", "a.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        0, "linsep: Both coordinates are standardized, since their standard deviations differ: "
        "area 8.66, price 1.09; --scale none keeps the numbers.\n",
    )  # fmt: skip
    kept = ("--scale", "none", "--export", "a.html", "--force")
    done = here("lab", "prices.csv", *HOW, *kept, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    scene = linsep.lab.scene_of_file(
        tmp_path / "prices.csv", delimiter=";", target="sold", decimal=",", units=True,
        exclude="day", scale="none",
    )  # fmt: skip
    source = linsep.open_source(
        tmp_path / "prices.csv", delimiter=";", target="sold", decimal=",", units=True,
        exclude="day",
    )  # fmt: skip
    (batch,) = source.batches()
    assert (scene.X == batch.X).all()
    assert scene.labels == ("no", "yes")
    assert [scene.labels[code] for *_, code in scene.points] == batch.y.tolist()
    assert scene.features == ("area", "price")
    (tmp_path / "rows.svm").write_text("1 1:2 3:4\n-1 2:1\n")
    scene = linsep.lab.scene_of_file(tmp_path / "rows.svm")
    assert scene.points == ((2.0, 0.0, 1), (0.0, 1.0, 0))
    assert scene.features == ("x1", "x2")


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["prices.csv", *HOW[:4], "--exclude", "day"], "'area' holds numbers in a special notation "
         r".* read them with --decimal ,", 1),
        (["prices.csv", *HOW, "--exclude", "area"], "has fewer than two numeric columns", 1),
        (["prices.csv", *HOW[:2], "--target", "day"], "prices.csv, column 'area' holds numbers", 1),
        (["prices.csv", *HOW, "--scene", "xor"], "--scene and a data file cannot be combined", 2),
        (["--decimal", ","], "--decimal needs a data file: name it", 2),
        (["gone.csv", "--target", "y"], "There is no file gone.csv", 1),
    ],
)  # fmt: skip
def test_files_that_are_no_scene(tmp_path, arguments, said, code):
    (tmp_path / "prices.csv").write_text(PRICES)
    assert_refused("lab", *arguments, "--export", "a.html", cwd=tmp_path, said=said, exit_code=code)


def test_rows_that_are_not_shown_are_said(tmp_path):
    many = "x,y,kind\n" + "0.1,-2,a\n,3,b\n1,2,c\n" * 400
    (tmp_path / "many.csv").write_text(many)
    how = ("many.csv", "--target", "kind", "--export", "a.html", "--force")
    assert_refused("lab", *how, cwd=tmp_path, code="missing-value")
    done = here("lab", *how, "--missing", "drop", cwd=tmp_path)
    assert done.returncode == 0
    assert "The first 500 rows of many.csv are shown; it has more." in done.stderr
    assert "rows of many.csv with missing values left out." in done.stderr


@pytest.mark.parametrize(
    ("content", "options", "labels"),
    [
        ("x;y;k\n1,5;2;Käse\n2;3;b\n".encode("latin-1"),
         ["--delimiter", ";", "--decimal", ",", "--encoding", "latin-1"], ("Käse", "b")),
        ("x,y,k\n1.5,2,Käse\n2,3,b\n".encode("utf-16"), ["--encoding", "utf-16"], ("Käse", "b")),
        ("\ufeffx,y,k\n1.5,2,7\n2,3,10\n".encode(), [], ("7", "10")),
        (b"x,y,k\n" + b"".join(b"%d,2,c%d\n" % (k, k) for k in range(10)), [],
         tuple(f"c{k}" for k in range(10))),
    ],
)  # fmt: skip
def test_encodings_and_ten_classes_of_a_file(tmp_path, content, options, labels):
    (tmp_path / "f.csv").write_bytes(content)
    how = ("f.csv", "--target", "k", *options, "--export", "a.html")
    done = here("lab", *how, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "a.html").read_text("utf-8")
    found = json.loads(page.partition('id="answer">')[2].partition("</script>")[0])
    assert tuple(found["classNames"]) == labels
    assert found["scene"]["features"] == ["x", "y"]


def test_a_fault_of_a_file_names_line_and_column(tmp_path):
    eleven = "x,y,k\n" + "".join(f"{k},2,c{k}\n" for k in range(11))
    for text, code in (
        (eleven, "class-count"),
        ("x,y,k\n1,2,a\n3e6,4,b\n", "out-of-range"),
        ("x,y,k\n1,2,a\n3,4\n", "field-count"),
    ):
        (tmp_path / "f.csv").write_text(text)
        how = ("f.csv", "--target", "k", "--export", "a.html")
        assert_refused("lab", *how, cwd=tmp_path, code=code, exit_code=1)
