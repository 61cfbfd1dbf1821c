"""linsep export: missing values, ties, calibrated models and names, in single formats."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import here, table
from exported import module, of_csv, of_databases
from linsep import LinearRegression, Perceptron, calibrate, export, open_source, save
from linsep.estimators._common.explaining import explained
from linsep.sources import ArraySource

pytestmark = pytest.mark.compiled
X = np.array([[0.0, 2.0], [1.0, 0.0], [3.0, 1.0], [0.0, 3.0]])


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_empty_text_in_a_database_is_missing(missing, tmp_path):
    """SQLite imports the empty cells of a CSV file as empty text."""
    cells = [[k, "uv"[k % 2], "pq"[k > 4]] for k in range(1, 9)]
    table(tmp_path, "t.csv", ["n", "t", "y"], cells)
    source = open_source(tmp_path / "t.csv", target="y", missing=missing, scale="standard")
    path = export(Perceptron(max_iter=9).fit(source), tmp_path / "m.sql")
    full = [{"n": str(n), "t": t} for n, t, _ in cells]
    holes = [{"n": "", "t": "u"}, {"n": None, "t": "u"}, {"n": "8", "t": ""}, {"n": "8", "t": None}]
    predict = module(export(Perceptron(max_iter=9).fit(source), tmp_path / "m.py"))["predict"]
    wanted = [predict(row) for row in full + holes]
    assert (wanted[-4:] == [None] * 4) == (missing == "drop")
    for lines in of_databases(path, {"n": str, "t": str}, full + holes):
        assert [line["linsep_prediction"] for line in lines] == wanted


@pytest.mark.parametrize("missing", ["error", "mean"])
def test_true_and_false_as_text_are_numbers(missing, tmp_path):
    """SQLite imports those of a CSV file as text, and so does the csv module of Python."""
    truths = ["true", "false", "True", "FALSE", "1", "0"]
    cells = [[truth, k % 3, "pq"[truth in truths[1::2]]] for k, truth in enumerate(truths * 2)]
    table(tmp_path, "t.csv", ["flag", "n", "y"], [["true", 1, "p"], ["false", 1, "q"]])
    source = open_source(tmp_path / "t.csv", target="y", missing=missing, scale="none")
    model = Perceptron(max_iter=9).fit(source)
    table(tmp_path, "new.csv", ["flag", "n"], [cell[:2] for cell in cells])
    new = open_source(tmp_path / "new.csv", recipe=model.recipe_, labeled=False)
    wanted = model.predict(new).tolist()
    assert wanted == [label for _, _, label in cells]
    rows = [{"flag": truth, "n": str(n)} for truth, n, _ in cells]
    assert list(map(module(export(model, tmp_path / "m.py"))["predict"], rows)) == wanted
    rows += [{"flag": "", "n": "1"}, {"flag": None, "n": "1"}]
    wanted += list(map(module(tmp_path / "m.py")["predict"], rows[-2:]))
    assert (wanted[-2:] == [None] * 2) == (missing == "error")
    path = export(model, tmp_path / "m.sql")
    for lines in of_databases(path, {"flag": str, "n": str}, rows):
        assert [line["linsep_prediction"] for line in lines] == wanted
    truth = [{"flag": row["flag"] in truths[::2], "n": 1} for row in rows[:12]]
    for lines in of_databases(path, {"flag": bool, "n": float}, truth):
        assert [line["linsep_prediction"] for line in lines] == wanted[:12]


@pytest.mark.parametrize(("tie", "above"), [("positive", "at least 0"), ("negative", "above 0")])
def test_csv_says_where_ties_go_and_what_may_be_missing(tie, above, tmp_path):
    table(tmp_path, "t.csv", ["n", "t", "y"], [[1, "u", "p"], [2, "v", "q"]])
    source = open_source(tmp_path / "t.csv", target="y", missing="zero")
    model = Perceptron(max_iter=2, tie=tie).fit(source)
    about = {tuple(line[:2]) for line in of_csv(export(model, tmp_path / "m.csv"))["about"]}
    assert {("rule", f"q if the score is {above}, else p"), ("text may be missing", "yes")} <= about


def test_calibrated_probabilities_are_not_exported_silently(tmp_path):
    model = Perceptron(max_iter=2).fit(X, list("pqqp"))
    for name in ("plain", "calibrated"):
        save(model, tmp_path / name)
        calibrate(model, X, list("pqqp"))
    done = here("export", "plain", "plain.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = here("export", "calibrated", "calibrated.py", cwd=tmp_path)
    said = "linsep: warning: Calibrated probabilities are not exported; labels are unaffected.\n"
    assert (done.returncode, done.stderr) == (0, said)
    assert "probabilities" not in module(tmp_path / "calibrated.py")


def test_empty_text_that_training_has_seen_is_a_value(tmp_path):
    """Also as the reference level, which has no weight."""
    data = pa.table({"t": ["", "u", "", "u"], "n": [1.0, 2.0, 3.0, 5.0], "y": [1.0, 2.0, 2.5, 5.0]})
    pq.write_table(data, tmp_path / "t.parquet")
    how = {"target": "y", "missing": "error", "reference_level": "first"}
    source = open_source(tmp_path / "t.parquet", **how)
    model = LinearRegression().fit(source)
    assert model.recipe_["reference"] == {"t": ""}
    wanted, rows = pytest.approx(model.predict(source).tolist()), data.to_pylist()
    assert list(map(module(export(model, tmp_path / "m.py"))["predict"], rows)) == wanted
    for lines in of_databases(export(model, tmp_path / "m.sql"), {"t": str, "n": float}, rows):
        assert [line["linsep_prediction"] for line in lines] == wanted


#: powers of ten of the lengths of rows; the squares of all but the first underflow or overflow
POWERS = [0, -155, -170, -200, -300, 155, 200, 300]


def rows_of_any_length():
    """Rows of the same labels in every length, one of them of zeros."""
    return np.vstack([*(X * 10.0**power for power in POWERS), [[0.0, 0.0]]])


def test_rows_of_any_length_are_scaled(tmp_path):
    model = Perceptron(normalize=True, max_iter=9).fit(X, [0, 1, 1, 0])
    rows = rows_of_any_length()
    wanted, scores = model.predict(rows).tolist(), model.decision_function(rows)
    assert wanted == [0, 1, 1, 0] * len(POWERS) + [wanted[-1]]
    python = module(export(model, tmp_path / "m.py"))
    assert [python["predict"](row) for row in rows.tolist()] == wanted
    assert np.ravel([python["scores"](row) for row in rows.tolist()]) == pytest.approx(scores)
    cells = [dict(zip(("x0", "x1"), row, strict=True)) for row in rows.tolist()]
    for lines in of_databases(export(model, tmp_path / "m.sql"), {"x0": float, "x1": float}, cells):
        assert [line["linsep_prediction"] for line in lines] == wanted
        assert [line["linsep_score"] for line in lines] == pytest.approx(scores)


@pytest.mark.parametrize("power", POWERS)
def test_rows_of_any_length_are_explained(power, tmp_path):
    model = Perceptron(normalize=True, max_iter=9).fit(X, [0, 1, 1, 0])
    found = explained(model, ArraySource(X * 10.0**power), 2)
    terms = [term["product"] for term in found["terms"]]
    assert sum(terms) == pytest.approx(found["score"])
