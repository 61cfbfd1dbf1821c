"""What exported files predict, run by databases, a compiler, onnxruntime and Python."""

import csv
import json
import math
import shutil
import subprocess

import numpy as np
import pytest

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="skipped: no C compiler")


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


def module(path):
    """The functions of an exported Python module, which imports nothing."""
    source = path.read_text("utf-8")
    assert "import " not in source.partition('"""\n')[2]
    names = {}
    exec(compile(source, str(path), "exec"), names)
    return names


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


def of_c(path, fields, rows, folder, classes=True):
    """Labels (or numbers) and scores by a program that includes the header.

    ``fields`` are the types of the fields of a row in order, or None for an array of numbers.
    """
    name = path.stem
    cells = ["{" + ", ".join(map(_in_c, row)) + "}" for row in rows]
    kind, given = (f"{name}_row", "&rows[i]") if fields else ("double", "rows[i]")
    size = "" if fields else f"[{len(rows[0])}]"
    show = (
        f'int code = {name}_predict({given}); if (code < 0) puts("none"); else {{'
        f'printf("%d", code); for (k = 0; k < {scores_of(path)}; k++) printf(" %a", scores[k]); '
        'puts(""); }'
        if classes
        else f'printf("%a\\n", {name}_predict({given}));'
    )
    program = folder / f"{name}_main.c"
    program.write_text(
        f'#include <stdio.h>\n#include "{path.name}"\nstatic const {kind} rows[]{size} = {{\n'
        + ",\n".join(cells)
        + f"}};\nint main(void) {{ size_t i; int k; (void) k; for (i = 0; i < {len(rows)}; i++) {{"
        f"double scores[1000]; {name}_scores({given}, scores); {show} }} return 0; }}\n"
    )
    made = folder / f"{name}.bin"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-pedantic"]
    subprocess.run([CC, *strict, program, "-o", made, "-lm"], check=True, cwd=folder)
    done = subprocess.run([made], check=True, capture_output=True, text=True)
    lines = done.stdout.split("\n")[:-1]
    if not classes:
        return [None if "nan" in line else float.fromhex(line) for line in lines]
    return [
        None if line == "none" else [int(line.split()[0]), *map(float.fromhex, line.split()[1:])]
        for line in lines
    ]


def scores_of(path):
    """How many scores a header writes."""
    return int(path.read_text("utf-8").split("/* Writes ")[1].split()[0])


def _in_c(cell):
    if cell is None:
        return "NAN"
    if isinstance(cell, str):
        return '"' + "".join(f"\\{byte:03o}" for byte in cell.encode()) + '"'
    return "NULL" if cell == () else repr(float(cell))


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
        return classes[scores[0] >= 0 if last else scores[0] > 0]
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
