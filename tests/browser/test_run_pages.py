"""Pages of runs, opened from a file without a network: they step, play and stand still."""

import re

import pytest
from playwright.sync_api import expect
from sklearn.datasets import load_iris

from linsep import Perceptron, trace

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.fixture
def page(browser):
    context = browser.new_context(offline=True, reduced_motion="reduce")
    opened, faults = context.new_page(), []
    opened.on("console", lambda message: faults.append(message.text))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    yield opened
    context.close()
    assert faults == []


def step(page, name="Step"):
    page.get_by_role("button", name=name, exact=True).click()


def test_frames_are_stepped_through(page, tmp_path):
    shown = trace(Perceptron(max_iter=2, shuffle=False), IRIS, SPECIES > 0).animate(max_frames=4)
    shown.save(tmp_path / "run.html")
    page.goto((tmp_path / "run.html").as_uri())
    picture, slider = page.locator("img"), page.get_by_role("slider", name="Frame")
    said = [" ".join(filter(None, frame.said[1:])) for frame in shown.frames]
    expect(picture).to_have_attribute("alt", said[0])
    page.wait_for_timeout(700)
    expect(picture).to_have_attribute("alt", said[0])  # nothing moves by itself
    step(page)
    expect(picture).to_have_attribute("alt", said[1])
    assert picture.evaluate("node => [node.naturalWidth, node.naturalHeight]") == [760, 540]
    expect(slider).to_have_attribute("aria-valuetext", said[1])
    page.keyboard.press("ArrowRight")
    expect(picture).to_have_attribute("alt", said[2])
    step(page, "Step back")
    expect(picture).to_have_attribute("alt", said[1])
    slider.fill("3")
    expect(picture).to_have_attribute("alt", said[3])
    step(page, "To the end")
    expect(page.locator("#story")).to_have_text(said[-1])
    expect(page.get_by_role("button", name="Step", exact=True)).to_be_disabled()
    step(page, "To the start")
    page.get_by_role("button", name="Play").click()
    expect(picture).to_have_attribute("alt", said[-1])
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_two_features_are_stepped_through_round_by_round(page, tmp_path):
    t = trace(Perceptron(max_iter=2, shuffle=False), IRIS[:, :2], SPECIES > 0)
    t.animate().save(tmp_path / "run.html")
    page.goto((tmp_path / "run.html").as_uri())
    step(page)
    expect(page.locator("#story")).to_contain_text(re.compile("oint 1 was on no side"))
    step(page)
    expect(page.locator("#count-round")).to_have_text("2")
