"""Formulas as users write them, parsed by formulaic into terms, and coded with full rank.

Formulaic evaluates factors as Python, when it parses as when it makes features. So it gets none
that :mod:`linsep.sources.tables.formula_terms` has not accepted, and it evaluates none: it gets
values, and says which features a term has.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.sources.tables.formula_terms import (
    LONGEST,
    Factor,
    NotAllowed,
    column_factor,
    factor_of,
)
from linsep.sources.tables.table_file import unknown_column


class Parsed(NamedTuple):
    """A formula.

    Attributes
    ----------
    text : str
    target : name of the column on the left side, None without one
    intercept : whether it has an intercept, as it has unless it says ``- 1`` or ``+ 0``
    factors : factors of the right side by formulaic's name of them
    terms : formulaic's terms of the right side
    offsets : what stands in each ``offset(...)``, and its arithmetic
    """

    text: str
    target: str | None
    intercept: bool
    factors: dict[str, Factor]
    terms: Any
    offsets: dict[str, Factor]

    @property
    def columns(self) -> list[str]:
        """The columns of the right side, also of offsets."""
        every = (*self.factors.values(), *self.offsets.values())
        return list(dict.fromkeys(name for f in every for name in f.columns))


def needs_formulaic() -> None:
    """Raise DataError unless formulaic is installed."""
    try:
        import formulaic  # noqa: F401
    except ImportError:
        raise DataError(
            "Formulas need formulaic, which is not installed: pip install 'linsep[formula]'.",
            code="missing-package",
            option="formula",
        ) from None


def parsed(text: str, names: Iterable[str] = ()) -> Parsed:
    """Parse a formula; DataError, with the place, where it does not parse or holds what formulas
    may not.

    ``names`` are the columns that a dot stands for, without the label and columns of offsets.
    """
    needs_formulaic()
    from formulaic import Formula
    from formulaic.errors import FormulaicError
    from formulaic.parser import DefaultFormulaParser

    if not isinstance(text, str) or not text.strip():
        raise DataError(
            f"formula is {text!r}: write one, such as 'y ~ x + C(rank)'.",
            code="bad-formula",
            value=text,
        )
    if len(text) > LONGEST:
        raise DataError(
            f"The formula has {len(text):,} characters: write at most {LONGEST:,}.",
            code="bad-formula",
        )
    rest, offsets = _without_offsets(text)
    tokens = _check_tokens(rest)
    if tokens[-1:] == ["~"] and not offsets:
        raise DataError(
            f"The formula '{shown(text)}' has nothing on its right side",
            "write 1 there for the intercept alone",
            code="bad-formula",
            value=text,
        )
    names = list(names)
    for name in filter(_is_number, names):
        if "." in tokens or f"`{name}`" in text:
            raise DataError(
                f"Column '{name}' has a number as its name, which is a number in formulas, too",
                "rename it",
                code="bad-formula",
                column=name,
            )
    taken = {name for factor in offsets.values() for name in factor.columns}
    parser = DefaultFormulaParser(feature_flags={"twosided"})
    context = {"__formulaic_variables_available__": [x for x in names if x not in taken]}
    try:
        found = Formula(rest, _parser=parser, _context=context)
    except (FormulaicError, NotImplementedError) as error:
        raise _unparsed(text, error) from None
    two_sides = hasattr(found, "lhs")
    terms, factors = found.rhs if two_sides else found, dict[str, Factor]()
    for term in terms:
        for factor in term.factors:
            if factor.eval_method.value == "lookup":
                factors[factor.expr] = column_factor(factor.expr)
            elif factor.eval_method.value == "python":
                factors[factor.expr] = factor_of(factor.expr)  # as its token was
    target = _target(text, found.lhs) if two_sides else None
    if any(target in factor.columns for factor in (*factors.values(), *offsets.values())):
        raise DataError(
            f"The formula '{shown(text)}' has its label '{target}' on both sides: remove one.",
            code="bad-formula",
            column=target,
        )
    intercept = any(not any(f.expr in factors for f in term.factors) for term in terms)
    return Parsed(text, target, intercept, factors, terms, offsets)


def _without_offsets(text: str) -> tuple[str, dict[str, Factor]]:
    """Return a formula of the same length with blanks for each ``+ offset(...)``, and what stands
    in these.

    Raises DataError for an offset inside another term.
    """
    tokens, rest, depth, found = _tokens(text), list(text), 0, dict[str, Factor]()
    pieces = ["~", *(str(token.token) for token in tokens), "+"]
    for k, token in enumerate(tokens, 1):
        depth += (pieces[k] in ("(", "[")) - (pieces[k] in (")", "]"))
        if (inner := _OFFSET.fullmatch(pieces[k])) is None:
            continue
        start, end = int(token.source_start or 0), int(token.source_end or 0) + 1
        if depth or pieces[k - 1] not in ("+", "~") or pieces[k + 1] not in ("+", "-"):
            raise DataError(
                f"The formula '{shown(text)}' has an offset in another term, at character "
                f"{start + 1}",
                "add it by itself, as in 'y ~ x + offset(z)'",
                code="bad-formula",
            )
        with _placed(text, start + inner.start(1), inner[1]):
            factor = factor_of(inner[1])
            if factor.kind != "number":
                raise NotAllowed("has an offset that is not a number", "name a column of numbers")
        found[inner[1].strip()] = factor
        if pieces[k - 1] == "+":
            start = int(tokens[k - 2].source_start or 0)
        rest[start:end] = ("" if pieces[k - 1] == "+" else "1").ljust(end - start)
    return "".join(rest), found


def _target(text: str, terms: Any) -> str:
    """Return the name of the column on the left side."""
    found = [factor for term in terms for factor in term.factors]
    if len(found) != 1 or found[0].eval_method.value != "lookup":
        side = text.partition("~")[0].strip()
        raise DataError(
            f"The formula '{shown(text)}' has '{side}' as its label, which must be one column: "
            "add a column with these values to the data and name it there.",
            code="bad-formula",
            value=side,
        )
    return str(found[0].expr)


def _tokens(text: str) -> list[Any]:
    """Return formulaic's tokens of a formula."""
    from formulaic.errors import FormulaicError
    from formulaic.parser.algos.tokenize import tokenize

    try:
        return list(tokenize(text))
    except FormulaicError as error:
        raise _unparsed(text, error) from None


