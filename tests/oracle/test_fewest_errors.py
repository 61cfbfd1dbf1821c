"""The fewest errors of any hyperplane: against brute force, published numbers, and forgers."""

import json
import random
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris
from test_fewest_errors_oracle import FIVE, XOR

import linsep
from checkers_agree import accepts, accepts_alone, random_edit
from fewest_errors_oracle import fewest_errors
from fewest_errors_sets import random_set
from linsep.certificate.errors import Exhaustive
from linsep.errors import DataError, ParameterError
from proof_edits import written
from refusals import refused
from thoroughness import THOROUGH, some


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


@pytest.mark.parametrize("strict", [True, False])
def test_worked_numbers(strict):
    assert interval(*XOR, strict=strict) == (1, 1)
    assert interval(*FIVE, strict=strict) == (1, 1)
    assert interval(*FIVE, strict=strict, sample_weight=[1, 1, 2, 3, 3]) == (2, 2)
    both = interval([[0, 0], [0, 0]], [1, -1], strict=strict, sample_weight=[3, 2])
    assert both == ((2, 2) if strict else (0, 0))


@pytest.mark.parametrize("seed", some(range(2_000), share=20))
def test_brute_force_agrees(seed):
    X, y, weights, intercept = random_set(seed)
    if len(set(y)) < 2 or (weights is not None and not any(weights)):
        pytest.skip("one class, or no weight")
    for strict in (True, False):
        wanted = fewest_errors(X, y, weights, strict, intercept)
        how = {"strict": strict, "sample_weight": weights, "fit_intercept": intercept}
        assert interval(X, y, **how) == (wanted, wanted)


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


@pytest.mark.skipif(not THOROUGH, reason="half a minute: in the thorough tier")
def test_voicepath_has_nineteen(shared_data):
    """He and Little 2023 report 19."""
    data = np.loadtxt(shared_data / "errors" / "voicepath.csv", delimiter=",")
    assert interval(data[:, :2], data[:, 2]) == (19, 19)


def test_gram_matrices_need_exact_values():
    K = [[2, 1, 0], [1, 2, 1], [0, 1, 2]]
    found = linsep.separation(K=np.array(K, dtype=object), y=[0, 1, 0], errors=True)
    assert found.errors.high == 0
    with refused(DataError, "not-exact", option="K"):
        linsep.separation(K=np.array(K, dtype=float), y=[0, 1, 0], errors=True)


def test_bad_weights_get_a_sentence():
    with refused(ParameterError, "needs-option", option="sample_weight"):
        linsep.separation(*XOR, sample_weight=[1, 1, 1, 1])
    for weights, code in [
        ([1, 1], "shape"), ([1, -1, 1, 1], "out-of-range"), ([0] * 4, "no-rows"),
        ([1, np.nan, 1, 1], "not-finite"), (["a"] * 4, "not-finite"),
    ]:  # fmt: skip
        with refused(DataError, code):
            linsep.separation(*XOR, errors=True, sample_weight=weights)


def test_time_that_is_up_leaves_an_interval():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 8)), rng.integers(0, 2, 300)
    verdict = linsep.separation(X, y, errors=True, time_limit=0.5)
    assert 0 <= verdict.errors.low <= verdict.errors.high <= 150
    assert verdict.verify(X, y)
    assert "both ends are proved" in str(verdict)


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
    for case in range(10_000 if THOROUGH else 500):
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


def test_huge_tiny_and_shifted_rows():
    for scale, shift in [(2.0**900, 0), (2.0**-900, 0), (1.0, 2.0**40), (1e-3, 1e8)]:
        X = np.array(FIVE[0], dtype=float) * scale + shift
        assert interval(X, FIVE[1]) == (1, 1)
    # Rounded to the same place, all rows contradict each other.
    assert interval(np.full((5, 2), 2.0**60), FIVE[1]) == (2, 2)


def test_weights_are_exact():
    weights = [Fraction(1, 3), Fraction(1, 3), Fraction(1, 2), Fraction(2, 7)]
    assert interval(*XOR, sample_weight=weights) == (Fraction(2, 7),) * 2


@pytest.mark.thorough
@pytest.mark.parametrize("strict", [True, False])
def test_few_dimensions_are_tried_out(strict):
    """Where contradictions do not close the interval the check tries all hyperplanes again."""
    rng = np.random.default_rng(5)
    X = rng.integers(-6, 7, (60, 2))
    y = rng.integers(0, 2, 60)
    weights = rng.integers(1, 4, 60)
    low, high = interval(X, y, strict=strict, sample_weight=weights)
    verdict = linsep.separation(X, y, errors=True, strict=strict, sample_weight=weights)
    assert isinstance(verdict.errors.tree, Exhaustive)
    assert low == high == fewest_errors(X.tolist(), (2 * y - 1).tolist(), weights.tolist(), strict)
    # One more than the truth is refused, and so is the same proof of more columns.
    plain = json.loads(verdict.to_json())
    errors = plain["verdicts"][0]["errors"]
    errors["least"] = hex(int(errors["least"], 16) + 1)
    assert not accepts(written(plain), X, y)
    assert not accepts_alone(written(plain), X, y)


def test_the_proof_of_many_columns_is_never_that_all_were_tried():
    X, y = load_iris(return_X_y=True)
    plain = json.loads(linsep.separation(X[50:], y[50:], errors=True).to_json())
    plain["verdicts"][0]["errors"] |= {"copies": [], "contradictions": []}
    plain["verdicts"][0]["errors"]["tree"] = {"exhaustive": True}
    assert not accepts(written(plain), X[50:], y[50:])
    assert not accepts_alone(written(plain), X[50:], y[50:])


def test_other_rows_are_refused():
    """Also more of them than the proof knows weights of."""
    verdict = linsep.separation(*XOR, errors=True, sample_weight=[1, 2, 3, 4])
    X, y = np.array(XOR[0] * 2), np.array(XOR[1] * 2)
    assert verdict.verify(X, y).holds is False
    assert verdict.verify(X[:3], y[:3]).holds is False


@pytest.mark.parametrize("name", ["rows.csv", pytest.param("rows.vw", marks=pytest.mark.thorough)])
def test_weights_of_a_file_count_and_rows_of_weight_0_do_not(name, tmp_path):
    x, weights, y = [2, 1, 2, 3], [0, 5, 3, 4], [1, 1, -1, 1]
    lines = [f"{label} {w} | a:{k}" for k, w, label in zip(x, weights, y, strict=True)]
    if name == "rows.csv":
        lines = ["x,w,y", *map("{},{},{}".format, x, weights, y)]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    how = {"target": "y", "weight": "w"} if name == "rows.csv" else {}
    source = linsep.open_source(tmp_path / name, **how)
    found = linsep.separation(source, errors=True).errors
    assert (found.low, found.high) == (3, 3)
    assert [source.number(row) for row in found.rows] == [3]
    assert {one.row for one in linsep.suspicious_labels(source)} == {1, 2, 3}
