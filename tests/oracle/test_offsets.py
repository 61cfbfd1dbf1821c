"""Offsets of linear and logistic regressions, beside statsmodels and optima by brute force."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.optimize import minimize
from sklearn.exceptions import UnsetMetadataPassedError

import linsep
from linsep import LinearRegression, LogisticRegression
from linsep.errors import DataError
from refusals import refused

N = 120


def rows(seed: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, offset = rng.normal(size=(N, 3)) * [1.0, 30.0, 0.01] + [0, 1000, 0], rng.normal(size=N)
    scores = X @ [1.0, 0.02, -50.0] - 20 + spread * offset
    return X, (rng.random(N) < 1 / (1 + np.exp(-scores))).astype(int), spread * offset


def binomial(X: np.ndarray, y: np.ndarray, offset: np.ndarray, weights: object = None) -> object:
    family = sm.families.Binomial()
    model = sm.GLM(y, X, family=family, offset=offset, freq_weights=weights)
    return model.fit(tol=1e-14, maxiter=200)


@pytest.mark.parametrize("spread", [1.0, 6.0])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"intervals": "profile"}, {"reference": 1}],
    ids=["newton", "profile", "reference"],
)
def test_logistic_beside_statsmodels(spread: float, parameters: dict[str, object]) -> None:
    X, y, offset = rows(0, spread)
    theirs = binomial(sm.add_constant(X), y, offset)
    sign = -1.0 if parameters.get("reference") == 1 else 1.0
    ours = LogisticRegression(**parameters).fit(X, y, offset=sign * offset)
    np.testing.assert_allclose(sign * ours.coef_[0], theirs.params[1:], rtol=1e-7)
    np.testing.assert_allclose(sign * ours.intercept_[0], theirs.params[0], rtol=1e-7)
    np.testing.assert_allclose(ours.standard_errors_, theirs.bse, rtol=1e-6)
    np.testing.assert_allclose(ours.log_likelihood_, theirs.llf, rtol=1e-12)
    np.testing.assert_allclose(ours.null_deviance_, theirs.null_deviance, rtol=1e-9)
    p = theirs.predict(sm.add_constant(X), offset=offset)
    found = ours.predict_proba(X, offset=sign * offset)[:, 1]
    np.testing.assert_allclose(found, p, rtol=1e-7)
    score = ours.score(X, y, offset=sign * offset)
    assert score == pytest.approx(np.mean((p > 0.5) == y))


def test_weights_and_no_intercept() -> None:
    X, y, offset = rows(1)
    weights = np.random.default_rng(2).integers(0, 4, N)
    X = X - X.mean(axis=0)
    theirs = binomial(X, y, offset, weights)
    ours = LogisticRegression(fit_intercept=False).fit(X, y, weights, offset=offset)
    np.testing.assert_allclose(ours.coef_[0], theirs.params, rtol=1e-7)
    null = -(weights * np.logaddexp(0, np.where(y, -offset, offset))).sum()
    assert ours.null_log_likelihood_ == pytest.approx(null, rel=1e-14)
    ours = LogisticRegression().fit(X, y, weights, offset=offset)
    null = binomial(np.ones((N, 1)), y, offset, weights)
    assert ours.null_log_likelihood_ == pytest.approx(null.llf, rel=1e-13)


def test_what_offsets_shift() -> None:
    X, y, _ = rows(3)
    plain = LogisticRegression().fit(X, y)
    moved = LogisticRegression().fit(X, y, offset=7.5)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-9)
    assert moved.intercept_[0] == pytest.approx(plain.intercept_[0] - 7.5, rel=1e-9)
    for name in ("deviance_", "null_deviance_", "aic_", "bic_", "mcfadden_r2_"):
        assert getattr(moved, name) == pytest.approx(getattr(plain, name), rel=1e-11)
    moved = LogisticRegression().fit(X, y, offset=2 * X[:, 0])
    np.testing.assert_allclose(moved.coef_[0] + [2, 0, 0], plain.coef_[0], rtol=1e-8)
    np.testing.assert_allclose(moved.standard_errors_, plain.standard_errors_, rtol=1e-8)


def penalized(X: np.ndarray, y: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the weights of Firth's likelihood by a general optimizer, the intercept first."""

    def loss(b: np.ndarray) -> float:
        score = X @ b + offset
        p = 1 / (1 + np.exp(-score))
        information = (X * (p * (1 - p))[:, None]).T @ X
        value = -np.logaddexp(0, np.where(y == 1, -score, score)).sum()
        return -value - np.linalg.slogdet(information)[1] / 2

    found = minimize(loss, np.zeros(X.shape[1]), method="BFGS", options={"gtol": 1e-7})
    return minimize(loss, found.x, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).x


