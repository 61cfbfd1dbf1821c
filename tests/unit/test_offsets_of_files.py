"""Offsets as columns of tables and in formulas: fits, predictions, the command line, refusals."""

import json

import numpy as np
import pandas as pd
import pytest

import linsep
from helpers.command_line import here
from linsep import LinearRegression, LogisticRegression, open_source
from linsep.errors import DataError
from refusals import refused

pytestmark = pytest.mark.uncompiled

N = 300


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "o"])
    data["town"] = rng.choice(["x", "y", "z"], N)
    data["y"] = (rng.random(N) < 1 / (1 + np.exp(-data.a - data.o))).astype(int)
    data["v"] = data.a + data.o + rng.normal(size=N)
    return data


@pytest.fixture
def path(rows: pd.DataFrame, tmp_path: object) -> str:
    rows.to_csv(tmp_path / "rows.csv", index=False)
    return str(tmp_path / "rows.csv")


def arrays(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.get_dummies(rows[["a", "b", "town"]], drop_first=True).astype(float)


LEARNERS = [("logistic", "y", LogisticRegression), ("linear", "v", LinearRegression)]


@pytest.mark.parametrize(("learner", "target", "kind"), LEARNERS, ids=["logistic", "linear"])
def test_columns_and_formulas(
    rows: pd.DataFrame, path: str, learner: str, target: str, kind: type
) -> None:
    other = {"y": "v", "v": "y"}[target]
    expected = kind().fit(arrays(rows), rows[target], offset=rows.o)
    predicted = expected.predict(arrays(rows), offset=rows.o)
    asked = [
        {"target": target, "offset": "o", "exclude": other},
        {"formula": f"{target} ~ a + b + town + offset(o)"},
        {"formula": f"{target} ~ offset(2 * o) + a + b + town + offset(log(exp(-o)))"},
        {"formula": f"{target} ~ . + offset(o)", "data": rows.drop(columns=other)},
    ]
    for how in asked:
        for data in [how.pop("data")] if "data" in how else [rows, path]:
            model = linsep.fit(data, learner=learner, **how)
            assert model._with_offset
            np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
            np.testing.assert_allclose(model.predict(data), predicted, rtol=1e-9)
            score = expected.score(arrays(rows), rows[target], offset=rows.o)
            assert model.score(data) == pytest.approx(score)
            assert linsep.score(model, data)["rows"] == N
    beside = linsep.score(expected, (arrays(rows), rows[target]), offset=rows.o)
    there = linsep.score(model, rows)["metrics"]
    values = {name: metric["value"] for name, metric in there.items()}
    assert {k: m["value"] for k, m in beside["metrics"].items()} == pytest.approx(values)
    with refused(DataError, "needs-option", option="offset"):
        linsep.score(expected, (arrays(rows), rows[target]))


def test_frames_beside_offsets(rows: pd.DataFrame) -> None:
    features = rows[["a", "b", "town"]]
    for kind, target in ((LogisticRegression, rows.y), (LinearRegression, rows.v)):
        model = kind().fit(features, target, offset=rows.o)
        expected = kind().fit(arrays(rows), target, offset=rows.o)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
        found = model.predict(features, offset=rows.o)
        np.testing.assert_allclose(found, expected.predict(arrays(rows), offset=rows.o))
        with refused(DataError, "unknown-column", column="offset"):
            model.predict(features)
        with refused(DataError, "missing-value", row=1, option="offset"):
            kind().fit(features, target, offset=rows.o.where(rows.o != rows.o[0]))


@pytest.mark.parametrize("memory", [1 << 10, 256 << 20])
@pytest.mark.parametrize("weight", [None, "w"])
def test_files_larger_than_memory(
    rows: pd.DataFrame, tmp_path: object, memory: int, weight: str | None
) -> None:
    data = rows[["a", "b", "o", "y"]].assign(w=np.arange(N) % 3)
    data.to_csv(tmp_path / "d.csv", index=False)
    how = {"target": "y", "offset": "o", "weight": weight}
    how |= {} if weight else {"exclude": "w"}
    weights = None if weight is None else data.w
    plain = LogisticRegression().fit(data[["a", "b"]], data.y, weights, offset=data.o)
    for _ in range(2):  # with a cache that the first fit may have left
        source = open_source(tmp_path / "d.csv", cache=tmp_path / "cache", **how)
        source.memory_bytes = memory
        model = LogisticRegression().fit(source)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-11)
        assert model.null_log_likelihood_ == pytest.approx(plain.null_log_likelihood_, rel=1e-13)
        assert model.training_accuracy_ == pytest.approx(
            plain.score(data[["a", "b"]], data.y, weights, offset=data.o)
        )
    linear = {"target": "o", "offset": "a", "exclude": ["y", "w"]}
    found = LinearRegression().fit(open_source(tmp_path / "d.csv", **linear))
    expected = LinearRegression().fit(data[["b"]], data.o - data.a)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-14)


