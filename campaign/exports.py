"""Exported models whose columns, values and labels have odd names, against linsep itself."""

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from linsep import Perceptron, export
from linsep.validation.checks import of_features

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from exported import of_databases, of_json, of_onnx

#: what quotes, ends or changes something in SQL or JSON
ODD = (
    "\"'\\\n\r\t/*-;?%{}[]$`#= aBéßİıſK日😀\u2028\u0301\x7f\x01\ufeff\u202e",
    ("/*", "*/", "--", "??/", "NULL", "select", "int", "\r\n", "''"),
)
PARTS = (*ODD[0], *ODD[1])


def predicted(draw: random.Random) -> str | None:
    """Check that every format predicts what linsep predicts."""
    model, columns, rows, wanted = _case(draw)
    labels = model.classes_.tolist()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for ending in ("json", "sql", "onnx"):
            export(model, folder / f"m.{ending}")
        found = {
            "JSON": of_json(folder / "m.json", rows),
            "ONNX": of_onnx(folder / "m.onnx", rows, columns)[0].tolist(),
        }
        databases = of_databases(folder / "m.sql", columns, rows)
        for database, lines in zip(("SQLite", "DuckDB"), databases, strict=True):
            found[database] = [line["linsep_prediction"] for line in lines]
    wrong = [program for program, labels in found.items() if labels != wanted]
    return f"{wrong}: {columns}, {labels}, {rows}"[:2000] if wrong else None


def _case(draw: random.Random) -> tuple[Perceptron, dict[str, Any], list[dict], list[Any]]:
    """Return a model of columns of any names, their types, rows and its predictions of them."""
    names = _words(draw, 5, without="\r")  # which SQL cannot hold in names
    numbers, texts = names[:3], {name: _words(draw, draw.randrange(1, 5)) for name in names[3:]}
    labels = sorted(_words(draw, draw.choice((2, 3))))
    places: dict[str, dict[str, int]] = {}
    width = len(numbers)
    for name, values in texts.items():
        places[name] = {value: width + k for k, value in enumerate(sorted(values))}
        width += len(values)
    rng = np.random.default_rng(draw.randrange(1 << 32))
    y = np.array(labels, dtype=object)[np.arange(30) % len(labels)]
    how = {"multiclass": draw.choice(("native", "ovr", "ovo")), "max_iter": 2}
    model = Perceptron(tie=draw.choice(("negative", "positive")), **how)
    model.fit(rng.normal(size=(30, width)), y)
    model.recipe_ = {
        "format": "table", "target": "", "target_kind": "text", "numeric": numbers, "bool": [],
        "text": places, "hash_bits": None, "missing": draw.choice(("error", "zero")), "means": {},
        "scale": {}, "reference": {}, "exclude": [], "dtype": "float64",
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    features = np.zeros((10, width))
    for row in features:
        row[: len(numbers)] = rng.normal(size=len(numbers))
        cells: dict[str, Any] = dict(zip(numbers, row.tolist(), strict=False))
        for name, values in texts.items():
            cells[name] = draw.choice([*values, *_words(draw, 1)])
            if cells[name] in places[name]:
                row[places[name][cells[name]]] = 1.0
        rows.append(cells)
    columns = dict.fromkeys(numbers, float) | dict.fromkeys(texts, str)
    with of_features():
        return model, columns, rows, model.predict(features).tolist()


def _words(draw: random.Random, count: int, without: str = "\0") -> list[str]:
    """Return words that differ in more than case, and lack a letter."""
    found: dict[str, str] = {}
    while len(found) < count:
        word = "".join(draw.choice(PARTS) for _ in range(draw.randrange(1, 6)))
        if without not in word:
            found.setdefault(word.lower(), word)
    return list(found.values())
