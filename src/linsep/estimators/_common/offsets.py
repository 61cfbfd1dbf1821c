"""Offsets of regressions: known parts of the linear predictor, which have no coefficient."""

from typing import Any

import numpy as np

from linsep.errors import DataError, hint
from linsep.sources.base import Source
from linsep.validation.labels import is_missing
from linsep.words import row_text


def check_offset(offset: Any, n_rows: int) -> np.ndarray | None:
    """Return offsets as float64 of shape (n_rows,), None for None.

    Raises
    ------
    DataError
        If they are not finite numbers, one per row or one for all rows; the message names the row.
    """
    if offset is None:
        return None
    given = np.asarray(offset)
    if given.ndim and given.shape != (n_rows,):
        raise DataError(
            f"offset has shape {given.shape}, but X has {n_rows} rows: pass one number per row.",
            code="shape", option="offset",
        )  # fmt: skip
    given = np.broadcast_to(given, n_rows)
    plain = given if given.dtype.kind in "biufO" else np.full(n_rows, np.nan)
    try:
        found = plain.astype(np.float64)
    except (TypeError, ValueError):  # of objects
        found = np.array([float(x) if isinstance(x, int | float) else np.nan for x in plain])
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        value = given[row]
        what = "missing" if is_missing(value) else str(value)
        raise DataError(
            f"The offset of {row_text(row)} is {what}: offsets must be finite numbers, so provide "
            f"one or remove the row.",
            code="missing-value" if is_missing(value) else "not-finite",
            option="offset",
            row=row + 1,
        )
    return found


def offset_to_predict(model: Any, offset: Any, n_rows: int) -> np.ndarray | None:
    """Return the offsets of rows to predict; DataError unless the model and the rows both have
    offsets, or neither.
    """
    if offset is None and has_offset(model):
        raise DataError(
            f"This {type(model).__name__} was fitted with an offset, so predictions need one: "
            f"pass offset, one number per row.", code="needs-option", option="offset",
        )  # fmt: skip
    if offset is not None and not has_offset(model):
        raise DataError(
            f"This {type(model).__name__} was fitted without an offset: omit offset.",
            code="unsupported", option="offset",
        )  # fmt: skip
    return check_offset(offset, n_rows)


def note_of_offset(model: Any, what: str) -> list[str]:
    """Return a sentence about ``what`` for the table of a model with an offset."""
    if not has_offset(model):
        return []
    name = getattr(model, "recipe_", {}).get("offset")
    return [f"Offset{f' {name}' if name else ''}: {what}."]


def has_offset(model: Any) -> bool:
    """Return whether a model was fitted with an offset."""
    return bool(getattr(model, "_with_offset", False))


def refuse_beside_source(X: Any, offset: Any) -> None:
    """Raise DataError for offsets beside a source, which has its own."""
    if isinstance(X, Source) and offset is not None:
        raise DataError(
            "A source has its own offsets: open it with offset=, the name of their column.",
            code="conflict", option="offset",
        )  # fmt: skip


def refuse_with_offset(model: Any, what: str) -> None:
    """Raise DataError for results that are not defined for a model with an offset."""
    if has_offset(model):
        raise DataError(
            f"{what} are not available for fits with an offset: fit without it, or use the "
            "estimates of the summary.", code="unsupported", option="offset",
        )  # fmt: skip


def refuse_offset_of_several(offset: Any) -> None:
    """Raise DataError for an offset of several targets."""
    if offset is not None:
        raise DataError(
            "An offset needs a single target: fit a regression for each column of y, or omit "
            "offset.", code="unsupported", option="offset",
        )  # fmt: skip


def refuse_offsets_of(X: Any) -> None:
    """Raise DataError for a source with offsets, for models without offsets."""
    if isinstance(X, Source) and X.offsets:
        raise unknown_offsets(X.name)


def unknown_offsets(name: str) -> DataError:
    """Return the error for rows with offsets, in ``name``, for models without offsets."""
    return DataError(
        f"{name} has offsets, which only linear and logistic regressions support",
        hint("leave out {}", offset=None),
        hint("choose another {}", learner=None), code="unsupported", option="offset", path=name,
    )  # fmt: skip


def refuse_several_with_offsets(classes: np.ndarray, offsets: bool) -> None:
    """Raise DataError for offsets of rows of more than two classes."""
    if offsets and len(classes) > 2:
        raise DataError(
            f"An offset needs two classes, but y has {len(classes)}: omit offset.",
            code="class-count", option="offset",
        )  # fmt: skip
