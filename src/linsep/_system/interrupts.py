"""Delay Ctrl-C until no state can be corrupted.

KeyboardInterrupt may be raised between any two instructions: after weights have changed but before
their counts have, or while files are replaced. Such work runs in :class:`interrupts_deferred`;
:class:`interrupts_allowed` within it opens windows, which stay closed after a Ctrl-C, so that a
second one does not interrupt the clean-up. SIGTERM and SIGHUP are treated alike if a Python handler
is installed, as the command line does.
"""

import _signal as signal  # without its enums, which take longer than some fits do
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


class _Signals:
    """State of the signal handlers while ``interrupts_deferred`` runs in the main thread."""

    depth, open = 0, False
    pending: Any = None
    before: dict[int, Callable[..., Any]]

    def receive(self, number: int, frame: Any) -> None:
        self.pending = number
        if self.open:
            self.deliver(frame)

    def deliver(self, frame: Any) -> None:
        """Call the earlier handler; if Python drops what it raises, the next window calls again."""
        self.open = False
        self.before[self.pending](self.pending, frame)
        self.open, self.pending = True, None

    def open_again(self) -> None:
        self.open = True
        if self.pending is not None:
            self.deliver(sys._getframe())


_signals = _Signals()


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Let signals that end the process raise KeyboardInterrupt instead, with their number."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt(number)

    mine = SIGNALS if threading.current_thread() is threading.main_thread() else []
    fatal = [number for number in mine if signal.getsignal(number) == signal.SIG_DFL]
    for number in fatal:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in fatal:
            signal.signal(number, signal.SIG_DFL)


class interrupts_deferred:
    """Context manager that delays Ctrl-C, which reaches the main thread only, until the next window
    or the end of the block; the end of an inner block within a window is itself a window.
    """

    def __enter__(self) -> "interrupts_deferred":
        self._active = threading.current_thread() is threading.main_thread()
        if self._active:
            self._was_open, _signals.open = _signals.open, False
            if _signals.depth == 0:
                _signals.pending, _signals.before = None, {}
                for number in SIGNALS:
                    # Default and ignored signals stay so; Python cannot restore a handler of None.
                    if callable(handler := signal.getsignal(number)):
                        _signals.before[number] = handler
                        signal.signal(number, _signals.receive)
            _signals.depth += 1
        return self

    def __exit__(self, kind: Any, error: Any, *_: Any) -> None:
        if not self._active:
            return
        interrupted = isinstance(error, KeyboardInterrupt)
        _signals.depth -= 1
        if _signals.depth == 0:
            for number, handler in _signals.before.items():
                signal.signal(number, handler)
            if _signals.pending is not None and not interrupted:
                signal.raise_signal(_signals.pending)
        elif self._was_open and not interrupted:
            _signals.open_again()

    def forget(self) -> None:
        """Do not send the signal received, if any, again at the end."""
        _signals.pending = None


class interrupts_allowed:
    """Context manager within :class:`interrupts_deferred` that lets Ctrl-C take effect at once."""

    def __enter__(self) -> None:
        self._active = _signals.depth > 0 and threading.current_thread() is threading.main_thread()
        if self._active:
            self._was_open = _signals.open
            _signals.open_again()

    def __exit__(self, kind: Any, error: Any, *_: Any) -> None:
        if self._active:
            _signals.open = self._was_open and not isinstance(error, KeyboardInterrupt)


def interruption_point() -> None:
    """Let a pending Ctrl-C take effect here."""
    with interrupts_allowed():
        pass


def pending_signal() -> int | None:
    """Return the signal received since the outermost block began, or None."""
    return _signals.pending


class cached_property(functools.cached_property):
    """One without the lock for all threads, which an interrupt in Python 3.11 may leave locked."""

    def __init__(self, work: Callable[[Any], Any]):
        super().__init__(work)
        self.lock = nullcontext()
