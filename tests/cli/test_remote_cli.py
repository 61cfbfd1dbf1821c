"""Commands read data from a web server as from this machine, and write to this machine only."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from campaign.web_server import WebServer

from command_line import assert_refused, here
from linsep import open_source
from linsep.errors import ParameterError

pytest.importorskip("aiohttp")
SECRET = "http://bob:pw1@127.0.0.1:9/m.linsep?sig=pw2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("remote")
    table = pd.DataFrame(
        np.random.default_rng(1).normal(size=(60, 3)).round(3), columns=list("abc")
    )
    table["kind"] = np.where(table.a + table.b > 0, "yes", "no")
    table.to_csv(made / "x.csv", index=False)
    return made


@pytest.mark.parametrize(
    "command",
    [
        ("describe", "DATA", "--target", "kind"),
        ("fit", "DATA", "--target", "kind", "--test", "DATA"),
        ("separate", "DATA", "--target", "kind", "--proof", "OUT"),
        ("convert", "DATA", "OUT.svm", "--target", "kind"),
        ("split", "DATA", "--test", "0.2", "--output", "."),
    ],
    ids=lambda command: command[0],
)
def test_a_command(folder, tmp_path, command):
    outputs = []
    with WebServer({"/x.csv": folder / "x.csv"}) as server:
        url = f"http://me:pass1word@{server.url.removeprefix('http://')}/x.csv?signature=hidden"
        for data in (folder / "x.csv", url):
            out = tmp_path / str(len(outputs))
            out.mkdir()
            done = here(*[data if word == "DATA" else word for word in command], cwd=out)
            assert done.returncode == 0, done.stderr
            text = re.sub(r"\d+\.\d\d s", "- s", done.stdout).replace(str(folder / "x.csv"), "DATA")
            text = re.sub(r"'?http://127.0.0.1:\d+/x.csv\?\.\.\.'?", "DATA", text)
            files = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
            for shown in (done.stdout.encode(), done.stderr.encode(), *files.values()):
                assert b"pass1word" not in shown
                assert b"hidden" not in shown
            outputs.append((text.split(), files))
    assert outputs[0] == outputs[1]


def test_a_remote_file_is_no_place_to_write(folder, tmp_path):
    assert_refused("convert", folder / "x.csv", "s3://bucket/x.svm", cwd=tmp_path, exit_code=2)
    words = ("--target", "kind", "--cache", "s3://bucket/cache")
    assert_refused("fit", folder / "x.csv", *words, cwd=tmp_path, exit_code=2)
    assert not (tmp_path / "s3:").exists()
    with pytest.raises(ParameterError) as no:
        open_source(folder / "x.csv", target="kind", cache="s3://bucket/cache")
    assert no.value.option == "cache"


@pytest.mark.parametrize(
    "command",
    ["score SECRET x.csv", "fit x.csv --target kind --model SECRET", "lab --scene SECRET",
     "convert x.csv SECRET --target kind"],
)  # fmt: skip
def test_secrets_of_addresses_are_not_shown_where_local_files_are_named(folder, tmp_path, command):
    shutil.copy(folder / "x.csv", tmp_path)
    done = here(*[SECRET if word == "SECRET" else word for word in command.split()], cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert "pw" not in done.stderr + done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv"]
