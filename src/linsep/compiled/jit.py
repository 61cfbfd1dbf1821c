"""Two decorators for every hot loop, and a compile cache that is never older than the source.

numba keys its cache by the file a function stands in, so an edit of an *imported* file would go
unseen. Here the key is one hash over every file of this folder: any edit makes a new cache.
"""

import hashlib
import inspect
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core.caching import CacheImpl, _CacheLocator
from numba.extending import overload

from linsep.paths import cache_folder, trim

# About a hundred versions of the source.
MOST_BYTES = 500e6
HERE = Path(__file__).resolve().parent
# NaN and infinity must keep their meaning, because the walks notice bad rows by them: where sums
# may be reordered, even `x - x` becomes 0 and isfinite is lost. So only the dense dot product,
# which gains SIMD by it, is reordered; sums over scattered weights would lose, gathers being slow.
STRICT = {"contract", "nsz"}
REORDERED = STRICT | {"reassoc", "arcp"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": STRICT}
INLINED = OPTIONS | {"forceinline": True}
# Reading a number must give the very bits Python gives: nothing fused, -0.0 kept.
EXACT = OPTIONS | {"fastmath": False}


def source_hash(folder: Path = HERE) -> str:
    """Hash over the names and contents of every Python file in ``folder``."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _writable_cache() -> Path | None:
    """The folder for compiled code of exactly this source, or None where nothing can be written."""
    folder = cache_folder() / "compiled" / source_hash()
    try:
        fresh = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        if fresh:
            trim(folder.parent.iterdir(), MOST_BYTES, folder)
    except OSError:
        return None
    return folder


CACHE = _writable_cache()
# False under NUMBA_DISABLE_JIT=1, where every loop runs as the plain Python it is written in.
COMPILING = not getattr(config, "DISABLE_JIT", 0)


class _WholePackageLocator(_CacheLocator):
    """Finds the cache of functions in this folder by the hash of the whole folder."""

    def __init__(self, py_func: Callable, py_file: str):
        self._name = f"{Path(py_file).stem}-{py_func.__code__.co_firstlineno}"

    def get_cache_path(self) -> str:
        return str(CACHE)

    def get_source_stamp(self) -> str:
        assert CACHE is not None
        return CACHE.name

    def get_disambiguator(self) -> str:
        return self._name

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str) -> "_WholePackageLocator | None":
        inside = CACHE is not None and Path(py_file).resolve().parent == HERE
        return cls(py_func, py_file) if inside else None


CacheImpl._locator_classes.insert(0, _WholePackageLocator)


@contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """Let Ctrl-C take effect after the block only.

    LLVM calls back into Python, where KeyboardInterrupt is swallowed; elsewhere in the compiler it
    leaves half a function behind, and the process may crash as it ends.
    """
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not main or before is None:  # other threads see no signals; None is not Python's to put back
        yield
        return
    pressed: list[Any] = []
    signal.signal(signal.SIGINT, lambda *about: pressed.append(about))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)


def _compiling_whole(loop: Any) -> Any:
    """The same loop; Ctrl-C waits while it is compiled, or loaded from the cache."""
    if COMPILING:
        loop.compile = ctrl_c_waits()(loop.compile)
    return loop


def compiled(function: Callable) -> Any:
    """Compile a loop: no GIL, kept on disk; multiplications and additions may be fused."""
    return _compiling_whole(njit(cache=CACHE is not None, **OPTIONS)(function))


def exact(function: Callable, **options: Any) -> Any:
    """Compile a loop as :func:`compiled` does, but with every float operation as it is written."""
    return _compiling_whole(njit(cache=CACHE is not None, **EXACT, **options)(function))


def inlined(function: Callable) -> Any:
    """Compile a piece of a loop into its callers."""
    return njit(**INLINED)(function)


def generic(argument: int) -> Callable[[Callable], Any]:
    """Make a function whose body is chosen by the NamedTuple class of one positional argument.

    Compiled, the choice is made while compiling and the body is inlined; with the compiler
    switched off it is an ordinary look-up. Bodies are added with ``@name.when(Class)``.
    """

    def make(declared: Callable) -> Any:
        bodies: dict[type, Callable] = {}
        names = ", ".join(inspect.signature(declared).parameters)

        def call(*args: Any) -> Any:
            return bodies[type(args[argument])](*args)

        def choose(*args: Any) -> Callable | None:
            body = bodies.get(getattr(args[argument], "instance_class", type(None)))
            # numba wants a function with these very argument names, which only eval can make.
            return body and eval(f"lambda {names}: body({names})", {"body": body})

        def when(kind: type, reorder: bool = False) -> Callable[[Callable], Callable]:
            flags = INLINED | {"fastmath": REORDERED if reorder else STRICT}

            def add(body: Callable) -> Callable:
                bodies[kind] = njit(**flags)(body)
                return body

            return add

        call.__name__, call.__doc__ = declared.__name__, declared.__doc__
        call.when = when  # type: ignore[attr-defined]
        if COMPILING:
            overload(call, strict=False, jit_options=INLINED)(choose)
        return call

    return make
