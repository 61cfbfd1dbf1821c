"""How a race is run and what it leaves: times of both sides in turn, medians, their ratio."""

import gc
import json
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"


class Side(NamedTuple):
    """One contestant: its name, and what is timed, unless the call returns its own seconds."""

    name: str
    run: Callable[[], Any]


class Race(NamedTuple):
    """What a benchmark row shows."""

    work: str
    ours: Side
    theirs: Side
    at_least: float
    repeats: int
    #: accuracies of both sides, measured once after the last run, or another measure of theirs
    accuracies: Callable[[], tuple[float | None, float | None]]
    measure: str = "accuracy"


def run(race: Race) -> dict[str, Any]:
    """Run both sides in turn, one warm-up each, and return the row of the table."""
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for turn in range(race.repeats + 1):
        for key, side in (("ours", race.ours), ("theirs", race.theirs)):
            gc.collect()
            started = perf_counter()
            own = side.run()
            seconds = own if isinstance(own, float) else perf_counter() - started
            if turn:
                times[key].append(seconds)
    ours, theirs = median(times["ours"]), median(times["theirs"])
    found = row(race.work, race.theirs.name, ours, theirs, *race.accuracies(), measure=race.measure)
    return found | {"at_least": race.at_least, "times": times}


def row(
    work: str,
    against: str,
    ours: float,
    theirs: float,
    ours_reached: float | None = None,
    theirs_reached: float | None = None,
    measure: str = "accuracy",
) -> dict[str, Any]:
    """A row of the table from the seconds of both sides and what they reached."""
    return {
        "work": work,
        "against": against,
        "ours_seconds": ours,
        "theirs_seconds": theirs,
        "ratio": theirs / ours,
        "ours_accuracy": ours_reached,
        "theirs_accuracy": theirs_reached,
        "measure": measure,
    }


def print_table(rows: list[dict[str, Any]]) -> None:
    """The rows as an aligned table."""
    print(
        f"{'work':56s} {'against':28s} {'linsep':>9s} {'other':>9s} {'ratio':>7s}  accuracy, both"
    )
    for row in rows:
        pair = [row["ours_accuracy"], row["theirs_accuracy"]]
        accuracy = " / ".join("-" if share is None else f"{share:.4f}" for share in pair)
        print(
            f"{row['work']:56s} {row['against']:28s} {row['ours_seconds']:8.4f}s "
            f"{row['theirs_seconds']:8.4f}s {row['ratio']:6.1f}x  {accuracy}"
        )


def write_json(rows: list[dict[str, Any]]) -> Path:
    """Keep the rows, with the machine they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    path = RESULTS / f"{now:%Y%m%dT%H%M%S}.json"
    machine = {"processor": platform.processor(), "python": platform.python_version()}
    path.write_text(
        json.dumps({"when": now.isoformat(), "machine": machine, "rows": rows}, indent=1)
    )
    return path
