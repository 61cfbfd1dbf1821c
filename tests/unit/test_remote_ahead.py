"""What is requested of remote files ahead of the rows, and how ranges of web servers come."""

import asyncio
import io
import threading
import time
from itertools import pairwise
from types import SimpleNamespace

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from campaign.web_server import WebServer

from linsep import open_source
from linsep.sources.declared import messages, placed_batches
from linsep.sources.remote import ahead, asking, direct
from linsep.sources.remote.ahead import gathered
from linsep.sources.remote.file import located
from linsep.sources.tables import remote_files
from linsep.sources.tables.files import open_table
from linsep.sources.tables.remote_files import parquet_plan

pytest.importorskip("aiohttp")
NUMBERS = np.random.default_rng(0).normal(size=60_000)


def columns(metadata, group):
    found = [metadata.row_group(group).column(k) for k in range(metadata.num_columns)]
    ends = [(c.dictionary_page_offset or c.data_page_offset, c) for c in found]
    return [(start, start + c.total_compressed_size, c.data_page_offset) for start, c in ends]


class TestBlocks:
    def test_small_neighbours_come_together_and_large_parts_in_pieces(self, monkeypatch):
        monkeypatch.setattr(ahead, "BLOCK", 100)
        monkeypatch.setattr(ahead, "AHEAD", 400)
        parts = [(0, 60), (60, 120), (120, 130), (140, 150), (150, 160), (160, 400)]
        assert gathered(parts) == [
            (0, 120),
            (120, 130),
            (140, 160),
            (160, 260),
            (260, 360),
            (360, 400),
        ]

    @pytest.mark.parametrize("damage", [0, 3, 30])
    def test_record_batches_are_where_the_end_of_the_file_says(self, damage):
        table = pa.table({"a": NUMBERS, "b": np.where(NUMBERS > 0, "x", "y")})
        out = io.BytesIO()
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=7000)
        raw, size = out.getvalue(), len(out.getvalue())
        if damage:  # of the footer's length, or of its tables
            place = size - 6 - damage if damage == 3 else size - 10 - damage
            raw = raw[:place] + b"\xff\xff\xff" + raw[place + 3 :]
            found = placed_batches(io.BytesIO(raw), size)
            assert all(isinstance(a, int) and isinstance(b, int) for a, b in found)
            return
        bodies = [start for start, kind, _ in messages(io.BytesIO(raw), size) if kind == 3]
        found = placed_batches(io.BytesIO(raw), size)
        assert len(found) == len(bodies) == 9
        assert all(start < body < end for (start, end), body in zip(found, bodies, strict=True))
        assert all(b == c for (_, b), (c, _) in pairwise(found))
        assert placed_batches(io.BytesIO(raw[:-20]), size - 20) == []

    def test_small_row_groups_come_whole_and_only_those_that_are_read(self):
        out = io.BytesIO()
        pq.write_table(pa.table({"a": NUMBERS, "b": NUMBERS}), out, row_group_size=20_000)
        metadata, size = pq.ParquetFile(out).metadata, len(out.getvalue())
        b = columns(metadata, 1)[1]
        assert parquet_plan(metadata, [1], ["b"], size) == ([b[:2]], True)
        plan, whole = parquet_plan(metadata, None, ["a", "b"], size)
        assert whole
        assert plan[0][0] == columns(metadata, 0)[0][0]
        assert sum(end - start for start, end in plan) == sum(
            end - start for group in range(3) for start, end, _ in columns(metadata, group)
        )
        assert parquet_plan(metadata, None, ["a", "b"], size - 100_000) == ([], False)

    def test_dictionaries_come_before_the_rows_of_a_large_row_group(self, monkeypatch):
        monkeypatch.setattr(ahead, "AHEAD", 300_000)
        monkeypatch.setattr(ahead, "PAGE", 40_000)
        out = io.BytesIO()
        pq.write_table(pa.table({"a": NUMBERS, "b": NUMBERS}), out)
        metadata, size = pq.ParquetFile(out).metadata, len(out.getvalue())
        plan, whole = parquet_plan(metadata, None, ["a", "b"], size)
        assert not whole
        (a, _, rows_of_a), (b, _, rows_of_b) = columns(metadata, 0)
        first = [start for start, _ in plan if start < rows_of_a or b <= start < rows_of_b]
        assert a in first
        assert b in first
        assert [start for start, _ in plan[: len(first)]] == first


@pytest.fixture
def arrow(tmp_path):
    """An Arrow file of several megabytes, and its bytes."""
    rows = np.random.default_rng(1).normal(size=(400_000, 3))
    table = pa.table({name: rows[:, k] for k, name in enumerate("abc")})
    table = table.append_column("y", pa.array((rows[:, 0] > 0).astype(int)))
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=100_000)
    return tmp_path / "x.arrow"


def sums(data):
    return [float(batch.X.sum()) for batch in open_source(data, target="y").batches()]


