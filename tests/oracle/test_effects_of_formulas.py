"""Effects of columns that are in several terms: on the probability through all of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit

import linsep
from linsep.errors import SeparationWarning
from linsep.validation.checks import of_features
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
    "dose * town + age": lambda f: [
        f["dose"], town(f, "Rome"), town(f, "Ulm"), f["dose"] * town(f, "Rome"),
        f["dose"] * town(f, "Ulm"), f["age"]],
    "log(age) + exp(dose) + sqrt(age) * smoker": lambda f: [
        np.log(f["age"]), np.exp(f["dose"]), np.sqrt(f["age"]), f["smoker"],
        np.sqrt(f["age"]) * f["smoker"]],
    "poly(dose, 3) + C(rank) * age": lambda f: [
        f["dose"], f["dose"] ** 2, f["dose"] ** 3, f["rank"] == 2, f["rank"] == 3, f["age"],
        f["age"] * (f["rank"] == 2), f["age"] * (f["rank"] == 3)],
    "age / smoker": lambda f: [f["age"], f["age"] * f["smoker"]],
    "smoker:dose + age": lambda f: [f["smoker"] * f["dose"], f["age"]],
    "I(smoker * age) + dose": lambda f: [f["smoker"] * f["age"], f["dose"]],
    "log(1 + smoker) + poly(dose * smoker, 2)": lambda f: [
        np.log(1 + f["smoker"]), f["dose"] * f["smoker"], (f["dose"] * f["smoker"]) ** 2],
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


@pytest.mark.parametrize("at", [None, {"dose": 0.5, "age": 51.0}, {"smoker": 1}])
@pytest.mark.parametrize("formula", FORMULAS)
def test_effects_are_those_of_designs_by_hand(formula, at):
    model = linsep.fit(FRAME, formula=f"ill ~ {formula}", learner="logistic")
    at = at and {name: value for name, value in at.items() if name in formula}
    table = model.marginal_effects(FRAME, at=at or "overall")
    rows = {row.name: row for row in table.coefficients}
    assert not any("several terms" in note for note in table.notes)
    names = {row.split("=")[0] for row in rows}
    assert names == {name for name in FRAME if name in formula}
    for name in names:
        own = [row for key, row in rows.items() if key.split("=")[0] == name]
        effects = expected(FORMULAS[formula], FRAME, name, FRAME["ill"], at)
        for row, (value, error) in zip(own, effects, strict=True):
            assert row.estimate == pytest.approx(value, rel=1e-5, abs=1e-9)
            assert row.standard_error == pytest.approx(error, rel=1e-4)


@pytest.mark.parametrize("formula", ["dose / smoker", "I(smoker * dose)", "C(rank):smoker + dose"])
def test_zeros_and_ones_of_any_type_that_no_feature_shows(formula, tmp_path):
    """The rows that count are those of the fit: a row that is left out has another value."""
    frame = FRAME[["dose", "smoker", "rank", "ill"]]
    how = {"formula": f"ill ~ {formula}", "learner": "logistic"}
    expected = linsep.fit(frame, **how).marginal_effects(frame, discrete=["smoker"])
    gaps = pd.concat([frame, pd.DataFrame({"dose": [np.nan], "smoker": [2], "rank": 1, "ill": 1})])
    path = tmp_path / "rows.csv"
    gaps.to_csv(path, index=False)
    for rows in (
        frame,
        frame.assign(smoker=frame["smoker"] * 1.0),
        pl.DataFrame(frame),
        gaps,
        path,
    ):
        found = linsep.fit(rows, missing="drop", **how).marginal_effects(rows)
        for row, other in zip(found.coefficients, expected.coefficients, strict=True):
            assert row.name == other.name
            assert row.estimate == pytest.approx(other.estimate, rel=1e-9)
            assert row.standard_error == pytest.approx(other.standard_error, rel=1e-9)
    several = frame.assign(smoker=frame["smoker"] + (frame["dose"] > 1))
    model = linsep.fit(several, **how)
    slopes = {row.name: row.estimate for row in model.marginal_effects(several).coefficients}
    h = 1e-5
    up, down = (
        model.predict_proba(several.assign(smoker=several["smoker"] + step))[:, 1].mean()
        for step in (h, -h)
    )
    assert slopes["smoker"] == pytest.approx((up - down) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("formula", ["dose / smoker", "I(smoker * dose)"])
def test_a_boolean_column_that_no_feature_shows(formula):
    frame = FRAME[["dose", "ill"]].assign(smoker=FRAME["smoker"] == 1)
    model = linsep.fit(frame, formula=f"ill ~ {formula}", learner="logistic")
    P, Q = (model.predict_proba(frame.assign(smoker=x))[:, 1].mean() for x in (True, False))
    rows = {row.name.split("=")[0]: row for row in model.marginal_effects(frame).coefficients}
    assert rows["smoker"].estimate == pytest.approx(P - Q, rel=1e-10)


@pytest.mark.parametrize("spline", ["bs(dose, df=5)", "cr(dose, df=4)"])
def test_splines_by_differences_of_probabilities(spline):
    model = linsep.fit(FRAME, formula=f"ill ~ {spline} * smoker", learner="logistic")
    inner = FRAME["dose"].sort_values().index[5:-5]
    rows, h = FRAME.loc[inner], 1e-5
    up, down = (model.predict_proba(rows.assign(dose=rows["dose"] + s))[:, 1] for s in (h, -h))
    found = {row.name: row for row in model.marginal_effects(rows).coefficients}
    assert found["dose"].estimate == pytest.approx((up - down).mean() / (2 * h), rel=1e-6)
    assert np.isfinite(model.marginal_effects(FRAME).coefficients[0].standard_error)


@pytest.mark.parametrize(("products", "scale"), [("age:age", "standard"), ("dose:town", "none")])
def test_products_of_columns(products, scale, tmp_path):
    frame = FRAME[["age", "dose", "smoker", "town", "ill"]]
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    model = linsep.fit(str(path), target="ill", learner="logistic", products=products, scale=scale)
    one, other = products.split(":")

    def made(f):
        main = [f["age"], f["dose"], f["smoker"], town(f, "Rome"), town(f, "Ulm")]
        if other == "town":
            return [*main, *(f[one] * town(f, name) for name in ("Rome", "Ulm"))]
        return [*main, f[one] * f[other]]

    for data in (frame, path, pl.DataFrame(frame)):
        rows = {row.name: row for row in model.marginal_effects(data).coefficients}
        assert list(rows) == ["age", "dose", "smoker", "town=Rome", "town=Ulm"]
        for name in ("age", "dose", "smoker", "town"):
            own = [row for key, row in rows.items() if key.split("=")[0] == name]
            for row, (value, error) in zip(
                own, expected(made, frame, name, frame["ill"]), strict=True
            ):
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
    source = linsep.open_source(frame, recipe=weighted.recipe_)
    source._batch_rows = 7
    for row, other in zip(
        weighted.marginal_effects(source).coefficients, table.coefficients, strict=True
    ):
        assert row.estimate == pytest.approx(other.estimate, rel=1e-10, abs=1e-14)
        assert row.standard_error == pytest.approx(other.standard_error, rel=1e-9)


def test_what_is_not_known_is_a_dash():
    model = linsep.fit(FRAME, formula="ill ~ age * smoker + town", learner="logistic")
    table = model.marginal_effects(FRAME, at="mean")
    assert [np.isnan(row.estimate) for row in table.coefficients] == [True, True, False, False]
    features = model.features_of(FRAME)
    with of_features():
        table = model.marginal_effects(features)
        with refused(ValueError, "unsupported", column="age", option="at"):
            model.marginal_effects(features, at={"age": 3})
    assert [np.isnan(row.estimate) for row in table.coefficients] == [True, True, False, False]
    with refused(ValueError, "unknown-value", column="town", option="at"):
        model.marginal_effects(FRAME, at={"town": "Paris"})
    with refused(ValueError, "bad-value", column="age", option="at"):
        model.marginal_effects(FRAME, at={"age": "old"})


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
    at = model.marginal_effects(frame, at={"smoker": True, "town": "(rare)"})
    there = model.marginal_effects(frame.assign(smoker=True, town="Pisa"))
    for row, other in zip(at.coefficients[:2], there.coefficients[:2], strict=True):
        assert row.estimate == pytest.approx(other.estimate, rel=1e-10)


#: y by group and k: counts of (0, 1); k = 1 in group c has only zeros
CELLS = {(0, "a"): (7, 3), (1, "a"): (4, 8), (0, "c"): (6, 5), (1, "c"): (9, 0)}
COUNTED = pd.DataFrame(
    [{"k": k, "g": g, "y": y} for (k, g), n in CELLS.items() for y in (0, 1) for _ in range(n[y])]
)


@pytest.mark.parametrize("formula", ["k * g", "g / k", "g * C(k)", "k:g + g"])
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
    inside = rows(k=0)["g"]
    assert inside.estimate == pytest.approx(between[0], rel=1e-9)
    assert inside.standard_error == pytest.approx(np.hypot(error[0, "a"], error[0, "c"]), rel=1e-6)
    assert inside.status == ""


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
    apart = frame[frame["x"] != 0]
    (there, _) = model.marginal_effects(apart, at={"k": 1}).coefficients
    assert (there.estimate, there.status) == (0.0, "limit")
    (plain, _) = model.marginal_effects(frame, at={"k": 0}).coefficients
    inside = linsep.fit(frame[k == 0][["x", "y"]], target="y", learner="logistic")
    (expected,) = inside.marginal_effects(frame[["x", "y"]]).coefficients
    assert plain.estimate == pytest.approx(expected.estimate, rel=1e-6)
    assert plain.standard_error == pytest.approx(expected.standard_error, rel=1e-5)


def test_a_diverging_coefficient_of_unknown_sign_hides_no_other_rows():
    """In group c the sign of x decides, so that only the slope there has a sign."""
    x, g = np.tile([-2.0, -1.0, 1.0, 2.0], 15), np.repeat(["a", "b", "c"], 20)
    y = np.where(g == "c", x > 0, rng.permutation(60) % 2).astype(int)
    frame = pd.DataFrame({"x": x, "g": g, "y": y})
    with pytest.warns(SeparationWarning):
        model = linsep.fit(frame, formula="y ~ x * g", learner="logistic")
    assert sorted(model.limits_.tolist()) == ["+inf", *["finite"] * 4, "infinite"]
    others = frame[frame["g"] != "c"]
    inside = linsep.fit(others, formula="y ~ x * g", learner="logistic")
    expected = inside.marginal_effects(frame.assign(g="a"), at={"g": "a"}).coefficients
    found = model.marginal_effects(frame, at={"g": "a"}).coefficients
    for row, other in zip(found[:2], expected, strict=True):
        assert row.name == other.name
        assert row.estimate == pytest.approx(other.estimate, rel=1e-6)
        assert row.standard_error == pytest.approx(other.standard_error, rel=1e-5)
    assert found[2].status == "unknown"
    bands = model.predict_proba(frame, interval="confidence")
    assert (np.isnan(bands.low[:, 1]) == (g == "c")).all()
