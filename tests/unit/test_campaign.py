"""A few cases of every part of the campaign, and that it notices what it looks for."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from campaign import __main__ as campaign, batches
from campaign.batches import Limits

ROOT = Path(__file__).parents[2]
FEW = {
    "kills": 3, "checkpoints": 2, "disks": 3, "signals": 1, "serving": 2, "csv": 60, "models": 60,
    "forged-models": 30, "row-cache": 60, "interrupts": 3,
    "verdicts": 4, "edited-proofs": 7, "damaged-proofs": 7,
}  # fmt: skip

pytestmark = pytest.mark.compiled


@pytest.mark.thorough
@pytest.mark.parametrize(("part", "count"), FEW.items())
def test_a_few_cases_of_each_part(part, count):
    # a process without the threads of other tests, which its forks would not have
    done = subprocess.run(
        [sys.executable, "-m", "campaign", f"{part}={count}", "--seed", "0"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_what_is_wrong_is_counted_and_the_rest_goes_on():
    drawn = iter(range(100))

    def case(draw):
        number = next(drawn)
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return "wrong" if number == 1 else None

    # After a crash, the next process begins with the parent's counter, at 0.
    assert batches.run(case, Limits(6)) == {"cases": 6, "crashes": 2, "wrong": 2}


def test_what_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(batches, "HANG_SECONDS", 0.1)
    monkeypatch.setattr(batches, "FIRST_SECONDS", 0.1)
    assert batches.run(lambda draw: signal.pause(), Limits(1)) == {"cases": 1, "hangs": 1}


def test_parts_are_chosen_by_name_and_count(capfd):
    assert campaign.main(["row-cache=20", "kills=1", "--seed", "7", "--jobs", "2"]) == 0
    said = capfd.readouterr().out
    assert "row-cache               20           0" in said
    assert campaign.main(["row-cache=20", "--minutes", "0"]) == 1
    assert "the time was up; 20 were requested" in capfd.readouterr().out
    with pytest.raises(SystemExit, match="no part stars; there are: interrupts"):
        campaign.main(["stars"])
