"""Runs and fits of the lab, and their pages: the numbers are those of the library."""

import json
import re

import numpy as np
import pytest
from sklearn.svm import SVC

from linsep import Perceptron, datasets, textbook, trace
from linsep.errors import DataError
from linsep.lab.answer import answer, page_without_server
from linsep.lab.fits import fit_of
from linsep.lab.pages import standalone
from linsep.lab.proof import proof_of
from linsep.lab.run import (
    arguments_of,
    columns_of_trace,
    dense_codes,
    run_of,
    scheme_of,
    script_of,
    trace_of,
)
from linsep.lab.scene import Scene
from linsep.lab.scene_sources import READY, ready_made
from refusals import refused
from thoroughness import met, some

pytestmark = pytest.mark.compiled


#: learners and schemes that an average or a pocket must follow
KINDS = [
    {}, {"learner": "batch"}, {"learner": "margin", "gamma": 0.2},
    {"learner": "passive-aggressive", "C": 0.5}, {"learner": "balanced-winnow"},
    {"learner": "scw", "confidence": 0.95},
    {"intercept": False, "shuffle": True, "seed": 3}, {"rate": 0.5, "schedule": "inverse"},
]  # fmt: skip


def path(run, name):
    return np.array(run[name]).reshape(-1, max(1, len(run["vectors"])), 3)


def test_the_notes_run_of_five_points():
    run = run_of(ready_made("five-points"))
    assert (run["rounds"], run["pass"][-1], sum(run["updates"])) == (1160, 232, 446)
    assert run["weights"][-3:] == [-31, 12, 2]
    assert run["weights"][:3] == [-1, 0, 0]
    assert run["scores"][:5] == [-1, -1, 14, 17, 12]
    assert run["reason"] == "converged"


def test_a_run_goes_on_beyond_a_cycle_where_asked():
    scene = ready_made("inseparable").with_settings(beyond=True, rounds=915)
    run = run_of(scene)
    assert (run["rounds"], run["reason"], run["cycle"]) == (915, "cycle", [605, 650])
    weights = path(run, "weights")
    assert (weights[650 + 45 : 916] == weights[605 + 45 : 871]).all()
    said = []
    exec(compile(script_of(scene), "script", "exec"), {"print": lambda *parts: said.append(parts)})
    np.testing.assert_array_equal(said[1][1], weights[-1])
    made = trace_of(scene)
    columns = columns_of_trace(made, scene.rows, dense_codes(scene), scheme_of(scene))
    assert columns["cycle"] == [605, 650]


def test_a_url_of_a_step_beyond_the_last_says_so():
    for url, last, complains in [
        ("data=inseparable&start=1,1,1&at=905", 650, True),
        ("data=inseparable&start=1,1,1&at=650", 650, False),
        ("data=inseparable&start=1,1,1&beyond=yes&rounds=915&at=905", 915, False),
        ("data=inseparable&rounds=40&at=41", 40, True),
        ("data=inseparable&room=descent&rounds=30&at=31", 30, True),
        ("data=inseparable&room=soft&at=31", None, False),
    ]:
        found = answer({"kind": "open", "url": f"#{url}"})
        if found["run"]:
            assert found["run"]["rounds"] == last
        assert bool(found.get("fault")) == complains


def test_the_margins_that_a_rule_tests_are_those_of_the_trace():
    for learner in ("margin", "scw", "perceptron", "kernel"):
        scene = ready_made("clouds").with_settings(learner=learner, rounds=60)
        tested = learner in ("margin", "scw")
        expected = [row.margin for row in trace_of(scene)] if tested else []
        assert run_of(scene)["margins"] == expected


