"""A threshold of two classes: every rule against all cuts tried one by one, and whatever predicts
with it."""

import copy
import json
import math
import operator
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics

import linsep
from exported import of_databases, of_json, of_onnx
from linsep.errors import DataError, LinsepError, ModelFileError, ParameterError
from linsep.estimators.thresholds import Cuts, Rule, _smallest
from linsep.exports.scoring import prediction_rule
from linsep.serving.learning import can_learn
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


def test_the_smallest_float_is_found():
    for least in (0.0, 0.3, 1e300, -1e300, 5e-324, -5e-324):
        assert _smallest(partial(operator.le, least)) == least
        assert _smallest(partial(operator.lt, least)) == np.nextafter(least, np.inf)


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
        "isotonic": linsep.calibrate(
            linsep.Perceptron(**average).fit(X, y), X, y, method="isotonic"
        ),
        "normalized": linsep.Perceptron(normalize=True, **average).fit(X, y),
        "kernel": linsep.KernelPerceptron(kernel="rbf", max_iter=3).fit(X[:60], y[:60]),
        "kernel margin": linsep.KernelSoftMargin(reference="yes").fit(X[:60], y[:60]),
        "logistic": linsep.LogisticRegression().fit(X, y),
        "logistic turned": linsep.LogisticRegression(reference="yes").fit(X, y),
        "bayes": linsep.GaussianNaiveBayes().fit(X, y),
        "bayes of classes": linsep.GaussianNaiveBayes(variances="by_class").fit(X, y),
    }


@pytest.fixture(scope="module")
def fitted():
    return models()


