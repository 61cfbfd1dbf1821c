"""Verdicts end in time, and hear Ctrl-C, whatever they are doing."""

import signal
import threading
import time

import numpy as np
import pytest

from linsep import separation
from linsep.errors import ParameterError
from linsep.theory.programs import solved
from linsep.theory.work import Task, TooLarge, check_time, limited, seconds_left


@pytest.fixture
def long_program():
    """A linear program that takes half a minute or more."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4000, 900))
    A *= np.sign(A @ rng.normal(size=900))[:, None]
    return lambda: solved(-A.sum(axis=0), A, (0.0, np.inf), (-1.0, 1.0), 1e-7)


def test_a_linear_program_ends_in_time(long_program):
    begun = time.monotonic()
    with limited(Task(0.5)), pytest.raises(TooLarge, match=r"the time limit of 0\.5 s was over"):
        long_program()
    assert time.monotonic() - begun < 15


def test_a_linear_program_hears_ctrl_c(long_program):
    begun = time.monotonic()
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        long_program()
    timer.join()
    assert time.monotonic() - begun < 15


def test_an_inner_limit_is_no_longer_than_the_outer():
    with limited(Task(0.01)), limited(Task(None)):
        assert seconds_left() < 1
        time.sleep(0.02)
        with pytest.raises(TooLarge):
            check_time()
    assert seconds_left() > 1e9


@pytest.mark.parametrize("limit", [0, -1.0])
def test_a_limit_is_positive(limit):
    with pytest.raises(ParameterError, match="give more than 0"):
        separation([[0.0], [1.0]], [0, 1], time_limit=limit)


def test_a_margin_is_left_as_wide_as_it_was():
    stamps = np.arange(1_000)[:, None] * 2 + 1_700_000_000_000_000_000
    y = np.arange(1_000) >= 400
    for limit in (1e-6, 0.05, 0.2, None):
        verdict = separation(stamps, y, margin="max", time_limit=limit)
        assert verdict.kind in (["separable"] if limit is None else ["separable", "undecided"])
        if verdict.kind == "separable":
            assert verdict.verify(stamps, y)
    assert verdict.margin[1] <= verdict.margin[0] * (1 + 1e-6)
