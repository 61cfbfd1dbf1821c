"""The sources of the site: the reference lists every public name, and readers find every page."""

import inspect
import json
import pkgutil
import re
import runpy
import shutil

import pytest

import linsep
from command_line import here
from documents import ROOT, run_commands, run_python
from linsep.catalog import ESTIMATORS
from linsep.cli.app import COMMANDS, app

DOCS = ROOT / "docs"
REFERENCE = "\n".join(path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md"))
#: what users import of these modules is in the reference, too
MODULES = ("kernels", "descent", "sources", "plot", "textbook")
OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")
#: pages and headings, by the questions of a newcomer: each two clicks from the first page
QUESTIONS = {
    "read my CSV": ("index", "start/churn"),
    "is it separable": ("index", "start/separated-data"),
    "why is this coefficient infinite": ("index", "start/separated-data"),
    "show my class": ("index", "start/first-class"),
    "put it behind HTTP": ("index", "how-to/serving"),
}


def listed():
    """Return the names that the autosummaries of the reference list, with their modules."""
    names = set()
    for module, block in re.findall(r"currentmodule:: (\S+)\n(.*?)```", REFERENCE, re.S):
        names |= {f"{module}.{name}" for name in re.findall(r"^   ([A-Za-z][\w.]*)$", block, re.M)}
    return names


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
    assert pages - found == set()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_two_clicks_from_the_first_page(question):
    *path, last = QUESTIONS[question]
    assert len(path) <= 2
    for page, target in zip(path, [*path[1:], last], strict=True):
        assert target in (DOCS / f"{page}.md").read_text("utf-8")
    assert (DOCS / f"{last}.md").is_file()


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


@pytest.mark.thorough
def test_the_first_pages_run(tmp_path, monkeypatch):
    shutil.copytree(DOCS, tmp_path / "docs")
    assert run_commands("docs/start/first-model.md", tmp_path) == 7
    assert run_commands("docs/start/separated-data.md", tmp_path) == 4
    monkeypatch.chdir(tmp_path)
    assert run_python("docs/start/first-model.md") == 3


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


def test_every_command_has_a_page():
    text = (DOCS / "reference" / "commands.md").read_text("utf-8")
    row = r"^\| \{doc\}`(\w+) <generated/commands/(\w+)>` \| (.*) \|$"
    table = re.findall(row, text, re.M)
    assert [(name, name, line) for name, (_, line) in COMMANDS.items()] == table
    assert re.findall(r"^generated/commands/(\w+)$", text, re.M) == list(COMMANDS)


def options_of_commands():
    """Return every option of every command, and of fits with every learner."""
    helps = [here(name, "--help", cwd=ROOT).stdout for name in app.list_commands(None)]
    helps += [here("fit", "--learner", name, "--help", cwd=ROOT).stdout for name in ESTIMATORS]
    return set(OPTION.findall("\n".join(helps)))


def test_options_that_pages_name_exist():
    """Each in code, of a line that runs linsep or alone."""
    known = options_of_commands() | {"--version", "--help", "--lerner", "--record"}
    unknown = []
    pages = {ROOT / "README.md", *DOCS.glob("*/*.md")} - {DOCS / "how-to/from-vowpal-wabbit.md"}
    for page in pages:
        text = page.read_text("utf-8")
        lines = re.findall(r"^\$ (linsep .*)$", text, re.M)
        lines += re.findall(r"`(linsep [^`\n]*|--[A-Za-z][\w-]*)[^`\n]*`", text)
        found = {
            option for line in lines for option in re.findall(r"(?<![\w-])--[A-Za-z][\w-]*", line)
        }
        unknown += [(page.name, option) for option in sorted(found - known)]
    assert unknown == []
