"""Pictures of awkward models and rows: what they show is what is printed."""

import numpy as np
import pytest
import scipy.sparse as sp

from linsep import GaussianNaiveBayes, Perceptron
from linsep.inference.table import Coefficient, Summary
from linsep.plot import CoefficientDisplay, DecisionDisplay, decision
from pictures import faults


def rows_of(*named):
    return Summary("t", [], [Coefficient(*row) for row in named], "z")


def test_dependent_coefficients_give_way_to_estimates():
    nothing = (float("nan"),) * 6
    many = [(f"d{k}", *nothing, "dependent") for k in range(40)]
    found = rows_of(*many, ("a", 1.0, 0.5, 2.0, 0.05, 0.0, 2.0), ("b", *nothing, "+inf"))
    drawn = CoefficientDisplay.from_summary(found)
    assert drawn.names == ["a", "b"]
    assert drawn.ax_.get_title() == "40 coefficients not shown"
    few = CoefficientDisplay.from_summary(rows_of(*many[:3]))
    assert (few.names, few.about) == (["d0", "d1", "d2"], "")
    assert few.ax_.get_xlabel() == "coefficient"


NAN, INF = float("nan"), float("inf")
ENDS = {False: ("\u2212\u221e", "\u221e"), True: ("0", "\u221e")}


def test_what_is_infinite_is_an_arrow_to_the_end_of_the_axis():
    for odds in [False, True]:
        found = rows_of(
            ("runs", NAN, NAN, NAN, 0.01, 0.5, INF, "+inf"),
            ("falls", NAN, NAN, NAN, 0.01, -INF, -0.5, "-inf"),
            ("open", 1.0, 0.5, 2.0, 0.05, 0.25, INF),
            ("unknown", NAN, NAN, NAN, NAN, NAN, NAN, "+inf"),
            ("wide", 1.0, 0.5, 2.0, 0.05, -INF, INF),
            ("either", NAN, NAN, NAN, NAN, NAN, NAN, "infinite"),
            ("plain", 0.3, 0.1, 3.0, 0.01, 0.1, 0.5),
        )
        drawn = CoefficientDisplay.from_summary(found, odds=odds)
        zero, infinite = ENDS[odds]
        words = [word.get_text() for word in drawn.words_]
        either = f"{zero} or {infinite}"
        assert words == [infinite, zero, infinite, infinite, zero, infinite, either]
        tails = np.array([arrow.xyann[0] for arrow in drawn.arrows_])[[0, 1, 2, 4, 5]]
        wanted = np.array([0.5, -0.5, 0.25, 1.0, 1.0])
        assert np.allclose(tails, np.exp(wanted) if odds else wanted)
        assert [arrow.xy for arrow in drawn.arrows_] == [
            (x, y) for x, y in ((1, 6), (0, 5), (1, 4), (1, 3), (0, 2), (1, 2))
        ]
        estimates = np.array([1.0, 1.0, 0.3])
        assert np.allclose(drawn.points_.get_xdata(), np.exp(estimates) if odds else estimates)
        low, high = drawn.ax_.get_xlim()
        assert low < tails.min()
        assert tails.max() < high
        assert faults(drawn) == []


def test_odds_ratios_beyond_floats_are_arrows():
    drawn = CoefficientDisplay.from_summary(
        rows_of(("tiny", -2e8, 1e8, -2, 0, -4e8, 0.0), ("huge", 1e3, 1, 9, 0, 990, 1010)), odds=True
    )
    assert [word.get_text() for word in drawn.words_] == ["0", "\N{INFINITY}"]


def test_ticks_of_odds_ratios_are_few_and_round_and_1_is_one():
    for low, high in [(0.9, 1.3), (0.5, 12.0), (0.01, 1.0), (1e-30, 1e3), (1e-90, 1e90)]:
        one = (np.log(low), NAN, NAN, NAN, np.log(low), np.log(low))
        other = (np.log(high), NAN, NAN, NAN, np.log(high), np.log(high))
        drawn = CoefficientDisplay.from_summary(rows_of(("a", *one), ("b", *other)), odds=True)
        assert faults(drawn) == []
        ends = drawn.ax_.get_xlim()
        shown = [x for x in drawn.ax_.get_xticks() if ends[0] <= x <= ends[1]]
        assert 3 <= len(shown) <= 10
        assert 1.0 in shown
        assert all(f"{x:.6e}"[0] in "12468579" for x in shown)
        assert drawn.ax_.get_xscale() == "log"
        assert ends[0] < low
        assert high < ends[1]
        drawn.figure_.set_size_inches(2.6, 2.0)
        assert not [fault for fault in faults(drawn) if "overlaps" in fault]
        assert 1.0 in drawn.ax_.get_xticks()


def test_very_many_sparse_features_are_drawn_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    dense = np.zeros((60, 5000))
    dense[:, [3, 70, 900]] = rng.normal(size=(60, 3))
    y = np.where(dense[:, 3] + dense[:, 70] > 0, "a", "b")
    model = Perceptron().fit(sp.csr_matrix(dense), y)
    wanted = DecisionDisplay.from_estimator(model, dense, y, resolution=20)
    monkeypatch.setattr(decision, "GRID_VALUES", 5000 * 7)
    found = DecisionDisplay.from_estimator(model, sp.csr_matrix(dense), y, resolution=20)
    assert np.array_equal(found.codes, wanted.codes)
    assert np.allclose(found.boundary, wanted.boundary)


def test_rows_on_one_line_are_drawn_in_any_plane_through_it():
    X = np.outer([1.0, 2.0, 3.0, 5.0], [1.0, -2.0, 0.5, 3.0, 1.0])
    for rows, model in ((X, GaussianNaiveBayes()), (X[:2], Perceptron())):
        shown = model.fit(rows, np.arange(len(rows)) % 2).plot(rows, np.arange(len(rows)) % 2)
        across, up = shown.plane.across, shown.plane.up
        assert np.linalg.norm(up) == pytest.approx(1)
        assert across @ up == pytest.approx(0, abs=1e-9)
        assert shown.figure_ is not None
