"""Options of reading that name a column that is missing, or say what cannot be."""

import pandas as pd
import pytest

from linsep import open_source
from linsep.errors import LinsepError

ROWS = pd.DataFrame(
    {
        "age": [31, 45, 28, 60],
        "town": ["Ulm", "Bonn", "Ulm", "Bonn"],
        "tags": [[1], [2], [], [3]],
        "y": [0, 1, 0, 1],
    }
)
#: options, and the code of their error for a table without the list column, of every form
ANYWHERE = {
    "target": ({"target": "yy"}, "unknown-column"),
    "exclude": ({"exclude": "twon"}, "unknown-column"),
    "weight": ({"weight": "w"}, "unknown-column"),
    "weight and label": ({"weight": "y"}, "column-role"),
    "weight of text": ({"weight": "town"}, "column-type|not-a-number"),
    "group": ({"group": "g"}, "unknown-column"),
    "text": ({"text": "note"}, "unknown-column"),
    "text of numbers": ({"text": "age"}, "column-type"),
    "categorical": ({"categorical": "rank"}, "unknown-column"),
    "numeric": ({"numeric": "rank"}, "unknown-column"),
    "numeric of text": ({"numeric": "town"}, "not-a-number"),
    "date": ({"date": "day"}, "unknown-column"),
    "date of text": ({"date": "town"}, "bad-value"),
    "date of numbers": ({"date": "age"}, "bad-value"),
    "include": ({"include": "rank"}, "unknown-column"),
    "include the label alone": ({"include": "y"}, "no-columns"),
    "two types": ({"numeric": "age", "categorical": "a*"}, "conflict"),
    "left out and text": ({"exclude": "town", "text": "town"}, "column-role"),
    "label left out": ({"exclude": "y"}, "column-role"),
    "reference level of nothing": ({"reference_level": {"rank": "1"}}, "unknown-column"),
    "reference level of numbers": ({"reference_level": {"age": "1"}}, "unknown-column"),
    "no such level": ({"reference_level": {"town": "Rom"}}, "unknown-value"),
    "hashed and counted": ({"hash_bits": 4, "min_count": 2}, "conflict"),
    "decimal": ({"decimal": "xy"}, "bad-option"),
    "thousands": ({"thousands": "1"}, "bad-option"),
    "both": ({"decimal": ",", "thousands": ","}, "conflict"),
    "units": ({"units": "yes"}, "bad-option"),
    "missing": ({"missing": "no"}, "bad-option"),
    "index_base": ({"index_base": 1}, "conflict"),
    "interactions": ({"interactions": ["ab"]}, "conflict"),
}  # fmt: skip
#: options of CSV
OF_CSV = {
    "delimiter": ({"delimiter": "xy"}, "bad-option"),
    "another delimiter": ({"delimiter": ";"}, "wrong-format"),
    "quotes": ({"quotes": "no"}, "bad-option"),
    "null_values": ({"null_values": [3]}, "bad-option"),
    "comment": ({"comment": ""}, "bad-option"),
    "skip_rows": ({"skip_rows": 2.5}, "bad-option"),
    "encoding": ({"encoding": "klingon"}, "bad-option"),
    "another encoding": ({"encoding": "utf-16"}, "encoding"),
    "format": ({"format": "xls"}, "bad-option"),
}  # fmt: skip
FORMS = ["csv", "jsonl", "parquet", "pandas"]


def of_form(folder, frame, form):
    if form == "pandas":
        return frame
    path = folder / f"rows.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    return path


def assert_refused(data, how, codes):
    with pytest.raises(LinsepError) as caught:
        for _ in open_source(data, **{"target": "y"} | how).batches():
            pass
    assert caught.value.code in codes.split("|"), (how, caught.value)


@pytest.mark.parametrize("form", FORMS)
def test_options_of_columns(tmp_path, form):
    data = of_form(tmp_path, ROWS.drop(columns="tags"), form)
    for how, codes in (ANYWHERE | (OF_CSV if form == "csv" else {})).values():
        assert_refused(data, how, codes)


@pytest.mark.parametrize("form", FORMS[1:])
def test_options_of_csv_for_other_tables_and_lists(tmp_path, form):
    how = {"delimiter": ";", "quotes": False, "header": False, "comment": "#", "skip_rows": 1,
           "encoding": "latin-1"} | ({} if form == "pandas" else {"null_values": "?"})  # fmt: skip
    data = of_form(tmp_path, ROWS.drop(columns="tags"), form)
    for option, value in how.items():
        assert_refused(data, {option: value}, "conflict")
    data = of_form(tmp_path, ROWS, form)
    for option in ("numeric", "categorical", "date", "text", None):
        assert_refused(data, {option: "tags"} if option else {}, "column-type|bad-value")
