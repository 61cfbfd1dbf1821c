"""Formulas as R, patsy and statsmodels read them: booleans, factors of one level."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import linsep
from linsep.errors import DataError
from refusals import refused

smf = pytest.importorskip("statsmodels.formula.api")

RNG = np.random.default_rng(8)
N = 120
FRAME = pd.DataFrame(
    {"age": RNG.normal(50, 8, N).round(1), "ok": RNG.random(N) < 0.4,
     "new": RNG.random(N) < 0.5, "sex": RNG.choice(["f", "m"], N),
     "grp": RNG.choice(["a", "b", "c"], N)}
)  # fmt: skip
SCORES = 0.05 * (FRAME["age"] - 50) * (1 + FRAME["ok"]) + FRAME["ok"] - 0.4
FRAME["y"] = (SCORES + RNG.normal(size=N)).round(3)
FRAME["ill"] = (SCORES + RNG.logistic(size=N) > 0).astype(int)

WITH_BOOLEANS = [
    "ok", "ok - 1", "sex + ok:age", "ok * age", "ok * new - 1", "sex * ok + age", "ok:new",
    "C(ok, Sum) + age", "I(ok * age) + sex", "C(ok, Treatment(True)) * age",
]  # fmt: skip


def test_booleans_are_factors_as_in_statsmodels():
    for right in WITH_BOOLEANS:
        model = linsep.fit(FRAME, formula=f"y ~ {right}", learner="linear")
        same = smf.ols(f"y ~ {right}", FRAME).fit()
        assert model.params_.size == same.params.size
        own = dict(zip(model.param_names_, model.params_, strict=True))
        errors = dict(zip(model.param_names_, model.standard_errors_, strict=True))
        if right == "sex + ok:age":
            assert list(own) == ["intercept", "sex[T.m]", "ok[False]:age", "ok[True]:age"]
        named = {name.replace("Intercept", "intercept"): name for name in same.params.index}
        for name in named.keys() & own.keys():
            assert own[name] == pytest.approx(same.params[named[name]], rel=1e-8, abs=1e-10)
            assert errors[name] == pytest.approx(same.bse[named[name]], rel=1e-8)
        assert len(named.keys() & own.keys()) >= (
            1 if "C(" in right or ":new" in right else len(own)
        )
        np.testing.assert_allclose(model.predict(FRAME), same.fittedvalues, rtol=1e-9, atol=1e-9)


def test_booleans_of_every_table(tmp_path):
    FRAME.to_csv(tmp_path / "words.csv", index=False)
    lower = FRAME.assign(ok=FRAME["ok"].map({True: "true", False: "false"}))
    lower.to_csv(tmp_path / "lower.csv", index=False)
    FRAME.to_parquet(tmp_path / "rows.parquet")
    wanted = linsep.fit(FRAME, formula="y ~ ok * age", learner="linear")
    for data in ("words.csv", "lower.csv", "rows.parquet"):
        model = linsep.fit(tmp_path / data, formula="y ~ ok * age", learner="linear")
        assert model.param_names_ == ["intercept", "ok[T.True]", "age", "ok[T.True]:age"]
        assert (model.params_ == wanted.params_).all()


def test_models_with_booleans_read_new_rows(tmp_path):
    model = linsep.fit(FRAME, formula="y ~ ok * age + new:sex", learner="linear")
    wanted = model.predict(FRAME)
    linsep.save(model, tmp_path / "m.linsep")
    loaded = linsep.load(tmp_path / "m.linsep")
    numbers = FRAME.assign(ok=FRAME["ok"].astype(int), new=FRAME["new"].astype(int))
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    FRAME.to_csv(tmp_path / "words.csv", index=False)
    for rows in (FRAME, numbers, pl.DataFrame(FRAME), tmp_path / "numbers.csv",
                 tmp_path / "words.csv"):  # fmt: skip
        assert (loaded.predict(rows) == wanted).all()
    only = FRAME[FRAME["ok"]]
    assert (loaded.predict(only) == wanted[only.index]).all()
    with refused(DataError, "unknown-value", row=1, column="ok"):
        loaded.predict(numbers.assign(ok=2))


def test_effects_contrasts_and_tests_of_booleans():
    model = linsep.fit(FRAME, formula="ill ~ ok + age", learner="logistic")
    same = smf.logit("ill ~ ok + age", FRAME).fit(disp=False)
    np.testing.assert_allclose(model.params_, same.params, rtol=1e-6)
    at = [model.marginal_effects(FRAME, at={"ok": value}) for value in (True, 1, "true", "True")]
    assert all(str(table.coefficients) == str(at[0].coefficients) for table in at)
    p = np.asarray(same.predict(FRAME.assign(ok=True)))
    slope = same.params["age"] * (p * (1 - p)).mean()
    assert {row.name: row for row in at[0].coefficients}["age"].estimate == pytest.approx(slope)
    (estimate,) = model.contrasts("ok").columns["estimate"]
    assert estimate == pytest.approx(same.params["ok[T.True]"], rel=1e-6)
    tests = model.likelihood_ratio_tests(FRAME).tidy()
    assert tests["term"].tolist() == ["ok", "age"]
    without = smf.logit("ill ~ age", FRAME).fit(disp=False)
    assert tests["chi2"][0] == pytest.approx(2 * (same.llf - without.llf), rel=1e-6)
    crossed = linsep.fit(FRAME, formula="ill ~ ok * age", learner="logistic")
    same = smf.logit("ill ~ ok * age", FRAME).fit(disp=False)
    ends = [np.asarray(same.predict(FRAME.assign(ok=value))) for value in (True, False)]
    rows = {row.name: row for row in crossed.marginal_effects(FRAME).coefficients}
    assert rows["ok=True"].estimate == pytest.approx((ends[0] - ends[1]).mean(), rel=1e-5)


def test_booleans_without_a_formula_are_numbers():
    model = linsep.fit(FRAME[["ok", "age", "y"]], target="y", learner="linear")
    assert model.feature_names_in_.tolist() == ["ok", "age"]


ONE_LEVEL = ["C(k)", "age + town", "age:town - 1", "age + yes", "age + C(sex, levels=['f'])"]


def test_a_factor_of_one_level_is_refused_as_in_r():
    frame = FRAME.assign(k=7, town="Ulm", yes=True)
    for right in ONE_LEVEL:
        with refused(DataError, "bad-formula"):
            linsep.fit(frame, formula=f"y ~ {right}", learner="linear")


UNREADABLE = FRAME.assign(mix=[1, "a", 2, "b", *[3] * (N - 4)])


def test_columns_outside_the_formula_need_not_be_readable():
    wanted = linsep.fit(FRAME, formula="y ~ age", learner="linear")
    model = linsep.fit(UNREADABLE, formula="y ~ age", learner="linear", weight="ill")
    plain = linsep.fit(FRAME, formula="y ~ age", learner="linear", weight="ill")
    assert (model.params_ == plain.params_).all()
    model = linsep.fit(UNREADABLE, formula="y ~ . - mix - ill", learner="linear")
    assert model.param_names_[1:4] == ["age", "ok[T.True]", "new[T.True]"]
    assert (wanted.predict(UNREADABLE) == wanted.predict(FRAME)).all()
    assert wanted.score(UNREADABLE) == wanted.score(FRAME)
    others = linsep.fit(UNREADABLE, target="y", exclude=["mix"], learner="linear")
    assert np.isfinite(others.predict(UNREADABLE)).all()


def test_advice_for_reference_levels():
    with refused(DataError, "conflict", option="reference_level"):
        linsep.fit(FRAME, formula="y ~ grp", reference_level="first", learner="linear")
    named = linsep.fit(FRAME, formula='y ~ C(grp, contr.treatment("b"))', learner="linear")
    same = smf.ols('y ~ C(grp, Treatment("b"))', FRAME).fit()
    np.testing.assert_allclose(named.params_, same.params, rtol=1e-8)
