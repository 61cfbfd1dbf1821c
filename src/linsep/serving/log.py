"""The log of the rows that a served model has learned: append-only, durable, checked.

An SQLite database in WAL mode that is synchronized at every commit. The rows form a hash chain:
each has a hash (``seal``) of itself and of the hash before it, the first of the model. Rows that
were edited, removed or reordered do not match. The chain is not a signature: anyone who can write
the file can recompute it.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from linsep._system import check_free
from linsep._system.files import sync_folder
from linsep.errors import LinsepError

#: "lse" and the version of the format, in the header of the file
APPLICATION = 0x6C736503
#: rows read at once
ROWS_AT_ONCE = 2_000
SCHEMA = f"""
BEGIN;
PRAGMA application_id = {APPLICATION};
CREATE TABLE rows (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, row TEXT NOT NULL, label TEXT NOT NULL,
    seal BLOB NOT NULL
);
COMMIT;
"""


class Entry(NamedTuple):
    """A row that was learned: its id, and the row and its label as JSON."""

    id: str
    row: str
    label: str


class RowLog:
    """A log on disk, created if it does not exist, of the model with this SHA-256 in hexadecimal.

    One server at a time opens it. Raises LinsepError if it cannot be used.
    """

    def __init__(self, path: Path, model: str):
        self.path, self.n_rows, self._seal = path, 0, bytes.fromhex(model)
        check_free(path, force=True)  # the lock would make folders
        lock = FileLock(f"{path.resolve()}.lock", thread_local=False)
        with ExitStack() as undo:
            undo.callback(lock.release)
            try:
                lock.acquire(timeout=0)
                connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
                self._db = undo.enter_context(closing(connection))
                self._open()
            except Timeout:
                what = "is used by another server: stop it, or name another log."
                raise self.error(what, "in-use") from None
            except (OSError, sqlite3.Error) as problem:
                what = f"cannot be used ({problem}): check the file, or restore a backup."
                raise self.error(what) from None
            self._opened = undo.pop_all()

    def error(self, what: str, code: str = "damaged-file") -> LinsepError:
        """Return an error of this log."""
        return LinsepError(f"{self.path} {what}", code=code, path=self.path)

    def _open(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application != APPLICATION:
            what = "is not a log of this version of linsep serve: name another file."
            raise self.error(what, "wrong-format")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        if not tables:
            self._db.executescript(SCHEMA)
            sync_folder(self.path.parent)
        for number, *entry, seal in self._db.execute("SELECT * FROM rows ORDER BY number"):
            self._seal, self.n_rows = sealed(self._seal, Entry(*entry)), self.n_rows + 1
            if (number, seal) != (self.n_rows, self._seal):
                what = f"was altered in row {self.n_rows:,}, or belongs to another model"
                raise self.error(f"{what}: restore a backup, or serve that model.")

    def entries(self) -> Iterator[list[Entry]]:
        """Yield the rows in order, some at a time."""
        rows = self._db.execute("SELECT id, row, label FROM rows ORDER BY number")
        while found := rows.fetchmany(ROWS_AT_ONCE):
            yield [Entry(*row) for row in found]

    def find(self, id: str) -> Entry | None:
        """Return the row of this ID, or None."""
        found = self._db.execute("SELECT id, row, label FROM rows WHERE id = ?", (id,)).fetchone()
        return None if found is None else Entry(*found)

    def append(self, entries: Iterable[Entry]) -> None:
        """Add rows, which are on disk when this returns; all or, with sqlite3.Error, none."""
        seal, rows = self._seal, []
        for number, entry in enumerate(entries, self.n_rows + 1):
            seal = sealed(seal, entry)
            rows.append((number, *entry, seal))
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", rows)
        self._seal, self.n_rows = seal, self.n_rows + len(rows)

    def close(self) -> None:
        """Close the file, and let other servers use it."""
        self._opened.close()


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(before: bytes, entry: Entry) -> bytes:
    """Return the hash of a row in the chain, from the hash before it."""
    return hashlib.sha256(before + repr([*entry]).encode()).digest()
