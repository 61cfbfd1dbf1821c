"""What exported files predict, run by databases and onnxruntime."""

import csv
import json
import math

import numpy as np
import pytest


def of_onnx(path, rows, columns=None):
    """Labels, and scores or probabilities; ``rows`` is an array, or dicts of ``columns``.

    A text that no training has seen stands for one that is missing.
    """
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    if columns is None:
        return session.run(None, {"X": np.asarray(rows, dtype=np.float64)})
    given = {}
    for column in session.get_inputs():
        cells = [row[column.name] for row in rows]
        if column.type == "tensor(string)":
            cells = np.array(["?" if cell is None else cell for cell in cells], dtype=object)
        else:
            cells = np.array([math.nan if cell is None else cell for cell in cells], float)
        given[column.name] = cells[:, None]
    return session.run(None, given)


def of_databases(path, columns, rows, databases=("sqlite3", "duckdb")):
    """What the query answers in SQLite and in DuckDB: dicts of the columns of each row."""
    query, found = path.read_text("utf-8"), []
    for database in databases:
        connection = pytest.importorskip(database).connect(":memory:")
        kinds = ["VARCHAR" if kind is str else "DOUBLE" for kind in columns.values()]
        quoted = ['"' + name.replace('"', '""') + '"' for name in columns]
        listed = ", ".join(f"{a} {b}" for a, b in zip(quoted, kinds, strict=True))
        connection.execute(f"CREATE TABLE data (linsep_row INTEGER, {listed})")
        places = ", ".join("?" * (len(columns) + 1))
        cells = [(k, *(row[name] for name in columns)) for k, row in enumerate(rows)]
        connection.executemany(f"INSERT INTO data VALUES ({places})", cells)
        answer = connection.execute(query)
        names = [column[0] for column in answer.description]
        lines = [dict(zip(names, line, strict=True)) for line in answer.fetchall()]
        found.append(sorted(lines, key=lambda line: line["linsep_row"]))
        connection.close()
    return found


def of_json(path, rows):
    """Labels, or numbers, computed from the weights in a JSON file alone."""
    model = json.loads(path.read_text("utf-8"))
    return [_decided(model, _json_scores(model, row)) for row in rows]


def _json_scores(model, row):
    cells, square = [], 0.0
    for column in model["columns"]:
        cell = row[column["column"]]
        if column["kind"] == "text":
            if cell is None and not column["may_be_missing"]:
                return None
            cells.append(cell)
            square += cell in model["scores"][0]["weights"][column["column"]]
            continue
        cell = column["missing"] if cell is None else cell
        if cell is None:
            return None
        cells.append((cell - column["subtract"]) / column["divide"])
        square += cells[-1] ** 2
    scale = 1 / square**0.5 if model["rows_of_length_1"] and square else 1.0
    found = []
    for score in model["scores"]:
        total = 0.0
        for column, cell in zip(model["columns"], cells, strict=True):
            weights = score["weights"][str(column["column"])]
            total += weights.get(cell, 0.0) if column["kind"] == "text" else weights * cell
        found.append(total * scale + score["intercept"])
    return found


def _decided(model, scores):
    if scores is None or not model["classes"]:
        return scores and scores[0]
    classes, last = model["classes"], model["ties"] == "last"
    if model["rule"] == "sign":
        cut = model.get("threshold", 0)
        return classes[scores[0] >= cut if last else scores[0] > cut]
    values = [(score,) for score in scores]
    if model["rule"] == "pairs":
        wins, sums, k = [0] * len(classes), [0.0] * len(classes), 0
        for a in range(len(classes)):
            for b in range(a + 1, len(classes)):
                wins[b if (scores[k] >= 0 if last else scores[k] > 0) else a] += 1
                sums[b] += scores[k]
                sums[a] -= scores[k]
                k += 1
        values = list(zip(wins, sums, strict=True))
    order = range(len(classes))
    return classes[max(reversed(order) if last else order, key=lambda k: values[k])]


def of_csv(path):
    """Intercepts, numeric columns and text values of a CSV file, with their weights."""
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    found = {"about": [], "intercept": [], "number": [], "text": []}
    for kind, *cells in rows:
        found[kind].append(cells)
    return found
