"""The lab in front of a class: full screen, part by part, undo, digits; rooms and lessons."""

import os
import re
from fractions import Fraction
from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread
from playwright.sync_api import expect

from documents import ROOT

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]

#: the sizes of all texts that are shown, in pixels
SIZES = """lab => {
  const found = {};
  lab.querySelectorAll("*").forEach((node) => {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    if (!own || !node.checkVisibility({ visibilityProperty: true }) || node.id === "heard") return;
    found[node.textContent.slice(0, 30)] = parseFloat(getComputedStyle(node).fontSize);
  });
  return found;
}"""


def lectures(tab):
    return "lecture" in tab.page.locator(".lab").get_attribute("class").split()


def style(tab, selector, name):
    return tab.page.locator(selector).first.evaluate(
        "(node, name) => getComputedStyle(node)[name]", name
    )


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("more", [False, True])
def test_one_key_shows_the_plane_in_large_type_and_thick_lines(tab, size, more):
    tab.look(*size, "light")
    tab.open(more=more)
    tab.press(*4 * ["ArrowRight"])
    small = tab.page.locator(".plane .picture").bounding_box()
    tab.press("f")
    tab.says("#heard", "Escape to leave")
    sizes = tab.page.locator(".lab").evaluate(SIZES)
    assert {text: px for text, px in sizes.items() if px < 24} == {}
    assert any(text.startswith("Point 4 was on the wrong side") for text in sizes)
    assert parse(style(tab, ".plane .picture > .line", "strokeWidth")) >= 5
    assert parse(style(tab, ".wrong .wrong-ring", "strokeWidth")) >= 4
    assert tab.page.locator(".controls").is_visible() is False
    large = tab.page.locator(".plane .picture").bounding_box()
    larger = large["width"] * large["height"] / (small["width"] * small["height"])
    assert larger > (0.6 if size[0] < 400 else 1.5 if more else 0.9)
    for shown in (".plane .picture", ".main-buttons", "#story", "#key"):
        box = tab.page.locator(shown).bounding_box()
        assert box["x"] >= 0 <= box["y"]
        assert box["x"] + box["width"] <= size[0]
        assert box["y"] + box["height"] <= size[1]
    tab.press("Escape")
    assert not lectures(tab)
    expect(tab.page.locator(".controls")).to_be_visible(visible=more)
    assert tab.page.locator(".plane .picture").bounding_box() == small


def parse(pixels):
    return float(pixels.removesuffix("px"))


def shown_parts(tab):
    parts = {
        "points": ".dot .mark", "line": ".plane .picture > .line", "shade": ".sides .side",
        "rings": ".wrong .wrong-ring", "sentence": "#story",
    }  # fmt: skip
    return [name for name, one in parts.items()
            if any(node.is_visible() for node in tab.page.locator(one).all())]  # fmt: skip


def test_the_picture_is_revealed_part_by_part(tab):
    tab.open(more=False)
    tab.press(*4 * ["ArrowRight"])
    everything = ["points", "line", "shade", "rings", "sentence"]
    assert shown_parts(tab) == everything
    tab.press("f", "r")
    for k, name in enumerate(everything):
        assert shown_parts(tab) == everything[:k]
        assert tab.page.get_by_role("button", name=f"Show {name}").is_visible()
        legend = tab.text("#key")
        assert ("(1 of 5)" in legend) == (k > 3)
        assert ("line: score 0" in legend) == ("before the update" in legend) == (k > 1)
        tab.press("r")
        tab.says("#heard", f"Shown: {name}.")
    assert shown_parts(tab) == everything
    tab.press("R")
    tab.says("#heard", "Hidden: points, line, shade, rings, sentence.")
    assert shown_parts(tab) == []
    tab.press("Escape")
    assert shown_parts(tab) == everything


def test_edges_of_the_proof_wait_with_the_rings_and_with_a_question(tab):
    def marked():
        proof, other = (f".dot{which} .mark" for which in (".proof", ":not(.proof)"))
        return style(tab, proof, "stroke") != style(tab, other, "stroke")

    tab.open("data=clouds")
    for shown in (True, False, False, False, False, True):
        assert marked() == shown
        tab.press("r")
    tab.visit("?lesson=margin")
    assert not marked()
    tab.page.get_by_text("Show the answer").click()
    assert marked()


def test_weight_space_says_whether_anything_is_green(tab):
    for address, says in [
        ("clouds&at=80", "Green"),
        ("outlier", "No weights classify"),
        ("clouds&start=90,1,1", "No weights in this"),
    ]:
        tab.open(f"data={address}")
        tab.says(".weights .status", says)


