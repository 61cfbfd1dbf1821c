"""The experiment of Freund and Schapire (1999) on MNIST, whole: degrees 1 to 6, up to 30 passes.

Y. Freund and R. Schapire, Large margin classification using the perceptron algorithm, Machine
Learning 37 (1999): K(x, y) = (1 + <x, y>)^d, pixels in [0, 1], ten classes one against the rest,
rows in a random order that is the same in every pass.

``python -m benchmarks mnist-kernels`` prints the table and draws it; ``mnist-kernels-svc`` races
scikit-learn's SVC with the same kernel, and repeats the runs that are compared with the paper.
"""

import json
import resource
from collections.abc import Iterator
from statistics import mean
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import SVC

from benchmarks import harness
from benchmarks.accuracy import SHARED, digits
from benchmarks.harness import RESULTS
from linsep import KernelPerceptron
from linsep.compiled.rows import as_rows
from linsep.compiled.weights import Vote
from linsep.kernels import Polynomial
from linsep.learners.keeping import KeepVote

DEGREES = (1, 2, 3, 4, 5, 6)
PASSES = (0.1, 1, 2, 3, 4, 10, 30)
MOST_PASSES = {1: 10}
KEEPS = ("last", "average", "vote")
SEEDS = (0, 1, 2)
#: test rows scored at once
AT_ONCE = 2000


class Digits(NamedTuple):
    """Training rows in the order they are learned, and test rows, as float32."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def shuffled(seed: int) -> Digits:
    """MNIST with its training rows in a random order."""
    X, y = digits("train")
    order = np.random.default_rng(seed).permutation(len(y))
    return Digits(np.ascontiguousarray(X[order]), y[order], *digits("t10k"))


class Clock:
    """A callback of scikit-learn: seconds from its making to the end of each pass."""

    def __init__(self) -> None:
        self.started, self.seconds = perf_counter(), [0.0]

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **given: Any) -> None:
        """Passes are timed at their ends."""

    def on_fit_task_end(self, estimator: Any, context: Any, **given: Any) -> None:
        """Note the time; asks for no copy of the estimator."""
        if context.parent is not None:
            self.seconds.append(perf_counter() - self.started)


def learned(data: Digits, degree: int, passes: int) -> tuple[KernelPerceptron, list[float]]:
    """The machines after so many passes, and the seconds after each."""
    model = KernelPerceptron(
        kernel=Polynomial(degree), multiclass="ovr", keep="vote", max_iter=passes, shuffle=False
    )
    clock = Clock()
    return model.set_callbacks(clock).fit(data.X, data.y), clock.seconds


class Rerun:
    """A run as it was after fewer rounds: what votes remembers every change of the weights."""

    def __init__(self, model: KernelPerceptron):
        self.model, self.log = model, model.fitted_run().state.votes._asdict()
        self.made = np.repeat(
            self.log["rounds"], np.diff(self.log["starts"], append=self.log["amounts"].size)
        )

    def errors(self, data: Digits, moments: list[int]) -> list[dict[str, float]]:
        """Shares of the test rows that are predicted wrongly after so many rounds."""
        model, wrong = self.model, [dict.fromkeys(KEEPS, 0) for _ in moments]
        for start in range(0, len(data.y_test), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            gram = model.kernel_.gram(model.kernel_.prepare(data.X_test[some]), model._prepared)
            for rounds, counts in zip(moments, wrong, strict=True):
                for keep, scores in self._scores(gram, rounds).items():
                    counts[keep] += int((scores.argmax(axis=1) != data.y_test[some]).sum())
        return [{k: n / len(data.y_test) for k, n in counts.items()} for counts in wrong]

    def _scores(self, gram: np.ndarray, rounds: int) -> dict[str, np.ndarray]:
        """Scores by the last weights, by their mean and by the vote."""
        log, state, then = self.log, self.model.fitted_run().state, self.made < rounds
        where = log["features"][then], log["columns"][then]
        duals = np.zeros((2, gram.shape[1], state.n_columns))
        np.add.at(duals[0], where, log["amounts"][then])
        share = (rounds - self.made[then]) / rounds
        np.add.at(duals[1], where, log["amounts"][then] * share)
        version = log["rounds"] < rounds
        cut = [log[name][then] for name in ("features", "columns", "amounts")]
        cut += [log[name][version] for name in ("starts", "rounds", "machines")]
        whole, state.rounds = state.rounds, rounds
        voting = KeepVote(np.inf, "negative")
        state.shaped["first"] = np.zeros_like(state.W)
        state.votes = Vote._make([*cut, np.array([then.sum(), version.sum()])])
        votes = voting.scores(state, as_rows(gram), len(gram))
        state.rounds = whole
        return {"last": gram @ duals[0], "average": gram @ duals[1], "vote": votes}


def table(data: Digits, degree: int, most: int) -> Iterator[dict[str, Any]]:
    """A row of the table for every number of passes."""
    model, seconds = learned(data, degree, most)
    rerun, passes_asked = Rerun(model), [passes for passes in PASSES if passes <= most]
    moments = [round(passes * len(data.y)) for passes in passes_asked]
    errors = rerun.errors(data, moments)
    for passes, rounds, wrong in zip(passes_asked, moments, errors, strict=True):
        whole = min(passes, len(seconds) - 1)  # a run that converged changes nothing any more
        then = rerun.made < rounds
        yield {
            "degree": degree,
            "passes": passes,
            **wrong,
            "mistakes": int(then.sum()),
            "support_vectors": int(np.unique(rerun.log["features"][then]).size),
            "seconds": seconds[int(whole)] if whole >= 1 else None,
        }


def print_rows(rows: list[dict[str, Any]]) -> None:
    """One degree of the table."""
    for row in rows:
        errors = "  ".join(f"{100 * row[keep]:6.2f}%" for keep in KEEPS)
        time = "" if row["seconds"] is None else f"{row['seconds']:8.1f}"
        print(
            f"{row['degree']:6d} {row['passes']:6g}  {errors}  {row['mistakes']:9,d} "
            f"{row['support_vectors']:7,d} {time}",
            flush=True,
        )


def draw(rows: list[dict[str, Any]]) -> str:
    """The table as a picture: test error over passes, a panel for each way to predict."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(KEEPS), figsize=(12, 4), sharey=True)
    for panel, keep in zip(panels, KEEPS, strict=True):
        for degree in DEGREES:
            mine = [row for row in rows if row["degree"] == degree]
            panel.plot(
                [row["passes"] for row in mine], [100 * row[keep] for row in mine],
                marker=".", label=f"d = {degree}",
            )  # fmt: skip
        panel.set(xscale="log", yscale="log", title=keep, xlabel="passes over the data")
        panel.set_yticks([1.5, 2, 3, 5, 10, 20], ["1.5", "2", "3", "5", "10", "20"])
        panel.minorticks_off()
    panels[0].set_ylabel("test error, %")
    panels[-1].legend(frameon=False)
    figure.tight_layout()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "mnist-kernels.svg"
    figure.savefig(path)
    return str(path)


