"""The lab in a real browser, as a person uses it."""

import json
import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


def test_playing_to_the_end_shows_the_numbers_of_the_notes(tab):
    tab.open("data=five-points&start=-1,0,0")
    assert tab.count("round") == 0
    assert tab.text("#equation").startswith("no line yet")
    tab.page.get_by_label("Speed").select_option("1000")
    tab.click("▶ Play")
    tab.says("#status", "Converged.")
    assert (tab.count("updates"), tab.count("pass"), tab.count("round")) == (446, 232, 1160)
    assert tab.text("#weights") == "[b, w1, w2] = [−31, 12, 2]"
    assert tab.text("#equation") == "12 x1 + 2 x2 − 31 = 0"
    assert "all 5 points on their side" in tab.text("#status")
    assert tab.text("tr.now td:last-child") == "2"


@pytest.mark.thorough
def test_stepping_forward_and_back(tab):
    tab.open("data=five-points&start=-1,0,0")
    tab.click("Step")
    tab.click("Step")
    assert tab.text("#weights") == "[b, w1, w2] = [0, 3, 2]"
    assert (tab.count("round"), tab.count("mistakes")) == (2, 1)
    tab.click("Step back")
    assert tab.text("#weights") == "[b, w1, w2] = [−1, 0, 0]"
    tab.click("To the end")
    assert tab.count("round") == 1160
    tab.click("To the start")
    assert tab.count("round") == 0


@pytest.mark.thorough
def test_jumping_to_mistakes_marks_their_row(tab):
    tab.open("data=five-points&start=-1,0,0")
    tab.click("Next mistake")
    assert tab.count("round") == 2
    assert tab.page.locator(".dot.visited.missed").get_attribute("data-point") == "1"
    tab.click("Next mistake")
    assert (tab.count("round"), tab.count("mistakes")) == (5, 2)


@pytest.mark.thorough
def test_the_slider_scrubs_without_asking_the_server(new_tab):
    sent, tab = [], new_tab()
    tab.page.on("websocket", lambda socket: socket.on("framesent", lambda f: sent.append(f)))  # noqa: PLW0108, playwright takes no built-in
    tab.open("data=five-points&start=-1,0,0")
    assert sent
    sent.clear()
    slider = tab.page.get_by_label("Step number", exact=True)
    slider.fill("600")
    assert tab.count("round") == 600
    slider.fill("3")
    assert tab.text("#weights") == "[b, w1, w2] = [0, 3, 2]"
    assert sent == []


@pytest.mark.thorough
def test_a_line_of_the_table_goes_to_its_round(tab):
    tab.open("data=five-points&start=-1,0,0")
    tab.page.locator("tr[data-round='5']").click()
    assert tab.count("round") == 5
    assert tab.text("tr.now").split() == ["5", "1", "5", "−1", "12", "yes", "−1", "1", "−1"]
    tab.press("End")
    assert tab.text("tr.now").split()[0] == "1160"


@pytest.mark.thorough
def test_adding_points_by_clicks(tab):
    tab.open()
    tab.click("Clear")
    tab.says("#status", "Place points of at least two classes")
    box = tab.page.locator(".plane .picture").bounding_box()
    tab.press("1")
    tab.page.mouse.click(box["x"] + 100, box["y"] + 100)
    tab.page.locator(".dot").nth(0).wait_for()
    tab.press("Escape", "2")
    tab.page.mouse.click(box["x"] + 300, box["y"] + 200)
    tab.says("#verdict", "A line separates the classes.")
    assert tab.page.locator(".dot").count() == 2
    assert tab.page.evaluate("location.hash").count(";") == 1


def test_dragging_a_point_across_the_line_changes_the_verdict(tab):
    tab.open("points=0,0,0;1,0.2,0;4,0,1;4.6,1,1;5,0.5,1&rounds=300")
    tab.says("#verdict", "A line separates the classes.")
    right, left = tab.point(5), tab.point(1)
    tab.drag(1, (right[0] - left[0]) * 0.93, (tab.point(4)[1] - left[1]) * 0.5)
    expect(tab.page).not_to_have_url(re.compile("points=0,0,0;"))
    tab.says("#verdict", "No line separates the classes.")
    assert tab.says("#verdict", "would have it on both sides")
    expect(tab.page.locator(".picture .meeting")).to_be_visible()
    expect(tab.page.locator(".dot.proof").nth(2)).to_be_visible()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("address", "number", "key", "before", "after", "left"),
    [
        ("points=0,0,0;1,1,0;2,2,0;3,3,1", 2, "2", "A line", "No line", "points=0,0,0;1,1,1;"),
        ("data=xor", 1, "Delete", "No line", "A line", "points=1,-1,0;-1,1,0;-1,-1,1"),
    ],
)
def test_relabeling_or_deleting_a_point_changes_the_verdict(
    tab, address, number, key, before, after, left
):
    tab.open(address)
    tab.says("#verdict", f"{before} separates")
    tab.page.locator(".dot").nth(number - 1).focus()
    tab.press(key)
    tab.says("#verdict", f"{after} separates")
    assert left in tab.goes_to("points=")


