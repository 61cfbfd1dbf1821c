"""Columns as Parquet, Arrow files and frames have them: each kind is read as the values that Arrow
was given, from each of the three, or refused in a sentence.
"""

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linsep import open_source
from linsep.errors import DataError
from refusals import refused

DAYS = [dt.date(2024, 1, 31), dt.date(1969, 12, 31), dt.date(1970, 1, 1)]
NOON = [dt.datetime(2024, 1, 31, 12), dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 18)]
NOON_DAYS = [19753.5, 0.0, -0.25]


@dataclass
class Read:
    """A column ``a`` beside labels ``y``: the features it becomes, by name."""

    column: Any
    features: dict[str, list[float]]
    how: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float64"
    #: where the column can be stored
    forms: tuple[str, ...] = ("parquet", "arrow", "frame")


@dataclass
class Refused:
    """A column that is refused, and the code of the error."""

    column: Any
    code: str
    how: dict[str, Any] = field(default_factory=dict)
    forms: tuple[str, ...] = ("parquet", "arrow", "frame")


def numbers(*values):
    return {"a": list(map(float, values))}


def words(*values):
    return {f"a={v}": [float(v == w) for w in values] for v in sorted(set(values) - {None})}


def codes(values, kind=None, ordered=False):
    found = pa.array(values, kind).dictionary_encode()
    return pa.DictionaryArray.from_arrays(found.indices, found.dictionary, ordered=ordered)


MISSING = {"missing": "zero"}
ARROW = ("arrow", "frame")
SITUATIONS = {
    "int8": Read(pa.array([1, -2, 3], pa.int8()), numbers(1, -2, 3)),
    "uint64": Read(pa.array([0, 2, 2**53], pa.uint64()), numbers(0, 2, 2**53)),
    "int64 beyond": Read(pa.array([1, 2**53 + 1, 0]), numbers(1, 2**53, 0)),
    "float16": Read(
        pa.array(np.array([1.5, -2, 0], np.float16)), numbers(1.5, -2, 0), dtype="float32"
    ),
    "float32": Read(pa.array([1.5, -2, 0], pa.float32()), numbers(1.5, -2, 0), dtype="float32"),
    "NaN": Refused(pa.array([0.1, np.nan, 0]), "missing-value"),
    "null, zero": Read(pa.array([1, None, 3]), numbers(1, 0, 3), MISSING),
    "decimal128": Read(pa.array([Decimal("1.50"), Decimal("-2.25"), Decimal("0.10")]),
                       numbers(1.5, -2.25, 0.1)),
    "long decimals": Read(pa.array([Decimal(5), Decimal(2**53 + 1), Decimal(7)]),
                          numbers(5, 2**53, 7)),
    "string views": Read(pa.array(["u", "a text of some length", "u"], pa.string_view()),
                         words("u", "a text of some length", "u")),
    "text with newlines": Read(pa.array(["u\nv", "v", 'w"']), words("u\nv", "v", 'w"')),
    "dictionary with null": Read(codes(["u", None, "v"]), words("u", None, "v"), MISSING),
    "ordered dictionary": Read(codes(["v", "u", "v"], ordered=True),
                               {"a=v": [1, 0, 1], "a=u": [0, 1, 0]}),
    "dictionary of numbers": Read(codes([5, 7, 5]), numbers(5, 7, 5), forms=ARROW),
    "ordered dictionary of numbers": Read(codes([7, 5, 7], ordered=True),
                                          {"a=7": [1, 0, 1], "a=5": [0, 1, 0]}, forms=ARROW),
    "bool as categories": Read(pa.array([True, False, True]),
                               {"a=false": [0, 1, 0], "a=true": [1, 0, 1]}, {"categorical": "a"}),
    "run-end encoded": Refused(pa.RunEndEncodedArray.from_arrays([2, 3], [1.0, 2.0]),
                               "column-type", forms=ARROW),
    "date32": Refused(pa.array(DAYS), "column-type"),
    "date32, said": Read(pa.array(DAYS), numbers(19753, -1, 0), {"date": "a"}),
    "timestamp[us], said": Read(pa.array(NOON, pa.timestamp("us")), numbers(*NOON_DAYS),
                                {"date": "a"}),
    "a zone, said": Read(pa.array(NOON, pa.timestamp("us", "Europe/Berlin")), numbers(*NOON_DAYS),
                         {"date": "a"}),
    "timestamp with null": Read(pa.array([NOON[0], None, NOON[1]]), numbers(19753.5, 0, 0),
                                {"date": "a", "missing": "zero"}),
    "numbers as dates": Refused(pa.array([1, 2, 3]), "bad-value",
                                {"date": "a"}),
    "time": Refused(pa.array([dt.time(1), dt.time(2), dt.time(3)]), "column-type"),
    "list": Refused(pa.array([[1], [2, 3], []]), "column-type"),
    "duration as categories": Read(pa.array([dt.timedelta(1), dt.timedelta(2), dt.timedelta(1)],
                                            pa.duration("s")),
                                   {"a=172800": [0, 1, 0], "a=86400": [1, 0, 1]},
                                   {"categorical": "a"}),
    "binary": Refused(pa.array([b"u", b"v", b"w"]), "column-type"),
    "nulls of no type, zero": Read(pa.nulls(3), numbers(0, 0, 0), MISSING),
    "nulls of a type, mean": Refused(pa.nulls(3, pa.float64()), "missing-value",
                                     {"missing": "mean"}),
}  # fmt: skip
READ = [(n, f) for n, one in SITUATIONS.items() if isinstance(one, Read) for f in one.forms]
REFUSED = [(n, f) for n, one in SITUATIONS.items() if isinstance(one, Refused) for f in one.forms]
Y = [0, 1, 0]


