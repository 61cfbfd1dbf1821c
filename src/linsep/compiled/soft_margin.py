"""Loops of the soft margin: coordinate descent on its dual, and sums whose rounding is known."""

import numpy as np

from linsep.compiled.jit import compiled, exact
from linsep.compiled.rows import U, add, ahead, dot, entry, span
from linsep.compiled.twofold import two_product, two_sum
from linsep.compiled.weights import Last, Vector

#: rows to prefetch before they are visited
AHEAD = 4


@compiled
def descend(rows, order, dual, signs, costs, curvature, w, bias, squared, limits):
    """Optimize one dual variable after the other, and return the largest and the smallest slope
    seen, and how many of the rows ``order`` begins with are still to visit.

    ``w`` are the weights of the dual variables; the last is the intercept, the weight of a constant
    feature ``bias``, and follows them. A variable at a bound whose slope is beyond ``limits`` is
    set aside, at the end of ``order`` (C. Hsieh and others, A dual coordinate descent method for
    large-scale linear SVM, ICML 2008, algorithms 1 and 3).
    """
    weights = Vector(w, bias, Last(), 0)
    highest, lowest, active, k = -np.inf, np.inf, order.size, 0
    while k < active:
        i = U(order[k])
        ahead(rows, U(order[min(k + AHEAD, active - 1)]))
        y, a = signs[i], dual[i]
        slope = y * (dot(rows, i, w) + bias * w[-1]) - 1.0
        most = np.inf if squared else costs[i]
        if squared:
            slope += 0.5 * a / costs[i]
        outward = (a == 0.0 and slope > 0.0) or (a == most and slope < 0.0)
        if outward and (slope > limits[0] if a == 0.0 else slope < limits[1]):
            active -= 1
            order[k], order[active] = order[active], order[k]
            continue
        felt = 0.0 if outward else slope
        highest, lowest = max(highest, felt), min(lowest, felt)
        moved = min(max(a - slope / curvature[i], 0.0), most)
        if moved != a:
            add(rows, i, weights, y * (moved - a))
            dual[i] = moved
        k += 1
    return highest, lowest, active


@compiled
def add_rows(rows, amounts, bias, w):
    """Add the rows, each times its amount, to ``w``."""
    weights = Vector(w, bias, Last(), 0)
    for i in range(U(amounts.size)):
        if amounts[i] != 0.0:
            add(rows, i, weights, amounts[i])


@compiled
def largest_values(rows, n_rows, found):
    """Raise ``found`` to the largest absolute value of every feature."""
    for i in range(U(n_rows)):
        first, end = span(rows, i)
        for at in range(first, end):
            j, x = entry(rows, i, at)
            found[j] = max(found[j], abs(x))


@exact
def add_carefully(rows, amounts, sums, rest, reach):
    """Add the rows, each times its amount, to ``sums + rest``, pairs of floats, and their sizes to
    ``reach`` (T. Ogita, S. Rump and S. Oishi, Accurate sum and dot product, 2005, Dot2).
    """
    for i in range(U(amounts.size)):
        if amounts[i] != 0.0:
            first, end = span(rows, i)
            for at in range(first, end):
                j, x = entry(rows, i, at)
                product, lost = two_product(amounts[i], x)
                sums[j], error = two_sum(sums[j], product)
                rest[j] += error + lost
                reach[j] += abs(product)


@exact
def score_carefully(rows, w, bias, scores, reach):
    """Write the score of every row, summed in pairs of floats, and the sizes of its terms."""
    for i in range(U(scores.size)):
        total, rest = bias * w[-1], 0.0
        size = abs(total)
        first, end = span(rows, i)
        for at in range(first, end):
            j, x = entry(rows, i, at)
            product, lost = two_product(w[j], x)
            total, error = two_sum(total, product)
            rest += error + lost
            size += abs(product)
        scores[i], reach[i] = total + rest, size


@compiled
def add_gram(rows, weights, out):
    """Add the sum of the products of all pairs of stored features of CSR rows, each row times its
    weight, to the upper or lower half of ``out``.
    """
    for i in range(U(weights.size)):
        first, end = U(rows.starts[i]), U(rows.starts[i + U(1)])
        for at in range(first, end):
            j, x = U(rows.columns[at]), weights[i] * rows.values[at]
            for other in range(first, at + U(1)):
                out[j, U(rows.columns[other])] += x * rows.values[other]
