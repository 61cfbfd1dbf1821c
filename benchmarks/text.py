"""Raw text to an averaged perceptron in one pass, beside scikit-learn and Vowpal Wabbit.

A CSV file of posts of 20 newsgroups, repeated and shuffled, is read, cut into words, hashed and
learnt: is a post about computers? The megabytes are those of ``LINSEP_TEXT_MB``, by default 60.
Vowpal Wabbit reads the same words in its own format, which is written before the clock starts.
"""

import csv
import os
import re
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.accuracy import SHARED
from benchmarks.newsgroups import documents
from linsep import PassiveAggressive, Perceptron, Text, open_source

ROUNDS = 3
CHOICES: dict[str, dict[str, Any]] = {
    "words, hashed, l2 norm (the default)": {},
    "`--norm none`": {"norm": None},
    "`--binary`": {"binary": True},
    "`--sublinear`": {"sublinear_tf": True},
    "`--tf-idf`": {"use_idf": True},
    "`--sublinear --tf-idf`": {"sublinear_tf": True, "use_idf": True},
    "`--keep-case`": {"lowercase": False},
    "`--ngrams 1-2`": {"ngram_range": (1, 2)},
    "`--ngrams 1-2 --sublinear --tf-idf --text-bits 20`": {
        "ngram_range": (1, 2), "sublinear_tf": True, "use_idf": True, "n_features": 1 << 20,
    },
    "`--analyzer char_wb --ngrams 2-5`": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    "`--analyzer char_wb --ngrams 2-5 --sublinear --text-bits 20`": {
        "analyzer": "char_wb", "ngram_range": (2, 5), "sublinear_tf": True, "n_features": 1 << 20,
    },
    "`--vocabulary`": {"vocabulary": True},
    "`--vocabulary --min-df 2`": {"vocabulary": True, "min_df": 2},
}  # fmt: skip


def messages() -> tuple[Any, Any]:
    """Messages to learn from and every fifth, held out, each as texts and labels."""
    import gzip

    with gzip.open(SHARED / "text" / "sms_spam.tsv.gz", "rt") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    parts = ([row for k, row in enumerate(rows) if k % 5], rows[::5])
    learnt, held_out = (([t for _, t in part], np.array([y for y, _ in part])) for part in parts)
    return learnt, held_out


def choices() -> None:
    """Print what each choice of settings does to accuracy on held-out texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    if not SHARED.is_dir():
        print("skipped: no shared data")
        return
    sets = [messages(), (documents("train"), documents("test"))]
    print(
        "| choice | messages, perceptron | messages, pa | newsgroups, perceptron | newsgroups, pa |"
    )
    for name, how in CHOICES.items():
        cells = []
        for (texts, y), (test, y_test) in sets:
            text = Text(**how)
            X, X_test = text.fit_transform(texts), text.transform(test)
            scheme = "native" if len(set(y)) == 2 else "ovr"
            for model in (
                Perceptron(keep="average", max_iter=10),
                PassiveAggressive(C=0.3, keep="average", max_iter=10, multiclass=scheme),
            ):
                cells.append(f"{100 * model.fit(X, y).score(X_test, y_test):.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    theirs = []
    for (texts, y), (test, y_test) in sets:
        words = TfidfVectorizer().fit(texts)
        machine = LinearSVC().fit(words.transform(texts), y)
        theirs.append(f"{100 * machine.score(words.transform(test), y_test):.2f}")
    print(f"| LinearSVC of scikit-learn on TfidfVectorizer's words | {' | | '.join(theirs)} | |")


def write(folder: Path, megabytes: int) -> int:
    """Write posts.csv, and posts.vw with the same words; return the number of posts."""
    texts, groups = documents("train")
    words = re.compile(r"\w\w+")
    bags = [" ".join(words.findall(text.lower())) for text in texts]
    rng, size, rows = np.random.default_rng(0), 0, 0
    with (
        (folder / "posts.csv").open("w", newline="", encoding="utf-8") as plain,
        (folder / "posts.vw").open("w", encoding="utf-8") as theirs,
    ):
        out = csv.writer(plain)
        out.writerow(["computers", "post"])
        while size < megabytes << 20:
            for k in rng.permutation(len(texts)).tolist():
                about = str(groups[k]).startswith("comp.")
                out.writerow(["yes" if about else "no", texts[k]])
                theirs.write(f"{1 if about else -1} | {bags[k]}\n")
                size, rows = size + len(texts[k]), rows + 1
                if size >= megabytes << 20:
                    break
    return rows


def ours(folder: Path) -> float:
    source = open_source(folder / "posts.csv", target="computers", text="post")
    model = Perceptron(keep="average", max_iter=1).fit(source)
    return float(model.n_iter_)


def scikit_learn(folder: Path) -> float:
    import pandas as pd
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    words = HashingVectorizer(n_features=1 << 18)
    model = SGDClassifier(
        loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True
    )
    for part in pd.read_csv(folder / "posts.csv", chunksize=5000, keep_default_na=False):
        model.partial_fit(words.transform(part["post"]), part["computers"], classes=["no", "yes"])
    return float(model.t_)


def vowpal_wabbit(folder: Path) -> float:
    from vowpalwabbit import Workspace

    how = "-b 18 --loss_function hinge --binary --quiet"
    learner = Workspace(f"-d {folder / 'posts.vw'} -f {folder / 'posts.model'} {how}")
    rows = float(learner.get_weighted_examples())
    learner.finish()
    return rows


def main() -> None:
    """Print seconds and megabytes a second, the sides in turn, and the ratios of medians."""
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return
    sides: dict[str, Callable[[Path], float]] = {"linsep": ours, "scikit-learn": scikit_learn}
    try:
        import vowpalwabbit  # noqa: F401
    except ImportError:
        print("Vowpal Wabbit is not installed")
    else:
        sides["Vowpal Wabbit, its own format"] = vowpal_wabbit
    megabytes = int(os.environ.get("LINSEP_TEXT_MB", "60"))
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = write(folder, 1)
        ours(folder)  # compiles
        rows = write(folder, megabytes)
        for _ in range(ROUNDS):
            for side, run in sides.items():
                started = perf_counter()
                run(folder)
                seconds[side].append(perf_counter() - started)
        size = (folder / "posts.csv").stat().st_size / 1e6
    medians = {side: statistics.median(times) for side, times in seconds.items()}
    print(f"{rows:,} posts, {size:.0f} MB of CSV, one pass")
    print(f"{'':32s} {'seconds':>8s} {'MB/s':>6s} {'linsep is faster by':>20s}")
    for side, median in medians.items():
        ratio = f"{median / medians['linsep']:.1f}"
        print(f"{side:32s} {median:8.2f} {size / median:6.1f} {ratio:>20s}")
