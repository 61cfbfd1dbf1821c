"""Read proofs from JSON text in one form only: the text read must equal the text written."""

import json
from itertools import combinations
from typing import Any

from linsep.certificate.canonical import plain_label
from linsep.certificate.constraints import Subject
from linsep.certificate.cycles import Cycle, Cycles
from linsep.certificate.json_fields import COUNT, Counts, field_of, read_object, well_formed
from linsep.certificate.verdicts import FORMAT, KINDS, Separations, Verdict
from linsep.errors import DataError

AGAIN = "write it again with to_json() or linsep separate --proof"


def from_json(proof: str | bytes) -> Any:
    """Read a verdict or cycle written by ``to_json()``.

    Raises
    ------
    DataError
        If the text is not exactly the output of ``to_json()``, because it was truncated or edited.
    """
    return read(proof)[0]


def read(proof: str | bytes) -> tuple[Any, dict[str, Any] | None]:
    """Read a claim, and the recipe for the files of its data (None without files)."""
    try:
        text = proof if isinstance(proof, str) else proof.decode("ascii")
        plain = json.loads(text)
        json.dumps(plain | {"recipe": None}, ensure_ascii=False).encode()  # no lone surrogates
        if (given := plain["format"]) == FORMAT:
            claim, recipe = _claim(plain), plain.get("recipe")
            well_formed(isinstance(recipe, dict | None), "the recipe is not an object")
            written = claim.to_json(*[recipe] * ("recipe" in plain))
            well_formed(written == text, "it is not in canonical form")
            return claim, recipe
    except (
        ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError
    ) as error:  # fmt: skip
        why = f"{type(error).__name__}: {error}"[:80]
        raise DataError(
            f"This is not a proof, or it was altered ({why}): {AGAIN}.", code="bad-proof"
        ) from None
    raise DataError(
        f"This has the format {str(given)[:40]!r}: only {FORMAT!r} is supported, so {AGAIN}.",
        code="other-version", value=given,
    )  # fmt: skip


def _claim(plain: dict[str, Any]) -> Any:
    if "cycle" in plain:
        return read_object(Cycle, plain["cycle"])
    if "cycles" in plain:
        cycles = Cycles(read_object(Cycle, one) for one in plain["cycles"])
        well_formed(cycles, "the list is empty")
        return cycles
    whole, formulations = _subject(plain["data"], plain["fit_intercept"]), plain["formulations"]
    own = {label: label for label in whole.classes}  # 1 for True, which is then written otherwise
    verdicts: list[Verdict] = []
    for one in plain["verdicts"]:
        sides = (tuple(own[label] for label in one[side]) for side in ("positive", "negative"))
        verdicts.append(read_object(KINDS[one["kind"]], one, subject=whole.of_sides(*sides)))
    if formulations is not None:
        return _several(verdicts, formulations, whole.classes)
    (verdict,) = verdicts
    well_formed(_is_question(verdict.subject), "the sides are not those of a question")
    return verdict


def _subject(plain: Any, fit_intercept: Any) -> Subject:
    classes = tuple(map(plain_label, plain["classes"]))
    n_rows, n_features = COUNT.read(plain["rows"]), COUNT.read(plain["features"])
    names = field_of(tuple[str, ...] | None).read(plain["names"])
    columns = field_of(Counts | None).read(plain["columns"])
    several = len(classes) > 1 and list(classes) == sorted(set(classes))
    well_formed(several, "the classes are not two or more, sorted")
    fine = names is None or (len(names) == n_features and columns is None)
    well_formed(fine, "there are more or fewer names, or names of columns of a Gram matrix")
    intercept, sha256 = field_of(bool).read(fit_intercept), field_of(str).read(plain["sha256"])
    return Subject(classes, (), (), intercept, n_rows, n_features, names, sha256, columns)


def _is_question(subject: Subject) -> bool:
    """Return whether the sides belong to a formulation, without listing all of them."""
    classes, positive, negative = subject.classes, subject.positive, subject.negative
    if len(positive) == len(negative) == 1:
        return classes.index(negative[0]) < classes.index(positive[0])
    if len(positive) == 1:
        return negative == tuple(label for label in classes if label != positive[0])
    return len(classes) > 2 and not positive and not negative


def _several(verdicts: list[Verdict], formulations: Any, classes: tuple[Any, ...]) -> Separations:
    n, pairs, left = len(classes), list[Any](), iter(verdicts)
    many = {"ovr": n, "ovo": n * (n - 1) // 2, "multinomial": 1}
    # counted first: the sides of many classes are long lists
    fine = n > 2 and formulations and sum(many[name] for name in formulations) == len(verdicts)
    well_formed(fine, "the verdicts do not match the formulations")
    for name in formulations:
        pairs += _sides(name, classes)
    same = pairs == [(one.subject.positive, one.subject.negative) for one in verdicts]
    well_formed(same, "the sides are not those of the formulations")
    return Separations(
        dict(zip(classes * ("ovr" in formulations), left, strict=False)),
        dict(zip(combinations(classes * ("ovo" in formulations), 2), left, strict=False)),
        next(left, None),
    )


def _sides(formulation: str, classes: tuple[Any, ...]) -> list[Any]:
    """Return the positive and negative side of every verdict of a formulation."""
    if formulation == "ovo":
        return [((b,), (a,)) for a, b in combinations(classes, 2)]
    if formulation == "multinomial":
        return [((), ())]
    return [((k,), tuple(c for c in classes if c != k)) for k in classes]
