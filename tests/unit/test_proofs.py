"""Known truths, extreme numbers and bad input; proofs that are edited, in any text."""

import json
from collections import Counter
from contextlib import suppress
from itertools import islice

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_svmlight_file
from sklearn.svm import SVC

from checkers_agree import accepts_alone
from linsep import Perceptron, from_json, separation
from linsep.certificate.verdicts import Undecided
from linsep.errors import DataError, ParameterError
from proof_edits import REASONS, edits, why_true, written
from refusals import refused
from thoroughness import THOROUGH, examples


def assert_proved(X, y, **how):
    verdict = separation(X, y, **how)
    assert verdict.verify(X, y), verdict.verify(X, y).reason
    assert verdict.verify(X, y, exact=True), verdict.verify(X, y, exact=True).reason
    assert from_json(verdict.to_json()) == verdict
    return verdict


# Truths that are known.


def test_iris():
    X, y = load_iris(return_X_y=True)
    assert assert_proved(X, y == 0).kind == "separable"
    verdict = assert_proved(X[50:], y[50:])
    assert verdict.kind == "overlapping"
    assert len(verdict.witness.rows) <= 6
    every = assert_proved(X, y)
    assert [v.kind for v in every.against_rest.values()] == ["separable"] + ["overlapping"] * 2
    assert {pair: v.kind for pair, v in every.pairs.items()} == {
        (0, 1): "separable", (0, 2): "separable", (1, 2): "overlapping",
    }  # fmt: skip
    assert every.multinomial.kind == "quasi-separable"  # setosa runs away from the others
    assert "<table>" in every._repr_html_()


def test_breast_cancer_is_separable_as_its_documentation_says():
    X, y = load_breast_cancer(return_X_y=True)
    verdict = assert_proved(X, y, margin="max")
    assert verdict.kind == "separable"
    low, high = verdict.margin
    assert 4.1371e-05 < low <= high < low * (1 + 1e-6)


def test_xor_takes_all_four_rows():
    verdict = assert_proved(*XOR)
    assert verdict.kind == "overlapping"
    assert sorted(verdict.witness.rows) == [0, 1, 2, 3]
    assert verdict.witness.multipliers == (1, 1, 1, 1)


def test_complete_and_quasi_complete_separation():
    # as in the reports on perfect prediction: one feature tells, or nearly
    x = np.arange(1.0, 9.0)[:, None]
    assert assert_proved(x, x[:, 0] > 4).kind == "separable"
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    tied = np.array([1.0, 2, 3, 4, 4, 5, 6, 7])[:, None]
    verdict = assert_proved(tied, y)
    assert verdict.kind == "quasi-separable"
    assert verdict.boundary == (3, 4)
    assert verdict.limits() == {"x0": "+inf", "intercept": "-inf"}
    # a dummy variable that is on only where y is 1, beside a feature that overlaps
    noise = np.array([0.3, -1.0, 0.8, 0.1, -0.2, 0.5, 0.9, -0.7])
    dummy = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    verdict = assert_proved(np.column_stack([noise, dummy]), y)
    assert verdict.kind == "quasi-separable"
    assert verdict.limits() == {"x0": "finite", "x1": "+inf", "intercept": "finite"}


@pytest.mark.parametrize("name", ["agaricus.txt.train", "heart_scale.gz"])
def test_shared_data(shared_data, name):
    X, y = load_svmlight_file(str(shared_data / "libsvm" / name))
    expected = {"agaricus.txt.train": "separable", "heart_scale.gz": "overlapping"}
    assert assert_proved(X, y).kind == expected[name]


# Margins.


def test_widest_margin_is_that_of_a_support_vector_machine():
    rng = np.random.default_rng(0)
    w = rng.normal(size=6)
    X = rng.normal(size=(300, 6))
    X = X[np.abs(X @ w) > 0.3]
    y = X @ w > 0
    low, high = assert_proved(X, y, margin="max").margin
    assert high <= low * (1 + 1e-6)
    machine = SVC(kernel="linear", C=1e10, tol=1e-6).fit(X, y)
    margins = machine.decision_function(X) * np.where(y, 1, -1) / np.linalg.norm(machine.coef_)
    assert margins.min() == pytest.approx(low, rel=1e-3)
    assert margins.min() <= high
    loose = separation(X, y).margin
    assert loose[0] <= high
    assert loose[1] >= low


