"""What each learner promises: bounds of the papers, outside oracles, bad input in a sentence."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from linsep import MarginPerceptron, PassiveAggressive, Perceptron, Winnow
from refusals import refused
from storages import blobs, with_margin


def test_margin_updates_keep_their_bound():
    gamma = 0.1
    X, y = with_margin(gamma)
    model = MarginPerceptron(gamma=gamma, fit_intercept=False, max_iter=10_000).fit(X * 7.0, y)
    assert model.stop_reason_ == "converged"
    assert 0 < model.n_updates_ <= 8 / gamma**2
    w = model.coef_[0]
    reached = np.where(y == 1, 1, -1) * (X @ w) / np.linalg.norm(w)
    assert reached.min() >= gamma / 2 - 1e-12
    assert model.margin_interval_ == (pytest.approx(gamma / 2, rel=1e-9), 1.0)
    assert model.margin_interval_[0] < reached.min()
    general = MarginPerceptron(gamma=gamma, epsilon=0.25, fit_intercept=False, max_iter=10_000)
    general.fit(X, y)
    assert general.n_updates_ <= 2 / (0.25 * gamma) ** 2
    assert general.margin_interval_[0] == pytest.approx(0.75 * gamma, rel=1e-9)


def test_halving_brackets_the_margin():
    gamma = 0.06
    # No plane through zero is further than gamma from both of the first two rows.
    X = np.array([[gamma, 1.0, 0.0], [-gamma, 1.0, 0.0], [0.9, 0.0, 0.4], [-0.9, 0.0, 0.4]])
    X[:2, 1] = np.sqrt(1 - gamma**2)
    X[2:, 2] = np.sqrt(1 - 0.9**2)
    model = MarginPerceptron(fit_intercept=False, max_iter=100_000).fit(X, [1, 0, 1, 0])
    low, high = model.margin_interval_
    assert model.stop_reason_ == "converged"
    assert gamma / 4 * (1 - 1e-9) <= low <= gamma <= high
    assert low == pytest.approx(model.gamma_ / 2, rel=1e-9)
    assert high == 2 * model.gamma_


def test_rows_that_count_unequally_do_not_refute_a_margin_that_is_there():
    # One heavy row leads astray and takes many light ones to make up for: more updates than
    # 8 / gamma^2, which bounds rows that count the same, and yet the margin is 0.55.
    across = np.sqrt(1 - 0.55**2)
    X = np.array([[0.55, across]] + [[0.55, -across]] * 200 + [[-0.55, across]])
    y = np.array([1] * 201 + [0])
    weight = np.where(np.arange(202) == 0, 1.0, 0.01)
    model = MarginPerceptron(fit_intercept=False, shuffle=False)
    model.fit(X, y, sample_weight=weight)
    assert model.n_updates_ > 8 / 0.5**2
    assert model.margin_interval_ == (pytest.approx(0.25, rel=1e-9), 1.0)


def test_rows_without_length_and_margins_without_sense():
    X, y = blobs(20, 3, 2)
    X[7] = 0.0
    for rows in (X, sp.csr_array(X)):
        with refused(ValueError, "bad-value", row=8):
            MarginPerceptron(fit_intercept=False).fit(rows, y)
        assert MarginPerceptron(max_iter=3).fit(rows, y).n_iter_ > 0
    with refused(ValueError, "bad-option", option="gamma"):
        MarginPerceptron(gamma=1.01).fit(X, y)
    with refused(ValueError, "conflict", option="gamma"):
        MarginPerceptron().fit(X, y, coef_init=[[1.0, 0.0, 0.0]])


def test_winnow_keeps_the_bound_of_disjunctions():
    rng = np.random.default_rng(0)
    d, k = 256, 4
    X = (rng.random((400, d)) < 0.05).astype(float)
    y = X[:, :k].any(axis=1).astype(int)
    model = Winnow(max_iter=100).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.mistakes_.sum() < 3 * k * np.log2(d) + 4


def test_what_winnow_cannot_learn_is_said():
    X, y = np.abs(blobs(20, 3, 2)[0]), np.arange(20) % 2
    X[4, 1] = -0.5
    for rows in (X, sp.csr_array(X)):
        with refused(ValueError, "out-of-range", row=5, column=1):
            Winnow().fit(rows, y)
    X[4, 1] = 0.0
    with refused(ValueError, "out-of-range", option="coef_init"):
        Winnow().fit(X, y, coef_init=[[1.0, 0.0, 1.0]])


def test_weights_that_would_overflow_saturate():
    X = np.eye(4)[np.arange(40) % 4] + 0.0
    y = np.arange(40) // 4 % 3  # contradictions, so that some weights only ever grow or shrink
    model = Winnow(promotion=1e100, multiclass="native", max_iter=50).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.abs(model.coef_).max() <= 2.1e150


@pytest.mark.parametrize(
    ("C", "loss", "rate", "k"),
    [(0.3, "squared_hinge", "pa2", 3), (np.inf, "hinge", "pa1", 3)],
)
def test_passive_aggressive_is_that_of_scikit_learn(C, loss, rate, k):
    X, y = blobs(200, 5, k, spread=2.0)
    X[::9] = 0.0  # where PA-II moves the intercept, as it does
    theirs = SGDClassifier(
        loss="hinge", penalty=None, learning_rate=rate, eta0=min(C, 1e300), shuffle=False, tol=None,
        max_iter=4,
    ).fit(X, y)  # fmt: skip
    ours = PassiveAggressive(C=C, loss=loss, multiclass="ovr", shuffle=False, max_iter=4)
    ours.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_plain_passive_aggressive_makes_each_row_right_by_one():
    X, y = blobs(30, 4, 2, spread=2.0)
    model = PassiveAggressive(C=np.inf, fit_intercept=False)
    for x, label in zip(X, y, strict=True):
        model.partial_fit([x], [label], classes=[0, 1])
        assert (2 * label - 1) * model.decision_function([x])[0] >= 1 - 1e-9


def test_weights_multiply_c_and_never_overshoot():
    C, loss = 1.0, "squared_hinge"
    X, y = blobs(100, 5, 2, spread=5.0)
    X[::9] = 0.0
    options = {"C": C, "loss": loss, "max_iter": 10, "shuffle": False}
    alone = PassiveAggressive(fit_intercept=False, **options | {"C": 3 * C}).fit(X, y)
    heavy = PassiveAggressive(fit_intercept=False, **options).fit(X, y, sample_weight=3.0)
    np.testing.assert_allclose(heavy.coef_, alone.coef_, rtol=1e-9)
    one = PassiveAggressive(**options).fit(X, y)
    for weight in (3.0, 1e6):
        model = PassiveAggressive(**options).fit(X, y, sample_weight=weight)
        assert np.abs(model.intercept_) < 100 * (1 + np.abs(one.intercept_))
        x, first = X[[1]], PassiveAggressive(**options | {"max_iter": 1})
        first.partial_fit(x, y[[1]], classes=[0, 1], sample_weight=[weight])
        lone = PassiveAggressive(**options).partial_fit(x, y[[1]], classes=[0, 1])
        reached, without = (abs(m.decision_function(x)[0]) for m in (first, lone))
        assert without - 1e-12 <= reached <= max(1.0, without) + 1e-12


def test_schedules_that_are_none():
    X, y = blobs(30, 3, 2, spread=2.0)
    with refused(ValueError, "bad-option", option="learning_rate"):
        Perceptron(learning_rate=lambda k: 0.0 if k == 3 else 1.0).fit(X, y)
    with refused(ValueError, "conflict", option="schedule"):
        Perceptron(learning_rate=lambda k: 1.0, schedule="inverse").fit(X, y)


def test_a_column_that_stands_twice_in_a_row_counts_once_in_its_length():
    twice = sp.csr_array((np.array([1.0, 2.0, 4.0]), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    once = sp.csr_array(np.array([[3.0, 0.0], [0.0, 4.0]]))
    for model in (PassiveAggressive(), MarginPerceptron(gamma=0.1), Perceptron(normalize=True)):
        got, expected = (model.fit(X, [0, 1]).coef_ for X in (twice, once))
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_a_vote_keeps_to_its_memory():
    X, y = blobs(200, 10, 2, spread=5.0)
    with refused(ValueError, "too-large", option="vote_mb"):
        Perceptron(keep="vote", vote_mb=0.001).fit(X, y)


def test_the_validation_curve_has_both_errors_of_every_pass():
    X, y = blobs(90, 4, 3, spread=4.0)
    model = Perceptron(early_stopping=True, keep="average", max_iter=30).fit(X, y)
    curve = model.validation_curve_
    assert curve.shape == (model.n_iter_, 2)
    assert np.array_equal(curve[:, 1], 1 - model.validation_scores_)
    assert ((curve >= 0) & (curve <= 1)).all()
