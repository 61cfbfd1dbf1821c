"""linsep audit and linsep.explain: the terms of a score, which sum to it to the bit."""

import json
from math import fsum

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import assert_refused, here
from linsep import load
from linsep.sources.feature_names import sign_of

WORDS = ["free", "prize", "call", "home", "see", "you"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 1e3, 1e-3]
    words = [rng.choice(WORDS, 3, replace=False) for _ in X]
    kinds = np.array(["a", "b", "c"])[(X[:, 0] > 0) + 1 * (X[:, 1] > 0)]
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    frame["color"] = rng.choice(["red", "blue"], len(X))
    frame["text"] = [" ".join(own) for own in words]
    frame["y"] = X @ [1.0, 1e-3, 0.0] + rng.normal(size=len(X))
    frame["kind"], frame["side"] = kinds, kinds == "a"
    frame.to_csv(folder / "rows.csv", index=False)
    with (folder / "rows.svm").open("w") as svm, (folder / "rows.vw").open("w") as vw:
        for k, (row, own) in enumerate(zip(X.tolist(), words, strict=True)):
            label = 1 if kinds[k] == "a" else -1
            svm.write(f"{label} 1:{row[0]!r} 3:{row[1]!r} 7:{row[2]!r}\n")
            vw.write(f"{label} |w {' '.join(own)} |n:0.5 p:{row[0]!r}\n\n")
    return folder


CLASSES = ["--target", "kind", "--exclude", "y", "--exclude", "side"]
SIDES = ["--target", "side", "--exclude", "y", "--exclude", "kind"]
BAYES = ["--exclude", "text", "--exclude", "color", "--learner", "naive-bayes"]
NUMBERS = ["--target", "y", "--exclude", "kind", "--exclude", "side"]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("rows.csv", [*SIDES, "--text", "text", "--vocabulary", "--normalize", "--scale", "none"]),
        ("rows.csv", [*CLASSES, "--exclude", "text", "--multiclass", "ovr"]),
        ("rows.csv", [*CLASSES, "--exclude", "text", "--learner", "logistic", "--l2", "1"]),
        ("rows.csv", [*NUMBERS, "--exclude", "text", "--learner", "linear"]),
        ("rows.csv", [*SIDES, *BAYES]),
        ("rows.csv", [*CLASSES, "--exclude", "text", "--products", "p:q"]),
        ("rows.svm", ["--keep", "last", "--no-fit-intercept"]),
        ("rows.vw", ["--interactions", "wn", "--hash-bits", "4"]),
    ],
)
def test_terms_sum_to_the_score_to_the_bit(folder, data, options, tmp_path):
    learned = here("fit", data, *options, "--model", tmp_path / "m", cwd=folder)
    assert learned.returncode == 0, learned.stderr
    printed = here("predict", tmp_path / "m", data, "--json", cwd=folder).stdout.splitlines()
    frame = pd.read_csv(folder / "rows.csv")
    for row in (1, 60):
        done = here("audit", tmp_path / "m", data, "--row", row, "--json", cwd=folder)
        found = json.loads(done.stdout)
        parts = [term["contribution"] for term in found["terms"]]
        assert fsum([*parts, found["rounding"]]) == found["score"]
        for term in found["terms"]:
            from_mean = term["value"] - term.get("mean", 0.0)
            assert term["contribution"] == pytest.approx(from_mean * term["weight"], rel=1e-9)
            if data == "rows.csv" and term["feature"] in frame:
                assert term["value"] == pytest.approx(frame[term["feature"]][row - 1], rel=1e-14)
        assert abs(found["rounding"]) <= 1e-12 * max(map(abs, parts))
        assert sorted(map(abs, parts), reverse=True) == list(map(abs, parts))
        expected = json.loads(printed[row - 1])
        assert found["prediction"] == expected["prediction"]
        if "scores" in expected:
            assert found["score"] in np.atleast_1d(expected["scores"]).tolist()
        explained = linsep.explain(load(tmp_path / "m"), str(folder / data), row - 1)
        assert explained.to_dict() == found | {"row": explained.row}
        line = 2 * row - 1 if data.endswith("vw") else row
        assert found["row"] == f"{data} {'row' if data.endswith('csv') else 'line'} {line}"


def test_names(folder, tmp_path):
    model = tmp_path / "m"
    here("fit", "rows.vw", "--interactions", "wn", "--model", model, cwd=folder)
    words = (folder / "rows.vw").read_text().splitlines()[4].split("|")[1].split()[1:]
    found = json.loads(here("audit", model, "rows.vw", "--row", 3, "--json", cwd=folder).stdout)
    names = {term["feature"] for term in found["terms"]}
    expected = {f"w^{word}" for word in words} | {f"w^{word}*n^p" for word in words}
    assert names <= {*expected, "n^p", "intercept"}
    assert len(names) + found["without_effect"] == 8


def test_words_have_the_weights_of_inspect(folder, tmp_path):
    """Columns that count a word negatively are turned: it is there so often, not minus so often."""
    here("fit", "rows.csv", *SIDES, "--text", "text", "-m", tmp_path / "m", cwd=folder)
    shown = json.loads(here("inspect", "m", "--top", 500, "--json", cwd=tmp_path).stdout)
    weights, signs = dict(shown["weights"][0]["heaviest"]), set()
    for row in range(1, 6):
        audit = ("audit", tmp_path / "m", "rows.csv", "--row", row, "--json")
        terms = json.loads(here(*audit, cwd=folder).stdout)["terms"]
        words = [term for term in terms if term["feature"].startswith("text:")]
        assert all(term["value"] > 0 for term in words)
        assert all(term["weight"] == weights[term["feature"]] for term in words)
        signs |= {sign_of(term["feature"].removeprefix("text:")) for term in words}
    assert signs == {-1, 1}


def test_what_has_no_audit(folder, tmp_path):
    model = tmp_path / "m"
    here("fit", "rows.svm", "--model", model, cwd=folder)
    code = "out-of-range"
    assert_refused("audit", model, "rows.svm", "--row", 61, cwd=folder, code=code)
    assert_refused(
        "audit", model, "rows.svm", "--row", 0, cwd=folder, said="--row must be", exit_code=2
    )
    for options, code in [
        (["--keep", "vote"], "unsupported"),
        (["--learner", "kernel", "--kernel", "rbf"], "unsupported"),
    ]:
        here("fit", "rows.svm", *options, "--model", model, "--force", cwd=folder)
        assert_refused("audit", model, "rows.svm", cwd=folder, code=code)
    learn = ["fit", "rows.csv", *CLASSES, "--exclude", "text", "--multiclass", "ovo"]
    here(*learn, "--model", model, "--force", cwd=folder)
    assert load(model).multiclass == "ovo"
    assert_refused("audit", model, "rows.csv", cwd=folder, code="unsupported")
