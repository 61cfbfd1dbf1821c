"""Every step of training, as tables; the reflected rows of the notes."""

import csv
import html
import io
import re
import shutil
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron as PeerPerceptron

from command_line import assert_refused, here
from documents import ROOT
from linsep import (
    KernelPerceptron,
    MarginPerceptron,
    Perceptron,
    Winnow,
    datasets,
    reflection,
    trace,
)
from linsep.errors import DataError
from linsep.teaching import tables
from refusals import refused

POINTS = [(1, 1), (3, 2), (2, 4), (3, 4), (2, 3)], [-1, 1, 1, 1, -1]
P = Perceptron(shuffle=False)


@pytest.mark.parametrize(
    ("multiclass", "tie", "storage"),
    [
        ("binary", "negative", pd.DataFrame),
        ("native", "random", sp.csr_matrix),
        ("ovr", "positive", np.asarray),
        ("ovo", "negative", np.asarray),
    ],
)
def test_it_shows_what_the_estimator_does(multiclass, tie, storage):
    rng = np.random.default_rng(0)
    k = 2 if multiclass == "binary" else 3
    X, y = rng.integers(-3, 4, (30, 3)).astype(float), np.arange(30) % k
    how = {"sample_weight": rng.integers(0, 3, 30), "coef_init": np.ones((1 if k == 2 else 3, 3))}
    model = Perceptron(
        multiclass="native" if k == 2 else multiclass, tie=tie, max_iter=4, random_state=5,
        class_weight={0: 2.0, 1: 0.5}, learning_rate=0.5,
    )  # fmt: skip
    shown = trace(model, storage(X), y, **how)
    assert not hasattr(model, "coef_")
    model.fit(storage(X), y, **how)
    assert [list(w[1:]) for w in shown[-1].weights] == model.coef_.tolist()
    assert [w[0] for w in shown[-1].weights] == model.intercept_.tolist()
    passes = [sum(r.mistakes for r in shown if r.pass_number == p + 1) for p in range(4)]
    assert passes == model.mistakes_.tolist()
    assert sum(r.updates for r in shown) == model.n_updates_
    assert shown.stop_reason == model.stop_reason_
    weights = np.ones((1 if k == 2 else 3, 4)) * [0, 1, 1, 1]
    for row in shown:
        weights = weights + row.change
        assert weights.tolist() == [list(w) for w in row.weights]


def test_names_come_from_the_data_frame_or_are_given():
    frame = pd.DataFrame({"a b": [1.0, -1.0], "c": [0.5, 2.0]}, index=["first", "second"])
    shown = trace(P, frame, ["no", "yes"])
    assert [r.row for r in shown[:2]] == ["first", "second"]
    assert shown.columns[-3:] == ["intercept", "a b", "c"]
    assert [cells[3] for cells in shown.cells()][:2] == ["no (-1)", "yes (+1)"]
    other = trace(P, frame, ["no", "yes"], row_names=[7, 8], feature_names=["x", "y"])
    assert [r.row for r in other[:2]] == ["7", "8"]
    assert other.columns[-2:] == ["x", "y"]
    bare = trace(Perceptron(fit_intercept=False), frame.to_numpy(), [0.0, 1.0])
    assert " ".join(bare.columns) == "round pass row class score mistake update x0 x1"
    assert [cells[2:4] for cells in bare.cells()][:2] == [["0", "0 (-1)"], ["1", "1 (+1)"]]


def test_why_it_stopped():
    X, y = POINTS
    assert trace(P, X, y, max_rounds=7).stop_reason is None
    whole = trace(P, X, y, max_rounds=5000)
    assert (len(whole), whole.stop_reason) == (len(whole), "converged")
    assert len(trace(P, X, y, max_rounds=len(whole))) == len(whole)
    assert trace(P, X, y, max_rounds=len(whole)).stop_reason == "converged"
    cut = trace(Perceptron(max_iter=2), X, y)
    assert (len(cut), cut.stop_reason) == (10, "max_iter")
    assert len(trace(P, *POINTS, coef_init=[0, 0], intercept_init=-1, rounds=3000)) == 1160


def test_a_cycle_ends_it_where_it_ends_the_fit():
    X, y = [(1, 1), (1, -1), (-1, 1), (-1, -1)], [1, -1, -1, 1]
    model = Perceptron(fit_intercept=False, shuffle=False)
    shown = trace(model, X, y)
    assert (len(shown), shown.stop_reason) == (4, "cycle")
    assert shown.stopped == str(model.fit(X, y).cycle_)
    assert trace(model.set_params(max_iter=1), X, y).stop_reason == "cycle"
    assert trace(model, X, y, max_rounds=3).stop_reason is None
    X, y = [(2, 1), (4, 3), (3, 5), (1, 3), (5, 6)], [1, 1, 1, -1, -1]
    start = {"coef_init": [1, 1], "intercept_init": 1}
    shown = trace(Perceptron(shuffle=False), X, y, **start)
    assert (len(shown), shown.stop_reason) == (5 * 130, "cycle")
    assert shown[-1].weights == shown[5 * 121 - 1].weights


