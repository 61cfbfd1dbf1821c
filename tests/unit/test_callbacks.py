"""scikit-learn's callback protocol, and what is drawn while long work goes on."""

import io
from contextlib import redirect_stdout
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linsep
from linsep import LogisticRegression, Perceptron
from linsep.cli import output
from linsep.learners import passes as loop
from linsep.logistic.task import UnfinishedWarning
from linsep.sources import open_source
from linsep.sources.tables.table import TableSource
from refusals import refused
from storages import blobs, classes_of, weights


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


@pytest.mark.parametrize("scheme", ["binary", "ovo"])
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


@pytest.mark.parametrize("stop_after", [2, 5])
def test_a_stopped_run_keeps_the_best_held_out_weights(stop_after):
    X, y = blobs(200, 8, 4, spread=5.0)
    options = {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 100}
    model = Perceptron(**options).set_callbacks(Diary(stop_after)).fit(X, y)
    assert model.n_iter_ == stop_after + 1
    best = int(model.validation_scores_.argmax())
    assert weights(model) == weights(Perceptron(**options, max_iter=best + 1).fit(X, y))


@pytest.mark.parametrize("fail_at", [("begin", "fit"), ("end", "pass 1")])
def test_cleaned_up_after_an_error_of_a_callback(fail_at):
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


@pytest.fixture
def bar():
    shown = Progress(console=Console(file=io.StringIO()), auto_refresh=False)
    shown.add_task("reading", total=1.0, rows="", stage="")
    return shown


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).round(3)
    lines = [f"{a},{b},{c},{'uv'[k % 2]},{int(a + b + rng.normal() > 0)}" for k, (a, b, c) in
             enumerate(X.tolist())]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,t,y", *lines]) + "\n")
    return tmp_path / "t.csv"


class Somewhere:
    """A source that has been read to some byte."""

    stage, size, doing = "reading", 100, None

    def __init__(self, position):
        self.position = position


def course_of(model):
    state = model.new_state(model.learner(), 2, 3)
    run = loop.Run(state, model.learner(), loop.KeepLast())
    course = loop.Course(run, SimpleNamespace(n_rows=1000), model.tie, model.max_iter)
    course.begin()
    return course


def test_a_stage_that_is_done_leaves_no_time_of_its_own(bar):
    model = linsep.Perceptron(max_iter=10)
    (task,) = bar.tasks
    output._update(bar, 0, Somewhere(40), model)
    assert (task.description, task.completed, task.total) == ("reading", 0.4, 1.0)
    output._update(bar, 0, Somewhere(100), model)  # all is read, and it goes on
    assert (task.description, task.total) == ("working", None)
    model.progress_ = course_of(model)
    for rows in (100, 200):
        model.progress_.tally[loop.ROWS] = rows
        output._update(bar, 0, Somewhere(100), model)
        assert not task.finished
    assert task.description == "pass 1 of 10"
    assert (task.completed, task.total) == (0.02, 1.0)
    assert task.time_remaining != 0
    assert "200 rows" in task.fields["rows"]
    model.progress_.number = 9
    model.progress_.tally[loop.ROWS] = 1000
    output._update(bar, 0, Somewhere(100), model)
    assert (task.description, task.finished) == ("pass 10 of 10", False)
    model.progress_.stage = "measuring"
    output._update(bar, 0, Somewhere(100), model)
    assert (task.description, task.total, task.fields["rows"]) == ("measuring", None, "")


class Noted:
    """An attribute that notes what it is set to."""

    def __init__(self, seen):
        self.seen = seen

    def __get__(self, instance, owner=None):
        return "reading" if instance is None else instance.__dict__.get("stage", "reading")

    def __set__(self, instance, stage):
        instance.__dict__["stage"] = stage
        if stage not in self.seen:
            self.seen.append(stage)


@pytest.mark.parametrize(
    ("model", "stages"),
    [
        (linsep.Perceptron(max_iter=3), ["surveying", "reading", "learning", "measuring"]),
        (linsep.KernelPerceptron(max_iter=3), ["surveying", "reading", "learning", "measuring"]),
        (linsep.LogisticRegression(), ["surveying", "reading", "fitting", "measuring"]),
        (linsep.GaussianNaiveBayes(), ["surveying", "reading", "measuring"]),
        (linsep.LinearRegression(), ["surveying", "reading"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_stages_of_every_kind_of_learner(path, model, stages, monkeypatch):
    seen = []
    monkeypatch.setattr(TableSource, "stage", Noted(seen))
    monkeypatch.setattr(loop.Course, "stage", Noted(seen), raising=False)
    model.fit(open_source(path, target="y", scale="standard", reference_level="first"))
    assert seen == stages


class Looking:
    """A callback that draws the bar after each iteration and notes what it says."""

    def __init__(self, bar, source):
        self.bar, self.source, self.seen = bar, source, []

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, **known):
        output._update(self.bar, 0, self.source, estimator)
        (task,) = self.bar.tasks
        self.seen.append((task.description, task.total))


@pytest.mark.parametrize(("solver", "most"), [("newton", 50), ("gradient_ascent", 5)])
@pytest.mark.filterwarnings("ignore:The fit reached the iteration limit")
def test_iterations_of_a_logistic_regression_are_counted(bar, path, solver, most):
    source = open_source(path, target="y", exclude="t")
    model, looking = linsep.LogisticRegression(solver=solver, max_iter=most), Looking(bar, source)
    model.set_callbacks(looking).fit(source)
    made = model.n_iter_
    assert made > 2
    assert looking.seen[:made] == [(f"iteration {k:,}", None) for k in range(2, made + 2)]
    assert source.doing is None
