"""``--covariance`` and ``--cluster-by`` of ``linsep fit``, and what models with them print."""

import json

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import assert_refused, here
from linsep import LinearRegression, LogisticRegression

pytestmark = pytest.mark.uncompiled

FIVE = pd.DataFrame({"x": [1, 2, -1, 3, 4], "y": [2, 4, 0, 4, 6], "place": [*"aabcc"]})
rng = np.random.default_rng(0)
WARDS = rng.integers(0, 8, 80)
DOSE = rng.normal(size=80).round(3)
ILL = np.where(DOSE + rng.logistic(size=80) > 0, "yes", "no")


@pytest.fixture
def folder(tmp_path):
    FIVE.to_csv(tmp_path / "t.csv", index=False)
    wards = pd.DataFrame({"dose": DOSE, "ward": WARDS, "ill": ILL})
    wards.to_csv(tmp_path / "wards.csv", index=False)
    FIVE.assign(w=1.0).to_csv(tmp_path / "weighted.csv", index=False)
    (tmp_path / "t.svm").write_text("1 1:2\n2 1:3\n4 1:4\n")
    return tmp_path


def printed(*arguments, cwd):
    done = here(*arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


LINEAR = ("fit", "t.csv", "--target", "y", "--learner", "linear")
CR1 = ("--covariance", "CR1", "--cluster-by", "place")


def test_clusters_of_a_table(folder):
    shown = printed(*LINEAR, *CR1, "--model", "m", cwd=folder)
    assert "\nclusters                              3 " in shown
    assert "CR1, for rows that depend on each other within 3 clusters; t has 2 degrees" in " ".join(
        shown.split()
    )
    model = LinearRegression(covariance="CR1")
    model.fit(FIVE[["x"]], FIVE["y"], clusters=FIVE["place"])
    told = json.loads(printed("summary", "m", "--json", cwd=folder))
    assert told["header"]["standard errors"] == "CR1"
    assert told["header"]["clusters"] == 3
    errors = [row["standard_error"] for row in told["coefficients"]]
    assert errors == pytest.approx(model.standard_errors_, rel=1e-12)
    assert errors[1] ** 2 == pytest.approx(2797 / 1874161, rel=1e-12)
    assert "--covariance CR1" in printed("inspect", "m", cwd=folder)
    FIVE[["x"]].to_csv(folder / "new.csv", index=False)  # without clusters
    lines = printed("predict", "m", "new.csv", "--interval", "confidence", cwd=folder).split()
    bands = model.predict(FIVE[["x"]], interval="confidence")
    assert [float(one) for one in lines] == pytest.approx(np.column_stack(bands).ravel())
    FIVE[["x", "y"]].to_csv(folder / "scored.csv", index=False)
    assert printed("score", "m", "scored.csv", cwd=folder).startswith("R^2")


def test_unequal_variances(folder):
    arguments = (*LINEAR, "--exclude", "place", "--covariance", "HC3", "--json")
    told = json.loads(printed(*arguments, cwd=folder))["summary"]
    model = LinearRegression(covariance="HC3").fit(FIVE[["x"]], FIVE["y"])
    assert told["header"]["standard errors"] == "HC3"
    assert "clusters" not in told["header"]
    errors = [row["standard_error"] for row in told["coefficients"]]
    assert errors == pytest.approx(model.standard_errors_, rel=1e-12)


@pytest.mark.parametrize("name", ["HC1", "CR1"])
def test_logistic_regression(folder, name):
    clustered = ("--cluster-by", "ward") if name == "CR1" else ("--exclude", "ward")
    fit = ("fit", "wards.csv", "--target", "ill", "--learner", "logistic", "--covariance", name)
    told = json.loads(printed(*fit, *clustered, "--json", cwd=folder))["summary"]
    given = {"clusters": WARDS} if name == "CR1" else {}
    model = LogisticRegression(covariance=name).fit(DOSE[:, None], ILL, **given)
    assert told["statistic"] == ("t" if name == "CR1" else "z")
    p_values = [row["p_value"] for row in told["coefficients"]]
    assert p_values == pytest.approx(model.p_values_, rel=1e-9)


def test_folds_keep_clusters_together_and_tests_need_none(folder):
    pd.DataFrame({"dose": DOSE, "ill": ILL}).to_csv(folder / "new.csv", index=False)
    fit = ("fit", "wards.csv", "--target", "ill", "--learner", "logistic", "--covariance", "CR1")
    arguments = (*fit, "--cluster-by", "ward", "--cv", "4", "--test", "new.csv", "--json")
    told = json.loads(printed(*arguments, cwd=folder))
    assert told["summary"]["header"]["clusters"] == 8
    assert told["cross_validation"]["metrics"]["accuracy"]["mean"] > 0.4
    assert told["test"]["rows"] == 80


def test_a_program_and_a_frame_name_the_column_alike(folder):
    how = {"target": "y", "learner": "linear", "covariance": "CR1"}
    model = linsep.fit(FIVE, **how, group="place")
    assert model.standard_errors_[1] ** 2 == pytest.approx(2797 / 1874161, rel=1e-12)


REFUSED = [
    ((*LINEAR, "--cluster-by", "place"), None, "--cluster-by", 2),
    ((*LINEAR, "--covariance", "CR1"), "needs-option", "", 2),
    ((*LINEAR, "--covariance", "CR1", "--cluster-by", "town"), "unknown-column", "", 1),
    ((*LINEAR, *CR1, "--group", "x"), None, "--group", 2),
    ((LINEAR[0], "weighted.csv", *LINEAR[2:], *CR1, "--weight", "w"), "conflict", "", 2),
    ((*LINEAR, "--covariance", "HC9"), None, "--covariance", 2),
    ((*LINEAR[:4], "--covariance", "HC1"), None, "--covariance", 2),
    (("tune", *LINEAR[1:], "--cv", "2", "--grid", "covariance=HC0,HC1"), None, "--grid", 2),
]


def test_refused(folder):
    for arguments, code, said, exit_code in REFUSED:
        assert_refused(*arguments, cwd=folder, code=code, said=said, exit_code=exit_code)


def test_one_cluster_and_a_new_row_are_refused(folder):
    FIVE.assign(place="a").to_csv(folder / "one.csv", index=False)
    assert_refused("fit", "one.csv", *LINEAR[2:], *CR1, cwd=folder, code="too-few-rows")
    printed(*LINEAR, *CR1, "--model", "m", cwd=folder)
    predict = ("predict", "m", "t.csv", "--interval", "prediction")
    assert_refused(*predict, cwd=folder, code="conflict", exit_code=2)
