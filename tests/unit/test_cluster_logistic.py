"""Logistic regression on a cluster: the bits of one machine, for any number of workers."""

import itertools
import warnings

import dask
import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linsep import LogisticRegression, open_source
from linsep.distributed import ClusterError, fit
from linsep.logistic import task as rows
from linsep.logistic.checkpointing import Journal
from linsep.logistic.task import UnfinishedWarning
from linsep.separability.time_limit import TooLarge
from linsep.sources.base import Source
from refusals import refused

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]  # sums of numpy and BLAS
BITS = ("coef_", "intercept_", "limits_", "covariance_")
NUMBERS = ("log_likelihood_", "null_log_likelihood_", "n_iter_", "n_rows_", "stop_reason_")


@pytest.fixture(autouse=True)
def short_lanes(monkeypatch):
    """Two dozen lanes, and samples of a part of the rows."""
    for name, value in {"BLOCK_VALUES": 1, "LANE_VALUES": 1, "LEAST_LANE_ROWS": 1}.items():
        monkeypatch.setattr(rows, name, value)  # 64 rows
    monkeypatch.setattr(rows, "HEAD_ROWS", 300)
    monkeypatch.setattr(rows, "HEAD_VALUES", 1)
    monkeypatch.setattr("linsep.logistic.objective.SparseTerms.lane_rows", 50)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows with weights, some of them zero, in Parquet, CSV and svmlight text."""
    folder, random, n = tmp_path_factory.mktemp("rows"), np.random.default_rng(0), 900
    X = random.normal([0, 1e3, -2, 0], [1, 5, 1, 1], size=(n, 4))
    scores = (X - [0, 1e3, -2, 0]) @ [1, 0.1, 0.5, -0.5]
    columns = {f"x{k}": X[:, k] for k in range(4)}
    weights = np.where(random.random(n) < 0.1, 0.0, random.random(n))
    two = np.where(scores + random.logistic(size=n) > 0, "yes", "no")
    three = np.array(["c", "a", "b"])[np.digitize(scores + random.logistic(size=n), [-1, 1])]
    above = np.where(X[:, 0] > 0, "yes", "no")
    columns |= {"near": X[:, 0] + 1e-9 * random.normal(size=n), "twice": 2 * X[:, 2]}
    table = pa.table(columns | {"w": weights, "two": two, "three": three, "above": above})
    pq.write_table(table, folder / "t.parquet", row_group_size=70)
    table.to_pandas().to_csv(folder / "t.csv", index=False)
    lines = []
    for k in range(n):
        places = np.sort(random.choice(1 + k // 10, size=min(3, 1 + k // 10), replace=False)) + 1
        lines.append(f"{k * k % 3} " + " ".join(f"{j}:{random.normal():.3f}" for j in places))
    (folder / "t.svm").write_text("\n".join(lines) + "\n")
    return folder


def read(folder, name, target="two", leave=("near", "twice"), **how):
    if name.endswith("svm"):
        return open_source(folder / name, **how)
    out = [column for column in ("w", "two", "three", "above") if column != target] + list(leave)
    out = [name for name in out if name not in (how.get("weight"), how.get("group"))]
    return open_source(folder / name, target=target, exclude=out, **how)


def same(one, other):
    for name in BITS:
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), name
    for name in NUMBERS:
        assert getattr(one, name) == getattr(other, name), name
    assert one.recipe_ == other.recipe_
    assert str(one.separation_) == str(other.separation_)


CASES = {
    "weights": ("t.parquet", {"weight": "w"}, {}),
    "text": ("t.csv", {"target": "three"}, {"l2": 0.5, "reference": "b"}),
    "no intercept": ("t.csv", {}, {"fit_intercept": False}),
    "ascent": ("t.parquet", {}, {"solver": "gradient_ascent", "max_iter": 5, "l2": 1.0}),
    "dependent": ("t.parquet", {"leave": ("near",)}, {}),
    "separable": ("t.parquet", {"target": "above"}, {}),
    "sparse, many": ("t.svm", {}, {"l2": 0.1, "tol": 0.01}),
    "unequal": ("t.parquet", {"weight": "w"}, {"covariance": "HC1"}),
    "clusters, nearly dependent": (
        "t.csv",
        {"leave": ("twice",), "group": "three"},
        {"covariance": "CR1"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_logistic_regression_to_the_bit(workers, client, folder, monkeypatch, case):
    name, how, parameters = CASES[case]
    if case == "sparse, many":
        monkeypatch.setattr("linsep.logistic.task.MOST_WEIGHTS", 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one = LogisticRegression(**parameters).fit(read(folder, name, **how))
        for count, size in ((3, 0.006), (1, 0.02))[: 1 + (case == "weights")]:
            workers.scale(count)
            client.wait_for_workers(count)
            source = read(folder, name, **how)
            other = fit(LogisticRegression(**parameters), source, client=client, shard_mb=size)
            same(one, other)
            assert other.training_rows_ == one.training_rows_


def test_dask_collections_are_fitted_as_files_of_their_rows(client, folder, tmp_path):
    table = pq.read_table(folder / "t.parquet").to_pandas()
    X, y, weights = table[["x0", "x1", "x2", "x3"]], table["three"], table["w"]
    one = LogisticRegression(l2=0.1).fit(read(folder, "t.parquet", "three", weight="w"))
    parts = collections(table, "three")
    other = fit(LogisticRegression(l2=0.1), *parts[:2], sample_weight=parts[2], client=client)
    for name in BITS[:2]:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert other.feature_names_in_.tolist() == list(X.columns)
    arrays = LogisticRegression(l2=0.1).fit(X, y, weights)
    np.testing.assert_allclose(other.coef_, arrays.coef_, rtol=1e-7)


def collections(table, target):
    """A table as collections of Dask, in partitions of different sizes."""
    whole, parts = [0, 100, 100, 103, 700, 900], []
    for given in (table[["x0", "x1", "x2", "x3"]], table[target], table["w"]):
        pieces = [given.iloc[a:b] for a, b in itertools.pairwise(whole)]
        parts.append(
            dd.from_delayed([dask.delayed(piece) for piece in pieces], meta=given.iloc[:0])
        )
    return parts


@pytest.fixture
def endless(monkeypatch):
    """No search for separating weights ends."""

    def late(*given):
        raise TooLarge("rows would take too long")

    monkeypatch.setattr("linsep.separability.deciding.search", late)


def test_without_a_verdict_nothing_is_inferred(endless, client, folder, monkeypatch):
    memory = 1
    monkeypatch.setattr(Source, "memory_bytes", memory)
    monkeypatch.setattr("linsep.logistic.newton.examined", lambda *given: (False, True))
    table = pq.read_table(folder / "t.parquet").to_pandas()
    X, y, weights = collections(table, "two")
    with pytest.warns(UnfinishedWarning):
        one = LogisticRegression().fit(read(folder, "t.parquet", weight="w"))
    source = read(folder, "t.parquet", weight="w")
    with pytest.warns(UnfinishedWarning):
        other = fit(LogisticRegression(), source, client=client, shard_mb=0.006)
    same(one, other)
    with pytest.warns(UnfinishedWarning):
        dask_s = fit(LogisticRegression(), X, y, sample_weight=weights, client=client)
    for model in (one, other, dask_s):
        assert model.stop_reason_ == "undecided"
        assert model.covariance_ is None
        assert np.isnan([model.aic_, model.bic_, *model.likelihood_ratio_[::2]]).all()


def test_a_fit_that_was_lost_goes_on_here_or_there(client, folder, tmp_path, monkeypatch):
    path = tmp_path / "c"

    def fitted(anywhere=fit, **where):
        return anywhere(LogisticRegression(), read(folder, "t.parquet"), **where)

    expected, result, count = fitted(LogisticRegression.fit), Journal.result, []

    def lost(self, what, given, compute):
        count.append(1)
        if len(count) == 2:
            raise ClusterError("the scheduler was lost")
        return result(self, what, given, compute)

    monkeypatch.setattr(Journal, "result", lost)
    with refused(ClusterError, "cluster"):
        fitted(client=client, checkpoint=path, shard_mb=0.01)
    kept = path.read_bytes()
    same(expected, fitted(client=client, checkpoint=path, shard_mb=0.02))
    assert not path.exists()
    path.write_bytes(kept)
    same(expected, fitted(LogisticRegression.fit, checkpoint=path))
