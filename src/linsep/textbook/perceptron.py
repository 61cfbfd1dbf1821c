"""The perceptron and its three ways to several classes, in plain Python, every step on view.

Numbers may be ints, floats or fractions: only sums and products are taken, so a run on fractions
is exact. Rows are sequences of numbers, all of one length; labels are -1 and +1 for two classes
and 0, 1, 2, ... for several. Every learner is a generator that yields a :class:`Step` for each
example it sees and ends after a pass without a mistake, or after ``max_iter`` passes.

The learners share these parameters:

weights, intercept
    Where to start, default 0; with several machines one list of weights, one intercept each.
fit_intercept
    Learn the intercept too: it is the weight of one more feature that is always 1.
learning_rate
    What every update is multiplied by.
max_iter
    At most this many passes.
row_weights
    What the update of a row is multiplied by, default 1; rows of weight 0 are never visited.
orders
    Function from the number of a pass, counted from 0, to the row numbers in visiting order;
    default: as given.

References: F. Rosenblatt, The perceptron, Psychological Review 65 (1958); for the joint rule of
several classes R. Duda and P. Hart, Pattern Classification and Scene Analysis (1973), after Kesler.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

Number = Any
Rows = Sequence[Sequence[Number]]
Orders = Callable[[int], Iterable[int]]


class Step(NamedTuple):
    """One example seen: how it was scored, whether that was a mistake, the weights afterwards.

    Attributes
    ----------
    round : int
        How many examples were seen before, over all passes.
    pass_number : int
        Counted from 0.
    row : int
        Number of the example.
    score : number or list
        With several classes one a class, or for one-vs-one one a pair; before the update.
    mistakes : int
        0 or 1; for one-vs-rest and one-vs-one, how many machines were wrong.
    weights : list
        A copy, after the update; with several classes one list a machine.
    intercept : number or list
        After the update; with several classes one a machine.
    """

    round: int
    pass_number: int
    row: int
    score: Any
    mistakes: int
    weights: list
    intercept: Any


def binary_perceptron(
    X: Rows,
    y: Sequence[int],
    *,
    weights: Sequence[Number] | None = None,
    intercept: Number = 0,
    fit_intercept: bool = True,
    learning_rate: Number = 1,
    max_iter: int = 1000,
    row_weights: Sequence[Number] | None = None,
    orders: Orders | None = None,
) -> Iterator[Step]:
    """Two classes, -1 and +1: on a mistake add the example, times its label, to the weights.

    A score of zero is a mistake. See the module for the parameters.
    """
    w = [0] * len(X[0]) if weights is None else list(weights)
    b, t = intercept, 0
    for pass_number in range(max_iter):
        clean = True
        for row in visited(len(X), pass_number, row_weights, orders):
            s = score(X[row], w, b)
            mistake = y[row] * s <= 0
            if mistake:
                amount = learning_rate * weight_of(row, row_weights) * y[row]
                w = moved(w, X[row], amount)
                b += amount if fit_intercept else 0
                clean = False
            yield Step(t, pass_number, row, s, int(mistake), list(w), b)
            t += 1
        if clean:
            return


def native_perceptron(
    X: Rows,
    y: Sequence[int],
    n_classes: int,
    *,
    weights: Rows | None = None,
    intercept: Sequence[Number] | None = None,
    fit_intercept: bool = True,
    learning_rate: Number = 1,
    max_iter: int = 1000,
    row_weights: Sequence[Number] | None = None,
    orders: Orders | None = None,
    tie: str = "negative",
) -> Iterator[Step]:
    """Several classes jointly: the class of the highest score is predicted, of equals by ``tie``.

    On a mistake the true class gains the example, the predicted one loses it, the others stay.
    ``tie`` is "negative" (the lowest class), "positive" (the highest) or "random": a draw might
    choose any, so that a tie with the true class is a mistake.
    """
    W, b, t = *machines(n_classes, X, weights, intercept), 0
    for pass_number in range(max_iter):
        clean = True
        for row in visited(len(X), pass_number, row_weights, orders):
            s = scores(X[row], W, b)
            predicted = worst_draw(s, y[row]) if tie == "random" else predict_native(s, tie)
            mistake = predicted != y[row]
            if mistake:
                amount = learning_rate * weight_of(row, row_weights)
                for k, sign in ((y[row], 1), (predicted, -1)):
                    W[k] = moved(W[k], X[row], sign * amount)
                    b[k] += sign * amount if fit_intercept else 0
                clean = False
            yield Step(t, pass_number, row, s, int(mistake), [list(w) for w in W], list(b))
            t += 1
        if clean:
            return


def ovr_perceptron(
    X: Rows,
    y: Sequence[int],
    n_classes: int,
    *,
    weights: Rows | None = None,
    intercept: Sequence[Number] | None = None,
    fit_intercept: bool = True,
    learning_rate: Number = 1,
    max_iter: int = 1000,
    row_weights: Sequence[Number] | None = None,
    orders: Orders | None = None,
) -> Iterator[Step]:
    """Several classes: one perceptron a class, which calls its own rows +1 and all others -1."""
    W, b, t = *machines(n_classes, X, weights, intercept), 0
    for pass_number in range(max_iter):
        clean = True
        for row in visited(len(X), pass_number, row_weights, orders):
            s = scores(X[row], W, b)
            mistakes = 0
            for k in range(n_classes):
                sign = +1 if k == y[row] else -1
                if sign * s[k] <= 0:
                    amount = learning_rate * weight_of(row, row_weights) * sign
                    W[k] = moved(W[k], X[row], amount)
                    b[k] += amount if fit_intercept else 0
                    mistakes, clean = mistakes + 1, False
            yield Step(t, pass_number, row, s, mistakes, [list(w) for w in W], list(b))
            t += 1
        if clean:
            return


def ovo_perceptron(
    X: Rows,
    y: Sequence[int],
    n_classes: int,
    *,
    weights: Rows | None = None,
    intercept: Sequence[Number] | None = None,
    fit_intercept: bool = True,
    learning_rate: Number = 1,
    max_iter: int = 1000,
    row_weights: Sequence[Number] | None = None,
    orders: Orders | None = None,
) -> Iterator[Step]:
    """Several classes: one perceptron for every two, the larger +1; it sees no other rows.

    The machines come in the order of :func:`pairs`.
    """
    matches = pairs(n_classes)
    W, b, t = *machines(len(matches), X, weights, intercept), 0
    for pass_number in range(max_iter):
        clean = True
        for row in visited(len(X), pass_number, row_weights, orders):
            s = scores(X[row], W, b)
            mistakes = 0
            for k, (smaller, larger) in enumerate(matches):
                sign = {smaller: -1, larger: +1}.get(y[row])
                if sign is not None and sign * s[k] <= 0:
                    amount = learning_rate * weight_of(row, row_weights) * sign
                    W[k] = moved(W[k], X[row], amount)
                    b[k] += amount if fit_intercept else 0
                    mistakes, clean = mistakes + 1, False
            yield Step(t, pass_number, row, s, mistakes, [list(w) for w in W], list(b))
            t += 1
        if clean:
            return


def predict_binary(score: Number, tie: str = "negative") -> int:
    """-1 or +1 by the sign of the score; 0 has no sign, so ``tie`` decides."""
    if score == 0:
        return +1 if tie == "positive" else -1
    return +1 if score > 0 else -1


def predict_native(scores: Sequence[Number], tie: str = "negative") -> int:
    """The class of the highest score; of equals the smallest, or with "positive" the largest."""
    best = [k for k, s in enumerate(scores) if s == max(scores)]
    return best[-1] if tie == "positive" else best[0]


def worst_draw(scores: Sequence[Number], truth: int) -> int:
    """The lowest class of the highest score that is not the true one, which must win alone."""
    wrong = [k for k, s in enumerate(scores) if s == max(scores) and k != truth]
    return wrong[0] if wrong else truth


def predict_ovr(scores: Sequence[Number], tie: str = "negative") -> int:
    """The one class that says "mine" (a positive score), else the class of the highest score."""
    claims = [k for k, s in enumerate(scores) if s > 0]
    return claims[0] if len(claims) == 1 else predict_native(scores, tie)


def predict_ovo(scores: Sequence[Number], n_classes: int, tie: str = "negative") -> int:
    """The class that wins most matches; of equals the one of the highest summed score.

    ``tie`` decides a match with a score of 0 ("random": half a win for each) and where even the
    summed scores are equal ("random": the smallest, of those that might be drawn).
    """
    at_zero: Number = {"negative": 0, "positive": 1, "random": 0.5}[tie]
    won: list[Number] = [0] * n_classes
    summed: list[Number] = [0] * n_classes
    for s, (smaller, larger) in zip(scores, pairs(n_classes), strict=True):
        share = at_zero if s == 0 else int(s > 0)
        won[larger] += share
        won[smaller] += 1 - share
        summed[larger] += s
        summed[smaller] -= s
    return predict_native(list(zip(won, summed, strict=True)), tie)


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """The matches of one-vs-one: (0,1), (0,2), ..., (1,2), ..."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]


