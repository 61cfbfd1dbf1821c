"""Rings, counts, shades and sentences of the plane say the same at every step."""

import re

import numpy as np
import pytest

from linsep.lab.run import run_of
from linsep.lab.scene_sources import scene_of_url
from linsep.teaching.textbook.schemes import SCHEMES

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]

#: at positions of the run: the points with a ring, the counts in words, the classes whose shade
#: lies under each point and three pixels around it
WALK = """(lab, positions) => {
  const slider = lab.querySelector("input[aria-label='Step number']");
  const svg = lab.querySelector(".plane .picture");
  const pixel = (x, y) => Object.assign(svg.createSVGPoint(), { x, y });
  return positions.map((at) => {
    slider.value = at;
    slider.dispatchEvent(new Event("input"));
    const dots = [...lab.querySelectorAll(".dot")];
    const sides = [...lab.querySelectorAll(".sides .side")];
    const under = (x, y) => sides.filter((side) => side.isPointInFill(pixel(x, y)))
      .map((side) => Number(side.dataset.class));
    return { at, wrong: dots.map((dot) => getComputedStyle(dot.querySelector(".wrong-ring"))
      .visibility === "visible"),
      said: [lab.querySelector("#status").textContent, lab.querySelector("#key").textContent],
      story: lab.querySelector("#story").textContent,
      under: dots.map((dot) => {
        const [x, y] = dot.getAttribute("transform").match(/[-\\d.]+/g).map(Number);
        return [[0, 0], [3, 0], [-3, 0], [0, 3], [0, -3]].map(([a, b]) => under(x + a, y + b));
      }) };
  });
}"""
SCENES = [
    "data=first-steps",
    "data=five-points&start=-1,0,0&rounds=200",
    "data=four-points&intercept=no",
    "data=xor&intercept=no",
    "data=outlier&rounds=100",
    "data=outlier&rounds=100&keep=average",
    "data=outlier&rounds=100&keep=vote",
    "data=xor&intercept=no&keep=vote&rounds=40",
    "data=moons&learner=kernel&width=2",
    "data=xor&learner=kernel&kernel=poly",
    "data=four-clouds",
    "data=four-clouds&classes=ovr",
    "data=four-clouds&classes=ovo",
    "data=four-clouds&classes=ovo&keep=vote",
    "data=four-clouds&learner=scw&rounds=100",
    "data=four-clouds&learner=kernel&width=0.5&rounds=100",
]


@pytest.mark.parametrize("address", SCENES)
def test_rings_counts_and_shades_agree_at_every_step(tab, address):
    tab.open(address)
    scene = scene_of_url(address)
    codes, n = scene.codes, len(scene.points)
    end = int(tab.page.get_by_label("Step number", exact=True).get_attribute("max"))
    # all positions of a pass, and some of later ones
    places = [*range(min(end, 2 * n) + 1), *range(2 * n, end + 1, 7), end]
    compared = skipped = 0
    for seen in tab.page.locator(".lab").evaluate(WALK, places):
        rings = sum(seen["wrong"])
        counted = f"{rings} of {n} points" if rings else f"all {n} points"
        assert seen["said"][0].startswith(counted), seen["at"]
        assert f"({rings} of {n})" in seen["said"][1], seen["at"]
        for code, wrong, around in zip(codes, seen["wrong"], seen["under"], strict=True):
            if around.count(around[0]) < len(around):  # a boundary passes within three pixels
                skipped += 1
                continue
            compared += 1
            assert len(around[0]) <= 1, seen["at"]
            assert wrong == (around[0] != [code]), (seen["at"], around[0], code)
        if seen["at"] == 0 and not any(scene["start"]):
            assert all(seen["wrong"])  # a score of zero is on no side, and white
            assert all(around[0] == [] for around in seen["under"])
    assert compared > skipped


@pytest.mark.parametrize("address", [a for a in SCENES if "keep" not in a and "kernel" not in a])
def test_rings_are_the_points_that_the_library_would_put_elsewhere(tab, address):
    """Computed by the textbook from the weights of every step."""
    tab.open(address)
    scene = scene_of_url(address)
    run = run_of(scene)
    k = max(1, len(run["vectors"]))
    present = run["present"]
    weights = np.array(run["weights"]).reshape(-1, k, 3)
    schemes = [SCHEMES[run["scheme"]](len(present), tie) for tie in ("negative", "positive")]
    places = list(range(min(run["rounds"], 100) + 1))
    for seen in tab.page.locator(".lab").evaluate(WALK, places):
        at = seen["at"]
        scores = np.column_stack([np.ones(len(scene.points)), scene.X]) @ weights[at].T
        for j, s in enumerate(scores.tolist()):
            sides = {scheme.predict(s[0] if k == 1 else s) for scheme in schemes}
            assert seen["wrong"][j] == (sides != {present.index(scene.codes[j])}), (at, j)
        if at and k == 1:
            row = run["row"][at - 1]
            mistake = bool(run["mistakes"][at - 1])
            assert seen["story"].startswith(f"Point {row + 1} was ")
            assert ("was classified correctly" in seen["story"]) != mistake


def test_no_sign_contradicts_the_sentence_on_the_last_point(tab):
    """The point of a step is marked by its number and a disc; a ring is a point on no side."""
    tab.open("data=outlier&rounds=100")
    for _ in range(12):
        tab.press("m")
        dot = tab.page.locator(".dot.visited")
        assert dot.count() == 1
        assert dot.locator(".halo").evaluate("node => getComputedStyle(node).stroke") == "none"
        still = "still not on its side" in tab.text("#story")
        ring = dot.locator(".wrong-ring").evaluate("node => getComputedStyle(node).visibility")
        assert still == (ring == "visible")


def test_no_line_is_drawn_where_there_is_none_yet(tab):
    tab.open("data=clouds")
    assert tab.text("#equation").startswith("no line yet")
    for line in (".picture > .widest", ".plane .picture > .line", ".sides .side"):
        assert not any(one.is_visible() for one in tab.page.locator(line).all())
    assert "initial weights" in tab.page.locator(".handle.tip").text_content()
    tab.press("m")
    assert tab.page.locator(".picture > .widest").is_visible()


def test_clear_begins_from_zero_weights(tab):
    tab.open("data=five-points&start=-1,0,0")
    tab.click("Clear")
    tab.says("#status", "Place points of at least two classes")
    assert "start" not in tab.goes_to("#points=")
    assert re.search(r"points=(&|$)", tab.page.url)


#: places of the picture that no area covers, of a lattice of two pixels
WHITE = """svg => {
  const { width, height } = svg.viewBox.baseVal;
  const sides = [...svg.querySelectorAll(".sides .side")];
  const found = [];
  for (let y = 1; y < height; y += 2) {
    for (let x = 1; x < width; x += 2) {
      const place = Object.assign(svg.createSVGPoint(), { x, y });
      if (!sides.some((side) => side.isPointInFill(place))) found.push([x, y]);
    }
  }
  return found;
}"""


@pytest.mark.parametrize("classes", ["ovo", "ovr", "native"])
def test_ties_on_a_boundary_draw_no_white_loops(tab, classes):
    """Four points around 0: scores are tied on lines that run through nodes of the grid."""
    tab.open(f"points=-2,-2,0;2,-2,1;-2,2,2;2,2,3&classes={classes}&intercept=no&rounds=200")
    tab.press("End")
    tab.says("#status", "all 4 points")
    assert tab.page.locator(".plane .picture").evaluate(WHITE) == []
