"""linsep effects, summary --odds-ratios and predict --interval of logistic regressions."""

import json

import numpy as np
import pandas as pd
import pytest

import linsep
from helpers.command_line import assert_refused, here

rng = np.random.default_rng(11)
N = 120
ROWS = pd.DataFrame(
    {"age": rng.integers(20, 80, N), "smoker": rng.integers(0, 2, N),
     "town": rng.choice(["Bonn", "Rome", "Ulm"], N)}
)  # fmt: skip
SCORES = 0.05 * (ROWS["age"] - 50) + 0.8 * ROWS["smoker"] + rng.logistic(size=N)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("effects")
    rows = ROWS.assign(
        ill=np.where(SCORES > 0, "yes", "no"), kind=np.digitize(SCORES, [-0.5, 1.0]), pay=SCORES
    )
    rows.to_csv(path / "rows.csv", index=False)
    for name, target, learner in (
        ("ill", "ill", "logistic"), ("kind", "kind", "logistic"), ("pay", "pay", "linear"),
        ("points", "ill", "perceptron"),
    ):  # fmt: skip
        done = here(
            "fit", "rows.csv", "--target", target, "--include", "age", "--include", "smoker",
            "--include", "town", "--learner", learner, "--model", f"{name}.linsep", cwd=path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (["--at", "mean"], "mean"),
        (["--at", "age=40,town=Ulm"], {"age": 40, "town": "Ulm"}),
        (["--at", "age=40", "--at", "town=Ulm"], {"age": 40, "town": "Ulm"}),
    ],
)
def test_where_they_are(folder, words, at):
    words = ("effects", "kind.linsep", "rows.csv", *words, "--level", "0.8", "--json")
    found = json.loads(here(*words, cwd=folder).stdout)
    model = linsep.load(folder / "kind.linsep")
    table = model.marginal_effects(ROWS, at=at, level=0.8).to_dict()
    assert found["coefficients"] == table["coefficients"]


def test_what_has_no_effects_is_refused(folder):
    for words, code, exit_code in (
        ("effects ill.linsep rows.csv --at height=3", "unknown-column", 1),
        ("effects ill.linsep rows.csv --at mean,age=3", None, 2),
        ("effects points.linsep rows.csv", "unsupported", 1),
        ("summary pay.linsep --odds-ratios", "unsupported", 1),
        ("predict points.linsep rows.csv --interval confidence", "unsupported", 1),
        ("predict ill.linsep rows.csv --interval prediction", "unsupported", 1),
    ):
        assert_refused(*words.split(), cwd=folder, code=code, exit_code=exit_code)


def test_a_level_that_diverges_has_no_error(folder, tmp_path):
    rows = ROWS.assign(ill=np.where((SCORES > 0) & (ROWS["town"] != "Ulm"), "yes", "no"))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    fit = ("fit", "rows.csv", "--target", "ill", "--learner", "logistic", "--model", "m")
    assert here(*fit, cwd=tmp_path).returncode == 0
    numbers = ("standard_error", "statistic", "p_value", "low", "high")
    for words, status in (("effects m rows.csv", "limit"), ("summary m", "-inf"),
                          ("summary m --odds-ratios", "0")):  # fmt: skip
        done = here(*words.split(), "--json", cwd=tmp_path)
        found = {row["name"]: row for row in json.loads(done.stdout)["coefficients"]}
        assert {found["town=Ulm"][name] for name in numbers} == {None}
        assert None not in {found["town=Rome"][name] for name in numbers}
        assert found["town=Ulm"]["status"] == status


def test_odds_ratios(folder):
    model = linsep.load(folder / "ill.linsep")
    done = here("summary", "ill.linsep", "--odds-ratios", cwd=folder)
    assert done.stdout == f"{model.odds_ratios()}\n"
    done = here("summary", "ill.linsep", "--odds-ratios", "--json", cwd=folder)
    assert json.loads(done.stdout) == json.loads(json.dumps(model.odds_ratios().to_dict()))


@pytest.mark.parametrize("model", ["ill", "kind"])
def test_intervals_of_probabilities(folder, tmp_path, model):
    words = ("predict", f"{model}.linsep", "rows.csv", "--interval", "confidence", "--level", "0.9")
    done = here(*words, "--output", tmp_path / "found.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = pd.read_csv(tmp_path / "found.csv")
    own = linsep.load(folder / f"{model}.linsep")
    expected = own.predict_proba(ROWS, interval="confidence", level=0.9)
    assert found["prediction"].tolist() == own.predict(ROWS).tolist()
    for k, label in enumerate(own.classes_):
        for name, values in zip(("probability", "low", "high"), expected, strict=True):
            assert np.allclose(found[f"{name} {label}"], values[:, k], rtol=1e-14)
    lines = here(*words, "--json", cwd=folder).stdout.splitlines()
    assert (len(lines), json.loads(lines[0])) == (N, pytest.approx(dict(found.iloc[0])))
    plain = here(*words, cwd=folder).stdout.splitlines()[0].split("\t")
    assert [float(cell) for cell in plain[1:]] == pytest.approx(found.iloc[0, 1:].tolist(), 1e-14)
