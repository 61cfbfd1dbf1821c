"""The command line, in a process of its own or in this one."""

import gc
import io
import os
import re
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from unittest.mock import patch

import pytest

from linsep.cli import command
from linsep.compiled.core.jit import COMPILING

needs_speed = pytest.mark.skipif(not COMPILING, reason="too slow without the compiler")


def run(*arguments, cwd, **options):
    command = [sys.executable, "-m", "linsep", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)


def here(*arguments, cwd):
    """The same as :func:`run` without a new process, which takes two seconds to start."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv = ["linsep", *map(str, arguments)]
    with chdir(cwd), patch("sys.argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            command()
        except SystemExit as stop:
            code = stop.code or 0
        finally:
            gc.unfreeze()  # what a process that ends forgets
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def refused(*arguments, cwd, said, code=1):
    """The command fails with one sentence and leaves nothing behind."""
    before = sorted(os.listdir(cwd))
    done = here(*arguments, cwd=cwd)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code == 1:
        assert done.stderr.startswith("linsep: ")
        assert done.stderr.count("\n") == 1
    assert re.search(said, done.stderr), done.stderr
    assert sorted(os.listdir(cwd)) == before
