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


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("half_read")
    table = pd.DataFrame({"size": np.arange(ROWS) / 7, "kind": np.arange(ROWS) % 2})
    table.to_csv(folder / "rows.csv", index=False)
    table.to_csv(folder / "rows.csv.gz", index=False)
    table.to_json(folder / "rows.jsonl", orient="records", lines=True)
    table.to_parquet(folder / "rows.parquet", row_group_size=10_000)
    table.to_feather(folder / "rows.arrow")
    dump_svmlight_file(table[["size"]], table["kind"], str(folder / "rows.svm"))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("number", range(6))
def test_a_process_ends_with_a_source_half_read(files, number):
    run = [sys.executable, "-c", PROGRAM, files[number]]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")
