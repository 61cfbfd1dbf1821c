"""scikit-learn's callback protocol: progress bars, monitors, stopping, cleaning up."""

import io
from contextlib import redirect_stdout

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linsep import LogisticRegression, Perceptron
from linsep.logistic.solution import UnfinishedWarning
from refusals import refused
from storages import SCHEMES, blobs, classes_of, weights

pytestmark = pytest.mark.compiled


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


@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_task_a_pass(scheme):
    k, multiclass = classes_of(scheme)
    X, y = blobs(40, k=k, spread=1.5)
    diary = Diary()
    model = Perceptron(multiclass=multiclass).set_callbacks(diary).fit(X, y)
    passes = [f"pass {number}" for number in range(model.n_iter_)]
    assert model.n_iter_ > 1
    assert hooks(diary, "begin") == ["fit", *passes]
    assert hooks(diary, "end") == [*passes, "fit"]
    assert diary.events[0] == ("setup", "fit")
    assert diary.events[-1] == ("teardown", "fit")
    assert weights(model) == weights(Perceptron(multiclass=multiclass).fit(X, y))


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


@pytest.mark.parametrize("stop_after", range(1, 8))
def test_a_stopped_run_keeps_the_best_held_out_weights(stop_after):
    X, y = blobs(200, 8, 4, spread=5.0)
    options = {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 100}
    model = Perceptron(**options).set_callbacks(Diary(stop_after)).fit(X, y)
    assert model.n_iter_ == stop_after + 1
    best = int(model.validation_scores_.argmax())
    assert weights(model) == weights(Perceptron(**options, max_iter=best + 1).fit(X, y))


@pytest.mark.parametrize(
    "fail_at", [("begin", "fit"), ("begin", "pass 1"), ("end", "pass 1"), ("end", "fit")]
)
def test_cleaned_up_after_an_error_of_a_callback(fail_at):
    X, y = blobs(40, spread=9.0)
    diary = Diary(fail_at=fail_at)
    model = Perceptron(max_iter=5).set_callbacks(diary)
    with pytest.raises(RuntimeError, match="diary is full"):
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


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(StandardScaler(), m)])
def test_progress_bar_of_scikit_learn(wrap):
    X, y = blobs(60, spread=5.0)
    model = wrap(Perceptron(max_iter=5))
    shown = io.StringIO()
    with redirect_stdout(shown):
        model.set_callbacks(ProgressBar()).fit(X, y)
    assert "Perceptron" in shown.getvalue()
    assert "100%" in shown.getvalue()


NOISY_X, NOISY_Y = blobs(60, spread=5.0)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"solver": "gradient_ascent", "tol": 1e-3},
        {"penalty": "firth"},
        {"l2": 1.0},
    ],
    ids=str,
)
def test_one_task_an_iteration(how):
    diary = Diary()
    model = LogisticRegression(**how).set_callbacks(diary)
    model.fit(NOISY_X, NOISY_Y, sample_weight=np.ones(60))
    iterations = [f"iteration {number}" for number in range(model.n_iter_)]
    assert model.n_iter_ > 1
    assert hooks(diary, "begin") == ["fit", *iterations]
    assert hooks(diary, "end") == [*iterations, "fit"]
    assert diary.events[-1] == ("teardown", "fit")
    assert all(given_X is NOISY_X for given_X, _, _ in diary.given)
    assert all(len(metadata["sample_weight"]) == 60 for _, _, metadata in diary.given)
    likelihoods = [found.log_likelihood_ for found in diary.models]
    assert model.log_likelihood_ == likelihoods[-1] > likelihoods[0]
    assert diary.models[0].predict(NOISY_X).shape == (60,)
    assert np.isnan(diary.models[0].standard_errors_).all()
    np.testing.assert_allclose(diary.models[-2].coef_, model.coef_, rtol=1e-9)


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


def test_callbacks_of_a_regression_are_cleaned_up_after_an_error():
    diary = Diary(fail_at=("end", "iteration 1"))
    model = LogisticRegression().set_callbacks(diary)
    with pytest.raises(RuntimeError, match="diary is full"):
        model.fit(NOISY_X, NOISY_Y)
    assert diary.events[-1] == ("teardown", "fit")
    assert not hasattr(model, "coef_")


def test_monitors_and_bars_of_scikit_learn_see_iterations():
    monitor = ScoringMonitor(scoring="neg_log_loss")
    shown = io.StringIO()
    model = LogisticRegression().set_callbacks(monitor, ProgressBar())
    with redirect_stdout(shown):
        model.fit(NOISY_X, NOISY_Y)
    rows = monitor.get_logs().data
    found = {row["task_id_path"][1:]: row["neg_log_loss"] for row in rows}
    assert set(found) == {(k,) for k in range(model.n_iter_)} | {()}
    assert found[()] == pytest.approx(model.log_likelihood_ / 60, rel=1e-12)
    assert "LogisticRegression" in shown.getvalue()
