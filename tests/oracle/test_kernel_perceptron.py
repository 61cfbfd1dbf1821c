"""The kernel perceptron: beside its twin, within a budget, in files, and what it refuses."""

import pickle
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

import linsep
from linsep import KernelPerceptron, kernels, textbook
from linsep.compiled.jit import COMPILING
from linsep.errors import DataError, ParameterError
from linsep.kernels.gram_cache import GramCache
from linsep.teaching.textbook import kernels as plain
from refusals import refused
from storages import SCHEMES, classes_of, per_pass, replayed, store

KEEPS = ("last", "average", "vote")
PASSES = 4


def rows(seed, k, n=40, d=4):
    """Rows of small whole numbers, so that kernel values are exact, of classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.integers(-2, 3, (n, d)) + rng.integers(-1, 2, (k, d))[y]
    X[:, 0] += (X == 0).all(axis=1)
    return X.astype(float), y


def twin(kernel, scheme, X, y, k, seed, tie="negative", weight=None, max_iter=PASSES):
    learned = list(X) if isinstance(X, list) else X.tolist()
    shown = textbook.dual_rows(kernel, learned)
    steps = list(
        textbook.run(
            textbook.KernelPerceptron(len(learned)), scheme, shown, y.tolist(), k,
            orders=replayed(len(learned), seed), max_iter=max_iter, tie=tie, row_weights=weight,
            fit_intercept=False,
        )
    )  # fmt: skip
    return steps, lambda keep, x: textbook.kept(steps, keep, scheme, k, tie=tie).predict(
        textbook.dual_row(kernel, x, learned)
    )


def duals(steps, scheme, keep, k, n, tie="negative"):
    """The dual weights to predict with, one row a machine."""
    kept = textbook.kept(steps, "last" if keep == "vote" else keep, scheme, k, tie=tie)
    W = [kept.weights] if scheme == "binary" else kept.weights
    return np.array(W, float)[:, :n]


def whole_duals(model, n):
    found = np.zeros((len(model.dual_coef_), n))
    found[:, model.support_] = model.dual_coef_
    return found


KERNELS = {
    "linear": ({"kernel": "linear"}, plain.linear),
    "poly": ({"kernel": "poly", "degree": 3}, plain.polynomial),
    "all-subsets": ({"kernel": "all-subsets"}, plain.all_subsets),
    "rbf": ({"kernel": "rbf", "gamma": 0.25}, lambda x, z: plain.rbf(x, z, 0.25)),
    "callable": ({"kernel": lambda x, z: float(x @ z) ** 3}, lambda x, z: plain.linear(x, z) ** 3),
}  # fmt: skip
ROUNDED = {"rbf"}


@pytest.fixture
def block(monkeypatch):
    """Blocks of five rows, and kernel values of few at once."""
    if not COMPILING:
        monkeypatch.setattr(kernels.Kernel, "rows_at_once", 5)
        monkeypatch.setattr("linsep.learners.kernel_rows.AT_ONCE", 1)
        monkeypatch.setattr("linsep.learners.kernel_rows.ROWS_AT_ONCE", 2)


#: every kernel, with every scheme and every way to keep weights
CASES = [(name, SCHEMES[a % 4], KEEPS[a % 3]) for a, name in enumerate(KERNELS)]
COMPILED = pytest.param("poly", "ovo", "vote", marks=pytest.mark.compiled)


@pytest.mark.parametrize(("name", "scheme", "keep"), [*CASES, COMPILED])
def test_every_kernel_scheme_and_keep_does_what_the_twin_does(name, scheme, keep, block):
    given, kernel = KERNELS[name]
    k, multiclass = classes_of(scheme)
    for seed, tie, storage in ((0, "negative", "dense64"), (1, "positive", "csr64")):
        X, y = rows(seed, k)
        if name in ROUNDED:  # whose values are rounded: no two are almost equal
            X += np.random.default_rng(seed).random(X.shape)
        kind = "dense64" if name == "callable" else storage
        cache = 0.0 if COMPILING else 200.0
        model = KernelPerceptron(
            multiclass=multiclass, keep=keep, max_iter=PASSES, random_state=seed, tie=tie,
            cache_mb=cache, **given,
        ).fit(store(X, kind), y)  # fmt: skip
        steps, predict = twin(kernel, scheme, X, y, k, seed, tie)
        assert model.mistakes_.tolist() == per_pass(steps)
        assert model.n_updates_ == sum(step.updates for step in steps)
        expected = duals(steps, scheme, keep, k, len(y), tie)
        np.testing.assert_allclose(whole_duals(model, len(y)), expected, atol=1e-12)
        new = rows(seed + 50, k, n=12)[0]
        assert model.predict(store(new, kind)).tolist() == [predict(keep, x) for x in new]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_rows_count_as_in_the_twin(scheme, block):
    k, multiclass = classes_of(scheme)
    given, kernel = KERNELS["poly"]
    for seed, keep in ((2, "average"), (3, "vote")):
        X, y = rows(seed, k)
        weight = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], len(y))
        model = KernelPerceptron(
            multiclass=multiclass, keep=keep, max_iter=PASSES, random_state=seed, **given
        ).fit(X, y, sample_weight=weight)
        steps, predict = twin(kernel, scheme, X, y, k, seed, weight=weight.tolist())
        assert model.mistakes_.tolist() == per_pass(steps)
        expected = duals(steps, scheme, keep, k, len(y))
        np.testing.assert_allclose(whole_duals(model, len(y)), expected, atol=1e-12)
        new = rows(seed + 50, k, n=12)[0]
        assert model.predict(new).tolist() == [predict(keep, x) for x in new]


@pytest.mark.parametrize(("scheme", "keep"), list(zip(SCHEMES, [*KEEPS, "vote"], strict=True)))
def test_rows_in_one_call_or_many_are_learned_alike(scheme, keep):
    k, multiclass = classes_of(scheme)
    X, y = rows(4, k)
    make = {"kernel": "poly", "multiclass": multiclass, "keep": keep}
    fitted = KernelPerceptron(max_iter=1, **make).fit(X, y)
    whole = KernelPerceptron(**make).partial_fit(X, y, classes=range(k))
    parts = KernelPerceptron(**make)
    for at in range(0, len(y), 3):
        parts.partial_fit(X[at : at + 3], y[at : at + 3], classes=range(k))
    for model in (whole, parts):
        assert model.mistakes_.sum() == fitted.mistakes_.sum()
        assert np.array_equal(model.support_, fitted.support_)
        assert np.array_equal(model.support_vectors_, X[fitted.support_])
        np.testing.assert_allclose(model.dual_coef_, fitted.dual_coef_, atol=1e-12)
        assert np.array_equal(model.decision_function(X), fitted.decision_function(X))


def test_a_gram_matrix_is_learned_as_its_kernel_is():
    X, y = rows(6, 3)
    gram = kernels.Polynomial(3)(X)
    model = KernelPerceptron(kernel="poly", keep="vote", max_iter=3).fit(X, y)
    given = KernelPerceptron(kernel="precomputed", keep="vote", max_iter=3).fit(gram, y)
    assert given.mistakes_.tolist() == model.mistakes_.tolist()
    assert np.array_equal(given.support_, model.support_)
    new = rows(7, 3)[0]
    K = kernels.Polynomial(3)(new, X)
    assert np.array_equal(given.decision_function(K), model.decision_function(new))
    assert given.support_vectors_.shape == (0, 0)
    assert cross_val_score(given, gram, y, cv=3).shape == (3,)


@pytest.mark.parametrize(
    ("multiclass", "options"), [("ovr", {"keep": "average"}), ("ovo", {"keep": "vote"})]
)
def test_a_cached_gram_matrix_gives_the_mistakes_of_blocks(multiclass, options):
    """All scores are then updated at every mistake, rather than those of a block when it comes."""
    rng = np.random.default_rng(11)
    X, y = rng.integers(-3, 4, (90, 3)).astype(float), rng.integers(0, 3, 90)
    weights = rng.integers(0, 3, 90).astype(float)
    how = {"kernel": "poly", "degree": 2, "multiclass": multiclass, "max_iter": 6, **options}
    cached, blocks = (
        KernelPerceptron(**how, cache_mb=mb).fit(X, y, sample_weight=weights) for mb in (200, 0)
    )
    np.testing.assert_array_equal(cached.mistakes_, blocks.mistakes_)
    np.testing.assert_array_equal(cached.dual_coef_, blocks.dual_coef_)
    np.testing.assert_array_equal(cached.predict(X), blocks.predict(X))


STRINGS = {
    "spectrum": (kernels.Spectrum(2), lambda x, z: plain.spectrum(x, z, 2)),
    "blended": (kernels.BlendedSpectrum(3), lambda x, z: plain.blended_spectrum(x, z, [1, 1, 1])),
}


@pytest.mark.parametrize(
    ("name", "scheme", "keep"), [("spectrum", "binary", "last"), ("blended", "ovo", "vote")]
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


def test_strings_are_learned_as_they_are():
    words = ["gattaca", "tacatac", "catgat", "acgt", "ttttt", "gatgat", "ccccc", "tgca"] * 3
    y = ["gat" in word for word in words]
    model = KernelPerceptron(kernel=kernels.Spectrum(3)).fit(words, y)
    assert model.stop_reason_ == "converged"
    assert model.predict(words).tolist() == y


def test_a_model_file_predicts_and_learns_on(tmp_path):
    X, y = rows(20, 3)
    X = store(X, "csr64")
    given = kernels.RBF("scale") + kernels.Polynomial(2)
    model = KernelPerceptron(kernel=given, keep="average", max_iter=2).fit(X, y)
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    back.partial_fit(X, y)
    model.partial_fit(X, y)
    assert np.array_equal(back.decision_function(X), model.decision_function(X))


def test_models_of_functions_and_gram_matrices_on_disk(tmp_path):
    X, y = rows(21, 2)
    with refused(ParameterError, "unsupported"):
        linsep.save(KernelPerceptron(kernel=lambda x, z: float(x @ z)).fit(X, y), tmp_path / "m")
    assert not (tmp_path / "m").exists()
    model = KernelPerceptron(kernel="precomputed", max_iter=5).fit(X @ X.T, y)
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert np.array_equal(back.decision_function(X @ X.T), model.decision_function(X @ X.T))


def test_what_is_given_up_without_loss_changes_nothing():
    """In a space of three dimensions three support vectors are enough for any weights."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 3))
    y = (X @ [1, 2, 3] + 0.3 * rng.standard_normal(400) > 0).astype(int)
    free = KernelPerceptron(kernel="linear", keep="average", max_iter=3, cache_mb=0).fit(X, y)
    tight = KernelPerceptron(kernel="linear", keep="average", max_iter=3, budget=3).fit(X, y)
    assert tight.support_.size == 3
    assert tight.mistakes_.tolist() == free.mistakes_.tolist()
    np.testing.assert_allclose(
        tight.decision_function(X), free.decision_function(X), rtol=1e-6, atol=1e-6
    )


