"""The estimator among scikit-learn's tools: cloning, pickling, searching, routing, conventions."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.multiclass import _ovr_decision_function

from linsep import KernelPerceptron, Perceptron
from linsep.estimators.labels import pairs
from linsep.kernels import RBF, Normalized, Polynomial, Spectrum
from linsep.learners.state import State, decision, predicted
from refusals import refused
from storages import blobs, classes_of, store, twin_predict, weights


def iris():
    return load_iris(return_X_y=True)


def test_parameters_are_what_was_given():
    given = {"multiclass": "ovo", "max_iter": 7, "tie": "random", "class_weight": {0: 2.0}}
    model = Perceptron(**given)
    assert {name: model.get_params()[name] for name in given} == given
    X, y = iris()
    model.set_params(class_weight=None).fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")
    assert repr(Perceptron(max_iter=7)) == "Perceptron(max_iter=7)"


@pytest.mark.parametrize("scheme", ["binary", "ovo"])
def test_a_pickle_predicts_and_goes_on_learning(scheme):
    k, multiclass = classes_of(scheme)
    X, y = blobs(40, k=k, spread=5.0)
    labels = np.array(["one", "two", "three"][:k])[y]
    model = Perceptron(multiclass=multiclass, max_iter=3, early_stopping=True).fit(X, labels)
    model.set_params(early_stopping=False)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert copy.predict(X).tolist() == model.predict(X).tolist()
    assert (copy.n_iter_, copy.n_updates_) == (model.n_iter_, model.n_updates_)
    assert copy.stop_reason_ == model.stop_reason_
    assert copy.stop_reason_.sentence
    model.partial_fit(X, labels)
    assert weights(copy) != weights(model)
    assert weights(copy.partial_fit(X, labels)) == weights(model)


def test_grid_search_over_processes():
    X, y = blobs(60, spread=5.0)
    grid = {"multiclass": ["native", "ovo"], "max_iter": [1, 3]}
    here, there = (GridSearchCV(Perceptron(), grid, cv=3, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    found = here.cv_results_["mean_test_score"]
    assert found.tolist() == there.cv_results_["mean_test_score"].tolist()
    assert len(set(found.tolist())) > 1
    assert weights(here.best_estimator_) == weights(there.best_estimator_)


def test_in_a_pipeline_and_cross_validated():
    X, y = iris()
    model = make_pipeline(StandardScaler(), Perceptron(max_iter=50))
    assert model.fit(X, y).score(X, y) > 0.9
    assert cross_val_score(model, X, y, cv=5).mean() > 0.85
    frame = pd.DataFrame(X, columns=list("abcd"))
    model.set_output(transform="pandas").fit(frame, y)
    assert model[-1].feature_names_in_.tolist() == list("abcd")


def test_sample_weight_is_routed():
    X, y = blobs(60, spread=5.0)
    weight, folds = np.where(y == 0, 0.5, 3.0), KFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        model = Perceptron(max_iter=3).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        found = cross_validate(
            model, X, y, cv=folds, params={"sample_weight": weight}, return_estimator=True
        )
    for routed, (rows, _) in zip(found["estimator"], folds.split(X), strict=True):
        by_hand = Perceptron(max_iter=3).fit(X[rows], y[rows], sample_weight=weight[rows])
        assert weights(routed) == weights(by_hand)
        assert weights(routed) != weights(Perceptron(max_iter=3).fit(X[rows], y[rows]))


@pytest.mark.parametrize("learner", [Perceptron, KernelPerceptron])
def test_early_stopping_has_no_place_in_partial_fit(learner):
    X, y = blobs(40, k=2)
    with refused(ValueError, "unsupported", option="early_stopping"):
        learner(early_stopping=True).partial_fit(X, y, classes=[0, 1])
    fitted = learner(early_stopping=True, max_iter=3).fit(X, y)
    before = fitted.decision_function(X)
    with refused(ValueError, "unsupported", option="early_stopping"):
        fitted.partial_fit(X, y)
    assert np.array_equal(fitted.decision_function(X), before)


def test_the_tags_of_a_kernel_machine_are_those_of_its_kernel():
    for kernel, sparse in [
        ("rbf", True),
        ("precomputed", False),
        (Normalized(Polynomial(2)), True),
        (Spectrum(2), False),
        (lambda x, y: 1.0, True),
        ("none such", True),
        (RBF, True),
    ]:
        tags = get_tags(KernelPerceptron(kernel=kernel)).input_tags
        assert tags.sparse == sparse
        assert not tags.positive_only
        assert tags.pairwise == (kernel == "precomputed")
        assert tags.string == isinstance(kernel, Spectrum)


@pytest.mark.parametrize(("k", "multiclass"), [(2, "native"), (4, "ovr"), (4, "ovo")])
def test_shapes_of_decisions(multiclass, k):
    X, y = blobs(40, 5, k)
    model = Perceptron(multiclass=multiclass).fit(X, y)
    scores = model.decision_function(X[:7])
    assert scores.shape == ((7,) if k == 2 else (7, k))
    assert model.predict(X[:7]).shape == (7,)
    machines = 1 if k == 2 else 6 if multiclass == "ovo" else k
    assert model.coef_.shape == (machines, 5)
    assert model.intercept_.shape == (machines,)
    if k == 2 or multiclass != "ovo":
        expected = X[:7] @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(scores, expected.reshape(scores.shape), rtol=1e-12, atol=1e-12)


def test_one_vs_one_follows_the_convention_of_scikit_learn():
    X, y = blobs(120, 5, 4, spread=4.0)
    theirs = OneVsOneClassifier(TheirPerceptron(max_iter=3, tol=None, shuffle=False)).fit(X, y)
    ours = Perceptron(multiclass="ovo", max_iter=3, shuffle=False).fit(X, y)
    pairwise = [machine.coef_[0] for machine in theirs.estimators_]
    np.testing.assert_allclose(ours.coef_, pairwise, rtol=1e-12)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-14, atol=1e-14
    )
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    scores = np.random.default_rng(0).standard_normal((200, 6))
    state = State("ovo", 4, 5, True)
    np.testing.assert_allclose(
        decision(state, scores, "negative"),
        _ovr_decision_function(scores > 0, scores, 4),
        rtol=1e-15,
    )


def test_one_vs_one_breaks_ties_of_wins_by_scores_of_any_size():
    for size in [1.0, 1e-12, 1e9, 1e15]:
        rng = np.random.default_rng(3)
        scores = size * rng.integers(-5, 6, (400, 6)).astype(float)
        state = State("ovo", 4, 5, True)
        for tie, drawn in (("negative", 0.0), ("positive", 1.0), ("random", 0.5)):
            values = decision(state, scores, tie)
            if tie != "random":
                codes = predicted(values, tie)
                assert codes.tolist() == [
                    twin_predict("ovo", row, 4, tie) for row in scores.tolist()
                ]
            wins = np.zeros((400, 4))
            for machine, (a, b) in enumerate(pairs(4)):
                won = np.where(scores[:, machine] == 0, drawn, scores[:, machine] > 0)
                wins[:, b] += won
                wins[:, a] += 1 - won
            assert (np.abs(values - wins) < (0.167 if tie == "random" else 0.334)).all()


def test_sparse_and_dense_rows_give_the_same_predictions():
    X, y = blobs(60, 5, 3, spread=2.0)
    X[np.abs(X) < 1.0] = 0.0
    a = Perceptron(max_iter=5).fit(X, y)
    for storage in ("csr32", "csr64", "messy32"):
        rows = store(X, storage)
        b = Perceptron(max_iter=5).fit(rows, y)
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-12, atol=1e-12)
        assert b.predict(rows).tolist() == a.predict(X).tolist() == b.predict(X).tolist()
    by_column = Perceptron(max_iter=5).fit(store(X, "csr32").tocsc(), y)
    assert weights(by_column) == weights(Perceptron(max_iter=5).fit(store(X, "csr32"), y))
    assert weights(Perceptron(max_iter=5).fit(np.asfortranarray(X), y)) == weights(a)
