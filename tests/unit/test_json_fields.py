"""Fields of JSON lines: a misspelled name does not pass for a missing value."""

import json

import pytest

from linsep import Perceptron
from linsep.errors import DataError
from linsep.sources import open_source
from linsep.sources.tables import text_file
from linsep.sources.tables.json_lines import FieldNames
from refusals import refused

pytestmark = pytest.mark.compiled

ROWS = [{"height": k % 7, "city": "ab"[k % 2], "y": k % 2} for k in range(60)]
MISSPELLED = {"hieght": 1, "city": "a", "y": 0}


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


@pytest.mark.parametrize("missing", ["error", "zero", "mean", "drop"])
def test_a_column_that_no_record_has_is_refused(folder, missing):
    model = model_of(folder, missing=missing)
    path = lines(
        folder, [{"hieght" if k == "height" else k: v for k, v in r.items()} for r in ROWS]
    )
    with refused(DataError, "unknown-column", column="height"):
        model.predict(open_source(path, recipe=model.recipe_, labeled=False))
    late = lines(folder, [MISSPELLED] * 30 + [{"height": None, "city": "a"}])
    if missing in ("zero", "mean"):
        source = open_source(late, recipe=model.recipe_, labeled=False)
        assert model.predict(source).size == 31


def test_missing_values_and_unknown_fields_are_counted(folder):
    model = model_of(folder, missing="mean")
    rows = [{**row, "id": 1} for row in ROWS]
    rows[40] = MISSPELLED
    path = lines(folder, rows)
    source = open_source(path, recipe=model.recipe_)
    for _ in range(2):
        model.predict(source)
        assert source.filled == {"height": 1}
        assert source.ignored == {"hieght": f"{path} line 41", "id": f"{path} line 1"}


@pytest.mark.parametrize("how", [{}, {"exclude": "city"}])
def test_a_field_that_the_first_block_lacks_is_refused(tmp_path, monkeypatch, how):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)
    path = lines(tmp_path, [*ROWS, MISSPELLED])
    source = open_source(path, target="y", missing="mean", **how)
    with refused(DataError, "unknown-column", row=61, column="hieght"):
        list(source.batches())


def test_names_with_escaped_letters_are_known(folder):
    """As Python writes those that are not ASCII."""
    rows = [{"größe": k, 'q"': 1, "tag\n": k, "y": k % 2} for k in range(40)]
    path = lines(folder, rows)
    assert b"gr\\u00f6\\u00dfe" in path.read_bytes()
    source = open_source(path, target="y", exclude="tag\n", missing="mean")
    model = Perceptron(max_iter=2).fit(source)
    assert model.feature_names_in_.tolist() == ["größe", 'q"']
    other = lines(folder, [*rows, {"größe": 1, "été": 2}], "b.jsonl")
    source = open_source(other, recipe=model.recipe_, labeled=False)
    model.predict(source)
    assert source.filled == {'q"': 1}
    assert source.ignored == {"y": f"{other} line 1", "été": f"{other} line 41"}


NAMES = ["a", "b", "a\\\\", 'q\\"', "\\u00e9", "é", "", "a,b", "{"]


def test_names_are_read_as_json_does():
    values = ["1", '"a"', '{"x": 1, "b": [{"z": 2}]}', '[1, {"y": ","}]', '"\\\\"', "null"]
    written = [f'"{name}"  : {values[k % 6]}' for k, name in enumerate(NAMES)]
    objects = ["{ " + " , ".join(written[k:]) + "}" for k in range(len(NAMES))]
    block = "\n\n".join(reversed(objects)).encode() + b"\n"
    for known in ([], ["a"], ["é", "a"]):
        names = FieldNames(known)
        names.look_at(block, lambda at: 1 + block.count(b"\n", 0, at))
        expected = {}
        for number, line in enumerate(block.decode().splitlines(), 1):
            for name in json.loads(line) if line else ():
                if name not in known:
                    expected.setdefault(name, number)
        # An escaped spelling of a known name is another spelling, but no other name.
        assert {k: v for k, v in names.lines.items() if k not in known} == expected


def test_all_names_of_a_wide_record_are_found():
    record = json.dumps({f"x{k}": k for k in range(3_000)}) + "\n"
    names = FieldNames(())
    names.look_at(record.encode() * 3, lambda at: 1)
    assert list(names.lines) == [f"x{k}" for k in range(3_000)]