def test_firth_with_offsets() -> None:
    rng = np.random.default_rng(5)
    X, offset = rng.normal(size=(25, 2)), 2 * rng.normal(size=25)
    y = (X[:, 0] + rng.normal(size=25) > 0.3).astype(int)
    expected = penalized(np.column_stack([np.ones(25), X]), y, offset)
    ours = LogisticRegression(penalty="firth").fit(X, y, offset=offset)
    np.testing.assert_allclose([ours.intercept_[0], *ours.coef_[0]], expected, atol=2e-6)
    moved = LogisticRegression(penalty="firth").fit(X, y, offset=offset + 3 * X[:, 1])
    ends, others = ours.confidence_intervals(), moved.confidence_intervals()
    np.testing.assert_allclose(np.add(others, [[0], [0], [3]]), ends, atol=1e-4)


def test_limits_of_separated_data_do_not_depend_on_offsets() -> None:
    rng = np.random.default_rng(6)
    group = np.repeat([0.0, 1.0], 40)
    X = np.column_stack([group, rng.normal(size=80)])
    y = np.where(group == 1, 1, rng.random(80) < 0.5).astype(int)
    offset = rng.normal(size=80) * 5
    with pytest.warns(linsep.errors.SeparationWarning):
        ours = LogisticRegression().fit(X, y, offset=offset)
    assert ours.limits_.tolist() == ["finite", "+inf", "finite"]
    inside = group == 0  # rows whose choice is left decide about the rest
    theirs = binomial(sm.add_constant(X[inside, 1:]), y[inside], offset[inside])
    np.testing.assert_allclose([ours.intercept_[0], ours.coef_[0, 1]], theirs.params, rtol=1e-7)
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-10)
    assert (ours.predict(X, offset=offset)[group == 1] == 1).all()
    with pytest.warns(linsep.errors.SeparationWarning):
        whole = LogisticRegression().fit(X, group, offset=offset)
    assert whole.stop_reason_ == "separable"
    assert whole.log_likelihood_ == 0
    assert (whole.predict(X, offset=offset) == group).all()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_many_weights(kind: object) -> None:
    rng = np.random.default_rng(7)
    X = sp.random(200, 2600, 0.02, format="csr", random_state=7)
    y, offset = (rng.random(200) < 0.5).astype(int), 2 * rng.normal(size=200)
    given = X if kind is sp.csr_matrix else X.toarray()
    model = LogisticRegression(l2=1.0, tol=1e-9).fit(given, y, offset=offset)
    p = model.predict_proba(given, offset=offset)[:, 1]
    np.testing.assert_allclose(X.T @ (y - p), model.coef_[0], atol=1e-6)
    assert (y - p).sum() == pytest.approx(0, abs=1e-6)


def test_gradient_ascent() -> None:
    rng = np.random.default_rng(8)
    X, offset = rng.normal(size=(60, 1)), 20 * rng.normal(size=60)
    y = (rng.random(60) < 1 / (1 + np.exp(-X[:, 0] - offset))).astype(int)
    newton = LogisticRegression().fit(X, y, offset=offset)
    ascent = LogisticRegression(solver="gradient_ascent", max_iter=100_000).fit(X, y, offset=offset)
    np.testing.assert_allclose(ascent.coef_, newton.coef_, rtol=1e-5)
    assert ascent.stop_reason_ == "converged"


def test_huge_offsets() -> None:
    X, y, _ = rows(9)
    plain = LogisticRegression().fit(X, y)
    moved = LogisticRegression().fit(X, y, offset=1e6)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-6)
    assert moved.null_log_likelihood_ == pytest.approx(plain.null_log_likelihood_, rel=1e-9)
    sure = np.where(y == 1, 800.0, -800.0)  # all is known before
    model = LogisticRegression().fit(X[:, :1], y, offset=np.where(np.arange(N) < 20, 0.0, sure))
    few = LogisticRegression().fit(X[:20, :1], y[:20])
    np.testing.assert_allclose(model.coef_, few.coef_, rtol=1e-7)


