"""``python benchmarks/structure.py``: how large the project is, and how much of it hangs together.

Everything is read from the sources as they are. ARCHITECTURE.md lists the packages, their order and
their layers, and the budget of each room. ``tests/docs/test_architecture.py`` asks the same
functions. ``--write`` writes the sizes of today into the table of budgets.
"""

import ast
import gc
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

PROJECT = Path(__file__).resolve().parents[1]
SOURCE = PROJECT / "src"
PACKAGE = SOURCE / "linsep"
PAGE = PROJECT / "ARCHITECTURE.md"
#: a row of the table of budgets: room, lines now and at the end, statements now and at the end
ROW = re.compile(r"^\| ([\w ,.*-]+?) \| +([\d,]+) \| +([\d,]+) \| +([\d,]+) \| +([\d,]+) \|$", re.M)
#: how far the number in the table may be above what is there
SLACK = 100
#: layers below the tools
DOWN = {"core", "files"}
#: methods of named tuples, which are public
OF_TUPLES = {"_asdict", "_fields", "_field_defaults", "_make", "_replace"}


class Budget(NamedTuple):
    """The size of a room as the table has it, and what it may be at the end."""

    lines: int
    lines_at_end: int
    statements: int
    statements_at_end: int


def main() -> None:
    """Print the tables, or write the sizes of today into the table of budgets."""
    gc.disable()  # of millions of nodes none is garbage
    if "--write" in sys.argv:
        text = PAGE.read_text("utf-8")
        PAGE.write_text(ROW.sub(_with_sizes, text), "utf-8")
        return
    print(f"{'':<34}{'lines':>9}{'at end':>9}{'statements':>12}{'at end':>9}")
    for room, budget in budgets().items():
        lines, statements = size_of(room)
        print(
            f"{room[:33]:<34}{lines:>9,}{budget.lines_at_end:>9,}"
            f"{statements:>12,}{budget.statements_at_end:>9,}"
        )
    files = sorted(PACKAGE.rglob("*.py"))
    rows = [
        ("files of Python, __init__ among them", len(files)),
        ("files in circles of imports (largest circle)", "{} ({})".format(*circle_sizes(files))),
        ("reads of private attributes of other rooms", _counted(private_reads(files))),
        ("imports of other tools, beyond public names", _counted(tool_imports(files, {"tools"}))),
        ("imports of core and files by tools, the same", _counted(tool_imports(files, DOWN))),
    ]
    width = max(len(name) for name, _ in rows)
    print()
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def budgets(page: str | None = None) -> dict[str, Budget]:
    """The table of budgets, by rooms; of another version of the page if its text is given."""
    found = ROW.findall(PAGE.read_text("utf-8") if page is None else page)
    return {room: Budget(*(int(n.replace(",", "")) for n in sizes)) for room, *sizes in found}


def size_of(room: str) -> tuple[int, int]:
    """The physical lines of Python and JavaScript of a row of the table, and its statements.

    A row names folders and files of the package, all of it (``src``), what no other row names
    (``other files``), or a folder beside ``src``.
    """
    named = [PACKAGE / name for row in budgets() for name in row.split(", ")]
    if (PROJECT / room).is_dir():
        places = [PROJECT / room]
    elif room == "other files":
        places = [path for path in PACKAGE.iterdir() if path not in named]
    else:
        places = [PACKAGE / name for name in room.split(", ")]
    sizes = [_size(path) for place in places for path in (place, *place.rglob("*"))]
    return sum(lines for lines, _ in sizes), sum(statements for _, statements in sizes)


@cache
def _size(path: Path) -> tuple[int, int]:
    if path.suffix not in (".py", ".js") or not path.is_file():
        return 0, 0
    lines = path.read_bytes().count(b"\n")
    if path.suffix == ".js":
        return lines, 0
    return lines, _statements(tree_of(path))


def _statements(node: Any) -> int:
    """The statements below a node; those are in lists of statements, handlers and cases only."""
    lists = (
        getattr(node, name, ()) for name in ("body", "orelse", "finalbody", "handlers", "cases")
    )
    below = [child for nodes in lists if isinstance(nodes, list) for child in nodes]
    return sum(isinstance(child, ast.stmt) + _statements(child) for child in below)


