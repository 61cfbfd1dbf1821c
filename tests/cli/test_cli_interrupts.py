"""Commands that are interrupted say so once, keep what was learned, and write files whole."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import linsep
from command_line import here, table
from linsep.cli.predictions import Lines

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("after", [0, 1, 5])
def test_interrupted_before_or_within_the_first_pass(folder, monkeypatch, after):
    table(
        folder, "t.csv", ["x", "word", "kind"], [[k % 5, f"w{k // 8}", k % 2] for k in range(400)]
    )
    monkeypatch.setattr("linsep.sources.tables.table._BATCH_VALUES", 30)
    walk, count = linsep.learners.passes.learn_batch, []

    def interrupted(run, scheme, row_batch, progress, *pause):
        count.append(1)
        if len(count) > after:
            raise KeyboardInterrupt
        walk(run, scheme, row_batch, progress, *pause)

    monkeypatch.setattr(linsep.learners.passes, "learn_batch", interrupted)
    fit = ("fit", "t.csv", "--target", "kind", "--model", "m", "--test", "new.csv")
    shutil.copy(folder / "t.csv", folder / "new.csv")
    done = here(*fit, cwd=folder)
    monkeypatch.setattr(linsep.learners.passes, "learn_batch", walk)
    assert done.returncode == 130
    assert done.stderr == ""
    assert re.search("test +not scored: training was interrupted", done.stdout)
    assert re.search("training +not measured: training was interrupted", done.stdout)
    assert re.search("stopped +interrupted: ", done.stdout)
    assert ("progressive" in done.stdout) == (after > 0)
    model = linsep.load(folder / "m")
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", 1)
    assert here("predict", "m", "t.csv", cwd=folder).stdout.count("\n") == 400
    assert "interrupted" in here("inspect", "m", cwd=folder).stdout


@pytest.mark.parametrize(
    "where", ["linsep.fitting.open_source", "linsep.rows.source_stream.SourceStream.begin"]
)
def test_interrupted_before_anything_was_learned(folder, monkeypatch, where):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    done = here("fit", "t.svm", "--model", "m", cwd=folder)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "linsep: interrupted; nothing was saved.\n"
    assert sorted(os.listdir(folder)) == ["t.svm"]


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("presses", [1, 3])
def test_signals_keep_what_was_learned_once(folder, monkeypatch, name, code, presses):
    walk = linsep.learners.passes.learn_batch

    def pressed(run, scheme, row_batch, progress, *pause):
        walk(run, scheme, row_batch, progress, *pause)
        if progress.pass_number == 1:
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
    monkeypatch.setattr(linsep.cli.fit, "score_source", slow)
    also_tested = here(*fit, "--test", "new.svm", cwd=folder)
    for done in (tested, also_tested):
        assert (done.returncode, done.stderr) == (130, "")
        assert re.search("test +not scored: the command was interrupted", done.stdout)
        assert re.search("training +[0-9.]+% right", done.stdout)
        assert re.search("stopped +max_iter", done.stdout)
    assert linsep.load(folder / "m").n_iter_ == 2


@pytest.mark.parametrize("late", [False, True])
def test_interrupted_predictions_are_written_whole_or_not_at_all(learned, monkeypatch, late):
    name = "os.replace" if late else "linsep.cli.predictions.Lines.write"
    real = os.replace if late else Lines.write

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


@pytest.mark.parametrize(("ends", "code"), [("sys.exit(1)", 1), ("signal.raise_signal(2)", 130)])
def test_ctrl_c_when_the_command_has_ended_says_nothing(ends, code):
    program = f"""
import atexit, signal, sys
from linsep.cli import main as cli

def command():
    {ends}

cli.command = command
atexit.register(signal.raise_signal, signal.SIGINT)
cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, "")
