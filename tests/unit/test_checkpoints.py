"""A fit that goes on from a checkpoint ends with the same bits as one that was not interrupted."""

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import linsep
import linsep.learners.passes
import linsep.learners.stored
import linsep.rows.source_stream
from interrupting import in_pass
from linsep import (
    BalancedWinnow,
    Checkpoint,
    KernelPerceptron,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    Winnow,
)
from linsep.checkpoints.saving import Saving
from linsep.rows.source_stream import SourceStream
from thoroughness import THOROUGH, interpreted, met

pytestmark = pytest.mark.compiled  # the passes do not know about checkpoints

rng = np.random.default_rng(5)
CODES = rng.integers(0, 3, 240)
X = rng.normal(size=(240, 7)) + np.eye(3)[CODES] @ rng.normal(size=(3, 7))
TWO = (CODES > 0).astype(int)
EVERY = met(
    [Perceptron, MarginPerceptron, PassiveAggressive, Winnow, BalancedWinnow],
    ["last", "average", "vote", "best"],
    ["native", "ovr", "ovo"],
    [False, True],
    ["two", "three"],
)


@pytest.fixture
def small_slices(monkeypatch):
    monkeypatch.setattr(linsep.learners.passes, "rows_per_slice", lambda rows, columns: 37)
    monkeypatch.setattr(linsep.rows.source_stream, "BATCH_BYTES", 4000)


@pytest.fixture
def interrupted(monkeypatch):
    """Interrupt fits at every n-th pause until one ends; return it and how many there were."""
    pause = linsep.learners.stored.SavedOnlineFit.pause

    def run(fit, n):
        count = []

        def pressed(*arguments):
            count.append(1)
            pause(*arguments)
            if len(count) % n == 0:
                raise KeyboardInterrupt

        monkeypatch.setattr(linsep.learners.stored.SavedOnlineFit, "pause", pressed)
        for times in range(1, 500):
            try:
                return fit(), times
            except KeyboardInterrupt:
                continue
        raise AssertionError("it does not end")

    return run


def assert_same_bits(one, other):
    ours, theirs = one.fitted_run().state, other.fitted_run().state
    for name in ("shaped", "counts"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert a.keys() == b.keys()
        for key in a:
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)
    assert (ours.rounds, ours.n_updates) == (theirs.rounds, theirs.n_updates)
    assert one.fitted_run().reports == other.fitted_run().reports
    assert one.fitted_run().trial == other.fitted_run().trial
    assert one.stop_reason_ == other.stop_reason_
    kept = other.fitted_run().keeping.arrays()
    for name, array in one.fitted_run().keeping.arrays().items():
        np.testing.assert_array_equal(array, kept[name], err_msg=name)


@pytest.mark.parametrize(
    ("learner", "keep", "multiclass", "held_out", "y"),
    interpreted(EVERY, *(case for case in EVERY if case[0] is Perceptron)),
)
def test_every_learner_goes_on(
    tmp_path, small_slices, interrupted, learner, keep, multiclass, held_out, y
):
    labels = TWO if y == "two" else CODES
    labels, rows = labels[:120], (np.abs(X) if learner in (Winnow, BalancedWinnow) else X)[:120]
    path = tmp_path / "c"

    def fit(**how):
        model = learner(keep=keep, multiclass=multiclass, early_stopping=held_out, max_iter=5)
        return model.fit(rows, labels, **how)

    expected = fit()
    found, times = interrupted(lambda: fit(checkpoint=path), 4)
    assert times > 1
    assert_same_bits(found, expected)
    assert os.listdir(tmp_path) == []


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    "how",
    [
        {"update": "batch"},
        {"schedule": "inverse_sqrt", "normalize": True},
        {"learning_rate": lambda k: 1 / k},
        {"shuffle": False, "max_iter": 40},
        {"class_weight": {0: 2.0}, "keep": "average"},
        {"zero": "negative", "keep": "best"},
    ],
    ids=["batch", "inverse_sqrt", "function", "cycle", "weights", "zero"],
)
def test_every_schedule_goes_on(tmp_path, small_slices, interrupted, how):
    # few integer rows, so that a cycle is found
    rows, labels = (np.rint(X[:40, :2]), TWO[:40]) if "shuffle" in how else (X[:120], TWO[:120])
    given = {"max_iter": 6} | how
    expected = Perceptron(**given).fit(rows, labels)
    every = 3 if "shuffle" not in how else 1
    found, times = interrupted(
        lambda: Perceptron(**given).fit(rows, labels, checkpoint=tmp_path / "c"), every + 1
    )
    assert times > 1
    assert_same_bits(found, expected)
    assert str(found.cycle_) == str(expected.cycle_)


