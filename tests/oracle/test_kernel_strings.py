"""The string kernel perceptron against its twin."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from kernel_twin import KEEPS, PASSES, duals, is_compiled, twin, whole_duals
from linsep import KernelPerceptron, kernels
from linsep.teaching.textbook import kernels as plain
from storages import SCHEMES, classes_of, per_pass
from thoroughness import THOROUGH, interpreted, met

pytestmark = pytest.mark.both

STRINGS = {
    "spectrum": (kernels.Spectrum(2), lambda x, z: plain.spectrum(x, z, 2)),
    "blended": (kernels.BlendedSpectrum(3), lambda x, z: plain.blended_spectrum(x, z, [1, 1, 1])),
}


CASES = met(list(STRINGS), SCHEMES, KEEPS)


@pytest.mark.parametrize(
    ("name", "scheme", "keep"),
    interpreted(CASES, *(case for case in CASES if THOROUGH or is_compiled(*case[1:]))),
)
def test_string_kernels_do_what_the_twin_does(name, scheme, keep):
    kernel, by_definition = STRINGS[name]
    k, multiclass = classes_of(scheme)
    rng = np.random.default_rng(len(name))
    words = ["".join(rng.choice(list("abc"), rng.integers(0, 9))) for _ in range(36)] + ["abc"]
    y = np.concatenate([np.arange(k), rng.integers(0, k, len(words) - k)])
    model = KernelPerceptron(
        kernel=kernel, multiclass=multiclass, keep=keep, max_iter=PASSES, cache_mb=0
    ).fit(words, y)
    steps, predict = twin(by_definition, scheme, words, y, k, 0)
    assert model.mistakes_.tolist() == per_pass(steps)
    expected = duals(steps, scheme, keep, k, len(y))
    np.testing.assert_allclose(whole_duals(model, len(y)), expected, atol=1e-12)
    new = ["abcabc", "", "cab", "bbbbb", "z"]
    assert model.predict(new).tolist() == [predict(keep, x) for x in new]


def test_strings_without_anything_in_common_are_told_and_learned():
    with pytest.warns(UserWarning, match="matches nothing in these strings"):
        model = KernelPerceptron(kernel=kernels.Spectrum(9)).fit(["ab", "", "c"], [0, 1, 1])
    assert model.predict(["ab", ""]).shape == (2,)


def test_strings_are_learned_as_they_are():
    words = ["gattaca", "tacatac", "catgat", "acgt", "ttttt", "gatgat", "ccccc", "tgca"] * 3
    y = ["gat" in word for word in words]
    model = KernelPerceptron(kernel=kernels.Spectrum(3)).fit(words, y)
    assert model.stop_reason_ == "converged"
    assert model.predict(words).tolist() == y
    assert cross_val_score(model, words, y, cv=3).min() > 0.5
    assert list(model.support_vectors_) == [words[i] for i in model.support_]
    parts = KernelPerceptron(kernel=kernels.Spectrum(3))
    for at in range(0, len(words), 5):
        parts.partial_fit(words[at : at + 5], y[at : at + 5], classes=[False, True])
    assert (
        parts.mistakes_.sum()
        == KernelPerceptron(kernel=kernels.Spectrum(3), max_iter=1).fit(words, y).mistakes_.sum()
    )
