import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep
from linsep import GaussianNaiveBayes, LogisticRegression, textbook
from linsep.errors import SeparationError, SeparationWarning
from linsep.logistic import limits
from linsep.sources import ArraySource
from parameters_in_order import covariance, ends_of, last, weights_of
from refusals import refused
from scikit_learn_checks import SEPARABLE
from thoroughness import THOROUGH, examples

pytestmark = pytest.mark.compiled

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    sm = pytest.importorskip("statsmodels.api")


def close(ours, theirs, digits=8):
    assert np.allclose(ours, theirs, rtol=10.0**-digits, atol=1e-300)


def mixed(n=200, d=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** np.arange(d) + 7
    return X, rng.integers(0, classes, n)


def loaded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = getattr(sm.datasets, name).load_pandas()
    return data.exog.to_numpy(float), data.endog.to_numpy()


@pytest.mark.parametrize(("name", "cut"), [("spector", 0.5), ("fair", 0.0)])
def test_statsmodels_agrees_to_eight_digits(name, cut):
    X, y = loaded(name)
    y = (y > cut).astype(int)
    theirs = sm.Logit(y, sm.add_constant(X, prepend=False)).fit(disp=0, tol=1e-12)
    ours = LogisticRegression().fit(sp.csr_matrix(X), y)
    close(weights_of(ours)[0], theirs.params)
    close(last(ours, "standard_errors_")[0], theirs.bse)
    close(last(ours, "statistics_")[0], theirs.tvalues)
    close(last(ours, "p_values_")[0], theirs.pvalues)
    close(np.array(ends_of(ours, 0.9))[:, 0].T, theirs.conf_int(0.1))
    close(covariance(ours), theirs.cov_params())
    names = ["log_likelihood_", "null_log_likelihood_", "mcfadden_r2_", "aic_", "bic_"]
    same = [theirs.llf, theirs.llnull, theirs.prsquared, theirs.aic, theirs.bic]
    close([getattr(ours, name) for name in names], same)
    close(ours.likelihood_ratio_[:2], (theirs.llr, theirs.df_model))
    close(ours.deviance_, -2 * theirs.llf)
    assert ours.stop_reason_ == "converged"


def test_statsmodels_agrees_on_several_classes():
    X, y = loaded("anes96")
    y, first = y.astype(int), 3  # theirs is the first label
    moved = np.where(y == first, -1, y)
    theirs = sm.MNLogit(moved, sm.add_constant(X, prepend=False)).fit(disp=0, tol=1e-12, maxiter=99)
    ours = LogisticRegression(reference=first).fit(X, y)
    close(weights_of(ours), theirs.params.T)
    close(last(ours, "standard_errors_"), theirs.bse.T)
    close(last(ours, "p_values_"), theirs.pvalues.T)
    close(ours.log_likelihood_, theirs.llf)
    close(ours.likelihood_ratio_[:2], (theirs.llr, theirs.df_model))
    labels = [-1, *[k for k in range(7) if k != first]]
    close(ours.predict_proba(X)[:, [first, *labels[1:]]], theirs.predict())


def test_the_textbook_is_its_twin():
    X, y = mixed(40, 2, seed=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = LogisticRegression().fit(X, y)
    assert np.allclose(textbook.newton(X.tolist(), y.tolist(), 12), weights_of(ours)[0], rtol=1e-12)
    assert textbook.log_likelihood(X.tolist(), y, weights_of(ours)[0]) == pytest.approx(
        ours.log_likelihood_, rel=1e-13
    )
    rate, eps = 0.05, 1e-4
    steps = list(textbook.gradient_ascent(X.tolist(), y.tolist(), rate=rate, eps=eps))
    taught = LogisticRegression(
        solver="gradient_ascent", learning_rate=rate, tol=eps, trace=True
    ).fit(X, y)
    assert taught.n_iter_ == len(steps) - 1
    assert np.allclose(taught.ascent_.path, np.roll(steps, 1, axis=1), rtol=1e-9, atol=1e-12)
    assert np.allclose(weights_of(taught), weights_of(ours), atol=0.02)


def test_gradient_ascent_finds_its_own_rate():
    X, y = mixed(100, 2, classes=3, seed=1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    taught = LogisticRegression(solver="gradient_ascent", max_iter=5000).fit(X, y)
    assert np.allclose(weights_of(taught), weights_of(LogisticRegression().fit(X, y)), atol=1e-5)


@pytest.mark.parametrize(("classes", "storage"), [(2, np.asarray), (3, sp.csr_matrix)])
def test_penalized_as_scikit_learn(classes, storage):
    X, y = mixed(300, 4, classes, seed=2)
    X = X / 10.0 ** np.arange(4)
    theirs = Theirs(C=0.5, tol=1e-10, max_iter=10_000).fit(X, y)
    for reference in (None, 1):
        ours = LogisticRegression(l2=2.0, reference=reference).fit(storage(X), y)
        assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert np.isnan(ours.aic_)
    assert ours.covariance_ is None


@pytest.mark.parametrize(
    ("classes", "storage", "weighted"), [(2, sp.csr_matrix, True), (3, np.asarray, False)]
)
def test_many_weights_go_without_a_factor(monkeypatch, classes, storage, weighted):
    X, y = mixed(300, 4, classes, seed=2)
    X, weights = X / 10.0 ** np.arange(4), np.arange(300) % 3 if weighted else None
    with_factor = LogisticRegression(l2=1.0).fit(X, y, weights)
    for module in ("task", "estimator"):
        monkeypatch.setattr(f"linsep.logistic.{module}.MOST_WEIGHTS", 0)
    ours = LogisticRegression(l2=1.0, tol=1e-10).fit(storage(X), y, weights)
    assert np.allclose(weights_of(ours), weights_of(with_factor), rtol=1e-6, atol=1e-7)
    assert ours.stop_reason_ == "converged"
    free = LogisticRegression(tol=1e-10).fit(storage(X), y, weights)
    assert free.covariance_ is None
    monkeypatch.undo()
    exact = LogisticRegression().fit(X, y, weights)
    assert np.allclose(weights_of(free), weights_of(exact), rtol=1e-5, atol=1e-6)


def test_weights_count_rows():
    X, y = mixed(80, 2, 3, seed=5)
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, 80)
    repeated = LogisticRegression().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    weighted = LogisticRegression().fit(X, y, counts)
    assert np.allclose(weights_of(weighted), weights_of(repeated), rtol=1e-9)
    assert np.allclose(weighted.covariance_, repeated.covariance_, rtol=1e-8)
    for name in ("log_likelihood_", "aic_", "bic_", "likelihood_ratio_"):
        assert np.allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9), name
    sums = dict(weighted.summary().header)
    assert (sums["rows"], sums["sum of their weights"]) == (np.count_nonzero(counts), counts.sum())
    two = LogisticRegression().fit(X, y > 0, counts)
    family = sm.families.Binomial()
    theirs = sm.GLM(y > 0, sm.add_constant(X), family, freq_weights=counts).fit()
    assert two.bic_ == pytest.approx(theirs.bic_llf)
    assert weighted.n_rows_ == (counts > 0).sum()


def test_references_and_scores():
    X, y = mixed(100, 2, seed=7)
    names = np.array(["no", "yes"])[y]
    plain = LogisticRegression().fit(X, names)
    turned = LogisticRegression(reference="yes").fit(X, names)
    assert plain.reference_ == "no"
    assert np.allclose(turned.coef_, -plain.coef_)
    assert np.allclose(turned.decision_function(X), plain.decision_function(X))
    assert np.array_equal(turned.predict(X), plain.predict(X))
    P = plain.predict_proba(X)
    assert np.allclose(np.log(P[:, 1] / P[:, 0]), plain.decision_function(X))
    assert np.allclose(np.exp(plain.predict_log_proba(X)), P)
    ratios = plain.odds_ratios().tidy()
    assert np.allclose(ratios["estimate"], np.exp(plain.coef_[0]))


def test_dependent_columns_are_said():
    X, y = mixed(100, 2, seed=1)
    more = np.column_stack([X[:, 0], np.full(100, 3.0), X, X[:, 0] + X[:, 1], np.zeros(100)])
    found = LogisticRegression().fit(more, y)
    plain = LogisticRegression().fit(X, y)
    words = ["finite", "dependent", "dependent", "finite", "dependent", "dependent", "finite"]
    assert last(found, "limits_")[0].tolist() == words
    assert np.allclose(found.predict_proba(more), plain.predict_proba(X), atol=1e-7)
    assert np.allclose(
        last(found, "standard_errors_")[0][[0, 3, 6]], last(plain, "standard_errors_")[0], rtol=1e-4
    )
    assert found.likelihood_ratio_[1] == 2
    assert found.dependent_ == {
        "x1": ["intercept"], "x2": ["x0"], "x4": ["x0", "x3"], "x5": ["intercept"],
    }  # fmt: skip


# Where the likelihood has no maximum.


def unlikely(X, y, **how):
    with pytest.warns(SeparationWarning) as caught:
        found = LogisticRegression(**how).fit(X, y)
    assert len(caught) == 1
    return found, caught[0].message


def test_one_feature_that_separates():
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1]
    found, warning = unlikely(X, y)
    with refused(SeparationError, "separated"):
        LogisticRegression(on_separation="raise").fit(X, y)
    assert warning.verdict.kind == "separable"
    assert warning.verdict.verify(X, y, exact=True)
    assert warning.limits == {"x0": "+inf", "intercept": "-inf"}
    assert found.predict(X).tolist() == y
    assert found.log_likelihood_ == 0.0
    assert np.isinf(last(found)).all()
    assert np.isnan(last(found, "standard_errors_")).all()


