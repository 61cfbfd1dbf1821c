"""Verdicts as JSON text and back. Long whole numbers are hexadecimal text: no digit is lost, and
Python reads and writes them without the limit that it sets to decimal ones.
"""

import json
from fractions import Fraction
from typing import Any

from linsep.errors import DataError
from linsep.theory.reading import (
    combination,
    count,
    fields,
    listed,
    long_number,
    row_of,
    space,
    subject,
    text,
    weight,
    yes_or_no,
)
from linsep.theory.row_space import Reduced
from linsep.theory.verdicts import (
    Combination,
    Overlapping,
    QuasiSeparable,
    Separable,
    Separations,
    Subject,
    Undecided,
    Verdict,
)

FORMAT = "linsep proof 1"
FIELDS = {
    Undecided: ("reason",),
    Separable: ("coef", "intercept", "margin", "support"),
    Overlapping: ("witness", "spanning", "space"),
    QuasiSeparable: (
        "witness", "spanning", "space", "direction", "boundary", "everything", "basis",
        "signs",
    ),
}  # fmt: skip
KINDS = {kind.kind: kind for kind in (Separable, QuasiSeparable, Overlapping, Undecided)}


def to_json(claim: Verdict | Separations, recipe: dict[str, Any] | None = None) -> str:
    """A verdict, or several, as JSON text; ``recipe`` says how the files of the data were read."""
    verdicts = claim.verdicts() if isinstance(claim, Separations) else [claim]
    several = isinstance(claim, Separations)
    plain = {
        "format": FORMAT,
        "several": several,
        "recipe": recipe,
        "verdicts": [_plain(v) for v in verdicts],
    }
    return json.dumps(plain, allow_nan=False, indent=1) + "\n"


def from_json(proof: str | bytes) -> Any:
    """The verdict, or the cycle, that ``to_json()`` wrote.

    Raises
    ------
    DataError
        Where the text is no verdict: cut short, edited so that it makes no sense, of another kind.
    """
    try:
        plain = json.loads(proof)
        if plain["format"] != FORMAT:
            given = repr(plain["format"])[:40]
            raise DataError(f"This is {given}: only {FORMAT!r} can be read.")
        if "cycle" in plain:
            from linsep.theory.cycles import from_plain

            return from_plain(plain["cycle"])
        fields(plain, ("format", "several", "recipe", "verdicts"))
        verdicts = [_verdict(one) for one in listed(plain["verdicts"])]
        if not verdicts:
            raise ValueError("there is no verdict")
        return _several(verdicts) if yes_or_no(plain["several"]) else _only(verdicts)
    except DataError:
        raise
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        raise DataError(
            f"This is no proof, or a damaged one ({type(error).__name__}: {error}): "
            "write it again with to_json() or linsep separate --proof."
        ) from error


def _only(verdicts: list[Verdict]) -> Verdict:
    (verdict,) = verdicts
    return verdict


def _several(verdicts: list[Verdict]) -> Separations:
    multi = [v for v in verdicts if v.subject.multinomial]
    sided = [v for v in verdicts if not v.subject.multinomial]
    pairs, rest = {}, {}
    for verdict in sided:
        subject = verdict.subject
        if len(subject.positive) + len(subject.negative) == len(subject.classes):
            rest[subject.positive[0]] = verdict
        else:
            pairs[subject.negative[0], subject.positive[0]] = verdict
    return Separations(rest, pairs, _only(multi) if multi else None)


def _plain(verdict: Verdict) -> dict[str, Any]:
    subject = {name: getattr(verdict.subject, name) for name in Subject.__annotations__}
    plain: dict[str, Any] = {"kind": verdict.kind, "subject": subject}
    if isinstance(verdict, Separable):
        high = verdict.margin[1]
        plain["coef"] = [[_plain_weight(w) for w in row] for row in verdict.coef]
        plain["intercept"] = [_plain_weight(w) for w in verdict.intercept]
        plain["margin"] = [verdict.margin[0], high if high != float("inf") else None]
        plain["support"] = _plain_combination(verdict.support)
    elif isinstance(verdict, Overlapping | QuasiSeparable):
        plain["witness"] = _plain_combination(verdict.witness)
        plain["spanning"] = _plain_combination(verdict.spanning)
        plain["space"] = _plain_space(verdict.space)
    elif isinstance(verdict, Undecided):
        plain["reason"] = verdict.reason
    if isinstance(verdict, QuasiSeparable):
        plain["direction"] = {str(j): hex(m) for j, m in verdict.direction.items()}
        plain["boundary"] = verdict.boundary
        plain["everything"] = _plain_space(verdict.everything)
        plain["basis"] = verdict.basis
        plain["signs"] = {str(j): _plain_combination(c) for j, c in verdict.signs.items()}
    return plain


def _plain_weight(weight: float) -> float | str:
    return hex(weight) if isinstance(weight, int) else weight


def _plain_space(space: Reduced) -> dict[str, Any]:
    rows = space.rows.items()
    return {str(p): {str(j): _digits(x) for j, x in row.items()} for p, row in rows}


def _plain_combination(given: Combination) -> dict[str, Any]:
    multipliers = [hex(m) for m in given.multipliers]
    return {"rows": given.rows, "which": given.which, "multipliers": multipliers}


def _digits(number: Fraction) -> str:
    return f"{hex(number.numerator)}/{hex(number.denominator)}"


def _verdict(plain: Any) -> Verdict:
    kind = KINDS[plain["kind"]]
    given = fields(plain, ("kind", "subject", *FIELDS[kind]))
    about = subject(given["subject"])
    if kind is Undecided:
        return Undecided(about, text(given["reason"]))
    if kind is Separable:
        low, high = (None if end is None else weight(end) for end in listed(given["margin"]))
        if low is None:
            raise ValueError("a margin has no lower end")
        return Separable(
            about,
            tuple(tuple(weight(x) for x in listed(row)) for row in listed(given["coef"])),
            tuple(weight(x) for x in listed(given["intercept"])),
            (float(low), float("inf") if high is None else float(high)),
            combination(given["support"]),
        )
    evidence = combination(given["witness"]), combination(given["spanning"]), space(given["space"])
    if kind is Overlapping:
        return Overlapping(about, *evidence)
    return QuasiSeparable(
        about,
        *evidence,
        row_of(given["direction"], long_number),
        tuple(count(row) for row in listed(given["boundary"])),
        space(given["everything"]),
        tuple((count(row), count(which)) for row, which in map(listed, listed(given["basis"]))),
        row_of(given["signs"], combination),
    )