def test_texts_of_the_grid_are_above_lines_on_a_ground_of_their_own(tab):
    tab.open("data=clouds&at=80")
    for picture, line in [(".plane", ".line"), (".weights", ".half-planes")]:
        tab.page.locator(f"{picture} .picture > {line} ~ .grid text").first.wait_for()
        assert style(tab, f"{picture} .grid text", "paintOrder").startswith("stroke")
        assert parse(style(tab, f"{picture} .grid text", "strokeWidth")) >= 3


def numbers(values):
    """Lists of numbers as the page shows them."""
    return [[f"{float(v):.3g}".replace("-", "−") for v in row] for row in values]


def test_a_descent_steps_plays_goes_back_and_has_a_slider(tab):
    """Its numbers are those of fractions."""
    tab.open("data=descent&room=descent&eta=0.09")
    assert "−2" in tab.says("#story", "Press Step")
    x, y, rate = Fraction(-2), Fraction(1), Fraction(9, 100)
    for step in range(1, 6):
        slope = (2 * x, 20 * y)
        before, (x, y) = (x, y), (x - rate * slope[0], y - rate * slope[1])
        tab.click("Step")
        said = tab.text("#story").replace("\xa0", " ")
        texts = [f"[{a}, {b}]" for a, b in numbers([before, slope, (x, y)])]
        assert f"[x, y] = {texts[0]} − 0.09 × {texts[1]} = {texts[2]}; J falls from" in said
        ((lower,),) = numbers([[x * x + 10 * y * y]])
        assert said.endswith(f"to {lower}.")
        assert ("reversed direction" in said) == (step > 1)
        assert len(tab.page.locator("polyline.descent").get_attribute("points").split()) == step + 1
        assert tab.page.locator(".table tr.now td").first.inner_text() == str(step)
    tab.click("Step back")
    assert tab.count("round") == 4
    tab.goes_to("at=4")
    tab.page.get_by_label("Step number", exact=True).fill("20")
    assert tab.count("round") == 20
    tab.press("End")
    assert tab.count("round") == 67
    assert "would be no longer than 10⁻⁶" in tab.text("#story")
    assert tab.page.get_by_role("button", name="Step", exact=True).is_disabled()
    tab.press("Home")
    tab.page.get_by_label("Speed").select_option("200")
    tab.press("Space")
    expect(tab.page.locator("#count-round")).to_have_text("67")
    tab.press("Home")
    tab.page.get_by_label("Points and residuals").locator("tbody tr").nth(2).click()
    assert tab.count("round") == 2
    expect(tab.page.get_by_role("button", name="Next mistake")).to_be_hidden()


def test_the_first_class_goes_as_its_page_says(tab):
    """Keys in the order of the page; sentences that it quotes are shown after them."""
    page = (ROOT / "docs" / "start" / "first-class.md").read_text("utf-8").replace("\n", " ")
    keys = {"F": "f", "R": "r", "→": "ArrowRight", "Space": "Space"}
    tab.open(more=False)
    begin = page.index("## Minute 2")
    plan = page[page.index("Press **F**", begin) : page.index("Ask: does it always end?")]
    plan = plan.replace("**F**, **Escape** or", "").replace("**←**", "")
    plan = plan.replace("**R** three more times", "**R** **R** **R**")
    plan = plan.replace("**→** three times", "**→**").replace(' "Point 3', ' **→** "Point 3')
    plan = plan.replace(' "Point 4', ' **→** "Point 4')
    seen = 0
    for key, quoted in re.findall(r"\*\*(.+?)\*\*|\"(.+?)\"", plan):
        if key:
            tab.press(keys[key])
            continue
        seen += 1
        shown = "#key" if quoted.startswith("ring") else "#story"
        expect(tab.page.locator(shown)).to_contain_text(quoted, use_inner_text=True)
        expect(tab.page.locator(shown)).to_be_visible()
    assert seen == 6
    assert lectures(tab)
    tab.press("Home")
    tab.drag(5, *(a + 20 - b for a, b in zip(tab.point(1), tab.point(5), strict=True)))
    tab.goes_to("points=")
    tab.press("End")
    assert "training ends here" not in tab.text("#story")
    tab.press("Control+z")
    tab.goes_to("data=first-steps")