def test_linear_is_the_regression_of_the_difference() -> None:
    X, _, offset = rows(10)
    y = X @ [1.0, 2.0, 300.0] + np.random.default_rng(11).normal(size=N)
    weights = np.random.default_rng(12).random(N)
    theirs = sm.WLS(y - offset, sm.add_constant(X), weights=weights).fit()
    ours = LinearRegression().fit(X, y, weights, offset=offset)
    np.testing.assert_allclose(ours.coef_, theirs.params[1:], rtol=1e-9)
    np.testing.assert_allclose(ours.standard_errors_, theirs.bse, rtol=1e-9)
    assert ours.r_squared_ == pytest.approx(theirs.rsquared, rel=1e-10)
    assert ours.f_statistic_ == pytest.approx(theirs.fvalue, rel=1e-9)
    bands = ours.predict(X, "prediction", offset=offset)
    frame = theirs.get_prediction(sm.add_constant(X)).summary_frame()
    np.testing.assert_allclose(bands.prediction, frame["mean"] + offset, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X, offset=offset), bands.prediction, rtol=0)
    again = ours.assumptions(X, y, weights, offset=offset)
    assert str(again)
    with refused(DataError, "needs-option", option="offset"):
        ours.assumptions(X, y, weights)
    errors = y - bands.prediction
    spread = ((y - y.mean()) ** 2).sum()
    assert ours.score(X, y, offset=offset) == pytest.approx(1 - (errors**2).sum() / spread)


def test_linear_shifts_are_exact() -> None:
    rng = np.random.default_rng(13)
    X, y = rng.integers(-9, 9, (30, 2)).astype(float), rng.integers(-50, 50, 30).astype(float)
    plain = LinearRegression().fit(X, y)
    moved = LinearRegression().fit(X, y, offset=3 * X[:, 0])
    assert moved.coef_[1] == pytest.approx(plain.coef_[1], rel=1e-13)
    assert moved.intercept_ == pytest.approx(plain.intercept_, rel=1e-13)
    assert moved.coef_[0] == pytest.approx(plain.coef_[0] - 3, rel=1e-14)
    assert moved.solution_.rss == pytest.approx(plain.solution_.rss, rel=1e-13)
    moved = LinearRegression().fit(X, y, offset=1024)
    assert moved.coef_ == pytest.approx(plain.coef_, rel=1e-13)
    assert moved.intercept_ == pytest.approx(plain.intercept_ - 1024, rel=1e-15)
    perfect = LinearRegression().fit(X, 3 * X[:, 0] + 2, offset=3 * X[:, 0])
    assert perfect.coef_.tolist() == [0, 0]
    assert perfect.intercept_ == 2


BAD = [
    (np.r_[np.nan, np.zeros(N - 1)], "row 1 (index 0) is missing"),
    (np.r_[0, np.inf, np.zeros(N - 2)], "row 2 (index 1) is inf"),
    ([None] * N, "row 1 (index 0) is missing"),
    (pd.Series([1.0] * (N - 1) + [pd.NA], dtype="Float64"), f"row {N} (index {N - 1}) is missing"),
    (["x"] * N, "row 1 (index 0) is x"),
    (np.zeros(3), f"offset has shape (3,), but X has {N} rows"),
    (np.zeros((N, 1)), f"offset has shape ({N}, 1), but X has {N} rows"),
]


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
@pytest.mark.parametrize(("offset", "said"), BAD, ids=[said for _, said in BAD])
def test_bad_offsets(kind: type, offset: object, said: str) -> None:
    X, y, _ = rows(14)
    with pytest.raises(DataError) as problem:
        kind().fit(X, y, offset=offset)
    assert said in str(problem.value)


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
def test_predictions_need_an_offset(kind: type, tmp_path: object) -> None:
    X, y, offset = rows(15)
    model, plain = kind().fit(X, y, offset=offset), kind().fit(X, y)
    assert model._with_offset
    assert not plain._with_offset
    linsep.save(model, tmp_path / "m.linsep")
    for one in (model, linsep.load(tmp_path / "m.linsep"), pickle.loads(pickle.dumps(model))):
        with refused(DataError, "needs-option", option="offset"):
            one.predict(X)
        assert (one.predict(X, offset=offset) == model.predict(X, offset=offset)).all()
    with refused(DataError, "unsupported", option="offset"):
        plain.predict(X, offset=offset)
    with refused(Exception, "unsupported"):
        linsep.export(model, tmp_path / "m.sql")
    again = model.fit(X, y)
    assert not again._with_offset
    assert (again.predict(X) == plain.predict(X)).all()


