"""The command line. Commands call the public library only."""

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
    with suppress(KeyboardInterrupt):  # before the command begins, or when it has ended
        try:
            command()
            code = 0
        except SystemExit as stop:
            code = stop.code
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to be interrupted
    # Threads of other libraries that still want something of Python while it takes itself apart
    # would abort the process (Arrow's, which read ahead). So do what is to be done at exit, and go.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # nobody listens any more
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def command() -> None:
    """Run the command line; SystemExit says how it ended.

    Exit code 0 done, 1 the work failed, 2 wrong use, 3 undecided, 70 a fault of linsep's own, 130
    interrupted.
    SIGTERM and SIGHUP are taken for Ctrl-C, with the exit codes 143 and 129.
    """
    try:
        from linsep.cli.app import app
        from linsep.interrupts import held, like_ctrl_c

        for stream in (sys.stdout, sys.stderr):
            # Names and labels may be of letters that a screen does not have.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        with like_ctrl_c(), held() as pressed:
            try:
                app()
            finally:
                pressed.forget()  # the command has told of it, or was done
    except KeyboardInterrupt:  # while importing; later it is a failure like others
        sys.exit(130)
    finally:
        gc.freeze()  # all that is left will be gone in a moment
