"""CSV: headers and their absence, quotes, marks of missing values, the compiled scanner."""

import csv
import gzip
import json
import shlex

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.datasets import load_iris

from command_line import assert_refused, assert_they_run, here
from linsep import Perceptron, open_source
from linsep.errors import DataError
from linsep.sources.tables import csv as csv_file, text_file
from linsep.sources.tables.csv import CsvFile
from linsep.sources.tables.reading_options import ReadingOptions
from refusals import refused
from whole_files import load_table

ROWS = ["5.1,3.5,setosa", "4.9,3.0,setosa", "7.0,3.2,versicolor", "6.3,3.3,virginica"]
MARK = "\ufeff"


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "a.csv"
    place.write_text("\n".join(ROWS) + "\n")
    return place


# headers


def test_a_row_that_is_taken_for_names_is_noticed(path):
    long = "word " * 100
    for text, target, code, column in [
        ("\n".join(ROWS), "setosa", "bad-line", "setosa"),
        ("a,a,y\n1,2,0\n", "y", "duplicate-name", "a"),
        (f"p,{long}\nq,{long}\n", "p", "bad-line", long),
    ]:
        path.write_text(text)
        with refused(DataError, code, column=column) as caught:
            load_table(path, target=target)
        assert {"header": False} in [getattr(h, "settings", 0) for h in caught.value.hints]
    path.write_text("\n".join(ROWS))
    assert_refused("split", "a.csv", "--test", "0.5", "--target", "setosa", cwd=path.parent,
                   code="bad-line")  # fmt: skip


def test_names_may_be_values_where_that_is_said_or_late(path):
    path.write_text("2019,2020\n1,2\n3,4\n0,2\n5,4\n")
    assert load_table(path, target="2020", header=True)[1].tolist() == [2, 4, 2, 4]
    here(*["fit", "a.csv", "--header", "--target", "2020", "--model", "m"], cwd=path.parent)
    assert here(*["score", "m", "a.csv"], cwd=path.parent).returncode == 0
    path.write_text("a,y\n" + "".join(f"{k},p{k % 2}\n" for k in range(12_000)) + "5,y\n")
    assert load_table(path, target="y")[1].size == 12_001


