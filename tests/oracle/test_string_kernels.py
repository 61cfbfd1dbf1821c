"""String kernels: as defined, exact, of str and of bytes, and clear about what is no string."""

import json
import pickle
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.svm import SVC

from linsep.compiled.jit import COMPILING
from linsep.errors import DataError, ParameterError
from linsep.kernels import (
    BlendedSpectrum,
    Callable,
    Normalized,
    Spectrum,
    check_gram,
    kernel_from_dict,
    strings as counting_room,
)
from linsep.teaching.textbook import kernels as twin
from thoroughness import examples

pytestmark = pytest.mark.both

DEFINED = [
    (Spectrum(1), lambda x, y: twin.spectrum(x, y, 1)),
    (Spectrum(3), lambda x, y: twin.spectrum(x, y, 3)),
    (BlendedSpectrum(3), lambda x, y: twin.blended_spectrum(x, y, (1, 1, 1))),
    (BlendedSpectrum(2, (0.5, 2)), lambda x, y: twin.blended_spectrum(x, y, (0.5, 2))),
]
KERNELS = [kernel for kernel, _ in DEFINED]
# Letters beyond ASCII, beyond 16 bits, and NUL, which arrays of strings drop at their end.
words = st.lists(st.text("abc", max_size=9), min_size=1, max_size=6)
odd_words = st.lists(st.text("abcé\0\U0001f600", max_size=9), min_size=1, max_size=6)


def quietly(kernel, *rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return kernel(*rows)


def random_strings(n, length, letters="acgt", seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), length)) for _ in range(n)]


@pytest.mark.parametrize(("kernel", "define"), DEFINED, ids=[repr(kernel) for kernel, _ in DEFINED])
@examples(30, 5)
@given(st.one_of(words, odd_words), words)
def test_as_the_textbook_defines_it(kernel, define, A, B):
    for X, Y in ((A, B), (A, A), (B, A)):
        expected = np.array(twin.gram(define, X, Y), float)
        np.testing.assert_allclose(quietly(kernel, X, Y), expected, rtol=1e-12)
    rows = kernel.prepare(A)
    np.testing.assert_allclose(kernel.diagonal(rows), [define(x, x) for x in A], rtol=1e-12)
    found = quietly(Normalized(kernel), A, B)
    expected = twin.gram(lambda x, y: twin.normalized(define, x, y), A, B)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_prepared_rows_can_be_sliced(kernel):
    X = [*random_strings(9, 20, "abc"), "", "a"]
    for one in (kernel, Normalized(kernel), kernel + 1, 2 * kernel * Spectrum(1)):
        rows = one.prepare(X)
        whole, some = one.gram(rows, rows), np.array([4, 10, 1, 1])
        np.testing.assert_array_equal(whole, whole.T)
        np.testing.assert_allclose(one.gram(rows[2:7], rows[some]), whole[2:7][:, some], rtol=1e-14)
        np.testing.assert_allclose(one.diagonal(rows[some]), np.diag(whole)[some], rtol=1e-14)
        assert check_gram(whole) is None
        again = pickle.loads(pickle.dumps(rows))
        np.testing.assert_allclose(one.gram(again[1:4], rows), whole[1:4], rtol=1e-14)
    assert kernel_from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel


@pytest.mark.parametrize("kernel", [Spectrum(2), BlendedSpectrum(3)])
def test_bytes_are_strings_as_well(kernel):
    X = random_strings(6, 15)
    as_bytes = [x.encode() for x in X]
    np.testing.assert_array_equal(kernel(as_bytes), kernel(X))
    np.testing.assert_array_equal(kernel(np.array(as_bytes)), kernel(np.array(X)))
    np.testing.assert_array_equal(kernel(np.array(X, object)[2:]), kernel(tuple(X))[2:, 2:])
    assert Spectrum(1)(["éa"]).tolist() == [[2]]
    assert Spectrum(1)(["é".encode()]).tolist() == [[2]]


@pytest.mark.parametrize("speed", [0, 1, 80, 1e9])
def test_dense_and_sparse_products_are_the_same(speed, monkeypatch):
    X = random_strings(1100 if COMPILING else 30, 30, "aaaabcdef")
    monkeypatch.setattr(counting_room, "DENSE_SPEED", speed)
    monkeypatch.setattr(counting_room, "DENSE_BYTES", 10_000)
    K = Spectrum(2)(X)
    np.testing.assert_array_equal(K, K.T)
    for i, j in ((0, 0), (3, 17), (25, 4), (len(X) - 1, 8), (len(X) - 1, len(X) - 2)):
        assert K[i, j] == twin.spectrum(X[i], X[j], 2)
    np.testing.assert_array_equal(Spectrum(2)(X[5:9], X), K[5:9])


def test_counts_beyond_single_precision_are_exact():
    n = 9001
    assert Spectrum(1)(["a" * n, "a"]).tolist() == [[n**2, n], [n, 1]]


