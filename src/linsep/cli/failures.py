"""Every failure is one line on stderr and an exit code, but for faults of linsep: a traceback."""

import errno
import os
import shlex
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

import linsep
from linsep.errors import Hint, LinsepError, ParameterError
from linsep.escaping import escaped
from linsep.interrupts import received, window
from linsep.scratch import sweep

# Typer brings its own click, or uses the one that is installed.
UsageError: Any = typer.BadParameter.__base__

#: exit code of a fault of linsep's own: EX_SOFTWARE of sysexits.h
OWN_FAULT = 70
# Characters that cannot be seen on a command line have names there.
TYPED = {"\t": "tab"}


class Commands(TyperGroup):
    """Commands whose failures are printed in one sentence.

    Exit code 1; 2 for wrong use, 3 where a verdict is undecided, 130 after Ctrl-C, 143 after
    SIGTERM, 129 after SIGHUP. What no part of linsep means to raise is a fault of linsep's own: a
    traceback and exit code 70.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read what stands before the command; without any, help is printed."""
        some = bool(args)  # they are taken out of the list
        try:
            return super().parse_args(ctx, args)
        except UsageError as problem:
            if not some:
                raise
            fail(wrong_use(problem), 2)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and write out what it printed while failures can still be printed."""
        try:
            sweep(Path(tempfile.gettempdir()))
            with _noting_warnings(), window():
                result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except KeyboardInterrupt:
            fail("interrupted; nothing was kept.", interrupted_code())
        except MemoryError:
            fail("out of memory: give it fewer columns or classes, or a larger machine.")
        except LinsepError as problem:
            message = problem.render(as_options(self.get_command(ctx, ctx.invoked_subcommand)))
            fail(message, 2 if isinstance(problem, ParameterError) else 1)
        except UsageError as problem:
            fail(wrong_use(problem), 2)
        except OSError as problem:
            if received() is not None:  # whoever closed the terminal did not wait for the results
                _drop_output()
                raise typer.Exit(interrupted_code()) from None
            if problem.errno == errno.EPIPE:  # who read our output has seen enough
                _drop_output()
                raise typer.Exit(1) from None
            what = "The output" if problem.filename is None else str(problem.filename)
            _drop_output()
            fail(f"{what} cannot be read or written: {problem.strerror or problem}.")
        except (typer.Exit, typer.Abort):
            raise
        except Exception as fault:
            _drop_output()
            if received() is not None:  # Ctrl-C came in the midst of a library's work
                fail("interrupted; nothing was kept.", interrupted_code())
            _own_fault(fault)
        return result


def interrupted_code() -> int:
    """The exit code after the signal that was received: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (received() or signal.SIGINT)


def as_options(command: Any) -> Callable[[Hint], str | None]:
    """Render a hint using this command's options, or not at all."""
    flags = {option.name: option.opts[0] for option in command.params}

    def spell(name: str, value: Any) -> str:
        return in_options(name, value, flags.get(name))

    def tell(hint: Hint) -> str | None:
        return hint.render(spell) if hint.again or flags.keys() >= hint.settings.keys() else None

    return tell


def in_options(name: str, value: Any, flag: str | None = None) -> str:
    """A parameter as it is typed."""
    flag = flag or flag_of(name)
    if value is None or value is True:
        return flag
    values = value if isinstance(value, list) else [value]
    return " ".join(f"{flag} {shlex.quote(TYPED.get(v, str(v)))}" for v in values)


def flag_of(name: str) -> str:
    """The option for a parameter of this name."""
    return "--" + name.replace("_", "-")


def wrong_use(problem: Any) -> str:
    """What is wrong with the words of a command."""
    option = getattr(problem, "param", None)
    if type(problem) is typer.BadParameter:
        return f"{option.opts[0]} {problem.message}" if option else problem.message
    where = problem.ctx.command_path if problem.ctx else "linsep"
    said = problem.format_message().rstrip(".")
    return f"{said[0].lower()}{said[1:]}; `{where} --help` says more."


def note(said: str) -> None:
    """Say something in one line beside the results."""
    if sys.stderr is not None:
        with suppress(OSError):  # nobody listens any more
            print("linsep:", escaped(" ".join(said.splitlines())), file=sys.stderr)


def listed() -> Any:
    """A context that lists what its body warns of, instead of Python's printing it."""
    return warnings.catch_warnings(record=True, action="always", category=UserWarning)


@contextmanager
def _noting_warnings() -> Iterator[None]:
    """Say in one line what a command warns of and does not list itself."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Any, *about: Any, **more: Any) -> None:
            if isinstance(message, UserWarning):
                note_warning(message)
            else:
                shown(message, *about, **more)

        warnings.showwarning = show
        yield


def note_warning(warning: Warning) -> None:
    """Say what a warning says, its advice in options."""
    refusal = getattr(warning, "refusal", None)
    note(refusal.render(lambda hint: hint.render(in_options)) if refusal else str(warning))


def fail(said: str, code: int = 1) -> None:
    """Say why in one line and end the command."""
    note(said)
    raise typer.Exit(code) from None


def _own_fault(fault: Exception) -> None:
    """Show where in linsep something went wrong that nobody foresaw, and end the command."""
    if sys.stderr is not None:
        for line in "".join(traceback.format_exception(fault)).splitlines():
            print(escaped(line), file=sys.stderr)
    fail(
        f"this is a fault of linsep {linsep.__version__}, not of the data or the command: please "
        "report it with the lines above.",
        OWN_FAULT,
    )


def _drop_output() -> None:
    """Let what cannot be written be forgotten, or Python would complain once more at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # there is no real file behind it
        return
