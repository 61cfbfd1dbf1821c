"""``linsep lab``: the file that it writes, and what it refuses."""

import json
import re

import numpy as np
import pytest

import linsep
from command_line import assert_refused, here
from lab_engine import opened
from linsep import Perceptron, datasets, trace
from linsep.errors import DataError
from linsep.lab import lesson_of_code
from linsep.lab.points import address_of_file, settings_of
from refusals import refused


def held(page):
    """What a file brings: its first scene, ready-made points, lessons."""
    return json.loads(re.search(r'id="file">(.*?)</script>', page, re.S)[1])


def first(folder, name="a.html"):
    """The scene that a file begins with."""
    (shown,) = opened(held((folder / name).read_text("utf-8"))["first"])
    assert "fault" not in shown
    return shown["scene"]


def test_the_lab_is_one_small_file_that_asks_for_nothing(tmp_path):
    done = here("lab", "--scene", "xor", "--output", "a.html", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "lab      a.html\n")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert len(page.encode()) < 600_000
    addresses = re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s\"']*", page)
    assert [a for a in addresses if "www.w3.org" not in a] == []
    assert not re.search(r"^(import|export) ", page, re.M)
    assert (first(tmp_path)["name"], first(tmp_path)["settings"]["intercept"]) == ("xor", False)
    assert_refused("lab", "--output", "a.html", cwd=tmp_path, code="file-exists")
    scene = "points=0,0,0;1,1,1&rate=0.5"
    here("lab", "--scene", scene, "--output", "a.html", "--force", cwd=tmp_path)
    assert first(tmp_path)["settings"]["rate"] == 0.5


def test_names_cannot_end_the_script(tmp_path):
    (tmp_path / "own.md").write_text("# </script><b>\n\n## S\n[s](#data=xor)\n\n> </script>\n")
    here("lab", "own.md", "--output", "a.html", cwd=tmp_path)
    page = (tmp_path / "a.html").read_text("utf-8")
    assert page.count("</script>") == 3
    assert "</script><b>" in held(page)["lessons"]["own"]


@pytest.mark.parametrize(
    "arguments", [["--scene", "nothing"], ["--scene", "spam=1"], ["--decimal", ","]]
)
def test_what_is_refused(tmp_path, arguments):
    assert_refused("lab", *arguments, "--output", "a.html", cwd=tmp_path, exit_code=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "no-file"), (b"\xff\xfe", "encoding"), (b"words", "bad-scene"),
     (b"# T\n## S\nwords\n", "bad-scene"), (b"# T\n## S\n[s](#data=no)\n", "bad-scene")],
)  # fmt: skip
def test_a_lesson_that_cannot_be_shown(tmp_path, content, code):
    if content is not None:
        (tmp_path / "own.md").write_bytes(content)
    assert_refused("lab", "own.md", "--output", "a.html", cwd=tmp_path, code=code)


def test_the_code_of_a_lesson_is_checked(tmp_path):
    done = here("lab", "--check", "perceptron/Ada/7/8-3ee86e", cwd=tmp_path)
    assert done.stdout == "lesson   perceptron, Ada: 7 of 8 answers right at the first try\n"
    for code in ("perceptron/Ada/8/8-3ee86e", "words", "perceptron/Ada/7/8"):
        with refused(DataError, "bad-value"):
            lesson_of_code(code)


PRICES = "day;area;price;sold\n" + "".join(
    f"2024-01-{k:02};{k},5;{k % 4},25 €;{'yes' if k % 3 else 'no'}\n" for k in range(1, 31)
)
HOW = ("--delimiter", ";", "--target", "sold", "--decimal", ",", "--units", "--exclude", "day")