@pytest.mark.thorough
def test_the_right_button_deletes_a_point(tab):
    tab.open("data=xor")
    tab.page.locator(".dot").first.click(button="right")
    assert tab.goes_to("points=").count(";") == 2


def test_xor_is_shown_as_a_cycle_with_a_proof(tab):
    tab.open("data=xor&intercept=no")
    tab.press("End")
    assert "The run cycles" in tab.text("#status")
    assert "everything repeats" in tab.text(".cycle")
    assert "No line through 0 separates" in tab.text("#verdict")


@pytest.mark.thorough
def test_several_classes_are_colored_and_scored(tab):
    tab.open("data=four-clouds&classes=ovr")
    tab.press("End")
    assert "all 48 points on their side" in tab.text("#status")
    assert "A score" in tab.text("[aria-label='Table of steps'] thead")
    for scheme, head in (("ovo", "B vs A score"), ("native", "classA score")):
        tab.page.get_by_label("Several classes").select_option(scheme)
        tab.says("[aria-label='Table of steps'] thead", head)
        tab.press("End")
        assert tab.says("#status", "all 48 points on their side")


@pytest.mark.thorough
def test_a_kernel_bends_the_boundary(tab):
    tab.open("data=moons&learner=kernel&width=2")
    tab.press("End")
    tab.says("#status", "all 60 points on their side. Converged.")
    tab.press("Home")
    assert "not on their side" in tab.text("#status")
    tab.page.get_by_label("Kernel", exact=True).select_option("poly")
    expect(tab.page.get_by_label("Degree")).to_be_visible()


@pytest.mark.thorough
def test_the_proof_says_what_a_curve_of_the_kernel_can_do(tab):
    tab.open("data=moons&learner=kernel&width=2")
    assert "No line separates" in tab.text("#verdict")
    assert "A curve of this kernel separates" in tab.text("#kernel-verdict")
    tab.press("End")
    assert "in the feature space of the kernel" in tab.text(".bounds")
    tab.page.get_by_label("Kernel", exact=True).select_option("poly")
    tab.says("#kernel-verdict", "No curve of this kernel separates")
    tab.open("points=0,0,0;1,1,1;2,0,0;1,1,0&learner=kernel")
    assert "Points 2 and 4 have the same coordinates, (1, 1)" in tab.text("#kernel-verdict")
    assert tab.page.locator(".dot.proof").count() == 2
    tab.page.get_by_label("Learner", exact=True).select_option("perceptron")
    expect(tab.page.locator("#kernel-verdict")).to_be_hidden()


@pytest.mark.thorough
def test_mistakes_are_counted_against_the_bounds_of_the_learner(tab):
    tab.open("data=clouds&learner=passive-aggressive&intercept=no")
    tab.press("End")
    assert "wrong predictions" in tab.text(".bounds")
    tab.page.get_by_label("Learner", exact=True).select_option("batch")
    tab.says(".bounds", "updates on all points at once")
    tab.page.get_by_label("Learner", exact=True).select_option("perceptron")
    tab.says(".bounds", "Novikoff")
    tab.press("m")
    said = tab.says("#widest", "no line through 0 has a margin above")
    tab.press("End")
    assert tab.text("#widest") != said
    below = [float(x) for x in re.findall(r"(?:=|is) ([\d.]+\d)", tab.text("#widest"))]
    assert below[0] >= below[1] > 0