class TestRanges:
    def test_an_arrow_file_comes_in_few_requests(self, arrow):
        with WebServer({"/x.arrow": arrow}) as server:
            assert sums(f"{server.url}/x.arrow") == sums(arrow)
            ranges = [asked for _, _, asked, _ in server.requests]
        assert len(ranges) <= 2 + 4  # head and end, and each batch
        assert len(set(ranges)) == len(ranges)

    @pytest.mark.parametrize(("names", "copied"), [("abcy", False), ("aby", True)])
    def test_record_batches_are_copied_only_where_columns_are_chosen(self, arrow, names, copied):
        with WebServer({"/x.arrow": arrow}) as server:
            file = open_table(located(f"{server.url}/x.arrow"))
            before, most = pa.total_allocated_bytes(), 0
            for batch in file.chunks(dict.fromkeys(names, "number")):
                assert batch.num_rows == 100_000
                most = max(most, pa.total_allocated_bytes() - before)
        assert (most > 2_000_000) is copied  # of 3,200,000 bytes

    def test_one_thread_reads_a_parquet_file(self, tmp_path, monkeypatch):
        table = pa.table({"a": NUMBERS, "b": NUMBERS, "y": (NUMBERS > 0).astype(int)})
        pq.write_table(table, tmp_path / "x.parquet")
        monkeypatch.setattr(ahead, "AHEAD", 300_000)  # so that it comes in pieces
        threads, read = set(), remote_files._CheckedPages.read

        def noted(self, size=-1):
            threads.add(threading.get_ident())
            return read(self, size)

        monkeypatch.setattr(remote_files._CheckedPages, "read", noted)
        with WebServer({"/x.parquet": tmp_path / "x.parquet"}) as server:
            file = open_table(located(f"{server.url}/x.parquet"))
            assert sum(batch.num_rows for batch in file.chunks(dict.fromkeys("aby", "number")))
        assert threads == {threading.get_ident()}

    @pytest.mark.parametrize("batches", [1, 2])
    @pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
    def test_a_large_first_batch_comes_once(self, tmp_path, batches, compression):
        x = np.random.default_rng(2).normal(size=800_000)
        table = pa.table({"x": x, "y": (x > 0).astype(int)})
        path, rows = tmp_path / "x.arrow", table.num_rows // batches
        pa.feather.write_feather(table, str(path), compression=compression, chunksize=rows)
        with WebServer({"/x.arrow": path}) as server:
            assert sums(f"{server.url}/x.arrow") == sums(path)
            ranges = [asked for _, _, asked, _ in server.requests]
        assert len(set(ranges)) == len(ranges)

    def test_headers_of_the_settings_are_sent_with_every_range(self, arrow, monkeypatch):
        monkeypatch.setitem(fsspec.config.conf, "http", {"headers": {"X-Key": "secret"}})
        unkept = asking._filesystem.__wrapped__
        monkeypatch.setattr(asking, "_filesystem", unkept)
        kept = []
        monkeypatch.setattr(
            direct.Fetch, "run",
            lambda self, run=direct.Fetch.run: (kept.append(self._place.headers), run(self))[1],
        )  # fmt: skip
        with WebServer({"/x.arrow": arrow}) as server:
            assert sums(f"{server.url.replace('//', '//me:word@')}/x.arrow") == sums(arrow)
        assert kept
        assert all(sent["X-Key"] == "secret" and "Authorization" in sent for sent in kept)

    @pytest.mark.parametrize(
        "change",
        [{"history": [1]}, {"cookies": {"a": 1}}, {"kwargs": {"proxy": "http://p"}},
         {"client_kwargs": {"trust_env": True}}, {"get_client": print}],
    )  # fmt: skip
    def test_who_only_aiohttp_can_ask(self, change):
        fs = fsspec.filesystem("http", skip_instance_cache=True)
        url = SimpleNamespace(scheme="http", raw_host="h", port=80, raw_path_qs="/x?y")
        asked = SimpleNamespace(headers={"Range": "bytes=0-1", "Host": "h"})
        answer = SimpleNamespace(history=(), cookies={}, url=url, request_info=asked)
        assert direct.place_of(answer, fs) == ("http", "h", 80, "/x?y", {"Host": "h"})
        for name, value in change.items():
            setattr(answer if name in ("history", "cookies") else fs, name, value)
        assert direct.place_of(answer, fs) is None

    def test_nothing_is_written_after_a_range_is_given_up(self):
        room = np.zeros(100, np.uint8)
        with WebServer({"/x": bytes(range(1, 101))}, fault=lambda *_: "stall", stall=0.2) as server:
            host, port = server.url.removeprefix("http://").split(":")
            place = direct.Place("http", host, int(port), "/x", {})
            fetch = direct.Fetch(place, "bytes=0-99", room.data, lambda status, headers: 100, 30)

            async def given_up():
                task = asyncio.create_task(fetch.received())
                while not server.requests:
                    await asyncio.sleep(0.001)
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled()

            started = time.monotonic()
            asyncio.run(given_up())
            assert time.monotonic() - started < 10
        assert not room.any()