def test_kept_weights_are_those_of_the_textbook_at_every_round():
    for name, settings, keep in met(
        ["clouds", "outlier", "iris", "four-clouds"], KINDS, ["last", "average", "best"]
    ):
        classes = {"classes": "ovo"} if name == "iris" else {}
        scene = ready_made(name).with_settings(rounds=230, **classes).with_settings(**settings)
        run = run_of(scene)
        steps = trace_of(scene).steps
        k = len(set(scene.codes))
        found = path(run, {"last": "weights"}.get(keep, keep))
        ends = [t for t in range(1, len(steps)) if steps[t].pass_number != steps[t - 1].pass_number]
        # The pocket, and the weights of a batch rule, change at the end of a pass.
        inside = [] if keep == "best" or settings.get("learner") == "batch" else [1, 57, 79]
        for t in (*inside, *ends[:3], len(steps)):
            kept = textbook.kept(
                steps[:t], keep, scheme_of(scene), k, X=scene.X.tolist(), y=dense_codes(scene)
            )
            want = np.column_stack([np.atleast_1d(kept.intercept), np.atleast_2d(kept.weights)])
            np.testing.assert_allclose(found[t], want, rtol=1e-12, atol=1e-12)


def test_scripts_print_the_numbers_of_the_page():
    """In this process, as a process for each takes seconds; one of them is a process below."""
    for name in some([name for name in READY if ready_made(name)["room"] == "classes"]):
        scene, said = ready_made(name), []
        exec(compile(script_of(scene), name, "exec"), {"print": lambda *p, to=said: to.append(p)})
        run = run_of(scene)
        if scene["learner"] == "kernel":
            assert said[0] == (run["reason"], sum(run["updates"]))
            continue
        assert said[1][0] == sum(run["updates"])
        np.testing.assert_array_equal(said[1][1], path(run, "weights")[-1])
        assert str(said[0][0].stopped) == run["stopped"]


def test_every_learner_has_its_bounds_or_a_reason():
    for settings, bounds in [
        ({}, ["Novikoff", "hinge", "hinge, sharp"]),
        ({"learner": "kernel"}, ["Novikoff"]),
        ({"learner": "kernel", "kernel": "poly", "degree": 1}, ["Novikoff"]),
        ({"learner": "margin", "gamma": 0.01}, ["8/gamma^2"]),
        ({"learner": "balanced-winnow", "promotion": 1.03}, ["L1 margin"]),
        ({"learner": "margin", "gamma": 0.9}, "No bound: "),
        ({"learner": "margin"}, "needs a fixed target margin"),
        ({"learner": "passive-aggressive"}, "no theorem about PassiveAggressive"),
        ({"learner": "batch"}, "updates on all points at once"),
        ({"schedule": "inverse"}, "constant learning rate"),
    ]:
        scene = ready_made("clouds").with_settings(**settings)
        run = run_of(scene)
        proof = proof_of(scene, run)
        if isinstance(bounds, str):
            assert bounds in proof["unbounded"]
            assert proof["bounds"] == []
            continue
        assert [bound["name"] for bound in proof["bounds"]] == bounds
        for bound in proof["bounds"]:
            assert 0 < sum(run[bound["what"]]) <= bound["value"]
            assert bound["about"].startswith("wrong predictions") == (bound["what"] == "errors")
        if scene["learner"] in ("passive-aggressive", "balanced-winnow"):
            model = arguments_of(scene).make(keep="last").fit(scene.X, scene.codes)
            known = {bound.name: bound.value for bound in model.bounds(scene.X, scene.codes)}
            assert known == {bound["name"]: bound["value"] for bound in proof["bounds"]}


def numbers(fit):
    return dict(fit["numbers"])


def test_the_worked_line_of_the_notes():
    fit = fit_of(ready_made("worked-line"))
    assert fit["title"] == "y = 1.11 + 1.16 x"
    assert numbers(fit)["r"] == "0.98"
    assert numbers(fit)["residual sum of squares"] == "0.811"
    assert sum(row[-1] for row in fit["rows"]) == pytest.approx(0)


