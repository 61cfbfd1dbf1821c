"""A Gram matrix of strings: the p-spectrum kernel against dictionaries of plain Python."""

from collections import Counter
from collections.abc import Callable

import numpy as np

from benchmarks.harness import Race
from linsep.kernels import Spectrum

STRINGS, LENGTH, P = 500, 400, 5


def by_dictionaries(X: list[str]) -> np.ndarray:
    """The same Gram matrix, a dictionary of counts a string, each pair looked at once."""
    counts = [Counter(x[i : i + P] for i in range(len(x) - P + 1)) for x in X]
    K = np.empty((len(X), len(X)))
    for i, a in enumerate(counts):
        for j, b in enumerate(counts[: i + 1]):
            K[i, j] = K[j, i] = sum(times * b[u] for u, times in a.items() if u in b)
    return K


def race() -> Race:
    """Our Gram matrix against theirs, after a look that both are the same."""
    codes = np.random.default_rng(0).integers(0, 4, (STRINGS, LENGTH))
    X, kernel = ["".join("acgt"[k] for k in row) for row in codes], Spectrum(P)
    if not np.array_equal(kernel(X[:20]), by_dictionaries(X[:20])):
        raise AssertionError("the two sides differ")
    work = f"{P}-spectrum Gram matrix, {STRINGS} strings of {LENGTH} letters"
    return Race(work, "dictionaries", lambda: kernel(X).shape, lambda: by_dictionaries(X).shape)


def races() -> dict[str, Callable[[], Race]]:
    """The race by its short name."""
    return {"strings-500": race}
