"""Learners that know how sure they are of their weights, against worked numbers and their facts.

Numbers are runs of one pass over five rows with an intercept, from weights of zero; weights are
printed as [b, w1, w2].
"""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize, minimize_scalar

from linsep.teaching.textbook import AROW, SCW, Covariance, SecondOrderPerceptron, run
from linsep.teaching.textbook.covariance import COVARIANCE_TYPES, dot
from linsep.teaching.textbook.logistic import solve
from linsep.teaching.textbook.machine import Example

pytestmark = pytest.mark.uncompiled

X = [(1, 1), (3, 2), (2, 4), (3, 4), (2, 3)]
y = [0, 1, 1, 1, 0]
UPDATED = [0, 1, 2, 4]
FIRST = Example((0, 0), (1,))
fractions = st.fractions(-3, 3, max_denominator=5)
rows = st.lists(st.tuples(fractions, fractions, st.integers(0, 1)), min_size=1, max_size=4)


def learned(rule, X=X, y=y, passes=1, **how):
    return list(run(rule, "binary", X, y, max_iter=passes, **how))


def turned(step):
    """[b, w1, w2]."""
    return [step.intercept, *step.weights]


def example(x):
    return Example(x, (1,))


def before(steps):
    """Each step with the covariance before it."""
    first = Covariance.first(steps[-1].memory[0].kind, FIRST)
    return zip(steps, [first, *(s.memory[0] or first for s in steps)], strict=False)


def variance_of(sigma, x):
    """z'Sigma z."""
    return dot(example(x).z, sigma.times(example(x)).z)


def of(text):
    return [Fraction(number) for number in text.split()]


@pytest.mark.parametrize(
    ("kind", "means", "variances"),
    [
        (
            "diagonal",
            ["-1/4 -1/4 -1/4", "-3/32 7/32 2/32", "-289/4608 1086/4608 574/4608",
             "-861232/2928384 328781/2928384 -4808/2928384"],
            ["1/2 1/2 1/2", "1/3 1/11 1/6", "1/4 1/15 1/22", "1/5 1/19 1/31"],
        ),
        (
            "diagonal-drop",
            ["-1/4 -1/4 -1/4", "-8/92 22/92 7/92", "-13772/199916 50998/199916 26635/199916",
             "-29782373813/80146624274 1642273/3024400916 -2277041470/40073312137"],
            ["3/4 3/4 3/4", "129/184 57/184 102/184",
             "263676/399832 110865/399832 55182/399832",
             "44163422835/80146624274 64309793145/320586497096 3817794261/40073312137"],
        ),
        (
            "full",
            ["-1/4 -1/4 -1/4", "-11/24 9/24 -1/24", "-26/51 13/51 11/51", "-10/18 5/18 1/18"],
            ["3/4 3/4 3/4", "17/24 3/8 17/24", "35/51 13/51 8/51", "148/216 55/216 31/216"],
        ),
    ],
)  # fmt: skip
def test_arow_in_exact_fractions(kind, means, variances):
    steps = learned(AROW(1, kind))
    assert [s.updates for s in steps] == [1, 1, 1, 0, 1]
    assert [s.mistakes for s in steps] == [1, 1, 0, 0, kind != "full" or 1]
    made = [steps[k] for k in UPDATED]
    assert [turned(s) for s in made] == [of(text) for text in means]
    found = [s.memory[0].variances[0] for s in made]
    assert [[b, *w] for *w, b in found] == [of(text) for text in variances]
    assert steps[3][5:] != steps[2][5:]
    assert turned(steps[3]) == turned(steps[2])