def test_a_stream_is_learned_within_its_budget():
    rng = np.random.default_rng(2)
    model = KernelPerceptron(kernel="rbf", gamma=1.0, budget=50, keep="average")
    for _ in range(8):
        X = rng.standard_normal((700, 2))
        y = X[:, 0] * X[:, 1] > 0
        model.partial_fit(X, y, classes=[False, True])
        assert model.support_.size <= 50
        assert model.fitted_run().state.W.size < 20_000
    assert model.score(X, y) > 0.9


def test_a_matrix_that_no_kernel_has_is_learned_with_a_warning():
    X, y = rows(13, 2)
    gram = X @ X.T
    gram[0, 0] = -5.0
    with pytest.warns(kernels.NotPositiveSemidefiniteWarning):
        model = KernelPerceptron(kernel="precomputed", max_iter=5).fit(gram, y)
    assert model.support_.size


def test_a_parameter_that_cannot_be_is_refused():
    X, y = rows(14, 2)
    for parameters, code in (
        ({"budget": 0}, "bad-option"), ({"budget": 5, "keep": "vote"}, "conflict"),
        ({"kernel": "polly"}, "bad-option"), ({"gamma": -1.0}, "bad-option"),
    ):  # fmt: skip
        with refused(ValueError, code, option=next(iter(parameters))):
            KernelPerceptron(**parameters).fit(X, y)


