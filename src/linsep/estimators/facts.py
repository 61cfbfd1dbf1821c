"""Facts about parameters, in one place: checks, command-line options and help derive from them."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from linsep.engine.keepings import NAMES
from linsep.errors import ParameterError


class Parameter(NamedTuple):
    """One parameter: what values it takes and what it means.

    ``kind`` is int, float, bool or str (one of ``choices``). ``low`` and ``high`` bound numbers;
    ``open_low`` and ``open_high`` exclude the bound itself. Instead of a number it may be None, a
    function (of what, ``called_with`` says), one word, infinity or a boolean where ``or_...`` says
    so.
    """

    name: str
    kind: type
    help: str
    low: float = -np.inf
    high: float = np.inf
    open_low: bool = False
    open_high: bool = False
    choices: tuple[str, ...] = ()
    or_none: bool = False
    or_callable: bool = False
    called_with: str = "k"
    or_word: str = ""
    or_infinite: bool = False
    or_bool: bool = False

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` is one this parameter takes."""
        if (self.or_none and value is None) or (self.or_callable and callable(value)):
            return True
        if self.or_word and isinstance(value, str):
            return value == self.or_word
        if self.kind is bool:
            return isinstance(value, bool | np.bool_ | int) and value in (0, 1)
        if self.kind is str:
            return isinstance(value, str) and value in self.choices
        if isinstance(value, bool | np.bool_):
            return self.or_bool
        if not isinstance(value, Integral if self.kind is int else Real):
            return False
        value = float(value)
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        finite = np.isfinite(value) or (self.or_infinite and value == np.inf)
        return bool(finite and above and below)

    @property
    def wanted(self) -> str:
        """What the parameter takes, in words."""
        others = ["None"] * self.or_none + [f"a function of {self.called_with}"] * self.or_callable
        return " or ".join([self.typed, *others])

    @property
    def typed(self) -> str:
        """What the parameter takes that can be typed, in words."""
        if self.choices:
            return "one of " * (len(self.choices) > 1) + ", ".join(map(repr, self.choices))
        words = {int: "a whole number", float: "a number", bool: "True or False"}[self.kind]
        if np.isfinite(self.low):
            words += f" {'above' if self.open_low else 'of at least'} {self.low:g}"
        if np.isfinite(self.high):
            words += f"{' and' if np.isfinite(self.low) else ''} "
            words += f"{'below' if self.open_high else 'at most'} {self.high:.10g}"
        return words + f" or {self.or_word!r}" * bool(self.or_word)


COMMON = (
    Parameter(
        "multiclass",
        str,
        "how more than two classes are learnt: one joint rule, one against the rest, or pairs",
        choices=("native", "ovr", "ovo"),
    ),
    Parameter("max_iter", int, "at most this many passes over the data", low=1),
    Parameter("shuffle", bool, "visit rows in random order after the first pass"),
    Parameter("early_stopping", bool, "stop when the accuracy on held-out rows no longer improves"),
    Parameter(
        "validation_fraction",
        float,
        "share of the rows to hold out for early stopping",
        low=0.0,
        high=1.0,
        open_low=True,
        open_high=True,
    ),
    Parameter("n_iter_no_change", int, "passes without improvement before stopping early", low=1),
    Parameter("warm_start", bool, "fit goes on from the weights of the last fit"),
    Parameter("verbose", int, "1 prints a line a pass", low=0, or_bool=True),
    Parameter(
        "tie",
        str,
        "class of a row whose score is exactly zero: the smaller, the larger, or a seeded draw",
        choices=("negative", "positive", "random"),
    ),
)

INTERCEPT = Parameter("fit_intercept", bool, "learn an intercept")
NORMALIZE = Parameter("normalize", bool, "scale every row to length 1")
KEEP = (
    Parameter(
        "keep",
        str,
        "weights to predict with: the last, the mean, a vote of all, or the best so far",
        choices=NAMES,
    ),
    Parameter(
        "vote_megabytes",
        float,
        "memory for the updates that a vote remembers, 16 bytes for each value of each row",
        low=0.0,
        open_low=True,
    ),
)
SCHEDULES = (
    Parameter(
        "learning_rate",
        float,
        "how much of an example is added at a mistake, at the first update",
        low=0.0,
        open_low=True,
        or_callable=True,
    ),
    Parameter(
        "schedule",
        str,
        "learning rate of update k: constant, divided by k, or by its root",
        choices=("constant", "inverse", "inverse_sqrt"),
    ),
)


def check_parameters(estimator: Any, parameters: tuple[Parameter, ...]) -> None:
    """Raise ValueError for the first parameter of ``estimator`` that has an unusable value."""
    for parameter in parameters:
        value = getattr(estimator, parameter.name)
        if not parameter.accepts(value):
            raise ParameterError(
                f"{parameter.name} of {type(estimator).__name__} must be {parameter.wanted}, "
                f"got {value!r}."
            )
