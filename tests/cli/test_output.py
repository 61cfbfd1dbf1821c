"""Tables and sentences are as wide as they may be, and data never take over a screen, a spreadsheet
or a file: against rich and textwrap."""

import io
import os
import re
import shlex
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
import rich
from hypothesis import given, strategies as st
from rich.cells import cell_len
from rich.console import Console

import linsep
from command_line import here, on_a_terminal, run
from linsep import LinearRegression, LogisticRegression, Perceptron, SoftMargin, layout
from linsep._system.files import written_whole
from linsep.errors import ModelFileError
from linsep.layout import (
    DOTS,
    elided,
    pair_lines,
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


words = st.lists(st.text("abcdef", min_size=1, max_size=layout.LONGEST), min_size=1, max_size=30)


@given(words.map(" ".join), st.integers(40, 90))
def test_sentences_are_wrapped_as_by_textwrap(text, width):
    assert wrapped(text, width, "  ") == textwrap.wrap(text, width, subsequent_indent="  ")


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
    assert head.split() == ["x0", "x1", "x2", "x37", "x38", "x39"]
    assert row.split() == [f"{k}.12345" for k in (0, 1, 2, 37, 38, 39)]
    assert last == "... 34 of 40 columns are hidden; COLUMNS=388 shows all"
    first, *_ = table_lines(lines, [True] * 40, width=60, first=5, least=(1,))
    assert first.split() == ["x0", "x2", "x3", "x4", "x5", "x39"]


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
    assert all(len(line) <= 50 for line in shown[:-1])
    assert shown[-1] == "x        linsep fit a.csv --target b --learner linear --force"


LONG = "a_feature_whose_name_has_one_hundred_characters_".ljust(96, "z")


NAMES = [
    *(f"{LONG}{k:04d}" for k in range(2)),
    "温度测量值" * 6,
    "a name of several words that goes on and on until it is longer than any column of a table",
    "e\u0301te\u0301",
    "tab\tand\x1b[31mred",
]


N = 48


NOTHING_IS_LEFT_OUT = "9999"


def frames():
    """Data frames whose tables are too wide, by their names."""
    rng = np.random.default_rng(5)
    few = pd.DataFrame(rng.normal(size=(N, len(NAMES))).round(3), columns=NAMES)
    two = np.where(rng.random(N) < 0.5, "a yes that is long " + "y" * 80, "no")
    twelve = [f"a class with a long name, number {k % 12}, {'q' * 60}" for k in range(N)]
    wide = pd.DataFrame(
        rng.normal(size=(N, 300)).round(3), columns=[f"{LONG}{k:04d}" for k in range(300)]
    )
    sizes = rng.normal(size=(N, 2))
    extreme = pd.DataFrame(sizes * [1e-300, 1e300], columns=["tiny", "huge"])
    large = pd.DataFrame(sizes * [1e-80, 1e80], columns=["tiny", "huge"])
    small = pd.DataFrame(rng.integers(-3, 4, size=(6, 30)), columns=wide.columns[:30])
    return {
        "few": few.assign(label=two), "twelve": few.assign(label=twelve),
        "wide": wide.assign(label=two), "extreme": extreme.assign(label=two),
        "large": large.assign(label=np.where(rng.random(N) < 0.5, "yes", "no")),
        "numbers": few.assign(label=few.iloc[:, 0] * 3.0 + rng.normal(size=N)),
        "small": small.assign(label=list("ababab")),
        "less": few[NAMES[:2]].iloc[:14].assign(label=two[:14]),
        "one": few.iloc[:1].assign(label="no"),
        "three": few.assign(label=[twelve[k % 3] for k in range(N)]),
    }  # fmt: skip


#: words of a table of classes without confusion matrix, which is wider
OTHER_WORDS = {"confused", "as", "right", "...", "and", "rarer", "classes;", "--json", "has", "all"}


#: what is learned from which data, by names of models
MODELS = {
    "perceptron": "fit few.csv --learner perceptron --max-iter 2",
    "average": "fit twelve.csv --max-iter 2 --cv 2",
    "wide-perceptron": "fit wide.csv --max-iter 2 --test wide.csv",
    "logistic": "fit few.csv --learner logistic --l2 1",
    "several": "fit three.csv --learner logistic --l2 1 --test three.csv",
    "wide-logistic": "fit wide.csv --learner logistic --l2 1",
    "large-logistic": "fit large.csv --learner logistic --scale none",
    "linear": "fit numbers.csv --learner linear",
    "margin": "fit twelve.csv --learner soft-margin --max-iter 5",
    "bayes": "fit twelve.csv --learner naive-bayes",
    "curved": "fit few.csv --learner naive-bayes --variances by_class",
}


@pytest.fixture(scope="module")
def wide_folder(tmp_path_factory):
    """A wide_folder with the data and the models."""
    path = tmp_path_factory.mktemp("widths")
    for name, frame in frames().items():
        frame.to_csv(path / f"{name}.csv", index=False)
    for name, command in MODELS.items():
        done = here(*shlex.split(command), "--target", "label", "--model", name, cwd=path)
        assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def whole(wide_folder):
    """What a command prints where there is room for everything, computed once."""
    known = {}

    def output(command):
        if command not in known:
            known[command] = printed(wide_folder, command, NOTHING_IS_LEFT_OUT)
        return known[command]

    return output


def printed(wide_folder, command, columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", columns)
        done = here(*shlex.split(command), cwd=wide_folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_it_fits(text, columns):
    lines = (line for line in text.splitlines() if " linsep " not in line)  # commands are whole
    wide = [line for line in lines if cell_len(line) > columns]
    assert not wide, wide[0]
    assert "\x1b" not in text


def assert_nothing_is_cut(text, whole):
    """Every word is one of the whole text or elided, every number one of its numbers, rounded."""
    text = re.sub(r"^\.\.\. .* columns are hidden; COLUMNS=\d+ shows all$", "", text, flags=re.M)
    text, whole = (re.sub(r"\d+\.\d\d s\b", "", each) for each in (text, whole))
    known = set(whole.split()) | OTHER_WORDS
    values = np.array([number for word in known for number in numbers_of(word)])
    for word in set(text.split()) - known:
        if "…" not in word and word != "\\":
            assert numbers_of(word), f"{word} is cut"
            for number in numbers_of(word):
                near = np.abs(values - number) <= 6e-4 * abs(number)
                assert near.any(), f"{word} is no number of the whole text"


def numbers_of(word):
    try:
        return [float(word.strip("[](),;:").replace(",", ""))]
    except ValueError:
        return []


def tables_of(text):
    """The blocks of lines that are tables: whose first line has three columns at least."""
    blocks = [[line for line in block.splitlines() if not line.startswith("...")]
              for block in re.split(r"\n\s*\n", text)]  # fmt: skip
    return [block for block in blocks if block and len(re.split(" {2,}", block[0].strip())) > 2]


def assert_columns_are_aligned(text):
    """Between the columns of a table are two spaces in every line."""
    for block in tables_of(text):
        # without sentences, which are below the table or its lines, or beside "confused"
        table = [line for line in block if "  " in line.strip() and line[:8] != "confused"]
        heads = re.split(" {2,}", table[0].strip())
        lines = [
            "".join(c + "*" * (cell_len(c) - 1) for c in line if cell_len(c)) for line in table
        ]
        width = max(map(len, lines))
        taken = "".join(
            " " if all(line.ljust(width)[k] == " " for line in lines) else "*" for k in range(width)
        )
        assert len(re.split(" {2,}", taken.strip())) >= len(heads), "\n".join(table)


def results():
    """Results that print as tables, by what they are."""
    few, three, numbers = (frames()[name] for name in ("few", "three", "numbers"))
    X, y = few[NAMES], few["label"]
    logistic = LogisticRegression(l2=1.0).fit(X, y)
    linear = LinearRegression().fit(numbers[NAMES], numbers["label"])
    several = LogisticRegression(l2=1.0).fit(three[NAMES], three["label"])
    smaller = LinearRegression().fit(numbers[NAMES[:2]], numbers["label"])
    return {
        "summary": logistic.summary(), "several": several.summary(), "linear": linear.summary(),
        "odds": logistic.odds_ratios(), "diagnostics": logistic.diagnostics(X, y),
        "assumptions": linear.assumptions(numbers[NAMES], numbers["label"]),
        "influence": linear.diagnostics(numbers[NAMES], numbers["label"]),
        "comparison": linsep.compare(smaller, linear, names=[LONG, NAMES[3]]),
        "groups": logistic.diagnostics(X, y).hosmer_lemeshow(),
        "verdict": linsep.separation(X, y),
        "verdicts": linsep.separation(three[NAMES], three["label"]),
        "suspicious": linsep.suspicious_labels(X, y, time_limit=1.0),
        "facts": linsep.describe(few, target="label"),
        "path": linsep.soft_margin_path(X, y, [0.1, 1.0]),
        "trace": linsep.trace(Perceptron(max_iter=1), X, y, max_rounds=3),
        "reflection": linsep.reflection(X, y),
        "convergence": linsep.convergence(Perceptron(max_iter=1), X, y),
        "bounds": Perceptron(max_iter=2).fit(X, y).bounds(X, y),
        "margin": SoftMargin().fit(X, y).equation_,
    }  # fmt: skip


@pytest.mark.parametrize("columns", [60, 80])
def test_results_in_python_fit(monkeypatch, columns):
    for name, result in results().items():
        if name == "margin":  # a function a line
            continue
        monkeypatch.setenv("COLUMNS", NOTHING_IS_LEFT_OUT)
        whole = str(result)
        monkeypatch.setenv("COLUMNS", str(columns))
        assert_it_fits(str(result), columns)
        assert_nothing_is_cut(str(result), whole)
        assert_columns_are_aligned(str(result))


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


COMMANDS = """
fit few.csv --learner perceptron --max-iter 2 --target label --model made --force
inspect average
inspect several
describe few.csv --target label
describe wide.csv --target label
separate less.csv --target label --errors
separate three.csv --target label
bounds few.csv --target label --gamma 0.1
trace small.csv --target label --max-rounds 4
score average twelve.csv
score linear numbers.csv
audit wide-perceptron wide.csv
audit several three.csv
summary logistic few.csv
summary several --odds-ratios
summary wide-logistic
summary linear numbers.csv
effects several three.csv
tune few.csv --target label --cv 2 --learner pa --learner perceptron --grid max_iter=1,2
"""


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [60, 80])
def test_what_a_command_prints_fits(wide_folder, whole, columns):
    for command in COMMANDS.strip().split("\n"):
        text = printed(wide_folder, command, str(columns))
        assert_it_fits(text, columns)
        assert_nothing_is_cut(text, whole(command))
        assert_columns_are_aligned(text)


def test_results_are_escaped_on_a_terminal_only(folder):
    here("fit", "t.csv", "--target", "kind\u202e", "--model", "m", cwd=folder)
    command = ("predict", "m", "t.csv")
    assert RED in here(*command, cwd=folder).stdout  # data for another program
    seen = on_a_terminal(*command, cwd=folder)
    assert RED not in seen
    assert "p\\x1b[31m" in seen
