"""The page on serving is true: its servers start, and its commands and Python get these answers."""

import doctest
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys

import pytest

from documents import ROOT, comparable, run_command

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.thorough,
    pytest.mark.skipif(
        os.name == "nt" or not shutil.which("curl"), reason="needs a shell and curl"
    ),
]
VERSION = re.compile(r"version [0-9a-f]{16}")


def test_the_page_on_serving(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    page = (ROOT / "docs" / "how-to/serving.md").read_text("utf-8").replace("8000", port)
    server, names, commands = None, {}, 0
    try:
        for kind, block in re.findall(r"```(console|python)\n(.*?)```", page, re.S):
            if kind == "python":
                test = doctest.DocTestParser().get_doctest(block, names, "serving.md", None, 0)
                result = doctest.DocTestRunner().run(test, clear_globs=False)
                names = test.globs
                assert result.failed == 0
                continue
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                if "linsep serve" in command:
                    stop(server, names)
                    server = started(command, tmp_path)
                    found = "".join(server.stdout.readline() for _ in shown.splitlines())
                else:
                    made = run_command(command, tmp_path)
                    assert made.returncode == 0, made.stderr
                    found = made.stdout
                assert VERSION.sub("version", comparable(found)) == VERSION.sub(
                    "version", comparable(shown)
                )
                commands += 1
    finally:
        stop(server, names)
    assert commands == 8


def started(command, folder):
    token, _, words = command.partition("linsep ")
    environment = dict(part.split("=") for part in token.split())
    return subprocess.Popen(
        [sys.executable, "-m", "linsep", *shlex.split(words)], cwd=folder, text=True,
        env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def stop(server, names):
    """Close the connections of the page, for which a server waits, and stop it."""
    for connection in [value for value in names.values() if hasattr(value, "close")]:
        connection.close()
    if server is not None:
        server.terminate()
        assert (*server.communicate(timeout=60), server.returncode) == ("", "", 0)
