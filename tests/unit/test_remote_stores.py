"""Files in S3 (a server on this machine) and in the memory of fsspec."""

import re
import socket
import time
import warnings
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event, Thread

import numpy as np
import pytest
from campaign.web_server import WebServer

from linsep import open_source
from linsep._system import interrupts
from linsep.errors import DataError
from linsep.sources.remote.stores import filesystem
from remote_tables import impatient, new_stores, rows_of, small_table

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
fsspec = pytest.importorskip("fsspec")
FRESH = 0.02


@pytest.fixture(scope="module")
def table():
    return small_table()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    impatient(monkeypatch, fresh=FRESH)


@pytest.fixture(scope="module")
def bucket(table):
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        new_stores()
        store = filesystem("s3://bucket")
        store.mkdir("bucket")
        for number, part in enumerate((table[:100], table[100:])):
            store.pipe(f"bucket/parts/part-{number}.csv", part.to_csv(index=False).encode())
            store.pipe(f"bucket/parts/part-{number}.parquet", part.to_parquet())
        store.pipe("bucket/parts/.hidden.csv", b"x")
        store.pipe("bucket/texts/readme.md", b"x")
        store.pipe("bucket/folder/x.csv", table.to_csv(index=False).encode())
        store.pipe("bucket/a%20b [1].csv", table.to_csv(index=False).encode())
        store.pipe("bucket/empty.csv", b"")
        store.pipe("bucket/marked/1.csv", table[:100].to_csv(index=False).encode())
        store.pipe("bucket/marked/2?b.csv", table[100:].to_csv(index=False).encode())
        store.pipe("bucket/options/2?b=1.csv", b"x")
        for number, part in enumerate((table[:100], table[100:])):
            store.pipe(f"bucket/spark/part-{number}", part.to_csv(index=False).encode())
        for name in ("_SUCCESS", "_committed_7", "_started_7", "deep_$folder$"):
            store.pipe(f"bucket/spark/{name}", b"")
        for key in ("spark/", "spark/sub/", "emr"):
            store.call_s3("put_object", Bucket="bucket", Key=key, Body=b"")
        store.pipe("bucket/emr/x.csv", table.to_csv(index=False).encode())
        store.mkdir("root")
        store.pipe("root/x.csv", table.to_csv(index=False).encode())
        yield store
    server.stop()
    new_stores()


class TestS3:
    """moto's server speaks as S3 does."""

    @pytest.mark.parametrize(
        "address",
        [
            "s3://bucket/folder/x.csv",
            "s3://bucket/folder",
            "s3://bucket/folder/",
            "s3://bucket/parts/part-*.csv",
            "s3://bucket/**/part-?.parquet",
            "s3://bucket/a%20b [1].csv",
            "s3://bucket/marked",
            "s3://bucket/marked/*.csv",
            "s3://root",
            "s3://root/",
        ],
    )
    def test_files_folders_and_wildcards(self, bucket, table, tmp_path, address):
        table.to_csv(tmp_path / "x.csv", index=False)
        assert rows_of(address) == rows_of(tmp_path / "x.csv")

    @pytest.mark.parametrize(
        "address",
        ["spark", "spark/", "spark/*", "spark/**", "emr", "emr/", "s?ark/*"],
    )
    def test_markers_are_not_data_files(self, bucket, table, tmp_path, address):
        table.to_csv(tmp_path / "x.csv", index=False)
        source = open_source(f"s3://bucket/{address}", format="csv", target="kind")
        local = open_source(tmp_path / "x.csv", target="kind")
        X, Y = (np.vstack([b.X for b in found.batches()]) for found in (source, local))
        assert X.tolist() == Y.tolist()

    @pytest.mark.parametrize(
        ("address", "message"),
        [
            ("s3://bucket/none.csv", r"There is no file s3://bucket/none\.csv: check the"),
            ("s3://nobucket/x.csv", r"There is no file s3://nobucket/x\.csv: check"),
            ("s3://bucket/none-*.csv", r"No file matches s3://bucket/none-\*\.csv\."),
            ("s3://bucket/texts", "The folder s3://bucket/texts has no data files: name files"),
            ("s3://bucket/options", r"options/2\?b=1\.csv is taken for s3://bucket/options/2 with"),
            ("s3://bucket/empty.csv", r"s3://bucket/empty\.csv is empty: give a file with rows"),
        ],
    )
    def test_what_is_not_there(self, bucket, address, message):
        with pytest.raises(DataError, match=message):
            rows_of(address)

    def test_a_change_between_requests(self, bucket, table):
        source = open_source("s3://bucket/folder/x.csv", target="kind")
        key = source.paths[0].state
        changed = table.iloc[::-1].to_csv(index=False).encode()
        bucket.pipe("bucket/folder/x.csv", changed)
        assert key[1] == len(changed)
        with pytest.raises(DataError, match=r"s3://bucket/folder/x.csv changed while it was read:"):
            list(source.batches())
        assert open_source("s3://bucket/folder/x.csv", target="kind").paths[0].state[2] != key[2]
        bucket.pipe("bucket/folder/x.csv", table.to_csv(index=False).encode())

    def test_no_permission(self, bucket, monkeypatch):
        store = filesystem("s3://bucket")
        client = store._s3

        async def refuse(*args, **kwargs):
            raise PermissionError("Access Denied")

        monkeypatch.setattr(type(store), "_call_s3", refuse)
        with pytest.raises(DataError, match=r"is denied \(Access Denied\): check the cred"):
            rows_of("s3://bucket/folder/x.csv")
        assert store._s3 is client


