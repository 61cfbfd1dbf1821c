"""State of a fitted model in files: its parts are declared, and one function reads all of them.

A declaration names the parts: arrays by :class:`Array`, facts (plain JSON) by the function that
checks and converts them. A fact "fit.l2" is the fact "l2" within "fit".
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.callback import with_callbacks

from linsep.errors import ModelFileError

Method = TypeVar("Method", bound=Callable[..., Any])
#: gives a method ``fit`` scikit-learn's callbacks, and keeps its type
calls_back: Callable[[Method], Method] = with_callbacks

#: allowed dtypes of labels; others could declare any size
PLAIN_TYPE = re.compile(r"[<>|=]?(b1|[iuf][1248]|f16|U\d+|O)")


def plain(label: Any) -> Any:
    known = label.item() if isinstance(label, np.generic) else label
    if not isinstance(known, str | int | float | bool):
        why = f"The label {label!r} is no text, number or boolean, which model files can hold."
        raise ModelFileError(why, code="label-type", value=label)
    return known


def described(classes: np.ndarray) -> dict[str, Any]:
    return {"type": classes.dtype.str, "values": [plain(label) for label in classes]}


def classes_from(fact: dict[str, Any]) -> np.ndarray:
    """Return the labels that :func:`described` made; text is as wide as its longest label."""
    kind, values = fact["type"], fact["values"]
    if not PLAIN_TYPE.fullmatch(kind):
        raise ValueError(f"classes of type {kind!r:.40}")
    classes = np.array(values, dtype=str if "U" in kind else kind)
    ordered = classes.ndim == 1 and classes.size > 1 and (classes[1:] > classes[:-1]).all()
    if not ordered or classes.tolist() != values:
        raise ValueError(f"classes {values!r:.400}")
    return classes


class Array(NamedTuple):
    """An array of a fitted model; its shape has names of sizes and numbers: "3, 1 + features"."""

    shape: str
    dtype: type = np.float64
    optional: bool = False
    finite: bool = True

    def checked(self, name: str, arrays: Mapping[str, np.ndarray], sizes: dict[str, int]) -> Any:
        """Return the array, whose sizes are added to those known."""
        if self.optional and name not in arrays:
            return None
        found, ends = arrays[name], [part.split(" + ") for part in self.shape.split(", ")]
        shaped = found.ndim == len(ends)
        for (*more, size), length in zip(ends, found.shape, strict=False):
            rest = length - sum(map(int, more))
            shaped &= rest == (int(size) if size.isdigit() else sizes.setdefault(size, rest))
        known = not self.finite or np.isfinite(found).all()
        if not shaped or found.dtype != self.dtype or not known:
            raise ValueError(f"{name} of {found.dtype} {found.shape}")
        return found


def state_of(parts: dict[str, Any], values: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of declared parts as arrays and facts, without arrays that are None."""
    arrays, facts = dict[str, Any](), dict[str, Any]()
    for name, part in parts.items():
        section, _, key = name.rpartition(".")
        if not isinstance(part, Array):
            (facts.setdefault(section, {}) if section else facts)[key] = values[key]
        elif values[name] is not None:
            arrays[name] = np.ascontiguousarray(values[name])
    return arrays, facts


def restored(parts: dict[str, Any], arrays: Any, facts: Any, **sizes: int) -> dict[str, Any]:
    """Return the values of declared parts, checked; a fact that is missing is None."""
    found = {}
    for name, part in parts.items():
        section, _, key = name.rpartition(".")
        if isinstance(part, Array):
            found[name] = part.checked(name, arrays, sizes)
        else:
            try:
                found[key] = part((facts[section] if section else facts).get(key))
            except (TypeError, ValueError) as problem:
                raise ValueError(f"{name}: {problem}") from None
    return found


def number(value: Any) -> float:
    if not np.isfinite(found := float(value)):
        raise ValueError(f"{value!r} is not a finite number")
    return found


def as_it_is(value: Any) -> Any:
    return value


def flag(value: Any) -> bool:
    if value not in (None, False, True):
        raise ValueError(f"{value!r} is neither true nor false")
    return bool(value)


def count(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 2**63:
        raise ValueError(f"{value!r} is not a valid count")
    return value