@contextmanager
def _placed(text: str, start: int, piece: str) -> Iterator[None]:
    """Raise DataError with the place of an invalid part of a formula."""
    try:
        yield
    except NotAllowed as refused:
        some, at = piece[refused.at : refused.end][:40], start + refused.at
        if refused.what == "does not parse":
            raise _unparsed_at(text, at, some, "") from None
        raise DataError(
            f"The formula '{shown(text)}' {refused.what}, at character {at + 1}, '{some}'",
            refused.advice,
            code="bad-formula",
            value=some,
        ) from None


def _check_tokens(text: str) -> list[str]:
    """Return the tokens; raise DataError for invalid ones, before formulaic parses them."""
    tokens = _tokens(text)
    for token in tokens:
        kind = "" if token.kind is None else token.kind.value
        piece = str(token.token)
        with _placed(text, token.source_start or 0, piece):
            if kind == "python":
                factor_of(piece)
            elif kind == "value" and piece != "." and not _is_number(piece):
                raise NotAllowed("has text", "text is for levels only, as in C(city, levels=[...])")
            elif kind == "operator" and piece.strip("%") == "in":
                raise NotAllowed("has %in%", "write x:z for x %in% z")
            elif kind == "operator" and "|" in piece:
                raise NotAllowed("has several parts", "write one, without a bar")
            elif kind == "context" and piece in "[]":
                raise NotAllowed("has brackets", "put a name with brackets in backticks")
    return [str(token.token) for token in tokens]


def shown(text: str) -> str:
    """Return a formula for a message."""
    return text if len(text) <= 200 else f"{text[:200]}..."


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


#: how formulaic's errors mark a place in the text
_PLACE = re.compile("⧛(.*)⧚", re.DOTALL)
#: a known part of the linear predictor
_OFFSET = re.compile(r"offset\s*\((.*)\)", re.DOTALL)
_COLORS = re.compile("\x1b\\[[0-9;]*m")


def _unparsed(text: str, error: Exception) -> DataError:
    """Return the error for a formula that formulaic does not parse, with the place it names."""
    reason, _, context = str(error).partition("\n\n")
    reason = reason.partition(" (tip:")[0].strip().rstrip(".").replace("insuffient", "insufficient")
    place = _PLACE.search(_COLORS.sub("", context))
    if place is None:
        return DataError(
            f"The formula '{shown(text)}' does not parse ({reason})",
            "correct it",
            code="bad-formula",
        )
    return _unparsed_at(text, place.start(), place[1], f" ({reason})")


def _unparsed_at(text: str, at: int, piece: str, reason: str) -> DataError:
    return DataError(
        f"The formula '{shown(text)}' does not parse at character {at + 1}, '{piece[:40]}'{reason}",
        "correct it",
        code="bad-formula",
        value=piece,
    )


def check_columns(found: Parsed, path: Any, names: list[str]) -> None:
    """Raise DataError for a column of a formula that a table does not have."""
    for name in ([] if found.target is None else [found.target]) + found.columns:
        if name not in names:
            raise unknown_column(path, names, name, "column of the formula")