#: each fault, and what comes of it if it happens at one request, and at all
S3_FAULTS = [
    ("reset", None, r"after 5 attempts: try again later"),
    ("cut", None, r"after 5 attempts: try again later"),
    ("503", None, r"\(.*\b503\b.*\) after 5 attempts: try again later"),
    ("500", None, r"\(.*\b500\b.*\) after 5 attempts: try again later"),
    ("short", None, None),
    ("other range", None, r"the server sent different bytes than requested\) after 5 attempts"),
    ("whole", None, r"the server sent different bytes than requested\) after 5 attempts"),
    ("changed", "x.csv changed while it was read: start again", None),
    ("404", "x.csv was removed while it was read", "There is no file s3://bucket/x.csv"),
    ("403", r"Access to .*x.csv is denied \(.*\): check the cred", r"x.csv is denied \("),
]


class TestS3WithFaults:
    """A web server answers requests for objects as S3 does, until it fails."""

    @pytest.fixture
    def server(self, shared, table):
        shared.files["/bucket/x.csv"] = table.to_csv(index=False).encode()
        yield shared
        shared.fault = None
        shared.requests.clear()

    @pytest.mark.parametrize(("fault", "once"), [row[:2] for row in S3_FAULTS])
    def test_once(self, server, table, tmp_path, fault, once):
        table.to_csv(tmp_path / "x.csv", index=False)
        server.fault = lambda number, path: fault if number == 3 else None
        if once is None:
            assert rows_of("s3://bucket/x.csv") == rows_of(tmp_path / "x.csv")
        else:
            with pytest.raises(DataError, match=once):
                rows_of("s3://bucket/x.csv")
        assert server.requests[3][3] == fault

    @pytest.mark.parametrize(("fault", "always"), [(row[0], row[2]) for row in S3_FAULTS])
    def test_always(self, server, table, tmp_path, fault, always):
        table.to_csv(tmp_path / "x.csv", index=False)
        server.fault = lambda number, path: fault
        if always is None:
            assert rows_of("s3://bucket/x.csv") == rows_of(tmp_path / "x.csv")
            return
        with pytest.raises(DataError, match=always) as raised:
            rows_of("s3://bucket/x.csv")
        assert "\n" not in str(raised.value)
        tried = [request for request in server.requests if request[2:] == ("bytes=0-2047", fault)]
        assert len(tried) in (1, 5, 10)  # aiohttp tries twice after a reset


@pytest.fixture(scope="module")
def shared():
    pytest.importorskip("s3fs")
    conf = {"anon": True, "client_kwargs": {"region_name": "us-east-1"}}
    with WebServer({}) as server, pytest.MonkeyPatch.context() as patch:
        patch.setitem(fsspec.config.conf, "s3", conf | {"endpoint_url": server.url})
        patch.delenv("AWS_ENDPOINT_URL", raising=False)
        new_stores()
        yield server
    new_stores()


class TestMemory:
    @pytest.fixture
    def store(self, table):
        memory = fsspec.filesystem("memory")
        memory.pipe("/box/x.parquet", table.to_parquet())
        yield memory
        memory.rm("/box", recursive=True)

    def test_rows(self, store, table, tmp_path):
        table.to_parquet(tmp_path / "x.parquet")
        assert rows_of("memory://box/x.parquet") == rows_of(tmp_path / "x.parquet")
        assert rows_of(f"file://{tmp_path}/x.parquet") == rows_of(tmp_path / "x.parquet")

    def test_a_change(self, store, table):
        source = open_source("memory://box/x.parquet", target="kind")
        store.pipe("/box/x.parquet", table[:200].to_parquet())
        with pytest.raises(DataError, match=r"x.parquet changed while it was read \([\d,]+ bytes"):
            list(source.batches())

    @pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
    def test_a_file_that_is_removed(self, store, table, tmp_path, name):
        table.to_feather(tmp_path / "x.arrow", chunksize=50)
        store.pipe("/box/x.arrow", (tmp_path / "x.arrow").read_bytes())
        source = open_source(f"memory://box/{name}", target="kind")
        store.rm(f"/box/{name}")
        time.sleep(2 * FRESH)
        with pytest.raises(DataError, match=f"{name} was removed while it was read: restore it"):
            list(source.batches())

    def test_the_state_of_a_file_that_is_removed(self, store):
        source = open_source("memory://box/x.parquet", target="kind")
        store.pipe("/box/y.parquet", b"")
        store.rm("/box/x.parquet")
        time.sleep(2 * FRESH)
        for what in ("state", "in_parts"):
            with pytest.raises(
                DataError, match=r"x.parquet was removed while it was read: restore it"
            ):
                getattr(source.paths[0], what)

    @pytest.mark.parametrize(
        "address", ["MEMORY://box/x.parquet", "Memory://box", "MEMORY://box/*"]
    )
    def test_a_protocol_in_upper_case(self, store, address):
        assert rows_of(address) == rows_of("memory://box/x.parquet")


