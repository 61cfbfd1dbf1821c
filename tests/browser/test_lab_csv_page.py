"""Points of one's own in the lab: files and pasted text, how they are read, and back again."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_file_with_decimal_commas_in_any_encoding(tab, own, encoding):
    own("Länge;Höhe;Art\n1,5;2,25;Käfer\n-3;4;Öl\n".encode(encoding), f"{encoding}.csv")
    tab.says("#columns", "decimal comma")
    tab.goes_to("points=1.5,2.25,0;-3,4,1")
    assert tab.text(".chips").split("\n")[:2] == ["Käfer", "Öl"]
    tab.says(".plane .grid", "Länge")
    said = tab.text("#columns")
    assert ("encoding" in said) == (encoding not in ("utf-8", "utf-8-sig"))
    assert tab.text("#fault") == ""


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


def test_ten_classes_have_ten_marks_and_digits(tab, own):
    rows = (f"{k % 5},{k // 5},kind {k}\n" for k in range(10))
    own("x,y,kind\n" + "".join(rows))
    tab.goes_to("labels=kind")
    marks = tab.page.locator(".dot .mark").evaluate_all(
        "nodes => nodes.map((node) => [node.getAttribute('d'), getComputedStyle(node).fill])"
    )
    assert len(marks) == len({d for d, _ in marks}) == len({fill for _, fill in marks}) == 10
    assert tab.page.locator("#key li").count() == 13
    tab.press("0")
    chip = tab.page.locator(".chip[aria-pressed=true]")
    assert chip.inner_text() == "kind 9"
    own("x,y,kind\n" + "".join(f"{k},{k},kind {k}\n" for k in range(11)))
    tab.says(
        "#fault", "Column 'kind' has 11 different values in 11 rows, and the lab shows at most 10"
    )


def test_a_large_file_is_refused_with_its_size(tab, own):
    own("x,y,kind\n" + "1,2,a\n" * 200_000)
    tab.says("#fault", "own.csv has 1,200,009 bytes, and this page reads at most 1,000,000")


def test_how_a_text_is_read_can_be_told(tab, own):
    tab.page.get_by_label("Points as CSV").fill("2019,2020,kind\n1,2,a\n3,4,b\n")
    tab.click("Use")
    tab.says("#columns", "line 1 as a point")
    tab.page.get_by_label("First line").select_option("yes")
    tab.goes_to("features=2019,2020")
    expect(tab.page.locator(".dot")).to_have_count(2)


def test_points_that_are_saved_are_loaded_as_they_were(tab, own, tmp_path):
    points = "points=0.1,0.30000000000000004,0;-1e-7,123456.789,1;2.5,-0.000123456789012345,2"
    tab.open(points)
    tab.page.get_by_text("Your own points", exact=True).click()
    with tab.page.expect_download() as caught:
        tab.click("Points")
    text = caught.value.path().read_text()
    assert text.startswith("x1,x2,class\n0.1,0.30000000000000004,A\n")
    tab.open("data=xor")
    tab.page.get_by_text("Your own points", exact=True).click()
    tab.page.get_by_label("Scale", exact=True).select_option("none")
    own(text)
    address = tab.goes_to("points=0.1")
    assert address.split("&")[0] == "points=0.1,0.30000000000000004,0;-1e-07,123456.789,1;" + (
        "2.5,-0.000123456789012345,2"
    )


def test_columns_of_different_units_are_seen_and_said(tab, own):
    rows = (f"{1.5 + k % 9 / 20},{50 + k},{'ab'[k > 20]}\n" for k in range(40))
    own("height,weight,kind\n" + "".join(rows))
    tab.says("#columns", "Both coordinates are standardized, since their standard deviations")
    tab.goes_to("features=height%20%28scaled%29")
    places = [tab.point(number) for number in range(1, 41)]
    xs, ys = ({round(place[axis]) for place in places} for axis in (0, 1))
    assert max(xs) - min(xs) > 100 < max(ys) - min(ys)
    tab.page.get_by_label("Scale", exact=True).select_option("none")
    tab.goes_to("points=1.5,50,0;")
    expect(tab.page.locator("#columns")).not_to_contain_text("standardized")


def test_notes_of_a_file_go_with_its_points(tab, own):
    own("x;y;kind\n1;2;a\n3;4;b\n")
    tab.says("#columns", "Read with: semicolon between columns.")
    own("a,b\n1,2\n", "other.csv")
    tab.says("#fault", "other.csv has 2 columns, and every row needs two coordinates and a class")
    expect(tab.page.locator("#columns")).to_be_empty()
