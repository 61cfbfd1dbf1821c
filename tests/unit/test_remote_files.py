"""Files of a web server: the same rows as from the local file, or one error with a code."""

import pickle
import re
import sys

import numpy as np
import pandas as pd
import pytest
from campaign.web_server import WebServer

from interrupting import in_pass
from linsep import Perceptron, open_source, save
from linsep.errors import CheckpointError, DataError
from linsep.sources.remote import file
from linsep.sources.remote.address import identified, shown
from refusals import refused

pytest.importorskip("aiohttp")
ROWS = 400


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks are small."""
    monkeypatch.setattr(file, "BLOCK", 3000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows in every format."""
    made = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
    table["word"] = rng.choice(["red", "green", "blue"], ROWS)
    table["kind"] = np.where(table.a + table.b > 0.3, "yes", "no")
    table.to_csv(made / "x.csv", index=False)
    table.to_csv(made / "x.csv.gz", index=False)
    table.to_json(made / "x.jsonl", orient="records", lines=True)
    table.to_parquet(made / "x.parquet", row_group_size=150)
    table.to_feather(made / "x.arrow", compression="zstd", chunksize=100)
    pairs = [f"{'+1' if r.kind == 'yes' else '-1'} 1:{r.a!r}\n" for r in table.itertuples()]
    (made / "x.svm").write_text("".join(pairs))
    (made / "x.vw").write_text("".join(pairs).replace(" 1:", " | a:"))
    (made / "empty.csv").write_bytes(b"")
    return made


