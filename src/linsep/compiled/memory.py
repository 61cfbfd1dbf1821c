"""Two words with the machine: what will be read next, and whose memory this is."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from linsep.compiled.jit import COMPILING


def prefetch(array, index):
    """Start loading the cache line of ``array.flat[index]``; does nothing uncompiled."""


def _prefetch(typing_context, array, index):
    """llvm.prefetch of one element: for reading (0), to every cache (3), as data (1)."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = cgutils.pointer_add(
            builder,
            data,
            builder.mul(
                arguments[1], ir.Constant(arguments[1].type, signature.args[0].dtype.bitwidth // 8)
            ),
        )
        pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        call = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag]),
            "llvm.prefetch.p0",
        )
        builder.call(
            call, [builder.bitcast(address, pointer), *(ir.Constant(flag, v) for v in (0, 3, 1))]
        )
        return context.get_dummy_value()

    return types.none(array, index), generate


def borrow(held):
    """The same array, or NamedTuple of arrays, without reference counts; the caller's lives on.

    numba counts references to an array at each use of a tuple that holds it: two atomic
    operations a row, slower than the row's arithmetic. A borrowed array has nothing to count.
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
