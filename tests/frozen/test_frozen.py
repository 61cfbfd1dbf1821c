"""Numbers are what they were: weights, errors, proofs, files and predictions of small fits.

``LINSEP_RECORD=1 LINSEP_THOROUGH=1 pytest tests/frozen`` records today's, for ``git diff`` to show.
Files in ``before/`` were written by the commit that their folder is named after, and are read.
"""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from fits import CUT, GROUPS, NEW, kernel, numbers_of, online, rounded, tables
from made_data import write_all

import linsep
from linsep.compiled.jit import COMPILING
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled
HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json"
#: groups of which little is compiled, or nothing, as the loops are those of other tests
RUNS = dict.fromkeys((online, rounded, kernel), pytest.mark.both)
RUNS[tables] = pytest.mark.both if THOROUGH else pytest.mark.uncompiled


@pytest.mark.parametrize("group", [
    pytest.param(group, id=group.__name__, marks=RUNS.get(group, ()))
    for group in GROUPS
])  # fmt: skip
def test_numbers_are_what_they_were(group, tmp_path):
    write_all(tmp_path)
    now = numbers_of(group, tmp_path)
    recorded = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}
    if os.environ.get("LINSEP_RECORD"):
        recorded[group.__name__] = now
        lines = [
            f" {json.dumps(name)}: {{\n"
            + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in one.items())
            + "\n }"
            for name, one in sorted(recorded.items())
        ]
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        return
    before = recorded[group.__name__]
    assert now.keys() <= before.keys()
    assert COMPILING or now.keys() == before.keys()
    tolerance = GROUPS[group] if COMPILING else 1e-10  # sums of a row are in another order
    apart = [name for name in now if not same(before[name], now[name], tolerance)]
    assert not apart, {name: (before[name], now[name]) for name in apart[:3]}


def same(was, now, tolerance):
    """Whether two values are equal, numbers to a tolerance relative to the largest beside them."""
    if isinstance(was, list) and isinstance(now, list):
        if len(was) != len(now):
            return False
        if was and all(isinstance(v, float | int) for v in [*was, *now]):
            largest = max(map(abs, was), default=0)
            return all(_near(a, b, tolerance, largest) for a, b in zip(was, now, strict=True))
        return all(same(a, b, tolerance) for a, b in zip(was, now, strict=True))
    if isinstance(was, float) and isinstance(now, float):
        return _near(was, now, tolerance, abs(was))
    return was == now


def _near(was, now, tolerance, largest):
    if math.isnan(was) or math.isinf(was) or not tolerance:
        return was == now or (math.isnan(was) and math.isnan(now))
    return math.isclose(was, now, rel_tol=tolerance, abs_tol=tolerance * largest)


def test_one_changed_digit_is_noticed():
    assert same([1.5, [2.0, "a"], None], [1.5, [2.0, "a"], None], 0.0)
    assert same([1.5, 1e-17], [1.5 + 1e-12, 0.0], 1e-10)
    assert same(math.nan, math.nan, 0.0)
    for other in ([1.5, 2.0 + 1e-15], [1.5], [1.5, -2.0], [1.5, math.nan]):
        assert not same([1.5, 2.0], other, 0.0)
    assert not same([1.5, 2.0], [1.5, 2.0 + 1e-9], 1e-10)


def test_files_of_before_are_read():
    scores = json.loads((HERE / "before" / "542c4e2a" / "scores.json").read_text())
    assert len(scores) >= 5
    for name, before in scores.items():
        model = linsep.load(HERE / "before" / "542c4e2a" / f"{name}.linsep")
        assert same(before, model.decision_function(NEW).tolist(), 1e-10), name
    for path in (HERE / "before" / "542c4e2a").glob("*.json"):
        if path.stem != "scores":
            y = np.array([0, 0, 1, 1, 1, 1]) if path.stem == "quasi" else np.arange(6) % 2
            linsep.from_json(path.read_text()).verify(CUT, y)
