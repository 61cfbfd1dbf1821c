"""docs/explanation/soft-margin.md is true."""

import subprocess
import sys

import pytest

from documents import ROOT, run_commands, run_python

pytestmark = pytest.mark.compiled


def test_commands(tmp_path):
    (tmp_path / "demo").mkdir()
    subprocess.run([sys.executable, ROOT / "docs" / "demo_data.py", tmp_path / "demo"], check=True)
    assert run_commands("docs/explanation/soft-margin.md", tmp_path) == 5


def test_python():
    assert run_python("docs/explanation/soft-margin.md") > 10
