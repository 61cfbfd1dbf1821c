"""Delay Ctrl-C until no state can be corrupted.

KeyboardInterrupt may be raised between any two instructions: after weights have changed but before
their counts have, or while files are replaced or removed. Such work runs in a block of
:class:`interrupts_deferred`; :class:`interrupts_allowed` within it lets Ctrl-C take effect.
Afterwards such windows stay closed, so that a second Ctrl-C does not interrupt the clean-up that
the first one started.

SIGTERM and SIGHUP are treated alike if a Python handler is installed, as the command line does.
"""

import _signal  # without the enums of signal, which take longer than some fits do
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class _Signals:
    """State of the signal handlers while ``interrupts_deferred`` runs in the main thread."""

    def __init__(self) -> None:
        self.depth = 0
        self.open = False
        self.pending: int | None = None
        self.before: dict[int, Callable[..., Any]] = {}

    def begin(self) -> None:
        self.open, self.pending, self.before = False, None, {}
        for number in SIGNALS:
            # Default and ignored signals stay so; Python cannot restore a handler given as None.
            if callable(handler := _signal.getsignal(number)):
                self.before[number] = handler
                _signal.signal(number, self.receive)

    def end(self, torn: bool) -> None:
        """Restore the handlers and send a pending signal again."""
        for number, handler in self.before.items():
            _signal.signal(number, handler)
        if self.pending is not None and not torn:
            signal.raise_signal(self.pending)

    def receive(self, number: int, frame: Any) -> None:
        self.pending = number
        if self.open:
            self.deliver(frame)

    def deliver(self, frame: Any) -> None:
        """Call the signal's earlier handler, which usually raises KeyboardInterrupt.

        The signal stays pending: if Python drops the exception, the next window raises it again.
        """
        assert self.pending is not None
        self.open = False
        self.before[self.pending](self.pending, frame)
        self.open, self.pending = True, None


_signals = _Signals()


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, with their number, instead of ending the
    process.
    """
    before = {}
    if _in_main_thread():
        for number in SIGNALS:
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt(number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class interrupts_deferred:
    """Context manager that delays Ctrl-C until the next window or the end of the block.

    Blocks may be nested; the end of an inner block within a window is itself a window. Signals
    reach the main thread only, so this does nothing in other threads.
    """

    def __enter__(self) -> "interrupts_deferred":
        self._active = _in_main_thread()
        if self._active:
            self._was_open, _signals.open = _signals.open, False
            if _signals.depth == 0:
                _signals.begin()
            _signals.depth += 1
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if not self._active:
            return
        torn = kind is not None and issubclass(kind, KeyboardInterrupt)
        _signals.depth -= 1
        if _signals.depth == 0:
            _signals.end(torn)
        else:
            _reopen(self._was_open, kind)

    def forget(self) -> int | None:
        """Return the signal received, if any, and do not send it again at the end."""
        number, _signals.pending = _signals.pending, None
        return number


class interrupts_allowed:
    """Context manager within :class:`interrupts_deferred` that lets Ctrl-C take effect at once.

    Outside such a block it does nothing. State must be consistent throughout it.
    """

    def __enter__(self) -> None:
        self._active = _in_main_thread() and _signals.depth > 0
        if self._active:
            self._was_open = _signals.open
            _reopen(True, None)

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._active:
            _signals.open = self._was_open and not _is_interrupt(kind)


class StopSign:
    """Lets the main thread end work in other threads, which Ctrl-C never reaches: where that is an
    ``initializer`` of theirs, their interruption points raise KeyboardInterrupt once ``raised``.
    """

    raised = False

    def obey(self) -> None:
        """Let this thread end when the sign is raised."""
        _signs.obeyed = self


_signs = threading.local()


def interruption_point() -> None:
    """Let a pending Ctrl-C take effect here, or a :class:`StopSign` that this thread obeys."""
    sign = getattr(_signs, "obeyed", None)
    if sign is not None and sign.raised:
        raise KeyboardInterrupt
    with interrupts_allowed():
        pass


def pending_signal() -> int | None:
    """Return the signal received since the outermost block began, or None."""
    return _signals.pending


def _reopen(wanted: bool, kind: Any) -> None:
    _signals.open = wanted and not _is_interrupt(kind)
    if _signals.open and _signals.pending is not None:
        _signals.deliver(sys._getframe())


def _is_interrupt(kind: Any) -> bool:
    return kind is not None and issubclass(kind, KeyboardInterrupt)
