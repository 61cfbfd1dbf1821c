"""Iterative parameter mixing: each shard makes a pass from the same weights, and the results are
mixed.

Each rule defines how state other than weights is mixed (``mixed``).

Reference: R. McDonald, K. Hall and G. Mann, Distributed training strategies for the structured
perceptron, NAACL 2010, Figure 3 and theorem 3.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from linsep.teaching.textbook.keeping import kept
from linsep.teaching.textbook.machine import Machine, Number, Rows, Rule
from linsep.teaching.textbook.running import run, start
from linsep.teaching.textbook.schemes import SCHEMES


class Epoch(NamedTuple):
    """One pass over all shards.

    Attributes
    ----------
    pass_number : int, from 0
    weights, intercept : the mixed weights, in the same shapes as in steps
    average, average_intercept
        The mean over the passes so far of the mixed averages of the shards.
    mistakes : list of int, one for each shard
    mixture : list of numbers, the share of each shard
    memory : tuple, the rule's memory for each mixed binary classifier
    """

    pass_number: int
    weights: Any
    intercept: Any
    average: Any
    average_intercept: Any
    mistakes: list[int]
    mixture: list[Number]
    memory: tuple


def parameter_mixing(
    rule: Rule,
    scheme: str,
    shards: Sequence[tuple[Rows, Sequence[int]]],
    n_classes: int = 2,
    *,
    mixing: str = "uniform",
    max_iter: int = 1000,
    orders: Callable[[int, int], Iterable[int]] | None = None,
    fit_intercept: bool = True,
    tie: str = "negative",
) -> Iterator[Epoch]:
    """Mix until a pass makes no mistake in any shard, for at most ``max_iter`` passes.

    On rows that are separable with margin gamma the mistakes of all passes, each times the share of
    its shard, are at most (R / gamma)^2 (theorem 3).

    Parameters
    ----------
    rule, scheme, n_classes, fit_intercept, tie : as for :func:`linsep.textbook.run`
    shards : list of (X, y), each with at least one row
    mixing : "uniform": all shards have equal shares; "mistakes": shares are proportional to
        mistakes
    orders : function from shard and pass to the row numbers in visiting order; default: as given
    """
    made = SCHEMES[scheme](n_classes, tie)
    machines = start(rule, made, len(shards[0][0][0]), None, None)
    mean: list[Machine] = []
    for pass_number in range(max_iter):
        learned, averages, mistakes, updates = [], [], [], 0
        weights, intercept = made.weights(machines)
        memory = [machine.memory for machine in machines]
        for number, (X, y) in enumerate(shards):
            order = None if orders is None else list(orders(number, pass_number))
            steps = list(
                run(rule, scheme, X, y, n_classes, fit_intercept=fit_intercept, max_iter=1,
                    orders=None if order is None else lambda _, rows=order: rows,  # type: ignore[misc]
                    weights=weights, intercept=intercept, memory=memory, tie=tie)
            )  # fmt: skip
            average = kept(steps, "average", scheme, n_classes, tie=tie)
            learned.append(made.machines(steps[-1].weights, steps[-1].intercept))
            averages.append(made.machines(average.weights, average.intercept))
            for machine, own, remembered in zip(
                learned[-1], averages[-1], steps[-1].memory, strict=True
            ):
                machine.memory = own.memory = remembered
            mistakes.append(sum(step.mistakes for step in steps))
            updates += sum(step.updates for step in steps)
        amounts = mistakes if mixing == "mistakes" else [1] * len(shards)
        mixed = of_pass = machines
        if any(amounts) and (any(mistakes) or updates):
            mixed = mixture_of(rule, machines, learned, amounts)
            of_pass = mixture_of(rule, machines, averages, amounts)
        counts = [pass_number, 1]
        mean = mixture_of(Rule(), machines, [mean, of_pass], counts) if mean else of_pass
        machines = mixed
        yield Epoch(
            pass_number, *made.weights(mixed), *made.weights(mean), mistakes,
            [amount / max(1, sum(amounts)) for amount in amounts],
            tuple(machine.memory for machine in machines),
        )  # fmt: skip
        if not any(mistakes):
            return


def mixture_of(
    rule: Rule, before: list[Machine], shards: Sequence[list[Machine]], amounts: Sequence[int]
) -> list[Machine]:
    """Mix the binary classifiers of the shards by the rule."""
    each = zip(before, zip(*shards, strict=True), strict=True)
    return [rule.mixed(machine, list(own), amounts) for machine, own in each]
