"""Dictionaries and views of text that stand for gigabytes: bounded memory, or one sentence."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import here
from linsep import Perceptron, Text, open_source
from linsep.describing.describing import Description
from linsep.errors import DataError
from refusals import refused

pytestmark = pytest.mark.compiled

ROWS, LONG = 800, ["p word " * 430_000, "q"]  # 2.4 GB as plain text
KINDS = {"text": pa.string(), "large": pa.large_string(), "view": pa.string_view()}


def write(path, text, rows=ROWS):
    columns = {"x": np.arange(float(rows)), "t": text, "y": ["a", "b"] * (rows // 2)}
    table = pa.table(columns)
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def dictionary(kind, long=LONG, rows=ROWS):
    codes = pa.array((np.arange(rows) % 50 == 0).astype(np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array(long, kind))


def views(rows=ROWS):
    """Views of the same three megabytes."""
    one = pa.array([LONG[0]], pa.string_view())
    structs = np.tile(np.frombuffer(one.buffers()[1], np.uint8)[:16], rows)
    held = [None, pa.py_buffer(structs.tobytes()), *one.buffers()[2:]]
    return pa.Array.from_buffers(pa.string_view(), rows, held)


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_refused_before_it_swells(tmp_path, kind):
    path = tmp_path / "t.arrow"
    write(path, dictionary(KINDS[kind]))
    assert path.stat().st_size < 4 << 20
    before = pa.total_allocated_bytes()
    for read in (
        lambda: next(open_source(path, target="y").batches()),
        lambda: Description([str(path)], target="y").read(),
    ):
        with refused(DataError, "too-large", column="t"):
            read()
    assert pa.total_allocated_bytes() - before < 64 << 20


def test_views_are_refused_before_they_swell(tmp_path):
    path = tmp_path / "t.arrow"
    write(path, views())
    with refused(DataError, "too-large", column="t"):
        next(open_source(path, target="y").batches())


@pytest.mark.parametrize("kind", [*KINDS, "views"])
def test_words_are_counted_a_few_rows_at_a_time(tmp_path, kind):
    path, rows = tmp_path / "t.arrow", 64
    write(path, views(rows) if kind == "views" else dictionary(KINDS[kind], rows=rows), rows)
    plain = {"x": np.arange(float(rows)), "t": ["p word", "q"] * 32, "y": ["a", "b"] * 32}
    pq.write_table(pa.table(plain), tmp_path / "few.parquet")
    few = open_source(tmp_path / "few.parquet", target="y", text={"t": Text(norm=None)})
    model = Perceptron(max_iter=2).fit(few)
    source = open_source(path, recipe=model.recipe_)
    tables = list(source._tables(0))
    assert len(tables) > 10
    batch = next(source.batches())
    words = batch.X.toarray()[:, 1:].tolist()
    alone = Text(norm=None).fit_transform([LONG[0]])
    assert sorted(x for x in words[1] if x) == sorted(alone.data.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_dictionaries_of_every_text_are_read(tmp_path, kind):
    texts = pa.array(["p", None, "q", "p"] * 5).dictionary_encode()
    chosen = pa.DictionaryArray.from_arrays(texts.indices, texts.dictionary.cast(KINDS[kind]))
    write(tmp_path / "t.arrow", chosen, 20)
    found = open_source(tmp_path / "t.arrow", target="y", missing="zero")
    X = np.concatenate([batch.X.toarray() for batch in found.batches()])
    assert found.feature_names == ["x", "t=p", "t=q"]
    assert X[:, 1:].tolist() == [[1, 0], [0, 0], [0, 1], [1, 0]] * 5


@pytest.mark.parametrize("command", ["predict", "score", "fit", "convert", "describe"])
def test_commands_say_one_sentence(tmp_path, command):
    write(tmp_path / "few.arrow", ["p", "q"] * 20, 40)
    write(tmp_path / "t.arrow", dictionary(pa.large_string()))
    assert here("fit", "few.arrow", "--target", "y", "--model", "m", cwd=tmp_path).returncode == 0
    words = {
        "predict": ["m", "t.arrow"],
        "score": ["m", "t.arrow"],
        "fit": ["t.arrow", "--target", "y", "--model", "n"],
        "convert": ["t.arrow", "o.svm", "--target", "y"],
        "describe": ["t.arrow", "--target", "y"],
    }[command]
    done = here(command, *words, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "Column 't' has 2.198 GB of text in 800 rows" in done.stderr
