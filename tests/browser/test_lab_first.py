"""The first screen of the lab: five points, two buttons, a sentence, a legend."""

import re

import pytest
from playwright.sync_api import expect

from thoroughness import some

pytestmark = pytest.mark.compiled

#: what is hidden until More is pressed
MORE = [
    ".controls", ".proof.card", ".weights", ".table", ".sharing", ".clock", ".tools", "#equation",
    ".widest", ".handle.tip",
]  # fmt: skip
#: what each step of the first run says
SAID = [
    "Press Step: the learner visits point 1 and updates its line if the point is on the wrong "
    "side.",
    "Point 1 was on no side (its score was 0): w += y x, so [b, w1, w2] = [0, 0, 0] − [1, −1, −3] "
    "= [−1, 1, 3].",
    "Point 2 was classified correctly: nothing changes.",
    "Point 3 was classified correctly: nothing changes.",
    "Point 4 was on the wrong side: w += y x, so [b, w1, w2] = [−1, 1, 3] + [1, −4, 0] = "
    "[0, −3, 3].",
]


def visible_buttons(tab):
    return [one.inner_text() for one in tab.page.locator(".lab button").all() if one.is_visible()]


@pytest.mark.parametrize("size", some([(1280, 800), (1920, 1080), (800, 900), (390, 844)], 4))
def test_a_novice_sees_two_buttons_a_sentence_a_picture_and_its_legend(tab, size):
    tab.look(*size, "light")
    tab.open(more=False)
    assert visible_buttons(tab) == ["More", "Step", "▶ Play"]
    assert tab.text("#story") == SAID[0]
    assert tab.page.locator(".dot .mark").count() == 5
    for hidden in MORE:
        expect(tab.page.locator(hidden).first).to_be_hidden()
    legend = tab.page.get_by_role("list", name="Legend").locator("li:visible")
    assert [text.split(":")[0] for text in legend.all_inner_texts()] == [
        "blue", "red", "ring", "line", "shade"
    ]  # fmt: skip
    shown = tab.page.evaluate("[document.documentElement.scrollWidth, innerHeight, scrollY]")
    assert shown[0] <= size[0]
    ends = [one.bounding_box() for one in (legend.last, tab.page.locator(".plane .picture"))]
    assert all(box["y"] + box["height"] <= size[1] for box in ends)  # without scrolling


def test_each_step_says_what_happened(tab):
    tab.open(more=False)
    for said in SAID[1:]:
        tab.click("Step")
        assert tab.text("#story").replace("\xa0", " ") == said
    tab.press("End")
    assert "training ends here" in tab.text("#story")
    assert "(0 of 5)" in tab.text("#key")
    assert tab.page.get_by_role("button", name="Step", exact=True).is_disabled()
    assert re.search("[25] was classified correctly", tab.text("#story"))


@pytest.mark.thorough
def test_play_runs_slowly_enough_to_be_read_and_to_its_end(tab):
    tab.open(more=False)
    assert tab.page.locator(".speed select").input_value() == "2"
    tab.show_more()
    tab.page.get_by_label("Speed").select_option("1000")
    tab.show_more(False)
    tab.click("▶ Play")
    tab.says("#story", "training ends here")


@pytest.mark.thorough
def test_more_opens_everything_and_what_needs_more_opens_it(tab):
    tab.open(more=False)
    more = tab.page.locator(".more-button")
    more.click()
    assert more.get_attribute("aria-expanded") == "true"
    for shown in MORE[:-2]:
        expect(tab.page.locator(shown).first).to_be_visible()
    assert "Novikoff" in tab.says(".bounds", "of at most 8")  # no "No bound" in the first scene
    more.click()
    expect(tab.page.locator(".controls")).to_be_hidden()
    tab.visit("#data=five-points&start=-1,0,0&at=5")
    expect(tab.page.locator(".controls")).to_be_hidden()
    tab.visit("#data=moons&learner=kernel")
    expect(tab.page.locator(".controls")).to_be_visible()


