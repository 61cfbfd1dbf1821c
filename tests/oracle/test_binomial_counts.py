"""Binomial counts: beside statsmodels, single trials, and what R prints of its examples."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import linsep
from helpers.command_line import here
from linsep import LogisticRegression, open_source
from linsep.errors import DataError, ParameterError
from refusals import refused

#: girls of Warsaw, in MASS: average age of a group, girls, and those who have reached menarche
MENARCHE = np.array([
    [9.21, 376, 0], [10.21, 200, 0], [10.58, 93, 0], [10.83, 120, 2], [11.08, 90, 2],
    [11.33, 88, 5], [11.58, 105, 10], [11.83, 111, 17], [12.08, 100, 16], [12.33, 93, 29],
    [12.58, 100, 39], [12.83, 108, 51], [13.08, 99, 47], [13.33, 106, 67], [13.58, 105, 81],
    [13.83, 117, 88], [14.08, 98, 79], [14.33, 97, 90], [14.58, 120, 113], [14.83, 102, 95],
    [15.08, 122, 117], [15.33, 111, 107], [15.58, 94, 92], [15.83, 114, 112], [17.58, 1049, 1049],
])  # fmt: skip

#: lizards of Schoener (1970): grahami and opalinus on perches at three times of day (early, midday,
#: late), low and high, thin and thick, in sun and shade, each changing faster than the next; there
#: were none on high thick perches in the midday sun
GRAHAMI = np.array(
    [20, 8, 4, 13, 8, 12, 8, 4, 5, 6, 0, 1, 34, 69, 18, 31, 55, 13, 17, 60, 8, 12, 21, 4]
)
OPALINUS = np.array([2, 1, 4, 0, 0, 0, 3, 1, 3, 0, 0, 1, 11, 20, 10, 5, 4, 3, 15, 32, 8, 1, 5, 4])


#: R 4.2, glm(cbind(reached, girls - reached) ~ age, binomial): sandwich's vcovHC and vcovCL of
#: groups of three rows (type="HC1")
OF_R = {
    "HC1": [0.726288589713293, 0.0556345313525391],
    "CR1": [0.999673563141784, 0.0739844204371437],
}


@pytest.mark.parametrize("name", OF_R)
def test_robust_errors_of_counts_as_in_r(name, tmp_path):
    age, girls, reached = MENARCHE.T
    clusters = np.arange(25) // 3 if name == "CR1" else None
    counts = {"successes": reached, "trials": girls}
    model = LogisticRegression(covariance=name).fit(age[:, None], **counts, clusters=clusters)
    np.testing.assert_allclose(model.standard_errors_, OF_R[name], rtol=1e-8)
    table = pd.DataFrame({"age": age, "of": girls, "s": reached, "g": np.arange(25) // 3})
    roles = {"group": "g"} if name == "CR1" else {"exclude": "g"}
    source = open_source(table, successes="s", trials="of", **roles)
    read = LogisticRegression(covariance=name).fit(source)
    np.testing.assert_array_equal(read.standard_errors_, model.standard_errors_)
    loaded = linsep.load(linsep.save(read, tmp_path / "m.linsep"))
    np.testing.assert_array_equal(loaded.standard_errors_, model.standard_errors_)


def test_lizards_as_in_r():
    """R 4.2, ``glm(cbind(grahami, opalinus) ~ height + diameter + light + time)`` of the binomial
    and the quasi-binomial family, ``drop1(test = "LRT")`` and sandwich's ``vcovHC``.
    """
    k = np.arange(24)
    table = pd.DataFrame({
        "height": k // 3 % 2, "diameter": k // 6 % 2, "light": k // 12,
        "time": np.array(["early", "midday", "late"])[k % 3],
        "grahami": GRAHAMI, "all": GRAHAMI + OPALINUS,
    })  # fmt: skip
    how = {"formula": "~ height + diameter + light + time", "successes": "grahami",
           "trials": "all", "learner": "logistic"}  # fmt: skip
    model = linsep.fit(table, **how)
    assert (model.n_rows_, model.df_residual_) == (23, 17)
    names = ["intercept", "height", "diameter", "light", "time[T.late]", "time[T.midday]"]
    estimates = [
        1.944688211572226, 1.129991346334067, -0.762634315783079, -0.847275534386376,
        -0.736811675575280, 0.227110543498695,
    ]  # fmt: skip
    np.testing.assert_allclose(model.params_[names], estimates, rtol=1e-9)
    errors = [
        0.341476922635900, 0.257089910645068, 0.211269402675593, 0.322382636405248,
        0.299000576923752, 0.250177005233924,
    ]  # fmt: skip
    at = [list(model.param_names_).index(name) for name in names]
    np.testing.assert_allclose(model.standard_errors_[at], errors, rtol=1e-9)
    for name, expected in {
        "deviance": 14.2045732018854, "null_deviance": 70.1018347976125, "aic": 83.0287850407010,
        "bic": 89.8417503362759, "log_likelihood": -35.5143925203505,
        "pearson_chi2": 12.5893704923337,
    }.items():  # fmt: skip
        assert getattr(model, f"{name}_") == pytest.approx(expected, rel=1e-11)
    quasi = linsep.fit(table, **how, dispersion="estimated")
    assert quasi.dispersion_ == pytest.approx(0.740551205431589, rel=1e-11)
    dispersed = np.array(errors) * np.sqrt(0.740551205431589)
    np.testing.assert_allclose(quasi.standard_errors_[at], dispersed, rtol=1e-9)
    p = [4.35519155146601e-06, 8.75519206560340e-05, 6.08528170701631e-04, 7.17687606356651e-03,
         1.07613296594861e-02, 3.06232403441814e-01]  # fmt: skip
    np.testing.assert_allclose(quasi.p_values_[at], p, rtol=1e-8)
    robust = linsep.fit(table, **how, covariance="HC0").standard_errors_[at]
    expected = [0.234359745869872, 0.173421093370703, 0.116598161648481, 0.238186983030525,
                0.213858675407117, 0.127883155037639]  # fmt: skip
    np.testing.assert_allclose(robust, expected, rtol=1e-8)
    tests = model.likelihood_ratio_tests(table).columns
    assert tests["term"] == ["height", "diameter", "light", "time"]
    assert tests["df"] == [1, 1, 1, 2]
    np.testing.assert_allclose(
        tests["chi2"], [22.066228008276, 13.129993727830, 7.687146369327, 11.597136023758],
        rtol=1e-9,
    )  # fmt: skip


def test_an_estimated_dispersion_as_in_r():
    """quasibinomial: t with the residual degrees of freedom, anova(..., test = "F")."""
    age, girls, reached = MENARCHE.T
    counts = {"successes": reached, "trials": girls}
    model = LogisticRegression(dispersion="estimated").fit(age[:, None], **counts)
    assert model.dispersion_ == pytest.approx(0.950863203285046, rel=1e-11)
    np.testing.assert_allclose(model.statistics_, [-28.2448852354805, 28.3887005647124], rtol=1e-8)
    np.testing.assert_allclose(
        model.p_values_, [2.33523709309933e-19, 2.08428944591642e-19], rtol=1e-6
    )
    f, df, p = model.likelihood_ratio_
    assert (f, df) == (pytest.approx(3667.180123158 / 0.950863203285046, rel=1e-9), 1)
    test = model.likelihood_ratio_tests(age[:, None], **counts).columns
    assert (test["F"], test["p_value"]) == (pytest.approx([f], rel=1e-9), pytest.approx([p]))
    assert dict(model.wald_test("x0").header)["degrees of freedom, residuals"] == 23
    assert np.isnan(model.aic_)


def test_robust_errors_of_separated_counts_are_those_of_the_rows_on_the_boundary():
    X = np.array([[0, 1], [0, 2], [1, 3], [1, 5], [0, 4], [0, 3]])
    successes, trials = np.array([0, 3, 0, 0, 2, 7]), np.array([5, 9, 4, 6, 7, 7])
    homes = np.array([0, 0, 1, 1, 2, 2])

    def fit(X, chosen):
        counts = {"successes": successes[chosen], "trials": trials[chosen]}
        return LogisticRegression(covariance="CR1").fit(X[chosen], **counts, clusters=homes[chosen])

    with pytest.warns(linsep.errors.SeparationWarning):
        model = fit(X, slice(None))
    assert model.limits_.tolist() == ["finite", "-inf", "finite"]
    inside = fit(X[:, 1:], X[:, 0] == 0)
    small = (3 / 2 * 5 / 3) / (2 / 1 * 3 / 2)
    np.testing.assert_allclose(
        model.standard_errors_[[0, 2]], np.sqrt(small) * inside.standard_errors_, rtol=1e-6
    )
    assert np.isnan(model.standard_errors_[1])


@pytest.mark.parametrize("how", [{"covariance": "HC1"}, {"penalty": "firth"}])
def test_a_dispersion_beside_what_assumes_none_is_refused(how):
    age, girls, reached = MENARCHE.T
    model = LogisticRegression(dispersion="estimated", **how)
    with refused(ParameterError, "conflict", option=next(iter(how))):
        model.fit(age[:, None], successes=reached, trials=girls)
    with refused(ParameterError, "needs-option", option="dispersion"):
        LogisticRegression(dispersion="estimated").fit(age[:, None], reached > 50)


def test_diagnostics_of_counts_as_in_r():
    """hatvalues, rstandard of both types, rstudent and cooks.distance of the first rows."""
    age, girls, reached = MENARCHE.T
    X, counts = pd.DataFrame({"age": age}), {"successes": reached, "trials": girls}
    found = LogisticRegression().fit(X, **counts).diagnostics(X, **counts)
    for name, expected in {
        "leverage": [0.0417140034470994, 0.0645016545462525, 0.042371891909321],
        "standardized": [-0.894147854594604, -1.49256721334569, -1.36051424],
        "standardized_deviance": [-1.26387257781851, -2.10534079, -1.91498306],
        "studentized": [-1.25063639589478, -2.07129256029476, -1.894783877832],
        "cooks_distance": [0.017401048315618, 0.0768007799238693, 0.0409503063958178],
    }.items():
        np.testing.assert_allclose(getattr(found, name)[:3], expected, rtol=1e-8, err_msg=name)


def groups(seed, n=40):
    rng = np.random.default_rng(seed)
    X, offset = rng.normal(size=(n, 2)), rng.normal(size=n)
    trials = rng.integers(0, 30, n)
    p = 1 / (1 + np.exp(-X @ [1.0, -2.0] - 0.5 - offset))
    return X, rng.binomial(trials, p), trials, offset


@pytest.mark.parametrize(
    ("parameters", "with_offset"), [({}, True), ({"fit_intercept": False}, False)]
)
def test_beside_statsmodels(parameters, with_offset):
    X, successes, trials, offset = groups(0)
    more = {"offset": offset} if with_offset else {}
    ours = LogisticRegression(**parameters).fit(X, successes=successes, trials=trials, **more)
    some = trials > 0
    Z = X if parameters.get("fit_intercept") is False else sm.add_constant(X)
    y = np.column_stack([successes, trials - successes])[some]
    family = sm.families.Binomial()
    theirs = sm.GLM(y, Z[some], family=family, **{k: v[some] for k, v in more.items()})
    theirs = theirs.fit(tol=1e-14)
    np.testing.assert_allclose(ours.params_, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors_, theirs.bse, rtol=1e-7)
    assert ours.deviance_ == pytest.approx(theirs.deviance, rel=1e-11)
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-12)
    assert ours.aic_ == pytest.approx(theirs.aic, rel=1e-12)
    assert ours.bic_ == pytest.approx(theirs.bic_llf, rel=1e-12)
    assert ours.n_rows_ == some.sum()
    if "fit_intercept" not in parameters:  # theirs always has one
        assert ours.null_deviance_ == pytest.approx(theirs.null_deviance, rel=1e-9)


@pytest.mark.parametrize("parameters", [{"penalty": "firth"}, {"l2": 0.3, "reference": 1}], ids=str)
def test_beside_single_trials(parameters):
    X, successes, trials, _ = groups(1, 15)
    ours = LogisticRegression(**parameters).fit(X, successes=successes, trials=trials)
    rows = np.repeat(np.arange(len(X)), trials)
    y = np.concatenate([np.arange(t) < s for s, t in zip(successes, trials, strict=True)])
    single = LogisticRegression(**parameters).fit(X[rows], y.astype(int))
    np.testing.assert_allclose(ours.params_, single.params_, rtol=1e-7)
    np.testing.assert_allclose(ours.standard_errors_, single.standard_errors_, rtol=1e-6)
    ends = ours.confidence_intervals(), single.confidence_intervals()
    np.testing.assert_allclose(*ends, rtol=1e-4)
    tests = ours.likelihood_ratio_, single.likelihood_ratio_
    np.testing.assert_allclose(*tests, rtol=1e-7)


def test_a_model_with_a_weight_for_each_group_is_saturated():
    X = np.eye(5)[:, 1:]
    model = LogisticRegression().fit(X, successes=[1, 5, 2, 8, 3], trials=[9, 9, 9, 9, 9])
    assert model.deviance_ == pytest.approx(0, abs=1e-12)


def test_separated_groups():
    X = np.column_stack([[0.0, 0, 0, 1, 1], [1.0, 2, 3, 2, 1]])
    counts = {"successes": [3, 6, 4, 0, 0], "trials": [10, 10, 10, 10, 5]}
    with pytest.warns(linsep.errors.SeparationWarning):
        model = LogisticRegression().fit(X, **counts)
    assert model.limits_.tolist() == ["finite", "-inf", "finite"]
    inside = LogisticRegression().fit(X[:3, 1:], successes=[3, 6, 4], trials=10)
    assert model.deviance_ == pytest.approx(inside.deviance_, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"trials": 3}, "out-of-range"),
        ({"trials": None}, "needs-option"),
        ({"y": [0, 1] * 3}, "conflict"),
        ({"successes": [1, 2, 0.5, 1, 1, 1]}, "bad-value"),
        ({"successes": [1, 2]}, "shape"),
        ({"successes": [0] * 6}, "class-count"),
    ],
)
def test_bad_counts(change, code):
    X, counts = np.arange(6.0)[:, None], {"successes": np.arange(1, 7), "trials": 9, **change}
    with refused(DataError, code):
        LogisticRegression().fit(X, **counts)


def test_class_weights_are_refused():
    X, successes, trials, _ = groups(2)
    with refused(DataError, "conflict", option="class_weight"):
        LogisticRegression(class_weight="balanced").fit(X, successes=successes, trials=trials)


def frame(seed):
    X, successes, trials, offset = groups(seed)
    town = np.where(np.arange(len(X)) % 3, "here", "there")
    return pd.DataFrame({
        "a": X[:, 0], "b": X[:, 1], "town": town, "won": successes, "of": trials, "z": offset,
    })  # fmt: skip


def test_files_frames_and_formulas(tmp_path):
    rows = frame(3)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    features = pd.get_dummies(rows[["a", "b", "town"]], drop_first=True).astype(float)
    counts = {"successes": rows.won, "trials": rows["of"]}
    expected = LogisticRegression().fit(features, **counts, offset=rows.z)
    names = {"successes": "won", "trials": "of"}
    models = [LogisticRegression().fit(rows[["a", "b", "town"]], **counts, offset=rows.z)]
    for data in (rows, tmp_path / "rows.csv"):
        how = {"learner": "logistic", **names}
        models.append(linsep.fit(data, offset="z", **how))
        models.append(linsep.fit(data, formula="~ a + b + town + offset(z)", **how))
        source = open_source(data, offset="z", reference_level="first", **names)
        source.memory_bytes = 1 << 10
        models.append(LogisticRegression().fit(source))
    y, weights = np.tile([1, 0], len(rows)), np.column_stack([rows.won, rows["of"] - rows.won])
    twice = features.loc[features.index.repeat(2)]
    share = expected.score(twice, y, weights.ravel(), offset=rows.z.repeat(2))
    for model in models:
        np.testing.assert_allclose(model.params_, expected.params_, rtol=1e-8)
        for name in ("deviance_", "null_deviance_", "aic_", "bic_", "log_likelihood_"):
            assert getattr(model, name) == pytest.approx(getattr(expected, name), rel=1e-10)
        assert model.n_rows_ == expected.n_rows_
    for model in models[1:]:
        assert model.score(rows) == pytest.approx(share)
        unlabeled = rows.drop(columns=["won", "of"])
        p = expected.predict_proba(features, offset=rows.z)
        np.testing.assert_allclose(model.predict_proba(unlabeled), p, rtol=1e-8)
        assert linsep.score(model, rows)["weight"] == rows["of"].sum()


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"target": "a"}, "conflict"),
        ({"formula": "~ a + won"}, "column-role"),
        ({"learner": "linear"}, "unsupported"),
    ],
)
def test_refused_columns(how, code):
    given = {"learner": "logistic", "successes": "won", "trials": "of", **how}
    with refused(DataError, code):
        linsep.fit(frame(4), **given)


def test_command_line(tmp_path):
    age, girls, reached = MENARCHE.T
    rows = pd.DataFrame({"age": age, "girls": girls, "reached": reached})
    rows.to_csv(tmp_path / "girls.csv", index=False)
    options = ["--learner", "logistic", "--successes", "reached", "--trials", "girls"]
    done = here("fit", "girls.csv", *options, "--model", "m", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "26.703" in done.stdout
    done = here("score", "m", "girls.csv", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["weight"] == girls.sum()
    assert here("fit", "girls.csv", *options[:4], cwd=tmp_path).returncode == 1
