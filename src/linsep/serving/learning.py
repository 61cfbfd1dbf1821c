"""Online learning of a served model: rows are logged first, then learned in the order of the log.

There is one writer thread. It has its own copy of the model, the tip, and tries each row on it, so
a row that the learner refuses is never logged. Requests that arrive while a transaction is being
committed are committed together in the next one. Then the served model learns the same rows in the
thread that predicts, so no prediction sees a partial update, and the requests are answered.
"""

import copy
import math
import queue
import re
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import scipy.sparse as sp

from linsep import model_files
from linsep.errors import LinsepError
from linsep.learners.kernel import KernelPerceptron
from linsep.serving.limits import Budget, Refused, too_busy
from linsep.serving.log import Entry, LogError, RowLog, check_model_name
from linsep.serving.model import Served
from linsep.serving.rows import Bodies, row_place, start_of
from linsep.validation.values import of_features

#: a snapshot is taken after so many rows, or seconds
ROWS_A_SNAPSHOT, SECONDS_A_SNAPSHOT = 10_000, 60.0
#: rows of waiting requests that are committed together
ROWS_A_COMMIT = 5_000
#: requests that may wait
MOST_WAITING = 1_000
LONGEST_ID = 200


class LabeledRows(NamedTuple):
    """Rows of a request in their logged form, their features, and their labels."""

    entries: list[Entry]
    X: Any
    y: np.ndarray

    def part(self, numbers: list[int]) -> "LabeledRows":
        """Return some of the rows."""
        if len(numbers) == len(self.entries):
            return self
        return LabeledRows([self.entries[k] for k in numbers], self.X[numbers], self.y[numbers])


class Outcome(NamedTuple):
    """Result of a request: numbers of new rows, of rows sent again, and of all rows in the log."""

    new: int
    duplicates: int
    rows: int


class WaitingRows(NamedTuple):
    """Rows of a request that wait for the writer; ``outcome`` may be the exception Refused."""

    rows: LabeledRows
    outcome: Future[Outcome]


def can_learn(model: Any) -> str | None:
    """Return why a model cannot learn rows one by one, None if it can."""
    kind = type(model).__name__
    if not hasattr(model, "check_partial_fit"):  # sums of naive Bayes depend on how rows are split
        return f"is a {kind}, which does not support online learning"
    if hasattr(model, "threshold_"):
        return "has a threshold, which online learning would invalidate"
    try:
        model.check_partial_fit()
    except ValueError as problem:
        return f"does not support online learning: {str(problem).rstrip('.')}"
    return None


@of_features()
def learn_in_order(model: Any, X: Any, y: np.ndarray) -> None:
    """Learn rows in order, bit-identical to one call of ``partial_fit`` per row."""
    if isinstance(model, KernelPerceptron) or getattr(model, "update", "single") == "batch":
        for k in range(len(y)):  # these do something at the end of each call
            model.partial_fit(X[k : k + 1], y[k : k + 1])
    else:
        model.partial_fit(X, y)


def labels_of(labels: list[Any], classes: np.ndarray, known: list[Any]) -> np.ndarray:
    """Return the labels of a request as labels of the model; raise Refused for an unknown one."""
    codes = {(type(label) is bool, label): code for code, label in enumerate(known)}
    found = []
    for number, label in enumerate(labels):
        code = None if isinstance(label, list | dict) else codes.get((type(label) is bool, label))
        if code is None:
            raise Refused(
                422,
                f"labels[{number}] is {start_of(label)}, which is not a class of the model: its "
                f"classes are {orjson.dumps(known[:20]).decode()[1:-1]}"
                f"{', ...' if len(known) > 20 else ''}.",
            )
        found.append(code)
    return classes[found]