#: a factor, and whether it is coded with one column fewer than it has levels
Coded = tuple[str, bool]


class Coding(NamedTuple):
    """What the features of a formula are.

    Attributes
    ----------
    blocks : factors as they are coded, in the order of the features
    matrices : for blocks of levels, a row of numbers per level
    features : name, number by which it is multiplied, and its parts: block and column of it
    """

    blocks: list[Coded]
    matrices: dict[Coded, np.ndarray]
    features: list[tuple[str, float, list[tuple[int, int]]]]


def coded(found: Parsed, first: dict[str, Any], levels: dict[str, list[Any]]) -> Coding:
    """Return how the factors of a formula are coded, so that no feature is a combination of others.

    Parameters
    ----------
    found : Parsed
    first : values of the factors without levels in one row, an array or what formulaic made of one
    levels : levels of the other factors, at least one each
    """
    import pandas as pd
    from formulaic import ModelSpec
    from formulaic.materializers import PandasMaterializer
    from formulaic.materializers.types import EvaluatedFactor, FactorValues
    from formulaic.transforms import C

    materializer = PandasMaterializer(pd.DataFrame({"row": [0.0]}))
    contrasts = {e: _contrasts(f, levels[e]) for e, f in found.factors.items() if e in levels}
    for term in found.terms:
        for factor in term.factors:
            if factor.expr in levels:
                known = levels[factor.expr]
                values = C(pd.Series(known[:1]), contrasts[factor.expr], levels=known)
            elif factor.expr in first:
                values = FactorValues(first[factor.expr], kind="numerical")
            else:
                continue
            materializer.factor_cache[factor.expr] = EvaluatedFactor(factor, values)
    spec = ModelSpec(found.terms, na_action="ignore", output="pandas")
    structure = materializer.get_model_matrix(spec).model_spec.structure
    return _features(found, structure, contrasts, first, levels)


def _features(
    found: Parsed, structure: Any, contrasts: dict[str, Any], first: dict[str, Any],
    levels: dict[str, list[Any]],
) -> Coding:  # fmt: skip
    """Return what formulaic's structure says."""
    coding = Coding([], {}, [])
    for term, scoped_terms, names in structure:
        if not any(factor.expr in found.factors for factor in term.factors):
            continue  # the intercept is the model's
        made: list[tuple[float, list[tuple[int, int]]]] = []
        for scoped in scoped_terms:
            numbers, widths = [], []
            for one in scoped.factors:
                key = (one.factor.expr, bool(one.reduced))
                if key not in coding.blocks:
                    coding.blocks.append(key)
                numbers.append(coding.blocks.index(key))
                if key[0] in levels:
                    matrix = contrasts[key[0]].get_coding_matrix(levels[key[0]], key[1])
                    coding.matrices[key] = np.asarray(matrix, dtype=np.float64)
                    widths.append(coding.matrices[key].shape[1])
                else:
                    widths.append(width_of(first[key[0]]) - key[1])
            # The columns of the first factor change fastest, as in R.
            for columns in product(*map(range, reversed(widths))):
                parts = zip(numbers, reversed(columns), strict=True)
                made.append((float(scoped.scale), list(parts)))
        if len(names) != len(made) or {*names} & {name for name, *_ in coding.features}:
            raise DataError(
                f"The formula '{shown(found.text)}' has two features of one name in its term "
                f"'{term}'",
                "rename a column",
                code="duplicate-name",
            )
        named = zip(map(str, names), made, strict=True)
        coding.features.extend((name, scale, parts) for name, (scale, parts) in named)
    return coding


def width_of(values: Any) -> int:
    """Return how many columns the values of a factor have."""
    if isinstance(values, dict):
        return len(values)
    return 1 if values.ndim == 1 else int(values.shape[1])


def _contrasts(factor: Factor, levels: list[Any]) -> Any:
    """Return formulaic's contrasts of a factor with levels."""
    from formulaic.transforms import ContrastsRegistry

    settings = factor.settings.get("settings", {})
    if "base" in settings and settings["base"] not in levels:
        some = ", ".join(map(repr, levels[:20]))
        raise DataError(
            f"The formula names {settings['base']!r} as a level of column '{factor.columns[0]}', "
            f"which has {some}",
            "choose one of these",
            code="unknown-value", column=factor.columns[0], value=settings["base"],
        )  # fmt: skip
    if "scores" in settings and len(settings["scores"]) != len(levels):
        raise DataError(
            f"The formula has {len(settings['scores'])} scores for the {len(levels)} levels of "
            f"column '{factor.columns[0]}'",
            "give one per level",
            code="bad-formula",
            column=factor.columns[0],
        )
    return getattr(ContrastsRegistry, factor.settings.get("contrast", "treatment"))(**settings)
