"""Small files of very many columns: read as others are, in little memory."""

import subprocess
import sys

import pytest

from linsep.errors import DataError
from linsep.sources.tables import csv
from linsep.sources.tables.csv import CsvFile
from linsep.sources.tables.reading_options import ReadingOptions

pytestmark = pytest.mark.compiled

KINDS = {"a": "number", "b": "text", "c": "bool", "d": "number", "e": "text"}
ROWS = {
    "plain": "1,x,true,2,y\n2,z,false,3.5,y\n",
    "missing": "1,,true,NA,\n,NULL,,nan,n/a\n",
    "quotes": '"1","x,""y""\r\nz",true,2,"\n"\n2,a"b",false,3,""\n',
    "carriage returns": "1,x,true,2,y\r\n\r\n2,z,false,3,y\r\n",
    "no last break": "1,x,true,2,y\n2,z,false,3,y",
    "dates and blanks": " 1 ,2024-01-01,TRUE,1e3,12:30:00\n",
    "a short row": "1,x,true,2,y\n1,x\n",
    "a long row": "1,x,true,2,y\n1,x,true,2,y,z\n",
    "a word": "1,x,true,2,y\n1,x,true,two,y\n",
    "two words": "1,x,true,2,y\n1,x,maybe,2,y\n1,x,true,two,y\n",
    "an open quote": '1,x,true,2,y\n1,"x,true,2,y\n1,x,true,2,y\n',
    "not UTF-8": "1,x,true,2,\xe9\n",
}


# Runs a command, prints the kilobytes that it takes at its peak.
PEAK = """
import resource, subprocess, sys
command = [sys.executable, "-m", "linsep", *sys.argv[1:]]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def seen(path, kinds):
    """What the first rows or all rows of a file are, or what is said of them."""
    file = CsvFile(path, ReadingOptions())
    try:
        batches = list(file.chunks(kinds)) if kinds else [file.head()]
        return file._strips, [(batch.schema, batch.to_pylist()) for batch in batches]
    except (DataError, UnicodeDecodeError) as problem:
        return file._strips, str(problem)


@pytest.mark.parametrize("kinds", [{}, KINDS, {"e": "text", "a": "number"}], ids=len)
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("head", ["a,b,c,d,e\n", '\ufeff"a",b,c,"d",e\r\n'])
def test_strips_of_columns_give_what_all_columns_at_once_give(
    tmp_path, monkeypatch, rows, kinds, head
):
    path = tmp_path / "a.csv"
    text = (head + rows).encode("utf-8" if rows.isascii() else "latin-1", "ignore")
    path.write_bytes(text)
    whole = seen(path, kinds)
    monkeypatch.setattr(csv, "STRIP", 2)
    strips = seen(path, kinds)
    assert strips == (True, whole[1])
    assert whole[0] is False


@pytest.mark.thorough
def test_a_longer_file_is_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "STRIP", 2)
    (tmp_path / "a.csv").write_text("a,b,c,d,e\n" + "1,x,true,2,y\n" * 100_000)
    file = CsvFile(tmp_path / "a.csv", ReadingOptions())
    assert not file._strips
    assert sum(batch.num_rows for batch in file.chunks(KINDS)) == 100_000


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_a_small_file_of_100_000_columns_takes_less_than_a_gigabyte(tmp_path):
    """Arrow's reader alone took 9 kB a column."""
    path, columns = tmp_path / "wide.csv", 100_000
    names = ",".join(f"{k:x}" for k in range(columns))
    path.write_text(f"{names},y\n" + "1," * columns + "0\n" + "," * columns + "1\n")
    assert path.stat().st_size < 1 << 20
    command = [sys.executable, "-c", PEAK, "fit", path, "--target", "y", "--missing", "zero"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) < 1_000_000
