"""kill -9 of workers of a Dask cluster during fits: no bit changes."""

import atexit
import os
import random
import signal
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from campaign.batches import folder
from linsep import (
    GaussianNaiveBayes,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    open_source,
)

SHARD_MB = 0.1
ROWS, WIDTH = 20_000, 8


class Fit(NamedTuple):
    """A learner to fit on the cluster, its target, and the attributes that must not change."""

    estimator: Any
    target: str
    exclude: str
    attributes: tuple[str, ...]


FITS = (
    Fit(Perceptron(keep="average", max_iter=6), "label", "y", ("coef_", "intercept_", "mistakes_")),
    Fit(Perceptron(max_iter=6), "label", "y", ("coef_", "intercept_", "mistakes_")),
    Fit(LinearRegression(), "y", "label", ("coef_", "intercept_")),
    Fit(GaussianNaiveBayes(), "label", "y", ("means_", "variances_", "priors_")),
    Fit(LogisticRegression(), "label", "y", ("coef_", "intercept_", "covariance_")),
)


@cache
def _rows() -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, WIDTH))
    y = X[:, 0] - X[:, 1] + rng.normal(size=ROWS)
    columns = {f"x{k}": X[:, k] for k in range(WIDTH)}
    table = pa.table(columns | {"y": y, "label": np.digitize(y, [-1, 1])})
    pq.write_table(table, folder() / "rows.parquet", row_group_size=1000)
    return folder() / "rows.parquet"


@cache
def _client() -> Any:
    """Return a client of two worker processes, which are started again when they are killed."""
    import logging

    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    )
    client = Client(cluster)
    atexit.register(lambda: (client.close(), cluster.close()))
    return client


def _fitted(number: int) -> tuple[bytes, ...]:
    from sklearn.base import clone

    from linsep.distributed import fit

    which = FITS[number]
    source = open_source(_rows(), target=which.target, exclude=which.exclude)
    model = fit(clone(which.estimator), source, client=_client(), shard_mb=SHARD_MB)
    return tuple(np.asarray(getattr(model, name)).tobytes() for name in which.attributes)


@cache
def _expected(number: int) -> tuple[tuple[bytes, ...], float]:
    """Return what a fit gives if nobody is killed, and the seconds taken."""
    _fitted(number)
    started = time.perf_counter()
    return _fitted(number), time.perf_counter() - started


def killed(draw: random.Random) -> str | None:
    """Kill a worker at a random moment of a fit, or two of them."""
    number = draw.randrange(len(FITS))
    known, seconds = _expected(number)
    client = _client()
    try:
        client.wait_for_workers(2, timeout=30)
    except TimeoutError:  # Dask gave up starting one again
        _client.cache_clear()
        client = _client()
    pids = list(client.run(os.getpid).values())
    moments = sorted(draw.uniform(0, 1.2 * seconds) for _ in range(draw.choice((1, 1, 2))))
    stop = threading.Event()

    def kill() -> None:
        started = time.perf_counter()
        for moment, pid in zip(moments, draw.sample(pids, len(moments)), strict=True):
            if stop.wait(max(0.0, moment - (time.perf_counter() - started))):
                return
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = _fitted(number)
    finally:
        stop.set()
        killer.join()
    return None if found == known else f"other bits of {FITS[number].estimator}"
