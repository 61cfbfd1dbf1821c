"""The log of the rows that a served model has learnt: append-only, durable, checked.

An SQLite database in WAL mode that is synchronised at every commit. Each row has a seal, a hash of
itself and of the seal before it, the first of the model: rows that were edited, removed or put in
another order do not match. It is no signature: who can write the file can compute the seals.
Snapshots are model files beside the log; the log says after which row each was taken, and has the
hash of its file.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from linsep.scratch import sync_folder
from linsep.serving.log_lock import LogError, LogLock
from linsep.written import check_free

FORMAT = "1"
#: "lsep", in the header of the file
APPLICATION = 0x6C736570
#: rows read at once
SLICE = 2_000
SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rows (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, row TEXT NOT NULL, label TEXT NOT NULL,
    seal BLOB NOT NULL
);
CREATE TABLE snapshots (number INTEGER PRIMARY KEY, file TEXT NOT NULL, seal BLOB NOT NULL);
"""


class Entry(NamedTuple):
    """A row that was learnt: its id, and the row and its label as JSON."""

    id: str
    row: str
    label: str


class Snapshot(NamedTuple):
    """A model file after the first ``number`` rows."""

    number: int
    path: Path


class Log:
    """A log on disk, opened by one server at a time.

    Parameters
    ----------
    path : Path
        Created if it does not exist.
    model : str
        SHA-256 of the file of the model that the rows are learnt by, in hexadecimal. A log belongs
        to one model.

    Attributes
    ----------
    n_rows : int

    Raises
    ------
    LogError
        In one sentence, if the log cannot be used.
    """

    def __init__(self, path: Path, model: str):
        if path.is_symlink():  # the lock and the snapshots are beside the file itself
            path = Path(os.path.realpath(path))
        self.path, self._model = path, model
        check_free(path, force=True)  # the lock would make folders
        try:
            self._lock = LogLock(path)
        except OSError as problem:
            raise self._unwritable(problem) from None
        try:
            self._open()
        except BaseException:
            self._end(undo=True)
            raise

    def _open(self) -> None:
        new = not self.path.exists()
        try:
            self._lock.hold_file()
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            if not new:
                self._check_kind()
            (mode,) = self._db.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise LogError(
                    f"{self.path} is on a file system without shared memory, as network folders "
                    "are: name a log on a local disk."
                )
            self._db.execute("PRAGMA synchronous = FULL")
            if new:
                self._create()
            self._check_model()
            self.n_rows, self._seal = self._checked()
            self._lock.hold_names()
        except sqlite3.Error as problem:
            raise self._damaged(problem) from None
        except OSError as problem:
            raise self._unwritable(problem) from None

    def _create(self) -> None:
        self._db.execute(f"PRAGMA application_id = {APPLICATION}")
        self._db.executescript(f"BEGIN;{SCHEMA}")
        about = [("format", FORMAT), ("model", self._model)]
        self._db.executemany("INSERT INTO about VALUES (?, ?)", about)
        self._db.execute("COMMIT")
        sync_folder(self.path.parent)

    def _check_kind(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION and (tables or self.path.stat().st_size):
            raise LogError(f"{self.path} is not a log of linsep serve: name another file.")
        if not tables:  # killed while it was created
            self._create()

    def _check_model(self) -> None:
        about = dict(self._db.execute("SELECT name, value FROM about"))
        if about.get("format") != FORMAT:
            raise LogError(
                f"{self.path} has log format {about.get('format')!r}, this linsep reads {FORMAT}: "
                "use the linsep that wrote it."
            )
        if about.get("model") != self._model:
            raise LogError(
                f"{self.path} belongs to another model (its SHA-256 begins with "
                f"{str(about.get('model'))[:16]}): serve that model, or name another log."
            )

    def _checked(self) -> tuple[int, bytes]:
        """Return the number of rows and the last seal, after checking all."""
        seal, count = bytes.fromhex(self._model), 0
        seals = {0: seal}
        kept = {number for (number,) in self._db.execute("SELECT number FROM snapshots")}
        query = "SELECT number, id, row, label, seal FROM rows ORDER BY number"
        for number, *entry, given in self._db.execute(query):
            count += 1
            seal = sealed(seal, Entry(*entry)) if all(type(x) is str for x in entry) else b""
            if number != count or seal != given:
                raise LogError(
                    f"{self.path} was altered (row {count:,} does not match its seal): put back a "
                    "copy of it."
                )
            if number in kept:
                seals[number] = seal
        for number, given in self._db.execute("SELECT number, seal FROM snapshots"):
            if seals.get(number) != given:
                raise LogError(
                    f"{self.path} was cut short or altered (it has {count:,} rows, and a snapshot "
                    f"after row {number:,}): put back a copy of it."
                )
        return count, seal

    def entries(self, after: int) -> Iterator[list[Entry]]:
        """Yield the rows after the first ``after``, in order, some at a time."""
        while True:
            query = "SELECT id, row, label FROM rows WHERE number > ? ORDER BY number LIMIT ?"
            found = [Entry(*row) for row in self._db.execute(query, (after, SLICE))]
            if not found:
                return
            yield found
            after += len(found)

    def check(self) -> None:
        """Raise LogError if another server could have the log by now, or rows could be lost."""
        self._lock.check()

    def find(self, id: str) -> Entry | None:
        """Return the row of this id, None if there is none; LogError if it cannot be read."""
        query = "SELECT id, row, label FROM rows WHERE id = ?"
        try:
            found = self._db.execute(query, (id,)).fetchone()
        except sqlite3.Error as problem:
            raise LogError(f"{self.path} cannot be read ({problem})") from None
        return None if found is None else Entry(*found)

    def append(self, entries: Iterable[Entry]) -> None:
        """Add rows in one transaction; they are on disk when this returns.

        Raises LogError if they cannot be written; then none is added.
        """
        self.check()
        seal, number, rows = self._seal, self.n_rows, []
        for entry in entries:
            seal, number = sealed(seal, entry), number + 1
            rows.append((number, *entry, seal))
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", rows)
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as problem:
            raise LogError(f"{self.path} cannot be written ({problem})") from None
        self._seal, self.n_rows = seal, number

    def newest(self, say: Callable[[str], None]) -> Snapshot | None:
        """Return the newest snapshot whose file is there and as it was written; ``say`` is told of
        others, such as that of a log of the same name.
        """
        known = dict(self._db.execute("SELECT name, value FROM about"))
        query = "SELECT number, file FROM snapshots ORDER BY number DESC"
        for number, file in self._db.execute(query):
            path = self.path.parent / Path(file).name
            if path.is_file():
                if _digest(path) == known.get(f"snapshot {number}"):
                    return Snapshot(number, path)
                say(f"{path} is not the snapshot that {self.path.name} names: its rows are learnt "
                    "again")  # fmt: skip
        return None

    def next_snapshot(self) -> Path:
        """Return the name of a snapshot of all rows."""
        return self.path.with_name(f"{self.path.name}-{self.n_rows}.linsep")

    def add_snapshot(self, path: Path) -> None:
        """Note a snapshot of all rows, whose file is written; forget and remove older ones."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM snapshots")
            row = (self.n_rows, path.name, self._seal)
            self._db.execute("INSERT INTO snapshots VALUES (?, ?, ?)", row)
            self._db.execute("DELETE FROM about WHERE name LIKE 'snapshot %'")
            row_about = (f"snapshot {self.n_rows}", _digest(path))
            self._db.execute("INSERT INTO about VALUES (?, ?)", row_about)
            self._db.execute("COMMIT")
        except sqlite3.Error as problem:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise LogError(f"{self.path} cannot be written ({problem})") from None
        self.sweep()

    def sweep(self) -> None:
        """Remove snapshots that the log does not name, as a server that was killed leaves them."""
        known = {file for (file,) in self._db.execute("SELECT file FROM snapshots")}
        for path in self.path.parent.iterdir():
            if is_snapshot(path.name, self.path.name) and path.name not in known:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file, and let other servers use it."""
        self._end(undo=False)

    def _end(self, undo: bool) -> None:
        if hasattr(self, "_db"):
            with suppress(sqlite3.Error):
                if self._lock.is_moved():  # the last rows would stay beside the name it had
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with suppress(sqlite3.Error):
                self._db.close()
        self._lock.release(undo)

    def _damaged(self, problem: sqlite3.Error) -> LogError:
        if "not a database" in str(problem):
            return LogError(f"{self.path} is not a log of linsep serve: name another file.")
        return LogError(f"{self.path} is damaged ({problem}): put back a copy of it.")

    def _unwritable(self, problem: OSError) -> LogError:
        return LogError(f"{self.path} cannot be written: {problem.strerror or problem}.")


def is_snapshot(name: str, log: str) -> bool:
    """Return whether a file beside a log has the name of one of its snapshots."""
    number = name.removeprefix(f"{log}-").removesuffix(".linsep")
    return number.isdecimal() and name == f"{log}-{number}.linsep"


def check_model_name(model: str, log: Path) -> None:
    """Raise LogError if a model has the name of a snapshot of a log, which would replace it."""
    file, log = Path(os.path.realpath(model)), Path(os.path.realpath(log))
    if file.parent == log.parent and is_snapshot(file.name, log.name):
        raise LogError(
            f"{model} has the name of a snapshot of {log.name}, which would replace it: rename "
            "the model, or name another log."
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(before: bytes, entry: Entry) -> bytes:
    """Return the seal of a row, from the seal before it."""
    return hashlib.sha256(before + orjson.dumps(list(entry))).digest()
