"""AROW and SCW: steps by hand, and variances that stay with the weights."""

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep import AROW, SCW
from linsep._system.sealed import sealed, unsealed
from linsep.errors import ModelFileError
from linsep.estimators.fitted_state import plain
from linsep.model_files import MODEL_FILE
from linsep.sources import ArraySource
from refusals import refused
from storages import blobs

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


def test_the_best_pass_brings_its_variances_back():
    A, b = blobs(60, 3, 2, spread=4.0, seed=1)
    how = {"early_stopping": True, "shuffle": False}
    model = AROW(n_iter_no_change=3, **how).fit(A, b)
    passes = int(model.validation_scores_.argmax()) + 1
    assert passes < model.n_iter_
    same = AROW(max_iter=passes, **how).fit(A, b)
    assert np.array_equal(same.coef_, model.coef_)
    assert np.array_equal(same.variances_, model.variances_)


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


def same(a, b):
    """Whether two models have the same weights and variances, to the bit."""
    names = ("coef_", "intercept_", "variances_", "intercept_variances_")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def with_parameters(model, **how):
    return type(model)(**model.get_params() | how)


class Widening(ArraySource):
    """Sparse batches that are as wide as what was seen so far."""

    def batches(self):
        width = 1
        for batch in super().batches():
            width = max(width, int(batch.X.indices.max(initial=0)) + 1)
            yield batch._replace(X=batch.X[:, :width])


def test_scw_by_hand():
    model = SCW(eta=0.95, max_iter=1, shuffle=False).fit(X, y)
    assert model.n_updates_ == 4
    mean = [-0.396943240811, 0.345720202448, 0.029848741943]
    assert [model.intercept_[0], *model.coef_[0]] == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize(
    "model", [AROW(), AROW(multiclass="ovo"), SCW()], ids=["native", "ovo", "scw"]
)
def test_variances_stay_with_the_weights(model, tmp_path):
    k, model = 3, with_parameters(model, max_iter=3, shuffle=False)
    A, b = blobs(40, 4, k, spread=3.0, seed=2)
    b[::5] = (b[::5] + 1) % k  # no pass is clean
    model.fit(A, b)
    assert ((model.variances_ > 0) & (model.variances_ < 1)).all()
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert same(back, model)
    sparse = with_parameters(model).fit(sp.csr_matrix(A), b)
    assert sparse.coef_ == pytest.approx(model.coef_, rel=1e-9)
    parts = with_parameters(model)
    for at in range(0, 40, 7):
        parts.partial_fit(A[at : at + 7], b[at : at + 7], classes=range(k))
        parts = linsep.load(linsep.save(parts, tmp_path / "m", force=True))
    assert same(parts, with_parameters(model, max_iter=1).fit(A, b))


@pytest.mark.parametrize(("model", "k"), [(AROW(max_iter=3), 2), (SCW(max_iter=3), 3)])
def test_rows_may_widen(model, k):
    A, b = blobs(60, 7, k, spread=3.0, seed=4)
    A[:20, 3:] = A[20:40, 5:] = 0.0
    source = Widening(sp.csr_matrix(A), b, batch_rows=10)
    assert same(with_parameters(model).fit(source), with_parameters(model).fit(sp.csr_matrix(A), b))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows_beyond_floats_are_named():
    for model in (SCW(), AROW()):
        with refused(ValueError, "overflow", row=2, column=0):
            model.fit([[1.0, 0.0], [1e300, 0.0], [-1.0, 1.0]], [0, 1, 0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("model", "size"), [(SCW(), 1e-300), (AROW(), 1e150), (AROW(r=1e-300), 1e-150)]
)
def test_variances_that_underflow_leave_weights_finite(model, size):
    A, b = np.array([[size, 1.0, 0.0], [-size, 1.0, 1.0]] * 3), [1, 0] * 3
    found = with_parameters(model, max_iter=20).fit(A, b)
    assert np.isfinite(found.coef_).all()
    assert np.isfinite(found.variances_).all()
    assert (found.variances_ >= 0).all()
    assert (found.variances_ <= 1 + 1e-12).all()


def test_parameters_that_are_refused():
    for model, option in (
        (SCW(eta=0.5), "eta"), (SCW(eta=1.0), "eta"), (SCW(C=0.0), "C"), (AROW(r=0), "r"),
        (SCW(multiclass="native"), "multiclass"),
    ):  # fmt: skip
        with refused(ValueError, "bad-option", option=option):
            model.fit(X, y)
        with refused(ValueError, "bad-option", option=option):
            model.partial_fit(X, y, classes=[0, 1])


def test_labels_and_weights_that_are_refused():
    for call, code in (
        (lambda m: m.fit(X, [1] * 5), "class-count"),
        (lambda m: m.fit(X, y, sample_weight=[0.0] * 5), "no-rows"),
        (lambda m: m.partial_fit(X, y, classes=[0, 2]), "unknown-label"),
    ):
        with refused(ValueError, code):
            call(SCW())
    # Rows of weight 0 in a call change nothing.
    fresh = SCW().partial_fit(X, y, classes=[0, 1], sample_weight=[0.0] * 5)
    assert fresh.n_updates_ == 0
    assert not fresh.coef_.any()


def test_scw_with_any_c():
    for C in [1e-300, 1e-3, 1e300, np.inf]:
        assert np.isfinite(SCW(C=C, max_iter=1, shuffle=False).fit(X, y).coef_).all()


def test_parameters_of_files_of_before_that_left(tmp_path):
    path = linsep.save(model := SCW().fit(X, y), tmp_path / "m")
    tensors, about = unsealed(path, MODEL_FILE)
    for kind in ("diagonal", "full"):
        about["parameters"] |= {"covariance_type": kind, "loss": "hinge", "warm_start": True}
        path.write_bytes(sealed(tensors, about, plain))
        if kind == "diagonal":
            assert same(linsep.load(path), model)
    with refused(ModelFileError, "bad-model-file"):
        linsep.load(path)
