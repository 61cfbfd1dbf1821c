"""Pipelines of scikit-learn on data frames: the same numbers whatever the frames are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression, Perceptron
from linsep.errors import DataError
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