NASTY = r"""a&b_c%$#{}~^\<i>|*`"'[x],;""" + "\n\x1b[2J"


@pytest.fixture
def nasty():
    """A trace whose every name is markup everywhere."""
    X, y = [[1.0], [-1.0], [1 / 3]], [NASTY, "plain", NASTY]
    return trace(P, X, y, row_names=[NASTY, "[b]bold[/b]", ""], feature_names=[NASTY], max_rounds=4)


def test_csv_comes_back_as_it_was(nasty):
    head, *lines = csv.reader(io.StringIO(nasty.to_csv()))
    assert head == nasty.columns
    assert lines == list(nasty.cells(tables.exact_number))
    assert head[-1] == lines[0][2] == NASTY
    exact = trace(P, [[1 / 3], [-0.1]], [0, 1]).to_csv().splitlines()
    assert exact[1].endswith(f",-1,{-1 / 3!r}")


def test_html_is_escaped(nasty):
    root = ET.fromstring(nasty.to_html().replace("\x1b", ""))
    assert root.tag == "table"
    cells = [[cell.text or "" for cell in line] for line in root.iter("tr")]
    plain = NASTY.replace("\x1b", "")
    assert cells[0][-1] == cells[1][2] == plain
    assert cells[-1] == [nasty.stopped]
    assert "<i>" not in nasty.to_html()
    assert html.escape("<i>") in nasty._repr_html_()


def test_latex_is_escaped(nasty):
    text = nasty.to_latex()
    line = text.splitlines()[2]
    expected = (
        r"a\&b\_c\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
        r"\textless{}i\textgreater{}|*`" + "\"'{[}x{]},;" + r"\textbackslash{}n\textbackslash{}x1b"
    )
    assert expected in line
    assert len(re.findall(r"(?<!\\)&", line)) == len(nasty.columns) - 1


def test_text_is_aligned_and_moves_no_cursor(nasty):
    assert "\x1b" not in str(nasty)
    assert len(nasty.to_text().splitlines()) == 1 + len(nasty) + 1


def test_what_cannot_be_traced_is_refused():
    X, y = POINTS
    with pytest.raises(TypeError):
        trace(PeerPerceptron(), X, y)
    for model, how, code, option in (
        (P, {"max_rounds": 0}, "bad-option", "max_rounds"),
        (P, {"rounds": 0}, "bad-option", "rounds"),
        (P, {"max_rounds": 1_000_000}, "too-large", None),
        (Perceptron(early_stopping=True), {}, "bad-option", "early_stopping"),
        (P, {"row_names": ["a"]}, "shape", "row_names"),
        (P, {"feature_names": "abc"}, "shape", "feature_names"),
        (P, {"coef_init": [1, 2, 3]}, "shape", "coef_init"),
        (Perceptron(fit_intercept=False), {"intercept_init": 1}, "conflict", "intercept_init"),
        (KernelPerceptron(), {"rounds": 3}, "unsupported", None),
    ):
        with refused(ValueError, code, option=option):
            trace(model, X, y, **how)
    wide = sp.csr_matrix(([1.0], ([0], [3_000_000])), shape=(2, 3_000_001))
    with refused(ValueError, "too-large"):
        trace(P, wide, [0, 1])


def test_a_kernel_is_traced_as_it_is_fitted():
    X, y = load_iris(return_X_y=True)
    for multiclass in ("native", "ovr", "ovo"):
        model = KernelPerceptron(multiclass=multiclass, max_iter=3).fit(X[::6], y[::6])
        run = trace(KernelPerceptron(multiclass=multiclass, max_iter=3), X[::6], y[::6])
        assert np.array(run[-1].weights)[:, 1 + model.support_] == pytest.approx(model.dual_coef_)
        assert sum(step.mistakes for step in run) == model.mistakes_.sum()
    with refused(ValueError, "unsupported"):
        run.plot()


@pytest.fixture
def folder(tmp_path):
    shutil.copy(ROOT / "docs" / "students.csv", tmp_path)
    (tmp_path / "t.svm").write_text("+1 1:2 3:1\n\n# nothing\n-1 2:1.5\n")
    (tmp_path / "u.svm").write_text("-1 4:2\n")
    return tmp_path