def test_integers_keep_every_digit():
    top = 2**60
    X = np.array([[top + 1], [top]])  # one number in float64
    y = np.array([1, 0])
    assert assert_proved(X, y).kind == "separable"
    assert assert_proved(X.astype(float), y).kind == "overlapping"
    assert assert_proved(sp.csr_matrix(X), y).kind == "separable"


def test_floats_that_only_exact_arithmetic_tells_apart():
    step = 2.0**-52
    X = np.array([[1.0, 0.0], [1.0 + step, 0.0], [1.0 + 2 * step, 0.0]])
    assert assert_proved(X, np.array([0, 0, 1])).kind == "separable"
    assert assert_proved(X, np.array([0, 1, 0])).kind == "overlapping"
    X = np.array([[0.1 + 0.2], [0.3]])  # not the same float
    assert assert_proved(X, np.array([0, 1])).kind == "separable"


def test_weights_that_floats_get_wrong_on_rows_in_the_working_set():
    # the plane halfway between the rows rounds to one through a row
    X = np.array([[0.0], [5e-324]])
    for margin in (None, "max"):
        assert assert_proved(X, np.array([1, 0]), margin=margin).kind == "separable"
    top = np.array([[2.0**62], [2.0**62 + 1024]]).astype(np.int64)
    assert "separable" in str(assert_proved(top, np.array([0, 1]), margin="max"))


def test_proofs_of_earlier_formats_are_refused_in_a_sentence():
    X, y = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]]), [1, -1, -1, 1]
    cycle = Perceptron(shuffle=False).fit(X, y).cycle_
    for text in (TEXTS["quasi-separable"], cycle.to_json()):
        with refused(DataError, "other-version"):
            from_json(text.replace("linsep proof 3", "linsep proof 2"))
        with refused(DataError, "other-version"):
            from_json(text.replace("linsep proof 3", "linsep proof 4"))


def test_verdicts_given_twice_or_left_out_are_refused():
    plain = json.loads(separation(*THREE).to_json())
    found = plain["verdicts"]
    assert len(from_json(written(plain)).verdicts()) == 7
    others = [found[1:], found[:-1], [*found, found[-1]], found[::-1], [found[0], *found], []]
    others += [[found[1], found[0], *found[2:]], [found[0]] * 7]
    for verdicts in others:
        with refused(DataError, "bad-proof"):
            from_json(written(plain | {"verdicts": verdicts}))
    for formulations in ([], ["ovr"], ["ovo", "ovr", "multinomial"], ["ovr", "ovr"], ["all"], None):
        with refused(DataError, "bad-proof"):
            from_json(written(plain | {"formulations": formulations}))


@examples(150)
@given(st.data())
def test_damaged_text_is_one_clear_error_or_does_not_hold(data):
    X, y = QUASI
    text = bytearray(TEXTS["quasi-separable"].encode())
    if data.draw(st.booleans()):
        text = text[: data.draw(st.integers(0, len(text) - 3))]
    else:
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    with suppress(DataError):
        assert from_json(bytes(text)).verify(X, y).reason


XOR = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]), np.array([1, 0, 0, 1])
IRIS = load_iris(return_X_y=True)
QUASI = np.array([[1.0, 2], [2, 0], [3, 1], [3, 1], [4, 1]]), np.array([0, 0, 0, 1, 1])
LONG = np.array([[2**62 + 1], [2**62 + 3], [2**62 + 4]]), np.array([0, 0, 1])
THREE = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [2, 2], [2, 1]]), np.array([0, 0, 1, 1, 2, 2])
DATA = {
    "separable": (IRIS[0][:100:9], IRIS[1][:100:9]),
    "long weights": LONG,
    "quasi-separable": QUASI,
    "overlapping": XOR,
    "several": THREE,
}
TEXTS = {name: separation(*DATA[name]).to_json() for name in DATA}


@pytest.mark.parametrize("name", DATA)
def test_edited_verdicts_are_refused_or_true_for_a_listed_reason(name):
    X, y = DATA[name]
    verdict = separation(X, y, margin="max")
    assert from_json(verdict.to_json()) == verdict
    plain = json.loads(verdict.to_json())
    counts: Counter = Counter()
    step = (17 if name == "several" else 1) * (1 if THOROUGH else 3)  # of seven verdicts alike
    for path, one in islice(edits(plain), 0, None, step):
        try:
            claim = from_json(written(one))
        except DataError:
            assert not accepts_alone(written(one), X, y), (path, one)
            counts["no proof"] += 1
            continue
        check = claim.verify(X, y)
        assert bool(check) == accepts_alone(written(one), X, y), (path, one)
        if check:
            assert str(claim)
            reason = why_true(path, claim, verdict, X, y)
            assert reason in REASONS.values(), (path, one)
        else:
            assert check.holds is False
        counts["true" if check else "does not hold"] += 1
        assert not claim.verify(X, y, exact=False)
    assert counts["no proof"] > 100
    assert counts["does not hold"] > 5
    assert counts["true"] < counts["does not hold"]


