"""Columns of other types than they look like, where a model is used: exports, servers, proofs."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import linsep
from exported import of_databases, of_onnx
from linsep import KernelPerceptron, Perceptron, open_source
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
def test_exports_take_categories_as_numbers_or_text(tmp_path, model, kind):
    wanted = model.predict(HOUSES).tolist()
    rows = [{"price": row.price, "rank": kind(row.rank)} for row in NUMBERS.itertuples(index=False)]
    for name in ("m.sql", "m.onnx"):
        linsep.export(model, tmp_path / name)
    columns = {"price": float, "rank": str if kind is str else float}
    for answer in of_databases(tmp_path / "m.sql", columns, rows):
        assert [line["linsep_prediction"] for line in answer] == wanted
    texts = [row | {"rank": str(int(row["rank"]))} for row in rows]
    assert of_onnx(tmp_path / "m.onnx", texts, ["price", "rank"])[0].tolist() == wanted


@pytest.mark.parametrize("name", ["m.sql", "m.onnx"])
def test_exports_refuse_dates(tmp_path, dated, name):
    with refused(ExportError, "unsupported", column="day"):
        linsep.export(dated, tmp_path / name)


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
        assert predicted([row | {"rank": str(row["rank"])} for row in rows]) == wanted
        plain = [row | {"price": price} for row, price in zip(rows, NUMBERS.price, strict=True)]
        assert predicted(plain) == wanted
        refused = client.refused("/predict", {"rows": [rows[0] | {"day": "2024-01-31"}]})
        assert refused[0] == 422
        assert "column 'day' holds '2024-01-31', not a date as %d.%m.%Y says" in refused[1]
        refused = client.refused("/predict", {"rows": [rows[0] | {"day": 3}]})
        assert "column 'day' holds 3, not a string" in refused[1]


@pytest.mark.parametrize(("how", "form"), [({"numeric": "id"}, "frame"), ({"units": True}, "csv")])
def test_long_numbers_in_text_are_refused(tmp_path, how, form):
    frame = pd.DataFrame({"id": ["12345678901234561", "12"] * 3, "y": [0, 1] * 3})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with refused(DataError, "not-exact", column="id"):
        list(open_source(frame if form == "frame" else tmp_path / "t.csv", target="y",
                         **how).batches())  # fmt: skip


@pytest.mark.parametrize("learner", [Perceptron(), KernelPerceptron()])
def test_a_fit_to_arrays_forgets_how_a_table_was_read(learner):
    learner.fit(HOUSES[["rank"]].assign(word=list("abababab")), HOUSES.sold)
    assert learner.recipe_["text"]
    X = np.arange(8.0)[:, None]
    learner.fit(X, HOUSES.sold)
    assert not hasattr(learner, "recipe_")
    assert len(learner.predict(X)) == 8


def test_a_stream_of_record_batches_is_a_table(model):
    table = pa.Table.from_pandas(HOUSES)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert model.predict(reader).tolist() == model.predict(HOUSES).tolist()


@pytest.mark.parametrize(("first", "then"), [("5 €", "6 $"), ("5 MIN", "2 HRS")])
def test_numbers_of_two_units_in_a_column_are_refused(first, then, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["price,kind", *[f"{first},a"] * 3, "4,b", f"{then},b"]), "utf-8")
    with refused(DataError, "bad-value", column="price"):
        linsep.fit(path, target="kind", units=True)


@pytest.mark.parametrize("values", [("5 €", "EUR 6"), ("5%", "6")])
def test_numbers_of_one_unit_may_be_written_in_several_ways(values, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["price,kind", *[f"{v},{k}" for k, v in enumerate(values)]]), "utf-8")
    assert linsep.fit(path, target="kind", units=True).n_features_in_ == 1
