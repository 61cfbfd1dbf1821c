"""How many random examples a test takes."""

from hypothesis import HealthCheck, settings
from numba import config

SLOW = bool(config.DISABLE_JIT)


def examples(compiled, plain):
    """Settings of hypothesis for this many examples, and fewer without the compiler."""
    return settings(
        max_examples=plain if SLOW else compiled,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
