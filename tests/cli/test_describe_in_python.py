"""``linsep.describe`` finds in files and data frames what the command prints."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import linsep
from command_line import here
from linsep.errors import DataError
from refusals import refused

pytestmark = pytest.mark.uncompiled


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "city": rng.choice(["Bonn", "Aachen", "Köln"], n),
            "member": rng.random(n) < 0.5,
            "id": [f"k{k}" for k in range(n)],
            "y": rng.choice(["no", "yes"], n),
        }
    )
    frame.loc[3, "age"] = np.nan
    frame.to_csv("people.csv", index=False)
    frame.to_parquet("people.parquet")
    (tmp_path / "a.svm").write_text("1 1:2 3:4\n-1 2:1\n1 1:1\n")
    (tmp_path / "odd.csv").write_text("a,b\n1,x\ninf,y\n2,x\n")
    return frame


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("people.csv", {"target": "y"}),
        ("people.csv", {}),
        (["people.parquet"], {"target": "y"}),
        ("a.svm", {"index_base": 1}),
        ("odd.csv", {"target": "b", "null_values": "?"}),
    ],
)
def test_files(people, data, options):
    words = [word for n, x in options.items() for word in (f"--{n.replace('_', '-')}", x)]
    names = [data] if isinstance(data, str) else data
    printed = here("describe", *names, *words, cwd=".")
    known = json.loads(here("describe", *names, *words, "--json", cwd=".").stdout)
    facts = linsep.describe(data, **options)
    assert f"{facts}\n" == printed.stdout
    assert repr(facts) == str(facts)
    assert facts.to_dict() == known
    assert (facts.rows, facts.label) == (known["rows"], known["label"])


@pytest.mark.parametrize("form", ["pandas", "polars", "Arrow"])
@pytest.mark.parametrize("target", ["y", None])
def test_frames(people, form, target):
    frame = {"pandas": people, "polars": pl.from_pandas(people),
             "Arrow": pa.Table.from_pandas(people)}[form]  # fmt: skip
    facts, known = linsep.describe(frame, target=target), linsep.describe("people.parquet")
    assert facts.columns == known.columns
    assert (facts.data, facts.format, facts.rows) == ("the table", "in memory", 60)
    assert "in memory" in str(facts)
    if target is None:
        assert facts.next == "linsep.describe(frame, target=...)"
        return
    learned = "learner='logistic', l2=1, scale='standard'"
    assert facts.next == f"linsep.fit(frame, target='y', {learned}, exclude=['id'], missing='mean')"
    assert eval(facts.next, {"linsep": linsep, "frame": frame}).classes_.tolist() == ["no", "yes"]
    of_file = linsep.describe("people.parquet", target="y")
    assert (facts.label, facts.separable) == (of_file.label, of_file.separable)


def test_categories_and_dates(people):
    frame = people.assign(
        grade=pd.Categorical([1, 2, 3] * 20), day=pd.Timestamp("2024-01-31"), odd=1j
    )
    kinds = {c["name"]: c["type"] for c in linsep.describe(frame.drop(columns="odd")).columns}
    assert (kinds["grade"], kinds["day"]) == ("text", "date")
    with refused(DataError, "column-type", column="odd"):
        linsep.describe(frame)


@pytest.mark.parametrize(
    ("data", "options", "error", "sentence"),
    [
        ("frame", {"target": "lable"}, DataError, "no label column 'lable'"),
        ("frame", {"delimiter": ";"}, DataError, "in memory, not a file: leave out delimiter"),
        ("none.csv", {}, DataError, "There is no file none.csv"),
        (3, {}, TypeError, "pass a path, a list of paths or a data frame"),
        ("people.csv", {"alpha": 3}, TypeError, "alpha"),
    ],
)
def test_refusals(people, data, options, error, sentence):
    with pytest.raises(error, match=sentence):
        linsep.describe(people if data == "frame" else data, **options)
