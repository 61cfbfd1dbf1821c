"""A process that ends with sources half read ends at once, and prints nothing."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

pytestmark = pytest.mark.compiled

ROWS = 200_000
PROGRAM = """
import sys
from linsep import open_source

class Kept:
    "Part of a cycle: Python deletes it last."

kept = Kept()
kept.itself, kept.batches = kept, []
for path in sys.argv[1:]:
    target = None if path.endswith("svm") else "kind"
    kept.batches.append(open_source(path, target=target).batches())
    next(kept.batches[-1])
"""


@pytest.fixture
def files(tmp_path):
    table = pd.DataFrame({"size": np.arange(ROWS) / 7, "kind": np.arange(ROWS) % 2})
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.to_csv(tmp_path / "rows.csv.gz", index=False)
    table.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=10_000)
    table.to_feather(tmp_path / "rows.arrow")
    dump_svmlight_file(table[["size"]], table["kind"], str(tmp_path / "rows.svm"))
    return sorted(tmp_path.iterdir())


@pytest.mark.thorough
def test_a_process_ends_with_sources_half_read(files):
    run = [sys.executable, "-c", PROGRAM, *files]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")
