"""Two words with the machine: what will be read next, and whose memory this is."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from linsep.compiled.jit import COMPILING, INLINED


def prefetch(array, index):
    """Start loading the cache line of ``array.flat[index]``; does nothing uncompiled."""


@intrinsic
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


@intrinsic
def _borrow(typing_context, array):
    """The array struct with no owner."""

    def generate(context, builder, signature, arguments):
        seen = context.make_array(signature.args[0])(context, builder, arguments[0])
        seen.meminfo = cgutils.get_null_value(seen.meminfo.type)
        seen.parent = cgutils.get_null_value(seen.parent.type)
        return seen._getvalue()

    return array(array), generate


def _choose_borrow(held):
    """How to borrow a value of this type: arrays singly, tuples field by field."""
    if isinstance(held, types.Array):
        return lambda held: _borrow(held)  # noqa: PLW0108
    if isinstance(held, types.BaseNamedTuple):
        fields = ", ".join(f"borrow(held[{n}])" for n in range(len(held)))
        # numba needs the fields written out, which only eval can do for any number of them.
        return eval(f"lambda held: kind({fields})", {"borrow": borrow, "kind": held.instance_class})
    return lambda held: held


if COMPILING:
    overload(borrow, jit_options=INLINED)(_choose_borrow)

    @overload(prefetch, jit_options=INLINED)
    def _choose_prefetch(array, index):
        return lambda array, index: _prefetch(array, index)  # noqa: PLW0108
