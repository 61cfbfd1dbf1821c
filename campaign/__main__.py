"""``python -m campaign [PART[=COUNT] ...]``: run some parts, or all, and print a table."""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from campaign import (
    batches,
    checker,
    commands,
    damage,
    kills,
    models,
    presses,
    serving,
    texts,
)  # fmt: skip
from campaign.batches import Case, Limits


class Part(NamedTuple):
    """A case, how many of them ``make campaign`` runs, and its share of the time."""

    case: Case
    count: int
    share: float
    #: cases of a process, and the seconds after which one hangs
    batch: int = 2000
    hang_seconds: float = 0.0


PARTS = {
    "interrupts": Part(presses.interrupted, 500, 2, 250, 60),
    "kills": Part(partial(kills.fit_ended, checkpoints=False, full=False), 1000, 6, 50, 120),
    "checkpoints": Part(partial(kills.fit_ended, checkpoints=True, full=False), 1000, 12, 20, 120),
    "disks": Part(partial(kills.fit_ended, checkpoints=True, full=True), 1000, 6, 50, 120),
    "signals": Part(commands.signaled, 1000, 16, 100, 200),
    "compiling": Part(commands.signaled_compiling, 30, 8, 10, 200),
    "serving": Part(serving.killed, 200, 8, 20, 60),
    "csv": Part(texts.table, 200_000, 10),
    "models": Part(models.damaged_model, 200_000, 7),
    "forged-models": Part(models.forged_model, 20_000, 4),
    "row-cache": Part(damage.row_cache, 200_000, 7),
    # The oracle may take seconds: elimination in fractions.
    "verdicts": Part(checker.verdict_case, 20_000, 32, 2000, 60),
    "edited-proofs": Part(checker.edit_case, 50_000, 5, 5000),
    "damaged-proofs": Part(checker.damage_case, 200_000, 8, 5000),
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
    longest = sorted(counts, key=lambda name: -PARTS[name].share)
    bad = False
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        running = {
            pool.submit(_run, name, counts[name], str(options.seed), seconds): name
            for name in longest
        }
        for future in as_completed(running):
            name, (found, took) = running[future], future.result()
            bad |= sum(found.values()) > found["cases"] or found["cases"] == 0
            row = "".join(f"{found[column]:>12,}" for column in COLUMNS)
            short = found["cases"] < counts[name]
            ended = f"   the time was up; {counts[name]:,} were requested" * short
            print(f"{name:14}{row}{took:>12,.0f}{ended}", flush=True)
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


def _run(name: str, count: int, seed: str, seconds: float) -> tuple[Counter, float]:
    """Run a part within its share of the time; return its counts and its seconds."""
    started, (case, _, share, batch, hang_seconds) = time.monotonic(), PARTS[name]
    limits = Limits(count, seed, started + share * seconds)
    return batches.run(case, limits, batch, hang_seconds), time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
