"""The rooms without a run, lessons, and the pictures of docs/how-to/lab.md, in a real browser.

With LINSEP_DRAW=1 the pictures are drawn anew.
"""

import os
import re

import pytest
from playwright.sync_api import expect

from documents import ROOT

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]

FOLDER = ROOT / "docs" / "lab"
#: file: width, height, light or dark, what follows the address, keys, what is waited for
PICTURES = {
    "first.png": (1280, 760, "light", "", ["ArrowRight"] * 4, ""),
    "run.png": (1280, 760, "light", "#data=five-points&start=-1,0,0&at=5", ["m", "m", "m"], ""),
    "proof.png": (1280, 760, "dark", "#data=outlier&rounds=1000", ["End"], "No line separates"),
    "kernel.png": (1280, 760, "light", "#data=moons&learner=kernel&width=2", ["End"], "No line"),
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


def test_adding_a_point_to_a_line(tab):
    tab.open("data=blood-pressure&room=line")
    tab.click("Add")
    tab.says("#status", "31 points")
    tab.page.get_by_label("Mode").select_option("classes")
    assert tab.says("#status", "Place points of at least two classes")


def test_a_point_of_the_curve_changes_its_class_by_its_height(tab):
    tab.open("data=hours-apart&room=curve")
    assert "slope diverges" in tab.text("#fit-words")
    assert tab.page.locator("polyline.curve").count() == 1
    height = tab.point(11)[1] - tab.point(1)[1]
    tab.drag(3, 60, height)
    tab.drag(15, -60, -height)
    tab.says("#fit-words", "The classes overlap")
    assert tab.page.locator("polyline.curve").count() == 2


def test_naive_bayes_tells_the_probabilities_under_the_pointer(tab):
    tab.open("data=five-points&room=bayes")
    assert tab.says("#fit-title", "ln P(+1)/P(−1) = −13.8 + 5 x1")
    assert tab.page.locator("ellipse.deviation").count() == 4
    assert tab.page.locator(".dot.wrong").count() == 1
    tab.page.mouse.move(*tab.point(3))
    assert ", 4: P(−1) = 0.13" in tab.says("#status", "at 2")
    assert "0.869" in tab.page.get_by_label("Points and residuals").inner_text()
    tab.drag(1, 60, 0)
    tab.goes_to("#points=")
    expect(tab.page.locator("#fit-title")).not_to_contain_text("ln P(+1)/P(−1) = −13.8")


def test_a_soft_margin_has_a_slider_of_c_and_marks_support_vectors(tab):
    tab.open("data=outlier&room=soft&cost=0.1")
    assert tab.says("#fit-title", "Margin 2.04")
    assert tab.page.locator("circle.support").count() == 3
    assert tab.page.locator("rect.support").count() == 5
    assert tab.page.locator("line.edge").count() == 2
    slider = tab.page.get_by_label("C, slider")
    slider.focus()
    slider.press("End")
    assert tab.says("#fit-title", "Margin 1.72")
    assert tab.page.locator("rect.support").count() == 2
    assert "a billionth" in tab.page.locator("#fit-words").inner_text()


def test_the_rate_of_a_descent_too_small_right_and_too_large(tab):
    tab.open("data=descent&room=descent&eta=0.09")
    assert tab.says("#fit-title", "zig-zags in")
    slider = tab.page.get_by_label("Learning rate, slider")
    slider.focus()
    for key, said in (("End", "diverges"), ("Home", "is slow")):
        slider.press(key)
        tab.says("#fit-title", said)
    box = slider.bounding_box()
    tab.page.mouse.move(box["x"] + 9, box["y"] + 10)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] * 0.63, box["y"] + 10, steps=12)
    assert "converges in" in tab.says("#fit-title", "converges in")
    tab.page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 10, steps=4)
    tab.page.mouse.up()
    assert "diverges" in tab.says("#fit-title", "diverges")
    expect(tab.page).to_have_url(re.compile(r"eta=0\.[1-9]"))
    assert tab.page.get_by_label("Points and residuals").locator("tbody tr").count() > 3


