"""Read proofs from JSON text in one form only: the text read must equal the text written."""

import json
import re
from itertools import combinations
from typing import Any, NamedTuple

from linsep.certificate.constraints import FORMULATIONS, Subject
from linsep.certificate.cycles import Cycle, Cycles
from linsep.certificate.errors import ERRORS
from linsep.certificate.json_fields import (
    COUNT,
    COUNTS,
    FLAG,
    TEXT,
    Malformed,
    fields_of,
    items_of,
    list_of,
    read_fields,
)
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

EARLIER = ("linsep proof 1", "linsep proof 2")
DATA = ("rows", "features", "names", "classes", "columns", "sha256")
LABELS = {str, bool, int, float}
KINDS = {kind.kind: kind for kind in (Separable, QuasiSeparable, Overlapping, Undecided)}
AGAIN = "write it again with to_json() or linsep separate --proof"


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
    try:
        plain = json.loads(proof)
    except (ValueError, RecursionError):
        plain = None
    if isinstance(plain, dict) and plain.keys() & {"cycle", "cycles"}:
        return _read_cycles(proof, plain)
    return _read_verdicts(proof)


def _read_verdicts(proof: str | bytes) -> Proof:
    try:
        text = proof.decode("ascii") if isinstance(proof, bytes) else proof
        plain = json.loads(text)
        if not isinstance(plain, dict) or "format" not in plain:
            raise Malformed("it has no format")
        _check_format(plain)
        found = _proof(plain)
        if found.claim.to_json(found.recipe) != text:
            raise Malformed("it is not in canonical form")
    except DataError:
        raise
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        why = error if isinstance(error, Malformed) else type(error).__name__
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else why
        raise DataError(
            f"This is not a proof, or it was altered ({why}): {AGAIN}.", code="bad-proof"
        ) from None
    return found


def _check_format(plain: dict[str, Any]) -> None:
    """Raise DataError unless a proof has the current format."""
    given = plain.get("format")
    if given in EARLIER:
        raise DataError(
            f"This proof has the earlier format {given!r}, which is no longer supported: {AGAIN}.",
            code="other-version", value=given,
        )  # fmt: skip
    if given != FORMAT:
        raise DataError(
            f"This has the format {str(given)[:40]!r}: only {FORMAT!r} is supported.",
            code="other-version", value=given,
        )  # fmt: skip


def _proof(plain: dict[str, Any]) -> Proof:
    fields_of(plain, ("format", "recipe", "data", "fit_intercept", "formulations", "verdicts"))
    if not isinstance(plain["recipe"], dict | None):
        raise Malformed("the recipe is not an object")
    whole = _subject(plain["data"], plain["fit_intercept"])
    verdicts = [_verdict(one, whole) for one in items_of(plain["verdicts"])]
    if plain["formulations"] is not None:
        formulations = list_of(TEXT).read(plain["formulations"])
        return Proof(_several(verdicts, formulations, whole.classes), plain["recipe"])
    if len(verdicts) != 1:
        raise Malformed("it needs exactly one verdict")
    if not _is_question(verdicts[0].subject):
        raise Malformed("the sides are not classes of the data")
    return Proof(verdicts[0], plain["recipe"])


def _is_question(subject: Subject) -> bool:
    """Return whether the sides belong to a formulation, without listing all of them."""
    classes, positive, negative = subject.classes, subject.positive, subject.negative
    if len(classes) == 2 or len(positive) != 1:
        return (positive, negative) == (classes[1:], classes[:1]) or (
            len(classes) > 2 and not positive and not negative
        )
    if len(negative) == 1:
        return classes.index(negative[0]) < classes.index(positive[0])
    return negative == tuple(label for label in classes if label != positive[0])


