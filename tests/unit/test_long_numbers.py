"""Whole numbers with more digits than a float holds: in memory, as groups and as labels."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from linsep import LinearRegression, Perceptron, open_source
from linsep.describing.describing import Description
from linsep.distributed.collections import _rows
from linsep.errors import DataError
from linsep.sources import ArraySource
from refusals import refused

FIRST = 1577134800018226901


STAMPS = FIRST + np.arange(120)


Y = np.repeat(["a", "b"], 60)


def write_tables(folder, frame):
    """The same table in each format, by the ending of its name."""
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_json(folder / "t.jsonl", orient="records", lines=True)
    frame.to_parquet(folder / "t.parquet", index=False)
    frame.to_feather(folder / "t.arrow")


@pytest.mark.parametrize(
    ("ending", "first"), [("csv", 12345678901234560), ("parquet", 12345678901234567890123456)]
)
def test_groups_with_many_digits_are_not_merged(tmp_path, ending, first):
    ids = [first + k // 2 for k in range(40)]
    if first > 2**64:
        ids = pd.array(ids, pd.ArrowDtype(pa.decimal128(38, 0)))
    frame = pd.DataFrame({"x": np.arange(40.0), "id": ids, "y": Y[40:80]})
    write_tables(tmp_path, frame)
    source = open_source(tmp_path / f"t.{ending}", target="y", group="id")
    groups = np.concatenate([batch.groups for batch in source.batches()])
    assert np.unique(groups).size == 20
    assert (groups[::2] == groups[1::2]).all()


def test_targets_of_a_regression_are_not_rounded():
    source = open_source(pd.DataFrame({"x": np.arange(120.0), "y": STAMPS}), target="y")
    with refused(DataError, "not-exact", row=1):
        LinearRegression().fit(source)
    with refused(DataError, "not-exact"):
        LinearRegression().fit(np.arange(120.0)[:, None], STAMPS)


def test_partitions_of_collections_are_not_rounded():
    with refused(DataError, "not-exact", row=1, column="s"):
        _rows(pd.DataFrame({"s": STAMPS}), STAMPS)


def test_rows_in_memory_are_refused_where_a_number_would_be_rounded():
    for rows in (
        STAMPS[:, None].tolist(), STAMPS[:, None].astype(object),
        STAMPS.astype(np.uint64)[:, None], sp.csr_matrix(STAMPS[:, None]),
        pd.DataFrame({"x": 0.5, "s": pd.array(STAMPS, "Int64")}), pa.table({"s": STAMPS}),
    ):  # fmt: skip
        with refused(ValueError, "not-exact"):
            Perceptron().fit(rows, Y)
        with refused(ValueError, "not-exact"):
            LinearRegression().fit(rows, np.arange(120.0))
    with refused(DataError, "not-exact", row=1, column=0):
        Perceptron().fit(ArraySource(STAMPS[:, None], Y))


def test_describe_leaves_them_out(tmp_path):
    frame = pd.DataFrame({"stamp": STAMPS, "again": STAMPS, "x": np.arange(120.0) % 7, "y": Y})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = Description([str(tmp_path / "t.csv")], target="y").read()
    assert found["left_out"] == found["separable"]["without"] == ["stamp", "again"]
    json.dumps(found)
