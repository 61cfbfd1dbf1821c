"""The log of the rows that a served model has learned: append-only, durable, checked.

An SQLite database in WAL mode that is synchronized at every commit. The rows form a hash chain:
each has a hash (``seal``) of itself and of the hash before it, the first of the model. Rows that
were edited, removed or reordered do not match. The chain is not a signature: anyone who can write
the file can recompute it. Snapshots are model files beside the log; the log stores the row after
which each was taken, and the hash of its file.

Only one server may open a log, by its name and by the file itself: SQLite stores the last rows
beside the name of a file, and a server that opened the same file by another name would neither see
nor keep them.
"""

import hashlib
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson
from filelock import FileLock, Timeout

from linsep._system.files import check_free, sync_folder
from linsep.errors import LinsepError

FORMAT = "1"
#: "lsep", in the header of the file
APPLICATION = 0x6C736570
#: rows read at once
ROWS_AT_ONCE = 2_000
SCHEMA = """
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


class Snapshot(NamedTuple):
    """A model file after the first ``number`` rows."""

    number: int
    path: Path


class LogError(LinsepError):
    """A log is damaged, belongs to another model, is in use, or cannot be written."""

    code = "damaged-file"


class LogLock:
    """The lock on a log; raises LogError if another server has it.

    Parameters
    ----------
    path : Path of the log, not a symbolic link
    """

    def __init__(self, path: Path):
        self.path, self._file = path, -1
        self._beside = [Path(f"{path}{ending}") for ending in (".lock", "-wal", "-shm")]
        self._fresh = not self._beside[0].exists()
        self._lock = FileLock(self._beside[0], thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise self._used() from None
        self._seen = {self._beside[0]: _identity(self._beside[0])}

    def hold_file(self) -> None:
        """Lock the file itself, created if missing; raise OSError if it cannot be opened."""
        self._check_names()
        wal = self._beside[1]
        if not _size(self.path) and _size(wal):  # SQLite would remove them
            raise LogError(
                f"{self.path} is missing, but {wal.name} has rows of it: restore it, or move "
                f"{wal.name} away.", path=self.path,
            )  # fmt: skip
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        if sys.platform == "linux":  # elsewhere SQLite's own locks would wait for this one
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise self._used() from None

    def hold_names(self) -> None:
        """Remember the files that SQLite has opened by now, and :meth:`check`."""
        found = os.fstat(self._file)
        self._seen[self.path] = found.st_dev, found.st_ino
        self._seen |= {path: _identity(path) for path in self._beside[1:]}
        self.check()

    def check(self) -> None:
        """Raise LogError if another server could have the log by now, or rows could be lost."""
        for path, seen in self._seen.items():
            if _identity(path) != seen:
                raise LogError(
                    f"{path} was moved or removed while "
                    f"{'it' if path == self.path else 'the log'} was served: restore it, or "
                    "restart the server", code="file-changed", path=path,
                )  # fmt: skip
        self._check_names()

    def is_moved(self) -> bool:
        """Return whether the file has another name now."""
        if self._file < 0 or self.path not in self._seen:
            return False
        return os.fstat(self._file).st_nlink > 0 and _identity(self.path) != self._seen[self.path]

    def release(self, undo: bool = False) -> None:
        """Release the log; ``undo`` also removes a lock file created by this object."""
        if undo and self._fresh:  # before others can have it; on Windows its release removes it
            with suppress(OSError):
                self._beside[0].unlink()
        if self._file >= 0:  # after SQLite, whose locks on a file end with any of its descriptors
            os.close(self._file)
            self._file = -1
        self._lock.release()

    def _check_names(self) -> None:
        """Raise LogError if the file has several names."""
        with suppress(FileNotFoundError):
            if (links := self.path.stat().st_nlink) > 1:
                raise LogError(
                    f"{self.path} is a file with {links} names (hard links), and its last rows "
                    "are stored beside one of them: remove the others.",
                    code="unsupported", path=self.path,
                )  # fmt: skip

    def _used(self) -> LogError:
        return LogError(
            f"{self.path} is used by another server: stop it, or name another log.",
            code="in-use", path=self.path,
        )  # fmt: skip


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

    Raises
    ------
    LogError
        If the log cannot be used.
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
                    f"{self.path} is on a file system without shared memory, such as a network "
                    "folder: name a log on a local disk.", code="unsupported", path=self.path,
                )  # fmt: skip
            self._db.execute("PRAGMA synchronous = FULL")
            if new:
                self._create()
            self._check_model()
            self.n_rows, self._seal = self._checked()
            self._lock.hold_names()
        except sqlite3.Error as problem:
            if "not a database" in str(problem):
                raise LogError(
                    f"{self.path} is not a log of linsep serve: name another file.",
                    code="wrong-format", path=self.path,
                ) from None  # fmt: skip
            raise LogError(
                f"{self.path} is damaged ({problem}): put back a copy of it.", path=self.path
            ) from None
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
            raise LogError(
                f"{self.path} is not a log of linsep serve: name another file.",
                code="wrong-format", path=self.path,
            )  # fmt: skip
        if not tables:  # killed while it was created
            self._create()

    def _check_model(self) -> None:
        about = dict(self._db.execute("SELECT name, value FROM about"))
        if about.get("format") != FORMAT:
            raise LogError(
                f"{self.path} has log format {about.get('format')!r}, but this version of linsep "
                f"reads {FORMAT}: use the version that wrote it.",
                code="other-version", path=self.path,
            )  # fmt: skip
        if about.get("model") != self._model:
            raise LogError(
                f"{self.path} belongs to another model (its SHA-256 begins with "
                f"{str(about.get('model'))[:16]}): serve that model, or name another log.",
                code="other-model", path=self.path,
            )  # fmt: skip

    def _checked(self) -> tuple[int, bytes]:
        """Return the number of rows and the last hash, after checking the chain."""
        seal, count = bytes.fromhex(self._model), 0
        seals = {0: seal}
        kept = {number for (number,) in self._db.execute("SELECT number FROM snapshots")}
        query = "SELECT number, id, row, label, seal FROM rows ORDER BY number"
        for number, *entry, given in self._db.execute(query):
            count += 1
            seal = sealed(seal, Entry(*entry)) if all(type(x) is str for x in entry) else b""
            if number != count or seal != given:
                raise LogError(
                    f"{self.path} was altered (row {count:,} does not match its hash): restore a "
                    "backup.", path=self.path, row=count,
                )  # fmt: skip
            if number in kept:
                seals[number] = seal
        for number, given in self._db.execute("SELECT number, seal FROM snapshots"):
            if seals.get(number) != given:
                raise LogError(
                    f"{self.path} was cut short or altered (it has {count:,} rows, and a snapshot "
                    f"after row {number:,}): put back a copy of it.", path=self.path,
                )  # fmt: skip
        return count, seal

    def entries(self, after: int) -> Iterator[list[Entry]]:
        """Yield the rows after the first ``after``, in order, some at a time."""
        while True:
            query = "SELECT id, row, label FROM rows WHERE number > ? ORDER BY number LIMIT ?"
            found = [Entry(*row) for row in self._db.execute(query, (after, ROWS_AT_ONCE))]
            if not found:
                return
            yield found
            after += len(found)

    def check(self) -> None:
        """Raise LogError if another server could have the log by now, or rows could be lost."""
        self._lock.check()

    def find(self, id: str) -> Entry | None:
        """Return the row of this ID, or None; raise LogError if it cannot be read."""
        query = "SELECT id, row, label FROM rows WHERE id = ?"
        try:
            found = self._db.execute(query, (id,)).fetchone()
        except sqlite3.Error as problem:
            raise LogError(
                f"{self.path} cannot be read ({problem})", code="cannot-read", path=self.path
            ) from None
        return None if found is None else Entry(*found)

    def append(self, entries: Iterable[Entry]) -> None:
        """Add rows in one transaction; they are on disk when this returns.

        Raises LogError if they cannot be written; then no row is added.
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
            raise LogError(
                f"{self.path} cannot be written ({problem})", code="cannot-write", path=self.path
            ) from None
        self._seal, self.n_rows = seal, number

    def newest(self, say: Callable[[str], None]) -> Snapshot | None:
        """Return the newest snapshot whose file exists and is unchanged; other files, such as a
        snapshot of another log of the same name, are reported by ``say``.
        """
        known = dict(self._db.execute("SELECT name, value FROM about"))
        query = "SELECT number, file FROM snapshots ORDER BY number DESC"
        for number, file in self._db.execute(query):
            path = self.path.parent / Path(file).name
            if path.is_file():
                if digest_of(path) == known.get(f"snapshot {number}"):
                    return Snapshot(number, path)
                say(f"{path} is not the snapshot recorded in {self.path.name}: its rows are "
                    "learned again")  # fmt: skip
        return None

    def next_snapshot(self) -> Path:
        """Return the name of a snapshot of all rows."""
        return self.path.with_name(f"{self.path.name}-{self.n_rows}.linsep")

    def add_snapshot(self, path: Path) -> None:
        """Record a snapshot of all rows, whose file is written; remove older snapshots."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM snapshots")
            row = (self.n_rows, path.name, self._seal)
            self._db.execute("INSERT INTO snapshots VALUES (?, ?, ?)", row)
            self._db.execute("DELETE FROM about WHERE name LIKE 'snapshot %'")
            row_about = (f"snapshot {self.n_rows}", digest_of(path))
            self._db.execute("INSERT INTO about VALUES (?, ?)", row_about)
            self._db.execute("COMMIT")
        except sqlite3.Error as problem:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise LogError(
                f"{self.path} cannot be written ({problem})", code="cannot-write", path=self.path
            ) from None
        self.sweep()

    def sweep(self) -> None:
        """Remove snapshots that the log does not name, left by a server that was killed."""
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

    def _unwritable(self, problem: OSError) -> LogError:
        return LogError(
            f"{self.path} cannot be written: {problem.strerror or problem}.",
            code="cannot-write", path=self.path,
        )  # fmt: skip


def is_snapshot(name: str, log: str) -> bool:
    """Return whether a file beside a log has the name of one of its snapshots."""
    number = name.removeprefix(f"{log}-").removesuffix(".linsep")
    return number.isdecimal() and name == f"{log}-{number}.linsep"


def check_model_name(model: str, log: Path) -> None:
    """Raise LogError if a snapshot of a log would replace a model of the same name."""
    file, log = Path(os.path.realpath(model)), Path(os.path.realpath(log))
    if file.parent == log.parent and is_snapshot(file.name, log.name):
        raise LogError(
            f"{model} has the name of a snapshot of {log.name}, which would replace it: rename "
            "the model, or name another log.", code="conflict", path=model,
        )  # fmt: skip


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(before: bytes, entry: Entry) -> bytes:
    """Return the hash of a row in the chain, from the hash before it."""
    return hashlib.sha256(before + orjson.dumps(list(entry))).digest()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the identity of a file, or None if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
