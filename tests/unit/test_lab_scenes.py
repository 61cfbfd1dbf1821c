"""Scenes of the lab: as data, as addresses, and what damaged ones are answered."""

import json

import pytest

from linsep import LogisticRegression, MarginPerceptron, Perceptron, separation
from linsep.errors import DataError
from linsep.lab.answer import answer
from linsep.lab.scene import MOST_CHARACTERS, Scene
from linsep.lab.scene_sources import (
    READY,
    ready_made,
    scene_of,
    scene_of_url,
    url_of,
)
from linsep.lab.settings import SETTINGS, SHOWN, for_page
from linsep.parameters import parameters_of
from mutated_addresses import mutated_addresses
from refusals import refused
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled
RATES = "a number of at least 1e-06 and at most 1000000"


@pytest.mark.parametrize("name", READY)
def test_a_ready_made_scene_is_its_own_address(name):
    scene = ready_made(name)
    assert scene_of_url(url_of(scene)) == scene
    assert scene_of(json.loads(json.dumps(answer({"kind": "scene", "ready": name})["scene"]))) == (
        scene
    )


def test_almost_separable_is_not_and_all_pairs_of_columns_of_iris_are_there():
    scene = ready_made("nearly")
    assert separation(scene.X, scene.codes).kind == "overlapping"
    model = LogisticRegression().fit(scene.X, scene.codes)
    assert (model.predict(scene.X) != scene.codes).sum() == 1
    iris = [ready_made(name) for name in READY if name.startswith("iris")]
    assert len({frozenset(scene.features) for scene in iris if len(scene.labels) == 3}) == 6


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


def test_a_changed_ready_made_scene_loses_its_name():
    given = answer({"kind": "scene", "ready": "xor"})["scene"]
    given["points"][0][0] = 7
    assert scene_of(given).name == ""
    assert answer({"kind": "scene", "scene": given})["url"].startswith("points=7,1,1;")


@pytest.mark.parametrize(
    ("address", "said"),
    [
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
    ],
)
def test_a_fault_in_an_address_is_one_sentence(address, said):
    with pytest.raises(DataError) as caught:
        scene_of_url(address)
    assert str(caught.value) == said
    answered = answer({"kind": "open", "url": "#" + address})
    assert answered["fault"] == "This URL cannot be shown. " + said
    assert answered["scene"]["name"] == "first-steps"


def test_a_long_address_is_not_read():
    with refused(DataError, "too-large"):
        scene_of_url("points=" + "0" * MOST_CHARACTERS)


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


@pytest.mark.parametrize(
    "request_",
    [
        None, 7, [], {}, {"kind": None}, {"kind": ["open"]}, {"kind": "delete"},
        {"kind": "scene"}, {"kind": "scene", "scene": []}, {"kind": "scene", "ready": "../etc"},
        {"kind": "scene", "scene": {"points": {"a": 1}}},
        {"kind": "scene", "scene": {"points": [[1, 2, True]]}},
        {"kind": "scene", "scene": {"points": [[10**400, 2, 1]]}},
        {"kind": "scene", "scene": {"points": [1, 2]}},
        {"kind": "scene", "scene": {"settings": {"rate": "1"}}},
        {"kind": "scene", "scene": {"settings": {"rate": {"__class__": 1}}}},
        {"kind": "scene", "scene": {"settings": {"os.system": 1}}},
        {"kind": "scene", "scene": {"labels": "ab"}}, {"kind": "scene", "scene": {"more": 1}},
        {"kind": "scene", "scene": {"features": ["x"]}}, {"kind": "scene", "scene": {"name": 3}},
        {"kind": "table", "scene": {}, "format": "pickle"}, {"kind": "load", "text": 3},
        {"kind": "proof", "scene": {}}, {"kind": "html", "scene": {}},
    ],
)  # fmt: skip
def test_whatever_is_asked_is_answered_by_a_sentence(request_):
    said = answer(request_)["fault"]
    assert said.endswith(".")
    assert len(said) < 250


def test_every_setting_spells_its_default():
    for setting in SETTINGS.values():
        assert setting.parse(setting.spell(setting.default)) == setting.default


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


def test_a_word_may_stand_for_a_number():
    scene = Scene().with_settings(gamma=0.5)
    assert scene_of_url("gamma=auto")["gamma"] == "auto"
    assert scene_of_url(url_of(scene)) == scene
