"""``python -m linsep.check``: alone, without numpy, it reads and says what ``verify`` does."""

import ast
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import checkers_agree
from checkers_agree import accepts_alone, plain
from command_line import here
from linsep import check, from_json, open_source, separation
from linsep.certificate.canonical import sha256_of
from linsep.cli.reading import features_of
from linsep.errors import DataError
from linsep.separability.data import data_of
from proof_edits import written

ALONE = Path(check.__file__)


def test_it_is_short_and_stands_alone():
    text = ALONE.read_text()
    assert len(text.splitlines()) < 540
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= sys.stdlib_module_names
        if isinstance(node, ast.ImportFrom):
            assert node.module in sys.stdlib_module_names


def proof_of(path, **how):
    """What ``linsep separate --proof`` writes of a file."""
    source = open_source(str(path), **how)
    data = data_of(source)
    data.names = features_of(source, data.n_features)
    return separation(data).to_json(source.recipe())


def run(*arguments):
    """The file by itself: no site-packages, so no numpy and no linsep."""
    command = [sys.executable, "-I", "-S", str(ALONE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_files_are_read_as_linsep_reads_them(tmp_path):
    (tmp_path / "table.csv").write_text(CSV)
    (tmp_path / "rows.svm").write_text(ROWS)
    (tmp_path / "zero.svm").write_text("0 0:1 2:3\n5 1:2\n5 0:-1\n")
    how = ["--target", "group", "--exclude", "kind"]
    for name, options, given in (
        ("table.csv", how, {"target": "group", "exclude": ["kind"]}),
        ("table.csv", ["--target", "on"], {"target": "on"}),
        ("rows.svm", [], {}),
        ("zero.svm", [], {}),
    ):
        (tmp_path / "proof.json").write_text(proof_of(tmp_path / name, **given))
        done = run(tmp_path / "proof.json", tmp_path / name, *options)
        assert done.stdout.startswith("It holds.\n"), done.stderr
    (tmp_path / "proof.json").write_text(proof_of(tmp_path / "table.csv", target="on"))
    other = run(tmp_path / "proof.json", tmp_path / "table.csv", *how[:2])
    assert other.returncode == 1


def test_a_proof_of_many_columns_is_checked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60)).round(3)
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    found = separation(X, y)
    assert found.kind == "overlapping"
    text, rows = found.to_json(), [dict(enumerate(row)) for row in X.tolist()]
    assert "overlapping: 1 against 0" in check.check(text, rows, y.tolist(), None, 60)
    space, exact = (
        {j: {j: 1} for j in range(60)},
        [dict(enumerate(row)) for row in X.astype(int).tolist()],
    )
    for few in (exact[:1] * 61, exact[:59], [{**row, 0: 0} for row in exact]):
        with pytest.raises(ValueError, match="span"):
            check.need_span(few, space)
    check.need_span(exact, space)
    with pytest.raises(ValueError, match="outside"):
        check.need_span([{60: 1}], space)


def test_the_rank_of_rows_near_a_power_of_two():
    """Their minors are multiples of the prime 2**61 - 1."""
    rows = [(1, 1), (3, 3), (-2, 2), (0, -2), (1, -3), (-1, 2), (-2, 1), (3, 3), (3, -1), (1, -3),
            (3, 0), (1, 3)]  # fmt: skip
    X, y = np.array([[a, b, a] for a, b in rows]) + 2**60, np.array(list("22cbacb2bcbc"))
    assert accepts_alone(separation(X, y, fit_intercept=False).to_json(), X, y)


