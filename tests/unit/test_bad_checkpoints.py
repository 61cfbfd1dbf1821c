"""Checkpoints of other fits, damaged, in use or on a full disk: one sentence, nothing lost."""

import functools
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
from interrupting import in_pass
from linsep import Checkpoint, KernelPerceptron, Perceptron, Winnow
from linsep.errors import CheckpointError
from linsep.kernels import RBF
from linsep.kernels.naming import as_kernel
from refusals import refused

pytestmark = pytest.mark.compiled  # the passes do not know about checkpoints

rng = np.random.default_rng(5)
TWO = rng.integers(0, 2, 240)
X = rng.normal(size=(240, 7)) + np.outer(TWO, rng.normal(size=7))


def assert_same_weights(one, other):
    assert one.coef_.tolist() == other.coef_.tolist()
    assert one.mistakes_.tolist() == other.mistakes_.tolist()


def stopped(model, path, rows=X, y=TWO, **more):
    """Interrupt a fit at the start of its second pass."""
    with in_pass(1), pytest.raises(KeyboardInterrupt):
        model.fit(rows, y, checkpoint=path, **more)


def left(path):
    """Leave a checkpoint of a fit of four passes."""
    stopped(Perceptron(max_iter=4), path)
    assert path.exists()


CHANGES = {
    "max_iter was 4 and is 5": ({"max_iter": 5}, X, TWO, {}),
    "keep was 'last' and is 'vote'": ({"keep": "vote"}, X, TWO, {}),
    "the values of the rows, their labels or weights": ({}, X + 1e-9, TWO, {}),
    "their labels or weights have changed": ({}, X, 1 - TWO, {}),
    r"shape was \[240, 7\] and is \[239, 7\]": ({}, X[1:], TWO[1:], {}),
    "the values": ({}, X, TWO, {"sample_weight": np.full(240, 2.0)}),
    "the initial weights have changed": ({}, X, TWO, {"coef_init": np.ones((1, 7))}),
    "learner was Perceptron and is Winnow": (None, np.abs(X), TWO, {}),
}


@pytest.mark.parametrize("message", CHANGES)
def test_another_fit_is_refused_with_what_differs(tmp_path, message):
    how, rows, y, more = CHANGES[message]
    path = tmp_path / "c"
    left(path)
    before = path.read_bytes()
    model = Winnow(max_iter=4) if how is None else Perceptron(**{"max_iter": 4} | how)
    with refused(CheckpointError, "bad-checkpoint"):
        model.fit(rows, y, checkpoint=path, **more)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c"]


def test_another_version_is_refused(tmp_path, monkeypatch):
    left(tmp_path / "c")
    monkeypatch.setattr(linsep, "__version__", "99.0")
    with refused(CheckpointError, "bad-checkpoint"):
        Perceptron(max_iter=4).fit(X, TWO, checkpoint=tmp_path / "c")


def test_another_file_is_refused(tmp_path):
    dump_svmlight_file(X, TWO, str(tmp_path / "t.svm"))
    source = linsep.open_source(tmp_path / "t.svm")
    model = Perceptron(max_iter=3)
    walk = linsep.learners.passes.learn_batch

    def pressed(run, scheme, batch, progress, pause):
        walk(run, scheme, batch, progress, pause)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linsep.learners.passes, "learn_batch", pressed)
        with pytest.raises(KeyboardInterrupt):
            model.fit(source, checkpoint=tmp_path / "c")
    dump_svmlight_file(X[1:], TWO[1:], str(tmp_path / "t.svm"))
    with refused(CheckpointError, "bad-checkpoint"):
        Perceptron(max_iter=3).fit(
            linsep.open_source(tmp_path / "t.svm"), checkpoint=tmp_path / "c"
        )


def test_damaged_checkpoints_are_refused(tmp_path):
    left(tmp_path / "c")
    whole = (tmp_path / "c").read_bytes()
    path = tmp_path / "d"
    for k in [*range(0, len(whole), 97), len(whole) - 1]:
        for content in (whole[:k], whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :]):
            path.write_bytes(content)
            with refused(CheckpointError, "bad-checkpoint"):
                Perceptron(max_iter=4).fit(X, TWO, checkpoint=path)
            assert path.read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        {"course": {}}, {"fit": None}, {"seed": "x"}, {"classes": 3}, {"machines": []},
        {"course": "number"}, {"course": {"rows": -1}}, {"course": {"features": 10**9}},
        {"course": {"reports": []}}, {"course": {"best": [1]}}, {"course": {"number": 2**70}},
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


@pytest.mark.parametrize("name", ["state.shaped.W", "state.counts.updates", "tally"])
def test_arrays_of_another_shape_are_refused(tmp_path, name):
    path = tmp_path / "c"
    left(path)
    arrays, about = Checkpoint(path).read()
    for wrong in (np.zeros(3), np.zeros((2, 2)), arrays[name].astype(np.float32)):
        Checkpoint(path).write(arrays | {name: wrong}, about)
        with refused(CheckpointError, "bad-checkpoint"):
            Perceptron(max_iter=4).fit(X, TWO, checkpoint=path)


