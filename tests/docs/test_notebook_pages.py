"""Notebooks: students get those of solutions/ without the solutions; all print what they show."""

import json
import re
import runpy
import warnings

import numpy as np
import pytest

from documents import ROOT
from linsep.teaching import WrongAnswer

NOTEBOOKS = ROOT / "docs" / "notebooks"
make = runpy.run_path(str(NOTEBOOKS / "make.py"), run_name="make")
SOLUTIONS = make["solutions"]()
EVERY = SOLUTIONS + [make["students_path"](path) for path in SOLUTIONS]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
#: the name of an answer, in a cell with its solution
NAME = re.compile(r"^(?:def )?(\w+)(?:\(| = .*\.\.\.)", re.M)
#: bytes of a picture in base64
MOST_OF_PICTURE = 40_000 * 4 // 3
#: right and wrong answers of exercises, by notebook and number, as students may give them
ANSWERS = {
    "1-perceptron-and-kernels": {
        1: ([lambda w, x, y: w + (y * (w @ x) <= 0) * y * x],
            [lambda w, x, y: w + (y * (w @ x) < 0) * y * x, lambda w, x, y: w + y * x]),
        3: ([1.05, 3.162 / 3], [1.89, 0.79]),
        4: ([lambda x: [*x, 2 * np.prod(x)]], [lambda x: [*x, 1 if x[0] == x[1] else -1]]),
        5: ([], [lambda x, z: 1 + np.dot(x, z) ** 2]),
        6: ([], [lambda s, t, p: sum(t.count(s[i : i + p]) for i in range(len(s) - p + 1))]),
    },
    "2-mistakes-and-margins": {
        1: ([], [lambda w, X, y: np.min(y * (X @ w)) / np.linalg.norm(w)]),
        2: ([0.2], [0.198, 25, -0.2]),
        3: ([], [lambda w, X, y: np.maximum(0, 1 - y * (X @ w)).mean()]),
        4: ([0.105, 0.1049], [0.101, (0.1049, 0.1049), np.array([0.1049, 0.1049])]),
    },
    "3-updates-and-classes": {
        2: ([[(3, -2), (2, 4)], np.array([[2, 4], [3, -2]])], [[(2, 4)], (2, 4)]),
        4: ([[-47, 20, 2]], [[-31, 12, 2], [1, 2]]),
    },
    "4-linear-models": {
        2: ([0.949], [0.971]),
        3: (["Normality"], ["linearity"]),
        5: ([0.015], [0.04, 0.001, 0]),
    },
    "5-passes-and-classes": {4: ([[2.75, -1.25]], [[1, -3], 2.75])},
    "images": {3: ([-7550], [7550, -7000])},
    "medicine": {3: ([4.77, np.exp(2.604 * 0.6)], [0.21, 13.5]), 4: ([62], [60, 60.5])},
    "rare-classes": {2: ([0.0909, 0.091], [0.1, 0.11])},
    "text": {2: ([0.929], [0.931, 0.0712])},
}  # fmt: skip
#: wrong and missing answers to every exercise
NEVER = ("dots", {}, [1, 2, 3, 4, 5, 6, 7], object(), ..., None, lambda *_: None)


def named(path):
    return f"{path.parent.name}/{path.stem}"


every = pytest.mark.parametrize("path", EVERY, ids=named)


def code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def source(cell):
    return make["text_of"](cell["source"])


def part(cell):
    """What a cell is to nbgrader: the "solution" or the "grade" of an exercise; else None."""
    mark = cell["metadata"].get("nbgrader", {})
    return next((kind for kind in ("solution", "grade") if mark.get(kind)), None)


def printed(notebook):
    """The text and the error of every cell."""
    return [
        "".join(
            make["text_of"](output.get("text", output.get("evalue", "")))
            for output in cell["outputs"]
        )
        for cell in code(notebook)
    ]


def sources(notebook):
    return [(c["id"], c["cell_type"], c["metadata"], c["source"]) for c in notebook["cells"]]


def test_students_get_the_notebook_without_the_solutions():
    found = [*NOTEBOOKS.glob("lectures/*.ipynb"), *NOTEBOOKS.glob("cases/*.ipynb")]
    assert {*EVERY} == {*found, *SOLUTIONS}
    assert len(found) == 9
    for path in SOLUTIONS:
        solved, given = make["read"](path), make["read"](make["students_path"](path))
        assert sources(given) == sources(make["without_solutions"](solved)), "run make.py"
        assert not any(mark in json.dumps(given) for mark in [*make["MARKERS"], "/solutions/"])
        for right, missing in zip(code(solved), code(given), strict=True):
            if part(right) == "grade":
                assert {*"".join(right["outputs"][0]["text"]).split()} == {"right"}
                assert missing["outputs"][-1]["ename"] == "WrongAnswer"
        title = source(solved["cells"][0]).split("\n")[0]
        assert source(given["cells"][0]).startswith(title.removesuffix(": solutions") + "\n")
        assert title.endswith(": solutions")


