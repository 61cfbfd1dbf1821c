"""CSV as people have it: each situation is read as pandas reads it, or refused in a sentence."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from linsep import open_source
from linsep.errors import DataError
from refusals import refused


@dataclass
class Read:
    """A file that is read: bytes, options, and arguments of pandas that read it so."""

    text: str | bytes
    how: dict[str, Any] = field(default_factory=dict)
    pandas: dict[str, Any] = field(default_factory=dict)


@dataclass
class Refused:
    """A file that is not, and what the sentence says."""

    text: str | bytes
    said: str
    how: dict[str, Any] = field(default_factory=dict)


SITUATIONS = {
    # lines
    "CRLF": Read("a,b,y\r\n1,2,0\r\n3,4,1\r\n"),
    "lone CR": Read("a,b,y\r1,2,0\r3,4,1\r"),
    "blank lines before the header": Read("\n\na,b,y\n1,2,0\n3,4,1\n"),
    "a line of blanks": Refused("a,b,y\n1,2,0\n   \n3,4,1\n", "field-count"),
    "a byte-order mark": Read("\ufeffa,b,y\n1,2,0\n3,4,1\n"),
    "UTF-16, said": Read("a,b,y\n1,2,0\n3,4,1\n".encode("utf-16"), {"encoding": "utf-16"},
                         {"encoding": "utf-16"}),
    "Latin-1, said": Read("a,b,y\n1,Köln,0\n2,Bonn,1\n".encode("latin-1"), {"encoding": "latin-1"},
                          {"encoding": "latin-1"}),
    "NUL": Refused("a,b,y\n1,\0,0\n2,3,1\n", "encoding"),
    # separators
    "tabs as TSV": Read("a\tb\ty\n1\t2\t0\n3\t4\t1\n", {"format": "tsv"}, {"sep": "\t"}),
    "semicolons, unsaid": Refused("a;b;y\n1;2;0\n", "wrong-format"),
    "semicolons and commas in numbers": Read("a;b;y\n1,5;2;0\n3;4,25;1\n",
                                             {"delimiter": ";", "decimal": ","},
                                             {"sep": ";", "decimal": ","}),
    "runs of blanks": Read("  a  b y\n 1 2   0\n3\t4 1\n", {"delimiter": "whitespace"},
                           {"sep": r"\s+"}),
    "blanks behind commas": Read("a, b, y\n1, 2, 0\n3, 4, 1\n", {"target": " y"}),
    "a line for Excel": Refused("sep=;\na;b;y\n1;2;0\n", "bad-line"),
    # headers
    "a row of text as a header": Refused("x,2,u\nx,4,v\n", "bad-line",
                                         {"target": "u"}),
    "a header of numbers, said": Read("2019,2020,y\n1,2,0\n3,4,1\n", {"header": True}),
    "no name, left out": Read(",a,y\n1,2,0\n2,3,1\n", {"exclude": ""}, {"index_col": 0}),
    "row names as R writes them": Refused("a,y\n1,2,0\n2,3,1\n", "field-count"),
    "a quote in a name": Read('"a""b",c,y\n1,2,0\n3,4,1\n'),
    "lines before the header": Read("made on Monday\n\na,b,y\n1,2,0\n3,4,1\n", {"skip_rows": 2},
                                    {"skiprows": 2}),
    "comments": Read("# made\na,b,y\n# first\n1,2,0\n3,4,1\n", {"comment": "#"}, {"comment": "#"}),
    # quotes
    "quotes in quotes": Read('a,b,y\n1,"say ""x""",0\n3,z,1\n'),
    "a quote within a field": Read('a,b,y\n1,5" pipe,0\n3,z,1\n'),
    "empty quotes": Refused('a,b,y\n1,"",0\n3,z,1\n', "missing-value"),
    # ragged rows
    "trailing commas, in the header, too": Refused("a,b,y,\n1,2,0,\n3,4,1,\n",
                                                   "column-type"),
    # values
    "exponents": Read("a,b,y\n1e3,2E-2,0\n-1.5e+2,.5,1\n"),
    "leading zeros as codes": Read("a,b,y\n02134,2,0\n01234,4,1\n", {"categorical": "a"},
                                   {"dtype": {"a": str}}),
    "an empty number, zero": Read("a,b,y\n1,,0\n3,4,1\n", {"missing": "zero"}),
    "null and N/A": Read("a,b,y\nnull,2,0\n3,N/A,1\n", {"missing": "zero"}),
    "a mark of one's own": Read("a,b,y\n1,?,0\n3,4,1\n", {"missing": "zero", "null_values": "?"},
                                {"na_values": "?"}),
    "words for nothing": Refused("a,y\n" + "".join(
        f"{'none' if k % 7 == 0 else '#DIV/0!' if k % 5 == 0 else k},{k % 2}\n" for k in range(60)
    ), "not-a-number"),
    "Indian thousands, said": Read('a,b,y\n1,"1,23,456",0\n3,"12,345",1\n', {"thousands": ","},
                                   {"thousands": ","}),
    "accounts": Refused("a,b,y\n1, $ (12.00),0\n3, $ -   ,1\n", "column-type"),

    "true and false": Read("a,b,y\ntrue,2,0\nfalse,4,1\n"),
    "NA as text": Read("a,b,y\n1,NA,0\n3,z,1\n", {}, {"keep_default_na": False}),
    "text much later on": Refused(
        "a,y\n" + "".join(f"{k},{k % 2}\n" for k in range(200_000)) + "x,0\n",
        "not-a-number",
    ),
    "numbers behind empty cells": Read("a,b,y\n1,,0\n3,4,1\n5,6,0\n", {"missing": "drop"}),
    "long fields": Read(f"a,b,y\n1,{'x' * 70_000},0\n3,z,1\n"),
}  # fmt: skip
READ = {name: one for name, one in SITUATIONS.items() if isinstance(one, Read)}
REFUSED = {name: one for name, one in SITUATIONS.items() if isinstance(one, Refused)}


