"""What linsep raises. Each message is one sentence: what is wrong, where, and what to do.

What to do is often a parameter, which people who write Python and people who type a command spell
differently. So an error keeps its advice apart, with parameters by name (:class:`Hint`), and spells
them when it is rendered: ``str(error)`` says ``missing="drop"``, the command line ``--missing
drop``.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

#: how a parameter and a value for it (None: only its name) are written
Spell = Callable[[str, Any], str]


class Hint(NamedTuple):
    """What to do by way of parameters, whose values stand for ``{}`` in the text.

    ``again`` says that they are those of the learning that made a model, not of the work at hand.
    """

    text: str
    settings: dict[str, Any]
    again: bool = False

    def render(self, spell: Spell) -> str:
        """The text with the parameters as ``spell`` writes them."""
        *first, last = (spell(name, value) for name, value in self.settings.items())
        return self.text.replace("{}", f"{', '.join(first)} and {last}" if first else last)


def hint(text: str, **settings: Any) -> Hint:
    """A :class:`Hint`, such as ``way("leave the column out with {}", exclude=["a"])``."""
    return Hint(text, settings)


def in_python(name: str, value: Any) -> str:
    """A parameter as it is written in Python."""
    if value is None:
        return name
    plain = repr(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
    return f"{name}={plain}"


class LinsepError(Exception):
    """Anything linsep refuses to do; the command line prints it and exits with 1.

    Parameters
    ----------
    said : str
        What is wrong and where; without ``ways`` the whole sentence.
    *ways : str or Way
        What to do about it, one or the other.
    """

    def __init__(self, said: str = "", *hints: str | Hint):
        super().__init__(said, *hints)
        self.said, self.hints = said, hints

    def __str__(self) -> str:
        return self.render(lambda hint: hint.render(in_python))

    def render(self, tell: Callable[[Hint], str | None]) -> str:
        """The sentence, each way by parameters as ``tell`` says, or left out where that is None."""
        texts = [hint if isinstance(hint, str) else tell(hint) for hint in self.hints]
        *first, last = [hint for hint in texts if hint is not None] or [""]
        advice = f"{', '.join(first)} or {last}" if first else last
        return f"{self.said}: {advice}." if advice else self.said

    def at(self, place: str) -> "LinsepError":
        """The same said of a place, such as ``file line 3: ``."""
        return type(self)(place + self.said, *self.hints)

    def of_model(self) -> "LinsepError":
        """The same where a model fixes all parameters: others are for learning it again."""
        plain = [hint for hint in self.hints if isinstance(hint, str)]
        settings = [hint.settings for hint in self.hints if isinstance(hint, Hint)]
        again = [Hint("learn the model with {}", one, again=True) for one in settings]
        return type(self)(self.said, *plain, *again)


class DataError(LinsepError, ValueError):
    """The data cannot be used as they are: what is wrong, where (file, line or row), what to do."""


class FeatureOverflow(DataError):
    """Values of a feature are too large, or too small, to be worked with in floating point.

    Attributes
    ----------
    column : int, the number of the feature
    """

    def __init__(self, column: int, feature: str = ""):
        super().__init__(
            f"{feature or f'Feature {column}'} has values whose squares are beyond floating point: "
            "scale the features."
        )
        self.column = column

    def at(self, place: str) -> "DataError":
        """The same said of a place."""
        return DataError(place + self.said)

    def of_model(self) -> "DataError":
        """The same where a model fixes all parameters."""
        return DataError(self.said)


class ParameterError(LinsepError, ValueError):
    """Parameters that do not go together; on the command line, wrong use (exit code 2)."""


class ModelFileError(LinsepError, ValueError):
    """A model file is damaged, foreign, of an unknown version, or would be overwritten."""


class SeparationWarning(UserWarning):
    """A likelihood has no maximum, since a hyperplane separates the classes, if only in part.

    Attributes
    ----------
    verdict : what :func:`linsep.separation` says, with its proof; None where it was not asked
    limits : dict
        {name of a coefficient: "finite", "+inf", "-inf" or "infinite"}, the last for either sign.
    refusal : LinsepError that says the same, for those who spell advice otherwise
    """

    def __init__(
        self, said: str, *hints: Hint, verdict: Any = None, limits: dict[str, str] | None = None
    ):
        self.refusal = LinsepError(said, *hints)
        super().__init__(str(self.refusal))
        self.verdict, self.limits = verdict, limits or {}


class SeparationError(DataError):
    """The same, raised where ``on_separation="raise"`` asks for it."""

    def __init__(
        self, said: str, *hints: Hint, verdict: Any = None, limits: dict[str, str] | None = None
    ):
        super().__init__(said, *hints)
        self.verdict, self.limits = verdict, limits or {}
