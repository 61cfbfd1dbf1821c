"""Rows with weights and groups, from files: what arrays with sample_weight give, to the bit."""

import numpy as np
import pandas as pd
import pytest

import linsep
import linsep.rows.arrays
import linsep.rows.source_stream
import linsep.rows.stored
from command_line import assert_refused, here
from linsep import LinearRegression, LogisticRegression, Perceptron, open_source
from linsep.errors import DataError
from linsep.rows.arrays import held_groups
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
    monkeypatch.setattr(linsep.rows.stored, "SMALL", 100)
    monkeypatch.setattr(linsep.rows.source_stream, "BATCH_BYTES", 3000)


FITS = [
    (Perceptron, {"early_stopping": True, "n_iter_no_change": 2, "keep": "last"}, 0),
    (Perceptron, {"class_weight": "balanced", "keep": "best"}, 1 << 30),
    (linsep.PassiveAggressive, {"C": 0.3, "class_weight": {0: 2.0}}, 0),
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
    for weight, code in (
        ("-1", "out-of-range"), ("inf", "out-of-range"), ("", "missing-value"),
        ("heavy", "not-a-number"),
    ):  # fmt: skip
        path.write_text(f"a,y,w\n1,0,1\n2,1,{weight}\n")
        with refused(DataError, code, column="w"):
            Perceptron().fit(open_source(path, target="y", weight="w"))
    fit = ["fit", path, "--target", "y", "--weight", "w", "--model", "m"]
    assert_refused(*fit, cwd=tmp_path, code=code)


def test_columns_in_two_roles_or_none(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y,w,g\n1,0,1,x\n2,1,2,z\n")
    for options, code in [
        ({"weight": "v"}, "unknown-column"), ({"weight": "y"}, "column-role"),
        ({"weight": "w", "exclude": "w"}, "column-role"),
        ({"weight": "w", "group": "w"}, "column-role"), ({"weight": "g"}, "not-a-number"),
    ]:  # fmt: skip
        with refused(DataError, code):
            list(open_source(path, target="y", **options).batches())


@pytest.mark.filterwarnings("ignore:All rows of")
def test_rows_to_prove_or_to_score_that_all_have_weight_0(tmp_path):
    """They are not called missing."""
    texts = {
        "t.csv": "".join(f"{k},{'ab'[k % 2]},1\n" for k in range(9)),
        "none.csv": "1,a,0\n2,b,0\n", "some.csv": ",b,1\n2,b,0\n",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text("x,y,w\n" + text)
    (tmp_path / "none.vw").write_text("1 0 |a x\n-1 0 |a y\n")
    assert_refused("separate", "none.vw", cwd=tmp_path, code="no-rows")
    how = "--target", "y", "--weight", "w"
    assert_refused("separate", "none.csv", *how, cwd=tmp_path, code="no-rows")
    assert_refused("separate", "some.csv", *how, "--missing", "drop", cwd=tmp_path, code="no-rows")
    for learner, target in (("perceptron", "y"), ("linear", "x")):
        how = "--target", target, "--weight", "w", "--learner", learner, "--force"
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
        assert 0 < mask.sum() < ROWS
        assert not set(groups[mask]) & set(groups[~mask])
        results.append((mask.tolist(), [p.validation_score for p in model.fitted_run().reports]))
    assert results[0] == results[1]


def test_the_share_of_groups():
    groups = np.random.default_rng(0).integers(0, 2**63, 20_000).astype(np.uint64)
    for fraction in (0.1, 0.5):
        shares = [held_groups(groups, fraction, seed) for seed in range(3)]
        assert all(abs(mask.mean() - fraction) < 0.01 for mask in shares)
        assert abs((shares[0] & shares[1]).mean() - fraction**2) < 0.01


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
    a = ours.solution_.bands(FEATURES, ours.predict(FEATURES), "prediction", 0.9)
    b = theirs.solution_.bands(FEATURES, theirs.predict(FEATURES), "prediction", 0.9)
    assert np.allclose(a, b, rtol=1e-10)
    found, known = (
        ours.assumptions(FEATURES, Y, COUNTS),
        theirs.assumptions(FEATURES[rows], Y[rows]),
    )
    for finding, other in zip(found.findings, known.findings, strict=True):
        if finding.test not in ("Shapiro-Wilk", "Durbin-Watson"):  # none of copies
            assert finding[2:4] == pytest.approx(other[2:4], rel=1e-10, nan_ok=True)
    assert np.allclose(found.cooks_distance, known.cooks_distance, rtol=1e-10)
    assert found.numbers.tolist() == rows.tolist()


def test_both_kinds_are_those_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    rows, design = COUNTS > 0, sm.add_constant(FEATURES)
    frequency = LinearRegression(weight_type="frequency").fit(FEATURES, Y, COUNTS)
    theirs = sm.GLM(Y, design, freq_weights=COUNTS).fit()
    assert frequency.standard_errors_ == pytest.approx(theirs.bse, rel=1e-8)
    assert frequency.df_residual_ == theirs.df_resid
    precision = LinearRegression().fit(FEATURES, Y, COUNTS)
    theirs = sm.WLS(Y[rows], design[rows], COUNTS[rows]).fit()
    assert statistics(precision)[:4] == pytest.approx(theirs.bse, rel=1e-8)
    assert precision.log_likelihood_ == pytest.approx(theirs.llf)
    assert precision.df_residual_ == theirs.df_resid
    theirs = sm.GLM(Y[rows], design[rows], var_weights=COUNTS[rows]).fit()
    assert precision.standard_errors_ == pytest.approx(theirs.bse, rel=1e-8)


def test_files_say_the_same(tmp_path):
    frame = pd.DataFrame(FEATURES, columns=["a", "b", "c"]).assign(y=Y, n=COUNTS)
    frame.to_parquet(tmp_path / "rows.parquet")
    source = open_source(tmp_path / "rows.parquet", target="y", weight="n")
    ours = LinearRegression(weight_type="frequency").fit(source)
    theirs = LinearRegression(weight_type="frequency").fit(FEATURES, Y, COUNTS)
    assert statistics(ours) == statistics(theirs)


def test_weights_that_are_no_counts(tmp_path):
    weights = COUNTS + 0.0
    weights[7] = 2.5
    with refused(DataError, "bad-value"):
        LinearRegression(weight_type="frequency").fit(FEATURES, Y, weights)
    pd.DataFrame(FEATURES).assign(y=Y, n=weights).to_csv(tmp_path / "rows.csv", index=False)
    source = open_source(tmp_path / "rows.csv", target="y", weight="n")
    with refused(DataError, "bad-value", row=8):
        LinearRegression(weight_type="frequency").fit(source)


PRECISE = "x,y,w\n1,2,1\n2,2.9,4\n3,4.2,9\n4,4.8,2\n5,1,3\n6,7,5\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "precise.csv").write_text(PRECISE)
    rows = [(0, 0, 30), (0, 1, 10), (1, 0, 20), (1, 1, 60)]
    (tmp_path / "counted.csv").write_text("x,y,n\n" + "".join(f"{x},{y},{n}\n" for x, y, n in rows))
    (tmp_path / "long.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" * n for x, y, n in rows))
    return tmp_path


def test_a_weighted_regression_is_not_called_worse_than_the_mean(folder):
    kind = "frequency"
    fit = f"fit precise.csv --target y --learner linear --weight w --weight-type {kind} --model m"
    done = here(*fit.split(), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    done = here("summary", "m", "precise.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Durbin-Watson" in done.stdout
    done = here("plot", "assumptions", "m", "precise.csv", "--output", "a.png", cwd=folder)
    assert done.returncode == 0, done.stderr
