"""Numbers in large CSV files are scanned: the same rows, and the same errors, as Arrow's."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from linsep import open_source
from linsep.errors import DataError
from linsep.sources.remote.file import located
from linsep.sources.tables import csv as csv_file, text_file
from linsep.sources.tables.csv import CsvFile
from linsep.sources.tables.reading_options import ReadingOptions

pytestmark = pytest.mark.both

NUMBERS = st.one_of(
    st.sampled_from(
        [
            "0",
            "-0",
            "+7",
            "1.",
            ".5",
            "-.5",
            "00012",
            "1e5",
            "1E+5",
            "-2.5e-3",
            "123456789",
            "12345678.9",
            "0.1234567890123456789",
            "123456789012345678901234567890",
            "4.9406564584124654e-324",
            "1.7976931348623157e308",
            "9007199254740993",
            "0.30000000000000004",
            "2.2250738585072011e-308",
            "1e-400",
        ]
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**9), 10**9).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
)
ODD = st.sampled_from(["", "NA", "NaN", "null", "?", " ?", " 1.5 ", "\t2", "inf", "1_0", "x", "１"])
CELLS = st.one_of(NUMBERS, NUMBERS, NUMBERS, ODD)
OPTIONS = ReadingOptions(null_values=("?",))


def read(path, names, options=OPTIONS, **how):
    """The rows of a file as a table, or the sentence that refuses it."""
    try:
        file = CsvFile(located(str(path)), options, **how)
        found = list(file.chunks(dict.fromkeys(names, "number")))
    except DataError as error:
        return str(error)
    schema = pa.schema([(name, pa.float64()) for name in names])
    return pa.Table.from_batches(found, schema).combine_chunks()


def both_ways(path, names, monkeypatch, block=1 << 20, **how):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", block)
    monkeypatch.setattr(csv_file, "WORTHWHILE", float("inf"))
    by_arrow = read(path, names, **how)
    monkeypatch.setattr(csv_file, "WORTHWHILE", 0)
    return read(path, names, **how), by_arrow


def same(scanned, by_arrow):
    if isinstance(by_arrow, str) or isinstance(scanned, str):
        return scanned == by_arrow
    bits = [
        (column.null_count, column.fill_null(0.0).to_numpy().tobytes())
        for table in (scanned, by_arrow)
        for column in table.columns
    ]
    half = len(bits) // 2
    nulls = [
        scanned.column(n).is_null().equals(by_arrow.column(n).is_null())
        for n in scanned.column_names
    ]
    return bits[:half] == bits[half:] and all(nulls)


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(CELLS, st.sampled_from(["a", "", "é", "x y"]), CELLS), min_size=1),
    ending=st.sampled_from(["\n", "\r\n"]),
    closed=st.booleans(),
    broken=st.sampled_from([None, None, "1,2", "1,2,3,4", "", "   ", '1,"a",2', '1,"a\nb",2']),
    at=st.floats(0, 1),
)
def test_the_same_rows_as_arrow_reads(tmp_path_factory, rows, ending, closed, broken, at):
    lines = ["p,text,q", *(",".join(row) for row in rows)]
    if broken is not None:
        lines.insert(1 + int(at * len(rows)), broken)
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    path.write_bytes((ending.join(lines) + ending * closed).encode())
    with pytest.MonkeyPatch.context() as monkeypatch:
        scanned, by_arrow = both_ways(path, ["q", "p"], monkeypatch, block=64)
    assert same(scanned, by_arrow), (scanned, by_arrow)


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.tsv", "blanks.csv"])
def test_delimiters_compression_and_files_without_a_header(name, tmp_path, monkeypatch):
    mark = "\t" if name == "rows.tsv" else "  " if name == "blanks.csv" else ","
    text = "".join(f"{k}{mark}{k / 8}{mark}{-k}\n" for k in range(500)).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    options = ReadingOptions("whitespace" if name == "blanks.csv" else None, header=False)
    names = ["column_1", "column_2", "column_3"]
    format = "tsv" if name == "rows.tsv" else "csv"
    scanned, by_arrow = both_ways(
        path, names, monkeypatch, block=256, options=options, format=format
    )
    assert scanned.num_rows == 500
    assert same(scanned, by_arrow)


def test_an_error_names_the_line_wherever_it_comes(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "1,2\n" * 300 + "1,oops\n" + "3,4\n" * 300)
    scanned, by_arrow = both_ways(path, ["a", "b"], monkeypatch, block=128)
    assert scanned == by_arrow
    assert "line 302, column 'b' holds 'oops'" in scanned


def test_a_source_reads_the_same_bits(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * 10.0 ** rng.integers(-20, 20, (400, 5))
    lines = [",".join(map(repr, row)) + f",{k % 2}" for k, row in enumerate(X.tolist())]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,c,d,e,y", *lines]))
    monkeypatch.setattr(csv_file, "WORTHWHILE", 0)
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 1024)
    batches = list(open_source(path, target="y").batches())
    assert np.concatenate([batch.X for batch in batches]).tobytes() == X.tobytes()
    assert np.concatenate([batch.y for batch in batches]).tolist() == [k % 2 for k in range(400)]
