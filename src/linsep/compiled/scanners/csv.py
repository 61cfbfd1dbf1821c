"""The scanner of numbers in CSV: one pass over the bytes, into one array per column.

Quotes are not supported: text with quotes goes to another parser.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from linsep.compiled.jit import COMPILING, exact
from linsep.compiled.scanners.numbers import (
    ONE,
    WORD_BITS,
    ZERO,
    U,
    number,
    short_number,
    trailing_zeros,
)

NEWLINE, RETURN = U(ord("\n")), U(ord("\r"))


def ends_of_cells(text, at, delimiter):
    """Return a bit for each of 64 bytes: whether it is the delimiter or a newline."""
    block = text[at : at + WORD_BITS]
    bits = (block == np.uint8(delimiter)) | (block == np.uint8(NEWLINE))
    return np.packbits(bits, bitorder="little").view(U)[0]


def _ends_of_cells(typing_context, text, at, delimiter):
    """Make 64 comparisons at once: LLVM has vectors of any size, numba has none."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        block, lane = ir.VectorType(ir.IntType(8), 64), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), block.as_pointer())
        read, nothing = builder.load(address, align=1), ir.Constant(block, ir.Undefined)
        byte = builder.trunc(arguments[2], ir.IntType(8))
        first = builder.insert_element(nothing, byte, ir.Constant(lane, 0))
        zeros = ir.Constant(ir.VectorType(lane, 64), [0] * 64)
        delimiters = builder.shuffle_vector(first, nothing, zeros)
        newlines = ir.Constant(block, [ord("\n")] * 64)
        bits = builder.or_(
            builder.icmp_unsigned("==", read, delimiters),
            builder.icmp_unsigned("==", read, newlines),
        )
        return builder.bitcast(bits, ir.IntType(64))

    return types.uint64(text, types.uint64, types.uint64), generate


if COMPILING:
    ends_of_cells = intrinsic(_ends_of_cells)


@exact
def scan(text, size, delimiter, places, columns, others):
    """Read the numbers of whole lines.

    Parameters
    ----------
    text, size : the lines and ``PADDING`` newlines more, and the length of the lines
    delimiter : uint64, the byte between cells
    places : int32 array, the row of ``columns`` for each cell of a line; -1: not read
    columns : float64 array of shape (numbers of a line, lines)
        Filled; NaN where a cell is empty or not a number.
    others : int64 array of shape (most, 4)
        Filled with the column, the line, the beginning and the end of each cell that is not a
        number, or that Python must read.

    Returns
    -------
    at : ``size``, or a position in a line with more or fewer cells, or where ``others`` is full
    rows, others, empty : numbers of lines read, of entries filled, and of empty cells
    """
    block, bits = ZERO, ends_of_cells(text, ZERO, delimiter)
    at, row, cell, n_others, empty = ZERO, ZERO, ZERO, ZERO, ZERO
    cells = U(places.size)
    while at < size:
        while bits == ZERO:
            block += WORD_BITS
            bits = ends_of_cells(text, block, delimiter)
        end = block + trailing_zeros(bits)
        bits &= bits - ONE
        last, stop = text[end] == NEWLINE, end
        if last and end > at and text[end - ONE] == RETURN:
            stop -= ONE
        if last and cell == ZERO and stop == at:  # an empty line
            at = end + ONE
            continue
        if last != (cell + ONE == cells):
            break
        if places[cell] >= 0:
            good, value = short_number(text, at, stop)
            if not good:
                value, good = number(text, at, stop)
                if not good or np.isnan(value):
                    value = np.nan
                    empty += U(stop == at)
                    if stop != at:
                        if n_others == U(others.shape[0]):
                            break
                        others[n_others, 0], others[n_others, 1] = places[cell], row
                        others[n_others, 2], others[n_others, 3] = at, stop
                        n_others += ONE
            columns[U(places[cell]), row] = value
        at = end + ONE
        cell = ZERO if last else cell + ONE
        row += U(last)
    return at, row, n_others, empty
