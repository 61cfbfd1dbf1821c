"""Out-of-fold predictions and their metrics against scikit-learn's on the same folds."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)

import linsep
from command_line import assert_refused, here
from linsep import (
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Winnow,
)
from linsep.cross_validation import (
    Folds,
    kept,
    labeled_rows,
    mean_and_error,
    out_of_fold,
    predictions_by_fold,
)
from linsep.errors import DataError
from linsep.scoring import metrics_of
from linsep.sources import open_source
from linsep.sources.arrays import ArraySource
from refusals import refused

ROWS = 120


@pytest.fixture(scope="module")
def data():
    """Overlapping rows of three classes, with weights and groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X @ [1, 2, 0] + rng.normal(size=ROWS), [-1, 1])]
    return X, y, rng.integers(1, 4, ROWS).astype(float), rng.integers(0, 20, ROWS)


@pytest.mark.parametrize(
    "estimator",
    [
        Perceptron(max_iter=5, keep="average"),
        KernelPerceptron(max_iter=3),
        LogisticRegression(l2=1.0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_predictions_are_those_of_scikit_learn(data, estimator):
    X, y, *_ = data
    found = out_of_fold(estimator, ArraySource(X, y), Folds(4, random_state=7))
    folds = StratifiedKFold(4, shuffle=True, random_state=7)
    np.testing.assert_array_equal(
        found.classes[found.predicted], cross_val_predict(estimator, X, y, cv=folds)
    )
    scores = cross_val_predict(estimator, X, y, cv=folds, method="decision_function")
    np.testing.assert_allclose(found.scores, scores)
    np.testing.assert_array_equal(found.classes[found.truth], y)
    assert not hasattr(estimator, "classes_")


def test_sparse_rows_and_weights_of_two_classes(data):
    X, y, weights, _ = data
    X, y = sp.csr_matrix(np.where(X > 0, X, 0)), np.where(y == "a", "no", "yes")
    weights = np.where(np.arange(ROWS) % 5, weights, 0.0)
    found = out_of_fold(Perceptron(max_iter=3), ArraySource(X, y, weights), Folds(3))
    X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]  # the others are left out
    for training, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        alone = Perceptron(max_iter=3).fit(
            X[training], y[training], sample_weight=weights[training]
        )
        np.testing.assert_array_equal(found.classes[found.predicted[test]], alone.predict(X[test]))
        np.testing.assert_array_equal(found.weights[test], weights[test])


def test_errors_of_folds_name_the_row_of_the_data(tmp_path):
    frame = pd.DataFrame({"a": np.arange(40.0), "w": 1, "y": np.arange(40) % 2})
    frame.loc[[3, 20], "a"] = np.nan
    frame.loc[[5, 21], "w"] = 0
    frame.loc[30, "a"] = -1.0
    frame.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "t.csv"
    source = open_source(path, target="y", weight="w", missing="drop")
    with refused(DataError, "out-of-range", row=31, path=path):
        out_of_fold(Winnow(), source, Folds(3))
    rows = labeled_rows(*kept(source))
    test = np.flatnonzero(rows.batch.X[:, 0] < 0)
    rows.batch.X[test] = 1e307  # its score overflows
    split = np.delete(np.arange(rows.size), test), test
    with refused(DataError, "overflow", row=31, path=path):
        predictions_by_fold([Perceptron(max_iter=3)], rows, [split])


class Grouped(ArraySource):
    """Rows in memory with groups."""

    grouped = True

    def __init__(self, X, y, groups):
        super().__init__(X, y)
        self.groups = groups.astype(np.uint64)

    def _read(self):
        for batch in super()._read():
            yield batch._replace(groups=self.groups[batch.first : batch.first + batch.size])


@pytest.mark.parametrize(
    ("folds", "splitter"),
    [
        (Folds(4), StratifiedGroupKFold(4, shuffle=True, random_state=0)),
        (Folds(StratifiedGroupKFold(3)), StratifiedGroupKFold(3)),
    ],
)
def test_groups_are_not_divided(data, folds, splitter):
    X, y, _, groups = data
    found = out_of_fold(Perceptron(max_iter=2), Grouped(X, y, groups), folds)
    expected = cross_val_predict(Perceptron(max_iter=2), X, y, cv=splitter, groups=groups)
    np.testing.assert_array_equal(found.classes[found.predicted], expected)
    assert np.unique(found.groups).size == np.unique(groups).size


def test_time_and_classes_that_come_late(data):
    """Rows of classes that a fold has not learned are wrong, and have no probability."""
    X, y, *_ = data
    order = np.argsort(y == "c", kind="stable")
    X, y = X[order], y[order]
    found = out_of_fold(LogisticRegression(l2=1.0), ArraySource(X, y), Folds(3, by_time=True))
    splits = [*TimeSeriesSplit(3).split(X)]
    assert found.truth.size == sum(test.size for _, test in splits)
    done, late = 0, 0
    for training, test in splits:
        alone = LogisticRegression(l2=1.0).fit(X[training], y[training])
        here = slice(done, done + test.size)
        np.testing.assert_array_equal(found.classes[found.predicted[here]], alone.predict(X[test]))
        if alone.classes_.size == 2:
            late += test.size
            np.testing.assert_allclose(
                found.probabilities[here], np.c_[alone.predict_proba(X[test]), np.zeros(test.size)]
            )
            assert np.isneginf(found.scores[here][:, 2]).all()
        done += test.size
    assert late


def test_metrics_of_folds_and_their_standard_errors(data):
    X, y, *_ = data
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    model = linsep.fit(frame, target="y", scale="none", max_iter=4, cv=4)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    alone = Perceptron(max_iter=4, keep="average")
    for name, scoring in (("accuracy", "accuracy"), ("mcc", "matthews_corrcoef")):
        expected = cross_val_score(alone, X, y, cv=folds, scoring=scoring)
        np.testing.assert_allclose(model.cv_scores_[name], expected)
    assert "log_loss" not in model.cv_scores_  # without probabilities
    whole = linsep.fit(frame, target="y", scale="none", max_iter=4)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    again = linsep.fit(frame, target="y", scale="none", max_iter=4, cv=folds)
    np.testing.assert_array_equal(again.cv_scores_["accuracy"], model.cv_scores_["accuracy"])
    values = np.array([0.5, 0.7, 0.9, 0.6, 0.6, 0.9])
    variance = np.mean([np.var(part, ddof=1) / 3 for part in (values[:3], values[3:])])
    assert mean_and_error(values, 3) == pytest.approx((0.7, variance**0.5))


def test_numbers(data):
    X, *_, groups = data
    target = X @ [1.0, 2.0, 3.0] + np.sin(np.arange(ROWS))
    found = out_of_fold(LinearRegression(), ArraySource(X, target), Folds(5, random_state=1))
    folds = KFold(5, shuffle=True, random_state=1)
    np.testing.assert_allclose(
        found.predicted, cross_val_predict(LinearRegression(), X, target, cv=folds)
    )
    assert metrics_of(found)["r2"] > 0.5
    grouped = out_of_fold(LinearRegression(), Grouped(X, target, groups), Folds(5))
    splitter = GroupKFold(5, shuffle=True, random_state=0)
    np.testing.assert_allclose(
        grouped.predicted,
        cross_val_predict(LinearRegression(), X, target, cv=splitter, groups=groups),
    )


def test_repeats_divide_otherwise(data):
    X, y, *_ = data
    found = out_of_fold(Perceptron(max_iter=2), ArraySource(X, y), Folds(3, repeats=2))
    assert found.truth.size == 2 * ROWS
    expected = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    scores = cross_val_score(Perceptron(max_iter=2), X, y, cv=expected)
    assert metrics_of(found, ["accuracy"])["accuracy"] == pytest.approx(scores.mean())


def test_a_source_is_read_once(data, monkeypatch):
    X, y, *_ = data
    readings, once = [], ArraySource.batches
    monkeypatch.setattr(ArraySource, "batches", lambda self: readings.append(1) or once(self))
    source, rows = kept(ArraySource(X, y, batch_rows=50))
    model = Perceptron(max_iter=3).fit(source)
    np.testing.assert_array_equal(model.coef_, Perceptron(max_iter=3).fit(X, y).coef_)
    assert (len(readings), rows.size) == (1, ROWS)


# The command.


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    X, y, weights, groups = data
    folder = tmp_path_factory.mktemp("cv")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=y, w=weights, g=groups)
    frame.to_csv(folder / "t.csv", index=False)
    frame.assign(kind=["rare", "rare", *y[2:]]).to_csv(folder / "rare.csv", index=False)
    frame.assign(kind=["x", *["y"] * (ROWS - 1)]).to_csv(folder / "one.csv", index=False)
    frame.sort_values("kind").to_csv(folder / "late.csv", index=False)
    return folder


FIT = ["fit", "t.csv", "--target", "kind", "--exclude", "w", "--exclude", "g"]


def test_what_fit_prints_of_its_folds(folder, data):
    X, y, *_ = data
    done = here(*FIT, "--scale", "none", "--cv", 4, "--repeats", 2, "--json", cwd=folder)
    found = json.loads(done.stdout)["cross_validation"]
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0)
    scores = cross_val_score(Perceptron(max_iter=10, keep="average"), X, y, cv=folds)
    accuracy = found["metrics"]["accuracy"]
    np.testing.assert_allclose(accuracy["folds"], scores)
    assert accuracy["mean"] == pytest.approx(scores.mean())
    assert (found["folds"], found["repeats"], found["by_time"]) == (4, 2, False)


#: exit codes, and words
REFUSED = """
2 t.csv --repeats 2
2 t.csv --by-time
2 t.csv --cv 1
2 t.csv --cv 3 --by-time --repeats 2
2 t.csv --cv 3 --by-time --group g
2 t.csv --cv 3 --group g --dask x:1
1 t.csv --cv 30 --group g
1 rare.csv --cv 5
1 one.csv --cv 5
1 late.csv --cv 5 --by-time
1 t.csv --cv 500 --by-time
"""


def test_refusals(folder):
    for line in REFUSED.strip().split("\n"):
        code, *words = line.split()
        assert_refused("fit", *words, "--target", "kind", cwd=folder, exit_code=int(code))
