"""``linsep fit --checkpoint``: interrupted, killed and repeated, it ends with the same model."""

import io
import os
import shutil
import signal
import subprocess
import sys
from pkgutil import resolve_name

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import linsep
import linsep.cli.training
import linsep.learners.passes
import linsep.logistic.checkpointing
from command_line import assert_refused, here
from interrupting import in_pass

rng = np.random.default_rng(2)
Y = rng.integers(0, 2, 100)
X = rng.normal(size=(100, 5)) + np.outer(Y, rng.normal(size=5))
FIT = ("fit", "t.svm", "--max-iter", "6", "--keep", "average", "--model", "m")
SAVED = (*FIT, "--checkpoint", "c")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    dump_svmlight_file(X, Y, str(folder / "t.svm"))
    assert here(*FIT, cwd=folder).returncode == 0
    return folder


@pytest.fixture
def folder(learned, tmp_path):
    shutil.copy2(learned / "t.svm", tmp_path / "t.svm")
    return tmp_path


def assert_same_models(path, learned):
    ours, theirs = linsep.load(path), linsep.load(learned / "m")
    assert ours.coef_.tolist() == theirs.coef_.tolist()
    assert ours.fitted_run().reports == theirs.fitted_run().reports
    assert ours.training_accuracy_ == theirs.training_accuracy_


def stopped(folder, number, name="SIGINT", command=SAVED):
    """Run a command that gets a signal in a pass."""
    with in_pass(number, lambda: signal.raise_signal(getattr(signal, name))):
        return here(*command, cwd=folder)


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_writes_a_checkpoint_and_the_same_command_goes_on(folder, learned, name, code):
    done = stopped(folder, 2, name)
    assert done.returncode == code
    assert done.stderr == "linsep: interrupted; `linsep fit --resume c` resumes the fit.\n"
    assert sorted(os.listdir(folder)) == ["c", "t.svm"]
    done = here(*SAVED, cwd=folder)
    assert (done.returncode, done.stderr) == (
        0,
        "linsep: resuming from c: pass 3, after 0 of its rows.\n",
    )
    assert_same_models(folder / "m", learned)
    assert sorted(os.listdir(folder)) == ["m", "t.svm"]