def test_a_descent_starts_where_one_clicks_drags_or_steps(tab):
    tab.open("data=descent-minima&room=descent&surface=two-minima&eta=0.1&from=0.2,1.2")
    expect(tab.page.locator(".iterate.last")).to_be_visible()
    ends = [tab.page.locator(".iterate.last").bounding_box()["x"]]
    box = tab.page.locator(".plane .picture").bounding_box()
    tab.page.mouse.click(box["x"] + 0.2 * box["width"], box["y"] + 0.3 * box["height"])
    tab.goes_to("from=-")
    ends.append(tab.page.locator(".iterate.last").bounding_box()["x"])
    assert ends[1] < ends[0] - 100
    start = tab.page.locator(".handle.from")
    at = start.bounding_box()
    tab.page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"], steps=5)
    tab.page.mouse.up()
    assert "from=1." in tab.goes_to("from=1.")
    start.focus()
    before = tab.page.url
    start.press("ArrowUp")
    expect(tab.page).not_to_have_url(before)
    assert tab.page.locator(".dot").count() == 0


@pytest.mark.parametrize(
    ("address", "held"),
    [
        ("data=descent&room=descent&eta=0.09", ["zig-zags in", 'class="contour"']),
        ("data=bayes-iris&room=bayes", ["Each point is assigned to", 'class="deviation"']),
        ("data=outlier&room=soft", ["Margin 1.72", 'class="support"']),
        ("data=hours&room=curve", ["P(pass) =", 'class="curve Firth"']),
    ],
)
def test_a_picture_holds_what_its_room_shows(tab, address, held):
    tab.open(address)
    with tab.page.expect_download() as caught:
        tab.click("SVG")
    svg = caught.value.path().read_text("utf-8")
    for text in held:
        assert text in svg


def test_a_fit_to_take_home(tab, new_tab, tmp_path):
    tab.open("data=worked-line&room=line")
    with tab.page.expect_download() as caught:
        tab.click("HTML")
    other = new_tab(offline=True)
    other.page.goto(caught.value.path().rename(tmp_path / "fit.html").as_uri())
    other.says("#fit-title", "y = 1.11")
    assert other.page.locator(".stick").count() == 5


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


def test_a_lesson_is_chosen_from_the_list(tab):
    tab.open()
    tab.page.get_by_role("combobox", name="Lesson").select_option("regression")
    tab.says("#fit-title", "y = 1.11 + 1.16 x")
    tab.click("Next")
    tab.click("Next")
    assert tab.says("#fit-title", "pressure = 98.7 + 0.971 age")


#: choose a lesson, and change the rounds while its scene is awaited, the second question
CHANGED_MEANWHILE = """lab => {
  const field = lab.querySelector("input[aria-label='Maximum steps']");
  const before = Number(lab.dataset.asked);
  new MutationObserver((_, observer) => {
    if (Number(lab.dataset.asked) < before + 2) return;
    observer.disconnect();
    field.value = "0.5";
    field.dispatchEvent(new Event("change"));
  }).observe(lab, { attributeFilter: ["data-asked"] });
  const menu = lab.querySelector("select[aria-label=Lesson]");
  menu.value = "margin";
  menu.dispatchEvent(new Event("change"));
  return before + 4;
}"""


def test_a_lesson_replaces_what_is_changed_while_it_is_awaited(tab):
    """The plane showed the points of the scene before, in the axes of that scene."""
    tab.visit("?lesson=margin").show_more()
    tab.says("#status", "40 of 40")
    expected = tab.point(1)
    tab.click("Leave the lesson")
    tab.open("data=iris-easy")
    tab.ready(tab.page.locator(".lab").evaluate(CHANGED_MEANWHILE))
    assert tab.point(1) == pytest.approx(expected, abs=1)
    assert tab.says("#status", "40 of 40")


def test_an_unknown_lesson_leaves_the_page_usable(tab):
    tab.visit("?lesson=nothing&step=x")
    tab.says("#fault", "There is no lesson 'nothing'")
    tab.click("Step")
    assert tab.count("round") == 1


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
    pages = [ROOT / "docs" / page for page in ("how-to/lab.md", "start/first-class.md")]
    assert any(f"](../lab/{name})" in page.read_text("utf-8") for page in pages)
