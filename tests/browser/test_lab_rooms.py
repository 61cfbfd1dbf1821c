"""The regression rooms in a real browser."""

import pytest

pytestmark = pytest.mark.compiled


def test_dragging_a_point_moves_the_line_the_sticks_and_the_table(tab):
    tab.open("data=worked-line&room=line")
    assert tab.text("#fit-title") == "y = 1.10811 + 1.16216 x"
    assert tab.page.locator(".stick").count() == 5
    assert "0.980316" in tab.text(".numbers")
    assert not tab.page.locator(".clock").is_visible()
    tab.drag(5, 0, 150)
    tab.goes_to("#points=")
    assert tab.text("#fit-title") != "y = 1.10811 + 1.16216 x"
    rows = tab.page.get_by_label("Points and residuals").locator("tbody tr")
    assert rows.count() == 5
    assert not rows.last.inner_text().endswith("0.243243")


def test_adding_a_point_to_a_line(tab):
    tab.open("data=blood-pressure&room=line")
    tab.click("Add")
    tab.says("#status", "31 points")
    tab.page.get_by_label("Room").select_option("classes")
    assert tab.says("#status", "Place points of at least two classes")


def test_a_point_of_the_curve_changes_its_class_by_its_height(tab):
    tab.open("data=hours-apart&room=curve")
    assert "runs away" in tab.text("#fit-words")
    assert tab.page.locator("polyline.curve").count() == 1
    height = tab.point(11)[1] - tab.point(1)[1]
    tab.drag(3, 60, height)
    tab.drag(15, -60, -height)
    tab.says("#fit-words", "The classes overlap")
    assert tab.page.locator("polyline.curve").count() == 2


def test_a_fit_to_take_home(tab, new_tab, tmp_path):
    tab.open("data=worked-line&room=line")
    with tab.page.expect_download() as caught:
        tab.click("HTML")
    other = new_tab(offline=True)
    other.page.goto(caught.value.path().rename(tmp_path / "fit.html").as_uri())
    other.says("#fit-title", "y = 1.10811")
    assert other.page.locator(".stick").count() == 5


def test_a_lesson_to_its_end(tab):
    tab.visit("?lesson=perceptron")
    tab.says("#lesson-step", "The perceptron · 1 of 7")
    assert tab.goes_to("#") == "data=five-points&start=-1,0,0"
    answer = tab.page.locator("details.answer p")
    assert not answer.is_visible()
    tab.page.get_by_text("Show the answer").click()
    assert "all three squares are wrong" in answer.inner_text()
    for step in range(2, 8):
        tab.click("Next")
        tab.says("#lesson-step", f"{step} of 7")
    tab.goes_to("step=7")
    assert tab.page.get_by_role("button", name="Next", exact=True).is_disabled()
    tab.says("#status", "8 of 31 points on the wrong side")
    tab.page.get_by_label("Weights to predict with").select_option("best")
    tab.says("#status", "1 of 31 points on the wrong side")
    tab.page.go_back()
    tab.page.go_back()
    tab.says("#lesson-step", "6 of 7")
    tab.goes_to("shuffle=yes")
    tab.page.reload()
    tab.ready()
    tab.says("#lesson-step", "6 of 7")
    tab.click("Leave the lesson")
    assert not tab.page.locator("#lesson-text").is_visible()
    assert tab.page.evaluate("location.search") == ""


def test_a_lesson_is_chosen_from_the_list(tab):
    tab.open()
    tab.page.get_by_role("combobox", name="Lesson").select_option("regression")
    tab.says("#fit-title", "y = 1.10811 + 1.16216 x")
    tab.click("Next")
    tab.click("Next")
    assert tab.says("#fit-title", "pressure = 98.7147 + 0.97087 age")


def test_an_unknown_lesson_leaves_the_page_usable(tab):
    tab.visit("?lesson=nothing&step=x")
    tab.says("#fault", "There is no lesson 'nothing'")
    tab.click("Step")
    assert tab.count("round") == 1