def test_resume_needs_nothing_but_the_file(folder, learned, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    stopped(folder, 1)
    shutil.move(folder / "c", elsewhere / "moved")
    assert stopped(elsewhere, 4, command=("fit", "--resume=moved")).returncode == 130
    done = here("fit", "--resume", "moved", cwd=elsewhere)
    assert done.returncode == 0
    assert f"resuming from {elsewhere / 'moved'}: pass 5" in done.stderr
    assert_same_models(folder / "m", learned)
    assert os.listdir(elsewhere) == []


def test_a_logistic_regression_goes_on(folder):
    command = ("fit", "t.svm", "--learner", "logistic", "--model", "m")
    assert here(*command, cwd=folder).returncode == 0
    expected = linsep.load(folder / "m")
    (folder / "m").unlink()
    walk, count = linsep.logistic.checkpointing.SavedAscent._passed, []

    def pressed(journal):
        walk(journal)
        count.append(1)
        if len(count) == 4:
            signal.raise_signal(signal.SIGTERM)

    command += ("--checkpoint", "c", "--every", "0.001s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linsep.logistic.checkpointing.SavedAscent, "_passed", pressed)
        done = here(*command, cwd=folder)
    assert done.returncode == 143
    assert "--resume c" in done.stderr
    done = here(*command, cwd=folder)
    assert done.stderr == "linsep: resuming from c: after 4 passes over the rows.\n"
    assert linsep.load(folder / "m").coef_.tolist() == expected.coef_.tolist()


def test_a_killed_process_goes_on(folder, learned):
    code = (
        "import os, signal, linsep.learners.passes as passes; from linsep.cli.main import main\n"
        "walk = passes.one_pass\n"
        "def one_pass(course):\n"
        "    if course.number == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return walk(course)\n"
        "passes.one_pass = one_pass\nmain()"
    )
    command = [sys.executable, "-c", code, *SAVED, "--every", "0.0001s"]
    killed = subprocess.run(command, cwd=folder, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert {"c", "t.svm"} < set(os.listdir(folder))
    assert here("fit", "--resume", "c", cwd=folder).returncode == 0
    assert_same_models(folder / "m", learned)
    assert sorted(os.listdir(folder)) == ["m", "t.svm"]  # nothing of the killed process stays


def test_an_interrupt_before_the_first_row_forgets_no_checkpoint(folder, learned, monkeypatch):
    def pressed(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    stopped(folder, 2)
    with monkeypatch.context() as patch:
        patch.setattr("linsep.cli.learner_options.initial_weights", pressed)
        done = here("fit", "--resume", "c", cwd=folder)
    said = "linsep: interrupted; `linsep fit --resume c` resumes the fit.\n"
    assert (done.returncode, done.stderr.replace(f"{folder}/", "")) == (130, said)
    assert here("fit", "--resume", "c", cwd=folder).returncode == 0
    assert_same_models(folder / "m", learned)


def test_options_that_do_not_fit(folder):
    for options in (
        (*SAVED[:-4], "--checkpoint", "c"), (*FIT, "--every", "5s"), (*SAVED, "--every", "5"),
        ("fit", "t.svm", "--learner", "naive-bayes", *SAVED[-4:]),
        (*SAVED, "--test", "http://user:secret@h/x.csv"),
        (*SAVED, "--calibrate=http://h/y.csv?sig=secret"),
        (*SAVED, "--dask", "tcp://user:secret@h:1"), ("fit", "--resume"),
        ("fit", "--resume", "c", "--max-iter", "9"),
    ):  # fmt: skip
        assert_refused(*options, cwd=folder, exit_code=2)
        assert "secret" not in here(*options, cwd=folder).stderr


def test_files_that_do_not_fit(folder, learned):
    assert_refused("fit", "--resume", "none", cwd=folder, code="no-file")
    shutil.copy2(learned / "m", folder / "c")
    assert_refused(*SAVED, cwd=folder, code="wrong-format")
    assert_refused("fit", "--resume", "c", cwd=folder, code="wrong-format")
    assert_refused(*SAVED[:-1], "t.svm", cwd=folder, code="conflict")
    assert_refused(*SAVED[:-1], "./m", cwd=folder, code="duplicate-name")
    (folder / "c").unlink()
    stopped(folder, 2)
    assert_refused("predict", "c", "t.svm", cwd=folder, code="wrong-format")
    other = ("fit", "t.svm", "--max-iter", "9", *SAVED[4:])
    assert_refused(*other, cwd=folder, code="bad-checkpoint")


def test_a_checkpoint_of_python_is_no_command(folder):
    path = folder / "c"
    linsep.Checkpoint(path).write({}, {})
    assert_refused("fit", "--resume", "c", cwd=folder, code="unsupported")


def test_standard_input_has_no_checkpoint(folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"0 1:1\n1 2:1\n")))
    words = ("fit", "-", "--format", "svmlight", *SAVED[-4:])
    assert_refused(*words, cwd=folder, said="standard input cannot be read again", exit_code=2)


TESTED = ("fit", "t.svm", "--max-iter", "4", "--model", "m", "--test", "new.svm")
CALIBRATED = (*TESTED, "--calibrate", "new.svm")
#: what comes after the fit, and what of it is written when it is ended before or within a step
STEPS = {
    "linsep.estimators.thresholds.calibrate": [],
    "linsep.model_files.save": [],
    "linsep.cli.training.score_source": ["m"],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    covered = tmp_path_factory.mktemp("whole")
    dump_svmlight_file(X, Y, str(covered / "t.svm"))
    dump_svmlight_file(X[::-1] + 0.5, Y[::-1], str(covered / "new.svm"))
    assert here(*CALIBRATED, cwd=covered).returncode == 0
    return covered


@pytest.fixture
def covered(whole, tmp_path):
    for name in ("t.svm", "new.svm"):
        shutil.copy2(whole / name, tmp_path / name)
    return tmp_path


def ended(covered, step, how, command):
    """Run a command that is ended at a step; what it says, None if it was killed."""

    def struck(*arguments, **options):
        if isinstance(how, Exception):
            raise how
        os.kill(os.getpid(), how)
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        real = resolve_name(step)
        patch.setattr(step, struck)
        if how != signal.SIGKILL:
            return here(*command, cwd=covered)
        if (child := os.fork()) == 0:
            try:
                here(*command, cwd=covered)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        return None


def assert_goes_on(covered, whole):
    """The command goes on from its checkpoint, to the end."""
    with pytest.MonkeyPatch.context() as patch:  # nothing is learned twice
        patch.setattr(linsep.learners.passes, "one_pass", None)
        done = here("fit", "--resume", "c", cwd=covered)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("training is complete.\n")
    kept = ("test ", "training ", "calibrated ", "passes ", "stopped ")
    expected = here(*CALIBRATED, "--force", cwd=whole).stdout.splitlines()
    said = done.stdout.splitlines()
    assert [line for line in said if line.startswith(kept)] == [
        line for line in expected if line.startswith(kept)
    ]
    assert sorted(os.listdir(covered)) == ["m", "new.svm", "t.svm"]
    ours, theirs = (linsep.load(covered / "m"), linsep.load(whole / "m"))
    assert ours.coef_.tolist() == theirs.coef_.tolist()
    assert ours.predict_proba(X[:9]).tolist() == theirs.predict_proba(X[:9]).tolist()


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("linsep.estimators.thresholds.calibrate", signal.SIGINT),
        ("linsep.cli.training.score_source", signal.SIGTERM),
    ],
)
def test_a_signal_after_the_fit(covered, whole, step, number):
    done = ended(covered, step, number, (*CALIBRATED, "--checkpoint", "c"))
    assert done.returncode == 128 + number
    assert done.stderr == "linsep: interrupted; `linsep fit --resume c` resumes the fit.\n"
    assert sorted(os.listdir(covered)) == sorted([*STEPS[step], "c", "new.svm", "t.svm"])
    assert_goes_on(covered, whole)


def test_killed_after_the_fit(covered, whole):
    step = "linsep.model_files.save"
    ended(covered, step, signal.SIGKILL, (*CALIBRATED, "--checkpoint", "c"))
    assert set(os.listdir(covered)) >= {*STEPS[step], "c"}
    assert_goes_on(covered, whole)


def test_killed_before_the_checkpoint_is_removed(covered, whole):
    step = "linsep.checkpoints.saving.Checkpoint.remove"
    ended(covered, step, signal.SIGKILL, (*CALIBRATED, "--checkpoint", "c"))
    assert {"c", "m"} < set(os.listdir(covered))
    assert_goes_on(covered, whole)
