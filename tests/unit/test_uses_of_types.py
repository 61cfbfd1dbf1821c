"""Columns of other types than they look like, where a model is used: exports, servers, proofs."""

import numpy as np
import pandas as pd
import pytest

import linsep
from exported import of_databases, of_onnx
from linsep import Perceptron
from linsep.errors import DataError
from linsep.exports import ExportError
from refusals import refused
from served import serving

RANKS = [1, 2, 4, 1, 2, 4, 4, 1]
HOUSES = pd.DataFrame(
    {
        "price": ["$1,200", "900", "($5)", "2,000", "750", "1,100", "80", "640"],
        "rank": RANKS,
        "day": [f"{k + 1:02}.01.2024" for k in range(8)],
        "sold": ["yes", "no", "no", "yes", "no", "yes", "no", "yes"],
    }
)
NUMBERS = HOUSES.assign(price=[1200.0, 900.0, -5.0, 2000.0, 750.0, 1100.0, 80.0, 640.0])
READ = {"units": True, "thousands": ",", "categorical": "rank"}


@pytest.fixture(scope="module")
def model():
    return linsep.fit(HOUSES, target="sold", exclude="day", **READ)


@pytest.fixture(scope="module")
def dated():
    return linsep.fit(HOUSES, target="sold", date="day=%d.%m.%Y", **READ)


@pytest.mark.parametrize("kind", [int, str])
def test_exports_take_categories_as_numbers_or_text(tmp_path, model, dated, kind):
    wanted = model.predict(HOUSES).tolist()
    rows = [{"price": row.price, "rank": kind(row.rank)} for row in NUMBERS.itertuples(index=False)]
    for name in ("m.sql", "m.onnx"):
        linsep.export(model, tmp_path / name)
    columns = {"price": float, "rank": str if kind is str else float}
    for answer in of_databases(tmp_path / "m.sql", columns, rows):
        assert [line["linsep_prediction"] for line in answer] == wanted
    texts = [row | {"rank": str(int(row["rank"]))} for row in rows]
    assert of_onnx(tmp_path / "m.onnx", texts, ["price", "rank"])[0].tolist() == wanted
    with refused(ExportError, "unsupported", column="day"):
        linsep.export(dated, tmp_path / "dated.sql")


def test_servers_read_rows_as_training_did(tmp_path, dated):
    linsep.save(dated, tmp_path / "m.linsep")
    wanted = dated.predict(HOUSES).tolist()
    rows = HOUSES.drop(columns="sold").to_dict("records")
    with serving(tmp_path / "m.linsep") as client:

        def predicted(rows):
            return client.post("/predict", {"rows": rows})["predictions"]

        assert predicted(rows) == wanted
        floats = [row | {"rank": float(row["rank"])} for row in rows]
        assert predicted(floats) == wanted
        plain = [row | {"price": price} for row, price in zip(rows, NUMBERS.price, strict=True)]
        assert predicted(plain) == wanted
        for day in ("2024-01-31", 3):
            assert client.refused("/predict", {"rows": [rows[0] | {"day": day}]})[0] == 422


def test_a_fit_to_arrays_forgets_how_a_table_was_read():
    learner = Perceptron()
    learner.fit(HOUSES[["rank"]].assign(word=list("abababab")), HOUSES.sold)
    assert learner.recipe_["text"]
    X = np.arange(8.0)[:, None]
    learner.fit(X, HOUSES.sold)
    assert not hasattr(learner, "recipe_")
    assert len(learner.predict(X)) == 8


def test_numbers_of_two_units_in_a_column_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["price,kind", *["5 €,a"] * 3, "4,b", "6 $,b"]), "utf-8")
    with refused(DataError, "bad-value", column="price"):
        linsep.fit(path, target="kind", units=True)
