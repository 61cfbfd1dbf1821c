"""The rooms of the lab without a run: their numbers are those of the library."""

import json

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm
from sklearn.svm import SVC

import linsep
from linsep import descent
from linsep.errors import DataError
from linsep.lab.answer import answer
from linsep.lab.fits import fit_of, probability_text
from linsep.lab.optimizing import FORMULAS, surface_of
from linsep.lab.pages import plain_scene
from linsep.lab.scene import Scene
from linsep.lab.scene_sources import ready_made
from refusals import refused
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled


def numbers(fit):
    return dict(fit["numbers"])


def test_the_worked_line_of_the_notes():
    fit = fit_of(ready_made("worked-line"))
    assert fit["title"] == "y = 1.11 + 1.16 x"
    assert numbers(fit)["r"] == "0.98"
    assert numbers(fit)["residual sum of squares"] == "0.811"
    assert sum(row[-1] for row in fit["rows"]) == pytest.approx(0)


def test_blood_pressure_against_age():
    fit = fit_of(ready_made("blood-pressure"))
    assert fit["title"] == "pressure = 98.7 + 0.971 age"
    said = dict((name, text) for name, text in fit["assumptions"])
    assert "residuals are not normal" in said["normality"]
    assert len(fit["panels"]) == 2


@pytest.mark.parametrize("firth", [False, True])
def test_the_curve_is_that_of_the_compiled_estimator(firth):
    scene = ready_made("hours")
    curve = fit_of(scene)["curves"][firth]
    X, y = scene.X[:, :1], scene.codes
    model = linsep.LogisticRegression(penalty="firth" if firth else None).fit(X, y)
    want = [model.intercept_[0], model.coef_[0, 0]]
    np.testing.assert_allclose(curve["weights"], want, rtol=1e-6)


def test_separated_classes_have_no_maximum_but_firths():
    fit = fit_of(ready_made("hours-apart"))
    assert [curve["name"] for curve in fit["curves"]] == ["Firth"]
    assert "slope diverges" in fit["sentences"][1]
    scene = ready_made("hours-apart")
    model = linsep.LogisticRegression(penalty="firth").fit(scene.X[:, :1], scene.codes)
    np.testing.assert_allclose(
        fit["curves"][0]["weights"], [model.intercept_[0], model.coef_[0, 0]], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ((), "two or more x-values"),
        (((1.0, 2.0, 0), (1.0, 3.0, 0)), "two or more x-values"),
    ],
)
@pytest.mark.parametrize("room", ["line", "curve"])
def test_points_without_a_fit_say_why(points, said, room):
    if room == "curve":
        points = tuple((x, y, k) for k, (x, y, _) in enumerate(points))
        said = said if points else "first two classes"
    scene = {"points": [list(p) for p in points], "settings": {"room": room}}
    answered = answer({"kind": "scene", "scene": scene})
    assert answered["fit"] is None
    assert said in answered["idle"]


def test_random_points_are_answered():
    rng = np.random.default_rng(1)
    for trial in range(60 if THOROUGH else 20):
        n = int(rng.integers(2, 12))
        X = rng.integers(-3, 4, (n, 2)) * 10.0 ** rng.integers(-3, 6)
        points = [[x, y, int(c)] for (x, y), c in zip(X.tolist(), rng.integers(0, 2, n),
                                                     strict=True)]  # fmt: skip
        room = ["line", "curve", "bayes", "soft", "descent", "descent"][trial % 6]
        settings = {"room": room, "surface": ["squared-error", "likelihood"][trial % 2]}
        answered = answer({"kind": "scene", "scene": {"points": points, "settings": settings}})
        json.dumps(answered, allow_nan=False)
        assert (answered["fit"] is None) == bool(answered["idle"])


