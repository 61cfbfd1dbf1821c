"""From weights that came back in floats to a proof in whole numbers."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.cycles import Cycle, Cycles
from linsep.certificate.verdicts import Blocked, Separations
from linsep.separability.deciding import separation
from linsep.separability.exact.replaying import (
    Given,
    Machine,
    in_whole_numbers,
    on_grid,
    replay,
    scale,
)

#: values of rows that a verdict is asked about: beyond, it may take longer than the passes
MOST_VALUES = 20_000


class Standing(NamedTuple):
    """A machine whose weights have come back in floats.

    ``weights`` has shape (vectors, features + 1), the intercept last, or (vectors, rows) for scores
    where there are no weights but a Gram matrix; they came back after ``passes`` passes.
    """

    machine: Machine
    weights: np.ndarray
    passes: int


def inseparable(given: Sequence[Given], machine: Machine, n_features: int) -> bool:
    """Whether a verdict says that no weights separate the rows as they are stored."""
    rows = [row for row in given if machine.sees(row.code)]
    sizes = [len(row.columns) for row in rows]
    if sum(sizes) > MOST_VALUES:
        return False
    X = sp.csr_matrix(
        (np.concatenate([row.values for row in rows]),
         np.concatenate([row.columns for row in rows]), np.cumsum([0, *sizes])),
        shape=(len(rows), n_features),
    )  # fmt: skip
    codes = [row.code if machine.joint else int(row.code in machine.positive) for row in rows]
    found = separation(X, codes, fit_intercept=machine.fit_intercept, formulations=("multinomial",))
    return isinstance(found.multinomial if isinstance(found, Separations) else found, Blocked)


def find_cycles(
    given: Sequence[Given], standing: Sequence[Standing], rate: float, n_features: int
) -> Cycle | Cycles | None:
    """The cycles that machines go in, if exact arithmetic agrees.

    Values are read as they are stored; else as the decimals that they print as, and then a verdict
    has to say of the values as stored that they cannot be separated either. None if some machine's
    weights do not come back exactly, or no machine makes mistakes.
    """
    for base in (2,) if standing[0].machine.gram else (2, 10):
        power = scale(given, base)
        rows = None if power is None else in_whole_numbers(given, base, power)
        if power is None or rows is None:
            continue
        found = []
        for one in standing:
            whole = on_grid(one.weights.ravel(), rate, base, power)
            if whole is None:
                break
            weights, step, unit = whole
            cycle = Cycle(
                **asdict(one.machine), passes=one.passes, weights=tuple(weights), step=step,
                unit=unit, base=base, power=power, n_rows=len(rows), n_features=n_features,
            )  # fmt: skip
            start = cycle.vectors()
            after, mistakes = replay(one.machine, rows, start, step, cycle.one, one.passes)
            if after != start:
                break
            if mistakes and base == 10 and not inseparable(given, one.machine, n_features):
                break
            found += [cycle] * bool(mistakes)
        else:
            if found:
                return found[0] if len(standing) == 1 else Cycles(tuple(found))
    return None
