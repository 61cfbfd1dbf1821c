"""The fewest errors of any hyperplane: against brute force, published numbers, and forgers."""

import json
import random
from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from sklearn.datasets import load_iris

import linsep
from checkers_agree import accepts, accepts_alone, random_edit
from fewest_errors_oracle import fewest_by_subsets, fewest_errors, reflected
from fewest_errors_sets import nearly_tied, random_set
from linsep.certificate.constraints import in_lowest_terms
from linsep.errors import DataError, ParameterError
from linsep.separability import sweep as fewest
from linsep.separability.integers import reduced
from linsep.separability.time_limit import Task, TooLarge, limited
from proof_edits import written
from refusals import refused
from thoroughness import THOROUGH, some

XOR = [(0, 0), (1, 1), (0, 1), (1, 0)], [1, 1, -1, -1]


#: the notes' five points that no line separates
FIVE = [(2, 1), (4, 3), (3, 5), (1, 3), (5, 6)], [1, 1, 1, -1, -1]


def both(rows, labels, **given):
    return [fewest_errors(rows, labels, strict=strict, **given) for strict in (True, False)]


def interval(X, y, **how):
    """Both ends for rows, whose proof must hold for both checkers and in JSON."""
    X = np.array(X, dtype=object) if not isinstance(X, np.ndarray) else X
    verdict = linsep.separation(X, np.array(y), errors=True, **how)
    found = verdict.errors
    checked = verdict.verify(X, np.array(y))
    assert checked, checked.reason
    text = verdict.to_json()
    assert linsep.from_json(text) == verdict
    assert accepts_alone(text, X, np.array(y))
    assert found.closed == (found.low == found.high)
    return found.least * found.unit, found.most * found.unit


def test_iris_has_one_error():
    X, y = load_iris(return_X_y=True)
    found = linsep.separation(X[50:], y[50:], errors=True).errors
    assert (found.low, found.high) == (1, 1)
    # Only row 84 or 134, counted from 1, can be the one error.
    assert found.rows in ((33,), (83,))
    for row, other in [(83, 133), (133, 83)]:
        weights = np.ones(100)
        weights[[row - 50, other - 50]] = 0.25, 0.5
        lighter = linsep.separation(X[50:], y[50:], errors=True, sample_weight=weights).errors
        assert (lighter.rows, lighter.low, lighter.high) == ((row - 50,), 0.25, 0.25)


def test_bad_weights_get_a_sentence():
    with refused(ParameterError, "needs-option", option="sample_weight"):
        linsep.separation(*XOR, sample_weight=[1, 1, 1, 1])
    for weights, code in [([1, 1], "shape"), ([1, -1, 1, 1], "out-of-range"), ([0] * 4, "no-rows")]:
        with refused(DataError, code):
            linsep.separation(*XOR, errors=True, sample_weight=weights)


def test_time_that_is_up_leaves_an_interval():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 8)), rng.integers(0, 2, 300)
    verdict = linsep.separation(X, y, errors=True, time_limit=0.5)
    assert 0 <= verdict.errors.low <= verdict.errors.high <= 150
    assert verdict.verify(X, y)


def test_several_classes_have_an_interval_for_each_question():
    X, y = load_iris(return_X_y=True)
    every = linsep.separation(X, y, errors=True, formulations=("ovo", "multinomial"))
    assert {pair: one.errors.high for pair, one in every.pairs.items()} == {
        (0, 1): 0, (0, 2): 0, (1, 2): 1,
    }  # fmt: skip
    assert every.multinomial.errors is None
    assert every.verify(X, y)


def test_forged_ends_are_refused():
    """Edits of proofs that a checker accepts leave a true claim, and both checkers agree."""
    draw, held = random.Random(49), 0
    for case in range(10_000 if THOROUGH else 200):
        if case % 25 == 0:
            X, y, weights, intercept = random_set(case, most=8, dimensions=2)
            while len(set(y)) < 2 or (weights is not None and not any(weights)):
                X, y, weights, intercept = random_set(draw.getrandbits(30), 8, 2)
            strict, X, y = draw.random() < 0.5, np.array(X, dtype=object), np.array(y)
            how = {"strict": strict, "sample_weight": weights, "fit_intercept": intercept}
            plain = json.loads(linsep.separation(X, y, errors=True, **how).to_json())
        part = random_edit(plain["verdicts"][0]["errors"], draw, None)
        forged = plain | {"verdicts": [plain["verdicts"][0] | {"errors": part}]}
        text = written(forged)
        held_here = accepts(text, X, y)
        assert held_here == accepts_alone(text, X, y), text
        if held_here:
            held += 1
            claim = linsep.from_json(text).errors
            counts = [claim.weight(row) * claim.unit for row in range(len(y))]
            true = fewest_errors(X.tolist(), y.tolist(), counts, claim.strict, intercept)
            assert claim.least * claim.unit <= true <= claim.most * claim.unit
    assert held  # a lower end that is lower is no forgery


def test_the_proof_of_many_columns_is_never_that_all_were_tried():
    X, y = load_iris(return_X_y=True)
    plain = json.loads(linsep.separation(X[50:], y[50:], errors=True).to_json())
    plain["verdicts"][0]["errors"] |= {"copies": [], "contradictions": []}
    plain["verdicts"][0]["errors"]["tree"] = {"exhaustive": True}
    assert not accepts(written(plain), X[50:], y[50:])
    assert not accepts_alone(written(plain), X[50:], y[50:])


