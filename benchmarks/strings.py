"""Gram matrices of strings: the p-spectrum kernel against dictionaries of plain Python."""

from collections import Counter
from collections.abc import Callable
from time import perf_counter

import numpy as np

from benchmarks.harness import Race, Side
from linsep.kernels import Spectrum

LENGTH, P, SAMPLE = 400, 5, 500


def strings(n: int) -> list[str]:
    """Strings of letters of DNA, each as likely as any other."""
    letters = np.frombuffer(b"acgt", dtype=np.uint8)
    codes = np.random.default_rng(0).integers(0, 4, (n, LENGTH))
    return [bytes(row).decode() for row in letters[codes]]


def by_dictionaries(X: list[str]) -> np.ndarray:
    """The same Gram matrix, a dictionary of counts a string, each pair looked at once."""
    counts = [Counter(x[i : i + P] for i in range(len(x) - P + 1)) for x in X]
    K = np.empty((len(X), len(X)))
    for i, a in enumerate(counts):
        for j, b in enumerate(counts[: i + 1]):
            K[i, j] = K[j, i] = sum(times * b[u] for u, times in a.items() if u in b)
    return K


def sampled(X: list[str]) -> float:
    """Seconds of the dictionaries on all strings, scaled by pairs from those on the first few."""
    started = perf_counter()
    by_dictionaries(X[:SAMPLE])
    return (perf_counter() - started) * (len(X) / SAMPLE) ** 2


def race(n: int, name: str, theirs: Callable[[list[str]], object], goal: float) -> Race:
    """Our Gram matrix of n strings against theirs, after a look that both are the same."""
    X, kernel = strings(n), Spectrum(P)
    if not np.array_equal(kernel(X[:20]), by_dictionaries(X[:20])):
        raise AssertionError("the two sides differ")
    return Race(
        f"{P}-spectrum Gram matrix, {n:,} strings of {LENGTH} letters",
        Side("linsep", lambda: kernel(X).shape),
        Side(name, lambda: theirs(X)),
        goal,
        3,
        lambda: (None, None),
    )


def races() -> dict[str, Callable[[], Race]]:
    """Every race by its short name: one measured on both sides, one scaled on theirs."""
    return {
        "strings-500": lambda: race(SAMPLE, "dictionaries", by_dictionaries, 50),
        "strings": lambda: race(10_000, f"dictionaries ({SAMPLE}, scaled)", sampled, 50),
    }
