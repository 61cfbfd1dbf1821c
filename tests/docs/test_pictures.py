"""The Python of the pages gives what they say, and draws their pictures."""

import re
import sys

import pytest
from PIL import Image

from command_line import here
from documents import ROOT, payments, reviews
from pictures import DIGEST, LINK, digest, displays, faults

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
#: a module that a page shows
PROGRAM = re.compile(r"```python\n(\"\"\".*?)```", re.DOTALL)
PAGES = sorted(
    page.name for page in (ROOT / "docs").glob("*.md") if LINK.search(page.read_text("utf-8"))
)


#: where data of a page are, in the shared data
DATA = {"systolic-pressure.md": ".", "promoters.md": "strings"}


#: the lab draws in the browser, others show commands
WITHOUT = {
    "churn.md",
    "cluster.md",
    "export.md",
    "files.md",
    "first-class.md",
    "formulas.md",
    "from-r.md",
    "lab.md",
    "metrics.md",
    "remote-files.md",
    "serving.md",
    "tune.md",
}


@pytest.fixture
def surroundings(request, monkeypatch, tmp_path):
    """The folder that the code of a page runs in, with the module that a page shows."""
    name = request.getfixturevalue("name")
    folder = request.getfixturevalue("shared_data") / DATA[name] if name in DATA else tmp_path
    monkeypatch.chdir(ROOT if name == "firth.md" else folder)  # which reads a table of docs/
    if name == "rare-classes.md":
        payments(folder)
        here("split", "payments.csv", "--test", "0.3", "--target", "fraud", cwd=folder)
    if name == "one-pass.md":
        reviews(folder)
    for program in PROGRAM.findall((ROOT / "docs" / name).read_text("utf-8")):
        (tmp_path / "relaxation.py").write_text(program, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "relaxation", raising=False)


@pytest.mark.parametrize("name", PAGES)
def test_python_of_a_page_gives_what_it_says_and_draws(name, surroundings):
    for path, display in displays(ROOT / "docs" / name):
        if path.suffix == ".gif":
            with Image.open(path) as picture:
                assert picture.n_frames == len(display.frames), path.name
        else:
            assert DIGEST.search(path.read_text("utf-8"))[1] == digest(display), path.name
        assert faults(display) == [], path.name


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_every_page_has_a_picture(page):
    assert page.name in {*PAGES, *WITHOUT}


def test_every_picture_is_shown():
    shown = {
        path for name in PAGES for path in LINK.findall((ROOT / "docs" / name).read_text("utf-8"))
    }
    assert shown == {f"pictures/{path.name}" for path in (ROOT / "docs" / "pictures").glob("*")}


def test_other_numbers_are_another_picture():
    first, second, *_ = (digest(display) for _, display in displays(ROOT / "docs" / "plots.md"))
    assert first != second
