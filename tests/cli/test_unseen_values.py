"""Values that the training data do not have are told in Python as on the command line."""

import json
import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import here
from linsep.errors import DataError

CODES = np.array([1, 2, 3] * 20)
TOLD = pd.DataFrame({
    "code": CODES, "x": np.linspace(-2, 2, 60).round(3), "note": ["good day", "bad day"] * 30,
    "day": pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d"),
    "kind": np.where(CODES == 1, "yes", "no"), "price": 3.0 * CODES,
})  # fmt: skip
#: the columns beside code, and how they are read
BESIDE = {
    "alone": ({}, ["x"]), "date": ({"date": ["day"]}, ["x", "day"]),
    "text": ({"text": {"note": linsep.Text(n_features=8)}}, ["x", "note"]),
}  # fmt: skip


def other_codes(some=False):
    """The same rows with 1.0 for 1, in all of them or in those of the first code."""
    codes = TOLD.code.astype(str)
    return TOLD.assign(code=codes.where(TOLD.code > 1, "1.0") if some else codes + ".0")


@pytest.mark.parametrize("some", [True, False])
@pytest.mark.parametrize("beside", ["alone", "date", "text"])
@pytest.mark.parametrize("learner", ["perceptron", "logistic", "linear", "kernel", "soft-margin"])
def test_python_warns_of_unseen_values_as_the_command_line_does(tmp_path, learner, beside, some):
    how, columns = BESIDE[beside]
    target = "price" if learner == "linear" else "kind"
    l2 = {"l2": 1.0} if learner == "logistic" else {}
    table = TOLD[["code", *columns, target]]
    with warnings.catch_warnings(action="ignore"):  # words are few
        model = linsep.fit(table, target=target, learner=learner, categorical=["code"], **how, **l2)
    linsep.save(model, tmp_path / "m")
    new = other_codes(some)[["code", *columns, target]]
    new.to_csv(tmp_path / "new.csv", index=False)
    said = here("predict", "m", "new.csv", cwd=tmp_path).stderr
    assert said.count("\n") == 1
    expected = said.removeprefix("linsep: warning: ").strip()
    X = new.drop(columns=target)
    source = linsep.open_source(new, recipe=model.recipe_)
    calls = [
        lambda: model.predict(X), lambda: model.predict(tmp_path / "new.csv"),
        lambda: model.predict(X, missing="skip"), lambda: model.predict(source),
        lambda: model.score(new), lambda: model.score(X, new[target]), lambda: model.score(source),
        lambda: linsep.score(model, new),
    ]  # fmt: skip
    for name in ("decision_function", "predict_proba", "predict_log_proba", "diagnostics"):
        if hasattr(model, name):
            rows = new if name == "diagnostics" else X
            calls.append(partial(getattr(model, name), rows))
    if hasattr(model, "marginal_effects"):
        calls.append(lambda: model.marginal_effects(X))
    for call in calls:
        with warnings.catch_warnings(record=True) as seen, suppress(DataError):
            warnings.simplefilter("always")
            call()
        assert {str(one.message) for one in seen} == {expected}
        assert {one.filename for one in seen} == {__file__}
    with warnings.catch_warnings(action="error"):
        model.predict(TOLD[["code", *columns]])
        model.score(table)


def test_every_command_that_reads_rows_for_a_model_warns_of_unseen_values(tmp_path):
    table = TOLD[["code", "x", "kind"]]
    fit = {"learner": "logistic", "l2": 1.0, "categorical": ["code"]}
    linsep.save(linsep.fit(table, target="kind", **fit), tmp_path / "m")
    new = other_codes(some=True)[["code", "x", "kind"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    for words in (
        "predict m new.csv", "effects m new.csv", "bounds --model m new.csv",
        "plot decision m new.csv -o p.png --force", "plot probability m new.csv -o p.png --force",
    ):  # fmt: skip
        done = here(*words.split(), cwd=tmp_path)
        assert done.stderr.count("20 values of column 'code' not seen in training") == 1, words


def test_audit_shows_unseen_and_imputed_values(tmp_path):
    table = TOLD.drop(columns="price").copy()
    table.loc[3, "x"] = np.nan
    how = {"date": ["day"], "text": {"note": linsep.Text(n_features=8)}, "missing": "mean"}
    model = linsep.fit(table, target="kind", learner="perceptron", categorical=["code"], **how)
    linsep.save(model, tmp_path / "m")
    new = other_codes().drop(columns="price").astype({"x": object})
    new.loc[1, ["x", "day"]] = None
    new.loc[2, "code"] = "2"
    new.to_csv(tmp_path / "new.csv", index=False)
    for row, unseen, filled in ((1, {"code": 1}, {}), (2, {"code": 1}, {"x": 1, "day": 1}),
                                (3, {}, {}), (60, {"code": 1}, {})):  # fmt: skip
        done = here("audit", "m", "new.csv", "--row", row, "--json", cwd=tmp_path)
        found = json.loads(done.stdout)
        assert (found["unknown_values"], found["values_filled"]) == (unseen, filled)
        shown = here("audit", "m", "new.csv", "--row", row, cwd=tmp_path).stdout
        assert ("\nunknown " in shown, "\nmissing " in shown) == (bool(unseen), bool(filled))
