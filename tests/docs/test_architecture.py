"""The walls of the house: who may import whom, and how large things may be."""

import ast
from functools import cache
from pathlib import Path

import pytest

import linsep

pytestmark = pytest.mark.compiled

ROOT = Path(linsep.__file__).parent
# Imports go down this list only. The package itself stands for its public names: only what stands
# above the estimators may ask for them.
ROOMS = [
    "__main__",
    "cli",
    "lab",
    "plot",
    "serving",
    "exports",
    "model_files",
    "teaching",
    "linsep",
    "rewriting",
    "describing",
    "extending",
    "tuning",
    "distributed",
    "catalog",
    "naive_bayes",
    "logistic",
    "linear",
    "estimators",
    "learners",
    "estimators._common",
    "checkpoints",
    "rows",
    "sources",
    "kernels",
    "compiled",
    "mistake_bounds",
    "separability",
    "certificate",
    "descent",
    "objectives",
    "check",
    "sealed",
    "written",
    "lanes",
    "parallel",
    "background",
    "interrupts",
    "scratch",
    "private",
    "paths",
    "value_faults",
    "label_faults",
    "escaping",
    "learnt",
    "parameters",
    "sparse_rows",
    "drawing",
    "errors",
]
#: folders inside rooms; those in front import those behind, never the other way
INNER = {
    "certificate": [],
    "checkpoints": [],
    "cli": [],
    "compiled": ["rules", "scanners", "core"],
    "describing": [],
    "distributed": [],
    "estimators": ["_common"],
    "exports": [],
    "kernels": [],
    "lab": [],
    "linear": [],
    "logistic": [],
    "mistake_bounds": [],
    "model_files": [],
    "learners": [],
    "rows": [],
    "plot": [],
    "separability": ["search", "exact", "problem"],
    "serving": [],
    "rewriting": [],
    "sources": ["tables", "vw", "svmlight", "row_cache", "text", "remote"],
    "teaching": ["trace", "textbook"],
    "tuning": [],
}
#: what all estimators share, a room of its own
SHARED = "estimators._common"
FILES = sorted(ROOT.rglob("*.py"))
MOST_LINES, MOST_LINES_OF_FUNCTION = 800, 60


def name_of(path):
    return str(path.relative_to(ROOT))


def room_of(path):
    first, *rest = path.relative_to(ROOT).parts
    if first == "estimators" and "_common" in rest:
        return SHARED
    return "linsep" if first == "__init__.py" else first.removesuffix(".py")


def files_of(room):
    return [path for path in FILES if room_of(path) == room]


@cache
def tree_of(path):
    return ast.parse(path.read_text())


def imported_names(tree):
    """Everything of linsep that a file imports, anywhere in it, or takes from ``import linsep``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "say the whole name of what is imported"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name != "linsep")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def imported_rooms(path):
    """The rooms that a file imports from; the version of the package is free to all."""
    for name in imported_names(tree_of(path)):
        package, *rest = name.split(".")
        if name.startswith(f"linsep.{SHARED}"):
            yield SHARED
        elif package == "linsep" and rest != ["__version__"]:
            yield rest[0] if rest[0] in ROOMS else "linsep"


@pytest.mark.parametrize("room", ROOMS)
def test_imports_go_down(room):
    for path in files_of(room):
        for other in imported_rooms(path):
            assert other == room or ROOMS.index(other) > ROOMS.index(room), (
                f"{name_of(path)} is in {room} and may not import {other}"
            )


def test_every_room_is_on_the_list():
    assert {room_of(path) for path in FILES} <= set(ROOMS)


def test_every_folder_is_on_the_list():
    folders = {path.parent.relative_to(ROOT).parts for path in FILES} - {()}
    known = {(room,) for room in INNER} | {
        (r, inner) for r, inners in INNER.items() for inner in inners
    }
    assert folders == known


@pytest.mark.parametrize("room", INNER)
def test_imports_inside_a_room_go_down(room):
    order = INNER[room]
    for path in files_of(room):
        inner = path.relative_to(ROOT).parts[1]
        for name in imported_names(tree_of(path)) if inner in order else ():
            package, other_room, other, *_ = (*name.split("."), "", "")
            if (package, other_room) == ("linsep", room) and other in order:
                assert order.index(other) >= order.index(inner), f"{name_of(path)}: {name}"


def test_production_uses_nothing_of_teaching():
    above = set(ROOMS[: ROOMS.index("teaching")])
    assert above == {"__main__", "cli", "lab", "plot", "serving", "exports", "model_files"}
    for path in FILES:
        if room_of(path) == "model_files":
            assert "teaching" not in imported_rooms(path)


def test_a_check_uses_nothing_that_finds_verdicts():
    """All that the checker imports, and what that imports in its turn."""
    left, seen = [path for path in FILES if room_of(path) == "certificate"], set()
    while left:
        path = left.pop()
        seen.add(name_of(path))
        for name in imported_names(tree_of(path)):
            module = ROOT.parent / (name.rpartition(".")[0].replace(".", "/") + ".py")
            if module.exists() and name_of(module) not in seen:
                left.append(module)
    others = {name for name in seen if not name.startswith("certificate/")}
    assert others == {
        "sparse_rows.py", "escaping.py", "drawing.py", "errors.py", "label_faults.py",
        "value_faults.py",
    }  # fmt: skip


def test_proofs_and_textbook_stand_alone():
    for room in ("mistake_bounds", "separability"):
        below = ROOMS[ROOMS.index(room) :]
        assert not {"learners", "rows", "compiled", "kernels", "sources"} & set(below)


def test_public_names_are_loaded_on_first_use():
    assert set(imported_rooms(ROOT / "__init__.py")) == set()


@pytest.mark.parametrize("room", ROOMS)
def test_files_and_functions_stay_short(room):
    for path in files_of(room):
        lines = len(path.read_text().splitlines())
        assert lines <= MOST_LINES, f"{name_of(path)} has {lines} lines"
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if ast.get_docstring(node) is not None:
                    lines -= node.body[0].end_lineno - node.body[0].lineno + 1
                assert lines <= MOST_LINES_OF_FUNCTION, (
                    f"{node.name} in {name_of(path)} has {lines} lines"
                )
