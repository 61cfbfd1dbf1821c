"""Ctrl-C at a chosen line of a fit, once or twice, and checks of the model afterwards.

A fit runs under a trace function that counts lines of Python, in linsep and in libraries, and
presses Ctrl-C at one of them: the same moment each time, however loaded the machine is. First the
same fit runs to its end and records the weights between slices of rows: an interrupted fit must
keep the recorded weights of the rows that it reports as learned.
"""

import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import linsep.learners.passes
import linsep.rows.arrays
import linsep.rows.source_stream
from campaign.batches import folder
from linsep import (
    BalancedWinnow,
    KernelPerceptron,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    Winnow,
    open_source,
)

ROWS, FEATURES, PASSES = 240, 5, 4


class Fit(NamedTuple):
    """A kind of fit: an estimator, and the source of its rows."""

    name: str
    estimator: Callable[[], Any]
    kind: str
    classes: int = 2

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of overlapping classes, so that every pass makes mistakes."""
        rng = np.random.default_rng(7)
        y = rng.integers(0, self.classes, ROWS)
        X = rng.normal(size=(ROWS, FEATURES)) + 0.5 * y[:, None]
        return np.abs(X) if "Winnow" in self.name else X, y

    def start(self, folder: Path) -> tuple[Any, Callable[[], Any]]:
        """Return an estimator, and the function that fits it."""
        model, (X, y) = self.estimator(), self.data()
        if self.kind == "memory":
            return model, lambda: model.fit(X, y)
        if self.kind == "partial":
            return model, lambda: model.partial_fit(X, y, classes=np.arange(self.classes))
        path = folder / "rows.svm"
        if not path.exists():
            lines = (
                f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row))
                for label, row in zip(y.tolist(), X.tolist(), strict=True)
            )
            path.write_text("\n".join(lines) + "\n")
        source = open_source(path, cache=folder / "cache" if self.kind == "cache" else None)
        source.memory_bytes = 0 if self.kind in ("row cache", "cache") else 1 << 20
        source._chunk_bytes = 4000  # type: ignore[attr-defined]  # of files that are scanned
        return model, lambda: model.fit(source)


def _perceptron(**how: Any) -> Callable[[], Any]:
    return lambda: Perceptron(**{"max_iter": PASSES} | how)


FITS = [
    Fit("perceptron from memory", _perceptron(), "memory"),
    Fit("perceptron from a stream", _perceptron(), "stream"),
    Fit("perceptron from a temporary row cache", _perceptron(), "row cache"),
    Fit("perceptron from a row cache", _perceptron(), "cache"),
    Fit("average, one-vs-one, from a row cache", _perceptron(keep="average", multiclass="ovo"),
        "row cache", 3),
    Fit("vote from a row cache", _perceptron(keep="vote"), "row cache"),
    Fit("pocket from a row cache", _perceptron(keep="best"), "row cache"),
    Fit("early stopping from a row cache", _perceptron(early_stopping=True), "row cache"),
    Fit("balanced weights from a row cache", _perceptron(class_weight="balanced"), "cache"),
    Fit("batch rule from a stream", _perceptron(update="batch", schedule="inverse"), "stream"),
    Fit("partial_fit", _perceptron(), "partial"),
    Fit("passive-aggressive, cached", lambda: PassiveAggressive(max_iter=PASSES), "row cache"),
    Fit("margin, cached", lambda: MarginPerceptron(keep="best", max_iter=PASSES), "row cache"),
    Fit("Winnow from memory", lambda: Winnow(max_iter=PASSES), "memory"),
    Fit("balanced Winnow from a row cache", lambda: BalancedWinnow(max_iter=PASSES), "row cache"),
    Fit("kernel perceptron from memory", lambda: KernelPerceptron(max_iter=PASSES), "memory"),
    Fit("kernel perceptron with a budget from a file",
        lambda: KernelPerceptron(max_iter=PASSES, budget=30), "stream"),
]  # fmt: skip
BY_NAME = {fit.name: fit for fit in FITS}


@contextmanager
def small_pieces(folder: Path) -> Iterator[None]:
    """Use small slices, batches and blocks, as if data were large, and put files in ``folder``."""
    (folder / "scratch").mkdir(exist_ok=True)
    places = [
        (tempfile, "tempdir", str(folder / "scratch")),
        (linsep.rows.arrays, "SMALL", 100), (linsep.rows.source_stream, "SMALL", 100),
        (linsep.rows.source_stream, "BATCH_BYTES", 4000),
        (linsep.learners.passes, "rows_per_slice", lambda *_: 37),
    ]  # fmt: skip
    with ExitStack() as stack:
        for place in places:
            stack.enter_context(patch.object(*place))
        yield


def learned(model: Any) -> tuple[Any, ...]:
    """Return the weights and counts of a model, for comparison."""
    state = model.fitted_run().state
    weights = model.fitted_run().keeping.weights(state)[: state.n_features + 1]
    return weights[np.flatnonzero(weights.reshape(len(weights), -1).any(axis=1))].tobytes(), (
        model.n_updates_
    )


def interrupted(draw: random.Random) -> str | None:
    """Press Ctrl-C at a random line of a fit, once or twice."""
    place, number = folder(), draw.randrange(len(FITS))
    with small_pieces(place):
        record = _record(number, place / str(number))
        line = draw.randrange(1, record.lines + 1)
        again = draw.choice((None, draw.uniform(0, 0.003)))
        wrong = press(FITS[number], record, place / str(number), line, again)
    return wrong and f"{FITS[number].name}, line {line}, {again}: {wrong}"


@cache
def _record(number: int, place: Path) -> "Record":
    place.mkdir()
    return Record(FITS[number], place)


class Record:
    """The weights of an uninterrupted fit before each slice of rows, and at the end."""

    def __init__(self, fit: Fit, folder: Path):
        self.lines = 0
        self.states: dict[Any, Any] = {}
        fit.start(folder)[1]()  # compile its loops, and write the cache
        model, go = fit.start(folder)
        checkpoint = linsep.learners.passes.interruption_point

        def noting() -> None:
            checkpoint()
            if (progress := getattr(model, "progress_", None)) is not None:
                done = self.states[progress.number, progress.rows] = learned(model)
                if progress.rows == 0 and progress.number:
                    self.states[progress.number - 1, None] = done

        with patch.object(linsep.learners.passes, "interruption_point", noting):
            go()
        self.end = learned(model)
        _, go = fit.start(folder)
        with traced(self._count):
            go()

    def _count(self) -> None:
        self.lines += 1


@contextmanager
def traced(tick: Callable[[], None]) -> Iterator[None]:
    """Call ``tick`` at each line of Python that this thread executes in the block."""

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if event == "line":
            tick()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def press(fit: Fit, record: Record, folder: Path, line: int, again: float | None) -> str | None:
    """Press Ctrl-C at a line of a fit, and ``again`` seconds later; return what is wrong."""
    model, go = fit.start(folder)
    second = Second(again)
    seen = 0

    def tick() -> None:
        nonlocal seen
        seen += 1
        if seen == line:
            second.go = True
            signal.raise_signal(signal.SIGINT)

    before, ending = set(threading.enumerate()), None
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    with patch.object(sys, "unraisablehook", partial(_other_than_a_press, sys.unraisablehook)):
        try:
            with traced(tick):
                go()
        except BaseException as error:
            ending = error
        finally:
            still_going = set(threading.enumerate()) - before
            second.wait()
            signal.signal(signal.SIGINT, handler)
    return _wrong(fit, record, model, ending, still_going, folder)


def _other_than_a_press(hook: Callable[[Any], None], about: Any) -> None:
    """Give what Python drops to the hook, except a press that came in a weak reference's callback.

    Python has nobody to raise it to there.
    """
    if not isinstance(about.exc_value, KeyboardInterrupt):
        hook(about)


class Second:
    """A thread that presses Ctrl-C some seconds after ``go`` is set; without seconds, no thread.

    It takes no lock, which the traced thread might hold.
    """

    def __init__(self, seconds: float | None):
        self.go = False
        self.seconds, self.thread = seconds, threading.Thread(target=self._run)
        if seconds is not None:
            self.thread.start()

    def _run(self) -> None:
        assert self.seconds is not None
        while not self.go:
            time.sleep(1e-4)
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        signal.raise_signal(signal.SIGINT)

    def wait(self) -> None:
        """Wait for the press."""
        self.go = True
        while self.thread.is_alive():
            try:
                self.thread.join()
            except KeyboardInterrupt:
                continue
        try:
            for _ in range(100):  # lines at which a pending signal would be handled
                pass
        except KeyboardInterrupt:
            return


def _wrong(
    fit: Fit, record: Record, model: Any, ending: Any, still_going: set, folder: Path
) -> str | None:
    """Return what is wrong with an interrupted fit, or None."""
    if not isinstance(ending, KeyboardInterrupt | None):
        return f"ended with {ending!r}"
    if still_going:
        return f"threads still run: {still_going}"
    if left := [path.name for path in Path(tempfile.gettempdir()).glob("linsep-*")]:
        return f"temporary files are left: {left}"
    if left := [path.name for path in folder.rglob("*.tmp")]:
        return f"unfinished files are left: {left}"
    return None if not hasattr(model, "_run") else _wrong_model(fit, record, model)


def _wrong_model(fit: Fit, record: Record, model: Any) -> str | None:
    (X, y), reports = fit.data(), model.fitted_run().reports
    if model.predict(X).shape != y.shape:
        return "it does not predict"
    if fit.kind == "partial":
        return None
    if model.stop_reason_ != "interrupted":
        return None if learned(model) == record.end else "other weights than at the end"
    if model.n_iter_ != len(reports) or model.stop_sentence_.count(".") > 1:
        return f"{model.n_iter_} passes, {len(reports)} reports"
    rows = reports[-1].rows if reports else 0
    if isinstance(model, MarginPerceptron) and rows == ROWS:
        return None  # it may have restarted from zero
    if model.early_stopping or model.keep == "best" or getattr(model, "budget", None):
        return None  # chosen at the end of a pass
    number = len(reports) - 1
    places = [(number, rows), (number, None)]
    places += [(number, 0)] * (getattr(model, "update", None) == "batch")  # updated at the end only
    known = [record.states.get(place) for place in places]
    wrong = any(known) and learned(model) not in known
    return f"not the weights of {rows} rows of pass {number + 1}" if wrong else None