def test_several_classes_are_refused() -> None:
    X, _, offset = rows(16)
    with refused(DataError, "class-count", option="offset"):
        LogisticRegression().fit(X, np.arange(N) % 3, offset=offset)


def test_several_targets_are_refused() -> None:
    X, y, offset = rows(23)
    targets = np.column_stack([y, offset])
    with refused(DataError, "unsupported", option="offset"):
        LinearRegression().fit(X, targets, offset=offset)
    model = LinearRegression().fit(X, y, offset=offset).fit(X, targets)
    assert model.predict(X).shape == (N, 2)
    ridge = LinearRegression(l2=3.0).fit(X, y, offset=offset)
    expected = LinearRegression(l2=3.0).fit(X, y - offset)
    assert ridge.coef_.tolist() == expected.coef_.tolist()
    warm = LogisticRegression(warm_start=True).fit(X, y, offset=offset)
    before = warm.coef_.copy()
    np.testing.assert_allclose(warm.fit(X, y, offset=offset).coef_, before, rtol=1e-9)


def test_a_class_without_weight() -> None:
    X, y, offset = rows(17)
    with pytest.warns(UserWarning, match="have weight 0"):
        model = LogisticRegression().fit(X, y, y, offset=offset)
    assert (model.predict(X, offset=offset) == 1).all()
    assert model.null_log_likelihood_ == 0


def test_a_checkpoint_is_of_its_offsets(tmp_path: object) -> None:
    X, y, offset = rows(18)
    path = tmp_path / "fit.checkpoint"
    whole = LogisticRegression().fit(X, y, offset=offset)
    kept = linsep.Checkpoint(path, keep=True)
    LogisticRegression().fit(X, y, checkpoint=kept, offset=offset)
    again = LogisticRegression().fit(X, y, checkpoint=kept, offset=offset)
    assert again.coef_.tolist() == whole.coef_.tolist()
    for other in (offset + 1, None):
        with refused(linsep.errors.CheckpointError, "bad-checkpoint"):
            LogisticRegression().fit(X, y, checkpoint=kept, offset=other)


def test_thresholds_and_routing() -> None:
    from sklearn import config_context
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, offset = rows(19)
    model = LogisticRegression().fit(X, y, offset=offset)
    linsep.set_threshold(model, "recall=0.9", X, y, offset=offset)
    assert (model.predict(X, offset=offset)[y == 1] == 1).mean() >= 0.9
    with config_context(enable_metadata_routing=True):
        routed = LogisticRegression().set_fit_request(offset=True)
        pipe = make_pipeline(StandardScaler(), routed).fit(X, y, offset=offset)
        assert pipe[-1].log_likelihood_ == pytest.approx(model.log_likelihood_, rel=1e-9)
        asked = routed.set_score_request(offset=True)
        scores = cross_val_score(asked, X, y, cv=3, params={"offset": offset})
        assert scores.min() > 0.5
        with pytest.raises(UnsetMetadataPassedError):
            make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y, offset=offset)


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
def test_models_of_other_offsets_are_not_nested(kind: type) -> None:
    X, y, offset = rows(20)
    features = pd.DataFrame(X, columns=["a", "b", "c"])
    few = features[["a", "b"]]
    larger = kind().fit(features, y, offset=offset)
    small = kind().fit(few, y, offset=offset)
    found = linsep.compare(small, larger)
    if kind is LogisticRegression:
        full = binomial(sm.add_constant(X), y, offset).llf
        less = binomial(sm.add_constant(X[:, :2]), y, offset).llf
        assert found.columns["chi2"][1] == pytest.approx(2 * (full - less), rel=1e-7)
    for other in (None, offset + 1, offset * (np.arange(N) != 70)):
        with refused(DataError, "other-rows"):
            linsep.compare(kind().fit(few, y, offset=other), larger)
    zero = kind().fit(few, y, offset=0)
    assert linsep.compare(zero, kind().fit(features, y)).columns["df"][1] == 1


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
def test_fits_again_refuse_offsets_and_counts(kind: type) -> None:
    X, y, offset = rows(21)
    model = kind().fit(X, y, offset=offset)
    counted = LogisticRegression().fit(X, successes=y, trials=1)
    for one in (model, counted):
        with refused(DataError, "unsupported"):
            one.likelihood_ratio_tests(X, y)
        with refused(DataError, "unsupported"):
            one.score_test(X, y, X[:, :1] ** 2)


