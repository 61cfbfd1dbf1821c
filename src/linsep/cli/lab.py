"""The command ``lab``: one HTML file in which a learner runs on points."""

import webbrowser
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import click

from linsep.cli import options
from linsep.cli.errors import flag_of, note
from linsep.cli.options import argument, command, option
from linsep.cli.output import check_outputs, open_output
from linsep.errors import DataError, LinsepError
from linsep.sources.formats import SCALES
from linsep.sources.remote.file import no_file

#: endings of lessons, and of models
MARKDOWN, MODELS = (".md", ".markdown"), (".linsep", ".safetensors")


@command()
def lab(
    files: list[Path] | None = argument(
        "files", "FILE...",
        "A lesson (.md), a model (.linsep), or data, of which the first 500 rows are shown; a "
        "model and data run its learner on the rows.",
        required=False, type=options.LocalPath(),
    ),
    scene: str | None = option("--scene", "NAME", "Setup, such as xor, or a lab URL after #."),
    output: Path | None = option(
        "--output", options.FILE, "Write the lab to this HTML file, and do not open it."
    ),
    check: str | None = option("--check", "CODE", "Check the code of a finished lesson."),
    how: dict[str, Any] = options.gathered("how", (  # of a data file
        options.TARGET, options.MISSING_VALUES, options.EXCLUDE, *options.TYPES,
        options.Option(
            "--scale", options.choice(SCALES),
            "Standardize both coordinates.  [default: if their spreads differ by a factor above 5]",
        ),
        *options.FILES.options,
    )),
    force: bool = options.FORCE,
) -> None:  # fmt: skip
    """Open the lab: place points, watch a learner step by step, and see whether and why it stops.

    Example: linsep lab --scene xor --output class.html
    """
    from linsep import model_files
    from linsep.lab import address_of_file, address_of_model, lab_file, lesson_of_code

    if check is not None:
        print(f"lesson   {lesson_of_code(check)}")
        return
    check_outputs(force, (), output)
    kinds: dict[str, Path] = {}
    for file in files or ():
        ending = file.suffix.lower()
        kind = "lesson" if ending in MARKDOWN else "model" if ending in MODELS else "data file"
        if kind in kinds:
            raise click.BadParameter(f"{kinds[kind]} and {file} are both a {kind}: name one.")
        kinds[kind] = file
    lesson, model, rows = map(kinds.get, ("lesson", "model", "data file"))
    if rows is None and (given := [n for n, value in how.items() if value not in (None, "error")]):
        raise click.BadParameter(f"{flag_of(given[0])} needs a data file: name it.")
    if scene is not None and (rows is not None or model is not None):
        raise click.BadParameter("--scene and FILE cannot be combined: give one of them.")
    try:
        loaded = None if model is None else model_files.loaded(model)
        first = scene or ""
        if rows is not None:
            first = address_of_file(rows, note, loaded, **how)
        elif loaded is not None:
            first = address_of_model(loaded)
        if lesson is not None and not lesson.exists():
            raise no_file(lesson)
        page = lab_file(first, "" if lesson is None else lesson.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise DataError(f"{lesson} is not UTF-8 text.", code="encoding", path=lesson) from None
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
