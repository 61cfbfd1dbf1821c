"""Pictures of probabilities: their artists hold the numbers of the model and of other libraries."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.stats import norm
from sklearn.datasets import load_iris

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression, Perceptron
from linsep.plot import LogisticDisplay
from refusals import refused

FRAME, SPECIES = load_iris(return_X_y=True, as_frame=True)
X, Y = FRAME[SPECIES > 0], SPECIES[SPECIES > 0]
WIDTH = X[["petal width (cm)"]]
BOTH = ["petal length (cm)", "petal width (cm)"]
PNG = b"\x89PNG"


def ends_of(band, grid):
    """The lower and the upper end of a band at each place of the grid."""
    x, y = band.get_paths()[0].vertices.T
    return np.array([[y[x == place].min(), y[x == place].max()] for place in grid[1:-1]]).T


def test_the_curve_and_its_band_are_those_of_statsmodels():
    for level in [0.9, 0.95]:
        shown = LogisticDisplay.from_estimator(
            LogisticRegression().fit(WIDTH, Y), WIDTH, Y, level=level
        )
        (grid,) = shown.grid
        fit = sm.GLM(Y == 2, sm.add_constant(WIDTH), family=sm.families.Binomial()).fit(tol=1e-14)
        found = fit.get_prediction(sm.add_constant(grid)).summary_frame(alpha=1 - level)
        assert shown.curve_.get_ydata() == pytest.approx(found["mean"].to_numpy(), rel=1e-6)
        low, high = ends_of(shown.band_, grid)
        assert low == pytest.approx(found["mean_ci_lower"].to_numpy()[1:-1], rel=1e-5)
        assert high == pytest.approx(found["mean_ci_upper"].to_numpy()[1:-1], rel=1e-5)
        place = shown.threshold_.get_xdata()[0]
        assert fit.predict([[1.0, place]]) == pytest.approx(0.5)
        assert f"{100 * level:g}% confidence band" in [
            t.get_text() for t in shown.legend_.get_texts()
        ]


def test_the_probability_is_of_the_class_that_is_not_the_reference():
    names = np.array(["", "versicolor", "virginica"])[Y]
    target = pd.Series(names, name="species")
    model = LogisticRegression(reference="virginica").fit(WIDTH, target)
    shown = LogisticDisplay.from_estimator(model, WIDTH, target)
    assert shown.ax_.get_ylabel() == "P(species = versicolor)"
    (grid,) = shown.grid
    rows = pd.DataFrame({BOTH[1]: grid})
    assert shown.values == pytest.approx(model.predict_proba(rows)[:, 0])
    low, high = shown.band
    assert ((low < shown.values) & (shown.values < high)).all()
    above = shown.points_[0].get_offsets()
    assert above[:, 1].min() > 1  # the rows of versicolor
    two = LogisticDisplay.from_estimator(
        LogisticRegression(reference="virginica").fit(X[BOTH], target), X[BOTH], target
    )
    assert two.ax_.get_title() == "P(species = versicolor)"
    assert two.values[0, 0] > 0.99  # small petals


def test_gaussians_cross_where_the_curve_of_naive_bayes_is_a_half():
    rows, labels = WIDTH[20:], Y[20:]
    shown = LogisticDisplay.from_estimator(GaussianNaiveBayes().fit(rows, labels), rows, labels)
    (grid,) = shown.grid
    groups = [rows[labels == k].to_numpy()[:, 0] for k in (1, 2)]
    deviation = np.sqrt(np.mean(np.concatenate([g - g.mean() for g in groups]) ** 2))
    heights = [len(g) / len(rows) * norm.pdf(grid, g.mean(), deviation) for g in groups]
    drawn = [line.get_ydata() for line in shown.gaussians_]
    assert drawn[0] / drawn[1] == pytest.approx(heights[0] / heights[1])
    assert drawn[1] / drawn[1].max() == pytest.approx(heights[1] / heights[1].max())
    assert shown.curve_.get_ydata() == pytest.approx(heights[1] / (heights[0] + heights[1]))
    crossing = np.interp(0.0, np.diff(drawn, axis=0)[0] / np.sum(drawn, axis=0), grid)
    assert shown.threshold == pytest.approx(crossing, abs=1e-3)
    assert shown.band_ is None
    assert shown.ax_.get_title() == ""


def test_contours_of_two_features_have_the_probability_they_say():
    for model in [LogisticRegression(), GaussianNaiveBayes()]:
        model.fit(X[BOTH], Y)
        shown = LogisticDisplay.from_estimator(model, X[BOTH], Y)
        levels, segments = shown.contours_.levels, shown.contours_.allsegs
        for level, lines in zip(levels, segments, strict=True):
            at = model.decision_function(pd.DataFrame(np.concatenate(lines), columns=BOTH))
            assert 1 / (1 + np.exp(-at)) == pytest.approx(level, abs=0.01)
        assert 0.5 in levels
        assert np.asarray(shown.surface_.get_array()).reshape(200, 200) == pytest.approx(
            shown.values
        )
        assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == tuple(BOTH)


def test_a_class_without_weight_has_probability_zero():
    with pytest.warns(UserWarning, match="have weight 0"):
        model = GaussianNaiveBayes().fit(WIDTH, Y, sample_weight=(Y == 1).astype(float))
    shown = LogisticDisplay.from_estimator(model, WIDTH, Y)
    assert np.array_equal(shown.curve_.get_ydata(), np.zeros(200))
    assert shown.threshold_ is None
    assert shown._repr_png_().startswith(PNG)


def test_a_feature_without_effect_has_no_threshold():
    flat, y = np.array([[1.0], [2.0], [1.0], [2.0]]), [0, 0, 1, 1]
    shown = LogisticDisplay.from_estimator(LogisticRegression().fit(flat, y), flat, y)
    assert shown.threshold_ is None
    assert shown.values == pytest.approx(0.5)
    same, y = np.full((4, 1), 3.0), [0, 1, 1, 1]
    shown = LogisticDisplay.from_estimator(GaussianNaiveBayes().fit(same, y), same, y)
    assert shown.values == pytest.approx(0.75)
    assert shown.gaussians_ == []


@pytest.mark.filterwarnings("ignore:The data are")
def test_the_curve_of_separable_classes_is_of_the_predictions_and_says_so():
    rows, y = FRAME[BOTH[:1]], SPECIES == 0
    for columns in (BOTH[:1], BOTH):
        model = LogisticRegression().fit(FRAME[columns], y)
        shown = LogisticDisplay.from_estimator(model, FRAME[columns], y, resolution=20)
        places = np.stack(np.meshgrid(*shown.grid), -1).reshape(-1, len(columns))
        found = model.predict_proba(pd.DataFrame(places, columns=columns))[:, 1]
        assert shown.values.ravel() == pytest.approx(found)
        assert "The classes are separable" in shown.ax_.get_title()
        assert shown.band_ is None
    firth = LogisticRegression(penalty="firth").fit(rows, y)
    assert LogisticDisplay.from_estimator(firth, rows, y).ax_.get_title() == ""


def test_what_cannot_be_drawn_is_one_sentence():
    for model, rows, options, code in [
        (LogisticRegression(), X, {}, "needs-option"),
        (LogisticRegression(), X, {"features": "length"}, "unknown-column"),
        (LogisticRegression(), WIDTH, {"features": [0]}, "bad-option"),
        (LogisticRegression(), WIDTH, {"level": 95}, "bad-option"),
        (Perceptron(), WIDTH, {}, "unsupported"),
        (LinearRegression(), WIDTH, {}, "unsupported"),
    ]:
        with refused(ValueError, code):
            LogisticDisplay.from_estimator(model.fit(rows, Y), rows, Y, **options)
    model = LogisticRegression().fit(WIDTH.to_numpy(), Y)
    with refused(ValueError, "unknown-label", row=1):
        LogisticDisplay.from_estimator(model, WIDTH.to_numpy(), Y - 1)
    three = LogisticRegression(l2=1.0).fit(FRAME, SPECIES)
    with refused(ValueError, "class-count"):
        LogisticDisplay.from_estimator(three, FRAME, SPECIES, features=0)


def test_other_features_are_at_their_means():
    rows = sp.csr_matrix(X.to_numpy())
    model = LogisticRegression().fit(rows, Y)
    shown = LogisticDisplay.from_estimator(model, rows, Y, features=[3, "x2"], resolution=5)
    place = [*X.to_numpy().mean(axis=0)[:2], shown.grid[1][1], shown.grid[0][4]]
    assert shown.values[1, 4] == pytest.approx(model.predict_proba([place])[0, 1])
