"""The pictures of the pages are those that their code draws today."""

import pytest

from documents import ROOT
from pictures import DIGEST, LINK, digest, displays

pytestmark = pytest.mark.compiled
PAGES = sorted(
    page.name for page in (ROOT / "docs").glob("*.md") if LINK.search(page.read_text("utf-8"))
)


@pytest.mark.parametrize("name", PAGES)
def test_pictures_show_what_the_code_before_them_draws(name):
    for path, display in displays(ROOT / "docs" / name):
        assert DIGEST.search(path.read_text("utf-8"))[1] == digest(display), path.name


def test_every_picture_is_shown():
    shown = {
        path for name in PAGES for path in LINK.findall((ROOT / "docs" / name).read_text("utf-8"))
    }
    assert shown == {f"pictures/{path.name}" for path in (ROOT / "docs" / "pictures").glob("*")}


def test_other_numbers_are_another_picture():
    first, second, *_ = (digest(display) for _, display in displays(ROOT / "docs" / "plots.md"))
    assert first != second