NAMES = [
    "perceptron", "turned", "vote", "calibrated", "isotonic", "normalized", "kernel", "logistic",
    "logistic turned", "bayes", "bayes of classes",
]  # fmt: skip


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
    assert measured["default"]["recall"] == pytest.approx(
        metrics.recall_score(y, plain, pos_label=positive)
    )
    loaded = linsep.load(linsep.save(model, tmp_path / "m.linsep"))
    assert loaded.threshold_ == model.threshold_
    for other in (loaded, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert (other.predict(X) == labels).all()
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
        if ending == "csv":
            assert "threshold" in path.read_text()
    assert said == {"vote": 0, "kernel": 0, "bayes of classes": 0}.get(name, 4)
    if said:
        assert f"{prediction_rule(model).cut:g}" in prediction_rule(model).sentence()


def test_a_number_is_the_least_probability(fitted):
    for name, number in [
        ("calibrated", 0.2),
        ("isotonic", 0.5),
        ("logistic turned", 0.9),
        ("bayes", 0),
        ("logistic", 1),
    ]:
        X, _ = rows(seed=3)
        model = linsep.set_threshold(copy.deepcopy(fitted[name]), number)
        code = model.threshold_.positive
        expected = model.predict_proba(X)[:, code] >= number
        assert ((model.predict(X) == model.classes_[code]) == expected).all()
        assert model.threshold_.measured is None
        if 0 < number < 1:
            assert model.threshold_.number(model) == pytest.approx(number)


def test_a_number_is_a_score_without_probabilities(fitted):
    X, _ = rows(seed=3)
    for name, sign in (("perceptron", 1), ("turned", -1)):
        model = linsep.set_threshold(copy.deepcopy(fitted[name]), 2.5)
        said = model.predict(X) == ("yes" if sign > 0 else "no")
        assert (said == (sign * model.decision_function(X) >= 2.5)).all()


def test_a_model_that_learns_again_has_none(fitted):
    X, y = rows()
    for name, again in (
        ("perceptron", lambda model: model.partial_fit(X, y)),
        ("perceptron", lambda model: model.fit(X, y)),
        ("logistic", lambda model: model.fit(X, y)),
        ("bayes", lambda model: model.partial_fit(X, y)),
        ("bayes", lambda model: model.fit(X, y)),
        ("kernel", lambda model: model.fit(X[:50], y[:50])),
    ):
        model = linsep.set_threshold(copy.deepcopy(fitted[name]), 0.1)
        assert not hasattr(again(model), "threshold_")
    model = linsep.set_threshold(copy.deepcopy(fitted["perceptron"]), 0.1)
    assert "has a threshold" in can_learn(model)
    assert can_learn(linsep.set_threshold(model, None)) is None


def test_calibration_and_naive_bayes_keep_it(fitted):
    X, y = rows(seed=1)
    model = linsep.set_threshold(copy.deepcopy(fitted["perceptron"]), "f1", X, y)
    before = model.predict(X)
    assert (linsep.calibrate(model, X, y).predict(X) == before).all()
    bayes = linsep.set_threshold(copy.deepcopy(fitted["bayes"]), "f1", X, y)
    assert (bayes.to_logistic().predict(X) == bayes.predict(X)).all()


def test_the_equation_is_that_of_the_threshold(fitted):
    model = linsep.set_threshold(copy.deepcopy(fitted["turned"]), 1.5)
    text = str(model.equation_)
    assert text.endswith("means no")
    side, _, least = text.removesuffix(" means no").partition(" >= ")
    X, _ = rows(seed=1)
    names = {f"x{k}": X[:, k] for k in range(3)}
    total = sum(
        float(f"{sign}{number}") * names[name]
        for sign, number, name in [
            (s.replace("+", ""), n, x)
            for s, n, x in zip(*[iter((side if side[0] == "-" else f"+ {side}")
                               .replace("-", "- ").split())] * 3, strict=True)
        ]
    )  # fmt: skip
    assert np.mean((total >= float(least)) == (model.predict(X) == "no")) > 0.99


def test_bad_rules_are_refused(fitted):
    X, y = rows()
    model = copy.deepcopy(fitted["logistic"])
    for rule in ("recall=1.5", "recall=0", "precision=-1", "cost=10", "cost=0:1", "recall",
                 "recall=x", "accuracy", "nan", float("inf"), 1.5):  # fmt: skip
        with refused(ParameterError, "bad-option", option="threshold"):
            linsep.set_threshold(model, rule, X, y)
        assert not hasattr(model, "threshold_")


def test_what_cannot_have_a_threshold_is_said(fitted):
    X, y = rows()
    model = copy.deepcopy(fitted["logistic"])
    with refused(DataError, "unsupported", option="threshold"):
        linsep.set_threshold(model, "precision=1", -X, y)
    with refused(DataError, "class-count"):
        linsep.set_threshold(model, "f1", X[y == "no"], y[y == "no"])
    with refused(DataError, "needs-option", option="X"):
        linsep.set_threshold(model, "f1")
    with refused(DataError, "class-count"):
        linsep.set_threshold(linsep.Perceptron().fit(X[:6], [0, 1, 2] * 2), "f1", X[:6], y[:6])
    line = linsep.LinearRegression().fit(X, X[:, 0])
    with refused(DataError, "unsupported"):
        linsep.set_threshold(line, 0.5)
    assert not hasattr(model, "threshold_")


def test_a_damaged_threshold_in_a_file_is_refused(fitted, tmp_path):
    for change in [
        {"score": math.nan},
        {"score": "x"},
        {"positive": 2},
        {"rule": "no"},
        {"measured": 3},
        {"more": 1},
    ]:
        from linsep import model_files
        from linsep._system.sealed import sealed

        model = linsep.set_threshold(copy.deepcopy(fitted["logistic"]), 0.3)
        arrays, about = model_files._content(model)
        about = json.loads(json.dumps(about, default=model_files.plain))
        about["threshold"] |= change
        path = tmp_path / "m.linsep"
        path.write_bytes(sealed(arrays, about, model_files.plain))
        with refused(ModelFileError, "bad-model-file"):
            linsep.load(path)


@pytest.mark.parametrize("name", ["turned", "calibrated"])
def test_a_server_answers_with_it(fitted, name, tmp_path):
    serving = pytest.importorskip("served").serving
    X, y = rows(60, seed=4)
    model = linsep.set_threshold(copy.deepcopy(fitted[name]), "recall=0.9", X, y)
    path = linsep.save(model, tmp_path / "m.linsep")
    with serving(path) as client:
        found = client.predict(X.tolist())
    assert found["predictions"] == expected(model, X).tolist()


@pytest.mark.parametrize("name", ["perceptron", "logistic turned"])
def test_pipelines_in_onnx_use_it(fitted, name, tmp_path):
    skl2onnx, sklearn_onnx = pytest.importorskip("skl2onnx"), linsep.exports.sklearn_onnx
    sklearn_onnx.register()
    X, y = rows(60, seed=5)
    model = linsep.set_threshold(copy.deepcopy(fitted[name]), "recall=0.9", X, y)
    made = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    assert of_onnx(tmp_path / "m.onnx", X)[0].tolist() == expected(model, X).tolist()
