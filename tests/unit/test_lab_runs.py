"""Runs of the lab: the numbers of the page are those of the library."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import linsep
from linsep import datasets, kernels, textbook
from linsep.lab.answer import answer
from linsep.lab.library import gram_of
from linsep.lab.proof import in_plane, monomials, proof_of
from linsep.lab.run import (
    arguments_of,
    columns_of_trace,
    dense_codes,
    labels_of,
    run_of,
    scheme_of,
    script_of,
    trace_of,
)
from linsep.lab.scene import Scene
from linsep.lab.scene_sources import READY, ready_made
from thoroughness import met, some

pytestmark = pytest.mark.compiled

#: learners and schemes that an average or a pocket must follow
KINDS = [
    {}, {"learner": "batch"}, {"learner": "margin"}, {"learner": "margin", "gamma": 0.2},
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


def test_a_learner_of_two_sides_learns_several_classes_one_by_one():
    scene = ready_made("four-clouds").with_settings(learner="scw", rounds=50)
    run, called = run_of(scene), arguments_of(scene)
    assert (scheme_of(scene), called.parameters["multiclass"]) == ("ovr", "ovr")
    assert len(run["vectors"]) == 4
    model = called.make(max_iter=1).fit(scene.X, scene.codes)
    after = path(run, "weights")[len(scene.X)]
    np.testing.assert_allclose(after, np.column_stack([model.intercept_, model.coef_]), rtol=1e-9)


def test_cycles_are_shown_from_where_they_begin():
    assert run_of(ready_made("xor"))["cycle"] == [0, 4]
    run = run_of(ready_made("inseparable"))
    assert run["cycle"] == [121 * 5, 130 * 5]
    weights = path(run, "weights")
    assert (weights[605] == weights[650]).all()


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


@pytest.mark.parametrize("learner", ["margin", "scw", "perceptron", "kernel"])
def test_the_margins_that_a_rule_tests_are_those_of_the_trace(learner):
    scene = ready_made("clouds").with_settings(learner=learner, rounds=60)
    margins = run_of(scene)["margins"]
    if learner in ("perceptron", "kernel"):
        assert margins == []
    else:
        assert margins == [row.margin for row in trace_of(scene)]


@pytest.mark.parametrize(
    ("url", "last", "complains"),
    [
        ("data=inseparable&start=1,1,1&at=905", 650, True),
        ("data=inseparable&start=1,1,1&at=650", 650, False),
        ("data=inseparable&start=1,1,1&beyond=yes&rounds=915&at=905", 915, False),
        ("data=inseparable&rounds=40&at=41", 40, True),
        ("data=inseparable&room=descent&rounds=30&at=31", 30, True),
        ("data=inseparable&room=soft&at=31", None, False),
    ],
)
def test_a_url_of_a_step_beyond_the_last_says_so(url, last, complains):
    found = answer({"kind": "open", "url": f"#{url}"})
    if found["run"]:
        assert found["run"]["rounds"] == last
    assert bool(found.get("fault")) == complains


@pytest.mark.parametrize(
    ("name", "settings", "keep"),
    met(["clouds", "outlier", "iris", "four-clouds"], KINDS, ["last", "average", "best"]),
    ids=str,
)
def test_kept_weights_are_those_of_the_textbook_at_every_round(name, settings, keep):
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


@pytest.mark.parametrize("keep", ["last", "average", "best"])
def test_the_last_weights_are_those_of_the_compiled_estimator(keep):
    scene = ready_made("clouds")
    called = arguments_of(scene)
    model = called.make(keep=keep).fit(scene.X, labels_of(scene)[0])
    found = path(run_of(scene), {"last": "weights"}.get(keep, keep))[-1, 0]
    np.testing.assert_allclose(found, [*model.intercept_, *model.coef_[0]], rtol=1e-12)


def test_a_kernel_run_is_that_of_the_compiled_estimator():
    for name in ("moons", "circles"):
        scene = ready_made(name)
        run = run_of(scene)
        duals = np.zeros(len(scene.points))
        for changed in run["duals"]:
            for k in range(0, len(changed), 3):
                duals[int(changed[k + 1])] += changed[k + 2]
        model = arguments_of(scene).make().fit(scene.X, scene.codes)
        whole = np.zeros(len(scene.points))
        whole[model.support_] = model.dual_coef_[0]
        assert duals.tolist() == whole.tolist()
        assert sum(run["mistakes"]) == sum(model.mistakes_)
        assert run["reason"] == str(model.stop_reason_) == "converged"


@pytest.mark.parametrize(
    "name", some([name for name in READY if ready_made(name)["room"] == "classes"])
)
def test_scripts_print_the_numbers_of_the_page(name):
    """In this process, as a process for each takes seconds; one of them is a process below."""
    scene, said = ready_made(name), []
    exec(compile(script_of(scene), name, "exec"), {"print": lambda *parts: said.append(parts)})
    run = run_of(scene)
    if scene["learner"] == "kernel":
        assert said[0] == (run["reason"], sum(run["updates"]))
        return
    assert said[1][0] == sum(run["updates"])
    np.testing.assert_array_equal(said[1][1], path(run, "weights")[-1])
    assert str(said[0][0].stopped) == run["stopped"]


def test_a_script_runs():
    script = answer(
        {"kind": "script", "scene": answer({"kind": "scene", "ready": "five-points"})["scene"]}
    )["text"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    assert "446 ((-31.0, 12.0, 2.0),)" in done.stdout
    assert "verdict     separable" in done.stdout


def test_tables_are_those_of_the_trace():
    scene = answer({"kind": "scene", "ready": "four-points"})["scene"]
    csv, markdown, latex = (
        answer({"kind": "table", "scene": scene, "format": form})["text"]
        for form in ("csv", "markdown", "latex")
    )
    assert csv.splitlines()[0] == "round,pass,row,class,score,mistake,update,x1,x2"
    assert len(csv.splitlines()) == 9
    assert "converged" in markdown
    assert latex.startswith(r"\begin{tabular}")


def test_verdicts_in_words():
    said = {name: proof_of(ready_made(name), run_of(ready_made(name))) for name in
            ("five-points", "xor", "inseparable", "iris-hard", "clouds")}  # fmt: skip
    verdict = said["five-points"]["verdict"]
    assert verdict["title"] == "A line separates the classes."
    assert verdict["rows"] == [1, 2, 4]
    assert verdict["margin"] == pytest.approx(0.05**0.5)
    assert "no bound" not in str(said["clouds"]["bounds"])
    assert [bound["name"] for bound in said["clouds"]["bounds"]][:2] == ["Novikoff", "hinge"]
    assert "starts from [b, w1, w2] = [−1, 0, 0]: set" in said["five-points"]["unbounded"]
    verdict = said["inseparable"]["verdict"]
    assert verdict["kind"] == "overlapping"
    assert verdict["meeting"] == pytest.approx([37 / 13, 57 / 13])
    assert "same coordinates, (4.8, 1.8)" in said["iris-hard"]["verdict"]["sentences"][1]
    assert said["xor"]["verdict"]["title"] == "No line through 0 separates the classes."


@pytest.mark.parametrize(
    ("name", "settings", "kind", "said"),
    [
        ("xor", {"kernel": "poly"}, "separable", "the 6 products of up to 2 coordinates"),
        ("xor", {"kernel": "poly", "degree": 1}, "overlapping", "points 1, 2, 3 and 4"),
        ("moons", {}, "separable", "All points have different coordinates"),
        ("moons", {"kernel": "poly"}, "overlapping", "is exactly 0"),
        ("four-clouds", {"kernel": "poly"}, "separable", "against the rest: separable"),
        ("iris-hard", {}, "overlapping", "Points 21 and 77 have the same coordinates, (4.8, 1.8)"),
        ("four-clouds", {}, "separable", "independent"),
    ],
)
def test_what_a_curve_of_a_kernel_can_do(name, settings, kind, said):
    scene = ready_made(name).with_settings(learner="kernel", rounds=200, **settings)
    proof = proof_of(scene, run_of(scene))
    assert proof["kernel"]["kind"] == kind
    assert said in " ".join(proof["kernel"]["sentences"])
    if kind == "overlapping":
        assert "Novikoff" not in {bound["name"] for bound in proof["bounds"]}
    if name == "xor" and kind == "separable":  # rows of length 3, margin sqrt(2)
        assert proof["bounds"][0]["value"] == pytest.approx(4.5)


def test_the_gram_matrix_is_that_of_the_kernels():
    scene = ready_made("moons").with_settings(width=0.7, degree=3)
    np.testing.assert_allclose(gram_of(scene), kernels.RBF(0.7)(scene.X), atol=1e-12)
    scene = scene.with_settings(kernel="poly")
    want = kernels.Polynomial(3, gamma=0.7)(scene.X)
    np.testing.assert_allclose(gram_of(scene), want, atol=1e-12)


def test_products_of_coordinates_say_what_the_exact_gram_matrix_says():
    for name in ("moons", "outlier", "xor", "inseparable", "almost"):
        scene = ready_made(name)
        exact = np.array([[Fraction(repr(v)) for v in point[:2]] for point in scene.points])
        for degree in (1, 2, 3):
            verdict = linsep.separation(K=(exact @ exact.T + 1) ** degree, y=scene.codes)
            images = monomials(scene.points, degree)
            found = linsep.separation(images, scene.codes, fit_intercept=False)
            assert found.kind == verdict.kind


@pytest.mark.parametrize(
    ("settings", "bounds"),
    [
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
    ],
)
def test_every_learner_has_its_bounds_or_a_reason(settings, bounds):
    scene = ready_made("clouds").with_settings(**settings)
    run = run_of(scene)
    proof = proof_of(scene, run)
    if isinstance(bounds, str):
        assert bounds in proof["unbounded"]
        assert proof["bounds"] == []
        return
    assert [bound["name"] for bound in proof["bounds"]] == bounds
    for bound in proof["bounds"]:
        assert 0 < sum(run[bound["what"]]) <= bound["value"]
        assert bound["about"].startswith("wrong predictions") == (bound["what"] == "errors")
    if scene["learner"] in ("passive-aggressive", "balanced-winnow"):
        model = arguments_of(scene).make(keep="last").fit(scene.X, scene.codes)
        known = {bound.name: bound.value for bound in model.bounds(scene.X, scene.codes)}
        assert known == {bound["name"]: bound["value"] for bound in proof["bounds"]}


def test_a_margin_beyond_floating_point_bounds_nothing():
    points = [[0, 0, 0], [1e-200, 0, 1], [1e6, 0, 1]]
    scene = answer({"kind": "scene", "scene": {"points": points}})["scene"]
    proof = answer({"kind": "proof", "scene": scene})["proof"]
    assert proof["verdict"]["kind"] == "separable"
    assert "Novikoff" not in {bound["name"] for bound in proof["bounds"]}


def test_winnow_is_bounded_at_its_own_promotion():
    points = tuple((float(a), float(b), int(a or b)) for a in (0, 1) for b in (0, 1))
    values = []
    for promotion in (2.0, 1.5):
        scene = Scene(points).with_settings(learner="winnow", promotion=promotion)
        run = run_of(scene)
        values += [bound["value"] for bound in proof_of(scene, run)["bounds"]]
        model = arguments_of(scene).make().fit(scene.X, scene.codes)
        assert values[-1] == model.bounds(scene.X, scene.codes)["disjunction"].value
    assert values[0] != values[1]


def test_the_meeting_point_is_in_both_hulls():
    """Checked by its barycentric coordinates, which a library computes anew."""
    from scipy.optimize import linprog

    for name in ("inseparable", "outlier", "moons", "circles"):
        scene = ready_made(name)
        verdict = in_plane(scene)
        for code in (0, 1):
            mine = np.array([scene.X[j] for j in verdict["rows"] if scene.codes[j] == code])
            A = np.vstack([mine.T, np.ones(len(mine))])
            b = np.append(verdict["meeting"], 1.0)
            assert linprog(np.zeros(len(mine)), A_eq=A, b_eq=b, method="highs").status == 0


def test_points_without_a_run_say_why():
    for points, said in [((), "two classes"), (((1.0, 1.0, 0),), "two classes")]:
        scene = {"points": [list(point) for point in points]}
        answered = answer({"kind": "scene", "scene": scene})
        assert answered["run"] is None
        assert said in answered["idle"]
    negative = {"points": [[-1, 1, 0], [1, 1, 1]], "settings": {"learner": "winnow"}}
    assert "BalancedWinnow" in answer({"kind": "scene", "scene": negative})["idle"]


def test_runaway_weights_are_refused():
    scene = Scene(((1e6, 1e6, 0), (1e6, 999_999.0, 1))).with_settings(
        learner="balanced-winnow", promotion=1000.0
    )
    answered = answer({"kind": "scene", "scene": {"points": [list(p) for p in scene.points],
                       "settings": {"learner": "balanced-winnow", "promotion": 1000}}})  # fmt: skip
    assert answered["run"] is None or np.isfinite(answered["run"]["weights"]).all()


def test_steps_of_a_trace():
    X, y = datasets.load_four_points(return_X_y=True)
    trace = linsep.trace(linsep.Perceptron(fit_intercept=False, shuffle=False), X, y)
    assert [step.weights for step in trace.steps[:4]] == [[4, 0], [3, -1], [3, -1], [1, -3]]
