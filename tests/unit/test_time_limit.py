"""Verdicts end in time, and hear Ctrl-C, whatever they are doing."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest
from flint import fmpz_mat

from linsep import LogisticRegression, separation
from linsep.errors import ParameterError
from linsep.logistic import limits as no_maximum
from linsep.separability.integers import solution
from linsep.separability.programs import solved
from linsep.separability.time_limit import Task, TooLarge, check_time, limited, seconds_left
from parameters_in_order import last
from refusals import refused
from stopwatch import Stopwatch


def ctrl_c_after(seconds):
    """Send the signal of Ctrl-C to the main thread, as a terminal does."""
    main = threading.main_thread().ident
    timer = threading.Timer(seconds, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    return timer


@pytest.fixture
def long_program():
    """A linear program that takes half a minute or more."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4000, 900))
    A *= np.sign(A @ rng.normal(size=900))[:, None]
    return lambda: solved(-A.sum(axis=0), A, (0.0, np.inf), (-1.0, 1.0), 1e-7)


def test_verdicts_in_several_threads_are_those_in_one():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)).round(1), rng.integers(0, 2, (8, 300))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda labels: separation(X, labels), y))
    assert found == [separation(X, labels) for labels in y]


def test_an_inner_limit_is_no_longer_than_the_outer():
    with limited(Task(0.01)), limited(Task(None)):
        assert seconds_left() < 1
        while seconds_left() > 0:
            pass
        with pytest.raises(TooLarge):
            check_time()
    assert seconds_left() > 1e9


def numbers(random, rows, columns, bits):
    return fmpz_mat(rows, columns, [random.getrandbits(bits) for _ in range(rows * columns)])


def test_elimination_elsewhere_ends_in_time_and_hears_ctrl_c():
    random = Random(0)
    square, right = numbers(random, 120, 120, 4000), numbers(random, 120, 1, 4000)
    watch = Stopwatch()
    with limited(Task(0.5)), pytest.raises(TooLarge):
        solution(square, right)
    assert watch.seconds() < 0.5 + 2
    watch, timer = Stopwatch(), ctrl_c_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        solution(square, right)
    timer.join()
    assert watch.seconds() < 0.5 + 2


def far_apart(n, d, classes):
    """Rows whose values lie between 1e-90 and 1e90, which floats cannot decide about."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-90, 90, (n, d))
    return X, np.arange(n) % classes


def test_an_exact_verdict_ends_in_time_and_hears_ctrl_c():
    X, y = far_apart(120, 40, 2)
    watch = Stopwatch()
    assert separation(X, y, time_limit=1.0).kind == "undecided"
    assert watch.seconds() < 1 + 2
    watch, timer = Stopwatch(), ctrl_c_after(1.0)
    with pytest.raises(KeyboardInterrupt):
        separation(X, y, time_limit=None)
    timer.join()
    assert watch.seconds() < 1 + 2


@pytest.mark.filterwarnings("ignore::linsep.logistic.task.UnfinishedWarning")
def test_a_fit_ends_in_time(monkeypatch):
    """Its verdict takes some seconds, and the signs of its coefficients took more than a minute."""
    monkeypatch.setattr(no_maximum, "TIME_LIMIT", 1.0)
    watch = Stopwatch()
    model = LogisticRegression(max_iter=50).fit(*far_apart(60, 20, 3))
    assert watch.seconds() < 20
    assert model.stop_reason_ == "undecided"
    assert (last(model, "limits_") == "not checked").all()
    assert np.isnan(last(model, "standard_errors_")).all()


def test_a_linear_program_ends_in_time_and_hears_ctrl_c(long_program):
    watch = Stopwatch()
    with limited(Task(0.5)), pytest.raises(TooLarge):
        long_program()
    timer = ctrl_c_after(1.0)
    with pytest.raises(KeyboardInterrupt):
        long_program()
    timer.join()
    assert watch.seconds() < 25


def test_a_limit_is_positive():
    for limit in (0, -1.0):
        with refused(ParameterError, "bad-option", option="time_limit"):
            separation([[0.0], [1.0]], [0, 1], time_limit=limit)


def test_a_margin_is_left_as_wide_as_it_was():
    stamps = np.arange(1_000)[:, None] * 2 + 1_700_000_000_000_000_000
    y = np.arange(1_000) >= 400
    for limit in (1e-6, 0.05, None):
        verdict = separation(stamps, y, margin="max", time_limit=limit)
        assert verdict.kind in (["separable"] if limit is None else ["separable", "undecided"])
        if verdict.kind == "separable":
            assert verdict.verify(stamps, y)
    assert verdict.margin[1] <= verdict.margin[0] * (1 + 1e-6)
