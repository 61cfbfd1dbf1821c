"""Compiled loops on disk, checked before use and compiled by one process at a time.

numba's own cache trusts its files: a truncated file breaks every later run, and a full disk breaks
the run that compiles. It also keys files by the source file of the function alone, so an edit of an
*imported* file is not noticed. Here a file is one loop for one signature::

    magic, SHA-256 of the rest, pickle of (signature, processor, what numba needs)

in a folder named by a hash over every file of ``compiled/``, to which only this user can write.
Files with a wrong checksum are compiled again. Processes that need the same loop at the same time
wait for the one that compiles it. Loops with a rule from another package are not cached.
"""

import hashlib
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from linsep._system.caches import (
    CacheFiles,
    UnsafeFolder,
    cache_folder,
    open_own,
    private_folder,
    trim_cache,
    warn_without,
)
from linsep._system.files import scratch_file
from linsep.compiled import counted

MAGIC = b"linsep\0C"
DIGEST = hashlib.sha256().digest_size
# About a hundred versions of the source.
MOST_BYTES = 500e6
#: seconds after which a waiting process compiles the loop itself
LOCK_SECONDS = 120.0
CODE = CacheFiles(re.compile(r"[\w.]+-[0-9a-f]{16}\.code"), MAGIC)
LOCKS = CacheFiles(re.compile(r"[\w.]+-[0-9a-f]{16}\.lock"), b"")
VERSION = re.compile(r"[0-9a-f]{16}")
HERE = Path(__file__).resolve().parent
SLOW = "so every run compiles its loops again, which takes seconds"
ELSEWHERE = "set LINSEP_CACHE_DIR to a folder that only you can write"


def source_hash(folder: Path = HERE) -> str:
    """Return a hash of all Python files below ``folder``, and of the versions of the compiler."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(f"{sys.version} {numba.__version__} {llvmlite.__version__}".encode())
    return digest.hexdigest()[:16]


@cache
def code_folder() -> Path | None:
    """Return the folder for compiled code of this source, or None with a warning."""
    parent = cache_folder() / "compiled"
    try:
        folder = private_folder(parent) / source_hash()
        fresh = not folder.exists()
        folder = private_folder(folder)
        if fresh:
            _trim(folder)
    except UnsafeFolder as why:
        warn_without(f"Compiled code is not cached in {parent}, because {why}, {SLOW}", ELSEWHERE)
        return None
    except OSError as error:
        _warn_unwritable(parent, error)
        return None
    return folder


def _warn_unwritable(folder: Path, error: OSError) -> None:
    problem = f"Compiled code cannot be cached in {folder} ({error.strerror}), {SLOW}"
    warn_without(problem, "free some space there", "set LINSEP_CACHE_DIR to another folder")


def _trim(fresh: Path) -> None:
    """Remove the code of the oldest source versions, and no other file."""
    versions = [path for path in fresh.parent.iterdir() if VERSION.fullmatch(path.name)]
    entries = [CODE.files(version) for version in versions]
    trim_cache([files for files in entries if files], MOST_BYTES, CODE.files(fresh))
    for version in versions:
        if version != fresh and not CODE.files(version):
            for lock in LOCKS.files(version):
                lock.unlink(missing_ok=True)
            with suppress(OSError):  # it holds other files, or is gone already
                version.rmdir()


def is_ours(kind: Any) -> bool:
    """Return whether a numba type, or a tuple of types, uses only this package's classes.

    The source hash does not cover other classes, such as the rule of a learner defined elsewhere.
    """
    if isinstance(kind, tuple):
        return all(map(is_ours, kind))
    module = getattr(getattr(kind, "instance_class", None), "__module__", __package__)
    ours = module.partition(".")[0] == __package__.partition(".")[0]
    return ours and is_ours(tuple(getattr(kind, "types", ())))


class CodeCache(_Cache):
    """The cache that numba uses for one function, by signature."""

    def __init__(self, function: Callable):
        code = function.__code__
        self._name = f"{Path(code.co_filename).stem}.{function.__name__}"
        self._key = (function.__qualname__, code.co_firstlineno)
        self._found: dict[Any, Any] = {}

    @property
    def cache_path(self) -> str:
        """The folder, as numba reports it."""
        return str(code_folder())

    @contextmanager
    def alone(self, signature: Any, context: Any) -> Iterator[None]:
        """Hold the lock on ``signature`` while the block loads or compiles it.

        Machine code needs only numba's memory manager. The compiler itself takes a third of a
        second to load, only when needed.
        """
        rtsys.initialize(context)
        path = self._path(signature, context.codegen())
        with ExitStack() as stack:
            if path is not None:
                self._look_up(path, signature, context)
                if signature not in self._found:
                    _lock(path.with_suffix(".lock"), stack)
                    self._look_up(path, signature, context)
            if signature not in self._found:
                stack.enter_context(counted())
            yield

    def _look_up(self, path: Path, signature: Any, context: Any) -> None:
        found = read_code(path, self._about(signature, context.codegen()))
        if found is not None:
            self._found[signature] = found

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what :meth:`alone` has loaded, in numba's form, or None."""
        if sig not in self._found:
            return None
        return CompileResult._rebuild(target_context, *self._found.pop(sig))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled function, or warn once if that fails."""
        path = self._path(sig, data.codegen)
        if path is None or data.library.has_dynamic_globals or any(data.lifted):
            return
        try:
            write_code(path, self._about(sig, data.codegen), data._reduce())
        except OSError as error:
            _warn_unwritable(path.parent, error)

    def _about(self, signature: Any, codegen: Any) -> tuple:
        return (*self._key, signature, codegen.magic_tuple())

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        folder = code_folder() if is_ours(signature) else None
        key = repr((self._key, str(signature), codegen.magic_tuple())).encode()
        name = f"{self._name}-{hashlib.sha256(key).hexdigest()[:16]}.code"
        return None if folder is None else folder / name

    def enable(self) -> None:
        """Nothing to do: it is always enabled, and writing replaces files."""

    disable = flush = enable


def read_code(path: Path, about: tuple) -> Any:
    """Read a file of :func:`write_code`; None if it is missing, damaged or not about ``about``."""
    try:
        with os.fdopen(open_own(path), "rb") as file:
            head, content = file.read(len(MAGIC) + DIGEST), file.read()
    except OSError:
        return None
    if head != MAGIC + hashlib.sha256(content).digest():
        return None
    written, compiled = pickle.loads(content)
    return compiled if written == about else None


def write_code(path: Path, about: tuple, compiled: Any) -> None:
    """Write a compiled function to its place atomically; raises OSError if that fails."""
    content = dumps((about, compiled))
    descriptor, temporary = scratch_file(path.parent, path.stem)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(MAGIC + hashlib.sha256(content).digest() + content)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _lock(path: Path, stack: ExitStack) -> None:
    """Lock a file until the stack ends; continue without the lock if it is unavailable."""
    from filelock import FileLock, Timeout  # needed for compiling only

    # The other process may be suspended, or the disk full. Compiling twice costs only time.
    with suppress(Timeout, OSError, NotImplementedError):
        stack.enter_context(FileLock(path, LOCK_SECONDS, mode=0o600))
