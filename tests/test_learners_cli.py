"""Every learner on the command line, and what it refuses there: one sentence, nothing written."""

from functools import partial

import pandas as pd
import pytest

import linsep
from command_line import here, refused

DATA = "".join(f"{k % 3} 1:{k % 7} 2:{k * k % 5} 3:1\n" for k in range(90))


@pytest.mark.parametrize("name", ["perceptron", "margin", "winnow", "balanced-winnow", "pa"])
def test_every_learner_learns_from_files(name, tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    fit = ("fit", "t.svm", "--learner", name, "--model", "m", "--max-iter", 3)
    done = here(*fit, "--keep", "average", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("\nmargin " in done.stdout) == (name == "margin")
    assert here("score", "m", "t.svm", cwd=tmp_path).returncode == 0
    assert here("inspect", "m", cwd=tmp_path).returncode == 0
    assert linsep.load(tmp_path / "m").keep == "average"


def test_options_belong_to_learners(tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    refused("fit", "t.svm", "--gamma", 0.5, cwd=tmp_path, said="--gamma is for --learner margin",
            code=2)  # fmt: skip
    refused("fit", "t.svm", "--learner", "margin", "--gamma", "wide", cwd=tmp_path,
            said="a number or 'auto'", code=2)  # fmt: skip
    refused("fit", "t.svm", "--learner", "margin", "--gamma", 2, cwd=tmp_path,
            said="gamma of MarginPerceptron must be a number above 0 and at most 1")  # fmt: skip
    refused("fit", "t.svm", "--curve", cwd=tmp_path, said="--curve needs --early-stopping", code=2)
    shown = here("fit", "t.svm", "--early-stopping", "--curve", cwd=tmp_path).stdout
    assert "held-out error" in shown


SIGNED = "1 1:1 2:-1\n0 1:-1 2:2\n1 1:3 2:1\n0 1:-2\n1 \n"
TABLE = "kind,age,size\na,1,-1\nb,2,3\na,0,2\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--learner", "margin", "--gamma", 0), "gamma of MarginPerceptron must be .*at most 1"),
        (("--learner", "margin", "--gamma", 1.01), "gamma of MarginPerceptron must be .*at most 1"),
        (("--learner", "margin", "--epsilon", 0), "epsilon .*above 0 and below 1, got 0.0"),
        (("--learner", "margin", "--epsilon", 1), "epsilon .*above 0 and below 1, got 1.0"),
        (
            ("--learner", "margin", "--no-fit-intercept"),
            "t.svm line 5: it is all zeros and has no margin; leave such rows out",
        ),
        (
            ("--learner", "winnow"),
            "t.svm line 1: Negative values in data: feature 2 is -1, .*use BalancedWinnow",
        ),
        (("--learner", "winnow", "--promotion", 1), "promotion of Winnow must be .*above 1"),
        (
            ("--learner", "balanced-winnow", "--threshold", 1, "--no-fit-intercept"),
            "threshold of BalancedWinnow is a part of the intercept",
        ),
        (("--learner", "pa", "--C", 0), "C of PassiveAggressive must be a number above 0"),
        (("--learning-rate", 0), "learning_rate of Perceptron must be a number above 0"),
        (("--learning-rate", "nan"), "learning_rate of Perceptron must be a number above 0"),
        (("--keep", "vote", "--vote-megabytes", 0), "vote_megabytes of Perceptron must be"),
        (
            ("--keep", "vote", "--vote-megabytes", 0.00001),
            "more than 1e-05 MB of updates: raise vote_megabytes, or use keep='average'",
        ),
        (
            ("--class-weight", "0=0", "--class-weight", "1=0"),
            "No row is left to learn from: all have weight 0",
        ),
    ],
)
def test_what_is_refused_is_said_in_a_sentence(options, said, tmp_path):
    (tmp_path / "t.svm").write_text(SIGNED)
    refused("fit", "t.svm", "--model", "m", *options, cwd=tmp_path, said=said)


def test_columns_of_tables_are_named(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    said = "t.csv line 2: Negative values in data: feature 'size' is -1, but Winnow"
    refused("fit", "t.csv", "--target", "kind", "--learner", "winnow", cwd=tmp_path, said=said)
    frame = pd.DataFrame({"age": [1.0, 2.0], "size": [-1.0, 3.0]})
    for learn in (linsep.Winnow().fit, partial(linsep.Winnow().partial_fit, classes=[0, 1])):
        with pytest.raises(ValueError, match=r"Row 0: .* feature 'size' is -1, but Winnow"):
            learn(frame, [0, 1])