def test_command_line(rows: pd.DataFrame, path: str, tmp_path: object) -> None:
    model = str(tmp_path / "m.linsep")
    options = ["--target", "y", "--learner", "logistic", "--exclude", "v"]
    done = here("fit", path, *options, "--offset", "o", "--model", model, "--cv", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    loaded = linsep.load(model)
    expected = LogisticRegression().fit(arrays(rows), rows.y, offset=rows.o)
    np.testing.assert_allclose(loaded.coef_, expected.coef_, rtol=1e-9)
    done = here("predict", model, path, "--probabilities", "--json", cwd=tmp_path)
    lines = [json.loads(line)["probabilities"] for line in done.stdout.splitlines()]
    p = expected.predict_proba(arrays(rows), offset=rows.o)
    np.testing.assert_allclose(lines, p, rtol=1e-9)
    done = here("score", model, path, "--json", cwd=tmp_path)
    right = expected.score(arrays(rows), rows.y, offset=rows.o)
    assert json.loads(done.stdout)["accuracy"] == pytest.approx(right)
    terms = json.loads(here("audit", model, path, "--row", "5", "--json", cwd=tmp_path).stdout)[
        "terms"
    ]
    (offset,) = [term for term in terms if term["feature"] == "offset"]
    assert offset["product"] == rows.o[4]
    rows.drop(columns="o").to_csv(tmp_path / "without.csv", index=False)
    for command in ("predict", "score"):
        done = here(command, model, str(tmp_path / "without.csv"), cwd=tmp_path)
        assert done.returncode != 0
        assert (
            "has no column 'o' of offsets, which the model was trained with: add it." in done.stderr
        )
    done = here("fit", path, *options[:2], "--exclude", "v", "--offset", "o", cwd=tmp_path)
    assert done.returncode != 0
    assert "which only linear and logistic regressions support" in done.stderr


def test_tuning(path: str, tmp_path: object) -> None:
    options = ["--formula", "y ~ a + offset(o)"]
    done = here("tune", path, *options, "--learner", "logistic", "--cv", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for more in (["--cv", "3"], ["--grid", "keep=last,average"]):
        done = here("tune", path, *options, "--learner", "perceptron", *more, cwd=tmp_path)
        assert done.returncode == 1
        assert "which only linear and logistic regressions support" in done.stderr


REFUSED = [
    ({"offset": "q"}, "has no column 'q' of offsets, only a, b, o, town, y, v: check its name."),
    ({"offset": "town"}, "column 'town' holds '.', but offsets must be numbers"),
    ({"offset": "y"}, "'y' is named for offsets, but is the label column"),
    ({"offset": "o", "weight": "o"}, "'o' is named for offsets, but is the column of weights"),
    ({"offset": "o", "group": "o"}, "'o' is named for groups, but is the column of offsets"),
    ({"offset": "o", "exclude": "o"}, "'o' is named for offsets, but is left out"),
    ({"formula": "y ~ a:offset(o)"}, "has an offset in another term, at character 7: add it"),
    ({"formula": "y ~ (a + offset(o))"}, "has an offset in another term, at character 10"),
    ({"formula": "y ~ a - offset(o)"}, "has an offset in another term, at character 9"),
    ({"formula": "y ~ a + log(offset(o))"}, "has an offset in a factor, at character 13"),
    ({"formula": "y ~ a + offset(C(town))"}, "has an offset that is not a number, at character 16"),
    ({"formula": "y ~ a + offset(town)"}, r"so 'offset\(town\)' in the formula cannot be"),
    ({"formula": "y ~ a + offset(foo(o))"}, "calls foo, which formulas do not have"),
    ({"formula": "y ~ a + offset(__import__('os'))"}, "formula"),
    ({"formula": "y ~ a + offset()"}, "does not parse at character 16"),
    ({"formula": "y ~ a + offset(q)"}, "has no column 'q', which the formula names"),
    ({"formula": "y ~ a + offset(y)"}, "has its label 'y' on both sides"),
    ({"formula": "y ~ a + o", "offset": "o"}, "'o' is named for offsets, but is in the formula"),
    ({"formula": "y ~ a + offset(log(o))"}, "line [0-9]+ has an offset that is missing"),
    ({"formula": "y ~ a + offset(1 / (o - o))"}, "line 2 has an offset that is (inf|missing)"),
]


@pytest.mark.parametrize(("how", "said"), REFUSED, ids=[str(how) for how, _ in REFUSED])
def test_refused(path: str, how: dict[str, str], said: str) -> None:
    target = {} if "formula" in how else {"target": "y"}
    with pytest.raises(DataError, match=said):
        linsep.fit(path, learner="logistic", **target, **how)


@pytest.mark.parametrize(("cell", "found"), [("", "missing"), ("inf", "inf"), ("NaN", "missing")])
def test_missing_offsets(path: str, cell: str, found: str) -> None:
    with open(path) as file:
        lines = file.read().splitlines()
    cells = lines[7].split(",")
    lines[7] = ",".join([*cells[:2], cell, *cells[3:]])
    with open(path, "w") as file:
        file.write("\n".join(lines))
    said = f"line 8 has an offset that is {found}, not a finite number"
    for missing in ("error", "drop", "mean"):
        with pytest.raises(DataError, match=said):
            linsep.fit(
                path, target="y", learner="logistic", offset="o", exclude="v", missing=missing
            )


def test_predictions_without_some_offsets(rows: pd.DataFrame) -> None:
    how = [{"target": "y", "offset": "o", "exclude": "v"}, {"formula": "y ~ a + offset(o)"}]
    gaps = rows.assign(o=rows.o.where(np.arange(N) != 7))
    for one in how:
        model = linsep.fit(rows, learner="logistic", **one)
        found = model.predict(gaps, missing="skip")
        assert found[7] is None
        assert (np.delete(found, 7) == np.delete(model.predict(rows), 7)).all()
        with refused(DataError, "missing-value", row=8, column="o"):
            model.predict(gaps)


def test_forged_recipes(rows: pd.DataFrame) -> None:
    model = linsep.fit(rows, formula="y ~ a + offset(o)", learner="logistic")
    for forged in (["__import__('os')"], ["C(o)"], ["town"], ["q"], 5):
        recipe = json.loads(json.dumps(model.recipe_))
        recipe["formula"]["offset"] = forged
        with pytest.raises(DataError):
            open_source(rows, recipe=recipe)
    model = linsep.fit(rows, target="y", offset="o", exclude="v", learner="logistic")
    with refused(DataError, "bad-model-file"):
        open_source(rows, recipe=model.recipe_ | {"offset": 5})
    facts = model.get_state()
    with pytest.raises(ValueError, match="an offset of 'yes'"):
        LogisticRegression().set_state(facts[0], facts[1] | {"offset": "yes"})


def test_other_uses_are_refused(rows: pd.DataFrame, tmp_path: object) -> None:
    source = open_source(rows, target="y", offset="o", exclude="v")
    for kind in ("Perceptron", "GaussianNaiveBayes", "SoftMargin", "KernelPerceptron"):
        with refused(DataError, "unsupported", option="offset"):
            getattr(linsep, kind)().fit(source)
    with refused(DataError, "conflict", option="offset"):
        LogisticRegression().fit(source, offset=rows.o)
    model = linsep.LogisticRegression().fit(source)
    with refused(DataError, "other-model"):
        model.predict(open_source(rows, target="y", exclude=["v", "o"]))
    linsep.save(model, tmp_path / "m.linsep")
    from linsep.serving.limits import Limits
    from linsep.serving.model import read_model

    with refused(DataError, "unsupported"):
        read_model(tmp_path / "m.linsep", Limits())
