"""Passes over few rows that are made before those before them are reported."""

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep.compiled.shuffling import permutations
from linsep.errors import DataError
from linsep.learners import passes
from linsep.rows.arrays import shuffled_alike

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
    return X, scores.argmax(axis=1)


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


@pytest.mark.parametrize("model", FITS)
@pytest.mark.parametrize("separable", [True, False])
def test_same_bits_as_pass_by_pass(monkeypatch, model, separable):
    X, y = rows(2, separable)
    for most in (1, 2, 3, 5, 30):
        quick, slow, ahead = both_ways(monkeypatch, model.set_params(max_iter=most), X, y)
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
def test_several_classes_and_storages(monkeypatch, multiclass, storage):
    X, y = rows(3, False)
    X = storage(X) if storage is sp.csr_matrix else X.astype(storage)
    model = linsep.Perceptron(multiclass=multiclass, max_iter=20)
    quick, slow, ahead = both_ways(monkeypatch, model, X, y)
    assert quick == slow
    assert ahead


def test_a_checkpoint_sees_every_pass(monkeypatch, tmp_path):
    X, y = rows(2, False)
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
    with pytest.raises(DataError) as caught:
        model.fit(X, y)
    assert (caught.value.code, caught.value.row) == ("overflow", 3)
