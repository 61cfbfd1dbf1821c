"""Reading proofs of every kind from their JSON text."""

import json
from typing import Any

from linsep.certificate import proof_file
from linsep.certificate.cycles import from_plain
from linsep.certificate.proof_file import Proof
from linsep.errors import DataError


def from_json(proof: str | bytes) -> Any:
    """Read the verdict or cycle that ``to_json()`` wrote.

    Raises
    ------
    DataError
        If the text is not exactly what ``to_json()`` writes: cut short, edited, or something else.
    """
    return read(proof).claim


def read(proof: str | bytes) -> Proof:
    """Read a proof, and how the files of its data were read."""
    try:
        plain = json.loads(proof)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or not plain.keys() & {"cycle", "cycles"}:
        return proof_file.read(proof)
    proof_file.check_format(plain)
    try:
        claim: Any = from_plain(plain)
    except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError) as error:
        raise DataError(f"This is no cycle, or a damaged one ({type(error).__name__}).") from None
    if claim.to_json() != (proof if isinstance(proof, str) else proof.decode("utf-8", "replace")):
        raise DataError("This is no cycle, or a damaged one: it is not the text that was written.")
    return Proof(claim, None)
