"""The page of status codes lists what a server answers, and the page on serving its metrics."""

import ast
import re

import pytest

from documents import ROOT
from linsep.serving.openapi import ERRORS

SERVING = ROOT / "src" / "linsep" / "serving"
STATUS = re.compile(r"^\| (\d{3}) \|", re.M)


def statuses_of(tree):
    """Yield the statuses that code answers: of refusals, of heads, and where it sets a status."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = node.args[0]
            if name in ("Refused", "_refuse", "count_refused") and isinstance(first, ast.Constant):
                yield int(first.value[:3] if isinstance(first.value, bytes) else first.value)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [getattr(each, "id", "") for each in node.targets[0].elts]
            if "status" in names and isinstance(node.value, ast.Tuple):
                value = node.value.elts[names.index("status")]
                if isinstance(value, ast.Constant):
                    yield value.value


def test_the_page_lists_every_status_that_a_server_answers():
    found = {200, *ERRORS}
    for path in SERVING.glob("*.py"):
        found |= set(statuses_of(ast.parse(path.read_text("utf-8"))))
    assert len(found) > 12
    listed = STATUS.findall((ROOT / "docs/reference/status-codes.md").read_text("utf-8"))
    assert listed == sorted(set(listed)) == [str(status) for status in sorted(found)]


def test_the_page_lists_every_metric():
    pytest.importorskip("prometheus_client")
    from linsep.serving.metrics import Metrics

    metrics = Metrics()
    metrics.watch_log(dict.fromkeys(("rows", "commits", "snapshots"), lambda: 0))
    text = metrics.text("version", "Perceptron").decode()
    kinds = re.findall(r"^# TYPE (\w+) \w+$", text, re.M)
    found = {name for name in kinds if not name.endswith("_created")}
    page = (ROOT / "docs/how-to/serving.md").read_text("utf-8").partition("## Metrics\n")[2]
    rows = [line for line in page.splitlines() if line.startswith("| `linsep_")]
    cells = [line.split("|")[1] for line in rows]
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == found
