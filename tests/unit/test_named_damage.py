"""Files that are no plain UTF-8 text are named as what they are, with the line or the byte."""

import bz2
import gzip
import lzma

import pytest

from linsep import open_source
from linsep.errors import DataError
from refusals import refused

pytestmark = pytest.mark.uncompiled

TEXTS = {
    "csv": "x,y\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(50)),
    "jsonl": "".join(f'{{"x":{k},"y":"{"ab"[k % 2]}"}}\n' for k in range(50)),
    "svm": "".join(f"{k % 2} 1:{k}\n" for k in range(50)),
    "vw": "".join(f"{k % 2 * 2 - 1} | a:{k}\n" for k in range(50)),
}
#: what is done to the bytes, and what is said: {line} is that of the row of 17
DAMAGES = {
    "utf-16": (lambda text: text.encode("utf-16"), "is UTF-16 text"),
    "utf-16-le": (lambda text: text.encode("utf-16-le"), "is UTF-16 text"),
    "utf-16-be": (lambda text: text.encode("utf-16-be"), "is UTF-16 text"),
    "nul": (lambda text: text.encode().replace(b"17", b"1\x007"), "line {line}.* 1 NUL byte"),
    "padding": (lambda text: text.encode() + b"\0" * 512, "line {last}.* 512 NUL bytes.*byte"),
}
PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def _said(path):
    named = {"target": "y"} if path.name.startswith(("a.csv", "a.jsonl")) else {}
    with pytest.raises(DataError) as caught:
        list(open_source(path, **named).batches())
    return str(caught.value)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", TEXTS)
def test_text_that_is_no_utf_8(tmp_path, kind, damage):
    change, said = DAMAGES[damage]
    path = tmp_path / f"a.{kind}"
    path.write_bytes(change(TEXTS[kind]))
    header = kind == "csv"
    said.format(line=18 + header, last=51 + header)
    with refused(DataError, "bad-value"):
        raise DataError(_said(path))


@pytest.mark.parametrize(
    ("ending", "tail"),
    [(ending, b"\0" * 512) for ending in PACKED]
    + [(ending, b"junk behind it") for ending in ("gz", "bz2")],
)
@pytest.mark.parametrize("kind", TEXTS)
def test_bytes_behind_compressed_data(tmp_path, kind, ending, tail):
    packed = PACKED[ending](TEXTS[kind].encode())
    path = tmp_path / f"a.{kind}.{ending}"
    path.write_bytes(packed + tail)
    what = "something else" if tail.strip(b"\0") else "zeros"
    assert f"has {what} after the end of its" in _said(path)
    assert f"from byte {len(packed) + 1:,} on: truncate the file there" in _said(path)


def test_cut_and_damaged_data_keep_their_names(tmp_path):
    packed = gzip.compress(TEXTS["csv"].encode() * 99)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(packed[:-9])
    assert "is truncated in its gzip data" in _said(path)
    path.write_bytes(packed[:50] + b"\0\0\0" + packed[53:])
    assert "is damaged or not a gzip file" in _said(path)


COMMENTS = [
    ("csv", "# half way", 'line 19 is a comment: skip lines like it with comment="#".'),
    ("csv", "# a, b, c", 'line 19 is a comment: skip lines like it with comment="#".'),
    ("jsonl", "# half way", "line 18 is a comment, which JSON lines do not have: remove it."),
    ("jsonl", "// half way", "line 18 is a comment, which JSON lines do not have: remove it."),
    ("vw", "# half way", "line 18: this is a comment, which Vowpal Wabbit's text does not have"),
]


@pytest.mark.parametrize(("kind", "comment", "said"), COMMENTS)
def test_comments_among_rows(tmp_path, kind, comment, said):
    lines = TEXTS[kind].splitlines(keepends=True)
    at = 18 if kind == "csv" else 17
    path = tmp_path / f"a.{kind}"
    path.write_text("".join([*lines[:at], comment + "\n", *lines[at:]]))
    assert said in _said(path)
