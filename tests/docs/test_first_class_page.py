"""docs/start/first-class.md is true; tests/browser/test_lab_lecturer.py follows it in a browser."""

import pytest

from documents import ROOT, run_commands

pytestmark = pytest.mark.compiled


def test_commands(tmp_path):
    assert run_commands("docs/start/first-class.md", tmp_path) == 1
    assert "first-steps" in (tmp_path / "handout.html").read_text("utf-8")
    assert "(../start/first-class.md)" in (ROOT / "docs" / "how-to" / "lab.md").read_text("utf-8")
