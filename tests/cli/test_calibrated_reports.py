"""Reports of calibrated models, and predictions that need no labels."""

import subprocess
import sys

import pytest

from command_line import here
from linsep import load, open_source

pytestmark = pytest.mark.uncompiled

FOUR = "x,y,k\n1,0,a\n2,0,a\n0,3,b\n0,4,b\n-2,-2,c\n-3,-2,c\n4,4,d\n5,5,d\n"


@pytest.mark.parametrize("multiclass", ["native", "ovr", "ovo"])
@pytest.mark.parametrize("rows", [7, 9])
def test_calibration_leaves_the_equation(tmp_path, multiclass, rows):
    (tmp_path / "k.csv").write_text("\n".join(FOUR.splitlines()[:rows]) + "\n")
    (tmp_path / "new.csv").write_bytes((tmp_path / "k.csv").read_bytes())
    fit = f"fit k.csv --target k --multiclass {multiclass}".split()
    assert here(*fit, "--model", "plain", cwd=tmp_path).returncode == 0
    done = here(*fit, "--calibrate", "new.csv", "--model", "calibrated", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert here("inspect", "calibrated", cwd=tmp_path).returncode == 0
    plain, calibrated = load(tmp_path / "plain"), load(tmp_path / "calibrated")
    assert hasattr(calibrated, "predict_proba")
    assert str(calibrated.equation_) == str(plain.equation_)


def test_scores_of_two_classes_are_no_log_odds(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n-2,n\n-1,n\n1,p\n2,p\n")
    (tmp_path / "b.csv").write_text("a,y\n-3,n\n-2,n\n-1,p\n0,n\n1,p\n2,n\n3,p\n4,p\n")
    fit = "fit a.csv --target y --scale none --calibrate b.csv --model m"
    done = here(*fit.split(), cwd=tmp_path)
    assert "\nequation     2 a > 1 means p\n" in done.stdout


@pytest.mark.parametrize("cell", ["?", "", "2024-01-01", "7"])
def test_predictions_need_no_labels_and_no_weights(tmp_path, cell):
    (tmp_path / "a.csv").write_text("a,y,w\n1,1,1\n2,0,1\n3,1,2\n-1,0,1\n")
    (tmp_path / "b.csv").write_text(f"a,y,w\n1,{cell},{cell}\n2,1,1\n")
    fit = "fit a.csv --target y --weight w --model m"
    assert here(*fit.split(), cwd=tmp_path).returncode == 0
    done = here("predict", "m", "b.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    model = load(tmp_path / "m")
    (tmp_path / "c.csv").write_text("a\n1\n2\n")
    known = model.predict(open_source(tmp_path / "c.csv", recipe=model.recipe_, labeled=False))
    assert done.stdout.split() == [str(label) for label in known]
    same = open_source(tmp_path / "b.csv", recipe=model.recipe_, labeled=False)
    assert model.predict(same).tolist() == known.tolist()
    assert next(same.batches()).y is None


def test_the_options_that_tune_prints_learn_the_same(tmp_path):
    rows = [f"{i},{i * 7 % 13},g{i % 9},{i % 2}" for i in range(1, 61)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,g,y", *rows]) + "\n")
    tune = "tune a.csv --target y --group g --grid max_iter=1,5 --model m"
    done = here(*tune.split(), cwd=tmp_path)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("options")]
    options = line.removeprefix("options").partition(";")[0].split()
    assert options[-2:] == ["--exclude", "g"]
    fit = ["fit", "a.csv", "--target", "y", *options, "--model", "n"]
    assert here(*fit, cwd=tmp_path).returncode == 0
    assert load(tmp_path / "n").coef_.tolist() == load(tmp_path / "m").coef_.tolist()


def test_the_checker_has_help():
    command = [sys.executable, "-m", "linsep.check", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "PROOF and DATA" in done.stdout
