"""docs/how-to/rare-classes.md: an evening with a rare class, up to a threshold and its cost."""

import doctest
import re
import shlex

import pytest

from command_line import here
from documents import ROOT, comparable, payments

pytestmark = pytest.mark.compiled
PAGE = ROOT / "docs" / "how-to/rare-classes.md"


def test_every_output_is_what_the_page_shows(tmp_path, monkeypatch):
    payments(tmp_path)
    blocks = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert 4 < len(blocks) < 10
    for command, shown in blocks:
        done = here(*shlex.split(command)[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        pattern = re.escape(comparable(shown)).replace(re.escape("..."), ".*")
        assert re.fullmatch(pattern, comparable(done.stdout)), done.stdout
    assert (tmp_path / "cost.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert (result.failed, result.attempted) == (0, 4)
