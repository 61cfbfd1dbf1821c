"""A fit that goes on from a checkpoint ends with the same bits as one that was not interrupted;
checkpoints of other fits, damaged, in use or on a full disk are refused, and nothing is lost.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import linsep
import linsep.learners.passes
import linsep.rows.source_stream
from interrupting import in_pass
from linsep import AROW, Checkpoint, KernelPerceptron, PassiveAggressive, Perceptron, Winnow
from linsep.errors import CheckpointError, ModelFileError, ParameterError
from linsep.kernels import RBF
from linsep.kernels.naming import as_kernel
from linsep.learners.keeping import KeepLast
from linsep.sources.arrays import ArraySource
from refusals import refused

rng = np.random.default_rng(5)
CODES = rng.integers(0, 3, 120)
X = rng.normal(size=(120, 7)) + np.eye(3)[CODES] @ rng.normal(size=(3, 7))
TWO = (CODES > 0).astype(int)
WHOLE = np.rint(X[:40, :2])  # few integer rows, in which cycles are found


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr(linsep.learners.passes, "rows_per_slice", lambda rows, columns: 37)
    monkeypatch.setattr(linsep.rows.source_stream, "BATCH_BYTES", 4000)
    monkeypatch.setattr("linsep.kernels.base.Kernel.rows_at_once", 32)


def interrupted(fit, n):
    """Interrupt fits at every n-th slice of rows until one ends, at least once."""
    count = []

    def pressed():
        count.append(1)
        if len(count) % n == 0:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linsep.learners.passes, "interruption_point", pressed)
        for times in range(500):
            try:
                model = fit()
            except KeyboardInterrupt:
                continue
            assert times
            return model
    raise AssertionError("it does not end")


def assert_same_bits(one, other):
    runs = one.fitted_run(), other.fitted_run()
    ours, theirs = (run.state.arrays() for run in runs)
    assert {k: a.tobytes() for k, a in ours.items()} == {k: a.tobytes() for k, a in theirs.items()}
    for name in ("reports", "trial", "seed"):
        assert getattr(runs[0], name) == getattr(runs[1], name)
    assert (runs[0].state.rounds, runs[0].state.n_updates, one.stop_reason_) == (
        runs[1].state.rounds, runs[1].state.n_updates, other.stop_reason_
    )  # fmt: skip
    assert str(one.cycle_) == str(other.cycle_)


FITS = {
    "last": (Perceptron, {}, X, CODES),
    "batch": (Perceptron, {"update": "batch", "early_stopping": True}, X, TWO),
    "rates": (Perceptron, {"learning_rate": lambda k: 1 / k, "normalize": True}, X, TWO),
    "average": (Perceptron, {"keep": "average", "early_stopping": True}, X, CODES),
    "vote": (Perceptron, {"keep": "vote", "multiclass": "ovo", "early_stopping": True}, X, CODES),
    "best": (PassiveAggressive, {"keep": "best", "multiclass": "ovr"}, X, CODES),
    "variances": (AROW, {"class_weight": {0: 2.0}}, X, TWO),
    "threshold": (Winnow, {"keep": "average"}, np.abs(X), TWO),
    "cycle": (Perceptron, {"shuffle": False, "max_iter": 40}, WHOLE, TWO[:40]),
    "budget": (KernelPerceptron, {"keep": "average", "budget": 20}, X, CODES),
    "blocks": (KernelPerceptron, {"cache_mb": 0.0, "multiclass": "ovr"}, X, CODES),
    "no cache": (KernelPerceptron, {"cache_mb": 0.0, "early_stopping": True}, X, CODES),
    "kernel vote": (KernelPerceptron, {"kernel": "poly", "keep": "vote"}, X, CODES),
    "kernel cycle": (
        KernelPerceptron, {"kernel": "linear", "shuffle": False, "max_iter": 40}, WHOLE, TWO[:40]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FITS)
def test_it_goes_on_and_is_not_repeated_when_it_has_ended(tmp_path, monkeypatch, case):
    kind, how, rows, labels = FITS[case]

    def fit(path=None, **more):
        checkpoint = None if path is None else Checkpoint(path, **more)
        return kind(**{"max_iter": 4} | how).fit(rows, labels, checkpoint=checkpoint)

    expected = fit()
    assert_same_bits(interrupted(lambda: fit(tmp_path / "c"), 2), expected)
    assert os.listdir(tmp_path) == []
    fit(tmp_path / "c", keep=True)
    monkeypatch.setattr(linsep.learners.passes, "one_pass", None)
    again = fit(tmp_path / "c")
    assert_same_bits(again, expected)
    assert type(again.stop_reason_) is type(expected.stop_reason_)
    assert again.predict(rows).tolist() == expected.predict(rows).tolist()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("how", "late", "memory", "cached"),
    [
        ({}, False, 0, True),
        ({"early_stopping": True, "keep": "vote"}, True, 1 << 28, False),
        ({"keep": "best", "class_weight": "balanced"}, True, 0, True),
    ],
)
def test_sources_go_on(tmp_path, monkeypatch, how, late, memory, cached):
    order = np.argsort(CODES == 2, kind="stable") if late else np.arange(CODES.size)
    dump_svmlight_file(X[order], CODES[order], str(tmp_path / "t.svm"))

    def fit(checkpoint=None):
        cache = tmp_path / "cache" if cached else None
        source = linsep.open_source(tmp_path / "t.svm", cache=cache)
        source.memory_bytes = memory
        return Perceptron(max_iter=4, **how).fit(source, checkpoint=checkpoint)

    expected = fit()
    found = interrupted(lambda: fit(tmp_path / "c"), 5)
    fit(Checkpoint(tmp_path / "c", keep=True))
    monkeypatch.setattr(linsep.learners.passes, "one_pass", None)
    for model in (found, fit(tmp_path / "c")):
        assert_same_bits(model, expected)
        assert model.training_accuracy_ == expected.training_accuracy_
        assert model.recipe_ == expected.recipe_


def test_a_pass_that_is_learned_but_not_measured_goes_on(tmp_path, monkeypatch):
    def fit(checkpoint=None):
        return Perceptron(max_iter=4, early_stopping=True, update="batch").fit(
            X, TWO, checkpoint=checkpoint
        )

    measure, count = KeepLast.accuracy, []

    def pressed(*of):
        count.append(1)
        if len(count) in (1, 3, 4):
            raise KeyboardInterrupt
        return measure(*of)

    expected = fit()
    monkeypatch.setattr(KeepLast, "accuracy", pressed)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            fit(tmp_path / "c")
    assert_same_bits(fit(tmp_path / "c"), expected)


def test_a_seed_that_was_drawn_is_kept(tmp_path):
    def fit():
        return Perceptron(random_state=None, max_iter=4).fit(X, TWO, checkpoint=tmp_path / "c")

    found = interrupted(fit, 4)
    assert_same_bits(found, Perceptron(max_iter=4).fit_rows(X, TWO, seed=found.fitted_run().seed))


def test_written_between_batches(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(Checkpoint, "write", lambda self, arrays, about: written.append(about))
    given = {"checkpoint": Checkpoint(tmp_path / "c", every=1e-9)}
    Perceptron(max_iter=3, shuffle=False).fit(X, TWO, **given)
    assert [about["course"]["number"] for about in written] == [0, 1, 2]


OTHER_PROCESS = """
import os, sys, numpy as np, linsep, linsep.learners.passes as passes
walk = passes.one_pass
def one_pass(course):
    if course.number == 2 and sys.argv[5] == "killed": os._exit(3)
    return walk(course)
