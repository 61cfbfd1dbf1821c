"""Numbers as the lab shows them: three digits, and powers of ten such as × 10⁶.

Nothing but the standard library is imported, so that a browser can run this.
"""

from decimal import ROUND_HALF_UP, Context, Decimal
from math import inf, isfinite

#: numbers from the first on, and those below the second, have a power of ten
LARGE, SMALL = 10**6, Decimal("0.0001")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def three_digits(value: float) -> str:
    """Return a number with three digits: 0.333, 1.29 × 10¹²⁰, 1 rather than 1.00.

    Digits before the point are never rounded away: 1235 has four. On the page, ``short`` gives the
    same texts.
    """
    if not isfinite(value):
        return {inf: "∞", -inf: "−∞"}.get(value, "?")
    exact = Decimal(value)
    digits = max(3, exact.adjusted() + 1) if abs(value) < LARGE else 3
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(exact).normalize()
    sign, size = "−" if rounded < 0 else "", abs(rounded)
    if not size or SMALL <= size < LARGE:
        return f"{sign}{size:f}"
    power = size.adjusted()
    return f"{sign}{size.scaleb(-power):f} × 10{str(power).translate(_RAISED)}"
