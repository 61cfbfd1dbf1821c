"""Where the command line could hurt: odd places, odd names, full disks, closed outputs."""

import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import linsep
from command_line import here, needs_speed, refused, run
from linsep import Perceptron
from linsep.cli.progress import short

pytestmark = pytest.mark.compiled


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "t.svm").write_text(
        "".join(f"{k % 2} 1:{rng.integers(-4, 5)} 2:{k % 3}\n" for k in range(60))
    )
    return tmp_path


@pytest.fixture
def learnt(folder):
    assert here("fit", "t.svm", "--model", "m", cwd=folder).returncode == 0
    return folder


def table(folder, name, header, rows):
    lines = [header, *rows]
    (folder / name).write_text("".join(",".join(map(str, line)) + "\n" for line in lines))


# Where results go.


def test_places_that_are_not_for_models(folder):
    (folder / "notes").write_text("a file, no folder")
    os.mkfifo(folder / "pipe")
    fit = ("fit", "t.svm", "--force", "--model")
    refused(*fit, "notes/m", cwd=folder, said="notes is not a folder; choose another")
    refused(*fit, "pipe", cwd=folder, said="pipe is a device or a pipe; name a file")
    refused(*fit, "/dev/null", cwd=folder, said="/dev/null is a device")
    refused(*fit, "x" * 300, cwd=folder, said="xx cannot be written: File name too long")
    refused("fit", "x" * 300, cwd=folder, said="xx cannot be read or written: File name too long")
    refused(*fit, "t.svm", cwd=folder, said="t.svm is read by this command; give .* another name")
    assert stat.S_ISFIFO(os.stat(folder / "pipe").st_mode)
    assert (folder / "t.svm").read_text().count("\n") == 60


def test_outputs_never_overwrite_what_is_read(learnt):
    for path in ("m", "t.svm"):
        before = (learnt / path).read_bytes()
        out = ("--output", path, "--force")
        refused("predict", "m", "t.svm", *out, cwd=learnt, said=f"{path} is read by this command")
        assert (learnt / path).read_bytes() == before


def test_links_and_permissions_stay_as_they_are(folder):
    (folder / "real").write_text("old")
    (folder / "real").chmod(0o640)
    (folder / "link").symlink_to("real")
    refused("fit", "t.svm", "--model", "link", cwd=folder, said="link exists")
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
def test_no_permission(learnt):
    (learnt / "t.svm").chmod(0)
    (learnt / "m").chmod(0)
    (learnt / "closed").mkdir(0o500)
    refused("fit", "t.svm", cwd=learnt, said="t.svm may not be read")
    refused("inspect", "m", cwd=learnt, said="m cannot be read: Permission denied")
    (learnt / "t.svm").chmod(0o600)
    refused("fit", "t.svm", "--model", "closed/m", cwd=learnt, said="closed cannot be written to")


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))


def test_a_full_disk_leaves_the_old_files_and_nothing_else(learnt):
    (learnt / "long.svm").write_text("0 1:1\n" * 2000)
    (learnt / "p").write_text("old")
    before = sorted(os.listdir(learnt)), (learnt / "m").read_bytes()
    # Compiled code could not be kept either: without the compiler, there is none.
    options = {"cwd": learnt, "preexec_fn": limited}
    options["env"] = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    fit = run("fit", "t.svm", "--max-iter", 2, "--model", "m", "--force", **options)
    predict = run("predict", "m", "long.svm", "--output", "p", "--force", **options)
    for done, name in ((fit, "m"), (predict, "p")):
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.startswith("linsep: ")
        assert done.stderr.endswith(
            f"/{name} cannot be written: File too large; nothing was changed.\n"
        )
    assert (sorted(os.listdir(learnt)), (learnt / "m").read_bytes()) == before
    assert (learnt / "p").read_text() == "old"


def test_predictions_are_written_whole_or_not_at_all(learnt):
    (learnt / "bad.svm").write_text("0 1:1\n" * 50_000 + "0 1:x\n")
    said = "bad.svm line 50001"
    refused("predict", "m", "bad.svm", "--output", "p", cwd=learnt, said=said)
    (learnt / "p").write_text("old")
    refused("predict", "m", "bad.svm", "--output", "p", "--force", cwd=learnt, said=said)
    assert (learnt / "p").read_text() == "old"


