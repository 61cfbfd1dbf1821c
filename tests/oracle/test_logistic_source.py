import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from linsep import LogisticRegression, open_source
from linsep.errors import DataError, SeparationError, SeparationWarning
from linsep.sources import ArraySource
from parameters_in_order import last, weights_of
from refusals import refused


def data(classes, n=1500):
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((n, 4))
    return X, (rng.integers(0, classes, n) + (rng.random(n) < 0.3) * (X[:, 0] > 0)) % classes


@pytest.mark.compiled
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("memory", [1 << 28, 1000])
@pytest.mark.parametrize("weight", [None, "balanced", {0: 2.0}])
def test_streaming_is_fitting_in_memory(classes, storage, memory, weight):
    X, y = data(classes)
    X = storage(X)
    source = ArraySource(X, y, batch_rows=700)
    source.memory_bytes = memory
    streamed = LogisticRegression(class_weight=weight).fit(source)
    plain = LogisticRegression(class_weight=weight).fit(X, y)
    assert np.allclose(weights_of(streamed), weights_of(plain), rtol=1e-8, atol=1e-10)
    assert np.allclose(streamed.covariance_, plain.covariance_, rtol=1e-7, atol=1e-12)
    assert streamed.n_rows_ == 1500
    assert streamed.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-12)
    assert np.allclose(streamed.decision_function(source), plain.decision_function(X))
    assert np.array_equal(streamed.predict(source), plain.predict(X))
    assert streamed.score(source) == plain.score(X, y)


def test_a_file_with_names_and_a_class_that_comes_late(tmp_path):
    X, _ = data(2, 300)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = ["x", "y"] * 149 + ["z", "z"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = open_source(tmp_path / "t.csv", target="kind")
    model = LogisticRegression(l2=1.0).fit(source)
    plain = LogisticRegression(l2=1.0).fit(frame[list("abcd")], frame["kind"])
    assert np.allclose(weights_of(model), weights_of(plain), rtol=1e-6, atol=1e-9)
    assert model.param_names_ == plain.param_names_
    again = open_source(tmp_path / "t.csv", recipe=model.recipe_)
    assert np.array_equal(model.predict(again), plain.predict(frame[list("abcd")]))


@pytest.mark.parametrize("solver", ["lbfgs", "gradient_ascent"])
def test_other_solvers_stream(solver):
    X, y = data(2)
    streamed = LogisticRegression(solver=solver).fit(ArraySource(X, y, batch_rows=700))
    assert np.allclose(weights_of(streamed), weights_of(LogisticRegression().fit(X, y)), atol=1e-5)


def test_separable_sources():
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    with pytest.warns(SeparationWarning) as caught:
        LogisticRegression().fit(ArraySource(X, y, batch_rows=3))
    assert caught[0].message.verdict.kind == "separable"


def large(X, y):
    """A source whose rows do not fit in the memory that it may take."""
    source = ArraySource(X, y, batch_rows=50)
    source.memory_bytes = 1
    return source


@pytest.mark.parametrize("classes", [2, 3])
def test_separable_sources_beyond_memory(classes):
    X, _ = data(classes, 300)
    y = np.digitize(X[:, 0], [0.0, 0.8][: classes - 1])
    with pytest.warns(SeparationWarning, match="The data are separable") as caught:
        model = LogisticRegression().fit(large(X, y))
    assert caught[0].message.verdict.verify(large(X, y))
    assert model.stop_sentence_.startswith("The classes are separable")
    assert (last(model, "limits_") != "finite").all()
    assert model.score(X, y) == 1.0
    with pytest.raises(SeparationError):
        LogisticRegression(on_separation="raise").fit(large(X, y))


def test_quasi_separable_sources_beyond_memory():
    X, y = data(2, 300)
    X[:, 3] = (rare := np.arange(300) % 20 == 0)
    y[rare] = 1
    with pytest.warns(SeparationWarning, match=r"x3 \(\+inf\); the other 4 are finite"):
        model = LogisticRegression().fit(large(X, y))
    assert "the others come from a very small ridge" in model.stop_sentence_
    assert last(model, "limits_")[0].tolist() == ["finite"] * 3 + ["+inf", "finite"]
    assert np.isnan(last(model, "standard_errors_")).all()
    with pytest.warns(SeparationWarning):
        limit = LogisticRegression().fit(X, y)
    assert np.allclose(weights_of(model)[0, :3], weights_of(limit)[0, :3], atol=1e-3)


def test_suspicious_sources_with_repeated_columns_are_only_suspected():
    X, y = data(2, 300)
    X[:, 3] = X[:, 1]
    X[:, 2] = (rare := np.arange(300) % 20 == 0)
    y[rare] = 1
    with pytest.warns(ConvergenceWarning, match="not checked"):
        model = LogisticRegression().fit(large(X, y))
    assert model.stop_reason_ == "suspect"
    assert np.isnan([model.aic_, model.bic_, *model.likelihood_ratio_[::2]]).all()
    assert model.covariance_ is None


def test_weights_that_separate_prove_it_for_repeated_columns_too():
    X, _ = data(2, 300)
    X[:, 3] = X[:, 1]
    source = large(X, y := (X[:, 0] > 0).astype(int))
    with pytest.warns(SeparationWarning) as caught:
        model = LogisticRegression().fit(source)
    assert caught[0].message.verdict.verify(X, y)
    assert model.stop_reason_ == "separable"
    assert last(model, "limits_")[0].tolist() == [
        *["sign not checked"] * 3,
        "dependent",
        "sign not checked",
    ]


def test_bad_sources_are_refused():
    X = np.array([[1.0], [2.0]])
    with refused(DataError, "class-count"):
        LogisticRegression().fit(ArraySource(X, np.zeros(2)))
    with pytest.raises(ValueError, match="has its own labels"):
        LogisticRegression().fit(ArraySource(X, np.arange(2)), [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression().fit(ArraySource(X, np.arange(2)))
    with pytest.raises(ValueError, match="has its own labels"):
        model.score(ArraySource(X, np.arange(2)), [0, 1])
