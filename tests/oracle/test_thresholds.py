"""A threshold of two classes: every rule against all cuts tried one by one, and whatever predicts
with it."""

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics

import linsep
from exported import of_databases, of_json, of_onnx
from linsep.errors import DataError, LinsepError, ModelFileError, ParameterError
from linsep.estimators.thresholds import Cuts, Rule
from linsep.sources.arrays import ArraySource
from refusals import refused
from thoroughness import examples

RULES = ("recall=0.6", "recall=1", "precision=0.5", "cost=5:1", "cost=1:3", "f1",
         "balanced_accuracy")  # fmt: skip


def worth(rule, positive, said, weights):
    """How good predictions are by a rule: the larger, the better; None if they break it."""
    named = {"sample_weight": weights, "zero_division": 0.0}
    recall = metrics.recall_score(positive, said, **named)
    precision = metrics.precision_score(positive, said, **named)
    if rule.name == "recall":
        return precision if recall >= rule.value - 1e-12 else None
    if rule.name == "precision":
        return recall if said.any() and precision >= rule.value - 1e-12 else None
    if rule.name == "cost":
        missed, alarms = weights[positive & ~said].sum(), weights[~positive & said].sum()
        return -(rule.value * missed + rule.alarm * alarms)
    if rule.name == "f1":
        return metrics.f1_score(positive, said, **named)
    return metrics.balanced_accuracy_score(positive, said, sample_weight=weights)


@examples(60)
@given(st.data())
def test_every_rule_chooses_the_best_cut(data):
    n = data.draw(st.integers(2, 14))
    scores = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), float)
    positive = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    positive[:2] = True, False
    weights = np.array(data.draw(st.lists(st.sampled_from([0.1, 0.3, 1, 2]), min_size=n,
                                          max_size=n)))  # fmt: skip
    rule = Rule.of(data.draw(st.sampled_from(RULES)))
    tried = [*np.unique(scores), np.inf]
    values = [worth(rule, positive, scores >= least, weights) for least in tried]
    possible = [value for value in values if value is not None]
    cuts = Cuts.of(positive, scores, weights)
    if not possible:
        with refused(DataError, "unsupported", option="threshold"):
            cuts.best(rule)
        return
    best = max(k for k, value in enumerate(values)
               if value is not None and value >= max(possible) - 1e-9)  # fmt: skip
    found = cuts.between(cuts.best(rule))
    assert ((scores >= found) == (scores >= tried[best])).all()
    below = scores[scores < found]
    if below.size and (scores >= found).any():  # halfway
        assert found == (below.max() + scores[scores >= found].min()) / 2


def test_a_false_alarm_costs_what_the_rule_says():
    """3 for the alarm at all three rows, 2 for the positive row missed at the last alone."""
    cuts = Cuts.of(np.array([True, False, True]), np.array([1.0, 2.0, 3.0]), np.ones(3))
    assert cuts.between(cuts.best(Rule.of("cost=2:3"))) == 2.5


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    y = np.where(X @ [1, -1, 0.5] + rng.logistic(size=n) > 2.5, "yes", "no")
    return X, y


def models():
    X, y = rows()
    average = {"keep": "average", "max_iter": 5}
    return {
        "perceptron": linsep.Perceptron(**average).fit(X, y),
        "turned": linsep.Perceptron(reference="yes", **average).fit(X, y),
        "vote": linsep.Perceptron(keep="vote", max_iter=3).fit(X, y),
        "calibrated": linsep.calibrate(linsep.PassiveAggressive(**average).fit(X, y), X, y),
        "kernel": linsep.KernelPerceptron(kernel="rbf", max_iter=3).fit(X[:60], y[:60]),
        "logistic turned": linsep.LogisticRegression(reference="yes").fit(X, y),
        "bayes": linsep.GaussianNaiveBayes().fit(X, y),
    }


@pytest.fixture(scope="module")
def fitted():
    return models()


NAMES = ["perceptron", "turned", "vote", "calibrated", "kernel", "logistic turned", "bayes"]


def expected(model, X):
    """What a threshold says, from its number and the public scores."""
    positive = model.classes_[model.threshold_.positive]
    assert positive != getattr(model, "reference_", "no")
    scores = model.decision_function(X) * (1 if positive == "yes" else -1)
    other = "no" if positive == "yes" else "yes"
    return np.where(scores >= model.threshold_.score, positive, other)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_predicts_uses_the_threshold(fitted, name, tmp_path):
    X, y = rows(seed=1)
    model = copy.deepcopy(fitted[name])
    plain = model.predict(X)
    measured = linsep.set_threshold(model, "cost=8:1", X, y).threshold_.measured
    labels = expected(model, X)
    assert (labels != plain).any()
    assert (model.predict(X) == labels).all()
    assert (model.predictions(ArraySource(X, y)).labels() == labels).all()
    assert model.score(X, y) == pytest.approx((labels == y).mean())
    positive = model.classes_[model.threshold_.positive]
    recall = metrics.recall_score(y, labels, pos_label=positive)
    assert measured["chosen"]["recall"] == pytest.approx(recall)
    assert measured["chosen"]["share"] == pytest.approx((labels == positive).mean())
    loaded = linsep.load(linsep.save(model, tmp_path / "m.linsep"))
    assert loaded.threshold_ == model.threshold_
    assert (loaded.predict(X) == labels).all()
    assert (linsep.set_threshold(loaded, None).predict(X) == plain).all()


