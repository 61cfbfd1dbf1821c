"""Numbers that float64 does not hold are refused in every part of a formula and beside it."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import linsep
from linsep.errors import DataError
from refusals import refused

pytest.importorskip("formulaic")

pytestmark = pytest.mark.uncompiled

BASE = 2**53
FRAME = pd.DataFrame(
    {"id": [BASE + k for k in (1, 3, 5, 7, 2, 4)], "x": [1.0, 2, 4, 3, 5, 7],
     "n": [3, 2, 4, 5, 6, 7], "y": [1.0, 3, 5, 7, 2, 4], "c": [0, 1, 0, 1, 1, 0]}
)  # fmt: skip
SAID = f"column 'id' is {BASE + 1}, which is not exactly representable as float64"


def _csv(frame, folder):
    frame.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def _parquet(frame, folder):
    frame.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def _json(frame, folder):
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True)
    return folder / "rows.jsonl"


TABLES = {
    "pandas": lambda frame, _: frame, "polars": lambda frame, _: pl.DataFrame(frame),
    "csv": _csv, "parquet": _parquet, "json lines": _json,
}  # fmt: skip

PARTS = {
    "column": {"formula": "y ~ id"},
    "product": {"formula": "y ~ x:id"},
    "log": {"formula": "y ~ log(id)"},
    "poly": {"formula": "y ~ poly(id, 2)"},
    "spline": {"formula": "y ~ bs(id, df=4)"},
    "arithmetic": {"formula": f"y ~ I(id - {BASE})"},
    "factor": {"formula": "y ~ C(id)"},
    "dot": {"formula": "y ~ . - n - c"},
    "offset in the formula": {"formula": "y ~ x + offset(id)"},
    "offset": {"formula": "y ~ x", "offset": "id"},
    "offset without a formula": {"target": "y", "include": ["x"], "offset": "id"},
    "weight": {"formula": "y ~ x", "weight": "id"},
    "weight without a formula": {"target": "y", "include": ["x"], "weight": "id"},
    "trials": {"formula": "~ x", "successes": "n", "trials": "id", "learner": "logistic"},
    "trials without a formula": {
        "include": ["x"], "successes": "n", "trials": "id", "learner": "logistic"},
    "products": {"target": "y", "include": ["x", "id"], "products": ["x:id"]},
    "logistic": {"formula": "c ~ id", "learner": "logistic"},
    "perceptron": {"formula": "c ~ id + x", "learner": "perceptron"},
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("part", PARTS)
def test_whole_numbers_are_refused(part, table, tmp_path):
    with pytest.raises(DataError) as caught:
        linsep.fit(TABLES[table](FRAME, tmp_path), **{"learner": "linear"} | PARTS[part])
    said = str(caught.value)
    assert SAID in said
    assert {"csv": "line 2", "json lines": "line 1"}.get(table, "row 1") in said
    beside = any(PARTS[part].get(role) == "id" for role in ("offset", "weight", "trials"))
    assert said.endswith("name another column.") == beside
    assert ("out of the formula" in said) == ("formula" in PARTS[part] and not beside)


@pytest.mark.parametrize("table", TABLES)
def test_the_target_is_refused_as_without_a_formula(table, tmp_path):
    data = TABLES[table](FRAME, tmp_path)
    said = []
    for how in ({"formula": "id ~ x"}, {"target": "id", "include": ["x"]}):
        with pytest.raises(DataError) as caught:
            linsep.fit(data, learner="linear", **how)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("table", TABLES)
def test_large_numbers_that_float64_holds_are_exact(table, tmp_path):
    even = FRAME.assign(id=[BASE + 2 * k for k in (1, 3, 5, 7, 2, 4)], w=[2 * BASE] * 6)
    data = TABLES[table](even, tmp_path)
    model = linsep.fit(data, formula="y ~ id", learner="linear", weight="w")
    x, y = [Fraction(int(v)) for v in even["id"]], [Fraction(v) for v in even["y"]]
    mx, my = sum(x) / 6, sum(y) / 6
    slope = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    slope /= sum((a - mx) ** 2 for a in x)
    assert model.coef_[0] == pytest.approx(float(slope), rel=1e-12)
    shifted = linsep.fit(data, formula=f"y ~ I(id - {BASE})", learner="linear")
    assert shifted.coef_[0] == pytest.approx(float(slope), rel=1e-12)


@pytest.mark.parametrize("table", ["pandas", "csv"])
def test_new_rows_are_refused(table, tmp_path):
    model = linsep.fit(FRAME.assign(id=range(6)), formula="y ~ x + id", learner="linear")
    with pytest.raises(DataError) as caught:
        model.predict(TABLES[table](FRAME, tmp_path))
    assert SAID in str(caught.value)


def test_rows_that_are_left_out_may_hold_any_number(tmp_path):
    frame = FRAME.assign(x=[np.nan, 2, 4, 3, 5, 7], id=[BASE + 1, 3, 5, 7, 2, 4])
    for table in ("pandas", "csv", "parquet"):
        data = TABLES[table](frame, tmp_path)
        model = linsep.fit(data, formula="y ~ x + id", learner="linear", missing="drop")
        assert model.n_rows_ == 5


def test_decimals_and_later_rows(tmp_path):
    long = pd.DataFrame({"id": np.arange(9000), "y": np.arange(9000) % 7.0})
    long.loc[8765, "id"] = BASE + 1
    for table, place in (("csv", "line 8767"), ("pandas", "row 8766"), ("parquet", "row 8766")):
        with pytest.raises(DataError) as caught:
            linsep.fit(TABLES[table](long, tmp_path), formula="y ~ log(id + 1)", learner="linear")
        assert place in str(caught.value)
        assert SAID in str(caught.value)
    decimals = FRAME.assign(id=[Decimal(BASE + k) / 2 for k in (1, 3, 5, 7, 2, 4)])
    linsep.fit(decimals, formula="y ~ id", learner="linear")  # rounded, below 2^53
    with refused(DataError, "not-exact", row=1, column="id"):
        linsep.fit(decimals.assign(id=decimals["id"] * 4 + 1), formula="y ~ id", learner="linear")


@pytest.mark.parametrize("table", ["pandas", "parquet", "csv"])
def test_proofs_refuse_products_of_rounded_numbers(table, tmp_path):
    data = TABLES[table](FRAME[["id", "x", "c"]], tmp_path)
    with pytest.raises(DataError) as caught:
        linsep.separation(linsep.open_source(data, target="c", products=["id:x"]))
    assert SAID in str(caught.value)
    with pytest.raises(DataError) as caught:
        linsep.separation(linsep.open_source(data, formula="c ~ id + x"))
    assert SAID in str(caught.value)
    assert "Parquet" not in str(caught.value)
