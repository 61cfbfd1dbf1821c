"""linsep export: what it refuses, and that it leaves nothing behind."""

import shutil
import sys

import numpy as np
import pytest

from command_line import assert_refused, here, table
from exported import module
from linsep import KernelPerceptron, Perceptron, export, save
from linsep.errors import LinsepError
from refusals import refused

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
    ("model", "file", "code"),
    [
        (
            "plain",
            "m.txt",
            "wrong-format",
        ),
        ("plain", "m", "wrong-format"),
        ("plain", "is.sql", "file-exists"),
        ("plain", "none/m.sql", "no-file"),
        ("damaged", "m.sql", "bad-model-file"),
        ("none", "m.sql", "no-file"),
        ("words", "m.json", "unsupported"),
        ("words", "m.onnx", "unsupported"),
        ("hashed", "m.onnx", "unsupported"),
        ("kernel", "m.py", "unsupported"),
        ("vote", "m.py", "unsupported"),
        ("random", "m.csv", "unsupported"),
        ("vw", "m.json", "unsupported"),
        ("vw", "m.onnx", "unsupported"),
    ],
)
def test_refusals(models, model, file, code):
    assert_refused("export", f"{model}.linsep", file, cwd=models, code=code)
    assert (models / "is.sql").read_text() == "mine"


def test_the_model_itself_is_never_overwritten(models):
    shutil.copy(models / "plain.linsep", models / "m.py")
    assert_refused("export", "m.py", "m.py", "--force", cwd=models, code="conflict")
    assert_refused("export", "m.py", "-", cwd=models, said="give a file", exit_code=2)
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
    assert_refused("export", "plain.linsep", "m.onnx", cwd=models, code="missing-package")


@pytest.mark.parametrize(
    ("names", "labels", "ending", "code"),
    [
        (["a", "A"], ["p", "q"], "sql", "duplicate-name"),
        (["a", "b\0"], ["p", "q"], "sql", "unsupported"),
        (["a", ""], ["p", "q"], "sql", "unsupported"),
        (["a", "b"], [2**63, 2**64 - 1], "sql", "out-of-range"),
        (["a", "b\ud800"], ["p", "q"], "json", "encoding"),
        (["a", "a"], ["p", "q"], "csv", "duplicate-name"),
    ],
)
def test_names_that_a_format_cannot_hold(names, labels, ending, code, tmp_path):
    model = Perceptron(max_iter=2).fit([[0.0, 1.0], [1.0, 0.0]], np.array(labels, dtype=object))
    model.feature_names_in_ = np.array(names, dtype=object)
    with refused(LinsepError, code):
        export(model, tmp_path / f"m.{ending}")
    assert not list(tmp_path.iterdir())


def test_wide_models_are_not_for_databases(tmp_path):
    model = Perceptron(max_iter=2).fit(np.eye(2, 3000), [0, 1])
    with refused(LinsepError, "too-large"):
        export(model, tmp_path / "m.sql")
    found = module(export(model, tmp_path / "m.py"))
    assert found["predict"]([0.0, 1.0] + [0.0] * 2998) == 1
    with refused(LinsepError, "file-exists"):
        export(model, tmp_path / "m.py")
    assert export(model, tmp_path / "m.py", force=True).exists()
    save(KernelPerceptron().fit([[0.0], [1.0]], [0, 1]), tmp_path / "k")
    assert_refused("export", "k", "k.csv", cwd=tmp_path, code="unsupported")
