"""Results on the screen, aligned; results in files, atomically; how pictures look; progress bars
on terminals.
"""

import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TextIO

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from linsep._system.files import check_free, written_whole
from linsep._system.interrupts import interrupts_allowed, interrupts_deferred
from linsep.cli.errors import named
from linsep.cli.options import Gathered, Option, number, parsed, valid
from linsep.compiled import WORK
from linsep.errors import DataError
from linsep.estimators.labels import label_text
from linsep.layout import pair_lines, table_lines
from linsep.sources.base import Source
from linsep.sources.remote.file import File
from linsep.words import escaped


def labels_text(labels: list[Any], most: int = 8) -> str:
    shown = ", ".join(label_text(label) for label in labels[:most])
    return shown + (", ..." if len(labels) > most else "")


def on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def pairs(told: Iterable[tuple[str, Any]]) -> list[str]:
    """Return aligned ``name  text`` lines of what has a text."""
    some = [(name, named(text)) for name, text in told if text]
    return pair_lines(some) if some else []


def table(
    header: list[str], rows: list[list[str]], right: Sequence[bool] | None = None, *,
    most: int | None = None, sentences: bool = False,
) -> list[str]:  # fmt: skip
    """Return the lines of a heading and ``most`` rows, and how many more there are."""
    lines = [[named(cell) for cell in line] for line in (header, *rows[:most])]
    left_out = len(rows[most:]) if most is not None else 0
    return [*table_lines(lines, right, sentences=sentences), *more(left_out)]


def more(left_out: int) -> list[str]:
    return [f"... and {left_out:,} more; --json has all"] if left_out else []


def show(*lines: str) -> None:
    if lines:
        print("\n".join(lines))


def print_pairs(told: Iterable[tuple[str, Any]]) -> None:
    show(*pairs(told))


