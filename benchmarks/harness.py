"""How a race is run and what it leaves: times of both sides in turn, medians, their ratio."""

import gc
import json
import platform
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).parent / "results"
#: seconds and turns of a race of quick sides, at least
SECONDS, TURNS = 0.8, 7


class Race(NamedTuple):
    """What a benchmark row shows: a side is what is timed, unless it returns its own seconds."""

    work: str
    against: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    repeats: int = 3
    #: accuracies of both sides, measured once after the last run, or another measure of theirs
    reached: Callable[[], tuple[float | None, float | None]] = lambda: (None, None)
    measure: str = "accuracy"
    #: whether sides take milliseconds: CPU time counts, with one BLAS thread, whose others wait for
    #: work after a fit and take the processor from whatever comes next
    quick: bool = False


def fits(work: str, against: str, ours: Any, theirs: Any, data: tuple, repeats: int = 3) -> Race:
    """Two estimators on the same rows, their accuracies on others."""
    X, y, X_test, y_test = data
    return Race(
        work, against, lambda: ours.fit(X, y), lambda: theirs.fit(X, y), repeats,
        lambda: (ours.score(X_test, y_test), theirs.score(X_test, y_test)),
    )  # fmt: skip


def run(race: Race) -> dict[str, Any]:
    """Run both sides in turn, one warm-up each, and return the row of the table."""
    times: list[list[float]] = [[], []]
    clock, began = process_time if race.quick else perf_counter, perf_counter()
    with threadpool_limits(1, "blas") if race.quick else nullcontext():
        while len(times[0]) <= (TURNS if race.quick else race.repeats) or (
            race.quick and perf_counter() - began < SECONDS
        ):
            for seconds, side in zip(times, (race.ours, race.theirs), strict=True):
                if not race.quick:
                    gc.collect()
                started = clock()
                own = side()
                took = clock() - started
                seconds.append(own if isinstance(own, float) and not race.quick else took)
        reached = race.reached()
    ours, theirs = (median(seconds[1:]) for seconds in times)
    return {
        "work": race.work, "against": race.against, "ours_seconds": ours, "theirs_seconds": theirs,
        "ratio": theirs / ours, "ours_accuracy": reached[0], "theirs_accuracy": reached[1],
        "measure": race.measure, "times": times,
    }  # fmt: skip


def print_row(row: dict[str, Any]) -> None:
    """A line of the table."""
    pair = [row["ours_accuracy"], row["theirs_accuracy"]]
    reached = " / ".join("-" if share is None else f"{share:.4f}" for share in pair)
    print(
        f"{row['work']:68} {row['against']:28} {row['ours_seconds']:8.4f}s "
        f"{row['theirs_seconds']:8.4f}s {row['ratio']:6.2f}x  {row['measure']} {reached}",
        flush=True,
    )


def write_json(rows: list[dict[str, Any]]) -> Path:
    """Keep the rows, with the machine they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    path = RESULTS / f"{now:%Y%m%dT%H%M%S}.json"
    machine = {"processor": platform.processor(), "python": platform.python_version()}
    content = {"when": now.isoformat(), "machine": machine, "rows": rows}
    path.write_text(json.dumps(content, indent=1))
    return path
