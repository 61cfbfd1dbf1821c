"""The log of the rows that a served model has learned: append-only, durable, checked.

An SQLite database in WAL mode that is synchronized at every commit. The rows form a hash chain:
each has a hash (``seal``) of itself and of the hash before it, the first of the model. Rows that
were edited, removed or reordered do not match. The chain is not a signature: anyone who can write
the file can recompute it. A snapshot is a model file beside the log; the log stores the number of
rows before it, and the hash of its file.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import NamedTuple

import orjson
from filelock import FileLock, Timeout

from linsep._system.files import check_free, sync_folder
from linsep.errors import LinsepError

#: "lse" and the version of the format, in the header of the file
APPLICATION = 0x6C736503
#: rows read at once
ROWS_AT_ONCE = 2_000
SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
BEGIN;
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rows (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, row TEXT NOT NULL, label TEXT NOT NULL,
    seal BLOB NOT NULL
);
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
        self.path, file = path, path.resolve()  # the lock and the snapshot are beside the file
        self.snapshot = file.with_name(f"{file.name}.linsep")
        check_free(path, force=True)  # the lock would make folders
        lock = FileLock(f"{file}.lock", thread_local=False)
        with ExitStack() as undo:
            undo.callback(lock.release)
            try:
                lock.acquire(timeout=0)
                connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
                self._db = undo.enter_context(closing(connection))
                self._open(model)
            except Timeout:
                what = "is used by another server: stop it, or name another log."
                raise self.error(what, "in-use") from None
            except (OSError, sqlite3.Error) as problem:
                what = f"cannot be used ({problem}): check the file, or restore a backup."
                raise self.error(what) from None
            self._opened = undo.pop_all()

    def error(self, what: str, code: str = "damaged-file") -> LogError:
        """Return an error of this log."""
        return LogError(f"{self.path} {what}", code=code, path=self.path)

    def _open(self, model: str) -> None:
        try:
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.DatabaseError:
            tables, application = 1, 0
        if application != APPLICATION and tables:
            what = "is not a log of this version of linsep serve: name another file."
            raise self.error(what, "wrong-format")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        if not tables:
            self._db.executescript(SCHEMA)
            self._set(model=model)
            self._db.execute("COMMIT")
            sync_folder(self.path.parent)
        about = dict(self._db.execute("SELECT name, value FROM about"))
        if about.get("model") != model:
            raise self.error("belongs to another model (its SHA-256 begins with "
                              f"{str(about.get('model'))[:16]}): serve that model, or name "
                              "another log.", "other-model")  # fmt: skip
        self.n_rows, self._seal = 0, bytes.fromhex(model)
        query = "SELECT number, id, row, label, seal FROM rows ORDER BY number"
        for number, *entry, seal in self._db.execute(query):
            self.n_rows += 1
            whole = all(type(text) is str for text in entry)
            self._seal = sealed(self._seal, Entry(*entry)) if whole else b""
            if number != self.n_rows or seal != self._seal:
                raise self.error(
                    f"was altered (row {self.n_rows:,} does not match its hash): restore a backup."
                )
        known, _, self._digest = about.get("snapshot", "0 ").partition(" ")
        self._known = int(known)
        if self.n_rows < self._known:
            raise self.error(f"was cut short (it has {self.n_rows:,} rows, and a snapshot after "
                              f"row {self._known:,}): restore a backup.")  # fmt: skip

    def _set(self, **values: str) -> None:
        self._db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", values.items())

    def entries(self, after: int) -> Iterator[list[Entry]]:
        """Yield the rows after the first ``after``, in order, some at a time."""
        query = "SELECT id, row, label FROM rows WHERE number > ? ORDER BY number"
        rows = self._db.execute(query, (after,))
        while found := rows.fetchmany(ROWS_AT_ONCE):
            yield [Entry(*row) for row in found]

    def find(self, id: str) -> Entry | None:
        """Return the row of this ID, or None."""
        found = self._db.execute("SELECT id, row, label FROM rows WHERE id = ?", (id,)).fetchone()
        return None if found is None else Entry(*found)

    def append(self, entries: Iterable[Entry]) -> None:
        """Add rows in one transaction; they are on disk when this returns.

        Raises sqlite3.Error if they cannot be written; then no row is added.
        """
        seal, rows = self._seal, []
        for number, entry in enumerate(entries, self.n_rows + 1):
            seal = sealed(seal, entry)
            rows.append((number, *entry, seal))
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", rows)
        self._seal, self.n_rows = seal, self.n_rows + len(rows)

    def snapshot_rows(self) -> int:
        """Return after how many rows the snapshot was taken; 0 without one that is unchanged."""
        with suppress(OSError):
            return self._known if digest_of(self.snapshot) == self._digest else 0
        return 0

    def add_snapshot(self) -> None:
        """Record the snapshot, whose file was written, as one of all rows."""
        self._set(snapshot=f"{self.n_rows} {digest_of(self.snapshot)}")

    def close(self) -> None:
        """Close the file, and let other servers use it."""
        self._opened.close()


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(before: bytes, entry: Entry) -> bytes:
    """Return the hash of a row in the chain, from the hash before it."""
    return hashlib.sha256(before + orjson.dumps(list(entry))).digest()
