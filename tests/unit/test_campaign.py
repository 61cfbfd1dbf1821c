"""A few cases of every part of the campaign, and that it notices what it looks for."""

import os
import signal
import subprocess
import sys
import time
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


def test_memory_is_counted_beyond_that_of_the_parent(monkeypatch):
    monkeypatch.setattr(batches, "MOST_KILOBYTES", 64_000)
    held = bytearray(b"x" * 100_000_000)
    assert batches.run(lambda draw: None, Limits(2)) == {"cases": 2}
    sizes = iter((10, 400_000_000, 10))
    grown = batches.run(lambda draw: None if bytearray(next(sizes)) else "", Limits(2))
    assert grown == {"cases": 2, "over 1 GB": 1}
    assert len(held) == 100_000_000


def test_time_that_is_over_ends_a_part(tmp_path):
    drawn, bell = iter(range(100)), tmp_path / "bell"

    class UntilTheBell(Limits):
        def over(self):
            return bell.exists()

    def case(draw):
        if next(drawn) == 3:
            bell.touch()

    assert batches.run(case, UntilTheBell(100)) == {"cases": 4}
    assert Limits(1, until=time.monotonic()).over()
    assert not Limits(1).over()


def test_another_seed_draws_other_cases(tmp_path):
    def drawn(seed):
        path = tmp_path / seed
        case = lambda draw: path.open("a").write(f"{draw.random()}\n") and None  # noqa: E731
        batches.run(case, Limits(3, seed), batch=2)
        return path.read_text().split()

    first = drawn("1")
    assert drawn("1") == 2 * first
    assert len({*drawn("2"), *first}) == 6


def test_parts_are_chosen_by_name_and_count(capfd):
    assert campaign.main(["row-cache=20", "kills=1", "--seed", "7", "--jobs", "2"]) == 0
    said = capfd.readouterr().out
    assert "seed 7\n" in said
    assert "row-cache               20           0" in said
    assert campaign.main(["row-cache=20", "--minutes", "0"]) == 1
    assert "the time was up; 20 were requested" in capfd.readouterr().out
    with pytest.raises(SystemExit, match="no part stars; there are: interrupts"):
        campaign.main(["stars"])
