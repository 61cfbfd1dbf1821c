"""Rows with weights and groups, from files: what arrays with sample_weight give, to the bit."""

import numpy as np
import pandas as pd
import pytest

import linsep
import linsep.rows.arrays
import linsep.rows.source_stream
from command_line import assert_refused, here
from linsep import LinearRegression, LogisticRegression, Perceptron, open_source
from linsep.errors import DataError
from refusals import refused

ROWS = 130
NAMES = ["a", "b", "c"]


def rows(n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (ROWS, 3)) / 4.0
    y = (X @ rng.standard_normal((3, n_classes)) + 0.3 * rng.standard_normal(n_classes)).argmax(1)
    y[::17] = (y[::17] + 1) % n_classes
    weights = rng.choice([0.0, 0.1, 0.7, 1.0, 2.3, 5.0], ROWS)
    return X, y, weights


def table(path, X, y, weights, **more):
    frame = pd.DataFrame(X, columns=NAMES) if X is not None else pd.DataFrame()
    frame = frame.assign(y=y, w=weights, **more)
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(linsep.rows.arrays, "SMALL", 100)
    monkeypatch.setattr(linsep.rows.source_stream, "SMALL", 100)
    monkeypatch.setattr(linsep.rows.source_stream, "BATCH_BYTES", 3000)


FITS = [
    (Perceptron, {"early_stopping": True, "n_iter_no_change": 2, "keep": "last"}, 0),
    (Perceptron, {"class_weight": "balanced", "keep": "best"}, 1 << 30),
    (linsep.BalancedWinnow, {"keep": "vote"}, 1 << 30),
]


@pytest.mark.parametrize(("kind", "options", "memory_bytes"), FITS)
def test_online_learners(kind, options, memory_bytes, tmp_path, small_blocks):
    X, y, weights = rows(3)
    path = table(tmp_path / "rows.csv", X, y, weights)
    ours = kind(**{"max_iter": 5} | options)
    theirs = kind(**{"max_iter": 5} | options).fit(X, y, sample_weight=weights)
    for _ in range(2):  # the second time, the rows come from the cache of the first
        source = open_source(path, target="y", weight="w", cache=tmp_path)
        source.memory_bytes, source._batch_rows = memory_bytes, 90
        ours.fit(source)
        assert ours.feature_names_in_.tolist() == NAMES
        assert np.array_equal(ours.coef_, theirs.coef_)
        assert np.array_equal(ours.intercept_, theirs.intercept_)
        scores = [
            [p.validation_score for p in model.fitted_run().reports] for model in (ours, theirs)
        ]
        assert scores[0] == scores[1]
        assert ours.training_accuracy_ == pytest.approx(theirs.score(X, y, weights), abs=1e-15)
        totals = np.bincount(y, weights)
        assert ours.training_baseline_ == pytest.approx(totals.max() / totals.sum())
    assert len(list(tmp_path.rglob("*.rows"))) == (memory_bytes == 0)


def test_other_estimators(tmp_path):
    X, y, weights = rows()
    path = table(tmp_path / "rows.parquet", X, y, weights)
    for kind, names in [
        (LogisticRegression, ["coef_", "intercept_", "params_"]),
        (linsep.GaussianNaiveBayes, ["means_", "variances_", "priors_", "n_rows_"]),
        (linsep.KernelPerceptron, ["dual_coef_", "support_"]),
        (LinearRegression, ["coef_", "intercept_", "params_"]),
    ]:
        ours = kind().fit(open_source(path, target="y", weight="w"))
        theirs = kind().fit(pd.DataFrame(X, columns=NAMES), pd.Series(y, name="y"), weights)
        for name in names:
            a, b = getattr(ours, name), getattr(theirs, name)
            assert np.array_equal(a, b), (kind, name)
        if hasattr(ours, "summary"):
            assert str(ours.summary()) == str(theirs.summary())
        source = open_source(path, recipe=ours.recipe_)
        expected = theirs.score(pd.DataFrame(X, columns=NAMES), y, weights)
        assert ours.score(source) == pytest.approx(expected, abs=1e-14)
        plain = open_source(path, recipe=ours.recipe_, labeled=False)
        assert [batch.weights for batch in plain.batches()] == [None]


