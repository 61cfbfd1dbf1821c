"""Results are what they were: printed outputs, weights, proofs, model files and predictions.

``LINSEP_RECORD=1 python -m pytest tests/frozen`` records what is printed now, for ``git diff`` to
show; a new transcript begins as a file of commands without what they print.
``LINSEP_FROZEN_DIGITS=all`` compares all digits, as is right on the machine that recorded them.
"""

import os
import re
from pathlib import Path

import pytest
from made_data import write_all
from transcripts import difference, parse, run, same

pytestmark = pytest.mark.compiled
TRANSCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))
EXACT = os.environ.get("LINSEP_FROZEN_DIGITS") == "all"


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_results_are_what_they_were(path, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # nothing is folded or left out
    write_all(tmp_path)
    recorded = path.read_text("utf-8")
    now = run(recorded, tmp_path)
    if os.environ.get("LINSEP_RECORD"):
        path.write_text(now, "utf-8")
        return
    digits = re.search(r"^## digits: (\d+)$", parse(recorded)[0], re.M)
    found = difference(recorded, now, int(digits[1]) if digits and not EXACT else None)
    assert found is None, f"{path.name}: {found}"


def test_one_changed_number_is_noticed():
    text = "weights [1.5, -2.25e-07] of 3 rows"
    assert same(text, text, None)
    assert same(text, text.replace("1.5", "1.50000000000002"), 10)
    assert not same(text, text.replace("1.5", "1.50000000000002"), None)
    assert not same(text, text.replace("1.5", "1.500001"), 10)
    assert not same(text, text.replace("-2.25e-07", "2.25e-07"), 10)
    assert not same(text, text.replace("3 rows", "4 rows"), 10)
    assert not same(text, text.replace("rows", "lines"), 10)
