"""Pages of runs that need no server, and the page's script."""

import json
import re

import numpy as np
import pytest

from linsep import MarginPerceptron, Perceptron, datasets, trace
from linsep.errors import DataError
from linsep.lab.answer import page_without_server
from linsep.lab.pages import MODULES, script, standalone
from linsep.lab.scene import Scene
from linsep.lab.scene_sources import ready_made
from refusals import refused

pytestmark = pytest.mark.compiled


def answer_in(page):
    return json.loads(re.search(r'id="answer">(.*?)</script>', page, re.S)[1])


def test_a_page_asks_nothing_of_the_internet():
    page = standalone(page_without_server(ready_made("xor")))
    addresses = re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s\"']*", page)
    assert [a for a in addresses if "www.w3.org" not in a] == []
    assert "import " not in page.split("<script")[2]


def test_names_cannot_end_the_script():
    scene = Scene(((0.0, 0.0, 0), (1.0, 1.0, 1)), "", ("</script><b>", "<!--"))
    page = standalone(page_without_server(scene))
    assert page.count("</script>") == 2
    assert answer_in(page)["scene"]["labels"] == ["</script><b>", "<!--"]


def test_all_names_of_the_modules_are_different():
    names = re.findall(
        r"^(?:async )?(?:function|class|const|let) (\w+)", script("standalone"), re.M
    )
    assert len(set(names)) == len(names)
    assert len(MODULES) == len(set(MODULES))


def test_a_trace_becomes_a_page():
    d = datasets.load_five_points(as_frame=True)
    p = Perceptron(shuffle=False)
    t = trace(p, d.data, d.target, coef_init=[0, 0], intercept_init=-1, max_rounds=2000)
    held = answer_in(t.to_html(interactive=True))
    assert held["run"]["weights"][-3:] == [-31, 12, 2]
    assert held["run"]["rounds"] == 1160
    assert held["scene"]["features"] == ["x1", "x2"]
    assert held["scene"]["settings"]["start"] == [-1, 0, 0]
    assert held["proof"]["verdict"]["kind"] == "separable"
    assert t.to_html().startswith("<table>")


def test_any_linear_learner_becomes_a_page():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    for model in (
        Perceptron(multiclass="ovo", max_iter=3, learning_rate=lambda k: 1 / k, update="batch"),
        MarginPerceptron(max_iter=3),
    ):
        t = trace(model, X, np.array(["a", "b", "c"])[y])
        held = answer_in(t.to_html(interactive=True))
        assert held["scene"]["labels"] == ["a", "b", "c"]
        assert held["proof"]["bounds"] == []
        assert len(held["run"]["weights"]) == 9 * (len(t) + 1)


def test_bounds_are_those_of_the_learner_that_was_traced():
    d = datasets.load_five_points()
    for model, known in [
        (Perceptron(max_iter=3), True),
        (Perceptron(max_iter=3, learning_rate=lambda k: 1 / k), False),
        (MarginPerceptron(max_iter=3, gamma=0.01), True),
        (MarginPerceptron(max_iter=3, gamma=0.01, epsilon=0.25), False),
    ]:
        held = answer_in(trace(model, d.data, d.target).to_html(interactive=True))
        assert bool(held["proof"]["bounds"]) == known
        assert ("does not know all parameters" in held["proof"]["unbounded"]) != known


def test_what_a_page_cannot_show_is_said():
    students = datasets.load_students()
    t = trace(Perceptron(), students.data, students.target)
    with refused(DataError, "unsupported"):
        t.to_html(interactive=True)
    t = trace(Perceptron(max_iter=1), [[k, 1] for k in range(501)], [k % 2 for k in range(501)])
    with refused(DataError, "too-large"):
        t.to_html(interactive=True)
