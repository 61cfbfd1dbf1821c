"""One server a log: by its name, and by the file itself, whatever it is called.

SQLite keeps the last rows beside the name of a file: a server that had the same file by another
name would neither see nor keep them.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from linsep.errors import LinsepError


class LogError(LinsepError):
    """A log is damaged, of another model, used by another server, or cannot be written."""


class LogLock:
    """The lock on a log; raises LogError if another server has it.

    Parameters
    ----------
    path : Path of the log, no symbolic link
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
        """Lock the file itself, an empty one if there is none; OSError if it cannot be opened."""
        self._check_names()
        wal = self._beside[1]
        if not _size(self.path) and _size(wal):  # SQLite would remove them
            raise LogError(
                f"{self.path} is gone, and {wal.name} has rows of it: put it back, or move "
                f"{wal.name} away."
            )
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
                    f"{path} was moved or removed while {'it' if path == self.path else 'the log'} "
                    "was served: put it back, or start the server again"
                )
        self._check_names()

    def is_moved(self) -> bool:
        """Return whether the file has another name now."""
        if self._file < 0 or self.path not in self._seen:
            return False
        return os.fstat(self._file).st_nlink > 0 and _identity(self.path) != self._seen[self.path]

    def release(self, undo: bool = False) -> None:
        """Let other servers have the log; ``undo`` also removes a lock file that this one made."""
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
                    f"{self.path} is a file with {links} names (hard links), and its last rows are "
                    "beside one of them: remove the others."
                )

    def _used(self) -> LogError:
        return LogError(f"{self.path} is used by another server: stop it, or name another log.")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from others, None if it is not there."""
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
