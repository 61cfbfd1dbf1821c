"""Descent on the dual of a soft margin in the space of a kernel, one or two variables at a time.

Variables are b_i = y_i a_i between ``low`` and ``high``; with Q = K + diag(ridge) the objective is
b'Qb / 2 - y'b, and ``slopes`` its gradient. Each step takes the variable, or the pair, by which the
objective falls most (R. Fan, P. Chen and C. Lin, Working set selection using second order
information for training support vector machines, JMLR 6, 2005).
"""

import numpy as np

from linsep.compiled.jit import compiled


@compiled
def descend_by_pairs(K, curvatures, slopes, b, low, high, ridge, flat, tolerance, steps):
    """Move pairs of variables, whose sum stays, until no pair violates optimality by more than
    ``tolerance``.

    ``slopes`` and ``b`` are changed in place; ``curvatures`` is the diagonal of Q, and ``flat`` the
    least curvature: equal rows have none, and rounding may make it negative. Returns the steps
    taken, at most ``steps``, and the violation at the end.
    """
    taken = 0
    first, least = -1, np.inf
    for t in range(b.size):
        if slopes[t] < least and b[t] < high[t]:
            first, least = t, slopes[t]
    while first >= 0:
        one = K[first]
        second, gain, violation = -1, -1.0, 0.0
        for t in range(b.size):
            fall = slopes[t] - least
            if fall > 0.0 and b[t] > low[t]:
                bend = max(curvatures[first] + curvatures[t] - 2.0 * one[t], flat)
                if fall * fall > gain * bend:
                    second, gain = t, fall * fall / bend
                violation = max(violation, fall)
        if second < 0 or violation <= tolerance or taken >= steps:
            return taken, violation
        other = K[second]
        bend = max(curvatures[first] + curvatures[second] - 2.0 * one[second], flat)
        up, down = high[first] - b[first], b[second] - low[second]
        step = min((slopes[second] - least) / bend, up, down)
        b[first] = high[first] if step == up else b[first] + step
        b[second] = low[second] if step == down else b[second] - step
        slopes[first] += ridge[first] * step
        slopes[second] -= ridge[second] * step
        first, least = -1, np.inf
        for t in range(b.size):
            slopes[t] += step * (one[t] - other[t])
            if slopes[t] < least and b[t] < high[t]:
                first, least = t, slopes[t]
        taken += 1
    return taken, 0.0


@compiled
def descend_by_one(K, curvatures, slopes, b, low, high, ridge, flat, tolerance, steps):
    """Move single variables, as :func:`descend_by_pairs` moves pairs, where their sum is free."""
    taken = 0
    while True:
        chosen, gain, violation, move = -1, 0.0, 0.0, 0.0
        for t in range(b.size):
            room = high[t] - b[t] if slopes[t] < 0.0 else low[t] - b[t]
            if room != 0.0:
                bend, step = max(curvatures[t], flat), -slopes[t]
                violation = max(violation, abs(step))
                step /= bend
                if abs(step) > abs(room):
                    step = room
                fall = -step * (slopes[t] + step * bend / 2)
                if fall > gain:
                    chosen, gain, move = t, fall, step
        if chosen < 0 or violation <= tolerance or taken >= steps:
            return taken, violation
        room = high[chosen] - b[chosen] if move > 0.0 else low[chosen] - b[chosen]
        if move == room:
            b[chosen] = high[chosen] if move > 0.0 else low[chosen]
        else:
            b[chosen] += move
        row = K[chosen]
        for t in range(b.size):
            slopes[t] += move * row[t]
        slopes[chosen] += ridge[chosen] * move
        taken += 1
