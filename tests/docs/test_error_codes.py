"""The codes of errors are those of their page."""

import ast

from documents import CODES, ROOT
from linsep import errors

SOURCE = ROOT / "src" / "linsep"


def test_every_error_has_a_code_of_the_page():
    without, used = [], {kind.code for kind in vars(errors).values() if hasattr(kind, "code")}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                codes = [word.value for word in node.keywords if word.arg == "code"]
                used |= {word for code in codes for word in _words(code)}
                if getattr(node.func, "id", "") in ("DataError", "LinsepError") and not codes:
                    without.append(f"{path.name}:{node.lineno}")
            elif isinstance(node, ast.ClassDef):
                for own in (own for own in node.body if isinstance(own, ast.Assign)):
                    used |= (
                        set(_words(own.value)) if ast.unparse(own.targets[0]) == "code" else set()
                    )
    assert not without
    assert used == CODES


def _words(node):
    if isinstance(node, ast.IfExp):
        return [*_words(node.body), *_words(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
