"""Files in fsspec's memory and in S3 (a server on this machine), as commands read them."""

import numpy as np
import pandas as pd
import pytest

from linsep import open_source
from linsep.errors import DataError
from refusals import refused

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(scope="module")
def table():
    made = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=["a", "b", "c"])
    return made.assign(kind=np.where(made.a > 0, "yes", "no"))


def rows_of(data, **how):
    batches = list(open_source(data, target="kind", scale="none", **how).batches())
    labels = np.concatenate([batch.y for batch in batches])
    return np.concatenate([batch.X for batch in batches]).tolist(), labels.tolist()


def fill(store, table):
    """Put the table into a store in many ways; return addresses behind its protocol."""
    for number, part in enumerate((table[:100], table[100:])):
        store.pipe(f"/box/parts/part-{number}.csv", part.to_csv(index=False).encode())
        store.pipe(f"/box/parts/part-{number}.parquet", part.to_parquet())
        store.pipe(f"/box/spark/part-{number}", part.to_csv(index=False).encode())
    for name in ("_SUCCESS", "_committed_7", "deep_$folder$", ".hidden"):
        store.pipe(f"/box/spark/{name}", b"")
    store.pipe("/box/texts/readme.md", b"x")
    store.pipe("/box/folder/a b [1].csv", table.to_csv(index=False).encode())
    return [
        "box/folder", "box/folder/", "box/folder/a b [1].csv", "box/parts/part-*.csv",
        "box/**/part-?.parquet", "box/spark",
    ]  # fmt: skip


def check(protocol, store, table, tmp_path):
    table.to_csv(tmp_path / "x.csv", index=False)
    for address in fill(store, table):
        how = {"format": "csv"} if "spark" in address else {}
        assert rows_of(f"{protocol}://{address}", **how) == rows_of(tmp_path / "x.csv"), address
    for address in ("box/none.csv", "box/none-*.csv", "box/texts", "nobox/x.csv"):
        with refused(DataError, "no-file"):
            rows_of(f"{protocol}://{address}")
    source = open_source(f"{protocol}://box/parts/part-0.csv", target="kind")
    store.pipe("/box/parts/part-0.csv", table[:90].to_csv(index=False).encode())
    with refused(DataError, "file-changed"):
        list(source.batches())
    source = open_source(f"{protocol}://box/parts/part-1.parquet", target="kind")
    store.rm("/box/parts/part-1.parquet")
    with refused(DataError, "file-changed"):
        list(source.batches())


def test_memory(table, tmp_path):
    store = fsspec.filesystem("memory")
    check("memory", store, table, tmp_path)
    assert rows_of("MEMORY://box/folder") == rows_of(f"file://{tmp_path}/x.csv")
    store.rm("/box", recursive=True)


@pytest.mark.thorough
def test_s3(table, tmp_path, monkeypatch):
    s3fs = pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    settings = {"ENDPOINT_URL": f"http://127.0.0.1:{port}", "DEFAULT_REGION": "us-east-1"}
    settings |= {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret"}
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    store = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)
    store.mkdir("box")
    check("s3", store, table, tmp_path)

    async def refuse(*args, **kwargs):
        raise PermissionError("Access Denied")

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", refuse)
    with refused(DataError, "access-denied"):
        rows_of("s3://box/folder")
    server.stop()