@pytest.mark.parametrize("p", [9, 40, 100])
def test_long_substrings(p):
    X = random_strings(3, 60, "abcdefghijklmnopqrstuvwxyz")
    X += [X[0][7:] + X[1], X[2][:30] + X[0]]
    expected = twin.gram(lambda x, y: twin.spectrum(x, y, p), X, X)
    assert quietly(Spectrum(p), X).tolist() == expected


def test_what_is_longer_than_all_strings():
    with pytest.warns(
        UserWarning, match=r"matches nothing in these strings, which have at most 3 l"
    ):
        assert not Spectrum(5)(["abc", "", "c"]).any()
    assert not quietly(Normalized(Spectrum(5)), ["abc", "", "c"]).any()
    assert BlendedSpectrum(5)(["abc", ""]).tolist() == [[6, 0], [0, 0]]
    assert not quietly(Spectrum(1), ["", ""]).any()


BAD_ROWS = [
    (["a", 1], "Row 2 (index 1) is 1, int: {} takes a list of str or a list of bytes."),
    ([1, "a"], "Row 1 (index 0) is 1, int: "),
    (["a", None], "Row 2 (index 1) is None, NoneType: "),
    (["a", b"a"], "Row 2 (index 1) is b'a', bytes, while row 1 is str: "),
    ([], "X has no rows: {} needs at least one string."),
    ("abc", "X is a single string, but {} takes a list of strings."),
    (np.eye(2), "X is an array of shape (2, 2), but {} takes strings"),
    (None, "X is None, but {} takes strings"),
    (np.array(["a", 1.5], object), "Row 2 (index 1) is 1.5, float"),
]


@pytest.mark.parametrize(("rows", "said"), BAD_ROWS)
@pytest.mark.parametrize("kernel", [Spectrum(1), BlendedSpectrum(2)])
def test_what_is_no_string(kernel, rows, said):
    with pytest.raises(DataError, match=re.escape(said.format(repr(kernel)))):
        kernel(rows)


def test_str_against_bytes():
    for kernel in (Spectrum(1), BlendedSpectrum(2)):
        with pytest.raises(DataError, match="One side has str and the other bytes"):
            kernel(["ab"], [b"ab"])


@pytest.mark.parametrize(("make", "said"), [
    (lambda: Spectrum(0), "p of Spectrum must be a whole number of at least 1, not 0"),
    (lambda: Spectrum("3"), "p of Spectrum must be a whole number of at least 1, not '3'"),
    (lambda: BlendedSpectrum(2, (1,)), "weights of BlendedSpectrum must be 2 numbers above 0"),
    (lambda: BlendedSpectrum(2, 0.5), "weights of BlendedSpectrum must be 2 numbers above 0"),
    (lambda: BlendedSpectrum(1, (-1,)), "weights of BlendedSpectrum must be 1 numbers above 0"),
])  # fmt: skip
def test_bad_parameters(make, said):
    with pytest.raises(ParameterError, match=re.escape(said)):
        make()


def test_in_a_support_vector_machine():
    X = [x + extra for x in random_strings(20, 12) for extra in ("tata", "gcgc")]
    y = np.tile([1, 0], 20)
    kernel = Normalized(Spectrum(3))
    model = SVC(kernel="precomputed", C=10).fit(kernel(X[:30]), y[:30])
    assert model.score(kernel(X[30:], X[:30]), y[30:]) == 1


def test_a_function_of_two_strings():
    by_hand = Callable(lambda x, y: twin.spectrum(x, y, 2))
    X = random_strings(5, 9)
    np.testing.assert_array_equal(by_hand(X), Spectrum(2)(X))
    np.testing.assert_array_equal((by_hand + Spectrum(2))(X), 2 * Spectrum(2)(X))


@pytest.mark.parametrize("kernel", [Spectrum, BlendedSpectrum])
def test_longer_substrings_than_there_are_cost_nothing(kernel):
    words = ["abc", "abcd", "", "d"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that nothing is found
        K = kernel(10**9)(words)
    expected = kernel(4)(words) if kernel is BlendedSpectrum else np.zeros((4, 4))
    assert K.tolist() == expected.tolist()
    prepared = kernel(10**9).prepare(words)
    assert kernel(10**9).gram(prepared[:1], prepared[1:]).tolist() == expected[:1, 1:].tolist()
    assert kernel(10**9).diagonal(prepared).tolist() == np.diagonal(expected).tolist()


def test_lengths_of_strings_differ_between_two_sets():
    short, long = ["a", "b", ""], ["ab", "abab"]
    for kernel in (BlendedSpectrum(3), Normalized(BlendedSpectrum(3))):
        assert kernel(short, long).tolist() == kernel(short + long)[:3, 3:].tolist()
        assert kernel(long, short).tolist() == kernel(short + long)[3:, :3].tolist()
