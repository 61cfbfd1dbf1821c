"""Marginal effects against worked numbers, statsmodels, and finite differences."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.special import softmax
from scipy.stats import norm

import linsep
from linsep import LogisticRegression
from linsep.errors import DataError, SeparationWarning
from refusals import refused

rng = np.random.default_rng(48)
N = 150
X = np.column_stack([rng.normal(size=(N, 2)), rng.random(N) < 0.4, rng.normal(50, 3, N)])
SCORES = X @ [1.0, -0.7, 0.8, 0.1] - 5.0
Y = (SCORES + rng.logistic(size=N) > 0).astype(int)
KINDS = np.digitize(SCORES + rng.logistic(size=N), [-0.8, 0.9])
FRAME = pd.DataFrame(
    {"age": X[:, 3], "dose": X[:, 0], "smoker": X[:, 2].astype(int),
     "town": rng.choice(["Bonn", "Rome", "Ulm"], N)}
)  # fmt: skip


def estimates(table):
    return np.array([row.estimate for row in table.coefficients])


def errors(table):
    return np.array([row.standard_error for row in table.coefficients])


def test_worked_numbers():
    """1 of 4 at x = 0 and 3 of 4 at x = 1."""
    x, y = np.repeat([[0.0], [1.0]], 4, axis=0), np.array([0, 0, 0, 1, 0, 1, 1, 1])
    model = LogisticRegression().fit(x, y)
    (slope,) = model.marginal_effects(x, discrete=[]).coefficients
    assert slope.estimate == pytest.approx(3 / 16 * np.log(9), rel=1e-12)
    assert slope.standard_error == pytest.approx(
        3 / 16 * (1 - np.log(9) / 4) * np.sqrt(8 / 3), rel=1e-12
    )
    (difference,) = model.marginal_effects(x).coefficients
    assert difference.estimate == pytest.approx(1 / 2, rel=1e-12)
    assert difference.standard_error == pytest.approx(np.sqrt(3 / 32), rel=1e-12)
    assert difference.statistic == pytest.approx(0.5 / np.sqrt(3 / 32))
    assert difference.p_value == pytest.approx(2 * norm.sf(0.5 / np.sqrt(3 / 32)))
    reach = norm.ppf(0.95) * np.sqrt(3 / 32)
    (wide,) = model.marginal_effects(x, level=0.9).coefficients
    assert [wide.low, wide.high] == pytest.approx([0.5 - reach, 0.5 + reach])


@pytest.mark.parametrize(("at", "dummy"), [("overall", True), ("mean", False)])
def test_two_classes_are_those_of_statsmodels(at, dummy):
    model = LogisticRegression().fit(X, Y)
    theirs = sm.Logit(Y, sm.add_constant(X)).fit(disp=False, tol=1e-13)
    expected = theirs.get_margeff(dummy=dummy, at=at)
    found = model.marginal_effects(X, at=at, discrete=None if dummy else [])
    assert np.allclose(estimates(found), expected.margeff, rtol=1e-7)
    assert np.allclose(errors(found), expected.margeff_se, rtol=1e-6)
    bounds = [[row.low, row.high] for row in found.coefficients]
    assert np.allclose(bounds, expected.conf_int())


@pytest.mark.parametrize(("at", "reference"), [("overall", 0), ({"x0": 2.0}, 1)])
def test_several_classes_are_those_of_statsmodels(at, reference):
    model = LogisticRegression(reference=reference).fit(X, KINDS)
    theirs = sm.MNLogit(KINDS, sm.add_constant(X)).fit(disp=False, method="newton", tol=1e-13)
    how = {"at": at} if isinstance(at, str) else {"atexog": {1: 2.0}}
    expected = theirs.get_margeff(**how)
    found = model.marginal_effects(X, at=at, discrete=[])
    assert np.allclose(estimates(found), expected.margeff.T.ravel(), rtol=1e-6, atol=1e-9)
    assert np.allclose(errors(found), expected.margeff_se.T.ravel(), rtol=1e-5)


def with_differences(model, effect):
    """Return effects and their errors, by finite differences of ``effect`` of the parameters."""
    b = model.params_.ravel()
    steps = 1e-5 * np.maximum(np.abs(b), 0.1)
    J = np.stack([(effect(b + h) - effect(b - h)) / (2 * h.sum()) for h in np.diag(steps)], axis=-1)
    J = J.reshape(-1, b.size)
    return effect(b).ravel(), np.sqrt(np.diag(J @ model.covariance_ @ J.T))


def probabilities(model, b, rows):
    """Return those of the classes in their order, from the parameters."""
    K = len(model.classes_)
    scores = np.insert(
        b.reshape(K - 1, -1) @ np.column_stack([np.ones(len(rows)), rows]).T,
        model.classes_.tolist().index(model.reference_), 0.0, axis=0,
    )  # fmt: skip
    return softmax(scores.T, axis=1)


def test_differences_of_several_classes():
    weights = rng.integers(0, 4, N).astype(float)
    model = LogisticRegression(reference=0).fit(X, KINDS, weights)

    def effect(b):
        one, zero = X.copy(), X.copy()
        one[:, 2], zero[:, 2] = 1.0, 0.0
        change = probabilities(model, b, one) - probabilities(model, b, zero)
        return weights @ change / weights.sum()

    expected, spread = with_differences(model, effect)
    table = model.marginal_effects(X, sample_weight=weights)
    found = [row for row in table.coefficients if row.name.endswith("x2")]
    assert np.allclose([row.estimate for row in found], expected, rtol=1e-10)
    assert np.allclose([row.standard_error for row in found], spread, rtol=1e-6)
    repeated = model.marginal_effects(np.repeat(X, weights.astype(int), axis=0))
    assert np.allclose(estimates(repeated), estimates(table), rtol=1e-12)
    assert np.allclose(errors(repeated), errors(table), rtol=1e-10)


def test_levels_are_compared_with_the_first():
    frame = FRAME.assign(ill=Y)
    frame["town"] = pd.Categorical(frame["town"], ["Ulm", "Rome", "Bonn"])
    model = linsep.fit(frame, target="ill", learner="logistic")
    table = model.marginal_effects(frame)
    first, *others = ["Ulm", "Rome", "Bonn"]
    assert [row.name for row in table.coefficients[3:]] == [f"town={town}" for town in others]
    for row, town in zip(table.coefficients[3:], others, strict=True):
        one, base = (model.predict_proba(frame.assign(town=level))[:, 1] for level in (town, first))
        assert row.estimate == pytest.approx((one - base).mean(), rel=1e-10)
    dummies = pd.get_dummies(frame["town"], dtype=float)[others]
    Z = np.column_stack([frame[["age", "dose", "smoker"]], dummies])
    plain = LogisticRegression().fit(Z, Y)  # the same model: the same effects
    own = plain.marginal_effects(Z)
    assert np.allclose(estimates(table)[:3], estimates(own)[:3], rtol=1e-8)
    assert np.allclose(errors(table)[:3], errors(own)[:3], rtol=1e-6)

    def effect(b):
        parts = []
        for k in (3, 4):
            one, base = Z.copy(), Z.copy()
            one[:, 3:], base[:, 3:] = 0.0, 0.0
            one[:, k] = 1.0
            parts.append(probabilities(plain, b, one)[:, 1] - probabilities(plain, b, base)[:, 1])
        return np.mean(parts, axis=1)

    expected, spread = with_differences(plain, effect)
    assert np.allclose(estimates(table)[3:], expected, rtol=1e-7)
    assert np.allclose(errors(table)[3:], spread, rtol=1e-5)
    at = model.marginal_effects(frame, at={"town": "Rome", "age": 49})
    there = model.marginal_effects(frame.assign(town="Rome", age=49.0))
    assert estimates(at) == pytest.approx(estimates(there), rel=1e-12)
    assert errors(at) == pytest.approx(errors(there), rel=1e-9)


def test_files_and_sparse_rows_are_arrays(tmp_path):
    frame = FRAME.assign(ill=Y, w=rng.integers(1, 4, N))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    weighted = linsep.fit(tmp_path / "rows.csv", target="ill", weight="w", learner="logistic")
    tables = [
        weighted.marginal_effects(tmp_path / "rows.csv"),
        weighted.marginal_effects(frame),
        weighted.marginal_effects(frame[list(FRAME)], sample_weight=frame["w"]),
    ]
    for table in tables[1:]:
        assert np.allclose(estimates(table), estimates(tables[0]), rtol=1e-12)
        assert np.allclose(errors(table), errors(tables[0]), rtol=1e-9)
    model = LogisticRegression().fit(X, Y)
    table = model.marginal_effects(sp.csr_matrix(X))
    assert np.allclose(errors(table), errors(model.marginal_effects(X)), rtol=1e-12)


def test_without_a_covariance_there_are_no_errors():
    model = LogisticRegression(l2=1.0).fit(X, Y)
    table = model.marginal_effects(X)
    P = model.predict_proba(X)[:, 1]
    assert estimates(table)[0] == pytest.approx(model.coef_[0, 0] * (P * (1 - P)).mean())
    assert np.isnan(errors(table)).all()
    firth = LogisticRegression(penalty="firth").fit(X, Y)
    assert np.isfinite(errors(firth.marginal_effects(X))).all()


def test_limits_of_a_coefficient_that_diverges():
    """All rows above have y = 1; without them the others have a maximum."""
    above = X[:, 1] > 1.0
    Z = np.column_stack([X[:, [0, 1, 3]], above])
    y = np.where(above, 1, Y)
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(Z, y)
    assert model.limits_.tolist() == ["finite"] * 4 + ["+inf"]
    table = model.marginal_effects(Z)
    inside = LogisticRegression().fit(Z[~above, :3], y[~above])
    share = (~above).mean()
    part = inside.marginal_effects(Z[~above, :3])
    assert np.allclose(estimates(table)[:3], share * estimates(part), rtol=1e-6)
    assert np.allclose(errors(table)[:3], share * errors(part), rtol=1e-5)
    below = inside.predict_proba(Z[:, :3])[:, 1]
    assert estimates(table)[3] == pytest.approx(1 - below.mean(), rel=1e-6)
    assert np.isnan(table.coefficients[3][2:7]).all()


def test_a_level_that_diverges_has_no_error_anywhere():
    """Town Ulm has only zeros: the shares of the others, and nothing but limits there."""
    counts = {"Bonn": (9, 11), "Rome": (12, 6), "Ulm": (7, 0)}
    frame = pd.DataFrame(
        [{"town": t, "ill": y} for t, n in counts.items() for y in (0, 1) for _ in range(n[y])]
    ).assign(dose=lambda f: np.arange(len(f)) % 3)
    how = {"formula": "ill ~ dose + town", "learner": "logistic"}
    with pytest.warns(SeparationWarning):
        model = linsep.fit(frame, **how)
    table = model.marginal_effects(frame)
    frames = table.tidy().set_index("term")
    assert frames["status"].tolist() == ["finite", "finite", "limit"]
    numbers = ["standard_error", "statistic", "p_value", "low", "high"]
    assert frames.loc["town=Ulm", numbers].isna().all()
    assert np.isfinite(frames.loc[["dose", "town=Rome"], numbers]).all(axis=None)
    inside = frame[frame["town"] != "Ulm"]
    part = linsep.fit(inside, **how)
    bonn = part.predict_proba(frame.assign(town="Bonn"))[:, 1].mean()
    assert frames.loc["town=Ulm", "estimate"] == pytest.approx(-bonn, rel=1e-6)
    expected = part.marginal_effects(frame.assign(town="Bonn"))
    found = model.marginal_effects(frame, at={"town": "Bonn"})
    assert np.allclose(errors(found)[:2], errors(expected), rtol=1e-5)
    for at in ({"town": "Ulm"}, "mean"):
        dose = model.marginal_effects(frame, at=at).coefficients[0]
        assert (dose.estimate, dose.status) == (0.0, "limit")
        assert np.isnan(dose[2:7]).all()
    bands = model.predict_proba(frame, interval="confidence")
    assert (np.isnan(bands.low[:, 1]) == (frame["town"] == "Ulm")).all()
    assert (np.isnan(bands.high[:, 1]) == (frame["town"] == "Ulm")).all()
    saved = table.to_dict()["coefficients"][2]
    assert saved["estimate"] == frames.loc["town=Ulm", "estimate"]
    assert {saved[name] for name in numbers} == {None}
    # the numbers that effects are made of
    k = list(model.param_names_).index("town[T.Ulm]")
    assert model.params_["town[T.Ulm]"] == -np.inf
    assert np.isnan([model.standard_errors_[k], model.statistics_[k], model.p_values_[k]]).all()
    assert np.isnan(model.confidence_intervals()[k]).all()
    contrasts = model.contrasts("town").tidy().set_index("contrast")
    assert contrasts["standard_error"].isna().tolist() == [False, True, True]
    assert contrasts[["p_value", "low", "high"]].isna().sum().tolist() == [2, 2, 2]
    with refused(DataError, "separated"):
        model.wald_test("dose - town[T.Ulm]")


def test_what_is_separable_has_no_effects():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(X, y)
    table = model.marginal_effects(X)
    assert np.isnan(estimates(table)).all()
    assert np.isnan(errors(table)).all()
    assert set(table.tidy()["status"]) == {"unknown"}


def test_dependent_columns():
    Z = np.column_stack([X[:, :2], X[:, 0] - X[:, 1]])
    model = LogisticRegression().fit(Z, Y)
    table = model.marginal_effects(Z)
    assert [row.status for row in table.coefficients] == ["", "", "dependent"]
    plain = LogisticRegression().fit(X[:, :2], Y).marginal_effects(X[:, :2])
    assert np.allclose(errors(table)[:2], errors(plain), rtol=1e-6)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"at": {"height": 3}}, "unknown-column"),
        ({"discrete": ["height"]}, "unknown-column"),
        ({"sample_weight": np.zeros(N)}, "no-rows"),
    ],
)
def test_bad_input_is_refused(how, code):
    model = LogisticRegression().fit(X, Y)
    with refused(ValueError, code):
        model.marginal_effects(X, **how)
