"""Likelihoods of which no search says whether they have a maximum, and maxima that barely exist."""

import json
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from flint import arb, arb_mat, ctx
from sklearn.datasets import dump_svmlight_file

import linsep
from command_line import here
from linsep import LogisticRegression
from linsep.certificate.constraints import Question
from linsep.errors import SeparationError, SeparationWarning
from linsep.logistic import no_maximum as separation
from linsep.logistic.outcomes import UnfinishedWarning
from linsep.separability import working_set
from linsep.separability.data import data_of
from linsep.separability.time_limit import TooLarge
from linsep.sources import ArraySource
from parameters_in_order import ends_of, last, weights_of
from thoroughness import met

pytestmark = pytest.mark.compiled


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


def overlapping(classes=2):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    return X, (rng.integers(0, classes, 300) + (X[:, 0] > 1)) % classes


def large(X, y):
    source = ArraySource(X, y, batch_rows=70)
    source.memory_bytes = 1
    return source


@pytest.mark.parametrize(
    ("classes", "reference", "storage"),
    met([2, 3], [None, 0, 1], [np.asarray, sp.csr_matrix, large]),
)
def test_weights_that_separate_every_row_prove_it(endless, classes, reference, storage):
    X, y = separated(classes)
    given = (large(X, y),) if storage is large else (storage(X), y)
    with pytest.warns(SeparationWarning, match="The data are separable") as caught:
        model = LogisticRegression(reference=reference).fit(*given)
    assert len(caught) == 1
    verdict = caught[0].message.verdict
    assert verdict.verify(X, y), verdict.verify(X, y).reason
    assert linsep.from_json(verdict.to_json()) == verdict
    assert model.score(X, y) == 1.0
    assert model.log_likelihood_ == 0.0
    assert np.isnan(last(model, "standard_errors_")).all()
    assert not (last(model, "limits_") == "finite").any()
    with pytest.raises(SeparationError):
        LogisticRegression(reference=reference, on_separation="raise").fit(*given)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient_ascent"])
@pytest.mark.parametrize("most", [2500, 3], ids=["with a Hessian", "without"])
def test_weights_of_every_solver_are_checked(endless, monkeypatch, solver, most):
    monkeypatch.setattr("linsep.logistic.rows.MOST_WEIGHTS", most)
    X, y = separated(2)
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    y[weights == 0] = 1 - y[weights == 0]  # not counted
    with pytest.warns(SeparationWarning, match="The data are separable"):
        model = LogisticRegression(solver=solver, max_iter=200).fit(X, y, weights)
    assert model.separation_.verify(X[weights > 0], y[weights > 0])


def test_the_weights_are_checked_in_one_pass_before_any_search(monkeypatch):
    """Where a search would be long: with many weights, or rows that are read again."""
    asked = []
    monkeypatch.setattr(separation, "separation", lambda *given, **how: asked.append(given))
    X, y = separated(2)
    passes = []
    ask = working_set._all_positive

    def counted(*given):
        passes.append(1)
        return ask(*given)

    monkeypatch.setattr(working_set, "_all_positive", counted)
    with pytest.warns(SeparationWarning):
        LogisticRegression().fit(large(X, y))
    assert (len(passes), asked) == (1, [])


def test_integers_decide_about_weights_that_floats_cannot_tell():
    """Rows on both sides of a boundary, a unit in the last place away."""
    below = np.nextafter(0.5, 0)
    X = np.array([[0.5], [np.nextafter(below, 0)], [0.0], [1.0]])
    data = data_of(X, [1, 0, 0, 1])
    question = Question([np.array([[-1]]), np.array([[1]])], 2, True)
    assert working_set.separates(data, question, np.array([1.0, -below]))
    for on_it in X[:2, 0]:
        assert not working_set.separates(data, question, np.array([1.0, -on_it]))
    assert not working_set.separates(data, question, np.array([-1.0, below]))
    assert not working_set.separates(data, question, np.array([np.inf, -below]))


def said_nothing(model):
    """Nothing is inferred: every number is NaN, in the table a dash."""
    assert model.covariance_ is None
    for name in ("standard_errors_", "statistics_", "p_values_"):
        assert np.isnan(getattr(model, name)).all(), name
    assert np.isnan(ends_of(model)).all()
    assert np.isnan([model.aic_, model.bic_, *model.likelihood_ratio_[::2]]).all()
    header = model.summary().to_dict()["header"]
    assert header["AIC"] is header["BIC"] is header["p of likelihood ratio"] is None
    assert "standard errors, tests, AIC and BIC are not known" in str(model.summary())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, large])
