"""How many requests a remote table takes, and which of its bytes are fetched."""

import gc
import io
import time

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from campaign.web_server import WebServer

from linsep import open_source
from linsep.sources.tables import parquet
from linsep.sources.tables.arrow_ipc import messages
from remote_tables import small_blocks

pytestmark = pytest.mark.compiled
pytest.importorskip("aiohttp")
ROWS = 400_000


def sums(data, **how):
    return [float(batch.X.sum()) for batch in open_source(data, target="y", **how).batches()]


def ranges(server):
    """The first and the last byte of each request, in order."""
    pairs = [asked.removeprefix("bytes=").split("-") for _, _, asked, _ in server.requests]
    return sorted((int(first), int(last)) for first, last in pairs)


@pytest.fixture(scope="module")
def table():
    rows = np.random.default_rng(1).normal(size=(ROWS, 8))
    made = pa.table({name: rows[:, k] for k, name in enumerate("abcdefgh")})
    return made.append_column("y", pa.array((rows[:, 0] > 0).astype(int)))


class TestArrow:
    @pytest.mark.parametrize("words", [False, True], ids=["numbers", "dictionaries"])
    def test_it_comes_in_few_requests(self, tmp_path, table, words):
        if words:
            column = pa.array(["x", "y"] * (ROWS // 2)).dictionary_encode()
            table = table.append_column("word", column)
        with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as writer:
            writer.write_table(table, max_chunksize=50_000)
        with WebServer({"/x.arrow": tmp_path / "x.arrow"}) as server:
            assert sums(f"{server.url}/x.arrow") == sums(tmp_path / "x.arrow")
            found = ranges(server)
        assert len(set(found)) == len(found)
        assert len(found) < 15  # of 29 MB
        assert sum(last + 1 - first for first, last in found) < 1.05 * table.nbytes

    @pytest.mark.parametrize("batches", [1, 2])
    @pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
    def test_a_large_first_batch_comes_once(self, tmp_path, table, batches, compression):
        path, rows = tmp_path / "x.arrow", table.num_rows // batches
        pa.feather.write_feather(table, str(path), compression=compression, chunksize=rows)
        with WebServer({"/x.arrow": path}) as server:
            assert sums(f"{server.url}/x.arrow") == sums(path)
            found = ranges(server)
        assert len(set(found)) == len(found)

    @pytest.mark.parametrize("damage", [0, 3, 30])
    def test_messages_are_where_the_end_of_the_file_says(self, table, damage):
        out = io.BytesIO()
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=50_000)
        raw, size = out.getvalue(), len(out.getvalue())
        if damage:  # of the footer's length, or of its tables
            place = size - 6 - damage if damage == 3 else size - 10 - damage
            raw = raw[:place] + b"\xff\xff\xff" + raw[place + 3 :]
        found = [m for m in messages(io.BytesIO(raw), size) if m.kind == 3]
        assert all(0 < m.start <= m.end <= size for m in found)
        if not damage:
            assert len(found) == 8


@pytest.fixture(scope="module")
def path(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("parquet") / "x.parquet"
    pq.write_table(table, path, row_group_size=ROWS // 5)
    return path


def settled(server):
    """Wait until a server has had no request for a while, and return how many it has had."""
    count = -1
    while len(server.requests) > count:
        count = len(server.requests)
        time.sleep(0.5)
    return count


class TestParquet:
    @pytest.mark.parametrize("leave_out", ["", "acdefgh"])
    def test_only_the_columns_that_are_used_come_and_once(self, path, leave_out):
        how = {"exclude": list(leave_out)} if leave_out else {}
        source = open_source(path, target="y", **how)
        expected = [float(batch.X.sum()) for batch in source.batches()]
        with WebServer({"/x.parquet": path}) as server:
            remote = open_source(f"{server.url}/x.parquet", target="y", **how)
            opened = settled(server)  # the first rows of all columns were looked at
            found = [float(batch.X.sum()) for batch in remote.batches()]
            asked = [r[2].removeprefix("bytes=").split("-") for r in server.requests[opened:]]
        assert sum(found) == pytest.approx(sum(expected))
        fetched = sum(int(last) + 1 - int(first) for first, last in asked)
        assert fetched < (0.3 if leave_out else 1.1) * path.stat().st_size + (2 << 20)

    def test_blocks_of_any_size_give_the_same_rows(self, path, monkeypatch):
        small_blocks(monkeypatch, block=1 << 17, ahead=1 << 20, piece=100_000)
        with WebServer({"/x.parquet": path}) as server:
            assert sum(sums(f"{server.url}/x.parquet")) == pytest.approx(sum(sums(path)))

    def test_row_groups_beyond_the_memory_for_them_are_copied_first(
        self, path, monkeypatch, tmp_path
    ):
        monkeypatch.setattr(parquet, "MOST_GROUP", 1 << 20)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with WebServer({"/x.parquet": path}) as server:
            source = open_source(f"{server.url}/x.parquet", target="y")
            rows = [batch.X for batch in source.batches()]
            local = [batch.X for batch in open_source(path, target="y").batches()]
            np.testing.assert_array_equal(np.concatenate(rows), np.concatenate(local))
            assert [copy.stat().st_size for copy in tmp_path.glob("*/copy")] == [
                path.stat().st_size
            ]
            del source
            gc.collect()
        assert list(tmp_path.iterdir()) == []