STUDENTS = ("trace", "students.csv", "--target", "grade", "--row-names", "name")


def test_an_order_that_is_random_is_told(folder):
    for options, told in (
        ((), True), (("--format", "arithmetic"), True), (("--format", "csv"), False),
        (("--no-shuffle",), False), (("--max-iter", 1), False),
    ):  # fmt: skip
        done = here(*STUDENTS, *options, cwd=folder)
        assert done.returncode == 0
        assert ("--no-shuffle" in done.stdout) is told


def test_formats_on_the_command_line(folder):
    shown = here(*STUDENTS, "--format", "html", cwd=folder)
    assert (shown.returncode, shown.stderr) == (0, "")
    X = [(1, 1, -1, -1), (1, 1, 1, 1), (-1, -1, -1, 1), (1, -1, -1, 1)]
    made = trace(
        Perceptron(max_iter=10), np.array(X, float), list("AFFA"),
        row_names=["Jane", "Steve", "Mary", "Peter"],
        feature_names=["attendance", "tall", "sleeps", "gum"],
    )  # fmt: skip
    assert shown.stdout == made.to_html()
    done = here(*STUDENTS, "--format", "html", "--output", "out", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert (folder / "out").read_text() == made.to_html()
    assert_refused(*STUDENTS, "--output", "out", cwd=folder, code="file-exists")
    assert_refused(*STUDENTS, "--output", "students.csv", "--force", cwd=folder, code="conflict")


def names(*arguments, cwd):
    done = here("trace", *arguments, "--format", "csv", "--max-iter", 1, cwd=cwd)
    assert done.returncode == 0, done.stderr
    head, *lines = csv.reader(io.StringIO(done.stdout))
    return [line[2] for line in lines], head[8:]


def test_rows_are_named_by_their_numbers(folder):
    assert names("t.svm", cwd=folder) == (["row 1", "row 2"], ["x1", "x2", "x3"])
    (folder / "gap.csv").write_text("a,kind\n1,x\n,x\n2,y\n\n3,y\n")
    found, _ = names("gap.csv", "--target", "kind", "--missing", "drop", cwd=folder)
    assert found == ["row 1", "row 3", "row 4"]
    table = ("students.csv", "--target", "grade", "--exclude", "name")
    assert names(*table, cwd=folder)[0] == ["row 1", "row 2", "row 3", "row 4"]


def test_bad_use_is_one_sentence(folder):
    assert_refused("trace", "t.svm", "--gamma", 0.1, cwd=folder, said="margin", exit_code=2)
    assert_refused("trace", "t.svm", "--row-names", "x", cwd=folder, code="no-columns")
    assert_refused(*STUDENTS[:-1], "nme", cwd=folder, code="unknown-column")
    assert_refused("trace", "t.svm", "--max-rounds", 0, cwd=folder, said="max-rounds", exit_code=2)
    (folder / "drop.csv").write_text("a,id,kind\n1,q,x\n2,,y\n")
    drop = ("--target", "kind", "--row-names", "id", "--missing", "drop")
    assert_refused("trace", "drop.csv", *drop, cwd=folder, code="missing-value")
    with open(folder / "large.svm", "w") as file:
        file.writelines(f"{i % 2} 999:1\n" for i in range(2500))
    assert_refused("trace", "large.svm", cwd=folder, code="too-large")


def test_every_step_beyond_a_cycle_has_its_errors():
    """N4, iterations 900 to 915: some of the weights are good and some are not."""
    X, y = datasets.load_inseparable_points(return_X_y=True)
    how = {"coef_init": [1, 1], "intercept_init": 1, "reference": 2}
    made = trace(P, X, y, rounds=915, **how)
    signs = np.where(y == 2, -1, 1)
    for row in made:
        b, *w = row.weights[0]
        scores = X @ w + b
        assert row.errors == np.sum(np.where(scores > 0, 1, -1) != signs)
    assert [row.errors for row in made[899:907]] == [1, 1, 1, 2, 2, 1, 1, 1]
    table = list(csv.DictReader(io.StringIO(made.to_csv())))
    assert [int(line["errors"]) for line in table] == [row.errors for row in made]
    short = trace(P, X, y, **how)
    assert (short[0].errors, "errors" in short.columns) == (None, False)


def test_errors_of_several_classes_are_those_of_the_fit():
    X, y = np.random.default_rng(1).normal(size=(40, 3)), np.arange(40) % 3
    weights = np.arange(40) % 4
    model = Perceptron(
        multiclass="ovo", normalize=True, max_iter=3, random_state=4, class_weight="balanced"
    )
    made = trace(model, X, y, rounds=3 * 30, sample_weight=weights)
    fitted = model.fit(X, y, sample_weight=weights)
    some = weights > 0
    assert made[-1].errors == np.sum(fitted.predict(X[some]) != y[some])


def by_hand(made, X, y):
    """Return <w, z> with the weights before each step, their length and that of z, and the side."""
    before = [np.array(made.start[0]), *(np.array(row.weights[0]) for row in made)]
    Z = np.column_stack([np.ones(len(X)), X])
    for row, step, w in zip(made, made.steps, before, strict=False):
        z = Z[step.row]
        yield row, w @ z, np.linalg.norm(w), np.linalg.norm(z), y[step.row]


def test_a_margin_perceptron_shows_the_cosine_that_it_tests():
    X, y = np.array(POINTS[0], dtype=float), np.array(POINTS[1])
    made = trace(MarginPerceptron(gamma=0.62, shuffle=False), X, y, max_rounds=200)
    for row, score, w, z, side in by_hand(made, X, y):
        reached, needed = row.margin
        assert row.scores[0] == pytest.approx(score, abs=1e-12)
        assert reached == pytest.approx(side * score / (w * z) if w else 0, abs=1e-12)
        assert needed == (0.31 if w else 0)
        assert bool(row.mistakes) == (reached < needed or not w)
    assert any(0 < row.margin[0] < 0.31 for row in made)  # a mistake on the right side
    table = list(csv.DictReader(io.StringIO(made.to_csv())))
    assert [(float(r["margin"]), float(r["needed"])) for r in table] == [r.margin for r in made]
    plain = trace(P, X, y)
    assert (plain[0].margin, "margin" in plain.columns) == (None, False)


def test_the_picture_of_a_trace_draws_that_trace():
    X, y = datasets.load_inseparable_points(return_X_y=True)
    made = trace(P, X, y, coef_init=[1, 1], intercept_init=1, reference=2, rounds=915)
    updates = [k for k, row in enumerate(made) if row.updates]
    assert len(updates) == 490
    (drawn,) = made.plot(mistake=484, n_mistakes=1).updates
    assert (drawn.mistake, drawn.round, drawn.row) == (
        484, updates[483] + 1, made.steps[updates[483]].row,
    )  # fmt: skip
    np.testing.assert_array_equal(np.roll(drawn.after, 1), made[updates[483]].weights[0])
    weighted = trace(P, X, y, sample_weight=[1, 2, 0, 3, 1], row_names=list("abcde"))
    for one in weighted.plot().updates:
        np.testing.assert_array_equal(np.roll(one.after, 1), weighted[one.round - 1].weights[0])


@pytest.mark.parametrize("model", [P, Winnow(shuffle=False)])
def test_the_reference_is_the_negative_class(model):
    X, y = datasets.load_students(return_X_y=True)
    X = np.maximum(X, 0)
    named = trace(model, X, y, reference="F")
    signs = trace(model, X, np.where(y == "A", 1, -1))
    assert [(row.scores, row.weights) for row in named] == [(r.scores, r.weights) for r in signs]
    assert "A (+1)" in str(named)
    assert str(trace(model, X, y, reference="A")) == str(trace(model, X, y))
    with refused(DataError, "unknown-label", option="reference"):
        trace(model, X, y, reference="B")
    with refused(DataError, "class-count", option="reference"):
        trace(model, X, range(4), reference=1)


def test_the_students_of_the_notes():
    frame = datasets.load_students(as_frame=True)
    people = frame.data.set_index(pd.Index(["Jane", "Steve", "Mary", "Peter"]))
    found = reflection(people, frame.target, reference="F")
    assert found.rows.tolist() == [
        [1, 1, 1, -1, -1], [-1, -1, -1, -1, -1], [-1, 1, 1, 1, -1], [1, 1, -1, -1, 1]
    ]  # fmt: skip
    assert (found.rows @ [-0.75, 1.25, -0.75, -0.75, -0.75] > 0).all()
    opposite = reflection(sp.csr_matrix(frame.data), frame.target)
    assert opposite.rows.tolist() == (0 - found.rows).tolist()
    assert opposite.weights == ["intercept", "x0", "x1", "x2", "x3"]


def test_bad_input():
    for X, y, how, code in (
        ([[1], [2], [3]], [1, 2, 3], {}, "class-count"), ([[1], [2]], [1, 1], {}, "class-count"),
        ([[1], [2]], [1, 2, 1], {}, "shape"),
        ([[1], [2]], [1, 2], {"reference": 3}, "unknown-label"),
        ([[1], [2]], [1, 2], {"feature_names": ["a", "b"]}, "shape"),
    ):  # fmt: skip
        with refused(ValueError, code):
            reflection(X, y, **how)
