"""Write a model in the format that the ending of the file names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from linsep.exports.onnx_file import to_onnx
from linsep.exports.python_code import as_python
from linsep.exports.scoring import ExportError
from linsep.exports.sql import as_sql
from linsep.exports.weights import as_csv, as_json
from linsep.written import check_free, written_whole


class Format(NamedTuple):
    """A format: its name, and what makes the content of a file from a model."""

    name: str
    content: Callable[[Any], bytes]


FORMATS = {
    ".onnx": Format("ONNX", lambda model: bytes(to_onnx(model).SerializeToString())),
    ".json": Format("JSON", lambda model: as_json(model).encode()),
    ".csv": Format("CSV", lambda model: as_csv(model).encode()),
    ".sql": Format("SQL", lambda model: as_sql(model).encode()),
    ".py": Format("Python", lambda model: as_python(model).encode()),
}


def format_of(path: Path) -> Format:
    """Return the format that an ending names; ExportError for any other."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise ExportError(
            f"{path} has no ending that names a format: end it in {', '.join(list(FORMATS)[:-1])} "
            f"or {list(FORMATS)[-1]}."
        )
    return found


def export(model: Any, path: str | Path, *, force: bool = False) -> Path:
    """Write a fitted learner for other programs, in the format of the extension of ``path``.

    .onnx holds every learner, except kernels for which ONNX has no operators (see docs/export.md)
    and ``tie="random"``. The others hold linear scores, and weights in them read back to the same
    bits: .json and .csv are tables of weights, .sql a query for SQLite and DuckDB, .py a module
    without imports. Probabilities of :func:`linsep.calibrate` are not exported;
    labels are the same.

    Parameters
    ----------
    model : fitted estimator of this library
    path : the file, written atomically; an existing one is only replaced with ``force``

    Returns
    -------
    Path

    Raises
    ------
    ExportError
        If the format cannot hold the model; the message says why and what to do.
    ModelFileError
        If the file exists or cannot be written.
    NotFittedError
        If the model is not fitted.
    """
    path = Path(path)
    made = format_of(path)
    check_free(path, force)
    try:
        content = made.content(model)
    except UnicodeEncodeError:
        raise ExportError(
            "A column, value or label has half of a character (a lone surrogate), which no file "
            "can hold: rename it."
        ) from None
    with written_whole(path, force=force) as file:
        file.write(content)
    return path
