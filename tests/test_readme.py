"""The README is true: its Python and its commands run, their output is what it says."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import linsep.estimators.perceptron
from linsep.compiled.jit import COMPILING

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
# Times differ from run to run, and so does how lines are folded.
TIMES = re.compile(r"\d+\.\d\d s")


def test_python_in_the_readme():
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 3
    assert result.failed == 0


def test_examples_in_docstrings():
    result = doctest.testmod(linsep.estimators.perceptron)
    assert result.attempted > 2
    assert result.failed == 0


@pytest.mark.skipif(not COMPILING, reason="a hundred passes are slow without the compiler")
def test_commands_in_the_readme(tmp_path):
    demo = tmp_path / "demo"
    demo.mkdir()
    subprocess.run([sys.executable, ROOT / "docs" / "demo_data.py", demo], check=True)
    commands = 0
    for block in BLOCKS:
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            command = re.sub("^linsep", f"{sys.executable} -m linsep", command)
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            if shown.strip():
                assert comparable(done.stdout) == comparable(shown)
            commands += 1
    assert commands >= 6


def comparable(text):
    return TIMES.sub("_ s", " ".join(text.split()))


@pytest.mark.skipif(not COMPILING, reason="the demo is slow without the compiler")
@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_the_demo_runs(tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "docs/demo.sh", tmp_path / "demo"], cwd=ROOT, capture_output=True, text=True,
        check=False, env=os.environ | {"PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "converged" in done.stdout
    assert "449 predictions" in done.stdout