def test_iris_runs_away_from_setosa():
    X, y = load_iris(return_X_y=True, as_frame=True)
    found, warning = unlikely(X, y)
    assert warning.verdict.verify(X, y, exact=True)
    others, row = LogisticRegression().fit(X[50:], y[50:]), 1
    assert last(found, "limits_")[row].tolist() == ["finite"] * 5
    assert np.allclose(-weights_of(found)[row], weights_of(others)[0], rtol=1e-7)
    assert np.allclose(
        last(found, "standard_errors_")[row], last(others, "standard_errors_")[0], rtol=1e-6
    )
    assert found.log_likelihood_ == pytest.approx(others.log_likelihood_, rel=1e-9)
    assert found.score(X, y) > 0.98


def test_more_weights_than_a_matrix_is_made_for_are_not_silent(monkeypatch):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((60, 200)) < 0.2, rng.random((60, 200)), 0.0)
    X, y = sp.csr_array(dense), np.arange(60) % 2
    monkeypatch.setattr("linsep.logistic.task.MOST_WEIGHTS", 100)
    found, warning = unlikely(X, y)
    assert warning.verdict.verify(X, y)
    assert found.score(X, y) == 1.0
    assert found.covariance_ is None


def test_separation_with_weights_and_dependent_columns():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 2)), rng.integers(0, 2, 200)
    mark = (rng.random(200) < 0.2) & (y == 1)
    weights = rng.integers(0, 3, 200).astype(float)
    wide = np.column_stack([X, mark, 2 * X[:, 0]])
    with pytest.warns(SeparationWarning):
        found = LogisticRegression().fit(sp.csr_matrix(wide), y, weights)
    assert last(found, "limits_")[0].tolist() == ["finite", "finite", "+inf", "dependent", "finite"]
    inside = LogisticRegression().fit(X[~mark], y[~mark], weights[~mark])
    assert np.allclose(weights_of(found)[0, [0, 1, 4]], weights_of(inside)[0], rtol=1e-8)
    assert np.allclose(
        last(found, "standard_errors_")[0, [0, 1, 4]],
        last(inside, "standard_errors_")[0],
        rtol=1e-7,
    )


