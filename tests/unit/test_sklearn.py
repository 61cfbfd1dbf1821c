"""The estimator among scikit-learn's tools: cloning, pickling, searching, routing, conventions."""

import pickle

import numpy as np
import sklearn
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.model_selection import KFold, cross_validate
from sklearn.multiclass import OneVsOneClassifier
from sklearn.utils import get_tags
from sklearn.utils.multiclass import _ovr_decision_function

from linsep import KernelPerceptron, Perceptron
from linsep.estimators.labels import pairs
from linsep.kernels import Normalized, Polynomial, Spectrum
from linsep.learners.state import State, decision, predicted
from storages import blobs, twin_predict, weights


def test_a_pickle_predicts_and_goes_on_learning():
    X, y = blobs(40, spread=5.0)
    labels = np.array(["one", "two", "three"])[y]
    model = Perceptron(multiclass="ovo", max_iter=3, early_stopping=True).fit(X, labels)
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


def test_the_tags_of_a_kernel_machine_are_those_of_its_kernel():
    for kernel, sparse in [
        ("rbf", True),
        ("precomputed", False),
        (Normalized(Polynomial(2)), True),
        (Spectrum(2), False),
    ]:
        tags = get_tags(KernelPerceptron(kernel=kernel)).input_tags
        assert tags.sparse == sparse
        assert not tags.positive_only
        assert tags.pairwise == (kernel == "precomputed")
        assert tags.string == isinstance(kernel, Spectrum)


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
