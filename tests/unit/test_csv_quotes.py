"""Quotes of CSV: none that is never closed swallows rows, whatever the size of blocks."""

import csv
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from command_line import assert_refused
from linsep import open_source
from linsep.errors import DataError
from linsep.sources import text_files
from linsep.sources.tables.csv import CsvFile
from linsep.sources.tables.csv_quotes import Followed, follow_quotes
from linsep.sources.tables.loading import load_table

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


@pytest.fixture(params=[16, text_files.BLOCK_BYTES])
def blocks(request, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", request.param)


CLOSE = ": close it where its field ends, and write quotes within quotes twice."
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
    with pytest.raises(DataError) as refused:
        for _ in open_source("a.csv", target="y").batches():
            pass
    assert str(refused.value) == BAD[text]


def test_a_quote_that_is_open_for_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 16)
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("y,t\n" + "0,p\n1,q\n" * 20 + '0,"p\n' + "1,q\n" * 2000)
    with pytest.raises(DataError) as refused:
        for _ in open_source("a.csv", target="y", max_line=2000).batches():
            pass
    assert str(refused.value) == (
        "a.csv line 42 opens a quote that is not closed within 1.953 kB" + CLOSE[:-1]
        + ' or allow longer lines with max_line="7.812kB".'
    )  # fmt: skip


@pytest.mark.parametrize("command", ["fit a.csv --target y", "split a.csv --target y --test 0.5"])
def test_commands_refuse_a_quote_that_is_never_closed(tmp_path, command):
    (tmp_path / "a.csv").write_text('y,t\n0,p\n1,"q\n0,r\n')
    said = "linsep: a.csv line 3 opens a quote that is never closed" + CLOSE
    assert_refused(*command.split(), cwd=tmp_path, said=said)


fields = st.sampled_from(["p", "q q", "", '5"', "a,b", "two\nlines", 'a "b"\r\nc', "long\n" * 30])


@given(rows=st.lists(st.tuples(fields, fields), min_size=1, max_size=8), size=st.integers(1, 64))
def test_records_of_many_blocks_are_those_of_the_csv_module(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("quotes") / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("s", "t"), *rows])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_files, "BLOCK_BYTES", size)
        batches = list(CsvFile(path, ",").chunks({"s": "text", "t": "text"}, True))
    found = [(row["s"] or "", row["t"] or "") for batch in batches for row in batch.to_pylist()]
    assert found == rows


def test_a_quote_within_a_field_is_read_as_it_stands(tmp_path, blocks):
    path = tmp_path / "a.csv"
    path.write_text('y,t\n0,5" disk\n1,"John "Jo" D"\n0,"p\nq"\n')
    _, _, names = load_table(path, target="y")
    assert names == ['t=5" disk', 't=John Jo" D"', "t=p\nq"]
