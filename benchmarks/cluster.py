"""Two worker processes of a Dask cluster on this machine against one, each with one thread.

``python -m benchmarks cluster`` writes a Parquet file of LINSEP_CLUSTER_MB megabytes (2,000 unless
set) and a tenth of its rows as CSV, and times fits that read them: least squares, logistic
regression, and the averaged perceptron for ten passes. It prints wall time, the CPU time of the
busiest worker, which other programs on the machine do not change, and what workers received from
each other.
"""

import os
import tempfile
import time
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from linsep import LinearRegression, LogisticRegression, Perceptron, open_source

FEATURES, GROUP = 100, 50_000
TIMES = 3


def _write(folder: Path, megabytes: int, group: int = GROUP) -> tuple[Path, Path]:
    """Write Gaussian features, a noisy sum of them and its sign."""
    folder.mkdir(exist_ok=True)
    rows, writer = megabytes * 1_000_000 // (8 * (FEATURES + 1)), None
    weights = np.random.default_rng(0).normal(size=FEATURES)
    table = None
    for first in range(0, rows, group):
        draw = np.random.default_rng(first + 1)
        X = draw.normal(size=(min(group, rows - first), FEATURES))
        y = X @ weights + 5 * draw.normal(size=len(X))
        columns = {f"x{k}": X[:, k] for k in range(FEATURES)}
        table = pa.table(columns | {"y": y, "label": (y > 0).astype(np.int8)})
        if writer is None:
            writer = pq.ParquetWriter(
                folder / "t.parquet", table.schema, compression="none", use_dictionary=False
            )
            text = pa.csv.CSVWriter(folder / "t.csv", table.schema)
        writer.write_table(table)
        if first * 10 < rows:
            text.write_table(table)
    assert writer is not None
    writer.close()
    text.close()
    return folder / "t.parquet", folder / "t.csv"


def _received(dask_worker: Any) -> int:
    """Bytes that a worker has got from others."""
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def _busy(dask_worker: Any) -> float:
    """CPU time of a worker, in seconds."""
    return time.process_time()


def main() -> list[dict[str, Any]]:
    """Print the table, and return its rows."""
    import dask
    from distributed import Client, LocalCluster

    from linsep.distributed import fit
    from linsep.distributed.cluster import ALIKE

    megabytes = int(os.environ.get("LINSEP_CLUSTER_MB", "2000"))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        parquet, text = _write(Path(folder), megabytes)
        small, _ = _write(Path(folder) / "small", 10, 1000)
        works = {
            "least squares, Parquet": (LinearRegression(), parquet, "y", "label"),
            "logistic, Parquet": (LogisticRegression(), parquet, "label", "y"),
            "perceptron, Parquet": (
                Perceptron(keep="average", max_iter=10), parquet, "label", "y",
            ),
            "perceptron, CSV": (Perceptron(keep="average", max_iter=10), text, "label", "y"),
        }  # fmt: skip
        seconds: dict[tuple[str, int], list[float]] = {}
        busiest: dict[tuple[str, int], list[float]] = {}
        wire: dict[str, int] = {}
        for _ in range(TIMES):
            for count in (1, 2):
                with (
                    dask.config.set(ALIKE),
                    LocalCluster(
                        n_workers=count, threads_per_worker=1, dashboard_address=":0",
                        memory_limit=None,
                    ) as cluster,
                    Client(cluster) as client,
                ):  # fmt: skip
                    client.wait_for_workers(count)
                    for model, _, target, other in works.values():  # compiles loops, and imports
                        source = open_source(small, target=target, exclude=other)
                        fit(model, source, client=client, shard_mb=1)
                    for name, (model, path, target, other) in works.items():
                        source = open_source(path, target=target, exclude=other)
                        before = sum(client.run(_received).values())
                        busy = client.run(_busy)
                        started = perf_counter()
                        fit(model, source, client=client)
                        took = perf_counter() - started
                        seconds.setdefault((name, count), []).append(took)
                        after = client.run(_busy)
                        most = max(after[worker] - busy[worker] for worker in after)
                        busiest.setdefault((name, count), []).append(most)
                        wire[name] = sum(client.run(_received).values()) - before
        print(f"{megabytes:,} MB of Parquet, {text.stat().st_size / 1e6:,.0f} MB of CSV")
        for name in works:
            one, two = (median(seconds[name, count]) for count in (1, 2))
            alone, both = (median(busiest[name, count]) for count in (1, 2))
            print(
                f"{name:24} one {one:6.2f} s  two {two:6.2f} s  {one / two:4.2f} times; busiest "
                f"worker {alone:5.2f} s  {both:5.2f} s  {alone / both:4.2f} times; "
                f"{wire[name] / 1e6:,.2f} MB between workers"
            )
            times = {"one": one, "two": two, "busiest of one": alone, "busiest of two": both}
            found.append({"name": name, "wire": wire[name]} | times)
    return found
