"""Assumptions of weighted fits, inference without a maximum, and what is compared with what."""

import numpy as np
import pytest
from statsmodels.stats.stattools import durbin_watson

from command_line import assert_refused, here
from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression
from linsep.plot import AssumptionsDisplay
from parameters_in_order import ends_of, last

pytestmark = pytest.mark.compiled

X = np.arange(1.0, 9).reshape(-1, 1)
Y = np.array([1.1, 2.9, 2.4, 4.9, 4.4, 6.9, 6.2, 8.6])


def test_copies_of_rows_have_no_order_and_the_numbers_of_their_row():
    counts = np.array([3, 3, 0, 3, 1, 3, 3, 2])
    model = LinearRegression(weight_type="frequency").fit(X, Y, counts)
    found = model.assumptions(X, Y, counts)
    for test in ("Durbin-Watson", "Shapiro-Wilk"):
        assert np.isnan(found[test].statistic)
        assert "copies of a row" in found[test].conclusion
    assert found.numbers.tolist() == np.repeat(np.arange(8), counts).tolist()
    farthest = int(found.numbers[np.argmax(np.abs(found.studentized))])
    assert found["studentized residual"].conclusion.startswith(f"row {farthest};")
    labels = [text.get_text() for text in AssumptionsDisplay.from_assumptions(found).named_]
    assert len(set(labels)) == len(labels)
    ones = np.ones(8)
    plain = LinearRegression(weight_type="frequency").fit(X, Y, ones).assumptions(X, Y, ones)
    residuals = Y - LinearRegression().fit(X, Y).predict(X)
    assert plain["Durbin-Watson"].statistic == pytest.approx(durbin_watson(residuals))


def test_rows_are_numbered_as_they_are_given(tmp_path):
    weights = np.array([0, 0, 1, 1, 1, 1, 1, 1.0])
    y = np.array([1.1, 2.3, 2.9, 4.2, 9.9, 6.1, 6.8, 8.3])
    found = LinearRegression().fit(X, y, weights).assumptions(X, y, weights)
    assert found["studentized residual"].conclusion.startswith("row 4;")
    assert found["Cook's distance"].conclusion.startswith("row ")
    lines = [f"{a},{b},{w}" for a, b, w in zip(X[:, 0], y, weights, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["x,y,w", *lines]) + "\n")
    fit = "fit a.csv --target y --weight w --learner linear --model m"
    assert here(*fit.split(), cwd=tmp_path).returncode == 0
    shown = here("summary", "m", "a.csv", cwd=tmp_path).stdout
    assert "row 4; p is for the largest of 6" in shown
    assert next(line for line in shown.splitlines() if line.startswith("4 ")).split()[2] == "9.9"


@pytest.mark.parametrize(("n", "d"), [(200, 131), (300, 40)])
def test_more_products_than_rows_explain_anything(n, d):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    found = LinearRegression().fit(X, y).assumptions(X, y)
    assert "as many regressors as rows" in found["White"].conclusion
    assert found["Breusch-Pagan"].p_value > 0


def test_products_that_repeat_are_fewer_than_rows():
    """Of indicators a square is the column itself, and many products are zero."""
    rng = np.random.default_rng(0)
    X = np.eye(12)[rng.integers(0, 12, 80)][:, 1:]
    y = rng.normal(size=80)
    found = LinearRegression().fit(X, y).assumptions(X, y)
    assert found["White"].statistic == pytest.approx(found["Breusch-Pagan"].statistic)


def test_no_maximum_has_no_intervals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    with pytest.warns(UserWarning, match="before the maximum"):
        model = LogisticRegression(penalty="firth", max_iter=1).fit(X, y)
    assert np.isnan(np.concatenate([*ends_of(model), last(model, "p_values_")])).all()
    whole = LogisticRegression(penalty="firth").fit(X, y)
    assert np.isfinite(np.concatenate([*ends_of(whole), last(whole, "p_values_")])).all()


def test_implied_weights_have_no_tests():
    model = GaussianNaiveBayes().fit([[1.0], [3], [5], [7], [4]], [0, 0, 1, 1, 0]).to_logistic()
    statistic, df, p = model.likelihood_ratio_
    assert np.isnan([statistic, p]).all()
    assert df == 1


def test_class_weights_are_told_below_the_table():
    y = [0, 0, 1, 0, 1, 1, 0, 1]
    noted = LogisticRegression(class_weight={1: 10}).fit(X, y).summary().notes
    assert len(noted) == 1
    assert not LogisticRegression().fit(X, y).summary().notes


def test_what_counts_as_the_reference_is_told(tmp_path):
    (tmp_path / "a.csv").write_text("g,n,y\na,1,1\na,2,1.2\nb,3,5\nb,1,5.2\n,2,9\n")
    (tmp_path / "b.csv").write_text("g,n\na,1\nzzz,1\n")
    fit = [
        "fit",
        "a.csv",
        "--target",
        "y",
        "--learner",
        "linear",
        "--missing",
        "zero",
        "--model",
        "m",
    ]
    done = here(*fit, cwd=tmp_path)
    assert "compared with it; missing values are treated as it" in done.stdout
    done = here("predict", "m", "b.csv", cwd=tmp_path)
    assert done.stderr == (
        "linsep: warning: 1 value of column 'g' not seen in training; "
        "predicted as the reference g=a.\n"
    )
    (tmp_path / "c.csv").write_text("g,n,y\na,1,2\nzzz,1,3\nb,2,3\n")
    shown = " ".join(here("score", "m", "c.csv", cwd=tmp_path).stdout.split())
    assert "'g' not seen in training; predicted as the reference g=a" in shown
    assert_refused(*fit[:-2], "--reference-level", "n=1", cwd=tmp_path, code="column-type")
