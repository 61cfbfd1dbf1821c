"""Fits on a Dask cluster whose workers are threads of this process: files, Dask collections, and
what goes wrong."""

import os
import signal
import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError
from sklearn.base import clone

from linsep import (
    AROW,
    Checkpoint,
    GaussianNaiveBayes,
    LinearRegression,
    OnlineLogistic,
    PassiveAggressive,
    Perceptron,
    lanes,
    load,
    open_source,
    save,
)
from linsep.distributed import ClusterError, cluster as clusters, fit, rows
from linsep.errors import CheckpointError, DataError, ParameterError
from linsep.learners import mixing
from refusals import refused
from sharded import fit_in_shards

SHARD_MB = 0.002


@pytest.fixture(scope="module")
def drawn():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    return X, np.digitize(X[:, 0] + 0.3 * random.normal(size=400), [-0.5, 0.5])


@pytest.fixture(scope="module")
def table(tmp_path_factory, drawn):
    X, y = drawn
    columns = {name: X[:, k] for k, name in enumerate("abc")}
    path = tmp_path_factory.mktemp("rows") / "t.parquet"
    labels = np.array(["low", "middle", "up"])[y]
    pq.write_table(pa.table(columns | {"y": labels}), path, row_group_size=50)
    return path


def test_what_is_beside_the_weights_has_the_same_bits(client, table, drawn, tmp_path):
    (X, y), learner = drawn, OnlineLogistic(multiclass="ovo")
    model, alone = (clone(learner).set_params(max_iter=3, keep="average") for _ in range(2))
    fit(model, open_source(table, target="y"), client=client, shard_mb=SHARD_MB)
    fit_in_shards(alone, X, y, list(model.mixture_.rows))
    save(model, tmp_path / "m.linsep")
    arrays, expected = load(tmp_path / "m.linsep").get_state()[0], alone.get_state()[0]
    assert arrays.keys() == expected.keys()
    assert len(arrays) > 4
    for name, array in expected.items():
        assert np.array_equal(arrays[name], array), name
    assert model.training_accuracy_ > 0.7


