"""Names of features of tables: no two features have the same."""

import itertools

import numpy as np
import pytest

from command_line import here, table
from linsep import Perceptron, Text, open_source, separation
from linsep.estimators._common.labels import feature_names
from linsep.sources.feature_names import shown_names

NAMES = ["a", "a=b", "a=b=c", "a:b", "a:b=c", "a=b:c", '"a', '"a=b"', "=", ":", "b", '"a"=b']


def test_names_never_collide():
    """Every value and term of many choices of columns, against each other."""
    rng = np.random.default_rng(0)
    parts = {"".join(three) for three in itertools.product(["", "a", "b", '"'], "=:", ["c", "b=c"])}
    parts |= {"c", "b", "b=c", 'b"=c'}
    plain = 0
    for _ in range(300):
        kinds = dict(zip(NAMES, rng.integers(0, 4, len(NAMES)).tolist(), strict=True))
        numeric, text, words = ([name for name in NAMES if kinds[name] == k] for k in range(3))
        shown = shown_names(numeric, text, words)
        names = [shown[name] for name in numeric]
        names += [f"{shown[name]}={value}" for name in text for value in parts]
        names += [f"{shown[name]}:{term}" for name in words for term in parts]
        assert len(set(names)) == len(names), (numeric, text, words)
        plain += all(name == own for name, own in shown.items())
    assert 0 < plain < 300


@pytest.mark.parametrize("columns", [["a=b"], ["a:b", "c"], ['"q"', "x y"], ["a", "ab=c", "b=a"]])
def test_names_of_columns_that_no_other_begins_stay(columns):
    assert shown_names(columns[1:], columns[:1]) == {name: name for name in columns}


COLUMNS, CELLS = ["a", "a=b", "a=q", "y"], [
    ["b=c", "c", 1, 1], ["b=c", "r", 5, 1], ["q", "c", 2, 0], ["q", "r", 3, 0], ["b=c", "c", 4, 1],
    ["q", "c", 6, 0],
]  # fmt: skip
WANTED = ['"a=q"', "a=b=c", "a=q", '"a=b"=c', '"a=b"=r']


def test_indicators_of_different_columns_have_different_names(tmp_path):
    table(tmp_path, "t.csv", COLUMNS, CELLS)
    source = open_source(tmp_path / "t.csv", target="y")
    assert source.feature_names is not None
    model = Perceptron().fit(source)
    assert model.feature_names_in_.tolist() == WANTED == feature_names(model)
    assert list(separation(source).subject.names) == WANTED
    found = str(model.equation_)
    assert '"a=b"=c' in found or '"a=b"=r' in found


def test_commands_show_different_names(tmp_path):
    table(tmp_path, "t.csv", COLUMNS, CELLS)
    fit = ("fit", "t.csv", "--target", "y", "--learner", "logistic", "--l2", "1", "--model", "m")
    assert here(*fit, "--reference-level", "none", cwd=tmp_path).returncode == 0
    shown = here("inspect", "m", cwd=tmp_path).stdout
    audit = here("audit", "m", "t.csv", cwd=tmp_path).stdout
    for name in WANTED:
        assert name in shown
    assert '"a=b"=c' in audit


def test_a_proof_of_such_columns_is_confirmed(tmp_path):
    table(tmp_path, "t.csv", COLUMNS, CELLS)
    separate = ("separate", "t.csv", "--target", "y", "--proof", "p.json")
    done = here(*separate, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert here("verify", "p.json", "t.csv", "--target", "y", cwd=tmp_path).returncode == 0


def test_words_and_values_have_different_names(tmp_path):
    cells = [["bb cc", "c", 1, 1], ["bb", "d", 2, 0]]
    table(tmp_path, "t.csv", ["a", "a:b", "a:c", "y"], cells)
    for settings in (Text(n_features=64), Text(vocabulary=True)):
        source = open_source(tmp_path / "t.csv", target="y", text={"a": settings})
        names = feature_names(Perceptron().fit(source))
        assert names[:3] == ['"a:c"', '"a:b"=c', '"a:b"=d']
        assert len(set(names)) == len(names)
