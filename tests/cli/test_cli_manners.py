"""Small things that people meet on the command line."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import linsep
from command_line import assert_refused, here
from linsep import kernels
from linsep.errors import DataError
from whole_files import load_table

pytestmark = pytest.mark.compiled


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,p\n2,1,q\n3,5,p\n1,1,q\n")
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n1 1:2\n")
    return tmp_path


def test_a_model_or_a_proof_is_a_file(folder):
    for command in (("fit", "t.svm", "--model"), ("separate", "t.svm", "--proof")):
        assert_refused(
            *command, "-", cwd=folder, said=f"{command[-1]} - is standard output", exit_code=2
        )


def test_a_margin_that_is_no_word(folder):
    done = here("separate", "t.svm", "--margin", "0.1", cwd=folder)
    assert done.returncode == 2
    assert done.stderr == "linsep: error: --margin must be 'max', not '0.1'.\n"


def test_bytes_that_are_no_proof(folder):
    (folder / "p.json").write_bytes(b"\xff\xfe{}")
    assert_refused("verify", "p.json", "t.svm", cwd=folder, code="bad-proof")


def test_labels_are_the_same_in_json_as_in_text(folder):
    fitted = here("fit", "t.svm", "--model", "m", "--json", cwd=folder).stdout
    assert json.loads(fitted)["classes"] == [0, 1]
    assert '"classes": [0, 1]' in fitted
    scored = here("score", "m", "t.svm", "--json", cwd=folder).stdout
    assert '"label": 0,' in scored
    predicted = here("predict", "m", "t.svm", "--json", cwd=folder).stdout
    assert predicted.startswith('{"prediction": 1, ')
    assert '"classes": [0, 1]' in here("inspect", "m", "--json", cwd=folder).stdout
    for learner in ("logistic", "naive-bayes"):
        shown = here("fit", "t.svm", "--learner", learner, "--l2" * (learner == "logistic") or "-m",
                     1 if learner == "logistic" else "n", "--json", cwd=folder).stdout  # fmt: skip
        assert '"classes": [0, 1]' in shown


def test_errors_are_part_of_the_package():
    code = "import linsep; print(linsep.errors.DataError.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "DataError\n"
    assert "errors" in dir(linsep)


def test_shells_complete_commands(folder):
    asked = {"_LINSEP_COMPLETE": "bash_complete", "COMP_WORDS": "linsep sep", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "linsep"], cwd=folder, env=os.environ | asked, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "plain,separate\n"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["1,234", "2,500"], "notation (such as '1,234'): read them with thousands=\",\""),
        (["1,234.5", "12,345,678", "7"], 'read them with thousands=","'),
        (["1,5", "2,25"], "notation (such as '1,5'): read them with decimal=\",\""),
        (["0,125", "0,250"], 'read them with decimal=","'),
        (["1.234,5", "17"], 'read them with decimal="," and thousands="."'),
    ],
)
def test_commas_are_called_what_they_are(folder, values, said):
    (folder / "c.tsv").write_text("x\ty\n" + "".join(f"{v}\t{k}\n" for k, v in enumerate(values)))
    with pytest.raises(DataError) as caught:
        load_table(folder / "c.tsv", target="y")
    assert said in str(caught.value)


def test_dependent_coefficients_come_last(folder):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, (30, 3))
    lines = [f"{a},{a},{b},{c},{a + 3 * b + k % 3}" for k, (a, b, c) in enumerate(rows)]
    (folder / "d.csv").write_text("\n".join(["a,same,b,c,y", *lines]) + "\n")
    here("fit", "d.csv", "--target", "y", "--learner", "linear", "--model", "m", cwd=folder)
    assert "dependent" in here("summary", "m", cwd=folder).stdout
    top = here("summary", "m", "--top", 2, cwd=folder).stdout
    assert "\na " in top
    assert "\nb " in top
    assert "dependent" not in top.partition("... and")[0]


@pytest.mark.parametrize(
    ("header", "rows", "advice"),
    [
        ("big,y", ["5001,p", "5002,q", "5004,p"], "'big' spans 3, 'big' reaches 5004"),
        ("minute,town,y", ["1,u,p", "900,v,q", "2,u,q"], "'town' spans 1, 'minute' reaches 900"),
        ("a,b,y", ["1,30,p", "2,40,q", "3,35,p"], None),
    ],
)
def test_advice_where_scaling_would_serve(folder, header, rows, advice):
    (folder / "s.csv").write_text("\n".join([header, *rows]) + "\n")
    fit = ("fit", "s.csv", "--target", "y", "--scale", "none")
    shown = here(*fit, cwd=folder).stdout
    assert ("advice " in shown) == (advice is not None)
    assert advice is None or advice in shown
    assert "advice " not in here(*fit[:-2], cwd=folder).stdout


def test_inspect_shows_options_that_fit_takes(folder):
    """Not ``fit_intercept=False``; all of them make the same model again."""
    chosen = [
        "--no-fit-intercept", "--keep", "last", "--max-iter", "7", "--learning-rate", "0.5",
        "--class-weight", "1=2.0", "--tie", "positive", "--normalize",
    ]  # fmt: skip
    assert here("fit", "t.svm", *chosen, "--model", "m", cwd=folder).returncode == 0
    shown = here("inspect", "m", cwd=folder).stdout
    (line,) = (line for line in shown.splitlines() if line.startswith("options "))
    typed, others = line.removeprefix("options").split(";")
    assert others == " other learner options at their defaults"
    assert sorted(typed.split()) == sorted(chosen)
    assert here("fit", "t.svm", *typed.split(), "--model", "n", cwd=folder).returncode == 0
    assert here("inspect", "n", cwd=folder).stdout == shown
    here("fit", "t.svm", "--model", "m", "--force", cwd=folder)
    assert "learner options at their defaults" in here("inspect", "m", cwd=folder).stdout


def test_inspect_of_models_whose_parameters_are_no_options(folder):
    X, y = np.eye(4), [0, 1, 0, 1]
    model = linsep.KernelPerceptron(kernel=kernels.RBF(2.0), random_state=None, warm_start=True)
    linsep.save(model.fit(X, y), folder / "k")
    shown = here("inspect", "k", cwd=folder).stdout
    (line,) = (line for line in shown.splitlines() if line.startswith("options "))
    said = "options --keep last --max-iter 100 no --random-state; other learner options at their"
    said += " defaults"
    assert " ".join(line.split()) == said
    assert "RBF(gamma=2.0)" in shown.partition("options")[0]
    assert not re.search(r"\w=(None|True|False|')", shown)


@pytest.mark.parametrize("learner", ["perceptron", "kernel", "logistic", "naive-bayes"])
def test_labels_in_errors_are_written_as_in_the_file(folder, learner):
    (folder / "one.svm").write_text("1 1:1\n1 2:1\n1 1:2\n")
    fit = ("fit", "one.svm", "--learner", learner)
    assert_refused(*fit, cwd=folder, code="class-count")
    if learner in ("perceptron", "logistic"):
        weights = ("--learner", learner, "--class-weight", "7=2")
        assert_refused("fit", "t.svm", *weights, cwd=folder, code="unknown-label")
