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
