"""The tables of speed are those of what was measured."""

from pathlib import Path

import pytest
from benchmarks import page

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize(("name", "table"), page.tables(page.measured()).items())
def test_tables_show_what_was_measured(name, table):
    text = (page.ROOT / name).read_text("utf-8")
    assert table in text
    assert text == page.with_table(text, table)


def test_every_row_of_the_readme_was_measured():
    assert page.SHORT.keys() <= page.measured().keys()


def test_a_run_adds_its_ratio_and_the_oldest_leaves(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "MEASURED", tmp_path / "measured.json")
    monkeypatch.setattr(page, "ROOT", tmp_path)
    (tmp_path / "docs" / "explanation").mkdir(parents=True)
    for name in ("docs/explanation/speed.md", "README.md"):
        empty = f"before\n{page.BEGIN.format('ratios')}\n{page.END}\nafter\n"
        (tmp_path / name).write_text(empty, "utf-8")
    row = {"name": "dense", "work": "rows", "against": "other", "measure": "accuracy"}
    for ratio in (99.0, 4.0, 5.0, 6.0, 12.0, 7.0):
        page.record([row | {"ratio": ratio, "ours_accuracy": 0.5, "theirs_accuracy": None}])
    written = Path(tmp_path / "docs" / "explanation/speed.md").read_text("utf-8")
    assert "| rows | other | 4.0 to 12 | accuracy 0.5 |  |" in written
    assert written.startswith("before\n")
    assert written.endswith("\nafter\n")
