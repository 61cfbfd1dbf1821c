"""What a score of zero is in training: theorems, cycles and their proofs under each rule."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from test_worked_numbers import OVERLAP, SIGNED, XOR
from test_zero_scores import RULES, SPARING, ZEROS, drawn, options_of, start_of

import linsep
from linsep import Perceptron, convergence, from_json, textbook
from linsep.certificate.cycles import Cycle
from linsep.errors import DataError
from refusals import refused
from storages import classes_of
from thoroughness import THOROUGH, examples

# Theorems.


def labeled(X):
    """All ways to label these rows with two classes, both in use; half of them in little time."""
    for y in product((0, 1) if THOROUGH else (0,), *[(0, 1)] * (len(X) - 1)):
        if 0 < sum(y) < len(X):
            yield list(y)


@pytest.mark.parametrize(("X", "fit_intercept"), [
    ([(1, 0), (0, 1), (0, -1), (2, 1)], True), ([(0, 0), (1, 2), (2, 1), (-1, 0)], False),
])  # fmt: skip
def test_the_theorems_bound_every_run_from_zero(X, fit_intercept):
    """By brute force: all labels, all orders, both rules that start at zero."""
    some = 0
    for y in labeled(X):
        known = linsep.bounds(X, y, fit_intercept=fit_intercept, passes=6)
        for order, zero in product([range(len(X)), range(len(X))[::-1], (1, 0, *range(2, len(X)))],
                                   ("mistake", "negative")):  # fmt: skip
            steps = list(textbook.run(
                textbook.Perceptron(zero=zero), "binary", X, y, fit_intercept=fit_intercept,
                max_iter=6, orders=lambda _, order=order: order,
            ))  # fmt: skip
            made = sum(step.mistakes for step in steps)
            for bound in known:
                if bound.learner == "Perceptron" and bound.what == "mistakes":
                    assert made <= bound.value, (y, zero, bound)
                    some += 1
    assert some > 50


@examples(60, 20)
@given(st.data())
def test_the_proof_update_by_update_is_of_every_rule(data):
    """<w, u> grows by gamma at least, ||w||^2 by R^2 at most, from any start."""
    zero, fit_intercept = data.draw(st.sampled_from(ZEROS)), data.draw(st.booleans())
    X, y, coef, intercept = drawn(data, 2, 1, zero, fit_intercept)
    start = {"coef_init": coef, "intercept_init": intercept if fit_intercept else None}
    model = Perceptron(zero=zero, shuffle=False, fit_intercept=fit_intercept)
    if model.separation(X, y).kind != "separable":
        return
    proof = convergence(model, X, y, **start, max_rounds=10_000)
    assert (proof.products >= proof.least - 1e-9).all()
    assert (proof.lengths <= proof.most + 1e-9).all()
    assert len(proof.rounds) <= proof.limit
    # So a run on separable rows ends, whatever a zero is.
    fitted = model.set_params(max_iter=5000).fit(X, y, **start)
    assert fitted.stop_reason_ in ("converged", "clean")
    assert fitted.n_updates_ == len(proof.rounds)


def test_bounds_of_a_fitted_run():
    X, y = np.array(SIGNED.X), SIGNED.y
    model = Perceptron(fit_intercept=False, zero="negative").fit(X, y)
    found = model.bounds(X, y)
    assert found.kept
    assert {"Novikoff", "hinge", "||w||/M"} <= {bound.name for bound in found}
    start = Perceptron(fit_intercept=False, zero="correct").fit(X, y, [[1.0, 1.0]])
    assert "mistake bounds" in start.bounds(X, y).left_out
    # ||w||/M bounds the margin of every separator by the run alone
    low, _ = linsep.separation(X, y, fit_intercept=False, margin="max").margin
    assert low <= found["||w||/M"].value
    game = linsep.Adversary(0.2)
    learner = Perceptron(fit_intercept=False, zero="negative")
    assert game.run(learner) == 25
    assert learner.bounds(game.X, game.y)["Novikoff"].ratio == pytest.approx(1.0)


# Cycles, and their proofs.


def cycle_of(zero):
    model = Perceptron(shuffle=False, zero=zero)
    return model.fit(OVERLAP.X, OVERLAP.y, [OVERLAP.weights], [OVERLAP.intercept]).cycle_


def test_a_proof_says_what_a_zero_is():
    X, y = np.array(OVERLAP.X, float), OVERLAP.y
    default = cycle_of("mistake")
    assert "zero" not in default.to_json()  # as it was before there was a choice
    assert dict(default.lines()).get("zero scores") is None
    for zero in SPARING:
        cycle = cycle_of(zero)
        assert f'"zero": "{zero}"' in cycle.to_json()
        assert "mistakes" in dict(cycle.lines())["zero scores"]
        assert cycle.verify(X, y)
        assert cycle.verify(sp.csr_matrix(X), y)
        for text in ('"zero": 1', '"zero": "mistake"', '"zero": null'):
            with refused(DataError, "bad-proof"):
                from_json(cycle.to_json().replace(f'"zero": "{zero}"', text))
        unknown = from_json(cycle.to_json().replace(f'"zero": "{zero}"', '"zero": "maybe"'))
        assert unknown.verify(X, y).holds is False


def replayed_by_twin(cycle, X, y):
    """Whether the twin, in whole numbers, returns to the weights of a cycle after a mistake."""
    *w, b = (Fraction(w, cycle.unit) for w in cycle.weights)
    steps = list(textbook.run(
        RULES[cycle.update](Fraction(cycle.step, cycle.unit), zero=cycle.zero), "binary", X,
        [int(label == 1) for label in y], max_iter=cycle.passes, weights=w, intercept=b,
        fit_intercept=cycle.fit_intercept,
    ))  # fmt: skip
    back = (steps[-1].weights, steps[-1].intercept) == (w, b)
    return back and steps[-1].pass_number + 1 == cycle.passes and any(s.mistakes for s in steps)


def test_proofs_of_one_rule_are_those_of_another_only_where_its_twin_says_so():
    rng, found = np.random.default_rng(8), set()
    for _, update, zero in product(range(25), RULES, ("mistake", "negative")):
        X, y = rng.integers(-2, 3, (5, 2)).tolist(), [1, -1, *rng.choice([-1, 1], 3).tolist()]
        cycle = Perceptron(shuffle=False, update=update, zero=zero, max_iter=200).fit(X, y).cycle_
        for other in ZEROS if cycle else ():
            forged = replace(cycle, zero=other)
            holds = bool(forged.verify(X, y))
            assert holds == replayed_by_twin(forged, X, y)
            found.add((zero, other, holds))
    assert {(zero, other, zero == other) for zero in ZEROS[:2] for other in ZEROS} <= found


@pytest.mark.parametrize("update", RULES)
@pytest.mark.parametrize("scheme", ["binary", "ovr", "ovo"])
@examples(40, 10)
@given(st.data())
def test_a_run_that_repeats_itself_stops(scheme, update, data):
    k, zero, passes = classes_of(scheme)[0], data.draw(st.sampled_from(ZEROS)), 20
    X, y, coef, intercept = drawn(data, k, {2: 1, 3: 3}[k], zero, True)
    if coef is None:
        coef, intercept = ([[0, 0]], [0]) if k == 2 else ([[0, 0]] * 3, [0] * 3)
    steps = list(textbook.run(RULES[update](zero=zero), scheme, X, y, k, max_iter=passes,
                              **start_of(scheme, coef, intercept)))  # fmt: skip
    ends = list({step.pass_number: step for step in steps}.values())
    first = [(coef[0], intercept[0])] if k == 2 else list(zip(coef, intercept, strict=True))
    before = [[(list(w), b) for w, b in first]] + [
        [(s.weights, s.intercept)] if k == 2 else list(zip(s.weights, s.intercept, strict=True))
        for s in ends
    ]
    model = Perceptron(shuffle=False, max_iter=passes, **options_of(scheme, update, zero))
    model.fit(np.array(X, float), y, coef, intercept)
    clean = not any(step.mistakes for step in steps if step.pass_number == steps[-1].pass_number)
    back = next(
        (p for p in range(1, len(before))
         if all(any(h[m] == now for h in before[:p]) for m, now in enumerate(before[p]))), None,
    )  # fmt: skip
    if clean and back in (None, len(before) - 1):
        assert model.stop_reason_ in ("converged", "clean")
    elif back is None:
        assert model.stop_reason_ == "max_iter"
    else:
        assert (model.stop_reason_, model.n_iter_) == ("cycle", back)
        assert model.cycle_.verify(np.array(X), y)


def test_the_picture_of_a_cycle_walks_by_its_rule():
    from linsep.plot import CycleDisplay

    X, y = np.array(XOR.X, float), XOR.y
    for zero, updates in (("mistake", 4), ("negative", 2)):
        model = Perceptron(fit_intercept=False, shuffle=False, zero=zero).fit(X, y)
        from linsep.plot.runs import _weights_of_cycle

        walk = list(_weights_of_cycle(model.cycle_, X, np.array(y) == 1))
        assert len(walk) == 1 + updates
        assert walk[0][0] == walk[-1][0] == [Fraction(0)] * 2
        assert isinstance(model.cycle_, Cycle)
        assert CycleDisplay.from_estimator(model, X, y).figure_ is not None
