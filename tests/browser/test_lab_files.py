"""What goes into the lab's page and comes out of it: addresses, points, pictures, scripts."""

import pytest
from playwright.sync_api import expect

from mutated_addresses import mutated_addresses

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


def test_mutated_addresses_leave_the_page_usable(tab):
    """A thousand go to the function behind the page; some go through the browser itself."""
    faults = 0
    for address in mutated_addresses(25, seed=18):
        tab.open(address)
        said = tab.text("#fault")
        faults += bool(said)
        assert said == "" or (said.startswith("This URL cannot") and said.endswith("."))
        assert len(said) < 250
        assert tab.page.locator(".plane .picture").is_visible()
    assert 10 < faults < 25
    tab.press("End")
    assert tab.count("round") > 0
    tab.page.get_by_label("Points", exact=True).select_option("xor")
    assert tab.says("#verdict", "No line through 0")


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


def test_pasted_points(tab):
    tab.open()
    tab.page.get_by_text("Your own points", exact=True).click()
    tab.page.get_by_label("Points as CSV").fill("len,wid,kind\n1,2,old\n2,1,old\n5,6,new\n")
    tab.click("Use")
    tab.goes_to("labels=new,old")
    assert tab.page.locator(".dot").count() == 3
    tab.page.get_by_label("Points as CSV").fill("1,2\n")
    tab.click("Use")
    assert tab.says(
        "#fault", "The text has 2 columns, and every row needs two coordinates and a class"
    )


def test_columns_of_a_csv_file_are_chosen_or_projected(tab, tmp_path):
    tab.open()
    tab.page.get_by_text("Your own points", exact=True).click()
    tab.page.get_by_text("Reading options", exact=True).click()
    tab.page.get_by_label("Scale", exact=True).select_option("none")
    file = tmp_path / "points.csv"
    rows = (f"{k},{k % 7},{k * k % 11},{k % 2}\n" for k in range(600))
    file.write_text("a,b,c,kind\n" + "".join(rows))
    tab.page.get_by_label("CSV file").set_input_files(file)
    tab.says("#columns", "The first 500 of 600 rows are shown.")
    assert "features=a,b" in tab.goes_to("points=")
    tab.page.get_by_label("Vertical", exact=True).select_option("c")
    assert "features=a,c" in tab.goes_to("features=a,c")
    tab.page.get_by_label("Horizontal", exact=True).select_option("projected")
    tab.says(".plane .grid", "component 1 (")
    expect(tab.page.get_by_label("Vertical", exact=True)).to_be_hidden()
    assert tab.says("#status", "of 500 points")
    tab.page.get_by_label("Class", exact=True).select_option("a")
    tab.says("#fault", "Column 'a' has 500 different values in 500 rows")
    assert tab.page.get_by_label("Class", exact=True).input_value() == "3"  # as it was
