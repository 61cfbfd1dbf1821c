"""What would be taken for something else is refused, with what to do."""

import pandas as pd

from command_line import assert_refused, here
from linsep import Text
from linsep.errors import DataError
from refusals import refused
from whole_files import load_table


def test_texts_are_no_table():
    for table in (pd.DataFrame({"t": ["a b", "c d"]}), {"t": ["a b"]}):
        with refused(DataError, "bad-value"):
            Text().fit_transform(table)


def test_no_text_of_a_folder_is_left_without_a_prediction(tmp_path):
    for label, text in (("ham", "see you"), ("spam", "win a prize")):
        (tmp_path / "mails" / label).mkdir(parents=True)
        (tmp_path / "mails" / label / "1.txt").write_text(text)
    (tmp_path / "mails" / "notes.md").write_text("about these mails")
    assert here("fit", "mails", "--text", "text", "--model", "m", cwd=tmp_path).returncode == 0
    inbox = tmp_path / "inbox"
    (inbox / "sub").mkdir(parents=True)
    for name in ("m1.txt", "m2.txt", "sub/m3.txt"):
        (inbox / name).write_text("win")
    assert_refused("predict", "m", "inbox", cwd=tmp_path, code="mixed-formats")
    done = here("predict", "m", "inbox/sub", cwd=tmp_path)
    assert done.stdout.split() == ["spam"]


def test_a_column_of_texts_alone_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("message text,kind\nhello you,ham\nwin now,spam\n")
    fit = ["fit", "a.csv", "--target", "kind", "--text", "message text", "--model", "m"]
    assert here(*fit, cwd=tmp_path).returncode == 0
    (tmp_path / "b.csv").write_text("message text\nhello you\nwin now\n")
    assert here("predict", "m", "b.csv", cwd=tmp_path).stdout.split() == ["ham", "spam"]
    with refused(DataError, "wrong-format", row=1, option="delimiter"):
        load_table(tmp_path / "b.csv", require_target=False)
    options = {"require_target": False, "text": "message text", "delimiter": ","}
    assert load_table(tmp_path / "b.csv", **options)[0].shape[0] == 2


def test_who_has_sentences_is_told_how_to_read_them(tmp_path):
    rows = "".join(f"{a} {b},{k % 2}\n" for k, (a, b) in enumerate(
        (x, y) for x in "abcdefghijkl" for y in "mnopqrstuvwx"))  # fmt: skip
    (tmp_path / "a.csv").write_text("name,kind\n" + rows)
    assert_refused("fit", "a.csv", "--target", "kind", cwd=tmp_path, code="column-type")


def test_a_missing_value_has_no_prediction(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,0\n2,1\n,1\n3,1\n")
    here(*["fit", "a.csv", "--target", "y", "--missing", "drop", "--model", "m"], cwd=tmp_path)
    done = here("predict", "m", "a.csv", cwd=tmp_path)
    assert "row 3, column 'a' has no value: fill it in or leave its prediction" in done.stderr
    assert "drop" not in done.stderr
