"""What becomes of coefficients without a finite estimate, as an exact oracle says; likelihoods of
which no search says whether they have a maximum; maxima that barely exist; predicting weights.
"""

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import StandardScaler

import linsep
from checkers_agree import accepts, accepts_alone
from exact_logistic import exact_maximum
from fourier_motzkin import limits_of, of_classes, two_sided
from linsep import LogisticRegression, from_json, load, save, separation
from linsep.errors import SeparationWarning
from linsep.logistic.limits import RIDGES
from linsep.logistic.task import UnfinishedWarning
from linsep.separability.time_limit import TooLarge
from linsep.sources import ArraySource
from parameters_in_order import ends_of, last, weights_of
from proof_edits import written
from thoroughness import examples, some

pytestmark = pytest.mark.compiled

small = st.integers(-2, 2)


def tables(classes, most_columns, most_rows=8):
    return st.integers(1, most_columns).flatmap(
        lambda d: st.lists(
            st.tuples(*[small] * d, st.integers(0, classes - 1)), min_size=2, max_size=most_rows
        ).filter(lambda rows: len({row[-1] for row in rows}) == classes)
    )


def parts(rows):
    table = np.array(rows)
    return table[:, :-1], table[:, -1]


def assert_told(verdict, X, y, rows, fit_intercept):
    """The limits, which verify, and are those of the oracle."""
    limits = list(verdict.limits().values())
    assert limits == limits_of(rows, X.shape[1] + fit_intercept, fit_intercept)
    check = verdict.verify(X, y, exact=True)
    assert check, check.reason
    assert from_json(verdict.to_json()) == verdict
    return limits


@examples(40)
@given(tables(3, 1, 6), st.booleans())
def test_several_classes_agree_with_the_oracle(rows, fit_intercept):
    X, y = parts(rows)
    verdict = separation(
        X, y, fit_intercept=fit_intercept, formulations=("multinomial",)
    ).multinomial
    if verdict.kind != "separable":
        assert_told(verdict, X, y, of_classes(X, y, fit_intercept), fit_intercept)


def regression_rows(X, y, reference):
    """The rows of a regression of the other class's odds against the reference's."""
    return two_sided(X, y != reference, True)


@pytest.mark.parametrize("seed", some(range(12), 6))
def test_a_logistic_regression_has_the_signs_of_the_oracle(seed):
    reference = 1
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (7, 1 + seed % 2))
    y = X @ rng.integers(-2, 3, X.shape[1]) + rng.integers(0, 2, 7) * (seed % 3 > 0) > 0
    y[:2] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(reference=reference).fit(X, y.astype(int))
        order = rng.permutation(7)
        again = LogisticRegression(reference=reference).fit(X[order], y[order].astype(int))
    if model.separation_ is not None:
        expected = limits_of(regression_rows(X, y, reference), X.shape[1] + 1, True)
        assert last(model, "limits_").ravel().tolist() == expected
    assert last(model, "limits_").tolist() == last(again, "limits_").tolist()


def test_contrasts_of_several_classes_have_the_signs_of_the_oracle():
    reference = 0
    X, y = np.array([[0], [1], [1], [2], [2], [3]]), np.array([0, 0, 1, 1, 2, 2])
    with pytest.warns(SeparationWarning):
        model = LogisticRegression(reference=reference).fit(X, y)
    rows = of_classes(X, np.where(y == reference, 2, np.where(y == 2, reference, y)), True)
    expected = np.array(limits_of(rows, 2, True)).reshape(2, 2)
    for block, own in enumerate([2 if k == reference else k for k in (0, 1)]):
        ours = [k for k in range(3) if k != reference].index(own)
        assert last(model, "limits_")[ours].tolist() == expected[block].tolist()


def test_signs_that_were_edited_are_refused():
    X = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 1], [-1, 1, 1]])
    y = np.array([0, 1, 1, 1])
    verdict = separation(X, y)
    assert verdict.limits() == {
        "x0": "infinite", "x1": "+inf", "x2": "dependent", "intercept": "finite",
    }  # fmt: skip
    plain = json.loads(verdict.to_json())
    signs = plain["verdicts"][0]["signs"]
    (name,) = signs
    signs[name]["multipliers"] = ["0x77", "0x1"]
    text = written(plain)
    assert not accepts(text, X, y)
    assert not accepts_alone(text, X, y)