@pytest.mark.parametrize("block", [32, 1 << 20])
def test_every_row_is_read_without_a_header(path, block, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", block)
    source = open_source(path, target="column_3", header=False)
    X = np.concatenate([b.X for b in source.batches()])
    assert X.tolist() == [[5.1, 3.5], [4.9, 3], [7, 3.2], [6.3, 3.3]]
    assert source.feature_names == ["column_1", "column_2"]
    assert [source.where(k) for k in (0, 3)] == [f"{path} row {k}" for k in (1, 4)]
    again = open_source(path, recipe=source.recipe(), labeled=False)
    assert sum(len(b.X) for b in again.batches()) == 4
    path.write_text("5,3,setosa\n4,x,setosa\n")
    with refused(DataError, "not-a-number", row=2, column="column_2"):
        list(open_source(path, recipe=source.recipe()).batches())
    path.write_text("\n\n")
    with refused(DataError, "no-rows"):
        open_source(path, target="column_2", header=False)


def test_a_model_is_that_of_the_same_rows_with_names(tmp_path):
    X, y = load_iris(return_X_y=True)
    pairs = zip(X.tolist(), y, strict=True)
    rows = "".join(f"{','.join(map(repr, x))},k{label}\n" for x, label in pairs)
    (tmp_path / "without.csv").write_text(rows)
    (tmp_path / "with.csv").write_text("a,b,c,d,y\n" + rows)
    with_names = open_source(tmp_path / "with.csv", target="y")
    without = open_source(tmp_path / "without.csv", target="column_5", header=False)
    models = [Perceptron(max_iter=3).fit(source) for source in (with_names, without)]
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()
    commands = (
        "fit without.csv --no-header --target column_5 --model m",
        "score m without.csv",
        "convert without.csv rows.parquet --no-header",
        "split without.csv --no-header --target column_5 --test 0.2",
        "separate without.csv --no-header --target column_5",
    )
    assert_they_run(commands, tmp_path)
    parts = [(tmp_path / f"without-{part}.csv").read_text() for part in ("train", "test")]
    assert sorted("".join(parts).splitlines()) == sorted(rows.splitlines())


@pytest.mark.parametrize("header", ["", '"a",y\n'])
def test_a_byte_order_mark_is_no_part_of_a_row(path, header, monkeypatch):
    rows = ['"1",A', "2,A", "3,B", "4,B", "5,A", "6,B"]
    for name in ("a.csv", "b.csv"):
        path.with_name(name).write_text(MARK + header + "\n".join(rows) + "\n")
    option = [] if header else ["--no-header"]
    done = here("split", "a.csv", "b.csv", *option, "--test", "0.25", "--in-order", cwd=path.parent)
    assert (done.returncode, done.stderr) == (0, "")
    parts = [path.with_name(f"a-{part}.csv").read_text() for part in ("train", "test")]
    assert all(part.startswith(MARK + header) for part in parts)
    assert "".join(p.removeprefix(MARK + header) for p in parts).splitlines() == rows * 2
    path.write_text(MARK + "a,y\n" + (MARK + "u,1\nv,0\n") * 2)  # of joined files
    assert load_table(path, target="y")[2] == ["a=u", "a=v"]


# quotes


def test_a_quote_that_is_never_closed_is_refused(path):
    for command in ("fit a.csv --target y", "split a.csv --in-order --test 0.5"):
        path.write_text('y,t\n0,p\n1,q\n0,r\n0,"q' + "\n1,q" * 400_000)
        assert_refused(*command.split(), "--max-line", "1MB", cwd=path.parent, code="bad-line")


FIELDS = st.sampled_from(["p", "q q", "", '5"', "a,b", "two\nlines", 'a "b"\r\nc', "long\n" * 30])


@given(
    rows=st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=8), size=st.integers(310, 400)
)  # a record crosses one boundary
def test_records_of_many_blocks_are_those_of_the_csv_module(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("quotes") / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("s", "t"), *rows])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_file, "BLOCK_BYTES", size)
        batches = list(CsvFile(path, ReadingOptions()).chunks({"s": "text", "t": "text"}))
    found = [(row["s"] or "", row["t"] or "") for batch in batches for row in batch.to_pylist()]
    assert found == rows


