"""Exports of tables whose names, texts and labels are hostile: labels of linsep, or a refusal."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import here, table
from exported import module, of_csv, of_databases, of_json, of_onnx
from linsep import (
    GaussianNaiveBayes,
    LinearRegression,
    Perceptron,
    export,
    load,
    open_source,
)
from linsep.errors import LinsepError
from refusals import refused

X = np.array([[0.0, 2.0], [1.0, 0.0], [3.0, 1.0], [0.0, 3.0], [2.0, 2.0], [5.0, 1.0]])
#: rules of every kind, and the columns that their queries add
MODELS = {
    "sign": Perceptron(max_iter=3),
    "lengths": Perceptron(max_iter=3, normalize=True),
    "pairs": Perceptron(max_iter=3, multiclass="ovo"),
    "largest": GaussianNaiveBayes(),
    "number": LinearRegression(),
}
ADDED = {
    "sign": ["score", "prediction"],
    "lengths": ["square", "unit", "length", "score", "prediction"],
    "pairs": ["score_1", "score_3", "wins_1", "wins_3", "sum_2", "prediction"],
    "largest": ["score_1", "score_3", "prediction", "probability_2"],
    "number": ["prediction"],
}


def learned(rule):
    labels = {"pairs": list("pqrpqr"), "largest": list("pqrpqr"), "number": [1, 2, 3, 4, 6, 9]}
    return MODELS[rule].fit(X, labels.get(rule, list("pqqpqp")))


@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule in ADDED for name in ADDED[rule]])
def test_data_with_a_column_that_the_query_adds_is_refused(rule, name, tmp_path):
    """In any case, and though the model does not read the column."""
    path = export(learned(rule), tmp_path / "m.sql")
    rows = [{"x0": a, "x1": b} for a, b in X.tolist()]
    assert len(of_databases(path, {"x0": float, "x1": float}, rows)) == 2
    for own in (f"linsep_{name}", f"LINSEP_{name}", f"linsep_{name.title()}"):
        given = [row | {own: -1.0} for row in rows]
        for database in ("sqlite3", "duckdb"):
            error = pytest.importorskip(database).Error
            with pytest.raises(error, match=r"(?i)ambiguous.*linsep_"):
                of_databases(path, {"x0": float, "x1": float, own: float}, given, [database])


@pytest.mark.parametrize("name", ["linsep_score", "LINSEP_Prediction"])
def test_a_model_of_a_column_that_the_query_adds_is_refused(name, tmp_path):
    model = Perceptron().fit(pd.DataFrame(X, columns=["a", name]), list("pqqpqp"))
    with refused(LinsepError, "duplicate-name"):
        export(model, tmp_path / "m.sql")
    assert export(model, tmp_path / "m.py").exists()


@pytest.mark.parametrize("name", ["rowid", "OID", "_rowid_"])
def test_numbers_of_rows_do_not_stand_for_a_column(name, tmp_path):
    """SQLite and DuckDB have hidden columns, which a table without such a column must not lend."""
    frame = pd.DataFrame(X, columns=["a", name])
    model = Perceptron().fit(frame, list("pqqpqp"))
    path = export(model, tmp_path / "m.sql")
    rows = [{"a": a, name: b} for a, b in X.tolist()]
    for lines in of_databases(path, {"a": float, name: float}, rows):
        assert [line["linsep_prediction"] for line in lines] == model.predict(frame).tolist()
    for database in ("sqlite3", "duckdb"):
        error = pytest.importorskip(database).Error
        with pytest.raises(error, match=name):
            of_databases(path, {"a": float}, [{"a": a} for a, _ in X.tolist()], [database])


NAMES = ["data", "linsep_rows", "linsep_names", "rowid", "x_y", "x-y", "int", "int_", "label"]
NAMES += ["scores", "row", "CLASSES"]
NAMES += ["x y", "a\nb", "'", '"', "; --", "*/", "%s", "{0}", "\\", "ß", "a=b"]
VALUES = ["a\rb", "a\nb", "a\r\nb", "\r", "\n", "ulm", "ULM", "Ulm", " Ulm", "Ulm ", "it's", '"']
VALUES += ["\\r", "NULL", "--", "%d", "{}", "é", "e\u0301", "\u2028", "\x85", "=1+1", "*/"]


def hostile(seed):
    """A table of odd names and values: its frame, and the columns of numbers and of texts."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(NAMES)[:6].tolist()
    numbers, texts = names[:3], names[3:]
    values = rng.permutation(VALUES)[:9].tolist()
    data = pd.DataFrame({name: rng.integers(-9, 10, 80) * 1.0 for name in numbers})
    for name in texts:
        data[name] = rng.choice(values, 80)
    labels = rng.permutation(VALUES)[:3].tolist()
    score = data[numbers[0]] + 4.0 * (data[texts[0]] < "a")
    data["the label"] = np.select([score > 3, score > -3], labels[:2], labels[2])
    return data, numbers, texts


