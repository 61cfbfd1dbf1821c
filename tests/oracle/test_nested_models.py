"""Nested regressions: tests of R and statsmodels, and refusals of what is not comparable."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

import linsep
from command_line import assert_refused, here
from linsep import LinearRegression, LogisticRegression, compare, lanes, open_source
from linsep._system.sealed import sealed, unsealed
from linsep.batches import Batch
from linsep.errors import DataError, ModelFileError, ParameterError, SeparationWarning
from linsep.inference.results import Signature
from linsep.model_files import MODEL_FILE
from refusals import refused

rng = np.random.default_rng(4848)


N = 90
FRAME = pd.DataFrame({
    "region": rng.choice(["north", "south", "east"], N), "x1": rng.normal(size=N),
    "x2": rng.normal(size=N), "w": rng.integers(1, 4, N).astype(float),
})  # fmt: skip
FRAME["y"] = FRAME.x1 + (FRAME.region == "north") + rng.normal(size=N)
FRAME["k"] = (FRAME.y + rng.normal(size=N) > 0.5).astype(int)


FORMULAS = ["x1", "x1 + region", "x1 + region * x2"]


def models(learner, frame=FRAME, formulas=FORMULAS, **how):
    target = "y" if learner == "linear" else "k"
    return [linsep.fit(frame, formula=f"{target} ~ {f}", learner=learner, **how) for f in formulas]


def test_least_squares_are_compared_as_by_statsmodels():
    theirs = [smf.ols(f"y ~ {f}", FRAME).fit() for f in FORMULAS]
    found, expected = compare(*models("linear")).tidy(), anova_lm(*theirs)
    assert np.allclose(found.F[1:].astype(float), expected.F[1:], rtol=1e-8)
    # statsmodels takes the degrees of freedom of each model, R those of the largest
    p = stats.f.sf(expected.F[1:], expected.df_diff[1:], expected.df_resid[2])
    assert np.allclose(found.p_value[1:].astype(float), p, rtol=1e-7)
    assert np.allclose(found.rss, expected.ssr, rtol=1e-9)
    assert np.allclose(found.log_likelihood, [one.llf for one in theirs], rtol=1e-9)
    assert np.allclose(found.aic, [one.aic for one in theirs], rtol=1e-9)
    assert np.allclose(found.bic, [one.bic for one in theirs], rtol=1e-9)
    f, p, df = theirs[2].compare_f_test(theirs[1])
    pair = compare(*models("linear")[1:]).tidy()
    assert np.allclose([pair.F[1], pair.p_value[1], pair.df[1]], [f, p, df], rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_regressions_are_compared_as_by_statsmodels(weighted):
    how = {"weight": "w"} if weighted else {}
    weights = FRAME.w if weighted else None
    family = sm.families.Binomial()
    theirs = [
        smf.glm(f"k ~ {f}", FRAME, family=family, freq_weights=weights).fit(tol=1e-12)
        for f in FORMULAS
    ]
    found = compare(*models("logistic", **how)).tidy()
    gained = 2 * np.diff([one.llf for one in theirs])
    assert np.allclose(found.chi2[1:].astype(float), gained, rtol=1e-6)
    p = stats.chi2.sf(gained, [2, 3])
    assert np.allclose(found.p_value[1:].astype(float), p, rtol=1e-6)
    assert np.allclose(found.log_likelihood, [one.llf for one in theirs], rtol=1e-8)
    assert found.parameters.tolist() == [2, 4, 7]


def test_separated_classes_are_compared_by_the_supremum():
    frame = FRAME[["x1"]].assign(marker=((FRAME.k == 1) & (FRAME.x1 > 0)).astype(float))
    small = LogisticRegression().fit(frame[["x1"]], FRAME.k)
    with pytest.warns(SeparationWarning):
        large = LogisticRegression().fit(frame, FRAME.k)
    found = compare(small, large)
    rest = frame.marker == 0  # the rows of the marker are fitted with probability 1
    limit = sm.Logit(FRAME.k[rest], sm.add_constant(frame.x1[rest])).fit(disp=False)
    gained = 2 * (limit.llf - small.log_likelihood_)
    assert np.isclose(found.tidy().chi2[1], gained, rtol=1e-6)


def test_model_files_and_the_command_line(tmp_path):
    for learner in ("linear", "logistic"):
        paths = [tmp_path / f"{learner}{k}.linsep" for k in range(3)]
        fits = models(learner)
        for model, path in zip(fits, paths, strict=True):
            linsep.save(model, path)
        expected = compare(*fits).to_dict()
        assert compare(*map(linsep.load, paths)).to_dict() == expected
        done = here("compare", *paths, "--json", cwd=tmp_path)
        rows = json.loads(done.stdout)["rows"]
        assert [row.pop("model") for row in rows] == list(map(str, paths))
        assert rows == [{k: v for k, v in row.items() if k != "model"} for row in expected["rows"]]
        assert_refused("compare", paths[1], paths[0], cwd=tmp_path, code="other-model")
        assert here("compare", paths[0], cwd=tmp_path).returncode == 2


def as_file(tmp_path, frame, kind):
    path = tmp_path / f"rows.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize(
    ("learner", "weighted"), [(LinearRegression, True), (LogisticRegression, False)]
)
def test_signatures_are_those_of_rows_however_they_come(tmp_path, learner, weighted, monkeypatch):
    target = "y" if learner is LinearRegression else "k"
    frame = FRAME.assign(w=FRAME.w - 1 if weighted else 1.0)  # some weights are 0
    weights, how = (frame.w, {"weight": "w"}) if weighted else (None, {"exclude": ["w"]})
    X = frame[["x1", "x2"]]
    large = learner().fit(X, frame[target], weights)
    few = learner().fit(X.to_numpy()[:, :1], frame[target].to_numpy(), weights)
    assert signature(few) == signature(large)
    if weighted:
        kept = weights > 0
        assert signature(learner().fit(X[kept], frame[target][kept], weights[kept])) == signature(
            large
        )
    columns = ["x1", "x2", target, "w"]
    for kind in ("csv", "parquet"):
        path = as_file(tmp_path, frame[columns], kind)
        for rows in (1 << 16, 7):
            source = open_source(path, target=target, **how)
            whole = source.batches
            source.batches = lambda whole=whole, rows=rows: (
                part for batch in whole() for part in batch.cut(rows)
            )
            assert signature(learner().fit(source)) == signature(large)
    monkeypatch.setattr(lanes, "DENSE_VALUES", 100)
    monkeypatch.setattr(lanes, "LEAST_ROWS", 13)
    monkeypatch.setattr("linsep.logistic.task.LEAST_LANE_ROWS", 16)
    assert signature(learner().fit(X, frame[target], weights)) == signature(large)
    again = X.iloc[::-1]
    backward = learner().fit(again, frame[target][::-1], None if weights is None else weights[::-1])
    assert signature(backward) != signature(large)


def signature(model):
    return model.rows_signature_


def signed(y, weights=None):
    return Signature.of(Batch(np.zeros((y.size, 0)), y, weights=weights))


def test_signatures_of_parts_are_joined():
    y, weights = rng.normal(size=200), rng.integers(0, 3, 200).astype(float)
    whole = signed(y, weights)
    joined = Signature()
    for start in range(0, 200, 7):
        joined += signed(y[start : start + 7], weights[start : start + 7])
    assert joined == whole
    alike = (y, np.zeros(3), np.array([1, 0])), (y + 0.0, -np.zeros(3), np.array([1.0, 0.0]))
    assert all(signed(a) == signed(b, np.ones(b.size)) for a, b in zip(*alike, strict=True))
    seen = {whole.value}
    for k in range(200):  # a change of any value, or of two places, changes it
        changed, heavier = y.copy(), weights + 1.0
        changed[k] = np.nextafter(changed[k], 9)
        heavier[k] += 1.0
        swapped = y.copy()
        swapped[[k, (k + 1) % 200]] = swapped[[(k + 1) % 200, k]]
        seen |= {
            signed(changed).value, signed(y, heavier).value,
            signed(swapped).value,
        }  # fmt: skip
    assert (len(seen), len(str(signed(np.arange(1 << 12) % 2)))) == (601, 16)


REFUSED = [
    (["x1", "x2"], ["x1"], "other-model"),
    (["x1"], ["x1"], "other-model"),
    (["x1"], ["x2", "w"], "other-model"),
]


@pytest.mark.parametrize("learner", [LinearRegression, LogisticRegression])
def test_models_that_are_not_nested_are_refused(learner):
    target = FRAME.y if learner is LinearRegression else FRAME.k
    for few, many, code in REFUSED:
        with refused(DataError, code):
            compare(learner().fit(FRAME[few], target), learner().fit(FRAME[many], target))
    small, large = learner().fit(FRAME[["x1"]], target), learner().fit(FRAME[["x1", "x2"]], target)
    assert compare(small, large, names=["a", "b"]).columns["model"] == ["a", "b"]
    for other, code in (
        (learner().fit(FRAME[["x1"]].to_numpy(), target), "other-model"),
        (learner(fit_intercept=False).fit(FRAME[["x1"]], target), "other-model"),
        (learner().fit(FRAME[["x1"]][1:], target[1:]), "other-rows"),
        (learner().fit(FRAME[["x1"]], target.to_numpy()[::-1]), "other-rows"),
        (learner().fit(FRAME[["x1"]], target, FRAME.w), "other-rows"),
    ):
        with refused(DataError, code):
            compare(other, large)
    scaled = linsep.fit(
        pd.DataFrame({"x1": FRAME.x1, "t": target}), target="t", scale="standard",
        learner="linear" if learner is LinearRegression else "logistic",
    )  # fmt: skip
    with refused(DataError, "other-model", column="x1"):
        compare(scaled, large)


def test_other_kinds_of_models_are_refused():
    linear, logistic = models("linear", formulas=["x1"])[0], models("logistic", formulas=["x1"])[0]
    large = models("logistic", formulas=["x1 + x2"])[0]
    with refused(DataError, "other-model"):
        compare(linear, large)
    with refused(ParameterError, "needs-option"):
        compare(linear)
    with refused(ParameterError, "shape", option="names"):
        compare(logistic, large, names=["a"])
    with refused(ParameterError, "unsupported"):
        compare(linsep.Perceptron(), large)
    X = FRAME[["x1"]]
    with refused(DataError, "other-model", option="reference"):
        compare(LogisticRegression(reference=1).fit(X, FRAME.k), large)
    with refused(DataError, "other-model"):
        compare(LogisticRegression().fit(X, FRAME.k + 1), large)
    with refused(DataError, "unsupported", option="l2"):
        compare(LogisticRegression(l2=1.0).fit(X, FRAME.k), large)
    with refused(DataError, "unsupported", option="penalty"):
        compare(LogisticRegression(penalty="firth").fit(X, FRAME.k), large)
    counts = [LinearRegression(weight_type=t).fit(X, FRAME.y) for t in ("frequency", "precision")]
    with refused(DataError, "other-model", option="weight_type"):
        compare(counts[0], LinearRegression().fit(FRAME[["x1", "x2"]], FRAME.y))


@pytest.mark.parametrize("learner", ["linear", "logistic"])
def test_signatures_of_files(tmp_path, learner):
    small, large = models(learner, formulas=["x1", "x1 + x2"])
    path = tmp_path / "m.linsep"
    linsep.save(small, path)
    arrays, about = unsealed(path, MODEL_FILE)

    def holding(value):
        def replaced(part):
            if isinstance(part, dict):
                return {
                    k: value if k == "signature" else replaced(v)
                    for k, v in part.items()
                    if k != "signature" or value != "left out"
                }
            return part

        path.write_bytes(sealed(arrays, replaced(about)))
        return linsep.load(path)

    old = holding("left out")
    with refused(DataError, "other-rows"):
        compare(old, large)
    assert np.array_equal(old.params_, small.params_)
    for forged in ("0" * 15, "G" * 16, 17, 1.5, ["0" * 16], True):
        with pytest.raises(ModelFileError):
            holding(forged)
