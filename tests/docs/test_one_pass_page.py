"""docs/how-to/one-pass.md is true of two megabytes."""

import pytest

from documents import ROOT, reviews, run_commands

pytestmark = pytest.mark.compiled


def test_commands(tmp_path):
    reviews(tmp_path)
    lines = (ROOT / "docs" / "how-to/one-pass.md").read_text("utf-8").split("```\n")[1].splitlines()
    made = (tmp_path / "reviews.csv").read_text().splitlines()
    assert all(own.startswith(line) for own, line in zip(made, lines, strict=False))
    assert run_commands("docs/how-to/one-pass.md", tmp_path) == 4
