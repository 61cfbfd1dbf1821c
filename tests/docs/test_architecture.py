"""The walls of the house: who may import whom, and how large rooms may be.

The rooms, their order, their layers and their budgets are read from ARCHITECTURE.md by
``benchmarks.structure``. What is not yet as it should be is counted below; a count that can be
lowered must be.
"""

import subprocess
from collections import Counter

import pytest
from benchmarks.structure import (
    PACKAGE,
    PAGE,
    PROJECT,
    SLACK,
    budgets,
    circles,
    imported_names,
    imports,
    modules,
    private_reads,
    room_of,
    rooms,
    size_of,
    tool_imports,
)

from linsep import TOOLS

pytestmark = pytest.mark.compiled

FILES = sorted(PACKAGE.rglob("*.py"))
#: imports that go up the list: of the table of tools, which methods load when they are called
UP = {("__init__", "plot"), ("__init__", "estimators"), ("__init__", "cli")}
#: tools that know of others more than public names
TOOLS_TIED = {("__main__", "cli")}
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
        "_system", "certificate", "drawing", "errors", "layout", "validation", "words",
    }  # fmt: skip


def test_public_names_are_loaded_on_first_use():
    assert imported_names(PACKAGE / "__init__.py") == set(TOOLS.values())


def test_every_room_has_the_size_of_the_table():
    for room, budget in budgets().items():
        lines, statements = size_of(room)
        assert budget.lines - SLACK < lines <= budget.lines, room
        assert budget.statements - SLACK < statements <= budget.statements, room


def test_the_table_has_the_whole_package():
    sizes = [size_of(room) for room in budgets() if not (PROJECT / room).is_dir()]
    assert tuple(map(sum, zip(*sizes, strict=True))) == size_of("src")


def test_a_number_rises_only_if_the_sum_falls():
    """Compared with the version before: the last commit's, or the one before if nothing changed."""
    now = budgets()
    versions = [budgets(page) for page in earlier_pages()]
    before = next((version for version in versions if version and version != now), None)
    if before is None:
        pytest.skip("skipped: no earlier version of the table")
    for kind in ("lines", "statements"):
        sizes, sizes_before = (
            {room: getattr(row, kind) for room, row in table.items()} for table in (now, before)
        )
        in_src = [room for room in now if not (PROJECT / room).is_dir()]
        others = [room for room in now if (PROJECT / room).is_dir()]
        for rooms_, total in ((in_src, ["src"]), (others, others)):
            if any(sizes[room] > sizes_before.get(room, 0) for room in rooms_):
                assert sum(map(sizes.get, total)) < sum(map(sizes_before.get, total)), kind


def earlier_pages():
    """The page in the last two commits that changed it, the newest first."""

    def git(*words):
        done = subprocess.run(
            ["git", *words], check=False, cwd=PROJECT, capture_output=True, text=True
        )
        return done.stdout

    how = ("--first-parent", "-n", "2", "--format=%H")
    commits = git("log", *how, "--", PAGE.name).split()
    return [git("show", f"{commit}:./{PAGE.name}") for commit in commits]
