"""What is drawn while long work goes on is true, at every stage of every learner."""

import io

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress
from sklearn.datasets import load_iris

import linsep
from linsep.cli import output
from linsep.errors import SeparationWarning
from linsep.learners import passes as loop
from linsep.logistic import limits as no_maximum, profiles
from linsep.separability import deciding
from linsep.separability.data import data_of
from linsep.separability.time_limit import Task
from linsep.sources import open_source
from linsep.sources.arrays import ArraySource
from linsep.sources.tables.table import TableSource

pytestmark = pytest.mark.compiled


@pytest.fixture
def bar():
    shown = Progress(console=Console(file=io.StringIO()), auto_refresh=False)
    shown.add_task("reading", total=1.0, rows="", stage="")
    return shown


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3)).round(3)
    lines = [f"{a},{b},{c},{'uv'[k % 2]},{int(a + b + rng.normal() > 0)}" for k, (a, b, c) in
             enumerate(X.tolist())]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,t,y", *lines]) + "\n")
    return tmp_path / "t.csv"


class Somewhere:
    """A source that has been read to some byte."""

    stage, size, doing = "reading", 100, None

    def __init__(self, position):
        self.position = position


def test_a_stage_that_is_done_leaves_no_time_of_its_own(bar):
    model = linsep.Perceptron(max_iter=10)
    (task,) = bar.tasks
    output._update(bar, 0, Somewhere(40), model)
    assert (task.description, task.completed, task.total) == ("reading", 0.4, 1.0)
    output._update(bar, 0, Somewhere(100), model)  # all is read, and it goes on
    assert (task.description, task.total) == ("working", None)
    model.progress_ = loop.Progress()
    model.progress_.begin(0, 1000)
    for rows in (100, 200):
        model.progress_.rows = rows
        output._update(bar, 0, Somewhere(100), model)
        assert not task.finished
    assert task.description == "pass 1 of 10"
    assert (task.completed, task.total) == (0.02, 1.0)
    assert task.time_remaining != 0
    assert "200 rows" in task.fields["rows"]
    model.progress_.begin(9, 1000)
    model.progress_.rows = 1000
    output._update(bar, 0, Somewhere(100), model)
    assert (task.description, task.finished) == ("pass 10 of 10", False)
    model.progress_.stage = "measuring"
    output._update(bar, 0, Somewhere(100), model)
    assert (task.description, task.total, task.fields["rows"]) == ("measuring", None, "")


def test_mistakes_of_earlier_passes_are_bars_beside_those_of_this_one(bar):
    model = linsep.Perceptron(max_iter=10)
    model.progress_ = loop.Progress()
    for number, mistakes in enumerate([80, 40, 10, 0]):
        model.progress_.begin(number, 1000)
        model.progress_.tally[loop.MISTAKES] = mistakes
    output._update(bar, 0, Somewhere(100), model)
    (task,) = bar.tasks
    assert task.fields["rows"].endswith("0 mistakes █▅▂")


@pytest.mark.parametrize(("values", "blocks", "ascii_only"), [
    ([], "", ""), ([0], "▁", " "), ([7, 0], "█▁", "# "), ([9] + [0] * 12, "▁" * 12, " " * 12),
    (list(range(8)), "▁▂▃▄▅▆▇█", " .:-=+*#"),
])  # fmt: skip
def test_sparklines(values, blocks, ascii_only):
    assert output.sparkline(values, ascii_only=True) == ascii_only
    assert output.sparkline(values) == blocks


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
    monkeypatch.setattr(loop.Progress, "stage", Noted(seen), raising=False)
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
    assert looking.seen[:made] == [
        (f"iteration {k:,}" + (f" of at most {most:,}" if k <= most else ""), None)
        for k in range(2, made + 2)
    ]
    assert source.doing is None


def test_what_comes_after_the_iterations_is_said(path, monkeypatch):
    seen, interval = [], profiles.Profile.interval

    def noting(*given):
        seen.append(source.doing())
        return interval(*given)

    monkeypatch.setattr(profiles.Profile, "interval", noting)
    source = open_source(path, target="y", exclude="t")
    linsep.LogisticRegression(intervals="profile").fit(source)
    assert seen == [f"profile interval {k} of 4" for k in range(1, 5)]


def test_the_question_of_separation_is_said(tmp_path, monkeypatch):
    (tmp_path / "s.csv").write_text("a,y\n1,0\n2,0\n3,1\n4,1\n")
    seen, search = [], no_maximum.VerdictData.by_search

    def noting(asked):
        seen.append(source.doing())
        return search(asked)

    monkeypatch.setattr(no_maximum.VerdictData, "by_search", noting)
    source = open_source(tmp_path / "s.csv", target="y")
    with pytest.warns(SeparationWarning):
        linsep.LogisticRegression().fit(source)
    assert seen == ["deciding whether there is a maximum"]


def test_questions_of_a_verdict_are_counted(bar, monkeypatch):
    """On three classes: every question of a verdict is drawn while it is being decided."""
    task, seen, search = Task(500.0), [], deciding.search

    def noting(*given):
        output._update_verdict(bar, 0, task)
        (drawn,) = bar.tasks
        seen.append((drawn.description, drawn.completed * task.questions))
        assert drawn.fields["rows"].endswith(" s left")
        assert 0 < int(drawn.fields["rows"].split()[0]) <= 500
        return search(*given)

    monkeypatch.setattr(deciding, "search", noting)
    deciding.decide(data_of(ArraySource(*load_iris(return_X_y=True))), task=task)
    assert [done for _, done in seen] == pytest.approx(range(7))
    for k, (description, _) in enumerate(seen, 1):
        assert description.startswith(f"subproblem {k} of 7, ")


def test_a_cache_is_not_called_a_file(path, tmp_path):
    for stage in ("measuring", "reading the cache"):
        source = open_source(path, target="y", cache=tmp_path / "cache")
        source.memory_bytes = 0
        seen = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TableSource, "stage", Noted(seen))
            linsep.Perceptron(max_iter=2).fit(source)
        assert stage in seen
        assert ("reading the cache" in seen) == (stage == "reading the cache")