def test_full_arow_by_hand():
    steps = learned(AROW(1, "full"))
    margins = [s.score * (2 * label - 1) for s, label in zip(steps, y, strict=True)]
    assert margins == of("0 -3/2 1/8 19/17 -11/17")
    assert [variance_of(sigma, X[s.row]) for s, sigma in before(steps)] == of("3 5 43/8 14/17 7/17")
    (block,) = steps[-1].memory[0].blocks
    assert [block[0][2], block[1][2], block[0][1]] == of("-19/108 -11/108 -25/216")
    assert block == [list(column) for column in zip(*block, strict=True)]
    # The terms of its bound on mistakes: an update has 0 < m < 1 once.
    matrix = np.eye(3) + sum(np.outer([*X[k], 1], [*X[k], 1]) for k in UPDATED)
    assert round(np.linalg.det(matrix)) == 216
    assert np.linalg.inv(matrix) == pytest.approx(np.array(block, float))
    u = np.array([12.0, 2.0, -31.0])
    assert u @ matrix @ u == pytest.approx(1481)
    w = [*steps[-1].weights, steps[-1].intercept]
    gained = sum(p * int(a) * q for p, row in zip(w, matrix, strict=True)
                 for a, q in zip(row, w, strict=True))  # fmt: skip
    assert gained == Fraction(2, 3)
    assert sqrt(1481 * (log(216) + 1)) - 1 == pytest.approx(96.1689, abs=5e-5)
    assert sqrt(1481 * gained) - 1 == pytest.approx(30.4219, abs=5e-5)


def test_native_arow_by_hand():
    W = [(-2, 2, 1), (0, 3, 4), (1, 4, -2)]
    step = next(run(AROW(), "native", [(-2, 3, 1)], [2], 3, weights=W, fit_intercept=False))
    assert step.weights[0] == [-2, 2, 1]
    assert step.weights[1] == of("12/29 69/29 110/29")
    assert step.weights[2] == of("17/29 134/29 -52/29")
    variances = step.memory[0].variances
    assert variances[0] == [1, 1, 1, 1]
    assert variances[1] == variances[2] == [*of("1/5 1/10 1/2"), 1]


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_native_ties_go_to_the_lowest_class(kind):
    for truth, rival, mistakes in ((2, 0, 1), (1, 0, 1), (0, 1, 0)):
        (step,) = run(AROW(1, kind), "native", [(1, 2)], [truth], 3, max_iter=1)
        assert (step.score, step.mistakes, step.updates) == ([0, 0, 0], mistakes, 1)
        moved = [k for k in range(3) if any(step.weights[k])]
        assert moved == sorted((truth, rival))
        left = ({0, 1, 2} - {truth, rival}).pop()
        assert step.memory[0].variances[left] == [1, 1, 1]


