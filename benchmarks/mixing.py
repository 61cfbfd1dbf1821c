"""Parameter mixing against one machine: test accuracy by passes and number of shards.

``python -m benchmarks mixing`` prints a table for MNIST, a9a and 20 newsgroups (the 10,000 most
frequent words, weighted by tf-idf) and draws docs/mixing.svg. Rows are shuffled and cut
into equal shards; weights are averaged perceptrons'. Beside the mixture after every pass stand
models that each learnt one shard alone, averaged once at the end.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.accuracy import digits, svmlight
from benchmarks.newsgroups import documents
from linsep import Perceptron
from linsep.batches import Batch
from linsep.learners.mixing import Mixed, Setting, learn_here, mix, setting_of
from linsep.learners.state import State

SHARDS = (1, 4, 16, 64, 1000)
PASSES = 10
SHOWN = (1, 2, 5, 10)
PICTURE = Path(__file__).parents[1] / "docs" / "mixing.svg"


class Data(NamedTuple):
    """Rows to learn and rows to test."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def _sets() -> Iterator[Data]:
    yield Data("MNIST", *digits("train"), *digits("t10k"))
    yield Data("a9a", *svmlight("a9a.gz", 123), *svmlight("a9a.t.gz", 123))
    texts, y = documents("train")
    test, y_test = documents("test")
    words = TfidfVectorizer(max_features=10_000, sublinear_tf=True)
    yield Data("20 newsgroups", words.fit_transform(texts), y, words.transform(test), y_test)


def _setting(data: Data) -> tuple[Setting, State]:
    classes, codes = np.unique(data.y, return_inverse=True)
    model = Perceptron(keep="average", max_iter=PASSES)
    totals = np.bincount(codes).astype(float)
    setting = setting_of(model, classes, totals, data.X.shape[1], "uniform")
    return setting, State("native", len(classes), data.X.shape[1], True)


def _cut(setting: Setting, data: Data, shards: int) -> list[Batch]:
    order = np.random.default_rng(0).permutation(len(data.y))
    parts = np.array_split(order, shards)
    return [setting.coded(Batch(data.X[rows], data.y[rows])) for rows in parts]


def _accuracy(setting: Setting, state: State, weights: np.ndarray, data: Data) -> float:
    coef, intercept = state.split(weights)
    scores = data.X_test @ coef.T + intercept
    codes = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return float(np.mean(setting.classes[codes] == data.y_test))


def _mixed(setting: Setting, state: State, shards: list[Batch], data: Data) -> list[float]:
    """Accuracy of the mixture after each pass."""
    learn, found = learn_here(setting, shards), []
    mixed = Mixed(np.zeros_like(state.W), np.zeros_like(state.W))
    for number in range(PASSES):
        mixed = mix(mixed, learn(mixed, number), number)
        assert mixed.average is not None
        found.append(_accuracy(setting, state, mixed.average, data))
    return found


def _alone(setting: Setting, state: State, shards: list[Batch], data: Data) -> list[float]:
    """Accuracy of the mean of models that learnt one shard each, after so many passes."""
    totals = np.zeros((PASSES, *state.W.shape))
    for rows in shards:
        learn = learn_here(setting, [rows])
        mixed = Mixed(np.zeros_like(state.W), np.zeros_like(state.W))
        for number in range(PASSES):
            mixed = mix(mixed, learn(mixed, number), number)
            assert mixed.average is not None
            totals[number] += mixed.average
    return [_accuracy(setting, state, total, data) for total in totals]


def main() -> list[dict[str, Any]]:
    """Print the table, draw the picture, and return the rows."""
    rows = []
    for data in _sets():
        setting, state = _setting(data)
        for count in SHARDS:
            shards = _cut(setting, data, count)
            for how, run in (("mixed", _mixed), ("once", _alone)):
                accuracy = run(setting, state, shards, data)
                rows.append({"name": data.name, "shards": count, "how": how, "accuracy": accuracy})
                shown = "  ".join(f"{100 * accuracy[p - 1]:6.2f}" for p in SHOWN)
                print(f"{data.name:14}{count:6}  {how:6}{shown}", flush=True)
    draw(rows)
    return rows


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw accuracy over passes, a panel for each data set."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["name"] for row in rows))
    figure = Figure(figsize=(10.5, 3.6), layout="constrained")
    colours = ("#000000", "#0072b2", "#009e73", "#e69f00", "#d55e00")
    panels = figure.subplots(1, len(names))
    for axes, name in zip(panels, names, strict=True):
        for row in (row for row in rows if row["name"] == name):
            alone = row["how"] == "once"
            if alone and row["shards"] == 1:
                continue
            axes.plot(
                range(1, PASSES + 1), 100 * np.array(row["accuracy"]),
                "--" if alone else "-", color=colours[SHARDS.index(row["shards"])],
                linewidth=1.2 if alone else 1.8,
                label=None if alone else f"{row['shards']:,}",
            )  # fmt: skip
        axes.set(title=name, xlabel="passes", xscale="log")
        axes.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("test rows right, %")
    panels[0].plot([], [], "--", color="grey", label="averaged once")
    figure.legend(
        *panels[0].get_legend_handles_labels(), title="shards", loc="outside right center",
        frameon=False,
    )  # fmt: skip
    figure.savefig(PICTURE, metadata={"Date": None})