def test_rows_that_are_dropped_take_their_weights_along(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y,w,g\n1,0,1,p\n,1,2,q\n3,1,3,p\n")
    source = open_source(path, target="y", weight="w", group="g", missing="drop")
    (batch,) = source.batches()
    assert batch.weights.tolist() == [1, 3]
    assert batch.groups[0] == batch.groups[1]


def test_bad_weights(tmp_path):
    path = tmp_path / "rows.csv"
    for weight, code in (("-1", "out-of-range"), ("inf", "out-of-range"), ("", "missing-value")):
        path.write_text(f"a,y,w\n1,0,1\n2,1,{weight}\n")
        with refused(DataError, code, column="w"):
            Perceptron().fit(open_source(path, target="y", weight="w"))
    path.write_text("a,y,w\n1,0,1\n2,1,2.5\n")
    with refused(DataError, "bad-value", row=2):
        LinearRegression(weight_type="frequency").fit(open_source(path, target="y", weight="w"))


@pytest.mark.filterwarnings("ignore:All rows of")
def test_rows_to_prove_or_to_score_that_all_have_weight_0(tmp_path):
    """They are not called missing."""
    (tmp_path / "t.csv").write_text("x,y,w\n" + "".join(f"{k},{'ab'[k % 2]},1\n" for k in range(9)))
    (tmp_path / "none.csv").write_text("x,y,w\n1,a,0\n2,b,0\n")
    (tmp_path / "none.vw").write_text("1 0 |a x\n-1 0 |a y\n")
    assert_refused("separate", "none.vw", cwd=tmp_path, code="no-rows")
    how = "--target", "y", "--weight", "w"
    assert_refused("separate", "none.csv", *how, cwd=tmp_path, code="no-rows")
    assert here("fit", "t.csv", *how, "--model", "m", cwd=tmp_path).returncode == 0
    assert_refused("score", "m", "none.csv", cwd=tmp_path, code="no-rows")


@pytest.mark.parametrize(
    ("kind", "memory_bytes"), [(Perceptron, 0), (linsep.KernelPerceptron, 1 << 30)]
)
def test_groups_are_held_out_whole(kind, memory_bytes, tmp_path, small_blocks, monkeypatch):
    X, y, weights = rows()
    groups = np.random.default_rng(1).integers(0, 40, ROWS)
    path = table(tmp_path / "rows.csv", X, y, weights, g=[f"g{k}" for k in groups])
    held = []
    monkeypatch.setattr(
        linsep.rows.arrays.HoldOut,
        "mask",
        lambda self, codes, rows, draw, mask=linsep.rows.arrays.HoldOut.mask: (
            held.append(mask(self, codes, rows, draw)) or held[-1]
        ),
    )
    results = []
    for batch_rows in (30, 90):
        held.clear()
        source = open_source(path, target="y", weight="w", group="g", cache=tmp_path)
        source.memory_bytes, source._batch_rows = memory_bytes, batch_rows
        model = kind(early_stopping=True, validation_fraction=0.25, max_iter=4).fit(source)
        mask = np.concatenate(held)[-ROWS:]
        assert 0.25 < mask.mean() < 0.45
        assert not set(groups[mask]) & set(groups[~mask])
        results.append((mask.tolist(), [p.validation_score for p in model.fitted_run().reports]))
    assert results[0] == results[1]


def test_groups_need_rows_held_out(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y,g\n1,0,1\n2,1,\n")
    learn = ["fit", path, "--target", "y", "--group", "g"]
    assert_refused(*learn, cwd=tmp_path, said="--early-stopping", exit_code=2)
    assert_refused(*learn, "--early-stopping", cwd=tmp_path, code="missing-value")


RNG = np.random.default_rng(5)
FEATURES = RNG.normal(size=(40, 3))
Y = FEATURES @ [1.0, -2.0, 0.3] + RNG.normal(size=40)
COUNTS = RNG.integers(0, 5, 40)


def statistics(model):
    found = model
    return [
        *found.standard_errors_, *found.statistics_, *found.p_values_,
        *found.confidence_intervals(0.9).ravel(), found.r_squared_, found.adjusted_r_squared_,
        found.f_statistic_, found.log_likelihood_, found.aic_, found.bic_, found.df_residual_,
    ]  # fmt: skip


def test_frequencies_are_repeated_rows():
    ours = LinearRegression(weight_type="frequency").fit(FEATURES, Y, COUNTS)
    rows = np.repeat(np.arange(40), COUNTS)
    theirs = LinearRegression().fit(FEATURES[rows], Y[rows])
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-12)
    assert statistics(ours) == pytest.approx(statistics(theirs), rel=1e-10)
    bands = (one.predict(FEATURES, "prediction") for one in (ours, theirs))
    np.testing.assert_allclose(*bands, rtol=1e-10)
    found, known = (
        ours.assumptions(FEATURES, Y, COUNTS),
        theirs.assumptions(FEATURES[rows], Y[rows]),
    )
    for finding, other in zip(found.findings, known.findings, strict=True):
        if finding.test not in ("Shapiro-Wilk", "Durbin-Watson"):  # none of copies
            assert finding[2:4] == pytest.approx(other[2:4], rel=1e-10, nan_ok=True)
    assert np.allclose(found.cooks_distance, known.cooks_distance, rtol=1e-10)
    assert found.numbers.tolist() == rows.tolist()
