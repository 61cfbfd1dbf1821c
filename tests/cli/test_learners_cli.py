"""Every learner on the command line: what it learns, starts from, makes of zeros, and refuses."""

import csv
import io
import json

import numpy as np
import pytest

import linsep
from command_line import assert_refused, assert_they_run, here, table
from linsep import Perceptron, Winnow, datasets, load
from linsep.catalog import LEARNERS

DATA = "".join(f"{k % 3} 1:{k % 7} 2:{k * k % 5} 3:1\n" for k in range(90))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_learns_from_files(name, tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    fit = ("fit", "t.svm", "--learner", name, "--model", "m", "--max-iter", 3)
    done = here(*fit, "--keep", "average", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("\n") == ("predicts worse than the baseline" in done.stderr)
    assert ("\nmargin " in done.stdout) == (name == "margin")
    assert_they_run(["score m t.svm", "inspect m"], tmp_path)
    assert linsep.load(tmp_path / "m").keep == "average"


def test_a_kernel_learns_from_files(tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    fit = ("fit", "t.svm", "--learner", "kernel", "--kernel", "poly", "--degree", 4)
    done = here(*fit, "--model", "m", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    model = linsep.load(tmp_path / "m")
    assert model.kernel_.degree == 4
    shown = here("inspect", "m", cwd=tmp_path).stdout
    assert f"{model.support_.size} support vectors" in shown
    scored = here("score", "m", "t.svm", "--json", cwd=tmp_path).stdout
    assert json.loads(scored)["accuracy"] == model.training_accuracy_
    for options in (
        ("--keep", "best"), ("--gamma", "auto"), ("--budget", 0), ("--budget", 3, "--keep", "vote")
    ):  # fmt: skip
        assert_refused(*fit, *options, cwd=tmp_path, said=options[0][2:], exit_code=2)
    assert_refused(*fit[:5], "precomputed", cwd=tmp_path, code="shape")
    assert_refused("trace", "t.svm", "--learner", "kernel", cwd=tmp_path, exit_code=2)


def test_options_belong_to_learners(tmp_path):
    (tmp_path / "t.svm").write_text(DATA)
    for options in (
        ("--gamma", 0.5), ("--validation-fraction", 0.5), ("--n-iter-no-change", 2),
        ("--vote-mb", 2), ("--degree", 2, "--learner", "kernel"),
        ("--gamma", 2, "--learner", "kernel", "--kernel", "linear"),
        ("--learning-rate", 2, "--learner", "logistic"), ("--zero", "maybe"),
        ("--zero", "negative", "--learner", "pa"),
    ):  # fmt: skip
        assert_refused(
            "fit", "t.svm", "--model", "m", *options, cwd=tmp_path, said=options[0], exit_code=2
        )
    for options in ("--vote-mb 2 --keep vote", "--learner margin --gamma 0.5"):
        assert here("fit", "t.svm", *options.split(), cwd=tmp_path).returncode == 0


SIGNED = "1 1:1 2:-1\n0 1:-1 2:2\n1 1:3 2:1\n0 1:-2\n1 \n"


def test_parameters_that_are_refused(tmp_path):
    (tmp_path / "t.svm").write_text(SIGNED)
    fit = ("fit", "t.svm", "--model", "m", "--learner")
    for learner, *options in (
        ("margin", "--gamma", 0), ("margin", "--gamma", "wide"), ("margin", "--epsilon", 1),
        ("winnow", "--promotion", 1), ("pa", "--C", 0), ("scw", "--eta", 0.5),
        ("scw", "--multiclass", "native"), ("perceptron", "--learning-rate", "nan"),
        ("perceptron", "--vote-mb", 0, "--keep", "vote"),
    ):  # fmt: skip
        said = options[0][2:].replace("-", "[-_]")
        assert_refused(*fit, learner, *options, cwd=tmp_path, said=said, exit_code=2)
    for options, code in (
        (("margin", "--no-fit-intercept"), "bad-value"),
        (("winnow",), "out-of-range"),
        (("perceptron", "--keep", "vote", "--vote-mb", 0.00001), "too-large"),
        (("perceptron", "--class-weight", "0=0", "--class-weight", "1=0"), "no-rows"),
    ):
        assert_refused(*fit, *options, cwd=tmp_path, code=code)


XOR, FIVE = "exclusive_or.csv", "five_points.csv"


@pytest.fixture
def notes(tmp_path):
    table(tmp_path, XOR, ["x1", "x2", "y"], [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])
    rows = [(1, 1, -1), (3, 2, 1), (2, 4, 1), (3, 4, 1), (2, 3, -1)]
    table(tmp_path, FIVE, ["x1", "x2", "y"], rows)
    table(tmp_path, "three.csv", ["x", "y"], [(0, "a"), (1, "b"), (2, "c")])
    return tmp_path


def test_a_fit_that_leaves_zeros_does_not_claim_to_separate(notes):
    how = (FIVE, "--target", "y", "--no-shuffle", "--scale", "none", "--keep", "last",
           "--init-weights", "-1,0,0", "--max-iter", 300)  # fmt: skip
    for zero, passes, reason in (("mistake", 232, "converged"), ("correct", 112, "clean")):
        model = f"{zero}.linsep"
        done = here("fit", *how, "--zero", zero, "--model", model, "--json", cwd=notes)
        told = json.loads(done.stdout)
        assert (told["passes"], told["stop_reason"]) == (passes, reason)
        assert load(notes / model).zero == zero
        shown = here("inspect", model, cwd=notes).stdout
        assert ("--zero correct" in shown) == (zero == "correct")
    # The row (2, 4) of +1 has the score 0, which --tie predicts.
    done = here("score", "correct.linsep", FIVE, "--json", cwd=notes)
    assert json.loads(done.stdout)["accuracy"] == 0.8
    for start in ((), ("--init-weights", "0,0,0")):  # which correct needs
        words = (FIVE, "--target", "y", "--zero", "correct", *start)
        assert_refused("fit", *words, cwd=notes, code="conflict", exit_code=2)
    how = ("fit", "three.csv", "--target", "y", "--zero", "negative")  # needs two sides
    assert_refused(*how, cwd=notes, code="conflict", exit_code=2)
    assert here(*how, "--multiclass", "ovr", cwd=notes).returncode == 0


FIVE_CSV, STUDENTS, INSEPARABLE = "five.csv", "students.csv", "inseparable.csv"


@pytest.fixture
def signed(tmp_path):
    """The tables of the notes, with the notes' signs as labels."""
    for name, loaded, positive in (
        (FIVE_CSV, datasets.load_five_points, 1),
        (STUDENTS, datasets.load_students, "A"),
        (INSEPARABLE, datasets.load_inseparable_points, 1),
    ):
        data = loaded()
        signs = np.where(data.target == positive, 1, -1)
        rows = [[*row, sign] for row, sign in zip(data.data, signs, strict=True)]
        table(tmp_path, name, [*data.feature_names, "y"], rows)
    return tmp_path


def test_an_equation_says_that_its_weights_are_averaged(signed):
    for keep in ("last", "average"):
        how = ("--target", "y", "--keep", keep, "--model", keep)
        assert here("fit", STUDENTS, *how, cwd=signed).returncode == 0
        shown = here("inspect", keep, cwd=signed).stdout.splitlines()
        (equation,) = [line for line in shown if line.startswith("equation")]
        assert ("averaged" in equation) == (keep == "average")


def traced(*arguments, cwd):
    """The weights after each round, the intercept first, and the numbers of the passes."""
    done = here("trace", *arguments, "--target", "y", "--format", "csv", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = csv.reader(io.StringIO(done.stdout))
    first = head.index("update") + 1
    return [[float(x) for x in line[first:]] for line in lines], [int(line[1]) for line in lines]


def test_worked_runs_start_from_the_weights_of_the_notes(signed):
    how = ("--no-shuffle", "--init-weights")
    weights, passes = traced(
        FIVE_CSV, *how, "-1,0,0", "--max-iter", 300, "--max-rounds", 2000, cwd=signed
    )
    assert (weights[4], weights[-1], passes[-1]) == ([-1, 1, -1], [-31, 12, 2], 232)
    weights, _ = traced(STUDENTS, *how, ",".join(["0.25"] * 5), cwd=signed)
    assert weights[-1] == [-0.75, 1.25, -0.75, -0.75, -0.75]
    weights, _ = traced(STUDENTS, *how, "0,0.5,0.5,0,0", cwd=signed)
    assert weights[-1] == [-1, 1.5, -0.5, -1, -1]
    weights, passes = traced(
        INSEPARABLE, *how, "1,1,1", "--max-iter", 140, "--max-rounds", 1000, cwd=signed
    )
    assert [weights[n] for n in (3, 5, 8)] == [[0, 0, -2], [1, 2, -1], [0, 1, -4]]
    assert (weights[5 * 121 - 1], passes[-1]) == (weights[-1], 130)


@pytest.mark.parametrize(
    ("options", "model", "start"),
    [
        (("--init-weights", "-1,0,0"), Perceptron(), {"coef_init": [0, 0], "intercept_init": -1}),
        (("--learner", "winnow", "--init-weights", "2,0.5"), Winnow(), {"coef_init": [2, 0.5]}),
    ],
)  # fmt: skip
def test_a_fit_from_a_file_starts_as_in_python(signed, options, model, start):
    how = ("--target", "y", "--scale", "none", "--keep", "last", "--max-iter", 3)
    done = here("fit", FIVE_CSV, *how, *options, "--model", "m", cwd=signed)
    assert done.returncode == 0, done.stderr
    X, y = datasets.load_five_points(return_X_y=True)
    expected, found = (model.set_params(max_iter=3).fit(X, y, **start), linsep.load(signed / "m"))
    assert found.coef_.tolist() == expected.coef_.tolist()
    assert found.intercept_.tolist() == expected.intercept_.tolist()
    (signed / "five.svm").write_text(
        "".join(f"{k} 1:{a} 2:{b}\n" for (a, b), k in zip(X, y, strict=True))
    )
    again = ("fit", "five.svm", "--keep", "last", "--max-iter", 3, *options, "--model", "m2")
    assert here(*again, cwd=signed).returncode == 0
    assert linsep.load(signed / "m2").coef_.tolist() == expected.coef_.tolist()


def test_weights_that_do_not_fit_are_refused(signed):
    start = ("fit", FIVE_CSV, "--target", "y", "--init-weights")
    for options in (
        ("1,2",), ("1,2,3,4",), ("1,2,3", "--no-fit-intercept"), ("1,2,3", "--learner", "winnow"),
    ):  # fmt: skip
        assert_refused(*start, *options, cwd=signed, code="shape")
    assert_refused("trace", *start[1:], "1,2", cwd=signed, code="shape")
    assert_refused(*start, "1,-1", "--learner", "winnow", cwd=signed, code="out-of-range")
    assert_refused(*start, "1,2,3", "--learner", "margin", cwd=signed, code="conflict", exit_code=2)
    for options in (
        ("1",), ("1,x",), ("1,inf,0",), ("1,2,3;4,5",), ("1,2,3", "--learner", "linear"),
    ):  # fmt: skip
        assert_refused(*start, *options, cwd=signed, exit_code=2)


def test_odd_names_and_labels_are_shown_as_they_are(folder):
    labels = ["[/b]", "[red]", "日本語", "tab\there", "two\nlines"]
    rows = [[k, 3 - k % 5, f'"{labels[k % 5]}"'] for k in range(40)]
    table(folder, "odd.csv", ["[bold]", "{x}", "[/x]"], rows)
    fit = here("fit", "odd.csv", "--target", "[/x]", "--model", "m", cwd=folder)
    assert (fit.returncode, fit.stderr) == (0, "")
    assert "[bold]" in here("inspect", "m", cwd=folder).stdout
    shown = here("score", "m", "odd.csv", cwd=folder).stdout
    assert all(label in shown for label in ("[/b]", "[red]", "tab\\there", "日本語"))
    here("predict", "m", "odd.csv", "--output", "p", cwd=folder)
    text = (folder / "p").read_text(encoding="utf-8").splitlines()
    assert len(text) == 40
    assert set(text) <= {"[/b]", "[red]", "日本語", '"tab\\there"', '"two\\nlines"'}
    told = here("predict", "m", "odd.csv", "--json", cwd=folder).stdout.splitlines()
    assert {json.loads(line)["prediction"] for line in told} <= set(labels)


def test_class_weights_take_labels_of_the_type_they_have(folder):
    for labels, given, expected in [
        (["1", "2"], "1=3", {1: 3.0}),
        (["true", "false"], "TRUE=3", {True: 3.0}),
        (["1", "a"], "1=3,a=2", {"1": 3.0, "a": 2.0}),  # a column of text
        (["a=b", '"p,q"'], "a=b=3", {"a=b": 3.0}),
        (["a=b", '"p,q"'], "p,q=2", {"p,q": 2.0}),
        ([str(2**53 - 2), str(2**53 - 1)], f"{2**53 - 1}=3", {2**53 - 1: 3.0}),
        (["1", "2"], "balanced", "balanced"),
    ]:
        table(folder, "t.csv", ["x", "kind"], [[k % 5, labels[k % 2]] for k in range(40)])
        fit = "fit t.csv --target kind --model m --force --class-weight"
        done = here(*fit.split(), given, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert linsep.load(folder / "m").class_weight == expected
    for bad in ("1", "1=heavy", "1=inf", "1=-1"):
        assert_refused("fit", "t.svm", "--class-weight", bad, cwd=folder, exit_code=2)


def test_labels_that_were_never_learned(learned):
    (learned / "other.svm").write_text("0 1:1\n7 1:1\n7 1:1\n8 1:1\n")
    scored = json.loads(here("score", "m", "other.svm", "--json", cwd=learned).stdout)
    assert scored["unknown_labels"] == 3
    assert scored["most_frequent"] == 0.25
    assert sum(c["rows"] for c in scored["classes"]) == 1
    assert scored["first_unknown_label"] == "'7' in other.svm line 2"
    table(learned, "a.csv", ["x", "kind"], [[k % 5, "ab"[k % 2]] for k in range(40)])
    table(learned, "n.csv", ["x", "kind"], [[k % 5, k % 2] for k in range(40)])
    here("fit", "n.csv", "--target", "kind", "--model", "numbers", cwd=learned)
    assert_refused("score", "numbers", "a.csv", cwd=learned, code="not-a-number")
