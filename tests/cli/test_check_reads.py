"""``linsep.check`` reads what ``separate`` reads, cell by cell, or says who does."""

import random
import subprocess
import sys

import pytest

from command_line import here
from linsep import check, open_source
from linsep.cli.reading import feature_names
from linsep.errors import DataError
from thoroughness import THOROUGH

pytestmark = pytest.mark.thorough

CELLS = [
    "1", "-1", "+1", "+.5", ".5", "5.", "+5.", "-.5", "1e3", "+1e+3", "1E-3", "+0", "-0", "-0.0",
    "007", "1.", "1.e3", "1_000", "0x10", "e3", "1e", "-", "+", ".", "--1", "+-1", "true", "True",
    "TRUE", "tRUE", "false", "FALSE", "0", "inf", "-inf", "nan", "NaN", "NA", "null", "N/A", "a",
    "b", "yes", "t", "1e-400", "9007199254740993", "9007199254740992.0", "9223372036854775807",
    "9223372036854775808", "123456789012345678901234567890", "2020-01-01", "12:30", "1/2", "1%",
    "1d3", "1f", "0b1", "1.50", "٣", "１２", "١.٥", "Ⅳ", "²", "½", "", " 1", "1 ", " 1 ", "\t1",
    "\xa01", "\x0b1", "1\x0c", "  ", "1,5", 'a"b', "x=y", " true",
]  # fmt: skip
NUMBERS, WORDS, TEXTS = (
    ["0", "1", "2", "-3", "+4", "0.5", ".5", "1e3", " 1", "2 ", "007", "-0.0"],
    ["0", "1", "true", "false", "True", "FALSE"],
    ["a", " a", "a ", "A", "é", "true", "1", "NA", "-", "a,b", 'say "hi"', "line\nbreak", "٣"],
)
NAMES = ["a", "b", "a=1", "a=b", "b=c", "c d", " e", "é", "1", "NA", 'q"q']


def read(path, exclude=()):
    """What ``separate`` reads: rows, labels and names; None if it refuses the file."""
    try:
        source = open_source(str(path), exclude=list(exclude), **_target(path))
        X, y = [], []
        for rows, labels, *_ in source.exactly():
            X += (rows.toarray() if hasattr(rows, "toarray") else rows).tolist()
            y += labels.tolist()
        return X, [*map(_label, y)], feature_names(source, len(X[0]))
    except DataError:
        return None


def read_alone(path, exclude=()):
    """What :mod:`linsep.check` reads; None if it refuses the file."""
    try:
        rows, labels, names, width = check.read(path, _target(path).get("target"), exclude)
        return (
            [[row.get(j, 0) for j in range(width)] for row in rows],
            [*map(_label, labels)],
            names,
        )
    except check.WRONG:
        return None


def _target(path):
    return {"target": "y"} if path.suffix == ".csv" else {}


def _label(label):
    """The label, of the type that proofs give it."""
    whole = isinstance(label, float) and label.is_integer()
    return (int, int(label)) if whole else (type(label), label)


def _quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if {*cell} & {*',"\n'} or not cell else cell


@pytest.mark.parametrize("others", ["2 3", "0 1", "true false", "a b", "2.5 3", "+2 -3", "true 1"])
def test_every_spelling_of_a_cell(tmp_path, others):
    path, accepted = tmp_path / "t.csv", 0
    for cell in CELLS:
        columns = [[cell, *others.split()], [*others.split(), cell]], ["0", "1", "0"]
        for of_labels in (False, True):
            for column in columns[0]:
                pair = (columns[1], column) if of_labels else (column, columns[1])
                rows = zip(*(map(_quoted, side) for side in pair), strict=True)
                lines = ["x,y", *map(",".join, rows)]
                path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
                found = read(path)
                accepted += found is not None
                assert found is None or read_alone(path) == found, (cell, column, of_labels)
    assert accepted > 50


def test_tables_drawn_at_random(tmp_path):
    path, accepted = tmp_path / "t.csv", 0
    for seed in range(2000 if THOROUGH else 150):
        draw = random.Random(seed)
        d, n = draw.randint(1, 4), draw.randint(2, 6)
        pools = draw.choices([NUMBERS, WORDS, TEXTS], k=d + 1)
        table = [[draw.choice(pool) for _ in range(n)] for pool in pools]
        names = [*draw.sample(NAMES, d), "y"]
        end, mark = draw.choice(["\n", "\r\n"]), draw.choice(["", "", "\ufeff"])
        lines = [",".join(map(_quoted, row)) for row in [names, *zip(*table, strict=True)]]
        if draw.random() < 0.2:
            lines.insert(draw.randint(0, len(lines)), "")
        path.write_text(mark + end.join(lines) + end, encoding="utf-8", newline="")
        exclude = draw.sample(names[:-1], d > 1 and draw.random() < 0.2)
        found = read(path, exclude)
        accepted += found is not None
        assert found is None or read_alone(path, exclude) == found, seed
    assert accepted > 50