@pytest.mark.thorough
def test_points_are_dragged_on_the_first_screen_and_not_added(tab):
    tab.open(more=False)
    box = tab.page.locator(".plane .picture").bounding_box()
    tab.page.mouse.click(box["x"] + 300, box["y"] + 50)
    assert tab.page.locator(".dot").count() == 5
    tab.drag(3, 80, 40)
    tab.goes_to("points=")
    assert tab.page.locator(".dot").count() == 5


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("address", "steps", "said"),
    [
        ("data=five-points&start=-1,0,0&rate=0.5", 2, "w += rate y x, so [b, w1, w2] = [−1, 0, 0] "
         "+ [0.5, 1.5, 1] = [−0.5, 1.5, 1]."),
        ("data=four-points&intercept=no", 1, "so [w1, w2] = [0, 0] + [4, 0] = [4, 0]."),
        ("data=five-points&start=-1,0,0&rate=0.01", 2, "the point is still not on its side."),
        ("data=moons&learner=kernel&width=2", 1, "Point 1 was on no side (its score was 0): its "
         "kernel is"),
        ("data=four-clouds&classes=ovo", 1, "Point 1 was on no side: the weights of B vs A, C vs A,"
         " D vs A change."),
        ("data=four-clouds", 1, "ties go to the first class, so nothing changes."),
        ("data=outlier&keep=average&rounds=60", 1, "With the last weights, point 1 was on no side"),
        ("data=clouds&learner=batch", 1, "the update follows at the end of the pass."),
        ("data=clouds&learner=passive-aggressive", 2, "w changes, so [b, w1, w2] = "),
        ("points=-1,0,0;2,0.5,1;0,1.5,1;0.3,-1,0&learner=margin&gamma=0.62", 4, "(margin 0.105, "
         "needed 0.31)"),
        ("points=1,1,0;2,2,0", 0, "Place points of at least two classes"),
    ],
)  # fmt: skip
def test_sentences_of_other_learners(tab, address, steps, said):
    tab.open(address)
    tab.press(*steps * ["ArrowRight"])
    assert said in tab.text("#story").replace("\xa0", " ")


@pytest.mark.thorough
def test_a_run_goes_on_beyond_its_cycle_where_asked(tab):
    tab.open("data=inseparable&start=1,1,1&at=905")
    assert "650" in tab.text("#fault")
    assert "repeats" in tab.text("#story")
    tab.open("data=inseparable&start=1,1,1&rounds=915&beyond=yes&at=650")
    assert not tab.text("#fault")
    assert "repeats" in tab.text("#story")
    tab.press("End")
    assert "repeats" not in tab.text("#story")
    assert tab.page.get_by_label("Step number").input_value() == "915"


#: the names of the cards of the page in their order for Tab, with the places of their corners
CARDS = """lab => [...lab.querySelectorAll(".columns .card")]
  .filter((card) => card.checkVisibility()
    && card.querySelector("button, input, select, textarea, [tabindex]"))
  .map((card) => [card.ariaLabel, card.getBoundingClientRect()])
  .map(([name, { x, y }]) => [name, x, y])"""


@pytest.mark.thorough
@pytest.mark.parametrize("address", ["data=four-points", "data=outlier&room=soft", "room=descent"])
@pytest.mark.parametrize("width", [390, 1280])
def test_tab_goes_through_the_page_in_the_order_in_which_it_is_seen(tab, address, width):
    tab.look(width, 900, "light")
    tab.open(address)
    cards = tab.page.locator(".lab").evaluate(CARDS)
    places = [(x, y) for _, x, y in cards]
    assert places == sorted(places)
    names = [name for name, _, _ in cards]
    if width == 390:
        assert names[0] != "Settings"
        assert names[-1] == "Export"
        assert names.index("Plane") < names.index("Settings")
        slider = "room=" in address  # of the rate, or of C
        between = names[names.index("Plane") + 1 : names.index("Settings")]
        assert slider == (set(between) <= {"Time"})
    tab.look(1280, 900, "light")
    places = [(x, y) for _, x, y in tab.page.locator(".lab").evaluate(CARDS)]
    assert places == sorted(places)


@pytest.mark.thorough
def test_a_lesson_and_its_picture_fit_the_window(tab):
    tab.look(1280, 800, "light")
    tab.visit("?lesson=perceptron&step=2")
    tab.says("#lesson-step", "2 of")
    box = tab.page.locator("#key").bounding_box()
    assert box["y"] + box["height"] <= 800
    tab.click("Leave the lesson")


@pytest.mark.thorough
def test_the_number_of_this_point_is_above_the_others(tab):
    tab.open("data=moons&learner=kernel&width=2")
    tab.press("End")
    top = tab.page.locator(".points > :last-child")
    expect(top).to_have_text("60")
    assert top.is_visible()
    tab.press("Home")
    expect(top).to_have_text("")


@pytest.mark.thorough
def test_what_is_missing_is_said_once(tab):
    tab.open("data=five-points")
    tab.click("Clear")
    tab.says("#story", "Place points of at least two classes")
    said = tab.page.get_by_text("Place points of at least two classes").all()
    assert sum(one.is_visible() for one in said) == 1


@pytest.mark.thorough
def test_a_ring_of_the_soft_margin_is_a_support_vector(tab):
    tab.open("data=outlier&room=soft&cost=1")
    tab.says("#fit-words", "3 points on the dashed lines (ring), and 2 inside")
    assert not any(ring.is_visible() for ring in tab.page.locator(".wrong-ring").all())
    assert tab.page.get_by_role("button", name="Proof", exact=True).is_hidden()
