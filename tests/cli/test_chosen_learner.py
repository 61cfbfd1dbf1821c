"""What learns where no learner is named, and what `linsep describe` recommends; no command ends
well with a model that is worse than saying the same of every row, unsaid."""

import csv
import json
import shlex

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import linsep
from command_line import here
from linsep.batches import Batch
from linsep.catalog import ESTIMATORS, LEARNERS
from linsep.rows.source_stream import Sample
from linsep.sources import open_source

TEXT = ("sms.csv", "--target", "kind", "--text", "message")


SPARSE = "4,000 features, of which a row has 0.25%"


def vectors(features, each, vw=False, rows=200, times=1.0):
    """Lines of length 1 at most with so many features each, all of which occur."""
    rng, lines = np.random.default_rng(0), []
    for k in range(rows):
        at = np.sort((np.arange(each) * features // each + 37 * k) % features)
        size = times * rng.uniform(0.5, 1.0) / each**0.5
        own = [f"{j if vw else j + 1}:{size:.3f}" for j in at]
        lines.append(f"{2 * (k % 2) - 1} {'| ' * vw}" + " ".join(own))
    return "\n".join(lines) + "\n"


def texts(rows=60):
    rng = np.random.default_rng(1)
    said = {"ham": "see you at home then", "spam": "win free prize money now"}
    kinds = rng.choice(list(said), rows)
    return [(kind, " ".join(rng.permutation(said[kind].split())), str(rng.integers(9)))
            for kind in kinds]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chosen")
    with (folder / "sms.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("kind", "message", "length"), *texts()])
    (folder / "wide.svm").write_text(vectors(4000, 10, rows=400))
    (folder / "narrow.svm").write_text(vectors(300, 2))
    (folder / "filled.svm").write_text(vectors(2000, 40))
    (folder / "long.svm").write_text(vectors(4000, 10, rows=400, times=5.0))
    (folder / "wide.vw").write_text(vectors(4000, 10, vw=True, rows=400))
    (folder / "damaged.svm").write_text("1 2:x\n" + vectors(4000, 10))
    return folder


def learned(folder, *words):
    done = here("fit", *words, "--max-iter", "1", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["learner"], found.get("chosen_for")


def test_a_frame_learns_what_the_command_learns(folder):
    here("fit", *TEXT, "--model", "text.linsep", cwd=folder)
    frame = pd.DataFrame(texts(), columns=["kind", "message", "length"])
    frame["length"] = frame["length"].astype(int)
    model = linsep.fit(frame, target="kind", text="message")
    saved = linsep.load(folder / "text.linsep")
    assert type(model.learner) is type(saved.learner) is linsep.AROW
    assert np.array_equal(model.coef_, saved.coef_)
    assert linsep.fit(frame, target="kind", text="message", r=2.0).r == 2.0
    assert type(linsep.fit(frame, target="kind").learner) is linsep.Perceptron
    with pytest.raises(TypeError):
        linsep.fit(frame, target="kind", r=2.0)
    chosen = linsep.fit(frame, target="kind", text="message", schedule="inverse")
    assert type(chosen.learner) is linsep.Perceptron


def made_table(rows, classes=2, noise=3.0):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    X["town"] = rng.choice(["t0", "t1", "t2"], rows)
    scores = X.a.to_numpy()[:, None] * np.arange(classes) + noise * rng.normal(size=(rows, classes))
    return X.assign(y=[f"class {code}" for code in scores.argmax(axis=1)])


TABLES = {
    "overlapping": (lambda: made_table(300, classes=4), "logistic"),
    "separable": (lambda: made_table(300, noise=0).assign(y=lambda t: t.a > 0), "perceptron"),
    "numbers": (lambda: made_table(300).assign(y=lambda t: t.a + t.b), "linear"),
}


SAID = "linsep: warning: the model predicts worse than the baseline: "


@pytest.fixture
def noise(tmp_path):
    """Labels that the columns say nothing of: one row in five is rare, at random."""
    rng = np.random.default_rng(0)
    for name, rows in (("t", 400), ("new", 200)):
        X, rare = rng.random((rows, 3)).round(3), rng.random(rows) < 0.2
        lines = [",".join(map(str, x)) + f",{'rare' if r else 'usual'},{10 * r}" for x, r in
                 zip(X, rare, strict=True)]  # fmt: skip
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,c,kind,size", *lines]) + "\n")
    return tmp_path


def told(noise, *options, target="kind", **how):
    other = "size" if target == "kind" else "kind"
    fit = ("fit", "t.csv", "--target", target, "--exclude", other, *options)
    done = here(*fit, cwd=noise)
    assert done.returncode == 0, done.stderr
    return done


def test_with_class_weights_accuracy_is_not_compared(noise):
    """Who weights rare classes gives accuracy for their recall, and is not told to take it back."""
    balanced = ("--class-weight", "balanced", "--json")
    summary = json.loads(told(noise, "--learner", "logistic", *balanced).stdout)
    assert summary["training_accuracy"] < summary["training_baseline"]
    assert summary["warnings"] == []


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("most_bytes", [1, 700, 5000])
def test_a_sample_has_few_bytes_whatever_the_batches(sparse, most_bytes):
    """Every k-th row for the smallest power of two that is small enough, rows of any length."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 9)) * (rng.random((300, 9)) < rng.random((300, 1)))
    whole = sp.csr_matrix(X) if sparse else X
    codes, weights = rng.integers(0, 4, 300), rng.random(300)

    def size(rows):
        return 12 * whole[rows].nnz + 4 * rows.size if sparse else 72 * rows.size

    every = [np.arange(0, 300, 1 << k) for k in range(1, 10)]  # 300 rows are too many
    expected = next(rows for rows in every if rows.size == 1 or size(rows) <= most_bytes)
    for cuts in ([], [1, 2, 200], range(300)):
        sample = Sample(2, most_rows=250, most_bytes=most_bytes)
        for rows in np.split(np.arange(300), cuts):
            sample.take(Batch(whole[rows], codes[rows] % 2, weights=weights[rows]))
        found = sample.rows(9)
        assert np.array_equal(found.X.toarray() if sparse else found.X, X[expected])
        assert found.y.tolist() == (codes[expected] % 2).tolist()
        assert found.weights.tolist() == weights[expected].tolist()
        assert sample.totals == pytest.approx([weights[codes % 2 == k].sum() for k in (0, 1)])


@pytest.mark.parametrize("memory", [1 << 20, 0])
def test_one_pass_is_measured_on_a_sample(noise, memory):
    for learner in (linsep.Perceptron(keep="average", max_iter=1), linsep.LogisticRegression(),
                    linsep.GaussianNaiveBayes()):  # fmt: skip
        source = open_source(noise / "t.csv", target="kind", exclude="size")
        source.memory_bytes = memory
        learner.fit(source)
        again = open_source(noise / "t.csv", recipe=learner.recipe_)
        assert learner.training_accuracy_ == learner.score(again)
        assert learner.training_baseline_ == pytest.approx(0.8, abs=0.1)


def test_what_learns(folder):
    for words, learner, chosen_for in [
        (TEXT, "AROW", "text"),
        ((*TEXT, "--r", "0.5"), "AROW", "text"),
        ((*TEXT, "--schedule", "inverse"), "Perceptron", None),
        ((*TEXT, "--learner", "perceptron"), "Perceptron", None),
        (("sms.csv", "--target", "kind"), "Perceptron", None),
        (("wide.svm",), "AROW", SPARSE),
        (("narrow.svm",), "Perceptron", None),
        (("long.svm",), "Perceptron", None),
        (("filled.svm",), "Perceptron", None),
        (("wide.vw",), "AROW", SPARSE),
    ]:
        assert learned(folder, *words) == (learner, chosen_for), words
    for words in (("wide.vw",), ("narrow.svm",)):
        found = json.loads(here("describe", *words, "--json", cwd=folder).stdout)
        assert (found["learner"]["name"] == "arow") == (words != ("narrow.svm",))


def test_tune_compares_what_fit_learns_and_names_it(folder):
    for grid, learner in ("keep=last,average", "arow"), ("schedule=constant,inverse", "perceptron"):
        done = here("tune", *TEXT, "--grid", grid, "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert f"--learner {learner}" in json.loads(done.stdout)["command"]


@pytest.mark.parametrize("name", TABLES)
def test_the_learner_and_its_reason(name, tmp_path):
    make, learner = TABLES[name]
    frame = make()
    found = linsep.describe(frame, target="y")
    assert found.learner["name"] == learner
    frame.to_csv(tmp_path / "t.csv", index=False)
    command = linsep.describe(tmp_path / "t.csv", target="y").next
    assert here(*shlex.split(command)[1:], cwd=tmp_path).returncode == 0
    model = eval(found.next, {"linsep": linsep, "frame": frame})
    assert type(model.learner) is ESTIMATORS[learner]


def test_learners_worse_than_the_baseline_say_so(noise):
    rows = [line.split(",") for line in (noise / "t.csv").read_text().split()[1:]]
    usual = np.mean([row[3] == "usual" for row in rows])
    for learner in ("perceptron", "logistic", "naive-bayes"):
        few = ("--keep", "last", "--max-iter", 3) if learner in LEARNERS else ()
        options = ("--learner", learner, *few, "--test", "new.csv")
        summary = json.loads(told(noise, *options, "--json").stdout)
        assert summary["training_baseline"] == pytest.approx(usual)
        worse = (
            summary["training_accuracy"] < summary["training_baseline"]
            or summary["test"]["accuracy"] < summary["test"]["most_frequent"]
        )
        assert len(summary["warnings"]) == worse
        done = told(noise, *options)
        assert (SAID in done.stderr, done.stderr.count("\n")) == (worse, worse)
