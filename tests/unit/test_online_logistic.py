"""Online logistic regression: steps, what is kept beside the weights, and its probabilities."""

from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import lambertw
from sklearn.metrics import log_loss

import linsep
from linsep import OnlineLogistic, textbook
from linsep.compiled.rules.online_logistic import invariant_step
from linsep.sources import ArraySource
from linsep.teaching.tracing import rule_of
from storages import blobs

X = np.array([(1, 1), (3, 2), (2, 4), (3, 4), (2, 3)], float)
y = [0, 1, 1, 1, 0]


def test_an_invariant_step_is_that_of_lamberts_function():
    for m, q in product([-30.0, -1.0, 1e-9, 2.5, 30.0, 700.0], [1e-9, 0.3, 7.0, 1e5]):
        found = invariant_step(m, q)
        with localcontext(prec=400):
            d, e = Decimal(found), Decimal(m).exp()
            slope = 1 + e * d.exp()  # of the left side, as a function of d
            off = (d + e * (d.exp() - 1) - Decimal(q)) / slope
            assert abs(off) <= Decimal("4e-16") * d + Decimal("1e-323")
        if 0.1 < q < 10 and abs(m) < 3:
            closed = q + np.exp(m) - lambertw(np.exp(q + m + np.exp(m))).real
            assert found == pytest.approx(closed, rel=1e-12)


def harsh(seed, k):
    """Rows of features from 1e-8 to 1e8, some empty, some twice."""
    rng = np.random.default_rng(seed)
    A, b = blobs(24, 5, k, spread=3.0, seed=seed)
    A[rng.random(A.shape) < 0.3] = 0
    A *= [1e-8, 1e-3, 1.0, 1e4, 1e8]
    A[5], A[9], A[10] = 0, A[8], A[8]
    return A, b


@pytest.mark.parametrize(
    ("scheme", "parts", "intercept"),
    [
        ("binary", {}, True),
        ("native", {"adaptive": False}, False),
        ("ovr", {"invariant": False, "l2": 0.03}, True),
        ("ovo", {}, False),
    ],
)
def test_rows_of_all_scales_are_those_of_the_twin(scheme, parts, intercept):
    k = 2 if scheme == "binary" else 3
    A, b = harsh(1, k)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(b))
    for keep in ("last", "average"):
        model = OnlineLogistic(
            max_iter=3, shuffle=False, keep=keep, fit_intercept=intercept,
            multiclass="native" if k == 2 else scheme, **parts,
        )  # fmt: skip
        how = {"max_iter": 3, "fit_intercept": intercept, "row_weights": weight.tolist()}
        steps = list(textbook.run(rule_of(model), scheme, A.tolist(), b.tolist(), k, **how))
        twin = textbook.kept(steps, keep, scheme, k, X=A.tolist(), y=b.tolist(),
                             row_weights=weight.tolist())  # fmt: skip
        for rows in (A, sp.csr_array(A)):
            model.fit(rows, b, sample_weight=weight)
            W = np.reshape(twin.weights, model.coef_.shape)
            assert model.coef_ == pytest.approx(W, rel=1e-9, abs=1e-15)
            assert model.intercept_ == pytest.approx(np.atleast_1d(twin.intercept), rel=1e-9)
            assert model.n_updates_ == sum(step.updates for step in steps)
            assert model.mistakes_.sum() == sum(step.mistakes for step in steps)


@pytest.mark.parametrize(("classes", "multiclass"), [(2, "native"), (2, "ovo"), (3, "native")])
def test_probabilities_are_those_of_the_loss(classes, multiclass):
    A, b = blobs(60, 3, classes, spread=3.0, seed=2)
    model = OnlineLogistic(max_iter=3, multiclass=multiclass).fit(A, b)
    scores = model.decision_function(A)
    scores = np.column_stack([np.zeros(len(b)), scores]) if classes == 2 else scores
    loss = -scores[np.arange(len(b)), b] + np.logaddexp.reduce(scores, axis=1)
    assert log_loss(b, model.predict_proba(A)) == pytest.approx(loss.mean())
    rows = ArraySource(A, b)
    told = linsep.score(model, rows, metrics="log_loss")["metrics"]["log_loss"]
    assert told["value"] == pytest.approx(loss.mean())
    assert (model.predict_proba(A).argmax(axis=1) == model.predict(A)).all()


def test_what_has_no_probabilities_of_its_own_can_be_calibrated():
    A, b = blobs(60, 3, 3, spread=3.0, seed=2)
    for how in ({"multiclass": "ovo"}, {"keep": "vote"}):
        model = OnlineLogistic(max_iter=2, **how).fit(A, b)
        assert not hasattr(model, "predict_proba")
        linsep.calibrate(model, A, b)
        assert model.predict_proba(A).sum(axis=1) == pytest.approx(np.ones(60))
    model = OnlineLogistic(max_iter=2).fit(A, b)
    own = model.predict_proba(A)
    linsep.calibrate(model, A, b)
    assert not np.allclose(model.predict_proba(A), own)
    model.partial_fit(A[:1], b[:1])
    assert model.predict_proba(A) == pytest.approx(own, abs=0.05)


@pytest.mark.parametrize("multiclass", ["native", "ovo"])
def test_rates_go_on_where_a_fit_ended(multiclass, tmp_path):
    A, b = blobs(40, 4, 3, spread=3.0, seed=2)
    how = {"multiclass": multiclass, "shuffle": False, "keep": "last"}
    model = OnlineLogistic(max_iter=3, **how).fit(A, b)
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    for one in (back, model):
        one.partial_fit(A, b)
    assert np.array_equal(back.coef_, model.coef_)
    checkpoint = linsep.Checkpoint(tmp_path / "c", keep=True)
    OnlineLogistic(max_iter=4, **how).fit(A, b, checkpoint=checkpoint)
    again = OnlineLogistic(max_iter=4, **how).fit(A, b, checkpoint=checkpoint)
    assert np.array_equal(again.coef_, model.coef_)


def test_the_best_pass_brings_its_rates_back():
    A, b = blobs(60, 3, 2, spread=4.0, seed=1)
    how = {"early_stopping": True, "shuffle": False, "keep": "last"}
    model = OnlineLogistic(n_iter_no_change=3, **how).fit(A, b)
    passes = int(model.validation_scores_.argmax()) + 1
    assert passes < model.n_iter_
    same = OnlineLogistic(max_iter=passes, **how).fit(A, b)
    for one in (same, model):
        one.set_params(early_stopping=False).partial_fit(A, b)
    assert np.array_equal(same.coef_, model.coef_)


def test_rows_that_are_right_are_learned_and_prove_no_separation():
    A, b = [[2.0, 0.0], [0.0, 2.0], [3.0, 1.0]], [1, 0, 1]
    model = OnlineLogistic(shuffle=False).fit(A, b)
    assert (model.mistakes_[-1], str(model.stop_reason_)) == (0, "clean")
    assert "changed the weights" in model.stop_sentence_


def test_rows_without_a_gradient_change_nothing():
    model = OnlineLogistic(fit_intercept=False, max_iter=2).fit([[0.0, 0.0]] * 3, [0, 1, 0])
    assert (model.n_updates_, model.coef_.tolist()) == (0, [[0.0, 0.0]])
    sure = OnlineLogistic(fit_intercept=False, max_iter=1, keep="last")
    sure.fit([[1.0], [-1.0]], [1, 0], coef_init=[[2000.0]])
    assert (sure.n_updates_, sure.coef_.tolist()) == (0, [[2000.0]])
