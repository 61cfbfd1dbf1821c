"""Online learning of a served model: rows are logged first, then the model with them is served.

One thread writes. It tries each row on its own copy of the model, the tip, so a row that the
learner refuses is never logged. Requests that arrive during a transaction share the next one.
"""

import asyncio
import copy
import re
import sqlite3
from collections import Counter, deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from linsep import KernelPerceptron
from linsep.batches import join
from linsep.errors import LinsepError
from linsep.serving.limits import NO_LIMITS, Budget, Refused
from linsep.serving.log import Entry, RowLog
from linsep.serving.model import Served
from linsep.serving.requests import fields_of
from linsep.serving.rows import start_of
from linsep.validation.checks import of_features
from linsep.words import a

#: requests that are committed together
MOST_AT_ONCE = 100
LONGEST_ID = 200


@dataclass
class LabeledRows:
    """Rows of a request: in their logged form, their features, and their labels; and the answer:
    numbers of new rows, of rows sent again, and of all rows in the log.
    """

    entries: list[Entry]
    X: Any
    y: np.ndarray
    outcome: dict[str, int] | Exception | None = None


def can_learn(model: Any) -> str | None:
    """Return why a model cannot learn rows one by one, None if it can."""
    if not hasattr(model, "check_partial_fit"):  # sums of naive Bayes depend on how rows are split
        return f"is {a(type(model).__name__)}, which does not support online learning"
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


def labels_of(labels: list[Any], served: Served) -> np.ndarray:
    """Return the labels of a request as labels of the model; raise Refused for an unknown one."""
    codes = {(type(label) is bool, label): code for code, label in enumerate(served.labels)}
    found = []
    for number, label in enumerate(labels):
        key = (type(label) is bool, label)
        if isinstance(label, list | dict) or key not in codes:
            why = f"is {start_of(label)}, not a class of the model: {start_of(served.labels)}."
            raise Refused(422, f"labels[{number}] {why}")
        found.append(codes[key])
    return served.model.classes_[found]


