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

from benchmarks.data import FOLDER, documents
from benchmarks.harness import Race
from linsep import AROW, Perceptron, open_source

MEGABYTES = 500
WORDS = re.compile(r"\w\w+")


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


def race(against: str, theirs: Any, learner: Any, kind: str = "an averaged perceptron") -> Race:
    """Raw text to a model."""
    ours = Linsep(learner)

    def accuracies() -> tuple[float, float]:
        texts, groups = documents("test")
        about = np.char.startswith(groups, "comp.")
        found = [float(np.mean(side.predictions(texts) == about)) for side in (ours, theirs)]
        return found[0], found[1]

    posts()
    work = f"text: {MEGABYTES} MB of CSV to {kind}, one pass"
    return Race(work, against, ours, theirs, 3, accuracies)


def races() -> dict[str, Callable[[], Race]]:
    """The races of this file by their short names."""
    vw, average = "Vowpal Wabbit, its own format", Perceptron(keep="average", max_iter=1)
    sklearn = "scikit-learn HashingVectorizer + SGD"
    return {
        "text": lambda: race(sklearn, ScikitLearn(), average),
        "text-vw": lambda: race(vw, VowpalWabbit(), average),
        "text-vw-arow": lambda: race(vw, VowpalWabbit(), AROW(max_iter=1), "AROW"),
    }
