"""What a score of zero is in training: theorems, cycles and their proofs under each rule."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import scipy.sparse as sp
from hypothesis import given, strategies as st
from test_worked_numbers import OVERLAP
from test_zero_scores import RULES, SPARING, ZEROS, drawn

import linsep
from linsep import Perceptron, convergence, from_json, textbook
from linsep.errors import DataError
from refusals import refused
from thoroughness import THOROUGH, examples

# Theorems.


def labeled(X):
    """All ways to label these rows with two classes, both in use; half of them in little time."""
    for y in product((0, 1) if THOROUGH else (0,), *[(0, 1)] * (len(X) - 1)):
        if 0 < sum(y) < len(X):
            yield list(y)


def test_the_theorems_bound_every_run_from_zero():
    X, fit_intercept = [(1, 0), (0, 1), (0, -1), (2, 1)], True
    # by brute force: all labels, all orders, both rules that start at zero
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


# Cycles, and their proofs.


def cycle_of(zero):
    model = Perceptron(shuffle=False, zero=zero)
    return model.fit(OVERLAP.X, OVERLAP.y, [OVERLAP.weights], [OVERLAP.intercept]).cycle_


def test_a_proof_says_what_a_zero_is():
    X, y = np.array(OVERLAP.X, float), OVERLAP.y
    for zero in SPARING:
        cycle = cycle_of(zero)
        assert f'"zero": "{zero}"' in cycle.to_json()
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