def test_a_model_file_is_no_checkpoint_and_the_other_way(tmp_path):
    linsep.save(Perceptron().fit(X, TWO), tmp_path / "m")
    with refused(CheckpointError, "wrong-format"):
        Perceptron().fit(X, TWO, checkpoint=tmp_path / "m")
    left(tmp_path / "c")
    with refused(linsep.errors.ModelFileError, "wrong-format"):
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


def test_a_folder_without_locks_is_refused(tmp_path, monkeypatch):
    def lockless(*of, **how):
        raise NotImplementedError("no flock here")

    monkeypatch.setattr("filelock.FileLock.acquire", lockless)
    with refused(CheckpointError, "cannot-write"):
        Perceptron().fit(X, TWO, checkpoint=tmp_path / "c")
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told_once_and_the_fit_goes_on(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    checkpoint = Checkpoint(tmp_path / "c", every="30 rows")
    with pytest.warns(UserWarning, match="The checkpoint was not written; .* No space") as told:
        model = Perceptron(max_iter=4).fit(X, TWO, checkpoint=checkpoint)
    assert len(told) == 1
    monkeypatch.undo()
    assert_same_weights(model, Perceptron(max_iter=4).fit(X, TWO))
    assert os.listdir(tmp_path) == []


def test_bad_folders_are_refused_before_the_fit(tmp_path):
    with refused(CheckpointError, "no-file"):
        Perceptron().fit(X, TWO, checkpoint=tmp_path / "none" / "c")
    with refused(CheckpointError, "not-a-file"):
        Perceptron().fit(X, TWO, checkpoint=tmp_path)


def test_rows_that_cannot_be_read_again_have_no_checkpoint(tmp_path):
    from linsep.sources.arrays import ArraySource

    with refused(CheckpointError, "unsupported"):
        Perceptron().fit(ArraySource(sp.csr_matrix(X), TWO), checkpoint=tmp_path / "c")


@pytest.mark.parametrize(
    "every", ["", "60", "0s", "-1s", "5 days", "1.5rows", "2.0 rows", 0, -1, np.nan, np.inf]
)
def test_intervals(tmp_path, every):
    with pytest.raises(ValueError, match="is not an interval between checkpoints"):
        Checkpoint(tmp_path / "c", every=every)


@pytest.mark.parametrize(
    ("every", "seconds", "rows"),
    [("90s", 90, np.inf), ("1.5m", 90, np.inf), ("2h", 7200, np.inf), (3, 3, np.inf),
     ("500 rows", np.inf, 500), ("500rows", np.inf, 500),
     (1e20, 1e20, np.inf), (1e-07, 1e-07, np.inf)],
)  # fmt: skip
def test_intervals_as_text(tmp_path, every, seconds, rows):
    checkpoint = Checkpoint(tmp_path / "c", every=every)
    assert (checkpoint.seconds, checkpoint.rows) == (seconds, rows)


SQUARE, CUBE = (lambda a, b: float(a @ b + 1) ** 2), (lambda a, b: float(a @ b + 1) ** 3)


@pytest.mark.parametrize(
    "within",
    [lambda f: f, functools.partial, lambda f: as_kernel(f) + RBF(0.5)],
    ids=["function", "partial", "sum of kernels"],
)
def test_another_function_of_the_same_name_is_refused(tmp_path, within):
    few, labels = X[:20], TWO[:20]
    for function in (SQUARE, SQUARE):
        model = KernelPerceptron(kernel=within(function), max_iter=3)
        stopped(model, tmp_path / "c", few, labels)
    with refused(CheckpointError, "bad-checkpoint"):
        KernelPerceptron(kernel=within(CUBE), max_iter=3).fit(
            few, labels, checkpoint=tmp_path / "c"
        )


def test_a_label_is_not_taken_for_a_place_in_memory(tmp_path):
    labels = np.array(["0x1", "0x2"])[TWO]
    stopped(Perceptron(max_iter=3, reference="0x1"), tmp_path / "c", y=labels)
    with refused(CheckpointError, "bad-checkpoint"):
        Perceptron(max_iter=3, reference="0x2").fit(X, labels, checkpoint=tmp_path / "c")


def test_a_link_stays_and_what_it_names_is_removed(tmp_path):
    left(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    Perceptron(max_iter=4).fit(X, TWO, checkpoint=tmp_path / "link")
    assert os.listdir(tmp_path) == ["link"]
    assert not (tmp_path / "real").exists()


def test_an_empty_path_is_refused():
    with refused(CheckpointError, "not-a-file"):
        Perceptron().fit(X, TWO, checkpoint="")
