"""Pictures of whether rows would be separable anyway."""

import io

import numpy as np
import pytest

import linsep
from linsep import dichotomies, phase_transition, separation
from linsep.errors import DataError
from linsep.plot import ChanceDisplay, PhaseTransitionDisplay
from refusals import refused

pytestmark = pytest.mark.compiled


def place(display):
    return [float(axis[0]) for axis in display.place_.get_data()]


def test_the_mark_is_where_the_rows_are():
    X = np.random.default_rng(0).normal(size=(30, 12))
    verdict = separation(X, np.arange(30) % 2)
    display = ChanceDisplay.from_verdict(verdict)
    assert place(display) == [30 / 13, float(dichotomies(30, 12))]
    assert display.place_.get_label() == "30 distinct rows"
    x, p = display.curve_.get_data()
    for rows, probability in zip(x * 13, p, strict=True):
        assert probability == float(dichotomies(round(rows), 12))
    display.save(io.BytesIO(), format="png")


def test_many_rows_and_tied_ones_are_bounds():
    X = np.random.default_rng(0).integers(2, size=(500, 7))
    display = ChanceDisplay.from_verdict(separation(X, X[:, 0]))
    assert display.place_.get_label().endswith(", or less")
    assert display.curve_.get_xdata()[-1] > place(display)[0]


def test_what_says_nothing_of_chance_is_refused():
    X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    read = linsep.from_json(separation(X, y).to_json())
    for found in (read, separation(X, [0, 1, 2]), "a verdict"):
        with refused(DataError, "unsupported"):
            ChanceDisplay.from_verdict(found)


def test_the_phase_transition():
    display = PhaseTransitionDisplay(intercept=1.0, ratio=0.2, signal=2.0).plot()
    assert place(display) == [2.0, 0.2]
    gamma, kappa = display.curve_.get_data()
    assert kappa[10] == phase_transition(1.0, gamma[10])
    assert PhaseTransitionDisplay().plot().place_ is None
