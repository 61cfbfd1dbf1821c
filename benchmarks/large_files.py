"""Regressions on a file larger than memory: seconds a row and memory, beside rows in memory.

The file has 4 GB, and the process that learns from it may take 1.5 GB (RLIMIT_DATA), as 20 GB would
be to a machine of 8. In memory are a million of the same rows, read by the same source, then
learned.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE_ROWS, MEMORY_ROWS, FEATURES = 5_000_000, 1_000_000, 100
LIMIT = 1500 << 20

SCRIPT = """
import json, resource, sys, time
import numpy as np, pyarrow.parquet as pq
from linsep import LinearRegression, LogisticRegression, open_source
which, how, path, limit = sys.argv[1:]
Model, target = {"linear": (LinearRegression, "y"), "logistic": (LogisticRegression, "kind")}[which]
rng = np.random.default_rng(0)
Model().fit(rng.standard_normal((20_000, 100)), rng.integers(0, 2, 20_000))  # compiles
if int(limit):
    resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
started = time.perf_counter()
other = "kind" if target == "y" else "y"
if how == "file":
    source = open_source(path, target=target, exclude=[other])
    model = Model().fit(source)
    rows = source.n_rows
else:
    rows = pq.read_metadata(path).num_rows
    X, y = np.empty((rows, 100)), np.empty(rows)
    for batch in open_source(path, target=target, exclude=[other]).batches():
        part = slice(batch.first, batch.first + len(batch.y))
        X[part], y[part] = batch.X, batch.y
    model = Model().fit(X, y)
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([seconds, rows, peak, model.coef_.ravel()[:3].tolist()]))
"""


def write(path: Path, n_rows: int) -> None:
    """Gaussian features, a noisy sum of them and a label, in parts of 100,000 rows."""
    rng = np.random.default_rng(0)
    w, writer = rng.standard_normal(FEATURES) / 5, None
    for first in range(0, n_rows, 100_000):
        part = np.random.default_rng(1 + first)
        X = part.standard_normal((min(100_000, n_rows - first), FEATURES))
        y = X @ w + part.standard_normal(len(X))
        columns = {f"x{j}": X[:, j] for j in range(FEATURES)} | {"y": y}
        table = pa.table(columns | {"kind": (y + part.logistic(size=len(X)) > 0).astype(int)})
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def learned(which: str, how: str, path: Path, limit: int) -> tuple[float, int, float]:
    """Seconds, rows and peak megabytes of a process of its own."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, which, how, path, str(limit)],
            stdout=subprocess.PIPE, text=True, check=True,
            # other pools of Arrow reserve memory that they do not use, which counts here
            env=os.environ | {"TMPDIR": folder, "ARROW_DEFAULT_MEMORY_POOL": "system"},
        )  # fmt: skip
    seconds, rows, peak, _ = json.loads(done.stdout)
    return seconds, rows, peak


def main() -> None:
    """Both regressions, from the file and in memory."""
    with tempfile.TemporaryDirectory(prefix="linsep-bench-") as folder:
        large, small = Path(folder) / "large.parquet", Path(folder) / "small.parquet"
        write(large, FILE_ROWS)
        write(small, MEMORY_ROWS)
        print(f"{'learner':10s} {'rows':26s} {'seconds':>8s} {'us a row':>9s} {'peak MB':>8s}")
        for which in ("linear", "logistic"):
            each = []
            for how, path, limit in (("file", large, LIMIT), ("memory", small, 0)):
                seconds, rows, peak = learned(which, how, path, limit)
                each.append(seconds / rows)
                work = f"{rows:,} x {FEATURES} from {how}"
                print(f"{which:10s} {work:26s} {seconds:8.1f} {1e6 * each[-1]:9.2f} {peak:8.0f}")
            print(f"{which}: {each[0] / each[1]:.2f} times as long a row as in memory")
