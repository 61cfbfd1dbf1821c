"""Held-out accuracy on mixed tables: the command that ``linsep describe`` prints, ``linsep fit``
without options, and the peer that cross-validation on the training rows chooses.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.data import FOLDER
from benchmarks.table_sets import LABEL, later_sets, sets

SPLITS = 3
PEERS = Perceptron, LogisticRegression, LinearSVC


def files(name: str, table: pd.DataFrame, split: int) -> tuple[Path, Path]:
    """The table as two CSV files: a quarter of the rows, drawn, is for tests."""
    folder = FOLDER / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    test = np.zeros(len(table), dtype=bool)
    test[np.random.default_rng(split).permutation(len(table))[: len(table) // 4]] = True
    paths = folder / f"{name}-{split}.csv", folder / f"{name}-{split}-test.csv"
    for path, rows in zip(paths, (~test, test), strict=True):
        table[rows].to_csv(path, index=False)
    return paths


def linsep(*words: str) -> Any:
    """What a command prints as JSON."""
    command = [sys.executable, "-m", "linsep", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return json.loads(done.stdout)


def described(train: Path, test: Path) -> float:
    """Test accuracy of the command that ``linsep describe`` prints."""
    words = shlex.split(linsep("describe", str(train), "--target", LABEL)["next"])[1:]
    words = [word for k, word in enumerate(words) if "--model" not in (word, words[k - 1])]
    return linsep(*words, "--test", str(test), "--no-cache")["test"]["accuracy"]


def without_options(train: Path, test: Path) -> float:
    """Test accuracy of ``linsep fit`` without options."""
    words = "fit", str(train), "--target", LABEL, "--test", str(test), "--no-cache"
    return linsep(*words)["test"]["accuracy"]


def peers(train: Path, test: Path) -> list[float]:
    """Test accuracies of classifiers of scikit-learn behind their usual preparation, and first
    the accuracy of the one which is best in five folds of the training rows.
    """
    text = make_column_selector(dtype_include=[object, "string", bool])
    prepared = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), text), remainder=StandardScaler()
    )
    rows, new = pd.read_csv(train), pd.read_csv(test)
    X, y = rows.drop(columns=LABEL), rows[LABEL]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = []
    for kind in PEERS:
        pipeline = make_pipeline(prepared, kind())
        of_folds = cross_val_score(pipeline, X, y, cv=folds).mean()
        found.append((of_folds, pipeline.fit(X, y).score(new.drop(columns=LABEL), new[LABEL])))
    return [max(found)[1], *(accuracy for _, accuracy in found)]


def rows_of(tables: dict[str, Any]) -> list[list[float]]:
    """Print a row a table, and the means of the splits."""
    every = []
    for name, make in tables.items():
        table, splits = make(), []
        for split in range(SPLITS):
            train, test = files(name, table, split)
            ours = [described(train, test), without_options(train, test)]
            splits.append([*ours, *peers(train, test)])
        every.append([mean(column) for column in zip(*splits, strict=True)])
        about = [len(table), table.shape[1] - 1, table[LABEL].nunique()]
        print(f"{name:18s} " + " ".join(f"{n:8,}" for n in about) + " " + _cells(every[-1]),
              flush=True)  # fmt: skip
    print(f"{'mean':45s} " + _cells([mean(column) for column in zip(*every, strict=True)]))
    return every


def _cells(shares: list[float]) -> str:
    return " ".join(f"{100 * share:10.2f}" for share in shares)


def main() -> None:
    """Print the tables."""
    heads = ["describe", "fit", "peer by CV", *(kind.__name__[:10] for kind in PEERS)]
    print(f"{'data':18s} {'rows':>8s} {'columns':>8s} {'classes':>8s} "
          + " ".join(f"{head:>10s}" for head in heads))  # fmt: skip
    rows_of(sets())
    print("Tables that no rule was chosen on")
    rows_of(later_sets())


if __name__ == "__main__":
    main()
