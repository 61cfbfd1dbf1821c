"""ALMA: steps, weights that are stored divided by a factor, and what becomes of a model."""

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep import ALMA, textbook
from linsep.compiled.rules import alma
from refusals import refused
from storages import blobs

pytestmark = pytest.mark.uncompiled

X = np.array([(1, 1), (3, 2), (2, 4), (3, 4), (2, 3)], float)
y = [0, 1, 1, 1, 0]
KEEPS = ["last", "average", "vote", "best"]


def turned(model):
    """[b, w1, w2]."""
    return [model.intercept_[0], *model.coef_[0]]


def test_the_run_by_hand():
    model = ALMA(shuffle=False)
    for row, expected in (
        (0, [-0.577350269190] * 3),
        (1, [-0.310089027277, 0.224433456548, -0.042827785365]),
        (2, [-0.131914866002, 0.580781779098, 0.669868859735]),
        (3, [-0.131914866002, 0.580781779098, 0.669868859735]),
        (4, [-0.320897102507, 0.202817306088, 0.102922150221]),
    ):
        model.partial_fit(X[row : row + 1], [y[row]], classes=[0, 1])
        assert turned(model) == pytest.approx(expected, abs=1e-12)
    model.fit(X, y)
    assert (model.n_iter_, model.n_updates_, str(model.stop_reason_)) == (354, 720, "converged")


def harsh(seed, k):
    """Rows of features from 1e-8 to 1e8, some twice, most of them empty but for one."""
    rng = np.random.default_rng(seed)
    A, b = blobs(24, 5, k, spread=3.0, seed=seed)
    A[rng.random(A.shape) < 0.3] = 0
    A[:, 0] += 0.1
    A *= [1e-8, 1e-3, 1.0, 1e4, 1e8]
    A[9], A[10] = A[8], A[8]
    return A, b


@pytest.mark.parametrize("small", [alma.SMALL, 0.7], ids=["", "often folded"])
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("scheme", ["binary", "ovr", "ovo"])
@pytest.mark.parametrize("intercept", [True, False])
def test_weights_are_those_of_the_twin(scheme, keep, intercept, small, monkeypatch):
    monkeypatch.setattr(alma, "SMALL", small)
    k = 2 if scheme == "binary" else 3
    A, b = harsh(1, k)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(b))
    model = ALMA(
        alpha=0.6, max_iter=4, shuffle=False, keep=keep, fit_intercept=intercept,
        multiclass="ovr" if k == 2 else scheme,
    )  # fmt: skip
    rows, codes, weighed = A.tolist(), b.tolist(), weight.tolist()
    how = {"max_iter": 4, "fit_intercept": intercept, "row_weights": weighed}
    steps = list(textbook.run(model.twin(), scheme, rows, codes, k, **how))
    twin = textbook.kept(steps, keep, scheme, k, X=rows, y=codes, row_weights=weighed)
    W, v = np.reshape(twin.weights, (-1, 5)), np.atleast_1d(twin.intercept)
    for stored in (A, sp.csr_array(A)):
        model.fit(stored, b, sample_weight=weight)
        assert model.coef_ == pytest.approx(W, rel=1e-9, abs=1e-12)
        assert model.intercept_ == pytest.approx(v, rel=1e-9, abs=1e-12)
        assert model.n_updates_ == model.mistakes_.sum() == sum(step.updates for step in steps)
        wrong = [step.error for step in steps if not step.pass_number]
        assert model.progressive_accuracy_ == 1 - np.mean(wrong)
        assert model.predict(stored).tolist() == [twin.predict(x) for x in rows]


def test_steps_that_outgrow_floats():
    """Rows of one direction are corrected while their margin of 1 is below the one asked for."""
    A, b = [[1.0, 0.0], [1.0, 1e-9]] * 4000, [1] * 8000
    A[0], b[0] = [-1.0, 0.0], 0
    model = ALMA(alpha=0.01, max_iter=1, keep="average", fit_intercept=False, shuffle=False)
    model.fit(A, b)
    assert model.n_updates_ == 8000
    assert model.coef_[0] == pytest.approx([1, 5e-10], rel=1e-3)
    state = model.fitted_run().state
    assert 0 < np.abs(state.W).max() < 1e150
    model.set_params(keep="vote")
    with refused(ValueError, "bad-value", row=7247):
        model.fit(A, b)


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_factors_stay_with_the_weights(multiclass, keep, tmp_path):
    A, b = blobs(40, 4, 3, spread=3.0, seed=2)
    how = {"multiclass": multiclass, "keep": keep, "shuffle": False, "alpha": 0.5}
    model = ALMA(max_iter=3, **how).fit(A, b)
    assert (model.fitted_run().state.counts["factors"] < 1).all()
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert np.array_equal(back.coef_, model.coef_)
    for one in (back, model):
        one.partial_fit(A, b)
    assert np.array_equal(back.coef_, model.coef_)
    assert np.array_equal(back.decision_function(A), model.decision_function(A))
    checkpoint = linsep.Checkpoint(tmp_path / "c", keep=True)
    ALMA(max_iter=4, **how).fit(A, b, checkpoint=checkpoint)
    again = ALMA(max_iter=4, **how).fit(A, b, checkpoint=checkpoint)
    assert np.array_equal(again.coef_, ALMA(max_iter=4, **how).fit(A, b).coef_)


