"""Pictures of the constant feature: the separator goes through the origin and the boundary."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import proj3d
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as OtherRegression

from linsep import Perceptron
from linsep.plot import AugmentationDisplay
from refusals import refused

PNG = b"\x89PNG"
IRIS, SPECIES = load_iris(return_X_y=True)
SETOSA = np.where(SPECIES == 0, "setosa", "other")


def of(estimator, X, y, **options):
    return AugmentationDisplay.from_estimator(estimator.fit(X, y), X, y, **options)


def test_the_line_goes_through_the_origin_and_cuts_height_one_at_the_boundary():
    for feature in range(4):
        X = pd.DataFrame({"petal": IRIS[:, feature]})
        model = OtherRegression().fit(X, SETOSA)
        shown = AugmentationDisplay.from_estimator(model, X, SETOSA)
        weights = np.array([model.coef_[0, 0], model.intercept_[0]])
        ends = shown.line_.get_xydata()
        assert np.linalg.norm(ends[1] - ends[0]) > 1.0
        assert ends @ weights == pytest.approx([0, 0], abs=1e-9)
        cut = shown.cut_.get_xydata()[0]
        assert cut[1] == 1.0
        assert model.decision_function(pd.DataFrame({"petal": cut[:1]})) == pytest.approx(
            [0], abs=1e-9
        )
        for k, points in enumerate(shown.points_):
            own = X.petal[model.classes_[k] == SETOSA]
            assert np.array_equal(points.get_offsets(), np.column_stack([own, np.ones(len(own))]))
        assert [text.get_text() for text in shown.legend_.get_texts()][:2] == ["other", "setosa"]
        assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("petal", "constant feature")
        if shown.normal_ is not None:
            tip = shown.normal_.get_xydata()[1]
            assert tip @ weights == pytest.approx(np.linalg.norm(tip) * np.linalg.norm(weights))


def test_the_plane_holds_the_origin_and_cuts_height_one_at_the_boundary():
    for columns in [[0, 1], [2, 3]]:
        for store in [np.asarray, sp.csr_matrix]:
            X = store(IRIS[:, columns])
            model = Perceptron(keep="average").fit(X, SETOSA)
            shown = AugmentationDisplay.from_estimator(model, X, SETOSA)
            weights = np.append(model.coef_[0], model.intercept_)
            ends = np.array(shown.cut_.get_data_3d()).T
            assert (ends[:, 2] == 1.0).all()
            assert np.linalg.norm(ends[1] - ends[0]) > 1.0
            assert ends @ weights == pytest.approx([0, 0], abs=1e-9)
            low, high = np.array([shown.ax_.get_xlim(), shown.ax_.get_ylim()]).T
            assert ((low - 1e-9 <= ends[:, :2]) & (ends[:, :2] <= high + 1e-9)).all()
            corners = corners_of(shown.plane_)
            assert corners[0].tolist() == [0.0, 0.0, 0.0]
            assert corners[1:] == pytest.approx(ends)
            for k, points in enumerate(shown.points_):
                x, y, z = (np.asarray(axis) for axis in points._offsets3d)
                assert np.column_stack([x, y]) == pytest.approx(
                    IRIS[model.classes_[k] == SETOSA][:, columns]
                )
                assert (z == 1.0).all()


def corners_of(plane):
    """The corners of a triangle, which matplotlib before 3.10 has in homogeneous coordinates."""
    return plane._faces[0] if hasattr(plane, "_faces") else plane._vec[:3].T


def test_the_separator_is_not_looked_along():
    for angle in np.linspace(0, 2 * np.pi, 7):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((50, 2)) * [3.0, 1.0]
        w = np.array([np.cos(angle), np.sin(angle)])
        shown = of(OtherRegression(), X, X @ w > 0.1)
        corners = corners_of(shown.plane_)
        x, y, _ = proj3d.proj_transform(*corners.T, shown.ax_.get_proj())
        (a, b), (c, d) = np.diff(np.column_stack([x, y]), axis=0)
        assert abs(a * d - b * c) > 1e-3


def test_a_boundary_elsewhere_is_left_out():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [0.5, 3.0]])
    model = OtherRegression().fit(X, [0, 1, 1])
    model.coef_, model.intercept_ = np.array([[1.0, 1.0]]), np.array([900.0])
    shown = AugmentationDisplay.from_estimator(model, X, [0, 1, 1])
    assert (shown.cut_, shown.plane_) == (None, None)
    assert shown._repr_png_().startswith(PNG)
    model.fit(X[:, :1], [0, 1, 1])
    model.coef_, model.intercept_ = np.array([[0.0]]), np.array([2.0])
    shown = AugmentationDisplay.from_estimator(model, X[:, :1], [0, 1, 1])
    assert shown.cut_ is None
    assert (shown.line_.get_ydata() == 0.0).all()
    model.intercept_ = np.array([0.0])
    shown = AugmentationDisplay.from_estimator(model, X[:, :1], [0, 1, 1])
    assert (shown.line_, shown.normal_) == (None, None)


def test_of_a_hundred_thousand_rows_some_are_drawn():
    for d in [1, 2]:
        X = np.random.default_rng(0).standard_normal((100_000, d))
        y = X[:, 0] > 0.5
        shown = of(Perceptron(max_iter=2), X, y)
        assert shown.ax_.get_title() == "2,000 of 100,000 rows, evenly chosen"
        assert shown._repr_png_().startswith(PNG)
        assert shown.rows.shape == (2000, d)
        assert (shown.y == (shown.rows[:, 0] > 0.5)).all()


def test_two_features_need_axes_in_space():
    model = Perceptron().fit(IRIS[:, :2], SETOSA)
    with refused(ValueError, "bad-option", option="ax"):
        AugmentationDisplay.from_estimator(model, IRIS[:, :2], SETOSA, ax=Figure().add_subplot())
    axes = Figure().add_subplot(projection="3d")
    assert AugmentationDisplay.from_estimator(model, IRIS[:, :2], SETOSA, ax=axes).ax_ is axes
    with refused(ValueError, "unknown-label", row=1):
        AugmentationDisplay.from_estimator(model, IRIS[:, :2], SPECIES)
    with refused(ValueError, "shape"):
        AugmentationDisplay.from_estimator(model, IRIS[:, :1], SETOSA)
    for rows, y, code in [(IRIS[:, :2], SPECIES, "class-count"), (IRIS, SETOSA, "unsupported")]:
        with refused(ValueError, code):
            of(Perceptron(), rows, y)
