"""Files in Google Storage: an emulator of it on this machine, asked by gcsfs."""

import time

import pytest

from linsep import open_source
from linsep.errors import DataError
from linsep.sources.remote.stores import filesystem
from remote_tables import impatient, new_stores, rows_of, small_table

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
fsspec = pytest.importorskip("fsspec")
FRESH = 0.02


@pytest.fixture(scope="module")
def table():
    return small_table()


@pytest.fixture(scope="module")
def box(table):
    emulator = pytest.importorskip("gcp_storage_emulator.server")
    server = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket="box")
    server.start()
    url = f"http://127.0.0.1:{server._api._httpd.server_address[1]}"
    with pytest.MonkeyPatch.context() as patch:
        # Newer releases ask over gRPC, which the emulator does not speak, what kind a bucket is.
        patch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
        pytest.importorskip("gcsfs")
        patch.setitem(fsspec.config.conf, "gs", {"token": "anon", "endpoint_url": url})
        new_stores()
        store = filesystem("gs://box")
        store.pipe("box/folder/x.csv", table.to_csv(index=False).encode())
        for number, part in enumerate((table[:100], table[100:])):
            store.pipe(f"box/parts/part-{number}.parquet", part.to_parquet())
        yield store
    server.stop()
    new_stores()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    impatient(monkeypatch, fresh=FRESH, small=False)  # the emulator takes half a second for a range


@pytest.mark.parametrize(
    "address",
    [
        "gs://box/folder/x.csv",
        "gcs://box/folder",
        "gs://box/parts/part-*.parquet",
        "gs://box/**/part-?.parquet",
    ],
)
def test_files_folders_and_wildcards(box, table, tmp_path, address):
    table.to_csv(tmp_path / "x.csv", index=False)
    assert rows_of(address) == rows_of(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("gs://box/none.csv", r"There is no file gs://box/none\.csv: check the"),
        ("gs://nobox/x.csv", r"There is no file gs://nobox/x\.csv: check"),
        ("gs://box/none-*.csv", r"No file matches gs://box/none-\*\.csv\."),
    ],
)
def test_what_is_not_there(box, address, message):
    with pytest.raises(DataError, match=message):
        rows_of(address)


def test_a_change_between_requests(box, table):
    box.pipe("box/changing.csv", table.to_csv(index=False).encode())
    source = open_source("gs://box/changing.csv", target="kind")
    box.pipe("box/changing.csv", table.iloc[::-1].to_csv(index=False).encode())
    time.sleep(2 * FRESH)
    with pytest.raises(DataError, match=r"gs://box/changing.csv changed while it was read"):
        list(source.batches())


def test_a_store_that_does_not_answer(box, monkeypatch, capfd):
    nobody = {"token": "anon", "endpoint_url": "http://127.0.0.1:1"}
    monkeypatch.setitem(fsspec.config.conf, "gs", nobody)
    new_stores()
    with pytest.raises(
        DataError, match=r"no server responds at 127.0.0.1:1\) after 5 attempts: try"
    ):
        rows_of("gs://box/folder/x.csv")
    assert capfd.readouterr().err == ""
    new_stores()
