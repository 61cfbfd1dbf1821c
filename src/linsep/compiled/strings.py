"""Loops of string kernels: counting substrings, and subsequences with gaps."""

import math

import numpy as np

from linsep.compiled.core.jit import compiled

U = np.uint64
#: strings of one side that are processed together; fewer than 32 use SIMD less well
LANES = 32
#: size from which on a table is scaled down, and the exponent: sums of many still do not overflow
BOUND, EXPONENT = 2.0**400, 400


@compiled
def count_rows(columns, starts, n_columns):
    """Count equal columns: row i has those in ``columns[starts[i]:starts[i+1]]``.

    Returns values (float64), columns (int64) and starts of a CSR matrix, with the columns of each
    row in order of first appearance.
    """
    counts = np.zeros(n_columns)
    values, found = np.empty(columns.size), np.empty(columns.size, np.int64)
    ends = np.zeros(starts.size, np.int64)
    n = 0
    for i in range(starts.size - 1):
        first = n
        for at in range(starts[i], starts[i + 1]):
            column = columns[at]
            if counts[column] == 0.0:
                found[n] = column
                n += 1
            counts[column] += 1.0
        for at in range(first, n):
            values[at] = counts[found[at]]
            counts[found[at]] = 0.0
        ends[i + 1] = n
    return values[:n].copy(), found[:n].copy(), ends


@compiled
def _load(text, begins, ends, first, lanes):
    """Return strings from ``first`` on as columns, int64 (longest, lanes), padded by -1."""
    last = min(first + lanes, begins.size)
    longest = 0
    for j in range(first, last):
        longest = max(longest, ends[j] - begins[j])
    side_by_side = np.full((longest, lanes), -1, np.int64)
    for lane in range(last - first):
        begin = begins[first + lane]
        for j in range(ends[first + lane] - begin):
            side_by_side[j, lane] = text[begin + j]
    return side_by_side


@compiled
def _scale_down(tables, sums, exponents, length):
    """Scale large tables down, each with those derived from it."""
    for level in range(exponents.size):
        if tables[level, : length + 1].max() > BOUND or (
            level == exponents.size - 1 and sums.max() > BOUND
        ):
            for above in range(level, exponents.size):
                if above == level or exponents[above] < exponents[level]:
                    tables[above, : length + 1] *= 1 / BOUND
                    exponents[above] += EXPONENT
                    if above == exponents.size - 1:
                        sums *= 1 / BOUND


@compiled
def _fill_level(letter, others, decay, below, above, run, weight):
    """Update the table K' of one level from the level below, for one letter of a string."""
    run[:] = 0.0
    for j in range(U(others.shape[0])):
        for lane in range(U(others.shape[1])):
            hit = below[j, lane] if others[j, lane] == letter else 0.0
            value = decay * run[lane] + weight * hit
            run[lane] = value
            above[j + U(1), lane] = decay * above[j + U(1), lane] + value


@compiled
def _count(letter, others, table, sums):
    """Add the subsequences that end with this letter in both strings."""
    for j in range(U(others.shape[0])):
        for lane in range(U(others.shape[1])):
            sums[lane] += table[j, lane] if others[j, lane] == letter else 0.0


@compiled
def _together(string, others, p, decay, tables, run, exponents, sums, large):
    """Sum over common subsequences of one string with others, without the factor decay^(2p)."""
    tables[:, : others.shape[0] + 1] = 0.0
    tables[0, : others.shape[0] + 1] = 1.0
    exponents[:] = 0
    sums[:] = 0.0
    for i in range(string.size):
        letter = np.int64(string[i])
        _count(letter, others, tables[p - 1], sums)
        for level in range(p - 1, 0, -1):
            weight = 2.0 ** (exponents[level - 1] - exponents[level])
            _fill_level(letter, others, decay, tables[level - 1], tables[level], run, weight)
        if large:
            _scale_down(tables, sums, exponents, others.shape[0])


@compiled
def subsequences(left, right, p, decay, start, stop, symmetric, mantissas, exponents):
    """Write gap-weighted common subsequences of length p as m 2^e, without the factor decay^(2p).

    Lodhi et al. (2002), definition 2: K'_l[j] of one string so far and the first j letters of the
    other is the sum over subsequences of length l, each by decay to the distance of its first
    letters from the ends. Tables are updated in place, from the highest level down.

    Parameters
    ----------
    left, right : (text, begins, ends) of the strings of both sides
    start, stop : range of strings of the left side
    symmetric : skip pairs whose right string comes before the left one (in steps of LANES)
    mantissas, exponents : arrays of shape (strings left, strings right), written to
    """
    text, begins, ends = left
    longest = 0
    for j in range(right[1].size):
        longest = max(longest, right[2][j] - right[1][j])
    lanes = min(LANES, right[1].size)
    tables, run, sums = np.empty((p, longest + 1, lanes)), np.empty(lanes), np.empty(lanes)
    levels = np.zeros(p, np.int64)
    for first in range(0, right[1].size, lanes):
        others = _load(right[0], right[1], right[2], first, lanes)
        for i in range(start, min(stop, first + lanes) if symmetric else stop):
            string = text[begins[i] : ends[i]]
            most = p * math.log2(1.0 + string.size * others.shape[0])
            _together(string, others, p, decay, tables, run, levels, sums, most > EXPONENT)
            for j in range(first, min(first + lanes, right[1].size)):
                m, e = math.frexp(sums[j - first])
                mantissas[i, j] = m
                exponents[i, j] = e + levels[p - 1]
