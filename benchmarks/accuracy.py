"""Accuracy on real data beside scikit-learn's Perceptron with the same number of passes.

A last perceptron depends on its last few mistakes, so single runs scatter widely: the table shows
the mean over seeds, and the smallest and largest.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron as TheirPerceptron

from linsep import Perceptron

SHARED = Path(__file__).parents[2] / "shared" / "data"
SEEDS = range(10)


def svmlight(name: str, n_features: int) -> tuple[Any, np.ndarray]:
    """One file of the shared data, with the 32-bit indices that scikit-learn wants."""
    X, y = load_svmlight_file(str(SHARED / "libsvm" / name), n_features=n_features)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def digits(part: str) -> tuple[np.ndarray, np.ndarray]:
    """MNIST images as float32 in [0, 1]."""
    folder = SHARED / "mnist"
    with gzip.open(folder / f"{part}-images.idx3-ubyte.gz") as images:
        X = np.frombuffer(images.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / f"{part}-labels.idx1-ubyte.gz") as labels:
        y = np.frombuffer(labels.read(), np.uint8, offset=8)
    return X.astype(np.float32) / np.float32(255), y.astype(np.int64)


def tasks() -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Name, rows to learn and rows to test."""
    yield "a9a", *svmlight("a9a.gz", 123), *svmlight("a9a.t.gz", 123)
    X, y = svmlight("w8a.gz", 300)
    test = np.arange(len(y)) % 5 == 0
    yield "w8a (every fifth row held out)", X[~test], y[~test], X[test], y[test]
    yield "ijcnn1", *svmlight("ijcnn1.bz2", 22), *svmlight("ijcnn1.t.bz2", 22)
    yield "MNIST", *digits("train"), *digits("t10k")


def main() -> None:
    """Print the table."""
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return
    print(f"{'data':32s} {'passes':>6s}  {'linsep':28s} {'scikit-learn':28s}")
    for name, X, y, X_test, y_test in tasks():
        for passes in (1, 10):
            few = SEEDS if name != "MNIST" else range(3)
            ours = [
                Perceptron(max_iter=passes, random_state=s).fit(X, y).score(X_test, y_test)
                for s in few
            ]
            theirs = [
                TheirPerceptron(max_iter=passes, tol=None, random_state=s)
                .fit(X, y)
                .score(X_test, y_test)
                for s in few
            ]
            sides = (f"{mean(a):.4f} ({min(a):.4f} to {max(a):.4f})" for a in (ours, theirs))
            print(f"{name:32s} {passes:6d}  " + " ".join(f"{side:28s}" for side in sides))


if __name__ == "__main__":
    main()
