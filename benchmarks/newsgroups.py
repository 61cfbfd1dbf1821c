"""20 newsgroups: accuracy and time of the averaged perceptron and of AROW, and of their peers."""

import gzip
import json
from collections.abc import Callable
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import Perceptron as TheirPerceptron, SGDClassifier
from sklearn.svm import LinearSVC

from benchmarks.accuracy import SHARED
from linsep import AROW, PassiveAggressive, Perceptron

SEEDS = range(3)


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


def raced(title: str, sides: dict[str, Any], data: tuple) -> None:
    """Print the accuracy and the seconds of each side."""
    X, y, X_test, y_test = data
    print(f"{title:48s} {'accuracy':>8s} {'seconds':>8s}  passes")
    for name, model in sides.items():
        model.fit(X[::200], y[::200])  # compile
        started = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - started
        print(f"{name:48s} {model.score(X_test, y_test):8.4f} {seconds:8.2f}  {model.n_iter_}")


def one_pass() -> dict[str, Any]:
    """AROW in all ways in one pass, its rivals, and LinearSVC."""
    ways = [(scheme, keep) for scheme in ("native", "ovr") for keep in ("last", "average")]
    sides: dict[str, Any] = {
        f"linsep AROW, {scheme}, {keep}": AROW(max_iter=1, multiclass=scheme, keep=keep)
        for scheme, keep in ways
    }
    return sides | {
        "linsep AROW, r 0.1, ovr, last": AROW(r=0.1, max_iter=1, multiclass="ovr"),
        "linsep Perceptron, native, average": Perceptron(keep="average", max_iter=1),
        "linsep PassiveAggressive, ovr, average": PassiveAggressive(
            keep="average", multiclass="ovr", max_iter=1
        ),
        "scikit-learn LinearSVC": LinearSVC(),
    }


def main() -> None:
    """Print the tables."""
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
    raced("20 newsgroups, 262,144 hashed words", sides, (X, y, X_test, y_test))
    in_rivers(X, y, X_test, y_test)
    arow()


def arow() -> None:
    """Print the tables of one pass, with the defaults of scikit-learn's vectorizers; the posts to
    learn, which are sorted by their groups, in three random orders.
    """
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return
    (texts, y), (test_texts, y_test) = documents("train"), documents("test")
    orders = [np.random.default_rng(seed).permutation(len(y)) for seed in SEEDS]
    for title, words in {
        "one pass, HashingVectorizer(n_features=2**18)": HashingVectorizer(n_features=1 << 18),
        "one pass, TfidfVectorizer(sublinear_tf=True)": TfidfVectorizer(sublinear_tf=True),
    }.items():
        X, X_test = words.fit_transform(texts), words.transform(test_texts)
        print(f"{title:48s} accuracy in {len(orders)} orders     seconds")
        for name, model in one_pass().items():
            started, found = perf_counter(), []
            for order in orders:
                found.append(model.fit(X[order], y[order]).score(X_test, y_test))
            seconds = (perf_counter() - started) / len(orders)
            span = f"{mean(found):.4f} ({min(found):.4f} to {max(found):.4f})"
            print(f"{name:48s} {span} {seconds:8.2f}", flush=True)


def in_rivers(*data: Any) -> None:
    """Print what river reaches in one pass, where it is installed."""
    try:
        from river import linear_model
    except ImportError:
        print("river is not installed")
        return
    for name, make in (
        ("river Perceptron, one pass", linear_model.Perceptron),
        ("river PAClassifier, one pass", linear_model.PAClassifier),
    ):
        accuracy, seconds = river(make, data)
        print(f"{name:48s} {accuracy:8.4f} {seconds:8.2f}  1")