class Learning:
    """The log, the writer, and the served model that follows them.

    Raises LinsepError if the model does not support online learning, or the log cannot be used.
    """

    def __init__(self, path: Path, served: Served):
        if (why := can_learn(served.model)) is not None:
            raise LinsepError(f"{served.name} {why}: serve it without --log.", code="unsupported")
        self.served, self._tip = served, copy.deepcopy(served.model)
        with suppress(LinsepError, ValueError):  # this compiles the loops of the learner
            budget, reader = Budget(NO_LIMITS), served.reader
            X = served.features(reader.normal([reader.example()], budget), budget)
            learn_in_order(copy.deepcopy(self._tip), X, served.model.classes_[:1])
        self._waiting: deque[LabeledRows] = deque()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self.log = RowLog(path, served.digest)
        try:
            for entries in self.log.entries():
                learn_in_order(self._tip, *self._read(entries))
        except (LinsepError, Refused, ValueError) as problem:
            self.log.close()
            what = f"cannot be replayed ({problem}): use the version of linsep that wrote it."
            raise self.log.error(what, "other-version") from None
        self.served = served.after(copy.deepcopy(self._tip), self.log.n_rows)

    def _read(self, entries: Iterable[Entry]) -> tuple[Any, np.ndarray]:
        """Return the features and labels of logged rows."""
        rows, labels = zip(*(map(orjson.loads, entry[1:]) for entry in entries), strict=True)
        return self.served.features([*rows], Budget(NO_LIMITS)), labels_of([*labels], self.served)

    def labeled(self, body: bytes, budget: Budget) -> LabeledRows:
        """Return the checked rows of a request; raise LinsepError or Refused for invalid ones."""
        ids, rows, labels = fields_of(body, ("ids", "rows", "labels"), self.served.limits)
        for number, id in enumerate(ids):
            if type(id) is not str or not 0 < len(id) <= LONGEST_ID or not id.isprintable():
                why = f"is not an ID: give 1 to {LONGEST_ID} printable characters."
                raise Refused(422, f"ids[{number}] {why}")
        ((again, times),) = Counter(ids).most_common(1)
        if times > 1:
            raise Refused(422, f"ids has {again!r} {times} times: give each row its own ID.")
        y = labels_of(labels, self.served)
        rows = self.served.reader.normal(rows, budget)
        X = self.served.features(rows, budget)
        texts = ([orjson.dumps(value).decode() for value in part] for part in (rows, labels))
        return LabeledRows([Entry(*entry) for entry in zip(ids, *texts, strict=True)], X, y)

    async def learned(self, rows: LabeledRows) -> dict[str, int]:
        """Return when the rows are logged and learned; raise Refused if they are not."""
        self._waiting.append(rows)
        await asyncio.get_running_loop().run_in_executor(self._writer, self._turn, rows)
        if isinstance(rows.outcome, dict):
            return rows.outcome
        raise self._refusal(rows.outcome)

    def _turn(self, rows: LabeledRows) -> None:
        """Log and learn all rows that wait, unless the turn of an earlier request took these."""
        if rows.outcome is not None:
            return
        group = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]
        try:
            self._learn(group)
        except Exception:
            for one in group:  # only the requests with bad rows are refused
                try:
                    self._learn([one])
                except Exception as problem:
                    one.outcome = problem

    def _learn(self, group: list[LabeledRows]) -> None:
        """Learn and log the rows of requests that are not in the log yet, all or none."""
        new: dict[str, Entry] = {}
        outcomes, parts = list[dict[str, int]](), list[tuple[Any, np.ndarray]]()
        try:
            for rows in group:
                fresh = self._fresh(rows, new)
                parts.append((rows.X[fresh], rows.y[fresh]))
                new |= {rows.entries[k].id: rows.entries[k] for k in fresh}
                known, total = len(rows.entries) - len(fresh), self.log.n_rows + len(new)
                outcomes.append({"learned": len(fresh), "duplicates": known, "rows": total})
            if new:
                X, y = zip(*parts, strict=True)
                learn_in_order(self._tip, join([*X], X[0].shape[1]), np.concatenate(y))
                arrays = self._tip.fitted_run().state.shaped.values()
                if not all(np.isfinite(array).all() for array in arrays):  # no row could be learned
                    raise ValueError("A weight would overflow float64; scale the features")
                served = self.served.after(copy.deepcopy(self._tip), total)
                self.log.append(new.values())
                self.served = served
        except Exception:
            self._tip = copy.deepcopy(self.served.model)
            raise
        for rows, outcome in zip(group, outcomes, strict=True):
            rows.outcome = outcome

    def _refusal(self, problem: Any) -> Exception:
        """Return what says to a client why its rows were not learned."""
        if isinstance(problem, sqlite3.Error):
            return Refused(503, f"{self.log.path} cannot be written ({problem}).")
        if isinstance(problem, ValueError):  # without the parts for users of scikit-learn
            text = re.sub(r"( \(the rows before it were \w+\))?\.?$", "", str(problem))
            return Refused(422, f"{text}; nothing of the request was learned.")
        return problem

    def _fresh(self, rows: LabeledRows, new: dict[str, Entry]) -> list[int]:
        """Return the indices of rows not in the log yet; raise Refused for an ID of another row."""
        fresh = []
        for number, entry in enumerate(rows.entries):
            known = new.get(entry.id) or self.log.find(entry.id)
            if known is None:
                fresh.append(number)
            elif known != entry and not self._same(known, entry):
                why = f"ids[{number}] is {entry.id!r}, which belongs to a different row"
                raise Refused(409, f"{why}: give each row its own ID.")
        return fresh

    def _same(self, *entries: Entry) -> bool:
        """Return whether two rows have the same features and label, if written differently."""
        X, y = self._read(entries)
        return y[0] == y[1] and abs(X[:1] - X[1:]).sum() == 0

    def close(self) -> None:
        """End after what was begun, and close the log."""
        self._writer.shutdown(cancel_futures=True)
        self.log.close()
