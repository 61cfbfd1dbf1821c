"""Parameter mixing against one machine: test accuracy by passes and number of shards.

``python -m benchmarks mixing`` prints a table for MNIST, a9a and 20 newsgroups (the 10,000 most
frequent words, weighted by tf-idf) and draws docs/mixing.svg. Rows are shuffled and cut
into equal shards; weights are averaged perceptrons'. Beside the mixture after every pass stand
models that each learned one shard alone, averaged once at the end. Another table has other learners
on the newsgroups, hashed into 2^18 columns.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from benchmarks.accuracy import digits, svmlight
from benchmarks.newsgroups import documents
from linsep import AROW, SCW, OnlineLogistic, Perceptron
from linsep.batches import Batch
from linsep.lanes import Tree
from linsep.learners.keeping import keeping_of
from linsep.learners.mixing import LearnAll, Setting, added_sums, arrays_of, mix, setting_of
from linsep.learners.passes import Run
from linsep.learners.state import State

SHARDS = (1, 4, 16, 64, 1000)
PASSES = 10
SHOWN = (1, 2, 5, 10)
#: of the other learners
FEW_SHARDS, FEW_PASSES = (1, 4, 8, 16), 5
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


def _setting(data: Data, model: Any) -> Setting:
    classes, codes = np.unique(data.y, return_inverse=True)
    totals = np.bincount(codes).astype(float)
    return setting_of(model, classes, totals, data.X.shape[1], "uniform")


def _run(setting: Setting) -> Run:
    model = setting.estimator
    learner = model.learner()
    state = model.new_state(learner, setting.classes.size, setting.n_features)
    learner.start(state, None, None)
    return Run(state, learner, keeping_of(model))


def _cut(setting: Setting, data: Data, shards: int) -> list[Batch]:
    order = np.random.default_rng(0).permutation(len(data.y))
    parts = np.array_split(order, shards)
    return [setting.coded(Batch(data.X[rows], data.y[rows])) for rows in parts]


def _learning(setting: Setting, shards: list[Batch]) -> LearnAll:
    """Return a function that trains all shards in this process."""

    def learn(start: dict[str, np.ndarray], number: int) -> Any:
        tree = Tree(lambda a, b: added_sums([a, b]))  # which holds few parts at a time
        for k, rows in enumerate(shards):
            tree.push(setting.learn(k, rows, start, number))
        return tree.total()

    return learn


def _accuracy(setting: Setting, state: State, weights: np.ndarray, data: Data) -> float:
    coef, intercept = state.split(weights)
    scores = data.X_test @ coef.T + intercept
    codes = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return float(np.mean(setting.classes[codes] == data.y_test))


def _mixed(setting: Setting, shards: list[Batch], data: Data, passes: int = PASSES) -> list[float]:
    """Accuracy of the mixture after each pass."""
    learn, run, found = _learning(setting, shards), _run(setting), []
    mixed = arrays_of(run)
    for number in range(passes):
        mixed = mix(run, mixed, learn(mixed, number), number)
        found.append(_accuracy(setting, run.state, mixed["average"], data))
    return found


def _alone(setting: Setting, shards: list[Batch], data: Data) -> list[float]:
    """Accuracy of the mean of models that learned one shard each, after so many passes."""
    run = _run(setting)
    totals = np.zeros((PASSES, *run.state.W.shape))
    for rows in shards:
        learn, mixed = _learning(setting, [rows]), arrays_of(run)
        for number in range(PASSES):
            mixed = mix(run, mixed, learn(mixed, number), number)
            totals[number] += mixed["average"]
    return [_accuracy(setting, run.state, total, data) for total in totals]


def others() -> None:
    """Print the accuracy of other learners by shards and passes, on hashed words."""
    words = HashingVectorizer(n_features=1 << 18)
    (texts, y), (test, y_test) = documents("train"), documents("test")
    data = Data("20 newsgroups", words.transform(texts), y, words.transform(test), y_test)
    for kind in (AROW, SCW, OnlineLogistic, Perceptron):
        setting = _setting(data, kind(keep="average", max_iter=FEW_PASSES))
        for count in FEW_SHARDS:
            found = _mixed(setting, _cut(setting, data, count), data, FEW_PASSES)
            shown = "  ".join(f"{100 * accuracy:6.2f}" for accuracy in found)
            print(f"{kind.__name__:14}{count:6}  {shown}", flush=True)


def main() -> list[dict[str, Any]]:
    """Print the table, draw the picture, and return the rows."""
    rows = []
    for data in _sets():
        setting = _setting(data, Perceptron(keep="average", max_iter=PASSES))
        for count in SHARDS:
            shards = _cut(setting, data, count)
            for how, learn in (("mixed", _mixed), ("once", _alone)):
                accuracy = learn(setting, shards, data)
                rows.append({"name": data.name, "shards": count, "how": how, "accuracy": accuracy})
                shown = "  ".join(f"{100 * accuracy[p - 1]:6.2f}" for p in SHOWN)
                print(f"{data.name:14}{count:6}  {how:6}{shown}", flush=True)
    draw(rows)
    others()
    return rows


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw accuracy over passes, a panel for each data set."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["name"] for row in rows))
    figure = Figure(figsize=(10.5, 3.6), layout="constrained")
    colors = ("#000000", "#0072b2", "#009e73", "#e69f00", "#d55e00")
    panels = figure.subplots(1, len(names))
    for axes, name in zip(panels, names, strict=True):
        for row in (row for row in rows if row["name"] == name):
            alone = row["how"] == "once"
            if alone and row["shards"] == 1:
                continue
            axes.plot(
                range(1, PASSES + 1), 100 * np.array(row["accuracy"]),
                "--" if alone else "-", color=colors[SHARDS.index(row["shards"])],
                linewidth=1.2 if alone else 1.8,
                label=None if alone else f"{row['shards']:,}",
            )  # fmt: skip
        axes.set(title=name, xlabel="passes", xscale="log")
        axes.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("test rows right, %")
    panels[0].plot([], [], "--", color="gray", label="averaged once")
    figure.legend(
        *panels[0].get_legend_handles_labels(), title="shards", loc="outside right center",
        frameon=False,
    )  # fmt: skip
    figure.savefig(PICTURE, metadata={"Date": None})
