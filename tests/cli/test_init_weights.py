"""``--init-weights`` of fit and trace: the worked runs of lecture notes, and what is refused."""

import csv
import io

import numpy as np
import pytest

import linsep
from command_line import assert_refused, here, table
from linsep import MarginPerceptron, Perceptron, Winnow, datasets

pytestmark = pytest.mark.compiled

FIVE, STUDENTS, INSEPARABLE = "five.csv", "students.csv", "inseparable.csv"


@pytest.fixture
def notes(tmp_path):
    """The tables of the notes, with the notes' signs as labels."""
    for name, load, positive in (
        (FIVE, datasets.load_five_points, 1),
        (STUDENTS, datasets.load_students, "A"),
        (INSEPARABLE, datasets.load_inseparable_points, 1),
    ):
        data = load()
        signs = np.where(data.target == positive, 1, -1)
        rows = [[*row, sign] for row, sign in zip(data.data, signs, strict=True)]
        table(tmp_path, name, [*data.feature_names, "y"], rows)
    return tmp_path


def traced(*arguments, cwd):
    """The weights after each round, the intercept first, and the numbers of the passes."""
    done = here("trace", *arguments, "--target", "y", "--format", "csv", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = csv.reader(io.StringIO(done.stdout))
    first = head.index("update") + 1
    return [[float(x) for x in line[first:]] for line in lines], [int(line[1]) for line in lines]


def test_worked_runs_start_from_the_weights_of_the_notes(notes):
    how = ("--no-shuffle", "--init-weights")
    weights, passes = traced(
        FIVE, *how, "-1,0,0", "--max-iter", 300, "--max-rounds", 2000, cwd=notes
    )
    assert (weights[4], weights[-1], passes[-1]) == ([-1, 1, -1], [-31, 12, 2], 232)
    weights, _ = traced(STUDENTS, *how, ",".join(["0.25"] * 5), cwd=notes)
    assert weights[-1] == [-0.75, 1.25, -0.75, -0.75, -0.75]
    weights, _ = traced(STUDENTS, *how, "0,0.5,0.5,0,0", cwd=notes)
    assert weights[-1] == [-1, 1.5, -0.5, -1, -1]
    weights, passes = traced(
        INSEPARABLE, *how, "1,1,1", "--max-iter", 140, "--max-rounds", 1000, cwd=notes
    )
    assert [weights[n] for n in (3, 5, 8)] == [[0, 0, -2], [1, 2, -1], [0, 1, -4]]
    assert (weights[5 * 121 - 1], passes[-1]) == (weights[-1], 130)


@pytest.mark.parametrize(
    ("options", "model", "start"),
    [
        (("--init-weights", "-1,0,0"), Perceptron(), {"coef_init": [0, 0], "intercept_init": -1}),
        (("--no-fit-intercept", "--init-weights", "3,-2"), Perceptron(fit_intercept=False),
         {"coef_init": [3, -2]}),
        (("--learner", "winnow", "--init-weights", "2,0.5"), Winnow(), {"coef_init": [2, 0.5]}),
        (("--learner", "margin", "--gamma", 0.1, "--init-weights", "1,2,3"),
         MarginPerceptron(gamma=0.1), {"coef_init": [2, 3], "intercept_init": 1}),
    ],
)  # fmt: skip
def test_a_fit_from_a_file_starts_as_in_python(notes, options, model, start):
    how = ("--target", "y", "--scale", "none", "--keep", "last", "--max-iter", 3)
    done = here("fit", FIVE, *how, *options, "--model", "m", cwd=notes)
    assert done.returncode == 0, done.stderr
    X, y = datasets.load_five_points(return_X_y=True)
    expected, found = model.set_params(max_iter=3).fit(X, y, **start), linsep.load(notes / "m")
    assert found.coef_.tolist() == expected.coef_.tolist()
    assert found.intercept_.tolist() == expected.intercept_.tolist()
    (notes / "five.svm").write_text(
        "".join(f"{k} 1:{a} 2:{b}\n" for (a, b), k in zip(X, y, strict=True))
    )
    again = ("fit", "five.svm", "--keep", "last", "--max-iter", 3, *options, "--model", "m2")
    assert here(*again, cwd=notes).returncode == 0
    assert linsep.load(notes / "m2").coef_.tolist() == expected.coef_.tolist()


@pytest.mark.parametrize("command", ["fit", "trace"])
@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (("1,2",), r"five.csv needs 3 numbers for --init-weights \(the intercept, then one for "
         r"each of 2 features\), but 2 are given", 1),
        (("1,2,3,4",), "needs 3 numbers", 1),
        (("1,2,3", "--no-fit-intercept"), r"needs 2 numbers for --init-weights \(one for each", 1),
        (("1,2,3", "--learner", "winnow"), r"needs 2 numbers for --init-weights \(one for each", 1),
        (("1",), "needs a number for each feature, after the intercept", 2),
        (("1,x",), "must be finite numbers separated by commas, not '1,x'", 2),
        (("1,inf,0",), "must be finite numbers", 2),
        (("1,2,3;4,5",), "must be lists of equally many numbers, not '1,2,3;4,5'", 2),
        (("1,-1", "--learner", "winnow"), "above 0 for Winnow", 2),
        (("1,2,3", "--learner", "margin"), "needs a number for --gamma, not 'auto'", 2),
        (("1,2,3", "--learner", "linear"), "is for --learner perceptron, |must be", 2),
        (("1,2,3", "--learner", "kernel"), "is for --learner perceptron, |must be", 2),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_are_refused(notes, command, options, said, code):
    given = ("--init-weights", *options)
    assert_refused(command, FIVE, "--target", "y", *given, cwd=notes, said=said, exit_code=code)


def test_other_numbers_of_classes_and_rows_of_more_features_are_refused(notes):
    given = ("--init-weights", "1,1,1")
    for command in ("fit", "trace"):
        assert_refused(
            command, FIVE, "--target", "x1", *given, cwd=notes,
            code="shape",
        )  # fmt: skip
        assert_refused(
            command, FIVE, "--target", "x1", "--multiclass", "ovo", "--init-weights",
            "1,1,1;2,2,2", cwd=notes, code="shape",
        )  # fmt: skip
        assert_refused(
            command, FIVE, "--target", "y", "--init-weights", "1,1,1;2,2,2", cwd=notes,
            code="shape",
        )  # fmt: skip
    (notes / "wide.svm").write_text("1 1:2 2:1\n0 1:1 2:3 5:1\n")
    assert_refused("fit", "wide.svm", *given, "--model", "m", cwd=notes, code="shape")


def test_the_option_is_in_the_help_of_linear_learners_only(tmp_path):
    for learner, has in (
        ("perceptron", True),
        ("winnow", True),
        ("kernel", False),
        ("linear", False),
    ):
        shown = here("fit", "--learner", learner, "--help", cwd=tmp_path).stdout
        assert ("--init-weights" in shown) == has


def test_the_tables_of_the_notes_with_their_own_labels(tmp_path):
    for name, load in (
        ("students.csv", datasets.load_students),
        ("points.csv", datasets.load_inseparable_points),
    ):
        data = load()
        rows = [[*row, label] for row, label in zip(data.data, data.target, strict=True)]
        table(tmp_path, name, [*data.feature_names, "y"], rows)
    how = ("--no-shuffle", "--init-weights")
    quarters = ",".join(["0.25"] * 5)
    weights, _ = traced("students.csv", *how, quarters, "--reference", "F", cwd=tmp_path)
    assert weights[-1] == [-0.75, 1.25, -0.75, -0.75, -0.75]
    points = ("points.csv", *how, "1,1,1", "--reference", 2)
    weights, passes = traced(*points, "--rounds", 915, cwd=tmp_path)
    assert (len(weights), passes[-1]) == (915, 183)
    assert weights[5 * 121 - 1] == weights[5 * 130 - 1] == weights[5 * 139 - 1]
    assert_refused(
        "trace", *points, "--target", "y", "--rounds", 0, cwd=tmp_path, said="--rounds", exit_code=2
    )
    shown = here("trace", "--help", cwd=tmp_path).stdout
    assert "--reference" in shown.partition("Output:")[0]


def test_three_classes_start_from_a_list_each(tmp_path):
    rows = [[-2, 3, 1, 2], [0, 0, 0, 0], [0, 0, 0, 1]]
    table(tmp_path, "three.csv", ["x1", "x2", "x3", "y"], rows)
    how = ("--no-shuffle", "--no-fit-intercept", "--init-weights", "-2,2,1;0,3,4;1,4,-2")
    weights, _ = traced("three.csv", *how, "--max-rounds", 1, cwd=tmp_path)
    assert weights == [[-2, 2, 1, 2, 0, 3, -1, 7, -1]]
    fitted = ("fit", "three.csv", "--target", "y", *how, "--scale", "none", "--keep", "last")
    done = here(*fitted, "--max-iter", 1, "--model", "m", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    X, y = np.array(rows)[:, :3].astype(float), np.array(rows)[:, 3]
    model = Perceptron(fit_intercept=False, shuffle=False, max_iter=1)
    model.fit(X, y, coef_init=[[-2, 2, 1], [0, 3, 4], [1, 4, -2]])
    assert linsep.load(tmp_path / "m").coef_.tolist() == model.coef_.tolist()


def test_a_fit_of_the_students_has_the_weights_of_the_notes(tmp_path):
    data = datasets.load_students()
    rows = [[*row, label] for row, label in zip(data.data, data.target, strict=True)]
    table(tmp_path, "students.csv", [*data.feature_names, "y"], rows)
    how = ("students.csv", "--target", "y", "--no-shuffle", "--scale", "none", "--keep", "last")
    for start, expected in (
        (",".join(["0.25"] * 5), [-0.75, 1.25, -0.75, -0.75, -0.75]),
        ("0,0.5,0.5,0,0", [-1, 1.5, -0.5, -1, -1]),
    ):
        given = ("--reference", "F", "--init-weights", start, "--model", "m", "--force")
        done = here("fit", *how, *given, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "> 0.75 means A" in done.stdout or "> 1 means A" in done.stdout
        model = linsep.load(tmp_path / "m")
        assert [*model.intercept_, *model.coef_[0]] == expected
        told = here("inspect", "m", cwd=tmp_path).stdout
        assert "A against F" in told
        assert "--reference F" in told
    for learner in ("winnow", "kernel", "pa"):
        assert_refused(
            "fit", *how[:3], "--learner", learner, "--reference", "B", cwd=tmp_path,
            code="unknown-label",
        )  # fmt: skip