@pytest.mark.parametrize("name", ["five-points", "bayes-iris"])
def test_naive_bayes_multiplies_normal_densities(name):
    scene = ready_made(name).with_settings(room="bayes")
    fit = fit_of(scene)
    codes = np.array(scene.codes)
    means = np.array([scene.X[codes == k].mean(axis=0) for k in fit["present"]])
    s = np.sqrt(((scene.X - means[codes]) ** 2).mean(axis=0))
    np.testing.assert_allclose(fit["means"], means)
    np.testing.assert_allclose(fit["deviations"], s)
    joint = norm.pdf(scene.X[:, None], means, s).prod(axis=2) * np.bincount(codes) / len(codes)
    shown = np.array([row[4:] for row in fit["rows"]])
    np.testing.assert_allclose(shown, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)
    scores = np.column_stack([np.ones(len(codes)), scene.X]) @ np.array(fit["weights"]).T
    np.testing.assert_allclose(softmax(scores, axis=1), shown, atol=1e-9)
    assert fit["wrong"] == np.flatnonzero(joint.argmax(axis=1) != codes).tolist()


def test_a_feature_that_varies_between_the_classes_only_is_said():
    fit = fit_of(Scene(((0.0, 1.0, 0), (0.0, 2.0, 0), (1.0, 1.5, 1))).with_settings(room="bayes"))
    assert "zero within-class variance" in fit["sentences"][-1]


@pytest.mark.parametrize(("name", "C"), [("clouds", 1000.0), ("outlier", 0.1), ("outlier", 1.0)])
def test_the_soft_margin_is_that_of_libsvm(name, C):
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


@pytest.mark.parametrize(
    ("eta", "title"),
    [
        (1e-4, "is slow"),
        (0.02, "converges in 2"),
        (0.09, "zig-zags in "),
        (0.1, "zig-zags"),
        (0.11, "diverges"),
    ],
)
def test_a_descent_into_a_valley_shrinks_by_its_eigenvalues(eta, title):
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


@pytest.mark.parametrize("name", FORMULAS)
def test_contours_are_level_and_scripts_have_the_same_surface(name):
    scene = ready_made("descent").with_settings(surface=name, eta=0.001, rounds=5)
    fit, surface = fit_of(scene), surface_of(scene)
    descent.check_gradient(surface.J, surface.grad, [0.7, -0.3])
    named = {}
    exec(answer({"kind": "script", "scene": plain_scene(scene)["scene"]})["text"], named)
    assert named["run"].path.tolist() == [row[1:3] for row in fit["rows"]]
    spread = np.ptp([surface.J(place) for place in named["run"].path])
    for line in fit["contours"]:
        heights = [surface.J(place) for place in np.reshape(line, (-1, 2))]
        assert np.ptp(heights) < 0.03 * max(np.mean(np.abs(heights)), spread, 1)


@pytest.mark.parametrize("name", ["blood-pressure", "hours"])
def test_tables_scripts_and_pages(name):
    scene = answer({"kind": "scene", "ready": name})["scene"]
    fit = fit_of(ready_made(name))
    for form, start in [("csv", ",".join(fit["columns"])), ("markdown", "| point |"),
                        ("latex", r"\begin{tabular}{rrrrr}")]:  # fmt: skip
        text = answer({"kind": "table", "scene": scene, "format": form})["text"]
        assert text.startswith(start)
    said = []
    script = answer({"kind": "script", "scene": scene})["text"]
    exec(compile(script, name, "exec"), {"print": lambda *parts: said.extend(map(str, parts))})
    assert ("98.7147" if name == "blood-pressure" else "1.0867") in "".join(said)
    assert '"kind":"' in answer({"kind": "html", "scene": scene})["text"]


def test_p_values_in_words():
    assert (probability_text(0.00001), probability_text(0.25)) == ("< 0.001", "= 0.250")
    assert fit_of(Scene(((0.0, 0.0, 0), (1.0, 1.0, 0))).with_settings(room="line"))["line"] == (
        pytest.approx([0, 1])
    )