def test_edited_cycles_are_refused_or_true():
    X, y = XOR
    cycle = Perceptron(fit_intercept=False, shuffle=False).fit(X, y).cycle_
    assert cycle.verify(X, y)
    refused_ = 0
    for _, one in edits(json.loads(cycle.to_json())):
        try:
            claim = from_json(json.dumps(one))
        except DataError:
            refused_ += 1
            continue
        if claim.verify(X, y):  # other numbers of the passes, or multiples of the weights
            assert claim.again > claim.first
        else:
            refused_ += 1
    assert refused_ > 100


def test_texts_in_another_form_are_refused():
    text = separation(*QUASI).to_json()
    for old, new in (
        ('"rows": 5,', '"rows": 5, "rows": 5,'), ('"rows": 5,', '"rows": 5.0,'),
        ('"rows": 5,', '"rows": 5,\n  "more": 1,'), ('"rows": 5,', '"rows":  5,'),
        ("   0,\n   1", "   0,\n   true"), ("   0,\n   1", "   0,\n   1.0"),
        ("   0,\n   1", "   0,\n   1,\n   1"), ("   0,\n   1", "   1,\n   0"),
        ('"recipe": null', '"recipe": {"a": NaN}'), ('"recipe": null', '"recipe": {"a": 1e999}'),
        ('"recipe": null', '"recipe": {"a": 1, "a": 1}'), ('"recipe": null', '"recipe": []'),
    ):  # fmt: skip
        assert old in text
        with refused(DataError, "bad-proof"):
            from_json(text.replace(old, new, 1))
    for wrong in (
        text[:-1], text + "\n", "", "null", "[]", "{}", "1", "[" * 100_000, "\0", "1" * 5_000,
        '{"format": ' * 5_000, b"\xff\xfe",
    ):  # fmt: skip
        with refused(DataError, "bad-proof"):
            from_json(wrong)


def test_a_proof_of_other_data_is_refused():
    X, y = IRIS
    verdict = separation(X[50:], y[50:])
    for other, labels in (
        (X, y), (X[50:] + 1e-12, y[50:]), (X[50:][::-1].copy(), y[50:][::-1]),
        (X[50:], np.where(y[50:] == 1, 2, 1)), (X[50:], y[50:] + 1), (X[50:, :3], y[50:]),
    ):  # fmt: skip
        assert verdict.verify(other, labels).holds is False
    every, shifted = separation(*THREE), separation(THREE[0] + 1, THREE[1])
    every.pairs[0, 1] = shifted.pairs[0, 1]
    assert every.verify(*THREE).holds is False
    frame = pd.DataFrame(QUASI[0], columns=["a", "b"])
    text = separation(frame, QUASI[1]).to_json()
    assert from_json(text).verify(frame, QUASI[1])
    assert from_json(text.replace('"a"', '"c"')).verify(frame, QUASI[1]).holds is False


@pytest.mark.parametrize(
    ("X", "y", "code"),
    [
        ([[1.0], [2.0]], [1, 1], "class-count"),
        ([[np.inf], [2.0]], [0, 1], "not-finite"),
        ([[1.0], [2.0]], [0, np.nan], "missing-value"),
        ([[1.0], [2.0]], [0, 1, 1], "shape"),
        ([["a"], ["b"]], [0, 1], "not-a-number"),
    ],
)
def test_bad_input(X, y, code):
    with refused(ValueError, code):
        separation(X, y)


def test_bad_options():
    for how in ({"margin": "widest"}, {"formulations": ("all",)}):
        with refused(ParameterError, "bad-option", option=next(iter(how))):
            separation(*XOR, **how)


def test_undecided_never_verifies():
    verdict = Undecided(separation(*XOR).subject, "too near")
    assert verdict.verify(*XOR).holds is None
    assert from_json(verdict.to_json()) == verdict
