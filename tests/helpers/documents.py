"""Documents are true: their commands and their Python run, the output is what they say."""

import doctest
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

from command_line import here

ROOT = Path(__file__).resolve().parents[2]
#: the pages of the site by their names, which are different
PAGES = {
    path.stem: path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if path.stem != "index" and not {"reference", "developers"} & set(path.parts)
}
PAGES["gallery"] = ROOT / "docs" / "gallery" / "index.md"
#: the codes of errors
CODES = set(re.findall(
    r"^\| `([a-z-]+)` \|", (ROOT / "docs" / "reference" / "errors.md").read_text("utf-8"), re.M
))  # fmt: skip
# Times differ from run to run, gaps that are rounding errors from processor to processor, and so
# does how lines are folded.
TIMES = re.compile(r"\d+\.\d\d s")
GAPS = re.compile(r"within \de-1\d")


def run_python(name):
    """Run the Python sessions of a document; returns how many lines."""
    result = doctest.testfile(str(ROOT / name), module_relative=False)
    assert result.failed == 0
    return result.attempted


def run_commands(name, folder):
    """Run the ``console`` blocks of a document in ``folder``; returns how many commands."""
    commands = 0
    for block in re.findall(r"```console\n(.*?)```", (ROOT / name).read_text("utf-8"), re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = part.replace("\\\n", "").partition("\n")
            done = run_command(command, folder)
            assert done.returncode == 0, done.stderr
            if shown.strip():
                pattern = re.escape(comparable(shown)).replace(re.escape("..."), ".*")
                assert re.fullmatch(pattern, comparable(done.stdout)), (command, done.stdout)
            commands += 1
    return commands


def run_command(command, folder):
    """Run a command in a shell, or in this process if it is one of linsep and needs no shell."""
    if command.startswith("linsep ") and not re.search("[|<>;&$*`]", command):
        return here(*shlex.split(command)[1:], cwd=folder)
    command = re.sub(r"^(COLUMNS=\d+ )?linsep", r"\1python -m linsep", command)
    command = re.sub(r"^(COLUMNS=\d+ )?python", rf"\1{sys.executable}", command)
    return subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, check=False
    )


def payments(folder):
    """Write the tables of docs/how-to/rare-classes.md into a folder."""
    runpy.run_path(str(ROOT / "docs" / "payments_data.py"))["write"](folder)


def reviews(folder):
    """Write the texts of docs/how-to/one-pass.md into a folder, but only 2 MB."""
    runpy.run_path(str(ROOT / "docs" / "one_pass_data.py"))["write"](folder, 2)


def comparable(text):
    """The text with one space between words, without times, and whether loops were compiled."""
    found = GAPS.sub("within _", TIMES.sub("_ s", " ".join(text.split())))
    return found.replace(", compile _ s of these, once", "")
