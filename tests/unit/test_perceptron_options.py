"""The options of the estimator: where it starts, what rows count, when it stops, interruption."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from linsep import Perceptron
from linsep.rows.arrays import ArrayStream, HoldOut
from refusals import refused
from storages import SCHEMES, blobs, classes_of, weights

SEVERAL = ("native", "ovr", "ovo")


# Where to start.


def test_warm_start_goes_on_from_the_last_weights():
    X, y = blobs(60, spread=6.0)
    once = Perceptron(max_iter=5, shuffle=False).fit(X, y)
    twice = Perceptron(max_iter=2, shuffle=False, warm_start=True).fit(X, y)
    updates = twice.n_updates_
    twice.set_params(max_iter=3).fit(X, y)
    assert weights(twice) == weights(once)
    assert twice.mistakes_.tolist() == once.mistakes_[2:].tolist()
    assert 0 < updates < twice.n_updates_ == once.n_updates_
    again = Perceptron(max_iter=3, shuffle=False).fit(X, y)
    assert weights(again.fit(X, y)) == weights(Perceptron(max_iter=3, shuffle=False).fit(X, y))


def test_warm_start_refuses_what_does_not_fit():
    X, y = blobs(30)
    model = Perceptron(warm_start=True, max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="warm_start needs the classes of the last fit"):
        model.fit(X, y + 1)
    with pytest.raises(ValueError, match="warm_start needs as many features"):
        model.fit(X[:, :3], y)
    with pytest.raises(ValueError, match="warm_start needs the multiclass of the last fit; set it"):
        model.set_params(multiclass="ovr").fit(X, y)
    with pytest.raises(ValueError, match="warm_start needs the fit_intercept of the last fit"):
        model.set_params(multiclass="native", fit_intercept=False).fit(X, y)


@pytest.mark.parametrize(("multiclass", "machines"), [("native", 4), ("ovr", 4), ("ovo", 6)])
def test_initial_weights_of_several_classes(multiclass, machines):
    X, y = blobs(40, 5, 4, spread=0.1)
    found = Perceptron(multiclass=multiclass).fit(X, y)
    assert found.coef_.shape == (machines, 5)
    assert found.intercept_.shape == (machines,)
    model = Perceptron(multiclass=multiclass).fit(X, y, found.coef_, found.intercept_)
    assert (model.n_updates_, model.n_iter_) == (0, 1)
    assert weights(model) == weights(found)


def test_initial_weights_of_two_classes_come_as_row_or_vector():
    X, y = blobs(40, 5, 2, spread=0.1)
    found = Perceptron().fit(X, y)
    assert (found.coef_.shape, found.intercept_.shape) == ((1, 5), (1,))
    for coef in (found.coef_, found.coef_[0], found.coef_.tolist()):
        for intercept in (found.intercept_, found.intercept_[0]):
            assert Perceptron().fit(X, y, coef, intercept).n_updates_ == 0
    # A zero weight on one feature is a mistake to make up for: the start really counts.
    assert Perceptron().fit(X, y, -found.coef_, -found.intercept_).n_updates_ > 0


def test_an_intercept_that_is_not_learned_cannot_be_given():
    X, y = blobs(20, 3, 2)
    with pytest.raises(ValueError, match=r"intercept_init.*fit_intercept"):
        Perceptron(fit_intercept=False).fit(X, y, intercept_init=[1.0])
    model = Perceptron(fit_intercept=False).fit(X, y, intercept_init=[0.0])
    assert model.intercept_.tolist() == [0.0]


# Weights of rows and classes.


@pytest.mark.parametrize("scheme", SCHEMES)
def test_rows_of_weight_zero_are_as_good_as_absent(scheme):
    k, multiclass = classes_of(scheme)
    X, y = blobs(50, k=k, spread=5.0)
    weight = np.where(np.arange(50) % 3 == 0, 0.0, 2.0)
    weight[:k] = 1.0
    kept = weight > 0
    options = {"multiclass": multiclass, "shuffle": False, "max_iter": 5}
    whole = Perceptron(**options).fit(X, y, sample_weight=weight)
    part = Perceptron(**options).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert weights(whole) == weights(part)
    assert whole.mistakes_.tolist() == part.mistakes_.tolist()
    shuffled = Perceptron(max_iter=30, random_state=1).fit(X, y, sample_weight=weight)
    spoilt = np.where(kept[:, None], X, 1e6)
    assert weights(shuffled) == weights(
        Perceptron(max_iter=30, random_state=1).fit(spoilt, y, sample_weight=weight)
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_class_weight_is_a_row_weight(scheme):
    k, multiclass = classes_of(scheme)
    X, y = blobs(50, k=k, spread=5.0)
    y[:20] = 0
    cost = {0: 0.3, 1: 2.0, 2: 5.0}
    balanced = 50 / (k * np.bincount(y))
    options = {"multiclass": multiclass, "max_iter": 4}
    for given, per_class in ((cost, cost), ("balanced", balanced)):
        per_row = np.array([per_class[c] for c in y])
        a = Perceptron(class_weight=given, **options).fit(X, y)
        b = Perceptron(**options).fit(X, y, sample_weight=per_row)
        assert weights(a) == weights(b)
    c = Perceptron(class_weight=cost, **options).fit(X, y, sample_weight=y + 1.0)
    per_row = np.array([cost[c] for c in y])
    d = Perceptron(**options).fit(X, y, sample_weight=per_row * (y + 1.0))
    assert weights(c) == weights(d)
    assert weights(a) != weights(Perceptron(**options).fit(X, y))


def test_a_scalar_sample_weight_is_a_learning_rate():
    X, y = blobs(50, spread=5.0)
    a = Perceptron(max_iter=4).fit(X, y, sample_weight=0.5)
    b = Perceptron(max_iter=4, learning_rate=0.5).fit(X, y)
    assert weights(a) == weights(b)


# Early stopping.


def noisy(n=300, k=4):
    """Overlapping classes of very different size."""
    X, y = blobs(n, 8, k, spread=5.0)
    return X, np.minimum(y, np.arange(n) % 7)


@pytest.mark.parametrize("multiclass", SEVERAL)
def test_early_stopping_keeps_the_best_weights(multiclass):
    X, y = noisy()
    options = {"multiclass": multiclass, "early_stopping": True, "validation_fraction": 0.3}
    model = Perceptron(**options, n_iter_no_change=3).fit(X, y)
    scores = model.validation_scores_
    assert model.stop_reason_ == "early_stop"
    best = int(scores.argmax())
    assert model.n_iter_ == len(scores) == best + 1 + 3
    held = HoldOut(0.3, 4, model.draw_seed()).draw(y.astype(np.int32))
    assert model.score(X[held], y[held]) == pytest.approx(scores[best], abs=1e-12)
    upto = Perceptron(**options, n_iter_no_change=100, max_iter=best + 1).fit(X, y)
    assert weights(upto) == weights(model)
    onward = Perceptron(**options, n_iter_no_change=100, max_iter=best + 3).fit(X, y)
    assert weights(onward) == weights(model)


def test_held_out_rows_are_never_learned_and_come_from_every_class():
    X, y = noisy()
    model = Perceptron(early_stopping=True, validation_fraction=0.25, max_iter=1).fit(X, y)
    held = HoldOut(0.25, 4, model.draw_seed()).draw(y.astype(np.int32))
    assert np.abs(np.bincount(y[held]) - 0.25 * np.bincount(y)).max() < 1
    # With one pass, the held-out scores cannot change which weights are kept.
    spoilt = np.where(held[:, None], -17.0 * X, X)
    other = clone(model).fit(spoilt, y)
    assert weights(model) == weights(other)
    assert model.validation_scores_[0] != other.validation_scores_[0]
    assert weights(model) != weights(clone(model).fit(np.where(held[:, None], X, -17.0 * X), y))


def test_hold_out_is_the_same_however_rows_arrive():
    codes = np.random.default_rng(0).integers(0, 3, 500).astype(np.int32)
    whole = HoldOut(0.2, 3, 7).draw(codes)
    pieces = HoldOut(0.2, 3, 7)
    drawn = [pieces.draw(codes[a:b]) for a, b in pairwise([0, 1, 1, 99, 100, 420, 500])]
    assert_array_equal(np.concatenate(drawn), whole)
    assert 96 <= whole.sum() <= 104
    assert whole.tolist() != HoldOut(0.2, 3, 8).draw(codes).tolist()


def test_early_stopping_needs_rows_on_both_sides():
    X, y = blobs(6, k=2)
    with refused(ValueError, "too-few-rows", option="validation_fraction"):
        Perceptron(early_stopping=True, validation_fraction=1e-6).fit(X, y)
    with refused(ValueError, "no-rows"):
        Perceptron(early_stopping=True, validation_fraction=1 - 1e-6).fit(X, y)


def test_attributes_that_need_a_fit_say_so():
    model = Perceptron()
    for name in ("coef_", "intercept_", "n_updates_", "mistakes_", "n_iter_"):
        with pytest.raises(AttributeError, match="not fitted"):
            getattr(model, name)
    X, y = blobs(30)
    with pytest.raises(AttributeError, match="early_stopping"):
        _ = model.fit(X, y).validation_scores_
    online = Perceptron().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = online.progressive_accuracy_


# Verbose and interruption.


def test_verbose_prints_a_line_a_pass(capsys):
    X, y = blobs(40)
    quiet = Perceptron().fit(X, y)
    assert capsys.readouterr().out == ""
    Perceptron(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == quiet.n_iter_
    assert lines[0] == f"pass 1: {quiet.mistakes_[0]} mistakes in 40 rows"
    Perceptron(verbose=1, early_stopping=True, max_iter=1).fit(X, y)
    assert "held-out accuracy" in capsys.readouterr().out


class CtrlC:
    """A callback that interrupts at the end of the third pass, or where it is told."""

    def __init__(self, hook="on_fit_task_end", task=2):
        self.hook, self.task = hook, task

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def _maybe(self, hook, context):
        here = context.task_id if context.parent else "fit"
        if (hook, here) == (self.hook, self.task):
            raise KeyboardInterrupt

    def on_fit_task_begin(self, estimator, context):
        self._maybe("on_fit_task_begin", context)

    def on_fit_task_end(self, estimator, context):
        self._maybe("on_fit_task_end", context)


@pytest.mark.parametrize(
    ("hook", "task", "passes"),
    [
        ("on_fit_task_end", 2, 3),
        ("on_fit_task_begin", 2, 2),
        ("on_fit_task_begin", "fit", 0),
        ("on_fit_task_begin", 0, 0),
    ],
)
def test_an_interrupting_callback_leaves_what_was_learned(hook, task, passes):
    X, y = blobs(40, spread=9.0)
    model = Perceptron(shuffle=False).set_callbacks(CtrlC(hook, task))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert "weights reached so far" in model.stop_reason_.sentence
    assert model.n_iter_ == passes
    if passes:
        whole = Perceptron(shuffle=False, max_iter=passes).fit(X, y)
        assert weights(model) == weights(whole)
    assert model.predict(X).shape == (40,)


def test_an_interrupted_pass_counts_what_it_learned(monkeypatch):
    X, y = blobs(40, spread=9.0)
    row_batches = ArrayStream.row_batches

    def interrupted(self, number, *start):
        for row_batch in row_batches(self, number, *start):
            if number == 1:
                yield row_batch._replace(order=row_batch.order[:25])
                raise KeyboardInterrupt
            yield row_batch

    monkeypatch.setattr(ArrayStream, "row_batches", interrupted)
    model = Perceptron(shuffle=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    same = Perceptron(shuffle=False, max_iter=1).fit(X, y).partial_fit(X[:25], y[:25])
    assert model.stop_reason_ == "interrupted"
    assert weights(model) == weights(same)
    assert model.mistakes_.tolist() == same.mistakes_.tolist()
    assert model.n_updates_ == same.n_updates_
    assert model.predict(X).tolist() == same.predict(X).tolist()