def test_names_of_indicators_may_be_equal(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,a=b,y\nb=c,d,0\nx,c,1\nb=c,c,0\n")
    found = read(path)
    if found is not None:
        assert read_alone(path) == found
    rows, _, names, width = check.read(path, "y", [])
    assert width == len(names) == len(rows[0]) == 4


def test_svmlight_text(tmp_path):
    path, accepted = tmp_path / "t.svm", 0
    values = [
        "1", "+1", "-1", ".5", "+.5", "5.", "1e3", "+1E+3", "-0", "007", "1e-400",
        "9007199254740993", "٣", "inf", "1_0", "0x1",
    ]  # fmt: skip
    for value in values:
        for line in (
            f"1 1:{value}",
            f"{value} 2:3",
            f"1 \t3:{value} # 1:2",
            f" 2 0:{value}\r",
        ):
            path.write_text(f"{line}\n-7 1:2 3:4\n\n# none\n", encoding="utf-8", newline="")
            found = read(path)
            accepted += found is not None
            assert found is None or read_alone(path) == found, line
    assert accepted > 30


TABLE = "a,b,w,y\n1,u,2,0\n+2,v,3,1\n.5,u,1,0\n5,u,1,1\n4,,2,1\n"
FOLLOWED = [
    ("full.csv", ["--exclude", "a"]),
    ("full.csv", ["--delimiter", ","]),
    ("full.csv", ["--missing", "zero"]),
    ("full.csv", ["--no-quotes"]),
    ("t.svm", []),
]
NAMED = [
    ("t.csv", ["--missing", "zero"]),
    ("t.csv", ["--missing", "drop"]),
    ("t.csv", ["--missing", "drop", "--null-values", "v"]),
    ("t.csv", ["--missing", "zero", "--hash-bits", "4"]),
    ("full.csv", ["--hash-bits", "1"]),
    ("full.csv", ["--text", "b", "--norm", "none"]),
    ("semicolon.csv", ["--delimiter", ";"]),
    ("blanks.csv", ["--delimiter", "whitespace"]),
    ("bare.csv", ["--no-header"]),
    ("t.tsv", []),
    ("t.jsonl", []),
    ("from0.svm", ["--index-base", "0"]),
    ("t.vw", []),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same table in other forms."""
    at, full = tmp_path_factory.mktemp("forms"), TABLE.replace("4,,", "4,v,")
    for name, text in {
        "t.csv": TABLE, "full.csv": full, "semicolon.csv": full.replace(",", ";"),
        "blanks.csv": full.replace(",", "  "), "bare.csv": full.split("\n", 1)[1],
        "t.tsv": full.replace(",", "\t"), "t.jsonl": '{"a":1,"y":0}\n{"a":2,"y":1}\n',
        "from0.svm": "1 1:2\n-1 2:3\n", "t.svm": "+1 1:+2\n-1 2:.5\n",
        "t.vw": "1 |a x:2\n-1 |a z\n",
    }.items():  # fmt: skip
        (at / name).write_text(text)
    return at


@pytest.mark.parametrize(("name", "options"), FOLLOWED + NAMED)
def test_whatever_separate_was_given_is_followed_or_named(files, name, options):
    table = name.endswith((".csv", ".tsv", ".jsonl"))
    target = ["--target", "column_4" if name == "bare.csv" else "y"] if table else []
    proof = str(files / "proof.json")
    done = here("separate", name, *target, *options, "--proof", proof, "--force", cwd=files)
    assert done.returncode == 0, done.stderr
    assert here("verify", proof, name, *target, *options, cwd=files).returncode == 0
    ours = [*target, *(options if "--exclude" in options else [])]
    command = [sys.executable, "-I", "-S", check.__file__, proof, name, *ours]
    done = subprocess.run(command, cwd=files, capture_output=True, text=True, check=False)
    if (name, options) in FOLLOWED:
        assert done.stdout.startswith("It holds.\n"), done.stderr
    else:
        assert done.returncode == 1
        assert "use linsep verify" in done.stderr, done.stderr


def test_names_that_look_like_features_of_another_column_are_quoted(tmp_path):
    cells = "b=c,c,1,1\nb=c,r,5,1\nq,c,2,0\nq,r,3,0\nb=c,c,4,1\nq,c,6,0\n"
    (tmp_path / "t.csv").write_text(
        f'a,a=b,a=q,"""x""",y\n{cells}'.replace(",1\n", ",7,1\n").replace(",0\n", ",7,0\n")
    )
    done = here("separate", "t.csv", "--target", "y", "--proof", "p.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_alone(tmp_path / "t.csv") == read(tmp_path / "t.csv")
    checked = subprocess.run(
        [sys.executable, check.__file__, "p.json", "t.csv", "--target", "y"], cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr
