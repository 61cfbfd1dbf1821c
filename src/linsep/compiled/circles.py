"""The loop over all circles in which planes meet: on each, the fewest errors by a sweep of angles.

:mod:`linsep.separability.enumeration` explains their purpose.
"""

import numpy as np

from linsep.compiled.jit import compiled, inlined

#: half a unit in the last place of 1
HALF = 2.0**-53
#: more than any number of errors
MANY = 2**62


@compiled
def projected(rows, one, out):
    """Project rows along the plane of one of them, onto one coordinate less, and return the number
    by which a second projection can be divided.
    """
    pivot = 0
    for c in range(1, rows.shape[1]):
        if abs(rows[one, c]) > abs(rows[one, pivot]):
            pivot = c
    for k in range(rows.shape[0]):
        at = 0
        for c in range(rows.shape[1]):
            if c != pivot:
                out[k, at] = rows[one, pivot] * rows[k, c] - rows[one, c] * rows[k, pivot]
                at += 1
    return rows[one, pivot]


def projected_noise(size_one, noise_one, size, noise):
    """Return bounds on the errors of a projection along a line, from the largest numbers of both
    and bounds on their errors.
    """
    moved = size_one * noise + noise_one * (size + noise)
    return 2.0001 * moved + 5.0 * HALF * size_one * size + 2.0**-1000


_noise = inlined(projected_noise)


@compiled
def sweep(x, y, noise, plus, minus, lines, strict):
    """Return the fewest errors on a circle, or a lower bound if floats cannot decide.

    Parameters
    ----------
    x, y : float arrays
        Normals of the lines, of any sign: changed.
    noise : float array
        Bounds on the errors of x and y; all zero if these are integers, whose products with each
        other have less than 63 bits.
    plus, minus : int arrays
        The errors where ``<normal, w>`` is not positive, and where it is not negative.
    lines : int array
        The numbers of the lines in these arrays; at least one.
    """
    count, total, first = lines.size, 0, 0
    low, high = np.empty(count), np.empty(count)
    for at in range(count):
        k = lines[at]
        total += plus[k] + minus[k]
        if x[k] < 0.0 or (x[k] == 0.0 and y[k] < 0.0):
            x[k], y[k] = -x[k], -y[k]
            plus[k], minus[k] = minus[k], plus[k]
        # The sum of absolute values is 1 on the path of this angle, from -1 to 1; it moves by at
        # most the error of a coordinate over that sum.
        size = x[k] + abs(y[k])
        angle, off = y[k] / size, 16.0 * HALF + 2.0 * noise[k] / (size - 2.0 * noise[k])
        low[at], high[at] = angle - off, angle + off
    order = np.argsort(low)
    reach = high[order[0]]
    for at in range(1, count):
        if low[order[at]] > reach:
            first = at
        reach = max(reach, high[order[at]])
    if reach - 2.0 < low[order[0]]:
        first = 0
    elif first == 0:
        return _least_of(plus, minus, lines, strict)
    # Normals of the last group that is in doubt with the first go to the front, turned round.
    for at in range(first, count if first else 0):
        k = lines[order[at]]
        low[order[at]] -= 2.0
        high[order[at]] -= 2.0
        x[k], y[k] = -x[k], -y[k]
        plus[k], minus[k] = minus[k], plus[k]
    order = np.concatenate((order[first:], order[:first]))
    errors, best = 0, MANY
    for at in range(count):
        errors += minus[lines[at]]
    at = 0
    while at < count:
        if strict:
            best = min(best, errors, total - errors)
        end, reach = at + 1, high[order[at]]
        while end < count and low[order[end]] <= reach:
            reach = max(reach, high[order[end]])
            end += 1
        group = lines[order[at:end]]
        errors, found = _passed(x, y, noise, plus, minus, group, strict, errors, total)
        best = min(best, found)
        at = end
    return best


@compiled
def _passed(x, y, noise, plus, minus, group, strict, errors, total):
    """Return the errors beyond a group of normals, and the fewest among them (strict: between
    them), or a lower bound.
    """
    exact = group.size > 1
    for k in group:
        exact = exact and noise[k] == 0.0
    if exact:
        return _sorted(x, y, plus, minus, group, strict, errors, total)
    beyond, turned, least = errors, total - errors, 0
    for k in group:
        beyond += plus[k] - minus[k]
        errors -= minus[k]
        turned -= plus[k]
        least += min(plus[k], minus[k]) if strict else 0
    if strict and group.size == 1:
        return beyond, MANY
    return beyond, least + min(errors, turned)


@compiled
def _sorted(x, y, plus, minus, group, strict, errors, total):
    """Return the same for integer normals, by their exact order."""
    for at in range(1, group.size):
        k, to = group[at], at
        while to > 0 and _side(x, y, group[to - 1], k) < 0:
            group[to] = group[to - 1]
            to -= 1
        group[to] = k
    best, at = MANY, 0
    while at < group.size:
        if strict and at:
            best = min(best, errors, total - errors)
        ahead, turned, end = errors, total - errors, at
        while end < group.size and _side(x, y, group[at], group[end]) == 0:
            k = group[end]
            ahead -= minus[k]
            turned -= plus[k]
            errors += plus[k] - minus[k]
            end += 1
        if not strict:
            best = min(best, ahead, turned)
        at = end
    return errors, best


@compiled
def _side(x, y, one, other):
    return np.int64(x[one]) * np.int64(y[other]) - np.int64(y[one]) * np.int64(x[other])


@compiled
def _least_of(plus, minus, lines, strict):
    """Return the fewest errors that lines can have wherever they are."""
    least = 0
    if strict:
        for k in lines:
            least += min(plus[k], minus[k])
    return least


@compiled
def enumerate_circles(points, noise, divisor, outer, rows, begin, end, plus, minus, strict, bounds):
    """Write for circles in some planes the fewest errors on each, or a lower bound.

    Parameters
    ----------
    points : array of shape (n, 3)
        Lines of rank 3, or lines of rank 4 projected along one of them, ``outer`` (else -1).
    noise : array of shape (n,)
        Bounds on the errors of their numbers, or zeros: these are integers.
    divisor : float
        Divides the projections of projections that are integers.
    rows : array of shape (n, rank)
        The lines before they were projected.
    begin, end : int
        The planes, by the numbers of their lines.
    bounds : int array of shape (n,)
    """
    n = points.shape[0]
    x, y, off, size = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        size[k] = max(abs(points[k, 0]), abs(points[k, 1]), abs(points[k, 2]))
    lines, on = np.empty(n, np.int64), np.empty(n, np.int64)
    for one in range(begin, end):
        pivot = 0
        for c in range(1, 3):
            if abs(points[one, c]) > abs(points[one, pivot]):
                pivot = c
        a, b = (pivot + 1) % 3, (pivot + 2) % 3
        main, left, right = points[one, pivot], points[one, a], points[one, b]
        off_it, on_it, before, doubt = 0, 0, False, False
        for k in range(n):
            if k in (one, outer):
                on[on_it], on_it = k, on_it + 1
                continue
            x[k] = (main * points[k, a] - left * points[k, pivot]) / divisor
            y[k] = (main * points[k, b] - right * points[k, pivot]) / divisor
            off[k] = 0.0
            if noise[k] > 0.0:
                off[k] = _noise(size[one], noise[one], size[k], noise[k])
            if abs(x[k]) + abs(y[k]) <= 8.0 * off[k]:
                on[on_it], on_it = k, on_it + 1
                doubt = doubt or off[k] > 0.0
                before = before or k < one
            else:
                lines[off_it], off_it = k, off_it + 1
        if before and not doubt:
            bounds[one] = MANY  # the circle of an earlier line
            continue
        there = _least_of(plus, minus, on[:on_it], strict)
        if strict and on_it > 2 and not doubt:
            there = _along(rows, outer, one, on[:on_it], plus, minus)
        found = 0
        if off_it:
            found = sweep(x, y, off, plus.copy(), minus.copy(), lines[:off_it], strict)
        bounds[one] = there + found


@compiled
def _along(rows, one, other, on, plus, minus):
    """Return the fewest strict errors of lines, integers, in the span of two."""
    a, b, n = 0, 1, rows.shape[1]
    for c in range(n):
        for d in range(c):
            if rows[one, c] * rows[other, d] != rows[one, d] * rows[other, c]:
                a, b = c, d
    x, y, off = np.empty(on.size), np.empty(on.size), np.zeros(on.size)
    for at in range(on.size):
        x[at], y[at] = rows[on[at], a], rows[on[at], b]
    return sweep(x, y, off, plus[on], minus[on], np.arange(on.size), True)
