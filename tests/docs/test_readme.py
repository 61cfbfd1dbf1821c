"""The README and the commands of the pages are true: they run, and print what they say."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

from documents import ROOT, run_commands, run_python
from linsep.catalog import LEARNERS
from linsep.compiled.jit import COMPILING

pytestmark = pytest.mark.compiled
#: pages that are not of the site
OUTSIDE = ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT")
#: relative links, headings, and what looks like them in code
TO = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)


def anchor(heading):
    """Return the name of a heading in links."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_python_in_the_readme():
    assert run_python("README.md") > 3


@pytest.mark.thorough
def test_commands_in_the_page_on_bounds(tmp_path):
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    assert run_commands("docs/explanation/bounds.md", tmp_path) == 1


@pytest.mark.thorough
def test_the_page_on_lecture_notes(tmp_path):
    assert run_commands("docs/explanation/lecture-notes.md", tmp_path) == 15


def test_links_lead_to_pages_and_headings():
    pages = [ROOT / f"{name}.md" for name in OUTSIDE] + sorted((ROOT / "docs").glob("*/*.md"))
    texts = {page: page.read_text("utf-8") for page in pages}
    heads = {page: set(map(anchor, HEADING.findall(text))) for page, text in texts.items()}
    found = [(page, *link) for page in pages for link in TO.findall(CODE.sub("", texts[page]))]
    assert len(found) > 300
    for page, name, heading in found:
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), (page.name, name)
        assert not heading or target not in heads or heading in heads[target], (page.name, heading)


@pytest.mark.thorough
def test_the_page_on_remote_files():
    pytest.importorskip("fsspec")
    assert run_python("docs/how-to/remote-files.md") > 4


@pytest.mark.thorough
def test_coming_from_vowpal_wabbit(tmp_path):
    assert run_commands("docs/how-to/from-vowpal-wabbit.md", tmp_path) == 4


@pytest.mark.thorough
@pytest.mark.parametrize("page", ["from-liblinear", "from-statsmodels", "from-river"])
def test_pages_that_compare_with_other_programs(page, monkeypatch):
    if page == "from-river":
        pytest.importorskip("river")
    monkeypatch.chdir(ROOT)
    assert run_python(f"docs/how-to/{page}.md") > 8


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("explanation/learners", marks=pytest.mark.thorough),
        "how-to/hypotheses",
        "how-to/marginal-effects",
        "how-to/regression-diagnostics",
        "how-to/robust-errors",
        "how-to/thresholds",
        "how-to/weights",
        "how-to/wrong-labels",
        "reference/numerical-accuracy",
    ],
)
def test_pages_without_pictures(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_python(f"docs/{page}.md") > 3


@pytest.mark.thorough
def test_the_page_on_exports(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    assert run_commands("docs/how-to/export.md", tmp_path) == 6
    monkeypatch.chdir(tmp_path)
    assert run_python("docs/how-to/export.md") > 20


@pytest.mark.parametrize(
    "name",
    [
        "descent",
        *sorted({kind.__module__.removeprefix("linsep.") for kind in LEARNERS.values()}),
        "linear.estimator",
        "logistic.estimator",
        "naive_bayes",
        "mistake_bounds.adversary",
        "bounding",
        "scoring.scores",
        "chance.bias",
        "chance.counting",
        "chance.transition",
        "separating",
        "mistake_bounds.margins",
        "teaching.convergence",
        "teaching.criterion",
        "teaching.reflection",
        "exports.sklearn_onnx",
        "plot.chance",
        "plot.runs",
        "plot.separation",
        "plot.steps",
        "plot.weight_space",
    ],
)
def test_examples_in_docstrings(name):
    result = doctest.testmod(import_module(f"linsep.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.skipif(not COMPILING, reason="a hundred passes are slow without the compiler")
def test_commands_in_the_readme(tmp_path):
    demo = tmp_path / "demo"
    demo.mkdir()
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    subprocess.run([sys.executable, ROOT / "docs" / "demo_data.py", demo], check=True)
    assert run_commands("README.md", tmp_path) == 3
    assert run_commands("docs/reference/command-line.md", tmp_path) >= 11
    assert run_commands("docs/reference/file-formats.md", tmp_path) == 1
    assert run_commands("docs/explanation/training.md", tmp_path) == 2
    (tmp_path / "digits.linsep").rename(demo / "digits.linsep")
    assert run_commands("docs/gallery/index.md", tmp_path) == 3
    assert run_commands("docs/how-to/tune.md", tmp_path) == 5


@pytest.mark.thorough
def test_commands_about_files(tmp_path):
    subprocess.run([sys.executable, ROOT / "docs" / "files_data.py", tmp_path], check=True)
    assert run_commands("docs/how-to/files.md", tmp_path) == 9


@pytest.mark.thorough
def test_commands_about_separation(tmp_path):
    iris = load_iris(as_frame=True).frame[50:]
    iris.rename(columns={"target": "species"}).to_csv(tmp_path / "two.csv", index=False)
    assert run_commands("docs/explanation/separation.md", tmp_path) == 2
    assert run_commands("docs/reference/proofs.md", tmp_path) == 1


@pytest.mark.thorough
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