@pytest.mark.thorough
def test_votes_are_counted_in_the_browser(tab):
    tab.open("data=outlier&keep=vote")
    tab.press("End")
    tab.says("#status", "not on their side")
    wrong = int(tab.text("#status").split()[0])
    from linsep.lab.run import arguments_of
    from linsep.lab.scene_sources import ready_made

    scene = ready_made("outlier").with_settings(rounds=2000)
    passes = -(-2000 // len(scene.points))
    assert tab.count("pass") == passes
    model = arguments_of(scene).make(keep="vote", max_iter=passes).fit(scene.X, scene.codes)
    assert abs(int((model.predict(scene.X) != scene.codes).sum()) - wrong) <= 1


@pytest.mark.thorough
def test_clicking_in_weight_space_sets_the_start(tab):
    tab.open("data=four-points&intercept=no")
    box = tab.page.locator(".weights .picture").bounding_box()
    tab.page.mouse.click(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.4)
    start = re.search(r"start=0,([-.\d]+),([-.\d]+)", tab.goes_to("start=0,")).groups()
    shown = tab.text("#weights").replace("−", "-")
    assert json.loads(shown.split("=")[1]) == [0, *map(float, start)]


def test_keyboard_only(tab):
    tab.open("points=0,0,0;4,0,1;0,4,1")
    tab.page.keyboard.press("ArrowRight")
    assert tab.count("round") == 1
    tab.press("ArrowLeft", "m")
    assert tab.count("mistakes") == 1
    tab.press("Space")
    tab.says("#status", "Converged.")
    tab.press("Home")
    assert tab.count("round") == 0
    tab.page.get_by_role("button", name="Add", exact=True).focus()
    tab.press("3", "Enter")
    tab.says("#verdict", "No scores of this kind")
    tab.page.locator(".dot[data-point='3']").focus()
    before = tab.page.evaluate("location.hash")
    tab.press("ArrowUp", "ArrowUp")
    tab.page.wait_for_function(f"location.hash !== {json.dumps(before)}")
    assert tab.page.locator(".dot[data-point='3']").evaluate(
        "node => node.getRootNode().activeElement === node"
    )


@pytest.mark.thorough
def test_everything_has_a_name_for_screen_readers(tab):
    tab.open("data=clouds")
    nameless = tab.page.evaluate(
        """() => {
          const all = [];
          const walk = (root) => root.querySelectorAll('*').forEach((node) => {
            if (node.shadowRoot) walk(node.shadowRoot);
            if (node.matches('button, input, select, textarea, [role=button]')) all.push(node);
          });
          walk(document);
          return all.filter((node) => !(node.ariaLabel || node.textContent.trim()
            || (node.labels && node.labels.length))).map((node) => node.outerHTML);
        }"""
    )
    assert nameless == []
    assert tab.page.get_by_role("button", name="Point 1 at").count() >= 1


@pytest.mark.thorough
def test_phone_width_is_one_column(new_tab):
    tab = new_tab(width=400, height=800, has_touch=True).open()
    wide = tab.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 400
    tab.page.locator("button", has_text="Play").tap()
    tab.page.locator("button", has_text="Pause").tap()
    box = tab.page.locator(".plane .picture").bounding_box()
    assert box["width"] > 340
    tab.page.touchscreen.tap(box["x"] + 60, box["y"] + 200)
    tab.goes_to("#points=")
    assert tab.page.locator(".dot").count() == 6
    tab.page.get_by_role("button", name="To the start").tap()
    grip = tab.page.locator(".handle.tip .grip")
    grip.scroll_into_view_if_needed()
    tip = grip.bounding_box()
    x, y = tip["x"] + tip["width"] / 2, tip["y"] + tip["height"] / 2
    finger = tab.context.new_cdp_session(tab.page)
    for kind, places in (("touchStart", [(x, y)]), ("touchMove", [(x + 30, y - 20)]),
                         ("touchMove", [(x + 60, y - 20)]), ("touchEnd", [])):  # fmt: skip
        points = [{"x": px, "y": py} for px, py in places]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect(tab.page).to_have_url(re.compile(r"start=[-.\d]+,[.\d]+,[.\d]+"))


@pytest.mark.thorough
def test_all_four_lines_are_shown_together(tab):
    tab.open("data=outlier&rounds=300")
    tab.press("End")
    assert not tab.page.locator("line.average").first.is_visible()
    tab.page.get_by_label("all four lines").check()
    for name in ("> line.line", "line.average", "line.best"):
        assert tab.page.locator(f".plane .picture {name}").is_visible()
    said = tab.text("#legend")
    for keep in ("last", "average", "best", "vote"):  # each count is that of its own picture
        tab.page.get_by_label("Weights to predict with").select_option(keep)
        wrong = int(re.search(rf"{keep}: (\d+) wrong", said)[1])
        tab.says("#status", f"{wrong} of 31" if wrong else "all 31")
    assert tab.page.locator("path.kept.vote").get_attribute("d") == ""  # it is the curve itself
    tab.page.get_by_label("Weights to predict with").select_option("last")
    expect(tab.page.locator("path.kept.vote")).to_have_attribute("d", re.compile("^M"))
    tab.open("data=moons&learner=kernel")
    expect(tab.page.get_by_label("all four lines")).to_be_hidden()


@pytest.mark.thorough
def test_initial_weights_are_an_arrow_to_drag(tab):
    tab.open("data=clouds")
    tip = tab.page.locator(".handle.tip")
    box = tip.locator(".grip").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(x + 90, y - 30, steps=6)
    tab.page.mouse.up()
    address = tab.goes_to("start=")
    _, w1, w2 = map(float, re.search(r"start=([^&]+)", address)[1].split(","))
    assert w1 / w2 == pytest.approx(3, rel=0.1)
    assert tab.text("#weights").startswith("[b, w1, w2] = ")
    assert tab.page.locator("line.line").is_visible()
    tip.focus()
    tip.press("ArrowUp")
    tab.page.wait_for_function("before => location.hash.slice(1) !== before", arg=address)
    turned = re.search(r"start=([^&]+)", tab.goes_to("start="))[1].split(",")
    assert float(turned[2]) > w2
    assert tab.page.locator(".dot").count() == 40
    tab.click("Step")
    expect(tip).to_be_hidden()


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(tab, scheme):
    """WCAG AA: 4.5 to 1 for texts, against the color of the card behind them."""
    tab.open("data=outlier").look(1280, 900, scheme)
    low = tab.page.evaluate(
        """() => {
          const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
            .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
            .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
          const behind = (node) => {
            for (let at = node; at; at = at.parentElement || at.getRootNode().host) {
              const color = rgb(getComputedStyle(at).backgroundColor);
              if (color.length < 4 || color[3] === 1) return color;
            }
            return [255, 255, 255];
          };
          const found = [];
          const walk = (root) => root.querySelectorAll('*').forEach((node) => {
            if (node.shadowRoot) walk(node.shadowRoot);
            const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
            if (!own || !node.checkVisibility() || node.disabled || node.closest('svg')) return;
            if (['STYLE', 'SCRIPT', 'OPTION'].includes(node.tagName)) return;
            const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) found.push(`${node.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
          });
          walk(document);
          return found;
        }"""
    )
    assert low == []


def test_the_legend_names_what_is_drawn_at_each_step(tab):
    def legend():
        return [item.inner_text().split(":")[0] for item in tab.page.locator("#key li").all()
                if item.is_visible()]  # fmt: skip

    always = ["blue", "red", "ring", "line", "shade"]
    proved = ["green dotted line", "green edge"]
    tab.open("data=clouds")
    assert legend() == [*always, "green edge"]  # no line yet
    tab.press("ArrowRight")
    assert legend() == [*always, "arrow", *proved]
    tab.press("End")
    assert legend() == [*always, "dashed band", "arrow", *proved]
    tab.page.get_by_label("proof in the plane").click()
    assert legend() == [*always, "dashed band", "arrow"]
    tab.page.get_by_label("proof in the plane").click()
    tab.show_more(False)
    assert legend() == [*always, "dashed band"]
    tab.open("data=outlier&at=60")
    assert legend() == [*always, "arrow", "green edge", "cross"]
    tab.open("data=four-clouds&at=3")
    assert legend() == ["blue", "red", "green", "purple", "ring", "line", "shade"]


def test_words_on_verdicts_and_weight_space(tab):
    tab.open("data=four-points&intercept=no")
    tab.says(".weights .status", "Green: weights that classify every point correctly. Click")
    tab.says(".proof h2:first-child", "Can a line separate the classes?")
    tab.says(".bounds", "Novikoff")
    tab.open("data=first-steps")
    tab.press("End")
    tab.says(".weights .status", "Green: weights that classify every point correctly at b = 2.")
    tab.press("Home")
    tab.says(".weights .status", "correctly at b = 0.")
    tab.open("points=0,0,0;1,0,1;2,0,0;0,3,2")  # a point between others of its line
    tab.says(".proof h2:first-child", "Can the classes be separated?")
    assert "\u2248" not in tab.text("#verdict")
    tab.says("#verdict", "nearly separable")
