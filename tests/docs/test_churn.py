"""The page docs/start/churn.md: a first evening with a table as people have it."""

import doctest
import re
import shlex
import subprocess
import sys

import pytest

from command_line import here
from documents import ROOT, comparable

pytestmark = pytest.mark.compiled
PAGE = ROOT / "docs" / "start/churn.md"
READING = ["--comment", "#", "--delimiter", ";"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("churn")
    subprocess.run([sys.executable, ROOT / "docs" / "churn_data.py", folder], check=True)
    return folder


def test_every_output_is_what_the_page_shows(folder, monkeypatch):
    blocks = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert 4 < len(blocks) < 10
    for command, shown in blocks:
        done = here(*shlex.split(command)[1:], cwd=folder)
        assert done.returncode == 0, done.stderr
        assert comparable(done.stdout) == comparable(shown)
    assert done.stderr == "linsep: warning: no prediction for 1 row with missing values.\n"
    monkeypatch.chdir(folder)
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert (result.failed, result.attempted > 4) == (0, True)


def test_describe_asks_for_what_it_needs(folder):
    asked = {"--comment '#'": [], "--delimiter ';'": ["--comment", "#"]}
    for said, options in (asked | {"--encoding latin-1": READING}).items():
        done = here("describe", "customers.csv", *options, cwd=folder)
        assert done.returncode == 1
        assert said in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "line 1 is a comment: skip lines like it with --comment '#'"),
        (["--comment", "#"], "set the delimiter with --delimiter ';'"),
        (READING, r"is not UTF-8 text .*--encoding latin-1"),
        ([*READING, "--encoding", "cp1252"], "'customer' has a different text .*--exclude cust"),
        ([*READING, "--encoding", "cp1252", "--exclude", "customer", "--null-values", ""],
         r"column 'since' holds dates .* with --date since=%d.%m.%Y"),
    ],
)  # fmt: skip
def test_each_error_names_what_mends_it(folder, options, said):
    done = here("fit", "customers.csv", "--target", "churn", *options, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert re.search(said, done.stderr), done.stderr
