"""Formulas: estimates and their errors are those of statsmodels."""

import numpy as np
import pytest

import linsep

sm = pytest.importorskip("statsmodels.api")


def admissions(n=400, seed=2026):
    import pandas as pd

    rng = np.random.default_rng(seed)
    gre, gpa = rng.normal(590, 115, n).clip(220, 800), rng.normal(3.4, 0.4, n).clip(2.2, 4)
    rank = rng.choice([1, 2, 3, 4], n)
    odds = np.exp(-6.2 + 0.003 * gre + 1.4 * gpa - 0.6 * rank)
    admit = (rng.random(n) < odds / (1 + odds)).astype(int)
    return pd.DataFrame({"gre": gre, "gpa": gpa, "rank": rank, "admit": admit})


def fair():
    frame = sm.datasets.fair.load_pandas().data
    return frame.assign(affair=(frame.affairs > 0).astype(int))


CASES = [
    (admissions, "admit ~ gre + gpa * C(rank)"),
    (admissions, "gpa ~ C(rank, Treatment(3)):admit + I(gre ** 2)"),
    (fair, "affair ~ C(rate_marriage) + religious + age * yrs_married"),
]


def test_estimates_and_their_errors_are_those_of_statsmodels():
    for data, formula in CASES:
        frame = data()
        linear = formula.startswith(("gpa", "affairs"))
        kind = sm.OLS if linear else sm.Logit
        theirs = kind.from_formula(formula, frame).fit(**({} if linear else {"disp": False}))
        model = linsep.fit(frame, formula=formula, learner="linear" if linear else "logistic")
        names = [name.replace("intercept", "Intercept") for name in model.param_names_]
        ours = dict(zip(names, model.standard_errors_, strict=True))
        wanted = {name.replace(".0]", "]"): value for name, value in theirs.bse.items()}
        estimates = dict(zip(model.get_feature_names_out(), np.ravel(model.coef_), strict=True))
        truth = {name.replace(".0]", "]"): value for name, value in theirs.params.items()}
        for name, value in estimates.items():
            assert value == pytest.approx(truth[name], rel=1e-6), name
        assert ours == pytest.approx(wanted, rel=1e-6)
        if "Intercept" in truth:
            assert np.ravel(model.intercept_)[0] == pytest.approx(truth["Intercept"], rel=1e-6)
        if not linear:
            some = frame.iloc[::7]
            assert model.predict_proba(some)[:, 1] == pytest.approx(theirs.predict(some), rel=1e-6)
