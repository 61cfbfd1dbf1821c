"""Every failure is one line on stderr and an exit code; never a traceback, never half a file."""

import errno
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from linsep.errors import LinsepError


class Commands(TyperGroup):
    """Commands whose failures are told in one sentence: exit code 1, or 130 after Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and write out what it printed while failures can still be told."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except KeyboardInterrupt:
            fail("interrupted; nothing was kept.", 130)
        except MemoryError:
            fail("out of memory: give it fewer columns or classes, or a larger machine.")
        except (LinsepError, ValueError) as problem:
            fail(str(problem))
        except OSError as problem:
            if problem.errno == errno.EPIPE:  # who read our output has seen enough
                _drop_output()
                raise typer.Exit(1) from None
            what = "The output" if problem.filename is None else str(problem.filename)
            _drop_output()
            fail(f"{what} cannot be read or written: {problem.strerror or problem}.")
        return result


def fail(said: str, code: int = 1) -> None:
    """Say why in one line and end the command."""
    if sys.stderr is not None:
        print("linsep:", " ".join(said.splitlines()), file=sys.stderr)
    raise typer.Exit(code) from None


def _drop_output() -> None:
    """Let what cannot be written be forgotten, or Python would complain once more at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # there is no real file behind it
        return
