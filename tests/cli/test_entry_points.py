"""Learners and commands of other packages, which entry points name."""

import os
import re

import pytest

from command_line import run
from documents import ROOT

COMMAND = '''

from linsep.cli.options import DATA, command


@command()
def count(data=DATA):
    """Count the files of DATA."""
    print(len(data))
'''
POINTS = """[linsep.learners]
relaxation = relaxation:Relaxation
[linsep.commands]
count = relaxation:count
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A package of one file, installed: the learner of the page, and a command."""
    folder = tmp_path_factory.mktemp("packages")
    page = (ROOT / "docs/how-to/write-your-own-learner.md").read_text("utf-8")
    (program,) = re.findall(r"```python\n(\"\"\".*?)```", page, re.S)
    (folder / "relaxation.py").write_text(program + COMMAND, encoding="utf-8")
    about = folder / "relaxation-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: relaxation\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (folder / "t.csv").write_text("a,b,y\n" + "0,1,no\n3,1,yes\n1,0,no\n4,2,yes\n" * 5)
    return folder, os.environ | {
        "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "NUMBA_DISABLE_JIT": "1",
    }


def test_a_package_adds_a_learner_and_a_command(installed):
    folder, env = installed
    how = ("--learner", "relaxation", "--rate", 0.5, "--model", "m")
    assert run("fit", "t.csv", "--target", "y", *how, cwd=folder, env=env).returncode == 0
    predicted = run("predict", "m", "t.csv", cwd=folder, env=env)
    assert predicted.stdout.split()[:4] == ["no", "yes", "no", "yes"]
    assert run("count", "t.csv", "m", cwd=folder, env=env).stdout == "2\n"
    assert re.search(r"^  count +Count", run("--help", cwd=folder, env=env).stdout, re.M)
