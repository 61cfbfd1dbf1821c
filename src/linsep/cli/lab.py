"""The command ``lab``: one HTML file in which a learner runs on points."""

import webbrowser
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import click

from linsep.cli import options
from linsep.cli.errors import flag_of, note
from linsep.cli.options import Option, command
from linsep.cli.output import check_all_free, open_output
from linsep.errors import DataError, LinsepError
from linsep.sources.remote.file import no_file

#: endings of lessons, and of models
MARKDOWN, MODELS = (".md", ".markdown"), (".linsep", ".safetensors")
FILES = options.Argument(
    "files", "FILE...",
    "A lesson in Markdown (.md), a model (.linsep), or a data file, of which the first 500 "
    "rows are shown; a model and a data file run its learner on the rows.",
    required=False, type=options.LocalPath(),
)  # fmt: skip
#: reading options of a data file
POINTS = options.Gathered(
    "how",
    (
        options.TARGET, options.MISSING_VALUES, options.EXCLUDE, *options.TYPES,
        Option(
            "--scale", options.choice(options.SCALES),
            "Standardize both coordinates, or not.  [default: standard if their standard "
            "deviations differ by a factor above 5, else none]",
        ),
        *options.FILES.options,
    ),
)  # fmt: skip
LAB_OPTIONS = (
    Option("--scene", "NAME", "Initial setup, such as xor, or the part of a lab URL after #."),
    Option(
        "--output", options.FILE,
        "Write the lab to this HTML file, which needs no server, and do not open it.",
    ),
    Option("--check", "CODE", "Check the code of a finished lesson, and exit."),
)  # fmt: skip


@command(FILES, *LAB_OPTIONS, POINTS, options.FORCE)
def lab(
    files: list[Path] | None, *, scene: str | None, output: Path | None, check: str | None,
    how: dict[str, Any], force: bool,
) -> None:  # fmt: skip
    """Open the lab: place points, watch a learner step by step, and see whether and why it stops.

    Example: linsep lab --scene xor --output class.html
    """
    from linsep.lab import lab_file, lesson_of_code

    if check is not None:
        print(f"lesson   {lesson_of_code(check)}")
        return
    check_all_free(force, output)
    lesson, model, rows = _sorted(files or [])
    if rows is None and (given := [n for n, value in how.items() if value not in (None, "error")]):
        raise click.BadParameter(f"{flag_of(given[0])} needs a data file: name it.")
    if scene is not None and (rows is not None or model is not None):
        raise click.BadParameter(
            "--scene and a data file or a model cannot be combined: give one of them."
        )
    try:
        first = _address(rows, model, how) if rows or model else scene or ""
        page = lab_file(first, _text_of(lesson) if lesson else "")
    except LinsepError as problem:
        if scene is None or problem.code != "bad-scene":
            raise
        raise click.BadParameter(str(problem)) from None
    path = output or Path(mkdtemp(prefix="linsep-lab-")) / "lab.html"
    with open_output(path, force) as out:
        out.write(page)
    print(f"lab      {path}")
    if output is None:
        webbrowser.open(path.as_uri())


def _sorted(files: list[Path]) -> tuple[Path | None, Path | None, Path | None]:
    """Return the lesson, the model and the data file; BadParameter for two of a kind."""
    kinds: dict[str, Path] = {}
    for file in files:
        ending = file.suffix.lower()
        kind = "lesson" if ending in MARKDOWN else "model" if ending in MODELS else "data file"
        if kind in kinds:
            raise click.BadParameter(f"{kinds[kind]} and {file} are both a {kind}: name one.")
        kinds[kind] = file
    return kinds.get("lesson"), kinds.get("model"), kinds.get("data file")


def _address(rows: Path | None, path: Path | None, how: dict[str, Any]) -> str:
    from linsep.lab import address_of_file, address_of_model
    from linsep.model_files import load

    model = None if path is None else load(path)
    return address_of_model(model) if rows is None else address_of_file(rows, note, model, **how)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text.", code="encoding", path=path) from None
    except FileNotFoundError:
        raise no_file(path) from None
    except OSError as problem:
        raise DataError(
            f"{path} cannot be read: {problem.strerror}.", code="cannot-read", path=path
        ) from None
