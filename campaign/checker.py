"""Both checkers of verdicts against each other and against exact oracles.

A case of ``verdicts`` is a set of rows, whose verdicts must pass ``verify`` and ``linsep.check``
and agree with elimination in fractions. A case of ``edited-proofs`` and ``damaged-proofs`` is an
altered proof, on which both must agree, and which they may accept only if it is true.
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from campaign import batches
from campaign.batches import Limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

import checkers_agree

verdict_case = checkers_agree.verdict_case


def altered(case: batches.Case) -> Callable[[Limits], Counter]:
    """Return a runner of cases that share a few hundred proofs."""

    def run(limits: Limits) -> Counter:
        if limits.count >= 10 * checkers_agree.MOST_PROOFS:
            for seed in range(checkers_agree.MOST_PROOFS):
                checkers_agree.rows_and_claim(seed)
        return batches.run(case, limits, batch=5000)

    return run


edited_proofs, damaged_proofs = (
    altered(case) for case in (checkers_agree.edit_case, checkers_agree.damage_case)
)