def test_a_warm_start_goes_on():
    A, b = blobs(40, 4, 3, spread=3.0, seed=2)
    model = ALMA(max_iter=3, shuffle=False).fit(A, b)
    warm = ALMA(max_iter=1, shuffle=False, warm_start=True)
    for _ in range(3):
        warm.fit(A, b)
    assert warm.coef_ == pytest.approx(model.coef_, rel=1e-9)
    begun = ALMA(max_iter=1, shuffle=False).fit(A, b, coef_init=np.full((3, 4), 10.0))
    *_, step = textbook.run(
        begun.twin(), "ovr", A.tolist(), b.tolist(), 3, max_iter=1, weights=[[10.0] * 4] * 3
    )
    assert begun.coef_ == pytest.approx(np.array(step.weights), rel=1e-9)


def test_the_best_pass_brings_its_factors_back():
    A, b = blobs(60, 3, 2, spread=4.0, seed=1)
    how = {"early_stopping": True, "shuffle": False}
    model = ALMA(n_iter_no_change=3, **how).fit(A, b)
    passes = int(model.validation_scores_.argmax()) + 1
    assert passes < model.n_iter_
    same = ALMA(max_iter=passes, **how).fit(A, b)
    for one in (same, model):
        one.set_params(early_stopping=False).partial_fit(A, b)
    assert np.array_equal(same.coef_, model.coef_)


def test_every_row_has_the_margin_in_the_end():
    A, b = blobs(30, 2, 2, spread=0.5, seed=3)
    model = ALMA(alpha=0.3).fit(A, b)
    assert str(model.stop_reason_) == "converged"
    Z = np.column_stack([A, np.ones(30)])
    Z /= np.linalg.norm(Z, axis=1)[:, None]
    w = np.array([*model.coef_[0], *model.intercept_])
    reached = ((2 * b - 1) * (Z @ w)).min() / np.linalg.norm(w)
    low, high = linsep.separation(Z, b, fit_intercept=False, margin="max").margin
    assert 0.7 * low <= reached <= high * (1 + 1e-9)


def test_bounds_are_those_of_its_theorems():
    told = ALMA(shuffle=False).fit(X, y).bounds(X, y)
    assert {bound.name: int(bound.value) for bound in told} == {"ALMA": 11832}
    assert "is not 1" in told.left_out["ALMA, any rows"]
    A, b = blobs(30, 2, 2, spread=4.0, seed=3)
    model = ALMA(alpha=0.5, B=1.5, C=0.5, max_iter=2).fit(A, b)
    told = model.bounds(A, b)
    (found,) = told
    assert model.n_updates_ <= found.value
    assert told.left_out["ALMA"] == "it holds for the default B and C only"


def test_traces_and_calibration():
    A, b = blobs(20, 2, 3, spread=3.0, seed=3)
    model = ALMA(max_iter=2, shuffle=False, multiclass="ovo")
    traced = linsep.trace(model, A, b)
    model.fit(A, b)
    last = np.array(traced.steps[-1].weights)
    assert model.coef_ == pytest.approx(last, rel=1e-9)
    model.set_params(keep="average")
    linsep.calibrate(model.fit(A, b), A, b)
    assert model.predict_proba(A).sum(axis=1) == pytest.approx(np.ones(20))


def test_rows_and_parameters_that_are_refused():
    for given in ({"alpha": 0}, {"alpha": 1.01}, {"B": 0}, {"C": -1}):
        (_name,) = given
        with refused(ValueError, "bad-option"):
            ALMA(**given).fit(X, y)
    with refused(ValueError, "bad-value", row=2):
        ALMA(fit_intercept=False).fit([[1.0], [0.0], [-1.0]], [1, 0, 0])
    assert ALMA().fit([[1.0], [0.0], [-1.0]], [1, 0, 0]).n_updates_
    with refused(ValueError, "bad-option", option="multiclass"):
        ALMA(multiclass="native").fit(*blobs(20, 2, 3))
    with refused(ValueError, "class-count"):
        ALMA().fit(X, [1] * 5)
    with refused(ValueError, "no-rows", option="sample_weight"):
        ALMA().fit(X, y, sample_weight=[0.0] * 5)
    with pytest.raises(ValueError, match="not in classes: 7"):
        ALMA().partial_fit(X, y, classes=[0, 1]).partial_fit(X[:1], [7])


@pytest.mark.filterwarnings("ignore:overflow")
def test_rows_beyond_floats_are_named():
    with refused(ValueError, "overflow", row=2, column=0):
        ALMA().fit([[1.0, 0.0], [1e300, 0.0], [-1.0, 1.0]], [0, 1, 0])
