"""Data never take over a screen, a spreadsheet or a file; letters a screen lacks stop nothing."""

import io
import json
import os
import re
import sys

import numpy as np
import pytest
import rich
from rich.console import Console

import linsep
from command_line import assert_refused, here, on_a_terminal, run
from linsep import kernels
from linsep._system.files import written_whole
from linsep.errors import ModelFileError
from linsep.words import csv_cell, escaped
from refusals import refused

pytestmark = pytest.mark.compiled

RED, BELL = "\x1b[31m", "\x07"
NAMES = f"a{RED},b[/bold],c{BELL}"


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a},{b},{a + b},{f'p{RED}' if a > b else f'q{BELL}'}" for a, b in
            rng.integers(-9, 9, (40, 2))]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join([f"{NAMES},kind\u202e", *rows]) + "\n")
    return tmp_path


def harmless(text):
    return all(line.isprintable() for line in text.splitlines())


def test_escaped():
    assert escaped("Zürich 東京 [/b]") == "Zürich 東京 [/b]"
    assert escaped(f"{RED}\n\u202e\udcff") == "\\x1b[31m\\n\\u202e\\udcff"
    assert escaped(f"{RED}\nb", lines=True) == "\\x1b[31m\nb"


def test_no_command_prints_what_would_move_the_cursor(folder):
    data, target = "t.csv", ("--target", "kind\u202e")
    commands = [
        ("fit", data, *target, "--test", data, "--model", f"m{BELL}", "--missing", "zero"),
        ("score", f"m{BELL}", data),
        ("inspect", f"m{BELL}"),
        ("trace", data, *target, "--max-iter", 2),
        ("separate", data, *target, "--proof", f"p{BELL}"),
        ("verify", f"p{BELL}", data, *target),
        ("fit", data, *target, "--learner", "logistic", "--l2", 1, "--model", "l"),
        ("summary", "l"),
        ("fit", data, *target, "--learner", "naive-bayes"),
        ("fit", data, "--target", f"c{BELL}", "--learner", "linear"),
        ("fit", data, "--target", RED),
        ("fit", f"none{RED}"),
        ("fit", data, *target, "--exclude", f"x{BELL}"),
        ("fit", data, *target, "--class-weight", f"x{RED}=1"),
        ("predict", "l", data, "--json"),
    ]
    for command in commands:
        done = here(*command, cwd=folder)
        assert done.returncode in (0, 1), (command, done.stderr)
        assert harmless(done.stdout), command
        assert harmless(done.stderr), command
        assert done.stdout + done.stderr


@pytest.mark.parametrize("command", [("predict", "m", "t.csv"),
                                     ("trace", "t.csv", "--target", "kind\u202e", "--max-iter", 1,
                                      "--format", "csv")])  # fmt: skip
def test_results_are_escaped_on_a_terminal_only(folder, command):
    here("fit", "t.csv", "--target", "kind\u202e", "--model", "m", cwd=folder)
    assert RED in here(*command, cwd=folder).stdout  # data for another program
    seen = on_a_terminal(*command, cwd=folder)
    assert RED not in seen
    assert "p\\x1b[31m" in seen


def test_brackets_are_no_markup():
    X, y = np.array([[0.0, 1], [1, 0], [2, 1], [5, 5]]), [0, 0, 1, 1]
    names = ["a[/bold]", f"b{RED}"]
    import pandas as pd

    table = pd.DataFrame(X, columns=names)
    shown = [
        linsep.separation(table, y),
        linsep.LinearRegression().fit(table, [1.0, 2, 3, 5]).summary(),
        linsep.trace(linsep.Perceptron(max_iter=2), table, y),
    ]
    for one in shown:
        out = io.StringIO()
        Console(file=out, width=200).print(one)
        rich.print(one, file=out)
        assert harmless(out.getvalue())
        assert harmless(str(one))


def test_formulas_in_the_csv_of_a_trace(tmp_path):
    cells = ("=cmd", "@x", "+1+1", "-1.5", "-", "+", "1", "", "-1e-7")
    assert [csv_cell(text) for text in cells] == [
        "'=cmd", "'@x", "'+1+1", "-1.5", "-", "+", "1", "", "-1e-7"]  # fmt: skip
    (tmp_path / "t.csv").write_text("=a,name,y\n1,=cmd|calc,+\n-2,@sum,-\n")
    trace = ("trace", "t.csv", "--target", "y", "--row-names", "name", "--format", "csv")
    lines = here(*trace, cwd=tmp_path).stdout.splitlines()
    assert lines[0].endswith(",'=a")
    assert lines[1].startswith("1,1,'=cmd|calc,'+ (-1),0,yes,")
    assert not any(part.startswith(("=", "@")) for line in lines for part in line.split(","))


