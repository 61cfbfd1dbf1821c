"""The sources of the site and of the package agree with the code: names, options, speeds."""

import ast
import inspect
import json
import pkgutil
import re
import runpy
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import pytest
from benchmarks import page as speed_page

import linsep
from command_line import here
from documents import ROOT
from linsep import __version__
from linsep.catalog import ESTIMATORS
from linsep.cli.app import COMMANDS, app
from linsep.scoring import CLASS_METRICS, NUMBER_METRICS

DOCS = ROOT / "docs"
REFERENCE = (DOCS / "reference" / "api.md").read_text("utf-8")
#: what users import of these modules is in the reference, too
MODULES = ("kernels", "descent", "sources", "plot", "textbook", "datasets")
OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")


def listed():
    """Return the names that the reference lists, with their modules."""
    return {
        f"{module}.{name}"
        for module, names in re.findall(r"^From `(\S+)`: (.*?)\.$", REFERENCE, re.M | re.S)
        for name in re.findall(r"`(.*?)`", names)
    }


def test_the_reference_lists_every_public_name():
    modules = {name for name in linsep.__all__ if type(getattr(linsep, name)).__name__ == "module"}
    names = {f"linsep.{name}" for name in set(linsep.__all__) - modules}
    for name in MODULES:
        module = getattr(linsep, name)
        public = getattr(module, "__all__", None) or [
            key for key in dir(module) if not key.startswith("_")
        ]
        names |= {f"{module.__name__}.{key}" for key in public}
    assert names - listed() - {"linsep.sources.open_source"} == set()


def test_every_page_is_in_a_table_of_contents():
    pages = {
        path.relative_to(DOCS).with_suffix("").as_posix()
        for path in DOCS.rglob("*.md")
        if "generated" not in path.parts
    }
    found = {"index"}
    for page in pages:
        text = (DOCS / f"{page}.md").read_text("utf-8")
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.S):
            names = re.findall(r"^(?:.*<)?([\w/-]+)>?$", tree, re.M)
            folder = (DOCS / page).parent
            found |= {(folder / name).relative_to(DOCS).as_posix() for name in names}
    assert pages - found == {"notebooks/teachers"}  # with the solutions


def test_versions_are_published_beside_each_other(tmp_path):
    publish = runpy.run_path(str(DOCS / "publish.py"))["publish"]
    site, pages = tmp_path / "site", tmp_path / "pages"
    site.mkdir()
    pages.mkdir()
    (site / "objects.inv").touch()
    for version in ("dev", "0.9", "0.10", "dev"):
        (site / "index.html").write_text(version, "utf-8")
        publish(site, pages, version, "https://example.org/linsep/")
    assert json.loads((pages / "versions.json").read_text("utf-8")) == [
        {"version": "0.10", "url": "https://example.org/linsep/0.10/", "preferred": True},
        {"version": "0.9", "url": "https://example.org/linsep/0.9/", "preferred": False},
        {"version": "dev", "url": "https://example.org/linsep/dev/", "preferred": False},
    ]
    assert "0.10/index.html" in (pages / "index.html").read_text("utf-8")
    assert (pages / "0.9" / "index.html").read_text("utf-8") == "0.9"


def test_sections_of_docstrings_list_names_and_no_sentences():
    docstrings = pytest.importorskip("numpydoc.docscrape")
    sentences = []
    for name in listed():
        try:
            found = pkgutil.resolve_name(name)
        except AttributeError:  # of an instance
            continue
        sections = docstrings.NumpyDocString(inspect.getdoc(found) or "")
        sentences += [
            (name, one.name)
            for section in ("Parameters", "Attributes")
            for one in sections[section]
            if not one.type and len(one.name.replace(", ", ",").split()) > 4
        ]
    assert sentences == []


