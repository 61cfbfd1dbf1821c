"""Ctrl-C, SIGTERM and SIGHUP: what was learned is kept, once, and nothing is left behind."""

# ruff: noqa: PT012 - a signal comes between statements

import gc
import random
import signal
import time

import pytest
from campaign import presses
from threadpoolctl import ThreadpoolController, threadpool_info

import linsep
from linsep import Perceptron
from linsep._system import interrupts
from linsep._system.interrupts import (
    interruption_point,
    interrupts_allowed,
    interrupts_deferred,
    like_ctrl_c,
)
from linsep._system.threads import _blas_libraries, in_background, one_blas_thread

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def default_handler():
    """Whatever a test does, it leaves the handler of Ctrl-C as it was."""
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def interrupt(number=signal.SIGINT):
    signal.raise_signal(number)


# Waiting, and windows.


def test_a_press_waits_for_the_end():
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        interrupt()
        done.append(True)
    assert done


def test_a_press_takes_effect_in_the_next_window_and_at_once_within_one():
    for before in (True, False):
        done = []
        with pytest.raises(KeyboardInterrupt), interrupts_deferred():
            if before:
                interrupt()
            done.append("held")
            with interrupts_allowed():
                done.append("window")
                interrupt()
                done.append("after")
        assert done == (["held"] if before else ["held", "window"])
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        interrupt()
        interruption_point()
        raise AssertionError


def test_what_a_press_sets_going_is_not_stopped_by_the_next():
    done = []

    def clean_up():
        try:
            with interrupts_allowed():
                interrupt()
        finally:
            interrupt()
            with interrupts_deferred():
                interrupt()
            done.append("cleaned up")

    with pytest.raises(KeyboardInterrupt), interrupts_deferred(), interrupts_allowed():
        clean_up()
    assert done == ["cleaned up"]


def test_a_press_that_is_dropped_where_python_drops_exceptions_comes_again(monkeypatch):
    class Dropping:
        def __del__(self):
            interrupt()
            time.sleep(0)

    monkeypatch.setattr("sys.unraisablehook", lambda about: None)
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        with interrupts_allowed():
            dropping = Dropping()
            del dropping
        done.append("went on")
        interruption_point()
        done.append("too far")
    assert done == ["went on"]


def test_nested_contexts_are_windows_where_they_stand_in_one():
    with pytest.raises(KeyboardInterrupt), interrupts_deferred(), interrupts_allowed():
        with interrupts_deferred():
            interrupt()
        raise AssertionError
    with interrupts_deferred() as outer:
        with interrupts_deferred():
            interrupt()
        assert interrupts.pending_signal() == signal.SIGINT
        outer.forget()
    assert interrupts.pending_signal() is None


def test_errors_go_on_and_a_press_beside_them_is_not_lost():
    with pytest.raises(ValueError, match="wrong"), interrupts_deferred(), interrupts_allowed():
        raise ValueError("wrong")
    with pytest.raises(KeyboardInterrupt) as caught, interrupts_deferred():
        interrupt()
        raise ValueError("wrong")
    assert isinstance(caught.value.__context__, ValueError)


def test_handlers_that_raise_nothing_are_called_once(monkeypatch):
    calls = []
    before = signal.signal(signal.SIGINT, lambda *about: calls.append(about[0]))
    try:
        with interrupts_deferred():
            interrupt()
            assert calls == []
            interruption_point()
            assert calls == [signal.SIGINT]
            with interrupts_allowed():
                interrupt()
                interrupt()
        assert calls == [signal.SIGINT] * 3
    finally:
        signal.signal(signal.SIGINT, before)


def test_signals_that_are_ignored_stay_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_deferred(), interrupts_allowed():
            interrupt()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_press_while_threads_are_limited_is_not_lost(monkeypatch):
    # threadpoolctl looks for libraries in a callback of C, where Python drops exceptions.
    find, threads = ThreadpoolController._make_controller_from_path, blas_threads()
    found = []

    def pressed(self, path):
        found.append(path)
        if len(found) == 1:
            interrupt()
        return find(self, path)

    _blas_libraries.cache_clear()
    monkeypatch.setattr(ThreadpoolController, "_make_controller_from_path", pressed)
    with pytest.raises(KeyboardInterrupt), one_blas_thread:
        raise AssertionError("the press is lost")
    assert found
    monkeypatch.undo()
    assert blas_threads() == threads
    with one_blas_thread:
        assert blas_threads() == {1}
    assert blas_threads() == threads


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_like_ctrl_c(name):
    number = getattr(signal, name)
    with like_ctrl_c(), pytest.raises(KeyboardInterrupt), interrupts_deferred():
        interrupt(number)
        assert interrupts.pending_signal() == number
    assert signal.getsignal(number) == signal.SIG_DFL


# Fits.

SEED = 20_26


#: those whose loops no other test compiles
OWN_LOOPS = (
    "average, one-vs-one", "vote", "passive-aggressive", "Winnow", "balanced Winnow", "pocket",
    "batch rule",
)  # fmt: skip


@pytest.mark.parametrize("fit", [
    pytest.param(fit, marks=[pytest.mark.thorough] * fit.name.startswith(OWN_LOOPS))
    for fit in presses.FITS
], ids=lambda fit: fit.name.replace(" ", "-"))  # fmt: skip
def test_pressed_at_any_line_of_a_fit(fit, tmp_path):
    """A small part of the campaign: lines and times drawn anew for each kind of fit."""
    draw = random.Random(f"{SEED} {fit.name}")
    with presses.small_pieces(tmp_path):
        record = presses.Record(fit, tmp_path)
        for k in range(5):
            line = draw.randrange(1, record.lines + 1)
            again = None if k % 2 else draw.uniform(0, 0.003)
            wrong = presses.press(fit, record, tmp_path, line, again)
            assert wrong is None, (line, again)


def test_the_campaign_notices_a_fit_that_is_torn(tmp_path, monkeypatch):
    fit = presses.BY_NAME["perceptron from memory"]
    with presses.small_pieces(tmp_path):
        record = presses.Record(fit, tmp_path)
        walk, torn = linsep.learners.passes.learn_batch, []

        def tearing(course, row_batch):
            try:
                walk(course, row_batch)
            except KeyboardInterrupt:
                course.run.state.W[0] += 1.0
                torn.append(True)
                raise

        monkeypatch.setattr(linsep.learners.passes, "learn_batch", tearing)
        outcomes = [
            presses.press(fit, record, tmp_path, line, None)
            for line in range(1, record.lines, record.lines // 40)
        ]
    assert torn
    assert any(wrong and "not the weights of" in wrong for wrong in outcomes)


def test_a_pass_in_which_nothing_was_learned_is_not_counted(monkeypatch):
    X, y = presses.BY_NAME["perceptron from memory"].data()
    one_pass = linsep.learners.passes.one_pass

    def pressed(course):
        if course.number == 1:  # from two passes on, several are made at once
            interrupt()
        return one_pass(course)

    monkeypatch.setattr(linsep.learners.passes, "one_pass", pressed)
    model = Perceptron(max_iter=5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    expected = Perceptron(max_iter=1).fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.mistakes_.tolist() == expected.mistakes_.tolist()
    assert model.coef_.tolist() == expected.coef_.tolist()


def test_items_made_in_advance_are_given_up_when_they_are_collected():
    """Their thread ends with its pool, before they can be closed in it."""
    closed = []

    def items():
        try:
            yield from range(3)
        finally:
            closed.append(True)

    held = [in_background(items())]
    assert next(held[0]) == 0
    held.append(held)
    del held
    gc.collect()
    assert closed
