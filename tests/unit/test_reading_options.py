"""How text is read as a table: lines, characters, compression, numbers as people write them."""

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from data_files import write
from linsep import open_source
from linsep.errors import DataError, Hint
from linsep.sources.tables import text_file
from linsep.sources.tables.spellings import Spelling, days
from refusals import refused

UNITS = Spelling(units=True)
GROUPED = Spelling(thousands=",", units=True)
GERMAN = Spelling(decimal=",", thousands=".", units=True)


NUMBERS = [
    (Spelling(), " +1.5e3 ", 1500.0), (Spelling(), "02134", 2134.0), (Spelling(), "1,5", None),
    (Spelling(), "5 %", None), (Spelling(), "1_0", None),
    (Spelling(decimal=","), "1,5", 1.5), (Spelling(decimal=","), "1.5", None),
    (Spelling(thousands=","), "1,234,567.8", 1234567.8), (Spelling(thousands=","), "1,23", None),
    (Spelling(thousands=","), "12,3456", None), (Spelling(thousands=","), ",123", None),
    (Spelling(thousands=","), "1234567", 1234567.0), (Spelling(thousands=" "), "1 234", 1234.0),
    (UNITS, "5%", 5.0), (UNITS, "12,5", None), (UNITS, "\u22123.5", -3.5),
    (UNITS, "\uff0d3", -3.0), (UNITS, "-$5", -5.0), (UNITS, "$-5", -5.0), (UNITS, "($5)", -5.0),
    (UNITS, "(-5)", None), (UNITS, "5-", -5.0), (UNITS, "5.\u2013", None),
    (UNITS, "\u20ac 12", 12.0), (UNITS, "USD 5", 5.0), (UNITS, "US$ 3", 3.0), (UNITS, "5 kr", 5.0),
    (UNITS, "1\u2019234\u2019567", 1234567.0), (UNITS, "1\u2009234\u2009567.5", 1234567.5),
    (UNITS, "5\u00a0%", 5.0), (UNITS, "(1'234.50)", -1234.5), (UNITS, "12 34", None),
    (UNITS, "\u0661\u0662\u0663", 123.0), (UNITS, "\u00b9\u00b2", None), (UNITS, "12:30", None),
    (UNITS, "--5", None), (UNITS, "USD", None), (UNITS, "%", None),
    (UNITS, "2024-01-31", None), (GROUPED, "$1,234.50", 1234.5), (GROUPED, "($1,234)", -1234.0),
    (GERMAN, "1.234,56 \u20ac", 1234.56), (GERMAN, "1.234", 1234.0),
    (Spelling(thousands=","), "1,23,456", 123456.0), (Spelling(thousands=","), "123,45,678", None),
    (GROUPED, " $ (1,234.00)", -1234.0), (GROUPED, " $ -   ", 0.0), (UNITS, "-", None),
    (UNITS, "$ (-5)", None),
]  # fmt: skip


def test_a_number_as_it_is_written():
    for spelling, text, number in NUMBERS:
        (found,) = spelling.parts(pa.array([text]))[0].cast(pa.float64()).to_pylist()
        assert found == number, (spelling, text)


DATES = [
    ("1970-01-01", "", 0.0), ("2024-01-31", "", 19753.0), ("1969-12-31", "", -1.0),
    ("2024-01-31T12:00", "", 19753.5), ("2024-01-31 12:00:00+02:00", "", 19753.0 + 10 / 24),
    ("20240131", "", 19753.0), ("31.01.2024", "%d.%m.%Y", 19753.0), ("31.01.2024", "", None),
    ("2024-02-30", "", None), ("30.02.2024", "%d.%m.%Y", None), ("31.01.24", "%d.%m.%Y", None),
    ("1.1.24", "%d.%m.%y", 19723.0), ("soon", "%d.%m.%Y", None),
    ("2024-060 06", "%Y-%j %H", 19782.25), (None, "%d.%m.%Y", None),
]  # fmt: skip


def test_a_date_is_days():
    for text, format, number in DATES:
        others = [text] * 3  # Arrow reads those alone that Python reads, and Python the rest
        assert days(pa.array(others, pa.string()), format).to_pylist() == [number] * 3, text


MOMENTS = pd.date_range("1999-12-31 23:59:58.700001", periods=40, freq="41h")
FORMATS = ["%d.%m.%Y %H:%M", "%b %d, %Y", "%Y-%m-%d %H:%M:%S.%f"]


@pytest.mark.parametrize("format", FORMATS)
def test_dates_of_every_form_are_the_same_days(tmp_path, format):
    frame, iso = pd.DataFrame({"a": MOMENTS.strftime(format), "y": [0, 1] * 20}), "%S" in format
    known = days(pa.array(frame.a), "" if iso else format).to_pylist()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    moments = frame.assign(a=MOMENTS if "%f" in format else frame.a)
    for data in (tmp_path / "t.csv", tmp_path / "t.parquet", frame, moments):
        assert rows(data, date="a" if iso else f"a={format}")[0] == [[day] for day in known]


TEXT = (
    "# exported\nkey;value\nName;Gr\u00f6\u00dfe;Ort;y\n#c\na;1,5;K\u00f6ln;1\nb;2,5;Bonn;0\n"
    "# more\na;3;K\u00f6ln;1\n"
)
HOW = {"delimiter": ";", "comment": "#", "skip_rows": 2, "decimal": ","}


def rows(path, **options):
    source = open_source(path, target="y", **options)
    batches = list(source.batches())
    X = [b.X if isinstance(b.X, type(b.y)) else b.X.toarray() for b in batches]
    return np.concatenate(X).tolist(), source


