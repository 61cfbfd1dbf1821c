"""Verdicts as JSON text and back. Long whole numbers are hexadecimal text: no digit is lost, and
Python reads and writes them without the limit that it sets to decimal ones.
"""

import json
from fractions import Fraction
from typing import Any

from linsep.errors import DataError
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


def from_json(text: str | bytes) -> Any:
    """The verdict, or the cycle, that ``to_json()`` wrote.

    Raises
    ------
    DataError
        Where the text is no verdict: cut short, edited so that it makes no sense, of another kind.
    """
    try:
        plain = json.loads(text)
        if plain["format"] != FORMAT:
            raise DataError(f"This is {plain['format']!r}: only {FORMAT!r} can be read.")
        if "cycle" in plain:
            from linsep.theory.cycles import from_plain

            return from_plain(plain["cycle"])
        verdicts = [_verdict(one) for one in plain["verdicts"]]
        return _several(verdicts) if plain["several"] else _only(verdicts)
    except DataError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
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
    return plain


def _plain_weight(weight: float) -> float | str:
    return hex(weight) if isinstance(weight, int) else weight


def _weight(plain: float | str) -> float:
    return int(plain, 16) if isinstance(plain, str) else float(plain)


def _plain_space(space: Reduced) -> dict[str, Any]:
    rows = space.rows.items()
    return {str(p): {str(j): _digits(x) for j, x in row.items()} for p, row in rows}


def _space(plain: dict[str, Any]) -> Reduced:
    rows = plain.items()
    return Reduced({int(p): {int(j): _fraction(x) for j, x in row.items()} for p, row in rows})


def _plain_combination(given: Combination) -> dict[str, Any]:
    multipliers = [hex(m) for m in given.multipliers]
    return {"rows": given.rows, "which": given.which, "multipliers": multipliers}


def _digits(number: Fraction) -> str:
    return f"{hex(number.numerator)}/{hex(number.denominator)}"


def _fraction(digits: str) -> Fraction:
    above, below = digits.split("/")
    return Fraction(int(above, 16), int(below, 16))


def _verdict(plain: dict[str, Any]) -> Verdict:
    given = plain["subject"]
    lists = {name: tuple(given[name]) for name in ("classes", "positive", "negative")}
    names = None if given["names"] is None else tuple(given["names"])
    columns = given.get("columns")
    columns = None if columns is None else tuple(int(j) for j in columns)
    subject = Subject(**{**given, **lists, "names": names, "columns": columns})
    kind = KINDS[plain["kind"]]
    if kind is Undecided:
        return Undecided(subject, str(plain["reason"]))
    if kind is Separable:
        low, high = plain["margin"]
        return Separable(
            subject,
            tuple(tuple(_weight(x) for x in row) for row in plain["coef"]),
            tuple(_weight(x) for x in plain["intercept"]),
            (float(low), float("inf") if high is None else float(high)),
            _combination(plain["support"]),
        )
    evidence = (
        _combination(plain["witness"]),
        _combination(plain["spanning"]),
        _space(plain["space"]),
    )
    if kind is Overlapping:
        return Overlapping(subject, *evidence)
    direction = {int(j): int(m, 16) for j, m in plain["direction"].items()}
    boundary = tuple(int(row) for row in plain["boundary"])
    everything = _space(plain["everything"])
    return QuasiSeparable(subject, *evidence, direction, boundary, everything)


def _combination(plain: dict[str, Any]) -> Combination:
    return Combination(
        tuple(int(row) for row in plain["rows"]),
        tuple(int(which) for which in plain["which"]),
        tuple(int(m, 16) for m in plain["multipliers"]),
    )
