"""Probabilities of separable classes: what the data determine, and no curve of a slope that the fit
happened to stop at."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as Ridge

import linsep
from command_line import here
from linsep import LogisticRegression
from linsep.plot import LogisticDisplay, separated
from pictures import faults

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore:The data are")]
FRAME, SPECIES = load_iris(return_X_y=True, as_frame=True)
SETOSA = pd.Series(np.where(SPECIES == 0, "setosa", "other"), name="species")
LENGTH = ["petal length (cm)"]
TWO = ["petal length (cm)", "sepal width (cm)"]
TOUCHING = np.array([[0.0], [1], [1], [1], [2], [3]]), np.array([0, 0, 1, 1, 1, 1])
FLAT = np.array([[0.0, 0], [1, 0], [2, 0], [3, 1], [1, 2]]), np.array([0, 1, 0, 1, 1])


def drawn(X, y, features=None, **of_the_fit):
    model = LogisticRegression(**of_the_fit).fit(X, y)
    return LogisticDisplay.from_estimator(model, X, y, features=features)


def signs_by_programs(X, sides, place):
    """The least and the largest score of a place, under all weights without an error."""
    Z = np.column_stack([X, np.ones(len(X))])
    goal = np.append(place, 1.0)
    how = {"A_ub": -Z * sides[:, None], "b_ub": np.zeros(len(Z)), "bounds": (-1, 1)}
    return [sign * linprog(sign * goal, **how).fun for sign in (1, -1)]


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e7])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_of_one_feature_only_the_ends_of_the_gap_are_known(scale, shift):
    X = scale * (FRAME[LENGTH].to_numpy() + shift)
    shown = drawn(X, SETOSA)
    right, left = X[SETOSA == "other"].min(), X[SETOSA == "setosa"].max()
    reach = 1e-5 * np.ptp(X)
    assert shown.certain.one[1, 0] == pytest.approx(left, abs=reach)
    assert shown.certain.zero[0, 0] == pytest.approx(right, abs=reach)
    (grid,) = shown.grid
    assert np.all(shown.values[grid < left] == 1.0)
    assert np.all(shown.values[grid > right] == 0.0)
    assert np.isnan(shown.values[(grid > left + reach) & (grid < right - reach)]).all()
    (hatched,) = shown.undetermined_
    ends = hatched.get_x() + np.array([0.0, hatched.get_width()])
    assert ends == pytest.approx([left, right], abs=reach)
    assert shown.threshold_ is None
    assert shown.band_ is None
    assert shown.ax_.get_title().startswith("separable: any curve fits between")
    assert shown.ax_.get_title().endswith("Firth's penalty or l2 gives one curve")
    assert (
        shift or faults(shown) == []
    )  # matplotlib's numbers are long where rows are far from zero


def test_where_classes_touch_there_is_a_step():
    shown = drawn(*TOUCHING)
    (grid,) = shown.grid
    at = np.flatnonzero(grid == 1.0)
    assert shown.values[at] == pytest.approx([0.0, 2 / 3, 1.0])
    assert np.all(shown.values[grid < 1] == 0)
    assert np.all(shown.values[grid > 1] == 1)
    assert shown.undetermined_ == []
    assert shown.share_.get_label() == "0.667 at 1"
    assert "quasi-separable: a step at 1" in shown.ax_.get_title()
    assert faults(shown) == []


def test_without_an_intercept_the_step_is_at_zero():
    shown = drawn(np.array([[-2.0], [-1], [1], [2]]), [0, 0, 1, 1], fit_intercept=False)
    (grid,) = shown.grid
    assert shown.values[grid == 0.0] == pytest.approx([0.0, 0.5, 1.0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", ["separable", "on a line", "three features"])
def test_two_features_are_certain_where_all_separators_agree(seed, case):
    rng = np.random.default_rng(seed)
    X = (
        rng.normal(size=(25, 3 if case == "three features" else 2))
        * [10.0, 0.01, 1.0][: 2 + (case[0] == "t")]
    )
    score = X @ np.append([0.1, 100.0], 1.0)[: X.shape[1]]
    sides = np.where(score > 0.0, 1.0, -1.0)
    if case == "on a line":
        X[:4] = np.column_stack([[-9.0, -3, 3, 9], np.zeros(4)])
        sides[4:], sides[:4] = np.where(X[4:, 1] > 0, 1.0, -1.0), [1, -1, 1, -1]
    shown = drawn(X, sides, [0, 1] if case == "three features" else None)
    model = LogisticRegression().fit(X, sides)
    assert model.stop_reason_ == ("quasi-separable" if case == "on a line" else "separable")
    x, y = shown.grid
    for row, column in rng.integers(5, 195, (60, 2)):
        place = np.append([x[column], y[row]], X[:, 2:].mean(axis=0))
        low, high = signs_by_programs(X, sides, place)
        wanted = 1.0 if low > -1e-9 else 0.0 if high < 1e-9 else np.nan
        near = shown.values[row - 1 : row + 2, column - 1 : column + 2]
        if np.isnan(near).any() == np.isnan(near).all():  # not at an edge
            assert shown.values[row, column] == pytest.approx(wanted, nan_ok=True)
    assert faults(shown) == []


def test_ridges_that_vanish_agree_where_the_data_determine_something():
    shown = drawn(FRAME[TWO], SETOSA)
    places = pd.DataFrame(np.stack(np.meshgrid(*shown.grid), -1).reshape(-1, 2), columns=TWO)
    certain = ~np.isnan(shown.values)
    assert 0.2 < certain.mean() < 0.9
    found = []
    for scale in (np.array([1.0, 1.0]), np.array([1.0, 30.0]), np.array([30.0, 1.0])):
        ridge = Ridge(C=1e6, max_iter=10_000, tol=1e-8).fit(FRAME[TWO] * scale, SETOSA == "setosa")
        assert ridge.score(FRAME[TWO] * scale, SETOSA == "setosa") == 1.0
        found.append(ridge.predict(places * scale).reshape(certain.shape))
        assert np.array_equal(found[-1][certain], shown.values[certain] == 1.0)
    assert (found[1] != found[2])[~certain].any()


def test_regions_have_the_colors_of_their_classes_whatever_the_reference():
    colors = {}
    for reference in ("setosa", "other"):
        shown = drawn(FRAME[TWO], SETOSA, reference=reference)
        zero, one = shown.regions_
        assert [zero.get_label(), one.get_label()] == ["probability 0", "probability 1"]
        colors[reference] = [zero.get_facecolor(), one.get_facecolor()]
        assert np.isnan(shown.values).any()
    assert colors["setosa"] == colors["other"][::-1]


def test_on_a_line_between_two_sides_nothing_is_left_open():
    shown = drawn(*FLAT)
    assert shown.undetermined_ == []
    assert "quasi-separable: between 0 and 1 only on the line" in shown.ax_.get_title()
    _, y = shown.grid
    assert np.all(shown.values[y > 0] == 1.0)
    assert np.all(shown.values[y < 0] == 0.0)


@pytest.fixture(scope="module")
def cells():
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    some = X[["mean radius", "mean texture"]].assign(large=1 * (X["mean radius"] > 18))
    return some, y


def test_a_finite_coefficient_has_the_curve_of_the_rows_on_the_boundary(cells):
    X, y = cells
    shown = drawn(X, y, "mean radius")
    on = X["large"] == 0
    left = LogisticRegression().fit(X.loc[on, ["mean radius", "mean texture"]], y[on])
    (grid,) = shown.grid
    places = pd.DataFrame({"mean radius": grid, "mean texture": X.loc[on, "mean texture"].mean()})
    wanted = left.predict_proba(places, interval="confidence")
    assert shown.values == pytest.approx(wanted.prediction[:, 1], abs=1e-6)
    assert shown.band[0] == pytest.approx(wanted.low[:, 1], abs=1e-5)
    assert shown.threshold_ is not None
    assert f"over the {on.sum()}\nrows on the boundary" in shown.ax_.get_title()
    assert faults(shown) == []


def test_a_coefficient_that_diverges_has_a_step(cells):
    X, y = cells
    shown = drawn(X, y, "large")
    (grid,) = shown.grid
    assert np.all(shown.values[grid < 0] == 1.0)
    assert np.all(shown.values[grid > 0] == 0.0)
    assert 0 < shown.values[grid == 0][1] < 1
    assert faults(shown) == []


def test_features_without_a_place_that_is_certain_are_hatched():
    shown = drawn(FRAME, SETOSA, LENGTH[0])
    assert np.isnan(shown.values).all()
    (hatched,) = shown.undetermined_
    assert hatched.get_width() == pytest.approx(np.ptp(shown.grid[0]))
    labels = [text.get_text() for text in shown.legend_.get_texts()]
    assert "P(species = setosa)" not in labels
    assert "not determined by the data" in labels


def test_penalties_give_a_curve():
    for how in ({"penalty": "firth"}, {"l2": 0.1}):
        shown = drawn(FRAME[LENGTH], SETOSA, **how)
        assert shown.certain is None
        assert ((shown.values > 0.01) & (shown.values < 0.99)).sum() > 5


@pytest.mark.parametrize("columns", [LENGTH, TWO])
def test_of_other_rows_there_is_a_step_at_the_boundary(columns, monkeypatch):
    X = FRAME[columns]
    model = LogisticRegression().fit(X, SETOSA)
    some = LogisticDisplay.from_estimator(model, X[::2], SETOSA[::2])
    monkeypatch.setattr(separated, "MOST_NUMBERS", X.size)
    many = LogisticDisplay.from_estimator(model, X, SETOSA)
    for shown in (some, many):
        assert shown.certain is None
        assert set(np.unique(shown.values)) <= {0.0, 0.5, 1.0}
        assert "separable: a step somewhere between the classes" in shown.ax_.get_title()
        assert faults(shown) == []
        places = np.stack(np.meshgrid(*shown.grid), -1).reshape(-1, len(columns))
        said = model.predict(pd.DataFrame(places, columns=columns)) == "setosa"
        assert (said == (shown.values.ravel() > 0.5)).mean() > 0.99


def test_of_other_rows_the_limit_is_drawn_where_weights_show_it(cells):
    X, y = cells
    model = LogisticRegression().fit(X, y)
    shown = LogisticDisplay.from_estimator(model, X[::2], y[::2], features="mean radius")
    own = LogisticDisplay.from_estimator(model, X, y, features="mean radius")
    assert ((shown.values > 0.01) & (shown.values < 0.99)).any()
    assert own.values.max() - shown.values.max() < 1e-3


def test_rows_with_repeats_and_large_numbers_take_seconds_at_most():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2)).round(1) * 1e6
    y = X[:, 0] + X[:, 1] > 5e4
    shown = drawn(X, y)
    assert len(shown.regions_) == 2


def test_the_command_draws_what_the_model_file_proves(tmp_path):
    FRAME[TWO].assign(species=SETOSA).to_csv(tmp_path / "iris.csv", index=False)
    words = ["fit", "iris.csv", "--target", "species", "--learner", "logistic", "--model", "m"]
    assert here(*words, cwd=tmp_path).returncode == 0
    done = here("plot", "probability", "m", "iris.csv", "-o", "p.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "p.svg").read_text()
    assert "the data leave the hatched part open" in text
    model = linsep.load(tmp_path / "m")
    assert model.separation_.kind == "separable"
