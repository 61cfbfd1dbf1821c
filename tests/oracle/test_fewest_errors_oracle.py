"""The oracle of the fewest errors, against worked numbers and against another oracle."""

import pytest

from fewest_errors_oracle import fewest_by_subsets, fewest_errors
from fewest_errors_sets import random_set
from thoroughness import some

XOR = [(0, 0), (1, 1), (0, 1), (1, 0)], [1, 1, -1, -1]
#: the notes' five points that no line separates
FIVE = [(2, 1), (4, 3), (3, 5), (1, 3), (5, 6)], [1, 1, 1, -1, -1]


def both(rows, labels, **given):
    return [fewest_errors(rows, labels, strict=strict, **given) for strict in (True, False)]


def test_worked_numbers():
    assert both(*XOR) == [1, 1]
    assert both(*FIVE) == [1, 1]
    # Only the last three can be the one error.
    assert both(*FIVE, weights=[1, 1, 2, 3, 3]) == [2, 2]
    assert both(*XOR, weights=[3, 3, 2, "5/2"]) == [2, 2]
    assert both(*XOR, weights=[0, 1, 1, 1]) == [0, 0]
    assert both([(0, 0), (0, 0)], [1, -1]) == [1, 0]
    assert both([(0, 0), (0, 0)], [1, -1], weights=[3, 2]) == [2, 0]
    assert both([(0,), (0,)], [1, -1], fit_intercept=False) == [2, 0]
    # On a line + - + without an intercept, and with one.
    assert both([(1,), (2,), (3,)], [1, -1, 1]) == [1, 1]
    assert both([(1,), (-1,)], [1, 1], fit_intercept=False) == [1, 1]
    assert both([(1,), (-1,)], [1, -1], fit_intercept=False) == [0, 0]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", some(range(400), 4))
def test_against_all_sets_of_rows(seed):
    rows, labels, weights, intercept = random_set(seed, most=7, dimensions=3)
    for strict in (True, False):
        given = {"weights": weights, "strict": strict, "fit_intercept": intercept}
        assert fewest_errors(rows, labels, **given) == fewest_by_subsets(rows, labels, **given)
