"""Data frames and Arrow tables are read as files with the same columns; pipelines of frames."""

import itertools
import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import linsep
from command_line import table
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    open_source,
    pipelines,
    separation,
)
from linsep.errors import DataError
from linsep.estimators.labels import feature_names
from linsep.sources.feature_names import shown_names
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
    "polars": pl.from_pandas,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "record batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "DuckDB": duckdb.from_df,
}


@pytest.mark.parametrize(
    ("form", "options"),
    [
        *((form, {}) for form in FORMS),
        ("pandas", {"scale": "standard"}),
        ("Arrow", {"weight": "weight"}),
    ],
)
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


def test_categories_are_levels_in_their_order():
    values = ["low", "mid", "high"]
    column = [*values, *values[::-1]]
    frame = pd.DataFrame({"size": pd.Categorical(column, categories=values), "y": [0, 1] * 3})
    enum = pl.Series(column).cast(pl.Enum(values))
    numbers = pd.DataFrame({"size": pd.Categorical([2.5, 1, 0.5] * 2, [2.5, 1, 0.5])})
    for data, levels in (
        (frame, values), (pl.DataFrame({"size": enum, "y": [0, 1] * 3}), values),
        (pa.Table.from_pandas(frame.assign(size=frame["size"].cat.as_ordered())), values),
        (numbers.assign(y=[0, 1] * 3), ["2.5", "1", "0.5"]),
    ):  # fmt: skip
        source = open_source(data, target="y")
        X, _ = rows(source)
        assert source.feature_names == [f"size={level}" for level in levels]
        assert X[:3].tolist() == np.eye(3).tolist()
        reference = open_source(data, target="y", reference_level="first")
        rows(reference)
        assert reference.feature_names == [f"size={level}" for level in levels[1:]]


def test_a_column_that_cannot_be_used_is_named_and_can_be_left_out(people):
    for changed, code in (
        (people.assign(d=pd.Timestamp("2024-01-31")), "column-type"),
        (people.assign(d=people.age.astype(str)), "column-type"),
        (people.assign(d=np.inf), "not-finite"),
    ):
        with refused(DataError, code):
            rows(open_source(changed, target="label"))
        assert rows(open_source(changed, target="label", exclude="d"))[0].shape[0] == 300
    mixed = people[["label"]].assign(d=[1, "a", 2.5] * 100)  # text, as in a file
    (source := open_source(mixed, target="label")).recipe()
    assert source.feature_names == ["d=1", "d=2.5", "d=a"]


def test_refusals(people):
    label = {"target": "label"}
    numbered = people.set_axis([*[("a", k) for k in range(5)], "y"], axis=1)
    for frame, options, code in (
        (people, {}, "no-labels"), (people, {"target": "lable"}, "unknown-column"),
        (people, label | {"delimiter": ";"}, "conflict"), (people[:0], label, "no-rows"),
        (people[["label"]], label, "no-columns"),
        (people.set_axis([*"aaaaa", "label"], axis=1), label, "duplicate-name"),
        (numbered, {"target": "y"}, "bad-value"),
    ):  # fmt: skip
        with refused(DataError, code):
            open_source(frame, **options)
    with pytest.raises(TypeError):
        open_source(people, target=people.label)


@pytest.mark.parametrize("labels", [[0, 1, 0], [True, False, True], [2.0, 3.0, 2.0], [*"bab"]])
def test_labels_may_be_categories_and_names_numbers(labels):
    plain = pd.DataFrame({0: [1.0, 2.0, 4.0], 1: labels})
    X, y = rows(open_source(plain, target=1))
    found = rows(open_source(plain.assign(**{"1": pd.Categorical(labels)})[[0, "1"]], target="1"))
    assert (X.tolist(), y.tolist()) == (found[0].tolist(), found[1].tolist())
    assert y.tolist() == labels
    counted = open_source(plain, target=1, categorical=[0])
    assert rows(counted)[0].tolist() == np.eye(3).tolist()
    with refused(DataError, "no-columns"):
        linsep.fit(plain, target=1, exclude=0)


def test_intervals_are_levels_in_their_order():
    frame = pd.DataFrame({"age": pd.cut([9, 15, 60, 70], [0, 10, 20, 100]), "y": [0, 1, 0, 1]})
    model = linsep.fit(frame, target="y", learner="logistic", l2=1.0)
    assert model.get_feature_names_out().tolist() == ["age=(10, 20]", "age=(20, 100]"]
    assert model.predict(frame).shape == (4,)


