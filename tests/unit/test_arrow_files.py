"""The end of a process waits for threads that still have a file."""

import io
import threading
import weakref

import pytest

from linsep.sources import formats

pytestmark = pytest.mark.compiled


def test_the_end_waits_for_a_thread_that_has_a_file(monkeypatch):
    monkeypatch.setattr(formats, "PATIENCE", 5.0)
    stream = io.BytesIO(b"text")
    gone, held, begun = weakref.ref(stream), [formats.arrow_file(stream)], threading.Event()
    del stream
    thread = threading.Timer(0.05, lambda: (begun.set(), held.clear()))
    thread.start()
    formats.wait_for_threads()
    assert begun.is_set()
    assert gone() is None
    thread.join()


def test_it_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(formats, "PATIENCE", 0.01)
    file = formats.arrow_file(io.BytesIO(b"text"))
    formats.wait_for_threads()
    assert file.read() == b"text"