def test_the_rows_of_a_file_are_a_scene(tmp_path):
    (tmp_path / "prices.csv").write_text(PRICES)
    done = here("lab", "prices.csv", *HOW, "--output", "a.html", cwd=tmp_path)
    assert done.returncode == 0
    assert "area 8.66, price 1.09" in done.stderr
    assert first(tmp_path)["features"] == ["area (scaled)", "price (scaled)"]
    kept = ("--scale", "none", "--output", "a.html", "--force")
    done = here("lab", "prices.csv", *HOW, *kept, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    scene = first(tmp_path)
    source = linsep.open_source(
        tmp_path / "prices.csv", delimiter=";", target="sold", decimal=",", units=True,
        exclude="day",
    )  # fmt: skip
    (batch,) = source.batches()
    assert [point[:2] for point in scene["points"]] == batch.X.tolist()
    assert (scene["labels"], scene["features"]) == (["no", "yes"], ["area", "price"])
    assert [scene["labels"][code] for *_, code in scene["points"]] == batch.y.tolist()
    (tmp_path / "rows.svm").write_text("1 1:2 3:4\n-1 2:1\n")
    (shown,) = opened(address_of_file(tmp_path / "rows.svm"))
    assert shown["scene"]["points"] == [[2, 0, 1], [0, 1, 0]]
    assert shown["scene"]["features"] == ["x1", "x2"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["prices.csv", *HOW[:4], "--exclude", "day"], 1),
        (["prices.csv", *HOW, "--exclude", "area"], 1),
        (["prices.csv", *HOW, "--scene", "xor"], 2),
        (["gone.csv", "--target", "y"], 1),
    ],
)  # fmt: skip
def test_files_that_are_no_scene(tmp_path, arguments, code):
    (tmp_path / "prices.csv").write_text(PRICES)
    assert_refused("lab", *arguments, "--output", "a.html", cwd=tmp_path, exit_code=code)


def test_a_fault_of_a_file_has_a_code(tmp_path):
    eleven = "x,y,k\n" + "".join(f"{k},2,c{k}\n" for k in range(11))
    for text, code in ((eleven, "class-count"), ("x,y,k\n1,2,a\n3e6,4,b\n", "out-of-range"),
                       ("x,y,k\n1,2,a\n3,4\n", "field-count")):  # fmt: skip
        (tmp_path / "f.csv").write_text(text)
        how = ("f.csv", "--target", "k", "--scale", "none", "--output", "a.html")
        assert_refused("lab", *how, cwd=tmp_path, code=code, exit_code=1)


def test_rows_that_are_not_shown_are_said(tmp_path):
    (tmp_path / "many.csv").write_text("x,y,kind\n" + "0.1,-2,a\n,3,b\n1,2,c\n" * 400)
    how = ("many.csv", "--target", "kind", "--output", "a.html", "--force")
    assert_refused("lab", *how, cwd=tmp_path, code="missing-value")
    done = here("lab", *how, "--missing", "drop", cwd=tmp_path)
    assert done.returncode == 0
    assert "first 500 rows" in done.stderr
    assert "left out" in done.stderr
    assert len(first(tmp_path)["points"]) == 500


def test_a_model_and_its_rows_are_a_scene(tmp_path):
    rows = "x,y,k\n" + "".join(f"{k % 5},{k % 3},{'ab'[k % 5 > 2]}\n" for k in range(30))
    (tmp_path / "t.csv").write_text(rows)
    how = ("--target", "k", "--learning-rate", "0.5", "--model", "m.linsep")
    done = here("fit", "t.csv", *how, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    here("lab", "m.linsep", "t.csv", "--target", "k", "--output", "a.html", cwd=tmp_path)
    scene = first(tmp_path)
    assert (scene["settings"]["learner"], scene["settings"]["rate"]) == ("perceptron", 0.5)
    assert len(scene["points"]) == 30
    with refused(DataError, "unsupported"):
        settings_of(linsep.SCW())
    with refused(DataError, "unsupported", option="tie"):
        settings_of(Perceptron(tie="positive"))


def test_a_trace_becomes_a_page_with_the_same_run():
    d = datasets.load_five_points(as_frame=True)
    t = trace(
        Perceptron(shuffle=False), d.data, d.target, coef_init=[0, 0], intercept_init=-1,
        max_rounds=2000,
    )  # fmt: skip
    (shown,) = opened(held(t.to_html(interactive=True))["first"])
    wanted = np.array([t.start, *(row.weights for row in t)], dtype=float).ravel()
    assert shown["run"]["weights"] == wanted.tolist()
    assert shown["scene"]["features"] == ["x1", "x2"]
    assert t.to_html().startswith("<table>")
    students = datasets.load_students()
    with refused(DataError, "unsupported"):
        trace(Perceptron(), students.data, students.target).to_html(interactive=True)
    many = trace(Perceptron(max_iter=1), [[k, 1] for k in range(501)], [k % 2 for k in range(501)])
    with refused(DataError, "too-large"):
        many.to_html(interactive=True)
    with refused(DataError, "unsupported"):
        trace(Perceptron(learning_rate=lambda k: 1 / k), d.data, d.target).to_html(interactive=True)
