"""``python -m campaign.mutants``: whether the tests notice small faults in the code.

``cover`` runs the tests without the compiler once and keeps which tests run which line. ``run``
makes 200 mutants from a seed, each of one changed token in a file that stays, runs the tests that
cover its line for at most 20 s each, on a copy of the package, and prints what became of it.
"""

import argparse
import ast
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import coverage.numbits

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "linsep"
FILES = (
    "*.py", "certificate/*.py", "chance/*.py", "scoring/*.py", "validation/*.py", "rows/arrays.py",
    "compiled/loop.py", "compiled/rows.py", "compiled/weights.py", "compiled/rules/*.py",
    "estimators/_common/*.py", "inference/*.py", "kernels/vectors.py", "learners/*.py",
    "logistic/e*.py", "mistake_bounds/m*.py", "separability/recession.py", "teaching/**/*.py",
    "soft_margins/problem.py", "separability/working_set.py",
)  # fmt: skip
LEAVE = ("alma", "second_order")
#: what stands instead of an operator, by its class in ast
INSTEAD = {
    ast.Lt: " <= ", ast.LtE: " < ", ast.Gt: " >= ", ast.GtE: " > ", ast.Eq: " != ",
    ast.NotEq: " == ", ast.Is: " is not ", ast.IsNot: " is ", ast.In: " not in ",
    ast.NotIn: " in ", ast.Add: " - ", ast.Sub: " + ", ast.Mult: " / ", ast.Div: " * ",
    ast.And: " or ", ast.Or: " and ",
}  # fmt: skip
SECONDS, TESTS = 20, 40


class Mutant(NamedTuple):
    """One change, and the whole file with it."""

    path: str
    line: int
    was: str
    now: str
    source: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    source = path.read_bytes()
    lengths = [0, *map(len, source.splitlines(keepends=True))]

    def start(node: ast.AST) -> int:
        return sum(lengths[: node.lineno]) + node.col_offset

    def end(node: ast.AST) -> int:
        return sum(lengths[: node.end_lineno]) + node.end_col_offset

    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Compare(left=left, ops=[operator], comparators=[right])
                | ast.BinOp(left=left, op=operator, right=right)
                | ast.BoolOp(op=operator, values=[left, right, *_])
            ):
                place = end(left), start(right), INSTEAD.get(type(operator))
            case ast.Constant(value=bool() as value):
                place = start(node), end(node), str(not value)
            case ast.Constant(value=int() | float() as value):
                place = start(node), end(node), str(value + 1)
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
            yield Mutant(path.relative_to(PACKAGE).as_posix(), node.lineno, was, now, changed)


def chosen(seed: int, count: int) -> list[Mutant]:
    """Mutants of the files that stay; larger files have more of them."""
    paths = sorted({path for pattern in FILES for path in PACKAGE.glob(pattern)})
    every = [m for path in paths if path.stem not in LEAVE for m in mutants_of(path)]
    return random.Random(seed).sample(every, count)


def cover(data: Path) -> None:
    """Run the tests once, with what each covers in the files that have mutants."""
    include = ",".join(f"*/src/linsep/{pattern}" for pattern in FILES)
    rc = data.with_suffix(".rc")
    rc.write_text(f"[run]\ndata_file = {data}\ninclude = {include}\n")
    how = f"-n auto -p no:cacheprovider --cov --cov-report= --cov-context=test --cov-config={rc}"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", *how.split()]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)


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


def outcome(mutant: Mutant, tests: list[str], seed: int) -> str:
    """Whether the tests kill a mutant: killed, survived, slow (undecided in 20 s) or uncovered."""
    if not tests:
        return "uncovered"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", f"{folder}/src", ignore=shutil.ignore_patterns("__pycache__"))
        Path(folder, "src/linsep", mutant.path).write_text(mutant.source, "utf-8")
        env = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": f"{folder}/src"}
        some = random.Random(seed).sample(tests, min(len(tests), TESTS))
        command = [sys.executable, "-m", "pytest", "-qxp", "no:cacheprovider", *some]
        how = {"cwd": ROOT, "env": env, "timeout": SECONDS, "capture_output": True}
        try:
            done = subprocess.run(command, check=False, **how)
        except subprocess.TimeoutExpired:
            return "slow"
    return "killed" if done.returncode else "survived"


def main() -> None:
    """Cover the lines, or run the mutants and print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("cover", "run"))
    parser.add_argument("--data", type=Path, required=True, help="the file of what is covered")
    parser.add_argument("--seed", type=int, default=65)
    args = parser.parse_args()
    if args.what == "cover":
        return cover(args.data)
    tests, counts = tests_of(args.data), Counter()
    for mutant in chosen(args.seed, 200):
        result = outcome(mutant, tests.get((mutant.path, mutant.line), []), args.seed)
        counts[result] += 1
        print(json.dumps([result, *mutant[:4]]), flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