@pytest.mark.parametrize(
    ("how", "late", "memory", "cached"),
    list(
        product(
            [
                {},
                {"early_stopping": True, "keep": "vote"},
                {"keep": "best", "class_weight": "balanced"},
            ],
            [False, True],
            [0, 1 << 28],
            [False, True],
        )
    )[:: 3 if THOROUGH else 5],
)
def test_sources_go_on(tmp_path, small_slices, interrupted, how, late, memory, cached):
    order = np.argsort(CODES == 2, kind="stable") if late else np.arange(CODES.size)
    dump_svmlight_file(X[order], CODES[order], str(tmp_path / "t.svm"))

    def fit(**more):
        source = linsep.open_source(
            tmp_path / "t.svm", cache=tmp_path / "cache" if cached else None
        )
        source.memory_bytes = memory
        return Perceptron(max_iter=4, **how).fit(source, **more)

    expected = fit()
    found, times = interrupted(lambda: fit(checkpoint=tmp_path / "c"), 5)
    assert times > 1
    assert_same_bits(found, expected)
    assert found.training_accuracy_ == expected.training_accuracy_
    assert found.recipe_ == expected.recipe_


@pytest.mark.parametrize("memory", [0, 1 << 28])
def test_a_pass_that_is_learned_but_not_measured_goes_on(tmp_path, monkeypatch, memory):
    dump_svmlight_file(X, TWO, str(tmp_path / "t.svm"))

    def fit(**more):
        source = linsep.open_source(tmp_path / "t.svm")
        source.memory_bytes = memory
        return Perceptron(max_iter=4, early_stopping=True, update="batch").fit(source, **more)

    measure, count = linsep.learners.passes.held_out_accuracy, []

    def pressed(*of):
        count.append(1)
        if len(count) in (1, 3, 4):
            raise KeyboardInterrupt
        return measure(*of)

    expected = fit()
    monkeypatch.setattr(linsep.learners.passes, "held_out_accuracy", pressed)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            fit(checkpoint=tmp_path / "c")
    assert_same_bits(fit(checkpoint=tmp_path / "c"), expected)


@pytest.mark.parametrize(
    "how",
    [
        {"keep": "average", "budget": 20},
        {"cache_mb": 0.0, "budget": 20},
        {"cache_mb": 0.0, "multiclass": "ovr"},
        {"keep": "average"},
        {"kernel": "poly", "keep": "vote", "multiclass": "ovo"},
        {"early_stopping": True, "cache_mb": 0.0},
        {"early_stopping": True, "keep": "average", "budget": 20},
        {"kernel": "linear", "shuffle": False},
    ],
    ids=[
        "budget",
        "no cache",
        "blocks",
        "rows",
        "vote",
        "held out",
        "at last",
        "in order",
    ],
)
def test_kernels_go_on(tmp_path, interrupted, monkeypatch, how):
    monkeypatch.setattr("linsep.kernels.base.Kernel.rows_at_once", 32)
    expected = KernelPerceptron(max_iter=3, **how).fit(X, CODES)
    found, times = interrupted(
        lambda: KernelPerceptron(max_iter=3, **how).fit(X, CODES, checkpoint=tmp_path / "c"), 3
    )
    assert times > 1
    assert_same_bits(found, expected)
    np.testing.assert_array_equal(found.support_, expected.support_)


def test_a_seed_that_was_drawn_is_kept(tmp_path, small_slices, interrupted):
    def fit():
        return Perceptron(random_state=None, max_iter=4).fit(X, TWO, checkpoint=tmp_path / "c")

    found, times = interrupted(fit, 4)
    assert times > 1
    saving = Saving()
    saving.seed = found.fitted_run().seed
    assert_same_bits(found, Perceptron(max_iter=4).fit_rows(X, TWO, saving=saving))


def test_written_after_so_many_rows_or_seconds(tmp_path, small_slices, monkeypatch):
    written = []
    monkeypatch.setattr(Checkpoint, "write", lambda self, arrays, about: written.append(about))
    Perceptron(max_iter=2, shuffle=False).fit(
        X, TWO, checkpoint=Checkpoint(tmp_path / "c", every="100 rows")
    )
    assert [about["course"]["rows"] for about in written] == [111, 222, 111, 222]


