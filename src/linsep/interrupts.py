"""Ctrl-C, heard at any time and raised only where nothing that was learnt can be lost.

KeyboardInterrupt may come between any two instructions: while weights change and what is counted
of them does not yet, while files are put in their place or removed. So work that must not be torn
is :class:`held`, and a :class:`window` is opened in it where Ctrl-C may take effect. Once it has,
it stays shut: who presses twice does not stop what the first press set going.

The same holds for SIGTERM and SIGHUP where somebody handles them, as the command line does.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class _Hearing:
    """What the main thread, which alone hears signals, knows of them while it is held."""

    def __init__(self) -> None:
        self.depth = 0
        self.open = False
        self.pending: int | None = None
        self.before: dict[int, Callable[..., Any]] = {}

    def begin(self) -> None:
        self.open, self.pending, self.before = False, None, {}
        for number in SIGNALS:
            # One that kills or is ignored stays so; None is not Python's to put back.
            if callable(handler := signal.getsignal(number)):
                self.before[number] = handler
                signal.signal(number, self.hear)

    def end(self, torn: bool) -> None:
        """Let signals do what they did before; one that waited is sent again."""
        for number, handler in self.before.items():
            signal.signal(number, handler)
        if self.pending is not None and not torn:
            signal.raise_signal(self.pending)

    def hear(self, number: int, frame: Any) -> None:
        self.pending = number
        if self.open:
            self.tell(frame)

    def tell(self, frame: Any) -> None:
        """Do what the signal did before, which mostly raises KeyboardInterrupt.

        It stays pending: raised where Python drops exceptions, it is raised at the next window.
        """
        assert self.pending is not None
        self.open = False
        self.before[self.pending](self.pending, frame)
        self.open, self.pending = True, None


_hearing = _Hearing()


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, where else they would end the process."""
    before = {}
    if _hears():
        for number in SIGNALS:
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _hears() -> bool:
    return threading.current_thread() is threading.main_thread()


class held:
    """A context in which Ctrl-C waits for the next window, or for the end.

    Contexts may be nested; the end of an inner one is a window where it stands in a window. Other
    threads than the main one hear nothing, and this does nothing there.
    """

    def __enter__(self) -> "held":
        self._active = _hears()
        if self._active:
            self._was_open, _hearing.open = _hearing.open, False
            if _hearing.depth == 0:
                _hearing.begin()
            _hearing.depth += 1
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if not self._active:
            return
        torn = kind is not None and issubclass(kind, KeyboardInterrupt)
        _hearing.depth -= 1
        if _hearing.depth == 0:
            _hearing.end(torn)
        else:
            _reopen(self._was_open, kind)

    def forget(self) -> int | None:
        """The signal that was heard, if there was one; it is not sent again at the end."""
        number, _hearing.pending = _hearing.pending, None
        return number


class window:
    """A context within :class:`held` where Ctrl-C takes effect at once; outside, it does nothing.

    Nothing may be done in it that must not be torn.
    """

    def __enter__(self) -> None:
        self._active = _hears() and _hearing.depth > 0
        if self._active:
            self._was_open = _hearing.open
            _reopen(True, None)

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._active:
            _hearing.open = self._was_open and not _is_interrupt(kind)


def checkpoint() -> None:
    """Let a Ctrl-C that waits take effect here."""
    with window():
        pass


def heard() -> int | None:
    """The signal that was heard since the outermost :class:`held` began."""
    return _hearing.pending


def _reopen(wanted: bool, kind: Any) -> None:
    _hearing.open = wanted and not _is_interrupt(kind)
    if _hearing.open and _hearing.pending is not None:
        _hearing.tell(sys._getframe())


def _is_interrupt(kind: Any) -> bool:
    return kind is not None and issubclass(kind, KeyboardInterrupt)
