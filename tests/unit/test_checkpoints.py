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
from linsep.learners.state import KeepLast
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
    "batch": (Perceptron, {"update": "batch", "early_stopping": True}, X, TWO),
    "rates": (Perceptron, {"learning_rate": lambda k: 1 / k, "normalize": True}, X, TWO),
    "average": (Perceptron, {"keep": "average", "early_stopping": True}, X, CODES),
    "vote": (Perceptron, {"keep": "vote", "multiclass": "ovo", "early_stopping": True}, X, CODES),
    "best": (PassiveAggressive, {"keep": "best", "multiclass": "ovr"}, X, CODES),
    "variances": (AROW, {"class_weight": {0: 2.0}}, X, TWO),
    "cycle": (Perceptron, {"shuffle": False, "max_iter": 40}, WHOLE, TWO[:40]),
    "budget": (KernelPerceptron, {"keep": "average", "budget": 20}, X, CODES),
    "blocks": (KernelPerceptron, {"cache_mb": 0.0, "multiclass": "ovr"}, X, CODES),
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
        ({"early_stopping": True, "keep": "average"}, False, 1 << 28, False),
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
        (Perceptron(max_iter=4), X, 1 - TWO, {}),
        (Perceptron(max_iter=4), X, TWO, {"sample_weight": np.full(120, 2.0)}),
        (Perceptron(max_iter=4), X, TWO, {"coef_init": np.ones((1, 7))}),
        (Winnow(max_iter=4), np.abs(X), TWO, {}),
    ],
    ids=["parameter", "values", "labels", "weights", "start", "learner"],
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


def test_another_function_of_the_same_name_is_refused(tmp_path):
    def within(function):
        return as_kernel(function) + RBF(0.5)

    few, labels = X[:20], TWO[:20]
    for function in (SQUARE, SQUARE):
        left(tmp_path / "c", KernelPerceptron(kernel=within(function), max_iter=3), few, labels)
    with refused(CheckpointError, "bad-checkpoint"):
        KernelPerceptron(kernel=within(CUBE), max_iter=3).fit(
            few, labels, checkpoint=tmp_path / "c"
        )


def test_damaged_checkpoints_are_refused(tmp_path):
    left(tmp_path / "c")
    whole, path = (tmp_path / "c").read_bytes(), tmp_path / "d"
    for k in [*range(0, len(whole), 397), len(whole) - 1]:
        for content in (whole[:k], whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :]):
            path.write_bytes(content)
            with refused(CheckpointError, "bad-checkpoint"):
                Perceptron(max_iter=4).fit(X, TWO, checkpoint=path)
            assert path.read_bytes() == content


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
    for every in ("60", "0s", "10 rows", -1, np.inf):
        with refused(ParameterError, "bad-option", option="every"):
            Checkpoint(tmp_path / "c", every=every)
    for every, seconds in (("90s", 90), ("1.5m", 90), ("2h", 7200), (3, 3)):
        assert Checkpoint(tmp_path / "c", every=every).seconds == seconds


def test_edited_checkpoints_are_refused(tmp_path):
    path = tmp_path / "c"
    left(path)
    arrays, about = Checkpoint(path).read()
    edits = [(arrays, {name: wrong}) for name, wrong in (
        ("course", {}), ("fit", None), ("seed", "x"), ("machines", []),
        ("training", about["training"] | {"rounds": -1}),
        ("course", about["course"] | {"number": 2**70}),
    )]  # fmt: skip
    edits += [(arrays | {name: np.zeros(3)}, {}) for name in ("last.coef", "tally")]
    edits += [(arrays | {"last.coef": arrays["last.coef"].astype(np.float32)}, {})]
    for edited, change in edits:
        Checkpoint(path).write(edited, json.loads(json.dumps(about | change)))
        with refused(CheckpointError, "bad-checkpoint"):
            Perceptron(max_iter=4).fit(X, TWO, checkpoint=path)
