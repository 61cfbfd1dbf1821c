"""20 newsgroups, hashed words: accuracy and time of the averaged perceptron and of its peers."""

import gzip
import json
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Perceptron as TheirPerceptron, SGDClassifier
from sklearn.svm import LinearSVC

from benchmarks.accuracy import SHARED
from linsep import PassiveAggressive, Perceptron


def documents(part: str) -> tuple[list[str], np.ndarray]:
    """Texts and their groups."""
    with gzip.open(SHARED / "text" / f"20news.{part}.jsonl.gz", "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [d["text"] for d in found], np.array([d["group"] for d in found])


def river(make: Callable[[], Any], data: tuple) -> tuple[float, float]:
    """One pass of river's one-vs-rest over dicts of words: accuracy and seconds."""
    from river import multiclass

    X, y, X_test, y_test = data

    def dicts(rows: Any) -> Any:
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            yield dict(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True))

    learner = multiclass.OneVsRestClassifier(make())
    words = list(dicts(X))
    started = perf_counter()
    for x, label in zip(words, y.tolist(), strict=True):
        learner.learn_one(x, label)
    seconds = perf_counter() - started
    right = sum(learner.predict_one(x) == t for x, t in zip(dicts(X_test), y_test, strict=True))
    return right / len(y_test), seconds


def main() -> None:
    """Print the table."""
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return
    words = HashingVectorizer(n_features=1 << 18, norm="l2", alternate_sign=False)
    (texts, y), (test_texts, y_test) = documents("train"), documents("test")
    X, X_test = words.transform(texts), words.transform(test_texts)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    average = {"loss": "perceptron", "penalty": None, "learning_rate": "constant", "eta0": 1.0}
    sides = {
        "linsep Perceptron, native, averaged": Perceptron(keep="average"),
        "linsep Perceptron, native, averaged, 20 passes": Perceptron(keep="average", max_iter=20),
        "linsep PassiveAggressive, ovr, averaged": PassiveAggressive(
            C=0.3, keep="average", multiclass="ovr", max_iter=50
        ),
        "scikit-learn Perceptron": TheirPerceptron(),
        "scikit-learn SGD perceptron, averaged": SGDClassifier(**average, average=True),
        "scikit-learn LinearSVC": LinearSVC(),
    }
    print(f"{'20 newsgroups, 262,144 hashed words':48s} {'accuracy':>8s} {'seconds':>8s}  passes")
    for name, model in sides.items():
        model.fit(X[::200], y[::200])  # compile
        started = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - started
        print(f"{name:48s} {model.score(X_test, y_test):8.4f} {seconds:8.2f}  {model.n_iter_}")
    try:
        from river import linear_model
    except ImportError:
        print("river is not installed")
        return
    for name, make in (
        ("river Perceptron, one pass", linear_model.Perceptron),
        ("river PAClassifier, one pass", linear_model.PAClassifier),
    ):
        accuracy, seconds = river(make, (X, y, X_test, y_test))
        print(f"{name:48s} {accuracy:8.4f} {seconds:8.2f}  1")
