"""What would be taken for something else is refused, with what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from command_line import assert_refused, here
from linsep import (
    GaussianNaiveBayes,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Text,
    open_source,
    save,
)
from linsep.errors import DataError
from linsep.linear import solving as memory
from linsep.plot import RegressionDisplay
from refusals import refused
from whole_files import load_table

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


@pytest.mark.parametrize(
    "model", [Perceptron(), LogisticRegression(), GaussianNaiveBayes(), LinearRegression()]
)
def test_a_table_is_not_scored_without_its_scale(tmp_path, model):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((60, 2)) * 100 + 500, columns=["a", "b"])
    table["y"] = (table["a"] + 100 * rng.standard_normal(60) > 500).astype(int)
    path = tmp_path / "a.csv"
    table.to_csv(path, index=False)
    model.fit(open_source(path, target="y", scale="standard"))
    raw = model.predict(table[["a", "b"]])  # which is scaled as the file was
    assert (raw == model.predict(open_source(path, recipe=model.recipe_))).all()
    for array in (table[["a", "b"]].to_numpy(), raw[:, None]):
        with pytest.raises(DataError):
            model.predict(array)
    model.fit(open_source(path, target="y"))
    assert len(model.predict(table[["a", "b"]])) == 60


def test_texts_are_no_table():
    for table in (pd.DataFrame({"t": ["a b", "c d"]}), {"t": ["a b"]}):
        with refused(DataError, "bad-value"):
            Text().fit_transform(table)


def test_least_squares_that_memory_does_not_hold_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_memory", lambda: 1 << 24)
    path = tmp_path / "a.vw"
    path.write_text("0.53 |a x\n1.7 |a y\n3.2 |a z:2\n2.2 |a z:1 x\n")
    assert_refused(
        "fit", "a.vw", "--learner", "linear", "--hash-bits", "14", cwd=tmp_path, code="too-large"
    )


def test_twice_the_digits_need_twice_the_memory(monkeypatch):
    monkeypatch.setattr(memory, "_memory", lambda: 1 << 24)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 200)), rng.normal(size=1000)
    assert LinearRegression().fit(X, y).n_features_in_ == 200
    X[:, 0] = X[:, 1] + X[:, 2]
    with refused(DataError, "too-large"):
        LinearRegression().fit(sparse.csr_matrix((1000, 300)) + sparse.eye(1000, 300).tocsr(), y)
    with refused(DataError, "too-large"):
        LinearRegression().fit(X, y)


def test_no_text_of_a_folder_is_left_without_a_prediction(tmp_path):
    for label, text in (("ham", "see you"), ("spam", "win a prize")):
        (tmp_path / "mails" / label).mkdir(parents=True)
        (tmp_path / "mails" / label / "1.txt").write_text(text)
    (tmp_path / "mails" / "notes.md").write_text("about these mails")
    assert here("fit", "mails", "--text", "text", "--model", "m", cwd=tmp_path).returncode == 0
    inbox = tmp_path / "inbox"
    (inbox / "sub").mkdir(parents=True)
    for name in ("m1.txt", "m2.txt", "sub/m3.txt"):
        (inbox / name).write_text("win")
    assert_refused("predict", "m", "inbox", cwd=tmp_path, code="mixed-formats")
    done = here("predict", "m", "inbox/sub", cwd=tmp_path)
    assert done.stdout.split() == ["spam"]


def test_a_column_of_texts_alone_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("message text,kind\nhello you,ham\nwin now,spam\n")
    fit = ["fit", "a.csv", "--target", "kind", "--text", "message text", "--model", "m"]
    assert here(*fit, cwd=tmp_path).returncode == 0
    (tmp_path / "b.csv").write_text("message text\nhello you\nwin now\n")
    assert here("predict", "m", "b.csv", cwd=tmp_path).stdout.split() == ["ham", "spam"]
    with refused(DataError, "wrong-format", row=1, option="delimiter"):
        load_table(tmp_path / "b.csv", require_target=False)
    options = {"require_target": False, "text": "message text", "delimiter": ","}
    assert load_table(tmp_path / "b.csv", **options)[0].shape[0] == 2


def test_who_has_sentences_is_told_how_to_read_them(tmp_path):
    rows = "".join(f"{a} {b},{k % 2}\n" for k, (a, b) in enumerate(
        (x, y) for x in "abcdefghijkl" for y in "mnopqrstuvwx"))  # fmt: skip
    (tmp_path / "a.csv").write_text("name,kind\n" + rows)
    assert_refused("fit", "a.csv", "--target", "kind", cwd=tmp_path, code="column-type")


def test_options_of_words_that_would_do_nothing_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("t,y\nhi you,0\nhi there,1\n")
    assert_refused(
        "fit",
        "a.csv",
        "--target",
        "y",
        "--text",
        "t",
        "--hash-bits",
        "10",
        cwd=tmp_path,
        code="conflict",
    )
    here(*["fit", "a.csv", "--target", "y", "--text", "t", "--model", "m"], cwd=tmp_path)
    assert_refused("export", "m", "m.json", cwd=tmp_path, code="unsupported")


def test_a_single_class_is_not_to_be_fitted(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,0\n2,0\n")
    done = here("describe", "a.csv", "--target", "y", cwd=tmp_path)
    assert (done.returncode, "next" in done.stdout) == (0, False)


def test_a_line_is_drawn_against_the_target_of_its_model(tmp_path):
    (tmp_path / "a.csv").write_text("x,price\n1,0.5\n2,1.7\n3,2\n")
    model = LinearRegression().fit(open_source(tmp_path / "a.csv", target="price"))
    found = RegressionDisplay.from_estimator(model, [[1.0], [2.0], [3.0]], [0.5, 1.7, 2.0])
    assert found.ax_.get_ylabel() == "price"


def test_a_missing_value_has_no_prediction(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,0\n2,1\n,1\n3,1\n")
    here(*["fit", "a.csv", "--target", "y", "--missing", "drop", "--model", "m"], cwd=tmp_path)
    done = here("predict", "m", "a.csv", cwd=tmp_path)
    assert "line 4, column 'a' has no value: fill it in, retrain the model with" in done.stderr
    assert "drop" not in done.stderr


def test_rows_of_partial_fits_are_not_called_none(tmp_path):
    save(Perceptron().partial_fit([[1.0], [2.0]], [0, 1], classes=[0, 1]), tmp_path / "m")
    shown = here("inspect", "m", cwd=tmp_path).stdout
    assert "Perceptron, 2 classes (0, 1), 1 feature\n" in shown
