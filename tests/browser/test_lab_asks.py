"""Lessons ask before they answer: what would answer is hidden until the student answers or asks."""

import subprocess
import sys

import pytest
from playwright.sync_api import expect

from conftest import Tab

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]

#: what would answer a question of a lesson
ANSWERS = [".proof.card", ".table", ".counts", "#status", ".widest", ".of-ring"]


def shown(tab):
    return [name for name in ANSWERS if tab.page.locator(name).first.is_visible()]


def rings(tab):
    return sum(one.is_visible() for one in tab.page.locator(".wrong .wrong-ring").all())


@pytest.mark.parametrize("how", ["answers", "asks"])
def test_proof_counts_rings_and_tables_wait_for_an_answer(tab, how):
    tab.visit("?lesson=margin&step=5")
    tab.says("#lesson-step", "5 of 6")
    tab.show_more()
    assert (shown(tab), rings(tab)) == ([], 0)
    answer = tab.page.locator("details.answer > p").last
    expect(answer).to_be_hidden()
    if how == "answers":
        tab.click("Answer")  # nothing is typed yet
        expect(answer).to_be_hidden()
        tab.page.get_by_label("Your answer").fill("each pass costs")
        tab.click("Answer")
        assert tab.page.locator(".mine").inner_text() == "Your answer: each pass costs"
    else:
        tab.page.get_by_text("Show the answer").click()
    expect(answer).to_be_visible()
    expect(tab.page.locator(".proof.card")).to_be_visible()
    assert set(shown(tab)) >= set(ANSWERS) - {".widest"}
    assert rings(tab) > 0
    tab.click("Next")
    tab.says("#lesson-step", "6 of 6")
    assert shown(tab) == []
    tab.click("Leave the lesson")
    expect(tab.page.locator(".counts")).to_be_visible()


def test_the_soft_margin_hides_its_support_vectors(tab):
    tab.visit("?lesson=support-vectors&step=2")
    tab.says("#lesson-step", "2 of 5")
    expect(tab.page.locator("circle.support").first).to_be_attached()
    expect(tab.page.locator("circle.support").first).to_be_hidden()
    expect(tab.page.locator(".fit.card")).to_be_hidden()
    tab.page.get_by_text("Show the answer").click()
    expect(tab.page.locator("circle.support").first).to_be_visible()
    expect(tab.page.locator(".fit.card")).to_be_visible()


@pytest.mark.parametrize(
    ("step", "wrong", "said"),
    [(5, {"1", "5"}, "w += rate y x"), (6, {"4"}, "the point is still not on its side")],
)
def test_a_rate_too_large_and_one_too_small(tab, step, wrong, said):
    tab.visit(f"?lesson=perceptron&step={step}")
    tab.says("#lesson-step", f"{step} of 10")
    tab.says("#story", "Point 3 was classified correctly")
    tab.page.get_by_text("Show the answer").click()
    tab.press("Escape")
    tab.click("Step")
    assert said in tab.text("#story").replace("\xa0", " ")
    found = tab.page.locator(".dot.wrong .number").all_text_contents()
    assert set(found) == wrong


def test_one_against_the_rest_or_one_against_one(tab):
    tab.visit("?lesson=several-classes&step=3")
    tab.says("#lesson-step", "3 of 7")
    tab.says("#key", "of 9)")
    tab.press("End")
    tab.says("#story", "from here everything repeats")
    tab.page.get_by_label("Several classes").select_option("ovo")
    tab.goes_to("classes=ovo")
    tab.press("End")
    tab.says("#story", "training ends here")


#: a lab whose uploads fail
FAILING = """
import sys
from linsep.lab import answer
from linsep.cli.main import main
answer.loaded = lambda request: 1 / 0
sys.argv = ["linsep", "lab", "--no-browser", "--port", "0"]
main()
"""


def test_a_failure_of_the_server_is_said_on_the_page(browser):
    server = subprocess.Popen(
        [sys.executable, "-c", FAILING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    context = browser.new_context()
    try:
        tab = Tab(context, server.stdout.readline().split()[1])
        tab.open("data=xor")
        tab.page.get_by_text("Your own points", exact=True).click()
        tab.page.get_by_label("Points as CSV").fill("1,2,a\n3,4,b\n")
        tab.click("Use")
        tab.says("#fault", "The lab's server failed: its terminal has the details.")
        tab.page.get_by_label("Points", exact=True).select_option("clouds")
        tab.goes_to("data=clouds")
        assert tab.text("#fault") == ""
        assert tab.faults == []
    finally:
        context.close()
        server.terminate()
        said = server.communicate(timeout=20)[1]
    assert "ZeroDivisionError" in said
