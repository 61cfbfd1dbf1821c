"""Parquet and Arrow files that ask for far more memory than they hold, or are damaged."""

import io
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linsep import open_source
from linsep.errors import DataError
from linsep.sources.tables.parquet import read_struct
from refusals import refused
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled

ROWS = 12_000_000  # 96 MB of zeros


def swollen_parquet(path):
    table = pa.table({"x": np.zeros(ROWS), "kind": np.arange(ROWS) % 2 == 0})
    plain = {"use_dictionary": False, "compression": "zstd", "write_statistics": False}
    pq.write_table(table, path, row_group_size=ROWS, **plain)


def swollen_arrow(path, new=pa.ipc.new_file):
    table = pa.table({"x": np.zeros(ROWS), "kind": np.arange(ROWS) % 2 == 0})
    with new(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table, max_chunksize=ROWS)


def swollen_stream(path):
    swollen_arrow(path, pa.ipc.new_stream)


@pytest.mark.parametrize(
    ("name", "write"),
    [("b.parquet", swollen_parquet), ("b.arrow", swollen_arrow), ("c.arrow", swollen_stream)],
)
def test_columns_that_swell_are_refused_before_they_do(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    before = pa.total_allocated_bytes()
    for data in (path, afar(path)):
        with refused(DataError, "too-large"):
            next(open_source(data, target="kind").batches())
        assert pa.total_allocated_bytes() - before < 1 << 20


@pytest.mark.parametrize("at", [8, 12])
def test_a_file_whose_messages_cannot_be_followed_from_its_start(tmp_path, at):
    """Arrow reads those that its end names."""
    path = tmp_path / "b.arrow"
    swollen_arrow(path)
    data = path.read_bytes()
    path.write_bytes(data[:at] + bytes(4) + data[at + 4 :])
    with pa.OSFile(str(path)) as raw:
        assert pa.ipc.open_file(raw).num_record_batches == 1
    for data in (path, afar(path)):
        with refused(DataError, "too-large"):
            next(open_source(data, target="kind").batches())


def in_old_framing(path, new):
    """Arrow reads messages without the mark that they begin with since 2019, too."""
    table = pa.table({"x": np.zeros(ROWS), "kind": np.arange(ROWS) % 2 == 0})
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_legacy_format=True)
    with new(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=ROWS)


def with_the_end_of_another(path):
    """A stream, behind which stands the end of a file that names no large batch."""
    swollen_stream(path)
    small = io.BytesIO()
    with pa.ipc.new_file(small, pa.schema([("a", pa.int64())])) as writer:
        writer.write_table(pa.table({"a": [1]}))
    raw = small.getvalue()
    footer = int.from_bytes(raw[-10:-6], "little")
    path.write_bytes(path.read_bytes() + raw[-10 - footer :])


@pytest.mark.parametrize(
    "write",
    [
        with_the_end_of_another,
        lambda path: in_old_framing(path, pa.ipc.new_stream),
        lambda path: in_old_framing(path, pa.ipc.new_file),
    ],
    ids=["end of another", "old stream", "old file"],
)
def test_every_message_that_arrow_reads_is_measured(tmp_path, write):
    path = tmp_path / "b.arrow"
    write(path)
    for data in (path, afar(path)):
        with refused(DataError, "too-large"):
            next(open_source(data, target="kind").batches())


def test_what_cannot_be_measured_is_not_read(tmp_path):
    path = tmp_path / "b.arrow"
    table = pa.table({"x": np.zeros(10), "kind": np.arange(10) % 2 == 0})
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)
    raw = path.read_bytes()
    path.write_bytes(raw[:-8] + b"\x01\x02\x03\x04" * 4)
    with refused(DataError, "damaged-file"):
        list(open_source(path, target="kind").batches())


def afar(path):
    """Return the address of the same bytes as a remote file."""
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe(f"/hostile/{path.name}", path.read_bytes())
    return f"memory://hostile/{path.name}"


def zigzag(number):
    """A number as Thrift writes it."""
    number, data = number << 1, b""
    while number > 127:
        data, number = data + bytes([number & 127 | 128]), number >> 7
    return data + bytes([number])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize(("which", "code"), [(1, "damaged-file"), (0, "too-large")])
