"""The pictures of docs/lab.md; with LINSEP_DRAW=1 they are drawn anew."""

import os

import pytest

from documents import ROOT

pytestmark = pytest.mark.compiled

FOLDER = ROOT / "docs" / "lab"
#: file: width, height, light or dark, what follows the address, keys, what is waited for
PICTURES = {
    "run.png": (1280, 760, "light", "#data=five-points&start=-1,0,0&at=5", ["m", "m", "m"], ""),
    "proof.png": (1280, 760, "dark", "#data=outlier&rounds=1000", ["End"], "No line separates"),
    "kernel.png": (1280, 760, "light", "#data=moons&learner=kernel&width=2", ["End"], "No line"),
    "line.png": (1280, 760, "light", "#data=blood-pressure&room=line", [], ""),
    "descent.png": (1280, 760, "light", "#data=descent&room=descent&eta=0.09", [], ""),
    "lesson.png": (1280, 760, "light", "?lesson=perceptron&step=4", ["m", "m"], "through 0"),
    "phone.png": (400, 800, "light", "#data=xor&intercept=no", ["End"], "No line through 0"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_the_page(tab, name, tmp_path):
    width, height, scheme, where, keys, verdict = PICTURES[name]
    tab.look(width, height, scheme)
    tab.visit(where)
    tab.press(*keys)
    if verdict:
        tab.says("#verdict", verdict)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = tab.page.screenshot(path=(FOLDER if os.environ.get("LINSEP_DRAW") else tmp_path) / name)
    kept = (FOLDER / name).read_bytes()
    assert kept[:4] == drawn[:4] == b"\x89PNG"
    assert kept[16:24] == drawn[16:24]  # width and height
    assert f"](lab/{name})" in (ROOT / "docs" / "lab.md").read_text("utf-8")
