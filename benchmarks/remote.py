"""One pass over files of a web server with 20 ms added to each request, beside the local files.

The server is another process of this machine, whose work takes processor time from the reader's.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from benchmarks.data import svmlight_text
from linsep import Perceptron, open_source

ROWS, COLUMNS, REPEATS, DELAY = 1_000_000, 24, 5, 0.02


def write(folder: Path) -> list[Path]:
    """Write the same rows as CSV, Parquet and Arrow, and link to rows of svmlight text."""
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.standard_normal(ROWS) for k in range(COLUMNS)}
    label = np.where(columns["x0"] + columns["x1"] > rng.standard_normal(ROWS), "yes", "no")
    table = pa.table(columns | {"kind": label})
    pa.csv.write_csv(table.slice(0, ROWS // 2), folder / "rows.csv")
    pa.parquet.write_table(table, folder / "rows.parquet")
    pa.parquet.write_table(table, folder / "small-groups.parquet", row_group_size=20_000)
    pa.feather.write_feather(table, folder / "rows.arrow", compression="uncompressed")
    (folder / "rows.svm").symlink_to(svmlight_text(400))
    return sorted(folder.iterdir())


def fitted(data: str) -> tuple[float, float, bytes]:
    """Return the seconds of a pass, those of the processor, and the weights."""
    started, work = perf_counter(), process_time()
    source = open_source(data, target=None if data.endswith("svm") else "kind")
    model = Perceptron(max_iter=1).fit(source)
    return perf_counter() - started, process_time() - work, model.coef_.tobytes()


def main() -> list[dict[str, Any]]:
    """Print medians of both sides, in turn, and their ratio."""
    print(f"{'one pass, perceptron':24}{'MB':>7}{'local':>9}{'remote':>9}{'ratio':>7}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder))
        command = [sys.executable, "-m", "campaign.web_server", folder, "--delay", str(DELAY)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            url = server.stdout.readline().strip()

            def server_work() -> float:
                server.stdin.write("\n")
                server.stdin.flush()
                return float(server.stdout.readline())

            for path in files:
                rows.append(_raced(path, f"{url}/{path.name}", server_work))
            server.stdin.close()
    return rows


def _raced(path: Path, address: str, server_work: Callable[[], float]) -> dict[str, Any]:
    times: dict[str, list[tuple[float, float, bytes]]] = {str(path): [], address: []}
    for turn in range(REPEATS + 1):
        for data, found in times.items():
            one = fitted(data)
            if turn:
                found.append(one)
            else:
                before = server_work()
    served = (server_work() - before) / REPEATS
    assert len({weights for found in times.values() for _, _, weights in found}) == 1
    local, remote = (median(seconds for seconds, _, _ in found) for found in times.values())
    work = [median(seconds for _, seconds, _ in found) for found in times.values()]
    size = path.stat().st_size / 1e6
    print(
        f"{path.name:24}{size:7.0f}{local:8.2f}s{remote:8.2f}s{remote / local:7.2f}   processor "
        f"{work[0]:.2f} and {work[1]:.2f} s, server {served:.2f} s",
        flush=True,
    )
    return {
        "name": f"remote {path.name}", "local": local, "remote": remote, "megabytes": size,
        "processor": work, "server": served,
    }  # fmt: skip


if __name__ == "__main__":
    main()