def test_diagnostics_have_the_offsets() -> None:
    X, y, offset = rows(22)
    theirs = binomial(sm.add_constant(X), y, offset)
    for reference in (0, 1):
        model = LogisticRegression(reference=reference)
        sign = 1 - 2 * reference
        found = model.fit(X, y, offset=sign * offset).diagnostics(X, y, offset=sign * offset)
        np.testing.assert_allclose(sign * found.pearson, theirs.resid_pearson, rtol=1e-6)
        np.testing.assert_allclose(sign * found.deviance, theirs.resid_deviance, rtol=1e-6)
        leverage = theirs.get_influence().hat_matrix_diag
        np.testing.assert_allclose(found.leverage, leverage, rtol=1e-6)
        with refused(DataError, "needs-option", option="offset"):
            model.diagnostics(X, y)
        with refused(DataError, "other-rows"):
            model.diagnostics(X, y, offset=offset + 1)
    weights = np.arange(N) % 3
    model = LogisticRegression().fit(X, y, weights, offset=offset)
    found = model.diagnostics(X, y, weights, offset=offset)
    p = model.predict_proba(X, offset=offset)[weights > 0, 1]
    np.testing.assert_allclose(found.fitted, p, rtol=1e-12)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, o=offset)
    read = linsep.fit(frame, target="y", offset="o", learner="logistic").diagnostics(frame)
    np.testing.assert_allclose(read.pearson, theirs.resid_pearson, rtol=1e-6)
    linear = LinearRegression().fit(X, y, offset=offset)
    errors = y - linear.predict(X, offset=offset)
    np.testing.assert_allclose(linear.diagnostics(X, y, offset=offset).pearson, errors, atol=1e-9)
    counted = LogisticRegression().fit(X, successes=y, trials=1)
    with refused(DataError, "unsupported"):
        counted.diagnostics(X, y)


def test_tables_say_that_there_is_an_offset() -> None:
    x, offset = [[1.0], [2], [3], [4]], [1, 2, 3, 4]
    line = LinearRegression().fit(x, [1, 3, 2, 5], offset=offset)
    assert line.summary().notes == ["Offset: estimates, R^2 and F refer to y minus the offset."]
    curve = LogisticRegression().fit(x, [0, 1, 0, 1], offset=offset)
    assert curve.summary().notes == ["Offset: added to the log-odds of every row."]
    assert not curve.fit(x, [0, 1, 0, 1]).summary().notes
    frame = pd.DataFrame({"a": [1, 2, 3, 4.0], "k": offset, "y": [1, 3, 2, 5]})
    read = linsep.fit(frame, target="y", learner="linear", offset="k")
    assert read.summary().notes[0].startswith("Offset k: ")


def test_intervals_of_probabilities_beside_statsmodels(tmp_path: object) -> None:
    X, y, offset = rows(3)
    model = LogisticRegression().fit(X, y, offset=offset)
    found = model.predict_proba(X[:20], interval="confidence", level=0.9, offset=offset[:20])
    theirs = binomial(sm.add_constant(X), y, offset)
    told = theirs.get_prediction(sm.add_constant(X[:20]), offset=offset[:20]).summary_frame(0.1)
    for ours, expected in zip(found, ("mean", "mean_ci_lower", "mean_ci_upper"), strict=True):
        assert np.allclose(ours[:, 1], told[expected], rtol=1e-6)
    with refused(DataError, "needs-option", option="offset"):
        model.predict_proba(X, interval="confidence")
