"""``linsep fit --checkpoint``: interrupted, killed and repeated, it ends with the same model."""

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import linsep
import linsep.learners.passes
import linsep.logistic.checkpointing
from command_line import assert_refused, here
from interrupting import in_pass

pytestmark = pytest.mark.compiled

rng = np.random.default_rng(2)
Y = rng.integers(0, 2, 200)
X = rng.normal(size=(200, 5)) + np.outer(Y, rng.normal(size=5))
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


def test_names_are_quoted_and_options_may_end(folder, learned):
    command = ("fit", *SAVED[2:-1], "c k", "--", "t.svm")
    done = stopped(folder, 2, command=command)
    assert done.stderr == "linsep: interrupted; `linsep fit --resume 'c k'` resumes the fit.\n"
    assert here("fit", "--resume", "c k", cwd=folder).returncode == 0
    assert_same_models(folder / "m", learned)


def test_a_logistic_regression_goes_on(folder):
    command = ("fit", "t.svm", "--learner", "logistic", "--model", "m")
    assert here(*command, cwd=folder).returncode == 0
    expected = linsep.load(folder / "m")
    (folder / "m").unlink()
    count = []

    def pressed(journal):
        count.append(1)
        if len(count) == 4:
            signal.raise_signal(signal.SIGTERM)

    command += ("--checkpoint", "c", "--every", "10rows")
    with pytest.MonkeyPatch.context() as patch:
        walk = linsep.logistic.checkpointing.SavedAscent._passed
        patch.setattr(
            linsep.logistic.checkpointing.SavedAscent,
            "_passed",
            lambda self: walk(self) or pressed(self),
        )
        done = here(*command, cwd=folder)
    assert done.returncode == 143
    assert "linsep: interrupted; `linsep fit --resume c` resumes the fit.\n" in done.stderr
    done = here(*command, cwd=folder)
    assert done.stderr == "linsep: resuming from c: after 4 passes over the rows.\n"
    assert linsep.load(folder / "m").coef_.tolist() == expected.coef_.tolist()


def test_a_killed_process_goes_on(folder, learned):
    code = (
        "import os, signal, linsep.learners.passes as passes; from linsep.cli.main import main\n"
        "walk = passes.one_pass\n"
        "def one_pass(course, saving):\n"
        "    if course.number == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return walk(course, saving)\n"
        "passes.one_pass = one_pass\nmain()"
    )
    command = [sys.executable, "-c", code, *SAVED, "--every", "10 rows"]
    killed = subprocess.run(command, cwd=folder, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert {"c", "t.svm"} < set(os.listdir(folder))
    assert here("fit", "--resume", "c", cwd=folder).returncode == 0
    assert_same_models(folder / "m", learned)
    assert sorted(os.listdir(folder)) == ["m", "t.svm"]  # nothing of the killed process stays


def test_an_interrupt_before_the_first_row_leaves_nothing(folder, monkeypatch):
    def pressed(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("linsep.learners.from_source.check_two_classes", pressed)
    done = here(*SAVED, cwd=folder)
    assert (done.returncode, done.stderr) == (130, "linsep: interrupted; nothing was saved.\n")
    assert os.listdir(folder) == ["t.svm"]


def test_an_interrupt_before_the_first_row_forgets_no_checkpoint(folder, learned, monkeypatch):
    def pressed(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    stopped(folder, 2)
    with monkeypatch.context() as patch:
        patch.setattr("linsep.cli.fit.InitialWeights", pressed)
        done = here("fit", "--resume", "c", cwd=folder)
    said = "linsep: interrupted; `linsep fit --resume c` resumes the fit.\n"
    assert (done.returncode, done.stderr.replace(f"{folder}/", "")) == (130, said)
    assert here("fit", "--resume", "c", cwd=folder).returncode == 0
    assert_same_models(folder / "m", learned)


REFUSED = {
    "--checkpoint needs --model FILE": (*SAVED[:-4], "--checkpoint", "c"),
    "--every needs --checkpoint FILE": (*FIT, "--every", "5s"),
    "--every '5' is not an interval between checkpoints": (*SAVED, "--every", "5"),
    "this learner reads the rows once": ("fit", "t.svm", "--learner", "naive-bayes", *SAVED[-4:]),
    "so http://h/x.csv must be a URL": (*SAVED, "--test", "http://user:secret@h/x.csv"),
    r"so http://h/y.csv\?\.\.\. must be a URL": (*SAVED, "--calibrate=http://h/y.csv?sig=secret"),
    "so tcp://h:1 must be a URL": (*SAVED, "--dask", "tcp://user:secret@h:1"),
    "--resume needs a checkpoint FILE": ("fit", "--resume"),
    "--resume FILE takes no other arguments": ("fit", "--resume", "c", "--max-iter", "9"),
}


@pytest.mark.parametrize("said", REFUSED)
def test_options_that_do_not_fit(folder, said):
    assert_refused(*REFUSED[said], cwd=folder, said=said, exit_code=2)
    assert "secret" not in here(*REFUSED[said], cwd=folder).stderr


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
    done = here(*other, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "linsep: error: c is the checkpoint of another fit: max_iter was 6 and"
    )


def test_a_checkpoint_of_python_is_no_command(folder):
    path = folder / "c"
    linsep.Checkpoint(path).write({}, {})
    assert_refused("fit", "--resume", "c", cwd=folder, code="unsupported")


def test_a_folder_that_is_gone(folder):
    checkpoint = linsep.Checkpoint(folder / "c")
    checkpoint.command = {"folder": str(folder / "gone"), "arguments": ["t.svm"]}
    checkpoint.write({}, {})
    assert_refused("fit", "--resume", "c", cwd=folder, code="cannot-read")


def test_standard_input_has_no_checkpoint(folder):
    done = subprocess.run(
        [sys.executable, "-m", "linsep", "fit", "-", "--format", "svmlight", *SAVED[-4:]],
        cwd=folder, input=(folder / "t.svm").read_bytes(), check=False, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert b"standard input cannot be read again" in done.stderr
