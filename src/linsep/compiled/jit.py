"""Decorators for every hot loop: how it is compiled, and that it is kept on disk."""

import inspect
from collections.abc import Callable
from typing import Any

from numba import config, njit
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import overload

from linsep.compiled.code_cache import CodeCache
from linsep.interrupts import held

# NaN and infinity must keep their meaning, because the walks notice bad rows by them: where sums
# may be reordered, even `x - x` becomes 0 and isfinite is lost. So only the dense dot product,
# which gains SIMD by it, is reordered; sums over scattered weights would lose, gathers being slow.
STRICT = {"contract", "nsz"}
REORDERED = STRICT | {"reassoc", "arcp"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": STRICT}
INLINED = OPTIONS | {"forceinline": True}
# Reading a number must give the very bits Python gives: nothing fused, -0.0 kept.
EXACT = OPTIONS | {"fastmath": False}


# False under NUMBA_DISABLE_JIT=1, where every loop runs as the plain Python it is written in.
COMPILING = not getattr(config, "DISABLE_JIT", 0)


def _kept(loop: Any) -> Any:
    """The same loop, kept on disk; Ctrl-C waits while it is compiled or loaded.

    LLVM calls back into Python, where KeyboardInterrupt is swallowed; elsewhere in the compiler it
    leaves half a function behind, and the process may crash as it ends.
    """
    if not COMPILING:
        return loop
    compile_one, kept = loop.compile, CodeCache(loop.py_func)
    loop._cache = kept

    def compile_once(signature: Any) -> Any:
        # The lock of numba first: with another thread holding it and waiting for ours, both hang.
        with held(), global_compiler_lock:
            if signature in loop.overloads:
                return compile_one(signature)
            with kept.alone(signature, loop.targetctx):
                return compile_one(signature)

    loop.compile = compile_once
    return loop


def compiled(function: Callable) -> Any:
    """Compile a loop: no GIL, kept on disk; multiplications and additions may be fused."""
    return _kept(njit(**OPTIONS)(function))


def exact(function: Callable, **options: Any) -> Any:
    """Compile a loop as :func:`compiled` does, but with every float operation as it is written."""
    return _kept(njit(**EXACT, **options)(function))


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
