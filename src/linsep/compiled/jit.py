"""Decorators that compile hot loops and cache them on disk.

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
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

import llvmlite
import numba
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.core.caching import _Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.typed_passes import AnnotateTypes
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic

from linsep._system.files import (
    CacheFiles,
    UnsafeFolder,
    cache_folder,
    open_own,
    private_folder,
    scratch_file,
    trim_cache,
    warn_without,
)
from linsep._system.interrupts import interrupts_deferred
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
        path, about = self._place(signature, context.codegen())
        with ExitStack() as stack:
            found = None if path is None else read_code(path, about)
            if found is None and path is not None:
                _lock(path.with_suffix(".lock"), stack)
                found = read_code(path, about)
            if found is None:
                stack.enter_context(counted())
            else:
                self._found[signature] = found
            yield

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what :meth:`alone` has loaded, in numba's form, or None."""
        if sig not in self._found:
            return None
        return CompileResult._rebuild(target_context, *self._found.pop(sig))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled function, or warn once if that fails."""
        path, about = self._place(sig, data.codegen)
        if path is None or data.library.has_dynamic_globals or any(data.lifted):
            return
        try:
            write_code(path, about, data._reduce())
        except OSError as error:
            _warn_unwritable(path.parent, error)

    def _place(self, signature: Any, codegen: Any) -> tuple[Path | None, tuple]:
        """Return the file, None if the code is not kept, and what it is about."""
        folder = code_folder() if is_ours(signature) else None
        about = (*self._key, signature, codegen.magic_tuple())
        key = repr((self._key, str(signature), codegen.magic_tuple())).encode()
        name = f"{self._name}-{hashlib.sha256(key).hexdigest()[:16]}.code"
        return None if folder is None else folder / name, about

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


class _Piece(JITCodeLibrary):
    """A function to be linked into other libraries, as LLVM IR only."""

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the memory that numba would write to exists only with machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=True)
class _IntoPiece(LoweringPass):
    """Write the function to a :class:`_Piece`."""

    _name = "into_piece"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _Piece(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


class PieceCompiler(CompilerBase):
    """Compile a function that is only ever inlined, as far as its callers need it: numba's usual
    steps, ending in a :class:`_Piece`.

    numba also optimizes such a function on its own and emits machine code that is never called;
    LLVM optimizes it again wherever it is inlined. Without both steps, a loop compiles to the same
    code in two thirds of the time.
    """

    def define_pipelines(self) -> list[Any]:
        """Return the only pipeline."""
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.add_pass_after(_IntoPiece, AnnotateTypes)
        steps.finalize()
        return [steps]


# NaN and infinity must keep their meaning, because the loops detect bad rows by them: if sums may
# be reordered, even `x - x` becomes 0 and isfinite is lost. So only the dense dot product is
# reordered, to use SIMD; sums over scattered weights would get slower, as gathers are slow.
STRICT = {"contract", "nsz"}
REORDERED = STRICT | {"reassoc", "arcp"}
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": STRICT,
    "no_cfunc_wrapper": True,
}
INLINED = OPTIONS | {
    "forceinline": True,
    "no_cpython_wrapper": True,
    "pipeline_class": PieceCompiler,
}


# False under NUMBA_DISABLE_JIT=1, where every loop runs as plain Python.
COMPILING = not getattr(config, "DISABLE_JIT", 0)


def compiled(function: Callable, **options: Any) -> Any:
    """Compile a loop without the GIL, cached on disk; multiply-adds may be fused.

    Ctrl-C is deferred while it is compiled or loaded: LLVM calls back into Python, where
    KeyboardInterrupt is swallowed; elsewhere in the compiler it leaves a partial function behind,
    and the process may crash at exit.
    """
    loop = njit(**OPTIONS | options)(function)
    if not COMPILING:
        return loop
    compile_one, kept = loop.compile, CodeCache(function)
    loop._cache = kept

    def compile_once(signature: Any) -> Any:
        # Take numba's lock first: a thread that holds it while waiting for ours would deadlock.
        with interrupts_deferred(), global_compiler_lock:
            if signature in loop.overloads:
                return compile_one(signature)
            with kept.alone(signature, loop.targetctx):
                return compile_one(signature)

    loop.compile = compile_once
    return loop


#: a loop that keeps every float operation as written: parsed numbers must be bit-identical to
#: Python's, nothing fused, -0.0 kept
exact = partial(compiled, fastmath=False)


def direct(loop: Any, *arguments: Any) -> Any:
    """Return the machine code of a loop for arguments of these types: numba looks for it in every
    call, which takes longer than to learn a row.
    """
    if not COMPILING:
        return loop
    return loop.compile(tuple(map(loop.typeof_pyval, arguments)))


#: compiles a piece of a loop into its callers
inlined = partial(njit, **INLINED)
#: of exact loops, whose pieces are inlined where LLVM finds that it pays
part = partial(inlined, fastmath=False, forceinline=False)


def generic(argument: int) -> Callable[[Callable], Any]:
    """Make a function that dispatches on the NamedTuple class of one positional argument.

    The body is chosen and inlined at compile time; with the compiler disabled, it is looked up at
    each call. Bodies are added with ``@name.when(Class, ...)``. ``numba.extending.overload`` does
    the same and costs twice as much: it compiles a function that calls the body, and a body once
    more for every kind of caller.
    """

    def make(declared: Callable) -> Any:
        bodies: dict[type, Any] = {}

        def call(*args: Any) -> Any:
            return bodies[type(args[argument])](*args)

        def when(*kinds: type, reorder: bool = False) -> Callable[[Callable], Callable]:
            flags = INLINED | {"fastmath": REORDERED if reorder else STRICT}

            def add(body: Callable) -> Callable:
                bodies.update((kind, njit(**flags)(body)) for kind in kinds)
                return body

            return add

        call.__name__, call.__doc__ = declared.__name__, declared.__doc__
        call.when = when  # type: ignore[attr-defined]
        if not COMPILING:
            return call

        class Choice(AbstractTemplate):
            key = call
            made: ClassVar[dict[Any, Any]] = {}

            def generic(self, args: Any, kws: Any) -> Any:
                body = bodies.get(getattr(args[argument], "instance_class", type(None)))
                if body is None:
                    return None
                chosen = types.Dispatcher(body)
                signature = chosen.get_call_type(self.context, args, kws)
                self.made[signature.args] = chosen.get_overload(signature)
                return signature

            def get_impl_key(self, sig: Any) -> Any:
                return self.made[sig.args]

        infer_global(call, types.Function(Choice))
        return call

    return make


def prefetch(array, index):
    """Prefetch the cache line of ``array.flat[index]``; does nothing uncompiled."""


def _prefetch(typing_context, array, index):
    """llvm.prefetch of one element: for reading (0), to every cache (3), as data (1)."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(call, [address, *(ir.Constant(flag, v) for v in (0, 3, 1))])
        return context.get_dummy_value()

    return types.none(array, index), generate


def borrow(held):
    """Return an array, or NamedTuple of arrays, without reference counting.

    numba counts references to an array at each use of a tuple that holds it: two atomic
    operations per row, slower than the row's arithmetic. The caller must keep the array alive.
    """
    return held


def _borrow(typing_context, held):
    """Array structs with no owner, and tuples of such."""

    def generate(context, builder, signature, arguments):
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return held(held), generate


def _without_owner(context, builder, kind, value):
    if isinstance(kind, types.Array):
        seen = context.make_array(kind)(context, builder, value)
        seen.meminfo = cgutils.get_null_value(seen.meminfo.type)
        seen.parent = cgutils.get_null_value(seen.parent.type)
        return seen._getvalue()
    if isinstance(kind, types.BaseTuple):
        fields = zip(kind.types, cgutils.unpack_tuple(builder, value), strict=True)
        return context.make_tuple(
            builder, kind, [_without_owner(context, builder, *field) for field in fields]
        )
    return value


if COMPILING:
    # Intrinsics have no Python to compile, and every loop has these.
    prefetch, borrow = intrinsic(_prefetch), intrinsic(_borrow)
