"""Quotes of CSV: none that is never closed swallows rows, whatever the size of blocks."""

import csv
import gzip
import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from command_line import assert_refused, assert_they_run, here
from linsep import open_source
from linsep.errors import DataError
from linsep.sources.tables import text_file
from linsep.sources.tables.csv import CsvFile
from linsep.sources.tables.csv_records import Followed, follow_quotes
from linsep.sources.tables.reading_options import ReadingOptions
from refusals import refused
from whole_files import load_table

pytestmark = pytest.mark.compiled

texts = st.lists(
    st.sampled_from(['"', '""', ",", "\n", "\r\n", "a", '"a"', ',"', '",', '"\n', "a\n"])
).map("".join)


def textbook(text):
    """What is told of the quotes of a text, byte by byte."""
    state, ended, opened, at = "start", False, -1, 0
    while at < len(text):
        letter = text[at]
        if state == "inside":
            if text[at : at + 2] == '""':
                at += 1
            elif letter == '"':
                state, after = "field", text[at + 1 : at + 2]
                if after not in ("", ",", "\n", "\r") and set(text[opened:at]) & {"\n", "\r"}:
                    return Followed(ended, False, opened, bad=at)
        elif state == "start" and letter == '"':
            state, opened = "inside", at
        else:
            state = "start" if letter in ",\n\r" else "field"
            ended = ended or letter in "\n\r"
        at += 1
    return Followed(ended or state != "inside", state == "inside", opened)


@given(texts)
def test_the_quotes_of_a_text(text):
    assert follow_quotes(text.encode(), ",", inside=False) == textbook(text)


@given(texts, st.data())
def test_a_text_in_blocks_ends_as_the_whole_does(text, data):
    whole = follow_quotes(text.encode(), ",", inside=False)
    lines, inside, blocks = text.splitlines(keepends=True), False, []
    while lines:
        count = data.draw(st.integers(1, len(lines)))
        blocks.append("".join(lines[:count]).encode())
        del lines[:count]
    found = []
    for block in blocks:
        found.append(follow_quotes(block, ",", inside))
        if found[-1].bad >= 0:
            break
        inside = found[-1].inside
    assert any(one.bad >= 0 for one in found) == (whole.bad >= 0)
    if whole.bad < 0:
        assert inside == whole.inside
        assert any(one.ended for one in found) == (whole.ended and text != "")


@pytest.fixture(params=[16, text_file.BLOCK_BYTES])
def blocks(request, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", request.param)


CLOSE = ": close it where its field ends or read quotes as ordinary characters with quotes=False."
BAD = {
    'y,t\n0,p\n1,"q\n0,r\n': "a.csv line 3 opens a quote that is never closed" + CLOSE,
    'y,t\n0,p\n1,"q': "a.csv line 3 opens a quote that is never closed" + CLOSE,
    'y,t\n0,p\n1,"q""\n0,r\n': "a.csv line 3 opens a quote that is never closed" + CLOSE,
    'y,t\n"0,p\n1,q\n': "a.csv line 2 opens a quote that is never closed" + CLOSE,
    '\ufeff"y,t\n0,p\n1,q\n': "a.csv line 1 opens a quote that is never closed" + CLOSE,
    '"y",t\n0,5"\n0,"p\nq"\n"1,q': "a.csv line 5 opens a quote that is never closed" + CLOSE,
    'y,t\n0,p\n1,"q\n0,r\n1,s\n0,"t\n1,u\n': (
        "a.csv line 3 opens a quote that line 6 closes in the middle of a field" + CLOSE
    ),
    'y,t\n0,p\n1,"q\n0,"r"\n': (
        "a.csv line 3 opens a quote that line 4 closes in the middle of a field" + CLOSE
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_quotes_that_are_misplaced_are_named(tmp_path, monkeypatch, blocks, text):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(text)
    with pytest.raises(DataError) as caught:
        for _ in open_source("a.csv", target="y").batches():
            pass
    assert str(caught.value) == BAD[text]


def test_a_quote_that_is_open_for_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 16)
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("y,t\n" + "0,p\n1,q\n" * 20 + '0,"p\n' + "1,q\n" * 2000)
    with pytest.raises(DataError) as caught:
        for _ in open_source("a.csv", target="y", max_line=2000).batches():
            pass
    assert str(caught.value) == (
        "a.csv line 42 opens a quote that is not closed within 1.953 kB: close it where its "
        "field ends, read quotes as ordinary characters with quotes=False or allow longer lines "
        'with max_line="7.812kB".'
    )  # fmt: skip


@pytest.mark.parametrize("command", ["fit a.csv --target y", "split a.csv --target y --test 0.5"])
def test_commands_refuse_a_quote_that_is_never_closed(tmp_path, command):
    (tmp_path / "a.csv").write_text('y,t\n0,p\n1,"q\n0,r\n')
    said = "linsep: error: a.csv line 3 opens a quote that is never closed" + CLOSE
    said = said.replace("quotes=False", "--no-quotes")
    assert_refused(*command.split(), cwd=tmp_path, code="bad-line")


fields = st.sampled_from(["p", "q q", "", '5"', "a,b", "two\nlines", 'a "b"\r\nc', "long\n" * 30])


@given(rows=st.lists(st.tuples(fields, fields), min_size=1, max_size=8), size=st.integers(1, 64))
def test_records_of_many_blocks_are_those_of_the_csv_module(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("quotes") / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("s", "t"), *rows])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_file, "BLOCK_BYTES", size)
        batches = list(CsvFile(path, ReadingOptions()).chunks({"s": "text", "t": "text"}))
    found = [(row["s"] or "", row["t"] or "") for batch in batches for row in batch.to_pylist()]
    assert found == rows