@pytest.fixture
def serve(folder):
    """Function that serves the folder with faults."""
    servers = []

    def start(**how):
        files = {f"/{path.name}": path.read_bytes() for path in folder.iterdir()}
        servers.append(WebServer(files, **how).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__()


def source_of(data, **how):
    has_names = not str(data).endswith((".svm", ".vw"))
    return open_source(data, **({"target": "kind"} if has_names else {}), **how)


def rows_of(data):
    """The bits of all rows, their labels, and the recipe."""
    source = source_of(data)
    batches = list(source.batches())
    X = [b.X if isinstance(b.X, np.ndarray) else b.X.toarray() for b in batches]
    return np.vstack(X).tobytes(), np.concatenate([b.y for b in batches]).tolist(), source.recipe()


@pytest.mark.parametrize("ranges", [True, False], ids=["parts", "whole files"])
def test_every_format_is_read_to_the_same_bits(serve, folder, ranges):
    server = serve(ranges=ranges)
    for path in sorted(folder.glob("x.*")):
        assert rows_of(f"{server.url}/{path.name}") == rows_of(path), path.name
    server = serve(tags=False, dates=False, lengths=False, ranges=False)
    assert rows_of(f"{server.url}/x.csv") == rows_of(folder / "x.csv")


def test_of_parquet_only_the_columns_that_are_used_come(serve, monkeypatch):
    server = serve()
    source = open_source(f"{server.url}/x.parquet", target="kind", exclude=["a", "b", "c"])
    server.requests.clear()
    list(source.batches())
    asked = [r[2].removeprefix("bytes=").split("-") for r in server.requests if r[2]]
    fetched = sum(int(last) + 1 - int(first) for first, last in asked)
    assert 0 < fetched < 0.6 * len(server.files["/x.parquet"])


#: each fault, and the code of what comes of it from the sixth request on
FAULTS = {
    "cut": "unreachable", "reset": "unreachable", "503": "unreachable", "short": "unreachable",
    "404": "file-changed", "403": "access-denied", "slow": None,
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_server(serve, folder, fault):
    server = serve(fault=lambda number, path: fault if number > 5 else None)
    if FAULTS[fault] is None:
        assert rows_of(f"{server.url}/x.csv")[0] == rows_of(folder / "x.csv")[0]
        return
    with refused(DataError, FAULTS[fault]) as raised:
        rows_of(f"{server.url}/x.csv")
    assert str(raised.value.path) == f"{server.url}/x.csv"


def test_a_server_that_refuses_at_once(serve, monkeypatch):
    monkeypatch.setattr(file, "SILENCE", 0.2)
    for status, code in (("404", "no-file"), ("403", "access-denied"), ("500", "unreachable"),
                         ("stall", "unreachable")):  # fmt: skip
        server = serve(fault=lambda number, path, status=status: status, stall=1)
        with refused(DataError, code):
            source_of(f"{server.url}/x.csv")


@pytest.mark.parametrize("name", ["x.parquet", "x.svm"])
def test_a_change_while_rows_are_read_is_noticed_at_the_end(serve, name):
    server = serve()
    source = source_of(f"{server.url}/{name}")
    server.fault = lambda number, path: "changed"
    with refused(DataError, "file-changed"):
        list(source.batches())


@pytest.mark.parametrize("tags", [True, False], ids=["ETag", "date"])
def test_a_change_of_the_same_size_between_passes(serve, tags):
    server = serve(tags=tags)
    source = source_of(f"{server.url}/x.csv")
    list(source.batches())
    server.fault = lambda number, path: "changed"
    with refused(DataError, "file-changed"):
        list(source.batches())
    for fault in ("changed", "404"):
        server.fault = lambda number, path, fault=fault: fault
        with refused(DataError, "file-changed"):
            source.paths[0].check()


def test_addresses_of_no_rows(serve, monkeypatch):
    server = serve()
    for address, code in (
        ("{}/none.csv", "no-file"), ("{}/empty.csv", "no-rows"),
        ("http://127.0.0.1:1/x.csv", "unreachable"), ("http://:80/x.csv", "bad-url"),
        ("http://host:99999/x.csv", "bad-url"), ("nope://bucket/x.csv", "bad-url"),
        ("zip://x.csv::{}/x.zip", "bad-url"), ("simplecache::{}/x.csv", "bad-url"),
    ):  # fmt: skip
        with refused(DataError, code):
            source_of(address.format(server.url))
    with refused(DataError, "not-a-file"):
        source_of(f"{server.url}/x.csv", format="folder")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with refused(DataError, "missing-package"):
        open_source("s3://bucket/x.csv")


def test_what_a_server_compresses_on_the_way(serve, folder):
    """The name says whether the file itself is compressed."""
    server = serve(encoding="gzip")
    assert rows_of(f"{server.url}/x.csv.gz")[0] == rows_of(folder / "x.csv")[0]
    server.files["/x.csv"] = server.files["/x.csv.gz"]
    assert rows_of(f"{server.url}/x.csv")[0] == rows_of(folder / "x.csv")[0]


def fitted(address, cache=None):
    source = source_of(address, cache=cache)
    source.memory_bytes = 0
    return Perceptron(max_iter=3).fit(source)


def test_rows_are_kept_for_later_runs(serve, folder, tmp_path):
    server = serve()
    local = Perceptron(max_iter=3).fit(source_of(folder / "x.csv"))
    for _ in range(2):
        assert fitted(f"{server.url}/x.csv", tmp_path).coef_.tobytes() == local.coef_.tobytes()
    assert len(list((tmp_path / "linsep-rows").iterdir())) == 1
    server.files["/x.csv"] = server.files["/x.csv"].replace(b"yes", b"YES")
    assert fitted(f"{server.url}/x.csv", tmp_path).classes_.tolist() == ["YES", "no"]


def test_no_rows_are_kept_of_a_server_that_says_no_version(serve, tmp_path):
    server = serve(tags=False, dates=False)
    fitted(f"{server.url}/x.csv", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_addresses_that_differ_in_their_query_are_other_files(serve, tmp_path):
    server = serve(tags=False)
    text = server.files["/x.csv"]
    turned = text.replace(b"yes", b"xxx").replace(b"no\n", b"yes\n").replace(b"xxx", b"no")
    size = max(len(text), len(turned))
    for k, content in enumerate((text, turned)):
        server.files[f"/t.csv?t={k}"] = content.ljust(size, b"\n")
    one, other = (f"{server.url}/t.csv?t={k}" for k in (0, 1))
    plain = [fitted(address).coef_.tobytes() for address in (one, other)]
    assert plain[0] != plain[1]
    assert [fitted(address, tmp_path).coef_.tobytes() for address in (one, other)] == plain
    caches = list((tmp_path / "linsep-rows").iterdir())
    assert len(caches) == 2
    assert not any(b"?t=" in path.read_bytes() for path in caches)
    path = tmp_path / "c"
    with in_pass(1), pytest.raises(KeyboardInterrupt):
        Perceptron(max_iter=3).fit(source_of(one), checkpoint=path)
    assert b"t=0" not in path.read_bytes()
    with refused(CheckpointError, "bad-checkpoint"):
        Perceptron(max_iter=3).fit(source_of(other), checkpoint=path)


def test_nothing_shows_user_password_or_signature(serve, tmp_path):
    server = serve(fault=lambda number, path: "503" if "bad" in path else None)
    host = server.url.removeprefix("http://")
    for name in ("bad.csv", "none.csv"):
        with pytest.raises(DataError) as raised:
            source_of(f"http://me:pass1word@{host}/{name}?sig=hidden")
        assert raised.value.__cause__ is None
        assert not [word for word in ("pass1word", "hidden", "me:") if word in str(raised.value)]
    source = source_of(f"http://me:pass1word@{host}/x.csv?sig=hidden", cache=tmp_path)
    source.memory_bytes = 0
    save(Perceptron().fit(source), tmp_path / "model.linsep")
    assert source.name == f"{server.url}/x.csv?..."
    texts = [repr(source).encode(), repr(source.paths).encode(), str(source.recipe()).encode()]
    texts += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(texts) == 5
    assert not any(word in text for text in texts for word in (b"pass1word", b"hidden"))
    assert pickle.loads(pickle.dumps(source.paths[0])) == source.paths[0]


SHOWN = {
    "s3://bucket/a@b.csv": "s3://bucket/a@b.csv",
    "s3://bucket/a.csv?versionId=7": "s3://bucket/a.csv?...",
    "abfs://box@account.dfs.core.windows.net/a.csv": "abfs://box@account.dfs.core.windows.net/a.csv",
    "HTTPS://token@host/a.csv": "https://host/a.csv",
    "https://me:p?w@host/a.csv": "https://host/a.csv",
    "ftp://me:p/w@host/a.csv": "ftp://host/a.csv",
    "http://[::1]:80/a@b.csv": "http://[::1]:80/a@b.csv",
    "zip://a.csv::http://u:pw@host/x.zip?sig=7": "zip://a.csv::http://host/x.zip?...",
}


def test_shown_addresses():
    assert {address: shown(address) for address in SHOWN} == SHOWN


def test_addresses_of_other_files_are_told_apart_without_their_secrets():
    one, other = "https://host/a.csv", "https://host/a.csv?t=2"
    assert identified(one) != identified(other)
    hashed = re.escape(shown(other)) + r" \([0-9a-f]{16}\)"
    assert re.fullmatch(hashed, identified(other))
    words = ["one", "t/wo", "fo@ur", ""]
    assert len({identified(f"ftp://me:{word}@host/a.csv") for word in words}) == 1
