"""A checkpoint covers the command to its last write, whatever ends it after the fit."""

import os
import shutil
import signal
from pkgutil import resolve_name

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import linsep
import linsep.cli.fit
from command_line import here
from linsep.errors import ModelFileError

pytestmark = pytest.mark.compiled

rng = np.random.default_rng(2)
Y = rng.integers(0, 2, 200)
X = rng.normal(size=(200, 5)) + np.outer(Y, rng.normal(size=5))
FIT = ("fit", "t.svm", "--max-iter", "4", "--model", "m", "--test", "new.svm")
CALIBRATED = (*FIT, "--calibrate", "new.svm")
#: what comes after the fit, and what of it is written when it is ended before or within a step
STEPS = {
    "linsep.estimators._common.calibration.calibrate": [],
    "linsep.model_files.save": [],
    "linsep.cli.fit.score_source": ["m"],
}


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    dump_svmlight_file(X, Y, str(folder / "t.svm"))
    dump_svmlight_file(X[::-1] + 0.5, Y[::-1], str(folder / "new.svm"))
    assert here(*CALIBRATED, cwd=folder).returncode == 0
    return folder


@pytest.fixture
def folder(learned, tmp_path):
    for name in ("t.svm", "new.svm"):
        shutil.copy2(learned / name, tmp_path / name)
    return tmp_path


def ended(folder, step, how, command):
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
            return here(*command, cwd=folder)
        if (child := os.fork()) == 0:
            try:
                here(*command, cwd=folder)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        return None


def assert_goes_on(folder, learned):
    """The command goes on from its checkpoint, to the end."""
    with pytest.MonkeyPatch.context() as patch:  # nothing is learned twice
        patch.setattr(linsep.learners.passes, "one_pass", None)
        done = here("fit", "--resume", "c", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "linsep: resuming from c: training is complete.\n".replace(
        " c:", f" {folder / 'c'}:"
    )
    kept = ("test ", "training ", "calibrated ", "passes ", "stopped ")
    whole = here(*CALIBRATED, "--force", cwd=learned).stdout.splitlines()
    said = done.stdout.splitlines()
    assert [line for line in said if line.startswith(kept)] == [
        line for line in whole if line.startswith(kept)
    ]
    assert sorted(os.listdir(folder)) == ["m", "new.svm", "t.svm"]
    ours, theirs = linsep.load(folder / "m"), linsep.load(learned / "m")
    assert ours.coef_.tolist() == theirs.coef_.tolist()
    assert ours.predict_proba(X[:9]).tolist() == theirs.predict_proba(X[:9]).tolist()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("step", [*STEPS][::2])
def test_a_signal_after_the_fit(folder, learned, step, number):
    done = ended(folder, step, number, (*CALIBRATED, "--checkpoint", "c"))
    assert done.returncode == 128 + number
    assert done.stderr == "linsep: interrupted; `linsep fit --resume c` resumes the fit.\n"
    assert sorted(os.listdir(folder)) == sorted([*STEPS[step], "c", "new.svm", "t.svm"])
    assert_goes_on(folder, learned)


@pytest.mark.parametrize("step", STEPS)
def test_killed_after_the_fit(folder, learned, step):
    ended(folder, step, signal.SIGKILL, (*CALIBRATED, "--checkpoint", "c"))
    assert set(os.listdir(folder)) >= {*STEPS[step], "c"}
    assert_goes_on(folder, learned)


@pytest.mark.parametrize("step", STEPS)
def test_a_full_disk_or_another_error_after_the_fit(folder, learned, step):
    full = ModelFileError("it cannot be written: No space left on device.")
    done = ended(folder, step, full, (*CALIBRATED, "--checkpoint", "c"))
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert sorted(os.listdir(folder)) == sorted([*STEPS[step], "c", "new.svm", "t.svm"])
    assert_goes_on(folder, learned)


def test_killed_before_the_checkpoint_is_removed(folder, learned):
    step = "linsep.checkpoints.saving.Checkpoint.remove"
    ended(folder, step, signal.SIGKILL, (*CALIBRATED, "--checkpoint", "c"))
    assert {"c", "m"} < set(os.listdir(folder))
    assert_goes_on(folder, learned)


def test_another_model_of_that_name_stays(folder, learned):
    step = "linsep.cli.fit.score_source"
    ended(folder, step, signal.SIGTERM, (*CALIBRATED, "--checkpoint", "c"))
    assert here("fit", "new.svm", "--model", "m", "--force", cwd=folder).returncode == 0
    before = (folder / "m").read_bytes()
    done = here("fit", "--resume", "c", cwd=folder)
    assert (done.returncode, "m exists" in done.stderr) == (1, True)
    assert (folder / "m").read_bytes() == before
    (folder / "m").unlink()
    assert_goes_on(folder, learned)


def test_without_a_checkpoint_it_says_what_is_missing(folder):
    step = "linsep.estimators._common.calibration.calibrate"
    done = ended(folder, step, signal.SIGINT, (*CALIBRATED, "--json"))
    assert done.returncode == 130
    assert (
        done.stderr
        == "linsep: warning: the model is not calibrated: the command was interrupted.\n"
    )
    assert not hasattr(linsep.load(folder / "m"), "predict_proba")


def test_a_logistic_regression_is_covered(folder):
    fit = ("fit", "t.svm", "--learner", "logistic", "--model", "m", "--test", "new.svm")
    assert here(*fit, cwd=folder).returncode == 0
    expected = linsep.load(folder / "m").coef_.tolist()
    (folder / "m").unlink()
    done = ended(folder, "linsep.cli.fit.score_source", signal.SIGTERM, (*fit, "--checkpoint", "c"))
    assert (done.returncode, (folder / "c").exists()) == (143, True)
    (folder / "m").unlink()
    assert here("fit", "--resume", "c", cwd=folder).returncode == 0
    assert linsep.load(folder / "m").coef_.tolist() == expected
    assert sorted(os.listdir(folder)) == ["m", "new.svm", "t.svm"]