def test_a_quote_within_a_field_is_read_as_it_stands(tmp_path, blocks):
    path = tmp_path / "a.csv"
    path.write_text('y,t\n0,5" disk\n1,"John "Jo" D"\n0,"p\nq"\n')
    _, _, names = load_table(path, target="y")
    assert names == ['t=5" disk', 't=John Jo" D"', "t=p\nq"]


LITERAL = 'y\tt\n0\t"p\n1\tq q"\n0\t"r "s" t"\n1\tu"\n'
VALUES = ['"p', 'q q"', '"r "s" t"', 'u"']


def test_quotes_may_be_text(tmp_path, blocks):
    path = tmp_path / "a.tsv"
    path.write_text(LITERAL)
    assert load_table(path, target="y")[1].size == 3
    source = open_source(path, target="y", quotes=False)
    list(source.batches())
    assert [name.removeprefix("t=") for name in source.feature_names] == sorted(VALUES)
    assert source.recipe()["quotes"] is False
    again = open_source(path, recipe=source.recipe(), labeled=False)
    pairs = zip(source.batches(), again.batches(), strict=True)
    assert all((one.X != other.X).nnz == 0 for one, other in pairs)
    assert "quotes" not in open_source(path, recipe=source.recipe(), quotes=True).recipe()


def test_commands_take_quotes_for_text(tmp_path):
    (tmp_path / "a.tsv").write_text(LITERAL)
    commands = (
        "fit a.tsv --target y --model m --no-quotes",
        "predict m a.tsv --output labels.txt",
        "score m a.tsv",
        "convert a.tsv a.parquet --no-quotes",
        "split a.tsv --target y --test 0.5 --no-quotes",
        "separate a.tsv --target y --no-quotes",
    )
    assert_they_run(commands, tmp_path)
    assert (tmp_path / "labels.txt").read_text().split() == ["0", "1", "0", "1"]
    assert pq.read_table(tmp_path / "a.parquet")["t"].to_pylist() == VALUES
    parts = [(tmp_path / f"a-{part}.tsv").read_text() for part in ("train", "test")]
    head, *lines = LITERAL.splitlines()
    assert sorted(line for part in parts for line in part.splitlines()[1:]) == sorted(lines)
    assert {part.splitlines()[0] for part in parts} == {head}
    done = here(*["describe", "a.tsv", "--no-quotes", "--json"], cwd=tmp_path)
    assert json.loads(done.stdout)["rows"] == 4
    done = here(*["describe", "a.tsv", "--no-quotes"], cwd=tmp_path)
    assert "linsep describe a.tsv --no-quotes --target COLUMN" in done.stdout


