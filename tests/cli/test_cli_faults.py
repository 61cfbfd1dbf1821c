"""Where the command line could hurt: odd places, full disks, closed outputs, interrupts."""

import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys

import pytest

import linsep
from command_line import assert_refused, here, run, table
from linsep import Perceptron
from linsep.cli.predict import write_lines
from linsep.sources.svmlight import SvmlightSource


def test_places_that_are_not_for_models(folder):
    (folder / "notes").write_text("a file, no folder")
    os.mkfifo(folder / "pipe")
    fit = ("fit", "t.svm", "--force", "--model")
    assert_refused(*fit, "notes/m", cwd=folder, code="not-a-file")
    assert_refused(*fit, "pipe", cwd=folder, code="not-a-file")
    assert_refused(*fit, "/dev/null", cwd=folder, code="not-a-file")
    assert_refused(*fit, "x" * 300, cwd=folder, code="cannot-write")
    assert_refused(
        "fit", "x" * 300, cwd=folder, said="xx cannot be read or written: File name too long"
    )
    assert_refused(*fit, "t.svm", cwd=folder, code="conflict")
    assert stat.S_ISFIFO(os.stat(folder / "pipe").st_mode)
    assert (folder / "t.svm").read_text().count("\n") == 60


def test_outputs_never_overwrite_what_is_read(learned):
    for path in ("m", "t.svm"):
        before = (learned / path).read_bytes()
        out = ("--output", path, "--force")
        assert_refused("predict", "m", "t.svm", *out, cwd=learned, code="conflict")
        assert (learned / path).read_bytes() == before


def test_what_is_missing_is_said_beside_an_output_to_overwrite(learned):
    (learned / "old.csv").write_text("old")
    (learned / "old.png").write_text("old")
    for command in (
        ("export", "none", "old.csv"),
        ("plot", "curve", "none", "--output", "old.png"),
    ):
        assert_refused(*command, "--force", cwd=learned, code="no-file")
    gone = ("plot", "margins", "m", "none.svm", "--output", "old.png", "--force")
    assert_refused(*gone, cwd=learned, code="no-file")
    assert (learned / "old.csv").read_text() == (learned / "old.png").read_text() == "old"


def test_links_and_permissions_stay_as_they_are(folder):
    (folder / "real").write_text("old")
    (folder / "real").chmod(0o640)
    (folder / "link").symlink_to("real")
    assert_refused("fit", "t.svm", "--model", "link", cwd=folder, code="file-exists")
    assert here("fit", "t.svm", "--model", "link", "--force", cwd=folder).returncode == 0
    assert (folder / "link").is_symlink()
    assert stat.S_IMODE((folder / "real").stat().st_mode) == 0o640
    assert linsep.load(folder / "real").n_features_in_ == 2
    mask = os.umask(0o027)
    try:
        here("fit", "t.svm", "--model", "new", cwd=folder)
    finally:
        os.umask(mask)
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o640


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))


def test_a_full_disk_leaves_the_old_files_and_nothing_else(learned):
    (learned / "long.svm").write_text("0 1:1\n" * 2000)
    (learned / "p").write_text("old")
    before = sorted(os.listdir(learned)), (learned / "m").read_bytes()
    # Compiled code could not be kept either: without the compiler, there is none.
    options = {"cwd": learned, "preexec_fn": limited}
    options["env"] = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    fit = run("fit", "t.svm", "--max-iter", 2, "--model", "m", "--force", **options)
    predict = run("predict", "m", "long.svm", "--output", "p", "--force", **options)
    for done, name in ((fit, "m"), (predict, "p")):
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.startswith("linsep: error: ")
        assert f"/{name} " in done.stderr
        assert done.stderr.endswith("[cannot-write]\n")
    assert (sorted(os.listdir(learned)), (learned / "m").read_bytes()) == before
    assert (learned / "p").read_text() == "old"


