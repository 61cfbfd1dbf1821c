"""Progress bars, drawn on terminals only."""

import math
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from linsep.sources.base import Source

SECONDS = 0.1
#: most of a bar that is drawn before the work is done
MOST = 0.999
#: passes of which the mistakes are drawn
MOST_BARS = 12


@contextmanager
def watching(source: Source, model: Any = None, task: Any = None) -> Iterator[None]:
    """Draw a progress bar while the block runs.

    It shows how far ``source`` is read, the passes of ``model.fit``, or the questions of a task.
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
        rate = (run.rows + (run.total or 0) * run.pass_number) / seconds
        part = run.rows / run.total if run.total else _read(source) or 0.0
        _show(
            bar, line, "learning", (run.pass_number + part) / model.max_iter,
            description=f"pass {run.pass_number + 1} of {model.max_iter}",
            rows=f"{run.rows:,} rows, {short(rate)} rows/s, {run.mistakes:,} mistakes "
            + sparkline(run.curve, bar.console.options.ascii_only),
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
    """Draw how far a stage is; None is work of unknown length. Each stage has a line of its own,
    since a complete line shows no time left.
    """
    if bar.tasks[line].fields["stage"] != stage:
        bar.reset(line, stage=stage, rows="")
    bar.tasks[line].total = None if part is None else 1.0
    bar.update(line, completed=min(part or 0.0, MOST), description=description or stage, rows=rows)


def _update_verdict(bar: Progress, line: Any, task: Any) -> None:
    """Show the current question, its step, and the time left."""
    which = f"question {task.question:,} of {task.questions:,}, " * (task.questions > 1)
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
