"""Known truths, extreme numbers and bad input; proofs that are edited, in any text."""

import copy
import json
import random
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
from proof_edits import REASONS, edits, places, value_at, why_true, written
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


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_widest_margin_is_that_of_a_support_vector_machine(fit_intercept):
    rng = np.random.default_rng(0)
    w = rng.normal(size=6)
    X = rng.normal(size=(300, 6))
    X = X[np.abs(X @ w) > 0.3]
    y = X @ w > 0
    verdict = assert_proved(X, y, margin="max", fit_intercept=fit_intercept)
    low, high = verdict.margin
    assert high <= low * (1 + 1e-6)
    if fit_intercept:
        machine = SVC(kernel="linear", C=1e10, tol=1e-6).fit(X, y)
        values = machine.decision_function(X) * np.where(y, 1, -1)
        assert values.min() / np.linalg.norm(machine.coef_) == pytest.approx(low, rel=1e-3)
        assert values.min() / np.linalg.norm(machine.coef_) <= high
    loose = separation(X, y, fit_intercept=fit_intercept).margin
    assert loose[0] <= high
    assert loose[1] >= low


@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans())
def test_no_weights_beat_the_upper_end(seed, d, fit_intercept):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, d))
    w, b = rng.normal(size=d), rng.normal() * fit_intercept
    y = X @ w + b > 0
    if len(set(y.tolist())) < 2:
        return
    verdict = assert_proved(X, y, fit_intercept=fit_intercept)
    margin = ((X @ w + b) * np.where(y, 1, -1)).min() / np.linalg.norm(w)
    assert margin <= verdict.margin[1]


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


ODD = [
    None, True, False, 0, 1, -1, 2**70, -(2**70), 10**400, 1e308, float("nan"), float("inf"), 1.0,
    -0.0, "", "0x0", "0x1", "-0x1", "a", "\ud800", "0x" + "f" * 300_000, [], {}, [[]], [None],
    [0, 1], [0, 0, 0], {"a": 1}, {"0": "0x1"}, {"0": {"0": "0x1"}}, "0x" + "f" * 5_000,
]  # fmt: skip


def changed(text, draw):
    """The text with values replaced, added or taken away, or with a few characters changed."""
    if draw.random() < 0.25:
        letters = list(text)
        for _ in range(draw.choice([1, 2, 5])):
            at = draw.randrange(len(letters))
            letters[at : at + draw.choice([0, 1, 3])] = draw.choice('0 \n\t"[{},:é\U0001f600\ud800')
        return "".join(letters)
    plain = json.loads(text)
    for _ in range(draw.choice([1, 1, 2, 3])):
        path = draw.choice([path for path in places(plain) if path])
        around, odd = value_at(plain, path[:-1]), copy.deepcopy(draw.choice(ODD))
        hint = draw.random()
        if hint < 0.15:
            del around[path[-1]]
        elif hint < 0.3:
            around.insert(0, odd) if isinstance(around, list) else around.update(new=odd)
        else:
            around[path[-1]] = odd
    return json.dumps(plain, indent=1) + "\n"


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


def test_no_text_makes_a_traceback():
    draw, read = random.Random(0), 0
    cycle = Perceptron(shuffle=False, max_iter=50).fit(*XOR).cycle_.to_json()
    for _ in range(400):
        text = changed(draw.choice([*TEXTS.values(), cycle]), draw)
        for form in (text, text.encode("utf-8", "surrogatepass")):
            try:
                claim = from_json(form)
            except DataError:
                continue
            read += 1
            for rows, labels in (XOR, THREE):
                assert claim.verify(rows, labels).reason
            assert str(claim)
            assert repr(claim)
            assert claim.lines()
    assert read


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
        ([[np.nan], [2.0]], [0, 1], "missing-value"),
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


def test_columns_that_depend_on_others_are_named():
    X = np.column_stack([IRIS[0], IRIS[0][:, 0] * 2, np.ones(150), np.zeros(150)])[50:]
    verdict = assert_proved(X, IRIS[1][50:])
    assert verdict.kind == "overlapping"
    assert len(verdict.space.rows) == 5
    assert list(verdict.limits().values()).count("dependent") == 3


def test_huge_tiny_and_uneven_numbers():
    for scale in ([1e300, 1e-300], [1e-160, 1e160]):
        X, y = XOR[0] * np.array(scale), XOR[1]
        assert assert_proved(X, y).kind == "overlapping"
        assert assert_proved(X[:3], y[:3]).kind == "separable"
    for large in (1e3, 1e12):  # the multipliers of a side were rounded to zero
        X = sp.csr_matrix(([large, 3.0, 1.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 1000))
        assert assert_proved(X, [1, -1]).kind == "separable"
    X = np.array([[3e-323, 0.0], [0.0, 1e-323], [2e-323, 1e-323]])
    assert assert_proved(X, np.array([0, 0, 1])).kind == "separable"


def test_verdicts_are_shown_as_text_and_html():
    for name in ("separable", "overlapping", "quasi-separable"):
        verdict = separation(*DATA[name])
        assert str(verdict).startswith("verdict")
        assert verdict.kind in verdict._repr_html_()
    assert "<table>" in separation(*THREE)._repr_html_()
