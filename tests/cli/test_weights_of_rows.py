"""Weights of the rows of files count in everything that is said about a model."""

import pytest

import linsep
from command_line import here
from linsep import open_source
from linsep.plot import ReliabilityDisplay

pytestmark = pytest.mark.compiled

PRECISE = "x,y,w\n1,2,1\n2,2.9,4\n3,4.2,9\n4,4.8,2\n5,1,3\n6,7,5\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "precise.csv").write_text(PRECISE)
    (tmp_path / "zero.csv").write_text("x,y,w\n1,0,0\n2,0,0\n3,1,0\n4,1,0\n")
    rows = [(0, 0, 30), (0, 1, 10), (1, 0, 20), (1, 1, 60)]
    (tmp_path / "counted.csv").write_text("x,y,n\n" + "".join(f"{x},{y},{n}\n" for x, y, n in rows))
    (tmp_path / "long.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" * n for x, y, n in rows))
    return tmp_path


@pytest.mark.parametrize("kind", ["precision", "frequency"])
def test_a_weighted_regression_is_not_called_worse_than_the_mean(folder, kind):
    fit = f"fit precise.csv --target y --learner linear --weight w --weight-type {kind} --model m"
    done = here(*fit.split(), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    done = here("summary", "m", "precise.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Durbin-Watson" in done.stdout
    done = here("plot", "assumptions", "m", "precise.csv", "--output", "a.png", cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_reliability_counts_weights(folder):
    fit = "fit counted.csv --target y --learner logistic --weight n --model m"
    assert here(*fit.split(), cwd=folder).returncode == 0
    model = linsep.load(folder / "m")
    found = {}
    for name, target in (("counted.csv", {"recipe": model.recipe_}), ("long.csv", {"target": "y"})):
        (batch,) = open_source(folder / name, **target).batches()
        found[name] = ReliabilityDisplay.from_estimator(
            model, batch.X, batch.y, sample_weight=batch.weights
        )
    one, other = (display.curves[1] for display in found.values())
    assert one.brier == pytest.approx(other.brier)
    assert one.predicted.tolist() == pytest.approx(other.predicted.tolist())
    assert one.observed.tolist() == pytest.approx(other.observed.tolist())
    done = here("plot", "reliability", "m", "counted.csv", "--output", "r.svg", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"{one.brier:.3g}" in (folder / "r.svg").read_text()


@pytest.mark.parametrize("learner", ["linear", "naive-bayes", "logistic", "perceptron"])
def test_rows_that_all_weigh_nothing_are_refused(folder, learner):
    fit = f"fit zero.csv --target y --weight w --learner {learner}"
    done = here(*fit.split(), cwd=folder)
    assert done.returncode == 1
    assert "weight 0" in done.stderr
    assert done.stderr.count("\n") == 1
