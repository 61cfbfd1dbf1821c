"""Labels that deserve a second look: small cases by hand, planted flips, bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import linsep
from linsep.errors import DataError, ParameterError
from refusals import refused

XOR = [(0, 0), (1, 1), (0, 1), (1, 0)], [1, 1, -1, -1]


def test_rows_whose_removal_separates_come_first():
    X, y = load_iris(return_X_y=True)
    found = linsep.suspicious_labels(X[50:], y[50:])
    # Only rows 84 and 134 of all, counted from 1, can be the one error.
    assert [one.row for one in found[:2]] == [33, 83]
    assert {one.reason for one in found[:2]} == {"without it a hyperplane separates the classes"}
    assert all(one.score < 1 for one in found[2:])
    assert str(found).splitlines()[0].split() == ["row", "label", "score", "why"]
    assert "<td>84</td>" in found._repr_html_()


def test_each_of_four_rows_may_be_the_one():
    found = linsep.suspicious_labels(*XOR)
    assert [(one.row, one.label, one.score) for one in found] == [
        (0, 1, 1.0), (1, 1, 1.0), (2, -1, 1.0), (3, -1, 1.0),
    ]  # fmt: skip


def test_of_separable_rows_those_that_make_the_margin_narrow():
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    found = linsep.suspicious_labels(X, y)
    # Margins: 1.5 with all rows, 2 without either of the middle rows.
    assert sorted(one.row for one in found) == [1, 2]
    assert [one.score for one in found] == pytest.approx([0.25, 0.25], rel=1e-5)
    assert found[0].reason == "without it the margin is 2 instead of 1.5"


def test_planted_flips_are_found():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    y = (X @ [1, 2] > 0).astype(int)
    flipped = np.argsort(-np.abs(X @ [1, 2]))[10:14]  # far from the line, but not at the end
    y[flipped] ^= 1
    found = linsep.suspicious_labels(X, y, time_limit=5.0)
    assert {one.row for one in found[:4]} == set(flipped.tolist())
    assert np.flatnonzero(found.scores(80) == 0).size > 40


def test_rows_have_the_numbers_and_labels_of_the_data_as_given(tmp_path):
    frame = pd.DataFrame({"x": [np.nan, 0, 1, 4, 5], "w": [1, 0, 1, 1, 1], "y": list("aaabb")})
    path = tmp_path / "rows.csv"
    frame.loc[[0, 1, 2, 2, 3, 4]].assign(x=[np.nan, 3, 0, 1, 4, 5]).to_csv(path, index=False)
    for weight, gone in ((None, [1, 4]), ("w", [3, 4])):
        source = linsep.open_source(path, target="y", missing="drop", weight=weight)
        found = linsep.suspicious_labels(source)
        assert sorted(one.row for one in found) == gone, weight
    index = [f"r{k}" for k in range(5)]
    found = linsep.suspicious_labels(frame[["x"]].set_axis(index)[1:], frame["y"][1:].to_numpy())
    assert sorted(one.row for one in found) == [1, 2]
    assert sorted(line[0] for line in found.table()[1:]) == ["r2", "r3"]
    names = [text.get_text() for text in found.plot().ax_.get_yticklabels()]
    assert sorted(name.split(":")[0] for name in names) == ["row r2", "row r3"]


def test_bad_input_gets_a_sentence():
    with refused(ParameterError, "bad-option", option="time_limit"):
        linsep.suspicious_labels(*XOR, time_limit=0)
    with refused(DataError, "class-count"):
        linsep.suspicious_labels([[1.0], [2.0]], [1, 1])
    with pytest.raises(TypeError, match="not a file name"):
        linsep.suspicious_labels("rows.csv")
    with refused(DataError, "no-rows"):
        linsep.suspicious_labels([[0.0], [0.0], [1.0]], [0, 0, 1]).plot()
    assert str(linsep.suspicious_labels([[0.0], [0.0], [1.0]], [0, 0, 1])) == "no suspicious labels"
