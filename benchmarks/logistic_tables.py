"""Logistic regression without a penalty on mixed tables, read as ``linsep fit`` reads them, beside
scikit-learn's behind its usual preparation: held-out accuracy, and processor
seconds of the slowest fit.
"""

import sys
import warnings
from statistics import mean
from time import process_time

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import linsep
from benchmarks.table_sets import LABEL, sets

SPLITS = range(3)


def halves(table: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows to learn, and a quarter of the rows, drawn, to test."""
    test = np.zeros(len(table), dtype=bool)
    test[np.random.default_rng(seed).permutation(len(table))[: len(table) // 4]] = True
    return table[~test].reset_index(drop=True), table[test].reset_index(drop=True)


def ours(train: pd.DataFrame, test: pd.DataFrame) -> tuple[float, float, str]:
    """Accuracy, seconds, and how the fit ended."""
    started = process_time()
    model = linsep.fit(train, target=LABEL, learner="logistic")
    seconds = process_time() - started
    right = np.asarray(model.predict(test.drop(columns=LABEL))) == test[LABEL].to_numpy()
    return float(right.mean()), seconds, str(model.stop_reason_)


def theirs(train: pd.DataFrame, test: pd.DataFrame) -> tuple[float, float]:
    """Accuracy and seconds."""
    text = make_column_selector(dtype_include=[object, "string", "category"])
    prepared = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), text), remainder=StandardScaler()
    )
    pipeline = make_pipeline(prepared, Theirs(C=np.inf, max_iter=1000))
    started = process_time()
    pipeline.fit(train.drop(columns=LABEL), train[LABEL])
    seconds = process_time() - started
    return pipeline.score(test.drop(columns=LABEL), test[LABEL]), seconds


def main(names: list[str] | None = None) -> None:
    """Print the table."""
    heads = ("data", "linsep", "other", "points", "linsep s", "other s")
    print("{:18s} {:>7s} {:>7s} {:>7s} {:>9s} {:>8s}".format(*heads))
    for name, make in sets().items():
        if names and name not in names:
            continue
        table = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ends = [halves(table, seed) for seed in SPLITS]
            mine, others = [ours(*end) for end in ends], [theirs(*end) for end in ends]
        right = [100 * mean(one[0] for one in side) for side in (mine, others)]
        slowest = [max(one[1] for one in side) for side in (mine, others)]
        print(
            f"{name:18s} {right[0]:7.2f} {right[1]:7.2f} {right[0] - right[1]:+7.2f} "
            f"{slowest[0]:9.2f} {slowest[1]:8.2f}  {', '.join(sorted({x[2] for x in mine}))}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