@pytest.mark.parametrize("intervals", ["wald", "profile"])
def test_without_a_verdict_nothing_is_inferred(endless, monkeypatch, tmp_path, classes, storage,
                                               intervals):  # fmt: skip
    if storage is large and intervals == "profile":
        pytest.skip("profiles are for rows in memory")
    monkeypatch.setattr("linsep.logistic.ascent.examined", lambda *given: (False, True))
    X, y = overlapping(classes)
    given = (large(X, y),) if storage is large else (storage(X), y)
    with pytest.warns(UnfinishedWarning, match="maximum is undecided"):
        model = LogisticRegression(intervals=intervals).fit(*given)
    assert model.stop_reason_ == "undecided"
    assert (last(model, "limits_") == "not checked").all()
    said_nothing(model)
    linsep.save(model, tmp_path / "m")
    said_nothing(linsep.load(tmp_path / "m"))
    assert "Without a proof of a maximum" in model.summary().notes[-1]
    monkeypatch.undo()
    plain = LogisticRegression().fit(X, y)
    assert np.allclose(weights_of(model), weights_of(plain), rtol=1e-6)
    assert np.isfinite(plain.aic_)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient_ascent"])
def test_with_too_many_weights_for_a_proof_nothing_is_inferred(monkeypatch, tmp_path, solver):
    monkeypatch.setattr("linsep.logistic.rows.MOST_WEIGHTS", 3)
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedWarning)  # of gradient ascent
        model = LogisticRegression(solver=solver).fit(sp.csr_matrix(X), y)
    said_nothing(model)
    assert "Whether a finite maximum exists was not checked, so" in str(model.summary())


@pytest.mark.parametrize("how", [{"l2": 1.0}, {"penalty": "firth"}], ids=str)
def test_penalties_always_have_a_maximum(endless, how):
    X, y = separated(2)
    model = LogisticRegression(**how).fit(X, y)
    assert (last(model, "limits_") == "finite").all()
    assert model.stop_sentence_ == ""
    assert np.isfinite(last(model, "p_values_")).all() == ("penalty" in how)


def test_the_command_prints_no_inference_without_a_proof(endless, monkeypatch, tmp_path):
    monkeypatch.setattr("linsep.logistic.ascent.examined", lambda *given: (False, True))
    X, y = overlapping()
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"))
    command = ("fit", "t.svm", "--learner", "logistic")
    done = here(*command, "--model", "m", cwd=tmp_path)
    assert re.search(r"^AIC +- ", done.stdout, re.MULTILINE)
    assert "<0.001" not in done.stdout
    assert "Whether the likelihood has a maximum is undecided" in done.stderr
    said = json.loads(here("summary", "m", "--json", cwd=tmp_path).stdout)
    assert said["header"]["AIC"] is said["header"]["p of likelihood ratio"] is None
    numbers = ("standard_error", "statistic", "p_value", "low", "high")
    assert {row[name] for row in said["coefficients"] for name in numbers} == {None}
    assert "maximum is undecided" in here("summary", "m", cwd=tmp_path).stdout


def test_the_command_proves_what_the_weights_show(endless, tmp_path):
    X, y = separated(2)
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"))
    done = here("fit", "t.svm", "--learner", "logistic", "--model", "m", "--json", cwd=tmp_path)
    assert "The data are separable" in done.stderr
    rows = linsep.open_source(tmp_path / "t.svm")
    assert linsep.load(tmp_path / "m").separation_.verify(rows)


def test_the_supremum_of_quasi_separable_rows_beyond_memory_is_not_known():
    X, y = overlapping()
    X[:, 3] = (rare := np.arange(300) % 20 == 0)
    y[rare] = 1
    with pytest.warns(SeparationWarning, match="quasi-separable"):
        model = LogisticRegression().fit(large(X, y))
    assert np.isnan([model.aic_, model.bic_, *model.likelihood_ratio_[::2]]).all()
    with pytest.warns(SeparationWarning, match="quasi-separable"):
        limit = LogisticRegression().fit(X, y)
    assert model.log_likelihood_ < limit.log_likelihood_
    assert np.isfinite(limit.aic_)


# Maxima that barely exist.


def maximum(X, y, bits=400):
    """Weights and standard errors by Newton's method in long floats."""
    ctx.prec, before = bits, ctx.prec
    try:
        return newton(arb_mat([[*map(arb, row), arb(1)] for row in X.tolist()]), y.tolist())
    finally:
        ctx.prec = before


