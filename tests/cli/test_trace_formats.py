"""A trace is written in the format that its file is named for."""

import csv

import pytest

from command_line import here, table

pytestmark = pytest.mark.uncompiled

NAMES = {
    "o.csv": "csv", "o.CSV": "csv", "o.md": "markdown", "o.tex": "latex", "o.html": "html",
    "o.txt": "text", "o": "text",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_name_says_the_format(tmp_path, name):
    table(tmp_path, "t.csv", ["x", "z", "y"], [[1, 2, "a"], [2, 1, "b"], [0, 2, "a"]])
    words = ["trace", "t.csv", "--target", "y", "--no-shuffle"]
    assert here(*words, "--output", name, cwd=tmp_path).returncode == 0
    told = here(*words, "--format", NAMES[name], cwd=tmp_path).stdout
    assert (tmp_path / name).read_text() == told
    if NAMES[name] == "csv":
        rows = list(csv.reader(told.splitlines()))
        assert len({len(row) for row in rows}) == 1
    said = here(*words, "--format", "text", "--output", name, "--force", cwd=tmp_path)
    assert said.returncode == 0
    assert (tmp_path / name).read_text() == here(*words, cwd=tmp_path).stdout
