"""Turning weights that recur in floats into a proof in integers."""

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

#: most stored values for which a verdict is sought: with more it may take longer than the passes
MOST_VALUES = 20_000


class Standing(NamedTuple):
    """A machine whose weights recur in floats after ``passes`` passes.

    ``weights`` has shape (vectors, features + 1), the intercept last, or, for a Gram matrix,
    (vectors, rows) with the scores.
    """

    machine: Machine
    weights: np.ndarray
    passes: int


def inseparable(given: Sequence[Given], machine: Machine, n_features: int) -> bool:
    """Return whether a verdict proves that no weights separate the rows as stored."""
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
    """Return the cycles of the machines, confirmed in exact arithmetic, or None.

    Values are read as stored, or else as the decimals that they print as; in that case a verdict
    must also prove that the stored values are not separable. None if some machine's weights do not
    recur exactly, or no machine makes mistakes.
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
