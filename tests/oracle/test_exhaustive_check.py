"""The fewest errors as proofs check them, against all hyperplanes tried one by one."""

import numpy as np
import pytest

from fewest_errors_oracle import fewest_errors, reflected
from fewest_errors_sets import nearly_tied, random_set
from linsep.certificate import constraints, errors
from linsep.certificate.errors import enumerated_minimum
from thoroughness import some


@pytest.mark.parametrize("seed", some(range(0, 2000, 20), 25))
def test_as_the_oracle_says(seed):
    for one in range(seed, seed + 20):
        rows, labels, weights, intercept = random_set(one)
        a = [reflected(x, y, intercept) for x, y in zip(rows, labels, strict=True)]
        c = [int(12 * x) for x in weights or [1] * len(a)]
        for strict in (True, False):
            expected = fewest_errors(rows, labels, weights, strict, intercept)
            assert enumerated_minimum(a, c, strict) == 12 * expected, (one, strict)


@pytest.mark.parametrize("seed", some(range(40), 10))
def test_slopes_that_floats_cannot_tell_apart(seed):
    rows, labels = nearly_tied(seed)
    a = [reflected(x, y, True) for x, y in zip(rows, labels, strict=True)]
    for strict in (True, False):
        expected = fewest_errors(rows, labels, None, strict)
        assert enumerated_minimum(a, [1] * 12, strict) == expected


@pytest.mark.thorough
def test_published_data(shared_data):
    table = np.loadtxt(shared_data / "errors" / "voicepath.csv", delimiter=",")
    a = [reflected(row[:2], 1 if row[2] > 0 else -1, True) for row in table.tolist()]
    assert enumerated_minimum(a, [1] * len(a), False) == 19


@pytest.mark.parametrize("top", [1, 9, 10**3, 3 * 10**4, 2**31, 2**40])
def test_64_bits_as_numbers_of_any_size(monkeypatch, top):
    rng = np.random.default_rng(top)
    a, c = rng.integers(-top, top + 1, (30, 3)).tolist(), rng.integers(0, 3, 30).tolist()
    quick = [enumerated_minimum(a, c, strict) for strict in (True, False)]
    monkeypatch.setattr(errors, "SMALL", 0)
    assert [enumerated_minimum(a, c, strict) for strict in (True, False)] == quick


def test_the_time_of_a_loop_in_a_loop_counts_once(monkeypatch):
    times = iter(range(100))
    monkeypatch.setattr(constraints.time, "monotonic", lambda: next(times))
    clock = constraints.Clock(11)
    for _ in clock.over(range(2)):
        for _ in clock.over(range(3)):
            pass
    with pytest.raises(constraints.TooLong):
        list(clock.over(range(4)))
