"""Copying blocks of rows to and from the records of a row cache, byte by byte.

A record starts at a multiple of 8 bytes, is padded to 8 bytes with zeros, and holds:

=============  ================================================================ checksum
uint64, over everything that follows extent         uint64, CSR: number of stored values; dense:
values per row weights        float64 per row (files of weighted rows only) codes          int32 per
row lengths        int32 per row, how many values it stores (CSR only) indices        int32 or int64
per stored value (CSR only) values         float32 or float64 per stored value, or per row and
feature =============  ================================================================

Sizes and offsets are in bytes. Value and index arrays are passed as bytes (uint8), so that one
compiled function serves all types.
"""

import numpy as np

from linsep.compiled.jit import compiled
from linsep.compiled.loop import BLOCK

CHECKSUM_LANES = 64
LEFT, RIGHT, AGAIN = np.uint64(13), np.uint64(7), np.uint64(17)
# The lanes are combined by a different step of full period: with the same one, swapping a word
# with its neighbor one lane back and one step on would go undetected.
FOLD_LEFT, FOLD_RIGHT = np.uint64(7), np.uint64(9)


@compiled
def checksum(words, seed):
    """Return a 64-bit checksum of ``words``, a uint64 array of shape (n,), with a uint64 ``seed``.

    It depends on every bit and its position, but not on ``n``: check lengths separately.
    """
    lanes = np.full(CHECKSUM_LANES, seed, np.uint64)
    whole = words.size // CHECKSUM_LANES * CHECKSUM_LANES
    for start in range(0, whole, CHECKSUM_LANES):
        for lane in range(CHECKSUM_LANES):
            mixed = lanes[lane] ^ words[start + lane]
            mixed ^= mixed << LEFT
            mixed ^= mixed >> RIGHT
            lanes[lane] = mixed ^ (mixed << AGAIN)
    for lane in range(words.size - whole):
        mixed = lanes[lane] ^ words[whole + lane]
        mixed ^= mixed << LEFT
        mixed ^= mixed >> RIGHT
        lanes[lane] = mixed ^ (mixed << AGAIN)
    total = seed
    for lane in range(CHECKSUM_LANES):
        total ^= lanes[lane]
        total ^= total << FOLD_LEFT
        total ^= total >> FOLD_RIGHT
    return total


HEADER = 16
WEIGHT = 8


@compiled
def _copy(source, start, target, at, size):
    # Two slices and a plain loop compile to one memcpy, over ten times faster than numba's own
    # assignment of slices or a loop over index sums.
    here, there = source[start : start + size], target[at : at + size]
    for i in range(size):
        there[i] = here[i]


@compiled
def _seal(words, at, size, extent, seed):
    """Write the header of the record of ``size`` bytes at byte ``at``, after its rows."""
    first, end = at // 8, (at + size) // 8
    words[first + 1] = np.uint64(extent)
    words[first] = checksum(words[first + 1 : end], seed)


@compiled
def _intact(words, at, size, seed):
    """Return whether the record of ``size`` bytes at byte ``at`` is undamaged."""
    first, end = at // 8, (at + size) // 8
    return words[first] == checksum(words[first + 1 : end], seed)