def _with_sizes(row: re.Match) -> str:
    lines, statements = (-(-size // 50) * 50 for size in size_of(row[1]))
    _, _, lines_at_end, _, statements_at_end = row.groups()
    return f"| {row[1]} | {lines:,} | {lines_at_end} | {statements:,} | {statements_at_end} |"


@cache
def rooms() -> dict[str, str]:
    """The rooms of ARCHITECTURE.md in their order, each with its layer: core, files or tools.

    A room is a folder or a file, such as ``teaching/textbook`` or ``descent``.
    """
    (tree,) = re.findall(r"^src/linsep/\n(.*?)^\S", PAGE.read_text("utf-8"), re.M | re.S)
    found: dict[str, str] = {}
    layer = ""
    for line in tree.splitlines():
        if heading := re.match(r"  -- (\w+)", line):
            layer = heading[1]
        elif names := re.match(r"  ([^\s,]+(, [^\s,]+)*)", line):
            found |= {
                name.removesuffix("/").removesuffix(".py"): layer for name in names[1].split(", ")
            }
    return found


def room_of(path: Path) -> str:
    """The room that a file belongs to: of folders in each other, the inner one."""
    place = path.relative_to(PACKAGE).with_suffix("").as_posix()
    around = [room for room in rooms() if f"{place}/".startswith(f"{room}/")]
    return max(around, key=len, default=place)


def layer(path: Path) -> str:
    """The layer that a file belongs to."""
    return rooms().get(room_of(path), "core")


@cache
def tree_of(path: Path) -> ast.Module:
    """The parsed file."""
    return ast.parse(path.read_text("utf-8"))


def circles(files: list[Path]) -> list[list[Path]]:
    """The circles of files that import themselves by way of others, the largest first.

    Imports in functions, and modules that are named in a string, count.
    """
    numbers = {module_of(path): number for number, path in enumerate(files)}
    edges = [
        (number, numbers[other])
        for number, path in enumerate(files)
        for other in imports(path)
        if numbers.get(other, number) != number
    ]
    rows, columns = np.array(edges).T
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(files), len(files)))
    _, circle = connected_components(graph, connection="strong")
    tied = [np.flatnonzero(circle == one) for one in np.unique(circle)]
    return sorted(
        ([files[k] for k in members] for members in tied if len(members) > 1), key=len, reverse=True
    )


def circle_sizes(files: list[Path]) -> tuple[int, int]:
    """How many files are in circles, and in the largest."""
    sizes = [len(circle) for circle in circles(files)]
    return sum(sizes), max(sizes, default=0)


def module_of(path: Path) -> str:
    """The dotted name of a file."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, Path]:
    """The files of the package by their dotted names."""
    return {module_of(path): path for path in PACKAGE.rglob("*.py")}


@cache
def public_names() -> dict[str, str]:
    """The modules of the public names, which are loaded on first use."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            prefix = "linsep" + (f".{node.module}" if node.module else "")
            for alias in node.names:
                found[f"linsep.{alias.asname or alias.name}"] = f"{prefix}.{alias.name}"
    return found


@cache
def imported_names(path: Path) -> set[str]:
    """The dotted names that a file imports anywhere in it, names in a string, or takes from
    ``import linsep``.
    """
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return {name for name in names if name.startswith("linsep.")}


@cache
def imports(path: Path) -> set[str]:
    """The modules of linsep that a file imports; public names stand for the module they are in."""
    wholes = {public_names().get(name, name) for name in imported_names(path)}
    around = {whole if whole in modules() else whole.rpartition(".")[0] for whole in wholes}
    return (around & modules().keys()) - {"linsep"}


def tool_imports(files: list[Path], layers: set[str]) -> list[tuple[Path, str]]:
    """The imports of private names by tools from other packages of these layers."""
    found = []
    for path in files:
        for name in imported_names(path) if layer(path) == "tools" else ():
            module = name if name in modules() else name.rpartition(".")[0]
            other = modules().get(module)
            if other is None or name in public_names() or room_of(other) == room_of(path):
                continue
            # A package says in a stub which of its names are public, a room of one file by names
            # without an underscore.
            stub = name != module and other.with_suffix(".pyi").exists()
            alone = other.parent == PACKAGE and not name.rpartition(".")[2].startswith("_")
            if layer(other) in layers and not (stub or alone):
                found.append((path, name))
    return found


def private_reads(files: list[Path]) -> list[tuple[Path, int]]:
    """The lines that read what a class of another room keeps to itself."""
    kept: dict[str, set[str]] = {}
    reads: list[tuple[Path, int, str]] = []
    for path in files:
        own = kept.setdefault(room_of(path), set())
        for node in ast.walk(tree_of(path)):
            own.add(_kept(node) or "")
            if (
                isinstance(node, ast.Attribute)
                and re.match(r"_[^_]", node.attr)
                and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
            ):
                reads.append((path, node.lineno, node.attr))
    private = {name for names in kept.values() for name in names if re.match(r"_[^_]", name)}
    private -= OF_TUPLES
    return sorted({(p, line) for p, line, name in reads if name in private - kept[room_of(p)]})


def _kept(node: ast.AST) -> str | None:
    """The name of a method, of a field, or of what is assigned to an attribute."""
    if isinstance(node, ast.FunctionDef):
        return node.name if node.args.args[:1] and node.args.args[0].arg == "self" else None
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def _counted(places: list[tuple[Path, Any]]) -> str:
    return f"{len(places)}, in {len({path for path, _ in places})} files"


if __name__ == "__main__":
    main()