def test_what_does_not_hold_is_exit_code_1(tmp_path):
    path, proof = tmp_path / "rows.svm", tmp_path / "proof.json"
    path.write_text(ROWS)
    text = proof_of(path)
    for data, altered in (
        (ROWS.replace("0.5", "0.25"), text),
        (ROWS, text.replace("separable", "overlapping")),
        (ROWS, text.replace('"rows": 4', '"rows": 4.0')),
        (ROWS, "[" * 100_000),
        ("1 a:b\n", text),
        ("", text),
    ):
        path.write_text(data)
        proof.write_text(altered)
        done = run(proof, path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("Not proved (")


def test_the_hash_is_that_of_canonical_rows():
    rng = np.random.default_rng(0)
    for X in (
        rng.integers(-1, 2, (20, 9)) * 10.0 ** rng.integers(-320, 300, (20, 9)),
        rng.integers(-(2**62), 2**62, (20, 3)),
        rng.integers(0, 2, (20, 9)) * np.uint64(2**64 - 1),
        np.full((3, 2), np.finfo(float).max),
    ):
        y = np.array(["b", "ä", "b"])[np.arange(len(X)) % 3]
        rows, labels, _, width = plain(X, y)
        rows = [{j: check.Fraction(x) for j, x in row.items() if x} for row in rows]
        assert check.hash_of(rows, labels, width) == sha256_of(X, y)


@pytest.mark.parametrize("seed", range(2))
def test_proofs_about_gram_matrices(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (9, 2)), rng.permutation(np.arange(9) % (2 + seed % 2))
    K = (X @ X.T + seed % 3) ** (1 + seed % 2)
    report = separation(K=K, y=y)
    text = report.to_json()
    assert report.verify(K, y)
    assert accepts_alone(text, K, y)
    other = K.copy()
    other[-1, -1] += 9**5  # no part of the columns that are named
    plain_proof = json.loads(text)
    columns = plain_proof["data"]["columns"]
    blocked = any(v["kind"] != "separable" for v in plain_proof["verdicts"])
    if 8 not in columns and blocked:
        assert report.verify(other, y).holds is False
        assert not accepts_alone(text, other, y)
    for wrong in (None, columns[1:], [*columns, 8], [True, *columns], [float(j) for j in columns]):
        plain_proof["data"]["columns"] = wrong
        edited = json.dumps(plain_proof, indent=1) + "\n"
        if wrong != columns or str(wrong) != str(columns):
            assert not accepts_alone(edited, K, y)
            assert not checkers_agree.accepts(edited, K, y)


def test_a_gram_matrix_in_a_file(tmp_path):
    K, y = np.array([[4, 2, 0], [2, 1, 0], [0, 0, 0]]), ["a", "b", "a"]
    (tmp_path / "proof.json").write_text(separation(K=K, y=y).to_json())
    rows = [",".join(map(str, [*row, label])) for row, label in zip(K, y, strict=True)]
    (tmp_path / "K.csv").write_text("\n".join(["k0,k1,k2,y", *rows]) + "\n")
    files = [tmp_path / "proof.json", tmp_path / "K.csv", "--target", "y"]
    assert run(*files).stdout.startswith("It holds.\noverlapping")
    assert here("verify", *files, cwd=tmp_path).returncode == 0
    (tmp_path / "K.csv").write_text("\n".join(["k0,k1,k2,y", rows[0], *rows[:2]]) + "\n")
    assert run(*files).returncode == 1
    assert here("verify", *files, cwd=tmp_path).returncode == 1


def test_its_time_is_bounded_and_it_reads_files_only(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    (tmp_path / "proof.json").write_text(separation(X, y).to_json())
    rows = (",".join(map(repr, [*row, label])) for row, label in zip(X.tolist(), y, strict=True))
    names = ",".join(f"x{j}" for j in range(30))
    (tmp_path / "rows.csv").write_text("\n".join([f"{names},y", *rows]) + "\n")
    how = ["--target", "y", "--time-limit"]
    done = run(tmp_path / "proof.json", tmp_path / "rows.csv", *how, 0.05)
    assert done.returncode == 1
    os.mkfifo(tmp_path / "pipe")
    for files in (("pipe", "rows.csv"), ("proof.json", "pipe"), (".", "rows.csv")):
        done = run(*(tmp_path / name for name in files), *how, 60)
        assert done.returncode == 1


@pytest.mark.parametrize("seed", range(2))
def test_a_gram_matrix_has_no_names_and_is_symmetric(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (5, 2)), np.array([0, 1, 0, 1, 1])
    K = X @ X.T + (0 if seed % 2 else 25) * np.eye(5, dtype=int)
    whole = json.loads(separation(K=K, y=y).to_json())
    width = whole["data"]["features"]
    assert accepts_alone(written(whole), K, y)
    assert checkers_agree.accepts(written(whole), K, y)
    for names in (list("edcba"[:width]), [""] * width, list("abcde"), []):
        forged = json.loads(written(whole))
        forged["data"]["names"] = names
        assert not accepts_alone(written(forged), K, y)
        assert not checkers_agree.accepts(written(forged), K, y)
    for more, fine in ((2.0**-28, True), (2.0**-24, False), (1, False), (-3, False)):
        other = K.astype(float)
        other[0, 4] += more * np.abs(K).max()
        text = separation(other[:, whole["data"]["columns"]], y, fit_intercept=False).to_json()
        forged = json.loads(text)
        forged["data"]["columns"] = whole["data"]["columns"]
        for verdict in forged["verdicts"]:
            if verdict["kind"] == "separable":  # no margin is defined
                verdict["margin"] = [0.0, None]
                verdict["support"] = {"rows": [], "which": [], "multipliers": []}
        assert accepts_alone(written(forged), other, y) is checkers_agree.accepts(
            written(forged), other, y
        )
        if not fine:
            assert not accepts_alone(written(forged), other, y)
            assert from_json(written(forged)).verify(other, y).holds is False
        elif width == 5:
            assert accepts_alone(written(forged), other, y)


def test_zero_has_one_sign_in_a_margin():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    verdict = separation(X, y)
    text = verdict.to_json()
    for margin, holds in (([0.0, None], True), ([-0.0, None], False), ([0.0, -0.0], False)):
        forged = json.loads(text)
        forged["verdicts"][0]["margin"] = margin
        if margin[1] is None:
            forged["verdicts"][0]["support"] = {"rows": [], "which": [], "multipliers": []}
        assert accepts_alone(written(forged), X, y) is holds
        assert checkers_agree.accepts(written(forged), X, y) is holds
    odd = dataclasses.replace(verdict, margin=(-0.0, verdict.margin[1]))
    assert "-0.0" not in odd.to_json()


NO_THREADS = """
import runpy, sys, _thread, threading
def refused(*args, **kwargs):
    raise RuntimeError("can't start new thread")
_thread.start_new_thread = threading._start_new_thread = threading.Thread.start = refused
sys.argv = ["check", *sys.argv[1:]]
runpy.run_path({path!r}, run_name="__main__")
"""


def test_it_needs_no_threads(tmp_path):
    """As in a browser; only a time limit needs one."""
    path, proof = tmp_path / "rows.svm", tmp_path / "proof.json"
    path.write_text(ROWS)
    proof.write_text(proof_of(path))
    command = [sys.executable, "-c", NO_THREADS.format(path=str(ALONE)), str(proof), str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "It holds.")


CELLS = [
    "1", "+1", "+.5", "5.", "-.5", "1e3", "+1e+3", "1E-3", "-0", "-0.0", "007", "1.e3", "1_000",
    "0x10", "e3", "1e", "-", "+", ".", "--1", "true", "True", "tRUE", "FALSE", "inf", "nan", "NA",
    "null", "a", "yes", "1e-400", "9007199254740993", "9007199254740992.0", "9223372036854775808",
    "123456789012345678901234567890", "2020-01-01", "1/2", "1%", "1f", "0b1", "٣", "１２", "Ⅳ",
    "½", "", " 1", "1 ", "\t1", "\xa01", "\x0b1", "1\x0c", "  ", "1,5", 'a"b', " true",
]  # fmt: skip


def read(path, exclude=()):
    """What ``separate`` reads: rows, labels and names; None if it refuses the file."""
    try:
        source = open_source(str(path), exclude=list(exclude), **_target(path))
        X, y = [], []
        for rows, labels, *_ in source.exactly():
            X += (rows.toarray() if hasattr(rows, "toarray") else rows).tolist()
            y += labels.tolist()
        return X, [*map(_label, y)], features_of(source, len(X[0]))
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


def test_svmlight_text(tmp_path):
    path, accepted = tmp_path / "t.svm", 0
    values = [
        "1", "+1", "-1", ".5", "+.5", "5.", "1e3", "+1E+3", "-0", "007", "1e-400",
        "9007199254740993", "٣", "inf", "1_0", "0x1",
    ]  # fmt: skip
    for value in values:
        for line in (f"1 1:{value}", f"{value} 2:3", f"1 \t3:{value} # 1:2", f" 2 0:{value}\r"):
            path.write_text(f"{line}\n-7 1:2 3:4\n\n# none\n", encoding="utf-8", newline="")
            found = read(path)
            accepted += found is not None
            assert found is None or read_alone(path) == found, line
    assert accepted > 30


FOLLOWED = [
    ("full.csv", ["--exclude", "a"]),
    ("full.csv", ["--missing", "zero"]),
    ("full.csv", ["--no-quotes"]),
]


NAMED = [
    ("t.csv", ["--missing", "drop"]),
    ("full.csv", ["--hash-bits", "1"]),
    ("full.csv", ["--text", "b", "--norm", "none", "--text-bits", "4"]),
    ("semicolon.csv", ["--delimiter", ";"]),
    ("t.jsonl", []),
    ("t.vw", ["--hash-bits", "4"]),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same table in other forms."""
    at, full = tmp_path_factory.mktemp("forms"), TABLE.replace("4,,", "4,v,")
    for name, text in {
        "t.csv": TABLE, "full.csv": full, "semicolon.csv": full.replace(",", ";"),
        "t.jsonl": '{"a":1,"y":0}\n{"a":2,"y":1}\n', "t.vw": "1 |a x:2\n-1 |a z\n",
    }.items():  # fmt: skip
        (at / name).write_text(text)
    return at


@pytest.mark.parametrize(("name", "options"), FOLLOWED + NAMED)
def test_whatever_separate_was_given_is_followed_or_named(files, name, options):
    target = [] if name == "t.vw" else ["--target", "y"]
    proof = str(files / "proof.json")
    done = here("separate", name, *target, *options, "--proof", proof, "--force", cwd=files)
    assert done.returncode == 0, done.stderr
    assert here("verify", proof, name, *target, *options, cwd=files).returncode == 0
    ours = [*target, *(options if "--exclude" in options else [])]
    done = run(proof, files / name, *ours)
    if (name, options) in FOLLOWED:
        assert done.stdout.startswith("It holds.\n"), done.stderr
    else:
        assert done.returncode == 1
        assert "use linsep verify" in done.stderr, done.stderr


FOREIGN = "numpy", "scipy", "sklearn", "numba", "rich", "pyarrow", "flint", "click"


MODULES = [
    "check", "drawing", "errors", "parameters", "words", "teaching.rounds", "teaching.tables",
    "teaching.trace_table",
    *(f"teaching.textbook.{name}" for name in
      ("arow", "dual", "keeping", "kernels", "logistic", "margin", "online_logistic",
       "passive_aggressive", "perceptron", "scw", "winnow")),
]  # fmt: skip


def test_the_plain_python_of_the_textbook_imports_the_standard_library_only():
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({FOREIGN!r}))\n"  # importing None is an ImportError
        "from importlib import import_module\n"
        f"for name in {MODULES!r}: import_module(f'linsep.{{name}}')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


CSV = '''\ufefflength,note,"wide ""one""",kind,on,group
1.5,a,3,x,true,7
-.5e1,b,2,y,false,8.0
2,"a, b",1,x,TRUE,7
1,b,-0.0,x,false,8.0
2.25,ü,1e-3,z,true,7
'''
ROWS = """# a comment
+1 1:0.5 3:-2e-1 # another
-1 2:1 3:4

1 1:.25
-1.0 1:7 4:1e300
"""
TABLE = "a,b,w,y\n1,u,2,0\n+2,v,3,1\n.5,u,1,0\n5,u,1,1\n4,,2,1\n"


@pytest.mark.parametrize("others", ["2 3", "true false", "2.5 3"])
def test_every_spelling_of_a_cell(tmp_path, others):
    path, accepted = tmp_path / "t.csv", 0
    for cell in CELLS:
        for column in [cell, *others.split()], [*others.split(), cell]:
            rows = zip(map(_quoted, column), "010", strict=True)
            path.write_text("\n".join(["x,y", *map(",".join, rows)]) + "\n", "utf-8", newline="")
            found = read(path)
            accepted += found is not None
            assert found is None or read_alone(path) == found, (cell, column)
    assert accepted > 20
