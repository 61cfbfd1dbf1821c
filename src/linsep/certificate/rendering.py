"""Verdicts as aligned text and HTML; the first line is the answer."""

from collections.abc import Sequence
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np

from linsep.certificate.verdicts import (
    Blocked,
    Combination,
    Overlapping,
    QuasiSeparable,
    Separable,
    Separations,
    Subject,
    Undecided,
    Verdict,
)

#: how numbers of text are interpreted
AS_STORED = "as stored: a float is a binary fraction, not the decimal it prints as"
#: names or row numbers shown before dots
MOST = 12


def lines(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the verdict as pairs of a heading and a text."""
    subject = verdict.subject
    found = [("verdict", answer(verdict)), ("classes", sides(subject))]
    features = f"{subject.n_features:,} features"
    if subject.columns is not None:
        features = f"in the space of a kernel, spanned by {len(subject.columns):,} of them"
    found.append(("data", f"{subject.n_rows:,} rows, {features}, numbers as stored"))
    if isinstance(verdict, Separable):
        found += _of_separable(verdict)
    elif isinstance(verdict, Overlapping | QuasiSeparable):
        found += _of_blocked(verdict)
    if not isinstance(verdict, Undecided):
        found.append(("likelihood", _likelihood(verdict)))
    return found


def answer(verdict: Verdict) -> str:
    """Return the verdict in one sentence."""
    by = _values(verdict.subject)
    if isinstance(verdict, Undecided):
        return f"undecided{by}: {verdict.reason}"
    what = "some weights" if verdict.subject.multinomial else "a hyperplane"
    if isinstance(verdict, Separable):
        return f"separable{by}: {what} {_verb(verdict)} every row on its side"
    if isinstance(verdict, QuasiSeparable):
        n = len(verdict.boundary)
        return (
            f"quasi-separable{by}: {what} {_verb(verdict)} no row on the wrong side, but "
            f"{n:,} of {verdict.subject.n_rows:,} rows must lie on the boundary"
        )
    return f"overlapping{by}: no hyperplane has every row on its side, or on the boundary"


def _values(subject: Subject) -> str:
    """Return which values of a kernel a verdict is about, as a phrase; empty if they are exact."""
    if subject.columns is None or subject.rounded is False:
        return ""
    floats = " by kernel values in floats, which may be rounded"
    return floats if subject.rounded else " by the values of the Gram matrix as stored"


def _verb(verdict: Verdict) -> str:
    return "have" if verdict.subject.multinomial else "has"


def sides(subject: Subject) -> str:
    """Return the two sides as text."""
    if subject.multinomial:
        return f"{_some(subject.classes)}, each above every other"
    return f"{_some(subject.positive)} (positive side) against {_some(subject.negative)}"


def _of_separable(verdict: Separable) -> list[tuple[str, str]]:
    found = []
    if verdict.margin[1] < float("inf"):
        low, high = verdict.margin
        found.append(
            ("margin", f"from {low:.7g} to at most {high:.7g} (distance to the nearest row)")
        )
        rows = verdict.support.rows
        found.append(("support", f"{_count(rows)} that rule out a wider margin: {_some(rows)}"))
    names = verdict.subject.coefficient_names()
    blocks = zip(verdict.coef, verdict.intercept, strict=True)
    bias = verdict.subject.fit_intercept
    weights = [x for row, b in blocks for x in (*row, *([b] if bias else []))]
    top = max(map(abs, weights), default=0) or 1  # integers may exceed all floats
    weights = [float(Fraction(x) / Fraction(top)) for x in weights]
    inner = [float(Fraction(x) / Fraction(top)) for row in verdict.coef for x in row]
    length = float(np.linalg.norm(inner)) or 1.0
    order = sorted(range(len(weights)), key=lambda j: -abs(weights[j]))[:MOST]
    shown = [f"{names[j]} {weights[j] / length:.4g}" for j in order]
    found.append(("weights", f"of length 1: {_some(shown, len(weights))}"))
    return found


def _of_blocked(verdict: Overlapping | QuasiSeparable) -> list[tuple[str, str]]:
    rows = verdict.witness.rows
    found = [
        (
            "witness",
            f"{_count(rows)} that no hyperplane separates: {_some(rows)} (reflected, and times "
            "positive numbers, they add up to exactly zero)",
        )
    ]
    limits: tuple[str, ...] = ("dependent",)
    if isinstance(verdict, QuasiSeparable):
        found.append(("boundary", f"{_count(verdict.boundary)}: {_some(verdict.boundary)}"))
        limits = ("+inf", "-inf", "infinite", "sign not checked", "finite", "dependent")
    by_name = verdict.limits().items()
    for limit in limits:
        names = [name for name, its_limit in by_name if its_limit == limit]
        if names:
            why = ": linear combinations of the intercept and the columns before"
            found.append((limit, _some(names) + why * (limit == "dependent")))
    return found


def _likelihood(verdict: Verdict) -> str:
    if isinstance(verdict, Separable):
        return "a logistic regression has no maximum: every coefficient may diverge"
    if isinstance(verdict, QuasiSeparable):
        return "a logistic regression has no maximum: the coefficients above diverge"
    full = isinstance(verdict, Blocked) and len(verdict.space.rows) == len(
        verdict.subject.coefficient_names()
    )
    unique = ", which is unique" if full else ", not unique because of the dependent columns"
    return f"a logistic regression has a maximum{unique}"


def text(verdict: Verdict) -> str:
    """Return the verdict as aligned lines."""
    pairs = lines(verdict)
    width = max(len(word) for word, _ in pairs) + 2
    return "\n".join(f"{heading:<{width}}{line}" for heading, line in pairs)


def html(verdict: Verdict) -> str:
    """Return an HTML table of two columns, for notebooks."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(heading)}</th>"
        f"<td style='text-align:left'>{escape(line)}</td></tr>"
        for heading, line in lines(verdict)
    )
    return f"<table>{cells}</table>"


