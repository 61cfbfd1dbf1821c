"""Data frames and Arrow tables are read as files with the same columns are."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    PassiveAggressive,
    Perceptron,
    open_source,
    separation,
)
from linsep.errors import DataError
from refusals import refused


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "height": rng.standard_normal(n),
            "member": rng.random(n) < 0.5,
            "city": rng.choice(["Bonn", "Aachen", "Köln"], n),
            "weight": rng.random(n),
        },
        index=rng.permutation(n),
    )
    return frame.assign(label=np.where(frame.age > 40, "old", "young"))


def rows(source):
    batches = list(source.batches())
    X = [b.X.toarray() if sp.issparse(b.X) else b.X for b in batches]
    return np.concatenate(X), np.concatenate([b.y for b in batches])


FORMS = {
    "pandas": lambda frame: frame,
    "pandas with Arrow's types": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "pandas with types that may be missing": lambda frame: frame.convert_dtypes(),
    "polars": pl.from_pandas,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "record batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "DuckDB": duckdb.from_df,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"scale": "standard"}, {"weight": "weight"}])
def test_a_frame_is_read_as_the_file_with_its_columns(people, tmp_path, form, options):
    pq.write_table(pa.Table.from_pandas(people, preserve_index=False), tmp_path / "p.parquet")
    of_file = open_source(tmp_path / "p.parquet", target="label", **options)
    of_frame = open_source(FORMS[form](people), target="label", **options)
    X, y = rows(of_file)
    found, labels = rows(of_frame)
    assert found.tobytes() == X.tobytes()
    assert labels.tolist() == y.tolist()
    assert of_frame.recipe() == of_file.recipe()
    assert of_frame.feature_names == of_file.feature_names


def test_a_recipe_reads_frames(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    learned = open_source(tmp_path / "people.csv", target="label", scale="standard")
    X, _ = rows(learned)
    unlabeled = people.drop(columns="label")[["weight", "city", "member", "height", "age"]]
    again = open_source(unlabeled, recipe=learned.recipe(), labeled=False)
    (batch,) = again.batches()
    assert batch.y is None
    assert batch.X.toarray() == pytest.approx(X)
    with refused(DataError, "unknown-column", column="age"):
        open_source(people.drop(columns="age"), recipe=learned.recipe())


@pytest.mark.parametrize("values", [["low", "mid", "high"], [10, 2, 1], [2.5, 1.0, 0.5]])
@pytest.mark.parametrize("form", ["pandas", "polars", "Arrow"])
def test_categories_are_levels_in_their_order(values, form):
    column = pd.Categorical([*values, *values[::-1]], categories=values)
    frame = pd.DataFrame({"size": column, "y": [0, 1, 0, 1, 1, 0]})
    if form == "polars":
        enum = pl.Enum([str(value) for value in values])
        sizes = pl.Series([str(value) for value in column]).cast(enum)
        frame = pl.DataFrame({"size": sizes, "y": frame.y.tolist()})
    elif form == "Arrow":
        frame = pa.Table.from_pandas(frame.assign(size=frame["size"].cat.as_ordered()))
    levels = [f"size={value:g}" if not isinstance(value, str) else f"size={value}"
              for value in values]  # fmt: skip
    if form == "polars":
        levels = [f"size={value}" for value in values]
    source = open_source(frame, target="y")
    X, _ = rows(source)
    assert source.feature_names == levels
    assert X.tolist() == [*np.eye(3).tolist(), *np.eye(3)[::-1].tolist()]
    reference = open_source(frame, target="y", reference_level="first")
    rows(reference)
    assert reference.feature_names == levels[1:]


def test_missing_values_are_found_whatever_they_are(people):
    holes = people.astype({"age": "Int64"})
    holes.iloc[3, 0], holes.iloc[5, 1], holes.iloc[7, 3] = pd.NA, np.nan, None
    source = open_source(holes, target="label", missing="drop")
    rows(source)
    assert source.dropped == 3
    with refused(DataError, "missing-value", row=4, column="age"):
        rows(open_source(holes, target="label"))


def test_float32_stays(people):
    narrow = people[["height", "label"]].astype({"height": np.float32})
    assert rows(open_source(narrow, target="label"))[0].dtype == np.float32


def test_where_names_the_row(people):
    source = open_source(people, target="label")
    rows(source)
    assert source.where(27) == "row 28 (index 27)"


REFUSED = {
    "dates": (lambda f: f.assign(d=pd.Timestamp("2024-01-31")), "column-type"),
    "mixed": (lambda f: f.assign(d=[1, "a", 2.5] * 100), "column-type"),
    "complex": (lambda f: f.assign(d=1j), "column-type"),
    "lists": (lambda f: f.assign(d=[[1, 2]] * 300), "column-type"),
    "numbers as text": (lambda f: f.assign(d=f.age.astype(str)), "column-type"),
    "infinite": (lambda f: f.assign(d=np.inf), "not-finite"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_column_that_cannot_be_used_is_named_and_can_be_left_out(people, case):
    change, code = REFUSED[case]
    with refused(DataError, code):
        rows(open_source(change(people), target="label"))
    assert rows(open_source(change(people), target="label", exclude="d"))[0].shape[0] == 300


@pytest.mark.parametrize(
    ("frame", "options", "code"),
    [
        (lambda f: f, {}, "no-labels"),
        (lambda f: f, {"target": "lable"}, "unknown-column"),
        (lambda f: f, {"target": "label", "delimiter": ";"}, "conflict"),
        (lambda f: f, {"target": "label", "index_base": 1}, "conflict"),
        (lambda f: f[:0], {"target": "label"}, "no-rows"),
        (lambda f: f[["label"]], {"target": "label"}, "no-columns"),
        (lambda f: f.set_axis([*"aaaaa", "label"], axis=1), {"target": "label"}, "duplicate-name"),
        (lambda f: f.set_axis([*[("a", k) for k in range(5)], "y"], axis=1), {"target": "y"},
         "bad-value"),
    ],
)  # fmt: skip
def test_refusals(people, frame, options, code):
    with refused(DataError, code):
        open_source(frame(people), **options)


def test_columns_named_by_numbers():
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3)).assign(y=[0, 1, 0, 1])
    source = open_source(frame, target="y")
    rows(source)
    assert source.feature_names == ["0", "1", "2"]


@pytest.mark.parametrize("data", [pd.Series([1, 2]), pl.LazyFrame({"a": [1]}), {"a": [1]}, 3])
def test_other_things_are_no_tables(data):
    with pytest.raises(TypeError, match="pass a path, a list of paths or a data"):
        open_source(data)


LEARNERS = [
    Perceptron(keep="average", max_iter=20),
    PassiveAggressive(max_iter=20),
    KernelPerceptron(kernel="rbf"),
    KernelSoftMargin(),
    GaussianNaiveBayes(),
    LogisticRegression(l2=1.0),
    LinearRegression(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("form", ["pandas", "polars", "Arrow"])
def test_estimators_take_frames_with_text(people, learner, form):
    X = people[["age", "height", "member", "city"]]
    y = people.label
    if isinstance(learner, LinearRegression):
        y = people.height * 2 + people.age
    frame = FORMS[form](X)
    fitted = clone(learner).fit(frame, y if form == "pandas" else y.to_numpy())
    regression = isinstance(learner, LinearRegression | LogisticRegression)
    how = {"reference_level": "first"} if regression else {}
    of_source = clone(learner).fit(open_source(X.assign(target=y), target="target", **how))
    assert fitted.feature_names_in_.tolist() == of_source.feature_names_in_.tolist()
    assert fitted.predict(frame).tolist() == of_source.predict(frame).tolist()
    assert fitted.score(frame, y) == of_source.score(X, y) > 0.7
    with refused(DataError, "unknown-column", column="city"):
        fitted.predict(X.drop(columns="city"))


def test_weights_come_along(people):
    X, y, weights = people[["age", "city"]], people.label, people.weight
    fitted = LogisticRegression(l2=1.0).fit(X, y, sample_weight=weights)
    doubled = LogisticRegression(l2=1.0).fit(X, y)
    assert fitted.coef_.tolist() != doubled.coef_.tolist()
    whole = X.assign(y=y, w=weights)
    source = open_source(whole, target="y", weight="w", reference_level="first")
    assert fitted.coef_.tolist() == LogisticRegression(l2=1.0).fit(source).coef_.tolist()


def test_frames_of_numbers_are_arrays(people):
    X, y = people[["age", "height"]], people.label
    fitted = Perceptron(max_iter=20).fit(X, y)
    assert not hasattr(fitted, "recipe_")
    assert (
        fitted.coef_.tolist()
        == Perceptron(max_iter=20).fit(X.to_numpy(), y.to_numpy()).coef_.tolist()
    )


def test_a_scaled_model_reads_raw_frames(people):
    source = open_source(people[["age", "height", "label"]], target="label", scale="standard")
    fitted = Perceptron(keep="average").fit(source)
    raw = people[["age", "height"]]
    assert fitted.predict(raw).tolist() == fitted.predict(source).tolist()
    assert fitted.score(raw, people.label) > 0.9


def test_labels_of_another_length_or_order(people):
    X, y = people[["age", "city"]], people.label
    with refused(DataError, "shape", option="y"):
        Perceptron().fit(X, y.to_numpy()[1:])
    with refused(DataError, "shape", option="y"):
        Perceptron().fit(X, y.sort_index(ascending=False))


def test_a_column_may_be_called_as_the_labels(people):
    X = people.rename(columns={"label": "target"})[["age", "target"]]
    fitted = Perceptron().fit(X, people.label.rename("target"))
    assert fitted.recipe_["target"] == "target_"
    assert fitted.score(X, people.label) == 1.0


def test_separation_of_a_frame(people):
    verdict = separation(open_source(people[["age", "city", "label"]], target="label"))
    assert verdict.kind == "separable"


@pytest.mark.parametrize("frame", [pd.DataFrame(index=range(4)), pl.DataFrame(), pa.table({})])
@pytest.mark.parametrize("estimator", [LinearRegression, LogisticRegression, Perceptron])
def test_a_frame_without_columns_is_refused(frame, estimator):
    with refused(DataError, "no-columns"):
        estimator().fit(frame, [0, 1, 1, 0])
