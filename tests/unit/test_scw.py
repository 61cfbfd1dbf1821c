"""SCW, and the variances that it and AROW keep, through all that becomes of a model."""

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep import AROW, SCW
from linsep._system.sealed import sealed, unsealed
from linsep.errors import ModelFileError
from linsep.estimators._common.fitted_state import plain
from linsep.model_files import MODEL_FILE
from linsep.sources import ArraySource
from storages import blobs

pytestmark = pytest.mark.uncompiled

X = np.array([(1, 1), (3, 2), (2, 4), (3, 4), (2, 3)], float)
y = [0, 1, 1, 1, 0]


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


@pytest.mark.parametrize("k", [2, 3])
def test_what_is_known_stays_with_the_weights(k, tmp_path):
    A, b = blobs(40, 4, k, spread=3.0, seed=2)
    b[::5] = (b[::5] + 1) % k  # no pass is clean
    model = SCW(max_iter=3, shuffle=False).fit(A, b)
    assert ((model.variances_ > 0) & (model.variances_ < 1)).all()
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert same(back, model)
    sparse = with_parameters(model).fit(sp.csr_matrix(A), b)
    assert sparse.coef_ == pytest.approx(model.coef_, rel=1e-9)
    warm = with_parameters(model, max_iter=1, warm_start=True)
    for _ in range(3):
        warm.fit(A, b)
    assert same(warm, model)
    parts = with_parameters(model)
    for at in range(0, 40, 7):
        parts.partial_fit(A[at : at + 7], b[at : at + 7], classes=range(k))
        parts = linsep.load(linsep.save(parts, tmp_path / "m", force=True))
    assert same(parts, with_parameters(model, max_iter=1).fit(A, b))


@pytest.mark.parametrize("model", [AROW(max_iter=3), SCW(max_iter=3)], ids=str)
@pytest.mark.parametrize("k", [2, 3])
def test_rows_may_widen(model, k):
    A, b = blobs(60, 7, k, spread=3.0, seed=4)
    A[:20, 3:] = A[20:40, 5:] = 0.0
    source = Widening(sp.csr_matrix(A), b, batch_rows=10)
    assert same(with_parameters(model).fit(source), with_parameters(model).fit(sp.csr_matrix(A), b))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows_beyond_floats_are_named():
    with pytest.raises(ValueError, match=r"overflows float64 \(feature 0 is 1e\+300\)"):
        SCW().fit([[1.0, 0.0], [1e300, 0.0], [-1.0, 1.0]], [0, 1, 0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", [1e-150, 1e-300, 1e150])
@pytest.mark.parametrize("model", [SCW(), AROW(), AROW(r=1e-300)], ids=str)
def test_variances_that_underflow_leave_weights_finite(model, size):
    A, b = np.array([[size, 1.0, 0.0], [-size, 1.0, 1.0]] * 3), [1, 0] * 3
    found = with_parameters(model, max_iter=20).fit(A, b)
    assert np.isfinite(found.coef_).all()
    assert np.isfinite(found.variances_).all()
    assert (found.variances_ >= 0).all()
    assert (found.variances_ <= 1 + 1e-12).all()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (SCW(eta=0.5), "eta of SCW must be a number above 0.5 and below 1, got 0.5"),
        (SCW(eta=1.0), "eta of SCW must be a number above 0.5 and below 1, got 1.0"),
        (SCW(C=0.0), "C of SCW must be a number above 0, got 0.0"),
        (SCW(multiclass="native"), "multiclass of SCW must be one of 'ovr', 'ovo', got 'native'"),
    ],
)
def test_parameters_that_are_refused(model, said):
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)
    with pytest.raises(ValueError, match=said):
        model.partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize("model", [SCW(), AROW()], ids=str)
def test_labels_and_weights_that_are_refused(model):
    for call, said in (
        (lambda m: m.fit(X, [1] * 5), "class"),
        (lambda m: m.fit(X, y, sample_weight=[0.0] * 5), "weight"),
        (lambda m: m.partial_fit(X, y, classes=[0, 2]), "labels that are not in classes"),
    ):
        with pytest.raises(ValueError, match=said):
            call(with_parameters(model))
    # Rows of weight 0 in a call change nothing.
    fresh = with_parameters(model).partial_fit(X, y, classes=[0, 1], sample_weight=[0.0] * 5)
    assert fresh.n_updates_ == 0
    assert not fresh.coef_.any()


@pytest.mark.parametrize("C", [1e-300, 1e-3, 1e300, np.inf])
def test_scw_with_any_c(C):
    assert np.isfinite(SCW(C=C, max_iter=1, shuffle=False).fit(X, y).coef_).all()


def test_parameters_of_files_of_before_that_left(tmp_path):
    path = linsep.save(model := SCW().fit(X, y), tmp_path / "m")
    tensors, about = unsealed(path, MODEL_FILE)
    for kind in ("diagonal", "full"):
        about["parameters"] |= {"covariance_type": kind, "loss": "hinge"}
        path.write_bytes(sealed(tensors, about, plain))
        if kind == "diagonal":
            assert same(linsep.load(path), model)
    with pytest.raises(ModelFileError, match="covariance_type"):
        linsep.load(path)