def newton(Z, y):
    n, k = Z.nrows(), Z.ncols()

    def middle(M):
        return arb_mat([[M[i, j].mid() for j in range(M.ncols())] for i in range(M.nrows())])

    def value(w):
        scores = Z * w
        turned = [scores[i, 0] if y[i] else -scores[i, 0] for i in range(n)]
        return -sum(((arb(1) + (-s).exp()).log() for s in turned), arb(0)).mid()

    w = arb_mat(k, 1, [0] * k)
    for _ in range(200):
        scores = Z * w
        p = [(arb(1) / (arb(1) + (-scores[i, 0]).exp())).mid() for i in range(n)]
        slope = middle(Z.transpose() * arb_mat(n, 1, [y[i] - p[i] for i in range(n)]))
        curved = arb_mat(n, k, [Z[i, j] * p[i] * (1 - p[i]) for i in range(n) for j in range(k)])
        H = middle(Z.transpose() * curved)
        step = middle(H.solve(slope))
        if float((slope.transpose() * step)[0, 0].mid()) < 1e-40:
            break
        part, before = arb(1), value(w)
        while float((value(w + step * part) - before).mid()) < 0:
            part /= 2
        w = middle(w + step * part)
    errors = [float(H.inv()[j, j].mid()) ** 0.5 for j in range(k)]
    return np.array([float(w[j, 0].mid()) for j in range(k)]), np.array(errors)


def barely(overlap):
    return np.array([[0.0], [0.3], [1.0], [1.0 + overlap], [1.7], [2.0]]), np.array(
        [0, 0, 1, 0, 1, 1]
    )


@pytest.mark.parametrize("overlap", [1e-14, 3e-15, 1e-15, 3e-16])
@pytest.mark.parametrize("storage", [np.asarray, large])
def test_an_overlap_of_a_few_units_in_the_last_place_is_said(tmp_path, overlap, storage):
    X, y = barely(overlap)
    given = (large(X, y),) if storage is large else (X, y)
    with pytest.warns(UnfinishedWarning, match="the classes overlap by at most") as caught:
        model = LogisticRegression().fit(*given)
    assert len(caught) == 1
    _, errors = maximum(X, y)
    assert (last(model, "standard_errors_")[0] < 0.9 * errors).all()
    said = str(model.summary())
    assert "float64 determines hardly a digit of the estimates and standard errors" in said
    part = float(str(caught[0].message).split("at most ")[1].split()[0])
    assert (X[3, 0] - 1) / 2 <= part <= 3 * (X[3, 0] - 1)  # of 1, the farthest on the right side
    linsep.save(model, tmp_path / "m")
    assert linsep.load(tmp_path / "m").stop_sentence_ == model.stop_sentence_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(penalty="firth").fit(X, y)


@pytest.mark.parametrize("overlap", [1e-13, 1e-12, 1e-10, 1e-8, 1e-5, 0.1])
def test_standard_errors_are_right_where_nothing_is_said(recwarn, overlap):
    """They came from the weights before the last step, off by 0.1% for the first."""
    X, y = barely(overlap)
    model = LogisticRegression().fit(X, y)
    assert not recwarn.list
    weights, errors = maximum(X, y)
    assert np.allclose(weights_of(model)[0], weights, rtol=1e-5)
    assert np.allclose(last(model, "standard_errors_")[0], errors, rtol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_digits_that_are_promised_are_right(seed):
    """Rows in the plane, with pairs that overlap along the boundary by 1e-9 to 1e-15."""
    rng = np.random.default_rng(seed)
    w, X = rng.normal(size=2), rng.normal(size=(30, 2))
    along, at = np.array([-w[1], w[0]]), X.mean(axis=0)
    y = ((X - at) @ w > 0).astype(int)
    overlap = 10.0 ** -rng.uniform(9, 15)
    for k, turn in ((0.5, 1), (-0.7, 1)):
        middle = at + k * along
        X = np.vstack([X, middle - overlap * turn * w, middle + overlap * turn * w])
        y = np.append(y, [1, 0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LogisticRegression().fit(X, y)
    said = " ".join(str(w.message) for w in caught)
    if model.stop_reason_ in ("separable", "quasi-separable") or "hardly a digit" in said:
        return
    digits = int(said.split("only about ")[1].split()[0]) if said else 4
    _, errors = maximum(X, y)
    off = np.abs(last(model, "standard_errors_")[0] / errors - 1).max()
    assert off < 10.0 ** (1 - digits)


def test_many_separable_classes_are_proved_by_the_weights():
    rng = np.random.default_rng(0)
    X = sp.random_array((120, 400), density=0.05, random_state=rng, format="csr")
    y = np.arange(120) % 12
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(X, y)
    used = np.asarray(abs(X).sum(axis=0)).ravel() > 0  # columns of zeros are left out
    assert model.separation_.verify(X[:, used], y)
    assert model.score(X, y) == 1.0


def test_very_different_weights_are_the_reason_of_lost_digits():
    X, y, weights = [[1.0], [2], [3], [4], [2]], [0, 1, 0, 1, 0], [1e18, 1, 1, 1, 1]
    with pytest.warns(UnfinishedWarning, match="give the rows more equal weights") as caught:
        model = LogisticRegression().fit(X, y, sample_weight=weights)
    assert "the rows differ so much in weight or in size that float64" in str(caught[0].message)
    assert "overlap" not in str(model.summary())