def test_a_type_that_arrow_does_not_have_is_refused():
    table = pl.DataFrame({"a": [1, 2], "b": [3, 4], "y": [0, 1]}).cast({"a": pl.Int128})
    with refused(DataError, "column-type", column="a"):
        open_source(table, target="y")
    assert open_source(table, target="y", exclude="a").feature_names == ["b"]
    (batch,) = open_source(table, target="y", numeric="a").batches()
    assert batch.X.tolist() == [[1, 3], [2, 4]]
    with refused(DataError, "column-type"):
        open_source(table.with_columns(c=pl.Series([{1}, {2}], dtype=pl.Object)), target="y")


def test_other_things_are_no_tables():
    with refused(DataError, "shape"):
        Perceptron().fit([{"a": 1}, {"a": 2}], [0, 1])
    for frame in [pd.DataFrame(index=range(4)), pl.DataFrame(), pa.table({})]:
        with refused(DataError, "no-columns"):
            Perceptron().fit(frame, [0, 1, 1, 0])
    with pytest.raises(TypeError):
        linsep.fit(pd.DataFrame({"a": [1, 2]}), pd.Series([0, 1]))
    for data in [pd.Series([1, 2]), pl.LazyFrame({"a": [1]}), {"a": [1]}, 3]:
        with pytest.raises(TypeError):
            open_source(data)


LEARNERS = [
    Perceptron(keep="average", max_iter=20),
    KernelPerceptron(kernel="rbf"),
    KernelSoftMargin(),
    GaussianNaiveBayes(),
    LogisticRegression(l2=1.0),
    LinearRegression(),
]


@pytest.mark.parametrize(
    ("learner", "form"), list(zip(LEARNERS, ["pandas", "polars", "Arrow"] * 3, strict=False))
)
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


def test_a_column_may_be_called_as_the_labels(people):
    X = people.rename(columns={"label": "target"})[["age", "target"]]
    fitted = Perceptron().fit(X, people.label.rename("target"))
    assert fitted.recipe_["target"] == "target_"
    with pytest.warns(DataConversionWarning):  # as beside numbers
        assert Perceptron().fit(X, people[["label"]]).score(X, people.label) == 1.0
    assert fitted.score(X, people.label) == 1.0


PIPED = [Perceptron(max_iter=5), LogisticRegression(l2=1.0), GaussianNaiveBayes(),
            LinearRegression()]  # fmt: skip


@pytest.fixture
def persons():
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


@pytest.mark.parametrize(
    ("learner", "output", "form"),
    [(PIPED[0], "polars", "polars"), (PIPED[1], "pandas", "pandas"), (PIPED[2], "polars", "polars"),
     (PIPED[3], "default", "polars")],
)  # fmt: skip
def test_column_transformers(persons, learner, output, form):
    X, y, _ = persons
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


@pytest.mark.parametrize("learner", PIPED[:2])
def test_weights_are_routed(persons, learner):
    X, y, weights = persons
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


def table_of_people(persons):
    frame, y, _ = persons
    return frame.assign(born=pd.date_range("1990-01-01", periods=len(frame)), y=y)


#: the columns beside y, and options of linsep.fit that do more than picking them
MAKING = [
    (["age", "height"], {"learner": "naive-bayes", "scale": "standard"}),
    (["age", "height"], {"learner": "logistic", "l2": 1.0, "formula": "y ~ age + I(height**2)"}),
    (["height", "born"], {"learner": "logistic", "l2": 1.0, "date": ["born"]}),
    (["height", "city"], {"learner": "arow", "text": {"city": linsep.Text()}}),
]


