"""Verdicts on a cluster: those of one machine to the bit, for any number of workers and shards."""

import subprocess
import sys
from decimal import Decimal
from functools import cache

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster
from sklearn.datasets import load_iris

import linsep
from linsep import open_source
from linsep.distributed import rows, separation, verdicts
from linsep.errors import DataError, ParameterError
from linsep.separability import data as rows_of_data
from linsep.separability.time_limit import check_time

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]  # sums of numpy and BLAS


@pytest.fixture(autouse=True)
def short_lanes(monkeypatch):
    """Two dozen lanes, of which one is in several shards and some shards are in none."""
    monkeypatch.setattr(rows_of_data, "LANE_VALUES", 100)
    monkeypatch.setattr(rows_of_data, "SPARSE_ROWS", 31)


def drawn(kind, n=600):
    """Rows of three features, in hundredths, and their classes."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3)).round(2)
    score = X @ [1, -2, 0.5]
    if kind == "overlapping":
        return X, np.where(score + random.normal(size=n) > 0, "yes", "no")
    if kind == "three":
        return X, np.array(["b", "c", "a"])[np.digitize(score, [-1, 1])]
    y = np.where(score > 0, "yes", "no")
    if kind == "separable":
        return X[abs(score) > 0.2], y[abs(score) > 0.2]
    y, on = np.where(X[:, 0] > 0, "yes", "no"), np.arange(0, n, 3)
    X[on, 0], y[on] = 0.0, random.choice(["yes", "no"], size=len(on))
    if kind == "contradictory":
        X[500], y[500], y[17] = X[17], "no", "yes"
    return X, y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows as CSV, Parquet with decimals and whole numbers beyond doubles, and svmlight
    text with weights of zero.
    """
    folder = tmp_path_factory.mktemp("rows")
    for kind in ("separable", "quasi-separable", "overlapping", "contradictory", "three"):
        X, y = drawn(kind)
        frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
        frame.to_csv(folder / f"{kind}.csv", index=False)
        lines = [
            f"{sorted(set(y)).index(label)} "
            + " ".join(f"{j + 1 + 2 * (k > 300)}:{x!r}" for j, x in enumerate(row) if x)
            for k, (row, label) in enumerate(zip(X.tolist(), y, strict=True))
        ]
        (folder / f"{kind}.svm").write_text("\n".join(lines) + "\n")
        b = pa.array([Decimal(str(x)) for x in X[:, 1]], pa.decimal128(9, 2))
        c = pa.array([2**60 + 1 if k == 400 else round(100 * x) for k, x in enumerate(X[:, 2])])
        weights = np.where(np.arange(len(X)) % 7 == 3, 0.0, 1.0)
        table = pa.table({"a": X[:, 0], "b": b, "c": c, "y": y, "w": weights})
        pq.write_table(table, folder / f"{kind}.parquet", row_group_size=45)
    return folder


def read(path):
    if path.suffix == ".svm":
        return open_source(path)
    return open_source(path, target="y", **({"weight": "w"} if path.suffix == ".parquet" else {}))


@cache
def alone(path, **options):
    """The verdict of one machine, as a proof file."""
    return linsep.separation(read(path), **options).to_json()


CASES = [
    ("separable.csv", {}, 1, 0.002),
    ("separable.csv", {"margin": "max"}, 3, 0.0007),
    ("separable.parquet", {"margin": "max", "fit_intercept": False}, 2, 0.002),
    ("separable.svm", {"margin": "max"}, 2, 0.003),
    ("quasi-separable.csv", {}, 2, 0.0007),
    ("quasi-separable.csv", {}, 3, 1),
    ("quasi-separable.parquet", {}, 1, 0.004),
    ("quasi-separable.svm", {}, 3, 0.002),
    ("overlapping.csv", {}, 1, 0.005),
    ("overlapping.parquet", {}, 3, 0.002),
    ("overlapping.svm", {}, 2, 0.001),
    ("contradictory.csv", {}, 3, 0.002),
    ("separable.csv", {"errors": True}, 2, 0.004),
    ("three.csv", {}, 2, 0.004),
    ("three.svm", {"formulations": ("ovr", "multinomial")}, 3, 0.004),
]


@pytest.mark.parametrize(("name", "options", "count", "size"), CASES)
def test_the_bits_of_one_machine(workers, client, folder, name, options, count, size):
    workers.scale(count)
    client.wait_for_workers(count)
    found = separation(read(folder / name), client=client, shard_mb=size, **options)
    assert found.to_json() == alone(folder / name, **options)
    if name.startswith("contradictory"):
        assert found.witness.rows == (17, 500)
    if name == "quasi-separable.parquet":
        assert found.verify(read(folder / name), exact=True)
        here = linsep.separation(read(folder / name))
        assert found.deciding_columns == here.deciding_columns
        assert found.deciding_columns.touching == (0,)
        source = open_source(folder / name, target="y", exclude="w")
        assert not found.verify(source, exact=True)  # rows of weight 0