def main() -> None:
    """The whole table of the experiment, printed row by row, and its picture."""
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return
    started, data, rows = perf_counter(), shuffled(0), []
    print("degree passes      last   average      vote   mistakes    SVs   seconds")
    for degree in DEGREES:
        rows += list(table(data, degree, MOST_PASSES.get(degree, max(PASSES))))
        print_rows([row for row in rows if row["degree"] == degree])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"the whole table: {perf_counter() - started:.0f} s, {memory:.1f} GB at most")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "mnist-kernels.json").write_text(json.dumps(rows, indent=1))
    print(f"drawn in {draw(rows)}")


def compared() -> list[dict[str, Any]]:
    """The rows that are held against the paper and against scikit-learn's SVC."""
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return []
    first, tenth, mistakes, times = [], [], [], []
    for seed in SEEDS:
        data = shuffled(seed)
        model, seconds = learned(data, 4, 10)
        once, ten = Rerun(model).errors(data, [len(data.y), 10 * len(data.y)])
        first.append(once["vote"])
        tenth.append(ten["vote"])
        mistakes.append(int(model.mistakes_[0]))
        times.append(seconds[-1])
    print(f"first pass: mistakes {mistakes} (FS99 7,977), vote {_percents(first)} (FS99 2.2)")
    print(f"ten passes: vote {_percents(tenth)} (FS99 1.6)")
    started = perf_counter()
    svc = SVC(kernel="poly", degree=4, gamma=1.0, coef0=1.0, cache_size=2000).fit(data.X, data.y)
    fitted, started = perf_counter() - started, perf_counter()
    error = float((svc.predict(data.X_test) != data.y_test).mean())
    predicted = perf_counter() - started
    print(f"fit: {mean(times):.1f} s against SVC {fitted:.1f} s: {fitted / mean(times):.1f}")
    print(f"test error: {_percents(tenth)} against SVC {100 * error:.2f}%")
    model, _ = learned(data, 4, 30)
    started = perf_counter()
    model.predict(data.X_test)
    ours = perf_counter() - started
    print(f"predict: {ours:.1f} s against SVC {predicted:.1f} s: {predicted / ours:.1f}")
    rows = (
        ("fit", "ten classes, ten passes: fit", mean(times), fitted),
        ("predict", "thirty passes: predict 10,000 digits by vote", ours, predicted),
    )
    reached = (1 - mean(tenth), 1 - error)
    return [
        {"name": f"mnist-kernels-svc-{name}"}
        | harness.row(
            f"MNIST, (1 + <x, y>)^4, {work}", "scikit-learn SVC, same kernel", us, them, *reached
        )
        for name, work, us, them in rows
    ]


def _percents(shares: list[float]) -> str:
    return f"{100 * mean(shares):.2f}% ({', '.join(f'{100 * share:.2f}' for share in shares)})"
