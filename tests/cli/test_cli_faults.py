"""Where the command line could hurt: odd places, odd names, full disks, closed outputs."""

import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linsep
from command_line import assert_refused, here, on_a_terminal, run, table
from linsep import Perceptron
from linsep.cli.output import short

pytestmark = pytest.mark.compiled


# Where results go.


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(learned):
    (learned / "t.svm").chmod(0)
    (learned / "m").chmod(0)
    (learned / "closed").mkdir(0o500)
    assert_refused("fit", "t.svm", cwd=learned, said="No permission to read t.svm")
    assert_refused("inspect", "m", cwd=learned, said="m cannot be read: Permission denied")
    (learned / "t.svm").chmod(0o600)
    assert_refused(
        "fit", "t.svm", "--model", "closed/m", cwd=learned, said="closed cannot be written to"
    )


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


def test_predictions_are_written_whole_or_not_at_all(learned):
    (learned / "bad.svm").write_text("0 1:1\n" * 50_000 + "0 1:x\n")
    assert_refused("predict", "m", "bad.svm", "--output", "p", cwd=learned, code="not-a-number")
    (learned / "p").write_text("old")
    assert_refused(
        "predict", "m", "bad.svm", "--output", "p", "--force", cwd=learned, code="not-a-number"
    )
    assert (learned / "p").read_text() == "old"


@pytest.mark.parametrize("command", ["fit t.svm", "predict m t.svm"])
def test_outputs_that_cannot_be_written(learned, command):
    start = f"{sys.executable} -m linsep {command}"
    if os.path.exists("/dev/full"):
        done = subprocess.run(
            f"{start} > /dev/full", shell=True, cwd=learned, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr == (
            "linsep: error: The output cannot be read or written: No space left on device.\n"
        )
    done = subprocess.run(
        f"{start} >&-", shell=True, cwd=learned, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if command.startswith("predict") else 0)


# The order of things.


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


def test_json_stays_json_with_verbose(folder):
    done = here("fit", "t.svm", "--verbose", 1, "--max-iter", 2, "--json", cwd=folder)
    summary = json.loads(done.stdout)
    assert done.stderr.startswith(f"pass 1: {summary['mistakes'][0]} mistakes in 60 rows\n")


def test_a_model_from_python_has_no_files_to_read(folder):
    linsep.save(Perceptron().fit(np.eye(2), [0, 1]), folder / "m")
    assert_refused("predict", "m", "t.svm", cwd=folder, code="unsupported")
    shown = here("inspect", "m", cwd=folder)
    assert "2 classes (0, 1)" in shown.stdout
    model = Perceptron().partial_fit(np.eye(2), [0, 1], classes=[0, 1])
    linsep.save(model, folder / "p")
    assert "the model was trained incrementally" in here("inspect", "p", cwd=folder).stdout


@pytest.mark.parametrize(
    "fault",
    [ValueError("operands could not be broadcast together"), KeyError("x"), AssertionError("no")],
)
def test_a_fault_of_linsep_is_no_fault_of_the_data(folder, monkeypatch, fault):
    def broken(*arguments, **options):
        raise fault

    monkeypatch.setattr("linsep.rows.source_stream.SourceStream.begin", broken)
    done = here("fit", "t.svm", "--model", "m", cwd=folder)
    assert done.returncode == 70
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert f"{type(fault).__name__}: {fault}\n" in done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        "linsep: error: this is a bug in linsep 0.1.0, not"
    )
    assert not (folder / "m").exists()


def test_out_of_memory(folder, monkeypatch):
    def hungry(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("linsep.rows.source_stream.SourceStream.begin", hungry)
    assert_refused("fit", "t.svm", "--model", "m", cwd=folder, said="out of memory")


@pytest.mark.thorough
def test_the_bar_fits_a_terminal_and_keeps_out_of_predictions(learned):
    (learned / "long.svm").write_text("0 1:1 2:1\n1 1:1 2:1\n" * 10_000)

    def seen(*command):
        env = os.environ | {"COLUMNS": "80", "TERM": "xterm"}
        return on_a_terminal(*command, cwd=learned, stream="both", env=env)

    shown = seen("fit", "long.svm", "--max-iter", "400")
    assert re.search(r"pass \d+ of 400", shown)
    assert " rows/s, " in shown
    assert "…" not in shown
    assert "\033[1mprogressive" in shown
    assert seen("predict", "m", "long.svm").split() == linsep_predictions(learned)
    assert "reading" in seen("score", "m", "long.svm")


def linsep_predictions(folder):
    model = linsep.load(folder / "m")
    return [str(int(label)) for label in model.predict([[1.0, 1.0]])] * 20_000


def test_short_numbers():
    assert [short(n) for n in (0, 999, 999.6, 12_345, 999_499, 999_500, 123e6)] == [
        "0", "999", "1.0 k", "12.3 k", "999 k", "1.0 M", "123 M",
    ]  # fmt: skip


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("moment", ["__enter__", "__exit__"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
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


def test_these_tests_run_where_signals_are_ignored():
    """As in the background of a script and under nohup: by this process, and by those it starts."""
    script = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
    mine = Path(__file__)
    tests = [
        f"{mine}::test_signals_just_before_and_after_the_command_have_their_exit_codes",
        f"{mine.with_name('test_checkpoint_option.py')}"
        "::test_a_signal_writes_a_checkpoint_and_the_same_command_goes_on",
    ]
    pytest_here = ["-m", "pytest", "-p", "no:cacheprovider", "-k", "enter or checkpoint", *tests]
    done = subprocess.run(
        [sys.executable, "-c", script, *pytest_here], capture_output=True, text=True, check=False,
        cwd=mine.parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