@pytest.mark.parametrize(("keep", "mixing"), [("last", "mistakes"), ("average", "uniform")])
def test_the_same_bits_for_any_number_of_workers(workers, client, table, drawn, keep, mixing):
    X, y = drawn
    found = []
    for count in (1, 2):
        workers.scale(count)
        client.wait_for_workers(count)
        model, source = Perceptron(max_iter=4, keep=keep), open_source(table, target="y")
        assert fit(model, source, client=client, mixing=mixing, shard_mb=SHARD_MB) is model
        found.append(model)
    rows = list(found[0].mixture_.rows)
    assert len(rows) > 3
    alone = fit_in_shards(Perceptron(max_iter=4, keep=keep), X, y, rows, mixing)
    for model in found:
        assert np.array_equal(model.coef_, alone.coef_)
        assert np.array_equal(model.intercept_, alone.intercept_)
        assert np.array_equal(model.mixture_.mistakes, alone.mixture_.mistakes)
    assert model.classes_.tolist() == ["low", "middle", "up"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.training_accuracy_ == pytest.approx(alone.score(X, y))
    assert model.training_rows_ == 400


def test_one_shard_is_an_ordinary_fit_also_of_a_remote_file(client, table):
    one = Perceptron(max_iter=4).fit(open_source(table, target="y"))
    pytest.importorskip("fsspec").filesystem("memory").pipe("/rows/t.parquet", table.read_bytes())
    for path, size in ((table, 64.0), ("memory://rows/t.parquet", SHARD_MB)):
        source = open_source(path, target="y")
        mixed = fit(Perceptron(max_iter=4), source, client=client, shard_mb=size)
        assert len(mixed.mixture_.rows) == 1
        assert np.array_equal(one.coef_, mixed.coef_)
        assert one.mistakes_.tolist() == mixed.mistakes_.tolist()
        assert one.training_accuracy_ == mixed.training_accuracy_
        assert one.classes_.dtype == mixed.classes_.dtype
    assert one.recipe_ == mixed.recipe_


def test_sparse_text_in_shards_with_labels_and_features_that_others_lack(client, tmp_path):
    lines = [f"{k // 40} {1 + k % 7}:{k % 5 - 2} {20 + k // 40}:1\n" for k in range(120)]
    (tmp_path / "t.svm").write_text("".join(lines))
    source = open_source(tmp_path / "t.svm")
    model = PassiveAggressive(keep="average", class_weight={1: 2.0}, max_iter=5)
    fit(model, source, client=client, shard_mb=0.0005)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.n_features_in_ == 22
    assert len(model.mixture_.rows) > 2
    assert model.score(source) > 0.9


def test_a_task_of_a_worker_can_fit(client, table):
    workers = list(client.scheduler_info()["workers"])

    def inside():
        return fit(Perceptron(max_iter=2), open_source(table, target="y"), shard_mb=SHARD_MB).coef_

    found = client.submit(inside, workers=workers[:1], pure=False).result(timeout=60)
    model = Perceptron(max_iter=2)
    fit(model, open_source(table, target="y"), client=client, shard_mb=SHARD_MB)
    assert np.array_equal(found, model.coef_)


@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_rows_are_named(client, tmp_path):
    path = tmp_path / "t.svm"
    lines = [f"{k % 2} 1:{k} 2:1\n" for k in range(300)]
    for line, code, fields in (
        ("1 1:nan\n", "not-finite", {"row": 206}), ("1.5 1:1\n", "label-type", {}),
    ):  # fmt: skip
        lines[205] = line
        path.write_text("".join(lines))
        with refused(DataError, code, **fields):
            fit(Perceptron(), open_source(path), client=client, shard_mb=0.001)
    path.write_text("1 1:1\n" * 300)
    with refused(DataError, "class-count"):
        fit(Perceptron(), open_source(path), client=client)


def test_wrong_use(client, table, monkeypatch):
    source = open_source(table, target="y")
    with refused(ParameterError, "bad-option", option="source"):
        fit(Perceptron(), np.ones((3, 2)), client=client)
    with refused(ParameterError, "bad-option", option="shard_mb"):
        fit(Perceptron(), source, client=client, shard_mb=0)
    with refused(ParameterError, "unsupported", option="checkpoint"):
        fit(LinearRegression(), source, client=client, checkpoint="c")

    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr(clusters, "default_client", nobody)
    with refused(ParameterError, "needs-option", option="client"):
        fit(Perceptron(), source)


def test_workers_of_other_versions_or_without_linsep(client, monkeypatch):
    known = clusters.versions() | {"numpy": "0.0.1"}
    with refused(ClusterError, "other-version"):
        client.submit(clusters._run, known, int).result()
    found = {"tcp://10.0.0.2:1": Exception("ModuleNotFoundError(\"No module named 'linsep'\")")}
    monkeypatch.setattr(client, "run", lambda *_, **__: found)
    with refused(ClusterError, "missing-package"):
        clusters.Cluster(client)


def test_nobody_answers_and_nobody_works(table, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECTING", 0.5)
    for address in ("tcp://127.0.0.1:9", "tcp://user:secret@127.0.0.1:1", "nonsense", ""):
        with refused(ClusterError, "unreachable") as no, clusters.connected(address):
            pass
        assert "secret" not in str(no.value)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        Client(empty, set_as_default=False) as client,
        refused(ClusterError, "cluster"),
    ):
        fit(Perceptron(), open_source(table, target="y"), client=client)


def test_a_fit_whose_client_was_lost_goes_on(client, table, tmp_path, monkeypatch):
    path, learner = tmp_path / "c", AROW(max_iter=5, keep="average")

    def learned(**more):
        source = open_source(table, target="y", cache=None)
        how = {"shard_mb": SHARD_MB, "mixing": "mistakes"} | more
        return fit(clone(learner), source, client=client, **how)

    mix, count = mixing.mix, []

    def losing(*of):
        count.append(1)
        if len(count) in (3, 5):
            with clusters.in_sentences():
                raise KeyboardInterrupt if len(count) == 3 else CommClosedError
        return mix(*of)

    expected = learned()
    monkeypatch.setattr(mixing, "mix", losing)
    with pytest.raises(KeyboardInterrupt):
        learned(checkpoint=path)
    with refused(ClusterError, "cluster"):
        learned(checkpoint=path)
    with pytest.raises(CheckpointError):
        learned(checkpoint=path, mixing="uniform")
    model = learned(checkpoint=path)
    arrays, others = (one.get_state()[0] for one in (model, expected))
    assert all(np.array_equal(arrays[name], array) for name, array in others.items())
    assert model.mistakes_.tolist() == expected.mistakes_.tolist()
    assert model.mixture_.amounts.tolist() == expected.mixture_.amounts.tolist()
    assert len(count) == 5 + 2  # no pass was made twice but those lost
    assert not path.exists()
    learned(checkpoint=Checkpoint(path, every=1e-9, keep=True))
    made = len(count)
    again = learned(checkpoint=path)  # of a fit that has ended
    assert len(count) == made
    assert again.coef_.tolist() == expected.coef_.tolist()
    assert again.stop_reason_ == expected.stop_reason_


def test_ctrl_c_ends_the_client_and_not_its_workers():
    """A terminal sends it to all of them."""
    told = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    command = [sys.executable, "-S", "-c", told]

    def blocked():
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout == "True\n"

    found = []

    def press():
        with clusters._uninterrupted_children():
            signal.raise_signal(signal.SIGINT)
            found.append(blocked())

    with pytest.raises(KeyboardInterrupt):
        press()
    assert found == [True]
    assert not blocked()


async def lose(address, dask_scheduler):
    await dask_scheduler.remove_worker(address, stimulus_id="lost")


@pytest.mark.thorough
def test_a_file_rewritten_while_a_worker_is_lost_is_refused(tmp_path, monkeypatch):
    """The worker that reads its shards again would learn other rows than the rest."""
    path = tmp_path / "t.svm"
    path.write_text("".join(f"{k % 2} 1:{100 + k % 7}\n" for k in range(2000)))
    describe = rows.ShardedRows.describe
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0",
            silence_logs="CRITICAL",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip

        def and_lose(self, *given, **more):
            describe(self, *given, **more)
            path.write_text(path.read_text())
            client.run_on_scheduler(lose, min(client.scheduler_info()["workers"]))

        monkeypatch.setattr(rows.ShardedRows, "describe", and_lose)
        with refused(DataError, "file-changed"):
            fit(Perceptron(max_iter=4), open_source(path), client=client, shard_mb=0.004)


def test_dask_arrays(client, monkeypatch):
    monkeypatch.setattr(lanes, "DENSE_VALUES", 100)
    monkeypatch.setattr(lanes, "LEAST_ROWS", 37)
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 4))
    y = X[:, 0] - X[:, 1] + random.normal(size=500)
    chunks = (100, 0, 3, 250, 147)
    dX, dy = da.from_array(X, chunks=(chunks, (2, 2))), da.from_array(y, chunks=(chunks,))
    weights = np.arange(500) % 3 + 0.5
    dw = da.from_array(weights, chunks=(chunks,))
    one = LinearRegression().fit(X, y, weights)
    other = fit(LinearRegression(), dX, dy, sample_weight=dw, client=client)
    assert np.array_equal(one.coef_, other.coef_)
    one = GaussianNaiveBayes().fit(X, y > 0)
    other = fit(GaussianNaiveBayes(), dX, dy > 0, client=client)
    assert np.array_equal(one.means_, other.means_)
    assert not hasattr(other, "recipe_")
    one = fit_in_shards(Perceptron(max_iter=3), X, y > 0, [size for size in chunks if size])
    other = fit(Perceptron(max_iter=3), dX, dy > 0, client=client)
    assert np.array_equal(one.coef_, other.coef_)
    assert other.training_accuracy_ == other.score(X, y > 0)
    with refused(DataError, "no-rows"):
        fit(GaussianNaiveBayes(), dX, dy > 0, sample_weight=0.0 * dy, client=client)


