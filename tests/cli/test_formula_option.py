"""--formula and --products: in commands, over HTTP, and refused by exports."""

import json

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import assert_refused, here
from served import serving

FORMULA = "admit ~ gre * C(rank) + poly(gpa, 2)"


def people(n=200):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "admit": rng.choice(["no", "yes"], n),
            "gre": rng.integers(220, 801, n),
            "gpa": rng.uniform(2, 4, n).round(2),
            "rank": rng.integers(1, 5, n),
            "town": rng.choice(["a", "b"], n),
        }
    )
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formula")
    people().to_csv(folder / "p.csv", index=False)
    words = ("--learner", "logistic")
    done = here("fit", "p.csv", "--formula", FORMULA, *words, "--model", "m", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"formula   {FORMULA}" in done.stdout
    products = ("--target", "admit", "--products", "gre:town", "--products", "gre:gpa")
    done = here("fit", "p.csv", *products, *words, "--model", "products", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "products   gre:town, gre:gpa" in done.stdout
    return folder


def test_the_command_learns_as_python_does(folder):
    loaded = linsep.load(folder / "m")
    model = linsep.fit(people(), formula=FORMULA, learner="logistic")
    assert (loaded.coef_ == model.coef_).all()
    assert loaded.recipe_["formula"] == model.recipe_["formula"]
    done = here("predict", "m", "p.csv", cwd=folder)
    assert done.stdout.split() == model.predict(people()).tolist()
    done = here("score", "m", "p.csv", "--json", cwd=folder)
    assert json.loads(done.stdout)["rows"] == len(people())


def test_models_say_their_formula_or_products(folder):
    assert FORMULA in here("inspect", "m", cwd=folder).stdout
    assert "gre:C(rank)[T.2]" in here("summary", "m", cwd=folder).stdout
    assert "gre:town, gre:gpa" in here("inspect", "products", cwd=folder).stdout
    assert "gre:town=b" in here("summary", "products", cwd=folder).stdout


REFUSED = [
    ("--formula", "admit ~ gre * foo(rank)", "", "bad-formula", 1),
    ("--formula", "admit ~ gree", "", "unknown-column", 1),
    ("--formula", "admit ~ offset(gre)", "", "bad-formula", 2),
    ("--formula", "admit ~ gre", "--target admit", "conflict", 1),
    ("--formula", "admit ~ gre", "--exclude gpa", "conflict", 1),
    ("--formula", "admit ~ gre", "--products gre:gpa", "conflict", 1),
    ("--formula", "admit ~ gre", "--missing mean", "conflict", 1),
    ("--formula", "admit ~ gre", "--no-fit-intercept", "conflict", 2),
    ("--target", "admit", "--products gre", "bad-option", 1),
    ("--target", "admit", "--products gre:admit", "unknown-column", 1),
]


def test_bad_options_are_refused_in_a_sentence(folder):
    for name, value, more, code, exit_code in REFUSED:
        words = ("fit", "p.csv", name, value, *more.split())
        assert_refused(*words, cwd=folder, code=code, exit_code=exit_code)


def test_servers_read_raw_rows(folder):
    frame = people().drop(columns="admit")
    for name in ("m", "products"):
        wanted = linsep.load(folder / name).predict(frame).tolist()
        names = ["gre", "rank", "gpa"] if name == "m" else ["gre", "gpa", "rank", "town"]
        rows = json.loads(frame[names].to_json(orient="records"))
        with serving(folder / name) as client:
            assert client.predict(rows)["predictions"] == wanted
            example = client.get("/openapi.json")["components"]["schemas"]["Row"]["example"]
            assert len(client.predict([example])["predictions"]) == 1
            if name == "m":
                for rank in (9, None):
                    status, said = client.refused("/predict", {"rows": [rows[0] | {"rank": rank}]})
                    assert (status in (400, 422), "column 'rank'" in said) == (True, True)


def test_rows_with_a_missing_value_may_be_skipped(folder):
    model = linsep.load(folder / "m")
    frame = people().astype({"rank": "float64"})
    wanted = model.predict(frame).tolist()
    frame.loc[4, "rank"] = np.nan
    found = model.predict(frame, missing="skip").tolist()
    assert found == [*wanted[:4], None, *wanted[5:]]


def test_proofs_about_the_features_of_a_formula(folder):
    formula = "admit ~ gre * C(rank) - 1"
    words = ("separate", "p.csv", "--formula", formula, "--proof", "p.json")
    assert here(*words, cwd=folder).returncode == 0
    verdict = linsep.from_json((folder / "p.json").read_text())
    source = linsep.open_source(folder / "p.csv", formula=formula)
    assert verdict == linsep.separation(source, fit_intercept=False)
    assert here("verify", "p.json", "p.csv", "--formula", formula, cwd=folder).returncode == 0
    assert here("verify", "p.json", "p.csv", "--target", "admit", cwd=folder).returncode == 1
    assert here("bounds", "p.csv", "--formula", formula, cwd=folder).returncode == 0
