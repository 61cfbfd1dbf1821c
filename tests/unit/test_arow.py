"""What AROW keeps beside its weights: variances, through all that becomes of a model."""

import numpy as np
import pytest

import linsep
from linsep import AROW
from storages import blobs

pytestmark = pytest.mark.uncompiled

X = np.array([(1, 1), (3, 2), (2, 4), (3, 4), (2, 3)], float)
y = [0, 1, 1, 1, 0]


def both(model):
    """[b, w1, w2] of the weights and of their variances."""
    means = [model.intercept_[0], *model.coef_[0]]
    return means, [model.intercept_variances_[0], *model.variances_[0]]


def test_the_run_by_hand():
    found = both(AROW(max_iter=1, shuffle=False).fit(X, y))
    assert found[0] == pytest.approx([-0.294098041787, 0.112273868454, -0.001641861177], abs=1e-12)
    assert found[1] == pytest.approx([1 / 5, 1 / 19, 1 / 31])
    model = AROW().partial_fit(X[:1], y[:1], classes=[0, 1])
    assert both(model) == ([-0.25] * 3, [0.5] * 3)


def test_one_step_of_three_classes():
    model = AROW(fit_intercept=False).partial_fit([[0.0] * 3], [0], classes=[0, 1, 2])
    W = np.array([(-2, 2, 1), (0, 3, 4), (1, 4, -2)], float)
    model.fitted_run().state.set_weights(W, None)
    model.partial_fit([[-2.0, 3.0, 1.0]], [2])
    assert model.coef_[2] * 29 == pytest.approx([17, 134, -52])
    assert model.coef_[1] * 29 == pytest.approx([12, 69, 110])
    assert model.variances_ == pytest.approx(
        np.array([[1, 1, 1], [0.2, 0.1, 0.5], [0.2, 0.1, 0.5]])
    )


@pytest.mark.parametrize("multiclass", ["native", "ovr", "ovo"])
def test_variances_stay_with_the_weights(multiclass, tmp_path):
    A, b = blobs(40, 4, 3, spread=3.0, seed=2)
    how = {"multiclass": multiclass, "shuffle": False}
    model = AROW(max_iter=3, **how).fit(A, b)
    assert ((model.variances_ > 0) & (model.variances_ < 1)).all()
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert np.array_equal(back.variances_, model.variances_)
    assert np.array_equal(back.intercept_variances_, model.intercept_variances_)
    warm = AROW(max_iter=1, warm_start=True, **how)
    for _ in range(3):
        warm.fit(A, b)
    assert np.array_equal(warm.coef_, model.coef_)
    assert np.array_equal(warm.variances_, model.variances_)


def test_the_best_pass_brings_its_variances_back():
    A, b = blobs(60, 3, 2, spread=4.0, seed=1)
    how = {"early_stopping": True, "shuffle": False}
    model = AROW(n_iter_no_change=3, **how).fit(A, b)
    passes = int(model.validation_scores_.argmax()) + 1
    assert passes < model.n_iter_
    same = AROW(max_iter=passes, **how).fit(A, b)
    assert np.array_equal(same.coef_, model.coef_)
    assert np.array_equal(same.variances_, model.variances_)


def test_a_resumed_fit_has_the_same_variances(tmp_path):
    A, b = blobs(60, 3, 3, spread=3.0, seed=1)
    whole = AROW(max_iter=6).fit(A, b)
    checkpoint = linsep.Checkpoint(tmp_path / "c", keep=True)
    AROW(max_iter=6).fit(A, b, checkpoint=checkpoint)
    again = AROW(max_iter=6).fit(A, b, checkpoint=checkpoint)
    assert np.array_equal(again.coef_, whole.coef_)
    assert np.array_equal(again.variances_, whole.variances_)


def test_a_pass_without_a_mistake_proves_no_separation():
    A, b = [[2.0, 0.0], [0.0, 2.0], [3.0, 1.0]], [1, 0, 1]
    model = AROW(shuffle=False).fit(A, b)
    assert model.mistakes_[-1] == 0
    assert str(model.stop_reason_) == "clean"
    assert "changed the weights" in model.stop_sentence_
    traced = linsep.trace(AROW(shuffle=False), A, b)
    assert (str(traced.stop_reason), len(traced)) == ("clean", 3 * model.n_iter_)
    # Where no row is nearer than 1 the weights do not change, and separate the rows.
    still = AROW(shuffle=False).fit(A, b, coef_init=[[5.0, -5.0]])
    assert str(still.stop_reason_) == "converged"


@pytest.mark.filterwarnings("ignore:overflow")
def test_rows_beyond_floats_are_named():
    with pytest.raises(ValueError, match=r"overflows float64 \(feature 0 is 1e\+300\)"):
        AROW().fit([[1.0, 0.0], [1e300, 0.0], [-1.0, 1.0]], [0, 1, 0])


@pytest.mark.filterwarnings("ignore:overflow")
def test_variances_that_underflow_leave_weights_where_they_are():
    A = [[1e150, 1.0], [-1e150, 1.0]] * 3
    model = AROW(r=1e-9).fit(A, [1, 0] * 3)
    assert np.isfinite(model.coef_).all()
    assert 0 <= model.variances_[0, 0] < 1e-290
    assert model.predict(A).tolist() == [1, 0] * 3


def test_parameters_that_are_refused():
    with pytest.raises(ValueError, match="r of AROW must be a number above 0, got 0"):
        AROW(r=0).fit(X, y)


def test_no_bound_is_stated():
    model = AROW(max_iter=3).fit(X, y)
    assert "no theorem about AROW" in str(model.bounds(X, y).left_out)
