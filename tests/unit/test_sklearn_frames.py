"""Pipelines of scikit-learn on data frames: the same numbers whatever the frames are."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import linsep
from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression, Perceptron
from linsep.errors import DataError
from linsep.validation.values import of_features
from refusals import refused

LEARNERS = [Perceptron(max_iter=5), LogisticRegression(l2=1.0), GaussianNaiveBayes(),
            LinearRegression()]  # fmt: skip


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 90), "height": rng.standard_normal(90),
                          "city": rng.choice(["Bonn", "Ulm", "Trier"], 90)})  # fmt: skip
    return frame, (frame.age + 9 * (frame.city == "Ulm") > 50).astype(int), rng.random(90)


def prepared(learner, output="default"):
    scaler = StandardScaler()
    if sklearn.get_config()["enable_metadata_routing"]:
        scaler.set_fit_request(sample_weight=False)
    columns = ColumnTransformer(
        [("numbers", scaler, ["age", "height"]),
         ("text", OneHotEncoder(sparse_output=False, drop="first"), ["city"])],
        verbose_feature_names_out=False,
    )  # fmt: skip
    return make_pipeline(columns.set_output(transform=output), clone(learner))


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_column_transformers(people, learner, output, form):
    X, y, _ = people
    given = X if form == "pandas" else pl.from_pandas(X)
    known = prepared(learner).fit(X, y)
    found = prepared(learner, output).fit(given, y)
    for name, array in known[-1].get_state()[0].items():
        assert found[-1].get_state()[0][name].tobytes() == array.tobytes(), name
    assert found.predict(given).tolist() == known.predict(X).tolist()
    assert found.score(given, y) == known.score(X, y)
    if output != "default":
        names = ["age", "height", "city_Trier", "city_Ulm"]
        assert found[-1].feature_names_in_.tolist() == names


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_weights_are_routed(people, learner):
    X, y, weights = people
    with sklearn.config_context(enable_metadata_routing=True):
        weighing = clone(learner).set_fit_request(sample_weight=True)
        weighing.set_score_request(sample_weight=True)
        pipeline = prepared(weighing, "pandas")
        routed = pipeline.fit(X, y, sample_weight=weights)
        scores = cross_validate(pipeline, X, y, params={"sample_weight": weights}, cv=3)
    direct = clone(learner).fit(routed[0].transform(X), y, sample_weight=weights)
    for name, array in direct.get_state()[0].items():
        assert routed[-1].get_state()[0][name].tobytes() == array.tobytes(), name
    assert np.isfinite(scores["test_score"]).all()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (
            {"fee": "5%"},
            "column-type",
        ),
        ({"day": pd.Timestamp("2024-01-31")}, "column-type"),
        ({"age": np.nan}, "missing-value"),
    ],
)
def test_hints_of_fit_can_be_typed(people, change, code):
    X, y, _ = people
    for learner in LEARNERS:
        with refused(DataError, code):
            clone(learner).fit(X.assign(**change), y)


# Models of linsep.fit, which make their features from the columns of a table.


def table_of_people(people):
    frame, y, _ = people
    return frame.assign(born=pd.date_range("1990-01-01", periods=len(frame)), y=y)


#: the columns beside y, and options of linsep.fit that do more than picking them
MAKING = [
    (["age", "height"], {"learner": "perceptron"}),
    (["age", "height"], {"learner": "kernel"}),
    (["age", "height"], {"learner": "kernel-soft-margin"}),
    (["age", "height"], {"learner": "soft-margin"}),
    (["age", "height"], {"learner": "naive-bayes", "scale": "standard"}),
    (["age", "height"], {"learner": "linear", "scale": "standard"}),
    (["age", "height"], {"learner": "logistic", "l2": 1.0, "categorical": ["age"]}),
    (["age", "height"], {"learner": "logistic", "l2": 1.0, "products": ["age:height"]}),
    (["age", "height"], {"learner": "logistic", "l2": 1.0, "formula": "y ~ age + I(height**2)"}),
    (["height", "born"], {"learner": "logistic", "l2": 1.0, "date": ["born"]}),
    (["height", "city"], {"learner": "logistic", "l2": 1.0}),
    (["height", "city"], {"learner": "arow", "text": {"city": linsep.Text()}}),
]


@pytest.mark.parametrize(("columns", "how"), MAKING)
def test_scikit_learn_cannot_leave_out_how_a_model_makes_its_features(people, columns, how):
    table = table_of_people(people)[[*columns, "y"]]
    target = {} if "formula" in how else {"target": "y"}
    with warnings.catch_warnings(action="ignore"):
        model = linsep.fit(table, **target, **how)
    X, y = table[columns], table["y"]
    before = model.predict(X)
    array, calls = X.to_numpy(), [
        lambda: clone(model), lambda: model.fit(X, y), lambda: model.fit(array, y),
        lambda: model.score(array, y), lambda: model.predict(array),
        lambda: linsep.score(model, (array, y)), lambda: GridSearchCV(model, {}).fit(X, y),
        lambda: cross_validate(model, X, y, error_score="raise"),
    ]  # fmt: skip
    if is_classifier(model):
        calls += [
            lambda: model.decision_function(array),
            lambda: VotingClassifier([("a", model), ("b", model)]).fit(X, y),
        ]
    if hasattr(model, "partial_fit"):
        calls += [lambda: model.partial_fit(X, y), lambda: model.partial_fit(array, y)]
    if hasattr(model, "twin"):
        calls += [lambda: linsep.trace(model, X, y)]
    for call in calls:
        with pytest.raises(DataError):
            call()
    assert (model.predict(X) == before).all()
    assert model.score(table) == pytest.approx(model.score(X, y))


@pytest.mark.parametrize("learner", ["perceptron", "kernel", "naive-bayes"])
def test_batches_of_a_source_are_learned_one_by_one(people, learner):
    table = table_of_people(people)[["age", "height", "y"]]
    model = linsep.fit(table, target="y", learner=learner, scale="standard")
    (batch,) = linsep.open_source(table, recipe=model.recipe_).batches()
    other = linsep.fit(table, target="y", learner=learner, scale="none")
    with pytest.warns(UserWarning, match="valid feature names"):  # whose features are the columns
        other.partial_fit(batch.X, batch.y)
    for call in (lambda: model.partial_fit(batch.X, batch.y), lambda: model.partial_fit(table)):
        with refused(DataError, "unsupported"):
            call()
    known = [BaseEstimator.__sklearn_clone__(model).fit(batch.X, batch.y) for _ in range(2)]
    known[0].partial_fit(batch.X, batch.y)
    known[1].partial_fit(batch)
    model.partial_fit(batch)
    assert model.score(table) > 0.5
    for one in (model, known[1]):
        with of_features():
            assert np.array_equal(one.predict(batch.X), known[0].predict(batch.X))
    turned = np.where(batch.y == batch.y[0], *np.unique(batch.y)[::-1])
    model.partial_fit(batch, turned)
    with of_features():
        known[0].partial_fit(batch.X, turned)
        assert np.array_equal(model.predict(batch.X), known[0].predict(batch.X))


def test_models_that_pick_columns_and_that_scikit_learn_fits_are_as_before(people, tmp_path):
    frame, y, _ = people
    X = frame[["age", "height"]]
    model = linsep.fit(X.assign(y=y), target="y", learner="logistic", l2=1.0)
    same = clone(model).fit(X, y)
    with pytest.warns(UserWarning, match="valid feature names"):
        assert model.score(X.to_numpy(), y) == same.score(X, y)
    frame = frame.assign(city=frame.city.astype("category"))
    own = LogisticRegression(l2=1.0).fit(frame, y)
    assert clone(own).fit(frame, y).score(frame, y) == own.fit(frame, y).score(frame, y)
    linsep.save(own, tmp_path / "m")
    loaded = linsep.load(tmp_path / "m")
    assert clone(loaded).fit(frame, y).score(frame, y) == loaded.score(frame, y)
    made = linsep.fit(frame.assign(y=y), target="y", learner="logistic", l2=1.0)
    linsep.save(made, tmp_path / "m", force=True)
    with refused(DataError, "unsupported"):
        clone(linsep.load(tmp_path / "m"))
    search = GridSearchCV(LogisticRegression(), {"l2": [1.0]}).fit(frame, y)
    assert clone(search.best_estimator_).fit(frame, y).score(frame, y) == own.score(frame, y)


def test_folds_of_linsep_and_refits_to_sources_take_a_model_of_fit(people):
    table = table_of_people(people)[["age", "height", "y"]]
    model = linsep.fit(table, target="y", learner="perceptron", cv=3)
    source = linsep.open_source(table, target="y", scale="standard")
    assert len(model.cv_scores_["accuracy"]) == 3
    assert model.fit(source).score(table) > 0.5
