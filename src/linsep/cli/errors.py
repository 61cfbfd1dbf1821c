"""Failures of commands: one line on stderr and an exit code; a traceback for internal errors."""

import errno
import io
import os
import shlex
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

import linsep
from linsep._system.files import remove_abandoned
from linsep._system.interrupts import interrupts_allowed, pending_signal
from linsep.errors import Hint, LinsepError, ParameterError
from linsep.other_names import advice_for
from linsep.sources.remote.address import all_shown
from linsep.words import escaped

#: exit code of an internal error: EX_SOFTWARE of sysexits.h
INTERNAL_ERROR = 70
#: exit code when the reader of the output has gone, as of programs that SIGPIPE ends
CLOSED_PIPE = 141
NAME = "standard input"
#: the file that it was copied to, if it was
copies: list[str] = []
# Names of invisible characters on the command line.
TYPED = {"\t": "tab"}


class Commands(click.Group):
    """Commands whose failures are printed in one sentence, internal errors with a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        some = bool(args)  # parsing empties the list
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as problem:
            if not some:
                raise
            fail(_wrong_use(problem), 2)
        except OSError as problem:  # of printing help or the version
            _check_pipe(problem)
            raise

    def invoke(self, ctx: Any) -> Any:
        try:
            remove_abandoned(Path(tempfile.gettempdir()))
            with noting_warnings(), interrupts_allowed():
                result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except KeyboardInterrupt:
            fail(interrupted(ctx.meta.get("checkpoint")), interrupted_code())
        except MemoryError:
            fail("out of memory: use fewer columns or classes, or a larger machine.")
        except LinsepError as problem:
            command: Any = self.get_command(ctx, str(ctx.invoked_subcommand))

            def in_command(hint: Hint) -> str | None:
                flags = {name: command.flag(name) for name in hint.settings}
                spelled = hint.render(lambda name, value: in_options(name, value, flags[name]))
                return spelled if hint.again or all(flags.values()) else None

            message = problem.render(in_command)
            fail(f"{message} [{problem.code}]", 2 if isinstance(problem, ParameterError) else 1)
        except click.UsageError as problem:
            fail(_wrong_use(problem, *filter(None, [ctx.invoked_subcommand])), 2)
        except OSError as problem:
            if pending_signal() is not None:  # the terminal was closed before the results
                _drop_output()
                raise click.exceptions.Exit(interrupted_code()) from None
            _check_pipe(problem)
            what = "The output" if problem.filename is None else str(problem.filename)
            _drop_output()
            fail(f"{what} cannot be read or written: {problem.strerror or problem}.")
        except (click.exceptions.Exit, click.Abort):
            raise
        except Exception as fault:
            _drop_output()
            if pending_signal() is not None:  # Ctrl-C inside a library
                fail(interrupted(ctx.meta.get("checkpoint")), interrupted_code())
            for line in "".join(traceback.format_exception(fault)).splitlines():
                print(escaped(line), file=sys.stderr or io.StringIO())
            told = "not in the data or the command: please report it with the lines above."
            fail(f"this is a bug in linsep {linsep.__version__}, {told}", INTERNAL_ERROR)
        return result


def _check_pipe(problem: OSError) -> None:
    if problem.errno == errno.EPIPE:
        _drop_output()
        raise click.exceptions.Exit(CLOSED_PIPE) from None


def interrupted(checkpoint: Path | None) -> str:
    if checkpoint is None or not checkpoint.exists():
        return "interrupted; nothing was saved."
    return f"interrupted; `linsep fit --resume {shlex.quote(str(checkpoint))}` resumes the fit."


def interrupted_code() -> int:
    """Return the exit code after a signal: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (pending_signal() or signal.SIGINT)


def in_options(name: str, value: Any, flag: str | None = None) -> str:
    """Return a parameter as typed on the command line."""
    flag = flag or flag_of(name)
    if value is None or value is True:
        return flag
    if value is False:
        return flag.replace("--", "--no-", 1)
    values = value if isinstance(value, list) else [value]
    return " ".join(f"{flag} {shlex.quote(TYPED.get(v, str(v)))}" for v in values)


def flag_of(name: str) -> str:
    return "--" + name.replace("_", "-")


def _wrong_use(problem: Any, *command: str) -> str:
    option = getattr(problem, "param", None)
    if type(problem) is click.BadParameter:
        if option is None:
            return problem.message
        named = option.opts[0] if isinstance(option, click.Option) else option.human_readable_name
        return f"{named} {problem.message}"
    # The option parser, which detects a missing value, does not know the command.
    where = problem.ctx.command_path if problem.ctx else " ".join(["linsep", *command])
    message = problem.format_message().rstrip(".")
    if isinstance(problem, click.NoSuchOption):  # the wording differs between versions of click
        near = ", ".join(sorted(problem.possibilities or ()))
        message = f"no such option: {problem.option_name}"
        if (advice := advice_for(problem.option_name)) is not None:
            message += f" ({advice.render(in_options)})"
        elif near:
            message += f" (Possible options: {near})"
    return f"{message[0].lower()}{message[1:]}; see `{where} --help`."


def named(text: str) -> str:
    """Return the output of a command, with standard input in place of its copy's name."""
    for copy in copies:
        text = text.replace(copy, NAME)
    return text


def note(message: str, kind: str = "") -> None:
    """Print one line to stderr, of a ``kind``: "warning", "error", or none for a note."""
    if sys.stderr is not None:
        with suppress(OSError):  # stderr is closed
            line = all_shown(named(" ".join(message.splitlines())))
            print("linsep:", *([f"{kind}:"] if kind else []), escaped(line), file=sys.stderr)


@contextmanager
def noting_warnings() -> Iterator[None]:
    """Print each warning of the block in one line, at once and only once."""
    told: set[str] = set()
    with warnings.catch_warnings():
        shown = warnings.showwarning
        warnings.simplefilter("always", UserWarning)

        def show(message: Any, *about: Any, **more: Any) -> None:
            if not isinstance(message, UserWarning):
                shown(message, *about, **more)
            elif str(message) not in told:
                told.add(str(message))
                refusal = getattr(message, "refusal", None)
                hints = lambda hint: hint.render(in_options)  # noqa: E731
                note(refusal.render(hints) if refusal else str(message), "warning")

        warnings.showwarning = show
        yield


def fail(message: str, code: int = 1) -> None:
    note(message, "error" if code in (1, 2, INTERNAL_ERROR) else "")
    raise click.exceptions.Exit(code) from None


def _drop_output() -> None:
    """Discard unwritten output, so that Python does not report the error again at exit."""
    with suppress(OSError, ValueError, AttributeError):  # stdout is not a real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
