"""Fits that are interrupted at a known moment."""

from contextlib import contextmanager

import pytest

import linsep.learners.passes


def interrupt():
    raise KeyboardInterrupt


@contextmanager
def in_pass(number, press=interrupt):
    """Context in which ``press`` is called before each batch of rows of a pass."""
    walk = linsep.learners.passes.learn_batch

    def pressed(course, batch):
        if course.number == number:
            press()
        walk(course, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linsep.learners.passes, "learn_batch", pressed)
        yield


class Press:
    """A callback that presses Ctrl-C after so many passes or steps, or asks to stop, and keeps the
    models of all.
    """

    def __init__(self, after=None, stop=False):
        self.after, self.stop = after, stop
        self.seen = []

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.parent is None:
            return False
        self.seen.append(fitted_estimator)
        if len(self.seen) == self.after and not self.stop:
            raise KeyboardInterrupt
        return len(self.seen) == self.after
