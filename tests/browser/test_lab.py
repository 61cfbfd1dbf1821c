"""The lab in a real browser: runs, points, lessons, and what goes in and out of its page."""

import json

import numpy as np
import pytest
from playwright.sync_api import expect

from lab_engine import opened, run_as_in_python, scene_urls
from linsep.lab.file import lab_file
from linsep.teaching.textbook.schemes import SCHEMES

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


#: what is hidden until More is pressed
MORE = [
    ".controls", ".proof.card", ".weights", ".table", ".sharing", ".clock", ".tools", "#equation",
    ".widest", ".handle.tip",
]  # fmt: skip


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


@pytest.mark.parametrize(
    ("address", "steps", "said"),
    [
        ("data=five-points&start=-1,0,0&rate=0.5", 2, "w += rate y x, so [b, w1, w2] = [−1, 0, 0] "
         "+ [0.5, 1.5, 1] = [−0.5, 1.5, 1]."),
        ("data=moons&learner=kernel&width=2", 1, "Point 1 was on no side (its score was 0): its "
         "kernel is"),
        ("data=four-clouds&classes=ovo", 1, "Point 1 was on no side: the weights of B vs A, C vs A,"
         " D vs A change."),
        ("points=-1,0,0;2,0.5,1;0,1.5,1;0.3,-1,0&learner=margin&gamma=0.62", 4, "(margin 0.105, "
         "needed 0.31)"),
    ],
)  # fmt: skip
def test_sentences_of_other_learners(tab, address, steps, said):
    tab.open(address)
    tab.press(*steps * ["ArrowRight"])
    assert said in tab.text("#story").replace("\xa0", " ")


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
    dot = tab.page.locator(".dot[data-point='3']")
    dot.focus()
    before = tab.page.evaluate("location.hash")
    tab.press("ArrowUp", "ArrowUp")
    tab.page.wait_for_function(f"location.hash !== {json.dumps(before)}")
    expect(dot).to_be_focused()
    tab.press(*12 * ["Shift+ArrowRight"])
    expect(dot).to_be_in_viewport()  # the plane shows all points