class Learning:
    """The log, the writer, and the served model that follows them.

    Parameters
    ----------
    path : Path of the log
    served : Served, the model of the file
    bodies : Bodies, to read logged lines of text
    rows_a_snapshot, seconds_a_snapshot : when to take snapshots
    say : function that reports messages to the operator

    Attributes
    ----------
    served : Served, the model after all rows of the log

    Raises
    ------
    LinsepError
        If the model does not support online learning, or the log cannot be used.
    """

    def __init__(
        self,
        path: Path,
        served: Served,
        bodies: Bodies,
        say: Callable[[str], None],
        rows_a_snapshot: int = ROWS_A_SNAPSHOT,
        seconds_a_snapshot: float = SECONDS_A_SNAPSHOT,
    ):
        if (why := can_learn(served.model)) is not None:
            raise LinsepError(f"{served.name} {why}: serve it without --log.", code="unsupported")
        check_model_name(served.name, path)
        self._rows_a_snapshot, self._seconds = rows_a_snapshot, seconds_a_snapshot
        self.served, self._bodies, self._say = served, bodies, say
        self.commits, self.snapshots, self._ends = 0, 0, False
        self.log = RowLog(path, served.digest)
        try:
            self._restore()
        except BaseException:
            self.log.close()
            raise
        self._jobs: queue.Queue[WaitingRows | None] = queue.Queue(MOST_WAITING)
        self._writer = threading.Thread(target=self._run, name="writer", daemon=True)

    def _restore(self) -> None:
        """Bring the model to the end of the log: from the newest snapshot, then row by row."""
        snapshot = self.log.newest(self._say)
        model = self.served.model if snapshot is None else model_files.load(snapshot.path)
        # Arrays have no names, which scikit-learn would warn about.
        model.__dict__.pop("feature_names_in_", None)
        self._taken = 0 if snapshot is None else snapshot.number
        # These rows were within the limits when they were sent, if of another number at a time.
        budget = Budget(self.served.limits._replace(memory=sys.maxsize, seconds=math.inf))
        for entries in self.log.entries(self._taken):
            for _, same in groupby(entries, lambda entry: entry.row[0]):
                part = list(same)
                rows = [orjson.loads(entry.row) for entry in part]
                labels = [orjson.loads(entry.label) for entry in part]
                try:
                    X = self._features(self.served, rows, self._bodies, budget)
                    learn_in_order(model, X, self._labels(labels))
                except (LinsepError, Refused, ValueError) as problem:
                    raise LogError(
                        f"The rows of {self.log.path} cannot be replayed "
                        f"({str(problem).rstrip('.')}): serve it with the version of linsep that "
                        "wrote it.", code="other-version", path=self.log.path,
                    ) from None  # fmt: skip
        self._tip = model
        self.served.answer_by(copy.deepcopy(model))
        self.served.learned = self.log.n_rows
        self._last = time.monotonic()

    def _features(self, served: Served, rows: list[Any], bodies: Bodies, budget: Budget) -> Any:
        """Return the features of JSON rows; raise LinsepError or Refused for invalid ones."""
        with served.opened(rows, bodies, budget) as source:
            X = served.features(source)
        if X.shape[0] != len(rows):
            raise Refused(422, "A line of rows holds no row: give one line per row.")
        return X

    def _labels(self, labels: list[Any]) -> np.ndarray:
        return labels_of(labels, self.served.model.classes_, self.served.labels)

    def labeled(
        self,
        ids: list[Any],
        rows: list[Any],
        labels: list[Any],
        served: Served,
        bodies: Bodies,
        budget: Budget,
    ) -> LabeledRows:
        """Return the checked rows of a request; raise LinsepError or Refused for invalid ones.

        ``served`` and ``bodies``, which read the rows, belong to the calling thread.
        """
        seen: set[str] = set()
        for number, id in enumerate(ids):
            if type(id) is not str or not 0 < len(id) <= LONGEST_ID or not id.isprintable():
                raise Refused(
                    422,
                    f"ids[{number}] is not an ID: give a string of 1 to {LONGEST_ID} printable "
                    "characters.",
                )
            if id in seen:
                raise Refused(422, f"ids[{number}] is {id!r} again: give each row its own ID.")
            seen.add(id)
        y = self._labels(labels)
        X = self._features(served, rows, bodies, budget)
        texts = [_written(number, row) for number, row in enumerate(rows)]
        written = [orjson.dumps(label).decode() for label in labels]
        return LabeledRows([Entry(*entry) for entry in zip(ids, texts, written, strict=True)], X, y)

    def warm_up(self) -> None:
        """Train a copy on a row of zeros, to compile the loops of the learner."""
        model, width = copy.deepcopy(self._tip), self.served.model.n_features_in_
        dtype = np.dtype(self.served.recipe.get("dtype", "float64"))
        sparse = (
            self.served.text or self.served.recipe.get("text") or self.served.recipe.get("words")
        )
        X = sp.csr_matrix((1, width), dtype=dtype) if sparse else np.zeros((1, width), dtype)
        learn_in_order(model, X, model.classes_[:1])

    def start(self, publish: Callable[[Any, np.ndarray], None]) -> None:
        """Start the writer; ``publish`` trains the served model on rows and then returns."""
        self._publish = publish
        self._writer.start()

    def submit(self, rows: LabeledRows) -> Future[Outcome]:
        """Queue rows for the writer; raise Refused if too many requests wait."""
        outcome: Future[Outcome] = Future()
        outcome.set_running_or_notify_cancel()  # who goes away no longer stops it
        try:
            self._jobs.put_nowait(WaitingRows(rows, outcome))
        except queue.Full:
            raise too_busy("Too many requests to /learn are waiting") from None
        return outcome

    def stop(self) -> None:
        """Refuse the requests that wait, take a snapshot, and close the log."""
        self._ends = True
        if self._writer.is_alive():
            self._jobs.put(None)
            self._writer.join()
        self.log.close()

    def _run(self) -> None:
        going = True
        while going:
            group, going = self._waiting()
            try:
                self._handle(group)
                self._perhaps_snapshot(last=not going)
            except Exception as fault:
                # What is not foreseen must not leave requests waiting.
                self._say(f"a bug in linsep while rows were learned: {fault!r}")
                self._tip = copy.deepcopy(self.served.model)
                refusal = Refused(
                    500,
                    "The rows were not learned because of an internal error: see the log of the "
                    "server.",
                )
                _refuse_all([job for job in group if not job.outcome.done()], refusal)

    def _waiting(self) -> tuple[list[WaitingRows], bool]:
        """Return the requests that wait, at least one unless a snapshot may be due; and whether
        there may be more.
        """
        group: list[WaitingRows] = []
        rows = 0
        try:
            job = self._jobs.get(timeout=self._seconds)
            while job is not None:
                group.append(job)
                rows += len(job.rows.entries)
                if rows >= ROWS_A_COMMIT:
                    return group, True
                job = self._jobs.get_nowait()
        except queue.Empty:
            return group, True
        return group, False

    def _handle(self, group: list[WaitingRows]) -> None:
        """Log and learn the rows of some requests, and answer them."""
        if self._ends:  # an id makes it safe to send them again
            _refuse_all(group, too_busy("The server is shutting down"))
            return
        if self.log.n_rows != self.served.learned:  # after an unforeseen fault
            refusal = Refused(503, "The model is behind its log: restart the server.")
            _refuse_all(group, refusal)
            return
        try:
            self.log.check()  # before rows that are known are answered, too
        except LogError as problem:
            self._refuse(group, problem)
            return
        pending: dict[str, Entry] = {}
        accepted: list[tuple[WaitingRows, LabeledRows]] = []
        for job in group:
            try:
                fresh = self._fresh(job.rows, pending)
            except Refused as refusal:
                job.outcome.set_exception(refusal)
                continue
            accepted.append((job, fresh))
            pending |= {entry.id: entry for entry in fresh.entries}
        try:
            self._commit([fresh for _, fresh in accepted if fresh.entries])
        except (LogError, ValueError) as problem:
            self._tip = copy.deepcopy(self.served.model)
            self._refuse([job for job, _ in accepted], problem)
            return
        rows = self.log.n_rows
        for job, fresh in accepted:
            new = len(fresh.entries)
            job.outcome.set_result(Outcome(new, len(job.rows.entries) - new, rows))

    def _refuse(self, jobs: list[WaitingRows], problem: Exception) -> None:
        """Refuse requests that could not be committed together; for bad rows, only the requests
        with them.
        """
        if not isinstance(problem, LogError) and len(jobs) > 1:
            for job in jobs:
                self._handle([job])
            return
        refusal = Refused(422, _plainly(problem))
        if isinstance(problem, LogError):
            refusal = Refused(503, f"{str(problem).rstrip('.')}: nothing was learned.")
        _refuse_all(jobs, refusal)

    def _commit(self, parts: list[LabeledRows]) -> None:
        """Try rows on the tip, log them, and let the served model learn them."""
        if not parts:
            return
        X, y = _stacked([part.X for part in parts]), np.concatenate([part.y for part in parts])
        learn_in_order(self._tip, X, y)
        if not self._tip.fitted_run().state.is_finite():  # no later row could be learned
            raise ValueError("A weight would overflow float64; scale the features")
        self.log.append(entry for part in parts for entry in part.entries)
        self.commits += 1
        self._publish(X, y)

    def _fresh(self, rows: LabeledRows, pending: dict[str, Entry]) -> LabeledRows:
        """Return the rows that are not in the log yet; raise Refused if an ID belongs to a
        different row.
        """
        fresh = []
        for number, entry in enumerate(rows.entries):
            try:
                known = pending.get(entry.id) or self.log.find(entry.id)
            except LogError as problem:
                raise Refused(503, f"{problem}: nothing was learned.") from None
            if known is None:
                fresh.append(number)
            elif not self._same(known, entry):
                raise Refused(
                    409,
                    f"ids[{number}] is {entry.id!r}, an ID that already belongs to a different "
                    "row: give each row its own ID.",
                )
        return rows.part(fresh)

    def _same(self, one: Entry, other: Entry) -> bool:
        """Return whether two rows have the same values and label, also if written differently."""
        if one == other:
            return True
        rows = [self.served.values(orjson.loads(entry.row)) for entry in (one, other)]
        codes = self._labels([orjson.loads(entry.label) for entry in (one, other)])
        return bool(rows[0] == rows[1] and codes[0] == codes[1])

    def _perhaps_snapshot(self, last: bool) -> None:
        """Write a snapshot of the tip when it is due; a failure does not stop learning."""
        due = time.monotonic() - self._last > self._seconds
        many = self.log.n_rows - self._taken >= self._rows_a_snapshot
        behind = self.log.n_rows != self.served.learned  # after an unforeseen fault
        if behind or self.log.n_rows == self._taken or not (due or many or last):
            return
        self._last = time.monotonic()
        path = self.log.next_snapshot()
        model = copy.copy(self._tip)
        if self.served.names is not None:
            model.feature_names_in_ = self.served.names
        try:
            self.log.check()
            model_files.save(model, path, force=True)
            self.log.add_snapshot(path)
        except (LinsepError, OSError) as problem:
            self._say(f"no snapshot was taken: {problem}")
            return
        self._taken, self.snapshots = self.log.n_rows, self.snapshots + 1


def _refuse_all(jobs: list[WaitingRows], refusal: Refused) -> None:
    for job in jobs:
        job.outcome.set_exception(refusal)


def _written(number: int, row: Any) -> str:
    """Return the logged form of a row; raise Refused if an ignored column is nested too deeply."""
    try:
        return orjson.dumps(row, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:
        raise Refused(
            422, f"{row_place(number)} is nested too deeply: send only the columns of the model."
        ) from None


def _stacked(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def _plainly(problem: Exception) -> str:
    """Return why a row cannot be learned, without the parts for users of scikit-learn."""
    text = re.sub(r" \(the rows before it were learned\)\.?$", "", str(problem)).rstrip(".")
    text = re.sub(r"^Row \d+ \(index (\d+)\)", r"rows[\1]", text)
    return f"{text}; nothing of the request was learned."
