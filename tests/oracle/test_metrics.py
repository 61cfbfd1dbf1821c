"""Metrics are those of scikit-learn with weights; intervals are those of a bootstrap by hand."""

import warnings

import numpy as np
import pytest
import sklearn.metrics as oracle
from hypothesis import given, strategies as st
from sklearn.preprocessing import label_binarize

from linsep.errors import DataError, ParameterError
from linsep.scoring import (
    CLASS_METRICS,
    NUMBER_METRICS,
    Scored,
    baselines_of,
    intervals_of,
    metrics_of,
)
from refusals import refused
from thoroughness import examples

RANKED = ("roc_auc", "average_precision")


def made(seed, rows, k, *, ties=False, weighted=True, present=None, groups=None, unknown=0):
    """Rows that a model of k classes predicts better than chance."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(np.arange(k) if present is None else present, rows)
    margins = rng.normal(size=(rows, k)) + 1.5 * np.eye(k)[truth]
    margins = margins.round(0) if ties else margins
    scores = margins[:, 1] - margins[:, 0] if k == 2 else margins
    odds = np.exp(margins)
    weights = rng.integers(0, 4, rows) * rng.random(rows) if weighted else np.ones(rows)
    weights[0] += 1.0
    truth[rows - unknown :] = k
    predicted = (scores > 0).astype(int) if k == 2 else scores.argmax(axis=1)
    members = None if groups is None else rng.integers(0, groups, rows)
    found = Scored(
        np.array([f"class {c}" for c in range(k)]), truth, predicted, weights, scores,
        odds / odds.sum(axis=1, keepdims=True), members, int(rng.integers(2)) if k == 2 else 1,
    )  # fmt: skip
    return found.rows(weights > 0)


def by_the_book(rows):
    """The metrics, each as scikit-learn is called."""
    told = {"sample_weight": rows.weights}
    found = {
        "accuracy": oracle.accuracy_score(rows.truth, rows.predicted, **told),
        "balanced_accuracy": oracle.balanced_accuracy_score(rows.truth, rows.predicted, **told),
        "f1_macro": oracle.f1_score(rows.truth, rows.predicted, average="macro", **told),
        "f1_weighted": oracle.f1_score(rows.truth, rows.predicted, average="weighted", **told),
        "mcc": oracle.matthews_corrcoef(rows.truth, rows.predicted, **told),
    }
    if rows.classes.size == 2:
        own = (rows.truth == rows.positive, rows.predicted == rows.positive)
        found["f1"] = oracle.f1_score(*own, zero_division=0.0, **told)
    k, rows = rows.classes.size, rows.rows(rows.truth < rows.classes.size)
    told = {"sample_weight": rows.weights}
    every = {"labels": np.arange(k), **told}
    found["log_loss"] = oracle.log_loss(rows.truth, rows.probabilities, **every)
    found["brier"] = oracle.brier_score_loss(rows.truth, rows.probabilities, **every)
    present = np.unique(rows.truth)
    if k == 2:
        own, sign = rows.truth == rows.positive, 2 * rows.positive - 1
        scores = sign * rows.scores
    else:
        own, scores = label_binarize(rows.truth, classes=np.arange(k))[:, present], None
        scores = rows.probabilities[:, present]
    if present.size > 1:
        for name, call in zip(RANKED, (oracle.roc_auc_score, oracle.average_precision_score),
                              strict=True):  # fmt: skip
            found[name] = call(own, scores, average="macro", **told)
    return found


def assert_same(found, expected):
    assert {name: value for name, value in found.items() if value is not None} == pytest.approx(
        expected, rel=1e-9, abs=1e-12
    )


@examples(40)
@given(
    st.integers(0, 10**6), st.integers(1, 60), st.integers(2, 5), st.booleans(), st.booleans(),
    st.integers(0, 2),
)  # fmt: skip
def test_every_metric_is_that_of_scikit_learn(seed, n, k, ties, weighted, unknown):
    rng = np.random.default_rng(seed)
    present = rng.choice(k, int(rng.integers(1, k + 1)), replace=False)
    rows = made(
        seed, n, k, ties=ties, weighted=weighted, present=present, unknown=min(unknown, n - 1)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = by_the_book(rows)
    found = metrics_of(rows)
    assert list(found) == list(CLASS_METRICS)
    assert_same(found, expected)


def test_the_mean_over_classes_is_that_of_one_against_the_rest():
    rows = made(3, 200, 4)
    expected = oracle.roc_auc_score(
        rows.truth, rows.probabilities, sample_weight=rows.weights, multi_class="ovr"
    )
    assert metrics_of(rows)["roc_auc"] == pytest.approx(expected)
    of_scores = metrics_of(rows._replace(probabilities=None))["roc_auc"]
    each = [
        oracle.roc_auc_score(rows.truth == c, rows.scores[:, c], sample_weight=rows.weights)
        for c in range(4)
    ]
    assert of_scores == pytest.approx(np.mean(each))


def test_of_very_many_classes_ranks_are_asked_for():
    rows = made(6, 300, 101)
    assert set(CLASS_METRICS) - set(metrics_of(rows)) == set(RANKED)
    assert metrics_of(rows, RANKED)["average_precision"] is not None
    assert set(baselines_of(rows)) == set(metrics_of(rows))


def test_numbers():
    rng = np.random.default_rng(0)
    truth, weights = rng.normal(size=50), rng.integers(1, 3, 50).astype(float)
    rows = Scored(None, truth, truth + rng.normal(size=50), weights)
    told = (truth, rows.predicted)
    assert metrics_of(rows) == pytest.approx({
        "r2": oracle.r2_score(*told, sample_weight=weights),
        "rmse": oracle.root_mean_squared_error(*told, sample_weight=weights),
        "mae": oracle.mean_absolute_error(*told, sample_weight=weights),
        "max_error": np.abs(truth - rows.predicted).max(),
    })  # fmt: skip
    mean = np.full(50, np.average(truth, weights=weights))
    baseline = baselines_of(rows)
    assert baseline["r2"] == pytest.approx(0.0)
    assert baseline["mae"] == oracle.mean_absolute_error(truth, mean, sample_weight=weights)
    assert list(baseline) == list(NUMBER_METRICS)


@pytest.mark.parametrize(("k", "unknown"), [(2, 0), (3, 3)])
def test_baselines_are_metrics_of_saying_the_same_of_every_row(k, unknown):
    rows = made(7, 80, k, unknown=unknown)
    totals = np.bincount(rows.truth, rows.weights, minlength=k)[:k]
    same = rows._replace(
        predicted=np.full(rows.truth.size, totals.argmax()), scores=np.zeros_like(rows.scores),
        probabilities=np.tile(totals / totals.sum(), (rows.truth.size, 1)),
    )  # fmt: skip
    assert baselines_of(rows) == pytest.approx(metrics_of(same))
    assert baselines_of(rows, ["roc_auc", "accuracy"]) == pytest.approx(
        metrics_of(same, ["roc_auc", "accuracy"])
    )


def by_hand(rows, resamples, seed):
    """Intervals of means over rows, or groups, that are drawn with replacement."""
    rng = np.random.default_rng(seed)
    groups = np.arange(rows.truth.size) if rows.groups is None else rows.groups
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    told = np.take_along_axis(rows.probabilities, rows.truth[:, None], axis=1)[:, 0]
    found = []
    for _ in range(resamples):
        drawn = np.concatenate([members[g] for g in rng.integers(len(members), size=len(members))])
        each = rows.rows(drawn)
        right, losses = each.truth == each.predicted, -np.log(told[drawn])
        found.append([np.average(values, weights=each.weights) for values in (right, losses)])
    return np.quantile(found, [0.025, 0.975], axis=0).T


@pytest.mark.parametrize(
    ("k", "options"),
    [(2, {}), (3, {"ties": True}), (3, {"groups": 30})],
)
def test_intervals_are_those_of_a_bootstrap_by_hand(k, options):
    rows = made(1, 120, k, **options)
    found, about = intervals_of(rows, metrics_of(rows, ["accuracy", "log_loss"]))
    assert about["of"] == ("rows" if rows.groups is None else "groups")
    assert about["resamples"] == 1000
    for mine, ends in zip(found.values(), by_hand(rows, 1000, 5), strict=True):
        assert mine == pytest.approx(list(ends), abs=0.1 * (ends[1] - ends[0]))


def test_each_resample_is_a_metric_of_weights_that_count_the_draws(monkeypatch):
    """With draws that are known, a resample is what scikit-learn says of the weights."""
    rows, counts = made(2, 60, 3, unknown=2), np.random.default_rng(0).poisson(1.0, (60, 1))
    counts = counts[: rows.truth.size]
    monkeypatch.setattr("linsep.scoring.intervals._draws", lambda *_: [counts.astype(float)])
    found, _ = intervals_of(rows, metrics_of(rows))
    drawn = rows._replace(weights=rows.weights * counts.ravel())
    expected = metrics_of(drawn.rows(drawn.weights > 0))
    for name, value in expected.items():
        if value is not None:
            assert found[name] == pytest.approx([value, value]), name


def test_many_rows_are_drawn_in_units_that_vary_as_rows_do(monkeypatch):
    """Units of several rows, and thresholds together, change the ends by little of the width."""
    rows, names = made(4, 2000, 2, weighted=False), ["accuracy", "mcc", "brier", *RANKED]
    values = metrics_of(rows, names)
    exact, _ = intervals_of(rows, values)
    monkeypatch.setattr("linsep.scoring.intervals.MOST_UNITS", 500)
    monkeypatch.setattr("linsep.scoring.intervals.MOST_THRESHOLDS", 100)
    found, about = intervals_of(rows, values)
    assert about["rows"] == 2000
    for name, ends in exact.items():
        assert found[name] == pytest.approx(ends, abs=0.2 * (ends[1] - ends[0])), name


def test_what_is_not_defined():
    rows = made(0, 30, 3, present=[1])
    found = metrics_of(rows)
    assert found["roc_auc"] is found["average_precision"] is found["f1"] is None
    assert intervals_of(rows, found)[0]["roc_auc"] is None
    with refused(DataError, "undefined"):
        metrics_of(rows, ["roc_auc"])
    with refused(DataError, "class-count"):
        metrics_of(rows, ["f1"])
    with refused(DataError, "unsupported"):
        metrics_of(rows._replace(probabilities=None), ["accuracy", "brier"])
    with refused(DataError, "undefined"):
        metrics_of(rows._replace(truth=np.full(30, 3)), ["log_loss"])
    with refused(ParameterError, "bad-option", option="metrics"):
        metrics_of(rows, ["auc"])
    one = Scored(None, np.ones(1), np.zeros(1), np.ones(1))
    assert metrics_of(one) == {"r2": None, "rmse": 1.0, "mae": 1.0, "max_error": 1.0}
    assert set(intervals_of(one, metrics_of(one))[0].values()) == {None}