def test_dask_collections(client):
    X, y = drawn("overlapping")
    chunks = (100, 0, 3, 250, 247)
    arrays = da.from_array(X, chunks=(chunks, (2, 1))), da.from_array(y, chunks=(chunks,))
    assert separation(*arrays, client=client) == linsep.separation(X, y)
    few = [part[:60] for part in arrays]
    alike = separation(*few, client=client).chance
    assert alike == linsep.separation(X[:60], y[:60]).chance
    assert alike.n_distinct == 60
    frame = pd.DataFrame(X, columns=list("abc")).assign(c=(100 * X[:, 2]).astype(int))
    frame.loc[77, "c"] = 2**60 + 1
    labels = pd.Series(y).astype("category")
    given = dd.from_pandas(frame, npartitions=4), dd.from_pandas(labels, npartitions=4)
    found = separation(*given, client=client)
    assert found == linsep.separation(frame, y)
    assert found.subject.names == ("a", "b", "c")
    frame.loc[400, "a"] = np.nan
    with pytest.raises(DataError, match=r"partition 2 of X: Row 101 .index 100., column 'a' has"):
        separation(dd.from_pandas(frame, npartitions=4), given[1], client=client)


def test_the_fewest_errors_and_the_overlap(client):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    given = da.from_array(X, chunks=((30, 70), 4)), da.from_array(y, chunks=((30, 70),))
    found = separation(*given, client=client, errors=True, details=True)
    assert (found.errors.low, found.errors.high) == (1, 1)
    assert found.overlap.low <= 5.6 <= found.overlap.high < found.overlap.low + 1e-6
    assert found.verify(X, y)


async def lose(address, dask_scheduler):
    await dask_scheduler.remove_worker(address, stimulus_id="lost")


def test_a_worker_lost_in_the_middle_changes_nothing(folder, monkeypatch):
    path = folder / "quasi-separable.csv"
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0",
            silence_logs="CRITICAL",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        asked, ask = [], verdicts.ShardedData.ask

        def lose_one(self, part, merge):
            asked.append(part)
            if len(asked) in (2, 4):
                client.run_on_scheduler(lose, min(client.scheduler_info()["workers"]))
            return ask(self, part, merge)

        monkeypatch.setattr(verdicts.ShardedData, "ask", lose_one)
        found = separation(read(path), client=client, shard_mb=0.001)
        assert len(client.scheduler_info()["workers"]) == 1
    assert len(asked) > 4
    assert found.to_json() == alone(path)


def test_no_time(client, folder, monkeypatch):
    path = folder / "separable.csv"
    found = separation(read(path), client=client, time_limit=1e-6)
    assert found.kind == "undecided"
    assert found.reason == linsep.separation(read(path), time_limit=1e-6).reason

    def slow(lanes):
        while True:
            check_time()

    ask = verdicts.ShardedData.ask
    monkeypatch.setattr(verdicts.ShardedData, "ask", lambda self, *_: ask(self, slow, max))
    found = separation(read(path), client=client, time_limit=0.5)
    assert found.reason.startswith("the time limit of 0.5 s ended")


def test_what_is_wrong_is_named(client, folder, tmp_path):
    text = (folder / "separable.csv").read_text().splitlines(keepends=True)
    (tmp_path / "t.csv").write_text("".join([*text[:300], "1,,2,yes\n", *text[300:]]))
    with pytest.raises(DataError, match=r"t.csv line 301, column 'b'"):
        separation(open_source(tmp_path / "t.csv", target="y"), client=client, shard_mb=0.002)
    source = read(folder / "separable.csv")
    with pytest.raises(ParameterError, match="leave out y"):
        separation(source, [1, 2], client=client)
    with pytest.raises(ParameterError, match="shard_mb is 0"):
        separation(source, client=client, shard_mb=0)
    with pytest.raises(ValueError, match="margin is 'widest': it must be"):
        separation(source, client=client, margin="widest")
    (tmp_path / "one.svm").write_text("1 1:1\n" * 50)
    with pytest.raises(DataError, match="All rows have the label 1: separation needs"):
        separation(open_source(tmp_path / "one.svm"), client=client)


def test_a_shard_that_workers_cannot_read_is_named(client, folder, monkeypatch):
    source = read(folder / "separable.parquet")
    cut = rows.shards_of

    def elsewhere(*given, **how):
        first, *rest = cut(*given, **how)
        return [first._replace(path="/elsewhere/t.parquet"), *rest]

    monkeypatch.setattr(rows, "shards_of", elsewhere)
    with pytest.raises(DataError, match=r"On the machine .*, /elsewhere/t.parquet cannot be read"):
        separation(source, client=client, shard_mb=0.002)

    def older(*given, **how):
        return [shard._replace(size=shard.size - 1) for shard in cut(*given, **how)]

    monkeypatch.setattr(rows, "shards_of", older)
    with pytest.raises(DataError, match=r"On the machine .* has [\d,]+ bytes, but had [\d,]+ when"):
        separation(source, client=client, shard_mb=0.002)
    monkeypatch.setattr(rows, "shards_of", lambda *given, **how: cut(*given, **how)[1:])
    with pytest.raises(DataError, match="for the workers: all machines need the same files"):
        separation(source, client=client, shard_mb=0.002)


def test_the_command(folder, tmp_path):
    with LocalCluster(
        n_workers=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        told = [
            sys.executable, "-m", "linsep", "separate", folder / "contradictory.csv", "--target",
            "y", "--dask", cluster.scheduler_address, "--shard-mb", "0.002", "--proof",
            tmp_path / "p.json",
        ]  # fmt: skip
        done = subprocess.run(told, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 worker; dashboard at" in done.stderr
    assert "2 rows that no hyperplane separates: 18, 501" in done.stdout
    assert "contradictory.csv line 502" in done.stdout
    source = read(folder / "contradictory.csv")
    written = (tmp_path / "p.json").read_text()
    claim = linsep.separation(source)
    assert written == claim.to_json(source.recipe())
