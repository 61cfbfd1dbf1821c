"""The settings of a scene, each declared once.

Its default, its valid values, and the label and the help that the page shows.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from linsep.catalog import LEARNERS
from linsep.errors import DataError
from linsep.parameters import Control, Demonstration

#: largest absolute value of a coordinate or of a weight
LARGEST = 1e6
NUMBER = re.compile(r"[+-]?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True)
class Field:
    """A setting of a scene.

    Attributes
    ----------
    name : str
    label, help : str
        Shown on the page.
    default : bool, int, float, str or tuple of float
        Its type is that of the setting.
    low, high : float
        Bounds of a number, or of each number of a tuple.
    choices : tuple of str
        The values of a text.
    used_by : tuple of str
        The learners that use it; empty for all.
    rooms : tuple of str
        Where it is used.
    slider : bool
        Whether a number has a slider, in which equal ways are equal factors.
    """

    name: str
    label: str
    help: str
    default: Any
    low: float = -LARGEST
    high: float = LARGEST
    choices: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ("classes",)
    slider: bool = False

    @property
    def kind(self) -> str:
        """Return "yes or no", "whole number", "number", "choice" or "numbers"."""
        kinds = {bool: "yes or no", int: "whole number", float: "number", str: "choice"}
        return kinds.get(type(self.default), "numbers")

    def checked(self, value: Any) -> Any:
        """Return a value of the right type; DataError if it is not valid."""
        if self.kind == "choice" and isinstance(value, str) and value in self.choices:
            return value
        if self.kind == "yes or no" and isinstance(value, bool):
            return value
        if self.kind == "numbers" and isinstance(value, list | tuple):
            numbers = tuple(as_number(part) for part in value)
            if len(numbers) == len(self.default) and all(map(self._in_range, numbers)):
                return numbers
        if self.kind in ("number", "whole number") and self._in_range(number := as_number(value)):
            if self.kind == "number":
                return number
            if number == int(number):
                return int(number)
        raise DataError(f"The setting {self.name} must be {self.valid_values()}.")

    def valid_values(self) -> str:
        """Return the valid values in words."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        if self.kind == "yes or no":
            return "yes or no"
        what = f"a {self.kind}"
        if self.kind == "numbers":
            what = f"{len(self.default)} numbers, each"
        return f"{what} from {in_words(self.low)} to {in_words(self.high)}"

    def parse(self, text: str) -> Any:
        """Return the value that a text of a URL spells; DataError if it is not valid."""
        if self.kind == "yes or no" and text in ("yes", "no"):
            return text == "yes"
        if self.kind == "choice":
            return self.checked(text)
        if self.kind == "numbers":
            return self.checked([number_of(part) for part in text.split(",", 8)])
        return self.checked(number_of(text))

    def spell(self, value: Any) -> str:
        """Return the text of a value in a URL."""
        if self.kind == "yes or no":
            return "yes" if value else "no"
        if self.kind == "numbers":
            return ",".join(map(plain, value))
        return value if self.kind == "choice" else plain(value)

    def _in_range(self, number: float) -> bool:
        return self.low <= number <= self.high


def in_words(number: float) -> str:
    """Return a number with commas and without an exponent."""
    return f"{number:,.6f}".rstrip("0").rstrip(".")


def as_number(value: Any) -> float:
    """Return a finite number as a float, NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def number_of(text: str) -> float:
    """Return the number that a text spells in decimal digits, NaN if it spells none."""
    return float(text) if NUMBER.fullmatch(text) else math.nan


def plain(number: float) -> str:
    """Return the shortest text of a number, 1 rather than 1.0."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


#: the learners of the lab by their names there: an estimator and how it says it is shown
SHOWN: dict[str, tuple[type[Any], Demonstration]] = {
    shown.name: (kind, shown) for kind in LEARNERS.values() for shown in kind.demonstrations
}
#: what the lab offers to turn for some of the learners, and the learners that use it
CONTROLS: dict[str, tuple[Control, list[str]]] = {}
for _name, (_, _shown) in SHOWN.items():
    for _control in _shown.controls:
        CONTROLS.setdefault(_control.name or _control.parameter, (_control, []))[1].append(_name)
#: settings of learners that are those of other rooms, too
ELSEWHERE = {"schedule": ("classes", "descent")}


def _of_learners() -> tuple[Field, ...]:
    """Return the settings that only some learners have."""
    return tuple(
        Field(
            name, control.label, control.help, control.default,
            low=-LARGEST if control.low is None else control.low,
            high=LARGEST if control.high is None else control.high,
            choices=control.choices, used_by=tuple(owners),
            rooms=ELSEWHERE.get(name, ("classes",)),
        )
        for name, (control, owners) in CONTROLS.items()
    )  # fmt: skip


ROOMS = ("classes", "line", "curve", "bayes", "descent")
SURFACES = ("bowl", "valley", "two-minima", "bend", "squared-error", "likelihood")

FIELDS = (
    Field(
        "room", "Room", "What is learnt from the points.", "classes", choices=ROOMS, rooms=ROOMS
    ),
    Field(
        "surface", "Surface", "What the descent runs down.", "valley", choices=SURFACES,
        rooms=("descent",),
    ),
    Field(
        "eta", "Learning rate", "Factor of the gradient in every step.", 0.02, low=1e-6, high=10.0,
        rooms=("descent",), slider=True,
    ),
    Field("from", "From", "Where the descent starts; or click there.", (-2.0, 1.0),
          rooms=("descent",)),
    Field("learner", "Learner", "What is done at a mistake.", "perceptron", choices=tuple(SHOWN)),
    Field(
        "keep", "Weights to predict with",
        "The last ones, their average over all rounds, a vote of all versions, or the best so far.",
        "last", choices=("last", "average", "vote", "best"),
    ),
    *_of_learners(),
    Field(
        "classes", "Several classes",
        "One rule for all, a machine for each class, or one for each pair.",
        "native", choices=("native", "ovr", "ovo"),
    ),
    Field(
        "intercept", "Intercept", "Learn b too, so that the line need not pass through 0.", True,
        used_by=tuple(name for name, (_, shown) in SHOWN.items() if shown.intercept),
    ),
    Field(
        "start", "Initial weights", "b, w1 and w2 before the first round.", (0.0, 0.0, 0.0),
        used_by=tuple(name for name, (_, shown) in SHOWN.items() if shown.start),
    ),
    Field("shuffle", "Shuffle", "Visit the points in a new order in every pass.", False),
    Field("seed", "Seed", "Of the shuffled order.", 0, low=0, high=2**31 - 1),
    Field("rounds", "Rounds at most", "The run is cut after them.", 2000, low=1, high=10_000,
          rooms=("classes", "descent")),
)  # fmt: skip
BY_NAME: dict[str, Field] = {field.name: field for field in FIELDS}
DEFAULTS: dict[str, Any] = {field.name: field.default for field in FIELDS}


def for_page() -> list[dict[str, Any]]:
    """Return what the page needs to make a control for each setting."""
    return [
        {
            "name": field.name, "label": field.label, "help": field.help, "kind": field.kind,
            "low": field.low, "high": field.high, "choices": list(field.choices),
            "usedBy": list(field.used_by), "rooms": list(field.rooms), "slider": field.slider,
            "size": len(field.default)
            if field.kind == "numbers" else 1,
        }
        for field in FIELDS
    ]  # fmt: skip
