"""What is taken home from the lab: light pictures with legends and curves, tables as shown; and the
order of the page on a phone.
"""

import csv
import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


def saved(tab, button):
    with tab.page.expect_download() as caught:
        tab.click(button)
    return caught.value.path().read_bytes()


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("data=moons&learner=kernel&width=2&at=20", "curve: score 0"),
        ("data=four-clouds&classes=ovo&at=25", "line: boundary of classes"),
        ("data=outlier&keep=vote&rounds=100&at=50", "curve: score 0"),
    ],
)
def test_pictures_are_light_and_have_curves_a_legend_and_a_caption(tab, address, what):
    tab.look(1280, 900, "dark")
    tab.open(address)
    svg = saved(tab, "SVG").decode()
    assert svg.split(">")[1] == '<rect width="100%" height="100%" fill="rgb(255, 255, 255)"/'
    assert "data:image" not in svg  # areas and boundaries are paths
    curve = re.search(r'class="line curve-between"[^>]* d="([^"]+)"', svg) or re.search(
        r'd="([^"]+)"[^>]* class="line curve-between"', svg
    )
    assert curve[1].count("L") > 20
    for said in (what, "blue: class", "ring: not on its side (", "points not on their side"):
        assert said in svg
    assert "rgb(0, 103, 165)" in svg  # blue on white, not that of a dark page
    assert "var(" not in svg
    assert "light" not in tab.page.locator(".lab").get_attribute("class").split()


def test_a_boundary_is_where_the_scores_are_equal(tab):
    """Points of the curve of a polynomial kernel, against its equation."""
    tab.open("data=xor&learner=kernel&kernel=poly&degree=2")
    tab.press("End")
    path = tab.page.locator(".curve-between").get_attribute("d")
    places = [tuple(map(float, pair.split(","))) for pair in re.findall(r"[-\d.]+,[-\d.]+", path)]
    assert len(places) > 100
    box = tab.page.locator(".plane .picture").get_attribute("viewBox").split()
    width, height = map(float, box[2:])
    # the two axes, by symmetry: every place is within half a pixel of one of them
    ticks = tab.page.locator(".plane .grid line.zero")
    x = float(ticks.nth(0).get_attribute("x1"))
    y = float(ticks.nth(1).get_attribute("y1"))
    near = [p for p in places if abs(p[0] - x) > 12 or abs(p[1] - y) > 12]
    assert max(min(abs(p[0] - x), abs(p[1] - y)) for p in near) < 0.5
    assert 0 < x < width
    assert 0 < y < height


def test_the_table_of_a_kernel_is_saved_as_shown(tab):
    tab.open("data=xor&learner=kernel&kernel=poly")
    lines = list(csv.reader(saved(tab, "CSV").decode().splitlines()))
    assert lines[0] == ["round", "pass", "point", "class", "score", "mistake"]
    shown = tab.page.locator("tr[data-round='3'] td").all_inner_texts()
    assert lines[3] == [text.replace("−", "-") for text in shown]
    assert saved(tab, "Markdown").decode().startswith("| round | pass | point |")
    assert saved(tab, "LaTeX").decode().startswith(r"\begin{tabular}{rrrrrr}")


def test_on_a_phone_the_picture_comes_first_and_exports_last(new_tab):
    tab = new_tab(width=390, height=844, has_touch=True).visit("?lesson=perceptron&step=7")
    tab.says("#lesson-step", "7 of 10")
    tab.page.get_by_text("Show the answer").click()
    tab.show_more()
    expect(tab.page.locator(".proof.card")).to_be_visible()
    order = [".lesson", ".story", ".plane", ".clock", ".proof.card", ".weights",
             ".table >> nth=0", ".controls", ".sharing"]  # fmt: skip
    tops = [tab.page.locator(name).first.bounding_box()["y"] for name in order]
    assert tops == sorted(tops)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390
    inside = tab.page.locator(".scroll").first
    assert inside.evaluate(
        "node => node.scrollWidth > node.clientWidth"
    )  # the table scrolls inside
    assert inside.evaluate("node => getComputedStyle(node).overflowX") == "auto"
