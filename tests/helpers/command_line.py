"""The command line, in a process of its own or in this one."""

import io
import os
import re
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from unittest.mock import patch

import pytest

from linsep.cli.main import command


def run(*arguments, cwd, **options):
    command = [sys.executable, "-m", "linsep", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)


def here(*arguments, cwd):
    """The same as :func:`run` without a new process, which takes two seconds to start."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv = ["linsep", *map(str, arguments)]
    with (
        chdir(cwd), patch("sys.argv", argv), patch("gc.freeze"),  # this process does not end
        redirect_stdout(out), redirect_stderr(err),
    ):  # fmt: skip
        try:
            command()
        except SystemExit as stop:
            code = stop.code or 0
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def assert_they_run(commands, cwd):
    """Each of the commands succeeds and says nothing on stderr."""
    for words in commands:
        done = here(*words.split(), cwd=cwd)
        assert (done.returncode, done.stderr) == (0, ""), words


def assert_refused(*arguments, cwd, code=None, exit_code=1, said=""):
    """The command fails with one sentence, with the code of its error, and leaves nothing behind.
    Wrong usage, which has no code, is told by what is ``said``.
    """
    before = sorted(os.listdir(cwd))
    done = here(*arguments, cwd=cwd)
    assert done.returncode == exit_code, done.stderr
    assert "Traceback" not in done.stderr
    if exit_code == 1:
        assert done.stderr.startswith("linsep: error: ")
        assert done.stderr.count("\n") == 1
    assert code is None or done.stderr.endswith(f"[{code}]\n"), done.stderr
    assert re.search(said, done.stderr), done.stderr
    assert sorted(os.listdir(cwd)) == before


def table(folder, name, header, rows):
    """Write a CSV file of these rows, whose cells stand as they are given."""
    lines = [header, *rows]
    (folder / name).write_text("".join(",".join(map(str, line)) + "\n" for line in lines))


def on_a_terminal(*arguments, cwd, stream="stdout", **options):
    """What the command draws where its ``stdout`` or ``stderr``, or "both", is a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    where = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    where |= dict.fromkeys(where if stream == "both" else [stream], theirs)
    command, parts = [sys.executable, "-m", "linsep", *map(str, arguments)], []
    with subprocess.Popen(command, cwd=cwd, **where, **options) as running:
        os.close(theirs)
        # A terminal that nobody reads fills up, and whoever draws on it waits for ever.
        with suppress(OSError):  # how a terminal ends on Linux
            while part := os.read(ours, 1 << 16):
                parts.append(part)
    os.close(ours)
    assert running.returncode == 0
    return b"".join(parts).decode(errors="replace")