def _several(
    verdicts: list[Verdict], formulations: tuple[str, ...], classes: tuple[Any, ...]
) -> Separations:
    if (
        len(classes) < 3
        or not formulations
        or formulations != tuple(s for s in FORMULATIONS if s in formulations)
    ):
        raise Malformed("the formulations are unknown, repeated or out of order")
    n = len(classes)
    many = sum({"ovr": n, "ovo": n * (n - 1) // 2, "multinomial": 1}[s] for s in formulations)
    # counted first: the sides of many classes are long lists
    expected = (
        [sides for name in formulations for sides in _sides_of(name, classes)]
        if many == len(verdicts)
        else []
    )
    if not expected or [(v.subject.positive, v.subject.negative) for v in verdicts] != expected:
        raise Malformed("the verdicts do not match the formulations, each once and in order")
    left = iter(verdicts)
    of = {name: [next(left) for _ in _sides_of(name, classes)] for name in formulations}
    rest = {v.subject.positive[0]: v for v in of.get("ovr", ())}
    pairs = {(v.subject.negative[0], v.subject.positive[0]): v for v in of.get("ovo", ())}
    return Separations(rest, pairs, next(iter(of.get("multinomial", ())), None))


def _subject(plain: Any, fit_intercept: Any) -> Subject:
    given = fields_of(plain, DATA)
    classes = _labels(given["classes"])
    if len(classes) < 2 or list(classes) != sorted(set(classes)):
        raise Malformed("the classes are not two or more, sorted")
    n_rows, n_features = COUNT.read(given["rows"]), COUNT.read(given["features"])
    names, columns = given["names"], given["columns"]
    if names is not None and len(names := list_of(TEXT).read(names)) != n_features:
        raise Malformed("the number of names differs from the number of features")
    if columns is not None:
        columns = COUNTS.read(columns)
        if len(columns) != n_features or max(columns, default=0) >= n_rows or names is not None:
            raise Malformed("the columns are not columns of a Gram matrix")
    if not re.fullmatch("[0-9a-f]{64}", TEXT.read(given["sha256"])):
        raise Malformed("the hash is not a SHA-256")
    return Subject(
        classes, (), (), FLAG.read(fit_intercept), n_rows, n_features, names, given["sha256"],
        columns,
    )  # fmt: skip


def _labels(plain: Any) -> tuple[Any, ...]:
    labels = tuple(items_of(plain))
    kinds = {type(label) for label in labels}
    if not (kinds <= LABELS - {str} or kinds <= {str}):
        raise Malformed("the labels are neither all text nor all numbers")
    for label in labels:
        if isinstance(label, str):
            TEXT.read(label)
        elif isinstance(label, float) and label.is_integer():
            raise Malformed("a whole-number label is written as a float")
    return labels


def _side(plain: Any, whole: Subject) -> tuple[Any, ...]:
    """Return some of the classes; each must have the type it has there."""
    labels = tuple(items_of(plain))
    known = {(type(label), label) for label in whole.classes}
    if not all(type(label) in LABELS and (type(label), label) in known for label in labels):
        raise Malformed("the sides are not classes of the data")
    return labels


def _verdict(plain: Any, whole: Subject) -> Verdict:
    kind = KINDS[plain["kind"]]
    fields = {k: f for k, f in kind.fields.items() if k in plain or k not in kind.optional}
    errors = {"errors": ERRORS} if "errors" in plain else {}
    given = fields_of(plain, ("kind", "positive", "negative", *fields, *errors))
    about = whole.of_sides(*(_side(given[name], whole) for name in ("positive", "negative")))
    fields |= errors
    found = kind(about, **{name: field.read(given[name]) for name, field in fields.items()})
    if isinstance(found, Separable):
        if {len(row) for row in found.coef} != {about.n_features} or len(
            found.coef
        ) != about.blocks:
            raise Malformed("the number of weights does not match the number of features")
        if len(found.intercept) != about.blocks:
            raise Malformed("the number of intercepts differs from the number of rows of weights")
    return found


def _sides_of(
    formulation: str, classes: tuple[Any, ...]
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return the positive and negative side of every verdict of a formulation.

    Both are empty for "multinomial", where every class has weights. For two classes, the second is
    the positive side.
    """
    if formulation == "ovo":
        return [((b,), (a,)) for a, b in combinations(classes, 2)]
    if len(classes) == 2:
        return []
    if formulation == "multinomial":
        return [((), ())]
    return [((k,), tuple(c for c in classes if c != k)) for k in classes]


# Cycles.


def _read_cycles(proof: str | bytes, plain: dict[str, Any]) -> Proof:
    _check_format(plain)
    try:
        claim = _cycles(plain)
    except Malformed as error:
        raise DataError(
            f"This is not a cycle, or it is damaged: {error}.", code="bad-proof"
        ) from None
    except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError) as error:
        raise DataError(
            f"This is not a cycle, or it is damaged ({type(error).__name__}).", code="bad-proof"
        ) from None
    if claim.to_json() != (proof if isinstance(proof, str) else proof.decode("utf-8", "replace")):
        raise DataError(
            "This is not a cycle, or it is damaged: the text was changed.", code="bad-proof"
        )
    return Proof(claim, None)


def _cycles(plain: dict[str, Any]) -> Cycle | Cycles:
    """Return the cycle or cycles of a JSON object that ``to_json`` wrote."""
    if "cycle" in plain:
        return _cycle(plain["cycle"])
    cycles = tuple(_cycle(one) for one in items_of(plain["cycles"]))
    if not cycles:
        raise Malformed("the list is empty")
    return Cycles(cycles)


def _cycle(plain: Any) -> Cycle:
    fields = {k: f for k, f in Cycle.fields.items() if k != "zero" or k in plain}
    return Cycle(**read_fields(fields_of(plain, fields), fields))
