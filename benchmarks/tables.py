"""What the command line reaches on mixed tables, as it stands and with options, beside peers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.data import FOLDER
from benchmarks.table_sets import LABEL, sets

#: how ``linsep fit`` is called; the first has no options
OPTIONS: dict[str, list[str]] = {
    "defaults": [],
    "plain": ["--scale", "none", "--keep", "last"],
}


def files(name: str, table: pd.DataFrame) -> tuple[Path, Path]:
    """The table as two CSV files: a quarter of the rows, drawn, is for tests."""
    folder = FOLDER / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    test = np.zeros(len(table), dtype=bool)
    test[np.random.default_rng(0).permutation(len(table))[: len(table) // 4]] = True
    paths = folder / f"{name}.csv", folder / f"{name}-test.csv"
    for path, rows in zip(paths, (~test, test), strict=True):
        table[rows].to_csv(path, index=False)
    return paths


def ours(train: Path, test: Path, options: list[str]) -> float:
    """Test accuracy of ``linsep fit``."""
    command = [sys.executable, "-m", "linsep", "fit", str(train), "--target", LABEL, "--test",
               str(test), "--json", "--no-cache", *options]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return json.loads(done.stdout)["test"]["accuracy"]


def theirs(model: type, train: Path, test: Path) -> float:
    """Test accuracy of a classifier of scikit-learn behind its usual preparation."""
    text = make_column_selector(dtype_include=[object, "string"])
    prepared = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), text), remainder=StandardScaler()
    )
    rows, new = pd.read_csv(train), pd.read_csv(test)
    pipeline = make_pipeline(prepared, model()).fit(rows.drop(columns=LABEL), rows[LABEL])
    return pipeline.score(new.drop(columns=LABEL), new[LABEL])


def main() -> None:
    """Print the table."""
    heads = ["rows", "columns", "classes", "baseline", *OPTIONS, "Perceptron", "LogisticRegression"]
    print(f"{'data':18s} " + " ".join(f"{head:>10s}" for head in heads))
    every = []
    for name, make in sets().items():
        table = make()
        train, test = files(name, table)
        baseline = pd.read_csv(test)[LABEL].value_counts(normalize=True).max()
        shares = [baseline, *(ours(train, test, options) for options in OPTIONS.values())]
        shares += [theirs(model, train, test) for model in (Perceptron, LogisticRegression)]
        every.append(shares)
        about = [len(table), table.shape[1] - 1, table[LABEL].nunique()]
        print(
            f"{name:18s} " + " ".join(f"{n:10,}" for n in about) + " "
            + " ".join(f"{100 * share:10.2f}" for share in shares), flush=True
        )  # fmt: skip
    means = [mean(column) for column in zip(*every, strict=True)]
    print(f"{'mean':51s} " + " ".join(f"{100 * share:10.2f}" for share in means))


if __name__ == "__main__":
    main()
