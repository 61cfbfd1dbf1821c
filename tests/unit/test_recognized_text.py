"""Text whose name does not say what it holds."""

import io

import pytest

from command_line import here
from linsep import open_source
from linsep.errors import DataError
from linsep.sources.formats import format_of
from refusals import refused

SVM = "+1 1:0.5 3:2\n-1 2:1\n+1 3:1\n-1 1:1\n"
VW = "1 |f red:0.5 small\n-1 2.5 'tag|f blue\n1 |f red\n-1 |f blue small\n"
#: text, and its format: None where it may be something else
LOOKS = {
    "svmlight": (SVM, "svmlight"),
    "svmlight with comments and blank lines": ("# made by hand\n\n" + SVM, "svmlight"),
    "svmlight with returns": (SVM.replace("\n", "\r\n"), "svmlight"),
    "svmlight with a mark": ("\ufeff" + SVM, "svmlight"),
    "rows of zeros among others": ("+1\n-1 2:1\n", "svmlight"),
    "pairs without labels": ("1:0.5 3:2\n2:1\n", "svmlight"),
    "ranking groups": ("1 qid:3 1:2\n", "svmlight"),
    "Vowpal Wabbit": (VW, "vw"),
    "without labels": ("|f red:0.5 small\n|f blue\n", "vw"),
    "tags": ("1 1.0 'a|f x\n0 'b|g y:2\n", "vw"),
    "numbers alone": ("1\n0\n1\n", None),
    "numbers between bars": ("1 | 2 | 3\n4 | 5 | 6\n", None),
    "a table between bars": ("a|b|y\n1|2|0\n", None),
    "commas": ("a,b,y\n1,2,0\n", None),
    "tabs": ("a\tb\ty\n1\t2\t0\n", None),
    "JSON": ('{"a": 1}\n{"a": 2}\n', None),
    "sentences": ("Dear all,\nthe file is here: see 3:4\n", None),
    "an odd line, which is named": (SVM + "1 3 4\n", "svmlight"),
    "many odd lines": (SVM + "1 3 4\n" * 4, None),
}


@pytest.mark.parametrize("name", ["rows", "rows.dat", "rows.data", "rows.scale", "rows.txt"])
@pytest.mark.parametrize("looks", LOOKS)
def test_first_lines_tell_the_format(tmp_path, name, looks):
    text, wanted = LOOKS[looks]
    path = tmp_path / name
    path.write_bytes(text.encode())
    if wanted is not None:
        assert format_of(path) == wanted
    else:
        with refused(DataError, "wrong-format"):
            format_of(path)


@pytest.mark.parametrize(("text", "what"), [(SVM, "svmlight text"), (VW, "Vowpal Wabbit's text")])
def test_commands_say_how_files_are_read(tmp_path, monkeypatch, text, what):
    (tmp_path / "rows.dat").write_text(text)
    (tmp_path / "more.dat").write_text(text)
    said = f"linsep: read as {what}, inferred from the first lines: "
    first = f"{said}rows.dat.\n"
    fitted = here("fit", "rows.dat", "--model", "m.linsep", cwd=tmp_path)
    assert (fitted.returncode, fitted.stderr) == (0, first)
    assert here("predict", "m.linsep", "rows.dat", cwd=tmp_path).stderr == first
    assert here("separate", "rows.dat", cwd=tmp_path).stderr.startswith(first)
    both = here("fit", "*.dat", cwd=tmp_path)
    assert (both.returncode, both.stderr) == (0, f"{said}more.dat and 1 more.\n")
    how = ("--format", "vw" if "|" in text else "svmlight")
    assert here("fit", "rows.dat", *how, cwd=tmp_path).stderr == ""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    fed = here("fit", "-", cwd=tmp_path)
    assert fed.stderr == f"{said}standard input.\n"
    assert fed.stdout.splitlines()[0] == fitted.stdout.splitlines()[0]


# lines that are refused


def test_lines_that_are_refused(tmp_path):
    path = tmp_path / "a.svm"
    for line in ("+1 3:1 2:1", "+1 qid:7 3:1", "+1 3:1 3:2"):
        path.write_text(SVM + line + "\n" + "+1 9:1 8:1\n")
        with pytest.raises(DataError) as problem:
            for _ in open_source(path).batches():
                pass
        assert (problem.value.path, problem.value.row) == (path, 5)


def test_a_comment_may_name_a_group(tmp_path):
    (tmp_path / "a.svm").write_text("+1 1:2 # qid:3 \n-1 2:1 #x qid:4\n")
    assert [batch.X.shape for batch in open_source(tmp_path / "a.svm").batches()] == [(2, 2)]
