"""Reading proofs from JSON text, in one form only: what is read must be what is written."""

import json
import math
import re
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from linsep.certificate.constraints import FORMULATIONS, Combination, Subject
from linsep.certificate.cycles import Cycle, Cycles
from linsep.certificate.integers import Row, Space
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
LABELS = {str, bool, int, float}
AGAIN = "write it again with to_json() or linsep separate --proof"
HEX = re.compile(r"-?0x[0-9a-f]+")
#: most hexadecimal digits of one number: arithmetic with more takes too long
MOST_DIGITS = 1 << 18
#: counts and positions are below this
MOST = 1 << 53
#: most bits of a weight of a cycle; the search finds shorter ones
MOST_BITS = 1 << 13


class Proof(NamedTuple):
    """A claim, and how the files of its data were read (None if the data were not in files)."""

    claim: Any
    recipe: dict[str, Any] | None


class Malformed(ValueError):
    """A proof is malformed; the message is a phrase that says how."""


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
    if isinstance(plain, dict) and plain.keys() & {"cycle", "cycles"}:
        return _read_cycles(proof, plain)
    return _read_verdicts(proof)


def _read_verdicts(proof: str | bytes) -> Proof:
    """Read verdicts, and the recipe."""
    try:
        text = proof.decode("ascii") if isinstance(proof, bytes) else proof
        plain = json.loads(text)
        if not isinstance(plain, dict) or "format" not in plain:
            raise Malformed("it has no format")
        _check_format(plain)
        found = _proof(plain)
        if found.claim.to_json(found.recipe) != text:
            raise Malformed("it is not in the form in which proofs are written")
    except DataError:
        raise
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        why = error if isinstance(error, Malformed) else type(error).__name__
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else why
        raise DataError(f"This is no proof, or an altered one ({why}): {AGAIN}.") from None
    return found


def _check_format(plain: dict[str, Any]) -> None:
    """Raise DataError unless a proof has the present format."""
    given = plain.get("format")
    if given in EARLIER:
        raise DataError(
            f"This proof has the earlier format {given!r}, which is no longer read: {AGAIN}."
        )
    if given != FORMAT:
        raise DataError(f"This has the format {str(given)[:40]!r}: only {FORMAT!r} can be read.")


def _proof(plain: dict[str, Any]) -> Proof:
    _fields(plain, ("format", "recipe", "data", "fit_intercept", "formulations", "verdicts"))
    if not isinstance(plain["recipe"], dict | None):
        raise Malformed("the recipe is not an object")
    whole = _subject(plain["data"], plain["fit_intercept"])
    verdicts = [_verdict(one, whole) for one in _list(plain["verdicts"])]
    if plain["formulations"] is not None:
        formulations = tuple(_text(name) for name in _list(plain["formulations"]))
        return Proof(_several(verdicts, formulations, whole.classes), plain["recipe"])
    if len(verdicts) != 1:
        raise Malformed("it needs exactly one verdict")
    if not _is_question(verdicts[0].subject):
        raise Malformed("the sides are not made of the classes")
    return Proof(verdicts[0], plain["recipe"])


