"""Notebooks: students get those of solutions/ without the solutions; all print what they show."""

import json
import re
import runpy
import warnings

import numpy as np
import pytest

from documents import ROOT

NOTEBOOKS = ROOT / "docs" / "notebooks"
make = runpy.run_path(str(NOTEBOOKS / "make.py"), run_name="make")
SOLUTIONS = make["solutions"]()
EVERY = SOLUTIONS + [make["students_path"](path) for path in SOLUTIONS]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
#: bytes of a picture in base64
MOST_OF_PICTURE = 40_000 * 4 // 3
#: right and wrong answers of exercises, by notebook and number, as students may give them
ANSWERS = {
    "1-perceptron-and-kernels": {
        1: ([[1, -3]], [[0, 0], 1]),
        2: ([0.632], [0.6, 2.0]),
        3: ([1.05, 3.162 / 3], [1.89, 0.79]),
        6: ([6], [3, 4]),  # str.count skips overlaps
    },
    "2-mistakes-and-margins": {
        2: ([0.2], [0.198, 25, -0.2]),
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
    "medicine": {3: ([3.68, np.exp(-2.604 * -0.5)], [0.272, 13.5]), 4: ([62], [60, 60.5])},
    "rare-classes": {2: ([0.0909, 0.091], [0.1, 0.11])},
    "text": {2: ([0.929], [0.931, 0.0712])},
}
#: wrong answers to every exercise
NEVER = ("dots", {}, [1, 2, 3, 4, 5, 6, 7], object())


def named(path):
    return f"{path.parent.name}/{path.stem}"


every = pytest.mark.parametrize("path", EVERY, ids=named)


def code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(notebook):
    """The text of every cell."""
    return [
        "".join(make["text_of"](output.get("text", "")) for output in cell["outputs"])
        for cell in code(notebook)
    ]


def checks(notebook):
    """The number of cells that check an answer."""
    sources = [make["text_of"](cell["source"]) for cell in code(notebook)]
    return sum(bool(re.search(r"^check\(", source, re.M)) for source in sources)


def verdicts(notebook):
    """What the checks printed."""
    lines = [line for text in printed(notebook) for line in text.splitlines()]
    return [line for line in lines if line == "right" or line.startswith(("To do", "Not yet"))]


def test_every_notebook_has_a_solution():
    assert len(SOLUTIONS) == 9
    found = [*NOTEBOOKS.glob("lectures/*.ipynb"), *NOTEBOOKS.glob("cases/*.ipynb")]
    assert {make["students_path"](path) for path in SOLUTIONS} == set(found)


def test_students_get_the_notebook_without_the_solutions():
    for path in SOLUTIONS:

        def sources(notebook):
            return [
                (c["id"], c["cell_type"], c["metadata"], c["source"]) for c in notebook["cells"]
            ]

        solved, given = make["read"](path), make["read"](make["students_path"](path))
        assert sources(given) == sources(make["without_solutions"](solved)), "run make.py"
        assert make["BEGIN"] not in json.dumps(given)
        assert checks(solved) == checks(given) >= 3
        assert verdicts(solved) == ["right"] * checks(solved)
        assert len(verdicts(given)) == checks(given)
        to_do = re.compile(r"To do(: nothing is returned yet)?\. Hint: ")
        assert all(to_do.match(line) for line in verdicts(given))
        title = make["text_of"](solved["cells"][0]["source"]).split("\n")[0]
        assert make["text_of"](given["cells"][0]["source"]).startswith(
            title.removesuffix(": solutions") + "\n"
        )
        assert title.endswith(": solutions")


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
def test_answers_are_judged_rightly(path, tmp_path, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    space, asked = {}, []

    def judge(answer, is_right, hint):
        def verdict(found):
            capsys.readouterr()
            check(found, is_right, hint)
            return capsys.readouterr().out

        asked.append(answer)
        right, wrong = ANSWERS[path.stem].get(len(asked), ([], []))
        assert [verdict(found) for found in (answer, *right)] == ["right\n"] * (1 + len(right))
        expected = f"Not yet. Hint: {hint}\n"
        assert [verdict(found) for found in (*wrong, *NEVER)] == [expected] * len((*wrong, *NEVER))
        assert verdict(...) == f"To do. Hint: {hint}\n"
        assert verdict(None) == f"To do: nothing is returned yet. Hint: {hint}\n"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pictures are not shown
        for cell in code(make["read"](path)):
            exec(make["text_of"](cell["source"]), space)
            if space["check"] is not judge:
                check, space["check"] = space["check"], judge
    plt.close("all")
    assert len(asked) == checks(make["read"](path)) >= max(ANSWERS[path.stem])


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
            assert output["output_type"] != "error"
            picture = output.get("data", {}).get("image/png", "")
            assert len(picture) <= MOST_OF_PICTURE
            assert not picture or cell["metadata"]["mystnb"]["image"]["alt"]
        shown = any("image/png" in output.get("data", {}) for output in cell["outputs"])
        assert shown == ("mystnb" in cell["metadata"])


def test_links_lead_somewhere():
    for path in [NOTEBOOKS / "index.md", *EVERY]:
        if not (ROOT / "docs" / "explanation").exists():
            pytest.skip("notebooks link to the pages in their folders, where they are not yet")
        if path.suffix == ".md":
            text = path.read_text("utf-8")
        else:
            text = "\n".join(
                make["text_of"](cell["source"]) for cell in make["read"](path)["cells"]
            )
        links = LINK.findall(text)
        assert links
        assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.thorough
@pytest.mark.compiled
@every
def test_notebooks_print_what_they_show(path):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    shown = make["read"](path)
    for now, then in zip(printed(make["run"](shown)), printed(shown), strict=True):
        assert NUMBER.sub("#", now) == NUMBER.sub("#", then)
        # the last digits are those of a processor
        assert numbers(now) == pytest.approx(numbers(then), rel=0.02, abs=0.02)


def numbers(text):
    return [float(found.replace(",", "").replace("−", "-")) for found in NUMBER.findall(text)]