def score(x: Sequence[Number], w: Sequence[Number], b: Number) -> Number:
    """<w, x> + b."""
    return sum((p * q for p, q in zip(w, x, strict=True)), start=0) + b


def scores(x: Sequence[Number], W: Rows, b: Sequence[Number]) -> list:
    """The score of every machine."""
    return [score(x, *machine) for machine in zip(W, b, strict=True)]


def moved(w: Sequence[Number], x: Sequence[Number], amount: Number) -> list:
    """Return w + amount * x."""
    return [p + amount * q for p, q in zip(w, x, strict=True)]


def machines(
    count: int, X: Rows, weights: Rows | None, intercept: Sequence[Number] | None
) -> tuple[list[list], list]:
    """Weights and intercepts of ``count`` machines to start from: copies of the given or zeros."""
    W = [[0] * len(X[0])] * count if weights is None else [list(w) for w in weights]
    return W, [0] * count if intercept is None else list(intercept)


def visited(
    n_rows: int, pass_number: int, row_weights: Sequence[Number] | None, orders: Orders | None
) -> list[int]:
    """The rows of one pass in visiting order, those of weight 0 left out."""
    order = range(n_rows) if orders is None else orders(pass_number)
    return [row for row in order if weight_of(row, row_weights) != 0]


def weight_of(row: int, row_weights: Sequence[Number] | None) -> Number:
    """What an update of this row counts."""
    return 1 if row_weights is None else row_weights[row]
