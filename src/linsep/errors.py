"""Errors and warnings. Each message is one sentence: the problem, its place, and the remedy.

The advice often names a parameter, whose spelling in Python and on the command line differs. So an
error stores its advice as :class:`Hint` objects with parameters by name and spells them when
rendered: ``str(error)`` says ``missing="drop"``, the command line ``--missing drop``.
"""

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

#: spells a parameter and its value (None: the name only)
Spell = Callable[[str, Any], str]


class Hint(NamedTuple):
    """Advice in a message: ``{}`` stands for parameters as Python or the command line spells them.

    ``again`` marks parameters for training the model again, not for the current call; ``here``
    marks parameters of the current call that are not training parameters.
    """

    text: str
    settings: dict[str, Any]
    again: bool = False
    here: bool = False

    def render(self, spell: Spell) -> str:
        """Return the text with the parameters spelled by ``spell``."""
        *first, last = [spell(name, value) for name, value in self.settings.items()] or [""]
        return self.text.replace("{}", f"{', '.join(first)} and {last}" if first else last)


def hint(text: str, /, **settings: Any) -> Hint:
    """Return a :class:`Hint`: ``hint("leave the column out with {}", exclude=["a"])``."""
    return Hint(text, settings)


def in_python(name: str, value: Any) -> str:
    """Spell a parameter as in Python."""
    if value is None:
        return name
    if name == "text_bits":  # of the command line only
        return f"Text(n_features={1 << value})"
    plain = repr(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
    return f"{name}={plain}"


def _called(call: str, settings: dict[str, Any]) -> str:
    given = [in_python(name, "..." if value is None else value) for name, value in settings.items()]
    return ", ".join([call, *given]).replace('="..."', "=...") + ")"


class LinsepError(Exception):
    """Base class of linsep's errors; the command line prints them and exits with 1.

    Parameters
    ----------
    message : str
        The problem and its place; the whole sentence if there are no hints.
    *hints : str or Hint
        Alternative remedies.
    """

    def __init__(self, message: str = "", *hints: str | Hint):
        super().__init__(message, *hints)
        self.message, self.hints = message, hints

    def __str__(self) -> str:
        return self.render(lambda hint: hint.render(in_python))

    def render(self, render_hint: Callable[[Hint], str | None]) -> str:
        """Return the sentence, with each hint rendered by ``render_hint`` (None leaves it out)."""
        texts = [hint if isinstance(hint, str) else render_hint(hint) for hint in self.hints]
        *first, last = [hint for hint in texts if hint is not None] or [""]
        advice = f"{', '.join(first)} or {last}" if first else last
        if advice:
            return f"{self.message}: {advice}."
        return f"{self.message}." if self.hints else self.message

    def at(self, place: str) -> "LinsepError":
        """Return the same error with a place before it, such as ``file line 3: ``."""
        return type(self)(place + self.message, *self.hints)

    def of_call(self, call: str) -> "LinsepError":
        """Return the same error with hints that name the parameters of another call:
        ``linsep.fit(frame, target=...`` and its options.
        """
        if not self.hints:
            return self
        shown = [
            one if isinstance(one, str) else one.text.replace("{}", _called(call, one.settings))
            for one in self.hints
        ]
        return type(self)(self.message, *shown)

    def of_model(self) -> "LinsepError":
        """Return the same error for a fitted model: its hints are about training it again."""
        plain = [hint for hint in self.hints if isinstance(hint, str)]
        again = [
            hint if hint.here else Hint("retrain the model with {}", hint.settings, again=True)
            for hint in self.hints
            if isinstance(hint, Hint)
        ]
        return type(self)(self.message, *plain, *again)


class DataError(LinsepError, ValueError):
    """Unusable data: the problem, its place (file, line or row), and the remedy."""


class NoRows(DataError):
    """No usable rows: the files are empty, or every row is dropped or has weight 0."""


class FeatureOverflow(DataError):
    """Values of a feature are too large or too small for floating point.

    Attributes
    ----------
    column : int, the number of the feature
    small : bool, whether its values are too small
    """

    def __init__(self, column: int, feature: str = "", *, small: bool = False):
        super().__init__(
            f"{feature or f'Feature {column}'} has values whose squares "
            f"{'underflow' if small else 'overflow'} float64: scale the features."
        )
        self.column, self.small = column, small

    def at(self, place: str) -> "DataError":
        """Return the same error with a place before it."""
        return DataError(place + self.message)

    def of_model(self) -> "DataError":
        """Return the same error for a fitted model."""
        return DataError(self.message)


class ParameterError(LinsepError, ValueError):
    """Incompatible parameters; on the command line a usage error (exit code 2)."""


class ModelFileError(LinsepError, ValueError):
    """A model file is damaged, is not from linsep, has an unknown version, or would be
    overwritten."""


class CheckpointError(LinsepError, ValueError):
    """A checkpoint is damaged, belongs to another fit, is in use, or cannot be used for these
    data."""


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
        self.refusal = LinsepError(message, *hints)
        super().__init__(str(self.refusal))
        self.verdict, self.limits = verdict, limits or {}


class SeparationError(DataError):
    """Error with the message of :class:`SeparationWarning`, raised with
    ``on_separation="raise"``."""

    def __init__(
        self, message: str, *hints: Hint, verdict: Any = None, limits: dict[str, str] | None = None
    ):
        super().__init__(message, *hints)
        self.verdict, self.limits = verdict, limits or {}


#: modules that are skipped to find the caller to warn
_LIBRARIES = ("linsep.", "sklearn.", "contextlib")


def warn_caller(warning: Warning | str) -> None:
    """Warn with the location of the code that called linsep."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_LIBRARIES):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
