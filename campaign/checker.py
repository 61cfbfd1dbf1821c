"""Both checkers of verdicts against each other and against exact oracles.

A case of ``verdicts`` is a set of rows, whose verdicts must pass ``verify`` and ``linsep.check``
and agree with elimination in fractions. A case of ``edited-proofs`` and ``damaged-proofs`` is an
altered proof, on which both must agree, and which they may accept only if it is true.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from checkers_agree import damage_case, edit_case, verdict_case

__all__ = ["damage_case", "edit_case", "verdict_case"]
