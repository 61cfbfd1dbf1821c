"""Tables and sentences are as wide as they may be: against rich, textwrap, shlex and a shell."""

import shlex
import subprocess
import textwrap

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from linsep import layout
from linsep.layout import (
    DOTS,
    NUMBERS,
    command_lines,
    elided,
    pair_lines,
    table_lines,
    told_apart,
    width_of,
    wrapped,
)

LETTERS = "abcXYZ_- ,.éßΩ温度测量ｱ한글\u0301\u0308🙂"
TEXTS = st.text(LETTERS, max_size=90)
NUMBER = st.one_of(
    st.floats(allow_nan=False).map("{:.6g}".format),
    st.integers(-(10**18), 10**18).map("{:,}".format),
    st.floats(0, 1).map(lambda share: f"{100 * share:.2f}%"),
)  # fmt: skip


@given(st.text(LETTERS))
def test_width_is_that_of_rich(text):
    assert width_of(text) == cell_len(text)


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


def test_texts_that_differ_in_the_middle_stay_different():
    texts = [f"a class with a long name, number {k}, and much more" for k in range(3)] + ["b"]
    assert (
        told_apart(texts, 16) == [*(f"… number {k}…" for k in range(3)), "b"]
        or len(set(told_apart(texts, 16))) == 4
    )
    assert all(width_of(text) <= 16 for text in told_apart(texts, 16))
    ends = [f"{'x' * 50}{k}" for k in range(3)]
    assert told_apart(ends, 9) == [elided(text, 9) for text in ends]


words = st.lists(st.text("abcdef", min_size=1, max_size=layout.LONGEST), min_size=1, max_size=30)


@given(words.map(" ".join), st.integers(40, 90))
def test_sentences_are_wrapped_as_by_textwrap(text, width):
    assert wrapped(text, width, "  ") == textwrap.wrap(text, width, subsequent_indent="  ")


def test_paths_and_hashes_are_whole():
    path, sha = "/" + "folder/" * 20 + "rows.csv", "0123456789abcdef" * 4
    said = wrapped(f"data are in {path} of {sha} and so on", 40)
    assert [line for line in said if path in line]
    assert [line for line in said if sha in line]


@given(st.lists(st.sampled_from(["--a", "-b", "a b", "it's", "x" * 30, "$HOME", "*"]), max_size=12))
def test_folded_commands_are_the_same_commands(given):
    command = shlex.join(["printf", "%s\\0", "x", *given])
    shown = command_lines(command, 40)
    if len(shown) == 1:
        assert shown == [command]
        return
    assert all(line.endswith(" \\") for line in shown[:-1])
    joined = "\n".join(shown).replace(" \\\n", " ")
    assert shlex.split(joined) == shlex.split(command)


def test_a_shell_reads_a_folded_command():
    command = shlex.join(
        ["printf", r"%s\n", "--name", "a b", "--other", "it's", "x" * 40, "--last"]
    )
    shown = command_lines(command, 40)
    assert len(shown) > 2
    done = subprocess.run(
        ["sh", "-c", "\n".join(shown)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["--name", "a b", "--other", "it's", "x" * 40, "--last"]


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


def test_widest_texts_are_elided_first():
    lines = [["name", "value", "short"], ["a" * 50, "1.25", "b" * 12], ["c", "-3e-300", "d"]]
    assert table_lines(lines, [False, True, False], width=40) == [
        "name                 value  short",
        "aaaaaaaa…aaaaaaaa     1.25  bbbbbbbbbbbb",
        "c                  -3e-300  d",
    ]


def test_columns_in_the_middle_are_hidden_and_counted():
    lines = [[f"x{k}" for k in range(40)], [f"{k}.12345" for k in range(40)]]
    head, row, last = table_lines(lines, [True] * 40, width=60)
    assert head.split() == ["x0", "x1", "x2", DOTS, "x37", "x38", "x39"]
    assert row.split() == [
        "0.12345",
        "1.12345",
        "2.12345",
        DOTS,
        "37.12345",
        "38.12345",
        "39.12345",
    ]
    assert last == "... 34 of 40 columns are hidden; COLUMNS=388 shows all"
    first, *_ = table_lines(lines, [True] * 40, width=60, first=5, least=(1,))
    assert first.split() == ["x0", DOTS, "x2", "x3", "x4", "x5", DOTS, "x39"]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_sentences_stand_beside_or_below(width):
    said = "the variance changes with squares or products of the features, that is, by a rule"
    lines = [["test", "statistic", "what it says"], ["Breusch-Pagan of all rows", "1.25", said]]
    shown = table_lines(lines, [False, True, False], width=width, sentences=True)
    assert all(cell_len(line) <= width for line in shown)
    assert " ".join(" ".join(shown).split()).count(" 1.25 ") == 1
    assert all(word in " ".join(shown).split() for word in said.split())


@pytest.mark.parametrize(
    ("columns", "expected"), [("", None), ("0", None), ("72", 72), ("x", None), ("7", 40)]
)
def test_the_width_is_that_of_the_environment(monkeypatch, columns, expected):
    monkeypatch.setenv("COLUMNS", columns)
    assert layout.screen() == expected
    assert layout.room() == (expected or 80)


def test_pairs_are_one_line_each_in_a_file(monkeypatch):
    pairs = [
        ("verdict", "word " * 40),
        ("x", "linsep fit a.csv --target b --learner linear --force"),
    ]
    monkeypatch.delenv("COLUMNS", raising=False)
    assert len(pair_lines(pairs)) == 2
    monkeypatch.setenv("COLUMNS", "50")
    shown = pair_lines(pairs)
    assert all(len(line) <= 50 for line in shown)
    assert shown[-2:] == [
        "x        linsep fit a.csv --target b \\",
        "           --learner linear --force",
    ]


def test_numbers_are_told_from_names():
    for text in (
        "-1.5",
        "1,200",
        "95.5%",
        "0.1 to 0.3",
        "<0.001",
        "1e-300",
        "inf",
        "1 ± 0.1",
        "-",
    ):
        assert NUMBERS.fullmatch(text), text
    for text in ("x1", "line 3", "1" * 41, "sepal length", "e"):
        assert not NUMBERS.fullmatch(text), text
