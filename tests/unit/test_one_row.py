"""Rows that partial_fit learns one by one."""

import copy

import numpy as np
import pytest

import linsep
from linsep.errors import DataError, ParameterError

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 4))
TWO, FOUR = (X[:, 0] + RNG.normal(size=60) > 0).astype(int), np.arange(60) % 4
MODELS = [
    linsep.Perceptron(),
    linsep.Perceptron(keep="average", schedule="inverse_sqrt", zero="negative", multiclass="ovr"),
    linsep.Perceptron(keep="vote"),
    linsep.Perceptron(keep="best", normalize=True),
    linsep.Perceptron(learning_rate=lambda k: 1 / k),
    linsep.Perceptron(reference=1),
    linsep.AROW(multiclass="native"),
    linsep.SCW(multiclass="ovo"),
    linsep.MarginPerceptron(),
    linsep.Winnow(),
]


def facts(model):
    run = model.fitted_run()
    arrays = {name: array.tobytes() for name, array in model.get_state()[0].items()}
    return arrays, run.state.rounds, run.state.n_updates, run.open_mistakes, model.stop_reason_


def learn(model, X, y, **more):
    for row, label in zip(X, y, strict=True):
        model.partial_fit(row[None], [label], **more)
    return model


@pytest.mark.parametrize("model", MODELS)
def test_one_by_one_is_the_same_as_all_at_once(model):
    rows = abs(X) if isinstance(model, linsep.Winnow) else X
    for y in (TWO, FOUR)[model.get_params().get("reference") is None :: -1]:
        classes = sorted(set(y.tolist()))
        whole = copy.deepcopy(model).partial_fit(rows, y, classes=classes)
        single = learn(copy.deepcopy(model), rows, y, classes=classes)
        assert facts(single) == facts(whole)
        more = copy.deepcopy(single)
        learn(more.partial_fit(rows[:9], y[:9]), rows[9:], y[9:])
        assert facts(more) == facts(whole.partial_fit(rows, y))
        assert facts(single) != facts(more)  # whose weights are its own


@pytest.mark.compiled
def test_compiled_rows_one_by_one():
    for keep in ("last", "average"):
        model = linsep.Perceptron(keep=keep)
        single = learn(copy.deepcopy(model), X, TWO, classes=[0, 1])
        assert single._one_row is not None
        assert facts(single) == facts(model.partial_fit(X, TWO, classes=[0, 1]))


def begun():
    return learn(linsep.Perceptron(), X[:20], TWO[:20], classes=[0, 1])


@pytest.mark.compiled
def test_rows_that_are_refused_change_nothing():
    model = begun()
    before = facts(model)
    for row, label, code in [
        ([np.nan] * 4, 0, "missing-value"),
        ([np.inf] * 4, 0, "not-finite"),
        (X[0], 2, "unknown-label"),
    ]:
        with pytest.raises(DataError) as caught:
            model.partial_fit(np.array([row], dtype=float), [label])
        assert caught.value.code == code
        assert facts(model) == before
    for rows, label in [(X[:1, :3], [0]), (X[:1], [[0, 1]]), (X[:2], [0])]:
        with pytest.raises(ValueError):  # noqa: PT011  scikit-learn's
            model.partial_fit(rows, label)
        assert facts(model) == before
    with pytest.raises(DataError):
        model.partial_fit(X[:1], [0], classes=[0, 2])
    model.set_params(keep="average")
    with pytest.raises(ParameterError):
        model.partial_fit(X[:1], [0])


def test_parameters_labels_and_types_may_change_between_rows():
    model, other = begun(), begun()
    for rows, y in [
        (X[20:21].astype(np.float32), [1]),
        (X[21:22].tolist(), np.array([0.0])),
        (X[22:23], np.array([True])),
        (np.asfortranarray(X[22:26])[1:2], np.array([1], dtype=object)),
    ]:
        model.partial_fit(rows, y)
        other.partial_fit(np.repeat(np.asarray(rows), 2, axis=0)[:1], np.array(y, dtype=int))
    model.set_params(learning_rate=3.0).partial_fit(X[:1], [0]).partial_fit(X[1:2], [1])
    other.set_params(learning_rate=3.0).partial_fit(X[:2], [0, 1])
    assert facts(model) == facts(other)