def test_the_soft_margin_is_that_of_libsvm():
    for name, C in [("clouds", 1000.0), ("outlier", 0.1), ("outlier", 1.0)]:
        scene = ready_made(name).with_settings(room="soft", cost=C)
        fit = fit_of(scene)
        theirs = SVC(kernel="linear", C=C, tol=1e-9).fit(scene.X, scene.codes)
        full = theirs.support_[np.abs(theirs.dual_coef_[0]) > C * (1 - 1e-6)]
        assert fit["inside"] == sorted(full.tolist())
        assert sorted(fit["on"] + fit["inside"]) == sorted(theirs.support_.tolist())
        assert fit["weights"] == pytest.approx([*theirs.intercept_, *theirs.coef_[0]], abs=1e-3)
        assert fit["wrong"] == np.flatnonzero(theirs.predict(scene.X) != scene.codes).tolist()
        assert [row[4] for row in fit["rows"]] == pytest.approx(
            theirs.decision_function(scene.X).tolist(), abs=1e-2
        )
        assert ("hard margin" in " ".join(fit["sentences"])) == (name == "clouds")
        with refused(DataError, "class-count"):
            fit_of(ready_made("bayes-iris").with_settings(room="soft"))


def test_a_descent_into_a_valley_shrinks_by_its_eigenvalues():
    for eta, title in [
        (1e-4, "is slow"),
        (0.02, "converges in 2"),
        (0.09, "zig-zags in "),
        (0.1, "zig-zags"),
        (0.11, "diverges"),
    ]:
        fit = fit_of(ready_made("descent").with_settings(eta=eta))
        assert f"x² + 10 y²: {title}" in fit["title"]
        rows = np.array([row[:4] for row in fit["rows"]])
        k = rows[:, 0]
        np.testing.assert_allclose(rows[:, 1], -2 * (1 - 2 * eta) ** k, rtol=1e-9)
        np.testing.assert_allclose(rows[:, 2], (1 - 20 * eta) ** k, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(-np.diff(rows[:, 1]) / fit["rates"], 2 * rows[:-1, 1], rtol=1e-6)
        assert len(fit["rows"]) == len(fit["rates"]) + 1


def test_a_descent_on_points_ends_at_their_fit():
    scene = ready_made("worked-line").with_settings(
        room="descent", surface="squared-error", eta=0.01, rounds=2000
    )
    fit = fit_of(scene)
    assert fit["rows"][-1][1:3] == pytest.approx([1.10811, 1.16216], abs=1e-3)
    limit = float(numbers(fit)["rates that converge: below 2/λ"])
    assert "diverges" in fit_of(scene.with_settings(eta=1.05 * limit))["title"]
    scene = ready_made("hours").with_settings(room="descent", surface="likelihood", eta=0.02)
    want = fit_of(ready_made("hours"))["curves"][0]["weights"]
    assert fit_of(scene)["rows"][-1][1:3] == pytest.approx(want, abs=0.02)


def test_tables_scripts_and_pages():
    for name in ["blood-pressure", "hours"]:
        scene = answer({"kind": "scene", "ready": name})["scene"]
        fit = fit_of(ready_made(name))
        for form, start in [("csv", ",".join(fit["columns"])), ("markdown", "| point |"),
                            ("latex", r"\begin{tabular}{rrrrr}")]:  # fmt: skip
            text = answer({"kind": "table", "scene": scene, "format": form})["text"]
            assert text.startswith(start)
        said = []
        script = answer({"kind": "script", "scene": scene})["text"]
        exec(
            compile(script, name, "exec"),
            {"print": lambda *parts, said=said: said.extend(map(str, parts))},
        )
        assert ("98.7147" if name == "blood-pressure" else "1.0867") in "".join(said)
        assert '"kind":"' in answer({"kind": "html", "scene": scene})["text"]


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


def test_what_a_page_cannot_show_is_said():
    students = datasets.load_students()
    t = trace(Perceptron(), students.data, students.target)
    with refused(DataError, "unsupported"):
        t.to_html(interactive=True)
    t = trace(Perceptron(max_iter=1), [[k, 1] for k in range(501)], [k % 2 for k in range(501)])
    with refused(DataError, "too-large"):
        t.to_html(interactive=True)
