"""Every learner, scheme and way to keep weights against the plain-Python twin."""

import numpy as np
import pytest

import linsep
from family import LEARNERS, ONE_OF_EACH_RULE, covered, rows, storage_of, twin_run
from linsep import textbook
from linsep.compiled.jit import COMPILING
from linsep.sources import ArraySource
from storages import classes_of, per_pass, store, weights

PASSES = 6
CASES = list(covered())


def options(learner, scheme, keep, **more):
    estimator, own, _ = LEARNERS[learner]
    several = {} if scheme == "binary" else {"multiclass": scheme}
    return estimator(keep=keep, max_iter=PASSES, **(several | own | more))


def case(learner, scheme, seed):
    k = classes_of(scheme)[0]
    X, y = rows(seed, k, positive=LEARNERS[learner][0].positive_only)
    return X, y, k


def assert_same_as_twin(learner, scheme, keep, seed, tie="negative", weight=None, unit=False):
    """Fit, run the twin, and hold the one against the other."""
    X, y, k = case(learner, scheme, seed)
    storage = storage_of(learner, scheme, keep)
    more = {"normalize": True} if unit else {}
    model = options(learner, scheme, keep, random_state=seed, tie=tie, **more)
    model.fit(store(X, storage), y, sample_weight=weight)
    seen = textbook.unit_rows if unit else list
    counted = {"row_weights": None if weight is None else weight.tolist()}
    plain = seen(X.tolist())
    steps = twin_run(
        learner, scheme, plain, y, k, max_iter=PASSES, random_state=seed, tie=tie, **counted
    )
    assert model.mistakes_.tolist() == per_pass(steps)
    assert model.n_updates_ == sum(step.updates for step in steps)
    if learner == "batch":
        np.testing.assert_allclose(
            model.criterion_, per_pass(steps, "criterion"), rtol=1e-8, atol=1e-10
        )
    twin = textbook.kept(steps, keep, scheme, k, tie=tie, X=plain, y=y.tolist(), **counted)
    W, b = twin.weights, twin.intercept
    if scheme == "binary":
        W, b = [W], [b]
    np.testing.assert_allclose(model.coef_, np.array(W, float), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, np.array(b, float), rtol=1e-8, atol=1e-10)
    new = rows(seed + 100, k, positive=LEARNERS[learner][0].positive_only)[0]
    expected = [twin.predict(x) for x in seen(new.tolist())]
    assert model.predict(store(new, storage)).tolist() == expected


@pytest.mark.parametrize(("learner", "scheme", "keep"), [
    *CASES, *(pytest.param(*case, marks=pytest.mark.compiled) for case in ONE_OF_EACH_RULE)
])  # fmt: skip
def test_every_learner_does_what_its_twin_does(learner, scheme, keep):
    for seed, tie in ((0, "negative"), (1, "positive"), (2, "negative")):
        assert_same_as_twin(learner, scheme, keep, seed, tie)
    for seed in (3, 4):
        weight = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], 30)
        assert_same_as_twin(learner, scheme, keep, seed, weight=weight)
    if not COMPILING and LEARNERS[learner][0] is not linsep.MarginPerceptron:  # which scales rows
        assert_same_as_twin(learner, scheme, keep, 5, unit=True)
        weight = np.tile([2.0, 0.0, 1.0], 10)
        assert_same_as_twin(learner, scheme, keep, 6, weight=weight, unit=True)


@pytest.mark.parametrize(("learner", "scheme", "keep"), CASES[::2])
def test_files_chunks_and_arrays_are_the_same_to_the_bit(learner, scheme, keep, tmp_path):
    X, y, k = case(learner, scheme, 3)
    X = store(X, storage_of(learner, scheme, keep))
    model = options(learner, scheme, keep).fit(X, y)
    source = ArraySource(X, y, batch_rows=7)
    source.memory_bytes = 0
    streamed = options(learner, scheme, keep).fit(source)
    assert weights(streamed) == weights(model)
    assert np.array_equal(streamed.decision_function(X), model.decision_function(X))
    assert streamed.mistakes_.tolist() == model.mistakes_.tolist()

    if learner not in ("halving", "batch"):  # whose passes matter
        whole, parts = options(learner, scheme, keep), options(learner, scheme, keep)
        whole.partial_fit(X, y, classes=range(k))
        for at in range(0, X.shape[0], 4):
            parts.partial_fit(X[at : at + 4], y[at : at + 4], classes=range(k))
        assert weights(parts) == weights(whole)
        assert np.array_equal(parts.decision_function(X), whole.decision_function(X))

    if learner == "callable":
        return
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert weights(back) == weights(model)
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    if learner not in ("halving", "batch"):
        assert weights(back.partial_fit(X, y)) == weights(model.partial_fit(X, y))
        assert np.array_equal(back.decision_function(X), model.decision_function(X))
