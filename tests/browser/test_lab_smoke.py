"""The lab in a real browser, in every run of the tests: its first screen, a run, and a proof."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.compiled

#: what each step of the first run says
SAID = [
    "Point 1 was on no side (its score was 0): w += y x, so [b, w1, w2] = [0, 0, 0] − [1, −1, −3] "
    "= [−1, 1, 3].",
    "Point 2 was classified correctly: nothing changes.",
    "Point 3 was classified correctly: nothing changes.",
    "Point 4 was on the wrong side: w += y x, so [b, w1, w2] = [−1, 1, 3] + [1, −4, 0] = "
    "[0, −3, 3].",
]


def test_a_novice_steps_through_the_first_run(tab):
    tab.open(more=False)
    buttons = [
        one.inner_text() for one in tab.page.locator(".lab button").all() if one.is_visible()
    ]
    assert buttons == ["More", "Step", "▶ Play"]
    assert tab.page.locator(".dot .mark").count() == 5
    expect(tab.page.locator(".controls")).to_be_hidden()
    for said in SAID:
        tab.click("Step")
        assert tab.text("#story").replace("\xa0", " ") == said
    tab.press("End")
    assert "training ends here" in tab.text("#story")
    assert "(0 of 5)" in tab.text("#key")
    assert tab.page.get_by_role("button", name="Step", exact=True).is_disabled()
    tab.show_more()
    tab.says("#verdict", "A line separates the classes.")
    assert "Novikoff" in tab.says(".bounds", "of at most 8")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 1280
