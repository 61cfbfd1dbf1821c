"""``python -m campaign.mutants cover FILE``, then ``run FILE``: whether tests notice small faults.

``cover`` runs the tests without the compiler and writes to FILE which run which line. ``run`` makes
200 mutants, each of one token, and runs tests of its line for 20 processor seconds, on a copy.
"""

import ast
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import coverage.numbits

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "linsep"
#: files that stay
FILES = """*.py certificate/*.py chance/*.py scoring/*.py validation/*.py rows/arrays.py
compiled/loop.py compiled/rows.py compiled/weights.py compiled/rules/*.py estimators/*.py
inference/*.py kernels/vectors.py learners/*.py logistic/e*.py mistake_bounds/m*.py
separability/recession.py teaching/**/*.py soft_margins/problem.py separability/working_set.py"""
#: what stands instead of an operator, by its class in ast
INSTEAD = {
    ast.Lt: " <= ", ast.LtE: " < ", ast.Gt: " >= ", ast.GtE: " > ", ast.Eq: " != ",
    ast.NotEq: " == ", ast.Is: " is not ", ast.IsNot: " is ", ast.In: " not in ",
    ast.NotIn: " in ", ast.Add: " - ", ast.Sub: " + ", ast.Mult: " / ", ast.Div: " * ",
    ast.And: " or ", ast.Or: " and ",
}  # fmt: skip
SEED, SECONDS, TESTS = 65, 20, 40
PYTEST, PLAIN = [sys.executable, "-m", "pytest"], {"NUMBA_DISABLE_JIT": "1"}


#: a file, its line afterwards, what stood there, the number of the line, the whole file
Mutant = tuple[str, str, str, int, str]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield all mutants of the functions of a file."""
    source = path.read_bytes()
    lengths = [0, *map(len, source.splitlines(keepends=True))]

    def start(node: Any) -> int:
        return sum(lengths[: node.lineno]) + node.col_offset

    def end(node: Any) -> int:
        return sum(lengths[: node.end_lineno]) + node.end_col_offset

    functions = [f for f in ast.walk(ast.parse(source)) if isinstance(f, ast.FunctionDef)]
    for node in (node for f in functions for body in f.body for node in ast.walk(body)):
        match node:
            case (
                ast.Compare(left=left, ops=[operator], comparators=[right])
                | ast.BinOp(left=left, op=operator, right=right)
                | ast.BoolOp(op=operator, values=[left, right, *_])
            ):
                place = end(left), start(right), INSTEAD.get(type(operator))
            case ast.Constant(value=int() | float() as value):
                now = not value if isinstance(value, bool) else value + 1
                place = start(node), end(node), str(now)
            case ast.UnaryOp(op=ast.USub() | ast.Not()):
                place = start(node), start(node.operand), ""
            case ast.Expr(value=ast.Constant()):
                continue  # a docstring
            case ast.Assign() | ast.AugAssign() | ast.Expr():
                place = start(node), end(node), "pass"
            case _:
                continue
        left, right, now = place
        was = source[left:right].decode()
        if now is not None and not (now in INSTEAD.values() and set(was) & set("()#\n")):
            changed = (source[:left] + now.encode() + source[right:]).decode()
            name, line = path.relative_to(PACKAGE).as_posix(), node.lineno
            yield name, changed.splitlines()[line - 1].strip(), was, line, changed


def chosen() -> list[Mutant]:
    """Return those 200 whose lines have the smallest hashes, so that other lines may change."""
    paths = sorted({path for pattern in FILES.split() for path in PACKAGE.glob(pattern)})
    every = [m for path in paths for m in mutants_of(path)]
    return sorted(set(every), key=lambda m: sha256(repr((SEED, *m[:3])).encode()).digest())[:200]


def cover(data: Path) -> None:
    """Run the tests once, with what each covers in the files that have mutants."""
    include = ",".join(f"*/src/linsep/{pattern}" for pattern in FILES.split())
    rc = data.with_suffix(".rc")
    rc.write_text(f"[run]\ndata_file = {data}\ninclude = {include}\n")
    how = f"-n auto -p no:cacheprovider --cov --cov-report= --cov-context=test --cov-config={rc}"
    subprocess.run([*PYTEST, *how.split()], cwd=ROOT, env=os.environ | PLAIN, check=False)


def tests_of(data: Path) -> dict[tuple[str, int], list[str]]:
    """The tests by file and line."""
    found: dict[tuple[str, int], list[str]] = {}
    rows = sqlite3.connect(data).execute(
        "select path, context, numbits from line_bits join file on file.id = file_id"
        " join context on context.id = context_id where context like 'tests/%|%'"
    )
    for path, context, numbits in rows:
        for line in coverage.numbits.numbits_to_nums(numbits):
            place = path.partition("/src/linsep/")[2], line
            found.setdefault(place, []).append(context.rpartition("|")[0])
    return found


def outcome(mutant: Mutant, tests: list[str]) -> str:
    """Whether the tests kill a mutant: killed, survived, or slow (undecided in 20 s)."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", f"{folder}/src", ignore=shutil.ignore_patterns("__pycache__"))
        Path(folder, "src/linsep", mutant[0]).write_text(mutant[4], "utf-8")
        environment = os.environ | PLAIN | {"PYTHONPATH": f"{folder}/src"}
        some = random.Random(SEED).sample(tests, min(len(tests), TESTS))
        limits = ["timeout", "600", "prlimit", f"--cpu={SECONDS}"]
        command = [*limits, *PYTEST, "-qxp", "no:cacheprovider", *some]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    slow = (124, 128 + signal.SIGXCPU, 128 + signal.SIGKILL)
    return "slow" if done.returncode in slow else "killed" if done.returncode else "survived"


def main(what: str, data: str) -> None:
    """Cover the lines, or run the mutants and print a line of JSON for each."""
    if what == "cover":
        return cover(Path(data))
    tests = tests_of(Path(data))
    for mutant in chosen():
        its = tests.get((mutant[0], mutant[3]))
        result = outcome(mutant, its) if its else "uncovered"
        print(json.dumps([result, *mutant[:4]]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
