"""Whole numbers with more digits than a float holds: exact, or refused."""

import json
from io import BytesIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from linsep import LinearRegression, LogisticRegression, Perceptron, open_source
from linsep.describing.describing import Description
from linsep.distributed.collections import _rows
from linsep.errors import DataError
from linsep.rewriting import write_svmlight
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


FORMATS = ["csv", "jsonl", "parquet", "arrow"]


TEXTS = {
    "svm": "".join(f"{1 - 2 * (k // 60)} 1:{x}  # 2:{x}\n" for k, x in enumerate(STAMPS)),
    "vw": "".join(f"{1 - 2 * (k // 60)} |n a:{x}\n" for k, x in enumerate(STAMPS)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    few = np.arange(120.0) % 7
    write_tables(folder, pd.DataFrame({"stamp": STAMPS, "again": STAMPS, "x": few, "y": Y}))
    for ending, text in TEXTS.items():
        (folder / f"t.{ending}").write_text(text)
    return folder


def source_of(folder, ending, **options):
    how = {"target": "y"} if ending in FORMATS else {}
    return open_source(folder / f"t.{ending}", **how, **options)


@pytest.mark.parametrize("ending", FORMATS)
def test_tables_are_refused_where_a_number_would_be_rounded(folder, ending):
    for learn, scale in ((LogisticRegression().fit, "none"), (Perceptron().fit, "standard")):
        with refused(DataError, "not-exact", column="stamp"):
            learn(source_of(folder, ending, scale=scale))


@pytest.mark.parametrize("ending", TEXTS)
def test_sparse_text_is_refused_where_a_number_would_be_rounded(folder, ending):
    source = source_of(folder, ending)
    for read in (Perceptron().fit, lambda source: list(source.exactly())):
        with refused(DataError, "not-exact"):
            read(source)
    with refused(DataError, "not-exact"):
        Description([str(folder / f"t.{ending}")]).read()
    with refused(DataError, "not-exact"):
        write_svmlight(source, BytesIO())


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


def test_describe_leaves_them_out(folder):
    found = Description([str(folder / "t.csv")], target="y").read()
    assert found["left_out"] == found["separable"]["without"] == ["stamp", "again"]
    json.dumps(found)
