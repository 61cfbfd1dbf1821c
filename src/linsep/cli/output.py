"""Predictions to the screen or to a file that appears whole or not at all."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from linsep.cli.report import label_text
from linsep.errors import DataError
from linsep.estimators.decide import predicted
from linsep.model_file import check_free


@contextmanager
def open_output(path: Path | None, force: bool) -> Iterator[TextIO]:
    """The screen for None, else a file beside ``path`` that takes its place at the end."""
    if path is None:
        yield sys.stdout
        return
    check_free(path, force)
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "w") as file:
            yield file
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
        temporary = None
    except OSError as problem:
        raise DataError(f"{path} cannot be written: {problem.strerror}.") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def print_rows(
    out: TextIO, model: Any, values: np.ndarray, with_scores: bool, as_json: bool
) -> None:
    """One line a row: the label, with its scores if asked, or a JSON object."""
    found = model.classes_[predicted(values, model.tie, model.random_state)]
    if as_json:
        for label, value in zip(found.tolist(), values.tolist(), strict=True):
            out.write(json.dumps({"prediction": label, "scores": value}) + "\n")
        return
    texts = {label: label_text(label) for label in model.classes_.tolist()}
    if not with_scores:
        out.write("".join(f"{texts[label]}\n" for label in found.tolist()))
        return
    for label, value in zip(found.tolist(), values.reshape(len(found), -1).tolist(), strict=True):
        out.write("\t".join([texts[label], *map(repr, value)]) + "\n")
