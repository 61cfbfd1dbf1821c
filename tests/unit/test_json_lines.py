"""JSON lines: fields that are absent, misspelled or escaped; lines that no parser may see."""

import json

import pytest
from hypothesis import given, strategies as st

from linsep import Perceptron, open_source
from linsep.errors import DataError
from linsep.sources.tables import text_file
from linsep.sources.tables.json_lines import JsonFile
from refusals import refused

ROWS = [{"height": k % 7, "city": "ab"[k % 2], "y": k % 2} for k in range(60)]
MISSPELLED = {"hieght": 1, "city": "a", "y": 0}
GOOD = '{"x":1,"t":"a"}\n{"x":2,"t":"b"}\n'


def lines(folder, rows, name="a.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(params=[64, 1 << 20], ids=["blocks", "one_block"])
def folder(tmp_path, monkeypatch, request):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", request.param)
    return tmp_path


def model_of(folder, **how):
    source = open_source(lines(folder, ROWS, "train.jsonl"), target="y", **how)
    return Perceptron(max_iter=2).fit(source)


def test_a_field_that_the_first_block_lacks_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)
    source = open_source(lines(tmp_path, [*ROWS, MISSPELLED]), target="y", missing="mean")
    with refused(DataError, "unknown-column", row=61, column="hieght"):
        list(source.batches())


NAMES = ["a", "b", "a\\\\", 'q\\"', "\\u00e9", "è", "", "a,b", "{"]


def test_names_are_read_as_json_does(folder):
    values = ["1", '"a"', '{"x": 1, "b": [{"z": 2}]}', '[1, {"y": ","}]', '"\\\\"', "null"]
    written = [f'"{name}"  : {values[k % 6]}' for k, name in enumerate(NAMES)]
    objects = ["{ " + " , ".join(written[k:]) + "}" for k in range(len(NAMES))]
    (path := folder / "a.jsonl").write_text("\n\n".join(reversed(objects)) + "\n")
    for known in ({"b": "text"}, {"b": "text", "a": "number"}):
        file, expected = JsonFile(path), {}
        list(file.chunks(known))
        for number, line in enumerate(reversed(objects), 1):
            for name in json.loads(line):
                if name not in known:
                    expected.setdefault(name, number)
        assert file.others == expected


def read(path, **options):
    return list(open_source(path, target="t", **options).batches())


NO_OBJECTS = [
    "null", "[1]", "3", ",", "}", "{", '{"x":1', "[" * 30_000, '{"x":"\n"}',
    '{"x":1,"t":"a"} null', '{"x":1,"t":"a"}{"x":3,"t":"b"}', '{"x":1,\n"t":"a"}', "# a",
]  # fmt: skip


@pytest.mark.parametrize("before", ["", GOOD], ids=["first", "later"])
def test_lines_that_are_no_object_never_reach_the_parser(tmp_path, before):
    """A first line null, or many open brackets, ended the process."""
    path = tmp_path / "a.jsonl"
    for line in NO_OBJECTS:
        path.write_text(before + line + "\n" + GOOD)
        with refused(DataError, "bad-line", row=1 + before.count("\n")):
            read(path, missing="drop")
    path.write_text("\ufeff{}\n" + GOOD)
    with refused(DataError, "missing-value", row=1, column="t"):
        read(path)


def test_fields_that_are_left_out_may_hold_anything(folder):
    path = lines(folder, [{"x": k, "t": "ab"[k % 2], "z": [k, "?", [1]][k % 3]} for k in range(60)])
    (folder / "a.jsonl").write_text("\ufeff" + path.read_text() + "\ufeff" + path.read_text())
    first = open_source(
        lines(folder, [{"x": 1, "t": "a"}, {"x": 2, "t": "b"}], "b.jsonl"), target="t"
    )
    source = open_source(path, recipe=first.recipe())
    assert sum(batch.X.shape[0] for batch in source.batches()) == 120


PIECES = ["{", "}", "[", "]", '"', "\\", '\\"', ":", ",", "1", "null", " ", "\t", "\n", "\r\n", "é"]
OBJECTS = ['{"a":1}', '{"a":{"b":[1,2]}}', '{"a":"}\\"\\\\{"}', "{}", ' {"a":"\\n"} ', "", "  "]


def is_object(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


@given(st.lists(st.sampled_from(PIECES + OBJECTS), max_size=12).map("".join))
def test_lines_that_pass_are_one_object_each(tmp_path_factory, text):
    (path := tmp_path_factory.mktemp("json") / "a.jsonl").write_text(text + "\n{}")
    filled = [line for line in path.read_bytes().decode().splitlines() if line.strip(" \t")]
    try:
        rows = sum(batch.num_rows for batch in JsonFile(path).chunks({"x": "number"}))
    except DataError:
        assert not all(map(is_object, filled)) or "\f" in text
    else:
        assert rows == len(filled)
        assert all(map(is_object, filled))


def test_fields_that_are_absent_or_misspelled(folder):
    """Columns that no record has are refused; values and fields beside the recipe are counted."""
    model = model_of(folder, missing="mean")
    rows = [{"hieght" if k == "height" else k: v for k, v in r.items()} for r in ROWS]
    with refused(DataError, "unknown-column", column="height"):
        path = lines(folder, rows)
        model.predict(open_source(path, recipe=model.recipe_, labeled=False))
    rows = [{**row, "id": 1} for row in ROWS]
    rows[40] = MISSPELLED
    path = lines(folder, rows)
    source = open_source(path, recipe=model.recipe_)
    for _ in range(2):
        model.predict(source)
        assert source.filled == {"height": 1}
        assert source.ignored == {"hieght": f"{path} row 41", "id": f"{path} row 1"}