def test_weights_of_a_file_count_and_rows_of_weight_0_do_not(tmp_path):
    x, weights, y = [2, 1, 2, 3], [0, 5, 3, 4], [1, 1, -1, 1]
    lines = ["x,w,y", *map("{},{},{}".format, x, weights, y)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    source = linsep.open_source(tmp_path / "rows.csv", target="y", weight="w")
    found = linsep.separation(source, errors=True).errors
    assert (found.low, found.high) == (3, 3)
    assert [source.number(row) for row in found.rows] == [3]
    assert {one.row for one in linsep.suspicious_labels(source)} == {1, 2, 3}


def swept(rows, labels, weights, strict, intercept):
    a = [reflected(x, y, intercept) for x, y in zip(rows, labels, strict=True)]
    c = weights if weights is not None else [1] * len(a)
    below = lcm(*(Fraction(x).denominator for x in c))
    counts = [int(Fraction(x) * below) for x in c]
    whole = [in_lowest_terms(dict(enumerate(map(Fraction, row)))) for row in a]
    if not strict and len(reduced(whole).rows) < len(a[0]):
        return Fraction(0)  # all rows lie on a hyperplane
    errors, w = fewest.fewest_errors(whole, counts, strict)
    values = [sum(x * w.get(j, 0) for j, x in row.items()) for row in whole]
    wrong = [v <= 0 if strict else v < 0 for v in values]
    assert strict or w
    assert errors == sum(x for x, bad in zip(counts, wrong, strict=True) if bad)
    return Fraction(errors, below)


def far_apart(rng, n, d):
    """Rows of decimals that meet in planes by rounding only, near zero and far from it."""
    X = np.round(rng.normal(size=(n, d)), 1) * 10.0 ** rng.integers(-9, 9, d)
    return X + rng.choice([0.0, 1e6, 2.0**40]), np.where(rng.random(n) < 0.5, 1, -1)


@pytest.mark.parametrize("seed", some(range(40), 20))
def test_decimals_that_meet_but_for_rounding(seed):
    rng = np.random.default_rng(seed)
    X, y = far_apart(rng, 12, 2)
    for strict in (True, False):
        expected = fewest_errors(X.tolist(), y.tolist(), None, strict)
        assert swept(X.tolist(), y.tolist(), None, strict, True) == expected


@pytest.mark.parametrize("seed", some(range(40), 20))
def test_what_floats_cannot_tell_apart(seed):
    rows, labels = nearly_tied(seed)
    rows = [row[:2] for row in rows]
    for strict in (True, False):
        expected = fewest_errors(rows, labels, None, strict)
        assert swept(rows, labels, None, strict, True) == expected


def test_when_the_time_is_up():
    table = np.random.default_rng(0).integers(-99, 99, (30, 3)).tolist()
    rows = [dict(enumerate(row)) for row in table]
    with limited(Task(1e-9)), pytest.raises(TooLarge):
        fewest.fewest_errors(rows, [1] * 30, True)


def test_the_oracle_tries_all_subsets():
    # Of the five points only the last three can be the one error.
    assert both(*FIVE, weights=[1, 1, 2, 3, 3]) == [2, 2]
    assert both([(0, 0), (0, 0)], [1, -1], weights=[3, 2]) == [2, 0]
    for seed in range(0, 400, 80):
        rows, labels, weights, intercept = random_set(seed, most=7, dimensions=3)
        for strict in (True, False):
            how = {"weights": weights, "strict": strict, "fit_intercept": intercept}
            assert fewest_errors(rows, labels, **how) == fewest_by_subsets(rows, labels, **how)


def test_worked_numbers():
    for strict in (True, False):
        assert interval(*XOR, strict=strict) == (1, 1)
        assert interval(*FIVE, strict=strict, sample_weight=[1, 1, 2, 3, 3]) == (2, 2)
        both = interval([[0, 0], [0, 0]], [1, -1], strict=strict, sample_weight=[3, 2])
        assert both == ((2, 2) if strict else (0, 0))
    for scale, shift in [(2.0**900, 0), (1.0, 2.0**40)]:
        X = np.array(FIVE[0], dtype=float) * scale + shift
        assert interval(X, FIVE[1]) == (1, 1)


@pytest.mark.parametrize("part", range(4))
def test_brute_force_agrees(part):
    for seed in range(part, 2_000, 4 if THOROUGH else 250):
        X, y, weights, intercept = random_set(seed)
        if len(set(y)) < 2 or (weights is not None and not any(weights)):
            continue
        for strict in (True, False):
            wanted = fewest_errors(X, y, weights, strict, intercept)
            how = {"strict": strict, "sample_weight": weights, "fit_intercept": intercept}
            assert interval(X, y, **how) == (wanted, wanted), seed


@pytest.mark.thorough
def test_voicepath_has_nineteen(shared_data):
    """He and Little 2023 report 19."""
    data = np.loadtxt(shared_data / "errors" / "voicepath.csv", delimiter=",")
    assert interval(data[:, :2], data[:, 2]) == (19, 19)


def test_other_rows_are_refused():
    verdict = linsep.separation(*XOR, errors=True, sample_weight=[1, 2, 3, 4])
    X, y = np.array(XOR[0] * 2), np.array(XOR[1] * 2)
    assert verdict.verify(X, y).holds is False
    assert verdict.verify(X[:3], y[:3]).holds is False
