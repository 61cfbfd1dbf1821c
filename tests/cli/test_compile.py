"""``linsep compile`` leaves nothing for a later fit to compile."""

import re

import pytest

from command_line import here, run
from linsep.compiled.jit import COMPILING

pytestmark = pytest.mark.both


def made(folder):
    return {path.name for path in folder.rglob("*.code")}


@pytest.mark.compiled
def test_a_fit_afterwards_compiles_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("LINSEP_CACHE_DIR", str(tmp_path / "cache"))
    done = run("compile", "--learner", "naive-bayes", cwd=tmp_path)
    count, path = re.fullmatch(
        r"(\d+) loops compiled, 0 already compiled: (.*)\n", done.stdout
    ).groups()
    before = made(tmp_path)
    assert len(before) == int(count) > 0
    assert path.startswith(str(tmp_path / "cache"))
    (tmp_path / "t.svm").write_text("".join(f"{i % 2} 1:{i} 3:{i * i % 7}\n" for i in range(30)))
    for command in (
        ["fit", "t.svm", "--learner", "naive-bayes", "--model", "m", "--test", "t.svm"],
        ["predict", "m", "t.svm", "--output", "p"],
    ):
        assert run(*command, cwd=tmp_path).returncode == 0
    assert made(tmp_path) == before


def test_no_such_learner(tmp_path):
    done = here("compile", "--learner", "forest", cwd=tmp_path)
    assert done.returncode == 2
    assert "'forest'" in done.stderr


@pytest.mark.skipif(COMPILING, reason="compiling every loop takes minutes")
@pytest.mark.parametrize(
    "learner", ["naive-bayes", "kernel", pytest.param("winnow", marks=pytest.mark.thorough)]
)
def test_without_the_compiler_nothing_is_kept_and_every_run_is_made(tmp_path, learner):
    done = here("compile", "--learner", learner, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