@given(rows=rows, codes=st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_native_full_arow_has_a_matrix_per_class(rows, codes):
    R = Fraction(1, 3)
    points = [row[:2] for row in rows]
    steps = list(run(AROW(R, "full"), "native", points, codes[: len(rows)], 3, max_iter=1))
    if not any(step.updates for step in steps):
        return
    precisions = [[[int(i == j) for j in range(3)] for i in range(3)] for _ in range(3)]
    sigma = None
    for step in steps:
        if not step.updates:
            continue
        truth, s, z = codes[step.row], step.score, [*points[step.row], 1]
        rival = max((k for k in range(3) if k != truth), key=lambda k: s[k])
        for k in (truth, rival):
            precisions[k] = [
                [p + a * b / R for p, b in zip(line, z, strict=True)]
                for line, a in zip(precisions[k], z, strict=True)
            ]
        sigma = step.memory[0]
    for precision, block in zip(precisions, sigma.blocks, strict=True):
        for j in range(3):
            unit = [Fraction(int(i == j)) for i in range(3)]
            exact = [[Fraction(p) for p in line] for line in precision]
            assert solve(exact, unit) == [line[j] for line in block]


@given(rows=rows, kind=st.sampled_from(COVARIANCE_TYPES), R=st.fractions(Fraction(1, 9), 9))
def test_arow_updates_below_a_margin_of_one(rows, kind, R):
    labels = [label for *_, label in rows]
    steps = learned(AROW(R, kind), [row[:2] for row in rows], labels)
    w = [0, 0, 0]
    for step, (a, b, label) in zip(steps, rows, strict=True):
        sign, z = 2 * label - 1, [a, b, 1]
        m = sign * dot(w, z)
        assert (step.updates, step.mistakes) == (m < 1, m <= 0)
        old, w = w, [*step.weights, step.intercept]
        if step.updates:
            sigma = next(s for t, s in before(steps) if t is step)
            v = dot(z, sigma.times(Example(z[:2], z[2:])).z)
            assert 1 - sign * dot(w, z) == (1 - m) * R / (v + R)
            # The gradient of the paper's objective in the mean vanishes.
            gradient = [p - q for p, q in zip(w, old, strict=True)]
            pull = sigma.times(Example(z[:2], z[2:])).z
            left = 1 - sign * dot(w, z)
            assert gradient == [left * sign * p / R for p in pull]
        else:
            assert w == old


@given(rows=rows, R=st.fractions(Fraction(1, 9), 9))
def test_full_arow_is_ridge_regression_on_updated_rows(rows, R):
    A = [[R * (i == j) for j in range(3)] for i in range(3)]
    v, total = [Fraction(0)] * 3, 0
    points, labels = [row[:2] for row in rows], [row[2] for row in rows]
    steps = learned(AROW(R, "full"), points, labels, passes=2)
    for step, sigma in before(steps):
        if step.updates:
            z, sign = [*points[step.row], 1], 2 * labels[step.row] - 1
            m, variance = sign * step.score, variance_of(sigma, points[step.row])
            total += 1 - R * (1 - m) ** 2 / (variance + R)
            A = [[p + a * b for p, b in zip(line, z, strict=True)]
                 for line, a in zip(A, z, strict=True)]  # fmt: skip
            v = [p + sign * q for p, q in zip(v, z, strict=True)]
    w = [*steps[-1].weights, steps[-1].intercept]
    assert [dot(line, w) for line in A] == v
    assert dot(w, [dot(line, w) for line in A]) == total


def test_variances_minimize_the_objective_of_the_paper():
    steps = learned(AROW(Fraction(3, 2)))
    for step, sigma in before(steps):
        if not step.updates:
            continue
        after = step.memory[0].variances[0]
        for z, s, found in zip([*X[step.row], 1], sigma.variances[0], after, strict=True):

            def objective(x, s=float(s), z=z):
                return (x / s - np.log(x / s)) / 2 + z * z * x / (2 * 1.5)

            best = minimize_scalar(objective, bounds=(1e-6, 2), options={"xatol": 1e-10})
            assert float(found) == pytest.approx(best.x, abs=1e-6)


def test_a_weight_of_two_is_two_updates_of_a_full_covariance_only():
    for kind in COVARIANCE_TYPES:
        twice = learned(AROW(Fraction(2, 3), kind), [X[1], X[1]], [1, 1])[-1]
        heavy = learned(AROW(Fraction(2, 3), kind), [X[1]], [1], row_weights=[2])[-1]
        assert (twice.weights == heavy.weights) == (kind == "full")
        assert (twice.memory == heavy.memory) == (kind != "diagonal-drop")
        other = learned(AROW(Fraction(1, 3), kind), [X[1]], [1])[-1]
        assert (heavy.weights, heavy.memory) == (other.weights, other.memory)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("rule", [AROW, SCW])
def test_rows_that_change_nothing(rule, kind):
    learner = rule(covariance_type=kind)
    zeros = learned(learner, [(0, 0), (0, 0)], [1, 0], fit_intercept=False)
    assert [(s.mistakes, s.updates, s.weights, s.memory) for s in zeros] == [
        (1, 0, [0, 0], (None,))
    ] * len(zeros)
    # A margin of exactly 1 is enough for AROW.
    if rule is AROW:
        for w, updates in ((Fraction(1), 0), (Fraction(99, 100), 1)):
            (step,) = learned(learner, [(1, 0)], [1], weights=[w, 0], fit_intercept=False)
            assert (step.mistakes, step.updates) == (0, updates)
    same = learned(learner, [(1.0, 0.0), (0.5, 0.0)], [1, 1], passes=4)
    assert {step.weights[1] for step in same} == {0}
    assert same[-1].memory[0].variances[0][1] == 1


def test_passes_end_without_mistakes_not_without_updates():
    steps = learned(AROW(1.0), [(2.0, 0.0), (0.0, 2.0), (3.0, 1.0)], [1, 0, 1], passes=1000)
    last = [s for s in steps if s.pass_number == steps[-1].pass_number]
    assert steps[-1].pass_number < 999
    assert sum(s.mistakes for s in last) == 0 < sum(s.updates for s in last)


SCW_RUNS = [
    (
        ("hinge", "full"), [0.493333575861, 0.785312715361, 0.340988698465, 1],
        [-0.986331642956, 0.536679649786, 0.242575598964],
        [0.705265439166, 0.191545236465, 0.131372580481],
    ),
    (
        ("hinge", "diagonal"), [0.493333575861, 0.602779050429, 0.242071683766, 1],
        [-0.396943240811, 0.345720202448, 0.029848741943], None,
    ),
    (
        ("squared_hinge", "full"),
        [0.446800629938, 0.657600279912, 0.316834474091, 1.576972497134],
        [-0.843441097070, 0.535240691999, 0.006112153409], None,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("how", "alphas", "mean", "variances"), SCW_RUNS)
def test_scw_by_hand(how, alphas, mean, variances):
    rule = SCW(0.95, 1.0, *how)
    steps = learned(rule)
    assert [s.updates for s in steps] == [1, 1, 1, 0, 1]
    found = [
        rule.step((2 * y[s.row] - 1) * s.score, variance_of(sigma, X[s.row]), 1.0)
        for s, sigma in before(steps) if s.updates
    ]  # fmt: skip
    assert found == pytest.approx(alphas, abs=1e-12)
    assert turned(steps[-1]) == pytest.approx(mean, abs=1e-12)
    if variances:
        *w, b = steps[-1].memory[0].variances[0]
        assert [b, *w] == pytest.approx(variances, abs=1e-12)


def objective_of(rule, C, mean, sigma, z, sign, given):
    """The divergence from a normal distribution, and C times the loss on an example."""
    mean0, sigma0 = given
    inverse, moved = np.linalg.inv(sigma0), mean - mean0
    divergence = np.trace(inverse @ sigma) - np.log(np.linalg.det(inverse @ sigma)) - len(z)
    loss = max(0.0, rule.phi * sqrt(z @ sigma @ z) - sign * (mean @ z))
    loss = loss if rule.loss == "hinge" else loss * loss
    return (divergence + moved @ inverse @ moved) / 2 + C * loss


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.2, 1.0, 5.0])
def test_scw_minimizes_its_objective(loss, C):
    rule = SCW(0.8, C, loss, "full")
    steps = learned(rule, [(0.5,), (-0.3,), (0.8,), (0.1,)], [1, 0, 0, 1])
    mean = np.zeros(2)
    for step, sigma in before(steps):
        after = np.array([*step.weights, step.intercept])
        if step.updates:
            old = np.array(sigma.blocks[0], float) if step.row else np.eye(2)
            new = np.array(step.memory[0].blocks[0])
            z = np.array([(0.5, -0.3, 0.8, 0.1)[step.row], 1.0])
            sign = (1, -1, -1, 1)[step.row]
            reached = objective_of(rule, C, after, new, z, sign, (mean, old))

            def value(p, given=(mean, old), z=z, sign=sign):
                root = np.array([[p[2], 0.0], [p[3], p[4]]])
                return objective_of(rule, C, p[:2], root @ root.T, z, sign, given)

            for begin, at in ((old, mean), (new, after)):
                root = np.linalg.cholesky(begin)
                found = minimize(
                    value, [*at, root[0, 0], root[1, 0], root[1, 1]], method="Nelder-Mead",
                    options={"maxiter": 2000, "xatol": 1e-9, "fatol": 1e-13},
                )  # fmt: skip
                assert reached <= found.fun + 1e-9
        mean = after


