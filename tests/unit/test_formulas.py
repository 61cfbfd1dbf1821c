"""Formulas: the features that formulaic makes, of any table; what they may not hold."""

import copy
import json
import sys
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import linsep
from linsep import model_files, open_source
from linsep.errors import DataError, ModelFileError, ParameterError
from linsep.sources.tables.formulas import parsed
from linsep.sources.tables.table import TableSource
from refusals import refused
from thoroughness import some

formulaic = pytest.importorskip("formulaic")


RIGHT_SIDES = [
    "x - 1", "x * rank", "C(rank)", "C(rank) - 1", "x * C(rank) + poly(age, 2)",
    "0 + C(rank):city", "C(rank, contr.sum) * x", "C(rank, contr.poly)",
    "C(city, contr.helmert)", "C(city, Treatment('b')):x", "C(city, Treatment(reference='b'))",
    "C(city, contr.treatment(base='c'))", "C(rank, contr.treatment(base=3))",
    "C(city, levels=['c', 'b', 'a'])", "C(flag) * x",
    "city:flag:C(rank)", "x / age / city", "(x + (age - 1)) * city",
    "poly(age, 3, raw=True)", "poly(log(age), 2):C(rank)", "poly(x + age, degree=2)",
    "bs(age, df=5) * city", "bs(age, knots=[20, 30.5])", "bs(age, 4, degree=2)", "cr(age, df=5)",
    "cr(age, df=5, constraints='center')", "cr(age, knots=[10, 20, 40]) - 1",
    "`a b` * log(age)", "I(`a b` ** 2)", "C(`c d`)", "x / C(rank)",
    "(x + age + city) ** 2 - x:age", "exp(x / 10) + sqrt(age)", "C(rank):x + C(rank)",
    "-1 + city:x + city", "a.b + I(-x)", "I((x - 1) * (+age)) + 1", "flag + city", ".",
]  # fmt: skip


def people(n=240, seed=4):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "x": rng.normal(size=n),
            "age": rng.uniform(1, 60, n).round(2),
            "rank": rng.integers(1, 5, n),
            "city": rng.choice(["a", "b", "c"], n),
            "flag": rng.random(n) < 0.5,
            "a b": rng.normal(size=n),
            "c d": rng.choice(["u", "v w", "x:y"], n),
            "a.b": rng.integers(0, 9, n),
        }
    )


PEOPLE = people()


def features(source):
    """Names and rows of a source, without its batches."""
    rows = np.vstack([batch.X for batch in source.batches()])
    return source.feature_names, rows


def matrix(formula, frame):
    """Names and rows as formulaic has them, without the intercept."""
    made = formulaic.model_matrix(
        formula, frame.assign(flag=frame.flag.astype("category")), context={"sqrt": np.sqrt},
        na_action="ignore",
    )  # fmt: skip
    names = [name for name in made.columns if name != "Intercept"]
    return names, made[names].to_numpy(float)


def test_features_are_those_of_formulaic():
    for right in RIGHT_SIDES:
        names, rows = features(open_source(PEOPLE, formula=f"y ~ {right}"))
        every = " + ".join(f"`{c}`" for c in PEOPLE.columns[1:])
        wanted, values = matrix(every if right == "." else right, PEOPLE)
        assert names == wanted
        np.testing.assert_allclose(rows, values, rtol=1e-9, atol=1e-12, err_msg=right)


@pytest.mark.parametrize("right", some(RIGHT_SIDES, 4))
def test_batches_and_recipes_give_the_same_bits(right):
    whole = open_source(PEOPLE, formula=f"y ~ {right}")
    names, rows = features(whole)
    recipe = json.loads(json.dumps(whole.recipe()))
    parts = TableSource([pa.table(PEOPLE)], target=None, formula=f"y ~ {right}", batch_rows=13)
    again = open_source(PEOPLE.iloc[::-1][PEOPLE.columns[::-1]], recipe=recipe)
    few = open_source(PEOPLE[(PEOPLE["rank"] == 2) & (PEOPLE.city == "b")], recipe=recipe)
    assert features(parts)[0] == names
    assert (features(parts)[1] == rows).all()
    assert (features(again)[1] == rows[::-1]).all()
    assert (features(few)[1] == rows[(PEOPLE["rank"] == 2) & (PEOPLE.city == "b")]).all()


