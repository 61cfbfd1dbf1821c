"""Completion in a shell offers words and the columns of the file that is on the line."""

import pydoc
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

import linsep
from linsep.catalog import ESTIMATORS
from linsep.cli.app import app

pytestmark = pytest.mark.uncompiled


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,city,cost,label\n1,a,2,x\n")
    (tmp_path / "s.csv").write_text("# a;b\nage;street\n1;a\n")
    (tmp_path / "bad.csv").write_bytes(b"\x00\xff\n")
    return tmp_path


def offered(*typed):
    *words, incomplete = typed
    complete = ShellComplete(app, {}, "linsep", "_LINSEP_COMPLETE")
    return [one.value for one in complete.get_completions(words, incomplete)]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("fit t.csv --target |", ["age", "city", "cost", "label"]),
        ("fit t.csv --target c|", ["city", "cost"]),
        ("fit t.csv --exclude age --categorical ci|", ["city"]),
        ("separate t.csv --include l|", ["label"]),
        ("fit s.csv --delimiter ; --comment # --target |", ["age", "street"]),
        ("fit --target |", []),
        ("plot r|", ["reliability", "roc", "run", "regression"]),
        ("fit none.csv --target |", []),
        ("fit bad.csv --target |", []),
        ("fit t.csv --learner |", list(ESTIMATORS)),
        ("fit t.csv --learner pa|", ["pa"]),
        ("fit t.csv --missing |", ["error", "zero", "drop", "mean"]),
        ("fit t.csv --keep a|", ["average"]),
        ("fit t.csv --learner logistic --solver n|", ["newton"]),
        ("describe t.csv --target c|", ["city", "cost"]),
        ("des|", ["describe"]),
    ],
)
def test_what_is_offered(folder, typed, words):
    assert offered(*typed.removesuffix("|").split(" ")) == words


def test_help_of_the_package_fits_a_page():
    text = pydoc.render_doc(linsep, renderer=pydoc.plaintext)
    assert len(text.splitlines()) < 110
    assert "Perceptron" in text
    assert "Perceptron" in linsep.__all__


def test_all_names_can_be_imported():
    code = "from linsep import *; print(Perceptron.__name__, fit.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Perceptron", "fit"]
