"""Every command that reads data reads it from a web server as from this machine."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from campaign.web_server import WebServer

from command_line import assert_refused, here
from linsep import load, open_source
from linsep.errors import ParameterError

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
pytest.importorskip("aiohttp")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small table, and a server of it in front of which a name and a password stand."""
    made = tmp_path_factory.mktemp("remote")
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(60, 3)).round(3), columns=["a", "b", "c"])
    table["kind"] = np.where(table.a + table.b > 0, "yes", "no")
    table["price"] = table.a + rng.normal(size=60).round(3)
    table.to_csv(made / "x.csv", index=False)
    return made


@pytest.fixture(scope="module")
def url(folder):
    with WebServer({"/x.csv": folder / "x.csv"}) as server:
        yield f"http://me:pass1word@{server.url.removeprefix('http://')}/x.csv?signature=hidden"


COMMANDS = [
    ("describe", "DATA", "--target", "kind"),
    ("fit", "DATA", "--target", "kind", "--exclude", "price", "--test", "DATA", "--model", "OUT",
     "--calibrate", "DATA"),
    ("fit", "DATA", "--target", "price", "--exclude", "kind", "--learner", "linear"),
    ("predict", "MODEL", "DATA", "--output", "OUT"),
    ("score", "MODEL", "DATA"),
    ("audit", "MODEL", "DATA", "--row", "3"),
    ("separate", "DATA", "--target", "kind", "--exclude", "price", "--proof", "OUT"),
    ("bounds", "DATA", "--target", "kind", "--exclude", "price"),
    ("trace", "DATA", "--target", "kind", "--exclude", "price", "--max-iter", "1"),
    ("convert", "DATA", "OUT.svm", "--target", "kind", "--exclude", "price"),
    ("convert", "DATA", "OUT.parquet"),
    ("split", "DATA", "--test", "0.2", "--output", "."),
    ("tune", "DATA", "--target", "kind", "--exclude", "price", "--grid", "max-iter=1,2"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command(folder, url, tmp_path, command):
    model = folder / "model.linsep"
    if not model.exists():
        how = ("--target", "kind", "--exclude", "price", "--model", model)
        assert here("fit", folder / "x.csv", *how, cwd=folder).returncode == 0
    outputs = []
    for data in (folder / "x.csv", url):
        out = tmp_path / str(len(outputs))
        out.mkdir()
        words = [{"DATA": data, "MODEL": model}.get(word, word) for word in command]
        done = here(*words, cwd=out)
        assert done.returncode == 0, done.stderr
        text = re.sub(r"\d+\.\d\d s", "- s", done.stdout).replace(str(folder / "x.csv"), "DATA")
        text = re.sub(r"'?http://127.0.0.1:\d+/x.csv\?\.\.\.'?", "DATA", text)
        files = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
        files = {name: re.sub(rb"saved.{27}", b"", data) for name, data in files.items()}
        for shown in (done.stdout.encode(), done.stderr.encode(), *files.values()):
            assert b"pass1word" not in shown
            assert b"hidden" not in shown
        if command[0] == "fit":  # a model has the time when it was saved
            files = {name: load(out / name).coef_.tobytes() for name in files}
        outputs.append((text.split(), files))
    assert outputs[0] == outputs[1]


def test_a_file_that_is_not_there(url, tmp_path):
    missing = url.replace("x.csv", "none.csv")
    place = r"http://127.0.0.1:\d+/none.csv\?\.\.\."
    said = rf"^linsep: error: There is no file {place}: check the URL\.$"
    assert_refused("fit", missing, "--target", "kind", cwd=tmp_path, said=said)


def test_a_remote_file_is_no_place_to_write(folder, tmp_path):
    words = ("convert", folder / "x.csv", "s3://bucket/x.svm")
    said = "OUT is a URL (s3://...), but only DATA may be a URL; give a local path."
    assert_refused(*words, cwd=tmp_path, said=re.escape(said), exit_code=2)
    words = ("--target", "kind", "--exclude", "price", "--cache", "s3://bucket/cache")
    said = re.escape("--cache is a URL (s3://...), ")
    assert_refused("fit", folder / "x.csv", *words, cwd=tmp_path, said=said, exit_code=2)
    assert not (tmp_path / "s3:").exists()
    with pytest.raises(ParameterError, match="must be local, not at s3://: name a loc"):
        open_source(folder / "x.csv", target="kind", cache="s3://bucket/cache")


@pytest.mark.parametrize(
    "command",
    [
        "score SECRET x.csv", "predict SECRET x.csv", "audit SECRET x.csv --row 1", "plot SECRET",
        "inspect SECRET", "summary SECRET", "export SECRET m.json", "serve SECRET",
        "bounds x.csv --target kind --model SECRET", "verify SECRET x.csv",
        "separate x.csv --target kind --plot SECRET", "fit x.csv --target kind --model SECRET",
        "fit x.csv --target kind --model m --checkpoint SECRET", "fit --resume SECRET",
        "convert x.csv SECRET --target kind", "split x.csv --output SECRET", "lab SECRET",
        "lab --scene SECRET", "lab --export SECRET", "compile SECRET",
        "separate x.csv --target kind --proof SECRET",
        "trace x.csv --target kind --output SECRET",
    ],
)  # fmt: skip
def test_secrets_of_addresses_are_not_shown_where_files_of_this_machine_are_named(
    folder, tmp_path, monkeypatch, command
):
    shutil.copy(folder / "x.csv", tmp_path)
    secret = "http://bob:pw1@127.0.0.1:9/m.linsep?sig=pw2"
    done = here(*[secret if word == "SECRET" else word for word in command.split()], cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1
    assert "pw" not in done.stderr + done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv"]
