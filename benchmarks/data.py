"""Data that races run on: made here, the same for everybody, kept in benchmarks/data; or shared."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

FOLDER = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2] / "shared" / "data"
HELD_OUT = 20_000
FEATURES, VALUES = 47_236, 64


@cache
def dense(n_rows: int = 500_000, n_features: int = 128) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian float32 rows, labels of a linear teacher with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    teacher = rng.standard_normal(n_features)
    y = np.where(X @ teacher + 3.0 * rng.standard_normal(n_rows) > 0, 1, -1)
    return X, y


@cache
def sparse(
    n_rows: int = 400_000, n_classes: int = 2, seed: int = 0
) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows of 64 different Zipf columns of 47,236, labels of a linear teacher with noise."""
    rng = np.random.default_rng(seed)
    frequency = np.cumsum(1.0 / np.arange(1, FEATURES + 1))
    draws = rng.random((n_rows, VALUES)) * frequency[-1]
    columns = np.searchsorted(frequency, np.sort(draws, axis=1)).astype(np.int64)
    # Equal columns move up to the next free one, so that a row has 64 different ones.
    step = np.arange(VALUES)
    columns = np.maximum.accumulate(columns - step, axis=1) + step
    columns = np.minimum(columns, FEATURES - VALUES + step).astype(np.int32)
    # Frequent columns stand anywhere, as words of a dictionary do.
    columns = np.sort(np.random.default_rng(98).permutation(FEATURES).astype(np.int32)[columns])
    starts = np.arange(0, n_rows * VALUES + 1, VALUES, dtype=np.int32)
    values = rng.random(n_rows * VALUES)
    X = sp.csr_matrix((values, columns.ravel(), starts), shape=(n_rows, FEATURES))
    scores = X @ np.random.default_rng(99).standard_normal((FEATURES, n_classes))
    scores -= scores.mean(axis=0)
    scores += 0.3 * rng.standard_normal(scores.shape)
    if n_classes == 2:
        return X, np.where(scores[:, 0] > 0, 1, -1)
    return X, scores.argmax(axis=1)


def held_out(X: Any, y: np.ndarray) -> tuple:
    """Rows to learn, and the last rows to test."""
    return X[:-HELD_OUT], y[:-HELD_OUT], X[-HELD_OUT:], y[-HELD_OUT:]


def digits(part: str) -> tuple[np.ndarray, np.ndarray]:
    """MNIST images as float32 in [0, 1]."""
    folder = SHARED / "mnist"
    with gzip.open(folder / f"{part}-images.idx3-ubyte.gz") as images:
        X = np.frombuffer(images.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / f"{part}-labels.idx1-ubyte.gz") as labels:
        y = np.frombuffer(labels.read(), np.uint8, offset=8)
    return X.astype(np.float32) / np.float32(255), y.astype(np.int64)


def documents(part: str) -> tuple[list[str], np.ndarray]:
    """Posts of 20 newsgroups and their groups."""
    with gzip.open(SHARED / "text" / f"20news.{part}.jsonl.gz", "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [d["text"] for d in found], np.array([d["group"] for d in found])


def svmlight_text(megabytes: int, for_vw: bool = False) -> Path:
    """A text file of about so many megabytes: the same 100,000 rows again and again."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"rows-{megabytes}{'.vw' if for_vw else '.svm'}"
    if not path.exists():
        X, y = sparse(100_000)
        once = "".join(_lines(X, y, for_vw)).encode()
        temporary = path.with_suffix(".tmp")
        with open(temporary, "wb") as file:
            rows = max(1, round(megabytes * 1e6 / len(once)))
            for _ in range(rows):
                file.write(once)
        temporary.rename(path)
    return path


def _lines(X: sp.csr_matrix, y: np.ndarray, for_vw: bool):
    separator, shift = (" |f ", 0) if for_vw else (" ", 1)
    values = [f"{value:.4f}" for value in X.data]
    columns = [str(column + shift) for column in X.indices]
    for i in range(X.shape[0]):
        span = range(X.indptr[i], X.indptr[i + 1])
        yield f"{y[i]}{separator}" + " ".join(f"{columns[k]}:{values[k]}" for k in span) + "\n"