def _is_question(subject: Subject) -> bool:
    """Return whether the sides are those of a formulation, without listing all of these."""
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
    """Return the verdicts of some formulations, each once and in order."""
    if (
        len(classes) < 3
        or not formulations
        or formulations != tuple(s for s in FORMULATIONS if s in formulations)
    ):
        raise Malformed("the formulations are not known ones, each once and in order")
    n = len(classes)
    many = sum({"ovr": n, "ovo": n * (n - 1) // 2, "multinomial": 1}[s] for s in formulations)
    # counted first: the sides of many classes are long lists
    expected = (
        [sides for name in formulations for sides in _sides_of(name, classes)]
        if many == len(verdicts)
        else []
    )
    if not expected or [(v.subject.positive, v.subject.negative) for v in verdicts] != expected:
        raise Malformed("the verdicts are not those of the formulations, each once and in order")
    left = iter(verdicts)
    of = {name: [next(left) for _ in _sides_of(name, classes)] for name in formulations}
    rest = {v.subject.positive[0]: v for v in of.get("ovr", ())}
    pairs = {(v.subject.negative[0], v.subject.positive[0]): v for v in of.get("ovo", ())}
    return Separations(rest, pairs, next(iter(of.get("multinomial", ())), None))


def _subject(plain: Any, fit_intercept: Any) -> Subject:
    given = _fields(plain, DATA)
    classes = _labels(given["classes"])
    if len(classes) < 2 or list(classes) != sorted(set(classes)):
        raise Malformed("the classes are not two or more, sorted")
    n_rows, n_features, names = _count(given["rows"]), _count(given["features"]), given["names"]
    if names is not None and len(_list(names)) != n_features:
        raise Malformed("the number of names differs from the number of features")
    columns = given["columns"]
    if columns is not None:
        columns = _ascending([_count(j) for j in _list(columns)])
        if len(columns) != n_features or max(columns, default=0) >= n_rows or names is not None:
            raise Malformed("the columns are not those of a Gram matrix")
    if not re.fullmatch("[0-9a-f]{64}", _text(given["sha256"])):
        raise Malformed("the hash is not a SHA-256")
    return Subject(
        classes, (), (), _flag(fit_intercept), n_rows, n_features,
        None if names is None else tuple(_text(name) for name in names), given["sha256"], columns,
    )  # fmt: skip


def _verdict(plain: Any, whole: Subject) -> Verdict:
    kind = KINDS[plain["kind"]]
    some = ("unchecked",) * (kind is QuasiSeparable and "unchecked" in plain)
    given = _fields(plain, ("kind", "positive", "negative", *FIELDS[kind], *some))
    about = whole.of_sides(*(_side(given[name], whole) for name in ("positive", "negative")))
    if kind is Undecided:
        return Undecided(about, _text(given["reason"]))
    if kind is Separable:
        low, high = _list(given["margin"])
        coef = tuple(tuple(_weight(x) for x in _list(row)) for row in _list(given["coef"]))
        intercept = tuple(_weight(x) for x in _list(given["intercept"]))
        if {len(row) for row in coef} != {about.n_features} or len(coef) != about.blocks:
            raise Malformed("the number of weights does not match the number of features")
        if len(intercept) != about.blocks:
            raise Malformed("the number of intercepts differs from the number of rows of weights")
        margin = _float(low), math.inf if high is None else _float(high)
        return Separable(about, coef, intercept, margin, _combination(given["support"]))
    evidence = (
        _combination(given["witness"]),
        _combination(given["spanning"]),
        _space(given["space"]),
    )
    if kind is Overlapping:
        return Overlapping(about, *evidence)
    basis = [tuple(map(_count, _list(pair))) for pair in _list(given["basis"])]
    return QuasiSeparable(
        about,
        *evidence,
        _whole_row(given["direction"]),
        _ascending([_count(row) for row in _list(given["boundary"])]),
        _space(given["everything"]),
        _ascending([(row, which) for row, which in basis]),
        _row(given["signs"], _combination),
        _ascending([_count(j) for j in _list(given.get("unchecked", []))]),
    )


def _sides_of(
    formulation: str, classes: tuple[Any, ...]
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return the positive and negative side of every verdict of a formulation.

    Both are empty for "multinomial", where every class has weights. Of two classes the second is
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
    except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError) as error:
        raise DataError(f"This is no cycle, or a damaged one ({type(error).__name__}).") from None
    if claim.to_json() != (proof if isinstance(proof, str) else proof.decode("utf-8", "replace")):
        raise DataError("This is no cycle, or a damaged one: it is not the text that was written.")
    return Proof(claim, None)


def _cycles(plain: dict[str, Any]) -> Cycle | Cycles:
    """Return the cycle or cycles of a JSON object that ``to_json`` wrote."""
    if "cycle" in plain:
        return _cycle(plain["cycle"])
    cycles = tuple(_cycle(one) for one in plain["cycles"])
    if not cycles:
        raise DataError("This is no cycle, or a damaged one: the list is empty.")
    return Cycles(cycles)


def _cycle(plain: dict[str, Any]) -> Cycle:
    names = [name for name in Cycle.__dataclass_fields__ if name not in ("again", "zero")]
    if sorted(plain) != sorted([*names, *["zero"] * ("zero" in plain)]):
        raise DataError(f"This is no cycle, or a damaged one: it needs {', '.join(names)}.")
    plain = {"zero": "mistake", **plain}
    read: dict[str, Any] = {name: int(plain[name], 16) for name in ("step", "unit")}
    read["weights"] = tuple(int(w, 16) for w in plain["weights"])
    if max(abs(m).bit_length() for m in (read["step"], read["unit"], *read["weights"])) > MOST_BITS:
        raise DataError("This is no cycle, or a damaged one: a number is too long.")
    for name in ("positive", "negative"):
        read[name] = tuple(plain[name])
    kinds = {bool: ("fit_intercept", "gram"), str: ("update", "tie", "zero"), int: (
        "passes", "base", "power", "n_rows", "n_features", "n_classes"
    )}  # fmt: skip
    sound = all(type(plain[name]) is kind for kind, those in kinds.items() for name in those)
    if not sound or any(type(code) is not int for code in read["positive"] + read["negative"]):
        raise DataError("This is no cycle, or a damaged one: a value has the wrong type.")
    return Cycle(**{**plain, **read})


# Values, each checked for its exact type.


def _fields(plain: Any, names: Any) -> dict[str, Any]:
    if not isinstance(plain, dict) or list(plain) != list(names):
        raise Malformed(f"an object needs the keys {', '.join(names)}")
    return plain


def _list(plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise Malformed("a list is missing")
    return plain


def _text(plain: Any) -> str:
    if not isinstance(plain, str):
        raise Malformed("a text is missing")
    plain.encode()  # ValueError for a lone surrogate
    return plain


def _flag(plain: Any) -> bool:
    if type(plain) is not bool:
        raise Malformed("true or false is missing")
    return plain


def _count(plain: Any) -> int:
    if type(plain) is not int or not 0 <= plain < MOST:
        raise Malformed("a count is not a whole number from 0 on")
    return plain


def _float(plain: Any) -> float:
    if type(plain) is not float:
        raise Malformed("a number is missing")
    return plain


def _long(plain: Any) -> int:
    if not HEX.fullmatch(_text(plain)) or len(plain) > MOST_DIGITS:
        raise Malformed("a long integer is malformed")
    return int(plain, 16)


def _weight(plain: Any) -> float:
    return _long(plain) if isinstance(plain, str) else _float(plain)


def _labels(plain: Any) -> tuple[Any, ...]:
    labels = tuple(_list(plain))
    kinds = {type(label) for label in labels}
    if not (kinds <= LABELS - {str} or kinds <= {str}):
        raise Malformed("the labels are neither all text nor all numbers")
    for label in labels:
        if isinstance(label, str):
            _text(label)
        elif isinstance(label, float) and label.is_integer():
            raise Malformed("a whole-number label is written as a float")
    return labels


def _side(plain: Any, whole: Subject) -> tuple[Any, ...]:
    """Return some of the classes; each must have the type it has there."""
    labels = tuple(_list(plain))
    known = {(type(label), label) for label in whole.classes}
    if not all(type(label) in LABELS and (type(label), label) in known for label in labels):
        raise Malformed("the sides are not made of the classes")
    return labels


def _ascending(items: list[Any]) -> tuple[Any, ...]:
    if any(not low < high for low, high in pairwise(items)):
        raise Malformed("items are not sorted, or repeated")
    return tuple(items)


def _coprime(numbers: Any) -> None:
    if math.gcd(*numbers) > 1:
        raise Malformed("integers are not in lowest terms")


def _row(plain: Any, number: Callable[[Any], Any]) -> dict[int, Any]:
    if not isinstance(plain, dict):
        raise Malformed("an object keyed by column is missing")
    return {_count(int(j)): number(x) for j, x in plain.items()}


def _whole_row(plain: Any) -> Row:
    found = _row(plain, _long)
    _coprime(found.values())
    if not all(found.values()):
        raise Malformed("there are zeros among the integers")
    return found


def _space(plain: Any) -> Space:
    found = Space(_row(plain, _whole_row))
    for pivot, row in found.rows.items():
        others = row.keys() - {pivot}
        if row.get(pivot, 0) <= 0 or min(row) < pivot or others & found.rows.keys():
            raise Malformed("a space is not in reduced echelon form")
    return found


def _combination(plain: Any) -> Combination:
    given = _fields(plain, ("rows", "which", "multipliers"))
    rows, which = ([_count(number) for number in _list(given[key])] for key in ("rows", "which"))
    multipliers = tuple(_long(m) for m in _list(given["multipliers"]))
    if not len(rows) == len(which) == len(multipliers):
        raise Malformed("a combination has not one multiplier for each row")
    if min(multipliers, default=1) <= 0:
        raise Malformed("a multiplier is not positive")
    _ascending(list(zip(rows, which, strict=True)))
    _coprime(multipliers)
    return Combination(tuple(rows), tuple(which), multipliers)
