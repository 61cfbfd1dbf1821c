"""Regressions on a cluster: the bits of one machine, for any number of workers."""

import warnings

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from linsep import GaussianNaiveBayes, LinearRegression, lanes, open_source
from linsep.distributed import fit
from linsep.errors import ParameterError
from linsep.linear.least_squares import DependentFeaturesWarning
from refusals import refused

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]  # sums of numpy and BLAS
# Two dozen lanes, of which one is in several shards and some shards are in none.
FEW = {"SPARSE_ROWS": 60, "DENSE_VALUES": 200, "LEAST_ROWS": 41}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows with weights, some of them zero: in narrow Parquet, in wide Parquet and as text."""
    folder, random, n = tmp_path_factory.mktemp("rows"), np.random.default_rng(0), 1000
    X = random.normal([0, 1e3, -1e6, 0], size=(n, 4))
    y = X @ [1, -2, 1e-3, 0.5] + random.normal(size=n)
    columns = {f"x{k}": X[:, k] for k in range(4)}
    weights = np.where(random.random(n) < 0.1, 0.0, random.integers(1, 5, n).astype(float))
    labels = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    table = pa.table(columns | {"y": y, "w": weights, "label": labels})
    pq.write_table(table, folder / "t.parquet", row_group_size=60)
    wide = random.normal(size=(n, 36))
    columns = {f"x{k}": wide[:, k].astype(np.float32) for k in range(36)}
    y = wide[:, :3] @ [1, 2, 3] + random.normal(size=n)
    pq.write_table(pa.table(columns | {"y": y}), folder / "wide.parquet", row_group_size=70)
    lines = []
    for k in range(n):
        places = np.sort(random.choice(1 + k // 20, size=min(3, 1 + k // 20), replace=False)) + 1
        lines.append(f"{k % 3} " + " ".join(f"{j}:{random.normal():.3f}" for j in places))
    (folder / "t.svm").write_text("\n".join(lines) + "\n")
    return folder


def same_fit(one, other):
    for name, value in vars(one._fitted).items():
        found = getattr(other._fitted, name)
        if name == "combinations":
            assert value.keys() == found.keys()
        elif name == "robust" and value is not None:
            assert np.array_equal(value.root, found.root)
            assert value[::2] == found[::2]
        else:
            assert np.array_equal(value, found, equal_nan=name == "deviation"), name
    assert one.training_deviation_ == other.training_deviation_
    assert one.recipe_ == other.recipe_


@pytest.fixture
def short_lanes(monkeypatch):
    for name, value in FEW.items():
        monkeypatch.setattr(lanes, name, value)


CASES = [
    ("t.parquet", {"target": "y", "weight": "w", "exclude": "label"}, {}),
    (
        "t.parquet",
        {"target": "y", "weight": "w", "exclude": "label"},
        {"weight_type": "frequency", "covariance": "HC3"},
    ),
    ("t.parquet", {"target": "y", "exclude": "w", "group": "label"}, {"covariance": "CR1"}),
    ("wide.parquet", {"target": "y"}, {"fit_intercept": False}),
    ("t.svm", {}, {}),
]


@pytest.mark.parametrize(("name", "read", "parameters"), CASES)
def test_least_squares_to_the_bit(workers, client, folder, short_lanes, name, read, parameters):
    def source():
        return open_source(folder / name, **read)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependentFeaturesWarning)
        one = LinearRegression(**parameters).fit(source())
        for count, size in ((1, 0.012), (3, 0.006))[name == "wide.parquet" :]:
            workers.scale(count)
            client.wait_for_workers(count)
            other = fit(LinearRegression(**parameters), source(), client=client, shard_mb=size)
            same_fit(one, other)


def test_clusters_of_collections(client, short_lanes):
    random = np.random.default_rng(3)
    X, places = random.normal(size=(500, 4)), random.integers(0, 9, 500)
    y = X[:, 0] + random.normal(size=500) + places / 9
    names = np.array([f"place {k}" for k in places])
    one = LinearRegression(covariance="CR1").fit(X, y, clusters=names)
    parts = [da.from_array(each, chunks=(130, *each.shape[1:])) for each in (X, y, names)]
    for clusters in (parts[2], da.from_array(places * 1.0, chunks=130)):
        model = LinearRegression(covariance="CR1")
        fit(model, *parts[:2], clusters=clusters, client=client)
        assert np.array_equal(model.covariance_, one.covariance_)
        assert model.summary().to_dict() == one.summary().to_dict()
    with refused(ParameterError, "needs-option"):
        fit(LinearRegression(covariance="CR1"), *parts[:2], client=client)
    with refused(ParameterError, "conflict"):
        fit(LinearRegression(), *parts[:2], clusters=parts[2], client=client)
    weighted = {"clusters": parts[2], "sample_weight": parts[1] ** 2, "client": client}
    with refused(ParameterError, "conflict"):
        fit(LinearRegression(covariance="CR1"), *parts[:2], **weighted)


BAYES = [
    ("t.parquet", {"target": "label", "weight": "w"}),
    ("t.svm", {}),
]


@pytest.mark.parametrize("variances", ["shared", "by_class"])
@pytest.mark.parametrize(("name", "read"), BAYES)
def test_naive_bayes_to_the_bit(workers, client, folder, short_lanes, name, read, variances):
    learner = GaussianNaiveBayes(variances=variances, var_smoothing=1e-9 * (variances != "shared"))
    one = clone(learner).fit(open_source(folder / name, **read))
    for count in (1, 2):
        workers.scale(count)
        client.wait_for_workers(count)
        source = open_source(folder / name, **read)
        other = fit(clone(learner), source, client=client, shard_mb=0.006)
        for attribute in ("classes_", "priors_", "means_", "variances_", "n_rows_"):
            assert np.array_equal(getattr(one, attribute), getattr(other, attribute)), attribute
        assert one.recipe_ == other.recipe_
        assert other.training_accuracy_ == pytest.approx(one.training_accuracy_)
        assert other.training_rows_ == one.training_rows_
