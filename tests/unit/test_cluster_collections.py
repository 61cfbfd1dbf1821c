"""Dask Arrays and DataFrames: a partition is a shard."""

import os
import signal
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression, Perceptron, lanes
from linsep.distributed import ClusterError, fit, separation
from linsep.errors import DataError, ParameterError
from parameters_in_order import last
from sharded import fit_in_shards

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 4))
    return X, X[:, 0] - X[:, 1] + random.normal(size=500)


def test_arrays(client, rows, monkeypatch):
    monkeypatch.setattr(lanes, "DENSE_VALUES", 100)
    monkeypatch.setattr(lanes, "LEAST_ROWS", 37)
    monkeypatch.setattr("linsep.linear.solving.EXACT_VALUES", 100)
    X, y = rows
    chunks = (100, 0, 3, 250, 147)
    dX, dy = da.from_array(X, chunks=(chunks, (2, 2))), da.from_array(y, chunks=(chunks,))
    weights = np.arange(500) % 3 + 0.5
    dw = da.from_array(weights, chunks=(chunks,))
    one = LinearRegression().fit(X, y, weights)
    other = fit(LinearRegression(), dX, dy, sample_weight=dw, client=client)
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(last(one, "standard_errors_"), last(other, "standard_errors_"))
    one, other = (
        GaussianNaiveBayes().fit(X, y > 0),
        fit(GaussianNaiveBayes(), dX, dy > 0, client=client),
    )
    assert np.array_equal(one.means_, other.means_)
    assert not hasattr(other, "recipe_")
    one = fit_in_shards(Perceptron(max_iter=3), X, y > 0, list(chunks))
    other = fit(Perceptron(max_iter=3), dX, dy > 0, client=client)
    assert np.array_equal(one.coef_, other.coef_)
    assert other.training_accuracy_ == other.score(X, y > 0)


def test_data_frames_with_categories_in_any_order(client, rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = np.where(y > 1, "up", np.where(y < -1, "down", "middle"))
    frame = frame.sort_values("kind").reset_index(drop=True)  # most partitions lack a class
    labels = frame["kind"].astype(pd.CategoricalDtype(["up", "middle", "down"]))
    parts = dd.from_pandas(frame[list("abcd")], npartitions=5)
    kinds = dd.from_pandas(labels, npartitions=5)
    model = fit(Perceptron(max_iter=3), parts, kinds, client=client)
    assert model.classes_.tolist() == ["down", "middle", "up"]
    assert model.feature_names_in_.tolist() == list("abcd")
    codes = frame["kind"].to_numpy(dtype=str)
    one = fit_in_shards(
        Perceptron(max_iter=3), frame[list("abcd")].to_numpy(), codes, list(model.mixture_.rows)
    )
    assert np.array_equal(one.coef_, model.coef_)


def test_what_is_wrong_is_named(client, rows):
    X, y = rows
    dX, dy = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    with pytest.raises(ParameterError, match="y must be a Dask Array"):
        fit(LinearRegression(), dX, y, client=client)
    with pytest.raises(DataError, match="y has 10 partitions, X 5: repartition"):
        fit(LinearRegression(), dX, dy.rechunk(50), client=client)
    hole = X.copy()
    hole[250, 1] = np.nan
    said = "partition 2 of X, row 50 and column 1 of it, holds a missing value: fill it"
    with pytest.raises(DataError, match=said):
        fit(LinearRegression(), da.from_array(hole, chunks=(100, 4)), dy, client=client)
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": [np.inf, 1.0]}), npartitions=1)
    with pytest.raises(DataError, match="of X, row 0 and column 'b' of it, holds an infinite"):
        fit(LinearRegression(), frame, frame["a"], client=client)
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1)
    with pytest.raises(DataError, match="partition 0, column 'b' holds"):
        fit(LinearRegression(), frame, frame["a"], client=client)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            ["a", np.nan],
            r"partition \d: Input y contains (NaN|<NA>) in row 2 \(index 1\): give",
        ),
        (["a", None], r"partition \d: Input y contains (None|<NA>) in row 1 "),
        (["a", 1], r"partition \d: y holds both text and numbers: give all labels as text"),
        ([b"a", b"b"], r"partition \d: y holds a value of type bytes in row 1 "),
        ([1, 2**70], r"partition \d: y holds a number with too many digits in row 1 "),
    ],
)
def test_labels_that_are_missing_or_mixed_are_no_classes(client, rows, labels, said):
    X = da.from_array(rows[0][:40], chunks=(20, 4))
    y = np.array(labels * 20, dtype=object)
    for learn in (
        separation,
        lambda *how, client: fit(Perceptron(max_iter=2), *how, client=client),
    ):
        with pytest.raises(DataError, match=said):
            learn(X, da.from_array(y, chunks=20), client=client)
    if labels[0] == "a" and labels[1] != 1:  # as Dask keeps text
        frame = dd.from_pandas(pd.DataFrame({"x": rows[0][:40, 0], "y": y}), npartitions=2)
        with pytest.raises(DataError, match=said):
            fit(Perceptron(max_iter=2), frame[["x"]], frame["y"], client=client)


@pytest.mark.parametrize(
    "kind", [GaussianNaiveBayes, LinearRegression, LogisticRegression, Perceptron]
)
def test_rows_without_features_are_refused(client, rows, kind):
    X, y = da.from_array(rows[0], chunks=(100, 4)), da.from_array(rows[1] > 0, chunks=100)
    for none in (X[:, :0], dd.from_dask_array(X, columns=list("abcd"))[[]]):
        with pytest.raises(DataError, match=r"^X has no columns: give at least one feature\.$"):
            fit(kind(), none, y, client=client)


def test_naive_bayes_of_weightless_rows(client, rows):
    X, y = rows
    dX, dy = da.from_array(X, chunks=(100, 4)), da.from_array(y > 0, chunks=100)
    with pytest.raises(DataError, match=r"^Every row has weight 0: check the weights\.$"):
        fit(GaussianNaiveBayes(), dX, dy, sample_weight=0.0 * dy, client=client)


def test_a_slow_partition_is_waited_for(client, rows, monkeypatch):
    monkeypatch.setattr("linsep.distributed.cluster.LOOK", 0.05)
    monkeypatch.setattr("linsep.distributed.cluster.ALONE", 0.1)  # without any worker
    X, y = rows

    def slowly(part):
        time.sleep(0.5)
        return part

    slow = da.from_delayed(dask.delayed(slowly)(X[:200]), shape=(200, 4), dtype=float)
    parts = da.concatenate([slow, da.from_array(X[200:], chunks=(300, 4))])
    other = fit(LinearRegression(), parts, da.from_array(y, chunks=((200, 300),)), client=client)
    assert np.array_equal(LinearRegression().fit(X, y).coef_, other.coef_)


def test_a_partition_that_ends_its_worker_is_given_up_and_said():
    """As a worker is ended that needs more memory than there is."""
    options = {"scheduler.allowed-failures": 1, "worker.daemon": True}
    with (
        dask.config.set({f"distributed.{name}": value for name, value in options.items()}),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        ended = dask.delayed(lambda: os.kill(os.getpid(), signal.SIGKILL))()
        X = da.from_delayed(ended, shape=(3, 2), dtype=float)
        with pytest.raises(ClusterError, match=r"ended 2 workers.*most likely out of memory"):
            fit(LinearRegression(), X, da.zeros(3), client=client)
