"""Pictures of kernels hold the values of scikit-learn's kernels and of counts by hand."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import svdvals
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from linsep import KernelPerceptron, Perceptron
from linsep.kernels import BlendedSpectrum, Normalized, Spectrum
from linsep.plot import KernelDisplay
from refusals import refused

X, Y = make_moons(80, noise=0.2, random_state=0)
SORTED = np.argsort(Y, kind="stable")
PNG = b"\x89PNG"
RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice(list("abc"), RNG.integers(4, 12))) for _ in range(40)]
ENDS = np.array([word[-1] for word in WORDS]) == "a"


def windows(word, lengths):
    return Counter(word[i : i + q] for q in lengths for i in range(len(word) - q + 1))


def unit(counts):
    size = np.sqrt(sum(value**2 for value in counts.values()))
    return {name: value / size for name, value in counts.items()}


COUNTED = {
    "spectrum": (Spectrum(2), lambda word: windows(word, [2])),
    "blended": (BlendedSpectrum(3, weights=(0.5, 2.0, 1.0)), lambda word: windows(word, [1, 2, 3])),
    "normalized": (Normalized(Spectrum(2)), lambda word: unit(windows(word, [2]))),
}


def test_the_gram_matrix_is_that_of_scikit_learn():
    for store in [np.asarray, sp.csr_matrix, pd.DataFrame]:
        model = KernelPerceptron(kernel="rbf", gamma=2.0).fit(store(X), Y)
        shown = KernelDisplay.from_estimator(model, store(X), Y)
        drawn = np.asarray(shown.gram_.get_array())
        assert drawn == pytest.approx(rbf_kernel(X[SORTED], gamma=2.0))
        names = {round(t.get_position()[1], 1): t.get_text() for t in shown.ax_.get_yticklabels()}
        assert names == {19.5: "0", 59.5: "1"}
        assert {line.get_ydata()[0] for line in shown.borders_[::2]} == {39.5}
        assert {line.get_xdata()[0] for line in shown.borders_[1::2]} == {39.5}


def test_the_spectrum_has_the_eigenvalues_beyond_rounding():
    shown = KernelDisplay.from_kernel("linear", X, Y)
    assert shown.eigenvalues_.get_ydata() == pytest.approx(svdvals(X) ** 2)
    assert shown.negative_ is None
    assert shown.axes_[1].get_title() == "spectrum: rank 2 of 80"
    K = sigmoid_kernel(X)
    shown = KernelDisplay.from_kernel("precomputed", K, Y)
    values = np.linalg.eigvalsh(K)
    assert shown.eigenvalues_.get_ydata()[0] == pytest.approx(values[-1])
    assert shown.negative_.get_ydata()[:3] == pytest.approx(-values[:3])
    zero = KernelDisplay.from_kernel("linear", np.zeros((3, 2)))
    assert zero.axes_[1].get_title() == "spectrum: rank 0 of 3"
    assert zero._repr_png_().startswith(PNG)


def test_the_surface_is_the_sum_over_support_vectors():
    model = KernelPerceptron(kernel="poly", degree=3, max_iter=3).fit(X, Y)
    shown = KernelDisplay.from_estimator(model, X, Y)
    places = np.stack(np.meshgrid(*shown.grid), axis=-1).reshape(-1, 2)
    K = polynomial_kernel(X[model.support_], places, degree=3, gamma=1.0)
    assert shown.values.ravel() == pytest.approx(model.dual_coef_[0] @ K)
    ends = np.concatenate(shown.boundary_.allsegs[0])
    on = model.dual_coef_[0] @ polynomial_kernel(X[model.support_], ends, degree=3, gamma=1.0)
    assert np.abs(on).max() < 0.02 * np.abs(shown.values).max()
    for k, points in enumerate(shown.points_):
        x, y, _ = points._offsets3d
        assert np.asarray(np.column_stack([x, y])) == pytest.approx(X[k == Y])
    corners = np.lib.stride_tricks.sliding_window_view(shown.values, (2, 2))
    heights = np.asarray(shown.surface_.get_array())
    assert heights == pytest.approx(corners.mean(axis=(2, 3)).ravel())
    assert shown._repr_png_().startswith(PNG)


def test_scores_are_sums_of_the_weights_of_substrings():
    for kernel, count in COUNTED.values():
        for keep in ["last", "average"]:
            model = KernelPerceptron(kernel=kernel, keep=keep, max_iter=5).fit(WORDS, ENDS)
            shown = KernelDisplay.from_estimator(model, WORDS, ENDS, top=10_000)
            weights = {text[1:-1]: weight for text, weight in shown.substrings}
            new = ["abcabcabc", "cccbbbaaa", "aa", "acbacbbca"]
            scores = [sum(weights.get(u, 0.0) * n for u, n in count(word).items()) for word in new]
            assert scores == pytest.approx(model.decision_function(new))
            few = KernelDisplay.from_estimator(model, WORDS, ENDS, top=5)
            assert [bar.get_width() for bar in few.bars_] == [w for _, w in shown.substrings[:5]]
            assert [t.get_text() for t in few.axes_[2].get_yticklabels()] == [
                text for text, _ in shown.substrings[:5]
            ]
            sizes = np.abs([w for _, w in shown.substrings])
            assert (np.diff(sizes) <= 0).all()


def test_other_classifiers_have_no_third_panel():
    several = np.array(["x", "y", "z"])[np.arange(40) % 3]
    for kernel, y, keep in (
        (Spectrum(2) + 1, ENDS, "last"),
        (Spectrum(2), ENDS, "vote"),
        (Spectrum(2), several, "last"),
    ):
        model = KernelPerceptron(kernel=kernel, keep=keep, max_iter=2).fit(WORDS, y)
        shown = KernelDisplay.from_estimator(model, WORDS, y)
        assert (len(shown.axes_), shown.bars_, shown.surface_) == (2, None, None)


def test_what_cannot_be_drawn_is_one_sentence():
    model = KernelPerceptron().fit(X, Y)
    with pytest.raises(ValueError, match="1 features, but KernelPerceptron is expecting 2"):
        KernelDisplay.from_estimator(model, X[:, :1], Y)
    named = KernelPerceptron().fit(X, np.repeat(["a", "c"], 40))
    with refused(ValueError, "unknown-label", row=41):
        KernelDisplay.from_estimator(named, X, np.repeat(["a", "b"], 40))
    with refused(ValueError, "unsupported"):
        KernelDisplay.from_estimator(Perceptron().fit(X, Y), X, Y)
    with refused(ValueError, "bad-kernel", option="kernel"):
        KernelDisplay.from_kernel("rbg", X)
    with pytest.raises(ValueError, match="80 rows"):
        KernelDisplay.from_kernel("rbf", X, load_iris().target)