# Where the work runs out.


def under(monkeypatch, seconds):
    """Let the signs of all coefficients together take so many seconds of estimated work."""
    monkeypatch.setattr("linsep.separability.recession.MOST_WORK", seconds)


def test_no_claim_depends_on_the_order_of_rows_or_on_the_work(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.integers(-1, 2, (10, 3)), np.zeros((2, 3), int)])
    scores = X @ rng.integers(1, 3, 3)
    y = np.where(scores == 0, np.arange(12) % 2, scores > 0).astype(int)
    whole = separation(X, y)
    assert whole.kind == "quasi-separable"
    assert whole.unchecked == ()
    expected = whole.limits()
    assert list(expected.values()) == limits_of(two_sided(X, y, True), 4, True)
    under(monkeypatch, 3e-6)
    for _ in range(6):
        order = rng.permutation(12)
        verdict = separation(X[order], y[order])
        for name, word in verdict.limits().items():
            assert word in (expected[name], "sign not checked")
            if word == "sign not checked":
                assert expected[name] in ("+inf", "-inf", "infinite")
        assert from_json(verdict.to_json()) == verdict
        assert verdict.verify(X[order], y[order])


@pytest.fixture
def unchecked(monkeypatch):
    """A verdict without work for signs, with its rows, none of which proves one by itself."""
    X = np.array([
        [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [1, 1, 1, 0, 0], [-1, 1, 1, 0, 0],
        [0, 0, 1, 1, 1], [0, 0, 1, 1, -1],
    ])  # fmt: skip
    y = np.array([0, 1, 1, 1, 0, 0])
    under(monkeypatch, 0.0)
    return X, y, separation(X, y)


def test_where_the_work_ran_out_it_says_not_checked(tmp_path, unchecked):
    X, y, verdict = unchecked
    assert verdict.limits() == {
        "x0": "infinite", "x1": "sign not checked", "x2": "dependent", "x3": "sign not checked",
        "x4": "infinite", "intercept": "finite",
    }  # fmt: skip
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(X, y)
    assert last(model, "limits_")[0].tolist() == list(verdict.limits().values())
    assert np.isnan(last(model)[0, [0, 1, 3]]).all()
    save(model, tmp_path / "m")
    model = load(tmp_path / "m")
    assert last(model, "limits_")[0].tolist() == list(verdict.limits().values())


# Likelihoods of which no search says whether they have a maximum.


@pytest.fixture
def endless(monkeypatch):
    """No search for separating weights ends."""

    def late(*given):
        raise TooLarge("rows would take too long")

    monkeypatch.setattr("linsep.separability.deciding.search", late)


def separated(classes, seed=0):
    """Rows of several classes with gaps between them."""
    X = np.random.default_rng(seed).normal(size=(400, 4))
    y = np.digitize(X @ [1.0, -2.0, 0.5, 0.0], [0.0, 1.5][: classes - 1])
    clear = np.abs((X @ [1.0, -2.0, 0.5, 0.0])[:, None] - [0.0, 1.5][: classes - 1]).min(axis=1)
    return X[clear > 0.2], y[clear > 0.2]


def that_overlap(classes=2):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    return X, (rng.integers(0, classes, 300) + (X[:, 0] > 1)) % classes


def large(X, y):
    source = ArraySource(X, y, batch_rows=70)
    source.memory_bytes = 1
    return source


@pytest.mark.usefixtures("endless")
@pytest.mark.parametrize(
    ("classes", "reference", "storage"), [(2, 1, sp.csr_matrix), (3, 0, large)]
)
def test_weights_that_separate_every_row_prove_it(classes, reference, storage):
    X, y = separated(classes)
    given = (large(X, y),) if storage is large else (storage(X), y)
    with pytest.warns(SeparationWarning) as caught:
        model = LogisticRegression(reference=reference).fit(*given)
    assert len(caught) == 1
    verdict = caught[0].message.verdict
    assert verdict.verify(X, y), verdict.verify(X, y).reason
    assert model.score(X, y) == 1.0
    assert model.log_likelihood_ == 0.0
    assert np.isnan(last(model, "standard_errors_")).all()
    assert not (last(model, "limits_") == "finite").any()


def said_nothing(model):
    """Nothing is inferred: every number is NaN, in the table a dash."""
    assert model.covariance_ is None
    for name in ("standard_errors_", "statistics_", "p_values_"):
        assert np.isnan(getattr(model, name)).all(), name
    assert np.isnan(ends_of(model)).all()
    assert np.isnan([model.aic_, model.bic_, *model.likelihood_ratio_[::2]]).all()
    header = model.summary().to_dict()["header"]
    assert header["AIC"] is header["BIC"] is header["p of likelihood ratio"] is None


@pytest.mark.usefixtures("endless")
def test_without_a_verdict_nothing_is_inferred(monkeypatch, tmp_path):
    monkeypatch.setattr("linsep.logistic.newton.examined", lambda *given: (False, True))
    X, y = that_overlap(3)
    with pytest.warns(UnfinishedWarning):
        model = LogisticRegression().fit(sp.csr_matrix(X), y)
    assert model.stop_reason_ == "undecided"
    assert (last(model, "limits_") == "not checked").all()
    said_nothing(model)
    linsep.save(model, tmp_path / "m")
    said_nothing(linsep.load(tmp_path / "m"))
    monkeypatch.undo()
    plain = LogisticRegression().fit(X, y)
    assert np.allclose(weights_of(model), weights_of(plain), rtol=1e-6)
    assert np.isfinite(plain.aic_)


# Maxima that barely exist.


def barely(overlap):
    return np.array([[0.0], [0.3], [1.0], [1.0 + overlap], [1.7], [2.0]]), np.array(
        [0, 0, 1, 0, 1, 1]
    )


def test_an_overlap_of_a_few_units_in_the_last_place_is_said():
    X, y = barely(1e-14)
    with pytest.warns(UnfinishedWarning) as caught:
        model = LogisticRegression().fit(X, y)
    assert len(caught) == 1
    *_, errors = exact_maximum(X, y)
    assert (np.abs(last(model, "standard_errors_")[0] / errors - 1) > 1e-3).any()


@pytest.mark.parametrize("overlap", [1e-12, 0.1])
def test_standard_errors_are_right_where_nothing_is_said(recwarn, overlap):
    """They came from the weights before the last step, off by 0.1% for the first."""
    X, y = barely(overlap)
    model = LogisticRegression().fit(X, y)
    assert not recwarn.list
    _, weights, errors = exact_maximum(X, y)
    assert np.allclose(weights_of(model)[0], weights, rtol=1e-5)
    assert np.allclose(last(model, "standard_errors_")[0], errors, rtol=1e-4)


# The weights that predict: the limit of a ridge that vanishes.


def standardized(seed, classes):
    rng = np.random.default_rng(seed)
    X = StandardScaler().fit_transform(rng.normal(size=(60, 5)) * 10.0 ** rng.integers(-2, 3, 5))
    return X, (X @ rng.normal(size=(5, classes))).argmax(axis=1)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_weights_are_those_of_the_last_ridge_in_any_units():
    X, y = standardized(1, 3)
    theirs = Theirs(C=1.0 / (RIDGES[-1] * len(y)), tol=1e-10, max_iter=100_000).fit(X, y)
    scores = theirs.decision_function(X)
    scores = scores - scores[:, -1:]
    units = np.array([1e-4, 1.0, 3.0, 1e5, 1e3])
    for Z in (X, X * units + 7.0 * units):
        ours = LogisticRegression().fit(Z, y)
        assert ours.stop_reason_ == "separable"
        assert np.allclose(ours.decision_function(Z), scores, rtol=0.02, atol=0.02)
