"""Passes over few rows that are made before those before them are reported."""

import signal
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep.compiled.shuffling import permutations
from linsep.errors import DataError
from linsep.learners import passes
from linsep.rows.arrays import shuffled_alike
from thoroughness import interpreted

passes_ahead = passes.may_go_ahead
FITS = [
    linsep.Perceptron(),
    linsep.Perceptron(keep="average", schedule="inverse", zero="negative"),
    linsep.Perceptron(update="batch"),
    linsep.Perceptron(learning_rate=lambda k: 1.0 / k),
    linsep.Perceptron(keep="best"),
    linsep.Perceptron(keep="average", early_stopping=True, class_weight={0: 2.0, 1: 1.0}),
    linsep.Perceptron(shuffle=False),
    linsep.PassiveAggressive(),
    linsep.MarginPerceptron(),
    linsep.OnlineLogistic(),
    linsep.AROW(),
]


@pytest.mark.compiled
@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 1000, 16_384])
def test_orders_are_those_of_numpy(n):
    for seed in (0, 1, 2**31 - 2, 2**32 - 1):
        for first in (0, 1, 999_999):
            orders = np.empty((3, n), np.int64)
            permutations(n, seed, first, orders)
            for number, order in enumerate(orders, first):
                expected = np.random.default_rng([seed, number]).permutation(n)
                np.testing.assert_array_equal(order, expected)
            np.testing.assert_array_equal(shuffled_alike(n, seed, first, 3), orders)


def rows(n_classes, separable, n=40):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 3)) + 0.1
    scores = X @ rng.standard_normal((3, n_classes)) + (0 if separable else 1.5) * (
        rng.standard_normal((n, n_classes))
    )
    return X, scores.argmax(axis=1), rng.integers(0, 3, n).astype(float)


def facts(model):
    run = model._run
    arrays = model.get_state()[0]
    return run.reports, run.state.n_updates, run.state.rounds, model.stop_reason_, {
        name: array.tobytes() for name, array in arrays.items()
    }  # fmt: skip


def both_ways(monkeypatch, model, *given, **options):
    """Return what a fit with passes ahead learned, what one without learned, and whether there were
    any.
    """
    made, go_ahead = [], passes.go_ahead
    with monkeypatch.context() as patched:
        patched.setattr(passes, "go_ahead", lambda course: made.append(course) or go_ahead(course))
        quick = facts(model.fit(*given, **options))
    with monkeypatch.context() as patched:
        patched.setattr(passes, "may_go_ahead", lambda *_: False)
        return quick, facts(model.fit(*given, **options)), bool(made)


@pytest.mark.parametrize("model", interpreted(FITS, FITS[0]))
@pytest.mark.parametrize("separable", [True, False])
def test_same_bits_as_pass_by_pass(monkeypatch, model, separable):
    X, y, _ = rows(2, separable)
    for most in (1, 2, 3, 5, 30):
        found = both_ways(monkeypatch, model.set_params(max_iter=most), X, y)
        quick, slow, ahead = found
        assert quick == slow
    assert len(quick[0]) < 30 or ahead == (
        model.get_params().get("update", "single") == "single"
        and model.shuffle
        and model.keep != "best"
        and not callable(getattr(model, "learning_rate", None))
        and not isinstance(model, linsep.MarginPerceptron)
    )


@pytest.mark.uncompiled
@pytest.mark.parametrize("multiclass", ["native", "ovr", "ovo"])
@pytest.mark.parametrize("storage", [np.float32, np.float64, sp.csr_matrix])
def test_several_classes_storages_and_weights(monkeypatch, multiclass, storage):
    X, y, weights = rows(3, False)
    X = storage(X) if storage is sp.csr_matrix else X.astype(storage)
    model = linsep.Perceptron(multiclass=multiclass, max_iter=20)
    for sample_weight in (None, weights):
        quick, slow, ahead = both_ways(monkeypatch, model, X, y, sample_weight=sample_weight)
        assert quick == slow
        assert ahead
    assert quick[0][-1].rows == (weights > 0).sum()


def test_a_checkpoint_or_a_callback_sees_every_pass(monkeypatch, tmp_path):
    X, y, _ = rows(2, False)
    model = linsep.Perceptron(max_iter=20)
    given = {"checkpoint": tmp_path / "fit.checkpoint"}
    quick, slow, ahead = both_ways(monkeypatch, model, X, y, **given)
    assert quick == slow == facts(model.fit(X, y))
    assert not ahead


@pytest.mark.compiled
def test_a_score_that_overflows_in_a_pass_ahead_names_its_row(monkeypatch):
    X, y = np.array([[1.0], [1.0], [-1e200], [1.0]]), np.array([0, 1, 1, 1])
    model = linsep.Perceptron(learning_rate=1e105, max_iter=50)  # the weight of pass 0 is -1e305
    monkeypatch.setattr(passes, "FEW_PASSES", 1)
    ahead, messages = [], []
    for may in (lambda *given: ahead.append(passes_ahead(*given)) or ahead[-1], lambda *_: False):
        monkeypatch.setattr(passes, "may_go_ahead", may)
        with pytest.raises(DataError) as caught:
            model.fit(X, y)
        messages.append(str(caught.value))
    assert ahead == [False, True]
    assert messages == [messages[1]] * 2
    assert messages[0].startswith("Row 3 (index 2)")
    assert "overflows float64" in messages[0]


@pytest.mark.compiled
@pytest.mark.parametrize("keep", ["last", "average"])
def test_ctrl_c_at_any_line_leaves_the_weights_of_whole_passes(keep):
    X, y, _ = rows(2, separable=False)
    whole = [linsep.Perceptron(keep=keep, max_iter=k + 1).fit(X, y) for k in range(14)]
    seen, press_at = 0, None

    def trace(frame, event, arg):
        nonlocal seen
        if frame.f_code.co_filename != passes.__file__:
            return None
        if event == "line":
            seen += 1
            if seen == press_at:
                signal.raise_signal(signal.SIGINT)
        return trace

    def fitted():
        nonlocal seen
        seen, model = 0, linsep.Perceptron(keep=keep, max_iter=14)
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            sys.settrace(before)
            return model
        finally:
            sys.settrace(before)
        return None

    assert fitted() is None
    lines, stopped = seen, set()
    for line in range(1, lines, 3):
        press_at = line
        model = fitted()
        if model is not None and hasattr(model, "coef_"):
            reports = model.fitted_run().reports
            if model.n_iter_ and reports[-1].rows == len(y):
                stopped.add(model.n_iter_)
                expected = whole[model.n_iter_ - 1]
                np.testing.assert_array_equal(model.coef_, expected.coef_)
                assert model.mistakes_.tolist() == expected.mistakes_.tolist()
                assert model.fitted_run().state.n_updates == expected.fitted_run().state.n_updates
    assert {4, 8} <= stopped  # passes that were made ahead
