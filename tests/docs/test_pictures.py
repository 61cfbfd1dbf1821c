"""The Python of the pages gives what they say, and draws their pictures.

With ``LINSEP_DRAW=1 LINSEP_THOROUGH=1`` the pictures are drawn again; look at them.
"""

import os
import re
import sys

import pytest
from PIL import Image

from command_line import here
from documents import PAGES, ROOT, payments, reviews
from pictures import DIGEST, LINK, digest, displays, draw, faults

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
#: a module that a page shows
PROGRAM = re.compile(r"```python\n(\"\"\".*?)```", re.DOTALL)
DRAWN = sorted(name for name, page in PAGES.items() if LINK.search(page.read_text("utf-8")))


#: where data of a page are, in the shared data
DATA = {"strings": "strings"}


@pytest.fixture
def surroundings(request, monkeypatch, tmp_path):
    """The folder that the code of a page runs in, with the module that a page shows."""
    name = request.getfixturevalue("name")
    folder = request.getfixturevalue("shared_data") / DATA[name] if name in DATA else tmp_path
    monkeypatch.chdir({"firth": ROOT, "coming-from": ROOT}.get(name, folder))
    if name == "rare-classes":
        payments(folder)
        here("split", "payments.csv", "--test", "0.3", "--target", "fraud", cwd=folder)
    if name == "one-pass":
        reviews(folder)
    for program in PROGRAM.findall(PAGES[name].read_text("utf-8")):
        (tmp_path / "relaxation.py").write_text(program, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "relaxation", raising=False)


@pytest.mark.parametrize("name", DRAWN)
def test_python_of_a_page_gives_what_it_says_and_draws(name, surroundings):
    for path, display in displays(PAGES[name]):
        shown = digest(display)  # drawing a picture in three dimensions changes it
        if os.environ.get("LINSEP_DRAW"):
            draw(path, display, shown)
        if path.suffix == ".gif":
            with Image.open(path) as picture:
                assert picture.n_frames == len(display.frames), path.name
        else:
            assert DIGEST.search(path.read_text("utf-8"))[1] == shown, path.name
        assert faults(display) == [], path.name


def test_every_picture_is_shown():
    shown = {
        (page.parent / link).resolve()
        for page in PAGES.values()
        for link in LINK.findall(page.read_text("utf-8"))
    }
    assert shown == set((ROOT / "docs" / "pictures").glob("*"))
