"""``python -m campaign [PART[=COUNT] ...]``: run some parts, or all, and print a table."""

import argparse
import functools
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from campaign import (
    batches,
    checker,
    checkpoints,
    cluster,
    commands,
    damage,
    estimators,
    exports,
    kills,
    models,
    presses,
    remote,
    requests,
    same_bits,
    serving,
    texts,
    words,
)  # fmt: skip
from campaign.batches import Limits


class Part(NamedTuple):
    """A function that runs cases, their number in ``make campaign``, and its share of the time."""

    run: Callable[[Limits], Counter]
    count: int
    share: float


def _of(case: batches.Case, **how: Any) -> Callable[[Limits], Counter]:
    return functools.partial(batches.run, case, **how)


PARTS = {
    "interrupts": Part(presses.interrupted, 500, 2),
    "kills": Part(_of(kills.killed, batch=50), 1000, 5),
    "checkpoints": Part(_of(checkpoints.resumed, batch=20, hang_seconds=120), 1000, 12),
    "disks": Part(_of(kills.no_room, batch=50), 1000, 5),
    "signals": Part(_of(commands.signaled, batch=100, hang_seconds=200), 1000, 16),
    "serving": Part(_of(serving.killed, batch=20, hang_seconds=60), 200, 8),
    "requests": Part(_of(requests.answered, batch=2000), 100_000, 6),
    "compiling": Part(_of(commands.signaled_compiling, batch=10, hang_seconds=200), 30, 8),
    "words": Part(_of(words.counted, batch=2_000), 200_000, 8),
    "csv": Part(_of(texts.table("csv"), batch=2000), 200_000, 10),
    "jsonl": Part(_of(texts.table("jsonl"), batch=2000), 200_000, 10),
    # The first case of a format may have to compile its scanner.
    "remote": Part(_of(remote.fetched, batch=500, hang_seconds=60), 5_000, 5),
    "models": Part(_of(models.damaged_model, batch=2000), 200_000, 7),
    "forged-models": Part(_of(models.forged_model, batch=2000), 20_000, 4),
    "row-cache": Part(_of(damage.row_cache, batch=2000), 200_000, 7),
    # The oracle may take seconds: elimination in fractions.
    "verdicts": Part(_of(checker.verdict_case, batch=2000, hang_seconds=60), 20_000, 32),
    "edited-proofs": Part(checker.edited_proofs, 50_000, 5),
    "damaged-proofs": Part(checker.damaged_proofs, 200_000, 8),
    "exports": Part(_of(exports.predicted, batch=200), 10_000, 8),
    "estimators": Part(estimators.checked, 439, 10),
    "cluster": Part(_of(cluster.killed, batch=20, hang_seconds=200), 20, 8),
    "same-bits": Part(same_bits.promised, 384, 3),
}
COLUMNS = ("cases", "wrong", "crashes", "hangs", "over 1 GB")


def main(words: list[str]) -> int:
    """Run parts and print the counts; return 1 if anything was wrong."""
    options = _options(words)
    given = dict(word.partition("=")[::2] for word in options.parts or PARTS)
    if unknown := given.keys() - PARTS.keys():
        sys.exit(f"no part {', '.join(sorted(unknown))}; there are: {' '.join(PARTS)}")
    counts = {name: int(count or PARTS[name].count) for name, count in given.items()}
    # Each part has its share of the time, the longest first, so that none runs alone at the end.
    seconds = 60 * options.minutes * options.jobs / sum(PARTS[name].share for name in counts)
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, seed {options.seed}", flush=True)
    print(f"{'part':14}" + "".join(f"{name:>12}" for name in (*COLUMNS, "seconds")), flush=True)
    waiting = sorted(counts, key=lambda name: PARTS[name].share)
    running: dict[Any, Any] = {}
    bad = False
    while waiting or running:
        while waiting and len(running) < options.jobs:
            name = waiting.pop()
            most = PARTS[name].share * seconds
            running |= _started(name, counts[name], str(options.seed), most)
        for pipe in wait(list(running)):
            name, process, started = running.pop(pipe)
            found = _result(pipe, process)
            bad |= sum(found.values()) > found["cases"] or found["cases"] == 0
            _print(name, found, counts[name], time.monotonic() - started)
    return int(bad)


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART[=COUNT]", help=", ".join(PARTS))
    parser.add_argument(
        "--seed", type=int, default=int(f"{datetime.now(UTC):%Y%m%d}"), help="default: the date"
    )
    parser.add_argument("--minutes", type=float, default=60, help="time limit (60)")
    parser.add_argument(
        "--jobs", type=int, default=min(2, os.cpu_count() or 1), help="parts at once (2)"
    )
    return parser.parse_args(words)


def _started(name: str, count: int, seed: str, seconds: float) -> dict[Any, Any]:
    """Start a part in a process of its own; return its pipe and the process."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    limits = Limits(count, seed, time.monotonic() + seconds)
    process = context.Process(target=_run, args=(name, limits, writing))
    process.start()
    writing.close()
    return {reading: (name, process, time.monotonic())}


def _run(name: str, limits: Limits, out: Connection) -> None:
    out.send(PARTS[name].run(limits))


def _result(pipe: Connection, process: Any) -> Counter:
    """Return the counts of a part, or none if its process died."""
    try:
        found: Counter = pipe.recv()
    except EOFError:
        found = Counter(cases=0)
    process.join()
    return found


def _print(name: str, found: Counter, count: int, seconds: float) -> None:
    row = "".join(f"{found[column]:>12,}" for column in COLUMNS)
    ended = "" if found["cases"] >= count else f"   the time was up; {count:,} were requested"
    print(f"{name:14}{row}{seconds:>12,.0f}{ended}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