def test_predictions_are_written_whole_or_not_at_all(learned, monkeypatch):
    monkeypatch.setitem(SvmlightSource.__init__.__kwdefaults__, "chunk_bytes", 4000)
    (learned / "bad.svm").write_text("0 1:1\n" * 3000 + "0 1:x\n")
    assert_refused("predict", "m", "bad.svm", "--output", "p", cwd=learned, code="not-a-number")
    (learned / "p").write_text("old")
    assert_refused(
        "predict", "m", "bad.svm", "--output", "p", "--force", cwd=learned, code="not-a-number"
    )
    assert (learned / "p").read_text() == "old"


def test_what_is_missing_is_noticed_before_learning(folder, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("it must not learn")

    monkeypatch.setattr(Perceptron, "fit", never)
    (folder / "m").write_text("precious")
    assert_refused("fit", "t.svm", "--model", "m", cwd=folder, code="file-exists")
    assert_refused("fit", "t.svm", "--test", "none.svm", cwd=folder, code="no-file")
    assert_refused("fit", "t.svm", "--model", "no/m", cwd=folder, code="no-file")
    table(folder, "t.csv", ["x", "kind"], [[1, "a"], [2, "b"]])
    table(folder, "bare.csv", ["x"], [[1], [2]])
    fit = ("fit", "t.csv", "--target", "kind", "--missing", "mean", "--test")
    assert_refused(*fit, "bare.csv", cwd=folder, code="unknown-column")
    assert_refused(*fit, "t.svm", cwd=folder, code="wrong-format")
    assert_refused("fit", "t.svm", "--test", "t.csv", cwd=folder, code="wrong-format")
    assert (folder / "m").read_text() == "precious"


def test_a_bad_test_file_does_not_hide_what_was_learned(folder):
    (folder / "bad.svm").write_text("0 1:x\n")
    done = here("fit", "t.svm", "--test", "bad.svm", "--model", "m", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("linsep: error: bad.svm line 1")
    assert "60 rows" in done.stdout
    assert linsep.load(folder / "m").n_features_in_ == 2


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize(("name", "moment"), [("SIGINT", "__enter__"), ("SIGTERM", "__exit__")])
def test_signals_just_before_and_after_the_command_have_their_exit_codes(name, moment, tmp_path):
    """The handlers are set already, or still, and nothing delays them."""
    number = getattr(signal, name)
    script = f"""
import signal, sys
from linsep.cli import main as cli
from linsep._system.interrupts import interrupts_deferred

real = interrupts_deferred.{moment}

def struck(self, *given):
    if given:  # the end of the block
        real(self, *given)
    signal.raise_signal({int(number)})
    return real(self)

interrupts_deferred.{moment} = struck
sys.argv = ["linsep", "--version"]
cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 128 + number, done.stderr
    assert not done.stderr


@pytest.mark.parametrize("after", [0, 5])
def test_interrupted_before_or_within_the_first_pass(folder, monkeypatch, after):
    table(
        folder, "t.csv", ["x", "word", "kind"], [[k % 5, f"w{k // 8}", k % 2] for k in range(400)]
    )
    monkeypatch.setattr("linsep.sources.tables.table._BATCH_VALUES", 30)
    walk, count = linsep.learners.passes.learn_batch, []

    def interrupted(course, row_batch):
        count.append(1)
        if len(count) > after:
            raise KeyboardInterrupt
        walk(course, row_batch)

    monkeypatch.setattr(linsep.learners.passes, "learn_batch", interrupted)
    fit = ("fit", "t.csv", "--target", "kind", "--model", "m", "--test", "new.csv")
    shutil.copy(folder / "t.csv", folder / "new.csv")
    done = here(*fit, cwd=folder)
    monkeypatch.setattr(linsep.learners.passes, "learn_batch", walk)
    assert (done.returncode, done.stderr) == (130, "")
    assert ("progressive" in done.stdout) == (after > 0)
    model = linsep.load(folder / "m")
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", 1)
    assert here("predict", "m", "t.csv", cwd=folder).stdout.count("\n") == 400
    assert "interrupted" in here("inspect", "m", cwd=folder).stdout


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize(
    ("name", "code", "presses"), [("SIGINT", 130, 3), ("SIGTERM", 143, 1), ("SIGHUP", 129, 1)]
)
def test_signals_keep_what_was_learned_once(folder, monkeypatch, name, code, presses):
    walk = linsep.learners.passes.learn_batch

    def pressed(course, row_batch):
        walk(course, row_batch)
        if course.number == 1:
            for _ in range(presses):
                signal.raise_signal(getattr(signal, name))

    monkeypatch.setattr(linsep.learners.passes, "learn_batch", pressed)
    save = linsep.model_files.save

    def pressed_again(*arguments, **options):
        signal.raise_signal(getattr(signal, name))
        save(*arguments, **options)

    if presses > 1:
        monkeypatch.setattr(linsep.model_files, "save", pressed_again)
    shutil.copy(folder / "t.svm", folder / "new.svm")
    done = here("fit", "t.svm", "--model", "m", "--test", "new.svm", cwd=folder)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.count("a callback ended training; the weights reached so far are kept") == 1
    assert sorted(os.listdir(folder)) == ["m", "new.svm", "t.svm"]
    assert linsep.load(folder / "m").n_iter_ == 2


def test_interrupted_while_the_model_is_saved_or_tested(folder, monkeypatch):
    save, score = linsep.model_files.save, linsep.cli.predict.score_source

    def pressed(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return save(*arguments, **options)

    def slow(*arguments):
        signal.raise_signal(signal.SIGINT)
        return score(*arguments)

    shutil.copy(folder / "t.svm", folder / "new.svm")
    fit = ("fit", "t.svm", "--max-iter", 2, "--model", "m", "--force")
    with monkeypatch.context() as patch:
        patch.setattr(linsep.model_files, "save", pressed)
        done = here(*fit, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")  # all was done before it could be noticed
        assert "interrupted" not in done.stdout
        tested = here(*fit, "--test", "new.svm", cwd=folder)
    monkeypatch.setattr(linsep.cli.training, "score_source", slow)
    for done in (tested, here(*fit, "--test", "new.svm", cwd=folder)):
        assert (done.returncode, done.stderr) == (130, "")
        assert "not scored" in done.stdout
        assert re.search("training +[0-9.]+% right", done.stdout)
    assert linsep.load(folder / "m").n_iter_ == 2


@pytest.mark.parametrize("late", [False, True])
def test_interrupted_predictions_are_written_whole_or_not_at_all(learned, monkeypatch, late):
    name = "os.replace" if late else "linsep.cli.predict.write_lines"
    real = os.replace if late else write_lines

    def pressed(*arguments, **options):
        signal.raise_signal(signal.SIGTERM)
        return real(*arguments, **options)

    monkeypatch.setattr(name, pressed)
    done = here("predict", "m", "t.svm", "--output", "p", cwd=learned)
    if late:
        assert (done.returncode, done.stderr) == (0, "")
        assert (learned / "p").read_text().count("\n") == 60
    else:
        assert (done.returncode, done.stderr) == (143, "linsep: interrupted; nothing was saved.\n")
        assert sorted(os.listdir(learned)) == ["m", "t.svm"]


def test_outputs_that_cannot_be_written(learned):
    for command, where in (("fit t.svm", ">&-"), ("predict m t.svm", "> /dev/full")):
        start = f"{sys.executable} -m linsep {command} {where}"
        done = subprocess.run(
            start, shell=True, cwd=learned, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr
        assert done.returncode == (where == "> /dev/full")


@pytest.mark.parametrize(
    ("fault", "code"), [(KeyError("x"), 70), (MemoryError(), 1), (KeyboardInterrupt(), 130)]
)
def test_a_fault_of_linsep_is_no_fault_of_the_data(folder, monkeypatch, fault, code):
    def broken(*arguments, **options):
        raise fault

    monkeypatch.setattr("linsep.rows.source_stream.SourceStream.begin", broken)
    done = here("fit", "t.svm", "--model", "m", cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("Traceback") == (code == 70)
    assert os.listdir(folder) == ["t.svm"]


def test_ctrl_c_when_the_command_has_ended_says_nothing():
    program = """
import atexit, signal, sys
from linsep.cli import main as cli

cli.command = lambda: sys.exit(1)
atexit.register(signal.raise_signal, signal.SIGINT)
cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