@given(
    rows=rows, loss=st.sampled_from(["hinge", "squared_hinge"]), eta=st.floats(0.55, 0.99),
    kind=st.sampled_from(COVARIANCE_TYPES),
)  # fmt: skip
def test_scw_updates_unless_it_is_sure(rows, loss, eta, kind):
    rule = SCW(eta, 0.5, loss, kind)
    X, y = [[float(v) for v in row[:2]] for row in rows], [row[2] for row in rows]
    steps = learned(rule, X, y)
    for step, sigma in before(steps) if steps[-1].memory[0] else ():
        m, v = (2 * y[step.row] - 1) * step.score, variance_of(sigma, X[step.row])
        assert step.mistakes == (m <= 0)
        if abs(gap := rule.phi * sqrt(v) - m) > 1e-9:
            assert step.updates == (gap > 0)
    # At eta of 1/2 a score of zero would be certain enough.
    assert steps[0].updates == 1


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_weight_of_a_row_multiplies_c(kind, loss):
    heavy = learned(SCW(0.9, 0.25, loss, kind), row_weights=[2.0] * 5)
    other = learned(SCW(0.9, 0.5, loss, kind))
    assert [turned(s) for s in heavy] == [turned(s) for s in other]


def test_second_order_perceptron_by_hand():
    steps = learned(SecondOrderPerceptron())
    assert [s.mistakes for s in steps] == [s.updates for s in steps] == [1, 1, 0, 0, 1]
    A, scores = [[int(i == j) for j in range(3)] for i in range(3)], []
    for step in steps:
        z = [Fraction(v) for v in (*X[step.row], 1)]
        inverse = solve([[Fraction(p) for p in line] for line in A], z)
        scores.append(step.score / (1 + dot(z, inverse)))
        A = step.memory[0].matrix
    assert scores == of("0 -1/4 1/51 1/10 1/20")
    order = [2, 0, 1]
    assert [[A[i][j] for j in order] for i in order] == [[4, 6, 6], [6, 15, 13], [6, 13, 15]]
    assert [steps[-1].memory[0].vector[i] for i in order] == [-1, 0, -2]
    assert turned(steps[-1]) == of("-8/20 11/20 -9/20")
    u = np.array([12, 2, -31])
    inside = u @ np.array(A) @ u
    assert (inside, round(np.linalg.det(A))) == (1480, 80)
    assert sqrt(inside * log(80)) == pytest.approx(80.5320, abs=5e-5)


