"""Robust covariances of both regressions: labels of clusters, sources, files, and refusals."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import linsep
from command_line import assert_refused, here
from linsep import LinearRegression, LogisticRegression, lanes, model_files, open_source
from linsep._system.sealed import unsealed
from linsep.errors import DataError, ModelFileError, ParameterError
from linsep.inference.robust import cluster_numbers
from linsep.sources.arrays import ArraySource
from refusals import refused

rng = np.random.default_rng(2)
X = rng.normal(size=(60, 3))
Y = X @ [1.0, 0.0, -1.0] + rng.normal(size=60)
CODES = rng.integers(0, 6, 60)
NAMED = np.array(["north", "south", "x y", "1", "1.0", "é"])[CODES]
CASES = [
    (LinearRegression, "HC3"), (LinearRegression, "CR1"), (LogisticRegression, "HC1"),
    (LogisticRegression, "CR1"),
]  # fmt: skip
KINDS = (LinearRegression, LogisticRegression)


def target(kind):
    return Y if kind is LinearRegression else np.where(Y > 0, "yes", "no")


def fitted(kind, name, clusters=CODES, **how):
    given = {"clusters": clusters} if name == "CR1" else {}
    return kind(covariance=name, **how).fit(X, target(kind), **given)


LABELS = {
    "text": NAMED,
    "mixed": [[1, "1", 2.5, (1, 2), True + 7, "x"][k] for k in CODES],
    "floats": CODES / 3 - 1,
    "dates": np.datetime64("2020-01-01") + CODES,
    "categories": pd.Categorical(NAMED),
    "whole numbers of pandas": pd.Series(CODES, dtype="Int64"),
    "polars": pl.Series(NAMED),
    "a frame": pd.DataFrame({"place": NAMED}),
}


def test_labels_of_any_type():
    plain = fitted(LinearRegression, "CR1")
    for name, labels in LABELS.items():
        model = fitted(LinearRegression, "CR1", labels)
        assert np.array_equal(model.covariance_, plain.covariance_), name
        assert model.summary().to_dict()["header"]["clusters"] == 6


def test_minus_zero_and_labels_of_partitions():
    assert len(set(cluster_numbers(X[:3], [0.0, -0.0, 1.0]).tolist())) == 2
    for labels in (NAMED, CODES, CODES / 3, [0.0, -0.0]):
        whole = cluster_numbers(labels, labels, hashed=True)
        again = [cluster_numbers([0], labels[k : k + 1], True)[0] for k in range(len(labels))]
        assert whole.tolist() == again
        assert len(set(again)) == len(set(np.asarray(labels).tolist()))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_covariances_change_nothing_else(kind, name):
    model, plain = fitted(kind, name), kind().fit(X, target(kind))
    assert np.array_equal(model.coef_, plain.coef_)
    assert np.array_equal(model.predict(X), plain.predict(X))
    assert (model.log_likelihood_, model.aic_) == (plain.log_likelihood_, plain.aic_)
    assert not np.allclose(model.standard_errors_, plain.standard_errors_, rtol=1e-3)
    facts = model.summary().to_dict()["header"]
    assert (facts["standard errors"], facts.get("clusters")) == (name, 6 if name == "CR1" else None)
    assert "standard errors" not in plain.summary().to_dict()["header"]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_copies_come_back_to_the_bit(tmp_path, kind, name):
    model = fitted(kind, name)
    linsep.save(model, tmp_path / "m")
    for other in (linsep.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert other.get_params() == model.get_params()
        assert np.array_equal(other.covariance_, model.covariance_)
        assert other.summary().to_dict() == model.summary().to_dict()
        if kind is LinearRegression:
            bands = other.predict(X, "confidence"), model.predict(X, "confidence")
            assert np.array_equal(*(band.low for band in bands))


@pytest.mark.parametrize(
    ("kind", "batch_rows", "sparse"),
    [(LinearRegression, 1, False), (LogisticRegression, 7, True)],
)
def test_batches_change_no_bit(monkeypatch, kind, batch_rows, sparse):
    """Sums are over lanes of fixed rows, whatever the batches; rows of sources may be narrower."""
    monkeypatch.setattr(lanes, "SPARSE_ROWS", 11)
    monkeypatch.setattr(lanes, "LEAST_ROWS", 11)
    monkeypatch.setattr(lanes, "DENSE_VALUES", 11)
    monkeypatch.setattr("linsep.logistic.objective.lane_rows", lambda width: 11)
    monkeypatch.setattr("linsep.inference.robust.VALUES", 12)
    rows = sp.csr_matrix(X * (rng.random(X.shape) < 0.7)) if sparse else X
    y = Y if kind is LinearRegression else (Y > 0).astype(int)

    def source(size):
        found = ArraySource(rows, y)
        whole = [batch._replace(groups=CODES.astype(np.uint64)) for batch in found.batches()]
        assert len(whole) == 1
        found.batches = lambda: whole[0].cut(size)
        found.grouped = True
        return found

    for name in ("HC0", "CR1"):
        one, other = (kind(covariance=name).fit(source(size)) for size in (60, batch_rows))
        assert np.array_equal(one.covariance_, other.covariance_), name
        given = {"clusters": CODES} if name == "CR1" else {}
        plain = kind(covariance=name).fit(rows, y, **given)
        assert one.covariance_ == pytest.approx(plain.covariance_, rel=1e-9), name


FRAME = pd.DataFrame(X, columns=list("abc")).assign(
    kind=np.array(["p", "q", "r"])[rng.integers(0, 3, 60)]
)


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_frames_have_the_numbers_of_arrays(tmp_path, kind):
    y = target(kind)
    FRAME.assign(y=y, place=NAMED, code=CODES).to_csv(tmp_path / "t.csv", index=False)
    indicators = [(FRAME["kind"] == level).to_numpy(float) for level in "qr"]
    rows = np.column_stack([X, *indicators])
    plain = kind(covariance="CR1").fit(rows, y, clusters=CODES)
    frame = kind(covariance="CR1").fit(FRAME, y, clusters=NAMED)
    assert frame.param_names_ == ["intercept", "a", "b", "c", "kind=q", "kind=r"]
    np.testing.assert_allclose(frame.covariance_, plain.covariance_, rtol=1e-9)
    for group, other in (("place", "code"), ("code", "place")):
        how = {"target": "y", "exclude": other, "group": group}
        source = open_source(tmp_path / "t.csv", reference_level="first", **how)
        model = kind(covariance="CR1").fit(source)
        np.testing.assert_allclose(model.covariance_, plain.covariance_, rtol=1e-9)
        learner = "linear" if kind is LinearRegression else "logistic"
        again = linsep.fit(tmp_path / "t.csv", learner=learner, covariance="CR1", **how)
        assert np.array_equal(again.covariance_, model.covariance_)
        # a model needs no clusters to predict
        new = FRAME.assign(y=y, place=NAMED, code=CODES).drop(columns=[group])
        assert model.predict(new).shape == (60,)
        assert model.score(new.drop(columns=[other])) == pytest.approx(plain.score(rows, y))


REFUSED = [
    ({}, {}, "needs-option"),
    ({"covariance": "HC1"}, {"clusters": CODES}, "conflict"),
    ({}, {"clusters": CODES, "sample_weight": np.ones(60)}, "conflict"),
    ({}, {"clusters": np.zeros(60)}, "too-few-rows"),
    ({}, {"clusters": CODES[1:]}, "shape"),
    ({}, {"clusters": [None, *CODES[1:]]}, "missing-value"),
    ({}, {"clusters": np.array(["NaT", "2020-01-01"] * 30, "M8[D]")}, "missing-value"),
    ({}, {"clusters": [[1]] * 59 + [[2]]}, "bad-value"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_that_are_refused(kind):
    for parameters, given, code in REFUSED:
        with refused((DataError, ParameterError), code):
            kind(**{"covariance": "CR1"} | parameters).fit(X, target(kind), **given)


@pytest.mark.parametrize("kind", KINDS)
def test_sources_are_refused_in_a_sentence(kind):
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=target(kind), w=1.0, g=CODES)
    model = kind(covariance="CR1")
    with refused(ParameterError, "needs-option", option="clusters"):
        model.fit(open_source(frame, target="y"))
    with refused(ParameterError, "conflict", option="clusters"):
        model.fit(open_source(frame, target="y", group="g"), clusters=CODES)
    with refused(ParameterError, "conflict", option="covariance"):
        model.fit(open_source(frame, target="y", group="g", weight="w"))
    with refused(DataError, "missing-value", row=1, column="g"):
        model.fit(open_source(frame.assign(g=[None, *CODES[1:]]), target="y", group="g"))
    # groups that only hold rows out are no clusters
    plain = kind(covariance="HC0").fit(open_source(frame, target="y", group="g", weight="w"))
    np.testing.assert_allclose(plain.covariance_, fitted(kind, "HC0").covariance_, rtol=1e-9)


def test_refused_of_a_logistic_regression():
    for parameters, code in (
        ({"l2": 1.0}, "conflict"), ({"penalty": "firth"}, "conflict"),
        ({"intervals": "profile"}, "conflict"), ({"class_weight": "balanced"}, "conflict"),
        ({"covariance": "HC2"}, "bad-option"),
    ):  # fmt: skip
        with refused(ParameterError, code):
            LogisticRegression(**{"covariance": "CR1"} | parameters).fit(
                X, target(LogisticRegression), clusters=CODES
            )


def test_a_leverage_of_1_is_refused():
    only = np.column_stack([X, np.arange(60) == 17, np.arange(60) == 4])
    for name in ("HC2", "HC3"):
        with refused(DataError, "undefined", option="covariance"):
            LinearRegression(covariance=name).fit(only, Y)
    assert np.isfinite(LinearRegression(covariance="HC1").fit(only, Y).standard_errors_).all()


def assert_damaged(tensors, about, folder):
    (folder / "edited").write_bytes(model_files.sealed(tensors, about))
    with refused(ModelFileError, "bad-model-file"):
        linsep.load(folder / "edited")


@pytest.mark.parametrize("kind", KINDS)
def test_forged_files_are_refused(tmp_path, kind):
    linsep.save(fitted(kind, "CR1"), tmp_path / "m")
    tensors, about = unsealed(tmp_path / "m", model_files.MODEL_FILE)
    if kind is LinearRegression:
        root = tensors["robust"]
        for forged in (root[:-1], root * np.nan):
            assert_damaged(tensors | {"robust": np.ascontiguousarray(forged)}, about, tmp_path)
        assert_damaged({k: v for k, v in tensors.items() if k != "robust"}, about, tmp_path)
    for clusters in (1, "6"):
        assert_damaged(tensors, about | {"clusters": clusters}, tmp_path)
    for name in (None, "HC0", "HC9"):
        changed = about["parameters"] | {"covariance": name}
        assert_damaged(tensors, about | {"parameters": changed}, tmp_path)


FIVE = pd.DataFrame({"x": [1, 2, -1, 3, 4], "y": [2, 4, 0, 4, 6], "place": [*"aabcc"]})
RNG = np.random.default_rng(0)
WARDS = RNG.integers(0, 8, 80)
DOSE = RNG.normal(size=80).round(3)
ILL = np.where(DOSE + RNG.logistic(size=80) > 0, "yes", "no")


@pytest.fixture
def folder(tmp_path):
    FIVE.to_csv(tmp_path / "t.csv", index=False)
    wards = pd.DataFrame({"dose": DOSE, "ward": WARDS, "ill": ILL})
    wards.to_csv(tmp_path / "wards.csv", index=False)
    return tmp_path


def printed(*arguments, cwd):
    done = here(*arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


LINEAR = ("fit", "t.csv", "--target", "y", "--learner", "linear")
CR1 = ("--covariance", "CR1", "--cluster-by", "place")


def test_clusters_of_a_table(folder):
    printed(*LINEAR, *CR1, "--model", "m", cwd=folder)
    model = LinearRegression(covariance="CR1")
    model.fit(FIVE[["x"]], FIVE["y"], clusters=FIVE["place"])
    told = json.loads(printed("summary", "m", "--json", cwd=folder))
    assert told["header"]["standard errors"] == "CR1"
    assert told["header"]["clusters"] == 3
    errors = [row["standard_error"] for row in told["coefficients"]]
    assert errors == pytest.approx(model.standard_errors_, rel=1e-12)
    assert errors[1] ** 2 == pytest.approx(2797 / 1874161, rel=1e-12)
    FIVE[["x"]].to_csv(folder / "new.csv", index=False)  # without clusters
    lines = printed("predict", "m", "new.csv", "--interval", "confidence", cwd=folder).split()
    bands = model.predict(FIVE[["x"]], interval="confidence")
    assert [float(one) for one in lines] == pytest.approx(np.column_stack(bands).ravel())
    predict = ("predict", "m", "t.csv", "--interval", "prediction")
    assert_refused(*predict, cwd=folder, code="conflict", exit_code=2)


def test_folds_keep_clusters_together_and_tests_need_none(folder):
    pd.DataFrame({"dose": DOSE, "ill": ILL}).to_csv(folder / "new.csv", index=False)
    fit = ("fit", "wards.csv", "--target", "ill", "--learner", "logistic", "--covariance", "CR1")
    arguments = (*fit, "--cluster-by", "ward", "--cv", "4", "--test", "new.csv", "--json")
    told = json.loads(printed(*arguments, cwd=folder))
    assert told["summary"]["header"]["clusters"] == 8
    assert told["cross_validation"]["metrics"]["accuracy"]["mean"] > 0.4
    assert told["test"]["rows"] == 80


REFUSED_OPTIONS = [
    ((*LINEAR, "--cluster-by", "place"), None, "--cluster-by", 2),
    ((*LINEAR, "--covariance", "CR1"), "needs-option", "", 2),
    ((*LINEAR, "--covariance", "CR1", "--cluster-by", "town"), "unknown-column", "", 1),
    ((*LINEAR, *CR1, "--group", "x"), None, "--group", 2),
    ((*LINEAR[:4], "--covariance", "HC1"), None, "--covariance", 2),
    (("tune", *LINEAR[1:], "--cv", "2", "--grid", "covariance=HC0,HC1"), "bad-option", "", 2),
]


def test_refused_options(folder):
    for arguments, code, said, exit_code in REFUSED_OPTIONS:
        assert_refused(*arguments, cwd=folder, code=code, said=said, exit_code=exit_code)
