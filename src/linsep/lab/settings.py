"""The settings of a scene: declared parameters, their controls on the page and texts in URLs."""

import math
import re
from dataclasses import replace
from typing import Any, NamedTuple

from linsep.errors import DataError
from linsep.lab.declared import SERVED, SHOWN
from linsep.parameters import Control, Parameter

#: largest absolute value of a coordinate or of a weight
LARGEST = 1e6
NUMBER = re.compile(r"[+-]?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,3})?", re.ASCII)


class Setting(NamedTuple):
    """A parameter of an estimator, or of the scene itself, on the page.

    Attributes
    ----------
    parameter : Parameter
        Its name is the name in URLs. A setting of several numbers has a tuple as its default.
    label : str
    rooms : tuple of str
        The modes that use it.
    learners : tuple of str
        The learners that use it; empty for all.
    slider : bool
        Whether a number has a slider, on a logarithmic scale.
    sets : str
        The parameter of the estimator.
    """

    parameter: Parameter
    label: str
    rooms: tuple[str, ...] = ("classes",)
    learners: tuple[str, ...] = ()
    slider: bool = False
    sets: str = ""

    @property
    def name(self) -> str:
        """Its name in URLs."""
        return self.parameter.name

    @property
    def default(self) -> Any:
        """The value in scenes that do not set it."""
        return self.parameter.default

    @property
    def size(self) -> int:
        """Its number of numbers; 1 for anything else."""
        return len(self.default) if isinstance(self.default, tuple) else 1

    def checked(self, value: Any) -> Any:
        """Return a value of the right type; DataError if it is not valid."""
        parts = value if self.size > 1 and isinstance(value, list | tuple) else [value]
        if len(parts) != self.size or not all(map(self._accepts, parts)):
            raise DataError(
                f"The setting {self.name} must be {self._wanted()}.", code="bad-scene", value=value
            )
        found = [part if isinstance(part, str) else self.parameter.kind(part) for part in parts]
        return tuple(found) if self.size > 1 else found[0]

    def _accepts(self, value: Any) -> bool:
        if self.parameter.kind is bool:
            return isinstance(value, bool)
        whole = isinstance(value, float) and value.is_integer() and self.parameter.kind is int
        return self.parameter.accepts(int(value) if whole else value)

    def _wanted(self) -> str:
        """Return a phrase for the valid values."""
        if self.parameter.kind is bool:
            return "yes or no"
        if self.parameter.choices:  # spelled as in a URL
            return "one of " + ", ".join(self.parameter.choices)
        wanted = self.parameter.typed
        if self.size > 1:
            wanted = f"{self.size} numbers, each {wanted.removeprefix('a number ')}"
        return wanted

    def parse(self, text: str) -> Any:
        """Return the value of a text in a URL; DataError if it is not valid."""
        one = self.parameter
        if one.kind is bool:
            return self.checked({"yes": True, "no": False}.get(text))
        if one.kind is str or text in one.words:
            return self.checked(text)
        numbers = [number_of(part) for part in text.split(",", 8)]
        return self.checked(numbers if self.size > 1 else number_of(text))

    def spell(self, value: Any) -> str:
        """Return the text of a value in a URL."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, tuple):
            return ",".join(map(plain_number, value))
        return value if isinstance(value, str) else plain_number(value)


def as_number(value: Any) -> float:
    """Return a finite number as a float, NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def number_of(text: str) -> float:
    """Return the number of a text in decimal digits, NaN for any other text."""
    return float(text) if NUMBER.fullmatch(text) else math.nan


