"""Model files of format 1, written by the code that wrote them (tests/format_1), are read.

``recorded.json`` has rows, or a table, and what the models of that code said of them. Arrays came
from ``fit``, tables from ``linsep fit``; commits from 2026-11-21 08:18 to 2026-11-22 02:22.
"""

import json
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

import linsep
from command_line import here
from linsep.errors import ModelFileError
from linsep.model_files import format as model_file

pytestmark = pytest.mark.compiled

FOLDER = Path(__file__).parents[1] / "format_1"
RECORDED = json.loads((FOLDER / "recorded.json").read_text())
ARRAYS = [name for name, said in RECORDED.items() if "rows" in said]
TABLES = [name for name, said in RECORDED.items() if "table" in said]
#: whose proof is in a form that is no longer read
PROOFS = ("cycle", "logistic3", "logistic-firth", "logistic-separated")


def loaded(path):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The proof in", UserWarning)
        return linsep.load(path)


def says_what_is_recorded(model, rows, said):
    rows = rows if isinstance(rows[0], str) else np.array(rows)
    found = model.predict(rows)
    if found.dtype.kind == "f":
        assert found == pytest.approx(np.array(said["predict"]), rel=1e-12)
    else:
        assert found.tolist() == said["predict"]
    for name in {"decision_function", "predict_proba"} & said.keys():
        assert getattr(model, name)(rows) == pytest.approx(np.array(said[name]), rel=1e-9)


@pytest.mark.parametrize("name", ARRAYS)
def test_it_predicts_what_is_recorded_and_is_written_in_format_2(tmp_path, name):
    said = dict(RECORDED[name])
    rows = said.pop("rows")
    model = loaded(FOLDER / f"{name}.linsep")
    says_what_is_recorded(model, rows, said)
    linsep.save(model, tmp_path / "again")
    assert model_file._read(tmp_path / "again")[1]["format"] == 2
    assert b'"sha256":"' in (tmp_path / "again").read_bytes()
    says_what_is_recorded(linsep.load(tmp_path / "again"), rows, said)


@pytest.mark.parametrize("name", TABLES)
def test_its_recipe_reads_tables_as_it_did(tmp_path, name):
    (tmp_path / "t.csv").write_text(RECORDED[name]["table"])
    ended = here("predict", FOLDER / f"{name}.linsep", "t.csv", cwd=tmp_path)
    assert ended.stdout.split() == RECORDED[name]["predict"], ended.stderr


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_of_an_earlier_form_is_left_out_with_a_warning(name):
    with pytest.warns(UserWarning, match=r"in an earlier form and is left out; fit again"):
        model = linsep.load(FOLDER / f"{name}.linsep")
    if name == "cycle":
        assert model.stop_reason_ == "cycle"
        assert model.cycle_ is None
        assert "no number of passes" in model.stop_sentence_
    else:
        assert model.separation_ is None
        assert ("separable" in model.stop_sentence_) == (name != "logistic-firth")


def test_least_squares_of_sums_of_squares_say_the_same(tmp_path):
    """rss and tss stood where norms stand now."""
    model = loaded(FOLDER / "linear-dependent.linsep")
    stored = json.loads(metadata(FOLDER / "linear-dependent.linsep")["linsep"])["fit"]
    assert model._fitted.rss == pytest.approx(stored["rss"], rel=1e-15)
    assert model._fitted.tss == pytest.approx(stored["tss"], rel=1e-15)
    explained = stored["tss"] - stored["rss"]
    assert model._fitted.explained_norm**2 == pytest.approx(explained, rel=1e-14)
    said = here("summary", FOLDER / "linear-dependent.linsep", cwd=tmp_path).stdout
    assert said == (FOLDER / "linear-dependent.summary.txt").read_text()


def test_learning_goes_on():
    for name in ("perceptron", "averaged", "voted", "best", "kernel"):
        model = loaded(FOLDER / f"{name}.linsep")
        rows = np.array(RECORDED[name]["rows"])
        before = model.n_updates_
        model.partial_fit(rows, model.classes_[np.arange(len(rows)) % model.classes_.size])
        assert model.n_updates_ > before


def refused(path):
    """What is said of a file that is not loaded; None where it is."""
    try:
        loaded(path)
    except ModelFileError as refusal:
        return str(refusal)
    return None


def metadata(path):
    raw = path.read_bytes()
    return json.loads(raw[8 : 8 + struct.unpack("<Q", raw[:8])[0]])["__metadata__"]


@pytest.mark.parametrize("name", ["voted", "strings-sum", "linear", "logistic-separated", "bayes"])
def test_damage_is_one_sentence_or_changes_nothing(tmp_path, name):
    """Every cut is noticed; a byte of the header that the checksum of format 1 left out may differ
    only where that says the same."""
    path, content = tmp_path / "m", (FOLDER / f"{name}.linsep").read_bytes()
    said = dict(RECORDED[name])
    rows = said.pop("rows")
    for at in range(0, len(content), 5):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 7
        path.write_bytes(damaged)
        refusal = refused(path)
        if refusal is None:
            says_what_is_recorded(loaded(path), rows, said)
        else:
            assert str(path) in refusal
            assert "\n" not in refusal
    for size in range(0, len(content), 7):
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError):
            linsep.load(path)


@pytest.mark.parametrize("name", ["voted", "best", "kernel", "linear", "bayes", "logistic3"])
def test_types_that_its_checksum_left_out_are_checked(tmp_path, name):
    path, content = tmp_path / "m", (FOLDER / f"{name}.linsep").read_bytes()
    others = {b"F64": b"I64U64", b"I64": b"F64U64", b"I32": b"F32U32", b"U8": b"I8", b"BOOL": b""}
    changed = 0
    for kind, instead in others.items():
        at = content.find(b'"dtype":"' + kind + b'"')
        while at >= 0:
            for k in range(0, len(instead), len(kind)):
                start = at + len(b'"dtype":"')
                other = instead[k : k + len(kind)]
                path.write_bytes(content[:start] + other + content[start + len(kind) :])
                changed += 1
                if b"pocket_mistakes" not in content[max(0, at - 30) : at]:
                    with pytest.raises(ModelFileError, match=r"has the type|cut short"):
                        linsep.load(path)
            at = content.find(b'"dtype":"' + kind + b'"', at + 1)
    assert changed >= 4


def test_no_checksum_at_all_is_refused(tmp_path):
    """Neither the one of format 1 nor that of format 2."""
    content = (FOLDER / "perceptron.linsep").read_bytes()
    at = content.index(b"sha256")
    (tmp_path / "m").write_bytes(content[:at] + b"sha-25" + content[at + 6 :])
    with pytest.raises(ModelFileError, match="its checksum is wrong"):
        linsep.load(tmp_path / "m")
    model = loaded(FOLDER / "perceptron.linsep")
    linsep.save(model, tmp_path / "two")
    content = (tmp_path / "two").read_bytes()
    at = content.index(b'"sha256"')
    (tmp_path / "two").write_bytes(content[:at] + b'"sha25x"' + content[at + 8 :])
    with pytest.raises(ModelFileError, match="has no checksum"):
        linsep.load(tmp_path / "two")
