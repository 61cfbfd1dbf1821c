"""The walls of the house: who may import whom, and how large things may be.

The rooms, their order and their layers are read from ARCHITECTURE.md by ``benchmarks.structure``.
What is not yet as it should be is counted below; a count that can be lowered must be.
"""

import ast
from collections import Counter

import pytest
from benchmarks.structure import (
    PACKAGE,
    circles,
    imported_names,
    imports,
    modules,
    private_reads,
    room_of,
    rooms,
    tool_imports,
    tree_of,
)

from linsep import TOOLS

pytestmark = pytest.mark.compiled

FILES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES, MOST_LINES_OF_FUNCTION = 800, 60
#: imports that go up the list: of the table of tools, which are loaded when ``plot()`` is called
UP = {("__init__", "plot"), ("__init__", "lab"), ("__init__", "estimators")}
#: tools that know of others more than public names
TOOLS_TIED = {
    ("__main__", "cli"),
}
#: files in circles of imports, by room
IN_CIRCLES: dict[str, int] = {}
#: lines that read what a class of another room keeps to itself, by the room that reads
PRIVATE_READS: dict[str, int] = {}


def test_every_file_is_in_a_room_of_the_list():
    assert {room_of(path) for path in FILES} == set(rooms())
    assert set(rooms().values()) == {"tools", "core", "files"}


def test_imports_go_down_the_list():
    order = list(rooms())
    up = {
        (room_of(path), room_of(modules()[other]))
        for path in FILES
        for other in imports(path)
        if order.index(room_of(modules()[other])) < order.index(room_of(path))
    }
    assert up == UP


def test_tools_know_nothing_of_each_other_but_public_names():
    tied = {(room_of(path), name.split(".")[1]) for path, name in tool_imports(FILES, {"tools"})}
    assert tied == TOOLS_TIED


def test_there_are_no_circles():
    assert Counter(room_of(path) for circle in circles(FILES) for path in circle) == IN_CIRCLES


def test_nobody_reads_what_a_class_of_another_room_keeps_to_itself():
    assert Counter(room_of(path) for path, _ in private_reads(FILES)) == PRIVATE_READS


def test_a_check_uses_nothing_that_finds_verdicts():
    """All that the checker imports, and what that imports in its turn."""
    left, seen = [path for path in FILES if room_of(path) == "certificate"], set()
    while left:
        path = left.pop()
        seen.add(path)
        left += {modules()[name] for name in imports(path)} - seen
    assert {room_of(path) for path in seen} == {
        "certificate", "drawing", "errors", "layout", "validation", "words",
    }  # fmt: skip


def test_public_names_are_loaded_on_first_use():
    assert imported_names(PACKAGE / "__init__.py") == set(TOOLS.values())


@pytest.mark.parametrize("room", rooms())
def test_files_and_functions_stay_short(room):
    for path in (path for path in FILES if room_of(path) == room):
        lines = len(path.read_text("utf-8").splitlines())
        assert lines <= MOST_LINES, f"{path} has {lines} lines"
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if ast.get_docstring(node) is not None:
                    lines -= node.body[0].end_lineno - node.body[0].lineno + 1
                assert lines <= MOST_LINES_OF_FUNCTION, f"{node.name} in {path} has {lines} lines"