passes.one_pass = one_pass
X, y, path, out = np.load(sys.argv[1]), np.load(sys.argv[2]), sys.argv[3], sys.argv[4]
path = linsep.Checkpoint(path, every=1e-9)
model = linsep.Perceptron(max_iter=4, keep="average", multiclass="ovr").fit(X, y, checkpoint=path)
np.save(out, np.column_stack([model.coef_, model.intercept_]))
"""


@pytest.mark.thorough
def test_what_compiled_code_began_the_interpreter_ends(tmp_path):
    whole = np.rint(4 * X)  # the interpreter adds products in another order
    np.save(tmp_path / "X.npy", whole)
    np.save(tmp_path / "y.npy", CODES)
    files = [str(tmp_path / name) for name in ("X.npy", "y.npy", "c", "w.npy")]
    for off, how, exit_code in (("0", "killed", 3), ("1", "whole", 0)):
        command = [sys.executable, "-c", OTHER_PROCESS, *files, how]
        environment = os.environ | {"NUMBA_DISABLE_JIT": off}
        assert subprocess.run(command, check=False, env=environment).returncode == exit_code
    model = Perceptron(max_iter=4, keep="average", multiclass="ovr").fit(whole, CODES)
    expected = np.column_stack([model.coef_, model.intercept_])
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), expected)


def test_a_cache_damaged_before_the_fit_goes_on_changes_nothing(tmp_path):
    dump_svmlight_file(X, CODES, str(tmp_path / "t.svm"))

    def fit(checkpoint=None):
        source = linsep.open_source(tmp_path / "t.svm", cache=tmp_path / "cache")
        source.memory_bytes = 0
        return Perceptron(max_iter=5, keep="average").fit(source, checkpoint=checkpoint)

    expected = fit()
    with in_pass(1), pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "c")
    (row_cache,) = (tmp_path / "cache").rglob("*.rows")
    content = bytearray(row_cache.read_bytes())
    content[len(content) // 2] ^= 1
    row_cache.write_bytes(content)
    found = fit(tmp_path / "c")
    assert_same_bits(found, expected)


def left(path, model=None, rows=X, y=TWO, **more):
    """Leave the checkpoint of a fit that is interrupted at the start of its second pass."""
    with in_pass(1), pytest.raises(KeyboardInterrupt):
        (model or Perceptron(max_iter=4)).fit(rows, y, checkpoint=path, **more)
    assert path.exists()


@pytest.mark.parametrize(
    ("model", "rows", "y", "more"),
    [
        (Perceptron(max_iter=5), X, TWO, {}), (Perceptron(max_iter=4), X + 1e-9, TWO, {}),
        (Perceptron(max_iter=4), X, 1 - TWO, {}), (Perceptron(max_iter=4), X[1:], TWO[1:], {}),
        (Perceptron(max_iter=4), X, TWO, {"sample_weight": np.full(120, 2.0)}),
        (Perceptron(max_iter=4), X, TWO, {"coef_init": np.ones((1, 7))}),
        (Winnow(max_iter=4), np.abs(X), TWO, {}),
    ],
    ids=["parameter", "values", "labels", "shape", "weights", "start", "learner"],
)  # fmt: skip
def test_another_fit_is_refused(tmp_path, model, rows, y, more):
    path = tmp_path / "c"
    left(path)
    before = path.read_bytes()
    with refused(CheckpointError, "bad-checkpoint", path=path):
        model.fit(rows, y, checkpoint=path, **more)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c"]


def test_another_version_or_file_is_refused(tmp_path, monkeypatch):
    dump_svmlight_file(X, TWO, str(tmp_path / "t.svm"))
    opened = lambda: linsep.open_source(tmp_path / "t.svm")  # noqa: E731
    left(tmp_path / "c", rows=opened(), y=None)
    with monkeypatch.context() as patch, refused(CheckpointError, "bad-checkpoint"):
        patch.setattr(linsep, "__version__", "99.0")
        Perceptron(max_iter=4).fit(opened(), checkpoint=tmp_path / "c")
    dump_svmlight_file(X[1:], TWO[1:], str(tmp_path / "t.svm"))
    with refused(CheckpointError, "bad-checkpoint"):
        Perceptron(max_iter=4).fit(opened(), checkpoint=tmp_path / "c")


SQUARE, CUBE = (lambda a, b: float(a @ b + 1) ** 2), (lambda a, b: float(a @ b + 1) ** 3)


@pytest.mark.parametrize("within", [lambda f: f, lambda f: as_kernel(f) + RBF(0.5)])
def test_another_function_of_the_same_name_is_refused(tmp_path, within):
    few, labels = X[:20], TWO[:20]
    for function in (SQUARE, SQUARE):
        left(tmp_path / "c", KernelPerceptron(kernel=within(function), max_iter=3), few, labels)
    with refused(CheckpointError, "bad-checkpoint"):
        KernelPerceptron(kernel=within(CUBE), max_iter=3).fit(
            few, labels, checkpoint=tmp_path / "c"
        )


def test_a_label_is_not_taken_for_a_place_in_memory(tmp_path):
    labels = np.array(["0x1", "0x2"])[TWO]
    left(tmp_path / "c", Perceptron(max_iter=3, reference="0x1"), y=labels)
    with refused(CheckpointError, "bad-checkpoint"):
        Perceptron(max_iter=3, reference="0x2").fit(X, labels, checkpoint=tmp_path / "c")


def test_damaged_checkpoints_are_refused(tmp_path):
    left(tmp_path / "c")
    whole, path = (tmp_path / "c").read_bytes(), tmp_path / "d"
    for k in [*range(0, len(whole), 397), len(whole) - 1]:
        for content in (whole[:k], whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :]):
            path.write_bytes(content)
            with refused(CheckpointError, "bad-checkpoint"):
                Perceptron(max_iter=4).fit(X, TWO, checkpoint=path)
            assert path.read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        {"course": {}}, {"fit": None}, {"seed": "x"}, {"machines": []},
        {"training": {"rounds": -1}},
        {"training": {"passes": []}}, {"course": {"best": [1]}},
        {"course": {"number": 2**70}},
    ],
    ids=str,
)  # fmt: skip
def test_edited_checkpoints_are_refused(tmp_path, change):
    path = tmp_path / "c"
    left(path)
    arrays, about = Checkpoint(path).read()
    ((name, value),) = change.items()
    about[name] = about[name] | value if isinstance(value, dict) and value else value
    Checkpoint(path).write(arrays, json.loads(json.dumps(about)))
    with refused(CheckpointError, "bad-checkpoint"):
        Perceptron(max_iter=4).fit(X, TWO, checkpoint=path)


def test_arrays_of_another_shape_are_refused(tmp_path):
    path = tmp_path / "c"
    left(path)
    arrays, about = Checkpoint(path).read()
    for name in ("last.coef", "counts.updates", "tally"):
        for wrong in (np.zeros(3), np.zeros((2, 2)), arrays[name].astype(np.float32)):
            Checkpoint(path).write(arrays | {name: wrong}, about)
            with refused(CheckpointError, "bad-checkpoint"):
                Perceptron(max_iter=4).fit(X, TWO, checkpoint=path)


def test_a_model_file_is_no_checkpoint_and_the_other_way(tmp_path):
    linsep.save(Perceptron().fit(X, TWO), tmp_path / "m")
    with refused(CheckpointError, "wrong-format"):
        Perceptron().fit(X, TWO, checkpoint=tmp_path / "m")
    left(tmp_path / "c")
    with refused(ModelFileError, "wrong-format"):
        linsep.load(tmp_path / "c")


def test_two_fits_cannot_use_one_checkpoint(tmp_path):
    path = tmp_path / "c"
    code = (
        "import sys, linsep\n"
        "with linsep.Checkpoint(sys.argv[1]).locked():\n"
        "    print('locked', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with other:
        assert other.stdout.readline() == b"locked\n"
        with refused(CheckpointError, "in-use"):
            Perceptron().fit(X, TWO, checkpoint=path)
        other.kill()
    Perceptron().fit(X, TWO, checkpoint=path)  # the lock of a killed process does not last
    assert os.listdir(tmp_path) == []


def test_places_without_checkpoints_are_refused_before_the_fit(tmp_path):
    for path, code in ((tmp_path / "none" / "c", "no-file"), (tmp_path, "not-a-file"),
                       ("", "not-a-file")):  # fmt: skip
        with refused(CheckpointError, code):
            Perceptron().fit(X, TWO, checkpoint=path)
    with refused(CheckpointError, "unsupported"):  # such rows cannot be read again
        Perceptron().fit(ArraySource(sp.csr_matrix(X), TWO), checkpoint=tmp_path / "c")
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told_once_and_the_fit_goes_on(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(UserWarning, match="No space") as told:
        model = Perceptron(max_iter=4).fit(
            X, TWO, checkpoint=Checkpoint(tmp_path / "c", every=1e-9)
        )
    assert len(told) == 1
    monkeypatch.undo()
    assert_same_bits(model, Perceptron(max_iter=4).fit(X, TWO))
    assert os.listdir(tmp_path) == []


def test_intervals(tmp_path):
    for every in ("", "60", "0s", "-1s", "5 days", "10 rows", 0, -1, np.nan, np.inf):
        with refused(ParameterError, "bad-option", option="every"):
            Checkpoint(tmp_path / "c", every=every)
    for every, seconds in (("90s", 90), ("1.5m", 90), ("2h", 7200), (3, 3), (1e-07, 1e-07)):
        assert Checkpoint(tmp_path / "c", every=every).seconds == seconds


def test_a_link_stays_and_what_it_names_is_removed(tmp_path):
    left(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    Perceptron(max_iter=4).fit(X, TWO, checkpoint=tmp_path / "link")
    assert os.listdir(tmp_path) == ["link"]
