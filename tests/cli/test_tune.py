"""linsep tune: what each model of a grid is alone, from one reading."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import assert_refused, here
from linsep import load
from linsep.rows.source_stream import SourceStream
from linsep.sources.base import Source
from linsep.sources.svmlight import SvmlightSource
from linsep.tuning.side_by_side import Missed, combinations

pytestmark = pytest.mark.compiled
ROWS = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Overlapping rows of two classes and of three, as a table and as svmlight text."""
    folder = tmp_path_factory.mktemp("tune")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, 4)) * [1, 10, 1, 1]
    score = X @ [1.0, 0.1, -1.0, 0.5] + rng.normal(size=ROWS)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["side"] = np.where(score > 0, "yes", "no")
    frame["kind"] = np.array(["p", "q", "r"])[(score > 0) + 1 * (score > 1.5)]
    frame["w"], frame["patient"] = rng.integers(0, 4, ROWS), rng.integers(0, 80, ROWS)
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "t.svm").write_text(
        "".join(
            f"{1 if s > 0 else -1} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) + "\n"
            for s, row in zip(score, X.tolist(), strict=True)
        )
    )
    return folder


def tuned(*arguments, cwd):
    done = here("tune", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def alone(model, *arguments, cwd):
    """The held-out accuracy after the passes that a model made, by ``linsep fit``."""
    options = []
    for name, value in model["parameters"].items():
        if name != "max_iter" and (name, value) != ("normalize", False):  # which has no option
            options += [f"--{'no-' * (value is False)}{name.replace('_', '-')}"]
            options += [] if isinstance(value, bool) else [value]
    passes = ["--early-stopping", "--n-iter-no-change", 99, "--validation-fraction", 0.2]
    options += ["--max-iter", model["passes"]]
    done = here("fit", *arguments, *options, *passes, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return 1 - json.loads(done.stdout)["curve"][-1]["held_out_error"]


TABLE = ["t.csv", "--exclude", "patient", "--exclude", "w"]
TWO = [*TABLE, "--exclude", "kind", "--target", "side"]
THREE = [*TABLE, "--exclude", "side", "--target", "kind"]
WEIGHED = ["t.csv", "--exclude", "kind", "--target", "side", "--weight", "w", "--group", "patient"]


@pytest.mark.parametrize(
    ("data", "grid"),
    [
        pytest.param(
            [*TWO, "--learner", "pa"],
            ["C=0.001,0.1,10", "keep=last,average"],
            marks=pytest.mark.thorough,
        ),
        (TWO, ["learning_rate=1,0.1", "shuffle=true,false", "normalize=false,true"]),
        ([*THREE, "--scale", "none"], ["keep=last,average,vote,best", "multiclass=native,ovr"]),
        (WEIGHED, ["max-iter=1,3,12", "keep=last,average"]),
        pytest.param(
            ["t.svm", "--class-weight", "balanced"],
            ["fit_intercept=true,false"],
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_accuracies_are_those_of_models_fitted_alone(folder, data, grid):
    pairs = [word for pair in grid for word in ("--grid", pair)]
    found = tuned(*data, *pairs, cwd=folder)
    values = [pair.partition("=")[2].split(",") for pair in grid]
    assert len(found["models"]) == np.prod([len(each) for each in values])
    for model in found["models"]:
        own = alone(model, *data, cwd=folder)
        assert model["held_out_accuracy"] == pytest.approx(own, abs=1e-12)
        assert model["stop_reason"] in ("max_iter", "converged", "dropped")
        passes = model["parameters"].get("max_iter", 10)
        assert (model["passes"] < passes) == (model["stop_reason"] != "max_iter")
    kept = [m for m in found["models"] if m["stop_reason"] != "dropped"]
    assert found["best"] == kept[0]["parameters"]
    assert found["best"] == max(kept, key=lambda m: m["held_out_accuracy"])["parameters"]


@pytest.mark.parametrize("memory", [1 << 28, 1])
def test_a_file_is_read_once_and_the_best_is_what_fit_learns(folder, tmp_path, monkeypatch, memory):
    """In memory as well as through a row cache."""
    monkeypatch.setattr(Source, "memory_bytes", memory)
    readings, once = [], SvmlightSource.batches

    def counted(self):
        readings.append(self)
        return once(self)

    monkeypatch.setattr(SvmlightSource, "batches", counted)
    grid = ["--grid", "C=0.01,1", "--grid", "shuffle=true,false"]
    model = tmp_path / "m"
    found = tuned(
        "t.svm",
        "--learner",
        "pa",
        *grid,
        "--model",
        model,
        "--no-cache",
        "--index-base",
        1,
        cwd=folder,
    )
    assert len(readings) == 1
    assert found["model"] == str(model)
    here("fit", "t.svm", *found["options"].split(), "--model", tmp_path / "n", cwd=folder)
    ours, theirs = load(model), load(tmp_path / "n")
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    assert ours.get_params() == theirs.get_params()
    assert ours.training_accuracy_ == theirs.training_accuracy_


def test_a_class_that_comes_late(folder, tmp_path, monkeypatch):
    """Learning begins again when it is seen."""
    lines = (folder / "t.svm").read_text().splitlines(keepends=True)
    (tmp_path / "late.svm").write_text("".join(lines) + "3 1:2 2:7\n" * 60)
    monkeypatch.setattr("linsep.sources.svmlight.CHUNK_BYTES", 4000)
    late = SvmlightSource.__init__.__kwdefaults__ | {"chunk_bytes": 4000}
    monkeypatch.setattr(SvmlightSource.__init__, "__kwdefaults__", late)
    found = tuned("late.svm", "--grid", "keep=last,average", cwd=tmp_path)
    assert found["classes"] == [-1, 1, 3]
    for model in found["models"]:
        assert model["held_out_accuracy"] == pytest.approx(
            alone(model, "late.svm", cwd=tmp_path), abs=1e-12
        )


@pytest.fixture
def shifted(tmp_path):
    """Rows that need an intercept."""
    rng = np.random.default_rng(0)
    rows = [f"{1 if x > 5.5 else -1} 1:{x}\n" for x in rng.uniform(5, 6, 400).tolist()]
    (tmp_path / "s.svm").write_text("".join(rows))
    return tmp_path


GRID = ["--grid", "fit_intercept=false,true", "--grid", "keep=last,average"]


def test_clearly_worse_models_are_dropped_and_near_ones_are_not(shifted):
    found = tuned("s.svm", *GRID, "--max-iter", 40, cwd=shifted)
    dropped = [model for model in found["models"] if model["stop_reason"] == "dropped"]
    assert sum(not model["parameters"]["fit_intercept"] for model in dropped) == 2
    for model in dropped:
        assert model["passes"] in (1, 2, 4, 8, 16)
        assert model["behind"] > model["behind_standard_error"] > 0
    assert found["best"] == {"fit_intercept": True, "keep": "last"}
    assert found["passes"] < 80


def test_standard_errors():
    """Of a share, of weighted rows, and of a difference on the same rows."""
    rng = np.random.default_rng(0)
    wrong, best = rng.random((2, 500)) < [[0.3], [0.2]]
    one, other = Missed(), Missed()
    for missed, rows in ((one, wrong), (other, best)):
        missed.add(rows[:100], np.empty(0))
        missed.add(rows[100:], np.empty(0))
    assert one.accuracy == 1 - wrong.mean()
    assert one.error == pytest.approx(np.sqrt(wrong.mean() * (1 - wrong.mean()) / 500))
    apart = wrong.astype(float) - best
    assert one.behind(other) == pytest.approx((apart.mean(), apart.std() / np.sqrt(500)))
    twice = Missed()
    twice.add(wrong, np.full(500, 2.0))
    assert twice.error == pytest.approx(one.error)
    assert combinations({"a": [1, 2], "b": [3, 4]}) == [
        {"a": 1, "b": 3}, {"a": 1, "b": 4}, {"a": 2, "b": 3}, {"a": 2, "b": 4},
    ]  # fmt: skip


def test_what_is_printed(shifted):
    test = ["--test", "s.svm", "--model", "m"]
    text = here("tune", "s.svm", *GRID, "--max-iter", 40, *test, cwd=shifted).stdout
    assert text.startswith("best      fit_intercept=true, keep=")
    assert "% of 80 held-out rows right; baseline " in text
    assert "\ntest      " in text
    assert "dropped early, " in text
    table = [line.split() for line in text[text.index("\n\n") + 2 :].splitlines()]
    assert table[0] == ["fit_intercept", "keep", "held", "out,", "%", "behind", "passes", "stopped"]
    assert table[1][:2] == ["true", "last"]
    assert table[4][-1] == "dropped"


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        ([], "give values to compare with --grid, such as --grid keep=last,average", 2),
        (["--grid", "keep"], "--grid takes PARAMETER=VALUE,VALUE,..., such as", 2),
        (["--grid", "keep=last,"], "--grid takes PARAMETER=VALUE,VALUE,...", 2),
        (["--grid", "depth=1"], "--grid depth is not a parameter of", 2),
        (["--grid", "weight=a,b"], "--grid weight is about the data, which all models", 2),
        (
            ["--grid", "class_weight=balanced"],
            "--grid class_weight is not allowed: all models sha",
            2,
        ),
        (
            ["--grid", "text_bits=8,9"],
            "--grid text_bits is about the data, which all models",
            2,
        ),
        (["--grid", "C=1"], "--grid C is for --learner pa, scw, soft-margin or", 2),
        (["--grid", "keep=last,mean"], "--grid keep must be one of 'last'.*, not 'mean'.", 2),
        (["--grid", "max_iter=0"], "--grid max_iter must be a whole number of at least 1, not", 2),
        (["--grid", "shuffle=maybe"], "--grid shuffle must be true or false, not 'maybe'", 2),
        (["--grid", "early_stopping=true"], "--grid early_stopping is not allowed", 2),
        (
            ["--grid", "keep=last", "--keep", "vote"],
            "--grid keep is given as well as --keep: give",
            2,
        ),
        (["--grid", "keep=last", "--grid", "keep=vote"], "--grid keep is given twice", 2),
        (["--grid", "keep=last", "--learner", "logistic"], "--learner must be", 2),
        (["--grid", f"max_iter={','.join(map(str, range(1, 1002)))}"], "defines 1,001 models", 2),
        (["--grid", "keep=last", "--validation-fraction", "1e-9"], "No row is held out", 1),
        (["--grid", "keep=last", "--model", "t.svm"], "t.svm exists", 1),
        (["--grid", "keep=last", "--model", "t.svm", "--force"], "t.svm is an input of this", 1),
        (["--grid", "keep=last", "--reference", "7"], "", 1),
    ],
)
def test_refusals(folder, options, said, code):
    assert_refused("tune", "t.svm", *options, cwd=folder, said=said, exit_code=code)


def test_refusals_of_data(tmp_path):
    (tmp_path / "one.svm").write_text("1 1:1\n1 2:1\n")
    (tmp_path / "big.svm").write_text("1 1:1e300\n-1 1:-1e300\n1 1:9e299\n-1 1:-9e299\n" * 9)
    grid = ["--grid", "keep=last,average"]
    assert_refused("tune", "one.svm", *grid, cwd=tmp_path, code="class-count")
    assert_refused("tune", "big.svm", *grid, cwd=tmp_path, code="overflow")


def test_ctrl_c_leaves_nothing(folder, tmp_path, monkeypatch):
    passes = SourceStream.row_batches

    def pressed(self, number):
        if number == 2:
            raise KeyboardInterrupt
        return passes(self, number)

    monkeypatch.setattr(SourceStream, "row_batches", pressed)
    done = here("tune", folder / "t.svm", "--grid", "keep=last", "--model", "m", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    assert list(tmp_path.iterdir()) == []
