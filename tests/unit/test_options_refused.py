"""Options of reading that name a column that is missing, or say what cannot be: one sentence."""

import re

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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
#: options, and what the sentence says of a table without the list column, of every form
ANYWHERE = {
    "target": ({"target": "yy"}, "has no label column 'yy', only age, town, y: did you mean"),
    "exclude": ({"exclude": "twon"}, "has no column 'twon' to exclude: did you mean 'town'"),
    "exclude, a glob": ({"exclude": "z*"}, r"has no column 'z\*' to exclude"),
    "weight": ({"weight": "w"}, "has no column 'w' of weights, only age, town, y: check its name"),
    "weight of text": ({"weight": "town"}, "column 'town' holds .*, but weights must be numbers"),
    "group": ({"group": "g"}, "has no column 'g' of groups, only age, town, y: check its name"),
    "text": ({"text": "note"}, "has no column 'note' to read as text: its columns are age"),
    "text of numbers": ({"text": "age"}, "column 'age' holds numbers, not text"),
    "categorical": ({"categorical": "rank"}, "has no column 'rank', only .*: correct categorical"),
    "categorical, a glob": ({"categorical": "r*"}, r"no column 'r\*', only .*: correct cat"),
    "numeric": ({"numeric": "rank"}, "has no column 'rank', only age, town, y: correct numeric"),
    "numeric of text": ({"numeric": "town"}, "column 'town' holds 'Ulm', not a number: correct it"),
    "date": ({"date": "day"}, "has no column 'day', only age, town, y: correct date"),
    "date with a format": ({"date": "day=%d.%m.%Y"}, "has no column 'day', only .*: correct date"),
    "date of text": ({"date": "town"}, "column 'town' holds 'Ulm', not a date of the form 2024-01"),
    "date of numbers": ({"date": "age"}, "column 'age' holds '31', not a date"),
    "include": ({"include": "rank"}, "has no column 'rank', only age, town, y: correct include"),
    "include the label alone": ({"include": "y"}, "no feature columns"),
    "two types": ({"numeric": "age", "categorical": "a*"}, "'age' is declared as categorical and"),
    "left out and text": ({"exclude": "town", "text": "town"}, "named as text, but is left out"),
    "label left out": ({"exclude": "y"}, "label column 'y' is also excluded: choose one"),
    "reference level of nothing": ({"reference_level": {"rank": "1"}}, "has no text column 'rank'"),
    "reference level of numbers": ({"reference_level": {"age": "1"}}, "'age' holds numbers, which"),
    "no such level": ({"reference_level": {"town": "Rom"}}, "has no value 'Rom' to be the ref"),
    "hashed and counted": ({"hash_bits": 4, "min_count": 2}, "value, not hashing: leave out has"),
    "decimal": ({"decimal": "xy"}, "decimal is 'xy': give one character, such as ',' or '.'"),
    "thousands": ({"thousands": "1"}, "thousands is '1': give one character"),
    "both": ({"decimal": ",", "thousands": ","}, "are both ',': choose two characters"),
    "units": ({"units": "yes"}, "units is 'yes': give True or False"),
    "missing": ({"missing": "no"}, "missing is 'no': choose error, zero, drop or mean"),
    "scale": ({"scale": "big"}, "scale is 'big': choose none or standard"),
    "hash_bits": ({"hash_bits": 99}, "hash_bits is 99: choose a number from 1 to 30"),
    "index_base": ({"index_base": 1}, "leave out index_base"),
    "interactions": ({"interactions": ["ab"]}, "leave out interactions"),
}  # fmt: skip
#: options of CSV, and what they are refused with
OF_CSV = {
    "delimiter": ({"delimiter": "xy"}, "delimiter is 'xy': give one character that is not a let"),
    "another delimiter": ({"delimiter": ";"}, "one column with ';' as delimiter, but contains ','"),
    "quotes": ({"quotes": "no"}, "quotes is 'no': give True or False"),
    "header": ({"header": "no"}, "header is 'no': give True or False"),
    "null_values": ({"null_values": [3]}, "null_values has 3: give text"),
    "comment": ({"comment": ""}, "comment is '': give the text that such lines begin with"),
    "skip_rows": ({"skip_rows": 2.5}, "skip_rows is 2.5: give a number of lines"),
    "encoding": ({"encoding": "klingon"}, "encoding is 'klingon': give a name that Python knows"),
    "another encoding": ({"encoding": "utf-16"}, "line 1 is not utf-16 text"),
    "format": ({"format": "xls"}, "format is 'xls': choose svmlight, vw, csv"),
}  # fmt: skip
FORMS = ["csv", "jsonl", "parquet", "pandas", "Arrow"]


def of_form(folder, frame, form):
    if form == "pandas":
        return frame
    table = pa.Table.from_pandas(frame)
    if form == "Arrow":
        return table
    path = folder / f"rows.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        pq.write_table(table, path)
    return path


def refusal(data, how):
    with pytest.raises(LinsepError) as caught:
        for _ in open_source(data, **{"target": "y"} | how).batches():
            pass
    sentence = str(caught.value)
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("option", ANYWHERE)
def test_options_of_columns(tmp_path, form, option):
    how, said = ANYWHERE[option]
    data = of_form(tmp_path, ROWS.drop(columns="tags"), form)
    found = refusal(data, how)
    assert re.search(said, found), found


@pytest.mark.parametrize("option", OF_CSV)
def test_options_of_csv(tmp_path, option):
    how, said = OF_CSV[option]
    found = refusal(of_form(tmp_path, ROWS.drop(columns="tags"), "csv"), how)
    assert re.search(said, found), found


@pytest.mark.parametrize("form", FORMS[1:])
@pytest.mark.parametrize("option", ["delimiter", "quotes", "header", "null_values", "comment",
                                    "skip_rows", "encoding"])  # fmt: skip
def test_options_of_csv_for_other_tables(tmp_path, form, option):
    how = {"delimiter": ";", "quotes": False, "header": False, "null_values": "?", "comment": "#",
           "skip_rows": 1, "encoding": "latin-1"}  # fmt: skip
    data = of_form(tmp_path, ROWS.drop(columns="tags"), form)
    assert f"leave out {option}" in refusal(data, {option: how[option]})


@pytest.mark.parametrize("form", FORMS[1:])
@pytest.mark.parametrize("option", [None, "numeric", "categorical", "date", "text"])
def test_lists_are_no_column_of_any_type(tmp_path, form, option):
    data = of_form(tmp_path, ROWS, form)
    said = refusal(data, {option: "tags"} if option else {})
    assert "column 'tags' holds " in said
    assert "list" in said