# Bad input.


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"y": [0.5, 1.2, 3.3, 0.1]}, "label-type"),
        ({"y": [1, 1, 1, 1]}, "class-count"),
        ({"reference": 7}, "unknown-label"),
        ({"l2": -1.0}, "bad-option"),
        ({"solver": "gradient_ascent", "learning_rate": 100.0}, "not-converged"),
    ],
)
def test_bad_input_is_refused(change, code):
    X = change.pop("X", [[1.0], [2.0], [1.5], [1.7]])
    y = change.pop("y", [0, 1, 0, 1])
    with refused(ValueError, code):
        LogisticRegression(**{"l2": 0.1} | change).fit(X, y)


def test_values_beyond_those_that_are_handled_are_refused():
    with refused(ValueError, "overflow", column=0):
        LogisticRegression().fit(np.array([[1.0], [2], [3], [4], [2]]) * 1e101, [0, 1, 0, 1, 0])


# Sources.


def data(classes, n=1500):
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((n, 4))
    return X, (rng.integers(0, classes, n) + (rng.random(n) < 0.3) * (X[:, 0] > 0)) % classes


@pytest.mark.parametrize(
    ("classes", "storage", "memory", "weight"),
    [(2, np.asarray, 1 << 28, "balanced"), (3, sp.csr_matrix, 1000, {0: 2.0})],
)
def test_streaming_is_fitting_in_memory(classes, storage, memory, weight):
    X, y = data(classes)
    X = storage(X)
    source = ArraySource(X, y, batch_rows=700)
    source.memory_bytes = memory
    streamed = LogisticRegression(class_weight=weight).fit(source)
    plain = LogisticRegression(class_weight=weight).fit(X, y)
    assert np.allclose(weights_of(streamed), weights_of(plain), rtol=1e-8, atol=1e-10)
    assert np.allclose(streamed.covariance_, plain.covariance_, rtol=1e-7, atol=1e-12)
    assert streamed.n_rows_ == 1500
    assert streamed.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-12)
    assert np.allclose(streamed.decision_function(source), plain.decision_function(X))
    assert np.array_equal(streamed.predict(source), plain.predict(X))
    assert streamed.score(source) == plain.score(X, y)