@pytest.fixture
def ftp(tmp_path, table):
    """Address of a server of files, in a thread."""
    with warnings.catch_warnings(action="ignore"):  # of asyncore
        authorizers = pytest.importorskip("pyftpdlib.authorizers")
        from pyftpdlib.handlers import FTPHandler
        from pyftpdlib.servers import FTPServer
    (tmp_path / "parts").mkdir()
    table.to_csv(tmp_path / "x.csv", index=False)
    table[:100].to_csv(tmp_path / "parts" / "a.csv", index=False)
    table[100:].to_csv(tmp_path / "parts" / "b.csv", index=False)
    users = authorizers.DummyAuthorizer()
    users.add_user("me", "pass1word", str(tmp_path))
    how = {"authorizer": users, "auth_failed_timeout": 0}
    server = FTPServer(("127.0.0.1", 0), type("Handler", (FTPHandler,), how))
    stop = Event()

    def serve():
        while not stop.is_set():
            server.serve_forever(timeout=0.01, blocking=False, handle_exit=False)

    thread = Thread(target=serve)
    thread.start()
    yield f"127.0.0.1:{server.address[1]}"
    stop.set()
    thread.join()
    server.close_all()
    new_stores()


class TestFTP:
    @pytest.mark.parametrize("name", ["x.csv", "parts", "parts/*.csv"])
    def test_rows(self, ftp, tmp_path, name):
        assert rows_of(f"ftp://me:pass1word@{ftp}/{name}") == rows_of(tmp_path / "x.csv")

    def test_a_server_that_hangs_up_between_passes(self, ftp):
        source = open_source(f"ftp://me:pass1word@{ftp}/x.csv", target="kind")
        time.sleep(2 * FRESH)
        source.paths[0]._fs.ftp.sock.shutdown(socket.SHUT_RDWR)
        assert sum(len(batch.y) for batch in source.batches()) == 300

    @pytest.mark.parametrize(
        ("user", "name", "message"),
        [
            ("me:pass1word", "none.csv", "There is no file ftp://{}/none.csv: check the URL."),
            (
                "me:pass2word",
                "x.csv",
                "Access to ftp://{}/x.csv is denied (530 Authentication failed)",
            ),
        ],
    )
    def test_what_is_not_there(self, ftp, user, name, message):
        with pytest.raises(DataError, match=re.escape(message.format(ftp))):
            rows_of(f"ftp://{user}@{ftp}/{name}")

    @pytest.mark.parametrize(
        ("address", "message"),
        [
            (
                "ftp://u:pw@127.0.0.1:1/d.csv",
                r"no server responds at 127.0.0.1:1\) after 5 attempts: try",
            ),
            ("ftp:///d.csv", "ftp:///d.csv names no server: write ftp://HOST/FILE"),
            ("ftp://u:p/w@host/d.csv", "ftp://host/d.csv is not a valid URL: check it"),
            (
                "github://d.csv",
                r"github:// cannot be read \(its URL and .* are incomplete\)",
            ),
        ],
    )
    def test_no_such_server(self, address, message):
        with pytest.raises(DataError, match=message):
            rows_of(address)


def test_who_waits_for_an_answer_gives_up_after_ctrl_c():
    """Also in a thread, where Python does not raise KeyboardInterrupt."""
    stalled = WebServer({"/x.csv": b"x" * 9000}, fault=lambda *_: "stall", stall=5)
    with stalled as server, ThreadPoolExecutor(1) as pool:
        opening = pool.submit(open_source, f"{server.url}/x.csv", target="kind")
        while not server.requests:
            time.sleep(0.001)
        time.sleep(0.5)
        assert not opening.done()
        interrupts.count_signal()
        with pytest.raises(CancelledError):
            opening.result(timeout=2)