def plain_number(number: float) -> str:
    """Return the shortest text of a number, 1 rather than 1.0."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def bounded(one: Parameter) -> Parameter:
    """Return a parameter restricted to the range that a control on a page needs."""
    if one.kind in (bool, str):
        return one
    low = one.above + 1 / LARGEST if math.isfinite(one.above) else one.at_least
    return replace(
        one, above=-math.inf, at_least=low if math.isfinite(low) else -LARGEST,
        at_most=one.at_most if math.isfinite(one.at_most) else LARGEST,
        also=tuple(one.words), called_with="",
    )  # fmt: skip


ROOMS = ("classes", "soft", "line", "curve", "bayes", "descent")
SURFACES = ("bowl", "valley", "two-minima", "bend", "squared-error", "likelihood")
DESCENT, BOTH = ("descent",), ("classes", "descent")
#: settings of learners that other modes share
ELSEWHERE = {"schedule": BOTH}


def _of_scene(
    name: str, label: str, default: Any, help: str, rooms: tuple[str, ...] = ("classes",),
    learners: tuple[str, ...] = (), slider: bool = False, **valid: Any,
) -> Setting:  # fmt: skip
    """Return a setting of the scene itself."""
    kind = type(default[0] if isinstance(default, tuple) else default)
    declared = Parameter(name=name, kind=kind, default=default, help=help, **valid)
    return Setting(bounded(declared), label, rooms, learners, slider)


def _of_learner(
    control: Control, learners: tuple[str, ...] = (), learner: str = "perceptron"
) -> Setting:
    """Return the setting that is a parameter of a learner."""
    declared = SHOWN[learner].parameters[control.parameter]
    one = bounded(replace(declared, name=control.name or control.parameter, **control.narrowed))
    rooms = ELSEWHERE.get(one.name, ("classes",))
    return Setting(one, control.label, rooms, learners, sets=control.parameter)


def _of_some() -> dict[str, Setting]:
    """Return the settings that only some learners have."""
    found: dict[str, Setting] = {}
    for learner, shown in SHOWN.items():
        for control in shown.how.controls:
            one = _of_learner(control, learner=learner)
            known = found.setdefault(one.name, one)
            found[one.name] = known._replace(learners=(*known.learners, learner))
    return found


_WITH_INTERCEPT = tuple(name for name, shown in SHOWN.items() if shown.how.intercept)
_WITH_START = tuple(name for name, shown in SHOWN.items() if shown.how.start)
SETTINGS: dict[str, Setting] = {
    one.name: one
    for one in (
        _of_scene("room", "Mode", "classes", "what is fitted to the points", ROOMS,
                  choices=ROOMS),
        _of_scene("cost", "C", 1.0, "cost of errors, relative to the squared weights", ("soft",),
                  slider=True, above=0.0, at_most=1e6),
        _of_scene("surface", "Surface", "valley", "the function to minimize", DESCENT,
                  choices=SURFACES),
        _of_scene("eta", "Learning rate", 0.02, "factor of the gradient in every step", DESCENT,
                  slider=True, above=0.0, at_most=10.0),
        _of_scene("from", "From", (-2.0, 1.0), "start of the descent; or click in the plane",
                  DESCENT),
        _of_scene("learner", "Learner", "perceptron", "how a mistake changes the weights",
                  choices=tuple(SHOWN)),
        _of_learner(Control(parameter="keep", label="Weights to predict with")),
        *_of_some().values(),
        _of_learner(
            Control(parameter="multiclass", name="classes", label="Several classes"),
        ),
        _of_learner(
            Control(parameter="fit_intercept", name="intercept", label="Intercept"),
            _WITH_INTERCEPT,
        ),
        _of_scene("start", "Initial weights", (0.0, 0.0, 0.0),
                  "b, w1 and w2 before the first step", learners=_WITH_START),
        _of_learner(
            Control(parameter="shuffle", label="Shuffle", narrowed={"default": False}),
        ),
        _of_scene("seed", "Seed", 0, "seed of the shuffled order", at_least=0, at_most=2**31 - 1),
        _of_scene("rounds", "Maximum steps", 2000, "the run is cut after so many steps", BOTH,
                  at_least=1, at_most=10_000),
        _of_scene("beyond", "Beyond a cycle", False, "whether the run continues to its maximum of "
                  "steps when weights recur", learners=("perceptron", "batch")),
    )
}  # fmt: skip
DEFAULTS: dict[str, Any] = {name: one.default for name, one in SETTINGS.items()}


def for_page() -> list[dict[str, Any]]:
    """Return what the page needs to make a control for each setting."""
    kinds = {bool: "yes or no", str: "choice"}
    titles = {name: shown.how.title for name, shown in SHOWN.items()}
    return [
        {
            "name": name, "label": one.label, "help": sentence(one.parameter.help),
            "kind": kinds.get(one.parameter.kind, "number"), **range_ends(one.parameter),
            "word": "".join(one.parameter.words[:1]),
            "choices": list(one.parameter.choices), "usedBy": list(one.learners),
            "titles": titles if name == "learner" else {}, "rooms": list(one.rooms),
            "slider": one.slider, "size": one.size,
        }
        for name, one in SETTINGS.items()
        if SERVED or ("classes" in one.rooms and name != "room")
    ]  # fmt: skip


def range_ends(one: Parameter) -> dict[str, float | None]:
    """Return the ends of the range of a number; None of anything else."""
    number = one.kind in (int, float)
    return {"low": one.at_least if number else None, "high": one.at_most if number else None}


def sentence(phrase: str) -> str:
    """Return a phrase with a capital and a period."""
    return f"{phrase[0].upper()}{phrase[1:]}."
