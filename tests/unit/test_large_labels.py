"""Labels with more digits than a float holds: refused, never merged with their neighbors."""

import numpy as np
import pandas as pd
import pytest

from data_files import assert_refused
from linsep import GaussianNaiveBayes, separation
from linsep.errors import DataError
from refusals import refused
from whole_files import load_svmlight, load_table, parse_svmlight

LARGE = 2**53


def refusal(load, path, text, **options):
    path.write_text(text)
    return assert_refused(load, path, **options)


@pytest.mark.parametrize("first", ["0.5", "1", "9007199254740993.0"])
@pytest.mark.parametrize("large", [LARGE, LARGE + 1, -LARGE, 10**19])
def test_tables(tmp_path, first, large):
    text = f"a,y\n1,{first}\n2,{large}\n3,0.5\n"
    line = 2 if first.startswith("9") else 3
    said = refusal(load_table, tmp_path / "a.csv", text, target="y")
    assert said == (
        f"a.csv line {line} has a label in column 'y' with too many digits: shorten the labels."
    )


def test_the_line_counts_rows_that_were_dropped(tmp_path):
    text = f"a,y\n1,1\n,2\n3,{LARGE}\n"
    said = refusal(load_table, tmp_path / "a.csv", text, target="y", missing="drop")
    assert said.startswith("a.csv line 4 has a label")


@pytest.mark.parametrize("chunk_bytes", [1, 30, 1000])
@pytest.mark.parametrize("large", [f"{LARGE}", f"{LARGE + 1}", f"-{LARGE + 1}", "1e300"])
def test_svmlight(tmp_path, large, chunk_bytes):
    text = f"1 1:1\n# between\n\n{LARGE - 1} 1:1\n{large} 1:2\nno 1:x\n"
    path = tmp_path / "a.svm"
    said = refusal(load_svmlight, path, text, chunk_bytes=chunk_bytes)
    assert said == f"a.svm line 5: the label '{large}' has too many digits: shorten the labels."
    with refused(DataError, "not-exact"):
        parse_svmlight(text.encode())


def test_svmlight_refuses_what_comes_first(tmp_path):
    said = refusal(load_svmlight, tmp_path / "a.svm", f"no 1:x\n{LARGE} 1:1\n")
    assert said.startswith("a.svm line 1: the label 'no' is not a number")
    said = refusal(load_svmlight, tmp_path / "a.svm", f"1 1:1\n2 1:inf\n{LARGE} 1:1\n")
    assert said.startswith("a.svm line 2: the value 'inf' is not finite")


def nullable(*labels):
    return pd.Series(labels * 3, dtype="Int64")


@pytest.mark.parametrize("column", [nullable, lambda *x: nullable(*x).to_frame()])
@pytest.mark.filterwarnings("ignore:A column-vector")
def test_long_labels_of_pandas_own_types_are_not_merged(column):
    X, y = np.arange(6.0)[:, None], column(LARGE, LARGE + 1)
    model = GaussianNaiveBayes().fit(X, y)
    assert model.classes_.tolist() == [LARGE, LARGE + 1]
    assert separation(X, y).kind == "overlapping"
    right = model.predict(X) == y.to_numpy().ravel()
    assert model.score(X, y) == right.mean() < 1


def test_booleans_of_pandas_own_types_are_booleans():
    y = pd.Series([True, False] * 3, dtype="boolean")
    assert GaussianNaiveBayes().fit(np.arange(6.0)[:, None], y).classes_.dtype == bool


@pytest.mark.parametrize("other", [0.5, -1, 2**64])
def test_objects_that_numpy_would_round_are_refused(other):
    y = np.array([other, 2**63 + 1] * 3, dtype=object)
    with refused(DataError, "not-exact"):
        GaussianNaiveBayes().fit(np.arange(6.0)[:, None], y)


def test_objects_are_scored_as_they_are_learned():
    X, y = np.arange(6.0)[:, None], np.array([1, 1, 1, 2.0, 2.0, True + True], dtype=object)
    assert GaussianNaiveBayes().fit(X, y).score(X, y) == 1
