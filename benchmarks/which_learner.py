"""Which learner when: test accuracy of every learner, with its default parameters, on ten data
sets in random order, averaged over one pass and over ten, as ``linsep fit`` does; and which it
takes. Of online logistic regression there are the last weights, too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy import SHARED, digits, svmlight
from benchmarks.data import sparse
from benchmarks.newsgroups import documents
from benchmarks.text import messages
from linsep import Text
from linsep.catalog import LINEAR
from linsep.errors import LinsepError
from linsep.fitting import FIRST_ROWS, like_texts, make_estimator
from linsep.sources import ArraySource

Rows = tuple[Any, Any, Any, Any]


def words(learned: Any, test: Any) -> Rows:
    """Texts as ``linsep fit --text`` counts their words, of both parts."""
    text = Text()
    return text.fit_transform(learned[0]), learned[1], text.transform(test[0]), test[1]


def every_fifth(X: Any, y: np.ndarray) -> Rows:
    """Every fifth row held out."""
    test = np.arange(len(y)) % 5 == 0
    return X[~test], y[~test], X[test], y[test]


def cells() -> Rows:
    """Breast cancer, scaled."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


SETS: dict[str, Callable[[], Rows]] = {
    "20 newsgroups": lambda: words(documents("train"), documents("test")),
    "SMS spam": lambda: words(*messages()),
    "Zipf's columns": lambda: every_fifth(*sparse(100_000)),
    "w8a": lambda: every_fifth(*svmlight("w8a.gz", 300)),
    "mushrooms": lambda: (
        *svmlight("agaricus.txt.train", 127), *svmlight("agaricus.txt.test", 127)
    ),
    "a9a": lambda: (*svmlight("a9a.gz", 123), *svmlight("a9a.t.gz", 123)),
    "dna": lambda: (*svmlight("dna.scale.gz", 180), *svmlight("dna.scale.t.gz", 180)),
    "ijcnn1": lambda: (*svmlight("ijcnn1.bz2", 22), *svmlight("ijcnn1.t.bz2", 22)),
    "MNIST": lambda: (*digits("train"), *digits("t10k")),
    "breast cancer": cells,
}  # fmt: skip
#: what one pass keeps, and ten
PASSES: tuple[dict[str, Any], ...] = ({"max_iter": 1}, {})


def accuracy(name: str, how: dict[str, Any], rows: Rows) -> float | None:
    """Test accuracy of a learner, None where it refuses the rows."""
    X, y, X_test, y_test = rows
    try:
        return make_estimator(name, how).fit(X, y).score(X_test, y_test)
    except (LinsepError, ValueError):
        return None


def main() -> None:
    """Print the tables."""
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return
    sides: dict[str, tuple[str, dict[str, Any]]]
    sides = {name: (name, {}) for name, kind in LINEAR.items() if not kind.positive_only}
    sides["online-logistic, last"] = "online-logistic", {"keep": "last"}
    print(f"| data | features | in a row | `fit` takes | {' | '.join(sides)} |")
    print(f"|{'---|' * (4 + len(sides))}")
    for title, load in SETS.items():
        X, y, X_test, y_test = load()
        order = np.random.default_rng(0).permutation(len(y))  # newsgroups are in order
        X, y = X[order], y[order]
        rows = X, y, X_test, y_test
        stored = (X.nnz if hasattr(X, "nnz") else np.count_nonzero(X)) / X.shape[0]
        each = [[accuracy(name, p | how, rows) for p in PASSES] for name, how in sides.values()]
        cells = [", ".join("-" if a is None else f"{100 * a:.1f}" for a in pair) for pair in each]
        source = ArraySource(X[:FIRST_ROWS]) if hasattr(X, "indices") else None
        chosen = "perceptron" if source is None or like_texts(source) is None else "arow"
        print(
            f"| {title} | {X.shape[1]:,} | {stored:.0f} | {chosen} | {' | '.join(cells)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
