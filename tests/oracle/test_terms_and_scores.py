"""Tests of terms by likelihood ratios, and of more columns by their scores."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import optimize, stats
from statsmodels.stats.anova import anova_lm

import linsep
from linsep import LinearRegression, LogisticRegression
from linsep.errors import DataError, ParameterError, SeparationWarning
from refusals import refused

rng = np.random.default_rng(484848)
N = 80
FRAME = pd.DataFrame({
    "region": rng.choice(["north", "south", "east"], N), "rank": rng.integers(1, 4, N),
    "x1": rng.normal(size=N), "x2": rng.normal(size=N), "w": rng.integers(1, 4, N).astype(float),
})  # fmt: skip
FRAME["y"] = FRAME.x1 + (FRAME.region == "north") + rng.normal(size=N)
FRAME["k"] = (FRAME.y + rng.normal(size=N) > 0.5).astype(int)
FRAME["kind"] = np.digitize(FRAME.y + rng.normal(size=N), [-0.5, 1.0])
EXTRA = rng.normal(size=(N, 2))
TERMS = "C(rank) + region + x1 + x2"


def test_terms_of_least_squares_are_tested_as_by_drop1():
    model = linsep.fit(FRAME, formula=f"y ~ {TERMS}", learner="linear")
    theirs = smf.ols(f"y ~ {TERMS}", FRAME).fit()
    expected = anova_lm(theirs, typ=2)
    found = model.likelihood_ratio_tests(FRAME).tidy().set_index("term")
    assert found.index.tolist() == ["C(rank)", "region", "x1", "x2"]
    for term in found.index:
        assert found.df[term] == expected.df[term]
        assert np.isclose(found.sum_of_squares[term], expected.sum_sq[term], rtol=1e-8)
        assert np.isclose(found.F[term], expected.F[term], rtol=1e-8)
        assert np.isclose(found.p_value[term], expected["PR(>F)"][term], rtol=1e-7)
        without = smf.ols(f"y ~ {TERMS}".replace(f" + {term}", "").replace(f"{term} + ", ""), FRAME)
        assert np.isclose(found.rss[term], without.fit().ssr, rtol=1e-9)
        assert np.isclose(found.aic[term], without.fit().aic, rtol=1e-9)


def test_terms_of_logistic_regressions_are_tested_by_refits():
    weights = FRAME.w
    model = linsep.fit(FRAME, formula=f"k ~ {TERMS}", learner="logistic", weight="w")

    def likelihood(formula):
        family = sm.families.Binomial()
        return smf.glm(formula, FRAME, family=family, freq_weights=weights).fit(tol=1e-12).llf

    found = model.likelihood_ratio_tests(FRAME).tidy().set_index("term")
    assert found.index.tolist() == ["C(rank)", "region", "x1", "x2"]
    for term in found.index:
        rest = likelihood(f"k ~ {TERMS}".replace(f" + {term}", "").replace(f"{term} + ", ""))
        gained = 2 * (likelihood(f"k ~ {TERMS}") - rest)
        assert np.isclose(found.log_likelihood[term], rest, rtol=1e-8)
        assert np.isclose(found.chi2[term], gained, rtol=1e-5)
        df = {"C(rank)": 2, "region": 2}.get(term, 1)
        assert found.df[term] == df
        assert np.isclose(found.p_value[term], stats.chi2.sf(gained, df), rtol=1e-5)


def ways(tmp_path, learner):
    """A fit, and its rows in every form."""
    target = "y" if learner == "linear" else "k"
    kind = LinearRegression if learner == "linear" else LogisticRegression
    frame = FRAME[["region", "x1", "x2", target]]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    X, y = frame[["region", "x1", "x2"]], frame[target]
    coded = np.column_stack([X.x1, X.x2, X.region == "north", X.region == "south"]).astype(float)
    fitted = linsep.fit(frame, target=target, learner=learner)
    yield fitted, (frame,)
    yield fitted, (tmp_path / "rows.csv",)
    yield linsep.load(linsep.save(fitted, tmp_path / "m.linsep")), (X, y)
    yield kind().fit(sp.csr_matrix(coded), y), (sp.csr_matrix(coded), y)


@pytest.mark.parametrize("learner", ["linear", "logistic"])
def test_rows_may_come_in_any_form(tmp_path, learner):
    statistic = "F" if learner == "linear" else "chi2"
    first = scored = None
    for model, rows in ways(tmp_path, learner):
        found = model.likelihood_ratio_tests(*rows).tidy().set_index("term")
        y = rows[1] if len(rows) > 1 else None
        score = model.score_test(rows[0], y, EXTRA)
        first, scored = (found, score) if first is None else (first, scored)
        names = {"x1": "x1", "x2": "x2", "region": "region"}
        for ours, named in ({"x1": "x0", "x2": "x1"} if "x0" in found.index else names).items():
            assert np.isclose(found[statistic][named], first[statistic][ours], rtol=1e-6), rows
        assert np.isclose(score.statistic, scored.statistic, rtol=1e-6)


def test_terms_within_products_stay():
    model = linsep.fit(FRAME, formula="y ~ region * x1 + x2", learner="linear")
    found = model.likelihood_ratio_tests(FRAME)
    assert found.columns["term"] == ["x2", "region:x1"] or found.columns["term"] == [
        "region:x1", "x2",
    ]  # fmt: skip
    wald = model.wald_test("region[T.north]:x1, region[T.south]:x1")
    place = found.columns["term"].index("region:x1")
    assert np.isclose(found.columns["F"][place], wald.statistic, rtol=1e-8)


def marked():
    X = FRAME[["x1", "x2"]].assign(marker=((FRAME.k == 1) & (FRAME.x1 > 0)).astype(float))
    with pytest.warns(SeparationWarning):
        return X, LogisticRegression().fit(X, FRAME.k)


def test_a_diverging_coefficient_is_tested_by_the_supremum():
    X, model = marked()
    found = model.likelihood_ratio_tests(X, FRAME.k)
    smaller = LogisticRegression().fit(X[["x1", "x2"]], FRAME.k)
    expected = linsep.compare(smaller, model).tidy()
    table = found.tidy().set_index("term")
    assert np.isclose(table.chi2["marker"], expected.chi2[1], rtol=1e-6)
    profile = LogisticRegression(intervals="profile")
    with pytest.warns(SeparationWarning):
        profile.fit(X, FRAME.k)
    assert np.allclose(table.p_value, profile.p_values_[1:], rtol=1e-4)


def firth_likelihood(X, y, b):
    p = 1 / (1 + np.exp(-X @ b))
    information = X.T @ (X * (p * (1 - p))[:, None])
    return np.sum(np.where(y, np.log(p), np.log1p(-p))) + np.linalg.slogdet(information)[1] / 2


def test_firths_coefficients_are_held_at_zero_in_the_full_model():
    coded = pd.get_dummies(FRAME.region, drop_first=True).astype(float)
    full = np.column_stack([np.ones(N), FRAME.x1, FRAME.x2, coded])
    y = FRAME.k.to_numpy() == 1

    def largest(held):
        free = [j for j in range(full.shape[1]) if j not in held]

        def loss(part):
            b = np.zeros(full.shape[1])
            b[free] = part
            return -firth_likelihood(full, y, b)

        return -optimize.minimize(loss, np.zeros(len(free)), tol=1e-12).fun

    frame = FRAME[["region", "x1", "x2"]]
    model = LogisticRegression(penalty="firth").fit(frame, FRAME.k)
    found = model.likelihood_ratio_tests(frame, FRAME.k).tidy().set_index("term")
    for term, held in (("x1", [1]), ("x2", [2]), ("region", [3, 4])):
        gained = 2 * (largest([]) - largest(held))
        assert np.isclose(found.chi2[term], gained, rtol=1e-5)
        assert np.isclose(found.penalized_log_likelihood[term], largest(held), rtol=1e-9)
        assert found.df[term] == len(held)
        assert np.isclose(found.p_value[term], stats.chi2.sf(gained, len(held)), rtol=1e-5)
    glanced = model.glance()
    assert np.isclose(glanced.penalized_log_likelihood[0], largest([]), rtol=1e-9)
    assert np.isclose(glanced.chi2[0], 2 * (largest([]) - largest([1, 2, 3, 4])), rtol=1e-6)
    # of one coefficient it is the test of its profile
    assert np.allclose(found.p_value[["x1", "x2"]], model.p_values_[1:3], rtol=1e-5)


def test_scores_of_logistic_regressions_are_those_of_statsmodels():
    X, weights = FRAME[["x1", "x2"]], FRAME.w
    model = LogisticRegression(tol=1e-12).fit(X, FRAME.k, weights)
    glm = sm.GLM(FRAME.k, sm.add_constant(X), sm.families.Binomial(), freq_weights=weights)
    fit = glm.fit(tol=1e-13)
    for more in (EXTRA[:, 0], sp.csr_matrix(EXTRA), EXTRA * [1e9, 1e-9]):
        columns = np.asarray(more.todense() if sp.issparse(more) else more).reshape(N, -1)
        scaled = columns / np.abs(columns).max(axis=0)
        statistic, p, df = glm.score_test(fit.params, exog_extra=scaled)
        found = model.score_test(X, FRAME.k, more, weights)
        assert np.isclose(found.statistic, np.squeeze(statistic), rtol=1e-6)
        assert np.isclose(found.p_value, np.squeeze(p), rtol=1e-6)
        assert found.df == df


def test_scores_of_least_squares_are_the_lagrange_multiplier_test():
    X = FRAME[["x1", "x2"]]
    model = LinearRegression().fit(X, FRAME.y)
    Z, y = sm.add_constant(X).to_numpy(), FRAME.y.to_numpy()
    small, large = sm.OLS(y, Z).fit(), sm.OLS(y, np.column_stack([Z, EXTRA])).fit()
    found = model.score_test(X, FRAME.y, EXTRA)
    expected = large.compare_lm_test(small, use_lr=True)
    assert np.allclose([found.statistic, found.p_value, found.df], expected, rtol=1e-8)


def test_scores_of_several_classes_are_those_of_the_full_hessian():
    X = FRAME[["x1"]]
    model = LogisticRegression(tol=1e-12).fit(X, FRAME.kind)
    Z = np.column_stack([np.ones(N), FRAME.x1, EXTRA])
    p = np.exp(model.predict_log_proba(X))[:, :2]
    apart = np.column_stack([FRAME.kind == k for k in (0, 1)]) - p
    information = np.zeros((8, 8))
    for a, b in itertools.product(range(2), range(2)):
        curvature = p[:, a] * ((a == b) - p[:, b])
        information[4 * a : 4 * a + 4, 4 * b : 4 * b + 4] = Z.T @ (Z * curvature[:, None])
    slope = (apart.T @ Z).ravel()
    found = model.score_test(X, FRAME.kind, EXTRA)
    assert np.isclose(found.statistic, slope @ np.linalg.solve(information, slope), rtol=1e-6)
    assert found.df == 4


def test_scores_in_fractions():
    # 1 of 4 at x = 0 and 3 of 4 at x = 1: at p = 1/2, slope 4 (3/4 - 1/2) = 1, and its variance
    # sum (x - 1/2)^2 / 4 = 1/2, so that the statistic is 2
    x, y = np.repeat([0.0, 1.0], 4), [0, 0, 0, 1, 0, 1, 1, 1]
    nothing = np.zeros((8, 1))
    model = LogisticRegression().fit(nothing, y)
    assert np.isclose(model.score_test(nothing, y, x).statistic, 2.0, rtol=1e-12)


def test_columns_that_add_nothing_have_no_score():
    X = FRAME[["x1", "x2"]]
    for kind, y in ((LinearRegression, FRAME.y), (LogisticRegression, FRAME.k)):
        found = kind().fit(X, y).score_test(X, y, 2 * X.x1 - X.x2)
        assert found.df == 0
        assert np.isnan(found.p_value)


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
def test_other_rows_are_refused(kind):
    X, y = FRAME[["x1", "x2"]], FRAME.y if kind is LinearRegression else FRAME.k
    model = kind().fit(X, y)
    for call in (
        model.likelihood_ratio_tests,
        lambda X, y: model.score_test(X, y, EXTRA[: len(X)]),
    ):
        with refused(DataError, "other-rows"):
            call(X[1:], y[1:])
    with refused(DataError, "shape", option="more"):
        model.score_test(X, y, EXTRA[1:])


def test_likelihoods_that_are_no_maximum_are_refused():
    X = FRAME[["x1", "x2"]]
    ridge = LogisticRegression(l2=1.0).fit(X, FRAME.k)
    with refused(DataError, "unsupported", option="l2"):
        ridge.likelihood_ratio_tests(X, FRAME.k)
    firth = LogisticRegression(penalty="firth").fit(X, FRAME.k)
    with refused(DataError, "unsupported", option="penalty"):
        firth.score_test(X, FRAME.k, EXTRA)


def test_text_among_the_columns_to_add_is_named():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 2], "grp": ["a", "b", "a", "b", "a"]})
    model = LinearRegression().fit(frame[["x"]], [1.0, 3, 2, 5, 4])
    with refused(DataError, "not-a-number", column="grp"):
        model.score_test(frame[["x"]], [1.0, 3, 2, 5, 4], frame[["x", "grp"]])
    with refused(ParameterError, "needs-option", option="more"):
        model.score_test(frame[["x"]], [1.0, 3, 2, 5, 4])