def stored(folder, table, form):
    """The table as a file, or as it is."""
    if form == "frame":
        return table
    path = folder / f"rows.{form}"
    if form == "parquet":
        try:
            pq.write_table(table, path)
        except pa.ArrowNotImplementedError:  # in this release of pyarrow
            return table
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


@pytest.mark.parametrize("form", ["parquet", "arrow", "frame"])
def test_what_is_read(tmp_path, form):
    for name in [name for name, where in READ if where == form]:
        one = SITUATIONS[name]
        data = stored(tmp_path, pa.table({"a": one.column, "y": Y}), form)
        source = open_source(data, target="y", **one.how)
        (batch,) = source.batches()
        assert source.feature_names == list(one.features), name
        assert batch.X.dtype == one.dtype, name
        wanted = np.array(list(one.features.values())).T
        np.testing.assert_array_equal(dense(batch.X), wanted.astype(one.dtype), name)
        assert batch.y.tolist() == Y
        (again,) = open_source(data, recipe=source.recipe(), labeled=False).batches()
        np.testing.assert_array_equal(dense(again.X), dense(batch.X), name)


@pytest.mark.parametrize("form", ["parquet", "arrow", "frame"])
def test_what_is_refused(tmp_path, form):
    for name in [name for name, where in REFUSED if where == form]:
        one = SITUATIONS[name]
        data = stored(tmp_path, pa.table({"a": one.column, "y": Y}), form)
        with refused(DataError, one.code, column="a"):
            for _ in open_source(data, target="y", **one.how).batches():
                pass


# tables

NAMES = ('a"b', "a\nb", "\ufeffa", "a*[x]", "{}", "a\U0001f600")


def test_names_of_columns(tmp_path):
    for form in ["parquet", "arrow", "frame"]:
        for name in NAMES:
            data = stored(tmp_path, pa.table({name: ["u", "v", "u"], "z": [1, 2, 3], "y": Y}), form)
            source = open_source(data, target="y")
            (batch,) = source.batches()
            assert source.feature_names == ["z", f"{name}=u", f"{name}=v"]
            left = open_source(data, target="y", exclude=name)
            (batch,) = left.batches()
            assert left.feature_names == ["z"]
            assert batch.X.tolist() == [[1.0], [2.0], [3.0]]


EMPTY = pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
TABLES = {
    "no rows": (EMPTY, "no-rows"),
    "labels only": (pa.table({"y": Y}), "no-columns"),
    "no name": (pa.table({"": [1, 2], "y": [0, 1]}), "column-type"),
    "labels of dates": (pa.table({"a": [1, 2], "y": DAYS[:2]}), "label-type"),
}  # fmt: skip


def test_tables_that_are_refused(tmp_path):
    for form in ("parquet", "arrow", "frame"):
        for table, code in TABLES.values():
            with refused(DataError, code):
                list(open_source(stored(tmp_path, table, form), target="y").batches())


FRAMES = {
    "nullable integers": (pd.array([1, None, 3], "Int64"), [1.0, 0.0, 3.0]),
    "nullable truth": (pd.array([True, None, False], "boolean"), [1.0, 0.0, 0.0]),
    "integers of Arrow": (pd.array([1, None, 3], "int64[pyarrow]"), [1.0, 0.0, 3.0]),
    "sparse": (pd.arrays.SparseArray([0.0, 1.5, 0.0]), [0.0, 1.5, 0.0]),
    "objects of decimals": ([Decimal("1.5"), Decimal(2), Decimal(3)], [1.5, 2.0, 3.0]),
    "strided": (np.arange(6.0)[::2], [0.0, 2.0, 4.0]),
}  # fmt: skip


def test_columns_of_pandas():
    for column, wanted in FRAMES.values():
        frame = pd.DataFrame({"a": column, "y": Y}, index=[7, 7, 9])
        source = open_source(frame, target="y", missing="zero")
        (batch,) = source.batches()
        assert batch.X[:, 0].tolist() == wanted


def test_categories_of_pandas_are_those_of_its_files(tmp_path):
    columns = {"a": ["mid", "low", "high"], "b": [10, 2, 10], "c": [True, None, False]}
    frame = pd.DataFrame({k: pd.Categorical(v) for k, v in columns.items()} | {"y": Y})
    frame["a"] = frame["a"].cat.set_categories(["low", "mid", "high"])
    forms = [stored(tmp_path, pa.Table.from_pandas(frame), form) for form in ("parquet", "arrow")]
    for data in (frame, *forms):
        source = open_source(data, target="y", reference_level="first", missing="zero")
        assert [b.X.toarray().tolist() for b in source.batches()] == [
            [[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 1, 0]]
        ]
        assert source.feature_names == ["a=mid", "a=high", "b=10", "c=true"]


def test_text_in_pages_of_differences(tmp_path):
    table, path = pa.table({"a": ["uv", "uw", "uv"], "y": Y}), tmp_path / "a.parquet"
    pq.write_table(table, path, use_dictionary=["y"], column_encoding={"a": "DELTA_BYTE_ARRAY"})
    assert [b.X.toarray().tolist() for b in open_source(path, target="y").batches()] == [
        [[1, 0], [0, 1], [1, 0]]
    ]


def test_a_model_refuses_columns_of_other_types():
    for known, column, how in (
        (["2024-01-31", "2024-02-01", "2024-01-31"], [[1], [2], []], {"date": "a"}),
        (["1", "2", "1"], [{"b": 1}] * 3, {"numeric": "a"}),
    ):
        learned = open_source(pa.table({"a": known, "y": Y}), target="y", **how)
        list(learned.batches())
        with refused(DataError, "column-type", column="a"):
            open_source(pa.table({"a": column}), recipe=learned.recipe(), labeled=False)
