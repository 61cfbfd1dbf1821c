"""Tables and sentences are as wide as they may be, and data never take over a screen, a spreadsheet
or a file: against rich."""

import io
import os
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len
from rich.console import Console

import linsep
from command_line import assert_refused, here, on_a_terminal, run
from linsep import layout
from linsep._system.files import written_whole
from linsep.errors import ModelFileError
from linsep.layout import (
    DOTS,
    elided,
    table_lines,
    width_of,
    wrapped,
)
from linsep.words import csv_cell, escaped
from refusals import refused

LETTERS = "abcXYZ_- ,.éßΩ温度测量ｱ한글\u0301\u0308🙂"


TEXTS = st.text(LETTERS, max_size=90)


NUMBER = st.one_of(
    st.floats(allow_nan=False).map("{:.6g}".format),
    st.integers(-(10**18), 10**18).map("{:,}".format),
    st.floats(0, 1).map(lambda share: f"{100 * share:.2f}%"),
)  # fmt: skip


@given(TEXTS, st.integers(1, 60))
def test_elided_text_keeps_its_ends(text, width):
    shown = elided(text, width)
    assert width_of(shown) <= width
    if shown != text:
        assert width_of(text) > width
        head, _, tail = shown.partition(DOTS)
        assert text.startswith(head.rstrip(", ") if ", " in text else head)
        assert text.endswith(tail.lstrip(", ") if ", " in text else tail)


def test_items_of_a_list_are_left_out_whole():
    assert elided("[-1.25, 3.5, 12, 0.001, 7]", 20) == "[-1.25, 3.5, …, 7]"
    assert elided("a_long_feature_name_0017", 13) == "a_long…e_0017"
    assert elided("e\u0301" * 9, 5) == "e\u0301e\u0301…e\u0301e\u0301"


@given(TEXTS, st.integers(40, 90))
def test_lines_of_a_sentence_fit(text, width):
    lines = wrapped(text, width, "  ")
    assert all(width_of(line) <= width for line in lines)
    assert len(lines) == 1 or all(line.startswith("  ") for line in lines[1:])


def test_paths_and_hashes_are_whole():
    path, sha = "/" + "folder/" * 20 + "rows.csv", "0123456789abcdef" * 4
    said = wrapped(f"data are in {path} of {sha} and so on", 40)
    assert [line for line in said if path in line]
    assert [line for line in said if sha in line]


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=12))
    n = draw(st.integers(0, 5))
    column = {True: NUMBER, False: TEXTS}
    columns = [[draw(TEXTS), *(draw(column[kind]) for _ in range(n))] for kind in kinds]
    return kinds, [list(line) for line in zip(*columns, strict=True)]


@given(tables(), st.integers(60, 140))
def test_tables_fit_and_cut_no_number(made, width):
    kinds, lines = made
    shown = table_lines(lines, kinds, width=width)
    assert all(cell_len(line) <= width for line in shown)
    hidden = 0
    if len(shown) > len(lines):
        *shown, last = shown
        hidden = int(last.split()[1])
        wide = int(last.partition("COLUMNS=")[2].split()[0])
        assert len(table_lines(lines, kinds, width=wide)) == len(lines)
        assert len(table_lines(lines, kinds, width=wide - 1)) >= len(lines)
        assert 0 < hidden < len(kinds)
    for line, text in zip(lines[1:], shown[1:], strict=True):
        numbers = [cell for cell, number in zip(line, kinds, strict=True) if number]
        assert sum(cell in text for cell in numbers) >= len(numbers) - hidden


def test_the_width_is_that_of_the_environment(monkeypatch):
    for columns, expected in (("", None), ("72", 72), ("x", None), ("7", 40)):
        monkeypatch.setenv("COLUMNS", columns)
        assert layout.screen() == expected
        assert layout.room() == (expected or 80)


RED, BELL = "\x1b[31m", "\x07"


ESCAPES = f"a{RED},b[/bold],c{BELL}"


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a},{b},{a + b},{f'p{RED}' if a > b else f'q{BELL}'}" for a, b in
            rng.integers(-9, 9, (40, 2))]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join([f"{ESCAPES},kind\u202e", *rows]) + "\n")
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


def test_brackets_are_no_markup():
    X, y = np.array([[0.0, 1], [1, 0], [2, 1], [5, 5]]), [0, 0, 1, 1]
    table = pd.DataFrame(X, columns=["a[/bold]", f"b{RED}"])
    shown = [
        linsep.separation(table, y),
        linsep.LinearRegression().fit(table, [1.0, 2, 3, 5]).summary(),
        linsep.trace(linsep.Perceptron(max_iter=2), table, y),
    ]
    for one in shown:
        out = io.StringIO()
        Console(file=out, width=200).print(one)
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


def test_letters_that_a_screen_does_not_have(tmp_path):
    (tmp_path / "t.csv").write_text("größe,y\n1,Zürich\n2,Bern\n3,Zürich\n4,Bern\n")
    here("fit", "t.csv", "--target", "y", "--model", "m", cwd=tmp_path)
    ascii_only = {"env": os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}}
    done = run("predict", "m", "t.csv", cwd=tmp_path, **ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) <= {"Bern", "Z\\xfcrich"}
    here("predict", "m", "t.csv", "-o", "p.txt", cwd=tmp_path)
    assert set((tmp_path / "p.txt").read_text("utf-8").split()) <= {"Bern", "Zürich"}


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of any bytes")
def test_file_names_that_are_not_utf8(tmp_path):
    name = os.fsdecode(b"t\xff.csv")
    (tmp_path / name).write_text("a,y\n1,p\n2,q\n3,p\n")
    done = here("fit", name, "--target", "y", "--model", os.fsdecode(b"m\xff"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "m\\udcff" in done.stdout
    assert_refused("fit", name, "--target", "z", cwd=tmp_path, code="unknown-column")


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


def test_results_are_escaped_on_a_terminal_only(folder):
    here("fit", "t.csv", "--target", "kind\u202e", "--model", "m", cwd=folder)
    command = ("predict", "m", "t.csv")
    assert RED in here(*command, cwd=folder).stdout  # data for another program
    seen = on_a_terminal(*command, cwd=folder)
    assert RED not in seen
    assert "p\\x1b[31m" in seen


def test_a_bar_on_a_terminal(folder):
    fit = ("fit", "t.csv", "--target", "kind\u202e")
    assert "━" in on_a_terminal(*fit, cwd=folder, stream="stderr")
