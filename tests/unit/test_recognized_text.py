"""Text whose name does not say what it holds."""

import pytest

from command_line import here
from linsep import open_source
from linsep.errors import DataError
from linsep.sources.formats import format_of
from refusals import refused

SVM = "+1 1:0.5 3:2\n-1 2:1\n+1 3:1\n-1 1:1\n"
#: text, and its format: None where it may be something else
LOOKS = {
    "svmlight": (SVM, "svmlight"),
    "svmlight with comments and blank lines": ("# made by hand\n\n" + SVM, "svmlight"),
    "svmlight with a mark": ("\ufeff" + SVM, "svmlight"),
    "rows of zeros among others": ("+1\n-1 2:1\n", "svmlight"),
    "pairs without labels": ("1:0.5 3:2\n2:1\n", "svmlight"),
    "Vowpal Wabbit": ("1 |f red:0.5 small\n-1 2.5 'tag|f blue\n", None),
    "numbers alone": ("1\n0\n1\n", None),
    "a table between bars": ("a|b|y\n1|2|0\n", None),
    "commas": ("a,b,y\n1,2,0\n", None),
    "JSON": ('{"a": 1}\n{"a": 2}\n', None),
    "sentences": ("Dear all,\nthe file is here: see 3:4\n", None),
    "an odd line, which is named": (SVM + "1 3 4\n", "svmlight"),
    "many odd lines": (SVM + "1 3 4\n" * 4, None),
}


@pytest.mark.parametrize("name", ["rows", "rows.scale"])
def test_first_lines_tell_the_format(tmp_path, name):
    path = tmp_path / name
    for looks, (text, wanted) in LOOKS.items():
        path.write_bytes(text.encode())
        if wanted is not None:
            assert format_of(path) == wanted, looks
        else:
            with refused(DataError, "wrong-format"):
                format_of(path)


# lines that are refused


def test_lines_that_are_refused(tmp_path):
    path = tmp_path / "a.svm"
    for line in ("+1 3:1 2:1", "+1 qid:7 3:1", "+1 3:1 3:2"):
        path.write_text(SVM + line + "\n" + "+1 9:1 8:1\n")
        with pytest.raises(DataError) as problem:
            for _ in open_source(path).batches():
                pass
        assert (problem.value.path, problem.value.row) == (path, 5)


def test_no_text_of_a_folder_is_left_without_a_prediction(tmp_path):
    for name, text in (("mails/ham/1", "see you"), ("mails/spam/1", "win"), ("inbox/sub/2", "win")):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / f"{name}.txt").write_text(text)
    (tmp_path / "inbox" / "m1.txt").write_text("win")
    assert here("fit", "mails", "--text", "text", "--model", "m", cwd=tmp_path).returncode == 0
    assert here("predict", "m", "inbox", cwd=tmp_path).stdout.split() == ["spam", "spam"]
