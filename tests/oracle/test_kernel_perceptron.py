"""The kernel perceptron against its twin: every kernel, scheme and way to keep weights."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import linsep
from kernel_twin import KEEPS, PASSES, duals, is_compiled, rows, twin, whole_duals
from linsep import KernelPerceptron, kernels, textbook
from linsep.compiled.jit import COMPILING
from linsep.teaching.textbook import kernels as plain
from storages import SCHEMES, classes_of, per_pass, store
from thoroughness import THOROUGH, examples

pytestmark = pytest.mark.both


def polynomial(x, z):
    return plain.polynomial(x, z, 2)


KERNELS = {
    "linear": ({"kernel": "linear"}, plain.linear),
    "poly": ({"kernel": "poly", "degree": 3}, plain.polynomial),
    "scaled": (
        {"kernel": kernels.Polynomial(2, gamma=0.5, coef0=2)},
        lambda x, z: plain.polynomial(x, z, 2, 0.5, 2),
    ),
    "all-subsets": ({"kernel": "all-subsets"}, plain.all_subsets),
    "rbf": ({"kernel": "rbf", "gamma": 0.25}, lambda x, z: plain.rbf(x, z, 0.25)),
    "product": (
        {"kernel": kernels.Linear() * kernels.Polynomial(2)},
        lambda x, z: plain.linear(x, z) * polynomial(x, z),
    ),
    "normalized": (
        {"kernel": kernels.Normalized(kernels.Polynomial(2))},
        lambda x, z: plain.normalized(polynomial, x, z),
    ),
    "sum": (
        {"kernel": kernels.RBF(0.25) + kernels.Linear() * 2.0},
        lambda x, z: plain.rbf(x, z, 0.25) + 2 * plain.linear(x, z),
    ),
    "callable": ({"kernel": lambda x, z: float(x @ z) ** 3}, lambda x, z: plain.linear(x, z) ** 3),
}  # fmt: skip

ROUNDED = {"rbf", "normalized", "sum"}


@pytest.fixture(params=[512 if COMPILING else 5])
def block(request, monkeypatch):
    """Blocks of so many rows, and kernel values of few at once: one with the compiler, many
    without.
    """
    monkeypatch.setattr(kernels.Kernel, "rows_at_once", request.param)
    if not COMPILING:
        monkeypatch.setattr("linsep.learners.kernel_rows.AT_ONCE", 1)
        monkeypatch.setattr("linsep.learners.kernel_rows.ROWS_AT_ONCE", 2)
    return request.param


def covered():
    """Kernel, scheme and keep: a Latin square, in which every two meet. Without the compiler it is
    another, or all others if there is time; with it every scheme with one keep, if there is not.
    """
    squares = {0} if COMPILING else {1, 2, 3} if THOROUGH else {1}
    for a, name in enumerate(KERNELS):
        for b, scheme in enumerate(SCHEMES):
            for c, keep in enumerate(KEEPS):
                if COMPILING and not THOROUGH:
                    chosen = b == a % 4 and is_compiled(scheme, keep)
                else:
                    chosen = (a + b + c) % 4 in squares
                if chosen:
                    yield name, scheme, keep


@pytest.mark.parametrize(("name", "scheme", "keep"), list(covered()))
def test_every_kernel_scheme_and_keep_does_what_the_twin_does(name, scheme, keep, block):
    given, kernel = KERNELS[name]
    k, multiclass = classes_of(scheme)
    for seed, tie, storage in ((0, "negative", "dense64"), (1, "positive", "csr64")):
        X, y = rows(seed, k)
        if name in ROUNDED:  # whose values are rounded: no two are almost equal
            X += np.random.default_rng(seed).random(X.shape)
        kind = "dense64" if name == "callable" else storage
        cache = 200.0 * (block == 5)
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


@pytest.mark.uncompiled
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


@pytest.mark.uncompiled
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("scheme", SCHEMES)
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


EXACT = {
    "linear": (kernels.Linear(), plain.linear),
    "poly": (kernels.Polynomial(3), plain.polynomial),
    "all-subsets": (kernels.AllSubsets(), plain.all_subsets),
}


@pytest.mark.parametrize("name", EXACT)
@examples(40)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 512]))
def test_mistakes_on_whole_numbers_are_those_of_exact_arithmetic(name, seed, block):
    rng = np.random.default_rng(seed)
    kernel, definition = EXACT[name]
    n = int(rng.integers(3, 14))
    X, y = rng.integers(-5, 6, (n, 2)), rng.integers(0, 2, n)
    if len(set(y.tolist())) < 2:
        return
    exact = [[Fraction(int(value)) for value in row] for row in X]
    steps = list(textbook.run(
        textbook.KernelPerceptron(n), "binary", textbook.dual_rows(definition, exact),
        list(map(int, y)), max_iter=6,
    ))  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels.Kernel, "rows_at_once", block)
        for cache in (0.0, 200.0):
            model = KernelPerceptron(kernel=kernel, shuffle=False, max_iter=6, cache_mb=cache)
            made = model.fit(X.astype(float), y).mistakes_.tolist()
            assert made == per_pass(steps)[: len(made)]
            assert len(made) == len(per_pass(steps)) or model.stop_reason_ == "cycle"


@examples(60)
@given(st.integers(0, 10**6), st.sampled_from(["linear", "poly"]))
def test_of_tenths_rounding_decides_only_what_is_no_further_from_zero(seed, name):
    """The first row that floats decide otherwise than fractions of the same floats do."""
    rng = np.random.default_rng(seed)
    kernel, definition = EXACT[name]
    n = int(rng.integers(3, 14))
    X, y = rng.integers(-5, 6, (n, 2)) / 10, rng.integers(0, 2, n)
    if len(set(y.tolist())) < 2:
        return
    exact = [[Fraction(value) for value in row] for row in X.tolist()]
    steps = list(textbook.run(
        textbook.KernelPerceptron(n), "binary", textbook.dual_rows(definition, exact),
        list(map(int, y)), max_iter=1,
    ))  # fmt: skip
    model = KernelPerceptron(kernel=kernel, shuffle=False, max_iter=1).fit(X, y)
    mistaken = np.isin(np.arange(n), model.support_)
    for step, other in zip(steps, mistaken, strict=True):
        if step.mistakes != other:
            size = sum(abs(definition(x, exact[step.row])) for x in exact)
            assert abs(step.score) <= 1e-14 * size
            return


def test_gram_matrices_are_learned_from_sources(tmp_path):
    X, y = rows(6, 2)
    X = X @ X.T
    lines = [f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x) if v)
             for x, label in zip(X, y, strict=True)]  # fmt: skip
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    source = linsep.open_source(tmp_path / "rows.svm")
    model = KernelPerceptron(kernel="precomputed", max_iter=3).fit(source)
    array = KernelPerceptron(kernel="precomputed", max_iter=3).fit(X, y)
    assert model.mistakes_.tolist() == array.mistakes_.tolist()
    assert model.predict(source).tolist() == array.predict(X).tolist()


def test_scores_are_those_of_scikit_learn_on_the_same_duals():
    X, y = rows(5, 2)
    model = KernelPerceptron(kernel="rbf", gamma=0.1).fit(X, y)
    gram = kernels.RBF(0.1)(X, model.support_vectors_)
    np.testing.assert_allclose(model.decision_function(X), gram @ model.dual_coef_[0], rtol=1e-12)
    assert np.array_equal(model.support_vectors_, X[model.support_])
    svc = SVC(kernel=model.kernel_).fit(X, y)
    assert svc.score(X, y) > 0.8


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


def test_no_kernel_value_is_computed_twice_where_they_fit_in_the_cache():
    X, y = rows(8, 2)
    seen = []

    def kernel(x, z):
        seen.append((x.tobytes(), z.tobytes()))
        return float(x @ z) + 1.0

    X = X + np.linspace(0, 0.01, len(X))[:, None]  # no row twice
    cached = KernelPerceptron(kernel=kernel, max_iter=6).fit(X, y)
    assert len(seen) == len(set(seen))
    again = KernelPerceptron(kernel=kernel, max_iter=6, cache_mb=0).fit(X, y)
    assert len(seen) > len(set(seen))
    assert np.array_equal(cached.dual_coef_, again.dual_coef_)


def test_continuing_a_fit_goes_on_from_its_support_vectors():
    X, y = rows(9, 3)
    once = KernelPerceptron(kernel="poly", max_iter=1).fit(X, y)
    more = KernelPerceptron(kernel="poly", max_iter=1, warm_start=True).fit(X, y).fit(X, y)
    twice = KernelPerceptron(kernel="poly", max_iter=1).fit(np.r_[X, X], np.r_[y, y])
    assert more.mistakes_.sum() == twice.mistakes_.sum() - once.mistakes_.sum()
    np.testing.assert_allclose(more.decision_function(X), twice.decision_function(X), atol=1e-9)
    assert (more.support_[: once.support_.size] == -1).all()
    assert more.support_[once.support_.size :].min() >= 0


def test_a_copy_by_pickle_predicts_and_learns_on():
    X, y = rows(10, 3)
    model = KernelPerceptron(kernel="rbf", keep="vote", max_iter=2).fit(X, y)
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    back.partial_fit(X, y)
    model.partial_fit(X, y)
    assert np.array_equal(back.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("keep", KEEPS)
def test_early_stopping_scores_the_held_out_rows(keep):
    X, y = rows(11, 3, n=90)
    model = KernelPerceptron(
        kernel="poly", keep=keep, early_stopping=True, max_iter=20, n_iter_no_change=2
    ).fit(X, y)
    assert len(model.validation_scores_) == model.n_iter_
    assert 0 < model.validation_scores_.max() <= 1
    assert model.validation_curve_.shape == (model.n_iter_, 2)


def test_a_pass_without_a_mistake_ends_the_run_and_separates():
    X, y = rows(12, 3)
    X, first = np.unique(X, axis=0, return_index=True)
    model = KernelPerceptron(kernel="rbf", gamma=3.0, max_iter=1000).fit(X, y[first])
    assert model.stop_reason_ == "converged"
    assert model.mistakes_[-1] == 0
    assert model.score(X, y[first]) == 1.0


@pytest.mark.parametrize("multiclass", ["native", "ovr", "ovo"])
@pytest.mark.parametrize("options", [{}, {"keep": "average"}, {"keep": "vote", "shuffle": False}])
def test_a_cached_gram_matrix_gives_the_mistakes_of_blocks(multiclass, options):
    """All scores are then updated at every mistake, rather than those of a block when it comes."""
    rng = np.random.default_rng(11)
    X, y = rng.integers(-3, 4, (90, 3)).astype(float), rng.integers(0, 3, 90)
    weights = rng.integers(0, 3, 90).astype(float)
    how = {"kernel": "poly", "degree": 2, "multiclass": multiclass, "max_iter": 6, **options}
    for of_rows in (None, weights):
        cached, blocks = (
            KernelPerceptron(**how, cache_mb=mb).fit(X, y, sample_weight=of_rows) for mb in (200, 0)
        )
        np.testing.assert_array_equal(cached.mistakes_, blocks.mistakes_)
        np.testing.assert_array_equal(cached.dual_coef_, blocks.dual_coef_)
        np.testing.assert_array_equal(cached.support_, blocks.support_)
        np.testing.assert_array_equal(cached.predict(X), blocks.predict(X))