class OnMistakes(AROW):
    """AROW that learns from mistakes alone."""

    def asks(self, machine, example, y, s, wrong):
        return wrong


@given(rows=rows, a=st.fractions(Fraction(1, 9), 9), weight=st.fractions(Fraction(1, 4), 4))
def test_second_order_perceptron_is_arow_on_mistakes(rows, a, weight):
    X, y = [row[:2] for row in rows], [row[2] for row in rows]
    weights = [weight, *[1] * (len(rows) - 1)]
    own = learned(SecondOrderPerceptron(a), X, y, passes=2, row_weights=weights)
    other = learned(OnMistakes(a, "full"), X, y, passes=2, row_weights=weights)
    assert [turned(s) for s in own] == [turned(s) for s in other]
    assert [s.mistakes for s in own] == [s.mistakes for s in other]


def test_second_order_perceptron_learns_nothing_of_a_row_of_zeros():
    (step,) = learned(SecondOrderPerceptron(), [(0, 0)], [1], fit_intercept=False)
    assert (step.mistakes, step.updates, step.weights) == (1, 0, [0, 0])


@pytest.mark.parametrize("rule", [SCW(), SecondOrderPerceptron()])
def test_two_sided_learners_refuse_native(rule):
    with pytest.raises(ValueError, match=rf"{type(rule).__name__} has no joint rule.* ovr or ovo"):
        next(run(rule, "native", X, y, 3))
    assert len(next(run(rule, "ovr", X, y, 3)).weights) == 3


@pytest.mark.parametrize(
    ("rule", "given", "said"),
    [
        (AROW, {"r": 0}, "r must be above 0, got 0"),
        (AROW, {"covariance_type": "tied"}, "diagonal, diagonal-drop, full, got 'tied'"),
        (SCW, {"covariance_type": "tied"}, "diagonal, diagonal-drop, full, got 'tied'"),
        (SCW, {"eta": 0.5}, "eta must be above 0.5 and below 1"),
        (SCW, {"eta": 1.0}, "eta must be above 0.5 and below 1"),
        (SCW, {"C": 0}, "C must be above 0"),
        (SCW, {"loss": "log"}, "hinge or squared_hinge, got 'log'"),
        (SecondOrderPerceptron, {"a": -1}, "a must be above 0, got -1"),
    ],
)
def test_parameters_that_are_none(rule, given, said):
    with pytest.raises(ValueError, match=said):
        rule(**given)


def test_whole_numbers_of_numpy_are_exact_too():
    made = learned(AROW(1, "full"), np.array(X), np.array(y), passes=2)
    assert turned(made[-1]) == turned(learned(AROW(1, "full"), passes=2)[-1])
    assert all(type(w.numerator) is int for w in made[-1].weights)