def claim_lines(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """Return claims and their data as pairs of a heading and a text."""
    found = []
    for verdict in verdicts:
        found += [("verdict", answer(verdict)), ("classes", sides(verdict.subject))]
        if isinstance(verdict, Separable) and verdict.margin != (0.0, float("inf")):
            low, high = verdict.margin
            found.append(("margin", f"from {low!r} to at most {high!r}, the distance of a row"))
    return found + data_lines(verdicts[0].subject)


def data_lines(subject: Subject) -> list[tuple[str, str]]:
    """Return the data of a claim as pairs of a heading and a text."""
    if subject.columns is not None:
        features = f"{subject.n_features:,} columns of a Gram matrix: {_some(subject.columns)}"
    else:
        features = f"{subject.n_features:,}" + (
            f": {_some(subject.names)}" if subject.names else ""
        )
    return [
        ("labels", _some(subject.classes)),
        ("features", features),
        ("numbers", AS_STORED),
        ("intercept", "yes" if subject.fit_intercept else "no"),
        ("rows", f"{subject.n_rows:,}"),
        ("sha256", subject.sha256),
    ]


def summary(claim: Separations) -> list[list[str]]:
    """Return a table row for each verdict: question, answer, and margin or witness."""
    by = _values(claim.verdicts()[0].subject)
    found = [["question", f"verdict{by}", "margin, or rows that no hyperplane separates"]]
    for verdict in claim.verdicts():
        subject = verdict.subject
        question = (
            "every class above every other"
            if subject.multinomial
            else f"{_some(subject.positive)} against "
            + ("the rest" if len(subject.negative) > 1 else _some(subject.negative))
        )
        found.append([question, verdict.kind, _note(verdict)])
    return found


def _note(verdict: Verdict) -> str:
    if isinstance(verdict, Separable):
        low, high = verdict.margin
        return "" if high == float("inf") else f"{low:.4g} to {high:.4g}"
    if isinstance(verdict, Blocked):
        return f"{len(verdict.witness.rows)} rows: {_some(verdict.witness.rows, most=4)}"
    return ""


def table(claim: Separations) -> str:
    """Aligned columns."""
    rows = summary(claim)
    widths = [max(len(row[k]) for row in rows) for k in range(2)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)


def html_table(claim: Separations) -> str:
    """Return the table as HTML, for notebooks."""
    head, *body = summary(claim)
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rest = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body
    )
    return f"<table><tr>{first}</tr>{rest}</table>"


def _count(rows: Any) -> str:
    return "1 row" if len(rows) == 1 else f"{len(rows):,} rows"


def _some(items: Any, of: int | None = None, most: int = MOST) -> str:
    """Return a few items, comma separated, with dots if there are more."""
    shown = ", ".join(str(item) for item in list(items)[:most])
    return shown + (", ..." if max(len(items), of or 0) > most else "")


def shares(given: Combination) -> list[str]:
    """Return the multipliers as shares of their sum, in a few digits."""
    return [f"{share:.3g}" for share in given.shares()]
