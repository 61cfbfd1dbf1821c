"""Scenes and lessons of the lab: as data, as addresses, and what damaged ones are answered."""

import json
import re

import pytest

from linsep import MarginPerceptron, Perceptron
from linsep.errors import DataError
from linsep.lab.answer import answer
from linsep.lab.course import LESSONS, lesson, parsed, titles
from linsep.lab.fits import fit_of
from linsep.lab.proof import proof_of
from linsep.lab.run import run_of
from linsep.lab.scene import Scene
from linsep.lab.scene_sources import READY, ready_made, scene_of, scene_of_url, url_of
from linsep.lab.settings import SETTINGS, SHOWN, for_page
from linsep.parameters import parameters_of
from mutated_addresses import mutated_addresses
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled


RATES = "a number of at least 1e-06 and at most 1000000"


def test_a_ready_made_scene_is_its_own_address():
    for name in READY:
        scene = ready_made(name)
        assert scene_of_url(url_of(scene)) == scene
        assert scene_of(
            json.loads(json.dumps(answer({"kind": "scene", "ready": name})["scene"]))
        ) == (scene)


def test_an_address_holds_every_setting_and_own_points():
    other = {
        "room": "line", "learner": "kernel", "keep": "vote", "rate": 0.1, "gamma": 0.25, "r": 0.5,
        "row_rate": 0.25, "confidence": 0.75,
        "schedule": "inverse",
        "C": 2.5, "promotion": 1.5, "kernel": "poly", "degree": 3, "width": 0.5, "classes": "ovo",
        "intercept": False, "start": (-1.5, 1e-05, 2.0), "shuffle": True, "seed": 7, "rounds": 99,
        "surface": "bend", "eta": 0.5, "from": (0.25, -3.0), "cost": 10.0, "beyond": True,
    }  # fmt: skip
    assert set(other) == set(SETTINGS)
    scene = Scene(
        ((1.0, -2.5, 0), (0.1, 1e5, 3)), "", ("a,b", "c&d", "é;", "="), ("x y", "#")
    ).with_settings(**other)  # fmt: skip
    assert scene_of_url("#" + url_of(scene)) == scene


def test_a_fault_in_an_address_is_one_sentence():
    for address, said in [
        ("points=1,2", "Point 1 needs two coordinates and a class."),
        ("points=1,2,10", "Point 1 needs a class from 0 to 9."),
        ("points=1e9,2,1", "Point 1 needs coordinates from -1,000,000 to 1,000,000."),
        ("points=nan,2,1", "Point 1 needs coordinates from -1,000,000 to 1,000,000."),
        ("data=nothing", "There is no ready-made setup 'nothing': choose one from the list."),
        ("rate=-1", f"The setting rate must be {RATES}."),
        ("rate=1_000", f"The setting rate must be {RATES}."),
        (
            "rounds=10.5",
            "The setting rounds must be a whole number of at least 1 and at most 10000.",
        ),
        (
            "start=1,2",
            "The setting start must be 3 numbers, each of at least -1e+06 and at most 1000000.",
        ),
        (
            "gamma=2",
            "The setting gamma must be a number of at least 1e-06 and at most 1 or 'auto'.",
        ),
        ("intercept=True", "The setting intercept must be yes or no."),
        ("keep=__import__", "The setting keep must be one of last, average, vote, best."),
        (
            "learner=x",
            f"The setting learner must be one of {', '.join(SHOWN)}.",
        ),
        ("spam=1", "The URL has an unknown part 'spam'."),
        ("labels=a,a", "The names of the classes must be different."),
        ("at=-1", "The step must be a whole number from 0 to 10,000."),
        ("data=xor&at=x", "The step must be a whole number from 0 to 10,000."),
        ("points=" + "1,1,1;" * 501, "There are 501 points: at most 500 can be shown."),
    ]:
        with pytest.raises(DataError) as caught:
            scene_of_url(address)
        assert str(caught.value) == said
        answered = answer({"kind": "open", "url": "#" + address})
        assert answered["fault"] == "This URL cannot be shown. " + said
        assert answered["scene"]["name"] == "first-steps"


