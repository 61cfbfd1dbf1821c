"""Is it separable? A verdict with its proof, against one linear program over all rows.

The program is Konis' (2007), as R's detectseparation solves it: maximize the sum of ``A w`` with
``A w >= 0`` and |w| <= 1, by the same solver, HiGHS, through scipy. It answers in floats and hands
over no proof; the verdicts here are exact.
"""

import warnings
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import SVC

from benchmarks import harness
from benchmarks.accuracy import SHARED
from benchmarks.newsgroups import documents
from linsep import separation

LIMIT = 600.0
#: seconds below which the program is timed three times, too
SHORT = 20.0
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


def wide(n_rows: int, d: int, nonzeros: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Sparse normal rows, labeled by a random hyperplane without a margin."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, d, (n_rows, nonzeros), dtype=np.int32), axis=1)
    starts = np.arange(0, columns.size + 1, nonzeros)
    X = sp.csr_matrix((rng.standard_normal(columns.size), columns.ravel(), starts), (n_rows, d))
    X.sum_duplicates()
    return X, X @ rng.standard_normal(d) > 0


def one_program(X: Any, y: np.ndarray) -> tuple[str, float]:
    """What the program over all rows says, and its seconds."""
    signs = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    A = sp.csr_matrix(sp.hstack([sp.csr_matrix(X, dtype=float), np.ones((X.shape[0], 1))]))
    A = sp.csr_matrix(sp.diags(signs) @ A)
    started = perf_counter()
    result = linprog(
        -np.ravel(A.sum(axis=0)), A_ub=-A, b_ub=np.zeros(len(signs)), bounds=(-1, 1),
        method="highs", options={"time_limit": LIMIT},
    )  # fmt: skip
    seconds = perf_counter() - started
    if result.status != 0:
        return "not ended", seconds
    values = A @ result.x
    kind = "separable" if values.min() > 1e-7 else "quasi-separable"
    return kind if values.max() > 1e-7 else "overlapping", seconds


def verdict_row(work: str, X: Any, y: np.ndarray, program: bool = True) -> list[dict[str, Any]]:
    """A line of the table, and its row where both sides ended."""
    seconds = []
    for _ in range(3):
        started = perf_counter()
        verdict = separation(X, y)
        seconds.append(perf_counter() - started)
    started = perf_counter()
    assert verdict.verify(X, y)
    checked = perf_counter() - started
    ours = float(np.median(seconds))
    said, theirs = one_program(X, y) if program else ("", float("nan"))
    if program and theirs < SHORT:
        theirs = float(np.median([theirs, *(one_program(X, y)[1] for _ in range(2))]))
    ratio = f"{theirs / ours:7.1f}" if program else "      -"
    print(
        f"{work:44s} {verdict.kind:16s} {ours:8.2f} {checked:8.2f} {said:16s} {theirs:8.2f} {ratio}"
    )
    if said in ("", "not ended"):
        return []
    against = "one HiGHS program over all rows, no proof"
    row = harness.row(f"verdict with its proof, {work}", against, ours, theirs)
    return [{"name": f"separation {work}"} | row]


def margin_row(work: str, X: Any, y: np.ndarray) -> None:
    """The widest margin beside the margin of a support vector machine without slack."""
    seconds = []
    for _ in range(3):
        started = perf_counter()
        low, _ = separation(X, y, margin="max").margin
        between = perf_counter()
        with warnings.catch_warnings():  # on unscaled data it does not end
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine = SVC(kernel="linear", C=1e6, max_iter=2_000_000).fit(X, y)
        seconds.append((between - started, perf_counter() - between))
    ours, theirs = np.median(seconds, axis=0).tolist()
    w = machine.coef_.toarray() if sp.issparse(machine.coef_) else machine.coef_
    values = machine.decision_function(X) * np.where(y == machine.classes_[1], 1, -1)
    margin = values.min() / np.linalg.norm(w)
    print(f"{work:44s} {low:12.6g} {ours:8.2f} {margin:12.6g} {theirs:8.2f} {theirs / ours:7.1f}")


def newsgroup_pair(first: str, second: str) -> tuple[Any, np.ndarray]:
    """Word counts of two groups."""
    texts, groups = documents("train")
    chosen = [i for i, group in enumerate(groups) if group in {first, second}]
    X = CountVectorizer().fit_transform([texts[i] for i in chosen])
    return X.astype(np.float64), groups[chosen]


def main() -> list[dict[str, Any]]:
    """Print both tables; return the rows that have two sides."""
    rows = []
    columns = f"{'seconds':>8s} {'verify':>8s} {'one program':16s} {'seconds':>8s} {'ratio':>7s}"
    print(f"{'verdict':44s} {'linsep':16s} {columns}")
    for kind in (*NOISE, "separable"):
        rows += verdict_row(f"100,000 x 50, {kind}", *gaussian(100_000, 50, kind))
    for d in (30, 100, 300):
        rows += verdict_row(f"20,000 x {d}, overlapping", *gaussian(20_000, d, "overlapping"))
    for kind in ("overlapping", "separable"):
        verdict_row(f"1,000,000 x 100 float32, {kind}", *gaussian(1_000_000, 100, kind), False)
    verdict_row("200,000 x 50,000, 75 nonzeros a row, separable", *wide(200_000, 50_000, 75), False)
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return rows
    for file in ("a9a.gz", "w8a.gz", "ijcnn1.bz2", "agaricus.txt.train"):
        X, y = load_svmlight_file(str(SHARED / "libsvm" / file))
        rows += verdict_row(file.partition(".")[0], X, y)
    for pair in (("alt.atheism", "soc.religion.christian"), ("comp.graphics", "sci.space")):
        X, y = newsgroup_pair(*pair)
        rows += verdict_row(f"{' / '.join(pair)}, {X.shape[1]:,} words", X, y)
    print()
    peer = f"{'SVC C=1e6':>12s} {'seconds':>8s} {'ratio':>7s}"
    print(f"{'widest margin':44s} {'linsep':>12s} {'seconds':>8s} {peer}")
    margin_row("breast cancer", *load_breast_cancer(return_X_y=True))
    X, y = load_svmlight_file(str(SHARED / "libsvm" / "dna.scale.gz"))
    for a, b in ((1, 2), (1, 3), (2, 3)):
        chosen = (y == a) | (y == b)
        margin_row(f"dna, {a} against {b}", X[chosen].toarray(), y[chosen])
    X, y = load_svmlight_file(str(SHARED / "libsvm" / "agaricus.txt.train"))
    margin_row("agaricus", X.toarray(), y)
    return rows