class Result(SimpleNamespace):
    """What a command finds, as attributes: ``print`` it, or call :meth:`to_dict`."""

    _model: Any

    def lines(self) -> Iterable[str]:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON: what the command prints with ``--json``."""
        return _finite({name: x for name, x in vars(self).items() if not name.startswith("_")})

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def tell(result: Any, as_json: bool) -> None:
    """Print a result, or all of it as JSON."""
    if as_json:
        print_json(result.to_dict())
    else:
        print(named(escaped(str(result), lines=True)))


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object on one line; NaN and infinity become null."""
    print(json.dumps(_finite(content), default=repr, allow_nan=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if isinstance(content, np.generic | np.ndarray):
        return _finite(content.tolist())
    if isinstance(content, str):
        return named(content)
    return None if isinstance(content, float) and not np.isfinite(content) else content


@contextmanager
def finishing(*files: Any) -> Iterator[list[Any]]:
    """Open files for the block, which Ctrl-C ends; it does not end closing the files."""
    with interrupts_deferred() as pressed:
        with ExitStack() as stack:
            opened = [stack.enter_context(file) for file in files]
            with interrupts_allowed():
                yield opened
        pressed.forget()


@contextmanager
def open_output(path: Path | None, force: bool) -> Iterator[TextIO]:
    """Open standard output for None, else a file that replaces ``path`` at the end."""
    if path is None:
        if sys.stdout is None:
            raise DataError("Standard output is closed: add --output.", code="cannot-write")
        yield sys.stdout
        return
    with finishing(written_whole(path, "w", force=force)) as (file,):
        yield file


def check_outputs(force: bool, read: Sequence[File], *paths: Path | None) -> None:
    """Raise DataError if a file to write exists, unless ``force``, or is read, or named twice."""
    seen = set[str]()
    for path in filter(None, paths):
        check_free(path, force)
        why = ""
        if (real := os.path.realpath(path)) in seen:
            why, code = "is named for two output files; give each its own name", "duplicate-name"
        elif any(real == os.path.realpath(file) for file in read if isinstance(file, Path)):
            why, code = "is an input of this command; give the output another name", "conflict"
        if why:
            raise DataError(f"{path} {why}.", code=code, path=path)
        seen.add(real)


#: inches of a side of a picture, at least and at most
SIDES = 0.5, 100.0


def _inches(text: str) -> tuple[float, float]:
    width, height = map(float, re.split(r"\s*[x×]\s*", text))
    return valid((width, height), SIDES[0] <= min(width, height) <= max(width, height) <= SIDES[1])


class Look(NamedTuple):
    """How pictures look: arguments of ``save``, and the colors."""

    how: dict[str, Any]
    colors: AbstractContextManager[None]

    def write(self, made: Callable[[], Any], path: Path, force: bool, told: bool = True) -> None:
        with self.colors:
            display = made()
            with written_whole(path, force=force) as file:
                display.save(file, format=path.suffix.lower().lstrip("."), **self.how)
        show(*[f"picture  {escaped(str(path))}"] * told)


def _look(given: dict[str, Any]) -> Look:
    how = {name: value for name, value in given.items() if value is not None}
    if (name := how.pop("palette", None)) is None:
        return Look(how, nullcontext())
    from linsep.plot import palette

    with palette(name):  # an unknown palette is an error before anything is read
        return Look(how, palette(name))


#: options of every command that draws
LOOK: Any = Gathered("look", (
    Option(
        "--dpi", number(at_least=10, at_most=2400), "Dots per inch.  [default: 100]",
        needs=["plot"],
    ),
    Option(
        "--size", parsed(
            "WIDTHxHEIGHT", f"the width and the height in inches, of {SIDES[0]:g} to {SIDES[1]:g} "
            "each, as in 8x6", _inches,
        ),
        "Inches, as in 8x6.  [default: as large as needed]", needs=["plot"],
    ),
    Option("--title", "TEXT", "Title above a picture.", needs=["plot"]),
    Option(
        "--palette", "NAME", "Colors of a picture: a color map of matplotlib, such as viridis, or "
        "colors separated by commas.", needs=["plot"],
    ),
), _look)  # fmt: skip


#: largest part of a bar that is drawn before the work is done
MOST = 0.999


class Watched(Progress):
    """A bar that ``look`` updates each time that rich draws it, in a thread, ten times a second."""

    look: Callable[[], Any] = staticmethod(lambda: None)

    def get_renderables(self) -> Iterable[Any]:
        self.look()
        return super().get_renderables()


@contextmanager
def watching(source: Any, model: Any = None, task: Any = None) -> Iterator[None]:
    """Draw how far ``source`` is read, the passes of ``model``, or the subproblems of a task, while
    a command runs.
    """
    if sys.stderr is None or not sys.stderr.isatty() or not click.get_current_context(silent=True):
        yield
        return
    whole = Column(no_wrap=True)
    bar = Watched(
        TextColumn("{task.description}", table_column=whole),
        BarColumn(None, table_column=Column(ratio=1)),
        TextColumn("{task.fields[rows]}", table_column=whole),
        TimeRemainingColumn(table_column=Column(no_wrap=True, min_width=7)),
        console=Console(stderr=True), transient=True, expand=True,
    )  # fmt: skip
    line = bar.add_task("reading", total=1.0, rows="", stage="")
    told = (_update, source, model) if task is None else (_update_verdict, task)
    bar.look = partial(told[0], bar, line, *told[1:])
    with bar:
        yield


def _update(bar: Progress, line: Any, source: Source, model: Any) -> None:
    """Update the bar from the counters of the working thread. Each stage has its own line, since a
    complete line does not show the time left; the part of work of unknown length is None.
    """
    run = getattr(model, "progress_", None)
    stage = source.stage if run is None or run.stage == "reading" else run.stage
    part = min(1.0, source.position / source.size) if source.size else None
    description, rows = "" if source.doing is None else source.doing(), ""
    if stage == "learning" and run is not None:
        total = getattr(run.stream, "n_rows", None)  # no stream is left at the end
        part = (run.number + (run.rows / total if total else part or 0.0)) / run.max_iter
        description = f"pass {min(run.number + 1, run.max_iter)} of {run.max_iter}"
        rows = f"{run.rows:,} rows, {run.mistakes:,} mistakes"
    elif stage not in ("reading", "surveying"):
        part = None
    elif part == 1.0:  # still working on what was read
        stage, part = "working", None
    if WORK.going_on:
        stage, part, description = "compiling", None, f"compiling {type(model).__name__}, once"
    if bar.tasks[line].fields["stage"] != stage:
        bar.reset(line, stage=stage, rows="")
    bar.tasks[line].total = None if part is None else 1.0
    bar.update(line, completed=min(part or 0.0, MOST), description=description or stage, rows=rows)


def _update_verdict(bar: Progress, line: Any, task: Any) -> None:
    which = f"subproblem {task.question:,} of {task.questions:,}, " * (task.questions > 1)
    left = max(0.0, task.until - time.monotonic())
    bar.update(
        line, description=f"{which}{task.doing}",
        completed=max(0, task.question - 1) / task.questions,
        rows=f"{left:,.0f} s left" if math.isfinite(left) else "",
    )  # fmt: skip