@pytest.mark.parametrize(
    ("encoding", "ending", "pack"),
    [
        ("latin-1", ".csv.gz", gzip.compress), ("utf-16", ".csv.bz2", bz2.compress),
        ("utf-16-le", ".csv.xz", lzma.compress), ("cp1252", ".csv", gzip.compress),
    ],
)  # fmt: skip
def test_lines_characters_and_compression(tmp_path, encoding, ending, pack):
    path = tmp_path / f"rows{ending}"
    path.write_bytes(pack(TEXT.encode(encoding or "utf-8")))
    X, source = rows(path, encoding=encoding, **HOW)
    assert X == [[1.5, 1, 0, 0, 1], [2.5, 0, 1, 1, 0], [3.0, 1, 0, 0, 1]]
    assert source.feature_names == ["Gr\u00f6\u00dfe", "Name=a", "Name=b", "Ort=Bonn",
                                    "Ort=K\u00f6ln"]  # fmt: skip
    assert source.where(2) == f"{path} row 3"
    again = open_source(path, recipe=source.recipe())
    assert [b.y.tolist() for b in again.batches()] == [[1, 0, 1]]


REFUSED = {
    "Latin-1": (TEXT.encode("latin-1"), HOW, "encoding"),
    "Windows in its header": ("€,y\n5,2\n".encode("cp1252"), {}, "encoding"),
    "UTF-16": (TEXT.encode("utf-16"), HOW, "encoding"),
    "unknown": (b"a,y\n1,2\n", {"encoding": "klingon"}, "bad-option"),
    "comment": (b"# by R\na,y\n1,2\n", {}, "bad-line"),
    "Excel": (b"sep=;\na;y\n1;2\n", {}, "bad-line"),
    "all skipped": (b"a,y\n1,2\n", {"skip_rows": 9}, "no-rows"),
    "no comment": (b"a,y\n1,2\n", {"comment": " "}, "bad-option"),
    "marks": (b"a,y\n1,2\n", {"decimal": ",", "thousands": ","}, "conflict"),
    "a letter": (b"a,y\n1,2\n", {"decimal": "x"}, "bad-option"),
    "no such": (b"a,y\n1,2\n", {"numeric": "b*"}, "unknown-column"),
    "twice": (b"a,y\n1,2\n", {"numeric": "a", "date": "?"}, "conflict"),
    "text": (b"a,y\n1,2\nx,3\n", {"numeric": "a"}, "not-a-number"),
    "no date": (b"a,y\n1,2\n", {"date": "a"}, "bad-value"),
    "two formats": (b"a,y\n1,2\n", {"date": ["a", "a=%d/%m/%Y"]}, "conflict"),
}


def test_refusals(tmp_path):
    for text, options, code in REFUSED.values():
        (tmp_path / "rows.csv").write_bytes(text)
        with refused(DataError, code):
            rows(tmp_path / "rows.csv", **options)


def test_a_date_in_another_format_is_refused_with_one_that_fits(tmp_path):
    for text, fitting in (("24/12/2022", [["a=%d/%m/%Y"]]), ("x", [])):
        (tmp_path / "t.csv").write_text(f"a,y\n{text},2\n")
        with pytest.raises(DataError) as error:
            rows(tmp_path / "t.csv", date="a=%m/%d/%Y")
        ways = [way for way in error.value.hints if isinstance(way, Hint)]
        assert [way.settings["date"] for way in ways] == fitting


SHOP = pd.DataFrame(
    {
        "price": ["$1,234.50", "($3.00)", None, "12"],
        "share": ["5 %", "\u22127%", "12", "1"],
        "day": ["2024-01-31", "2024-02-01", "2024-02-02", "2024-03-01"],
        "rank": [1, 2, 4, 1],
        "zip": ["02134", "00501", "10001", "10001"],
        "y": ["a", "b", "a", "b"],
    }
)


@pytest.mark.parametrize("form", ["csv", "parquet", "pandas"])
def test_types_and_spellings_are_the_same_in_every_format(tmp_path, form):
    data = SHOP if form == "pandas" else write(tmp_path, pa.Table.from_pandas(SHOP), form)
    types = {"date": "day", "categorical": "r*", "numeric": "zip"}
    options = types | {"units": True, "thousands": ",", "missing": "mean"}
    X, source = rows(data, **options)
    assert X == [
        [1234.5, 5, 19753, 2134, 1, 0, 0],
        [-3, -7, 19754, 501, 0, 1, 0],
        [414.5, 12, 19755, 10001, 0, 0, 1],
        [12, 1, 19783, 10001, 1, 0, 0],
    ]
    assert source.feature_names == ["price", "share", "day", "zip", "rank=1", "rank=2", "rank=4"]
    again = open_source(SHOP.drop(columns="y"), recipe=source.recipe(), labeled=False)
    assert [b.X.toarray().tolist() for b in again.batches()] == [X]


def test_include_and_globs(tmp_path):
    X, source = rows(SHOP, include=["z*", "rank"], numeric="z*")
    assert source.feature_names == ["rank", "zip"]
    assert X[0] == [1, 2134]
    _, source = rows(SHOP, exclude=["[psd]*"], categorical="zip")
    assert source.feature_names == ["rank", "zip=00501", "zip=02134", "zip=10001"]


def test_labels_of_digits_and_letters_are_text(tmp_path, monkeypatch):
    labels = [str(k) for k in range(1, 23) for _ in range(50)] + ["X"] * 50 + ["Y"] * 50
    path = tmp_path / "genes.csv"
    path.write_text("a,chromosome\n" + "".join(f"{k},{x}\n" for k, x in enumerate(labels)))
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 1 << 12)
    with refused(DataError, "not-a-number", row=1101, column="chromosome"):
        list(open_source(path, target="chromosome").batches())
    told = open_source(path, target="chromosome", categorical="chromosome")
    assert np.concatenate([batch.y for batch in told.batches()]).tolist() == labels
