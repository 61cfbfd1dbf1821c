"""Errors and warnings. Each message is one sentence: the problem, its place, and the remedy.

The advice often names a parameter, whose spelling in Python and on the command line differs. So an
error stores its advice as :class:`Hint` objects with parameters by name and spells them when
rendered: ``str(error)`` says ``missing="drop"``, the command line ``--missing drop``.
"""

import json
import sys
import warnings
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple, Self

#: the fields of an error, which name its place
FIELDS = ("path", "row", "column", "option", "value")
#: spells a parameter and its value (None: the name only)
Spell = Callable[[str, Any], str]


class Hint(NamedTuple):
    """Advice in a message: ``{}`` stands for parameters as Python or the command line spells them.

    ``again`` marks parameters for training the model again, not for the current call.
    """

    text: str
    settings: dict[str, Any]
    again: bool = False

    def render(self, spell: Spell) -> str:
        *first, last = [spell(name, value) for name, value in self.settings.items()] or [""]
        return self.text.replace("{}", f"{', '.join(first)} and {last}" if first else last)


def hint(text: str, /, **settings: Any) -> Hint:
    """Return a :class:`Hint`: ``hint("leave the column out with {}", exclude=["a"])``."""
    return Hint(text, settings)


def in_python(name: str, value: Any) -> str:
    if value is None:
        return name
    if name == "text_bits":  # of the command line only
        return f"Text(n_features={1 << value})"
    plain = repr(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
    return f"{name}={plain}"


class Located(str):
    """The words for a place, which keep its fields when a sentence is added to them."""

    fields: dict[str, Any]

    def __new__(cls, text: str, **fields: Any) -> "Located":
        made = super().__new__(cls, text)
        made.fields = fields
        return made

    def __add__(self, more: str) -> "Located":
        return Located(str(self) + more, **self.fields)


class LinsepError(Exception):
    """Base class of linsep's errors; the command line prints them and exits with 1.

    Parameters
    ----------
    message : str
        The problem and its place; the whole sentence if there are no hints.
    *hints : str or Hint
        Alternative remedies.
    code : str
        The kind of problem, which stays the same when the sentence changes; each class has a
        default. docs/reference/errors.md lists all codes.
    **fields
        What is known of the place: ``path``, ``row`` and ``column`` (as the message counts or names
        them), ``option`` (its name in Python) and ``value``. They are attributes, else None.
    """

    code = "unsupported"
    path: Any = None
    row: int | None = None
    column: str | int | None = None
    option: str | None = None
    value: Any = None

    def __init__(
        self, message: str = "", *hints: str | Hint, code: str | None = None, **fields: Any
    ):
        super().__init__(message, *hints)
        self.message, self.hints = message, hints
        self.code = code or self.code
        vars(self).update(getattr(message, "fields", {}) | fields)

    @property
    def fields(self) -> dict[str, Any]:
        """What is known of the place of the problem, by the names of the attributes."""
        return {name: vars(self)[name] for name in FIELDS if vars(self).get(name) is not None}

    def __str__(self) -> str:
        return self.render(lambda hint: hint.render(in_python))

    def render(self, render_hint: Callable[[Hint], str | None]) -> str:
        """Return the sentence, with each hint rendered by ``render_hint`` (None leaves it out)."""
        texts = [hint if isinstance(hint, str) else render_hint(hint) for hint in self.hints]
        *first, last = [hint for hint in texts if hint is not None] or [""]
        advice = f"{', '.join(first)} or {last}" if first else last
        if advice:
            return f"{self.message}: {advice}" + "." * (advice[-1] != "?")
        return f"{self.message}." if self.hints else self.message

    def at(self, place: str, **fields: Any) -> Self:
        """Return the same error with a place before it, such as ``file line 3: ``."""
        return self.with_message(place + self.message, self.hints, **fields)

    def with_message(self, message: str, hints: Any, **fields: Any) -> Self:
        """Return the same error in other words."""
        same = copy(self)
        same.args = (message, *hints)
        vars(same).update(message=message, hints=hints, **fields)
        return same


def refuse(kind: type[LinsepError], *cases: tuple[Any, ...]) -> None:
    """Raise an error for the first case that is true; each has a sentence, a code, an option and
    remedies.
    """
    for wrong, why, code, option, *remedies in cases:
        if wrong:
            raise kind(why, *remedies, code=code, option=option)


class DataError(LinsepError, ValueError):
    """Unusable data: the problem, its place (file, line or row), and the remedy."""

    code = "bad-value"


class NoRows(DataError):
    """No usable rows: the files are empty, or every row is dropped or has weight 0."""

    code = "no-rows"


class FeatureOverflow(DataError):
    """Values of a feature, number ``column``, are too large or too small for floating point."""

    code = "overflow"
    column: int

    def __init__(self, column: int, feature: str = ""):
        why = "has values whose squares overflow or underflow float64: scale the features."
        super().__init__(f"Feature {feature or column!r} {why}", column=column)


class ParameterError(LinsepError, ValueError):
    """Incompatible parameters; on the command line a usage error (exit code 2)."""

    code = "bad-option"


class ArgumentError(LinsepError, TypeError):
    """A call with an argument that the function does not have, or of a type it does not take."""

    code = "bad-argument"


class ModelFileError(LinsepError, ValueError):
    """A model file is damaged, is not from linsep, has an unknown version, or would be
    overwritten."""

    code = "bad-model-file"


class CheckpointError(LinsepError, ValueError):
    """A checkpoint is damaged, belongs to another fit, is in use, or cannot be used for these
    data."""

    code = "bad-checkpoint"


class SeparationWarning(UserWarning):
    """The likelihood has no maximum, because a hyperplane separates the classes (or some rows).

    Attributes
    ----------
    verdict : the verdict of :func:`linsep.separation`, with its proof; None if not computed
    limits : dict
        {name of a coefficient: "finite", "+inf", "-inf", "infinite" (with either sign),
        "sign not checked" or "not checked"}
    refusal : LinsepError with the same message and hints, to spell them for the command line
    """

    def __init__(
        self, message: str, *hints: Hint, verdict: Any = None, limits: dict[str, str] | None = None
    ):
        self.refusal = LinsepError(message, *hints, code="separated")
        super().__init__(str(self.refusal))
        self.verdict, self.limits = verdict, limits or {}


class SeparationError(DataError):
    """Error with the message of :class:`SeparationWarning`, raised with
    ``on_separation="raise"``."""

    code = "separated"
    verdict: Any = None
    limits: dict[str, str]


#: modules that are skipped to find the caller to warn
_LIBRARIES = ("linsep.", "sklearn.", "contextlib")


def warn_caller(warning: Warning | str) -> None:
    """Warn with the location of the code that called linsep."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_LIBRARIES):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
