"""Raw text to an averaged perceptron or AROW in one pass, beside scikit-learn and Vowpal Wabbit.

A CSV file of posts of 20 newsgroups, repeated and shuffled, is read, cut into words, hashed and
learned: is a post about computers? Vowpal Wabbit reads the same words in its own format, which is
written before the clock starts. Accuracy is on the posts held out.
"""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.accuracy import SHARED
from benchmarks.data import FOLDER
from benchmarks.harness import Race, Side
from benchmarks.newsgroups import documents
from linsep import AROW, PassiveAggressive, Perceptron, Text, open_source

MEGABYTES = 500
WORDS = re.compile(r"\w\w+")
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
    learned, held_out = (([t for _, t in part], np.array([y for y, _ in part])) for part in parts)
    return learned, held_out


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


def posts() -> Path:
    """A folder with posts.csv, and posts.vw with the same words."""
    folder = FOLDER / f"posts-{MEGABYTES}"
    if not folder.exists():
        temporary = FOLDER / f"posts-{MEGABYTES}.tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.rename(folder)
    return folder


def write(folder: Path) -> None:
    """Write both files, of :data:`MEGABYTES`."""
    texts, groups = documents("train")
    bags = [bag(text) for text in texts]
    rng, size = np.random.default_rng(0), 0
    with (
        (folder / "posts.csv").open("w", newline="", encoding="utf-8") as plain,
        (folder / "posts.vw").open("w", encoding="utf-8") as theirs,
    ):
        out = csv.writer(plain)
        out.writerow(["computers", "post"])
        while size < 1e6 * MEGABYTES:
            for k in rng.permutation(len(texts)).tolist():
                about = str(groups[k]).startswith("comp.")
                out.writerow(["yes" if about else "no", texts[k]])
                theirs.write(f"{1 if about else -1} | {bags[k]}\n")
                size += len(texts[k].encode())
                if size >= 1e6 * MEGABYTES:
                    break


def bag(text: str) -> str:
    """The words of a text, with blanks between them."""
    return " ".join(WORDS.findall(text.lower()))


class Linsep:
    """A source, and a learner that reads it once."""

    def __init__(self, learner: Any):
        self.learner = learner

    def __call__(self) -> None:
        self.source = open_source(posts() / "posts.csv", target="computers", text="post")
        self.model = self.learner.fit(self.source)

    def predictions(self, texts: list[str]) -> Any:
        """Whether each text is said to be about computers."""
        return self.model.predict(pa.table({"post": texts})) == "yes"


class ScikitLearn:
    """HashingVectorizer and SGDClassifier, on 5,000 posts at a time."""

    def __call__(self) -> None:
        import pandas as pd
        from sklearn.feature_extraction.text import HashingVectorizer
        from sklearn.linear_model import SGDClassifier

        self.words = HashingVectorizer(n_features=1 << 18)
        self.model = SGDClassifier(
            loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True
        )
        for part in pd.read_csv(posts() / "posts.csv", chunksize=5000, keep_default_na=False):
            rows = self.words.transform(part["post"])
            self.model.partial_fit(rows, part["computers"], classes=["no", "yes"])

    def predictions(self, texts: list[str]) -> Any:
        """Whether each text is said to be about computers."""
        return self.model.predict(self.words.transform(texts)) == "yes"


class VowpalWabbit:
    """Its hinge loss in as many columns."""

    def __call__(self) -> None:
        from vowpalwabbit import Workspace

        folder = posts()
        how = "-b 18 --loss_function hinge --binary --quiet"
        Workspace(f"-d {folder / 'posts.vw'} -f {folder / 'posts.model'} {how}").finish()

    def predictions(self, texts: list[str]) -> Any:
        """Whether each text is said to be about computers."""
        from vowpalwabbit import Workspace

        learned = Workspace(f"-i {posts() / 'posts.model'} -t --quiet")
        found = np.array([learned.predict(f"| {bag(text)}") for text in texts])
        learned.finish()
        return found > 0


def race(
    name: str, theirs: Any, goal: float, learner: Any = None, kind: str = "an averaged perceptron"
) -> Race:
    """Raw text to a model."""
    ours = Linsep(Perceptron(keep="average", max_iter=1) if learner is None else learner)

    def accuracies() -> tuple[float, float]:
        texts, groups = documents("test")
        about = np.char.startswith(groups, "comp.")
        found = [float(np.mean(side.predictions(texts) == about)) for side in (ours, theirs)]
        return found[0], found[1]

    posts()
    return Race(
        f"text: {MEGABYTES} MB of CSV to {kind}, one pass", Side("linsep", ours),
        Side(name, theirs), goal, 3, accuracies,
    )  # fmt: skip


def races() -> dict[str, Callable[[], Race]]:
    """The races of this file by their short names."""
    vw = "Vowpal Wabbit, its own format"
    found: dict[str, Callable[[], Race]] = {
        "text": lambda: race("scikit-learn HashingVectorizer + SGD", ScikitLearn(), 15),
        "text-vw": lambda: race(vw, VowpalWabbit(), 3),
        "text-vw-arow": lambda: race(vw, VowpalWabbit(), 1, AROW(max_iter=1), "AROW"),
    }
    return found if SHARED.is_dir() else {}
