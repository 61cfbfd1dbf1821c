"""Files that change while they are read, or between readings: no model learns from two of them."""

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from interrupting import in_pass
from linsep import Perceptron, open_source
from linsep.errors import CheckpointError, DataError
from linsep.sources.tables import text_file
from refusals import refused


def many_rows(folder, kind):
    """Write a file of so many blocks that some are not read when the first rows come."""
    path = folder / f"rows.{kind}"
    rows = {"svm": 5000}.get(kind, 400_000)
    x, y = np.arange(rows) * 1.5, np.arange(rows) % 2
    if kind in ("parquet", "arrow"):
        table = pa.table({"x": x, "y": y})
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=1000)
        else:
            with pa.ipc.new_file(path, table.schema) as sink:
                sink.write_table(table, max_chunksize=1000)
        return path
    line = {"csv": "{0},{1}\n", "svm": "{1} 1:{0}\n"}[kind]
    text = "x,y\n" * (kind == "csv") + "".join(line.format(a, b) for a, b in zip(x, y, strict=True))
    path.write_text(text)
    return path


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def appended(path):
    with path.open("ab") as file:
        file.write(b"\n")


def edited(path):
    """Change a byte and put the time back."""
    about = path.stat()
    with path.open("r+b") as file:
        file.seek(-9, os.SEEK_END)
        byte = file.read(1)
        file.seek(-9, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file of each kind, not to be changed."""
    folder = tmp_path_factory.mktemp("written")
    return {kind: many_rows(folder, kind) for kind in ("svm", "csv", "parquet", "arrow")}


@pytest.mark.parametrize(
    ("kind", "change"), [("svm", edited), ("csv", appended), ("parquet", cut), ("arrow", cut)]
)
def test_files_that_change_while_they_are_read(tmp_path, written, kind, change, monkeypatch):
    """At the latest at their end. An Arrow file cut short under a map of it ended the process."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 4096)
    path = Path(shutil.copy(written[kind], tmp_path))
    options = {} if kind == "svm" else {"target": "y"}
    source = open_source(path, **options)
    source._chunk_bytes = 1000  # of svmlight text
    batches = source.batches()
    next(batches)
    change(path)
    with refused(DataError, "file-changed"):
        list(batches)


def test_files_that_change_between_two_readings(tmp_path, written):
    path = Path(shutil.copy(written["csv"], tmp_path))
    source = open_source(path, target="y")
    list(source.batches())
    appended(path)
    with refused(DataError, "file-changed"):
        list(source.batches())
    model = Perceptron(max_iter=1)
    with refused(DataError, "file-changed"):
        model.fit(source)
    assert not hasattr(model, "coef_")


def test_texts_that_change_between_two_readings(tmp_path):
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for number in range(5):
            (tmp_path / label / f"{number}.txt").write_text(f"{label} word {number}")
    source = open_source(tmp_path)
    rows = sum(batch.X.shape[0] for batch in source.batches())
    assert rows == 10
    edited_text = tmp_path / "b" / "3.txt"
    about = edited_text.stat()
    edited_text.write_text("a word 3")
    os.utime(edited_text, ns=(about.st_atime_ns, about.st_mtime_ns))
    with refused(DataError, "file-changed"):
        list(source.batches())


ROWS = 20_000


def table(path, turned):
    """Write rows whose labels, all of one length, are turned or not; the size stays the same."""
    x = np.random.default_rng(0).integers(100, 1000, ROWS)
    y = ((x > 550) ^ turned).astype(int)
    if path.suffix == ".svm":
        path.write_text("".join(f"{b} 1:{a}\n" for a, b in zip(x, y, strict=True)))
    else:
        path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True)))


def turned_in_place(path):
    """Write in place and put the time back."""
    about = path.stat()
    other = path.with_name(f"other{path.suffix}")
    table(other, True)
    with path.open("r+b") as file:
        file.write(other.read_bytes())
    other.unlink()
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def turned_by_another(path):
    """Put another file in its place, as tar, rsync -t and cp -p do."""
    about = path.stat()
    other = path.with_name(f"other{path.suffix}")
    table(other, True)
    os.utime(other, ns=(about.st_atime_ns, about.st_mtime_ns))
    other.replace(path)


def fitted(path, cache=None):
    source = open_source(path, cache=cache, **({} if path.suffix == ".svm" else {"target": "y"}))
    source.memory_bytes = 0
    model = Perceptron(max_iter=3).fit(source)
    return model, source


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("ending", "change"), [("svm", turned_in_place), ("csv", turned_by_another)]
)
def test_other_bytes_of_the_same_size_and_time_are_read(tmp_path, ending, change):
    path = tmp_path / f"rows.{ending}"
    table(path, False)
    before = path.stat()
    old, _ = fitted(path, tmp_path)
    change(path)
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    new, source = fitted(path, tmp_path)
    here, _ = fitted(path)
    assert new.coef_.tobytes() == here.coef_.tobytes() != old.coef_.tobytes()
    assert new.score(source) == here.score(source)


@pytest.mark.compiled
def test_no_fit_goes_on_with_a_file_written_since(tmp_path):
    path, model = tmp_path / "rows.csv", Perceptron(max_iter=3)
    table(path, False)
    with in_pass(1), pytest.raises(KeyboardInterrupt):
        model.fit(open_source(path, target="y"), checkpoint=tmp_path / "c")
    table(path, True)
    with refused(CheckpointError, "bad-checkpoint"):
        model.fit(open_source(path, target="y"), checkpoint=tmp_path / "c")
