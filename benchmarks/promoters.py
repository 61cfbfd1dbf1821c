"""UCI promoters: leave-one-out errors of string kernels, and of letters by their places.

53 promoters and 53 other stretches of E. coli, 57 letters each. The others were all cut from one
fragment of 1,500 letters, and most overlap: a string that is left out stands to a large part in
other strings. So every error is counted a second time with all strings left out, too, that share
12 letters in a row with it.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from sklearn.svm import SVC

from benchmarks.accuracy import SHARED
from linsep.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Spectrum

SHARED_LETTERS = 12
#: Towell, Shavlik and Noordewier (1990), errors of 106
PUBLISHED = {"KBANN": 4, "neural network": 8, "O'Neill": 12, "3 nearest": 13, "ID3": 19}
ON_STRINGS: list[Kernel] = [Spectrum(p) for p in range(2, 8)]
ON_PLACES: list[Kernel] = [Linear(), *(Polynomial(p, 1 / 57) for p in (2, 4, 8)), RBF(0.02)]


def promoters() -> tuple[list[str], np.ndarray]:
    """The strings and whether each is a promoter."""
    text = (SHARED / "strings" / "promoters.data").read_text()
    rows = [line.split(",") for line in text.splitlines() if line]
    return [row[-1].strip() for row in rows], np.array([row[0] == "+" for row in rows])


def by_places(X: Sequence[str]) -> np.ndarray:
    """A feature for every letter in every place."""
    return np.array([[letter == one for letter in x for one in "acgt"] for x in X], float)


def wrong(K: np.ndarray, y: np.ndarray, apart: np.ndarray, rows: Iterable[int]) -> list[bool]:
    """Which rows a machine gets wrong that learned from the rows that are ``apart`` from each."""
    found = []
    for i in rows:
        learned = np.flatnonzero(apart[i])
        model = SVC(kernel="precomputed", C=10).fit(K[np.ix_(learned, learned)], y[learned])
        found.append(bool(model.predict(K[i : i + 1, learned])[0] != y[i]))
    return found


def nested(grams: list[np.ndarray], y: np.ndarray, apart: np.ndarray) -> int:
    """Errors where each row is predicted by the kernel that is best on the rows apart from it."""
    errors = 0
    for i in range(len(y)):
        rows = np.flatnonzero(apart[i])
        within = apart & apart[i]
        counts = [sum(wrong(K, y, within, rows)) for K in grams]
        errors += wrong(grams[int(np.argmin(counts))], y, apart, [i])[0]
    return errors


def main() -> None:
    """Print the errors of every kernel, and of a kernel chosen on positions without the row."""
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return
    X, y = promoters()
    alone = ~np.eye(len(y), dtype=bool)
    apart = Spectrum(SHARED_LETTERS)(X) == 0
    title = f"UCI promoters, errors of {len(y)}"
    print(f"{title:62s} {'one left out':>12s} {'overlaps too':>12s}")
    for name, errors in PUBLISHED.items():
        print(f"{name + ' (Towell et al. 1990)':62s} {errors:12d} {'-':>12s}")
    for kernels, rows in ((ON_STRINGS, X), (ON_PLACES, by_places(X))):
        grams = [Normalized(kernel)(rows) for kernel in kernels]
        for kernel, K in zip(kernels, grams, strict=True):
            errors = [sum(wrong(K, y, kept, range(len(y)))) for kept in (alone, apart)]
            print(f"{kernel!r:62s} {errors[0]:12d} {errors[1]:12d}", flush=True)
    chosen = [nested(grams, y, kept) for kept in (alone, apart)]
    print(f"{'on places, chosen without what is left out':62s} {chosen[0]:12d} {chosen[1]:12d}")
