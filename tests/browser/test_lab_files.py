"""What goes into the lab's page and comes out of it: addresses, points, pictures, scripts."""

import re

import pytest

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


TRIANGLE = "points=0,0,0;4,0,1;0,4,1"


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
    other = new_tab().open(tab.goes_to("at=77"))
    assert other.count("round") == 77
    assert other.text("#equation") == tab.text("#equation")
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
    said = tab.text("#fault")
    assert said.startswith("This URL cannot be shown.")
    assert len(said) < 250
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
    assert "converged" in saved(tab, "Markdown").decode()
    assert saved(tab, "LaTeX").decode().startswith("\\begin{tabular}")


def test_the_python_script_prints_the_numbers_of_the_page(tab):
    tab.open("data=five-points&start=-1,0,0")
    tab.click("Python")
    tab.page.get_by_role("dialog").wait_for()
    script = tab.page.get_by_role("textbox", name="Python script").input_value()
    said = []
    exec(compile(script, "lab.py", "exec"), {"print": lambda *parts: said.append(parts)})
    assert said[1] == (446, ((-31.0, 12.0, 2.0),))


def test_the_html_file_works_with_the_network_off(tab, new_tab, tmp_path):
    tab.open("data=outlier&rounds=400")
    file = tmp_path / "run.html"
    file.write_bytes(saved(tab, "HTML"))
    other = new_tab(offline=True)
    other.page.goto(file.as_uri())
    other.page.wait_for_selector(".lab.begun")
    assert "No line separates" in other.show_more().text("#verdict")
    other.press("End")
    assert other.count("round") == 400
    assert other.text("tr.now").split()[0] == "400"
    other.click("Step back")
    assert other.count("round") == 399
    assert other.page.get_by_role("button", name="Copy link").count() == 0


@pytest.fixture
def own(tab, tmp_path):
    """A function that gives the page a file of these bytes."""

    def given(content, name="own.csv"):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        tab.page.get_by_label("CSV file").set_input_files(file)

    tab.open()
    tab.page.get_by_text("Your own points", exact=True).click()
    tab.page.get_by_text("Reading options", exact=True).click()
    return given


def test_a_fault_names_line_and_column_and_leaves_the_points(tab, own):
    before = tab.goes_to("data=")
    own("x,y,kind\n1,2,a\n3,,b\n5,oops,a\n6,7,a\n8,9,a\n")
    tab.says("#fault", "own.csv line 4, column 'y' holds 'oops', not a number: correct it.")
    own("x,y,kind\n1,2,a\n3,,b\n5,6,a\n")
    tab.says("#fault", "own.csv line 3, column 'y' has no value: fill it in or leave out such rows")
    assert tab.goes_to("data=") == before
    tab.page.get_by_label("Missing values").select_option("drop")
    tab.says("#columns", "1 row has a missing value and is left out.")
    tab.goes_to("points=1,2,0;5,6,0")
    assert tab.text("#fault") == ""


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("data=moons&learner=kernel&width=2&at=20", "curve: score 0"),
        ("data=four-clouds&classes=ovo&at=25", "line: boundary of classes"),
        ("data=outlier&keep=vote&rounds=100&at=50", "curve: score 0"),
    ],
)
def test_pictures_are_light_and_have_curves_a_legend_and_a_caption(tab, address, what):
    tab.look(1280, 900, "dark")
    tab.open(address)
    svg = saved(tab, "SVG").decode()
    assert svg.split(">")[1] == '<rect width="100%" height="100%" fill="rgb(255, 255, 255)"/'
    assert "data:image" not in svg  # areas and boundaries are paths
    curve = re.search(r'class="line curve-between"[^>]* d="([^"]+)"', svg) or re.search(
        r'd="([^"]+)"[^>]* class="line curve-between"', svg
    )
    assert curve[1].count("L") > 20
    for said in (what, "blue: class", "ring: not on its side (", "points not on their side"):
        assert said in svg
    assert "rgb(0, 103, 165)" in svg  # blue on white, not that of a dark page
    assert "var(" not in svg
    assert "light" not in tab.page.locator(".lab").get_attribute("class").split()
