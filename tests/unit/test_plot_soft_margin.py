"""Pictures of soft margins: where they end, support vectors, the gap, and the path over C."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.svm import SVC

from linsep import Perceptron, SoftMargin, load, save, set_threshold, soft_margin_path
from linsep.errors import DataError
from linsep.plot import DecisionDisplay, GapDisplay, SoftMarginPathDisplay
from refusals import refused

X, Y = make_blobs(60, centers=2, cluster_std=2.2, random_state=3)
IRIS = load_iris(as_frame=True)


def scores_along(model, line):
    """The scores of the ends of a line."""
    return model.decision_function(np.column_stack(line.get_data()))


def test_the_margin_of_a_line_ends_where_scores_are_one():
    model = SoftMargin(C=0.5).fit(X, Y)
    display = model.plot(X, Y)
    ends = [scores_along(model, line) for line in display.margin_lines_]
    assert np.allclose(ends, [[-1, -1], [1, 1]])
    assert np.allclose(scores_along(model, display.line_), 0, atol=1e-9)
    theirs = SVC(kernel="linear", C=0.5, tol=1e-9).fit(X, Y)
    bounded = np.abs(theirs.dual_coef_[0]) > 0.5 - 1e-6
    on, inside = (ring.get_offsets() for ring in display.marked_)
    assert np.allclose(on, X[np.sort(theirs.support_[~bounded])])
    assert np.allclose(inside, X[np.sort(theirs.support_[bounded])])
    words = [text.get_text() for text in display.legend_.get_texts()]
    assert words[-2:] == [
        f"support vectors on the margin ({len(on)})",
        f"inside it ({len(inside)})",
    ]


def test_squares_have_no_bound_and_a_threshold_moves_the_boundary_alone():
    model = SoftMargin(loss="squared_hinge").fit(X, Y)
    set_threshold(model, 0.3)
    display = model.plot(X, Y)
    assert np.allclose(scores_along(model, display.line_), 0.3)
    assert np.allclose([scores_along(model, line)[0] for line in display.margin_lines_], [-1, 1])
    assert list(display.marked) == ["support vectors"]
    assert len(display.marked["support vectors"]) == model.n_support_[0]


def test_other_rows_are_marked_if_they_are_inside(tmp_path):
    model = SoftMargin(C=0.5).fit(X, Y)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    display = DecisionDisplay.from_estimator(loaded, X, Y)
    sides = np.where(Y == 1, 1, -1) * model.decision_function(X)
    assert display.marked["inside the margin"].tolist() == np.flatnonzero(sides < 1).tolist()
    assert DecisionDisplay.from_estimator(loaded, X).marked == {}
    assert len(DecisionDisplay.from_estimator(loaded, X).margin_lines_) == 2
    fewer = DecisionDisplay.from_estimator(model, X[:40], Y[:40])
    assert list(fewer.marked) == ["inside the margin"]


def test_the_gap_closes():
    for classes in [2, 3]:
        rows, y = IRIS.data[: 50 * classes], IRIS.target[: 50 * classes]
        model = SoftMargin(tol=1e-5).fit(rows, y)
        display = GapDisplay.from_estimator(model)
        assert len(display.gaps_) == (1 if classes == 2 else 3)
        drawn = sum(len(line.get_xdata()) for line in display.objectives_)
        assert drawn == len(model.trace_) + (classes == 2)
        last = max(line.get_ydata()[-1] for line in display.gaps_)
        assert last == pytest.approx(model.duality_gap_, rel=1e-6, abs=1e-5 * (classes > 2))
        assert display.tol_.get_ydata()[0] == 1e-5
        for above, below in zip(display.objectives_, display.bounds_, strict=True):
            assert (above.get_ydata() >= np.nan_to_num(below.get_ydata())).all()
        with refused(DataError, "unsupported"):
            GapDisplay.from_estimator(Perceptron(max_iter=2).fit(rows, y))


def test_the_path_is_drawn_over_c():
    rows, y = IRIS.data[:100], IRIS.target[:100]
    path = soft_margin_path(rows, y)
    display = path.plot()
    assert isinstance(display, SoftMarginPathDisplay)
    assert len(display.weights_) == 4
    largest = int(np.argmax(np.abs(path.coef[-1])))
    assert np.allclose(display.weights_[0].get_xydata(), np.c_[path.Cs, path.coef[:, largest]])
    words = [text.get_text() for text in display.legends_[0].get_texts()]
    assert words[0] == rows.columns[largest]
    assert len(words) == 4
    words = [text.get_text() for text in display.legends_[1].get_texts()]
    assert words == ["on the margin", "inside the margin", "errors", "constant from here on"]
    assert [line.get_xdata()[0] for line in display.final_] == [path.Cs[path.final]] * 2
    squares = soft_margin_path(rows, y, [0.1, 1], loss="squared_hinge").plot()
    assert squares.bounded_ is None
    assert squares.final_ == []
    assert squares.free_.get_label() == "support vectors"
