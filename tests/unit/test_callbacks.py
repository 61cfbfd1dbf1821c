"""scikit-learn's callback protocol."""

import numpy as np
import pytest
from sklearn.callback import ScoringMonitor

from linsep import LogisticRegression, Perceptron
from linsep.logistic.task import UnfinishedWarning
from refusals import refused
from storages import blobs, weights


class Diary:
    """Writes down every hook; stops after a given pass, fails at a given hook."""

    def __init__(self, stop_after=None, fail_at=None):
        self.stop_after, self.fail_at = stop_after, fail_at
        self.events, self.given, self.models = [], [], []

    def _write(self, hook, context):
        name = "fit" if context.parent is None else f"{context.task_name} {context.task_id}"
        self.events.append((hook, name))
        if (hook, name) == self.fail_at:
            raise RuntimeError("the diary is full")

    def setup(self, estimator, context):
        self._write("setup", context)

    def teardown(self, estimator, context):
        self._write("teardown", context)

    def on_fit_task_begin(self, estimator, context):
        self._write("begin", context)

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.given.append((X, y, metadata))
        self.models.append(fitted_estimator)
        self._write("end", context)
        return context.parent is not None and context.task_id == self.stop_after


def hooks(diary, hook):
    return [name for what, name in diary.events if what == hook]


def test_one_task_a_pass():
    X, y = blobs(40, spread=1.5)
    diary = Diary()
    model = Perceptron().set_callbacks(diary).fit(X, y)
    passes = [f"pass {number}" for number in range(model.n_iter_)]
    assert model.n_iter_ > 1
    assert hooks(diary, "begin") == ["fit", *passes]
    assert hooks(diary, "end") == [*passes, "fit"]
    assert diary.events[0] == ("setup", "fit")
    assert diary.events[-1] == ("teardown", "fit")
    assert weights(model) == weights(Perceptron().fit(X, y))


def test_each_task_comes_with_a_model_of_that_pass():
    X, y = blobs(40, spread=9.0)
    diary = Diary()
    weight = np.linspace(1.0, 2.0, 40)
    final = Perceptron(max_iter=4).set_callbacks(diary).fit(X, y, sample_weight=weight)
    for passes, model in enumerate(diary.models[:4], start=1):
        until = Perceptron(max_iter=passes).fit(X, y, sample_weight=weight)
        assert weights(model) == weights(until)
        assert model.predict(X).tolist() == until.predict(X).tolist()
        assert model.mistakes_.tolist() == until.mistakes_.tolist()
    assert weights(diary.models[4]) == weights(final)
    for given_X, given_y, metadata in diary.given:
        assert given_X is X
        assert np.shares_memory(given_y, y)
        assert metadata["sample_weight"] is weight


def test_a_callback_that_asks_to_stop_stops():
    X, y = blobs(40, spread=9.0)
    diary = Diary(stop_after=2)
    model = Perceptron().set_callbacks(diary).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (3, "early_stop")
    assert weights(model) == weights(Perceptron(max_iter=3).fit(X, y))
    assert diary.events[-2:] == [("end", "fit"), ("teardown", "fit")]
    last = Perceptron(max_iter=3).set_callbacks(Diary(stop_after=2)).fit(X, y)
    assert last.stop_reason_ == "max_iter"


def test_cleaned_up_after_an_error_of_a_callback():
    fail_at = ("end", "pass 1")
    X, y = blobs(40, spread=9.0)
    diary = Diary(fail_at=fail_at)
    model = Perceptron(max_iter=5).set_callbacks(diary)
    with pytest.raises(RuntimeError):
        model.fit(X, y)
    assert diary.events[-2:] == [fail_at, ("teardown", "fit")]


def test_cleaned_up_after_an_error_in_the_data():
    X, y = blobs(40, spread=9.0)
    X[30, 0] = np.nan
    diary = Diary()
    with np.errstate(all="ignore"), refused(ValueError, "missing-value", row=31, column=0):
        Perceptron().set_callbacks(diary).fit(X, y)
    assert diary.events == [
        ("setup", "fit"),
        ("begin", "fit"),
        ("begin", "pass 0"),
        ("teardown", "fit"),
    ]


def test_scoring_monitor_of_scikit_learn():
    X, y = blobs(60, spread=5.0)
    monitor = ScoringMonitor(scoring="accuracy")
    model = Perceptron(max_iter=5).set_callbacks(monitor).fit(X, y)
    rows = monitor.get_logs().data
    found = {row["task_id_path"][1:]: row["accuracy"] for row in rows}
    expected = {(p,): Perceptron(max_iter=p + 1).fit(X, y).score(X, y) for p in range(5)}
    assert found == {**expected, (): model.score(X, y)}
    assert len(set(expected.values())) > 1


NOISY_X, NOISY_Y = blobs(60, spread=5.0)


@pytest.mark.parametrize("solver", ["newton", "gradient_ascent"])
def test_a_callback_that_asks_to_stop_ends_a_regression(solver):
    model = LogisticRegression(solver=solver).set_callbacks(Diary(stop_after=1))
    with pytest.warns(
        UnfinishedWarning, match="A callback stopped the fit before the maximum"
    ) as w:
        model.fit(NOISY_X, NOISY_Y)
    assert (model.n_iter_, model.stop_reason_) == (2, "early_stop")
    assert set(model.limits_.flat) == {"not checked"}
    assert [w.filename for w in w] == [__file__]