FOLDER = ROOT / "docs" / "lab"
#: file: width, height, light or dark, what follows the address, keys, what is waited for
PICTURES = {
    "first.png": (1280, 760, "light", "", ["ArrowRight"] * 4, ""),
    "run.png": (1280, 760, "light", "#data=five-points&start=-1,0,0&at=5", ["m", "m", "m"], ""),
    "proof.png": (1280, 760, "dark", "#data=outlier&rounds=1000", ["End"], "No line separates"),
    "kernel.png": (1280, 760, "light", "#data=moons&learner=kernel&width=2", ["End"], "A curve"),
    "line.png": (1280, 760, "light", "#data=blood-pressure&room=line", [], ""),
    "descent.png": (1280, 760, "light", "#data=descent&room=descent&eta=0.09&at=9", [], ""),
    "lesson.png": (1280, 760, "light", "?lesson=perceptron&step=7", ["m", "m"], "through 0"),
    "phone.png": (400, 800, "light", "", ["ArrowRight"] * 4, ""),
    "lecture.png": (1280, 720, "light", "", [*["ArrowRight"] * 4, "f"], ""),
}
#: pictures of it; others show everything
FIRST_SCREENS = ("first.png", "phone.png", "lesson.png", "lecture.png")


def test_dragging_a_point_moves_the_line_the_sticks_and_the_table(tab):
    tab.open("data=worked-line&room=line")
    assert tab.says("#fit-title", "y = 1.11 + 1.16 x")
    assert tab.page.locator(".stick").count() == 5
    assert "0.98" in tab.text(".numbers")
    assert not tab.page.locator(".clock").is_visible()
    tab.drag(5, 0, 150)
    tab.goes_to("#points=")
    expect(tab.page.locator("#fit-title")).not_to_have_text("y = 1.11 + 1.16 x")
    rows = tab.page.get_by_label("Points and residuals").locator("tbody tr")
    assert rows.count() == 5
    assert not rows.last.inner_text().endswith("0.243")


def test_a_point_that_is_dragged_near_a_line_of_the_grid_stays_on_it(tab):
    tab.open("points=-1,-1,0;2,1,1")
    zeros = tab.page.locator(".plane .grid line.zero").evaluate_all(
        "nodes => nodes.map(node => { const box = node.getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })"
    )
    (right, _), (_, down) = zeros
    x, y = tab.point(1)
    tab.drag(1, right - x + 4, down - y - 4)
    tab.goes_to("points=0,0,0;")
    tab.drag(1, 20, 8)
    expect(tab.page).not_to_have_url(re.compile("points=0,"))


def test_a_lesson_to_its_end(tab):
    tab.visit("?lesson=perceptron")
    tab.says("#lesson-step", "The perceptron · 1 of 10")
    assert tab.goes_to("#") == "data=five-points&start=-1,0,0"
    answer = tab.page.locator("details.answer p:not(.mine)")
    assert not answer.is_visible()
    tab.page.get_by_text("Show the answer").click()
    assert "all three squares are misclassified" in answer.inner_text()
    for step in range(2, 11):
        tab.click("Next")
        tab.says("#lesson-step", f"{step} of 10")
    tab.goes_to("step=10")
    assert tab.page.get_by_role("button", name="Next", exact=True).is_disabled()
    tab.says("#status", "8 of 31 points not on their side")
    tab.page.get_by_label("Weights to predict with").select_option("best")
    tab.says("#status", "1 of 31 points not on their side")
    tab.page.go_back()
    tab.page.go_back()
    tab.says("#lesson-step", "9 of 10")
    tab.goes_to("shuffle=yes")
    tab.page.reload()
    tab.ready()
    tab.says("#lesson-step", "9 of 10")
    tab.click("Leave the lesson")
    assert not tab.page.locator("#lesson-text").is_visible()
    assert tab.page.evaluate("location.search") == ""


def colors(png):
    """Which of the first three colors of classes a picture has."""
    pixels = np.rint(255 * imread(BytesIO(png))[..., :3])
    marks = ((0, 114, 178), (230, 159, 0), (0, 158, 115))
    return [int((pixels == mark).all(axis=-1).sum()) > 50 for mark in marks]


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_the_page(tab, name, tmp_path):
    width, height, scheme, where, keys, verdict = PICTURES[name]
    tab.look(width, height, scheme)
    tab.visit(where).show_more(name not in FIRST_SCREENS)
    tab.press(*keys)
    if verdict:
        tab.says("#verdict", verdict)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = tab.page.screenshot(path=(FOLDER if os.environ.get("LINSEP_DRAW") else tmp_path) / name)
    kept = (FOLDER / name).read_bytes()
    assert kept[:4] == drawn[:4] == b"\x89PNG"
    assert kept[16:24] == drawn[16:24]  # width and height
    assert colors(kept) == colors(drawn)
    pages = [ROOT / "docs" / page for page in ("how-to/lab.md", "start/first-class.md")]
    assert any(f"](../lab/{name})" in page.read_text("utf-8") for page in pages)