def test_json_has_no_numbers_that_are_none(tmp_path):
    def refuse(name):
        raise AssertionError(name)

    (tmp_path / "t.csv").write_text("a,b,y\n1,1,1\n2,2,2\n3,3,3\n")
    for options in ((), ("--no-fit-intercept",)):
        fit = ("fit", "t.csv", "--target", "y", "--learner", "linear", *options, "--json")
        done = here(*fit, "--test", "t.csv", cwd=tmp_path)
        assert json.loads(done.stdout, parse_constant=refuse)["rows"] == 3


def test_letters_that_a_screen_does_not_have(tmp_path):
    (tmp_path / "t.csv").write_text("größe,y\n1,Zürich\n2,Bern\n3,Zürich\n4,Bern\n")
    ascii_only = {"env": os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}}
    done = run("fit", "t.csv", "--target", "y", "--model", "m", cwd=tmp_path, **ascii_only)
    assert done.returncode == 0, done.stderr
    assert "Z\\xfcrich" in done.stdout
    done = run("predict", "m", "t.csv", cwd=tmp_path, **ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) <= {"Bern", "Z\\xfcrich"}
    here("predict", "m", "t.csv", "-o", "p.txt", cwd=tmp_path)
    assert set((tmp_path / "p.txt").read_text("utf-8").split()) <= {"Bern", "Zürich"}


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of any bytes")
def test_file_names_that_are_not_utf8(tmp_path):
    name = os.fsdecode(b"t\xff.csv")
    (tmp_path / name).write_text("a,y\n1,p\n2,q\n3,p\n")
    for started, test in ((run, ()), (here, ("--json",))):
        fit = ("fit", name, "--target", "y", "--model", os.fsdecode(b"m\xff"), "--force")
        done = started(*fit, *test, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "m\\udcff" in done.stdout
    done = here("fit", name, "--target", "z", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("linsep: error: t\\udcff.csv has no label column 'z'")


def test_inspect_of_a_string_kernel(tmp_path):
    model = linsep.KernelPerceptron(kernel=kernels.Spectrum(2))
    linsep.save(model.fit(["abab", "baba", "cdcd"], [0, 0, 1]), tmp_path / "s")
    shown = here("inspect", "s", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "2 classes (0, 1), 3 rows\n" in shown.stdout
    assert re.search(r"kernel +Spectrum\(p=2\)", shown.stdout)
    told = json.loads(here("inspect", "s", "--json", cwd=tmp_path).stdout)
    assert (told["features"], told["parameters"]["kernel"]) == (None, "Spectrum(p=2)")


# Files.


def test_a_file_that_turns_up_meanwhile_stays(tmp_path, monkeypatch):
    path = tmp_path / "m"

    def write(force):
        with written_whole(path, "w", force=force) as file:
            file.write("new")
            path.write_text("somebody's")

    def no_links(*arguments):
        raise OSError(95, "Operation not supported")

    for link in (os.link, no_links):
        monkeypatch.setattr(os, "link", link)
        path.unlink(missing_ok=True)
        with refused(ModelFileError, "file-exists"):
            write(force=False)
        assert path.read_text() == "somebody's"
        write(force=True)
        assert path.read_text() == "new"
        path.unlink()
        with written_whole(path, "w", force=False) as file:
            file.write("first")
        assert path.read_text() == "first"
        assert os.listdir(tmp_path) == ["m"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_permissions_come_from_the_system_and_folders_are_synced(tmp_path, monkeypatch):
    synced, real = [], os.fsync

    def fsync(descriptor):
        synced.append(os.fstat(descriptor).st_ino)
        real(descriptor)

    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was changed"))
        monkeypatch.setattr(os, "fsync", fsync)
        path = tmp_path / "m"
        with written_whole(path, "w", force=False) as file:
            file.write("x")
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o600)
        with written_whole(path, "w", force=True) as file:
            file.write("y")
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert synced.count(tmp_path.stat().st_ino) == 2


def test_advice_about_the_cache_is_an_option(tmp_path):
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n" * 40)
    (tmp_path / "file").write_text("")
    from linsep.sources.row_cache import RowCacheWriter

    writer = object.__new__(RowCacheWriter)
    writer.path = tmp_path / "rows"
    problem = writer._unwritable(OSError(28, "No space left on device"))
    told = problem.render(lambda hint: hint.render(lambda name, value: f"--{name}"))
    assert told.endswith("free some space there or choose another folder with --cache.")
    assert "LINSEP_CACHE_DIR" not in str(problem)
    assert_refused("fit", "t.svm", "--model", "file", cwd=tmp_path, code="file-exists")