def test_line_breaks_in_quotes_stay_as_they_are(tmp_path, monkeypatch):
    """A carriage return at the end of a block lost the newline at the start of the next."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)
    path = tmp_path / "a.csv"
    values = ["a\r\nb", "c\rd", "e\nf", "g\r\n\r\nh", "\r\n"]
    for shift in range(0, 66, 7):
        head = "x" * (1 + shift)
        rows = [f'{k},"{value}",{k % 2}' for k, value in enumerate(values * 4)]
        path.write_bytes("\r\n".join([f"{head},t,y", *rows, ""]).encode())
        _, y, names = load_table(path, target="y")
        assert sorted(names[1:]) == sorted(f"t={value}" for value in values)
        assert y.size == 20


def test_rows_are_not_lost_in_a_field_that_only_begins_with_a_quote(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('y\tt\n0\t"said" he\n1\t"p\n0\tr\n1\tcall U" now\n0\ts\n')
    with refused(DataError, "bad-line", row=2, path=path):
        load_table(path, target="y")
    assert load_table(path, target="y", quotes=False)[1].tolist() == [0, 1, 0, 1, 0]


LITERAL = 'y\tt\n0\t"p\n1\tq q"\n0\t"r "s" t"\n1\tu"\n'
VALUES = ['"p', 'q q"', '"r "s" t"', 'u"']


def test_quotes_may_be_text(tmp_path):
    (tmp_path / "a.tsv").write_text(LITERAL)
    commands = (
        "fit a.tsv --target y --model m --no-quotes",
        "predict m a.tsv --output labels.txt",
        "convert a.tsv a.parquet --no-quotes",
        "split a.tsv --target y --test 0.5 --no-quotes",
    )
    assert_they_run(commands, tmp_path)
    assert (tmp_path / "labels.txt").read_text().split() == ["0", "1", "0", "1"]
    assert pq.read_table(tmp_path / "a.parquet")["t"].to_pylist() == VALUES
    parts = [(tmp_path / f"a-{part}.tsv").read_text() for part in ("train", "test")]
    lines = LITERAL.splitlines()[1:]
    assert sorted(line for part in parts for line in part.splitlines()[1:]) == sorted(lines)
    assert load_table(tmp_path / "a.tsv", target="y")[1].size == 3


def test_quotes_within_fields_and_between_blanks(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('y,t\n0,5" disk\n1,"John "Jo" D"\n0,"p\nq"\n')
    assert load_table(path, target="y")[2] == ['t=5" disk', 't=John Jo" D"', "t=p\nq"]
    options = {"target": "y", "delimiter": "whitespace"}
    path.write_text('y h w\n0 5"  7"\n1 6" 8"\n0 9" 4"\n')
    with refused(DataError, "field-count", row=1):
        load_table(path, **options)
    assert load_table(path, quotes=False, **options)[1].tolist() == [0, 1, 0]


# marks of missing values

GAPS = ["39,State,0", "50,?,1", "?,Private,0", "28, ?,1", " ?,State,1", "41,,0"]


@pytest.fixture
def gaps(path):
    path.write_text("\n".join(["age,work,y", *GAPS]) + "\n")
    return path


def test_marks_are_missing_in_numbers_and_texts(gaps, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 32)
    X, y, names = load_table(gaps, target="y", null_values="?", missing="zero")
    theirs = pd.read_csv(gaps, na_values=["?"], skipinitialspace=True)
    assert names == ["age", "work=Private", "work=State"]
    assert np.array_equal(X.toarray()[:, 0], theirs["age"].fillna(0))
    for place, name in enumerate(["Private", "State"], 1):
        assert np.array_equal(X.toarray()[:, place], theirs["work"] == name)
    assert y.tolist() == theirs["y"].tolist()
    dropped = open_source(gaps, target="y", null_values=["?"], missing="drop")
    assert np.vstack([b.X.toarray() for b in dropped.batches()]).tolist() == [[39, 1]]
    assert dropped.dropped == 5
    gaps.write_text("a,y\n1,x\n2,?\n")
    with refused(DataError, "missing-value", row=2, column="y"):
        load_table(gaps, target="y", null_values=["?"])
    with refused(DataError, "bad-option", option="null_values"):
        open_source(gaps, target="y", null_values=[3])


def test_a_column_of_numbers_and_a_mark_is_no_text_but_one_of_words_is(path, monkeypatch):
    path.write_text("a,b,y\n1,2,0\n-,3,1\n5,1e3,1\n")
    with refused(DataError, "not-a-number", column="a"):
        load_table("a.csv", target="y")
    assert load_table(path, target="y", null_values=["-"], missing="zero")[0][1].tolist() == [0, 3]
    path.write_text("a,y\n1,0\n2,1\n3+,1\n")
    assert load_table(path, target="y")[2] == ["a=1", "a=2", "a=3+"]
    path.write_text("a,y\n" + "1,0\n2,1\n" * 600 + "?,1\n")
    for block in (1 << 20, 400):
        monkeypatch.setattr(text_file, "BLOCK_BYTES", block)
        with refused(DataError, "not-a-number", row=1201, column="a") as caught:
            load_table("a.csv", target="y")
        assert {"null_values": ["?"]} in [getattr(h, "settings", 0) for h in caught.value.hints]


def test_commands_take_marks_of_missing_values(gaps):
    null = "--null-values ?"
    commands = [
        f"fit a.csv --target y {null} --missing zero --model m",
        "score m a.csv",
        f"convert a.csv a.parquet {null}",
        f"separate a.csv --target y {null} --missing zero --proof p",
        f"verify p a.csv --target y {null} --missing zero",
    ]
    assert_they_run(commands, gaps.parent)
    assert pq.read_table("a.parquet")["work"].null_count == 3
    words = ("describe", "a.csv", "--target", "y", *null.split(), "--json")
    found = json.loads(here(*words, cwd=".").stdout)
    assert [column["missing"] for column in found["columns"]] == [2, 3, 0]
    words = shlex.split(found["next"])[1:]
    assert "--null-values" in words
    assert here(*words, cwd=".").returncode == 0


# numbers by the compiled scanner

NUMBERS = st.one_of(
    st.sampled_from(
        [
            "0", "-0", "+7", "1.", ".5", "-.5", "00012", "1e5", "1E+5", "-2.5e-3", "12345678.9",
            "0.1234567890123456789", "123456789012345678901234567890", "4.9406564584124654e-324",
            "1.7976931348623157e308", "9007199254740993", "2.2250738585072011e-308", "1e-400",
        ]
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**9), 10**9).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
)  # fmt: skip
ODD = st.sampled_from(["", "NA", "NaN", "null", "?", " ?", " 1.5 ", "\t2", "inf", "1_0", "x", "１"])
CELLS = st.one_of(NUMBERS, NUMBERS, NUMBERS, ODD)


OPTIONS = ReadingOptions(null_values=("?",))


def read(path, names, options=OPTIONS, **how):
    """The rows of a file as a table, or what refuses it."""
    try:
        found = list(CsvFile(path, options, **how).chunks(dict.fromkeys(names, "number")))
    except DataError as error:
        return error.code, error.row, error.column, error.value
    schema = pa.schema([(name, pa.float64()) for name in names])
    return pa.Table.from_batches(found, schema).combine_chunks()


def assert_same_both_ways(path, names, monkeypatch, block, **how):
    """The rows scanned, which are those that Arrow reads, to the bit."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", block)
    found = []
    for worthwhile in (float("inf"), 0):
        monkeypatch.setattr(csv_file, "WORTHWHILE", worthwhile)
        found.append(read(path, names, **how))
    if not all(isinstance(one, pa.Table) for one in found):
        assert found[0] == found[1]
        return found[0]
    for one, other in zip(found[0].columns, found[1].columns, strict=True):
        assert one.is_null().equals(other.is_null())
        bits = [c.fill_null(0.0).to_numpy().tobytes() for c in (one, other)]
        assert bits[0] == bits[1]
    return found[1]


