"""Predictions to the screen or to a file that appears whole or not at all."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from linsep.cli.screen import label_text
from linsep.errors import DataError
from linsep.model_file import check_free, written_whole


@contextmanager
def open_output(path: Path | None, force: bool) -> Iterator[TextIO]:
    """The screen for None, else a file beside ``path`` that takes its place at the end."""
    if path is None:
        if sys.stdout is None:
            raise DataError("There is no output to write to; name a file with --output.")
        yield sys.stdout
        return
    check_free(path, force)
    with written_whole(path, "w") as file:
        yield file


def never_overwrite(path: Path | None, read: list[Path]) -> None:
    """Raise DataError where ``path``, to be written with --force, is one of the files to read."""
    for other in read:
        if path is not None and path.exists() and path.samefile(other):
            raise DataError(f"{path} is read by this command; give the result another name.")


def print_rows(
    out: TextIO,
    classes: np.ndarray,
    codes: np.ndarray,
    values: np.ndarray,
    *,
    with_scores: bool,
    as_json: bool,
) -> None:
    """One line a row: the label, with its scores if asked, or a JSON object."""
    labels = classes.tolist()
    if as_json:
        for code, value in zip(codes.tolist(), values.tolist(), strict=True):
            out.write(json.dumps({"prediction": labels[code], "scores": value}) + "\n")
        return
    texts = [_one_line(label_text(label)) for label in labels]
    if not with_scores:
        out.write("".join(f"{texts[code]}\n" for code in codes.tolist()))
        return
    for code, value in zip(codes.tolist(), values.reshape(len(codes), -1).tolist(), strict=True):
        out.write("\t".join([texts[code], *map(repr, value)]) + "\n")


def _one_line(text: str) -> str:
    """A label as it is, or as a JSON string where it would not keep to one field of one line."""
    return json.dumps(text, ensure_ascii=False) if set(text) & set("\t\n\r\v\f") else text