@pytest.mark.parametrize(("columns", "how"), MAKING)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_makes_the_features_again(persons, columns, how):
    table = table_of_people(persons)[[*columns, "y"]]
    target = {} if "formula" in how else {"target": "y"}
    model = linsep.fit(table, **target, **how)
    X, y = table[columns], table["y"]
    predicted = model.predict(X).tolist()
    again = [clone(model).fit(X, y), clone(model).fit(table), GridSearchCV(model, {}).fit(X, y)]
    for one in (*again, pickle.loads(pickle.dumps(model))):
        assert one.predict(X).tolist() == model.predict(X.to_numpy()).tolist() == predicted
    assert model.score(table) == model.score(X.to_numpy(), y) == again[0].score(X, y)
    assert linsep.score(model, (X, y))["metrics"] == linsep.score(model, table)["metrics"]
    features = model[:-1].transform(X)
    assert model[-1].predict(features).tolist() == predicted
    assert len(model[:-1].get_feature_names_out()) == features.shape[1]
    folds = list(KFold(3).split(X))
    expected = [
        linsep.fit(table.iloc[learned], **target, **how).score(table.iloc[others])
        for learned, others in folds
    ]
    found = cross_validate(model, X, y, cv=folds, error_score="raise")["test_score"]
    assert found == pytest.approx(expected)
    if hasattr(model, "partial_fit"):
        assert model.partial_fit(X, y).score(X, y) > 0.4


#: every option of a table: columns that show it, with the label last, and options
OPTIONS = {
    "target": ("age y", {}),
    "missing": ("age gap city y", {"missing": "indicator"}),
    "unlabeled": ("age some", {"target": "some", "unlabeled": "drop"}),
    "hash_bits": ("age city y", {"hash_bits": 4, "reference_level": None}),
    "exclude": ("age height y", {"exclude": ["height"]}),
    "include": ("age height y", {"include": ["a*"]}),
    "scale": ("age y", {"scale": "standard"}),
    "reference_level": ("age city y", {"reference_level": {"city": "Ulm"}}),
    "min_count": ("age city y", {"min_count": 31}),
    "weight": ("age w y", {"weight": "w"}),
    "group": ("age g y", {"group": "g"}),
    "offset": ("age w y", {"offset": "w"}),
    "successes": ("age g n", {"target": None, "successes": "g", "trials": "n"}),
    "trials": ("age g n", {"target": None, "successes": "g", "trials": "n"}),
    "text": ("age city y", {"text": {"city": linsep.Text(n_features=16)}}),
    "products": ("age city y", {"products": ["age:city"]}),
    "formula": ("age w y", {"target": None, "formula": "y ~ poly(age, 2) + offset(w)"}),
    "categorical": ("age g y", {"categorical": ["g"]}),
    "numeric": ("age fee y", {"numeric": ["fee"], "decimal": ",", "thousands": "."}),
    "decimal": ("age fee y", {"decimal": ",", "thousands": "."}),
    "thousands": ("age fee y", {"decimal": ",", "thousands": "."}),
    "units": ("age share y", {"units": True}),
    "null_values": ("age city y", {"null_values": ["Ulm"], "missing": "indicator"}),
    "date": ("age born y", {"date": ["born"]}),
}


def test_clones_know_every_option_of_a_table(persons):
    assert OPTIONS.keys() == pipelines.OPTIONS.keys() - {*pipelines.OF_FILES}
    frame, y, weights = persons
    table = frame.assign(
        gap=frame.height.where(frame.age < 70), w=weights, g=np.arange(len(y)) // 4, y=y,
        some=y.astype(object).where(frame.age > 20, None), share="5%",
        fee=np.where(frame.height > 0, "1.001,5", "2,5"), born=(1999 - frame.age).astype(str),
    )  # fmt: skip
    table["n"], table["born"] = table.g + 3, table.born + "-01-31"
    for name, (columns, how) in OPTIONS.items():
        rows = table[columns.split()]
        label = None if name in ("successes", "trials") else rows.columns[-1]
        model = linsep.fit(rows, **{"target": "y", "learner": "logistic", "l2": 1.0} | how)
        again = [clone(model).fit(rows)]
        if label is not None:
            again.append(clone(model).fit(rows.drop(columns=label), rows[label]))
        for one in again:
            assert one.coef_.tobytes() == model.coef_.tobytes(), name
    weighed = linsep.fit(table[["age", "w", "y"]], target="y", weight="w")
    plain = clone(weighed).set_params(columns__weight=None)
    plain.fit(table[["age"]], y, sample_weight=table.w)
    assert plain.coef_.tobytes() == weighed.coef_.tobytes()


