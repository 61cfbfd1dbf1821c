"""``linsep.score`` and the command: every kind of data and of model, and what each error says."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.metrics as oracle
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import linsep
from command_line import here
from linsep.errors import DataError, ParameterError
from linsep.scoring import MOST_ROWS, Scored, scored
from linsep.sources import ArraySource, open_source
from refusals import refused


@pytest.fixture(scope="module")
def flats():
    rng = np.random.default_rng(0)
    n = 150
    area, city = rng.uniform(20, 100, n).round(1), rng.choice(["Ulm", "Bonn", "Kiel"], n)
    noise = rng.normal(size=n)
    price = area * 10 + 100 * (city == "Bonn") + 60 * noise
    kind = np.select([price > 750, price > 450], ["dear", "fair"], "cheap")
    return pd.DataFrame({
        "area": area, "city": city, "price": price.round(2), "kind": kind,
        "two": np.where(price > 600, "much", "little"), "times": rng.integers(0, 4, n),
        "house": rng.integers(0, 30, n), "other": np.roll(kind, 1),
    })  # fmt: skip


@pytest.fixture
def folder(flats, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flats.to_csv("flats.csv", index=False)
    return tmp_path


FEATURES = ["area", "city"]


def fitted(flats, target, learner, **options):
    data = flats[[*FEATURES, target]]
    return linsep.fit(data, target=target, learner=learner, **options)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("target", "learner"), [("kind", "kernel"), ("two", "logistic")])
def test_frames_files_sources_and_arrays_are_scored_alike(folder, flats, target, learner):
    model = fitted(flats, target, learner)
    found = linsep.score(model, flats)
    linsep.save(model, "m.linsep")
    source = open_source("flats.csv", recipe=model.recipe_)
    for same in (
        linsep.score(model, pl.from_pandas(flats)), linsep.score("m.linsep", "flats.csv"),
        linsep.score(model, source), linsep.score(model, ["flats.csv"]),
        json.loads(here("score", "m.linsep", "flats.csv", "--json", cwd=folder).stdout),
    ):  # fmt: skip
        assert same == found
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    of_arrays = linsep.score(model, (flats[FEATURES], flats[target]))
    assert of_arrays == {name: found[name] for name in of_arrays}
    metrics, predicted = found["metrics"], model.predict(flats[FEATURES])
    assert metrics["accuracy"]["value"] == pytest.approx(np.mean(predicted == flats[target]))
    assert metrics["balanced_accuracy"]["value"] == pytest.approx(
        oracle.balanced_accuracy_score(flats[target], predicted)
    )
    expected = oracle.confusion_matrix(flats[target], predicted)
    assert found["confusion"]["matrix"] == expected.tolist()
    assert (metrics["log_loss"]["value"] is None) == (not hasattr(model, "predict_proba"))
    if hasattr(model, "predict_proba"):
        told = model.predict_proba(flats[FEATURES])
        assert metrics["log_loss"]["value"] == pytest.approx(oracle.log_loss(flats[target], told))


def test_the_positive_class_is_the_one_that_is_not_the_reference(flats):
    for reference, positive in ((None, "much"), ("much", "little")):
        model = fitted(flats, "two", "perceptron", reference=reference)
        found = linsep.score(model, flats)
        predicted = model.predict(flats[FEATURES])
        assert found["positive_class"] == positive
        assert found["metrics"]["f1"]["value"] == pytest.approx(
            oracle.f1_score(flats.two, predicted, pos_label=positive)
        )
        scores = model.decision_function(flats[FEATURES]) * (1 if positive == "much" else -1)
        assert found["metrics"]["average_precision"]["value"] == pytest.approx(
            oracle.average_precision_score(flats.two == positive, scores)
        )


def test_weights_and_groups_by_column_and_by_row(folder, flats):
    model = fitted(flats, "kind", "perceptron")
    named = linsep.score(model, flats, sample_weight="times", groups="house")
    predicted = model.predict(flats[FEATURES])
    assert named["metrics"]["mcc"]["value"] == pytest.approx(
        oracle.matthews_corrcoef(flats.kind, predicted, sample_weight=flats.times)
    )
    assert named["weight"] == flats.times.sum()
    used = flats.house[flats.times > 0].nunique()
    assert named["intervals"] == {
        "level": 0.95, "of": "groups", "groups": used, "resamples": 1000, "every": 1,
    }  # fmt: skip
    by_row = {"sample_weight": flats.times, "groups": flats.house}
    assert linsep.score(model, flats, **by_row) == named
    assert linsep.score(model, "flats.csv", sample_weight="times", groups="house") == named
    in_memory = linsep.score(model, (flats[FEATURES], flats.kind), **by_row)
    assert in_memory == {name: named[name] for name in in_memory}
    towns = linsep.score(model, "flats.csv", groups="city")  # which is a feature, too
    assert towns["intervals"]["groups"] == 3
    linsep.save(model, "m")
    by_house = ("score", "m", "flats.csv", "--group", "house")
    told = here(*by_house, "--json", cwd=folder)
    assert json.loads(told.stdout) == linsep.score(model, flats, groups="house")
    told = here(*by_house, cwd=folder)
    assert "resamples of 30 groups)" in told.stdout


def test_another_label_column(folder, flats):
    model = fitted(flats, "kind", "perceptron")
    found = linsep.score(model, "flats.csv", target="other")
    expected = np.mean(model.predict(flats[FEATURES]) == flats.other)
    assert found["accuracy"] == pytest.approx(expected)
    ranks = flats.assign(kind=np.arange(150) % 3, other=np.arange(150) % 2)
    of_codes = linsep.fit(ranks[[*FEATURES, "kind"]], target="kind", categorical="kind")
    assert linsep.score(of_codes, ranks, target="other")["unknown_labels"] == 0


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_numbers(folder, flats):
    model = linsep.fit(flats[[*FEATURES, "price"]], target="price", learner="linear")
    found = linsep.score(model, flats, sample_weight="times")
    predicted, told = model.predict(flats[FEATURES]), {"sample_weight": flats.times}
    metrics = {name: one["value"] for name, one in found["metrics"].items()}
    assert metrics == pytest.approx({
        "r2": oracle.r2_score(flats.price, predicted, **told),
        "rmse": oracle.root_mean_squared_error(flats.price, predicted, **told),
        "mae": oracle.mean_absolute_error(flats.price, predicted, **told),
        "max_error": oracle.max_error(*(x[flats.times > 0] for x in (flats.price, predicted))),
    })  # fmt: skip
    assert metrics["r2"] == pytest.approx(found["r_squared"])
    assert found["metrics"]["rmse"]["baseline"] == pytest.approx(found["standard_deviation"])
    of_arrays = linsep.score(model, (flats[FEATURES], flats.price), sample_weight=flats.times)
    assert of_arrays["metrics"] == found["metrics"]
    formula = linsep.fit(flats, formula="two ~ area * C(city)", learner="logistic")
    assert linsep.score(formula, "flats.csv") == linsep.score(formula, flats)


def test_svmlight_text_and_strings(tmp_path):
    X, y = load_iris(return_X_y=True)
    lines = (f"{k} 1:{a} 2:{b} 3:{c} 4:{d}" for k, (a, b, c, d) in zip(y, X, strict=True))
    (tmp_path / "iris.svm").write_text("\n".join(lines) + "\n")
    model = linsep.fit(tmp_path / "iris.svm")
    assert linsep.score(model, str(tmp_path / "iris.svm")) == linsep.score(
        model, open_source(tmp_path / "iris.svm", recipe=model.recipe_)
    )
    with refused(DataError, "unknown-column", column="site"):
        linsep.score(model, tmp_path / "iris.svm", groups="site")
    words, kinds = ["aab", "aba", "bbc", "cbb"] * 5, [0, 0, 1, 1] * 5
    strings = linsep.KernelPerceptron(kernel=linsep.kernels.Spectrum(2), max_iter=5).fit(
        words, kinds
    )
    assert linsep.score(strings, (words, kinds))["accuracy"] == strings.score(words, kinds)


def test_rows_of_unknown_labels_count_as_wrong(flats):
    model = fitted(flats, "kind", "perceptron")
    some = flats.assign(kind=flats.kind.where(flats.index > 2, "ruin"))
    found = linsep.score(model, some)
    assert found["unknown_labels"] == 3
    predicted = model.predict(flats[FEATURES])
    assert found["accuracy"] == pytest.approx(np.mean(predicted == some.kind))
    assert found["metrics"]["f1_macro"]["value"] == pytest.approx(
        oracle.f1_score(some.kind, predicted, average="macro", zero_division=0.0)
    )
    known = linsep.score(model, flats[3:])
    assert found["metrics"]["roc_auc"]["value"] == known["metrics"]["roc_auc"]["value"]
    assert sum(found["confusion"]["unknown"]) == 3


def test_refusals(flats):
    model = fitted(flats, "kind", "perceptron")
    pair, times = (flats[FEATURES], flats.kind), np.ones(150)
    for data, options, error, code in [
        (flats, {"metrics": "auc"}, ParameterError, "bad-option"),
        (flats, {"metrics": ["accuracy", "log_loss"]}, DataError, None),
        (flats, {"metrics": "f1"}, DataError, None),
        (flats[flats.kind == "cheap"], {"metrics": "roc_auc"}, DataError, "undefined"),
        (flats, {"sample_weight": 0 * times}, DataError, "no-rows"),
        (flats, {"sample_weight": np.ones(7)}, DataError, "shape"),
        (pair, {"groups": np.ones(200)}, ValueError, None),
        (flats, {"sample_weight": -times}, ValueError, "out-of-range"),
        (flats, {"groups": "site"}, DataError, "unknown-column"),
        (flats, {"target": "label"}, DataError, "unknown-column"),
        (flats, {"target": "area"}, DataError, None),
        (pair, {"groups": [None] * 150}, DataError, "missing-value"),
        ("flats.csv", {"sample_weight": times}, TypeError, None),
        (pair, {"target": "kind"}, TypeError, None),
        (pair, {"groups": "house"}, TypeError, None),
        (np.ones((3, 2)), {}, TypeError, None),
        (flats[FEATURES], {}, DataError, "unknown-column"),
    ]:
        with pytest.raises(error) as caught:
            linsep.score(model, data, **options)
        assert code is None or caught.value.code == code, (options, caught.value)


def test_models_of_arrays_take_rows_and_labels():
    X, y = load_iris(return_X_y=True)
    model = linsep.Perceptron(max_iter=5).fit(X, y)
    found = linsep.score(model, (X, y), metrics="accuracy")
    assert found["metrics"]["accuracy"]["value"] == pytest.approx(model.score(X, y))
    assert list(found["metrics"]) == ["accuracy"]
    with pytest.raises(TypeError):
        linsep.score(model, pd.DataFrame(X).assign(y=y), target="y")
    with pytest.raises(TypeError):
        linsep.score(LogisticRegression().fit(X[:, :1], y), (X[:, :1], y))
    with pytest.raises(NotFittedError):
        linsep.score(linsep.Perceptron(), (X, y))
    with refused(DataError, "shape"):
        linsep.score(model, (X, y[:3]))


def test_one_class_has_no_nan(folder, flats):
    model = linsep.fit(flats[[*FEATURES, "two"]], target="two", learner="logistic", l2=1)
    linsep.save(model, "m")
    flats[flats.two == "much"][:1].to_csv("one.csv", index=False)
    done = here("score", "m", "one.csv", cwd=folder)
    assert done.returncode == 0
    assert "nan" not in done.stdout
    refused = here("score", "m", "one.csv", "--metrics", "roc_auc", cwd=folder)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert here("score", "m", "one.csv", "--metrics", "auc", cwd=folder).returncode == 2


def test_of_very_many_rows_some_are_kept(monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = linsep.Perceptron(max_iter=5).fit(X, y)
    every = scored(model, ArraySource(X, y, batch_rows=7))
    assert MOST_ROWS > 1_000_000
    monkeypatch.setattr("linsep.scoring.rows.MOST_ROWS", 40)
    found = linsep.score(model, ArraySource(X, y, batch_rows=7))
    assert found["intervals"]["every"] == 4
    assert found["rows"] == 150
    assert found["accuracy"] == pytest.approx(model.score(X, y))
    some = scored(model, ArraySource(X, y, batch_rows=7))
    assert isinstance(some, Scored)
    assert some.truth.tolist() == every.truth[::4].tolist()
    assert some.scores.tolist() == every.scores[::4].tolist()
    assert np.isclose(found["metrics"]["accuracy"]["value"], np.mean(some.truth == some.predicted))


def test_labels_that_the_model_does_not_know_are_named(folder, flats):
    model = linsep.fit(flats[[*FEATURES, "two"]], target="two", learner="logistic", l2=1)
    flats.assign(two=["other", *flats.two[1:]]).to_csv("other.csv", index=False)
    with pytest.warns(UserWarning, match=r"other\.csv row 1"):
        assert model.score("other.csv") < 1.0
