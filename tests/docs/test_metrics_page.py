"""The page docs/how-to/metrics.md: its commands and its Python run, and print what it says."""

import re
import subprocess
import sys

import pytest

from documents import ROOT, run_commands, run_python
from linsep.scoring import CLASS_METRICS, NUMBER_METRICS

pytestmark = pytest.mark.compiled
PAGE = "docs/how-to/metrics.md"


def test_the_page_on_metrics(tmp_path, monkeypatch):
    (tmp_path / "demo").mkdir()
    subprocess.run([sys.executable, ROOT / "docs" / "demo_data.py", tmp_path / "demo"], check=True)
    assert run_commands(PAGE, tmp_path) == 2
    monkeypatch.chdir(tmp_path)
    assert run_python(PAGE) > 3


def test_the_table_has_every_metric():
    page = (ROOT / PAGE).read_text("utf-8")
    cells = re.findall(r"^\| (`.*?`) \|", page, re.M)
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == {
        *CLASS_METRICS, *NUMBER_METRICS
    }  # fmt: skip
