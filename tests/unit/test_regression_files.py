"""Regressions in model files: they come back to the bit, or not at all."""

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

import linsep
from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression, model_files
from linsep._system.sealed import unsealed
from linsep.errors import ModelFileError, SeparationWarning
from linsep.linear.least_squares import DependentFeaturesWarning
from parameters_in_order import ends_of, last
from refusals import refused

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)) + 3
Y = X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=80)
CLASSES = np.array(["low", "middle", "up"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
CLASSES[rng.random(80) < 0.4] = "middle"
LABELS = {"text": CLASSES, "two": CLASSES == "low", "numbers": np.digitize(Y, [0.0, 2.0])}
LABELS["numbers"][::7] = 0


def back(model, path):
    linsep.save(model, path, force=True)
    return linsep.load(path)


@pytest.mark.parametrize(("fit_intercept", "weighted"), [(True, True), (False, False)])
def test_linear_regression_comes_back_to_the_bit(tmp_path, fit_intercept, weighted):
    weights = rng.random(80) if weighted else None
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LinearRegression(fit_intercept=fit_intercept).fit(frame, Y, weights)
    copy = back(model, tmp_path / "m")
    assert copy.get_params() == model.get_params()
    assert copy.summary().to_dict() == model.summary().to_dict()
    for interval in ("confidence", "prediction"):
        for one, other in zip(
            copy.predict(frame, interval), model.predict(frame, interval), strict=True
        ):
            assert np.array_equal(one, other)
    assert np.array_equal(copy.covariance_, model.covariance_)
    assert str(copy.assumptions(frame, Y, weights)) == str(model.assumptions(frame, Y, weights))
    assert copy.feature_names_in_.tolist() == list("abcd")


def test_what_linear_regression_leaves_out_comes_back(tmp_path):
    wide = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(80)])
    with pytest.warns(DependentFeaturesWarning):
        model = LinearRegression().fit(wide, (Y > 0).astype(float))
    copy = back(model, tmp_path / "m")
    assert copy.summary().to_dict() == model.summary().to_dict()


@pytest.mark.parametrize(
    ("labels", "options"),
    [("text", {}), ("two", {"l2": 0.5}), ("numbers", {"fit_intercept": False})],
)
def test_logistic_regression_comes_back_to_the_bit(tmp_path, labels, options):
    y = LABELS[labels]
    reference = np.unique(y)[0] if labels == "numbers" else None
    model = LogisticRegression(reference=reference, class_weight="balanced", **options).fit(X, y)
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


def test_a_climb_that_was_broken_off_comes_back(tmp_path):
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(solver="gradient_ascent", max_iter=2).fit(X, CLASSES)
    copy = back(model, tmp_path / "m")
    assert (copy.stop_reason_, copy.stop_sentence_) == (model.stop_reason_, model.stop_sentence_)


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
    for name in tensors:
        for edit in ("gone", "cut", "wider"):
            edited = {k: v for k, v in tensors.items() if k != name}
            if edit == "cut":
                edited[name] = tensors[name][:-1].copy()
            elif edit == "wider":
                edited[name] = tensors[name][..., None].copy()
            if name == "covariance" and edit == "gone":
                continue  # that is a model without one
            if not tensors[name].size and edit != "gone":
                continue
            refuse(edited, about, tmp_path)
        if tensors[name].dtype == np.float64 and name != "covariance" and tensors[name].size:
            edited = {k: v.copy() for k, v in tensors.items()}
            edited[name].flat[0] = np.nan
            refuse(edited, about, tmp_path)


def refuse(tensors, about, folder):
    path = folder / "edited"
    path.write_bytes(model_files.sealed(tensors, about))
    with refused(ModelFileError, "bad-model-file"):
        linsep.load(path)


def test_models_of_others_are_not_saved(tmp_path):
    with refused(ModelFileError, "unsupported"):
        linsep.save(Ridge().fit(X, Y), tmp_path / "m")
