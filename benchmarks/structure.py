"""``python benchmarks/structure.py``: how large the package is, and how much of it hangs together.

Everything is read from the sources as they are, except which modules a name loads: a new process
imports each.
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

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SOURCE / "linsep"
#: folders that use the public names of core and files only
TOOLS = (
    "cli", "plot", "lab", "serving", "exports", "distributed", "tuning", "describing", "rewriting",
    "teaching",
)  # fmt: skip
FILES = ("sources",)
CORE = ("teaching/textbook",)
#: names whose import should load little, and what is heavy to load with them
NAMES = (
    "Perceptron",
    "KernelPerceptron",
    "LinearRegression",
    "LogisticRegression",
    "GaussianNaiveBayes",
)
HEAVY = ("pyarrow", "flint", "highspy")
#: how the files that name one learner are known
LEARNERS = {"Winnow": r"winnow", "PassiveAggressive": r'passive|"pa"'}


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
        ("files in circles of imports (largest circle)", circles(files)),
        ("reads of private attributes of estimators elsewhere", private_reads(files)),
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


def layer(path: Path) -> str:
    """The layer that a file belongs to."""
    place = path.relative_to(PACKAGE).as_posix()
    for name, folders in (("core", CORE), ("tools", TOOLS), ("files", FILES)):
        if any(place.startswith(f"{folder}/") for folder in folders):
            return name
    return "core"


def lines_of(path: Path) -> dict[str, int]:
    """The physical and logical lines of a file: of the form that ``ruff format`` gives it."""
    text = path.read_text("utf-8")
    if path.suffix == ".js":
        return {"js": len(text.splitlines())}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    logical = sum(token.type == tokenize.NEWLINE for token in tokens)
    return {"files": 1, "physical": len(text.splitlines()), "logical": logical}


def loaded() -> str:
    """How many modules of linsep are loaded with each name, and which heavy libraries."""
    lines = []
    for name in NAMES:
        code = (
            f"from linsep import {name}; import sys;"
            "print(sum(m.split('.')[0] == 'linsep' for m in sys.modules),"
            f"*[m for m in {HEAVY} if m in sys.modules])"
        )
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


def circles(files: list[Path]) -> str:
    """How many files import themselves by way of others, in functions and by name included."""
    modules = {module_of(path): number for number, path in enumerate(files)}
    public = public_names()
    edges = [
        (number, modules[other])
        for path in files
        for number in [modules[module_of(path)]]
        for other in imports(path, modules, public)
        if modules[other] != number
    ]
    rows, columns = np.array(edges).T
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(files), len(files)))
    _, circle = connected_components(graph, connection="strong")
    counts = np.bincount(circle)
    tied = counts[counts > 1]
    return f"{tied.sum()} ({tied.max(initial=0)})"


def module_of(path: Path) -> str:
    """The dotted name of a file."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


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


def imports(path: Path, modules: dict[str, int], public: dict[str, str]) -> set[str]:
    """The modules that a file imports anywhere in it, or names in a string."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    found = set()
    for name in names:
        whole = public.get(name, name)
        if whole in modules:
            found.add(whole)
        elif whole.startswith("linsep.") and whole.rpartition(".")[0] in modules:
            found.add(whole.rpartition(".")[0])
    return found - {"linsep"}


def private_reads(files: list[Path]) -> str:
    """Lines outside of the estimators that read what their classes keep to themselves."""
    inside = [path for path in files if path.is_relative_to(PACKAGE / "estimators")]
    private = {
        name
        for path in inside
        for node in ast.walk(tree_of(path))
        for name in [_kept(node)]
        if name and name.startswith("_") and not name.startswith("__")
    }
    lines = {
        (path, node.lineno)
        for path in set(files) - set(inside)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in private
        if not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
    }
    return f"{len(lines)} lines, {len({path for path, _ in lines})} files"


def _kept(node: ast.AST) -> str | None:
    """The name of a method, or of what is assigned to an attribute of ``self`` or of a model."""
    if isinstance(node, ast.FunctionDef):
        return node.name if node.args.args[:1] and node.args.args[0].arg == "self" else None
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr
    return None


def comments(files: list[Path]) -> str:
    """The share of lines that are comments."""
    lines = [line.strip() for path in files for line in path.read_text("utf-8").splitlines()]
    return f"{100 * sum(line.startswith('#') for line in lines) / len(lines):.1f} %"


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
