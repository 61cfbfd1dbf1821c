"""Numbers of the lab: three digits, for any float."""

from decimal import Decimal
from math import inf, nan

import pytest
from hypothesis import given, strategies as st

from linsep.lab.numbers import three_digits

pytestmark = pytest.mark.uncompiled

RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


def read(text):
    """The number that a text spells."""
    head, _, power = text.translate(RAISED).partition(" × 10")
    return Decimal(head) * Decimal(10) ** int(power or 0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-31, "−31"), (1.10811, "1.11"), (0.980316, "0.98"),
        (2 / 3, "0.667"), (98.7147, "98.7"), (999.7, "1000"), (1234.56, "1235"),
        (123456.0, "123456"), (999999.4, "999999"), (999999.7, "1 × 10⁶"), (1e6, "1 × 10⁶"),
        (1.29112e120, "1.29 × 10¹²⁰"), (-1.29112e120, "−1.29 × 10¹²⁰"), (0.000123, "0.000123"),
        (0.0000999951, "0.0001"), (0.0000123456, "1.23 × 10⁻⁵"), (5e-324, "4.94 × 10⁻³²⁴"),
        (1.125, "1.13"), (-1.125, "−1.13"), (inf, "∞"), (-inf, "−∞"), (nan, "?"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert three_digits(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_text_is_nowhere_more_than_half_a_unit_of_its_third_digit_away(value):
    text = three_digits(value)
    exact, shown = Decimal(value), read(text)
    assert "e" not in text
    assert len(text) <= 14
    unit = Decimal(10) ** (exact.adjusted() - 2) if value else 0
    if 100 <= abs(value) < 1e6:  # digits before the point are never rounded away
        unit = Decimal(1)
    assert abs(shown - exact) <= unit / 2