def test_every_exercise_has_points_and_a_check_that_nbgrader_knows():
    for path in SOLUTIONS:
        cells = code(make["read"](path))
        marks = [cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"]]
        names = [mark["grade_id"] for mark in marks if not mark["grade_id"].startswith("data")]
        count = len(names) // 2
        assert names == [f"{k}-{n + 1}" for n in range(count) for k in ("exercise", "check")]
        assert count >= 3
        for mark in marks:
            assert (mark["schema_version"], mark["task"]) == (3, False)
            assert mark["locked"] != mark["solution"]
            assert mark["grade"] == ("points" in mark) == mark["grade_id"].startswith("check")
        for cell in cells:
            text = source(cell)
            before, mark, _ = text.partition("### BEGIN SOLUTION")
            assert (part(cell) == "solution") == bool(mark)
            assert not mark or "..." in before  # what a student replaces
            calls = re.search(r"^(check|check_function|grade)\(", text, re.M)
            assert (part(cell) == "grade") == bool(calls)
            if text.startswith("def ") and part(cell) == "solution":  # other cases are hidden
                assert "### BEGIN HIDDEN TESTS" in source(cells[cells.index(cell) + 1])


def test_assignments_have_no_link_that_is_broken_elsewhere(tmp_path):
    for path in SOLUTIONS:
        make["write_assignment"](path, tmp_path)
        made = make["read"](tmp_path / "source" / path.stem / path.name)
        assert code(made) == code(make["read"](path))
        texts = [source(cell) for cell in made["cells"] if cell["cell_type"] == "markdown"]
        assert ": solutions" not in texts[0]
        assert not LINK.findall("\n".join(texts))
    assert "code_stub" in (tmp_path / "nbgrader_config.py").read_text()


def points(notebook, **answers):
    """Points of three exercises of lecture 1, as nbgrader counts them: none if a check raises."""
    space, count = {}, 0
    for cell in code(notebook):
        mark = cell["metadata"].get("nbgrader", {"grade_id": ""})
        if cell["id"] == "cell-01" or mark["grade_id"].endswith(("-1", "-5", "-6")):
            try:
                exec(source(cell), space)
                count += mark.get("points", 0)
            except WrongAnswer:
                pass
            space |= answers
    return count


def test_points_are_for_answers_that_are_right_in_hidden_cases_too():
    pytest.importorskip("matplotlib")
    solved = make["read"](SOLUTIONS[0])
    given = make["without_solutions"](solved)
    of_two_coordinates = {"squared": lambda x, z: (1 + x[0] * z[0] + x[1] * z[1]) ** 2}
    assert (points(solved), points(given)) == (6, 0)
    assert (points(solved, **of_two_coordinates), points(given, **of_two_coordinates)) == (4, 2)
    assert points(solved, learn=lambda w, x, label: w) == 4


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
def test_answers_are_judged_rightly(path, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    space, asked = {}, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pictures are not shown
        for cell in code(make["read"](path)):
            exec(source(cell), space)
            if part(cell) == "solution":
                name, asked = NAME.search(source(cell))[1], asked + 1
            elif part(cell) == "grade":
                right, wrong = ANSWERS[path.stem].get(asked, ([], []))
                for answer in right:
                    exec(source(cell), space | {name: answer})
                for answer in (*wrong, *NEVER):
                    with pytest.raises((WrongAnswer, TypeError)):
                        exec(source(cell), space | {name: answer})
    plt.close("all")
    assert asked >= max(ANSWERS[path.stem])


@every
def test_notebooks_are_the_same_wherever_they_run(path):
    text, notebook = path.read_text("utf-8"), make["read"](path)
    assert not re.search(r"/(home|root|tmp|work|usr|Users)/| at 0x", text)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"] == make["METADATA"]
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in code(notebook):
        assert cell["execution_count"] is None
        assert "execution" not in cell["metadata"]
        for output in cell["outputs"]:
            assert output.get("name") != "stderr"
            assert output["output_type"] != "error" or (part(cell), path in SOLUTIONS) == (
                "grade", False,
            )  # fmt: skip
            picture = output.get("data", {}).get("image/png", "")
            assert len(picture) <= MOST_OF_PICTURE
            assert not picture or cell["metadata"]["mystnb"]["image"]["alt"]
        shown = any("image/png" in output.get("data", {}) for output in cell["outputs"])
        assert shown == ("mystnb" in cell["metadata"])


def test_links_lead_somewhere():
    for path in [*NOTEBOOKS.glob("*.md"), *EVERY]:
        if path.suffix == ".md":
            text = path.read_text("utf-8")
        else:
            text = "\n".join(map(source, make["read"](path)["cells"]))
        links = LINK.findall(text)
        assert links or path.parent.name in ("cases", "solutions")
        assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.thorough
@pytest.mark.compiled
@every
def test_notebooks_print_what_they_show(path):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    shown = make["read"](path)
    allowed = () if path in SOLUTIONS else ("WrongAnswer",)
    for now, then in zip(printed(make["run"](shown, *allowed)), printed(shown), strict=True):
        assert NUMBER.sub("#", now) == NUMBER.sub("#", then)
        # the last digits are those of a processor
        assert numbers(now) == pytest.approx(numbers(then), rel=0.02, abs=0.02)


def numbers(text):
    return [float(found.replace(",", "").replace("−", "-")) for found in NUMBER.findall(text)]
