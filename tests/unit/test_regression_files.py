"""Regressions in model files, to the bit or not at all; what Ctrl-C keeps of a fit to a file."""

import signal

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open

import linsep
from command_line import here
from linsep import (
    GaussianNaiveBayes,
    LinearRegression,
    LogisticRegression,
    model_files,
    open_source,
)
from linsep._system.sealed import unsealed
from linsep.errors import ModelFileError, SeparationWarning
from linsep.sources.svmlight import SvmlightSource
from parameters_in_order import ends_of, last
from refusals import refused

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)) + 3
Y = X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=80)
CLASSES = np.array(["low", "middle", "up"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
CLASSES[rng.random(80) < 0.4] = "middle"
LABELS = {"text": CLASSES, "two": CLASSES == "low"}


def back(model, path):
    linsep.save(model, path, force=True)
    return linsep.load(path)


@pytest.mark.filterwarnings("ignore::linsep.linear.least_squares.DependentFeaturesWarning")
def test_linear_regression_comes_back_to_the_bit(tmp_path):
    weights = rng.random(80)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(sum=X[:, 0] + X[:, 1])
    model = LinearRegression().fit(frame, Y, weights)
    copy = back(model, tmp_path / "m")
    assert copy.get_params() == model.get_params()
    assert copy.summary().to_dict() == model.summary().to_dict()
    for interval in ("confidence", "prediction"):
        for one, other in zip(
            copy.predict(frame, interval), model.predict(frame, interval), strict=True
        ):
            assert np.array_equal(one, other)
    np.testing.assert_array_equal(copy.covariance_, model.covariance_)
    assert str(copy.assumptions(frame, Y, weights)) == str(model.assumptions(frame, Y, weights))
    assert copy.feature_names_in_.tolist() == [*"abcd", "sum"]


@pytest.mark.parametrize(
    ("labels", "options"),
    [("text", {}), ("two", {"l2": 0.5, "fit_intercept": False})],
)
def test_logistic_regression_comes_back_to_the_bit(tmp_path, labels, options):
    y = LABELS[labels]
    model = LogisticRegression(class_weight="balanced", **options).fit(X, y)
    copy = back(model, tmp_path / "m")
    assert copy.get_params() == model.get_params()
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert copy.summary().to_dict() == model.summary().to_dict()
    assert copy.odds_ratios(0.9).to_dict() == model.odds_ratios(0.9).to_dict()
    assert copy.marginal_effects(X).to_dict() == model.marginal_effects(X).to_dict()
    bands = (one.predict_proba(X, interval="confidence") for one in (copy, model))
    np.testing.assert_equal(*bands)
    assert copy.likelihood_ratio_ == pytest.approx(model.likelihood_ratio_, nan_ok=True, rel=0)
    assert copy.classes_.dtype == model.classes_.dtype


def test_the_proof_of_separation_comes_back(tmp_path):
    y = X[:, 0] > 3
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(X, y)
    copy = back(model, tmp_path / "m")
    assert copy.separation_.verify(X, y)
    assert copy.summary().to_dict() == model.summary().to_dict()
    assert np.array_equal(last(copy), last(model), equal_nan=True)
    for one, other in zip(ends_of(copy), ends_of(model), strict=True):
        assert np.array_equal(one, other, equal_nan=True)


def test_naive_bayes_comes_back_to_the_bit(tmp_path):
    model = GaussianNaiveBayes().fit(X, CLASSES)
    copy = back(model, tmp_path / "m")
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert copy.n_rows_ == model.n_rows_
    logistic = model.to_logistic()
    again = back(logistic, tmp_path / "l")
    assert np.array_equal(again.predict_proba(X), logistic.predict_proba(X))


MODELS = {
    "linear": lambda: LinearRegression().fit(X, Y),
    "logistic": lambda: LogisticRegression().fit(X, CLASSES),
    "naive-bayes": lambda: GaussianNaiveBayes().fit(X, CLASSES),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path, kind):
    """Every array left out, cut, or with a value that is none, though the checksum is right."""
    linsep.save(MODELS[kind](), tmp_path / "m")
    tensors, about = unsealed(tmp_path / "m", model_files.MODEL_FILE)
    with safe_open(tmp_path / "m", framework="numpy") as file:
        assert set(file.keys()) == set(tensors)
    for name in tensors.keys() - {"covariance"}:  # without it, that is a model without one
        refuse({k: v for k, v in tensors.items() if k != name}, about, tmp_path)
        if tensors[name].size:
            refuse(tensors | {name: tensors[name][:-1].copy()}, about, tmp_path)
            if tensors[name].dtype == np.float64:
                refuse(tensors | {name: tensors[name].astype(np.float32)}, about, tmp_path)
                refuse(tensors | {name: np.full_like(tensors[name], np.nan)}, about, tmp_path)


def refuse(tensors, about, folder):
    path = folder / "edited"
    path.write_bytes(model_files.sealed(tensors, about))
    with refused(ModelFileError, "bad-model-file"):
        linsep.load(path)


RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((3000, 3)) + np.array([1e3, 0, 0])
SIDES = (ROWS @ [0.5, -1.0, 0.2] + RNG.standard_normal(3000) > 500).astype(int)


@pytest.fixture
def pressed(tmp_path, monkeypatch):
    """A file of several batches, and Ctrl-C while the batches of these numbers are read."""
    lines = [
        f"{y} 1:{a!r} 2:{b!r} 3:{c!r}\n" for y, (a, b, c) in zip(SIDES, ROWS.tolist(), strict=True)
    ]
    (tmp_path / "rows.svm").write_text("".join(lines))
    batches, readings = SvmlightSource.batches, []

    def press(*when, reading=None):
        def pressing(self):
            readings.append(0)
            for batch in batches(self):
                readings[-1] += 1
                if readings[-1] in when and reading in (None, len(readings)):
                    signal.raise_signal(signal.SIGINT)
                yield batch

        monkeypatch.setattr(SvmlightSource, "batches", pressing)
        small = SvmlightSource.__init__.__kwdefaults__ | {"chunk_bytes": 1 << 14}
        monkeypatch.setattr(SvmlightSource.__init__, "__kwdefaults__", small)
        return readings

    return press


def same(one, other):
    for name in ("means_", "variances_", "priors_", "coef_", "intercept_"):
        if hasattr(one, name):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)


@pytest.mark.parametrize("kind", [LinearRegression, GaussianNaiveBayes])
def test_the_rows_before_are_kept(tmp_path, pressed, kind):
    pressed(5, 6)  # who presses twice stops nothing that the first press has set going
    model = kind()
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(open_source(tmp_path / "rows.svm"))
    rows = model._fitted.n_rows if kind is LinearRegression else model.n_rows_
    assert 0 < rows < 3000
    assert model.stop_reason_ == "interrupted"
    same(model, kind().fit(ROWS[:rows], SIDES[:rows]))
    linsep.save(model, tmp_path / "m")
    copy = linsep.load(tmp_path / "m")
    same(copy, model)
    assert copy.stop_reason_ == "interrupted"
    model.fit(ROWS, SIDES)
    assert not hasattr(model, "stop_reason_")


def test_a_later_reading_is_not_kept(tmp_path, pressed, monkeypatch):
    """Rows that were read once are read again for their digits: half of that is no use."""
    monkeypatch.setattr("linsep.linear.least_squares._is_unsure", lambda _: True)
    readings = pressed(5, reading=2)  # a factor, then residuals
    model = LinearRegression()
    with pytest.raises(KeyboardInterrupt):
        model.fit(open_source(tmp_path / "rows.svm"))
    assert readings[0] > 5
    assert not hasattr(model, "coef_")


def test_before_the_first_row_there_is_nothing_to_keep(tmp_path, pressed):
    pressed(1)
    done = here("fit", "rows.svm", "--learner", "naive-bayes", "--model", "m", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "linsep: interrupted; nothing was saved.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm"]
