"""Fits on a Dask cluster whose workers are threads of this process."""

import logging
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster, process
from distributed.scheduler import KilledWorker
from sklearn.base import clone

from linsep import (
    AROW,
    Checkpoint,
    LinearRegression,
    LogisticRegression,
    OnlineLogistic,
    PassiveAggressive,
    Perceptron,
    load,
    open_source,
    save,
)
from linsep.distributed import ClusterError, cluster as clusters, fit, rows
from linsep.errors import CheckpointError, DataError, ParameterError
from linsep.learners import mixing
from sharded import fit_in_shards

SHARD_MB = 0.002

pytestmark = pytest.mark.compiled  # the interpreter would read and send the same


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


#: with arrays beside their weights: sums and means, scales
REMEMBERING = [AROW(), OnlineLogistic(multiclass="ovo")]


@pytest.mark.parametrize("learner", REMEMBERING, ids=lambda model: type(model).__name__)
def test_what_is_beside_the_weights_has_the_same_bits(client, table, drawn, tmp_path, learner):
    X, y = drawn
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
    for count in (1, 2, 3):
        workers.scale(count)
        client.wait_for_workers(count)
        model = Perceptron(max_iter=4, keep=keep)
        source = open_source(table, target="y")
        assert fit(model, source, client=client, mixing=mixing, shard_mb=SHARD_MB) is model
        found.append(model)
    rows = list(found[0].mixture_.rows)
    assert len(rows) > 3
    alone = fit_in_shards(Perceptron(max_iter=4, keep=keep), X, y, rows, mixing)
    for model in found:
        assert np.array_equal(model.coef_, alone.coef_)
        assert np.array_equal(model.intercept_, alone.intercept_)
        assert np.array_equal(model.mixture_.mistakes, alone.mixture_.mistakes)
    model = found[0]
    assert model.classes_.tolist() == ["low", "middle", "up"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.training_accuracy_ == pytest.approx(alone.score(X, y))
    assert model.training_rows_ == 400
    assert model.score(open_source(table, recipe=model.recipe_)) == model.training_accuracy_


def test_one_shard_is_an_ordinary_fit(client, table):
    one = Perceptron(max_iter=4).fit(open_source(table, target="y"))
    mixed = fit(Perceptron(max_iter=4), open_source(table, target="y"), client=client)
    assert len(mixed.mixture_.rows) == 1
    assert np.array_equal(one.coef_, mixed.coef_)
    assert one.mistakes_.tolist() == mixed.mistakes_.tolist()
    assert one.training_accuracy_ == mixed.training_accuracy_
    assert one.recipe_ == mixed.recipe_
    assert one.classes_.dtype == mixed.classes_.dtype


def test_sparse_text_in_shards_with_labels_and_features_that_others_lack(client, tmp_path):
    lines = [f"{k // 40} {1 + k % 7}:{k % 5 - 2} {20 + k // 40}:1\n" for k in range(120)]
    (tmp_path / "t.svm").write_text("".join(lines))
    source = open_source(tmp_path / "t.svm")
    model = fit(
        PassiveAggressive(keep="average", class_weight={1: 2.0}, max_iter=5), source, client=client,
        shard_mb=0.0005,
    )  # fmt: skip
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


def test_a_remote_file_is_a_shard(client, table, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/rows/t.parquet", table.read_bytes())
    one = fit(Perceptron(max_iter=3), open_source(table, target="y"), client=client)
    source = open_source("memory://rows/t.parquet", target="y")
    model = fit(Perceptron(max_iter=3), source, client=client, shard_mb=SHARD_MB)
    assert len(model.mixture_.rows) == 1
    assert np.array_equal(one.coef_, model.coef_)


def test_missing_values_of_all_shards_are_counted(client, tmp_path):
    rows = "".join(f"{'' if k % 10 == 1 else k},{'ab'[k % 2]}\n" for k in range(200))
    for name in ("1.csv", "2.csv"):
        (tmp_path / name).write_text("x,y\n" + rows)
    source = open_source(tmp_path / "*.csv", target="y", missing="mean")
    fit(Perceptron(max_iter=1), source, client=client, shard_mb=0.0001)
    assert source.filled == {"x": 40}
    source = open_source(tmp_path / "*.csv", target="y", missing="drop")
    fit(Perceptron(max_iter=1), source, client=client, shard_mb=0.0001)
    assert (source.dropped, source.filled) == (40, {})


def test_bad_rows_are_named(client, tmp_path):
    lines = [f"{k % 2} 1:{k} 2:1\n" for k in range(300)]
    lines[205] = "1 1:nan\n"
    (tmp_path / "t.svm").write_text("".join(lines))
    source = open_source(tmp_path / "t.svm")
    with pytest.raises(DataError, match=r"t.svm line 206"):
        fit(Perceptron(), source, client=client, shard_mb=0.001)
    lines[205] = "1 1:1e308 2:1e308\n"
    (tmp_path / "t.svm").write_text("".join(lines))
    with pytest.raises(DataError, match=r"bytes 2,000 to 3,000: .*overflows float64"):
        fit(
            Perceptron(learning_rate=1e300),
            open_source(tmp_path / "t.svm"),
            client=client,
            shard_mb=0.001,
        )
    lines[205] = "1.5 1:1\n"
    (tmp_path / "t.svm").write_text("".join(lines))
    with pytest.raises(DataError, match=r"bytes 2,000 to 3,000, row .* label 1.5 is continuous"):
        fit(Perceptron(), open_source(tmp_path / "t.svm"), client=client, shard_mb=0.001)
    (tmp_path / "t.svm").write_text("1 1:1\n" * 300)
    with pytest.raises(DataError, match="Only one class"):
        fit(Perceptron(), open_source(tmp_path / "t.svm"), client=client)


def test_wrong_use_is_said_in_a_sentence(client, table, monkeypatch):
    source = open_source(table, target="y")
    with pytest.raises(ParameterError, match="source is of type ndarray: pass a source"):
        fit(Perceptron(), np.ones((3, 2)), client=client)
    with pytest.raises(ParameterError, match="shard_mb is 0: it must be"):
        fit(Perceptron(), source, client=client, shard_mb=0)
    with pytest.raises(ParameterError, match="keep='vote' cannot be fitted in shards"):
        fit(Perceptron(keep="vote"), source, client=client)

    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr(clusters, "default_client", nobody)
    with pytest.raises(ParameterError, match="There is no Dask client"):
        fit(Perceptron(), source)


def test_other_versions_are_refused_wherever_they_turn_up(monkeypatch):
    known = {"Python": "2.7", "linsep": "0.1.0"}
    monkeypatch.setattr(clusters, "versions", lambda: known)
    with pytest.raises(
        ClusterError, match=r"has Python 3.11, but this process has 2.7: install the same versions"
    ):
        clusters.refuse_others({"Python": "3.11"}, "The worker at tcp://10.0.0.2:1")


def test_tasks_have_names_for_people(client, table):
    fit(Perceptron(max_iter=2), open_source(table, target="y"), client=client, shard_mb=SHARD_MB)
    names = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert {"read shard", "describe shard", "learn shard", "mix weights"} <= set(names)


def test_what_a_lost_cluster_raises_is_one_sentence():
    class Worker:
        address = "tcp://10.0.0.2:1"

    found = clusters._in_a_sentence(KilledWorker("learn shard-1a-7", Worker(), 3))
    assert "'learn shard' ended 4 workers, the last at tcp://10.0.0.2:1" in str(found)
    assert "choose smaller shards" in str(clusters._in_a_sentence(MemoryError()))
    assert "was lost" in str(clusters._in_a_sentence(clusters.CommClosedError()))


def test_dask_logs_no_tracebacks_of_a_scheduler_that_is_lost(workers):
    log = logging.getLogger("distributed.client")
    assert log.isEnabledFor(logging.ERROR)
    with clusters.connected(workers.scheduler_address):
        assert not log.isEnabledFor(logging.ERROR)
    assert log.isEnabledFor(logging.ERROR)


def test_nobody_answers_and_nobody_works(table, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECTING", 0.5)
    started = time.monotonic()
    with (
        pytest.raises(ClusterError, match=r"No Dask scheduler answers at tcp://127.0.0.1:9"),
        clusters.connected("tcp://127.0.0.1:9"),
    ):
        pass
    assert time.monotonic() - started < 5
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        Client(empty, set_as_default=False) as client,
        pytest.raises(ClusterError, match="has no workers: start some with `dask worker"),
    ):
        fit(Perceptron(), open_source(table, target="y"), client=client)


@pytest.mark.parametrize(
    "address", ["nonsense", "tcp://10.0.0.1", "tcp://user:secret@127.0.0.1:1", "127.0.0.1", ""]
)
def test_what_is_no_address_is_said_at_once(address):
    with (
        pytest.raises(
            ClusterError, match="is not the address of a Dask scheduler: give an address such"
        ) as no,
        clusters.connected(address),
    ):
        pass
    assert "secret" not in str(no.value)
    for known in ("tcp://[::1]:8786", "scheduler:8786", "tls://10.0.0.1:8786", "inproc://1/2/3"):
        assert clusters.ADDRESS.fullmatch(known)


@pytest.mark.parametrize(("learner", "keep", "mixing_by"), [
    (Perceptron(), "last", "mistakes"), (Perceptron(), "average", "mistakes"),
    (AROW(), "average", "mistakes"),
])  # fmt: skip
def test_a_fit_whose_client_was_lost_goes_on(
    client, table, tmp_path, monkeypatch, learner, keep, mixing_by
):
    path = tmp_path / "c"

    def learned(**more):
        model = clone(learner).set_params(max_iter=5, keep=keep)
        source = open_source(table, target="y", cache=None)
        return fit(model, source, client=client, shard_mb=SHARD_MB, mixing=mixing_by, **more)

    mix, count = mixing.mix, []

    def losing(*of):
        count.append(1)
        if len(count) in (3, 5):
            lost = clusters._in_a_sentence(clusters.CommClosedError())
            raise KeyboardInterrupt if len(count) == 3 else lost
        return mix(*of)

    expected = learned()
    monkeypatch.setattr(mixing, "mix", losing)
    with pytest.raises(KeyboardInterrupt):
        learned(checkpoint=path)
    going_on = f"try again, to resume from the checkpoint {re.escape(str(path))}"
    with pytest.raises(ClusterError, match=going_on):
        learned(checkpoint=path)
    model = learned(checkpoint=path)
    arrays, others = (one.get_state()[0] for one in (model, expected))
    assert all(np.array_equal(arrays[name], array) for name, array in others.items())
    assert model.mistakes_.tolist() == expected.mistakes_.tolist()
    assert model.mixture_.mistakes.tolist() == expected.mixture_.mistakes.tolist()
    assert model.mixture_.amounts.tolist() == expected.mixture_.amounts.tolist()
    assert len(count) == 5 + 2  # no pass was made twice but those lost
    assert not path.exists()
    learned(checkpoint=Checkpoint(path, every="1rows", keep=True))
    made = len(count)
    again = learned(checkpoint=path)  # of a fit that has ended
    assert len(count) == made
    assert again.coef_.tolist() == expected.coef_.tolist()
    assert again.mixture_.mistakes.tolist() == expected.mixture_.mistakes.tolist()
    assert again.stop_reason_ == expected.stop_reason_


def test_a_checkpoint_of_another_mixing_is_refused(client, table, tmp_path, monkeypatch):
    def learned(model, **more):
        source = open_source(table, target="y", cache=None)
        return fit(model, source, client=client, checkpoint=tmp_path / "c", **more)

    with monkeypatch.context() as patch:
        patch.setattr(mixing, "_report", lambda *of: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            learned(Perceptron(max_iter=3), shard_mb=SHARD_MB)
    assert not (tmp_path / "c").exists()  # nothing was mixed yet
    with monkeypatch.context() as patch:
        mix, count = mixing.mix, []

        def once(*of):
            count.append(1)
            return mix(*of) if len(count) == 1 else press()

        patch.setattr(mixing, "mix", once)
        with pytest.raises(KeyboardInterrupt):
            learned(Perceptron(max_iter=3), shard_mb=SHARD_MB)
    for how, said in (
        ({"mixing": "mistakes", "shard_mb": SHARD_MB}, "mixing was uniform and is mistakes"),
        ({"shard_mb": 1}, r"shard_mb was 0\.002 and is 1\.0"),
    ):
        with pytest.raises(CheckpointError, match=said):
            learned(Perceptron(max_iter=3), **how)
    with pytest.raises(ParameterError, match="reads its rows once: leave out the checkpoint"):
        learned(LinearRegression())


def press():
    raise KeyboardInterrupt


def test_ctrl_c_ends_the_client_and_not_its_workers():
    """A terminal sends it to all of them."""
    told = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    command = [sys.executable, "-S", "-c", told]

    def blocked():
        return (
            subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"
        )

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


def rewritten(path):
    """Turn the labels; the size stays the same, and so does the time."""
    about = path.stat()
    turned = {"0": "1", "1": "0"}
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{turned[line[0]]}{line[1:]}\n" for line in lines))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert path.stat().st_size == about.st_size


@pytest.mark.parametrize("estimator", [Perceptron(max_iter=4), LogisticRegression()])
def test_a_file_rewritten_while_a_worker_is_lost_is_refused(tmp_path, monkeypatch, estimator):
    """The worker that reads its shards again would learn other rows than the rest."""
    random = np.random.default_rng(0)
    x, noise = random.integers(100, 1000, 2000), random.integers(-300, 300, 2000)
    path = tmp_path / "t.svm"
    path.write_text("".join(f"{int(a + b > 550)} 1:{a}\n" for a, b in zip(x, noise, strict=True)))
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
            rewritten(path)
            client.run_on_scheduler(lose, min(client.scheduler_info()["workers"]))

        monkeypatch.setattr(rows.ShardedRows, "describe", and_lose)
        said = r"On the machine .*, .*t\.svm, bytes .* has other bytes than when it was split"
        with pytest.raises(DataError, match=said):
            fit(estimator, open_source(path), client=client, shard_mb=0.004)


def test_a_file_that_changed_since_it_was_opened_is_refused(client, tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("0 1:1\n1 1:2\n" * 50)
    source = open_source(path)
    rewritten(path)
    with pytest.raises(DataError, match=r"t\.svm changed while it was read: start again"):
        fit(Perceptron(), source, client=client)
    (tmp_path / "t.csv").write_text("x,y\n1,0\n2,1\n")
    source = open_source(tmp_path / "t.csv", target="y")
    (tmp_path / "t.csv").write_text("y,x\n1,0\n2,1\n")
    with pytest.raises(DataError, match=r"t\.csv changed while it was read: start again"):
        fit(Perceptron(), source, client=client)


@pytest.mark.parametrize("package", ["numpy", "numba", "pyarrow"])
def test_workers_with_another_package_are_refused(client, table, monkeypatch, package):
    known = clusters.versions() | {package: "0.0.1"}
    found = clusters.Cluster(client)  # of the same versions
    monkeypatch.setattr(found.client, "run", lambda *_, **__: {"tcp://10.0.0.2:1": known})
    said = rf"at tcp://10\.0\.0\.2:1 has {package} 0\.0\.1, but this process has "
    with pytest.raises(ClusterError, match=said):
        found._check_workers()


@pytest.mark.parametrize("killed", [1, 2])
def test_worker_processes_that_end_while_they_start_are_said_in_a_sentence(monkeypatch, killed):
    """It was a traceback and a fault of linsep."""
    start, pids = process.AsyncProcess.start, []

    async def started(self):
        await start(self)
        pids.append(self.pid)
        if len(pids) <= killed:
            os.kill(self.pid, signal.SIGKILL)

    monkeypatch.setattr(process.AsyncProcess, "start", started)
    said = r"A worker process of this machine ended before it was ready \(.+\): try again"
    with pytest.raises(ClusterError, match=said), clusters.connected("local"):
        pass
    until = time.monotonic() + 60  # the others are told to end, and may take a moment
    while {child.pid for child in multiprocessing.active_children()} & set(pids):
        assert time.monotonic() < until
        time.sleep(0.05)