@pytest.mark.parametrize("seed", range(6))
def test_hostile_names_and_values(seed, tmp_path):
    data, numbers, texts = hostile(seed)
    data.to_parquet(tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet", target="the label")
    how = {"multiclass": "ovo"} if seed % 2 else {"normalize": True}
    model = Perceptron(max_iter=3, **how).fit(source)
    wanted = model.predict(source).tolist()
    columns = dict.fromkeys(numbers, float) | dict.fromkeys(texts, str)
    rows = data[list(columns)].to_dict("records")
    for ending in ("json", "csv", "py", "sql", "onnx"):
        export(model, tmp_path / f"m.{ending}")
    assert of_json(tmp_path / "m.json", rows) == wanted
    assert list(map(module(tmp_path / "m.py")["predict"], rows)) == wanted
    assert of_onnx(tmp_path / "m.onnx", rows, columns)[0].tolist() == wanted
    for lines in of_databases(tmp_path / "m.sql", columns, rows):
        assert [line["linsep_prediction"] for line in lines] == wanted
    read = of_csv(tmp_path / "m.csv")
    assert [line[0] for line in read["number"]] == numbers
    assert [line[:2] for line in read["text"]] == [
        [name, value] for name in texts for value in sorted(set(data[name]))
    ]
    assert [line[1] for line in read["about"] if line[0] == "class"] == model.classes_.tolist()


def test_columns_that_ignore_case(tmp_path):
    """Values are compared as they are, whatever the collation of a column."""
    cells = [["Ulm", "p"], ["ULM", "q"], ["ulm", "q"], ["Bonn", "p"]] * 3
    table(tmp_path, "t.csv", ["t", "y"], cells)
    path = export(Perceptron().fit(open_source(tmp_path / "t.csv", target="y")), tmp_path / "m.sql")
    for database in ("sqlite3", "duckdb"):
        connection = pytest.importorskip(database).connect(":memory:")
        connection.execute("CREATE TABLE data (t VARCHAR COLLATE NOCASE, y VARCHAR)")
        connection.executemany("INSERT INTO data VALUES (?, ?)", cells)
        lines = connection.execute(path.read_text("utf-8")).fetchall()
        assert [line[-1] for line in lines] == [line[1] for line in lines]
        connection.close()


def test_names_with_a_carriage_return_are_refused_in_sql(tmp_path):
    model = Perceptron().fit(pd.DataFrame(X, columns=["a", "b\rc"]), list("pqqpqp"))
    with refused(LinsepError, "unsupported"):
        export(model, tmp_path / "m.sql")


@pytest.mark.parametrize(
    ("cells", "spelled"),
    [
        (["1.0", "0.0"], ["1", "0"]),
        (["+1", "-1"], ["1", "-1"]),
        (["1e0", "2e0"], ["1", "2"]),
        (["true", "false"], ["True", "False"]),
        (["+1", "no"], ["+1", "no"]),
    ],
)
def test_labels_are_spelled_one_way(cells, spelled, tmp_path):
    lines = [[x, x % 3, cells[x > 9]] for x in range(20)]
    table(tmp_path, "t.csv", ["a", "b", "y"], lines)
    assert here("fit", "t.csv", "--target", "y", "--model", "m", cwd=tmp_path).returncode == 0
    done = here("predict", "m", "t.csv", cwd=tmp_path)
    wanted = [spelled[x > 9] for x in range(20)]
    assert done.stdout.split("\n")[:-1] == wanted
    model = load(tmp_path / "m")
    for ending in ("json", "csv", "py", "sql", "onnx"):
        export(model, tmp_path / f"m.{ending}")
    rows = [{"a": float(a), "b": float(b)} for a, b, _ in lines]
    found = {
        "json": of_json(tmp_path / "m.json", rows),
        "py": list(map(module(tmp_path / "m.py")["predict"], rows)),
        "onnx": of_onnx(tmp_path / "m.onnx", rows, "ab")[0].tolist(),
    }
    sqlite, duckdb = of_databases(tmp_path / "m.sql", {"a": float, "b": float}, rows)
    found |= {
        "sqlite": [line["linsep_prediction"] for line in sqlite],
        "duckdb": [line["linsep_prediction"] for line in duckdb],
    }
    if spelled == ["True", "False"]:  # SQLite has 1 and 0
        found["sqlite"] = [{1: True, 0: False}[label] for label in found["sqlite"]]
    for name, labels in found.items():
        assert [str(label) for label in labels] == wanted, name
    written = [line[1] for line in of_csv(tmp_path / "m.csv")["about"] if line[0] == "class"]
    assert sorted(written) == sorted(spelled)
    rule = f"{written[1]} if the score is above 0, else {written[0]}"
    assert json.loads((tmp_path / "m.json").read_text())["meaning"] == rule
    assert rule in (tmp_path / "m.sql").read_text()
