"""The log of the rows that a served model has learned: append-only, durable, checked.

An SQLite database in WAL mode that is synchronized at every commit. The rows form a hash chain:
each has a hash (``seal``) of itself and of the hash before it, the first of the model. Rows that
were edited, removed or reordered do not match. The chain is not a signature: anyone who can write
the file can recompute it. A snapshot is a model file beside the log; the log stores the row after
which it was taken, and the hash of its file.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson
from filelock import FileLock, Timeout

from linsep._system.files import check_free, sync_folder
from linsep.errors import LinsepError

FORMAT = "2"
#: "lsep", in the header of the file
APPLICATION = 0x6C736570
#: rows read at once
ROWS_AT_ONCE = 2_000
SCHEMA = """
BEGIN;
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rows (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, row TEXT NOT NULL, label TEXT NOT NULL,
    seal BLOB NOT NULL
);
CREATE TABLE snapshots (number INTEGER PRIMARY KEY, file TEXT NOT NULL, seal BLOB NOT NULL);
"""


class Entry(NamedTuple):
    """A row that was learned: its id, and the row and its label as JSON."""

    id: str
    row: str
    label: str


class LogError(LinsepError):
    """A log is damaged, belongs to another model, is in use, or cannot be written."""

    code = "damaged-file"


class RowLog:
    """A log on disk, opened by one server at a time.

    Parameters
    ----------
    path : Path
        Created if it does not exist.
    model : str
        SHA-256 of the model file, in hexadecimal. A log belongs to one model.

    Attributes
    ----------
    n_rows : int
    snapshot : Path of the snapshot

    Raises
    ------
    LogError
        If the log cannot be used.
    """

    def __init__(self, path: Path, model: str):
        if path.is_symlink():  # the lock and the snapshot are beside the file itself
            path = path.resolve()
        self.path = path
        self.snapshot = path.with_name(f"{path.name}.linsep")
        check_free(path, force=True)  # the lock would make folders
        self._lock = FileLock(f"{path}.lock", thread_local=False)
        try:
            self._lock.acquire(timeout=0)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except Timeout:
            raise self._error(
                "is used by another server: stop it, or name another log.", "in-use"
            ) from None
        except (OSError, sqlite3.Error) as problem:
            self._lock.release()
            raise self._error(f"cannot be written: {problem}.", "cannot-write") from None
        try:
            self._open(model)
        except sqlite3.Error as problem:
            self.close()
            raise self._error(f"is damaged ({problem}): put back a copy of it.") from None
        except BaseException:
            self.close()
            raise

    def _error(self, what: str, code: str = "damaged-file") -> LogError:
        return LogError(f"{self.path} {what}", code=code, path=self.path)

    def _open(self, model: str) -> None:
        try:
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.DatabaseError:
            tables, application = 1, 0
        if application != APPLICATION and tables:
            raise self._error("is not a log of linsep serve: name another file.", "wrong-format")
        (mode,) = self._db.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise self._error("is on a file system without shared memory, such as a network "
                              "folder: name a log on a local disk.", "unsupported")  # fmt: skip
        self._db.execute("PRAGMA synchronous = FULL")
        if not tables:
            self._db.execute(f"PRAGMA application_id = {APPLICATION}")
            self._db.executescript(SCHEMA)
            about = [("format", FORMAT), ("model", model)]
            self._db.executemany("INSERT INTO about VALUES (?, ?)", about)
            self._db.execute("COMMIT")
            sync_folder(self.path.parent)
        about_it = dict(self._db.execute("SELECT name, value FROM about"))
        if about_it.get("format") != FORMAT:
            raise self._error(f"has log format {about_it.get('format')!r}, but this version of "
                              f"linsep reads {FORMAT}: use the version that wrote it.",
                              "other-version")  # fmt: skip
        if about_it.get("model") != model:
            raise self._error("belongs to another model (its SHA-256 begins with "
                              f"{str(about_it.get('model'))[:16]}): serve that model, or name "
                              "another log.", "other-model")  # fmt: skip
        self.n_rows, self._seal = self._checked(model)

    def _checked(self, model: str) -> tuple[int, bytes]:
        """Return the number of rows and the last hash, after checking the chain."""
        seal, count = bytes.fromhex(model), 0
        kept = dict(self._db.execute("SELECT number, seal FROM snapshots"))
        query = "SELECT number, id, row, label, seal FROM rows ORDER BY number"
        for number, *entry, given in self._db.execute(query):
            count += 1
            seal = sealed(seal, Entry(*entry)) if all(type(x) is str for x in entry) else b""
            if number != count or seal != given or kept.pop(number, seal) != seal:
                raise LogError(
                    f"{self.path} was altered (row {count:,} does not match its hash): restore a "
                    "backup.", path=self.path, row=count,
                )  # fmt: skip
        if kept:
            raise self._error(f"was cut short (it has {count:,} rows, and a snapshot after row "
                              f"{max(kept):,}): put back a copy of it.")  # fmt: skip
        return count, seal

    def entries(self, after: int) -> Iterator[list[Entry]]:
        """Yield the rows after the first ``after``, in order, some at a time."""
        query = "SELECT id, row, label FROM rows WHERE number > ? ORDER BY number LIMIT ?"
        while found := [Entry(*row) for row in self._db.execute(query, (after, ROWS_AT_ONCE))]:
            yield found
            after += len(found)

    def find(self, id: str) -> Entry | None:
        """Return the row of this ID, or None; raise LogError if it cannot be read."""
        try:
            found = self._db.execute(
                "SELECT id, row, label FROM rows WHERE id = ?", (id,)
            ).fetchone()
        except sqlite3.Error as problem:
            raise self._error(f"cannot be read ({problem})", "cannot-read") from None
        return None if found is None else Entry(*found)

    def append(self, entries: Iterable[Entry]) -> None:
        """Add rows in one transaction; they are on disk when this returns.

        Raises LogError if they cannot be written; then no row is added.
        """
        seal, number, rows = self._seal, self.n_rows, []
        for entry in entries:
            seal, number = sealed(seal, entry), number + 1
            rows.append((number, *entry, seal))
        self._write(("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", rows))
        self._seal, self.n_rows = seal, number

    def _write(self, *statements: tuple[str, list[tuple]]) -> None:
        """Execute statements in one transaction."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for statement, values in statements:
                    self._db.executemany(statement, values)
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as problem:
            raise self._error(f"cannot be written ({problem})", "cannot-write") from None

    def snapshot_rows(self) -> int:
        """Return after how many rows the snapshot was taken; 0 without one that is unchanged."""
        query = "SELECT number, file FROM snapshots ORDER BY number DESC LIMIT 1"
        number, digest = self._db.execute(query).fetchone() or (0, "")
        with suppress(OSError):
            return number if digest_of(self.snapshot) == digest else 0
        return 0

    def add_snapshot(self) -> None:
        """Record the snapshot, whose file was written, as one of all rows."""
        row = (self.n_rows, digest_of(self.snapshot), self._seal)
        self._write(
            ("DELETE FROM snapshots WHERE number <> ?", [(0,)]),
            ("INSERT INTO snapshots VALUES (?, ?, ?)", [row]),
        )

    def close(self) -> None:
        """Close the file, and let other servers use it."""
        with suppress(sqlite3.Error):
            self._db.close()
        self._lock.release()


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(before: bytes, entry: Entry) -> bytes:
    """Return the hash of a row in the chain, from the hash before it."""
    return hashlib.sha256(before + orjson.dumps(list(entry))).digest()