@pytest.mark.compiled
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
        assert_same_both_ways(path, ["q", "p"], monkeypatch, block=64)


def test_scanned_delimiters_compression_and_faults(tmp_path, monkeypatch):
    for name, mark in [("rows.csv.gz", ","), ("rows.tsv", "\t"), ("blanks.csv", "  ")]:
        text = "".join(f"{k}{mark}{k / 8}{mark}{-k}\n" for k in range(500)).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        options = ReadingOptions("whitespace" if name == "blanks.csv" else None, header=False)
        names, format = [f"column_{k}" for k in (1, 2, 3)], name.split(".")[1]
        found = assert_same_both_ways(path, names, monkeypatch, 256, options=options, format=format)
        assert found.num_rows == 500
    (path := tmp_path / "rows.csv").write_text("a,b\n" + "1,2\n" * 300 + "1,oops\n" + "3,4\n" * 9)
    found = assert_same_both_ways(path, ["a", "b"], monkeypatch, block=128)
    assert found == ("not-a-number", 301, "b", "oops")


def test_rows_of_a_file_that_fills_its_blocks_are_read_once(path, monkeypatch):
    """Where lines end in carriage returns, a reused buffer gave the rows before again."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 20)
    path.write_bytes(b"x,y\r\n" + b"1,0\r\n2,1\r\n" * 3 + b"3,1\r\n")
    assert sum(batch.size for batch in open_source(path, target="y").batches()) == 7
