"""The loop of the textbook: any rule, any scheme, pass after pass, yielding every step.

Numbers may be ints, floats or fractions. Rows are sequences of numbers of equal length.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple

from linsep.teaching.textbook.machine import Example, Machine, Number, Rows, Rule
from linsep.teaching.textbook.schemes import SCHEMES, Scheme

Orders = Callable[[int], Iterable[int]]


class Step(NamedTuple):
    """One example: its score, whether it was a mistake, and the weights afterward.

    Attributes
    ----------
    round : int
        Number of earlier examples, over all passes; for a batch rule, whose weights change with the
        last step of a pass, number of earlier passes.
    pass_number : int
        Counted from 0.
    row : int
        Number of the example.
    score : number or list
        Before the update; with several classes one per class, or per pair for one-vs-one.
    mistakes : int
        Number of binary classifiers that made a mistake: 0 or 1, or more with ovr and ovo.
    updates : int
        Number of binary classifiers that changed their weights.
    weights : list
        A copy, after the update; with several classes one list per class or pair.
    intercept : number or list
        After the update; with several classes one per class or pair.
    error : bool
        Whether the class predicted before the update was wrong.
    seen, updated : tuple of int
        The binary classifiers that got the example, and the ones that changed; native learning has
        one.
    criterion : number
        The sum of -y s, times the importance, over the binary classifiers that made a mistake: the
        perceptron criterion J_p of a batch pass is the sum of these.
    attempt : int
        Number of earlier restarts of the rule from zero.
    margin : pair of numbers or None
        What ``Rule.margin`` returned for the binary classifier farthest below its bound.
    memory : tuple
        The rule's memory for each binary classifier besides its weights, after the update, such as
        variances; None without memory.
    """

    round: int
    pass_number: int
    row: int
    score: Any
    mistakes: int
    updates: int
    weights: list
    intercept: Any
    error: bool
    seen: tuple[int, ...]
    updated: tuple[int, ...]
    criterion: Number
    attempt: int
    margin: tuple[Number, Number] | None
    memory: tuple = ()


def run(
    rule: Rule,
    scheme: str,
    X: Rows,
    y: Sequence[int],
    n_classes: int = 2,
    *,
    fit_intercept: bool = True,
    max_iter: int = 1000,
    orders: Orders | None = None,
    row_weights: Sequence[Number] | None = None,
    weights: Any = None,
    intercept: Any = None,
    memory: Sequence[Any] = (),
    tie: str = "negative",
) -> Iterator[Step]:
    """Run until a pass makes no mistake, for at most ``max_iter`` passes; yield every Step.

    Parameters
    ----------
    rule : the update rule, e.g. ``Perceptron()``
    scheme : "binary", "native", "ovr" or "ovo"
    X, y : rows, and the class of each: 0, 1, 2, ...
    n_classes : 2 for "binary"
    fit_intercept : whether to fit an intercept, the weight of a constant feature 1
    max_iter : maximum number of passes
    orders : function from the number of a pass, counted from 0, to the row numbers in visiting
        order; default: as given
    row_weights : factors of the updates of rows, default 1; rows of weight 0 are skipped
    weights, intercept : initial values, in the same shapes as in steps; default: set by the rule
    memory : the rule's memory for each binary classifier, as in steps; default: empty
    tie : "negative" (the smallest class wins a tie), "positive" (the largest) or "random": any
        may be drawn, so native learning treats a tie as a mistake

    Raises
    ------
    ValueError
        For rows that the rule cannot use, and labels that are not classes.
    """
    X = X.tolist() if hasattr(X, "tolist") else X  # numbers of NumPy overflow in fractions
    y = classes_of(X, y, scheme, n_classes)
    how = SCHEMES[(rule.native or scheme) if scheme == "native" else scheme](n_classes, tie)
    one = int(fit_intercept and rule.learns_intercept)
    machines = start(rule, how, len(X[0]), weights, intercept)
    for machine, remembered in zip(machines, memory, strict=False):
        machine.memory = remembered
    for row in visited(len(X), 0, row_weights, orders):
        rule.check(row, X[row], one)
    rounds = attempt = 0
    for pass_number in range(max_iter):
        order, clean = visited(len(X), pass_number, row_weights, orders), True
        for place, row in enumerate(order, start=1):
            score = how.scores(machines, X[row])
            examples = how.show(machines, X[row], one, y[row])
            if any([rule.prepare(machines[k], X[row], one) for k, _ in how.sides(y[row])]):
                again = how.show(machines, X[row], one, y[row])
                before = zip(again, examples, strict=True)
                examples = [new._replace(wrong=old.wrong) for new, old in before]
            margins = [rule.margin(machines[e.machine], e) for e in examples]
            importance = weight_of(row, row_weights)
            mistakes, updated, criterion = learn(rule, machines, examples, importance)
            if place == len(order):
                updated += [k for k, m in enumerate(machines) if rule.end_pass(m)]
            clean = clean and mistakes == 0
            yield Step(
                pass_number if rule.batch else rounds, pass_number, row, score, mistakes,
                len(updated), *how.weights(machines), how.predict(score) != y[row],
                tuple(e.machine for e in examples), tuple(updated), criterion, attempt,
                min(filter(None, margins), key=lambda m: m[0] - m[1], default=None),
                tuple(machine.memory for machine in machines),
            )  # fmt: skip
            rounds += 1
        if clean:
            return
        other = rule.again(machines)
        if other is not None:
            rule, attempt = other, attempt + 1
            machines = start(rule, how, len(X[0]), None, None)


def classes_of(X: Rows, y: Sequence[Any], scheme: str, n_classes: int) -> list[int]:
    """Return the class of every row; ValueError if one is not a class number."""
    if scheme == "binary" and n_classes != 2:
        raise ValueError(f"The binary scheme has two classes, not {n_classes}: choose another.")
    if not len(X):
        raise ValueError("X has no rows.")
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows, but y has {len(y)} labels: pass one label per row.")
    for row, code in enumerate(y):
        if not isinstance(code, Integral) or int(code) not in range(n_classes):
            raise ValueError(
                f"Row {row} has the class {code!r}: classes are the whole numbers from 0 to "
                f"{n_classes - 1} (n_classes {n_classes})."
            )
    return [int(code) for code in y]


def start(
    rule: Rule, scheme: Scheme, n_features: int, weights: Any, intercept: Any
) -> list[Machine]:
    """Return binary classifiers with copies of the given weights, or with the rule's first ones."""
    (w, b), n = rule.first(n_features, scheme.joint), scheme.n_vectors
    W = scheme.bare([[w] * n_features] * n) if weights is None else weights
    return scheme.machines(W, scheme.bare([b] * n) if intercept is None else intercept)


def learn(
    rule: Rule, machines: list[Machine], examples: list[Example], importance: Number
) -> tuple[int, list[int], Number]:
    """Update the binary classifiers; return mistakes, changed classifiers, and criterion."""
    mistakes, updated, criterion = 0, [], 0
    for example in examples:
        machine = machines[example.machine]
        if rule.asks(machine, example):
            if example.wrong or rule.margin_mistakes:
                mistakes += 1
                criterion += importance * -example.y * example.score
            if rule.update(machine, example._replace(importance=importance)):
                machine.updates += 1
                machine.total += importance
                machine.heaviest = max(machine.heaviest, importance)
                updated.append(example.machine)
    return mistakes, updated, criterion


def visited(
    n_rows: int, pass_number: int, row_weights: Sequence[Number] | None, orders: Orders | None
) -> list[int]:
    """Return the rows of one pass in visiting order, without rows of weight 0."""
    order = range(n_rows) if orders is None else orders(pass_number)
    return [row for row in order if weight_of(row, row_weights) != 0]


def weight_of(row: int, row_weights: Sequence[Number] | None) -> Number:
    """Return the weight of a row."""
    return 1 if row_weights is None else row_weights[row]