def test_the_page_lists_every_command():
    text = (DOCS / "reference" / "command-line.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text.partition("\n## ")[0], re.M)
    assert [(name, line) for name, (_, line) in COMMANDS.items()] == rows


def options_of_commands():
    """Return every option of every command, and of fits with every learner."""
    helps = [here(name, "--help-all", cwd=ROOT).stdout for name in app.list_commands(None)]
    helps += [here("fit", "--learner", name, "--help-all", cwd=ROOT).stdout for name in ESTIMATORS]
    return set(OPTION.findall("\n".join(helps)))


def test_options_that_pages_name_exist():
    """Each in code, of a line that runs linsep or alone."""
    known = options_of_commands() | {"--version", "--help", "--lerner", "--record"}
    unknown = []
    pages = {ROOT / "README.md", *DOCS.glob("*/*.md")} - {DOCS / "how-to/from-vowpal-wabbit.md"}
    for page in pages:
        text = page.read_text("utf-8").replace("\\\n", "")
        lines = re.findall(r"^\$ (linsep .*)$", text, re.M)
        lines += re.findall(r"`(linsep [^`\n]*|--[A-Za-z][\w-]*)[^`\n]*`", text)
        found = {
            option for line in lines for option in re.findall(r"(?<![\w-])--[A-Za-z][\w-]*", line)
        }
        unknown += [(page.name, option) for option in sorted(found - known)]
    assert unknown == []


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")


def test_authors_and_version_are_those_of_the_citation():
    authors = [author["name"] for author in PROJECT["project"]["authors"]]
    assert authors == re.findall(r"^  - name: (.+)$", CITATION, re.M)
    assert re.search(r"^version: (.+)$", CITATION, re.M).group(1) == __version__


def test_the_readme_is_short_and_names_every_extra():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.split()) <= 500
    extras = PROJECT["project"]["optional-dependencies"].keys() - {"test", "lint", "site", "bench"}
    assert [extra for extra in extras if not re.search(rf"`{extra}`", text)] == []


def test_the_oldest_releases_tested_are_the_lower_bounds():
    extras = PROJECT["project"]["optional-dependencies"]
    named = ["plot", "onnx", "dask", "remote", "gs", "serve", "test"]
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


@pytest.mark.thorough
def test_the_wheel_in_a_new_environment_does_what_it_is_for():
    """With the base dependencies, which an index of packages has."""
    check = [sys.executable, ROOT / "packages" / "release_check.py", "base"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


METRICS = "docs/how-to/metrics.md"


def test_the_table_has_every_metric():
    page = (ROOT / METRICS).read_text("utf-8")
    cells = re.findall(r"^\| (`.*?`) \|", page, re.M)
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == {
        *CLASS_METRICS, *NUMBER_METRICS
    }  # fmt: skip


SERVING = ROOT / "src" / "linsep" / "serving"
STATUS = re.compile(r"^\| (\d{3}) \|", re.M)


def statuses_of(tree):
    """Yield the statuses that code answers: of refusals, of heads, and where it sets a status."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = node.args[0]
            if name in ("Refused", "_refuse", "count_refused") and isinstance(first, ast.Constant):
                yield int(first.value[:3] if isinstance(first.value, bytes) else first.value)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [getattr(each, "id", "") for each in node.targets[0].elts]
            if "status" in names and isinstance(node.value, ast.Tuple):
                value = node.value.elts[names.index("status")]
                if isinstance(value, ast.Constant):
                    yield value.value


def test_the_page_lists_every_status_that_a_server_answers():
    found = {200}
    for path in SERVING.glob("*.py"):
        found |= set(statuses_of(ast.parse(path.read_text("utf-8"))))
    assert len(found) > 12
    page = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    listed = STATUS.findall(page.partition("## Status codes\n")[2])
    assert listed == sorted(set(listed)) == [str(status) for status in sorted(found)]


def test_the_page_lists_every_metric():
    pytest.importorskip("prometheus_client")
    from linsep.serving.metrics import Metrics

    metrics, model = Metrics(), SimpleNamespace(version="v", model=None, learned=0)
    text = metrics.text(model).decode()
    kinds = re.findall(r"^# TYPE (\w+) \w+$", text, re.M)
    found = {name for name in kinds if not name.endswith("_created")}
    page = (ROOT / "docs/how-to/serving.md").read_text("utf-8").partition("## Metrics\n")[2]
    rows = [line for line in page.splitlines() if line.startswith("| `linsep_")]
    cells = [line.split("|")[1] for line in rows]
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == found


def test_tables_show_what_was_measured():
    for name, table in speed_page.tables(speed_page.measured()).items():
        text = (speed_page.ROOT / name).read_text("utf-8")
        assert table in text
        assert text == speed_page.with_table(text, table)
