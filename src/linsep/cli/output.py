"""Results on the screen, aligned; results in files, atomically; progress bars on terminals."""

import json
import math
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from linsep._system.files import check_free, written_whole
from linsep._system.interrupts import interrupts_allowed, interrupts_deferred
from linsep.cli.errors import named
from linsep.errors import DataError
from linsep.estimators.labels import label_text
from linsep.layout import pair_lines, table_lines
from linsep.sources.base import Source
from linsep.sources.remote.file import File


def labels_text(labels: list[Any], most: int = 8) -> str:
    """Return a few labels, comma separated."""
    shown = ", ".join(label_text(label) for label in labels[:most])
    return shown + (", ..." if len(labels) > most else "")


def on_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_pairs(pairs: list[tuple[str, str]]) -> None:
    """Print aligned ``name  text`` lines, with bold names on a terminal."""
    if pairs:
        print("\n".join(pair_lines([(name, named(text)) for name, text in pairs], _bold)))


def print_table(
    header: list[str],
    rows: list[list[str]],
    right: Sequence[bool] | None = None,
    *,
    sentences: bool = False,
) -> None:
    """Print a table with a bold heading on a terminal, by :func:`linsep.layout.table_lines`."""
    lines = [[named(cell) for cell in line] for line in (header, *rows)]
    first, *others = table_lines(lines, right, sentences=sentences)
    print("\n".join([_bold(first), *others]))


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


def _bold(text: str) -> str:
    plain = not on_terminal() or os.environ.get("TERM", "dumb") == "dumb"
    return text if plain else f"\033[1m{text}\033[0m"


@contextmanager
def finishing(*files: Any) -> Iterator[list[Any]]:
    """Open files, write them in the block, which Ctrl-C ends, and close them, which it does not; a
    signal that comes after everything was done is forgotten.
    """
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
            raise DataError(
                "Standard output is closed; name a file with --output.", code="cannot-write"
            )
        yield sys.stdout
        return
    check_free(path, force)
    with finishing(written_whole(path, "w", force=force)) as (file,):
        yield file


def check_all_free(force: bool, *paths: Path | None) -> None:
    """Raise DataError if a file to write exists, unless --force is given; None stands for no
    file."""
    for path in filter(None, paths):
        check_free(path, force)


def never_overwrite(read: Sequence[File], *paths: Path | None) -> None:
    """Raise DataError if a file to write, with --force, is one of the files to read or to write."""
    written = [os.path.realpath(path) for path in paths if path is not None]
    for path in filter(None, paths):
        if written.count(os.path.realpath(path)) > 1:
            raise DataError(
                f"{path} is named for two output files; give each its own name.",
                code="duplicate-name",
                path=path,
            )
    for path in filter(None, paths):
        if path.exists() and any(_same(path, file) for file in read if isinstance(file, Path)):
            raise DataError(
                f"{path} is an input of this command; give the output another name.",
                code="conflict",
                path=path,
            )


def _same(path: Path, file: Path) -> bool:
    """Return whether an existing path is this file; a missing file is refused when read."""
    try:
        return path.samefile(file)
    except OSError:
        return False


class LeftOpen:
    """A file that stays open at the end of compression."""

    closed = False

    def __init__(self, file: Any):
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        """Leave it open."""


def write_picture(display: Any, path: Path, force: bool, **look: Any) -> None:
    """Write a picture to a file, atomically; ``look`` has arguments of its ``save``."""
    with written_whole(path, force=force) as file:
        display.save(file, format=path.suffix.lower().lstrip("."), **look)


SECONDS = 0.1
#: largest part of a bar that is drawn before the work is done
MOST = 0.999
#: passes whose mistakes are drawn
MOST_BARS = 12


@contextmanager
def watching(source: Source, model: Any = None, task: Any = None) -> Iterator[None]:
    """Draw a progress bar while the block runs: how far ``source`` is read, the passes of
    ``model.fit``, or the subproblems of a task.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    whole = Column(no_wrap=True)
    bar = Progress(
        TextColumn("{task.description}", table_column=whole),
        BarColumn(None, table_column=Column(ratio=1)),
        TextColumn("{task.fields[rows]}", table_column=whole),
        TimeRemainingColumn(table_column=Column(no_wrap=True, min_width=7)),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )
    done = threading.Event()

    def draw() -> None:
        line = bar.add_task("reading", total=1.0, rows="", stage="")
        while not done.wait(SECONDS):
            if task is None:
                _update(bar, line, source, model)
            else:
                _update_verdict(bar, line, task)

    with bar:
        painter = threading.Thread(target=draw, daemon=True)
        painter.start()
        try:
            yield
        finally:
            done.set()
            painter.join()


def _update(bar: Progress, line: Any, source: Source, model: Any) -> None:
    """Update the bar from the counters of the working thread."""
    run = getattr(model, "progress_", None)
    if run is not None and run.stage == "learning":
        seconds = max(1e-9, bar.tasks[line].elapsed or 0.0)
        reports, most = run.run.reports, run.max_iter
        total = getattr(run.stream, "n_rows", None)  # no stream is left at the end
        before = sum(report.rows for report in [*(run.run.trial or ()), *reports])
        part = run.rows / total if total else _read(source) or 0.0
        _show(
            bar, line, "learning", (run.number + part) / most,
            description=f"pass {run.number + 1} of {most}",
            rows=f"{run.rows:,} rows, {short((before + run.rows) / seconds)} rows/s, "
            f"{run.mistakes:,} mistakes "
            + sparkline([report.mistakes for report in reports], bar.console.options.ascii_only),
        )  # fmt: skip
        return
    stage, read = source.stage if run is None or run.stage == "reading" else run.stage, None
    if stage in ("reading", "surveying"):
        read = _read(source)
        if read == 1.0:  # still working on what was read
            stage, read = "working", None
    doing = source.doing
    _show(bar, line, stage, read, "" if doing is None else doing())


def _read(source: Source) -> float | None:
    """Return the share of the source that has been read, or None if unknown."""
    return min(1.0, source.position / source.size) if source.size else None


def _show(
    bar: Progress, line: Any, stage: str, part: float | None, description: str = "", rows: str = ""
) -> None:
    """Draw the progress of a stage; None is work of unknown length. Each stage has its own line,
    since a complete line does not show the time left.
    """
    if bar.tasks[line].fields["stage"] != stage:
        bar.reset(line, stage=stage, rows="")
    bar.tasks[line].total = None if part is None else 1.0
    bar.update(line, completed=min(part or 0.0, MOST), description=description or stage, rows=rows)


def _update_verdict(bar: Progress, line: Any, task: Any) -> None:
    which = f"subproblem {task.question:,} of {task.questions:,}, " * (task.questions > 1)
    left = max(0.0, task.until - time.monotonic())
    bar.update(
        line,
        description=f"{which}{task.doing}",
        completed=max(0, task.question - 1) / task.questions,
        rows=f"{left:,.0f} s left" if math.isfinite(left) else "",
    )


def sparkline(values: Sequence[float], ascii_only: bool = False) -> str:
    """Return the last values as a row of bars, the largest at full height."""
    heights = " .:-=+*#" if ascii_only else "▁▂▃▄▅▆▇█"
    shown = values[-MOST_BARS:]
    scale = (len(heights) - 1) / max(1, *shown, 1)
    return "".join(heights[round(scale * value)] for value in shown)


def short(number: float) -> str:
    """Return a number in three digits: 12, 345 k, 6.7 M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:
            scaled = number / size
            return f"{scaled:.1f} {unit}" if scaled < 99.95 else f"{scaled:,.0f} {unit}"
    return f"{number:.0f}"