@compiled
def _pack_weights(weights, first, rows, words, at):
    """Write the weights of a record, if any, at byte ``at``; return where they end."""
    if not weights.size:
        return at
    floats = words.view(np.float64)
    for i in range(rows):
        floats[at // WEIGHT + i] = weights[first + i]
    return at + WEIGHT * rows


@compiled
def _unpack_weights(words, at, rows, weights, row):
    """Read the weights of a record, if there are any; return where they end."""
    if not weights.size:
        return at
    floats = words.view(np.float64)
    for i in range(rows):
        weights[row + i] = floats[at // WEIGHT + i]
    return at + WEIGHT * rows


@compiled
def pack_csr(
    indptr, indices, values, index_size, value_size, codes, weights, first, sizes, block, nonce,
    words,
):  # fmt: skip
    """Write the CSR rows from ``first`` on to ``words`` as records of ``sizes`` bytes.

    ``indptr`` and ``codes`` have shapes (rows + 1,) and (rows,), ``weights`` (rows,) or (0,) if
    there are no weights; the last record may be short. ``block`` is the number of the first record,
    ``nonce`` a uint64 of the whole file.
    """
    raw, ints = words.view(np.uint8), words.view(np.int32)
    at = 0
    for k in range(sizes.size):
        rows = min(BLOCK, codes.size - first)
        start = np.int64(indptr[first])
        count = np.int64(indptr[first + rows]) - start
        words[(at + sizes[k]) // 8 - 1] = 0
        start_of_codes = _pack_weights(weights, first, rows, words, at + HEADER)
        place = start_of_codes // 4
        for i in range(rows):
            ints[place + i] = codes[first + i]
            ints[place + rows + i] = indptr[first + i + 1] - indptr[first + i]
        body = start_of_codes + 8 * rows
        _copy(indices, start * index_size, raw, body, count * index_size)
        _copy(values, start * value_size, raw, body + count * index_size, count * value_size)
        _seal(words, at, sizes[k], count, nonce ^ np.uint64(block + k))
        at += sizes[k]
        first += rows


@compiled
def pack_dense(values, width, value_size, codes, weights, first, sizes, block, nonce, words):
    """Write the dense rows from ``first`` on to ``words`` as records of ``sizes`` bytes.

    ``values`` are the bytes of an array of shape (rows, width); the rest is as in
    :func:`pack_csr`.
    """
    raw, ints = words.view(np.uint8), words.view(np.int32)
    at = 0
    for k in range(sizes.size):
        rows = min(BLOCK, codes.size - first)
        words[(at + sizes[k]) // 8 - 1] = 0
        start_of_codes = _pack_weights(weights, first, rows, words, at + HEADER)
        place = start_of_codes // 4
        for i in range(rows):
            ints[place + i] = codes[first + i]
        line = width * value_size
        _copy(values, first * line, raw, start_of_codes + 4 * rows, rows * line)
        _seal(words, at, sizes[k], width, nonce ^ np.uint64(block + k))
        at += sizes[k]
        first += rows


@compiled
def plan_reads(blocks, offsets, n_rows, per_row, per_value, gulp, runs):
    """Plan the reads of a file for ``blocks``, with one read for neighboring blocks.

    Records go one after another into a buffer; once it holds ``gulp`` bytes it is emptied, and
    filled again from its start. Each row of ``runs``, int64 of shape (len(blocks), 4), becomes
    (offset in the file, bytes, offset in the buffer, number of blocks read by then).

    Returns (number of runs, bytes of buffer, rows, stored values); ``per_row`` and ``per_value``
    are bytes of a record. The number of runs is -1 when there is no such block.
    """
    count = need = rows = stored = filled = 0
    previous = -2
    for k in range(blocks.size):
        block = blocks[k]
        if block < 0 or block >= offsets.size - 1:
            return -1, 0, 0, 0
        size = offsets[block + 1] - offsets[block]
        if filled + size > gulp:
            filled = 0
        if filled == 0 or block != previous + 1:
            runs[count, 0] = offsets[block]
            runs[count, 1] = 0
            runs[count, 2] = filled
            count += 1
        runs[count - 1, 1] += size
        runs[count - 1, 3] = k + 1
        filled += size
        need = max(need, filled)
        previous = block
        here = min(BLOCK, n_rows - BLOCK * block)
        rows += here
        # The fill at the end is always smaller than one stored value, so this is exact for CSR.
        stored += (size - HEADER - here * per_row) // per_value
    return count, need, rows, stored


@compiled
def unpack_csr(
    words, blocks, offsets, n_rows, nonce, sizes, done, codes, weights, indptr, indices, values
):
    """Copy the records of ``blocks`` from ``words`` behind the ``done`` rows and values.

    ``sizes`` are the bytes of one index and of one value; ``done`` is int64 (rows, stored values)
    and is updated. codes: (rows,), weights: (rows,) or (0,), indptr: (rows + 1,), indices and
    values: bytes of (stored,).
    Returns the first damaged block, or -1. A record is used only after its checksum is verified.
    """
    raw, ints = words.view(np.uint8), words.view(np.int32)
    index_size, value_size = sizes
    row, stored = done[0], done[1]
    at = 0
    for block in blocks:
        size = offsets[block + 1] - offsets[block]
        if not _intact(words, at, size, nonce ^ np.uint64(block)):
            return block
        rows = min(BLOCK, n_rows - BLOCK * block)
        start_of_codes = _unpack_weights(words, at + HEADER, rows, weights, row)
        place = start_of_codes // 4
        start = stored
        for i in range(rows):
            codes[row + i] = ints[place + i]
            stored += ints[place + rows + i]
            indptr[row + i + 1] = stored
        count = stored - start
        body = start_of_codes + 8 * rows
        _copy(raw, body, indices, start * index_size, count * index_size)
        _copy(raw, body + count * index_size, values, start * value_size, count * value_size)
        at += size
        row += rows
    done[0], done[1] = row, stored
    return -1


@compiled
def unpack_dense(words, blocks, offsets, n_rows, nonce, sizes, done, codes, weights, values):
    """Copy dense records, as :func:`unpack_csr` does, to ``values``, the bytes of (rows, width).

    ``sizes`` are the width and the bytes of one value. Records with fewer features are padded with
    zeros.
    """
    raw, ints = words.view(np.uint8), words.view(np.int32)
    line = sizes[0] * sizes[1]
    row = done[0]
    at = 0
    for block in blocks:
        size = offsets[block + 1] - offsets[block]
        if not _intact(words, at, size, nonce ^ np.uint64(block)):
            return block
        rows = min(BLOCK, n_rows - BLOCK * block)
        short = np.int64(words[at // 8 + 1]) * sizes[1]
        start_of_codes = _unpack_weights(words, at + HEADER, rows, weights, row)
        place = start_of_codes // 4
        for i in range(rows):
            codes[row + i] = ints[place + i]
        body = start_of_codes + 4 * rows
        if short == line:
            _copy(raw, body, values, row * line, rows * line)
        else:
            for i in range(rows):
                _copy(raw, body + i * short, values, (row + i) * line, short)
                values[(row + i) * line + short : (row + i + 1) * line] = 0
        at += size
        row += rows
    done[0] = row
    return -1
