"""Verdicts end in time, and hear Ctrl-C, whatever they are doing."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from flint import fmpz_mat

from linsep import LogisticRegression, separation
from linsep.errors import ParameterError, SeparationWarning
from linsep.logistic import limits as no_maximum
from linsep.logistic.limits import Contrasts
from linsep.mistake_bounds import bounding as mistake_bounds
from linsep.mistake_bounds.bounds import Unknown
from linsep.separability import recession
from linsep.separability.data import data_of
from linsep.separability.elimination import rref
from linsep.separability.elimination_process import reduced_elsewhere
from linsep.separability.programs import solved
from linsep.separability.time_limit import Task, TooLarge, check_time, limited, seconds_left
from parameters_in_order import last
from refusals import refused
from stopwatch import Stopwatch

pytestmark = pytest.mark.compiled


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


def test_a_linear_program_ends_in_time(long_program):
    watch = Stopwatch()
    with limited(Task(0.5)), pytest.raises(TooLarge, match=r"the time limit of 0\.5 s ended"):
        long_program()
    assert watch.seconds() < 15


def test_a_linear_program_hears_ctrl_c(long_program):
    watch = Stopwatch()
    timer = ctrl_c_after(1.0)
    with pytest.raises(KeyboardInterrupt):
        long_program()
    timer.join()
    assert watch.seconds() < 15


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


@pytest.mark.parametrize("limit", [0, -1.0])
def test_a_limit_is_positive(limit):
    with refused(ParameterError, "bad-option", option="time_limit"):
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


def numbers_of_all_sizes(n, d, n_classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-300, 300, (n, d))
    return X, np.arange(n) % n_classes


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "d", "n_classes"), [(99, 20, 6), (200, 8, 6)])
def test_the_limit_is_kept_within_a_factor_of_two(n, d, n_classes):
    X, y = numbers_of_all_sizes(n, d, n_classes)
    watch = Stopwatch()
    claim = separation(X, y, time_limit=3.0)
    assert watch.seconds() < 6
    kinds = {verdict.kind for verdict in claim.verdicts()}
    assert "undecided" in kinds or n < 99
    assert kinds <= {"undecided", "overlapping"}
    watch = Stopwatch()
    check = claim.verify(X, y, time_limit=3.0)
    assert check.holds is not False
    assert watch.seconds() < 6


def test_elimination_elsewhere_is_elimination_here():
    random = Random(0)
    matrix = fmpz_mat(6, 9, [random.getrandbits(400) - 2**399 for _ in range(54)])
    found, below, rank = matrix.rref()
    assert reduced_elsewhere(matrix) == (found, int(below), rank)


def test_elimination_elsewhere_ends_in_time_and_hears_ctrl_c():
    random = Random(0)
    matrix = fmpz_mat(120, 121, [random.getrandbits(4000) for _ in range(120 * 121)])
    begun = time.monotonic()
    with limited(Task(0.5)), pytest.raises(TooLarge, match=r"exact elimination of 120 rows"):
        rref(matrix)
    timer = ctrl_c_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        rref(matrix)
    timer.join()
    assert time.monotonic() - begun < 60


@pytest.mark.skipif(os.name != "posix", reason="there is no such limit")
def test_elimination_elsewhere_ends_when_nobody_is_left_to_end_it():
    random = Random(0)
    numbers = " ".join(hex(random.getrandbits(9000)) for _ in range(160 * 161))
    done = subprocess.run(
        [sys.executable, "-m", "linsep.separability.elimination_process", "0.0"],
        input=f"160 161\n{numbers}\n",
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode < 0
    assert done.stdout == ""


def far_apart(n, d, classes):
    """Rows whose values lie between 1e-90 and 1e90, which floats cannot decide about."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-90, 90, (n, d))
    return X, np.arange(n) % classes


@pytest.mark.filterwarnings("ignore::linsep.logistic.solution.UnfinishedWarning")
def test_a_fit_ends_in_time(monkeypatch):
    """Its verdict takes some seconds, and the signs of its coefficients took more than a minute."""
    monkeypatch.setattr(no_maximum, "TIME_LIMIT", 1.0)
    watch = Stopwatch()
    model = LogisticRegression(max_iter=50).fit(*far_apart(60, 20, 3))
    assert watch.seconds() < 20
    assert model.stop_reason_ == "undecided"
    assert (last(model, "limits_") == "not checked").all()
    assert np.isnan(last(model, "standard_errors_")).all()


def test_signs_of_coefficients_keep_to_their_budget(monkeypatch):
    X, y = far_apart(24, 9, 3)
    data = data_of(X, y)
    verdict = separation(data, formulations=("multinomial",)).multinomial
    given, alternative = [], recession.alternative

    def noting(rows, work):
        given.append(work.left)
        return alternative(rows, work)

    monkeypatch.setattr(recession, "alternative", noting)
    monkeypatch.setattr(recession, "MOST_WORK", 0.1)
    said = Contrasts(verdict, data, [0, 1, 2], 10).limits()
    assert given
    assert max(given) < 0.1
    assert set(said.flat) <= {"+inf", "-inf", "infinite", "sign not checked"}
    with limited(Task(1e-9)):
        assert (Contrasts(verdict, data, [0, 1, 2], 10).limits() == "not checked").all()


def test_a_fit_without_time_for_signs_says_so(monkeypatch):
    def late(*_):
        raise TooLarge("late")

    monkeypatch.setattr("linsep.logistic.limits.cone_of", late)
    with pytest.warns(SeparationWarning, match="The time limit ended before it was known which"):
        model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert (last(model, "limits_") == "not checked").all()
    assert model.predict([[0.0], [3.0]]).tolist() == [0, 1]


@pytest.mark.thorough
def test_a_bound_ends_in_time(monkeypatch):
    monkeypatch.setattr(mistake_bounds, "TIME_LIMIT", 0.2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 500))
    problem = SimpleNamespace(A=X * np.sign(X @ rng.normal(size=500))[:, None])
    watch = Stopwatch()
    with pytest.raises(Unknown, match=r"took longer than 0\.2 s"):
        mistake_bounds.l1_margin(problem)
    assert watch.seconds() < 15
