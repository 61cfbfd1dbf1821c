"""Is it separable? A verdict with its proof, against one linear program over all rows.

The program is Konis' (2007), as R's detectseparation solves it: maximize the sum of ``A w`` with
``A w >= 0`` and |w| <= 1, by the same solver, HiGHS, through scipy. It answers in floats and hands
over no proof; the verdicts here are exact.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.data import SHARED, documents
from benchmarks.harness import Race
from linsep import separation

#: standard deviation of the noise, beside scores of standard deviation 1
NOISE = {"overlapping": 0.1, "overlapping, much noise": 1.0}


def gaussian(n_rows: int, d: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows, labeled by a hyperplane: with little or much noise, or a margin of 0.01."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, d), dtype=np.float32)
    w = rng.standard_normal(d, dtype=np.float32)
    w /= np.linalg.norm(w)
    v = X @ w
    if kind in NOISE:
        return X, v + NOISE[kind] * rng.standard_normal(n_rows) > 0
    for start in range(0, n_rows, 10_000):
        part = slice(start, start + 10_000)
        X[part] += np.outer(np.sign(v[part]) * 0.01, w).astype(np.float32)
    return X, v > 0


def one_program(X: Any, y: np.ndarray) -> float:
    """Solve the program over all rows; return its seconds."""
    signs = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    A = sp.csr_matrix(sp.hstack([sp.csr_matrix(X, dtype=float), np.ones((X.shape[0], 1))]))
    A = sp.csr_matrix(sp.diags(signs) @ A)
    started = perf_counter()
    linprog(
        -np.ravel(A.sum(axis=0)), A_ub=-A, b_ub=np.zeros(len(signs)), bounds=(-1, 1), method="highs"
    )
    return perf_counter() - started


def race(work: str, make: Callable[[], tuple[Any, np.ndarray]]) -> Race:
    """A verdict, which is checked once, against the program."""
    X, y = make()

    def checked() -> tuple[None, None]:
        assert separation(X, y).verify(X, y)
        return None, None

    return Race(
        f"verdict with its proof, {work}", "linear program (HiGHS), all rows, no proof",
        lambda: separation(X, y), lambda: one_program(X, y), reached=checked,
    )  # fmt: skip


def newsgroup_pair(first: str, second: str) -> tuple[Any, np.ndarray]:
    """Word counts of two groups."""
    texts, groups = documents("train")
    chosen = [i for i, group in enumerate(groups) if group in {first, second}]
    X = CountVectorizer().fit_transform([texts[i] for i in chosen])
    return X.astype(np.float64), groups[chosen]


def races() -> dict[str, Callable[[], Race]]:
    """Every race of this file by its name."""
    made: dict[str, Callable[[], Any]] = {
        f"100,000 x 50, {kind}": partial(gaussian, 100_000, 50, kind)
        for kind in (*NOISE, "separable")
    }
    for d in (30, 100, 300):
        made[f"20,000 x {d}, overlapping"] = partial(gaussian, 20_000, d, "overlapping")
    for file in ("a9a.gz", "w8a.gz", "ijcnn1.bz2", "agaricus.txt.train"):
        path = str(SHARED / "libsvm" / file)
        made[file.partition(".")[0]] = partial(load_svmlight_file, path)
    for words, *pair in (("19,666", "alt.atheism", "soc.religion.christian"),
                         ("23,882", "comp.graphics", "sci.space")):  # fmt: skip
        made[f"{' / '.join(pair)}, {words} words"] = partial(newsgroup_pair, *pair)
    return {f"separation {work}": partial(race, work, make) for work, make in made.items()}
