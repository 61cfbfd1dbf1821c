"""SCW, the second-order perceptron and whole matrices, through all that becomes of a model."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep import AROW, SCW, SecondOrderPerceptron, textbook
from linsep.learners import confidence
from linsep.sources import ArraySource
from refusals import refused
from storages import blobs

pytestmark = pytest.mark.uncompiled

X = np.array([(1, 1), (3, 2), (2, 4), (3, 4), (2, 3)], float)
y = [0, 1, 1, 1, 0]
TYPES = ["diagonal", "diagonal-drop", "full"]
EVERY = [
    *(SCW(covariance_type=kind) for kind in TYPES),
    *(SCW(loss="squared_hinge", covariance_type=kind) for kind in TYPES),
    *(AROW(covariance_type=kind, multiclass="ovr") for kind in TYPES),
    AROW(covariance_type="full"),
    SecondOrderPerceptron(),
]
WHOLE = [AROW(covariance_type="full"), SCW(covariance_type="full"), SecondOrderPerceptron()]


def same(a, b):
    """Whether two models have the same weights and variances, to the bit."""
    names = ("coef_", "intercept_", "variances_", "intercept_variances_")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def once(model, **how):
    return model.set_params(max_iter=1, shuffle=False, **how)


def with_parameters(model, **how):
    return type(model)(**model.get_params() | how)


class Widening(ArraySource):
    """Sparse batches that are as wide as what was seen so far."""

    def batches(self):
        width = 1
        for batch in super().batches():
            width = max(width, int(batch.X.indices.max(initial=0)) + 1)
            yield batch._replace(X=batch.X[:, :width])


def covariance(model, machine=0):
    """Sigma of a machine, by the factors of its state; the constant feature last."""
    state = model.fitted_run().state
    U = np.eye(state.n_features + 1) + state.trimmed("mixed")[machine].T
    known = state.trimmed("known").reshape(len(U), -1)[:, machine]
    return U @ np.diag(1 / (1 + known)) @ U.T


@pytest.mark.parametrize(
    ("loss", "kind", "mean", "variances"),
    [
        (
            "hinge", "full", [-0.986331642956, 0.536679649786, 0.242575598964],
            [0.705265439166, 0.191545236465, 0.131372580481],
        ),
        ("hinge", "diagonal", [-0.396943240811, 0.345720202448, 0.029848741943], None),
        ("squared_hinge", "full", [-0.843441097070, 0.535240691999, 0.006112153409], None),
    ],
)  # fmt: skip
def test_scw_by_hand(loss, kind, mean, variances):
    model = once(SCW(eta=0.95, loss=loss, covariance_type=kind)).fit(X, y)
    assert model.n_updates_ == 4
    assert [model.intercept_[0], *model.coef_[0]] == pytest.approx(mean, abs=1e-12)
    if variances:
        found = [model.intercept_variances_[0], *model.variances_[0]]
        assert found == pytest.approx(variances, abs=1e-12)


def test_full_arow_by_hand():
    model, after = AROW(covariance_type="full"), []
    for x, label in zip(X, y, strict=True):
        model.partial_fit([x], [label], classes=[0, 1])
        after.append([model.intercept_[0], *model.coef_[0]])
    by_hand = [-1 / 4, -1 / 4, -1 / 4], [-11 / 24, 9 / 24, -1 / 24], [-26 / 51, 13 / 51, 11 / 51]
    expected = [*by_hand, by_hand[-1], [-10 / 18, 5 / 18, 1 / 18]]
    assert np.array(after) == pytest.approx(np.array(expected), rel=1e-14)
    sigma = [[55, -25, -38], [-25, 31, -22], [-38, -22, 148]]
    assert covariance(model) * 216 == pytest.approx(np.array(sigma), rel=1e-13)
    assert model.variances_[0] * 216 == pytest.approx([55, 31], rel=1e-14)
    assert model.intercept_variances_[0] * 216 == pytest.approx(148, rel=1e-14)


def test_second_order_perceptron_by_hand():
    model = once(SecondOrderPerceptron()).fit(X, y)
    assert (model.n_updates_, model.mistakes_.tolist()) == (3, [3])
    assert model.intercept_ == pytest.approx([-8 / 20])
    assert model.coef_[0] == pytest.approx([11 / 20, -9 / 20])
    A = np.array([[15, 13, 6], [13, 15, 6], [6, 6, 4]])
    assert covariance(model) == pytest.approx(np.linalg.inv(A), rel=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 3])  # without a score of exactly 0
@pytest.mark.parametrize("rule", ["AROW", "SecondOrderPerceptron"])
def test_whole_matrices_in_exact_fractions(rule, seed):
    rng = np.random.default_rng(seed)
    A, b = rng.integers(-4, 5, (25, 4)), rng.integers(0, 2, 25)
    noise = Fraction(3, 4)
    how = {"r": noise, "covariance_type": "full"} if rule == "AROW" else {"a": noise}
    exact = list(textbook.run(
        getattr(textbook, rule)(**how), "binary", A.tolist(), b.tolist(), 2, max_iter=2,
    ))[-1]  # fmt: skip
    given = {name: float(v) if isinstance(v, Fraction) else v for name, v in how.items()}
    model = getattr(linsep, rule)(**given, max_iter=2, shuffle=False).fit(A, b)
    weights = [float(w) for w in [*exact.weights, exact.intercept]]
    assert [*model.coef_[0], *model.intercept_] == pytest.approx(weights, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_full_arow_is_ridge_regression_on_the_rows_that_it_learned(weight):
    A, b = blobs(80, 5, 2, spread=4.0, seed=3)
    model, learned = AROW(r=0.3, covariance_type="full"), []
    for row in range(80):
        before = model.n_updates_ if row else 0
        model.partial_fit(A[[row]], b[[row]], classes=[0, 1], sample_weight=[weight])
        learned += [row] * (model.n_updates_ - before)
    assert 20 < len(learned) < 80
    Z, sides = np.column_stack([A, np.ones(80)])[learned], 2.0 * b[learned] - 1
    solved = np.linalg.solve(0.3 * np.eye(6) + weight * Z.T @ Z, weight * Z.T @ sides)
    assert [*model.coef_[0], *model.intercept_] == pytest.approx(solved, rel=1e-9)
    sigma = np.linalg.inv(np.eye(6) + weight * Z.T @ Z / 0.3)
    assert covariance(model) == pytest.approx(sigma, rel=1e-8)
    assert [*model.variances_[0], *model.intercept_variances_] == pytest.approx(np.diag(sigma))


def test_native_full_arow_has_a_matrix_per_class():
    A, b = blobs(40, 3, 3, spread=4.0, seed=1)
    model, rounds = AROW(covariance_type="full"), [[], [], []]
    for row in range(40):
        scores = model.decision_function(A[[row]])[0] if row else np.zeros(3)
        before = model.n_updates_ if row else 0
        model.partial_fit(A[[row]], b[[row]], classes=[0, 1, 2])
        if model.n_updates_ > before:
            rival = max((k for k in range(3) if k != b[row]), key=lambda k: scores[k])
            rounds[b[row]].append(row)
            rounds[rival].append(row)
    for k, rows in enumerate(rounds):
        Z = np.column_stack([A, np.ones(40)])[rows]
        assert covariance(model, k) == pytest.approx(np.linalg.inv(np.eye(4) + Z.T @ Z), rel=1e-9)


@pytest.mark.parametrize("model", EVERY, ids=str)
@pytest.mark.parametrize("k", [2, 3])
def test_what_is_known_stays_with_the_weights(model, k, tmp_path):
    A, b = blobs(40, 4, k, spread=3.0, seed=2)
    b[::5] = (b[::5] + 1) % k  # no pass is clean
    model = with_parameters(model, max_iter=3, shuffle=False).fit(A, b)
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


@pytest.mark.parametrize("model", WHOLE, ids=str)
def test_matrices_come_back_with_the_best_pass_and_with_a_resumed_fit(model, tmp_path):
    A, b = blobs(60, 3, 2, spread=4.0, seed=1)
    early = with_parameters(model, early_stopping=True, n_iter_no_change=3, shuffle=False).fit(A, b)
    passes = int(early.validation_scores_.argmax()) + 1
    assert passes < early.n_iter_
    assert same(early, with_parameters(early, max_iter=passes).fit(A, b))
    checkpoint = linsep.Checkpoint(tmp_path / "c", keep=True)
    whole = with_parameters(model, max_iter=4).fit(A, b, checkpoint=checkpoint)
    assert same(with_parameters(model, max_iter=4).fit(A, b, checkpoint=checkpoint), whole)


@pytest.mark.parametrize("model", WHOLE, ids=str)
@pytest.mark.parametrize("k", [2, 3])
def test_rows_may_widen(model, k):
    A, b = blobs(60, 7, k, spread=3.0, seed=4)
    A[:20, 3:] = A[20:40, 5:] = 0.0
    source = Widening(sp.csr_matrix(A), b, batch_rows=10)
    model = with_parameters(model, max_iter=3)
    assert same(with_parameters(model).fit(source), model.fit(sp.csr_matrix(A), b))


@pytest.mark.parametrize("keep", ["average", "vote", "best"])
@pytest.mark.parametrize("model", WHOLE, ids=str)
def test_every_version_of_the_weights_counts(model, keep):
    A, b = blobs(50, 4, 3, spread=4.0, seed=5)
    model = with_parameters(model, keep=keep, max_iter=3)
    whole = with_parameters(model).fit(A, b)
    source = ArraySource(sp.csr_matrix(A), b, batch_rows=6)
    streamed = with_parameters(model).fit(source)
    assert whole.decision_function(A) == pytest.approx(streamed.decision_function(A), rel=1e-7)


@pytest.mark.parametrize("model", WHOLE, ids=str)
def test_too_many_features_for_a_matrix(model, monkeypatch):
    wide = sp.csr_matrix((np.ones(2), ([0, 1], [0, 4000])), shape=(2, 4001))
    for call in ("fit", "partial_fit"):
        more = {"classes": [0, 1]} if call == "partial_fit" else {}
        with refused(ValueError, "too-large", option="covariance_type"):
            getattr(with_parameters(model), call)(wide, [0, 1], **more)
    assert SCW(max_iter=2).fit(wide, [0, 1]).n_features_in_ == 4001
    # and where they come later
    monkeypatch.setattr(confidence, "MOST_IN_FULL", 4)
    source = Widening(sp.eye(5, format="csr"), np.array([0, 1, 0, 1, 0]), batch_rows=2)
    with refused(ValueError, "too-large", option="covariance_type"):
        with_parameters(model).fit(source)
    assert with_parameters(model).fit(np.eye(4), [0, 1, 0, 1]).n_features_in_ == 4


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("model", EVERY, ids=str)
def test_rows_beyond_floats_are_named(model):
    model = with_parameters(model)
    with refused(ValueError, "overflow", row=2, column=0):
        model.fit([[1.0, 0.0], [1e300, 0.0], [-1.0, 1.0]], [0, 1, 0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", [1e-150, 1e-300, 1e150])
@pytest.mark.parametrize("model", EVERY, ids=str)
def test_variances_that_underflow_leave_weights_finite(model, size):
    A, b = np.array([[size, 1.0, 0.0], [-size, 1.0, 1.0]] * 3), [1, 0] * 3
    tiny = {"r": 1e-300, "a": 1e-300}
    less = {name: value for name, value in tiny.items() if name in model.get_params()}
    for how in ({}, less):
        found = with_parameters(model, max_iter=20, **how).fit(A, b)
        assert np.isfinite(found.coef_).all()
        assert np.isfinite(found.variances_).all()
        assert (found.variances_ >= 0).all()
        assert (found.variances_ <= 1 + 1e-12).all()


def test_a_matrix_stays_a_covariance_over_many_rows():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 6)) @ np.diag([1e6, 1.0, 1.0, 1e-3, 1.0, 1.0])
    A[:, 2] = A[:, 1] * (1 + 1e-9)  # almost the same
    b = (A @ rng.standard_normal(6) > 0).astype(int)
    model = AROW(r=1e-6, covariance_type="full", max_iter=5).fit(A, b)
    Z = np.column_stack([A, np.ones(400)])
    v = np.einsum("ij,jk,ik->i", Z, covariance(model), Z)
    assert (v > 0).all()
    assert (model.variances_ > 0).all()


@pytest.mark.parametrize(
    ("model", "code"),
    [
        (SCW(eta=0.5), "bad-option"),
        (SCW(eta=1.0), "bad-option"),
        (SCW(C=0.0), "bad-option"),
        (SCW(loss="log"), "bad-option"),
        (SCW(covariance_type="tied"), "bad-option"),
        (SCW(multiclass="native"), "bad-option"),
        (SecondOrderPerceptron(a=0), "bad-option"),
        (
            SecondOrderPerceptron(multiclass="native"),
            "bad-option",
        ),
    ],
)
def test_parameters_that_are_refused(model, code):
    with refused(ValueError, code):
        model.fit(X, y)
    with refused(ValueError, code):
        model.partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize("model", EVERY, ids=str)
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


def test_what_a_matrix_means_may_not_change():
    for model in (AROW(), SCW()):
        model.partial_fit(X, y, classes=[0, 1]).set_params(covariance_type="full")
        with pytest.raises(ValueError, match="needs the covariance_type of the last fit"):
            model.partial_fit(X, y)
        with pytest.raises(ValueError, match="needs the covariance_type of the last fit"):
            model.set_params(warm_start=True).fit(X, y)


@pytest.mark.parametrize("C", [1e-300, 1e-3, 1e300, np.inf])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_scw_with_any_c(loss, C):
    model = once(SCW(C=C, loss=loss)).fit(X, y)
    assert np.isfinite(model.coef_).all()
    # With C infinite a row is right with the probability asked for, as soon as it is learned.
    if np.inf == C:
        alone = SCW(C=C, loss=loss, eta=0.8, covariance_type="full")
        alone.partial_fit(X[:1], y[:1], classes=[0, 1])
        z = np.append(X[0], 1.0)
        deviation = np.sqrt(z @ covariance(alone) @ z)
        assert -alone.decision_function(X[:1])[0] / deviation == pytest.approx(0.8416212335729143)
