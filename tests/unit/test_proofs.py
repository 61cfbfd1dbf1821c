"""Known truths, edited certificates, extreme numbers, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_svmlight_file
from sklearn.svm import SVC

from linsep import from_json, open_source, separation
from linsep.certificate.verdicts import Undecided
from thoroughness import examples

pytestmark = pytest.mark.compiled

XOR = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]), np.array([1, 0, 0, 1])


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


def test_columns_that_depend_on_others_are_named():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, X[:, 0] * 2, np.ones(len(X)), np.zeros(len(X))])[50:]
    verdict = assert_proved(X, y[50:])
    assert verdict.kind == "overlapping"
    assert len(verdict.space.rows) == 5
    assert "dependent" in str(verdict)
    X = load_digits().data
    verdict = assert_proved(X, load_digits().target == 8)
    assert verdict.kind == "quasi-separable"
    dependent = {name for name, limit in verdict.limits().items() if limit == "dependent"}
    assert dependent == {"x0", "x32", "x39"}  # the pixels that are always 0


@pytest.mark.parametrize("name", ["agaricus.txt.train", "heart_scale.gz"])
def test_shared_data(shared_data, name):
    X, y = load_svmlight_file(str(shared_data / "libsvm" / name))
    expected = {"agaricus.txt.train": "separable", "heart_scale.gz": "overlapping"}
    assert assert_proved(X, y).kind == expected[name]


def test_promoters_are_separable(shared_data):
    lines = (shared_data / "strings" / "promoters.data").read_text().split("\n")
    rows = [line.split(",") for line in lines if line.strip()]
    letters = np.array([list(row[2].strip()) for row in rows])
    X = np.hstack([letters == letter for letter in "acgt"]).astype(int)
    assert assert_proved(X, np.array([row[0] for row in rows])).kind == "separable"


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


# Storage and sources.


def test_storage_does_not_matter(tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    verdict = separation(X, y)
    assert verdict.verify(sp.csr_matrix(X), y, exact=True)
    assert verdict.verify(np.asfortranarray(X), y.astype(float), exact=True)
    path = tmp_path / "two.csv"
    rows = [f"{','.join(map(repr, row))},{label}" for row, label in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join(["a,b,c,d,y", *rows]) + "\n")
    source = open_source(str(path), target="y")
    assert verdict.verify(source, exact=True)
    again = separation(source)
    assert again.witness == verdict.witness
    assert again.subject.names == ("a", "b", "c", "d")


def test_a_source_larger_than_memory_is_read_again(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5)).round(3)
    y = X @ np.ones(5) + rng.normal(size=3000) > 0
    path = tmp_path / "rows.svm"
    lines = [
        f"{int(label)} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row))
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    source = open_source(str(path))
    source.memory_bytes = 1000
    verdict = separation(source)
    assert verdict.kind == "overlapping"
    assert verdict.verify(source, exact=True)
    assert verdict.verify(X, y.astype(int), exact=True)


def test_integers_keep_every_digit():
    top = 2**60
    X = np.array([[top + 1], [top]])  # one number in float64
    y = np.array([1, 0])
    assert assert_proved(X, y).kind == "separable"
    assert assert_proved(X.astype(float), y).kind == "overlapping"
    assert assert_proved(sp.csr_matrix(X), y).kind == "separable"


@pytest.mark.parametrize(
    "scale", [[1e300, 1e-300], [1e-300, 1e-300], [1e300, 1e300], [1e-160, 1e160]]
)
def test_huge_and_tiny_numbers(scale):
    X, y = XOR[0] * np.array(scale), XOR[1]
    assert assert_proved(X, y).kind == "overlapping"
    assert assert_proved(X[:3], y[:3]).kind == "separable"
    both = np.vstack([X, X * [1.0, 2.0**-10]])
    assert assert_proved(both, np.append(y, y)).kind == "overlapping"


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


@pytest.mark.parametrize("number", [2**31 - 1, 2**62 - 1, 2147483629])
def test_entries_that_a_prime_divides(number):
    X = np.array([[number], [number]])
    assert assert_proved(X, np.array([1, 0]), fit_intercept=False).kind == "overlapping"


def test_margins_below_all_normal_numbers():
    X = np.array([[3e-323, 0.0], [0.0, 1e-323], [2e-323, 1e-323]])
    assert assert_proved(X, np.array([0, 0, 1])).kind == "separable"


def test_few_rows_of_several_classes():
    for seed in range(60):
        X = np.random.default_rng(seed).random((6, 8)) < 0.7
        assert_proved(X, np.array([2, 0, 1, 3, 2, 1]), formulations=("multinomial",))
        assert_proved(X[:3], np.array([2, 0, 1]), formulations=("multinomial",))


# Certificates.


CASES = {
    "separable": lambda: (load_iris().data, load_iris().target == 0),
    "overlapping": lambda: (load_iris().data[50:], load_iris().target[50:]),
    "quasi-separable": lambda: (np.array([[1.0], [2], [3], [3], [4]]), np.array([0, 0, 0, 1, 1])),
}


def test_a_proof_of_other_data_is_refused():
    X, y = load_iris(return_X_y=True)
    verdict = separation(X[50:], y[50:])
    for other, labels, word in (
        (X, y, "rows"),
        (X[50:] + 1e-12, y[50:], "rows or labels differ"),
        (X[50:][::-1].copy(), y[50:][::-1], "order"),
        (X[50:], np.where(y[50:] == 1, 2, 1), "rows or labels differ"),
        (X[50:], y[50:] + 1, "labels"),
        (X[50:, :3], y[50:], "features"),
    ):
        check = verdict.verify(other, labels)
        assert not check
        assert word in check.reason


# Bad input.


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([[1.0], [2.0]], [1, 1], "All rows have the label 1"),
        ([[np.nan], [2.0]], [0, 1], "NaN"),
        ([[np.inf], [2.0]], [0, 1], r"Row 1 \(index 0\), column 0 is inf"),
        ([[1.0], [2.0]], [0, np.nan], "NaN"),
        ([[1.0], [2.0]], [0, 1, 1], "inconsistent"),
        ([[1.0], [2.0]], None, "pass y with X"),
        ([["a"], ["b"]], [0, 1], "holds text in feature 0"),
    ],
)
def test_bad_input(X, y, said):
    with pytest.raises(ValueError, match=said):
        separation(X, y)


def test_bad_options():
    X, y = XOR
    with pytest.raises(ValueError, match="margin is 'widest'"):
        separation(X, y, margin="widest")
    with pytest.raises(ValueError, match="formulations"):
        separation(X, y, formulations=("all",))


def test_undecided_says_why_and_never_verifies():
    X, y = XOR
    verdict = Undecided(separation(X, y).subject, "too near")
    assert not verdict.verify(X, y)
    assert "too near" in str(verdict)
    assert from_json(verdict.to_json()) == verdict


def test_verdicts_are_shown_as_text_and_html():
    for make in CASES.values():
        verdict = separation(*make())
        assert str(verdict).startswith("verdict")
        assert verdict.kind in verdict._repr_html_()
    X, y = load_iris(return_X_y=True, as_frame=True)
    every = separation(X, y)
    assert "1 against the rest" in str(every)
    assert "<table>" in every._repr_html_()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("large", [1e3, 1e6, 1e12])
def test_many_features_of_uneven_sizes(large, fit_intercept):
    """The multipliers of a side were rounded to zero, so that the proof did not hold."""
    X = sp.csr_matrix(([large, 3.0, 1.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 1000))
    y = [1, -1]
    verdict = separation(X, y, fit_intercept=fit_intercept)
    assert verdict.kind == "separable"
    assert verdict.verify(X, y)
