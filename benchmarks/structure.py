"""``python benchmarks/structure.py``: how large the package is, and how much of it hangs together.

Everything is read from the sources as they are, except which modules a name loads: a new process
imports each. ARCHITECTURE.md lists the packages, their order and their layers.
``tests/docs/test_architecture.py`` asks the same functions.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SOURCE / "linsep"
PAGE = Path(__file__).resolve().parents[1] / "ARCHITECTURE.md"
#: names whose import should load little, and what is heavy to load with them
NAMES = (
    "Perceptron",
    "KernelPerceptron",
    "LinearRegression",
    "LogisticRegression",
    "GaussianNaiveBayes",
)
#: layers below the tools
DOWN = {"core", "files"}
#: methods of named tuples, which are public
OF_TUPLES = {"_asdict", "_fields", "_field_defaults", "_make", "_replace"}
HEAVY = ("pyarrow", "flint", "highspy")
#: how the files that name one learner are known
LEARNERS = {"Winnow": r"winnow", "PassiveAggressive": r'passive.?aggressive|"pa"'}


def main() -> None:
    """Print the tables."""
    files = sorted(PACKAGE.rglob("*.py"))
    sizes()
    rows = [
        ("files of Python, __init__ among them", len(files)),
        ("modules loaded by `from linsep import ...`", loaded()),
        *(
            (f"files that name {name}", len(naming(files, known)))
            for name, known in LEARNERS.items()
        ),
        ("files in circles of imports (largest circle)", "{} ({})".format(*circle_sizes(files))),
        ("reads of private attributes of other rooms", _counted(private_reads(files))),
        ("imports of other tools, beyond public names", _counted(tool_imports(files, {"tools"}))),
        ("imports of core and files by tools, the same", _counted(tool_imports(files, DOWN))),
        ("comments, of the lines of Python", comments(files)),
        ("top-level names of five letters or fewer", len(short_names(files))),
    ]
    width = max(len(name) for name, _ in rows)
    print()
    for name, value in rows:
        first, *others = str(value).split("\n")
        print(f"{name:<{width}}  {first}")
        for line in others:
            print(f"{'':<{width}}  {line}")


def sizes() -> None:
    """Print the lines of Python and JavaScript of every package, and of core, files and tools."""
    counts: dict[str, Counter] = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.js")]):
        parts = path.relative_to(PACKAGE).parts
        counts.setdefault(parts[0] if len(parts) > 1 else "(files of linsep)", Counter()).update(
            lines_of(path)
        )
        counts.setdefault(f"= {layer(path)}", Counter()).update(lines_of(path))
        counts.setdefault("= all", Counter()).update(lines_of(path))
    print(f"{'':<20}{'files':>6}{'physical':>10}{'logical':>9}{'JavaScript':>12}")
    for name in sorted(counts, key=lambda name: (name[0] == "=", name)):
        of = counts[name]
        print(f"{name:<20}{of['files']:>6,}{of['physical']:>10,}{of['logical']:>9,}{of['js']:>12,}")


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


def lines_of(path: Path) -> dict[str, int]:
    """The physical and logical lines of a file: of the form that ``ruff format`` gives it."""
    text = path.read_text("utf-8")
    if path.suffix == ".js":
        return {"js": len(text.splitlines())}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    logical = sum(token.type == tokenize.NEWLINE for token in tokens)
    return {"files": 1, "physical": len(text.splitlines()), "logical": logical}


#: counts the modules of linsep that a name loads, and which of them import a heavy library
LOADED = """
import importlib.abc, sys
found = set()
class Watch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        frame = sys._getframe(1) if name in HEAVY else None
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith(("linsep", "sklearn")):
                found.update({name} if module.startswith("linsep") else ())
                return None
            frame = frame.f_back
        return None
sys.meta_path.insert(0, Watch())
from linsep import NAME
print(sum(m.split(".")[0] == "linsep" for m in sys.modules), *sorted(found))
"""


def loaded() -> str:
    """How many modules of linsep each name loads, and the heavy libraries that these import."""
    lines = []
    for name in NAMES:
        code = LOADED.replace("HEAVY", repr(HEAVY)).replace("NAME", name)
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        count, *heavy = found.stdout.split()
        lines.append(f"{name} {count}" + (f" (and {', '.join(heavy)})" if heavy else ""))
    return "\n".join(lines)


def naming(files: list[Path], pattern: str) -> list[Path]:
    """The files whose text matches a pattern."""
    return [path for path in files if re.search(pattern, path.read_text("utf-8"), re.IGNORECASE)]


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
            # A package says in a stub which of its names are public.
            if layer(other) in layers and not (
                name != module and other.with_suffix(".pyi").exists()
            ):
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


def comments(files: list[Path]) -> str:
    """The share of lines that are comments."""
    lines = [line.strip() for path in files for line in path.read_text("utf-8").splitlines()]
    return f"{100 * sum(line.startswith('#') for line in lines) / len(lines):.1f}%"


def short_names(files: list[Path]) -> list[str]:
    """Functions, classes and constants at the top of files with names of five letters or fewer."""
    return [
        node.name
        for path in files
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        if len(node.name.strip("_")) <= 5
    ]


if __name__ == "__main__":
    main()
