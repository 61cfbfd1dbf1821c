"""Odd names and labels, many of them, weights of classes, ties, labels that were never learned."""

import json

import numpy as np
import pytest

import linsep
from command_line import assert_refused, here, table

pytestmark = pytest.mark.compiled


def test_odd_names_and_labels_are_shown_as_they_are(folder):
    labels = ["[/b]", "[red]", "日本語", "tab\there"]
    rows = [[k, 3 - k % 5, f'"{labels[k % 4]}"'] for k in range(40)]
    table(folder, "odd.csv", ["[bold]", "{x}", "[/x]"], rows)
    fit = here("fit", "odd.csv", "--target", "[/x]", "--model", "m", cwd=folder)
    assert (fit.returncode, fit.stderr) == (0, "")
    assert "4 classes ([/b], [red], tab\\there, 日本語)" in fit.stdout
    shown = here("inspect", "m", cwd=folder).stdout
    assert "[bold]" in shown
    assert "\t" not in shown
    *_, classes = here("score", "m", "odd.csv", cwd=folder).stdout.split("\n\n")
    shown = [line.split()[0] for line in classes.splitlines()]
    assert shown == ["class", "[/b]", "[red]", "tab\\there", "日本語"]
    predicted = here("predict", "m", "odd.csv", "--output", "p", cwd=folder)
    assert predicted.returncode == 0
    text = (folder / "p").read_text(encoding="utf-8").splitlines()
    assert len(text) == 40
    assert set(text) <= {"[/b]", "[red]", "日本語", '"tab\\there"'}
    assert_refused(
        "fit", "odd.csv", "--target", "[/x]", "--class-weight", "[/b]=-1", cwd=folder,
        said=r"with a weight of at least 0, not '\[/b\]=-1'", exit_code=2,
    )  # fmt: skip


def test_a_label_of_two_lines_stays_on_one(folder):
    rows = [[k, f'"{"one" if k % 2 else "two" + chr(10) + "lines"}"'] for k in range(20)]
    table(folder, "t.csv", ["x", "kind"], rows)
    here("fit", "t.csv", "--target", "kind", "--model", "m", cwd=folder)
    lines = here("predict", "m", "t.csv", cwd=folder).stdout.splitlines()
    assert len(lines) == 20
    assert set(lines) <= {"one", '"two\\nlines"'}
    objects = [
        json.loads(s)
        for s in here("predict", "m", "t.csv", "--json", cwd=folder).stdout.splitlines()
    ]
    assert {o["prediction"] for o in objects} <= {"one", "two\nlines"}


def test_many_classes_are_one_screen_and_no_warning(folder):
    table(folder, "t.csv", ["x", "kind"], [[k % 7, f"class{k % 26:02}"] for k in range(52)])
    for multiclass in ("native", "ovo"):
        fit = ("fit", "t.csv", "--target", "kind", "--multiclass", multiclass)
        done = here(*fit, "--max-iter", 2, "--model", "m", "--force", cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        for command, most in (("score m t.csv", 24), ("inspect m", 26)):
            shown = here(*command.split(), cwd=folder).stdout
            assert len(shown.splitlines()) <= most
            assert "--json has all" in shown
            assert max(map(len, shown.splitlines())) < 160
    everything = json.loads(here("inspect", "m", "--json", cwd=folder).stdout)
    assert len(everything["weights"]) == 26 * 25 // 2
    assert (
        len(json.loads(here("score", "m", "t.csv", "--json", cwd=folder).stdout)["classes"]) == 26
    )


# Weights of classes, ties, other labels.


@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        (["1", "2"], "1=3", {1: 3.0}),
        (["1.0", "2.0"], "1=3", {1.0: 3.0}),
        (["true", "false"], "TRUE=3", {True: 3.0}),
        (["yes", "no"], "no=3", {"no": 3.0}),
        (["1", "a"], "1=3", {"1": 3.0}),  # a column of text
        (["a=b", "c"], "a=b=3", {"a=b": 3.0}),
        ([str(2**53 - 2), str(2**53 - 1)], f"{2**53 - 1}=3", {2**53 - 1: 3.0}),
    ],
)
def test_class_weights_take_labels_of_the_type_they_have(folder, labels, given, expected):
    table(folder, "t.csv", ["x", "kind"], [[k % 5, labels[k % 2]] for k in range(40)])
    done = here(
        "fit", "t.csv", "--target", "kind", "--class-weight", given, "--model", "m", cwd=folder
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert linsep.load(folder / "m").class_weight == expected


def test_class_weights_that_make_no_sense(folder):
    fit = ("fit", "t.svm", "--class-weight")
    assert_refused(*fit, "7=2", cwd=folder, code="unknown-label")
    for bad in ("1", "1=heavy", "1=nan", "1=inf", "1=-1"):
        said = f"LABEL=WEIGHT with a weight of at least 0, not '{bad}'"
        assert_refused(*fit, bad, cwd=folder, said=said, exit_code=2)
    done = here(*fit, "balanced", "--model", "m", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert linsep.load(folder / "m").class_weight == "balanced"


def test_ties_are_drawn_alike_however_the_file_is_cut(folder, monkeypatch):
    table(folder, "t.csv", ["x", "kind"], [[0, "ab"[k % 2]] for k in range(400)])
    fit = ("fit", "t.csv", "--target", "kind", "--tie", "random", "--no-fit-intercept")
    here(*fit, "--max-iter", 1, "--scale", "none", "--model", "m", cwd=folder)
    # Weights are zero, and a draw depends on the values of the row.
    table(folder, "t.csv", ["x", "kind"], [[k, "ab"[k % 2]] for k in range(400)])
    model = linsep.load(folder / "m")
    del model.feature_names_in_
    expected = model.predict(np.arange(400.0)[:, None]).tolist()
    assert set(expected) == {"a", "b"}
    monkeypatch.setattr("linsep.sources.tables.table._BATCH_VALUES", 60)
    assert here("predict", "m", "t.csv", cwd=folder).stdout.split() == expected
    scored = json.loads(here("score", "m", "t.csv", "--json", cwd=folder).stdout)
    assert scored["accuracy"] == np.mean(np.array(expected) == np.array(["a", "b"] * 200))


def test_labels_that_were_never_learned(learned):
    (learned / "other.svm").write_text("0 1:1\n7 1:1\n7 1:1\n8 1:1\n")
    scored = json.loads(here("score", "m", "other.svm", "--json", cwd=learned).stdout)
    assert scored["unknown_labels"] == 3
    assert scored["most_frequent"] == 0.25
    assert sum(c["rows"] for c in scored["classes"]) == 1
    assert "; 3 with unknown classes" in here("score", "m", "other.svm", cwd=learned).stdout
    table(learned, "a.csv", ["x", "kind"], [[k % 5, "ab"[k % 2]] for k in range(40)])
    table(learned, "n.csv", ["x", "kind"], [[k % 5, k % 2] for k in range(40)])
    here("fit", "a.csv", "--target", "kind", "--model", "text", cwd=learned)
    here("fit", "n.csv", "--target", "kind", "--model", "numbers", cwd=learned)
    scored = json.loads(here("score", "text", "n.csv", "--json", cwd=learned).stdout)
    assert (scored["accuracy"], scored["unknown_labels"]) == (0.0, 40)
    assert_refused("score", "numbers", "a.csv", cwd=learned, code="not-a-number")