def test_pages_that_claim_gigabytes_are_refused(tmp_path, version, dictionary, which, code):
    """Arrow made room for what the header of a page asks for, whatever the footer says."""
    path = tmp_path / "p.parquet"
    table = pa.table({"x": np.arange(20_000.0) % 7, "kind": np.arange(20_000) % 2})
    plain = {"use_dictionary": dictionary, "compression": "zstd", "write_statistics": False}
    pq.write_table(table, path, data_page_version=version, **plain)
    (batch,) = open_source(path, target="kind").batches()
    assert batch.X.shape == (20_000, 1)
    data = path.read_bytes()
    sizes = [data[5:].index(b"\x15") + 6]  # after the type of the page, then after its first size
    sizes.append(sizes[0] + data[sizes[0] :].index(b"\x15") + 1)
    start = sizes[which]
    end = start + next(k for k in range(9) if data[start + k] < 128) + 1
    large = zigzag(2_000_000_000)
    cut = 40 + len(large) - (end - start)  # as many bytes less of the page, so that the footer fits
    path.write_bytes(data[:start] + large + data[end : end + 40] + data[end + cut :])
    assert path.stat().st_size == len(data)
    for place in (path, afar(path)):
        with refused(DataError, code):
            next(open_source(place, target="kind").batches())
        assert pa.default_memory_pool().max_memory() < 1 << 30


FOOTERS = """
import sys
from pathlib import Path
from linsep import open_source
from linsep.errors import DataError

thorough = len(sys.argv) > 2
path = Path(sys.argv[1])
data, read = path.read_bytes(), 0
beginning = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
for at in range(beginning, len(data) - 8):
    for flip in (1, 2, 128) if thorough else [(1, 2, 128)[at % 3]]:
        path.write_bytes(data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :])
        try:
            list(open_source(path, target="kind").batches())
            read += 1
        except (DataError, ValueError):
            pass
print(read)
"""


DEEP = {
    "lists": b"\x19" * 9999,
    "structures": b"\x1c" * 9999,
    "maps": b"\x1b\x01" + b"\xbb\x01" * 9999,
}


@pytest.mark.parametrize("data", DEEP.values(), ids=DEEP)
def test_structures_without_end_are_damaged(data):
    """They are deeper than Python's stack."""
    with pytest.raises(ValueError, match="without end"):
        read_struct(data)


@pytest.mark.thorough
def test_no_damaged_footer_ends_the_process(tmp_path):
    """Arrow's objects of a footer's columns abort on some, such as counts of levels that differ."""
    path = tmp_path / "p.parquet"
    table = pa.table({"x": [1.0, 2.0] * 4, "word": ["a", "b"] * 4, "kind": [0, 0, 1, 1] * 2})
    pq.write_table(table.replace_schema_metadata(None), path)
    code = "import warnings; warnings.simplefilter('ignore')" + FOOTERS
    done = subprocess.run(
        [sys.executable, "-c", code, path, *["thorough"] * THOROUGH],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 40


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_long_text_said_once_and_pointed_at_often_is_refused(tmp_path, name):
    codes = pa.array(np.zeros(20_000, np.int32))
    text = pa.DictionaryArray.from_arrays(codes, pa.array(["a" * 100_000]))  # 2 GB of text
    table = pa.table({"x": np.arange(20_000.0), "t": text, "kind": np.arange(20_000) % 2})
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(table, path, store_schema=False)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    with refused(DataError, "too-large", column="t"):
        list(open_source(path, target="kind").batches())
    rows = list(open_source(path, target="kind", exclude="t").batches())
    assert sum(batch.X.shape[0] for batch in rows) == 20_000


def test_text_that_repeats_is_read_as_it_was(tmp_path):
    words = ["a", None, "b", "", "a"] * 700
    table = pa.table({"t": words, "u": pa.array(words, pa.large_string()), "kind": [0, 1] * 1750})
    pq.write_table(table, tmp_path / "w.parquet", row_group_size=1000)
    (batch,) = open_source(tmp_path / "w.parquet", target="kind", missing="zero").batches()
    expected = [[w == v for _ in "tu" for v in ("", "a", "b")] for w in words]
    assert batch.X.toarray().tolist() == expected
