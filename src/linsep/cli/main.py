"""The process of a command: exit codes, signals, and an end without leftovers."""

import atexit
import gc
import io
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process, with the exit code of :func:`command`."""
    code: int | str | None = 130
    with suppress(KeyboardInterrupt):  # before or after the command
        try:
            command()
            code = 0
        except SystemExit as stop:
            code = stop.code
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # no work is left to interrupt
    # Threads of other libraries (Arrow's, which read ahead) that use Python during its shutdown
    # would abort the process. So run the exit handlers and leave.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # the output is closed
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def command() -> None:
    """Run the command line and raise SystemExit with the exit code.

    0: done, 1: the work failed, 2: wrong use, 3: undecided, 70: an internal error, 130:
    interrupted, 141: nobody reads the output. SIGTERM and SIGHUP are handled like Ctrl-C, with the
    exit codes 143 and 129.
    """
    # Importing creates no garbage, and collecting costs a sixth of the start-up time. A command
    # turns it on again when it is run.
    gc.disable()
    try:
        from linsep._system.interrupts import interrupts_deferred, like_ctrl_c
        from linsep.cli.app import app

        for stream in (sys.stdout, sys.stderr):
            # The terminal may not be able to show some characters of names and labels.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        with like_ctrl_c(), interrupts_deferred() as pressed:
            try:
                app(prog_name="linsep")
            finally:
                pressed.forget()  # the command has reported it, or has finished
    except KeyboardInterrupt as pressed:  # just before or after Commands, which handles the others
        sys.exit(128 + (pressed.args[0] if pressed.args else signal.SIGINT))
    finally:
        gc.freeze()  # the process ends: no need to collect garbage
