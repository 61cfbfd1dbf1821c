"""Values beyond floating point, labels beyond whole floats, many classes: refused or told."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning

import linsep
from command_line import run
from data_files import assert_refused
from linsep import (
    BalancedWinnow,
    GaussianNaiveBayes,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    open_source,
    separation,
)
from linsep.errors import DataError
from linsep.sources.arrays import ArraySource
from refusals import refused
from whole_files import load_svmlight, load_table

MODELS = [
    GaussianNaiveBayes(),
    LogisticRegression(),
    LogisticRegression(solver="gradient_ascent"),
    LogisticRegression(penalty="firth"),
    Perceptron(max_iter=3),
    PassiveAggressive(max_iter=3),
    MarginPerceptron(gamma=0.1, max_iter=3),
    BalancedWinnow(max_iter=3),
]
rng = np.random.default_rng(0)
ROWS, LABELS = np.clip(rng.standard_normal((40, 3)), -1, 1), np.arange(40) % 2


def spread(size):
    return ROWS * [1.0, size, 1.0]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_feature_beyond_floating_point_is_named(model):
    model, X = clone(model), spread(1e200)
    with refused(DataError, "overflow"):
        model.fit(pd.DataFrame(X, columns=["a", "huge", "c"]), LABELS)
    for rows in (sp.csr_matrix(X), X):
        with refused(DataError, "overflow", column=1):
            clone(model).fit(rows, LABELS)
    with refused(DataError, "overflow"):
        clone(model).fit(ArraySource(X, LABELS))


@pytest.mark.parametrize("model", [*MODELS[:4], LinearRegression()], ids=str)
def test_rows_of_weight_zero_may_hold_any_numbers(model):
    more, labels = np.vstack([ROWS[:7], [[1e200, -1e160, 1.0]], ROWS[7:]]), np.insert(LABELS, 7, 1)
    weights = np.insert(np.ones(40), 7, 0)
    found, plain = clone(model).fit(more, labels, weights), clone(model).fit(ROWS, LABELS)
    if not isinstance(model, LinearRegression):
        sparse = clone(model).fit(sp.csr_matrix(more), labels, weights)
        np.testing.assert_allclose(sparse.predict_proba(ROWS), plain.predict_proba(ROWS), rtol=1e-9)
        found, plain = found.predict_proba(ROWS), plain.predict_proba(ROWS)
    else:
        found, plain = found.predict(ROWS), plain.predict(ROWS)
    np.testing.assert_allclose(found, plain, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "size"),
    [(MODELS[0], 1e-99), (MODELS[1], 1e99), (MODELS[3], 1e99), (LinearRegression(), 1e99)],
)
def test_what_is_learned_of_large_values_can_be_saved_and_loaded(model, size, tmp_path):
    X = spread(size)
    found = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found.fit(X, LABELS)
    copy = linsep.load(linsep.save(found, tmp_path / "m"))
    assert copy.predict(X).tolist() == found.predict(X).tolist()


def test_predictions_beyond_floating_point_are_refused():
    for interval in [None, "confidence", "prediction"]:
        model = LinearRegression().fit(ROWS, ROWS @ [1.0, 2.0, 3.0] + LABELS)
        rows = [[0.0, 0.0, 0.0], [1e308, 1e308, 1e308]]
        with refused(DataError, "overflow"):
            model.predict(rows, interval=interval)
        with refused(DataError, "overflow"):
            model.predict(ArraySource(rows), interval=interval)
        if interval:
            with refused(DataError, "overflow"):
                model.predict([[1e200, 0.0, 0.0]], interval=interval)
        else:
            assert np.isfinite(model.predict([[1e200, 0.0, 0.0]])).all()


def test_scores_beyond_floating_point_are_refused_without_a_warning():
    model = LogisticRegression(l2=1e-3).fit(ROWS, ROWS[:, 0] > 0)
    with refused(DataError, "overflow", row=1):
        model.predict(1e308 * np.sign(model.coef_))


LARGE = 2**53


def refusal(load, path, text, **options):
    path.write_text(text)
    return assert_refused(load, path, **options)


@pytest.mark.parametrize(
    ("first", "large"), [("0.5", LARGE), ("1", -LARGE), ("9007199254740993.0", 10**19)]
)
def test_tables(tmp_path, first, large):
    text = f"a,y\n1,{first}\n2,{large}\n3,0.5\n"
    row = 1 if first.startswith("9") else 2
    said = refusal(load_table, tmp_path / "a.csv", text, target="y")
    assert said.startswith(f"a.csv row {row}, column 'y'")


def test_the_line_counts_rows_that_were_dropped(tmp_path):
    text = f"a,y\n1,1\n,2\n3,{LARGE}\n"
    said = refusal(load_table, tmp_path / "a.csv", text, target="y", missing="drop")
    assert said.startswith("a.csv row 3, column 'y'")


def test_svmlight(tmp_path):
    for large, chunk_bytes in [(f"{LARGE}", 30), (f"-{LARGE + 1}", 1), ("1e300", 1000)]:
        text = f"1 1:1\n# between\n\n{LARGE - 1} 1:1\n{large} 1:2\nno 1:x\n"
        path = tmp_path / "a.svm"
        said = refusal(load_svmlight, path, text, chunk_bytes=chunk_bytes)
        assert said == f"a.svm line 5: the label '{large}' has too many digits: shorten the labels."


def nullable(*labels):
    return pd.Series(labels * 3, dtype="Int64")


@pytest.mark.parametrize("column", [nullable, lambda *x: nullable(*x).to_frame()])
@pytest.mark.filterwarnings("ignore:A column-vector")
def test_long_labels_of_pandas_own_types_are_not_merged(column):
    X, y = np.arange(6.0)[:, None], column(LARGE, LARGE + 1)
    model = GaussianNaiveBayes().fit(X, y)
    assert model.classes_.tolist() == [LARGE, LARGE + 1]
    assert separation(X, y).kind == "overlapping"
    right = model.predict(X) == y.to_numpy().ravel()
    assert model.score(X, y) == right.mean() < 1


def test_booleans_of_pandas_own_types_are_booleans():
    y = pd.Series([True, False] * 3, dtype="boolean")
    assert GaussianNaiveBayes().fit(np.arange(6.0)[:, None], y).classes_.dtype == bool


def test_objects_that_numpy_would_round_are_refused():
    for other in [0.5, -1, 2**64]:
        y = np.array([other, 2**63 + 1] * 3, dtype=object)
        with refused(DataError, "not-exact"):
            GaussianNaiveBayes().fit(np.arange(6.0)[:, None], y)


def test_objects_are_scored_as_they_are_learned():
    X, y = np.arange(6.0)[:, None], np.array([1, 1, 1, 2.0, 2.0, True + True], dtype=object)
    assert GaussianNaiveBayes().fit(X, y).score(X, y) == 1


SAID = "30 different numbers in 60 rows, and each is treated as a class"
LEARNERS = [Perceptron(max_iter=1), LogisticRegression(max_iter=1, l2=1.0), GaussianNaiveBayes()]


def measured(folder=None):
    X = np.arange(120.0).reshape(60, 2) % 7
    y = np.repeat(np.arange(30), 2)
    if folder is not None:
        lines = [f"{k} 1:{a} 2:{b}" for (a, b), k in zip(X.tolist(), y.tolist(), strict=True)]
        (folder / "rows.svm").write_text("\n".join(lines) + "\n")
        return open_source(str(folder / "rows.svm"))
    return X, y


def messages(act):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in told if "different numbers" in str(one.message)]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_classifiers_warn(learner, tmp_path):
    for act in (lambda: learner.fit(*measured()), lambda: learner.fit(measured(tmp_path))):
        (said,) = messages(act)
        assert SAID in said
        assert "linear regression" in said


def test_verdicts_warn():
    (said,) = messages(lambda: separation(*measured(), formulations=()))
    assert SAID in said
    X, y = load_diabetes(return_X_y=True)
    (said,) = messages(lambda: separation(X, y, formulations=("multinomial",), time_limit=0.01))
    assert "214 different numbers in 442 rows" in said


@pytest.mark.parametrize("change", [lambda y: y.astype(str), lambda y: y % 10])
def test_texts_and_few_numbers_are_classes(change):
    X, y = measured()
    assert messages(lambda: Perceptron(max_iter=1).fit(X, change(y))) == []
    assert messages(lambda: separation(X, change(y), formulations=("ovr",))) == []
    digits = load_digits()
    assert messages(lambda: Perceptron(max_iter=1).fit(digits.data[::6], digits.target[::6])) == []


def test_the_command_line_says_so_once(tmp_path):
    measured(tmp_path)
    for command in (["separate", "--time-limit", "0.1"], ["fit", "--max-iter", "1"]):
        done = run(*command, "rows.svm", cwd=tmp_path)
        assert done.stderr.count(SAID) == 1, done.stderr
        assert "Warning" not in done.stderr


def test_a_title_names_some_classes_only():
    X, y = measured()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        title = LogisticRegression(max_iter=1, l2=1.0).fit(X, y).summary().title
        few = LogisticRegression(l2=1.0).fit(X, y % 3).summary().title
    assert title.endswith("of 0, 1, 2, 3, 4, 5, 6, 7, 8, ... (29 classes) against 29")
    assert few == "Logistic regression of 0, 1 against 2"
