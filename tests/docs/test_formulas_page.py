"""An evening of a statistician: the page on formulas is true, and statsmodels says the same."""

import numpy as np
import pytest

import linsep
from documents import run_commands, run_python

pytest.importorskip("formulaic")
sm = pytest.importorskip("statsmodels.api")

pytestmark = pytest.mark.uncompiled


@pytest.fixture(scope="module")
def evening(tmp_path_factory):
    """The folder of the page, after its Python."""
    folder = tmp_path_factory.mktemp("evening")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run_python("docs/how-to/formulas.md") > 25
    return folder


def test_the_commands_of_the_page(evening):
    assert run_commands("docs/how-to/formulas.md", evening) == 2


def test_coming_from_r(tmp_path):
    assert run_commands("docs/how-to/from-r.md", tmp_path) == 4


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
    (admissions, "admit ~ gre * C(rank) - 1"),
    (admissions, "admit ~ C(rank, Sum) + gpa:gre"),
    (admissions, "gpa ~ gre * C(rank)"),
    (admissions, "gpa ~ C(rank, Treatment(3)):admit + I(gre ** 2)"),
    (fair, "affair ~ C(rate_marriage) + religious + age * yrs_married"),
    (fair, "affair ~ C(religious) * yrs_married + I(age ** 2)"),
    (fair, "affairs ~ C(rate_marriage) * age"),
]


@pytest.mark.parametrize(("data", "formula"), CASES, ids=[formula for _, formula in CASES])
def test_estimates_and_their_errors_are_those_of_statsmodels(data, formula):
    frame = data()
    linear = formula.startswith(("gpa", "affairs"))
    kind = sm.OLS if linear else sm.Logit
    theirs = kind.from_formula(formula, frame).fit(**({} if linear else {"disp": False}))
    model = linsep.fit(frame, formula=formula, learner="linear" if linear else "logistic")
    names = [name.replace("intercept", "Intercept") for name in model.param_names_]
    ours = dict(zip(names, model.standard_errors_, strict=True))
    wanted = {name.replace(".0]", "]"): value for name, value in theirs.bse.items()}
    estimates = dict(zip(model.feature_names_in_, np.ravel(model.coef_), strict=True))
    truth = {name.replace(".0]", "]"): value for name, value in theirs.params.items()}
    for name, value in estimates.items():
        assert value == pytest.approx(truth[name], rel=1e-6), name
    assert ours == pytest.approx(wanted, rel=1e-6)
    if "Intercept" in truth:
        assert np.ravel(model.intercept_)[0] == pytest.approx(truth["Intercept"], rel=1e-6)
    if not linear:
        some = frame.iloc[::7]
        assert model.predict_proba(some)[:, 1] == pytest.approx(theirs.predict(some), rel=1e-6)
