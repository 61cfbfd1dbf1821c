"""The codes of errors: listed once, used, and on their page."""

import ast
import re
from pathlib import Path

from linsep import errors
from linsep.errors import CODES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "linsep"
#: rooms whose errors have codes of their own; the others have the codes of their classes
CODED = (
    "chance", "cli", "kernels", "lab", "plot", "teaching", "tuning", "catalog.py", "descent.py",
    "drawing.py", "extending.py", "layout.py", "objectives.py", "suspecting.py",
)  # fmt: skip


def test_the_page_lists_the_codes():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", page, re.M)) == CODES


def test_every_error_has_a_code_of_the_list():
    used = {kind.code for kind in vars(errors).values() if hasattr(kind, "code")}
    without = []
    for path in sorted(SOURCE.rglob("*.py")):
        for call in _errors_made(path):
            codes = [word.value for word in call.keywords if word.arg == "code"]
            used |= {node.value for code in codes for node in ast.walk(code)
                     if isinstance(node, ast.Constant)}  # fmt: skip
            if not codes and path.relative_to(SOURCE).parts[0] in CODED:
                without.append(f"{path.name}:{call.lineno}")
    assert not without
    assert used <= CODES.keys()


def _errors_made(path):
    """The calls that make a DataError or a LinsepError, whose codes are not those of a class."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if named and node.func.id in ("DataError", "LinsepError"):
            yield node
