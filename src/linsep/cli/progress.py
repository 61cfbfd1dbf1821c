"""A progress bar for long work, drawn only where somebody is looking."""

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from linsep.sources.base import Source

SECONDS = 0.1


@contextmanager
def watching(source: Source, model: Any = None, task: Any = None) -> Iterator[None]:
    """Draw what is done while the block runs.

    How far ``source`` is read, the passes of ``model.fit``, or the questions of a ``task``.
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
        line = bar.add_task("reading", total=1.0, rows="")
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


def _update(bar: Progress, task: Any, source: Source, model: Any) -> None:
    """One look at the numbers that the working thread is changing."""
    run = getattr(model, "progress_", None)
    read = source.position / source.size if source.size else None
    if run is None:
        bar.update(task, completed=read or 0.0)
        return
    seconds = max(1e-9, bar.tasks[task].elapsed or 0.0)
    rate = (run.rows + (run.total or 0) * run.pass_number) / seconds
    part = run.rows / run.total if run.total else read
    bar.update(
        task,
        description=f"pass {run.pass_number + 1} of {model.max_iter}",
        completed=(run.pass_number + (part or 0.0)) / model.max_iter,
        rows=f"{run.rows:,} rows, {short(rate)} rows/s, {run.mistakes:,} mistakes",
    )


def _update_verdict(bar: Progress, line: Any, task: Any) -> None:
    """Which question is being decided, how, and how long it may still take."""
    which = f"question {task.question:,} of {task.questions:,}, " * (task.questions > 1)
    left = max(0.0, task.until - time.monotonic())
    bar.update(
        line,
        description=f"{which}{task.doing or 'the working set'}",
        completed=max(0, task.question - 1) / task.questions,
        rows=f"{left:,.0f} s left" if math.isfinite(left) else "",
    )


def short(number: float) -> str:
    """A number in three digits: 12, 345 k, 6.7 M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:
            scaled = number / size
            return f"{scaled:.1f} {unit}" if scaled < 99.95 else f"{scaled:,.0f} {unit}"
    return f"{number:.0f}"
