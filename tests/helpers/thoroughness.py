"""How much `make test` tries of what `make test-thorough` tries.

The first draws fewer random examples, takes of all combinations those in which every two values
meet, and leaves out what repeats others at length.
"""

import os
from itertools import combinations, product

from hypothesis import HealthCheck, settings

from linsep.compiled.jit import COMPILING

THOROUGH = bool(os.environ.get("LINSEP_THOROUGH"))


def examples(compiled, plain=None):
    """Settings of hypothesis for this many random examples, or ``plain`` without the compiler."""
    most = compiled if COMPILING or plain is None else plain
    return settings(
        max_examples=most if THOROUGH else max(most // 5, 5),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


def some(values, share=3):
    """All values; or the first, and from there one of every ``share``."""
    return list(values) if THOROUGH else list(values)[::share]


def met(*lists):
    """Combinations of one value of each list: all, or so many that every two values meet."""
    every = list(product(*(range(len(values)) for values in lists)))
    chosen = every if THOROUGH else _pairwise(every)
    return [tuple(values[k] for values, k in zip(lists, one, strict=True)) for one in chosen]


def _pairwise(every):
    """Greedily, the combination with most pairs that no earlier one has; the first of equals."""
    pairs = {one: set(combinations(enumerate(one), 2)) for one in every}
    left = set().union(*pairs.values())
    while left:
        best = max(every, key=lambda one: len(pairs[one] & left))
        left -= pairs[best]
        yield best
