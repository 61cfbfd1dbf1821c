"""Formats of files on the command line, standard input, scratch files."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linsep
from command_line import assert_refused, here
from linsep import Perceptron
from linsep._system.files import scratch_file
from linsep.errors import DataError
from linsep.sources import open_source
from linsep.sources.formats import FORMATS, format_of
from refusals import refused
from whole_files import load_svmlight

ROWS = ["a,b,kind", *(f"{k % 7},{k % 5},{'xy'[k % 2]}" for k in range(30))]


def write(folder, name, text):
    (folder / name).write_text(text, newline="")
    return folder / name


@pytest.fixture
def folder(tmp_path):
    for name, delimiter in (("c.csv", ","), ("s.csv", ";"), ("t.tsv", "\t"), ("p.dat", "|")):
        write(tmp_path, name, "".join(row.replace(",", delimiter) + "\n" for row in ROWS))
    write(tmp_path, "t.svm", "0 1:1\n1 2:1\n" * 9)
    return tmp_path


def learned(folder, *arguments):
    told = here("fit", *arguments, "--target", "kind", "--json", cwd=folder)
    assert told.returncode == 0, told.stderr
    return {k: v for k, v in json.loads(told.stdout).items() if k not in ("seconds", "cache")}


# Endings and --format.


def test_every_format_can_be_told(folder):
    expected = learned(folder, "c.csv")
    table = pa.csv.read_csv(folder / "c.csv")
    shutil.copy(folder / "c.csv", folder / "csv.dat")
    shutil.copy(folder / "t.tsv", folder / "tsv.dat")
    write(folder, "jsonl.dat", "".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    pq.write_table(table, folder / "parquet.dat")
    with pa.ipc.new_file(folder / "arrow.dat", table.schema) as writer:
        writer.write_table(table)
    for name in set(FORMATS) - {"svmlight", "vw", "folder"}:
        assert learned(folder, f"{name}.dat", "--format", name) == expected
    (folder / "many").mkdir()
    shutil.copy(folder / "c.csv", folder / "many" / "one.dat")
    assert learned(folder, "many", "--format", "csv") == expected
    assert_refused("fit", "many", "--target", "kind", cwd=folder, code="no-file")
    with refused(DataError, "bad-option", option="format"):
        open_source(folder / "c.csv", target="kind", format="xls")


def test_dense_rows_of_every_format_have_the_same_bits_and_sparse_ones_the_same_digits(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 12)), columns=[f"x{k}" for k in range(12)])
    frame["y"] = (frame.x0 + frame.x1 > 0).astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    lines = (json.dumps(row) + "\n" for row in frame.to_dict("records"))
    write(tmp_path, "t.jsonl", "".join(lines))
    told = here("convert", "t.parquet", "t.svm", "--target", "y", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    for learner in ("arow", "perceptron", "naive-bayes"):
        known = linsep.fit(frame, target="y", scale="none", learner=learner).decision_function(
            frame
        )
        for ending in ("csv", "parquet", "jsonl", "svm"):
            how = {} if ending == "svm" else {"target": "y", "scale": "none"}
            model = linsep.fit(tmp_path / f"t.{ending}", learner=learner, **how)
            found = model.decision_function(tmp_path / f"t.{ending}")
            np.testing.assert_allclose(found, known, rtol=1e-9)
            assert ending == "svm" or found.tobytes() == known.tobytes()


def test_endings_that_say_nothing(folder):
    assert_refused("fit", "p.dat", "--target", "kind", cwd=folder, code="wrong-format")
    for name in ("a.csv.lz4", "a.zip", "A.XLSX"):
        (folder / name).write_bytes(b"PK\x03\x04")
        assert_refused("fit", name, "--target", "y", cwd=folder, code="wrong-format")
    for text in ("5.1,3.5,setosa\n", "a b c\n", "PK\3\4xyz", '{"a": 1}\n', "a;b\n"):
        with refused(DataError, "wrong-format"):
            format_of(write(folder, "file.data", text))


def test_svmlight_text_may_have_any_name(tmp_path):
    for text in ("1 1:1\n", "# c\n\n-1.5 2:0.5 # x\r\n", "3:1 4:2\n", "\ufeff1 1:1\n", ""):
        assert format_of(write(tmp_path, "a9a.t", text)) == "svmlight"
        assert format_of(write(tmp_path, "heart_scale", text)) == "svmlight"


# --delimiter.


def test_delimiters(folder):
    expected = learned(folder, "c.csv")
    assert learned(folder, "s.csv", "--delimiter", ";") == expected
    assert learned(folder, "t.tsv") == expected
    shutil.copy(folder / "t.tsv", folder / "t.csv")
    for tab in ("tab", "\t", "\\t"):
        assert learned(folder, "t.csv", "--delimiter", tab) == expected


def test_a_model_remembers_the_delimiter(folder):
    fit = ("fit", "s.csv", "--target", "kind", "--delimiter", ";", "--test", "s.csv")
    assert here(*fit, "--model", "m", cwd=folder).returncode == 0
    predicted = here("predict", "m", "s.csv", cwd=folder).stdout
    assert predicted.count("\n") == 30
    assert_refused("predict", "m", "c.csv", cwd=folder, code="wrong-format")
    assert here("predict", "m", "c.csv", "--delimiter", ",", cwd=folder).stdout == predicted
    assert here("score", "m", "c.csv", "--delimiter", ",", cwd=folder).returncode == 0


# Standard input and output.


def fed(folder, text, *arguments):
    command = [sys.executable, "-m", "linsep", *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, input=text, capture_output=True, text=True, check=False,
        env=os.environ | {"TMPDIR": str(folder / "tmp")},
    )  # fmt: skip


@pytest.mark.thorough
def test_standard_input(folder):
    (folder / "tmp").mkdir()
    text, how = (folder / "c.csv").read_text(), ("-", "--format", "csv")
    told = json.loads(
        fed(folder, text, "fit", *how, "--target", "kind", "--model", "m", "--json").stdout
    )
    assert (told["rows"], told["cache"]) == (30, None)
    predicted = fed(folder, text, "predict", "m", *how, "--output", "-")
    assert predicted.stdout == here("predict", "m", "c.csv", cwd=folder).stdout
    broken = fed(folder, text + "1,2\n", "score", "m", *how)
    assert broken.returncode == 1
    assert broken.stderr.startswith("linsep: error: standard input row 31 has 2 fields")
    told = fed(folder, text, "separate", *how, "--target", "kind", "--proof", "p.json")
    assert "tmp" not in told.stdout
    assert fed(folder, text, "verify", "p.json", *how, "--target", "kind").returncode == 0
    assert os.listdir(folder / "tmp") == []
    assert not (folder / "-").exists()


def test_standard_input_needs_a_format_and_comes_once(folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    for words, said in (("fit -", "--format"), ("trace -", "--data-format"),
                        ("fit - --test -", "only once")):  # fmt: skip
        assert_refused(*words.split(), cwd=folder, said=said, exit_code=2)
    trace = ("trace", "t.svm", "--max-iter", 1)
    assert here(*trace, "--output", "-", cwd=folder).stdout == here(*trace, cwd=folder).stdout
    assert not (folder / "-").exists()


# svmlight text without labels, or with a byte-order mark.


def test_prediction_needs_no_labels(folder):
    here("fit", "t.svm", "--model", "m", cwd=folder)
    bare = "# rows\n\n  1:1 # one\n2:1\r\n\n 1:3 2:0.5"
    write(folder, "bare.svm", bare)
    write(folder, "same.svm", "0 1:1\n0 2:1\n0 1:3 2:0.5")
    shown = here("predict", "m", "bare.svm", "--scores", cwd=folder)
    assert (shown.returncode, shown.stdout.count("\n")) == (0, 3)
    assert shown.stdout == here("predict", "m", "same.svm", "--scores", cwd=folder).stdout
    for command in (("fit", "bare.svm"), ("score", "m", "bare.svm")):
        assert_refused(*command, cwd=folder, code="missing-value")
    write(folder, "mixed.svm", "1:1\n0 2:1\n")
    assert_refused("predict", "m", "mixed.svm", cwd=folder, code="bad-line")
    write(folder, "wrong.svm", "1:1\n2:x\n")
    assert_refused("predict", "m", "wrong.svm", cwd=folder, code="not-a-number")


def test_a_byte_order_mark_is_no_label(tmp_path):
    text = "1 1:2\n0 2:1\n"
    for name, codec in (("a.svm", None), ("a.svm.gz", "gzip")):
        path = tmp_path / name
        stream = pa.CompressedOutputStream(str(path), codec) if codec else path.open("wb")
        with stream as file:
            file.write(b"\xef\xbb\xbf" + text.encode())
        X, y = load_svmlight([path, path])
        assert y.tolist() == [1, 0, 1, 0]
        assert X.toarray()[:2].tolist() == [[2, 0], [0, 1]]


def test_a_killed_save_leaves_the_old_model_and_the_next_sweeps(tmp_path):
    model = Perceptron().fit([[0.0], [1.0]], [0, 1])
    path = linsep.save(model, tmp_path / "m")
    old = path.read_bytes()
    living = scratch_file(tmp_path, ".model")[1]  # of this process
    child = os.fork()
    if child == 0:  # as if killed in the midst of writing
        os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
        linsep.save(model, path, force=True)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 3
    assert path.read_bytes() == old
    linsep.save(model, path, force=True)
    assert {*tmp_path.iterdir()} == {path, Path(living)}