def test_mutated_addresses_are_answered():
    faults, most = 0, 1000 if THOROUGH else 300
    for url in mutated_addresses(most):
        answered = answer({"kind": "open", "url": url})
        assert answered["scene"]["points"] or answered["idle"] or answered["fit"]
        json.dumps(answered, allow_nan=False)
        said = answered.get("fault", "")
        faults += bool(said)
        assert len(said) < 250
        assert "\n" not in said
        assert scene_of_url(answered["url"]).points == tuple(
            tuple(point) for point in answered["scene"]["points"]
        )
    assert 0.3 * most < faults < most


def test_controls_are_what_estimators_declare():
    controls = {one["name"]: one for one in for_page()}
    declared = parameters_of(MarginPerceptron)["gamma"]
    gamma = controls["gamma"]
    assert (gamma["low"], gamma["high"], gamma["word"]) == (1e-6, declared.at_most, "auto")
    assert gamma["help"].lower() == f"{declared.help}."
    assert controls["schedule"]["choices"] == list(parameters_of(Perceptron)["schedule"].choices)
    assert controls["start"]["size"] == 3
    assert controls["learner"]["titles"]["batch"] == "perceptron, batch rule"
    json.dumps(list(controls.values()), allow_nan=False)
    assert all(one["help"].endswith(".") for one in controls.values())


STEPS = [(name, step) for name in LESSONS for step in lesson(name)["steps"]]


def texts(step, kind):
    return " ".join(
        "".join(piece for _, piece in block["pieces"])
        for block in step["body"] if block["kind"] == kind
    )  # fmt: skip


def test_the_course_has_some_thirty_steps(monkeypatch):
    monkeypatch.setattr("linsep.lab.course.OWN", {})  # which a command of this process may have set
    assert 28 <= len(STEPS) <= 40
    assert [title["name"] for title in titles()] == list(LESSONS)


def test_every_step_asks_before_it_answers():
    for step in [step for _, step in STEPS]:
        assert "?" in texts(step, "text")
        assert texts(step, "answer")
        assert step["body"][-1]["kind"] == "answer"
        shown = answer({"kind": "open", "url": step["url"]})
        assert "fault" not in shown
        assert shown["run"] or shown["fit"]
        at = scene_of_url(step["url"]).at
        assert shown["run"] is None or at <= shown["run"]["rounds"]


#: three classes side by side
ROW = "points=-4,0,0;-3,1,0;-3,-1,0;-1,1,1;0,-1,1;1,0,1;3,1,2;3,-1,2;4,0,2&rounds=900&classes="


def wrong_after(run, t):
    """The points of the first scene that are not on their side at a position, counted from 1."""
    b, w1, w2 = run["weights"][3 * t : 3 * t + 3]
    points = scene_of_url("data=first-steps").points
    return [k for k, (x, y, c) in enumerate(points, 1) if (2 * c - 1) * (b + w1 * x + w2 * y) <= 0]


