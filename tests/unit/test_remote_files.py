"""Files of a web server with faults: the same rows as from the local file, or one sentence."""

import lzma
import pickle
import re
import socket
import sys
import threading
import time
import traceback

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from campaign.web_server import WebServer

from interrupting import in_pass
from linsep import Perceptron, open_source, save
from linsep._system.caches import CacheWarning
from linsep.errors import CheckpointError, DataError
from linsep.sources.formats import CODECS
from linsep.sources.remote.address import identified, shown
from linsep.sources.remote.file import located, no_file
from refusals import refused
from remote_tables import impatient, new_stores

pytestmark = pytest.mark.compiled
pytest.importorskip("aiohttp")
ROWS, FRESH = 400, 0.05


@pytest.fixture(autouse=True)
def small(monkeypatch):
    impatient(monkeypatch, fresh=FRESH)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows in every format."""
    made = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
    table["word"] = rng.choice(["red", "green", "blue"], ROWS)
    table["kind"] = np.where(table.a + table.b > 0.3, "yes", "no")
    table.to_csv(made / "x.csv", index=False)
    for ending, codec in CODECS.items():
        text, packed = (made / "x.csv").read_bytes(), made / f"x.csv{ending}"
        if codec == "xz":
            packed.write_bytes(lzma.compress(text))
            continue
        with pa.output_stream(str(packed), compression=codec) as out:
            out.write(text)
    table.to_csv(made / "x.tsv", index=False, sep="\t")
    table.to_json(made / "x.jsonl", orient="records", lines=True)
    table.to_parquet(made / "x.parquet", row_group_size=150)
    table.to_feather(made / "x.feather", compression="lz4")
    table.to_feather(made / "x.arrow", compression="uncompressed", chunksize=100)
    table.astype({"word": "category"}).to_feather(made / "words.arrow", chunksize=100)
    lines = [
        f"{'+1' if r.kind == 'yes' else '-1'} 1:{r.a!r} 4:{r.b!r}\n" for r in table.itertuples()
    ]
    (made / "x.svm").write_text("".join(lines))
    (made / "plain").write_text("".join(lines))
    lines = [line.replace(" 1:", " | a:").replace(" 4:", " b:") for line in lines]
    (made / "x.vw").write_text("".join(lines))
    (made / "empty.csv").write_bytes(b"")
    return made


@pytest.fixture
def serve(folder):
    """Function that serves the folder with faults."""
    servers_of_test = []

    def start(**how):
        files = {f"/{path.name}": path.read_bytes() for path in folder.iterdir()}
        servers_of_test.append(WebServer(files, **how).__enter__())
        return servers_of_test[-1]

    yield start
    for server in servers_of_test:
        server.__exit__()


def options_of(name):
    tables = (".csv", ".tsv", ".jsonl", ".parquet", ".feather", ".arrow")
    return {"target": "kind"} if any(ending in name for ending in tables) else {}


def rows_of(data, name):
    """All rows, and what the source says of them."""
    source = open_source(data, **options_of(name))
    batches = list(source.batches())
    parts = [sp.csr_array(batch.X) for batch in batches]
    wide = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize(part.shape[0], wide)
    X = sp.vstack(parts, format="csr")
    bits = [array.tobytes() for array in (X.data, X.indices, X.indptr)]
    return bits, np.concatenate([b.y for b in batches]).tolist(), source.recipe()


FORMATS = [
    "x.csv", "x.csv.gz", "x.csv.zst", "x.csv.bz2", "x.tsv", "x.jsonl", "x.parquet", "x.feather",
    "x.arrow", "words.arrow", "x.svm", "x.vw", "plain",
]  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("ranges", [True, False], ids=["parts", "whole files"])
def test_every_format_is_read_to_the_same_bits(serve, folder, name, ranges):
    server = serve(ranges=ranges)
    assert rows_of(f"{server.url}/{name}", name) == rows_of(folder / name, name)


#: each fault, and what comes of it if it happens at one request, and at all
TABLE = [
    ("reset", None, "unreachable"),
    ("cut", None, "unreachable"),
    ("cut and reset", None, "unreachable"),
    ("500", None, "unreachable"),
    ("503", None, "unreachable"),
    ("429", None, "unreachable"),
    ("stall", None, "unreachable"),
    ("other range", None, "unreachable"),
    ("short", None, None),
    ("slow", None, None),
    ("redirect", None, "unreachable"),
    ("whole", "unreachable", None),
    ("changed", "file-changed", None),
    ("404", "file-changed", "no-file"),
    ("403", "access-denied", "access-denied"),
]


@pytest.mark.parametrize(("fault", "code"), [row[:2] for row in TABLE])
def test_a_fault_at_one_request(serve, folder, monkeypatch, fault, code):
    impatient(monkeypatch, 0.3 if fault == "stall" else 30, FRESH)
    server = serve(fault=lambda number, path: fault if number == 4 else None, stall=0.6)
    if code is None:
        assert rows_of(f"{server.url}/x.csv", "x.csv") == rows_of(folder / "x.csv", "x.csv")
    else:
        with refused(DataError, code) as raised:
            rows_of(f"{server.url}/x.csv", "x.csv")
        assert f"{server.url}/x.csv " in str(raised.value)
    assert server.requests[4][3] == fault


@pytest.mark.parametrize(("fault", "code"), [(row[0], row[2]) for row in TABLE])
def test_a_fault_at_every_request(serve, folder, monkeypatch, fault, code):
    impatient(monkeypatch, 0.3 if fault == "stall" else 30, FRESH)
    server = serve(fault=lambda number, path: fault, stall=0.6)
    if code is None:
        assert rows_of(f"{server.url}/x.csv", "x.csv") == rows_of(folder / "x.csv", "x.csv")
        return
    with refused(DataError, code) as raised:
        rows_of(f"{server.url}/x.csv", "x.csv")
    message = str(raised.value)
    assert f"{server.url}/x.csv" in message
    assert message.count(". ") == 0
    if "attempts" in message:
        assert "after 5 attempts: try again later" in message
        assert len(server.requests) in (5, 10)  # aiohttp tries twice after a reset
    elif fault != "redirect":
        assert len(server.requests) == 1


def test_a_change_between_passes(serve, folder):
    server = serve()
    source = open_source(f"{server.url}/x.csv", target="kind")
    for _ in source.batches():
        pass
    server.files["/x.csv"] += b"1,2,3,red,yes\n"
    time.sleep(2 * FRESH)
    with refused(DataError, "file-changed"):
        for _ in source.batches():
            pass


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.arrow"])
@pytest.mark.parametrize("tags", [True, False], ids=["ETag", "date"])
def test_a_change_of_the_same_size_between_requests(serve, name, tags):
    server = serve(tags=tags, fault=lambda number, path: "changed" if number > 5 else None)
    with refused(DataError, "file-changed"):
        rows_of(f"{server.url}/{name}", name)


def test_a_server_that_says_nothing_of_a_file(serve, folder):
    server = serve(tags=False, dates=False, lengths=False, ranges=False)
    assert rows_of(f"{server.url}/x.csv", "x.csv") == rows_of(folder / "x.csv", "x.csv")


def test_a_whole_file_that_is_cut_short_comes_again(serve, folder):
    server = serve(ranges=False, fault=lambda number, path: "cut" if number == 1 else None)
    assert rows_of(f"{server.url}/x.csv", "x.csv") == rows_of(folder / "x.csv", "x.csv")
    assert [request[3] for request in server.requests[:2]] == [None, "cut"]


def test_files_of_no_bytes_and_of_no_server(serve):
    server = serve()
    with refused(DataError, "no-rows"):
        open_source(f"{server.url}/empty.csv", target="kind")
    with refused(DataError, "no-file"):
        open_source(f"{server.url}/none.csv", target="kind")
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with refused(DataError, "unreachable"):
        open_source(f"{url}/x.csv", target="kind")


def test_content_encoding_that_the_name_does_not_say(serve):
    server = serve(encoding="gzip")
    with refused(DataError, "wrong-format"):
        open_source(f"{server.url}/x.csv", target="kind")
    rows_of(f"{server.url}/x.csv.gz", "x.csv.gz")


def test_rows_as_they_are_learned_are_not_read_from_afar(serve):
    server = serve()
    server.files["/a.rows"] = b"x"
    with refused(DataError, "unsupported"):
        open_source(f"{server.url}/a.rows")


def test_rows_are_kept_for_later_runs(serve, folder, tmp_path):
    server = serve()
    local = Perceptron().fit(open_source(folder / "x.csv", target="kind"))

    def fitted():
        source = open_source(f"{server.url}/x.csv", target="kind", cache=tmp_path)
        source.memory_bytes = 0
        time.sleep(2 * FRESH)  # what was looked at is not fresh any more
        return Perceptron().fit(source)

    for _ in range(2):
        assert fitted().coef_.tobytes() == local.coef_.tobytes()
        count, server.requests[:] = len(server.requests), []
    first = [(tmp_path / "linsep-rows").iterdir()]
    assert len(first) == 1
    server.files["/x.csv"] = server.files["/x.csv"].replace(b"yes", b"YES")
    time.sleep(2 * FRESH)
    assert fitted().classes_.tolist() == ["YES", "no"]
    assert len(server.requests) > count


def of_two_queries(serve):
    """Addresses of two files of equal size and date, which differ in their query only."""
    server = serve(tags=False)
    text = server.files["/x.csv"]
    turned = text.replace(b"yes", b"xxx").replace(b"no\n", b"yes\n").replace(b"xxx", b"no")
    some = min(len(text), len(turned))
    for name, content in (("/t.csv?t=1", text), ("/t.csv?t=2", turned)):
        server.files[name] = content.ljust(2 * some, b"\n")
    assert len(server.files["/t.csv?t=1"]) == len(server.files["/t.csv?t=2"])
    return [f"{server.url}/t.csv?t={k}" for k in (1, 2)]


def test_addresses_that_differ_in_their_query_are_other_files(serve, tmp_path):
    one, other = of_two_queries(serve)

    def fitted(address, cache):
        source = open_source(address, target="kind", cache=cache)
        source.memory_bytes = 0
        return Perceptron().fit(source)

    plain = [fitted(address, None).coef_.tobytes() for address in (one, other)]
    assert plain[0] != plain[1]
    for _ in range(2):
        assert [fitted(address, tmp_path).coef_.tobytes() for address in (one, other)] == plain
    caches = list((tmp_path / "linsep-rows").iterdir())
    assert len(caches) == 2  # none takes the place of the other
    assert not any(b"?t=" in path.read_bytes() for path in caches)


def test_a_checkpoint_of_another_query_is_refused(serve, tmp_path, monkeypatch):
    one, other = of_two_queries(serve)
    path = tmp_path / "c"

    def fit(*addresses):
        sources = [open_source(list(addresses), target="kind")]
        return Perceptron(max_iter=3).fit(*sources, checkpoint=path)

    for first, second, code in [
        ((one,), (other,), "bad-checkpoint"),
        ((one, other), (other, one), "bad-checkpoint"),
        ((one, one), (one, other), "bad-checkpoint"),
    ]:
        with in_pass(1), pytest.raises(KeyboardInterrupt):
            fit(*first)
        assert b"t=1" not in path.read_bytes()
        with refused(CheckpointError, code) as raised:
            fit(*second)
        assert "t=2" not in str(raised.value)
        fit(*first)
        assert not path.exists()


def test_no_rows_are_kept_of_a_server_that_says_no_date(serve, tmp_path):
    server = serve(tags=False, dates=False)
    with pytest.warns(CacheWarning, match=r"Parsed rows of http://.*/x.csv are not kept for later"):
        source = open_source(f"{server.url}/x.csv", target="kind", cache=tmp_path)
    source.memory_bytes = 0
    Perceptron().fit(source)
    assert list(tmp_path.iterdir()) == []


def test_nothing_shows_user_password_or_signature(serve, tmp_path):
    server = serve(fault=lambda number, path: "503" if "bad" in path else None)
    server.files["/bad.csv"] = b""
    host = server.url.removeprefix("http://")
    for name in ("bad.csv", "none.csv"):
        with pytest.raises(DataError) as raised:
            open_source(f"http://me:pass1word@{host}/{name}?sig=hidden", target="kind")
        shown_error = traceback.TracebackException.from_exception(raised.value)
        shown_error.stack.clear()
        text = "".join(shown_error.format())
        assert f"{server.url}/{name}?..." in str(raised.value)
        assert not [word for word in ("pass1word", "hidden", "me:") if word in text]
    source = open_source(
        f"http://me:pass1word@{host}/x.csv?sig=hidden", target="kind", cache=tmp_path
    )
    source.memory_bytes = 0
    model = Perceptron().fit(source)
    save(model, tmp_path / "model.linsep")
    shown = [source.name, repr(source), repr(source.paths), str(source.recipe())]
    assert source.name == f"{server.url}/x.csv?..."
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    for text in [*(text.encode() for text in shown), *files]:
        assert b"pass1word" not in text
        assert b"hidden" not in text
    assert pickle.loads(pickle.dumps(source.paths[0])) == source.paths[0]


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("s3://bucket/a@b.csv", "s3://bucket/a@b.csv"),
        ("s3://bucket/a.csv?versionId=7", "s3://bucket/a.csv"),
        ("abfs://box@account.dfs.core.windows.net/a.csv", "abfs://box@account.dfs.core.windows.net/a.csv"),
        ("abfs://box:key@account/a.csv", "abfs://account/a.csv"),
        ("sftp://me:word@host:22/a.csv", "sftp://host:22/a.csv"),
        ("HTTPS://token@host/a.csv#part?x", "https://host/a.csv"),
        ("https://host?key=1", "https://host?..."),
        ("https://me:p?w@host/a.csv", "https://host/a.csv"),
        ("ftp://me:p/w@host/a.csv", "ftp://host/a.csv"),
        ("http://host:80/a@b.csv", "http://host:80/a@b.csv"),
        ("http://[::1]:80/a@b.csv", "http://[::1]:80/a@b.csv"),
        ("zip://a.csv::http://u:pw@host/x.zip?sig=7", "zip://a.csv::http://host/x.zip?..."),
        ("simplecache::ftp://u:pw@host/x.csv", "simplecache::ftp://host/x.csv"),
        ("https://host/a.csv?k=7::http://b/key", "https://host/a.csv?..."),
    ],
)  # fmt: skip
def test_shown_addresses(address, seen):
    assert shown(address) == seen


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://host/a.csv?t=1", "https://host/a.csv?t=2"),
        ("https://host/a.csv", "https://host/a.csv?t=2"),
        ("s3://bucket/a.csv?versionId=7", "s3://bucket/a.csv?versionId=8"),
        ("ftp://me:word@host/a.csv", "ftp://you:word@host/a.csv"),
        ("abfs://box:key@account/a.csv", "abfs://bag:key@account/a.csv"),
    ],
)
def test_addresses_of_other_files_are_told_apart(one, other):
    assert identified(one) != identified(other)
    for address in (one, other):
        hides = shown(address) != address
        assert re.fullmatch(
            re.escape(shown(address)) + r"( \([0-9a-f]{16}\))" * hides, identified(address)
        )


@pytest.mark.parametrize("address", ["ftp://me:{}@host/a.csv", "http://me:{}@host/a.csv?t=1"])
def test_a_password_is_in_no_hash(address):
    words = ["one", "t/wo", "th?ree", "fo@ur", ""]
    assert len({identified(address.format(word)) for word in words}) == 1


def test_a_missing_package(monkeypatch):
    new_stores()
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with refused(DataError, "missing-package"):
        open_source("s3://bucket/x.csv")
    monkeypatch.undo()

    def without(protocol, **how):
        raise ImportError("Install s3fs to access S3")

    with monkeypatch.context() as patch:
        patch.setattr("fsspec.filesystem", without)
        with refused(DataError, "missing-package"):
            open_source("s3://bucket/x.csv")
        new_stores()
        with refused(DataError, "missing-package"):
            open_source("gs://bucket/x.csv")
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with refused(DataError, "missing-package"):
        open_source("abfs://bucket/x.csv")
    with refused(DataError, "bad-url"):
        open_source("nope://bucket/x.csv")


@pytest.mark.parametrize("start", ["zip://x.csv", "simplecache"])
def test_chains_are_refused_without_their_passwords(start):
    with refused(DataError, "bad-url") as no:
        open_source(f"{start}::https://me:pass1word@host/x.zip?sig=hidden")
    assert not [word for word in ("pass1word", "hidden", "me:") if word in str(no.value)]
    with refused(DataError, "bad-url"):
        open_source("zip://x.csv")


def test_addresses_with_two_colons_that_are_no_chain(serve):
    server = serve()
    server.files["/a::b.csv"] = server.files["/x.csv"]
    rows_of(f"{server.url}/a::b.csv", "x.csv")
    with refused(DataError, "unreachable"):
        open_source("http://[::1]:1/x.csv")


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("http://", "bad-url"),
        ("http://:80/x.csv", "bad-url"),
        ("http://u:p/w@host/x.csv", "bad-url"),
        (
            "http://x.invalid/x.csv",
            "unreachable",
        ),
    ],
)
def test_addresses_of_no_server(address, code):
    with refused(DataError, code):
        open_source(address)


def test_a_server_that_does_not_speak_tls():
    def answer():
        connection, _ = plain.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as plain:
        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{plain.getsockname()[1]}"
        with refused(DataError, "unreachable"):
            open_source(f"https://{address}/x.csv")
        thread.join()


def test_the_end_of_an_address_with_a_query():
    file = located("http://host/x.csv?sig=1")
    assert str(no_file(file)) == "There is no file http://host/x.csv?...: check the URL."


def test_a_file_that_is_removed_before_its_state_is_asked(serve):
    server = serve()
    source = open_source(f"{server.url}/x.csv", target="kind")
    del server.files["/x.csv"]
    time.sleep(2 * FRESH)
    for what in ("state", "in_parts"):
        with refused(DataError, "file-changed"):
            getattr(source.paths[0], what)
