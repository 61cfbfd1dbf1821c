"""Both checkers of verdicts against each other and against exact oracles, over and over.

``python -m campaign.checker [VERDICTS [EDITS [SEED]]]``: so many verdicts on random rows must hold
for ``verify`` and for ``linsep.check`` and be what elimination in fractions finds; so many edited
proofs must be judged alike by both, and none that is false be accepted. The first disagreement ends
it with the rows, the edit and the proof. 20,000 and 50,000 take some twenty minutes.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import checkers_agree

PARTS: dict[str, tuple[Callable, int]] = {
    "verdicts": (checkers_agree.verdicts, 20_000),
    "edited proofs": (checkers_agree.edited_proofs, 50_000),
}


def main(counts: list[str]) -> None:
    """Run both parts, and print what was counted."""
    *given, seed = [int(count) for count in counts] + [0] * (len(counts) < 3)
    for k, (draw, usual) in enumerate(PARTS.values()):
        started = perf_counter()
        found = draw(given[k] if k < len(given) else usual, seed)
        lines = [f"{number:10,}  {what}" for what, number in found.items()]
        print("\n".join(lines), f"\n{perf_counter() - started:10,.0f}  seconds\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
