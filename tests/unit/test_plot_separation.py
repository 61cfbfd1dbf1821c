"""Pictures of verdicts and of chance: lines, rings and hulls are those of the proof."""

import io
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_iris

import linsep
from linsep import dichotomies, phase_transition, separation
from linsep.certificate.verdicts import Undecided
from linsep.errors import DataError
from linsep.plot import ChanceDisplay, PhaseTransitionDisplay, SeparationDisplay
from refusals import refused
from thoroughness import met

IRIS, SPECIES = load_iris(return_X_y=True)
FLAT = np.array([[0.0, 0], [1, 0], [2, 0], [3, 1], [1, 2]])
SIDES_OF_FLAT = np.array(["no", "yes", "no", "yes", "yes"])
UNSURE = separation(FLAT, SIDES_OF_FLAT)


def ringed(shown):
    return np.asarray(shown.proof_.get_offsets())


def in_hull(point, corners):
    """Whether a point is a convex combination of corners, by a linear program."""
    equal = np.vstack([corners.T, np.ones(len(corners))])
    return linprog(np.zeros(len(corners)), A_eq=equal, b_eq=np.append(point, 1.0)).status == 0


def test_the_separator_and_its_margin_are_those_of_the_verdict():
    for fit_intercept in [True, False]:
        X, y = IRIS[:, [0, 2]], SPECIES == 0
        verdict = separation(X, y, margin="max", fit_intercept=fit_intercept)
        shown = SeparationDisplay.from_verdict(verdict, X, y)
        w, b = np.array(verdict.coef[0]), verdict.intercept[0]
        ends = shown.line_.get_xydata()
        assert ends @ w + b == pytest.approx(
            [0, 0], abs=1e-12 * np.abs(ends).max() * np.abs(w).max()
        )
        low, high = sorted(
            float((line.get_xydata()[0] @ w + b) / np.linalg.norm(w))
            for line in shown.margin_lines_
        )
        assert -low == pytest.approx(high) == pytest.approx(verdict.margin[0])
        assert np.array_equal(ringed(shown), X[list(verdict.support.rows)])
        assert np.abs(ringed(shown) @ w + b) / np.linalg.norm(w) == pytest.approx(high)
        assert f"widest margin {verdict.margin[0]:.4g}" in shown.ax_.get_title()


def test_more_features_are_projected_on_the_normal():
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    names = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    verdict = separation(frame, names).against_rest["setosa"]
    shown = SeparationDisplay.from_verdict(verdict, frame, names)
    w, b = np.array(verdict.coef[0]), verdict.intercept[0]
    line = shown.line_.get_xdata()
    assert line[0] == pytest.approx(line[1])
    distances = (IRIS @ w + b) / np.linalg.norm(w)
    assert shown.points[:, 0] - line[0] == pytest.approx(distances)
    assert "4 features, projected on w" in shown.ax_.get_title()
    words = [text.get_text() for text in shown.legend_.get_texts()]
    assert words[:2] == ["versicolor, virginica", "setosa"]


def test_the_hulls_of_the_witness_meet_where_the_mark_is():
    for seed, d, fit_intercept in met(range(6), [2, 3, 5], [True, False]):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-9, 10, (60, d)).astype(float), rng.integers(0, 2, 60)
        verdict = separation(X, y, fit_intercept=fit_intercept)
        assert verdict.kind == "overlapping"
        shown = SeparationDisplay.from_verdict(verdict, sp.csr_matrix(X) if seed % 2 else X, y)
        rows, multipliers = np.array(verdict.witness.rows), verdict.witness.multipliers
        assert ringed(shown) == pytest.approx(shown.plane.coordinates(X[rows]))
        sums = [
            sum(Fraction(m) for m, row in zip(multipliers, rows, strict=True) if y[row] == side)
            for side in (0, 1)
        ]
        exact = [
            sum(m * Fraction(X[row, j]) for m, row in zip(multipliers, rows, strict=True) if y[row])
            / max(sums)
            for j in range(d)
        ]
        common = np.array(exact, dtype=float)
        assert shown.common == pytest.approx(shown.plane.coordinates(common))
        assert shown.common_.get_xydata()[0] == pytest.approx(shown.common)
        for side, hull in enumerate(shown.hulls_):
            corners = X[rows[y[rows] == side]]
            if not fit_intercept:
                corners = np.vstack([corners, np.zeros(d)])
            assert in_hull(common, corners)
            drawn = hull.get_xy()[:-1]
            expected = shown.plane.coordinates(corners)
            for corner in expected:
                assert in_hull(corner, drawn) or np.abs(drawn - corner).sum(axis=1).min() < 1e-9
            assert all(np.abs(expected - corner).sum(axis=1).min() < 1e-9 for corner in drawn)


def test_the_rows_on_the_boundary_of_quasi_separable_rows_are_ringed():
    for extra in [0, 2]:
        X = np.hstack([FLAT, FLAT @ [[1, 2], [3, -1]]])[:, : 2 + extra]
        verdict = separation(X, SIDES_OF_FLAT)
        shown = SeparationDisplay.from_verdict(verdict, X, SIDES_OF_FLAT)
        normal, offset = shown.line
        scores = shown.points @ normal + offset
        boundary = list(verdict.boundary)
        assert scores[boundary] == pytest.approx(np.zeros(len(boundary)), abs=1e-9)
        signs = np.where(SIDES_OF_FLAT == "yes", 1, -1)
        others = np.setdiff1d(np.arange(5), boundary)
        assert (signs[others] * scores[others] > 1e-9).all()
        assert np.array_equal(ringed(shown), shown.points[boundary])
        assert shown.line_.get_xydata() @ normal + offset == pytest.approx([0, 0], abs=1e-9)


def test_rows_of_one_pair_of_classes():
    verdict = separation(IRIS, SPECIES).pairs[1, 2]
    shown = SeparationDisplay.from_verdict(verdict, IRIS, SPECIES)
    assert len(shown.points) == 100
    expected = shown.plane.coordinates(IRIS[list(verdict.witness.rows)])
    assert ringed(shown) == pytest.approx(expected)
    assert [len(points.get_offsets()) for points in shown.points_] == [50, 50]


def test_verdicts_that_cannot_be_drawn_are_refused_in_one_sentence():
    for verdict, X, y, code in [
        (separation(IRIS, SPECIES), IRIS, SPECIES, "unsupported"),
        (separation(IRIS, SPECIES).multinomial, IRIS, SPECIES, "unsupported"),
        (separation(FLAT, SIDES_OF_FLAT), FLAT[:4], SIDES_OF_FLAT[:4], "bad-proof"),
        (separation(FLAT, SIDES_OF_FLAT), IRIS[:5], SIDES_OF_FLAT, "bad-proof"),
        (separation(FLAT, SIDES_OF_FLAT), FLAT[::-1], SIDES_OF_FLAT, "bad-proof"),
        (separation(FLAT[:, :1], SIDES_OF_FLAT), FLAT[:, :1], SIDES_OF_FLAT, "unsupported"),
        (
            separation(K=(FLAT @ FLAT.T).astype(int), y=SIDES_OF_FLAT),
            FLAT,
            SIDES_OF_FLAT,
            "unsupported",
        ),
        (Undecided(UNSURE.subject, "no time was left"), FLAT, SIDES_OF_FLAT, "unsupported"),
    ]:
        with refused(ValueError, code):
            SeparationDisplay.from_verdict(verdict, X, y)
    with refused(TypeError, "bad-argument"):
        SeparationDisplay.from_verdict("overlapping", FLAT, SIDES_OF_FLAT)


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
