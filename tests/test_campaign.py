"""A few cases of every part of the campaign, and that it notices what it looks for."""

import os
import signal
import time

import pytest
from campaign import __main__ as campaign
from campaign import batches

from linsep.compiled.jit import COMPILING

FEW = {
    "kills": 3, "disks": 3, "scanner": 2000, "csv": 60, "jsonl": 60, "models": 60, "row-cache": 60,
    "verdicts": 30, "edited-proofs": 60, "damaged-proofs": 60,
}  # fmt: skip

pytestmark = pytest.mark.skipif(not COMPILING, reason="too slow without the compiler")


@pytest.mark.parametrize(("part", "count"), FEW.items())
def test_a_few_cases_of_each_part(part, count):
    found = campaign.PARTS[part][0](count)
    assert dict(found) == {"cases": count}


def test_what_is_wrong_is_counted_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(batches, "HANG_SECONDS", 0.3)
    drawn = iter(range(100))

    def case(draw):
        number = next(drawn)
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return "wrong" if number == 1 else None

    # After a crash, the next process begins with the parent's counter, at 0.
    assert batches.run(case, 6) == {"cases": 6, "crashes": 2, "wrong": 2}
    hung = batches.run(lambda draw: time.sleep(60), 1)
    assert (hung["hangs"], hung["cases"]) == (1, 1)


def test_memory_is_counted_beyond_that_of_the_parent(monkeypatch):
    monkeypatch.setattr(batches, "MOST_KILOBYTES", 64_000)
    held = bytearray(b"x" * 100_000_000)
    assert batches.run(lambda draw: None, 2) == {"cases": 2}
    grown = batches.run(lambda draw: None if bytearray(b"x" * 400_000_000) else "", 1)
    assert grown == {"cases": 1, "over 1 GB": 1}
    assert len(held) == 100_000_000


def test_parts_are_chosen_by_name_and_count(capsys):
    assert campaign.main(["row-cache=20"]) == 0
    assert "row-cache               20           0" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no part stars; there are: interrupts"):
        campaign.main(["stars"])