def written(folder, text):
    path = folder / "rows.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def features_of(frame, target, missing):
    """The features of a frame: numbers, then the indicators of each text column; and the labels."""
    frame = frame.dropna() if missing == "drop" else frame
    y, frame = frame[target], frame.drop(columns=target)
    numbers = [c for c in frame if not (frame[c].dtype == object or frame[c].dtype == "str")]
    X = {c: frame[c].astype(float).fillna(0) for c in numbers}
    for column in frame.columns.difference(numbers, sort=False):
        for value in sorted(frame[column].unique()):
            X[f"{column}={value}"] = (frame[column] == value).astype(float)
    return pd.DataFrame(X), y


def test_what_is_read(tmp_path):
    for name, one in READ.items():
        how = {"target": "y"} | one.how
        path = written(tmp_path, one.text)
        frame = pd.read_csv(path, **one.pandas)
        X, y = features_of(frame, how["target"], how.get("missing"))
        source = open_source(path, **how)
        batches = list(source.batches())
        found = [b.X if isinstance(b.X, np.ndarray) else b.X.toarray() for b in batches]
        assert source.feature_names == list(X), name
        np.testing.assert_array_equal(np.concatenate(found), X.to_numpy(), name)
        assert np.concatenate([b.y for b in batches]).tolist() == y.tolist(), name
        if how.get("missing") != "drop":  # of which a row without a value has no prediction
            again = open_source(
                path, recipe=source.recipe(), labeled=False, format=how.get("format")
            )
            assert sum(batch.X.shape[0] for batch in again.batches()) == len(frame), name


def test_what_is_refused(tmp_path):
    for one in REFUSED.values():
        path = written(tmp_path, one.text)
        with refused(DataError, one.said):
            for _ in open_source(path, **{"target": "y"} | one.how).batches():
                pass


def test_a_header_among_numbers_is_named(tmp_path):
    """As of ``cat a.csv b.csv``."""
    rows = "1,p\n2,q\n"
    for many in (2, 200_000):
        (tmp_path / "t.csv").write_text("a,y\n" + rows * many + "a,y\n" + rows * 20)
        with refused(DataError, "bad-line", row=2 * many + 1, column="a"):
            list(open_source(tmp_path / "t.csv", target="y").batches())
