"""``python -m campaign [PART[=COUNT] ...]``: run parts, all without names; print a table."""

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from campaign import batches, checker, damage, kills, presses


def interrupted(count: int, seed: int = 0) -> Counter:
    """Press Ctrl-C at random lines of every kind of fit, once or twice."""
    found, draw = Counter(cases=0), random.Random(seed)
    with tempfile.TemporaryDirectory() as top, presses.small_pieces(Path(top)):
        for number, fit in enumerate(presses.FITS):
            folder = Path(top) / str(number)
            folder.mkdir()
            record = presses.Record(fit, folder)
            for _ in range(-(-count // len(presses.FITS))):
                line = draw.randrange(1, record.lines + 1)
                again = draw.choice((None, draw.uniform(0, 0.003)))
                outcome = presses.press(fit, record, folder, line, again)
                found["cases"] += 1
                if outcome.wrong is not None:
                    found["wrong"] += 1
                    print(f"  {fit.name}, line {line}, {again}: {outcome.wrong}", flush=True)
    return found


def _of(case: batches.Case, batch: int = batches.BATCH) -> Callable[[int], Counter]:
    return lambda count: batches.run(case, count, batch=batch)


#: how each part is run, and how many cases ``make campaign`` runs of it
PARTS: dict[str, tuple[Callable[[int], Counter], int]] = {
    "interrupts": (interrupted, 500),
    "kills": (_of(kills.killed, 50), 1000),
    "disks": (_of(kills.no_room, 50), 1000),
    "scanner": (_of(damage.scanned, 20_000), 5_000_000),
    "csv": (_of(damage.table("csv", damage.CSV)), 200_000),
    "jsonl": (_of(damage.table("jsonl", damage.JSONL)), 200_000),
    "models": (_of(damage.model, 2000), 200_000),
    "row-cache": (_of(damage.row_cache, 2000), 200_000),
    "verdicts": (_of(checker.verdict_case, 2000), 20_000),
    "edited-proofs": (checker.edited_proofs, 50_000),
    "damaged-proofs": (checker.damaged_proofs, 200_000),
}
COLUMNS = ("cases", "wrong", "crashes", "hangs", "over 1 GB")


def main(chosen: list[str]) -> int:
    """Run parts and print what was counted; returns 1 where anything was wrong."""
    counts = {name: usual for name, (_, usual) in PARTS.items()}
    if chosen:
        given = dict(part.partition("=")[::2] for part in chosen)
        if unknown := given.keys() - PARTS.keys():
            sys.exit(f"no part {', '.join(sorted(unknown))}; there are: {' '.join(PARTS)}")
        counts = {name: int(count or PARTS[name][1]) for name, count in given.items()}
    rows, bad = [], 0
    for name, count in counts.items():
        print(f"running {name} ...", flush=True)
        started = time.perf_counter()
        found = PARTS[name][0](count)
        bad += sum(found.values()) - found["cases"]
        rows.append((name, found, time.perf_counter() - started))
    print(f"{'part':14}" + "".join(f"{name:>12}" for name in (*COLUMNS, "seconds")))
    for name, found, seconds in rows:
        print(f"{name:14}" + "".join(f"{found[c]:>12,}" for c in COLUMNS) + f"{seconds:>12,.0f}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