@pytest.mark.parametrize("text", ['y t\n0 "p\n1 q\n0 r\n', 'y,t\n0,p\n1,q\n"', 'y,t\n"'])
def test_a_quote_that_is_never_closed_loses_no_line_of_a_split(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(text)
    delimiter = ["--delimiter", "whitespace"] if " " in text else []
    text.count("\n", 0, text.index('"')) + 1
    for command in (["split", "--in-order", "--test", "0.25"], ["fit", "--target", "y"]):
        assert_refused(
            command[0], "a.csv", *command[1:], *delimiter, cwd=tmp_path,
            code="bad-line",
        )  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_split_names_what_fit_names(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    "linsep: error: " + BAD[text].replace("quotes=False", "--no-quotes")
    assert_refused("split", "a.csv", "--in-order", "--test", "0.3", cwd=tmp_path, code="bad-line")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(tmp_path, monkeypatch, end, blocks):
    monkeypatch.chdir(tmp_path)
    for rows, code in (
        (["y,t", "0,p", '1,"q', "0,r", ""], "bad-line"),
        (["y,t", "0,p", '1,"q', '0,r"x', ""], "bad-line"),
    ):
        Path("a.csv").write_bytes(end.join(rows).encode())
        with refused(DataError, code):
            load_table("a.csv", target="y")


def test_blanks_behind_a_quote_belong_to_the_field(tmp_path, blocks):
    path = tmp_path / "a.csv"
    path.write_text("y,t\n" + '0,"a\nb" \n1,"c\nd"\t,\n'.replace("\t,", "\t") * 30)
    assert load_table(path, target="y")[1].size == 60


@pytest.mark.parametrize("quotes", [True, False])
def test_blanks_separate_fields_with_and_without_quotes(tmp_path, quotes):
    path = tmp_path / "a.csv"
    options = {"target": "y", "delimiter": "whitespace", "quotes": quotes}
    path.write_text('y h w\n0 5"  7"\n1 6" 8"\n0 9" 4"\n')
    if quotes:
        with refused(DataError, "field-count", row=2):
            load_table(path, **options)
    else:
        assert load_table(path, **options)[1].tolist() == [0, 1, 0]
    path.write_text('y h w\n0 "a  b" c\n1 "d e" f\n')
    if quotes:
        assert "h=a  b" in load_table(path, **options)[2]
    else:
        with refused(DataError, "field-count", row=2):
            load_table(path, **options)


@pytest.mark.parametrize(
    "command",
    ["describe a.parquet", "split a.parquet --in-order --test 0.5", "fit a.parquet --target y",
     "convert a.parquet b.parquet"],
)  # fmt: skip
def test_parquet_has_no_quotes(tmp_path, command):
    pq.write_table(pa.table({"a": [1, 2], "y": [0, 1]}), tmp_path / "a.parquet")
    assert_refused(*command.split(), "--no-quotes", cwd=tmp_path, code="conflict")


def test_proofs_are_checked_as_they_were_made(tmp_path):
    (tmp_path / "a.csv").write_text("a;y\n1;A\n2;A\n3;B\n4;B\n")
    options = "--target y --delimiter ; --no-quotes"
    done = here(*f"separate a.csv --proof p {options}".split(), cwd=tmp_path)
    command = shlex.split(done.stdout.splitlines()[-1].removesuffix("checks it"))
    assert {"--delimiter", ";", "--no-quotes"} <= set(command)
    assert here(*command[1:], cwd=tmp_path).returncode == 0
    here(*["convert", "a.csv", "a.parquet", "--delimiter", ";", "--no-quotes"], cwd=tmp_path)
    assert here(*["verify", "p", "a.parquet", "--target", "y"], cwd=tmp_path).returncode == 0


def test_what_is_false_is_false(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(LITERAL)
    assert load_table(path, target="y", quotes=np.False_)[1].size == 4


@pytest.mark.parametrize("name", ["a.jsonl", "a.svm"])
def test_only_csv_has_quotes(tmp_path, name):
    path = tmp_path / name
    path.write_text('{"x": 1, "y": 0}\n' if name == "a.jsonl" else "1 1:1\n")
    with refused(DataError, "conflict"):
        open_source(path, target="y" if name == "a.jsonl" else None, quotes=False)


def test_no_message_is_swallowed(tmp_path, shared_data):
    """Read with quotes, two of 5,574 messages are within another one."""
    path = tmp_path / "sms.tsv"
    messages = gzip.decompress((shared_data / "text" / "sms_spam.tsv.gz").read_bytes())
    path.write_bytes(b"kind\tmessage\n" + messages)
    with refused(DataError, "bad-line", row=5083):
        load_table(path, target="kind")
    assert load_table(path, target="kind", text="message", quotes=False)[1].size == 5574
