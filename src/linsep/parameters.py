"""Declarations of parameters: checks in ``fit``, command-line options and their help texts are
derived from them.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, wraps
from inspect import cleandoc, get_annotations, signature
from math import inf, isfinite, sqrt
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, dataclass_transform, get_args, get_origin

from linsep.errors import ArgumentError, ParameterError
from linsep.other_names import advice_on, meant

#: types of parameters that several estimators have
Keep = Literal["last", "average", "vote", "best"]
Multiclass = Literal["native", "ovr", "ovo"]
#: of rules with two sides, which no machine learns several classes by
TwoSided = Literal["ovr", "ovo"]
Tie = Literal["negative", "positive", "random"]
ScheduleName = Literal["constant", "inverse", "inverse_sqrt"]
#: what ``predict`` of a regression gives beside its numbers
INTERVALS = ("confidence", "prediction")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter: its name, default, valid values and help."""

    name: str = ""
    #: int, float, bool or str (one of ``choices``)
    kind: type = str
    #: a phrase without a capital letter and without a period
    help: str = ""
    default: Any = None
    at_least: float = -inf
    above: float = -inf
    at_most: float = inf
    below: float = inf
    choices: tuple[str, ...] = ()
    #: values that are valid in addition to ``kind``: None, a word, infinity, True
    also: tuple[Any, ...] = ()
    #: the arguments of a function, if the value may be a function
    called_with: str = ""

    def accepts(self, value: Any) -> bool:
        """Return whether ``value`` is valid."""
        if self.called_with and callable(value):
            return True
        if value is None or isinstance(value, str):
            return value in self.also or value in self.choices
        is_bool = type(value).__name__ in ("bool", "bool_")  # also of NumPy, which may be missing
        if self.kind is bool:
            return (is_bool or isinstance(value, int)) and value in (0, 1)
        if is_bool:
            return True in self.also
        if self.kind is str or not isinstance(value, Integral if self.kind is int else Real):
            return False
        with suppress(OverflowError):  # whole numbers beyond floats
            number = float(value)
            low = self.at_least <= number and self.above < number
            high = number <= self.at_most and (self.below == inf or number < self.below)
            return low and high and (isfinite(number) or number in self.also)
        return False

    def check(self, value: Any, of: str = "") -> None:
        """Raise ParameterError for an invalid value of the parameter of ``of``, the owner."""
        if not self.accepts(value):
            said = f"{self.name}{of} must be {self.wanted}, got {value!r}"
            hints: list[Any] = [*meant(value, self.choices)]
            hints = hints or (advice_on(self.name, ()) if self.name == "penalty" else [])
            raise ParameterError(said + "." * (not hints), *hints, option=self.name, value=value)

    def parse(self, text: str) -> Any:
        """Return the number that ``text`` spells, or ``text`` itself if it is not a number."""
        if self.kind is not str and text not in self.also:
            with suppress(ValueError):
                return self.kind(text)
        return text

    @property
    def words(self) -> list[str]:
        """The words that are valid instead of a number."""
        return [value for value in self.also if isinstance(value, str)]

    @property
    def wanted(self) -> str:
        """The valid values, in words."""
        others = ["None"] * (None in self.also)
        others += [f"a function of {self.called_with}"] * bool(self.called_with)
        return " or ".join([self.typed, *others])

    @property
    def typed(self) -> str:
        """The values that are valid on the command line, in words."""
        if self.choices:
            return "one of " * (len(self.choices) > 1) + ", ".join(map(repr, self.choices))
        text = {int: "a whole number", float: "a number", bool: "True or False"}[self.kind]
        bounds = {
            "above {:g}": self.above, "of at least {:g}": self.at_least,
            "below {:.10g}": self.below, "at most {:.10g}": self.at_most,
        }  # fmt: skip
        limits = [words.format(bound) for words, bound in bounds.items() if isfinite(bound)]
        number = f"{text} {' and '.join(limits)}".rstrip()
        return " or ".join([number, *map(repr, self.words)])


def parameter(*, default: Any, help: str = "", **valid: Any) -> Any:
    """Declare a parameter of an estimator, as an annotated attribute of its class.

    Parameters
    ----------
    default : object
    help : str
        A phrase for the command-line help; by default the first sentence of its entry in the
        docstring of the class or of a base.
    valid : ``at_least``, ``above``, ``at_most``, ``below``, ``also``, ``called_with``, ``choices``
        The valid values, as in :class:`Parameter`. The kind, choices, None and words come from the
        annotation: int, float, bool, a Literal, or a union of these.
    """
    return field(default=default, metadata={"help": help, "valid": valid})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter, field))
