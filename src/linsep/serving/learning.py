"""Online learning of a served model: rows are logged first, then learned in the order of the log.

There is one writer, which has its own copy of the model, the tip, and tries each row on it, so a
row that the learner refuses is never logged. Requests that arrive while a transaction is being
committed are committed together in the next one. Then the served model learns the same rows between
predictions, and the requests are answered.
"""

import asyncio
import copy
import math
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import scipy.sparse as sp

from linsep import model_files
from linsep.errors import LinsepError
from linsep.learners.kernel import KernelPerceptron
from linsep.serving.limits import Budget, Refused
from linsep.serving.log import Entry, LogError, RowLog
from linsep.serving.model import Served
from linsep.serving.rows import Bodies, row_place, start_of
from linsep.validation.checks import of_features
from linsep.words import a

#: a snapshot is taken after so many rows, or seconds
ROWS_A_SNAPSHOT, SECONDS_A_SNAPSHOT = 10_000, 60.0
#: rows of waiting requests that are committed together, and that are learned between predictions
ROWS_A_COMMIT, ROWS_A_TURN = 5_000, 500
#: requests that may wait
MOST_WAITING = 1_000
LONGEST_ID = 200


class LabeledRows(NamedTuple):
    """Rows of a request in their logged form, their features, and their labels."""

    entries: list[Entry]
    X: Any
    y: np.ndarray


class Outcome(NamedTuple):
    """Result of a request: numbers of new rows, of rows sent again, and of all rows in the log."""

    new: int
    duplicates: int
    rows: int


class WaitingRows(NamedTuple):
    """Rows of a request that wait for the writer."""

    rows: LabeledRows
    outcome: asyncio.Future[Outcome]

    def refuse(self, refusal: Refused) -> None:
        """Answer with a refusal, unless the client is gone."""
        if not self.outcome.done():
            self.outcome.set_exception(refusal)


