"""Runs of blanks that separate fields, however the text is cut into blocks."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linsep import open_source
from linsep.errors import DataError
from linsep.sources.blanks import Squeezed

TEXT = st.lists(st.sampled_from(["a", " ", "  ", "\t", "\n", "\r\n", '"b c"', "é"])).map("".join)


def plain(text):
    """Line by line, field by field."""
    lines = re.split(r"(\r?\n)", text)
    for k in range(0, len(lines), 2):
        fields = re.findall(r'(?:"[^"]*"|[^ \t])+', lines[k])
        lines[k] = "\t".join(fields)
    return "".join(lines)


@given(TEXT, st.integers(1, 9))
def test_blocks_do_not_matter(text, block):
    squeezed = Squeezed(io.BytesIO(text.encode()), block)
    assert squeezed.read().decode() == plain(text)


def test_a_table_for_people(tmp_path):
    text = 'name   age  "blood pressure"\n "New  York"  39 \t 144\n\nb    47    220.5  \n'
    (tmp_path / "t.csv").write_text(text)
    source = open_source(tmp_path / "t.csv", target="blood pressure", delimiter="whitespace")
    (batch,) = source.batches()
    assert batch.y.tolist() == [144.0, 220.5]
    assert "name=New  York" in source.feature_names
    again = open_source(tmp_path / "t.csv", recipe=source.recipe())
    assert next(again.batches()).X.shape == batch.X.shape


def test_a_line_of_other_length_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("a  b\n1  2\n3   4  5\n")
    with pytest.raises(DataError, match="line 3 has 3 fields where the header has 2"):
        open_source(tmp_path / "t.csv", target="b", delimiter="whitespace")
