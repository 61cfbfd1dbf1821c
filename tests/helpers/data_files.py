"""Data files of every format: written, as plain Python encodes them, and as they are refused."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from linsep.errors import DataError

FORMATS = ["csv", "tsv", "csv.gz", "csv.bz2", "csv.zst", "jsonl", "ndjson", "json", "jsonl.gz",
           "parquet", "pq", "arrow", "feather", "ipc", "stream.arrow"]  # fmt: skip

CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}


def write(folder, table, ending, name="rows"):
    """Write a dict of columns or an Arrow table in the format of the ending."""
    table = table if isinstance(table, pa.Table) else pa.table(table)
    path = folder / f"{name}.{ending}"
    if ending in {"parquet", "pq"}:
        pq.write_table(table, path, row_group_size=7)
    elif ending == "stream.arrow":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
    elif ending in {"arrow", "feather", "ipc"}:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
    else:
        if "json" in ending:
            text = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
        else:
            sink = pa.BufferOutputStream()
            options = pa.csv.WriteOptions(delimiter="\t" if "tsv" in ending else ",")
            pa.csv.write_csv(table, sink, write_options=options)
            text = sink.getvalue().to_pybytes()
        write_text(path, text)
    return path


def write_text(path, text):
    codec = CODECS.get(path.suffix[1:])
    if codec is None:
        path.write_bytes(text)
    else:
        with pa.CompressedOutputStream(str(path), codec) as stream:
            stream.write(text)
    return path


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def sample(rows=23, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "height": rng.standard_normal(rows).round(3),
        "color": rng.choice(["red", "green", "blue, or so"], rows).tolist(),
        "label": rng.integers(0, 2, rows),
        "count": rng.integers(-5, 5, rows),
        "town": rng.choice(["Bern", "Zürich", 'the "Hague"', "a\nb"], rows).tolist(),
        "flag": rng.random(rows) < 0.5,
    }


def encoded(columns, target, missing="error", means=None):
    """Say in plain Python what the features of a dict of columns are: names and dense rows."""
    means = means or {}
    texts = [n for n, c in columns.items() if n != target and any(isinstance(v, str) for v in c)]
    names = [name for name in columns if name != target and name not in texts]
    rows = list(zip(*columns.values(), strict=True))
    if missing == "drop":
        rows = [row for row in rows if None not in row]
    rows = [dict(zip(columns, row, strict=True)) for row in rows]
    numbers = list(names)

    def gap(name):
        return missing == "indicator" and None in columns[name]

    for name in texts:
        values = {row[name] for row in rows if row[name] is not None}
        names += [f"{name}={value}" for value in sorted(values)]
        names += [f"{name}=(missing)"] * gap(name)
    names += [f"{name}=(missing)" for name in numbers if gap(name)]
    X = np.zeros((len(rows), len(names)))
    for i, row in enumerate(rows):
        for name in numbers:
            X[i, names.index(name)] = means.get(name, 0.0) if row[name] is None else row[name]
        for name in texts:
            if row[name] is not None:
                X[i, names.index(f"{name}={row[name]}")] = 1
        for name in filter(gap, numbers + texts):
            X[i, names.index(f"{name}=(missing)")] = row[name] is None
    return names, X, [row[target] for row in rows]


def assert_refused(load, path, **options):
    """What ``load`` refuses a file, or a list of files, with: one sentence, its folder left out."""
    with pytest.raises(DataError) as problem:
        load(path, **options)
    first = path[0] if isinstance(path, list) else path
    said = str(problem.value).replace(f"{first.parent}/", "")
    assert said.endswith((".", "?"))
    assert "\n" not in said
    assert re.search(r": \w+", said), "no advice"
    return said