def can_learn(model: Any) -> str | None:
    """Return why a model cannot learn rows one by one, None if it can."""
    kind = type(model).__name__
    if not hasattr(model, "check_partial_fit"):  # sums of naive Bayes depend on how rows are split
        return f"is {a(kind)}, which does not support online learning"
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
    one_by_one = isinstance(model, KernelPerceptron) or getattr(model, "update", "") == "batch"
    step = 1 if one_by_one else len(y)  # these do something at the end of each call
    for k in range(0, len(y), step):
        model.partial_fit(X[k : k + step], y[k : k + step])


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
        self._rows_a_snapshot, self._seconds = rows_a_snapshot, seconds_a_snapshot
        self.served, self._say = served, say
        self.commits, self.snapshots = 0, 0
        self.log = RowLog(path, served.digest)
        try:
            if Path(served.name).resolve() == self.log.snapshot.resolve():
                raise LogError(
                    f"{served.name} has the name of the snapshot of {path}, which would replace "
                    "it: rename the model, or name another log.", code="conflict", path=served.name,
                )  # fmt: skip
            self._restore(bodies)
        except BaseException:
            self.log.close()
            raise
        self._waiting: asyncio.Queue[WaitingRows | None] = asyncio.Queue()
        self._ends = False

    def _restore(self, bodies: Bodies) -> None:
        """Bring the model to the end of the log: from the snapshot, then row by row."""
        self._taken = self.log.snapshot_rows()
        self._tip = model_files.loaded(self.log.snapshot) if self._taken else self.served.model
        # These rows were within the limits when they were sent, if of another number at a time.
        free = self.served.limits._replace(memory=sys.maxsize, seconds=math.inf, rows=sys.maxsize)
        for entries in self.log.entries(self._taken):
            try:
                for _, same in groupby(entries, lambda entry: entry.row[0]):  # of one form
                    part = list(same)
                    rows = [orjson.loads(entry.row) for entry in part]
                    X = self._features(self.served, rows, bodies, Budget(free))
                    y = self._labels([orjson.loads(entry.label) for entry in part])
                    learn_in_order(self._tip, X, y)
            except (LinsepError, Refused, ValueError) as problem:
                raise LogError(
                    f"The rows of {self.log.path} cannot be replayed ({str(problem).rstrip('.')}): "
                    "serve it with the version of linsep that wrote it.",
                    code="other-version", path=self.log.path,
                ) from None  # fmt: skip
        self.served.answer_by(copy.deepcopy(self._tip))
        self.served.learned, self._last = self.log.n_rows, time.monotonic()

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
        self, ids: list[Any], rows: list[Any], labels: list[Any], served: Served, bodies: Bodies
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
        X = self._features(served, rows, bodies, Budget(served.limits))
        texts = [_written(number, row) for number, row in enumerate(rows)]
        written = [orjson.dumps(label).decode() for label in labels]
        return LabeledRows([Entry(*entry) for entry in zip(ids, texts, written, strict=True)], X, y)

    def warm_up(self) -> None:
        """Train a copy on a row of zeros, to compile the loops of the learner."""
        recipe, width = self.served.recipe, self.served.model.n_features_in_
        dtype = np.dtype(recipe.get("dtype", "float64"))
        sparse = self.served.text or recipe.get("text") or recipe.get("words")
        X = sp.csr_matrix((1, width), dtype=dtype) if sparse else np.zeros((1, width), dtype)
        learn_in_order(copy.deepcopy(self._tip), X, self.served.model.classes_[:1])

    async def learned(self, rows: LabeledRows) -> Outcome:
        """Return when the rows are logged and learned; raise Refused if they are not."""
        job = WaitingRows(rows, asyncio.get_running_loop().create_future())
        if self._waiting.qsize() >= MOST_WAITING:
            raise Refused(
                503, "Too many requests to /learn are waiting: try again.", (b"retry-after", b"1")
            )
        self._waiting.put_nowait(job)
        return await job.outcome

    async def run(self) -> None:
        """Log and learn the rows of requests until :meth:`stop`."""
        job: WaitingRows | None
        while not self._ends:
            group: list[WaitingRows] = []
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    job = await self._waiting.get()
                    while job is not None:
                        group.append(job)
                        rows = sum(len(job.rows.entries) for job in group)
                        full = rows >= ROWS_A_COMMIT or self._waiting.empty()
                        job = None if full else self._waiting.get_nowait()
            if self._ends:  # an id makes it safe to send them again
                for one in group:
                    one.refuse(Refused(503, "The server is shutting down: try again."))
            else:
                await self._turn(group)

    async def _turn(self, group: list[WaitingRows]) -> None:
        try:
            await self._handle(group)
            await asyncio.to_thread(self._perhaps_snapshot)
        except Exception as fault:  # What is not foreseen must not leave requests waiting.
            self._say(f"a bug in linsep while rows were learned: {fault!r}")
            self._tip = copy.deepcopy(self.served.model)
            refusal = Refused(
                500,
                "The rows were not learned because of an internal error: see the log of the "
                "server.",
            )
            for job in group:
                job.refuse(refusal)

    async def stop(self, running: asyncio.Task) -> None:
        """End :meth:`run` after what it has begun, take a snapshot, and close the log."""
        self._ends = True
        self._waiting.put_nowait(None)
        await running
        while not self._waiting.empty():
            if (job := self._waiting.get_nowait()) is not None:
                job.refuse(Refused(503, "The server is shutting down: try again."))
        await asyncio.to_thread(self._perhaps_snapshot, last=True)
        self.log.close()

    async def _handle(self, group: list[WaitingRows]) -> None:
        """Log and learn the rows of some requests, and answer them."""
        if self.log.n_rows != self.served.learned:  # after an unforeseen fault
            for job in group:
                job.refuse(Refused(503, "The model is behind its log: restart the server."))
            return
        pending: dict[str, Entry] = {}
        accepted: list[tuple[WaitingRows, list[int]]] = []
        for job in group:
            try:
                fresh = self._fresh(job.rows.entries, pending)
            except Refused as refusal:
                job.refuse(refusal)
                continue
            accepted.append((job, fresh))
            pending |= {job.rows.entries[k].id: job.rows.entries[k] for k in fresh}
        try:
            if pending:
                await self._commit([(job.rows, fresh) for job, fresh in accepted if fresh])
        except (LogError, ValueError) as problem:
            self._tip = copy.deepcopy(self.served.model)
            if not isinstance(problem, LogError) and len(accepted) > 1:  # only those with bad rows
                for job, _ in accepted:
                    await self._handle([job])
                return
            status, why = 422, _plainly(problem)
            if isinstance(problem, LogError):
                status, why = 503, f"{str(problem).rstrip('.')}: nothing was learned."
            for job, _ in accepted:
                job.refuse(Refused(status, why))
            return
        for job, fresh in accepted:
            if not job.outcome.done():
                known = len(job.rows.entries) - len(fresh)
                job.outcome.set_result(Outcome(len(fresh), known, self.log.n_rows))

    async def _commit(self, parts: list[tuple[LabeledRows, list[int]]]) -> None:
        """Try rows on the tip, log them, and let the served model learn them."""
        X = _stacked([rows.X[fresh] for rows, fresh in parts])
        y = np.concatenate([rows.y[fresh] for rows, fresh in parts])
        entries = [rows.entries[k] for rows, fresh in parts for k in fresh]
        await asyncio.to_thread(self._log, X, y, entries)
        for first in range(0, len(y), ROWS_A_TURN):
            part = slice(first, first + ROWS_A_TURN)
            learn_in_order(self.served.model, X[part], y[part])
            self.served.learned += len(y[part])
            await asyncio.sleep(0)

    def _log(self, X: Any, y: np.ndarray, entries: list[Entry]) -> None:
        learn_in_order(self._tip, X, y)
        arrays = self._tip.fitted_run().state.shaped.values()
        if not all(np.isfinite(array).all() for array in arrays):  # no later row could be learned
            raise ValueError("A weight would overflow float64; scale the features")
        self.log.append(entries)
        self.commits += 1

    def _fresh(self, entries: list[Entry], pending: dict[str, Entry]) -> list[int]:
        """Return the numbers of the rows that are not in the log yet; raise Refused if an ID
        belongs to a different row.
        """
        fresh = []
        for number, entry in enumerate(entries):
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
        return fresh

    def _same(self, one: Entry, other: Entry) -> bool:
        """Return whether two rows have the same values and label, also if written differently."""
        rows = [self.served.values(orjson.loads(entry.row)) for entry in (one, other)]
        codes = self._labels([orjson.loads(entry.label) for entry in (one, other)])
        return one == other or bool(rows[0] == rows[1] and codes[0] == codes[1])

    def _perhaps_snapshot(self, last: bool = False) -> None:
        """Write a snapshot of the tip when it is due; a failure does not stop learning."""
        due = last or time.monotonic() - self._last > self._seconds
        many = self.log.n_rows - self._taken >= self._rows_a_snapshot
        behind = self.log.n_rows != self.served.learned  # after an unforeseen fault
        if behind or self.log.n_rows == self._taken or not (due or many):
            return
        self._last = time.monotonic()
        try:
            model_files.save(self._tip, self.log.snapshot, force=True)
            self.log.add_snapshot()
        except (LinsepError, OSError) as problem:
            self._say(f"no snapshot was taken: {problem}")
            return
        self._taken, self.snapshots = self.log.n_rows, self.snapshots + 1


def _written(number: int, row: Any) -> str:
    """Return the logged form of a row; raise Refused if an ignored column is nested too deeply."""
    try:
        return orjson.dumps(row, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:
        raise Refused(
            422, f"{row_place(number)} is nested too deeply: send only the columns of the model."
        ) from None


def _stacked(parts: list[Any]) -> Any:
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def _plainly(problem: Exception) -> str:
    """Return why a row cannot be learned, without the parts for users of scikit-learn."""
    text = re.sub(r" \(the rows before it were learned\)\.?$", "", str(problem)).rstrip(".")
    text = re.sub(r"^Row \d+ \(index (\d+)\)", r"rows[\1]", text)
    return f"{text}; nothing of the request was learned."
