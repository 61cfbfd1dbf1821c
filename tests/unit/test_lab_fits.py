"""The regression rooms of the lab: their numbers are those of the library."""

import json

import numpy as np
import pytest

import linsep
from linsep.lab.answer import answer
from linsep.lab.fits import fit_of, probability_text
from linsep.lab.ready import ready_made
from linsep.lab.scene import Scene

pytestmark = pytest.mark.compiled


def numbers(fit):
    return dict(fit["numbers"])


def test_the_worked_line_of_the_notes():
    fit = fit_of(ready_made("worked-line"))
    assert fit["title"] == "y = 1.10811 + 1.16216 x"
    assert numbers(fit)["r"] == "0.980316"
    assert numbers(fit)["residual sum of squares"] == "0.810811"
    assert sum(row[-1] for row in fit["rows"]) == pytest.approx(0)


def test_blood_pressure_against_age():
    fit = fit_of(ready_made("blood-pressure"))
    assert fit["title"] == "pressure = 98.7147 + 0.97087 age"
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
    assert "runs away" in fit["sentences"][1]
    scene = ready_made("hours-apart")
    model = linsep.LogisticRegression(penalty="firth").fit(scene.X[:, :1], scene.codes)
    np.testing.assert_allclose(
        fit["curves"][0]["weights"], [model.intercept_[0], model.coef_[0, 0]], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ((), "two different places"),
        (((1.0, 2.0, 0), (1.0, 3.0, 0)), "two different places"),
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
    for trial in range(60):
        n = int(rng.integers(2, 12))
        X = rng.integers(-3, 4, (n, 2)) * 10.0 ** rng.integers(-3, 6)
        points = [[x, y, int(c)] for (x, y), c in zip(X.tolist(), rng.integers(0, 2, n),
                                                     strict=True)]  # fmt: skip
        room = ["line", "curve"][trial % 2]
        answered = answer(
            {"kind": "scene", "scene": {"points": points, "settings": {"room": room}}}
        )
        json.dumps(answered, allow_nan=False)
        assert (answered["fit"] is None) == bool(answered["idle"])


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
