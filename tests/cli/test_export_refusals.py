"""linsep export: what it refuses, and that it leaves nothing behind."""

import shutil
import sys

import numpy as np
import pytest

from command_line import assert_refused, here, table
from exported import module
from linsep import KernelPerceptron, Perceptron, export, save
from linsep.errors import LinsepError

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    rows = [[x, f"{'ab'[x % 2]}", f"word{x} other", x % 3 > 0] for x in range(12)]
    table(folder, "t.csv", ["n", "t", "words", "y"], rows)
    (folder / "t.vw").write_text("1 | a b\n-1 | c\n")
    learn = {
        "plain": ["t.csv", "--exclude", "words"],
        "words": ["t.csv", "--exclude", "t", "--text", "words"],
        "hashed": ["t.csv", "--exclude", "words", "--hash-bits", "4"],
        "kernel": ["t.csv", "--exclude", "words", "--exclude", "t", "--learner", "kernel"],
        "vote": ["t.csv", "--exclude", "words", "--keep", "vote"],
        "random": ["t.csv", "--exclude", "words", "--tie", "random"],
        "vw": ["t.vw"],
    }
    for name, (data, *options) in learn.items():
        target = ["--target", "y"] if data.endswith("csv") else []
        done = here("fit", data, *target, *options, "--model", f"{name}.linsep", cwd=folder)
        assert done.returncode == 0, done.stderr
    whole = (folder / "plain.linsep").read_bytes()
    (folder / "damaged.linsep").write_bytes(whole[:-9] + b"x" + whole[-8:])
    (folder / "is.sql").write_text("mine")
    return folder


@pytest.mark.parametrize(
    ("model", "file", "said"),
    [
        (
            "plain",
            "m.txt",
            r"m\.txt has no known extension: use .*or \.py",
        ),
        ("plain", "m", "has no known extension"),
        ("plain", "is.sql", r"is\.sql exists: choose another name or overwrite it with --force"),
        ("plain", "none/m.sql", "The folder none does not exist"),
        ("damaged", "m.sql", "damaged.linsep was altered or damaged"),
        ("none", "m.sql", "There is no model file none.linsep"),
        ("words", "m.json", "words of column 'words' are features.*model with --exclude words"),
        ("words", "m.onnx", "words of column 'words' are features"),
        ("hashed", "m.onnx", "values of column 't' are hashed.*without hashing"),
        ("kernel", "m.py", "A KernelPerceptron has a kernel.*export it to ONNX"),
        ("vote", "m.py", "A Perceptron that votes.*model with --keep average"),
        ("random", "m.csv", "random ties.*model with --tie negative"),
        ("vw", "m.json", "come from vw text.*train it on a table or on svmlight text"),
        ("vw", "m.onnx", "come from vw text"),
    ],
)
def test_refusals(models, model, file, said):
    assert_refused("export", f"{model}.linsep", file, cwd=models, said=said)
    assert (models / "is.sql").read_text() == "mine"


def test_the_model_itself_is_never_overwritten(models):
    shutil.copy(models / "plain.linsep", models / "m.py")
    said = "m.py is an input of this command; give the output another name"
    assert_refused("export", "m.py", "m.py", "--force", cwd=models, said=said)
    assert_refused("export", "m.py", "-", cwd=models, said="give a file", code=2)
    assert here("export", "m.py", "is.json", cwd=models).returncode == 0
    assert here("export", "vote.linsep", "vote.onnx", cwd=models).returncode == 0
    assert here("export", "kernel.linsep", "kernel.onnx", cwd=models).returncode == 0


def test_interrupted_while_it_writes(models, monkeypatch):
    def interrupted(model):
        raise KeyboardInterrupt

    monkeypatch.setattr("linsep.exports.exporting.as_sql", interrupted)
    before = sorted(models.iterdir())
    done = here("export", "plain.linsep", "is.sql", "--force", cwd=models)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "linsep: interrupted; nothing was saved.\n"
    assert sorted(models.iterdir()) == before
    assert (models / "is.sql").read_text() == "mine"


def test_without_onnx(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    said = r"Export to ONNX needs a package that is not installed: pip install 'linsep\[onnx\]'"
    assert_refused("export", "plain.linsep", "m.onnx", cwd=models, said=said)


@pytest.mark.parametrize(
    ("names", "labels", "ending", "said"),
    [
        (["a", "A"], ["p", "q"], "sql", "'a' and 'A' are the same in SQL"),
        (["a", "b\0"], ["p", "q"], "sql", "SQL cannot hold 'b.x00', which has a NUL"),
        (["a", ""], ["p", "q"], "sql", "A column without a name"),
        (["a", "b"], [2**63, 2**64 - 1], "sql", "SQLite cannot hold the label 9223372036854775808"),
        (["a", "b\ud800"], ["p", "q"], "json", "lone surrogate"),
        (["a", "a"], ["p", "q"], "csv", "Two columns are called 'a'"),
    ],
)
def test_names_that_a_format_cannot_hold(names, labels, ending, said, tmp_path):
    model = Perceptron(max_iter=2).fit([[0.0, 1.0], [1.0, 0.0]], np.array(labels, dtype=object))
    model.feature_names_in_ = np.array(names, dtype=object)
    with pytest.raises(LinsepError, match=said):
        export(model, tmp_path / f"m.{ending}")
    assert not list(tmp_path.iterdir())


def test_wide_models_are_not_for_databases(tmp_path):
    model = Perceptron(max_iter=2).fit(np.eye(2, 3000), [0, 1])
    with pytest.raises(LinsepError, match=r"at most 2,000 columns.*would need 3,003: export it"):
        export(model, tmp_path / "m.sql")
    found = module(export(model, tmp_path / "m.py"))
    assert found["predict"]([0.0, 1.0] + [0.0] * 2998) == 1
    with pytest.raises(LinsepError, match="exists: choose another name"):
        export(model, tmp_path / "m.py")
    assert export(model, tmp_path / "m.py", force=True).exists()
    save(KernelPerceptron().fit([[0.0], [1.0]], [0, 1]), tmp_path / "k")
    assert_refused("export", "k", "k.csv", cwd=tmp_path, said="has a kernel")