def test_a_gram_matrix_of_the_wrong_shape_is_refused():
    X, y = rows(16, 2)
    gram = X @ X.T
    with refused(ValueError, "shape"):
        KernelPerceptron(kernel="precomputed").fit(gram[:, :5], y)
    with refused(ParameterError, "unsupported", option="kernel"):
        KernelPerceptron(kernel="precomputed").partial_fit(gram, y, classes=[0, 1])


def test_rows_of_another_kind_are_refused():
    for kernel, these, code in (
        (kernels.Spectrum(2), ["abc", 3, "abd"], "bad-value"),
        ("rbf", ["ab", "cd", "ef"], "not-a-number"),
    ):
        with refused(ValueError, code):
            KernelPerceptron(kernel=kernel).fit(these, [0, 1, 1])


def test_ctrl_c_while_kernel_values_are_computed_leaves_a_fit_that_resumes(tmp_path, monkeypatch):
    how = {"cache_mb": 200}
    X, y = rows(19, 2, n=90)
    whole = KernelPerceptron(kernel="poly", max_iter=4, **how).fit(X, y)
    keep, calls = GramCache.keep, []

    def pressed(self, examples):
        calls.append(0)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)
        keep(self, examples)

    monkeypatch.setattr(GramCache, "keep", pressed)
    fits = [KernelPerceptron(kernel="poly", max_iter=4, **how) for _ in range(2)]
    with pytest.raises(KeyboardInterrupt):
        fits[0].fit(X, y, checkpoint=tmp_path / "c")
    fits[1].fit(X, y, checkpoint=tmp_path / "c")
    assert fits[1].mistakes_.tolist() == whole.mistakes_.tolist()
    assert np.array_equal(fits[1].dual_coef_, whole.dual_coef_)


WORDS = ["banana", "bandana", "cabana", "ananas", "kimono", "kirin", "mimik", "nikki"]
HAVE_A = [1, 1, 1, 1, 0, 0, 0, 0]


def inside(n=80):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, (np.linalg.norm(X, axis=1) > 1.5).astype(int)


def test_a_table_of_strings_is_not_taken_for_a_list():
    """A DataFrame as a list is the names of its columns, for which there was a prediction."""
    model = KernelPerceptron(kernel=kernels.Spectrum(2)).fit(WORDS, HAVE_A)
    with refused(DataError, "bad-kernel"):
        model.predict(pd.DataFrame({"w": WORDS}))


def test_a_model_of_a_gram_matrix_does_not_hold_it():
    X, y = inside()
    model = KernelPerceptron(kernel="precomputed", max_iter=5).fit(X @ X.T, y)
    assert len(pickle.dumps(model)) < X.shape[0] * model.support_.size * 4
