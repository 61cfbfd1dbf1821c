"""Decorators that compile hot loops and cache them on disk."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import AnnotateTypes
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic

from linsep._system.interrupts import interrupts_deferred
from linsep.compiled.code_cache import CodeCache


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
# Parsed numbers must be bit-identical to Python's: nothing fused, -0.0 kept.
EXACT = OPTIONS | {"fastmath": False}


# False under NUMBA_DISABLE_JIT=1, where every loop runs as plain Python.
COMPILING = not getattr(config, "DISABLE_JIT", 0)


def _kept(loop: Any) -> Any:
    """Cache a loop on disk, and defer Ctrl-C while it is compiled or loaded.

    LLVM calls back into Python, where KeyboardInterrupt is swallowed; elsewhere in the compiler it
    leaves a partial function behind, and the process may crash at exit.
    """
    if not COMPILING:
        return loop
    compile_one, kept = loop.compile, CodeCache(loop.py_func)
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


def compiled(function: Callable) -> Any:
    """Compile a loop without the GIL, cached on disk; multiply-adds may be fused."""
    return _kept(njit(**OPTIONS)(function))


def direct(loop: Any, *arguments: Any) -> Any:
    """Return the machine code of a loop for arguments of these types: numba looks for it in every
    call, which takes longer than to learn a row.
    """
    if not COMPILING:
        return loop
    return loop.compile(tuple(map(loop.typeof_pyval, arguments)))


def exact(function: Callable, **options: Any) -> Any:
    """Compile a loop as :func:`compiled` does, but keep every float operation as written."""
    return _kept(njit(**EXACT, **options)(function))


def inlined(function: Callable, **options: Any) -> Any:
    """Compile a piece of a loop into its callers."""
    return njit(**INLINED | options)(function)


#: of exact loops, whose pieces are inlined where LLVM finds that it pays
part = partial(inlined, fastmath=False, forceinline=False)


def generic(argument: int) -> Callable[[Callable], Any]:
    """Make a function that dispatches on the NamedTuple class of one positional argument.

    The body is chosen and inlined at compile time; with the compiler disabled, it is looked up at
    each call. Bodies are added with ``@name.when(Class, ...)``.
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
        if COMPILING:
            _choose_by_type(call, argument, bodies)
        return call

    return make


def _choose_by_type(call: Callable, argument: int, bodies: dict[type, Any]) -> None:
    """Make numba replace a call of ``call`` by the body for the type of one argument.

    ``numba.extending.overload`` does the same and costs twice as much: it compiles a function that
    calls the body, and a body once more for every kind of caller.
    """

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
