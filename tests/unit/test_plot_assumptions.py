"""The picture of assumptions holds the numbers of statsmodels and scipy."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import probplot

from linsep import LinearRegression, LogisticRegression
from linsep.plot import AssumptionsDisplay
from refusals import refused

pytestmark = pytest.mark.compiled
STACKLOSS = sm.datasets.stackloss.load_pandas()
X, Y = STACKLOSS.exog, STACKLOSS.endog
PNG = b"\x89PNG"


def test_points_are_those_of_statsmodels():
    for weighted in [False, True]:
        weights = 0.5 + np.arange(len(Y)) % 3 if weighted else np.ones(len(Y))
        shown = AssumptionsDisplay.from_estimator(
            LinearRegression().fit(X, Y, weights), X, Y, sample_weight=weights
        )
        root, Z = np.sqrt(weights), sm.add_constant(X)
        fit = sm.OLS(root * Y, Z.mul(root, axis=0)).fit()
        influence = fit.get_influence()
        internal = influence.resid_studentized_internal
        wanted = {
            "linearity": (Z @ fit.params, fit.resid),
            "equal variance": (Z @ fit.params, np.sqrt(np.abs(internal))),
            "independence": (np.arange(len(Y)), fit.resid),
            "influence": (influence.hat_matrix_diag, internal),
        }
        for panel, (x, y) in wanted.items():
            drawn = np.asarray(shown.points_[panel].get_offsets())
            assert drawn == pytest.approx(np.column_stack([x, y]), abs=1e-9), panel
        normal, ordered = probplot(internal, fit=False)
        drawn = np.column_stack(shown.points_["normality"].get_data())
        assert drawn == pytest.approx(np.column_stack([normal, ordered]), abs=1e-9)
        assert shown.normal_.get_slope() == 1.0
        named = [int(note.get_text()) for note in shown.named_]
        assert named == np.argsort(influence.cooks_distance[0])[::-1][:3].tolist()


def test_lines_of_equal_distance_are_at_that_distance():
    shown = AssumptionsDisplay.from_estimator(LinearRegression().fit(X, Y), X, Y)
    for distance, pair in shown.distances_.items():
        for line in pair:
            h, r = line.get_data()
            assert r**2 / 4 * h / (1 - h) == pytest.approx(distance)  # Cook 1977, four weights
    names = [text.get_text() for text in shown.legend_.get_texts()]
    assert "Cook's distance 1" in names
    rows = np.arange(40.0)[:, None]
    small = AssumptionsDisplay.from_estimator(
        LinearRegression().fit(rows, rows[:, 0] % 3), rows, rows[:, 0] % 3
    )
    names = [text.get_text() for text in small.legend_.get_texts()]
    assert not any("Cook" in name for name in names)  # both lines are beyond the picture


def test_lines_join_the_means_of_groups():
    rng = np.random.default_rng(0)
    x = rng.permutation(40)[:, None].astype(float)
    y = x[:, 0] ** 2
    shown = AssumptionsDisplay.from_estimator(LinearRegression().fit(x, y), x, y)
    at, means = shown.means_["linearity"].get_data()
    residuals = y - np.polyval(np.polyfit(x[:, 0], y, 1), x[:, 0])
    wanted = [residuals[(x[:, 0] >= k) & (x[:, 0] < k + 5)].mean() for k in range(0, 40, 5)]
    assert means == pytest.approx(wanted)
    assert means[0] > 0 > means[4]
    assert np.array_equal(at, np.sort(at))
    assert "influence" not in shown.means_
    assert shown.axes_["linearity"].get_title() == "linearity: contradicted"
    few = AssumptionsDisplay.from_estimator(LinearRegression().fit(x[:9], y[:9]), x[:9], y[:9])
    assert few.means_ == {}


def test_results_are_below_the_panels():
    model = LinearRegression().fit(X, Y)
    shown, found = AssumptionsDisplay.from_estimator(model, X, Y), model.assumptions(X, Y)
    for finding in found.findings:
        text = " ".join(shown.conclusions_[finding.assumption].get_text().split())
        text = text.replace("\N{MINUS SIGN}", "-")
        name = finding.test[0].upper() + finding.test[1:]
        assert f"{name} {finding.statistic:.4g}" in text
        assert " ".join(finding.conclusion.split()) in text
    assert shown.axes_["linearity"].get_title() == "linearity"
    assert "no data can test" in shown.existence_.get_text()


def test_texts_cover_no_panel():
    shown = AssumptionsDisplay.from_estimator(LinearRegression().fit(X, Y), X, Y)
    shown.figure_.draw_without_rendering()
    panels = [ax.get_window_extent() for ax in shown.axes_.values()]
    texts = [*shown.conclusions_.values(), shown.existence_, shown.legend_]
    for text in texts:
        box = text.get_window_extent()
        assert not any(box.overlaps(panel) for panel in panels)
        assert not any(box.overlaps(t.get_window_extent()) for t in texts if t is not text)
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= shown.figure_.bbox.x1


def test_a_row_of_leverage_one_has_no_standardized_residual():
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [5.0, 0.0], [4.0, 1.0]])
    y = [1.0, 3.0, 2.0, 6.0, 9.0]
    shown = AssumptionsDisplay.from_estimator(LinearRegression().fit(rows, y), rows, y)
    assert len(shown.points_["linearity"].get_offsets()) == 5
    assert len(shown.points_["influence"].get_offsets()) == 4
    assert "4" not in [note.get_text() for note in shown.named_]
    assert shown._repr_png_().startswith(PNG)


def test_rows_without_influence_are_not_named():
    rows, y = np.array([[0.0], [0.0], [2.0], [1.0]]), [1.0, 2.0, 3.0, 2.0]
    model = LinearRegression(fit_intercept=False).fit(rows, y)
    shown = AssumptionsDisplay.from_estimator(model, rows, y)
    assert {note.get_text() for note in shown.named_} == {"2", "3"}


def test_a_perfect_fit_says_that_nothing_is_defined():
    rows, y = [[1.0], [2.0], [4.0]], [1.0, 2.0, 4.0]
    shown = AssumptionsDisplay.from_estimator(LinearRegression().fit(rows, y), rows, y)
    assert "fit is perfect" in " ".join(shown.conclusions_["normality"].get_text().split())
    assert "normality" not in shown.points_
    assert shown.named_ == []
    assert shown._repr_png_().startswith(PNG)


def test_a_hundred_thousand_rows_are_a_density():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((100_000, 2))
    y = rows @ [1.0, 2.0] + rng.standard_normal(100_000)
    shown = AssumptionsDisplay.from_estimator(LinearRegression().fit(rows, y), rows, y)
    assert shown.figure_.get_suptitle() == "density of 100,000 rows"
    for panel in ("linearity", "equal variance", "independence", "influence"):
        assert shown.points_[panel].get_array().sum() == 100_000
    assert shown.points_["normality"].get_linestyle() == "-"


def test_what_cannot_be_drawn_is_one_sentence():
    model = LinearRegression().fit(X.to_numpy(), Y)
    with pytest.raises(ValueError, match="2 features, but LinearRegression is expecting 3"):
        AssumptionsDisplay.from_estimator(model, X.to_numpy()[:, :2], Y)
    with refused(ValueError, "other-rows"):
        AssumptionsDisplay.from_estimator(model, X.to_numpy()[:9], Y[:9])
    other = LogisticRegression().fit(X, Y > 13)
    with refused(ValueError, "unsupported"):
        AssumptionsDisplay.from_estimator(other, X, Y)