#: what the answers say: the lesson, the address, and a number that its run must have
SAID = [
    ("232 passes and 446 updates", "data=five-points&start=-1,0,0",
     lambda run: (run["pass"][-1], sum(run["updates"])) == (232, 446)),
    ("207 with this seed", "data=five-points&shuffle=yes", lambda r: sum(r["updates"]) == 207),
    ("the given order, which takes 445", "data=five-points", lambda r: sum(r["updates"]) == 445),
    ("It made 2, and the theorem allows 19", "data=clouds", lambda run: sum(run["mistakes"]) == 2),
    ("81,889", "data=almost&rounds=1000", lambda run: sum(run["mistakes"]) == 74),
    ("converges after 94", "data=almost&rounds=10000", lambda run: sum(run["mistakes"]) == 94),
    ("The run makes 18 mistakes", "data=circles&learner=kernel&kernel=poly",
     lambda run: sum(run["mistakes"]) == 18),
    ("9: one per mistake", "data=moons&learner=kernel&width=2", lambda r: sum(r["mistakes"]) == 9),
    ("classified correctly after 4 mistakes", "data=xor&learner=kernel&kernel=poly&degree=2",
     lambda run: sum(run["mistakes"]) == 4),
    ("one-vs-rest makes 53", "data=four-clouds&classes=ovr", lambda r: sum(r["mistakes"]) == 53),
    ("one-vs-rest makes 53", "data=four-clouds&classes=ovo", lambda r: sum(r["mistakes"]) == 10),
    ("It makes 5", "data=four-clouds", lambda run: sum(run["mistakes"]) == 5),
    ("after 7 mistakes", ROW + "ovo",
     lambda r: (r["reason"], sum(r["mistakes"])) == ("converged", 7)),
    ("One-vs-rest cycles", ROW + "ovr", lambda run: run["reason"] == "cycle"),
    ("from 4 to 2", "data=four-points&intercept=no",
     lambda r: (r["scores"][1], sum(r["weights"][7:9])) == (4, 2)),
    ("points 1 and 5 are now misclassified", "data=first-steps&start=-2,1,5&rate=5",
     lambda r: wrong_after(r, 3) == [4] and wrong_after(r, 4) == [1, 5]),
    ("from −6 to −2.6", "data=first-steps&start=-2,1,5&rate=0.2",
     lambda r: wrong_after(r, 3) == wrong_after(r, 4) == [4] and r["scores"][3] == -6),
    ("every point is classified correctly", "data=first-steps&start=-2,1,5",
     lambda r: wrong_after(r, 3) == [4] and wrong_after(r, 4) == []),
    ("(1, −3)", "data=four-points&intercept=no", lambda r: r["weights"][12:15] == [0, 1, -3]),
]  # fmt: skip


def test_answers_are_true():
    for text, url, holds in SAID:
        everything = " ".join(texts(step, "answer") + texts(step, "text") for _, step in STEPS)
        assert text in everything
        assert holds(run_of(scene_of_url(url)))


def test_proofs_that_lessons_tell_of():
    def verdict(url):
        scene = scene_of_url(url)
        return proof_of(scene, run_of(scene))

    assert verdict("data=clouds")["verdict"]["rows"] == [4, 13, 32]
    assert int(verdict("data=clouds")["bounds"][0]["value"]) == 19
    assert int(verdict("data=almost&rounds=1000")["bounds"][0]["value"]) == 81_889
    assert verdict("data=outlier")["verdict"]["rows"] == [21, 23, 29, 30]
    assert verdict("data=iris-hard")["verdict"]["rows"] == [20, 76]
    scene = scene_of_url("data=outlier&rounds=1000")
    run = run_of(scene)
    for name, wrong in (("weights", 8), ("average", 3), ("best", 1)):
        b, w1, w2 = run[name][-3:]
        counted = sum((2 * c - 1) * (b + w1 * x + w2 * y) <= 0 for x, y, c in scene.points)
        assert counted == wrong
    curves = fit_of(scene_of_url("data=hours&room=curve"))["curves"]
    assert [round(curve["weights"][1], 5) for curve in curves] == [1.40498, 1.08675]


def test_a_fault_in_a_lesson_is_one_sentence():
    for text, said in [
        ("", "t.md is not a lesson"),
        ("# T\n", "t.md is not a lesson"),
        ("## Step\n[s](#data=xor)\n", "t.md is not a lesson"),
        ("# T\n## Step\nwords\n", "t.md, step 1 has no setup"),
        (
            "# T\n## A\n[s](#data=xor)\n## B\n[s](#data=no)\n",
            "t.md, step 2 has an invalid setup",
        ),
        ("# T\n" + "x" * 200_001, "at most 200,000"),
        ("# T\n" + "## S\n[s](#data=xor)\n" * 101, "t.md is not a lesson"),
    ]:
        with pytest.raises(DataError, match=re.escape(said)):
            parsed(text, "t.md")
