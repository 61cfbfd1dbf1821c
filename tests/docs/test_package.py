"""What the package says of itself agrees with the other files that say it."""

import re
import tomllib

from documents import ROOT
from linsep import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")


def test_authors_and_version_are_those_of_the_citation():
    authors = [author["name"] for author in PROJECT["project"]["authors"]]
    assert authors == re.findall(r"^  - name: (.+)$", CITATION, re.M)
    assert re.search(r"^version: (.+)$", CITATION, re.M).group(1) == __version__


def test_the_source_distribution_names_files_that_exist():
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"CONTRIBUTING.md", "CITATION.cff", "tests", "docs"} <= set(included)
    assert [name for name in included if not (ROOT / name).exists()] == []


def test_the_readme_is_short_and_names_every_extra():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.split()) <= 700
    extras = PROJECT["project"]["optional-dependencies"].keys() - {"test", "lint", "site", "bench"}
    assert [extra for extra in extras if not re.search(rf"`{extra}`", text)] == []


def test_the_oldest_releases_tested_are_the_lower_bounds():
    extras = PROJECT["project"]["optional-dependencies"]
    named = ["plot", "lab", "formula", "onnx", "dask", "remote", "gs", "serve", "test"]
    needed = [*PROJECT["project"]["dependencies"], *(one for name in named for one in extras[name])]
    bounds = dict(re.findall(r"^([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", "\n".join(needed), re.M))
    text = (ROOT / "tests" / "lowest.txt").read_text("utf-8")
    tested = dict(re.findall(r"^([\w-]+)==([\d.]+)$", text, re.M))
    assert tested.keys() - bounds.keys() == {"pyparsing"}  # which nothing here imports
    different = {
        name: tested.get(name)
        for name, bound in bounds.items()
        if not f"{tested.get(name)}.".startswith(f"{bound}.")
    }
    assert different == {}


def test_pages_install_from_a_clone_as_long_as_there_is_no_site():
    assert not PROJECT["project"]["urls"]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    from_an_index = r"pip install ['\"]?linsep"
    assert [page.name for page in pages if re.search(from_an_index, page.read_text("utf-8"))] == []


def test_the_extra_for_a_static_host_is_the_package_of_this_clone():
    folder = ROOT / "packages" / "linsep-pyodide"
    package = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    (needed,) = PROJECT["project"]["optional-dependencies"]["static"]
    assert needed == f"{package['name']}=={package['version']}"
    about = (folder / package["readme"]).read_text("utf-8")
    assert f"github.com/pyodide/pyodide/tree/{package['version']}" in about
    known = re.findall(r"https://[^/\"]+", (folder / "fetching.py").read_text("utf-8"))
    assert known == ["https://registry.npmjs.org"]


def test_actions_of_workflows_are_pinned_by_hash():
    flows = [path.read_text("utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    used = [name for text in flows for name in re.findall(r"uses: (.*)", text)]
    assert len(used) > 10
    assert [name for name in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", name)] == []


def test_files_of_tests_have_different_names():
    """In folders that are no packages, pytest imports only one of two files of a name."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names))
