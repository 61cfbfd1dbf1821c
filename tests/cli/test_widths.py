"""Tables and sentences fit 60 and 80 columns: no word and no number is cut."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

import linsep
from command_line import here
from linsep import LinearRegression, LogisticRegression, Perceptron, SoftMargin

pytestmark = pytest.mark.uncompiled

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
    large = pd.DataFrame(sizes * [1e-120, 1e120], columns=["tiny", "huge"])
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
COMMANDS = [
    *(f"{command} --target label --model made --force" for command in MODELS.values()),
    *(f"inspect {model}" for model in MODELS),
    *(f"describe {data}.csv --target label" for data in ("few", "twelve", "wide", "extreme")),
    "describe one.csv --target label",
    "separate less.csv --target label --errors", "separate wide.csv --target label",
    "separate three.csv --target label", "separate few.csv --target label --gamma 0.1",
    "bounds few.csv --target label --gamma 0.1",
    "trace small.csv --target label --max-rounds 4",
    "trace few.csv --target label --max-rounds 4",
    "trace twelve.csv --target label --max-rounds 3",
    "score perceptron few.csv", "score average twelve.csv", "score several three.csv",
    "score linear numbers.csv", "score logistic one.csv",
    "audit perceptron few.csv", "audit wide-perceptron wide.csv", "audit several three.csv",
    "summary logistic few.csv", "summary several", "summary wide-logistic", "summary bayes",
    "summary curved", "summary linear numbers.csv", "summary several --odds-ratios",
    "effects several three.csv", "effects wide-logistic wide.csv",
    "tune few.csv --target label --grid C=0.1,1 --learner pa",
    "tune few.csv --target label --cv 2 --learner pa --learner perceptron --grid max_iter=1,2",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the data and the models."""
    path = tmp_path_factory.mktemp("widths")
    for name, frame in frames().items():
        frame.to_csv(path / f"{name}.csv", index=False)
    for name, command in MODELS.items():
        done = here(*shlex.split(command), "--target", "label", "--model", name, cwd=path)
        assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def whole(folder):
    """What a command prints where there is room for everything, computed once."""
    known = {}

    def output(command):
        if command not in known:
            known[command] = printed(folder, command, NOTHING_IS_LEFT_OUT)
        return known[command]

    return output


def printed(folder, command, columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", columns)
        done = here(*shlex.split(command), cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_prints_fits(folder, whole, command, columns):
    text = printed(folder, command, str(columns))
    assert_it_fits(text, columns)
    assert_nothing_is_cut(text, whole(command))
    assert_columns_are_aligned(text)


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_tables_in_pipes_have_80_columns(folder, whole, command, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    text = here(*shlex.split(command), cwd=folder).stdout
    tables = "\n\n".join("\n".join(table) for table in tables_of(text))
    assert_it_fits(tables, 80)
    assert_nothing_is_cut(tables, whole(command))


def assert_it_fits(text, columns):
    wide = [line for line in text.splitlines() if cell_len(line) > columns]
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
