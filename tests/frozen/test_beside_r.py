"""Numbers of other software on real data: R 4.2 with sandwich 3.0 on its own `mtcars`."""

import numpy as np
import pytest

from linsep import LinearRegression, LogisticRegression

MPG = """21 21 22.8 21.4 18.7 18.1 14.3 24.4 22.8 19.2 17.8 16.4 17.3 15.2 10.4 10.4 14.7 32.4 30.4
33.9 21.5 15.5 15.2 13.3 19.2 27.3 26 30.4 15.8 19.7 15 21.4"""
WEIGHT = """2.62 2.875 2.32 3.215 3.44 3.46 3.57 3.19 3.15 3.44 3.44 4.07 3.73 3.78 5.25 5.424 5.345
2.2 1.615 1.835 2.465 3.52 3.435 3.84 3.845 1.935 2.14 1.513 3.17 2.77 3.57 2.78"""
POWER = """110 110 93 110 175 105 245 62 95 123 123 180 180 180 205 215 230 66 52 65 97 150 150 245
175 66 91 113 264 175 335 109"""
MANUAL = "1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 0 0 0 0 0 1 1 1 1 1 1 1"
mpg, weight, power, manual = (
    np.array(text.split(), float) for text in (MPG, WEIGHT, POWER, MANUAL)
)
X = np.column_stack([weight, power])

#: `lm(mpg ~ wt + hp)`: intercept, wt, hp
COEFFICIENTS = 3.7227270116447201e01, -3.8778307424046821e00, -3.1772946982161002e-02
ERRORS = {
    None: (1.5987875379993941e00, 6.3273349437739523e-01, 9.0297096758557224e-03),
    "HC0": (1.9389139564175544e00, 6.1992750528989504e-01, 6.6460579081831029e-03),
    "HC1": (2.0367350019129633e00, 6.5120375480994330e-01, 6.9813612520214169e-03),
    "HC2": (2.0776099435146271e00, 6.8776548173584318e-01, 7.8250293975150754e-03),
    "HC3": (2.2298054034362313e00, 7.6851905035781765e-01, 9.3851379086475548e-03),
}
R_SQUARED, LOG_LIKELIHOOD, RSS = 0.82678545188279118, -74.326169412820661, 195.04775474146638
#: `lm(mpg ~ wt + hp, weights = 1 + (0:31) %% 3)`: estimates and errors
WEIGHTED = 3.7117065915745208e01, -3.6636719618598979e00, -3.6388222869843945e-02
WEIGHTED_ERRORS = 1.6591554902837038e00, 6.8470920746004460e-01, 1.0123739311492056e-02
#: `glm(am ~ wt + hp, binomial)`, started at its estimates: its errors are those of the step before
LOGISTIC = 1.8866298717204096e01, -8.0834751824446283e00, 3.6255596082216547e-02
LOGISTIC_ERRORS = {
    None: (7.4435584279820066e00, 3.0686752753907114e00, 1.7734154331947392e-02),
    "HC0": (8.2429182566282098e00, 2.7674875812912960e00, 8.3212482516862168e-03),
}
DEVIANCE = 10.059110472266989


@pytest.mark.parametrize("covariance", ERRORS)
def test_least_squares_beside_r(covariance):
    model = LinearRegression(covariance=covariance).fit(X, mpg)
    assert model.params_ == pytest.approx(COEFFICIENTS, rel=1e-12)
    assert model.standard_errors_ == pytest.approx(ERRORS[covariance], rel=1e-11)
    found = model.r_squared_, model.log_likelihood_, model.rss_
    assert found == pytest.approx((R_SQUARED, LOG_LIKELIHOOD, RSS), rel=1e-12)


def test_weighted_least_squares_beside_r():
    model = LinearRegression().fit(X, mpg, sample_weight=1 + np.arange(32) % 3)
    assert model.params_ == pytest.approx(WEIGHTED, rel=1e-12)
    assert model.standard_errors_ == pytest.approx(WEIGHTED_ERRORS, rel=1e-11)


@pytest.mark.parametrize("covariance", LOGISTIC_ERRORS)
def test_logistic_regression_beside_r(covariance):
    model = LogisticRegression(covariance=covariance).fit(X, manual)
    assert model.params_ == pytest.approx(LOGISTIC, rel=1e-9)
    assert model.standard_errors_ == pytest.approx(LOGISTIC_ERRORS[covariance], rel=1e-9)
    assert model.deviance_ == pytest.approx(DEVIANCE, rel=1e-12)
