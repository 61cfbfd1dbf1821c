"""State of a fitted model: why the fit ended; classes, counts and arrays, checked when read."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.callback import with_callbacks

from linsep.errors import ModelFileError

Method = TypeVar("Method", bound=Callable[..., Any])


def calls_back(fit: Method) -> Method:
    """Return a method ``fit`` with scikit-learn's callbacks that keeps its type."""
    found: Method = with_callbacks(fit)
    return found


#: allowed dtypes of labels; others could declare any size
PLAIN_TYPE = re.compile(r"[<>|=]?(b1|[iuf][1248]|f16|U\d+|O)")


def plain(label: Any) -> Any:
    """Return a label as a JSON value; raise ModelFileError for other types."""
    known = label.item() if isinstance(label, np.generic) else label
    if not isinstance(known, str | int | float | bool):
        raise ModelFileError(
            f"The label {label!r} is a {type(label).__name__}; model files support text, numbers "
            f"and booleans, so convert the labels first.", code="label-type", value=label,
        )  # fmt: skip
    return known


def described(classes: np.ndarray) -> dict[str, Any]:
    """Return the classes as plain JSON."""
    return {"type": classes.dtype.str, "values": [plain(label) for label in classes]}


def classes_of(type: str, values: list[Any]) -> np.ndarray:
    """Return the sorted labels; text is as wide as its longest label."""
    if not PLAIN_TYPE.fullmatch(type):
        raise ValueError(f"classes of type {type!r:.40}")
    kind = np.dtype(type)
    classes = np.array(values, dtype=str if kind.kind == "U" else kind)
    ordered = classes.ndim == 1 and classes.size > 1 and (classes[1:] > classes[:-1]).all()
    if not ordered or classes.tolist() != values:
        raise ValueError(f"classes {values!r:.400}")
    return classes


def finite(arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array; raise ValueError unless it has finite floats and this shape."""
    found = arrays[name]
    if found.shape != shape or found.dtype != np.float64 or not np.isfinite(found).all():
        raise ValueError(f"{name} of {found.dtype} {found.shape}")
    return found


def count(value: Any, least: int = 0) -> int:
    """Return a count, such as a number of rows; raise ValueError if it is invalid."""
    if type(value) is not int or not least <= value < 2**63:
        raise ValueError(f"{value!r} is not a valid count")
    return value
