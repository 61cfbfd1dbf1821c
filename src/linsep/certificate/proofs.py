"""Read proofs from JSON text in one form only: the text read must equal the text written."""

import json
import re
from itertools import combinations
from typing import Any, NamedTuple

from linsep.certificate.canonical import plain_label
from linsep.certificate.constraints import Subject
from linsep.certificate.cycles import Cycle, Cycles
from linsep.certificate.json_fields import COUNT, Counts, Malformed, field_of, read_object
from linsep.certificate.verdicts import (
    FORMAT,
    Overlapping,
    QuasiSeparable,
    Separable,
    Separations,
    Undecided,
    Verdict,
)
from linsep.errors import DataError

KINDS = {kind.kind: kind for kind in (Separable, QuasiSeparable, Overlapping, Undecided)}
AGAIN = "write it again with to_json() or linsep separate --proof"
Sides = tuple[tuple[Any, ...], tuple[Any, ...]]


class Proof(NamedTuple):
    """A claim, and the recipe for the files of its data (None if the data were not in files)."""

    claim: Any
    recipe: dict[str, Any] | None


def from_json(proof: str | bytes) -> Any:
    """Read a verdict or cycle written by ``to_json()``.

    Raises
    ------
    DataError
        If the text is not exactly the output of ``to_json()``, because it was truncated or edited.
    """
    return read(proof).claim


def read(proof: str | bytes) -> Proof:
    """Read a proof, and the recipe for the files of its data."""
    found = None
    try:
        text = proof if isinstance(proof, str) else proof.decode("ascii")
        plain = json.loads(text)
        given = plain["format"]
        if given == FORMAT:
            found = _cycles(plain) if plain.keys() & {"cycle", "cycles"} else _proof(plain)
            if found.claim.to_json(*[found.recipe] * ("recipe" in plain)) != text:
                raise Malformed("it is not in canonical form")
    except (
        ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError
    ) as error:  # fmt: skip
        why = error if isinstance(error, Malformed) else f"{type(error).__name__}: {error}"[:80]
        raise DataError(
            f"This is not a proof, or it was altered ({why}): {AGAIN}.", code="bad-proof"
        ) from None
    if found is None:
        raise DataError(
            f"This has the format {str(given)[:40]!r}: only {FORMAT!r} is supported, so {AGAIN}.",
            code="other-version", value=given,
        )  # fmt: skip
    return found


def _cycles(plain: dict[str, Any]) -> Proof:
    if "cycle" in plain:
        return Proof(read_object(Cycle, plain["cycle"]), None)
    cycles = tuple(read_object(Cycle, one) for one in plain["cycles"])
    if not cycles:
        raise Malformed("the list is empty")
    return Proof(Cycles(cycles), None)


def _proof(plain: dict[str, Any]) -> Proof:
    if not isinstance(plain["recipe"], dict | None):
        raise Malformed("the recipe is not an object")
    whole = _subject(plain["data"], plain["fit_intercept"])
    own = {label: label for label in whole.classes}  # 1 for True, which is then written otherwise
    verdicts = [_verdict(one, whole, own) for one in plain["verdicts"]]
    if plain["formulations"] is not None:
        return Proof(_several(verdicts, plain["formulations"], whole.classes), plain["recipe"])
    (verdict,) = verdicts
    if not _is_question(verdict.subject):
        raise Malformed("the sides are not those of a question")
    return Proof(verdict, plain["recipe"])


def _subject(plain: Any, fit_intercept: Any) -> Subject:
    classes = tuple(map(plain_label, plain["classes"]))
    names, columns = plain["names"], plain["columns"]
    n_rows, n_features = COUNT.read(plain["rows"]), COUNT.read(plain["features"])
    if len(classes) < 2 or list(classes) != sorted(set(classes)):
        raise Malformed("the classes are not two or more, sorted")
    if isinstance(classes[0], str):
        "".join(classes).encode()  # ValueError for a lone surrogate
    names = field_of(tuple[str, ...] | None).read(names)
    if names is not None and len(names) != n_features:
        raise Malformed("the number of names differs from the number of features")
    if columns is not None:
        columns = field_of(Counts).read(columns)
        if len(columns) != n_features or max(columns, default=0) >= n_rows or names is not None:
            raise Malformed("the columns are not columns of a Gram matrix")
    if not re.fullmatch("[0-9a-f]{64}", plain["sha256"]):
        raise Malformed("the hash is not a SHA-256")
    intercept = field_of(bool).read(fit_intercept)
    return Subject(
        classes, (), (), intercept, n_rows, n_features, names, plain["sha256"], columns
    )  # fmt: skip


def _verdict(plain: Any, whole: Subject, own: dict[Any, Any]) -> Verdict:
    sides = (tuple(own[label] for label in plain[side]) for side in ("positive", "negative"))
    found: Verdict = read_object(KINDS[plain["kind"]], plain, subject=whole.of_sides(*sides))
    return found


def _is_question(subject: Subject) -> bool:
    """Return whether the sides belong to a formulation, without listing all of them."""
    classes, positive, negative = subject.classes, subject.positive, subject.negative
    if len(positive) == len(negative) == 1:
        return classes.index(negative[0]) < classes.index(positive[0])
    if len(positive) == 1:
        return negative == tuple(label for label in classes if label != positive[0])
    return len(classes) > 2 and not positive and not negative


def _several(
    verdicts: list[Verdict], formulations: list[str], classes: tuple[Any, ...]
) -> Separations:
    """Return the verdicts of some formulations, which are each once and in order."""
    n = len(classes)
    many = {"ovr": n, "ovo": n * (n - 1) // 2, "multinomial": 1}
    # counted first: the sides of many classes are long lists
    if n < 3 or not formulations or sum(many[name] for name in formulations) != len(verdicts):
        raise Malformed("the verdicts do not match the formulations")
    left = iter(verdicts)
    of = {name: [next(left) for _ in range(many[name])] for name in formulations}
    for name, some in of.items():
        if [(one.subject.positive, one.subject.negative) for one in some] != _sides(name, classes):
            raise Malformed("the verdicts do not match the formulations")
    rest = {v.subject.positive[0]: v for v in of.get("ovr", ())}
    pairs = {(v.subject.negative[0], v.subject.positive[0]): v for v in of.get("ovo", ())}
    return Separations(rest, pairs, next(iter(of.get("multinomial", ())), None))


def _sides(formulation: str, classes: tuple[Any, ...]) -> list[Sides]:
    """Return the positive and negative side of every verdict of a formulation."""
    if formulation == "ovo":
        return [((b,), (a,)) for a, b in combinations(classes, 2)]
    if formulation == "multinomial":
        return [((), ())]
    return [((k,), tuple(c for c in classes if c != k)) for k in classes]
