"""Every learner on the command line, and what it refuses there: one sentence, nothing written."""

import json
from functools import partial

import pandas as pd
import pytest

import linsep
from command_line import assert_refused, here
from linsep.catalog import LEARNERS
from linsep.cli.learner_options import NEEDED
from linsep.kernels.naming import NAMED

pytestmark = pytest.mark.uncompiled

DATA = "".join(f"{k % 3} 1:{k % 7} 2:{k * k % 5} 3:1\n" for k in range(90))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_learns_from_files(name, tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    fit = ("fit", "t.svm", "--learner", name, "--model", "m", "--max-iter", 3)
    done = here(*fit, "--keep", "average", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("\n") == ("predicts worse than the baseline" in done.stderr)
    assert ("\nmargin " in done.stdout) == (name == "margin")
    assert here("score", "m", "t.svm", cwd=tmp_path).returncode == 0
    assert here("inspect", "m", cwd=tmp_path).returncode == 0
    assert linsep.load(tmp_path / "m").keep == "average"


def test_a_kernel_learns_from_files(tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    fit = ("fit", "t.svm", "--learner", "kernel", "--kernel", "poly", "--degree", 4)
    done = here(*fit, "--model", "m", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nkernel       Polynomial(degree=4, gamma=1.0, coef0=1.0), " in done.stdout
    model = linsep.load(tmp_path / "m")
    shown = here("inspect", "m", cwd=tmp_path).stdout
    assert f"{model.support_.size} support vectors" in shown
    assert ": row " in shown
    scored = here("score", "m", "t.svm", "--json", cwd=tmp_path).stdout
    assert json.loads(scored)["accuracy"] == model.training_accuracy_
    for options, said, code in (
        (("--keep", "best"), "--keep must be one of 'last', 'average', 'vote', not 'best'", 2),
        (("--gamma", "auto"), "--gamma must be a number above 0 or 'scale', not 'auto'", 2),
        (("--budget", 0), "--budget must be a whole number of at least 1", 2),
        (("--budget", 3, "--keep", "vote"), "choose --keep average or --keep last", 2),
    ):
        assert_refused(*fit, *options, cwd=tmp_path, said=said, exit_code=code)
    square = "Gram matrix must be square"
    assert_refused(*fit[:5], "precomputed", cwd=tmp_path, said=square)
    assert_refused(
        "trace", "t.svm", "--learner", "kernel", cwd=tmp_path, said="must be one of", exit_code=2
    )


def test_options_belong_to_learners(tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    for_margin = "--gamma is for --learner margin"
    assert_refused("fit", "t.svm", "--gamma", 0.5, cwd=tmp_path, said=for_margin, exit_code=2)
    assert_refused("fit", "t.svm", "--learner", "margin", "--gamma", "wide", cwd=tmp_path,
            said="at most 1 or 'auto'", exit_code=2)  # fmt: skip
    assert_refused("fit", "t.svm", "--learner", "margin", "--gamma", 2, cwd=tmp_path,
            said="--gamma must be a number above 0 and at most 1", exit_code=2)  # fmt: skip
    assert_refused(
        "fit", "t.svm", "--curve", cwd=tmp_path, said="--curve needs --early-stopping", exit_code=2
    )
    shown = here("fit", "t.svm", "--early-stopping", "--curve", cwd=tmp_path).stdout
    assert "held-out error" in shown
    assert "% right on held-out rows (best pass); then trained on all rows in " in shown
    last = here("fit", "t.svm", "--early-stopping", "--keep", "last", cwd=tmp_path).stdout
    assert "% right on held-out rows (best pass)" in last


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--validation-fraction", 0.5), "--validation-fraction has no .* --early-stopping: "),
        (("--n-iter-no-change", 2), "--n-iter-no-change has no .* without --early-stopping: "),
        (("--vote-mb", 2), "--vote-mb has no effect without --keep vote: give both or neither"),
        (("--learner", "kernel", "--degree", 2), "--degree has no effect without --kernel poly"),
        (("--learner", "kernel", "--coef0", 2), r"--coef0 has .* --kernel poly\|polynomial: "),
        (
            ("--learner", "kernel", "--kernel", "linear", "--gamma", 2),
            r"--gamma has .* --kernel poly\|polynomial\|rbf: ",
        ),
        (("--learner", "logistic", "--learning-rate", 2), "--learning-rate has .* --solver grad"),
        (("--learner", "logistic", "--schedule", "inverse"), "--schedule has .* --solver grad"),
    ],
)
def test_options_without_effect_are_refused(options, said, tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    assert_refused("fit", "t.svm", "--model", "m", *options, cwd=tmp_path, said=said, exit_code=2)


def test_options_beside_those_they_need_are_taken(tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    for kernel, (_, takes) in NAMED.items():
        for option, (_, kernels) in NEEDED.items():
            if option in ("gamma", "degree", "coef0"):
                assert (kernel in kernels) == (option in takes), (kernel, option)
    here("fit", "t.svm", "--vote-mb", 2, "--keep", "vote", cwd=tmp_path)
    here("fit", "t.svm", "--learner", "margin", "--gamma", 0.5, cwd=tmp_path)
    here("trace", "t.svm", "--learner", "margin", "--gamma", 0.5, cwd=tmp_path)


SIGNED = "1 1:1 2:-1\n0 1:-1 2:2\n1 1:3 2:1\n0 1:-2\n1 \n"
TABLE = "kind,age,size\na,1,-1\nb,2,3\na,0,2\n"


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (("margin", "--gamma", 0), "--gamma must be .* above 0 and at most 1 or 'auto'", 2),
        (("margin", "--gamma", 1.01), "--gamma must be .* above 0 and at most 1 or 'auto'", 2),
        (("margin", "--epsilon", 0), "--epsilon must be .*above 0 and below 1", 2),
        (("margin", "--epsilon", 1), "--epsilon must be .*above 0 and below 1", 2),
        (
            ("margin", "--no-fit-intercept"),
            "t.svm line 5: it is all zeros and has no margin; remove such rows",
            1,
        ),
        (
            ("winnow",),
            "t.svm line 1: Negative values in data: feature 2 is -1, .*use the balanced Winnow",
            1,
        ),
        (("winnow", "--promotion", 1), "--promotion must be a number above 1", 2),
        (
            ("balanced-winnow", "--threshold", 1, "--no-fit-intercept"),
            "threshold is part of the intercept.*: leave it at --threshold 0",
            2,
        ),
        (("pa", "--C", 0), "--C must be a number above 0", 2),
        (("scw", "--eta", 0.5), "--eta must be a number above 0.5 and below 1, not '0.5'", 2),
        (("scw", "--eta", 1), "--eta must be a number above 0.5 and below 1, not '1'", 2),
        (("scw", "--multiclass", "native"), "one of 'ovr', 'ovo', not 'native'", 2),
        (("perceptron", "--learning-rate", 0), "--learning-rate must be a number above 0", 2),
        (("perceptron", "--learning-rate", "nan"), "--learning-rate must be a number above 0", 2),
        (("perceptron", "--keep", "vote", "--vote-mb", 0), "--vote-mb must be", 2),
        (
            ("perceptron", "--keep", "vote", "--vote-mb", 0.00001),
            "more than 1e-05 MB of updates: raise --vote-mb or use --keep average",
            1,
        ),
        (
            ("perceptron", "--class-weight", "0=0", "--class-weight", "1=0"),
            "No row is left for training: all rows have weight 0",
            1,
        ),
    ],
)
def test_what_is_refused_is_said_in_a_sentence(options, said, code, tmp_path):
    (tmp_path / "t.svm").write_text(SIGNED)
    assert_refused(
        "fit",
        "t.svm",
        "--model",
        "m",
        "--learner",
        *options,
        cwd=tmp_path,
        said=said,
        exit_code=code,
    )


def test_columns_of_tables_are_named(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    said = "t.csv line 2: Negative values in data: feature 'size' is -1, but Winnow"
    assert_refused(
        "fit", "t.csv", "--target", "kind", "--learner", "winnow", cwd=tmp_path, said=said
    )
    frame = pd.DataFrame({"age": [1.0, 2.0], "size": [-1.0, 3.0]})
    for learn in (linsep.Winnow().fit, partial(linsep.Winnow().partial_fit, classes=[0, 1])):
        with pytest.raises(
            ValueError, match=r"Row 1 \(index 0\): .* feature 'size' is -1, but Winnow"
        ):
            learn(frame, [0, 1])