def large(X, y):
    """A source whose rows do not fit in the memory that it may take."""
    source = ArraySource(X, y, batch_rows=50)
    source.memory_bytes = 1
    return source


def test_separable_sources_beyond_memory():
    X, _ = data(3, 300)
    y = np.digitize(X[:, 0], [0.0, 0.8])
    with pytest.warns(SeparationWarning) as caught:
        model = LogisticRegression().fit(large(X, y))
    assert caught[0].message.verdict.verify(large(X, y))
    assert model.stop_reason_ == "separable"
    assert (last(model, "limits_") != "finite").all()
    assert model.score(X, y) == 1.0
    with pytest.raises(SeparationError):
        LogisticRegression(on_separation="raise").fit(large(X, y))


def test_quasi_separable_sources_beyond_memory():
    X, y = data(2, 300)
    X[:, 3] = (rare := np.arange(300) % 20 == 0)
    y[rare] = 1
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(large(X, y))
    assert last(model, "limits_")[0].tolist() == ["finite"] * 3 + ["+inf", "finite"]
    assert np.isnan(last(model, "standard_errors_")).all()
    with pytest.warns(SeparationWarning):
        limit = LogisticRegression().fit(X, y)
    assert np.isnan([model.aic_, model.bic_, *model.likelihood_ratio_[::2]]).all()
    assert np.isfinite(limit.aic_)
    assert np.allclose(weights_of(model)[0, :3], weights_of(limit)[0, :3], atol=1e-3)


# So many rows and weights that a Hessian is slow to sum.


def lower_limits(patch):
    """Any number of rows and weights is large."""
    patch.setattr(limits, "FEW_WEIGHTS", 0)


