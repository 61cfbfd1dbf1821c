"""Wald's tests and contrasts: the numbers of statsmodels and R, of any scale, and refusals."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.multitest import multipletests

import linsep
from linsep import LinearRegression, LogisticRegression, Text
from linsep.errors import DataError, ParameterError, SeparationWarning
from linsep.linear.least_squares import DependentFeaturesWarning
from refusals import refused

rng = np.random.default_rng(48)
N = 90
FRAME = pd.DataFrame({
    "region": rng.choice(["north", "south", "far east"], N),
    "rank": rng.integers(1, 5, N),
    "x1": rng.normal(size=N),
    "x2": 3.0 + rng.normal(size=N),
    "x 3": rng.normal(size=N),
})  # fmt: skip
FRAME["y"] = FRAME.x1 - FRAME["x 3"] + (FRAME.region == "north") + rng.normal(size=N)
FRAME["sick"] = (FRAME.y + rng.normal(size=N) > 0.5).astype(int)
FRAME["kind"] = np.digitize(FRAME.y + rng.normal(size=N), [-0.5, 1.0])
NAMES = ["x1", "x2", "x 3"]
#: the hypotheses as text, and the same for the parameters intercept, x1, x2, x 3
SAID = [
    ("x1 = x2", [[0, 1, -1, 0]], [0]),
    ("x1, x2", [[0, 1, 0, 0], [0, 0, 1, 0]], [0, 0]),
    ("x1 = x2 = `x 3`", [[0, 1, -1, 0], [0, 0, 1, -1]], [0, 0]),
    ("intercept - 2*(x1 - x2/4) = 1.5e-1, x 3 = -1", [[1, -2, 0.5, 0], [0, 0, 0, 1]], [0.15, -1]),
]


def of_statsmodels(kind):
    Z = sm.add_constant(FRAME[NAMES])
    if kind is LinearRegression:
        return sm.OLS(FRAME.y, Z).fit()
    return sm.Logit(FRAME.sick, Z).fit(disp=False, tol=1e-12)


def ours(kind):
    return kind().fit(FRAME[NAMES], FRAME.y if kind is LinearRegression else FRAME.sick)


@pytest.mark.parametrize(("kind", "test"), [(LinearRegression, "F"), (LogisticRegression, "chi2")])
def test_wald_tests_are_those_of_statsmodels(kind, test):
    for text, R, q in SAID:
        assert_as_statsmodels(ours(kind), of_statsmodels(kind), text, R, q, test)


def assert_as_statsmodels(model, theirs, text, R, q, test):
    expected = theirs.wald_test((np.array(R), np.array(q)), use_f=test == "F", scalar=True)
    single = theirs.t_test((np.array(R), np.array(q)), use_t=test == "F")
    for found in (
        model.wald_test(text, test=test), model.wald_test(text.split(","), test=test),
        model.wald_test(R, q, test=test), model.wald_test(np.array(R, dtype=float), q, test=test),
    ):  # fmt: skip
        assert np.isclose(found.statistic, expected.statistic, rtol=1e-6)
        assert np.isclose(found.p_value, expected.pvalue, rtol=1e-5)
        header, name = dict(found.header), "F" if test == "F" else "chi-squared"
        assert (found.df, header[name]) == (len(q), found.statistic)
        assert header.get("degrees of freedom, residuals", np.inf) == (
            theirs.df_resid if test == "F" else np.inf
        )
        table = found.tidy()
        assert np.allclose(table.estimate, np.ravel(single.effect) - q, rtol=1e-6, atol=1e-9)
        assert np.allclose(table.standard_error, np.ravel(single.sd), rtol=1e-6)
        assert np.allclose(table["t" if test == "F" else "z"], np.ravel(single.tvalue), rtol=1e-5)
        assert np.allclose(table.p_value, np.ravel(single.pvalue), rtol=1e-5)


def test_several_classes_are_named_with_their_class():
    model = LogisticRegression(reference=0).fit(FRAME[NAMES], FRAME.kind)
    theirs = sm.MNLogit(FRAME.kind, sm.add_constant(FRAME[NAMES])).fit(disp=False, tol=1e-12)
    R = np.zeros((2, 8))
    R[0, [1, 5]], R[1, 7] = (1, -1), 1
    found = model.wald_test("1: x1 = 2: x1, `2: x 3`")
    variance = R @ theirs.cov_params() @ R.T
    apart = R @ theirs.params.to_numpy().T.ravel()
    assert np.isclose(found.statistic, apart @ np.linalg.solve(variance, apart), rtol=1e-4)
    assert np.isclose(found.p_value, stats.chi2.sf(found.statistic, 2), rtol=1e-9)


def test_names_of_formulas_and_of_text_columns():
    formula = "y ~ C(rank) + region * x1"
    model, theirs = linsep.fit(FRAME, formula=formula, learner="linear"), smf.ols(formula, FRAME)
    found = model.wald_test("C(rank)[T.2] = C(rank)[T.3], region[T.north]:x1 = region[T.south]:x1")
    expected = theirs.fit().f_test(
        "C(rank)[T.2] = C(rank)[T.3], region[T.north]:x1 = region[T.south]:x1"
    )
    assert np.isclose(found.statistic, float(expected.fvalue), rtol=1e-7)


def test_words_that_are_hashed_negatively_are_named_by_the_word():
    words = ["good", "bad", "film", "fun", "day", "sun", "rain"]  # signs of both kinds
    texts = [" ".join(rng.permutation(words)[: rng.integers(1, 5)]) for _ in range(80)]
    frame = pd.DataFrame({"text": texts, "y": rng.normal(size=80)})
    with pytest.warns(DependentFeaturesWarning):
        model = linsep.fit(frame, target="y", text={"text": Text(n_features=64)}, learner="linear")
    signs = set()
    for name, (word, sign) in zip(
        model.param_names_, zip(*model._words_and_signs(), strict=True), strict=True
    ):
        row = next(one for one in model.summary().coefficients if one.name == word)
        if not row.status:
            found = model.wald_test(f"`{word}` = 0.1").tidy()
            assert np.isclose(found.estimate[0], row.estimate - 0.1, rtol=1e-9)
            plain = model.wald_test(f"{name} = 0.1").tidy()  # minus the word
            assert np.isclose(plain.estimate[0], sign * row.estimate - 0.1, rtol=1e-9)
            signs.add(int(sign))
    assert signs == {-1, 1}


REFUSED = ["x9", "x1 +", "x1 * x2", "x1 = (x2", "x1 = 1e999", "", "1 = 2", "x1 = 1, x1 = 2"]


def test_what_is_no_hypothesis_is_refused():
    model = ours(LinearRegression)
    for text in REFUSED:
        with refused(ParameterError, "bad-hypothesis"):
            model.wald_test(text)


def test_matrices_of_other_shapes_are_refused():
    model = ours(LinearRegression)
    with refused(ParameterError, "shape", option="hypotheses"):
        model.wald_test([[1, 2]])
    with refused(ParameterError, "not-finite"):
        model.wald_test([0, 1, np.nan, 0])
    with refused(ParameterError, "conflict", option="q"):
        model.wald_test("x1", 1)


def test_parameters_without_estimates_are_refused_by_name():
    X = FRAME[NAMES].assign(twice=2 * FRAME.x1)
    with pytest.warns(DependentFeaturesWarning):
        model = LinearRegression().fit(X, FRAME.y)
    with refused(DataError, "no-estimate", column="twice"):
        model.wald_test("twice = x2")
    assert model.wald_test("x1 = x2").df == 1
    perfect = LinearRegression().fit(FRAME[NAMES], 2 + FRAME.x1)
    with refused(DataError, "no-estimate"):
        perfect.wald_test("x1 = 1")


def test_a_diverging_coefficient_is_refused_with_what_to_do_instead():
    X = FRAME[NAMES].assign(marker=((FRAME.sick == 1) & (FRAME.x1 > 0)).astype(float))
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(X, FRAME.sick)
    with refused(DataError, "separated", column="marker"):
        model.wald_test("marker = x1")
    assert model.wald_test("x1 = x2").df == 1  # the others have finite estimates
    with refused(DataError, "no-estimate"):
        LogisticRegression(l2=1.0).fit(X, FRAME.sick).wald_test("x1")


#: breaks of yarn for tensions L, M and H of two wools (R's warpbreaks)
BREAKS = [
    26, 30, 54, 25, 70, 52, 51, 26, 67, 18, 21, 29, 17, 12, 18, 35, 30, 36, 36, 21, 24, 18, 10, 43,
    28, 15, 26, 27, 14, 29, 19, 29, 31, 41, 20, 44, 42, 26, 19, 16, 39, 28, 21, 39, 29, 20, 21, 24,
    17, 13, 15, 15, 16, 28,
]  # fmt: skip
TENSION = pd.Categorical(np.tile(np.repeat(["L", "M", "H"], 9), 2), ["L", "M", "H"])
WARP = pd.DataFrame({"breaks": BREAKS, "wool": ["A"] * 27 + ["B"] * 27, "tension": TENSION})


def test_contrasts_are_those_that_multcomp_prints_for_warpbreaks(tmp_path):
    model = linsep.fit(WARP, formula="breaks ~ tension", learner="linear")
    for one in (model, linsep.load(linsep.save(model, tmp_path / "m.linsep"))):
        found = one.contrasts("tension").tidy()
        assert found.contrast.tolist() == ["M - L", "H - L", "H - M"]
        assert found.estimate.round(3).tolist() == [-10.0, -14.722, -4.722]
        assert found.standard_error.round(3).tolist() == [3.96, 3.96, 3.96]
        assert found.t.round(3).tolist() == [-2.525, -3.718, -1.192]
        holm = multipletests(found.p_value, method="holm")[1]
        assert np.allclose(found.adjusted_p_value, holm, rtol=1e-12)
        theirs = smf.ols("breaks ~ tension", WARP).fit().t_test("tension[T.M]")
        assert np.allclose([found.low[0], found.high[0]], theirs.conf_int()[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("coding", "learner"),
    [("C(rank, Sum)", "linear"), ("0 + C(rank)", "linear"), ("C(rank, Helmert)", "logistic")],
)
def test_the_coding_of_a_factor_does_not_change_its_contrasts(coding, learner):
    target = "y" if learner == "linear" else "sick"
    model = linsep.fit(FRAME, formula=f"{target} ~ {coding} + x1", learner=learner)
    fit = smf.ols if learner == "linear" else smf.logit
    theirs = fit(f"{target} ~ C(rank) + x1", FRAME).fit(
        **{} if learner == "linear" else {"disp": 0}
    )
    pairs = [f"C(rank)[T.{b}]" + f" - C(rank)[T.{a}]" * (a > 1)
             for a in range(1, 5) for b in range(a + 1, 5)]  # fmt: skip
    expected = [theirs.t_test(pair) for pair in pairs]
    found = model.contrasts("rank").tidy()
    assert np.allclose(found.estimate, [float(one.effect[0]) for one in expected], rtol=1e-5)
    assert np.allclose(found.standard_error, [float(one.sd.item()) for one in expected], rtol=1e-5)
    assert np.allclose(found.p_value, [float(one.pvalue) for one in expected], rtol=1e-4)
    named = model.contrasts("C(rank)", ["(`1` + `2`) / 2 - `4`", "`2` - `3`"]).tidy()
    assert np.isclose(named.estimate[0], -(found.estimate[2] + found.estimate[4]) / 2, rtol=1e-9)
    assert np.isclose(named.estimate[1], -found.estimate[3], rtol=1e-9)


def test_levels_that_diverge_have_no_contrasts_and_others_have():
    frame = FRAME[["region", "x1"]].copy()
    frame.loc[FRAME.sick == 1, "region"] = frame.region[FRAME.sick == 1].replace("south", "north")
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(frame, FRAME.sick)
    found = model.contrasts("region").tidy()
    assert np.isnan(found.p_value).tolist() == [False, True, True]
    assert found.adjusted_p_value[0] == found.p_value[0]  # the only one that is tested
    assert np.isnan(found.adjusted_p_value).tolist() == [False, True, True]


@pytest.mark.parametrize("how", [{}, {"penalty": "firth"}, {"intervals": "profile"}])
def test_contrasts_beside_profiles_say_that_they_are_walds(how):
    found = LogisticRegression(**how).fit(FRAME[["region", "x1"]], FRAME.sick).contrasts("region")
    assert bool(how) == any("Wald" in note and "profile" in note for note in found.notes)


def test_what_is_no_contrast_is_refused():
    model = LinearRegression().fit(FRAME[["region", "x1"]], FRAME.y)
    with refused(DataError, "unknown-column", column="x1"):
        model.contrasts("x1")
    for wrong in ("north", "north - south + 1"):
        with refused(ParameterError, "bad-hypothesis", option="compare"):
            model.contrasts("region", wrong)
    with pytest.warns(DependentFeaturesWarning):
        hashed = linsep.fit(FRAME[["region", "x1", "y"]], target="y", learner="linear", hash_bits=6)
    with refused(DataError, "unsupported"):
        hashed.contrasts("region")


def test_more_restrictions_than_clusters_are_refused():
    kind, y = LinearRegression, FRAME.y
    model = kind(covariance="CR1").fit(FRAME[NAMES], y, clusters=np.arange(N) % 3)
    assert model.wald_test("x1, x2").df == 2
    with refused(DataError, "bad-hypothesis"):
        model.wald_test("x1, x2, x 3")