class HasParameters:
    """Base of estimators whose annotated attributes, also inherited ones, are the keyword arguments
    of ``__init__``. Attributes of a fitted model must have no annotation.
    """

    def __init_subclass__(cls, **how: Any) -> None:
        """Write ``__init__``, unless the class has one of its own, and complete the docstring."""
        super().__init_subclass__(**how)
        has_own = "__init__" in vars(cls)
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        init, known = cls.__init__, {*signature(cls).parameters}

        @wraps(init)
        def __init__(self: Any, *args: Any, **given: Any) -> None:
            if others := given.keys() - known:
                name = min(others)
                said = f"{type(self).__name__} has no parameter {name!r}"
                raise ArgumentError(said, *advice_on(name, known))  # of other programs, too
            init(self, *args, **given)

        if not has_own:
            cls.__init__ = __init__  # type: ignore[method-assign]
        base = next(one for one in cls.__mro__[1:] if issubclass(one, HasParameters))
        inherited, own = _lists(base.__doc__), _lists(cls.__doc__)
        doc = _LIST.sub("", cleandoc(cls.__doc__ or ""))
        intro, *rest = re.split(r"^(?=\w+\n-)", doc, maxsplit=1, flags=re.M)
        for name, entries in inherited.items():  # the parameters that the class takes
            mine = own.get(name, {})
            taken = {k: entry for k, entry in entries.items() if name == "Attributes" or k in known}
            listed = "\n".join([name, "-" * len(name), *(mine | taken | mine).values()])
            intro = f"{intro.rstrip()}\n\n{listed}"
        if inherited:
            cls.__doc__ = "\n\n".join([intro, *rest])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags

    @classmethod
    @cache  # reading a signature is slow
    def _get_param_names(cls) -> list[str]:
        return list(super()._get_param_names())  # type: ignore[misc]


#: a section of a docstring that is a list
_LIST = re.compile(r"^(Parameters|Attributes)\n-+\n(.*?)\n*(?=^\w[\w ]*\n-|\Z)", re.M | re.S)


def _lists(doc: str | None) -> dict[str, dict[str, str]]:
    """Return the parameters and the attributes that a docstring describes, by name."""
    return {
        name: {entry.partition(" :")[0]: entry for entry in re.split(r"\n+(?=\S)", entries)}
        for name, entries in _LIST.findall(cleandoc(doc or ""))
    }


@cache
def parameters_of(estimator: Any) -> dict[str, Parameter]:
    """Return the declared parameters of a class by name, its own before the inherited ones."""
    own, told = get_annotations(estimator), _lists(estimator.__doc__).get("Parameters", {})
    every = fields(estimator) if is_dataclass(estimator) else ()
    declared = [one for one in every if "help" in one.metadata]
    declared.sort(key=lambda one: one.name not in own)
    found = {}
    for one in declared:
        text = " ".join(told.get(one.name, "").partition("\n")[2].replace("`", "").split())
        help = one.metadata["help"] or text[:1].lower() + re.split(r"\.(?: |$)", text)[0][1:]
        parts = get_args(one.type) if get_origin(one.type) in (Union, UnionType) else (one.type,)
        words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
        kind = next((part for part in parts if part in (int, float, bool)), str)
        also = [None] * (NoneType in parts)
        valid = {"kind": kind, "choices": tuple(words)} | one.metadata["valid"]
        if kind is not str:  # words beside numbers
            also, valid["choices"] = also + words, ()
        valid["also"] = (*also, *valid.get("also", ()))
        found[one.name] = Parameter(name=one.name, help=help, default=one.default, **valid)
    return found


def check_parameters(estimator: Any) -> None:
    """Raise ParameterError for the first parameter of ``estimator`` with an invalid value, or two
    that exclude each other: ``EXCLUDING`` of its class has their names, and None or the only value
    of the second that excludes the first.
    """
    kind: Any = type(estimator)
    for name, declared in parameters_of(kind).items():
        declared.check(getattr(estimator, name), f" of {kind.__name__}")
    for one, other, only in getattr(kind, "EXCLUDING", ()):
        a, b = getattr(estimator, one), getattr(estimator, other)
        if a and (b if only is None else b == only):
            raise ParameterError(
                f"{one}={a!r} and {other}={b!r} exclude each other",
                "leave one of them out", code="conflict", option=other,
            )  # fmt: skip


def as_fitted(model: Any, **changed: Any) -> Any:
    """Return an unfitted model with the parameters of the fit, some of them changed."""
    names = model.get_params(deep=False)
    return type(model)(**{name: fitted_parameter(model, name) for name in names} | changed)


def fitted_parameter(model: Any, name: str, default: Any = None) -> Any:
    """Return a parameter as it was during the fit; the current value if the model has no record."""
    return getattr(model, "_learned_with", {}).get(name, getattr(model, name, default))


def rate_of(learning_rate: Any | Callable[[int], Any], schedule: str, k: int) -> Any:
    """Return the learning rate of step k = 1, 2, ...: of a function (ParameterError unless it is a
    finite number above 0); or a number, divided by k ("inverse") or by its root ("inverse_sqrt").
    """
    if callable(learning_rate):
        value = learning_rate(k)
        if not (isinstance(value, Real) and 0 < float(value) < inf):
            message = f"learning_rate({k}) is {value!r}; it must be a finite number above 0."
            raise ParameterError(message, option="learning_rate", value=value)
        return value
    if schedule == "inverse":
        return learning_rate / k
    return learning_rate / sqrt(k) if schedule == "inverse_sqrt" else learning_rate