OTHER_PROCESS = """
import sys, numpy as np, linsep, linsep.learners.passes as passes
passes.rows_per_slice = lambda rows, columns: 37
X, y, path, out = np.load(sys.argv[1]), np.load(sys.argv[2]), sys.argv[3], sys.argv[4]
model = linsep.Perceptron(max_iter=4, keep="average", multiclass="ovr").fit(X, y, checkpoint=path)
np.save(out, np.column_stack([model.coef_, model.intercept_]))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("begun", ["0", "1"] if THOROUGH else ["0"])
def test_what_compiled_code_began_the_interpreter_ends_and_the_other_way(tmp_path, begun):
    whole = np.rint(4 * X)  # the interpreter adds products in another order
    np.save(tmp_path / "X.npy", whole)
    np.save(tmp_path / "y.npy", CODES)
    stopped = (
        OTHER_PROCESS.replace("sys, numpy", "os, sys, numpy")
        .replace(
            "X, y, path",
            "walk = passes.one_pass\n"
            "def one_pass(course, saving):\n"
            "    if course.number == 2: os._exit(3)\n"
            "    return walk(course, saving)\n"
            "passes.one_pass = one_pass\nX, y, path",
            1,
        )
        .replace("checkpoint=path", 'checkpoint=linsep.Checkpoint(path, every="50 rows")')
    )
    files = [str(tmp_path / name) for name in ("X.npy", "y.npy", "c", "w.npy")]
    for code, off, exit_code in (
        (stopped, begun, 3),
        (OTHER_PROCESS, str(1 - int(begun)), 0),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *files],
            check=False,
            env=os.environ | {"NUMBA_DISABLE_JIT": off},
        )
        assert done.returncode == exit_code
    model = Perceptron(max_iter=4, keep="average", multiclass="ovr").fit(whole, CODES)
    expected = np.column_stack([model.coef_, model.intercept_])
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), expected)


def test_a_cache_damaged_after_the_fit_went_on_changes_nothing(tmp_path, monkeypatch):
    dump_svmlight_file(X, CODES, str(tmp_path / "t.svm"))

    def fit(**more):
        source = linsep.open_source(tmp_path / "t.svm", cache=tmp_path / "cache")
        source.memory_bytes = 0
        return Perceptron(max_iter=5, keep="average").fit(source, **more)

    expected = fit()
    with in_pass(1), pytest.raises(KeyboardInterrupt):
        fit(checkpoint=tmp_path / "c")
    (row_cache,) = (tmp_path / "cache").rglob("*.rows")
    row_batches, damaged = SourceStream.row_batches, []

    def damaging(stream, pass_number, *start):
        if pass_number == 3 and not damaged:
            content = bytearray(row_cache.read_bytes())
            content[len(content) // 2] ^= 1
            row_cache.write_bytes(content)
            damaged.append(True)
        return row_batches(stream, pass_number, *start)

    monkeypatch.setattr(SourceStream, "row_batches", damaging)
    found = fit(checkpoint=tmp_path / "c")
    assert damaged
    assert_same_bits(found, expected)


ENDED = [
    (Perceptron, {"keep": "average"}),
    (Perceptron, {"keep": "best", "early_stopping": True}),
    (Perceptron, {"keep": "vote", "multiclass": "ovo", "early_stopping": True}),
    (PassiveAggressive, {"max_iter": 3}),
    (Perceptron, {"shuffle": False, "max_iter": 40}),
    (KernelPerceptron, {"kernel": "rbf", "budget": 20}),
    (KernelPerceptron, {"kernel": "linear", "shuffle": False, "max_iter": 40}),
]


@pytest.mark.parametrize("case", range(len(ENDED)))
def test_a_fit_that_has_ended_is_not_repeated(tmp_path, monkeypatch, case):
    kind, how = ENDED[case]
    cycle = how.get("shuffle") is False
    rows, labels = (np.rint(X[:40, :2]), TWO[:40]) if cycle else (X, CODES)
    fit = lambda **more: kind(**{"max_iter": 6} | how).fit(rows, labels, **more)  # noqa: E731
    expected, kept = fit(), Checkpoint(tmp_path / "c", keep=True)
    assert_same_bits(fit(checkpoint=kept), expected)
    monkeypatch.setattr(linsep.learners.passes, "one_pass", None)
    again = fit(checkpoint=Checkpoint(tmp_path / "c"))
    assert_same_bits(again, expected)
    assert type(again.stop_reason_) is type(expected.stop_reason_)
    assert (again.stop_reason_ == "cycle") == cycle
    assert str(again.cycle_) == str(expected.cycle_)
    assert again.predict(rows).tolist() == expected.predict(rows).tolist()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("memory", [0, 1 << 28])
def test_a_fit_of_a_file_that_has_ended_is_not_repeated(tmp_path, monkeypatch, memory):
    dump_svmlight_file(X, CODES, str(tmp_path / "t.svm"))

    def fit(**more):
        source = linsep.open_source(tmp_path / "t.svm", cache=None)
        source.memory_bytes = memory
        return Perceptron(max_iter=4, keep="average").fit(source, **more)

    expected = fit()
    fit(checkpoint=Checkpoint(tmp_path / "c", keep=True))
    monkeypatch.setattr(linsep.learners.passes, "one_pass", None)
    again = fit(checkpoint=tmp_path / "c")
    assert_same_bits(again, expected)
    assert again.training_accuracy_ == expected.training_accuracy_