def test_data_frames_with_categories_in_any_order(client, drawn):
    X, y = drawn
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = np.array(["down", "middle", "up"])[y]
    frame = frame.sort_values("kind").reset_index(drop=True)  # most partitions lack a class
    labels = frame["kind"].astype(pd.CategoricalDtype(["up", "middle", "down"]))
    parts = dd.from_pandas(frame[list("abc")], npartitions=5)
    model = fit(Perceptron(max_iter=3), parts, dd.from_pandas(labels, npartitions=5), client=client)
    assert model.classes_.tolist() == ["down", "middle", "up"]
    assert model.feature_names_in_.tolist() == list("abc")
    codes = frame["kind"].to_numpy(dtype=str)
    one = fit_in_shards(
        Perceptron(max_iter=3), frame[list("abc")].to_numpy(), codes, list(model.mixture_.rows)
    )
    assert np.array_equal(one.coef_, model.coef_)


def test_wrong_collections(client, drawn):
    X, y = drawn
    dX, dy = da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100)
    hole = X.copy()
    hole[250, 1] = np.nan
    text = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1)
    for rows_, labels, code, fields in (
        (dX, y, "bad-option", {"option": "y"}),
        (dX, dy.rechunk(50), "shape", {"option": "y"}),
        (da.from_array(hole, chunks=(100, 3)), dy, "missing-value", {"row": 51, "column": 1}),
        (text, text["a"], "not-a-number", {"row": 1, "column": "b"}),
    ):
        kind = ParameterError if code == "bad-option" else DataError
        with refused(kind, code, **fields):
            fit(LinearRegression(), rows_, labels, client=client)
    for labels, code in ((["a", None], "missing-value"), (["a", 1], "label-type")):
        y = da.from_array(np.array(labels * 20, dtype=object), chunks=20)
        with refused(DataError, code):
            fit(Perceptron(max_iter=2), dX[:40].rechunk((20, 3)), y, client=client)


@pytest.mark.thorough
def test_a_partition_that_ends_its_worker_is_given_up():
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
        with refused(ClusterError, "cluster"):
            fit(LinearRegression(), X, da.zeros(3), client=client)
