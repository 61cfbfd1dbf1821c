"""Effects of columns that are in several terms: on the probability through all of them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import linsep
from linsep.errors import SeparationWarning
from refusals import refused

rng = np.random.default_rng(49)
N = 200
FRAME = pd.DataFrame(
    {"age": rng.normal(50, 5, N), "dose": rng.normal(size=N), "smoker": rng.integers(0, 2, N),
     "rank": rng.integers(1, 4, N), "town": rng.choice(["Bonn", "Rome", "Ulm"], N)}
)  # fmt: skip
SCORES = 0.1 * (FRAME["age"] - 50) * (1 + FRAME["smoker"]) + FRAME["dose"] ** 2 - 0.5
FRAME["ill"] = (SCORES + rng.logistic(size=N) > 0).astype(int)
FRAME["kind"] = np.digitize(SCORES + rng.logistic(size=N), [-0.8, 0.9])


def ones(f):
    return np.ones(len(f))


def town(f, name):
    return (f["town"] == name).to_numpy(float)


#: formulas, and their designs by hand, of which R's are linear combinations
FORMULAS = {
    "age * smoker + town": lambda f: [
        f["age"], f["smoker"], town(f, "Rome"), town(f, "Ulm"), f["age"] * f["smoker"]],
    "log(age) + exp(dose) + sqrt(age) * smoker": lambda f: [
        np.log(f["age"]), np.exp(f["dose"]), np.sqrt(f["age"]), f["smoker"],
        np.sqrt(f["age"]) * f["smoker"]],
    "poly(dose, 3) + C(rank) * age": lambda f: [
        f["dose"], f["dose"] ** 2, f["dose"] ** 3, f["rank"] == 2, f["rank"] == 3, f["age"],
        f["age"] * (f["rank"] == 2), f["age"] * (f["rank"] == 3)],
    "smoker:dose + age": lambda f: [f["smoker"] * f["dose"], f["age"]],
    "age:C(rank) + C(rank):smoker": lambda f: [
        *(f["age"] * (f["rank"] == k) for k in (1, 2, 3)),
        *(f["smoker"] * (f["rank"] == k) for k in (1, 2, 3))],
}  # fmt: skip


def design(made, frame):
    return np.column_stack([ones(frame), *(np.asarray(x, dtype=float) for x in made(frame))])


def newton(Z, y):
    """Return the estimates of a logistic regression, and their covariance."""
    b = np.zeros(Z.shape[1])
    for _ in range(50):
        p = expit(Z @ b)
        V = np.linalg.inv(Z.T @ (Z * (p * (1 - p))[:, None]))
        b = b + V @ (Z.T @ (y - p))
    return b, V


def changes(made, frame, name):
    """Return the designs whose difference, divided by a number, is the effect of a column."""
    values = frame[name]
    if name in ("town", "rank"):
        levels = sorted(values.unique())
        base = design(made, frame.assign(**{name: levels[0]}))
        return [(design(made, frame.assign(**{name: x})), base, 1.0) for x in levels[1:]]
    if name == "smoker":
        return [(design(made, frame.assign(smoker=1)), design(made, frame.assign(smoker=0)), 1.0)]
    h = 1e-5
    return [(design(made, frame.assign(**{name: values + h})),
             design(made, frame.assign(**{name: values - h})), 2 * h)]  # fmt: skip


def expected(made, frame, name, y, at=None):
    """Return the effects of a column and their errors."""
    b, V = newton(design(made, frame), y)
    found = []
    for one, base, divisor in changes(made, frame if at is None else frame.assign(**at), name):
        p, q = expit(one @ b), expit(base @ b)
        J = ((p * (1 - p))[:, None] * one - (q * (1 - q))[:, None] * base).mean(axis=0) / divisor
        found.append(((p - q).mean() / divisor, np.sqrt(J @ V @ J)))
    return found


@pytest.mark.parametrize("at", [None, {"dose": 0.5, "age": 51.0, "smoker": 1}])
@pytest.mark.parametrize("formula", FORMULAS)
def test_effects_are_those_of_designs_by_hand(formula, at):
    model = linsep.fit(FRAME, formula=f"ill ~ {formula}", learner="logistic")
    at = at and {name: value for name, value in at.items() if name in formula}
    table = model.marginal_effects(FRAME, at=at or "overall")
    rows = {row.name: row for row in table.coefficients}
    names = {row.split("=")[0] for row in rows}
    assert names == {name for name in FRAME if name in formula}
    for name in names:
        own = [row for key, row in rows.items() if key.split("=")[0] == name]
        effects = expected(FORMULAS[formula], FRAME, name, FRAME["ill"], at)
        for row, (value, error) in zip(own, effects, strict=True):
            assert row.estimate == pytest.approx(value, rel=1e-5, abs=1e-9)
            assert row.standard_error == pytest.approx(error, rel=1e-4)


def test_zeros_and_ones_that_no_feature_shows():
    """The rows that count are those of the fit: a row that is left out has another value."""
    frame = FRAME[["dose", "smoker", "rank", "ill"]]
    how = {"formula": "ill ~ dose / smoker", "learner": "logistic"}
    expected = linsep.fit(frame, **how).marginal_effects(frame, discrete=["smoker"])
    gaps = pd.concat([frame, pd.DataFrame({"dose": [np.nan], "smoker": [2], "rank": 1, "ill": 1})])
    for rows in (frame.assign(smoker=frame["smoker"] * 1.0), gaps):
        found = linsep.fit(rows, missing="drop", **how).marginal_effects(rows)
        for row, other in zip(found.coefficients, expected.coefficients, strict=True):
            assert row.name == other.name
            assert row.estimate == pytest.approx(other.estimate, rel=1e-9)
            assert row.standard_error == pytest.approx(other.standard_error, rel=1e-9)


def test_a_boolean_column_that_no_feature_shows():
    frame = FRAME[["dose", "ill"]].assign(smoker=FRAME["smoker"] == 1)
    model = linsep.fit(frame, formula="ill ~ dose / smoker", learner="logistic")
    P, Q = (model.predict_proba(frame.assign(smoker=x))[:, 1].mean() for x in (True, False))
    rows = {row.name.split("=")[0]: row for row in model.marginal_effects(frame).coefficients}
    assert rows["smoker"].estimate == pytest.approx(P - Q, rel=1e-10)


def test_splines_by_differences_of_probabilities():
    model = linsep.fit(FRAME, formula="ill ~ bs(dose, df=5) * smoker", learner="logistic")
    inner = FRAME["dose"].sort_values().index[5:-5]
    rows, h = FRAME.loc[inner], 1e-5
    up, down = (model.predict_proba(rows.assign(dose=rows["dose"] + s))[:, 1] for s in (h, -h))
    found = {row.name: row for row in model.marginal_effects(rows).coefficients}
    assert found["dose"].estimate == pytest.approx((up - down).mean() / (2 * h), rel=1e-6)


def test_products_of_columns():
    frame = FRAME[["age", "dose", "smoker", "town", "ill"]]
    model = linsep.fit(frame, target="ill", learner="logistic", products="dose:town")

    def made(f):
        main = [f["age"], f["dose"], f["smoker"], town(f, "Rome"), town(f, "Ulm")]
        return [*main, *(f["dose"] * town(f, name) for name in ("Rome", "Ulm"))]

    rows = {row.name: row for row in model.marginal_effects(frame).coefficients}
    assert list(rows) == ["age", "dose", "smoker", "town=Rome", "town=Ulm"]
    for name in ("age", "dose", "smoker", "town"):
        own = [row for key, row in rows.items() if key.split("=")[0] == name]
        effects = expected(made, frame, name, frame["ill"])
        for row, (value, error) in zip(own, effects, strict=True):
            assert row.estimate == pytest.approx(value, rel=1e-5)
            assert row.standard_error == pytest.approx(error, rel=1e-4)


def test_several_classes_weights_and_batches():
    frame = FRAME.assign(w=rng.integers(0, 3, N))
    how = {"formula": "kind ~ age * smoker + dose * town", "learner": "logistic"}
    weighted = linsep.fit(frame, weight="w", **how)
    table = weighted.marginal_effects(frame)
    again = FRAME.loc[np.repeat(FRAME.index, frame["w"])]
    repeated = linsep.fit(again, **how).marginal_effects(again)
    for row, other in zip(table.coefficients, repeated.coefficients, strict=True):
        assert row.estimate == pytest.approx(other.estimate, rel=1e-6, abs=1e-10)
        assert row.standard_error == pytest.approx(other.standard_error, rel=1e-5)
    sums = table.tidy().groupby("term")["estimate"].sum()
    assert np.allclose(sums, 0.0, atol=1e-12)


def test_what_is_not_known_is_a_dash():
    model = linsep.fit(FRAME, formula="ill ~ age * smoker + town", learner="logistic")
    table = model.marginal_effects(FRAME, at="mean")
    assert [np.isnan(row.estimate) for row in table.coefficients] == [True, True, False, False]
    with refused(ValueError, "unknown-value", column="town", option="at"):
        model.marginal_effects(FRAME, at={"town": "Paris"})


def test_rare_levels_and_boolean_columns_in_products():
    frame = FRAME[["age", "dose", "town", "ill"]].assign(smoker=FRAME["smoker"] == 1)
    frame.loc[:11, "town"] = ["Pisa", "Ghent"] * 6
    products = ["dose:town", "age:smoker"]
    how = {"products": products, "min_count": 8, "penalty": "firth", "intervals": "wald"}
    model = linsep.fit(frame, target="ill", learner="logistic", **how)
    rows = {row.name: row for row in model.marginal_effects(frame).coefficients}
    assert list(rows) == ["age", "dose", "smoker", "town=Rome", "town=Ulm", "town=(rare)"]
    for name, column, one, base in (
        ("town=(rare)", "town", "Ghent", "Bonn"), ("town=Ulm", "town", "Ulm", "Bonn"),
        ("smoker", "smoker", True, False),
    ):  # fmt: skip
        P, Q = (model.predict_proba(frame.assign(**{column: x}))[:, 1] for x in (one, base))
        assert rows[name].estimate == pytest.approx((P - Q).mean(), rel=1e-10)


#: y by group and k: counts of (0, 1); k = 1 in group c has only zeros
CELLS = {(0, "a"): (7, 3), (1, "a"): (4, 8), (0, "c"): (6, 5), (1, "c"): (9, 0)}
COUNTED = pd.DataFrame(
    [{"k": k, "g": g, "y": y} for (k, g), n in CELLS.items() for y in (0, 1) for _ in range(n[y])]
)


@pytest.mark.parametrize("formula", ["k * g", "k:g + g"])
def test_effects_through_an_interaction_that_diverges_have_no_errors(formula):
    """Of a saturated model, so that probabilities are shares."""
    with pytest.warns(SeparationWarning):
        model = linsep.fit(COUNTED, formula=f"y ~ {formula}", learner="logistic")
    share = {cell: y / (n + y) for cell, (n, y) in CELLS.items()}
    error = {cell: np.sqrt(n * y / (n + y) ** 3) for cell, (n, y) in CELLS.items()}
    among = {g: (COUNTED["g"] == g).mean() for g in "ac"}
    with_k = COUNTED["k"].mean()

    def rows(**at):
        table = model.marginal_effects(COUNTED, at=at or "overall")
        return {row.name.split("=")[0]: row for row in table.coefficients}

    overall = rows()
    assert {row.status for row in overall.values()} == {"limit"}
    own = {g: share[1, g] - share[0, g] for g in "ac"}
    assert overall["k"].estimate == pytest.approx(sum(among[g] * own[g] for g in "ac"), rel=1e-9)
    between = [share[k, "c"] - share[k, "a"] for k in (0, 1)]
    assert overall["g"].estimate == pytest.approx(
        (1 - with_k) * between[0] + with_k * between[1], rel=1e-9
    )
    for row in [*overall.values(), rows(g="c")["k"], rows(k=1)["g"]]:
        assert np.isnan([row.standard_error, row.statistic, row.p_value, row.low, row.high]).all()
    inside = rows(g="a")["k"]  # where all coefficients are finite
    assert inside.estimate == pytest.approx(own["a"], rel=1e-9)
    assert inside.standard_error == pytest.approx(np.hypot(error[0, "a"], error[1, "a"]), rel=1e-6)


def test_no_effect_at_all_is_no_limit():
    """At k = 0 the formula has no group, whether or not a coefficient diverges elsewhere."""
    with pytest.warns(SeparationWarning):
        model = linsep.fit(COUNTED, formula="y ~ k:g", learner="logistic")
    (k, g) = model.marginal_effects(COUNTED, at={"k": 0}).coefficients
    assert (g.estimate, g.standard_error, g.status) == (0.0, 0.0, "")
    assert (k.status, np.isnan(k.standard_error)) == ("limit", True)


def test_a_slope_through_an_interaction_that_diverges():
    """With k, the sign of x decides and zeros overlap, so that the slope at zero is infinite."""
    x = np.tile([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0], 8)
    k = np.repeat([0, 1], 24)
    y = np.where(k == 1, np.where(x == 0, np.arange(48) % 2, x > 0), rng.integers(0, 2, 48))
    frame = pd.DataFrame({"x": x, "k": k, "y": y.astype(int)})
    with pytest.warns(SeparationWarning):
        model = linsep.fit(frame, formula="y ~ x * k", learner="logistic")
    assert model.limits_.tolist() == ["finite"] * 3 + ["+inf"]
    slope, difference = model.marginal_effects(frame).coefficients
    assert (slope.status, difference.status) == ("unknown", "limit")
    assert np.isnan([slope.estimate, slope.standard_error, difference.standard_error]).all()
    ones = (np.sign(x) + 1) / 2 + (x == 0) * (y[(k == 1) & (x == 0)].mean() - 0.5)
    zeros = model.predict_proba(frame.assign(k=0))[:, 1]
    assert difference.estimate == pytest.approx((ones - zeros).mean(), rel=1e-6)
    (plain, _) = model.marginal_effects(frame, at={"k": 0}).coefficients
    inside = linsep.fit(frame[k == 0][["x", "y"]], target="y", learner="logistic")
    (expected,) = inside.marginal_effects(frame[["x", "y"]]).coefficients
    assert plain.estimate == pytest.approx(expected.estimate, rel=1e-6)
    assert plain.standard_error == pytest.approx(expected.standard_error, rel=1e-5)