def test_everything_has_a_name_for_screen_readers(tab):
    tab.open("data=clouds")
    nameless = tab.page.evaluate(
        """() => {
          const kinds = "button, input, select, textarea, [role=button]";
          return [...document.querySelectorAll(kinds)].filter((node) => !(node.ariaLabel
            || node.textContent.trim() || node.labels?.length)).map((node) => node.outerHTML);
        }"""
    )
    assert nameless == []
    assert tab.page.get_by_role("button", name="Point 1 at").count() >= 1


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
            for (let at = node; at; at = at.parentElement) {
              const color = rgb(getComputedStyle(at).backgroundColor);
              if (color.length < 4 || color[3] === 1) return color;
            }
            return [255, 255, 255];
          };
          const found = [];
          document.querySelectorAll('*').forEach((node) => {
            const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
            if (!own || !node.checkVisibility() || node.disabled || node.closest('svg')) return;
            if (['STYLE', 'SCRIPT', 'OPTION'].includes(node.tagName)) return;
            const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) found.push(`${node.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
          });
          return found;
        }"""
    )
    assert low == []


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
    "data=five-points&start=-1,0,0&rounds=200",
    "data=xor&intercept=no",
    "data=outlier&rounds=100&keep=average",
    "data=outlier&rounds=100&keep=vote",
    "data=moons&learner=kernel&width=2",
    "data=four-clouds",
    "data=four-clouds&classes=ovr",
    "data=four-clouds&classes=ovo&keep=vote",
    "data=four-clouds&learner=margin&rounds=100",
]


@pytest.mark.parametrize("address", SCENES)
def test_rings_counts_and_shades_agree_at_every_step(tab, address):
    tab.open(address)
    scene = opened(address)[0]["scene"]
    codes, n = [point[2] for point in scene["points"]], len(scene["points"])
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
        if seen["at"] == 0 and not any(scene["settings"]["start"]):
            assert all(seen["wrong"])  # a score of zero is on no side, and white
            assert all(around[0] == [] for around in seen["under"])
    assert compared > skipped


@pytest.mark.parametrize("address", [a for a in SCENES if "keep" not in a and "kernel" not in a])
def test_rings_are_the_points_that_the_library_would_put_elsewhere(tab, address):
    """Computed by the textbook from the weights of every step."""
    tab.open(address)
    (shown,) = opened(address)
    run, points = shown["run"], np.array(shown["scene"]["points"])
    k = max(1, len(run["vectors"]))
    present = run["present"]
    weights = np.array(run["weights"]).reshape(-1, k, 3)
    schemes = [SCHEMES[run["scheme"]](len(present), tie) for tie in ("negative", "positive")]
    places = list(range(min(run["rounds"], 100) + 1))
    for seen in tab.page.locator(".lab").evaluate(WALK, places):
        at = seen["at"]
        scores = np.column_stack([np.ones(len(points)), points[:, :2]]) @ weights[at].T
        for j, s in enumerate(scores.tolist()):
            sides = {scheme.predict(s[0] if k == 1 else s) for scheme in schemes}
            assert seen["wrong"][j] == (sides != {present.index(int(points[j, 2]))}), (at, j)
        if at and k == 1:
            row = run["row"][at - 1]
            mistake = bool(run["mistakes"][at - 1])
            assert seen["story"].startswith(f"Point {row + 1} was ")
            assert ("was classified correctly" in seen["story"]) != mistake


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


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("step", ["perceptron&step=5", "support-vectors&step=4"])
def test_choices_of_a_question_stand_beside_their_buttons(tab, width, step):
    tab.look(width, 900, "light")
    tab.visit(f"?lesson={step}")
    for radio in tab.page.get_by_role("radio").all():
        box, around = radio.bounding_box(), radio.locator("..").bounding_box()
        assert 12 <= box["width"] <= 24
        assert box["x"] - around["x"] < 4
        assert around["x"] + around["width"] <= width


def test_an_answer_is_judged_on_the_first_screen(tab):
    tab.visit("?lesson=perceptron&step=2")
    for given, said in [("0, 3, 1", "third number, 1,"), ("0, 3, 2", "Right.")]:
        tab.page.get_by_label("Your answer").fill(given)
        tab.click("Answer")
        expect(tab.page.locator(".judged")).to_be_visible()
        tab.says(".judged", said)
    tab.click("Back")
    for given, said in [("-1", "1 to 5"), ("2, 3", "1 more"), ("4, 2 and 3", "Right.")]:
        tab.page.get_by_label("Your answer").fill(given)
        tab.click("Answer")
        tab.says(".judged", said)


@pytest.mark.parametrize("also", ["", "; script-src 'nonce-x'"])
def test_a_site_that_forbids_workers(browser, tmp_path, also):
    """The engine runs in the page; where that is forbidden as well the page says so."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="worker-src \'none\'{also}">'
    text = lab_file().replace("<head>", "<head>" + policy)
    (tmp_path / "lab.html").write_text(
        text.replace("\n<script>\n", '\n<script nonce="x">\n'), "utf-8"
    )
    page = browser.new_page()
    page.goto((tmp_path / "lab.html").as_uri())
    expect(page.locator(".dot")).to_have_count(0 if also else 5)
    expect(page.locator("#fault")).to_be_visible(visible=bool(also))
    page.close()


TRIANGLE = "points=0,0,0;4,0,1;0,4,1"


def test_generated_points_follow_their_sliders_and_the_loss_follows_the_steps(tab):
    tab.open(TRIANGLE)
    tab.press("ArrowRight", "ArrowRight")
    tab.says(".loss figcaption", "mistakes after step 2: 2")
    tab.says("#key", "thin arrow: update")
    tab.page.get_by_text("Generated points", exact=True).click()
    tab.page.get_by_label("Noise").fill("1.1")
    expect(tab.page.locator(".dot")).to_have_count(60)
    tab.click("Undo")
    tab.goes_to(TRIANGLE)


def test_the_back_button_returns_to_the_last_scene(tab):
    tab.open(TRIANGLE)
    tab.page.get_by_label("Points", exact=True).select_option("xor")
    tab.says("#verdict", "No line through 0")
    tab.page.get_by_label("Intercept").check()
    tab.says("#verdict", "No line separates")
    tab.page.go_back()
    tab.says("#verdict", "No line through 0")
    tab.page.go_back()
    tab.says("#verdict", "A line separates")
    assert tab.page.locator(".dot").count() == 3
    tab.page.go_forward()
    assert tab.says("#verdict", "No line through 0")


def test_the_address_shared_into_a_second_tab(tab, new_tab):
    tab.open("data=outlier&keep=average")
    tab.page.get_by_label("Step number", exact=True).fill("77")
    other = new_tab()
    other.page.add_init_script("""window.ResizeObserver = class extends ResizeObserver {
      constructor(told) { super(() => setTimeout(told, 2000)); }
    }""")  # sizes may be known after the proof
    other.open(tab.goes_to("at=77"))
    assert other.count("round") == 77
    expect(other.page.locator("#equation")).to_have_text(tab.text("#equation"))
    assert other.page.get_by_label("Weights to predict with").input_value() == "average"
    other.page.reload()
    other.ready()
    assert other.count("round") == 77
    other.page.get_by_label("Learning rate").fill("0.5")  # and neither disturbs the other
    other.press("Enter")
    other.goes_to("rate=0.5")
    tab.click("Step")
    assert (tab.count("round"), other.count("round")) == (78, 0)
    assert "rate" not in tab.goes_to("at=78")


@pytest.mark.parametrize(
    "address", ["points=1,2", "spam=%F0%9F", "data=../../etc/passwd", "learner=<script>alert(1)"]
)
def test_a_damaged_address_leaves_the_page_usable(tab, address):
    tab.open(address)
    tab.says("#fault", "This URL cannot be shown.")
    tab.click("Step")
    assert tab.count("round") == 1


def saved(tab, button):
    with tab.page.expect_download() as caught:
        tab.click(button)
    return caught.value.path().read_bytes()


def test_pictures_and_tables_to_take_home(tab):
    tab.open("data=five-points&start=-1,0,0")
    tab.press("End")
    svg = saved(tab, "SVG").decode()
    assert svg.startswith("<svg")
    assert svg.count("data-point") == 5
    assert "12 x1 + 2 x2 − 31 = 0" in svg
    assert "Converged." in svg
    assert saved(tab, "PNG").startswith(b"\x89PNG")
    assert saved(tab, "CSV").decode().splitlines()[-1].endswith("-31,12,2")
    assert saved(tab, "Markdown").decode().startswith("| step |")
    assert saved(tab, "LaTeX").decode().startswith("\\begin{tabular}")


def test_the_python_script_prints_the_numbers_of_the_page(tab):
    tab.open("data=five-points&start=-1,0,0")
    tab.click("Python")
    tab.page.get_by_role("dialog").wait_for()
    script = tab.page.get_by_role("textbox", name="Python script").input_value()
    said = []
    exec(compile(script, "lab.py", "exec"), {"print": lambda *parts: said.append(parts)})
    assert said[1] == (446, ((-31.0, 12.0, 2.0),))


def test_the_saved_file_begins_with_its_setup(tab, new_tab, tmp_path):
    tab.open("data=outlier&rounds=400")
    file = tmp_path / "run.html"
    file.write_bytes(saved(tab, "HTML"))
    other = new_tab(offline=True)
    other.page.goto(file.as_uri())
    other.page.wait_for_selector(".lab.begun[data-proved]")
    assert "No line separates" in other.show_more().says("#verdict", "No line separates")
    other.press("End")
    assert other.count("round") == 400
    other.page.get_by_label("Learning rate").fill("0.5")
    other.press("Enter")
    other.goes_to("rate=0.5")


@pytest.fixture
def own(tab, tmp_path):
    """A function that gives the page a file of these bytes."""

    def given(content, name="own.csv"):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        tab.page.get_by_label("CSV file").set_input_files(file)

    tab.open()
    tab.page.get_by_text("Your own points", exact=True).click()
    return given


def test_a_fault_names_line_and_column_and_leaves_the_points(tab, own):
    before = tab.goes_to("data=")
    own("x,y,kind\n1,2,a\n3,,b\n5,oops,a\n6,7,a\n8,9,a\n")
    tab.says("#fault", "own.csv line 4, column 'y' holds 'oops', not a number: correct it.")
    assert tab.goes_to("data=") == before
    own("x,y,kind\n1,2,a\n3,,b\n5,6,a\n")
    tab.says("#columns", "Left out for missing values: 1 row.")
    tab.goes_to("points=1,2,0;5,6,0")
    assert tab.text("#fault") == ""
    tab.page.get_by_label("Scale", exact=True).select_option("standard")
    tab.goes_to("points=-1,-1,0;1,1,0")


#: what the engine of the page answers, as text: all digits of its numbers
ENGINE = """(urls) => {
  const [code, file] = ["engine", "file"].map((id) => document.getElementById(id).textContent);
  const answer = new Function(`${code}; return answer;`)();
  answer({ kind: "file", file: JSON.parse(file) });
  return urls.map((url) => JSON.stringify(answer({ kind: "open", url })));
}"""


def test_chromium_computes_what_the_library_does(tab):
    urls = scene_urls(300, seed=1)
    run_as_in_python(urls, map(json.loads, tab.page.evaluate(ENGINE, urls)))
