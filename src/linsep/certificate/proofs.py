"""Proofs of every kind from their JSON text."""

import json
from typing import Any

from linsep.certificate import proof_file
from linsep.certificate.cycles import from_plain
from linsep.certificate.proof_file import Proof
from linsep.errors import DataError


def from_json(proof: str | bytes) -> Any:
    """The verdict, or the cycle, that ``to_json()`` wrote.

    Raises
    ------
    DataError
        For any text but the one that ``to_json()`` writes: cut short, edited, of another kind.
    """
    return read(proof).claim


def read(proof: str | bytes) -> Proof:
    """The same, with how the files of the data were read."""
    try:
        plain = json.loads(proof)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or not plain.keys() & {"cycle", "cycles"}:
        return proof_file.read(proof)
    try:
        claim: Any = from_plain(plain)
    except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError) as error:
        raise DataError(f"This is no cycle, or a damaged one ({type(error).__name__}).") from None
    if claim.to_json() != (proof if isinstance(proof, str) else proof.decode("utf-8", "replace")):
        raise DataError("This is no cycle, or a damaged one: it is not the text that was written.")
    return Proof(claim, None)
