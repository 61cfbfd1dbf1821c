"""One pass over files of a web server with 20 ms added to each request, beside the local files, and
beside the same server without the delay.

The server is another process of this machine, whose work takes CPU time from the reader's.
"""

import subprocess
import sys
import tempfile
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
    """Return the wall time of a pass, its CPU time, and the weights."""
    started, work = perf_counter(), process_time()
    source = open_source(data, target=None if data.endswith("svm") else "kind")
    model = Perceptron(max_iter=1).fit(source)
    return perf_counter() - started, process_time() - work, model.coef_.tobytes()


class Server:
    """A web server of a folder in another process; a context manager."""

    def __init__(self, folder: str, delay: float):
        command = [sys.executable, "-m", "campaign.web_server", folder, "--delay", str(delay)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def work(self) -> float:
        """Return the seconds of the processor that it took so far."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def main() -> list[dict[str, Any]]:
    """Print medians of three sides, in turn, and ratios of the delayed one to the others."""
    print(f"{'one pass, perceptron':24}{'MB':>7}{'local':>9}{'no delay':>10}{'20 ms':>9}  ratios")
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder))
        with Server(folder, 0) as prompt, Server(folder, DELAY) as slow:
            return [_raced(path, prompt, slow) for path in files]


def _raced(path: Path, prompt: Server, slow: Server) -> dict[str, Any]:
    sides = [str(path), f"{prompt.url}/{path.name}", f"{slow.url}/{path.name}"]
    times: list[list[tuple[float, float, bytes]]] = [[] for _ in sides]
    for turn in range(REPEATS + 1):
        for side, found in zip(sides, times, strict=True):
            one = fitted(side)
            if turn:
                found.append(one)
        if not turn:
            before = slow.work()
    served = (slow.work() - before) / REPEATS
    assert len({weights for found in times for _, _, weights in found}) == 1
    local, undelayed, remote = (median(seconds for seconds, _, _ in found) for found in times)
    work = [median(seconds for _, seconds, _ in found) for found in (times[0], times[2])]
    size = path.stat().st_size / 1e6
    print(
        f"{path.name:24}{size:7.0f}{local:8.2f}s{undelayed:9.2f}s{remote:8.2f}s"
        f"{remote / local:7.2f}{remote / undelayed:6.2f}   processor "
        f"{work[0]:.2f} and {work[1]:.2f} s, server {served:.2f} s",
        flush=True,
    )
    return {
        "name": f"remote {path.name}", "local": local, "undelayed": undelayed, "remote": remote,
        "megabytes": size, "processor": work, "server": served,
    }  # fmt: skip


if __name__ == "__main__":
    main()