@pytest.mark.parametrize("command", ["fit t.svm", "score m t.svm", "inspect m", "predict m t.svm"])
def test_outputs_that_cannot_be_written(learnt, command):
    start = f"{sys.executable} -m linsep {command}"
    if os.path.exists("/dev/full"):
        done = subprocess.run(
            f"{start} > /dev/full", shell=True, cwd=learnt, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr == (
            "linsep: The output cannot be read or written: No space left on device.\n"
        )
    done = subprocess.run(
        f"{start} >&-", shell=True, cwd=learnt, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if command.startswith("predict") else 0)


# Odd data.


def test_odd_names_and_labels_are_shown_as_they_are(folder):
    labels = ["[/b]", "[red]", "日本語", "tab\there"]
    rows = [[k, 3 - k % 5, f'"{labels[k % 4]}"'] for k in range(40)]
    table(folder, "odd.csv", ["[bold]", "{x}", "[/x]"], rows)
    fit = here("fit", "odd.csv", "--target", "[/x]", "--model", "m", cwd=folder)
    assert (fit.returncode, fit.stderr) == (0, "")
    assert "4 classes ([/b], [red], tab\\there, 日本語)" in fit.stdout
    shown = here("inspect", "m", cwd=folder).stdout
    assert "[bold]" in shown
    assert "\t" not in shown
    lines = here("score", "m", "odd.csv", cwd=folder).stdout.splitlines()[2:]
    assert [line.split()[0] for line in lines] == ["class", "[/b]", "[red]", "tab\\there", "日本語"]
    predicted = here("predict", "m", "odd.csv", "--output", "p", cwd=folder)
    assert predicted.returncode == 0
    text = (folder / "p").read_text(encoding="utf-8").splitlines()
    assert len(text) == 40
    assert set(text) <= {"[/b]", "[red]", "日本語", '"tab\\there"'}
    refused(
        "fit", "odd.csv", "--target", "[/x]", "--class-weight", "[/b]=-1", cwd=folder,
        said=r"with a weight of at least 0, got '\[/b\]=-1'", code=2,
    )  # fmt: skip


def test_a_label_of_two_lines_stays_on_one(folder):
    rows = [[k, f'"{"one" if k % 2 else "two" + chr(10) + "lines"}"'] for k in range(20)]
    table(folder, "t.csv", ["x", "kind"], rows)
    here("fit", "t.csv", "--target", "kind", "--model", "m", cwd=folder)
    lines = here("predict", "m", "t.csv", cwd=folder).stdout.splitlines()
    assert len(lines) == 20
    assert set(lines) <= {"one", '"two\\nlines"'}
    objects = [
        json.loads(s)
        for s in here("predict", "m", "t.csv", "--json", cwd=folder).stdout.splitlines()
    ]
    assert {o["prediction"] for o in objects} <= {"one", "two\nlines"}


def test_many_classes_are_one_screen_and_no_warning(folder):
    table(folder, "t.csv", ["x", "kind"], [[k % 7, f"class{k % 26:02}"] for k in range(52)])
    for multiclass in ("native", "ovo"):
        fit = ("fit", "t.csv", "--target", "kind", "--multiclass", multiclass)
        done = here(*fit, "--max-iter", 2, "--model", "m", "--force", cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        for command, most in (("score m t.csv", 24), ("inspect m", 26)):
            shown = here(*command.split(), cwd=folder).stdout
            assert len(shown.splitlines()) <= most
            assert "--json has all" in shown
            assert max(map(len, shown.splitlines())) < 140
    everything = json.loads(here("inspect", "m", "--json", cwd=folder).stdout)
    assert len(everything["weights"]) == 26 * 25 // 2
    assert (
        len(json.loads(here("score", "m", "t.csv", "--json", cwd=folder).stdout)["classes"]) == 26
    )


# Weights of classes, ties, other labels.


@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        (["1", "2"], "1=3", {1: 3.0}),
        (["1.0", "2.0"], "1=3", {1.0: 3.0}),
        (["true", "false"], "TRUE=3", {True: 3.0}),
        (["yes", "no"], "no=3", {"no": 3.0}),
        (["1", "a"], "1=3", {"1": 3.0}),  # a column of text
        (["a=b", "c"], "a=b=3", {"a=b": 3.0}),
        ([str(2**53 - 2), str(2**53 - 1)], f"{2**53 - 1}=3", {2**53 - 1: 3.0}),
    ],
)
def test_class_weights_take_labels_of_the_type_they_have(folder, labels, given, expected):
    table(folder, "t.csv", ["x", "kind"], [[k % 5, labels[k % 2]] for k in range(40)])
    done = here(
        "fit", "t.csv", "--target", "kind", "--class-weight", given, "--model", "m", cwd=folder
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert linsep.load(folder / "m").class_weight == expected


def test_class_weights_that_make_no_sense(folder):
    fit = ("fit", "t.svm", "--class-weight")
    refused(*fit, "7=2", cwd=folder, said=r"given for 7, .* no class of t.svm: .* 0, 1.")
    for bad in ("1", "1=heavy", "1=nan", "1=inf", "1=-1"):
        said = f"LABEL=WEIGHT with a weight of at least 0, got '{bad}'"
        refused(*fit, bad, cwd=folder, said=said, code=2)
    done = here(*fit, "balanced", "--model", "m", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert linsep.load(folder / "m").class_weight == "balanced"


def test_ties_are_drawn_alike_however_the_file_is_cut(folder, monkeypatch):
    table(folder, "t.csv", ["x", "kind"], [[0, "ab"[k % 2]] for k in range(400)])
    fit = ("fit", "t.csv", "--target", "kind", "--tie", "random", "--no-fit-intercept")
    here(*fit, "--max-iter", 1, "--scale", "none", "--model", "m", cwd=folder)
    # Weights are zero, and a draw depends on the values of the row.
    table(folder, "t.csv", ["x", "kind"], [[k, "ab"[k % 2]] for k in range(400)])
    model = linsep.load(folder / "m")
    del model.feature_names_in_
    expected = model.predict(np.arange(400.0)[:, None]).tolist()
    assert set(expected) == {"a", "b"}
    monkeypatch.setattr("linsep.sources.tables.table._BATCH_VALUES", 60)
    assert here("predict", "m", "t.csv", cwd=folder).stdout.split() == expected
    scored = json.loads(here("score", "m", "t.csv", "--json", cwd=folder).stdout)
    assert scored["accuracy"] == np.mean(np.array(expected) == np.array(["a", "b"] * 200))


def test_labels_that_were_never_learnt(learnt):
    (learnt / "other.svm").write_text("0 1:1\n7 1:1\n7 1:1\n8 1:1\n")
    scored = json.loads(here("score", "m", "other.svm", "--json", cwd=learnt).stdout)
    assert scored["unknown_labels"] == 3
    assert scored["most_frequent"] == 0.25
    assert sum(c["rows"] for c in scored["classes"]) == 1
    assert "; 3 of classes never learnt" in here("score", "m", "other.svm", cwd=learnt).stdout
    table(learnt, "a.csv", ["x", "kind"], [[k % 5, "ab"[k % 2]] for k in range(40)])
    table(learnt, "n.csv", ["x", "kind"], [[k % 5, k % 2] for k in range(40)])
    here("fit", "a.csv", "--target", "kind", "--model", "text", cwd=learnt)
    here("fit", "n.csv", "--target", "kind", "--model", "numbers", cwd=learnt)
    scored = json.loads(here("score", "text", "n.csv", "--json", cwd=learnt).stdout)
    assert (scored["accuracy"], scored["unknown_labels"]) == (0.0, 40)
    refused("score", "numbers", "a.csv", cwd=learnt, said="kind|numbers")


# The order of things.


def test_what_is_missing_is_noticed_before_learning(folder, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("it must not learn")

    monkeypatch.setattr(Perceptron, "fit", never)
    (folder / "m").write_text("precious")
    refused("fit", "t.svm", "--model", "m", cwd=folder, said="m exists: .* --force")
    refused("fit", "t.svm", "--test", "none.svm", cwd=folder, said="no file none.svm")
    refused("fit", "t.svm", "--model", "no/m", cwd=folder, said="folder no does not exist")
    table(folder, "t.csv", ["x", "kind"], [[1, "a"], [2, "b"]])
    table(folder, "bare.csv", ["x"], [[1], [2]])
    fit = ("fit", "t.csv", "--target", "kind", "--missing", "mean", "--test")
    refused(*fit, "bare.csv", cwd=folder, said="bare.csv has no column 'kind'")
    refused(*fit, "t.svm", cwd=folder, said="t.svm is svmlight text, but the model")
    refused("fit", "t.svm", "--test", "t.csv", cwd=folder, said="t.csv is a table, but the model")
    assert (folder / "m").read_text() == "precious"


def test_a_bad_test_file_does_not_hide_what_was_learnt(folder):
    (folder / "bad.svm").write_text("0 1:x\n")
    done = here("fit", "t.svm", "--test", "bad.svm", "--model", "m", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("linsep: bad.svm line 1")
    assert "60 rows" in done.stdout
    assert linsep.load(folder / "m").n_features_in_ == 2


def test_json_stays_json_with_verbose(folder):
    done = here("fit", "t.svm", "--verbose", 1, "--max-iter", 2, "--json", cwd=folder)
    summary = json.loads(done.stdout)
    assert done.stderr.startswith(f"pass 1: {summary['mistakes'][0]} mistakes in 60 rows\n")


def test_a_model_from_python_has_no_files_to_read(folder):
    linsep.save(Perceptron().fit(np.eye(2), [0, 1]), folder / "m")
    refused("predict", "m", "t.svm", cwd=folder, said="m was not learnt from a file")
    shown = here("inspect", "m", cwd=folder)
    assert "2 classes (0, 1)" in shown.stdout
    model = Perceptron().partial_fit(np.eye(2), [0, 1], classes=[0, 1])
    linsep.save(model, folder / "p")
    assert "it learnt rows as they were given" in here("inspect", "p", cwd=folder).stdout


# Interruption.


@pytest.mark.parametrize(
    "fault",
    [ValueError("operands could not be broadcast together"), KeyError("x"), AssertionError("no")],
)
def test_a_fault_of_linsep_is_no_fault_of_the_data(folder, monkeypatch, fault):
    def broken(*arguments, **options):
        raise fault

    monkeypatch.setattr("linsep.online.rows.stream.SourceStream.begin", broken)
    done = here("fit", "t.svm", "--model", "m", cwd=folder)
    assert done.returncode == 70
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert f"{type(fault).__name__}: {fault}\n" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("linsep: this is a fault of linsep 0.1.0, not")
    assert not (folder / "m").exists()


@pytest.mark.parametrize("after", [0, 1, 5])
def test_interrupted_before_or_within_the_first_pass(folder, monkeypatch, after):
    table(
        folder, "t.csv", ["x", "word", "kind"], [[k % 5, f"w{k // 8}", k % 2] for k in range(400)]
    )
    monkeypatch.setattr("linsep.sources.tables.table._BATCH_VALUES", 30)
    walk, count = linsep.online.passes.learn_batch, []

    def interrupted(run, scheme, row_batch, progress):
        count.append(1)
        if len(count) > after:
            raise KeyboardInterrupt
        walk(run, scheme, row_batch, progress)

    monkeypatch.setattr(linsep.online.passes, "learn_batch", interrupted)
    fit = ("fit", "t.csv", "--target", "kind", "--model", "m", "--test", "t.csv")
    done = here(*fit, cwd=folder)
    monkeypatch.setattr(linsep.online.passes, "learn_batch", walk)
    assert done.returncode == 130
    assert done.stderr == ""
    assert re.search("test +not scored: learning was interrupted", done.stdout)
    assert re.search("training +not measured: learning was interrupted", done.stdout)
    assert re.search("stopped +interrupted: ", done.stdout)
    assert ("progressive" in done.stdout) == (after > 0)
    model = linsep.load(folder / "m")
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", 1)
    assert here("predict", "m", "t.csv", cwd=folder).stdout.count("\n") == 400
    assert "interrupted" in here("inspect", "m", cwd=folder).stdout


@pytest.mark.parametrize(
    "where", ["linsep.cli.fit.open_source", "linsep.online.rows.stream.SourceStream.begin"]
)
def test_interrupted_before_anything_was_learnt(folder, monkeypatch, where):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    done = here("fit", "t.svm", "--model", "m", cwd=folder)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "linsep: interrupted; nothing was kept.\n"
    assert sorted(os.listdir(folder)) == ["t.svm"]


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("presses", [1, 3])
def test_signals_keep_what_was_learnt_once(folder, monkeypatch, name, code, presses):
    walk = linsep.online.passes.learn_batch

    def pressed(run, scheme, row_batch, progress):
        walk(run, scheme, row_batch, progress)
        if progress.pass_number == 1:
            for _ in range(presses):
                signal.raise_signal(getattr(signal, name))

    monkeypatch.setattr(linsep.online.passes, "learn_batch", pressed)
    save = linsep.model_files.format.save

    def pressed_again(*arguments, **options):
        signal.raise_signal(getattr(signal, name))
        save(*arguments, **options)

    if presses > 1:
        monkeypatch.setattr(linsep.model_files.format, "save", pressed_again)
    done = here("fit", "t.svm", "--model", "m", "--test", "t.svm", cwd=folder)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.count("it was interrupted; what was learnt until then is kept") == 1
    assert sorted(os.listdir(folder)) == ["m", "t.svm"]
    assert linsep.load(folder / "m").n_iter_ == 2


def test_interrupted_while_the_model_is_saved_or_tested(folder, monkeypatch):
    save, score = linsep.model_files.format.save, linsep.cli.score.score_source

    def pressed(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return save(*arguments, **options)

    def slow(*arguments):
        signal.raise_signal(signal.SIGINT)
        return score(*arguments)

    fit = ("fit", "t.svm", "--max-iter", 2, "--model", "m", "--force")
    with monkeypatch.context() as patch:
        patch.setattr(linsep.model_files.format, "save", pressed)
        done = here(*fit, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")  # all was done before it could be noticed
        assert "interrupted" not in done.stdout
        tested = here(*fit, "--test", "t.svm", cwd=folder)
    monkeypatch.setattr(linsep.cli.fit, "score_source", slow)
    also_tested = here(*fit, "--test", "t.svm", cwd=folder)
    for done in (tested, also_tested):
        assert (done.returncode, done.stderr) == (130, "")
        assert re.search("test +not scored: the command was interrupted", done.stdout)
        assert re.search("training +[0-9.]+ % right", done.stdout)
        assert re.search("stopped +max_iter", done.stdout)
    assert linsep.load(folder / "m").n_iter_ == 2


@pytest.mark.parametrize("late", [False, True])
def test_interrupted_predictions_are_written_whole_or_not_at_all(learnt, monkeypatch, late):
    name = "linsep.model_files.format.os.replace" if late else "linsep.cli.predict.write_classes"
    real = os.replace if late else linsep.cli.predict.write_classes

    def pressed(*arguments, **options):
        signal.raise_signal(signal.SIGTERM)
        return real(*arguments, **options)

    monkeypatch.setattr(name, pressed)
    done = here("predict", "m", "t.svm", "--output", "p", cwd=learnt)
    if late:
        assert (done.returncode, done.stderr) == (0, "")
        assert (learnt / "p").read_text().count("\n") == 60
    else:
        assert (done.returncode, done.stderr) == (143, "linsep: interrupted; nothing was kept.\n")
        assert sorted(os.listdir(learnt)) == ["m", "t.svm"]


def test_out_of_memory(folder, monkeypatch):
    def hungry(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("linsep.online.rows.stream.SourceStream.begin", hungry)
    refused("fit", "t.svm", "--model", "m", cwd=folder, said="out of memory")


# Progress.


@needs_speed
def test_the_bar_fits_a_terminal_and_keeps_out_of_predictions(learnt):
    pty = pytest.importorskip("pty")
    (learnt / "long.svm").write_text("0 1:1 2:1\n1 1:1 2:1\n" * 150_000)

    def seen(*command):
        ours, theirs = pty.openpty()
        chunks = []

        def collect():
            while True:
                try:
                    chunks.append(os.read(ours, 1 << 16))
                except OSError:
                    return

        reader = threading.Thread(target=collect)
        reader.start()
        env = os.environ | {"COLUMNS": "80", "TERM": "xterm"}
        done = subprocess.run(
            [sys.executable, "-m", "linsep", *command], cwd=learnt, stdout=theirs, stderr=theirs,
            env=env, check=False,
        )  # fmt: skip
        os.close(theirs)
        reader.join()
        os.close(ours)
        assert done.returncode == 0
        return b"".join(chunks).decode()

    shown = seen("fit", "long.svm", "--max-iter", "300")
    assert re.search(r"pass \d+ of 300", shown)
    assert " rows/s, " in shown
    assert "…" not in shown
    assert "\033[1mprogressive" in shown
    assert seen("predict", "m", "long.svm").split() == linsep_predictions(learnt)
    assert "reading" in seen("score", "m", "long.svm")


def linsep_predictions(folder):
    model = linsep.load(folder / "m")
    return [str(int(label)) for label in model.predict([[1.0, 1.0]])] * 300_000


@pytest.mark.parametrize(("ends", "code"), [("sys.exit(1)", 1), ("signal.raise_signal(2)", 130)])
def test_ctrl_c_when_the_command_has_ended_says_nothing(ends, code):
    program = f"""
import atexit, signal, sys
from linsep import cli

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


def test_short_numbers():
    assert [short(n) for n in (0, 999, 999.6, 12_345, 999_499, 999_500, 123e6)] == [
        "0", "999", "1.0 k", "12.3 k", "999 k", "1.0 M", "123 M",
    ]  # fmt: skip