def with_a_maximum(classes, seed=0):
    """Rows with a maximum, with columns of any unit, and their weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4)) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 5e3, 0.0, 1.0]
    y = ((X - [0.0, 5e3, 0.0, 1.0]) / [1.0, 1e3, 1e-3, 1.0]) @ rng.normal(size=(4, classes))
    y = (y + 2.0 * rng.gumbel(size=y.shape)).argmax(axis=1)
    return X, y, rng.integers(0, 4, 300).astype(float)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("storage", "classes", "l2"), [(np.asarray, 2, 0.0), (sp.csr_matrix, 3, 1.0)]
)
def test_the_maximum_is_the_same(monkeypatch, storage, classes, l2):
    X, y, weights = with_a_maximum(classes)
    few = LogisticRegression(l2=l2).fit(storage(X), y, weights)
    lower_limits(monkeypatch)
    found = LogisticRegression(l2=l2).fit(storage(X), y, weights)
    assert found.stop_reason_ == "converged"
    assert np.allclose(weights_of(found), weights_of(few), rtol=1e-8, atol=0.0)
    assert found.log_likelihood_ == pytest.approx(few.log_likelihood_, rel=1e-12)
    assert last(found, "limits_").tolist() == last(few, "limits_").tolist()
    if l2:
        assert found.covariance_ is None
    else:
        assert np.allclose(found.covariance_, few.covariance_, rtol=1e-6, atol=0.0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_separable_rows_are_predicted_by_the_smallest_ridge(monkeypatch):
    lower_limits(monkeypatch)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 6))
    scores = X @ rng.normal(size=(6, 4))
    top = np.sort(scores, axis=1)
    wide = top[:, -1] > top[:, -2] + 1.5
    Z, y = StandardScaler().fit_transform(X[wide]), scores[wide].argmax(axis=1)
    theirs = Theirs(C=1.0 / (limits.RIDGES[-1] * len(y)), tol=1e-10, max_iter=100_000).fit(Z, y)
    expected = theirs.decision_function(Z)
    ours = LogisticRegression().fit(Z, y)
    assert ours.stop_reason_ == "separable"
    assert ours.separation_.verify(Z, y)
    assert np.allclose(ours.decision_function(Z), expected - expected[:, -1:], rtol=0.05, atol=0.5)


def kind_of(X, y, intercept):
    found = linsep.separation(X, y, fit_intercept=intercept, formulations=("multinomial",))
    return getattr(found, "multinomial", found).kind


def whole_numbers(seed, classes, rows, d):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (rows, d)).astype(float)
    return X, np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])


@pytest.mark.filterwarnings("ignore::UserWarning")
@examples(60, 15)
@given(
    st.integers(0, 10**6), st.integers(2, 4), st.integers(4, 16), st.integers(1, 3), st.booleans()
)  # fmt: skip
def test_nothing_is_claimed_that_exact_arithmetic_denies(seed, classes, rows, d, intercept):
    X, y = whole_numbers(seed, classes, rows, d)
    kind = kind_of(X, y, intercept)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lower_limits(patch)
        model = LogisticRegression(fit_intercept=intercept).fit(X, y)
    allowed = ["converged"] if kind == "overlapping" else [kind, "suspect"]
    assert model.stop_reason_ in allowed
    if model.stop_reason_ == "separable":
        assert model.score(X, y) == 1.0


# scikit-learn's own checks.


def expected(estimator):
    """Checks that must fail, each with its reason."""
    if getattr(estimator, "on_separation", "warn") == "raise":
        return dict.fromkeys(SEPARABLE, "its rows are separable, which was to be an error")
    if getattr(estimator, "fit_intercept", True):
        return {}
    return {
        "check_class_weight_classifiers": "a class weight of 1000 shall make nearly every row of "
        "that class, which the weight of a constant does and no other here"
    }


@parametrize_with_checks(
    [
        LogisticRegression(),
        *([GaussianNaiveBayes()] if THOROUGH else []),
        *(
            LogisticRegression(**how)
            for how in (
                {"fit_intercept": False, "penalty": "firth", "intervals": "wald"},
                {"on_separation": "raise"},
                {"solver": "gradient_ascent", "l2": 1.0, "max_iter": 200, "tol": 1e-4},
            )
            if THOROUGH
        ),
    ],
    expected_failed_checks=expected,
    xfail_strict=True,
)
def test_check_estimator(estimator, check):
    with warnings.catch_warnings():  # clouds of points in these checks are separable
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "All rows of class.* have weight 0")
        check(estimator)
