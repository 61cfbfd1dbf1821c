"""The fewest errors as proofs check them, against all hyperplanes tried one by one."""

import numpy as np
import pytest

from fewest_errors_oracle import fewest_errors, reflected
from fewest_errors_sets import nearly_tied, random_set
from linsep.certificate import errors
from linsep.certificate.errors import enumerated_minimum
from thoroughness import some


@pytest.mark.parametrize("seed", some(range(0, 2000, 20), 50))
def test_as_the_oracle_says(seed):
    for one in range(seed, seed + 20):
        rows, labels, weights, intercept = random_set(one)
        a = [reflected(x, y, intercept) for x, y in zip(rows, labels, strict=True)]
        c = [int(12 * x) for x in weights or [1] * len(a)]
        for strict in (True, False):
            expected = fewest_errors(rows, labels, weights, strict, intercept)
            assert enumerated_minimum(a, c, strict) == 12 * expected, (one, strict)


@pytest.mark.parametrize("seed", some(range(40), 20))
def test_slopes_that_floats_cannot_tell_apart(seed):
    rows, labels = nearly_tied(seed)
    a = [reflected(x, y, True) for x, y in zip(rows, labels, strict=True)]
    for strict in (True, False):
        expected = fewest_errors(rows, labels, None, strict)
        assert enumerated_minimum(a, [1] * 12, strict) == expected


@pytest.mark.parametrize("top", [9, 2**40])
def test_64_bits_as_numbers_of_any_size(monkeypatch, top):
    rng = np.random.default_rng(top)
    a, c = rng.integers(-top, top + 1, (30, 3)).tolist(), rng.integers(0, 3, 30).tolist()
    quick = [enumerated_minimum(a, c, strict) for strict in (True, False)]
    monkeypatch.setattr(errors, "SMALL", 0)
    assert [enumerated_minimum(a, c, strict) for strict in (True, False)] == quick