@pytest.mark.parametrize("learner", ["perceptron", "naive-bayes"])
def test_batches_of_a_source_are_learned_one_by_one(persons, learner):
    table = table_of_people(persons)[["age", "height", "y"]]
    model = linsep.fit(table, target="y", learner=learner, scale="standard")
    (batch,) = linsep.open_source(table, recipe=model.recipe_).batches()
    known = [clone(model.learner).fit(batch.X, batch.y) for _ in range(2)]
    turned = np.where(batch.y == batch.y[0], *np.unique(batch.y)[::-1])
    known[0].partial_fit(batch.X, turned)
    known[1].partial_fit(batch, turned)
    model.partial_fit(table, turned)
    expected = known[0].predict(batch.X).tolist()
    assert model.predict(table).tolist() == known[1].predict(batch.X).tolist() == expected


def test_models_of_tables_are_saved_with_their_options(persons, tmp_path):
    table = table_of_people(persons)[["height", "city", "y"]]
    words = linsep.Text(n_features=64)
    model = linsep.fit(table, target="y", text={"city": words}, min_count=2)
    linsep.save(model, tmp_path / "m")
    loaded = linsep.load(tmp_path / "m")
    assert clone(loaded).fit(table).coef_.tobytes() == model.coef_.tobytes()
    assert loaded.predict(table).tolist() == model.predict(table).tolist()
    table.to_csv(tmp_path / "t.csv", index=False)
    assert clone(loaded).fit(str(tmp_path / "t.csv")).coef_.tobytes() == model.coef_.tobytes()


NAMES = ["a", "a=b", "a=b=c", "a:b", "a:b=c", "a=b:c", '"a', '"a=b"', "=", ":", "b", '"a"=b']


def test_names_never_collide():
    """Every value and term of many choices of columns, against each other."""
    rng = np.random.default_rng(0)
    parts = {"".join(three) for three in itertools.product(["", "a", "b", '"'], "=:", ["c", "b=c"])}
    parts |= {"c", "b", "b=c", 'b"=c'}
    plain = 0
    for _ in range(300):
        kinds = dict(zip(NAMES, rng.integers(0, 4, len(NAMES)).tolist(), strict=True))
        numeric, text, words = ([name for name in NAMES if kinds[name] == k] for k in range(3))
        shown = shown_names(numeric, text, words)
        names = [shown[name] for name in numeric]
        names += [f"{shown[name]}={value}" for name in text for value in parts]
        names += [f"{shown[name]}:{term}" for name in words for term in parts]
        assert len(set(names)) == len(names), (numeric, text, words)
        plain += all(name == own for name, own in shown.items())
    assert 0 < plain < 300


COLUMNS, CELLS = ["a", "a=b", "a=q", "y"], [
    ["b=c", "c", 1, 1], ["b=c", "r", 5, 1], ["q", "c", 2, 0], ["q", "r", 3, 0], ["b=c", "c", 4, 1],
    ["q", "c", 6, 0],
]  # fmt: skip
WANTED = ['"a=q"', "a=b=c", "a=q", '"a=b"=c', '"a=b"=r']


def test_indicators_of_different_columns_have_different_names(tmp_path):
    table(tmp_path, "t.csv", COLUMNS, CELLS)
    source = open_source(tmp_path / "t.csv", target="y")
    assert source.feature_names is not None
    model = Perceptron().fit(source)
    assert model.feature_names_in_.tolist() == WANTED == feature_names(model)
    assert list(separation(source).subject.names) == WANTED
    found = str(model.equation_)
    assert '"a=b"=c' in found or '"a=b"=r' in found


def test_marks_of_missing_values_are_read_as_in_csv(tmp_path):
    """Such a column of a frame was refused, and a model of the file could not score the frame."""
    rng = np.random.default_rng(0)
    income, size = rng.normal(50, 10, 60).round(2).astype(str), rng.normal(size=60)
    frame = pd.DataFrame({"size": size, "income": income, "y": np.where(size > 0.1, "yes", "no")})
    frame.loc[::20, "income"] = "unknown"
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {"target": "y", "null_values": "unknown", "missing": "mean"}
    of_file, of_frame = (linsep.fit(data, **how) for data in (tmp_path / "t.csv", frame))
    assert np.array_equal(of_file.coef_, of_frame.coef_)
    assert of_file.score(tmp_path / "t.csv") == of_file.score(frame) == of_frame.score(frame)
    assert np.array_equal(clone(of_file).fit(frame).coef_, of_file.coef_)
    with refused(DataError, "not-a-number", column="income"):
        linsep.fit(frame, target="y")