@pytest.mark.parametrize("name", NAMES)
def test_exports_apply_it_or_refuse(fitted, name, tmp_path):
    X, y = rows(60, seed=2)
    model = linsep.set_threshold(copy.deepcopy(fitted[name]), "recall=0.9", X, y)
    labels = expected(model, X).tolist()
    said, columns = 0, {f"x{k}": float for k in range(3)}
    listed = [dict(zip(columns, row, strict=True)) for row in X.tolist()]
    for ending in ("onnx", "sql", "json", "csv"):
        try:
            path = linsep.export(model, tmp_path / f"m.{ending}")
        except LinsepError:
            continue
        said += 1
        if ending == "onnx":
            assert of_onnx(path, X)[0].tolist() == labels
        if ending == "sql":
            for lines in of_databases(path, columns, listed):
                assert [line["linsep_prediction"] for line in lines] == labels
        if ending == "json":
            numbered = [dict(enumerate(row)) for row in X.tolist()]
            assert of_json(path, numbered) == labels
    assert said == (0 if name in ("vote", "kernel") else 4)


def test_a_number_is_the_least_probability(fitted):
    for name, number in [("calibrated", 0.2), ("logistic turned", 0.9), ("bayes", 0)]:
        X, _ = rows(seed=3)
        model = linsep.set_threshold(copy.deepcopy(fitted[name]), number)
        code = model.threshold_.positive
        expected = model.predict_proba(X)[:, code] >= number
        assert ((model.predict(X) == model.classes_[code]) == expected).all()
        if 0 < number < 1:
            assert model.threshold_.number(model) == pytest.approx(number)


def test_a_model_that_learns_again_has_none(fitted):
    X, y = rows()
    for name, again in (
        ("perceptron", lambda model: model.partial_fit(X, y)),
        ("logistic turned", lambda model: model.fit(X, y)),
    ):
        model = linsep.set_threshold(copy.deepcopy(fitted[name]), 0.1)
        assert not hasattr(again(model), "threshold_")


def test_calibration_and_naive_bayes_keep_it(fitted):
    X, y = rows(seed=1)
    model = linsep.set_threshold(copy.deepcopy(fitted["perceptron"]), "f1", X, y)
    before = model.predict(X)
    assert (linsep.calibrate(model, X, y).predict(X) == before).all()
    bayes = linsep.set_threshold(copy.deepcopy(fitted["bayes"]), "f1", X, y)
    assert (bayes.to_logistic().predict(X) == bayes.predict(X)).all()


def test_bad_rules_are_refused(fitted):
    X, y = rows()
    model = copy.deepcopy(fitted["logistic turned"])
    for rule in ("recall=1.5", "cost=10", "accuracy", "nan"):
        with refused(ParameterError, "bad-option", option="threshold"):
            linsep.set_threshold(model, rule, X, y)
        assert not hasattr(model, "threshold_")


def test_what_cannot_have_a_threshold_is_said(fitted):
    X, y = rows()
    model = copy.deepcopy(fitted["perceptron"])
    with refused(DataError, "class-count"):
        linsep.set_threshold(model, "f1", X[y == "no"], y[y == "no"])
    with refused(DataError, "class-count"):
        linsep.set_threshold(linsep.Perceptron().fit(X[:6], [0, 1, 2] * 2), "f1", X[:6], y[:6])
    line = linsep.LinearRegression().fit(X, X[:, 0])
    with refused(DataError, "unsupported"):
        linsep.set_threshold(line, 0.5)


def test_a_damaged_threshold_in_a_file_is_refused(fitted, tmp_path):
    for change in ({"score": math.nan}, {"positive": 2}, {"rule": "no"}, {"more": 1}):
        from linsep import model_files
        from linsep._system.sealed import sealed

        model = linsep.set_threshold(copy.deepcopy(fitted["logistic turned"]), 0.3)
        arrays, about = model_files._content(model)
        about = json.loads(json.dumps(about, default=model_files.plain))
        about["threshold"] |= change
        path = tmp_path / "m.linsep"
        path.write_bytes(sealed(arrays, about, model_files.plain))
        with refused(ModelFileError, "bad-model-file"):
            linsep.load(path)


def test_a_server_answers_with_it(fitted, tmp_path):
    name = "turned"
    serving = pytest.importorskip("served").serving
    X, y = rows(60, seed=4)
    model = linsep.set_threshold(copy.deepcopy(fitted[name]), "recall=0.9", X, y)
    path = linsep.save(model, tmp_path / "m.linsep")
    with serving(path) as client:
        found = client.predict(X.tolist())
    assert found["predictions"] == expected(model, X).tolist()


def test_pipelines_in_onnx_use_it(fitted, tmp_path):
    name = "logistic turned"
    skl2onnx, sklearn_onnx = pytest.importorskip("skl2onnx"), linsep.exports.sklearn_onnx
    sklearn_onnx.register()
    X, y = rows(60, seed=5)
    model = linsep.set_threshold(copy.deepcopy(fitted[name]), "recall=0.9", X, y)
    made = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    assert of_onnx(tmp_path / "m.onnx", X)[0].tolist() == expected(model, X).tolist()