FORMULA = "y ~ x * C(rank) + poly(age, 2) + city + flag"


def _csv(folder):
    for k, part in enumerate(np.array_split(np.arange(len(PEOPLE)), 3)):
        PEOPLE.iloc[part].to_csv(folder / f"p{k}.csv", index=False)
    return folder / "p*.csv"


def _parquet(folder):
    PEOPLE.to_parquet(folder / "p.parquet")
    return folder / "p.parquet"


def _jsonl(folder):
    pl.from_pandas(PEOPLE).write_ndjson(folder / "p.jsonl")
    return folder / "p.jsonl"


TABLES = {
    "csv": _csv, "parquet": _parquet, "json lines": _jsonl,
    "polars": lambda _: pl.from_pandas(PEOPLE),
    "dictionary": lambda _: pa.table(PEOPLE.assign(city=PEOPLE.city.astype("category"))),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_every_table_gives_the_same_bits(name, tmp_path):
    source = open_source(TABLES[name](tmp_path), formula=FORMULA)
    names, rows = features(source)
    wanted, values = features(open_source(PEOPLE, formula=FORMULA))
    assert names == wanted
    assert (rows == values).all()


def test_categories_have_their_order_and_absent_ones_no_feature():
    kind = pd.CategoricalDtype(["c", "nowhere", "a", "b"])
    frame = PEOPLE.assign(city=PEOPLE.city.astype(kind))
    names, _ = features(open_source(frame, formula="y ~ city"))
    assert names == ["city[T.a]", "city[T.b]"]
    tenths = PEOPLE.assign(rank=(PEOPLE["rank"] / 10).astype("float32"))
    assert len(features(open_source(tenths, formula="y ~ C(rank)"))[0]) == 3
    numbers = PEOPLE.assign(rank=PEOPLE["rank"].astype("category"))
    assert features(open_source(numbers, formula="y ~ rank"))[0] == [
        f"rank[T.{k}]" for k in (2, 3, 4)
    ]


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_missing_values(missing, tmp_path):
    frame = PEOPLE.astype({"rank": "float64"})
    frame.loc[3, "age"], frame.loc[5, "rank"], frame.loc[9, "city"] = np.nan, np.nan, None
    frame.loc[11, "rank"] = 9  # a level of a row without a label only
    frame["y"] = frame.y.astype(object).where(frame.index != 11)
    frame.loc[20, "a b"] = np.nan  # not in the formula
    frame.to_csv(tmp_path / "m.csv", index=False)
    formula = "y ~ C(rank) + poly(age, 2) + city"
    if missing == "error":
        frame.y = PEOPLE.y
        frame.to_csv(tmp_path / "m.csv", index=False)
        with refused(DataError, "missing-value", row=4, column="age"):
            features(open_source(tmp_path / "m.csv", formula=formula))
        return
    names, rows = features(open_source(tmp_path / "m.csv", formula=formula, missing="drop"))
    kept = PEOPLE.drop(index=[3, 5, 9, 11])
    wanted, values = matrix(formula.partition("~")[2], kept)
    assert names == wanted
    np.testing.assert_allclose(rows, values, rtol=1e-9)


@pytest.fixture(scope="module")
def model():
    return linsep.fit(PEOPLE, formula="y ~ x * C(rank) + bs(age, df=4) + city", learner="logistic")


def test_models_predict_raw_rows(model, tmp_path):
    wanted = model.predict_proba(PEOPLE)
    shuffled = PEOPLE.sample(frac=1, random_state=1)
    assert (model.predict_proba(shuffled[PEOPLE.columns[::-1]]) == wanted[shuffled.index]).all()
    assert (model.predict_proba(PEOPLE.drop(columns=["y", "flag"])) == wanted).all()
    one = PEOPLE[PEOPLE["rank"] == 3]
    assert (model.predict_proba(one) == wanted[one.index]).all()
    model_files.save(model, tmp_path / "m.linsep")
    loaded = linsep.load(tmp_path / "m.linsep")
    assert loaded.recipe_ == model.recipe_
    assert (loaded.predict_proba(PEOPLE) == wanted).all()


UNSEEN = [
    ({"rank": 7}, "unknown-value"),
    ({"city": "Rome"}, "unknown-value"),
    ({"age": 80.0}, "not-finite"),
    ({"x": np.inf}, "not-finite"),
    ({"x": np.nan}, "missing-value"),
]


def test_rows_that_the_model_does_not_know_are_refused(model):
    for cell, code in UNSEEN:
        frame = PEOPLE.drop(columns="y").astype({"rank": "float64"})
        for name, value in cell.items():
            frame.loc[4, name] = value
        with refused(DataError, code):
            model.predict(frame)


REFUSED = [
    "y ~ x +", "y ~ (x", "y ~ x x", "y ~ x $ age", "y ~ `x", "y ~ x ~ age", "y ~ ", "~",
    "y ~ x ** age", "y ~ lambda x: x", "log(y) ~ x", "y + x ~ age", "y ~ x + y", "y ~ 0", "",
    "y ~ foo(x)", "y ~ x + log(offset(age))", "y ~ np.log(x)", "y ~ x.mean()",
    "y ~ I(x[0])", "y ~ I(lambda x: x)", "y ~ I(x if x else x)",
    "y ~ I([x for x in x])", "y ~ I(x := 3)", "y ~ I(x @ x)", "y ~ 'a'",
    "y ~ I(3)", "y ~ log(poly(x, 2))", "y ~ log(x, 2)", "y ~ log(*x)",
    "y ~ poly(x, 2.5)", "y ~ poly(x, 10**9)", "y ~ poly(x, power=2)", "y ~ poly(x, degree=age)",
    "y ~ bs(x, df=4, extrapolation='clip')", "y ~ bs(x, **age)", "y ~ C(x + 1)",
    "y ~ C(rank, contr.custom([1]))", "y ~ C(rank, levels='ab')", "y ~ C(rank, contr.SAS)",
    "y ~ hashed(city)", "y ~ Q('x')", "y ~ x | age",
    "__import__('os').system('touch evil')(1) ~ x", "y ~ __import__('os').system('touch evil')",
    "y ~ {__import__('os').system('touch evil')}", "y ~ C(__import__('os'))", "y ~ eval('x')",
    "y ~ log(" + "(" * 300 + "x" + ")" * 300 + ")",
    "y ~ rank %in% city", "y ~ 2:x", "y ~ x:offset(age)", "y ~ I(0 < x < 1)", "y ~ scale(x)",
]  # fmt: skip


def test_what_formulas_may_not_hold_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for formula in REFUSED:
        with refused(DataError, "bad-formula") as caught:
            features(open_source(PEOPLE, formula=formula))
        assert len(str(caught.value)) < 500
    for formula in ("x + age", "~ x"):
        with refused(DataError, "no-labels"):
            open_source(PEOPLE, formula=formula)
    assert list(tmp_path.iterdir()) == []


OF_THE_TABLE = [
    ("y ~ xx", "unknown-column"),
    ("why ~ x", "unknown-column"),
    ("y ~ np", "unknown-column"),
    ("y ~ I(x.values)", "unknown-column"),
    ("y ~ log(city)", "bad-formula"),
    ("y ~ offset(city) + x", "bad-formula"),
    ("y ~ C(city, Treatment('Rome'))", "bad-formula"),
    ("y ~ C(rank, levels=[1, 2, 3])", "unknown-value"),
    ("y ~ log(x)", "not-finite"),
    ("y ~ I(1 / (rank - 2))", "not-finite"),
    ("y ~ I(9 ** 9 ** 9 ** 9 + x)", "not-finite"),
    ("y ~ poly(rank, 4)", "bad-formula"),
    ("y ~ bs(age, df=2)", "bad-formula"),
    ("y ~ cr(age, df=1)", "bad-formula"),
]


def test_formulas_that_do_not_fit_the_table_are_refused():
    for formula, code in OF_THE_TABLE:
        with refused(DataError, code):
            features(open_source(PEOPLE, formula=formula))


OPTIONS = [
    ({"target": "y"}, "conflict"),
    ({"exclude": "age"}, "conflict"),
    ({"text": "city"}, "conflict"),
    ({"reference_level": "first"}, "conflict"),
    ({"missing": "mean"}, "conflict"),
    ({"weight": "age", "formula": "y ~ age"}, "column-role"),
]


def test_options_that_contradict_a_formula_are_refused():
    for options, code in OPTIONS:
        with refused(DataError, code):
            open_source(PEOPLE, **{"formula": "y ~ x + C(rank)"} | options)


def test_the_intercept_is_the_models():
    without = linsep.fit(PEOPLE, formula="y ~ x + C(rank) - 1", learner="linear")
    assert (without.fit_intercept, without.intercept_, len(without.coef_)) == (False, 0.0, 5)
    with refused(ParameterError, "conflict", option="fit_intercept"):
        linsep.fit(PEOPLE, formula="y ~ x - 1", learner="linear", fit_intercept=True)
    with refused(ParameterError, "conflict", option="fit_intercept"):
        linsep.fit(PEOPLE, formula="y ~ x", learner="linear", fit_intercept=False)


def test_other_learners_learn_from_formulas():
    model = linsep.fit(PEOPLE, formula="y ~ x * C(rank)", learner="perceptron", test=PEOPLE)
    assert model.test_scores_["rows"] == len(PEOPLE)
    assert (model.predict(PEOPLE) == model.predict(PEOPLE.iloc[::-1])[::-1]).all()
    scale = model.recipe_["scale"]
    assert set(scale) == set(model.get_feature_names_out())
    _, rows = matrix("x * C(rank)", PEOPLE)
    centers, spreads = np.array(list(scale.values())).T
    np.testing.assert_allclose(centers, rows.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(spreads, rows.std(axis=0))


EVIL = "__import__('os').system('touch evil')"
FORGED = {
    "code": lambda blocks: blocks[-1].update(expression=EVIL),
    "code in a transformation": lambda blocks: blocks[-1].update(expression=f"bs({EVIL}, df=4)"),
    "attribute": lambda blocks: blocks[-1].update(expression="bs(age.values, df=4)"),
    "other column": lambda blocks: blocks[-1].update(expression="bs(salary, df=4)"),
    "no constants": lambda blocks: blocks[-1].pop("constants"),
    "constants of text": lambda blocks: blocks[-1]["constants"].update(knots=["x"]),
    "fewer rows of codes": lambda blocks: blocks[1]["coding"].pop(),
    "fewer constants": lambda blocks: blocks[-1]["constants"].pop("knots"),
    "expression that is no text": lambda blocks: blocks[-1].update(expression=3),
    "far codes": lambda blocks: blocks[1]["coding"][1].__setitem__(0, [99]),
}


def test_forged_recipes_are_refused(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forged = linsep.fit(
        PEOPLE, formula="y ~ x + C(rank) + city + bs(age, df=4)", learner="logistic"
    )
    recipe = forged.recipe_
    for forge in FORGED.values():
        forged.learner.recipe_ = copy.deepcopy(recipe)
        forge(forged.recipe_["formula"]["blocks"])
        with refused(DataError, "bad-model-file"):
            forged.predict(PEOPLE)
        model_files.save(forged, "forged.linsep", force=True)
        with refused(ModelFileError, "bad-model-file"):
            linsep.load("forged.linsep")
    assert [path.name for path in tmp_path.iterdir()] == ["forged.linsep"]
    for key in ("features", "blocks", "inputs", "text"):
        recipe = json.loads(json.dumps(model.recipe_))
        del recipe["formula"][key]
        with refused(DataError, "bad-model-file"):
            open_source(PEOPLE, recipe=recipe)


def test_formulas_need_no_other_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    formula = "y ~ C(rank) + poly(age, 2) + bs(x, df=4) + cr(`a b`, df=3, constraints='center')"
    model = linsep.fit(PEOPLE, formula=formula, learner="logistic")
    again = open_source(PEOPLE, recipe=json.loads(json.dumps(model.recipe_)))
    assert (model.predict(again) == model.predict(PEOPLE)).all()


def test_slopes_of_splines_are_exact_up_to_their_bounds():
    """Of the combination of splines that is the straight line."""
    source = open_source(PEOPLE, formula="y ~ bs(age, df=6, degree=2) + cr(age, df=4)")
    list(source.batches())
    bs, cr = (block["constants"]["knots"] for block in source.recipe()["formula"]["blocks"])
    line = [(a + b) / 2 - bs[0] for a, b in pairwise(bs[2:-1])]
    (slopes,) = source.by_formula(slope="age").batches()
    np.testing.assert_allclose(slopes.X[:, :6] @ line, 1.0, rtol=1e-12)
    np.testing.assert_allclose(slopes.X[:, 6:] @ cr, 1.0, rtol=1e-12)
    model = open_source(PEOPLE.assign(age=PEOPLE["age"] + 20), formula="y ~ cr(age, df=4)")
    list(model.batches())
    (beyond,) = open_source(PEOPLE, recipe=model.recipe()).batches()
    knots = model.recipe()["formula"]["blocks"][0]["constants"]["knots"]
    np.testing.assert_allclose(beyond.X @ knots, PEOPLE["age"], rtol=1e-12)


def test_everyday_forms_of_r():
    x = np.array([-2.0, 0.5, 3, 4, -1, 7])
    frame = pd.DataFrame({"x": x, "z": np.abs(x), "r": [1, 2, 3, 1, 2, 3], "y": [0, 1, 0, 1, 1, 0]})
    expected = {
        "I(x^2 - z)": x**2 - np.abs(x), "I((x - 1)^2)": (x - 1) ** 2, "abs(x)": np.abs(x),
        "I(x > 0.5)": x > 0.5, "I((x <= 3) * z)": (x <= 3) * np.abs(x),
        "log10(z)": np.log10(np.abs(x)), "log2(z)": np.log2(np.abs(x)),
        "log1p(z)": np.log1p(np.abs(x)),
    }  # fmt: skip
    for term, values in expected.items():
        (batch,) = open_source(frame, formula=f"y ~ {term}").batches()
        np.testing.assert_array_equal(batch.X[:, 0], values)
    (batch,) = open_source(frame, formula="y ~ poly(x, 2, raw=TRUE)").batches()
    np.testing.assert_array_equal(batch.X, np.column_stack([x, x**2]))
    both = [list(open_source(frame, formula=f"y ~ {f}(r)").batches()) for f in ("factor", "C")]
    np.testing.assert_array_equal(both[0][0].X, both[1][0].X)
    source = open_source(frame, formula="y ~ abs(x)")
    list(source.batches())
    (slopes,) = source.by_formula(slope="x").batches()
    np.testing.assert_array_equal(slopes.X[:, 0], np.sign(x))
    source = open_source(frame, formula="y ~ I(x > 1) + I(z * (x == 3))")
    list(source.batches())
    (slopes,) = source.by_formula(slope="z").batches()
    np.testing.assert_array_equal(slopes.X, np.column_stack([0 * x, x == 3]))


def test_columns_whose_names_are_no_names_in_python():
    """Numbers were the intercept; Python replaces the micro sign."""
    for text, names in (("y ~ .", ["1", "x"]), ("y ~ . - `1`", ["x"]), ("y ~ `1` + x", ["1", "x"])):
        found = parsed(text, ["1", "x", "y"])
        assert (found.columns, found.intercept) == (names, True)
    found = parsed("y ~ log(`1`) + log(\u00b5) + a.1:class + log(`größe`)")
    assert found.columns == ["1", "\u00b5", "größe", "a.1", "class"]


BASE = 2**53
FRAME = pd.DataFrame(
    {"id": [BASE + k for k in (1, 3, 5, 7, 2, 4)], "x": [1.0, 2, 4, 3, 5, 7],
     "n": [3, 2, 4, 5, 6, 7], "y": [1.0, 3, 5, 7, 2, 4], "c": [0, 1, 0, 1, 1, 0]}
)  # fmt: skip


def test_large_numbers_that_float64_holds_are_exact():
    even = FRAME.assign(id=[BASE + 2**20 * k for k in (1, 3, 5, 7, 2, 4)], w=[2 * BASE] * 6)
    model = linsep.fit(even, formula="y ~ id", learner="linear", weight="w")
    x, y = [Fraction(int(v)) for v in even["id"]], [Fraction(v) for v in even["y"]]
    mx, my = sum(x) / 6, sum(y) / 6
    slope = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    slope /= sum((a - mx) ** 2 for a in x)
    assert model.coef_[0] == pytest.approx(float(slope), rel=1e-12)
    shifted = linsep.fit(even, formula=f"y ~ I(id - {BASE})", learner="linear")
    assert shifted.coef_[0] == pytest.approx(float(slope), rel=1e-12)
