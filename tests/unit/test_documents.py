"""Folders of texts, and hashed words of tables."""

import json
import random
from email.message import EmailMessage

import numpy as np
import pyarrow as pa
import pytest

from command_line import assert_refused, here
from data_files import write
from linsep import LogisticRegression, Perceptron, Text, load, open_source
from linsep.errors import DataError
from linsep.sources.tables.documents import Documents, text_of_message
from refusals import refused

TEXTS = {
    "spam/1.txt": "win cash now, Größe 5",
    "spam/2": "cash prize, win",
    "spam/deeper/3.txt": "claim your prize now",
    "ham/1.txt": "see you at lunch",
    "ham/2.txt": "",
    "ham/b.txt": "lunch at noon\r\nor later?",
    "ham/.hidden": "cash cash cash",
    "ham/.git/config": "cash cash cash",
    "README": "not a text of a label",
}
READ = [name for name in sorted(TEXTS) if "/" in name and "/." not in name]


def written(folder, texts):
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.fixture
def mails(tmp_path):
    return written(tmp_path / "mails", TEXTS)


def message(text, subject=None, charset="utf-8", **how):
    made = EmailMessage()
    made["From"] = "a@example.com"
    if subject is not None:
        made["Subject"] = subject
    made.set_content(text, charset=charset, **how)
    return made


def rows_of(documents):
    table = pa.Table.from_batches(documents.chunks(documents.columns()))
    return [tuple(row.values()) for row in table.to_pylist()]


def test_folders_are_labels_and_files_texts(mails):
    found = Documents([mails])
    assert rows_of(found) == [(TEXTS[name], name.split("/")[0]) for name in READ]
    assert [found.where(k) for k in range(6)] == [str(mails / name) for name in READ]
    assert found.n_rows == 6
    assert found.position == found.size == sum(len(TEXTS[name].encode()) for name in READ)


def test_a_text_beside_folders_of_texts_is_no_data(mails):
    """README.txt made svmlight text of the folder."""
    (mails / "README.txt").write_text("About these mails")
    source = open_source(mails, text="text")
    assert [batch.y.size for batch in source.batches()] == [len(READ)]
    every = open_source(mails, recipe=source.recipe(), labeled=False)
    assert [batch.size for batch in every.batches()] == [
        len(READ) + 2
    ]  # as the top has a note, too
    (mails / "rows.svm").write_text("1 1:2\n")
    assert open_source(mails / "rows.svm").kind == "svmlight"
    with refused(DataError, "wrong-format"):
        list(open_source(mails).batches())


def test_learning_mixes_the_labels_always_in_the_same_way(tmp_path):
    texts = {f"{label}/{k}": f"word{k}" for label in "ab" for k in range(200)}
    folder = written(tmp_path / "two", texts)
    first, second = (np.concatenate([b.y for b in open_source(folder).batches()]) for _ in "12")
    assert first.tolist() == second.tolist()
    assert sorted(first) == ["a"] * 200 + ["b"] * 200
    assert 60 < np.count_nonzero(first[:200] == "a") < 140
    fitted = Perceptron(shuffle=False, max_iter=2).fit(open_source(folder))
    in_order = open_source(folder, recipe=fitted.recipe_)
    assert np.concatenate([b.y for b in in_order.batches()]).tolist() == sorted(first)


def test_the_model_is_that_of_the_same_texts_in_arrays(mails):
    fitted = Perceptron(max_iter=5).fit(open_source(mails))
    rows = rows_of(Documents([mails], mixed=True))
    X = Text().fit_transform([text for text, _ in rows])
    same = Perceptron(max_iter=5).fit(X, [label for _, label in rows])
    np.testing.assert_array_equal(fitted.coef_, same.coef_)
    vocabulary = open_source(mails, text={"text": Text(vocabulary=True)})
    learned = Perceptron(max_iter=5).fit(vocabulary)
    assert "text:cash" in learned.feature_names_in_


def test_messages_of_any_make_are_read():
    both = message("plain words", "S")
    both.add_alternative("<p>marked words</p>", subtype="html")
    both.add_attachment(b"\0\1", maintype="application", subtype="zip", filename="a.zip")
    assert text_of_message(bytes(both)) == "S\n\nplain words\n"
    only = message("<p>marked</p>", "S", subtype="html", cte="base64")
    assert text_of_message(bytes(only)) == "S\n\n<p>marked</p>\n"
    assert text_of_message(b"") == ""
    assert text_of_message(b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nx") == "Grüße\n\nx"
    unknown = b"Content-Type: text/plain; charset=klingon\nSubject: S\n\ncaf\xc3\xa9 \xff"
    assert text_of_message(unknown) == "S\n\ncafé \ufffd"
    assert text_of_message(b"Subject: caf\xe9\n\nx") == "caf\ufffd\n\nx"
    zipped = b"Content-Type: application/zip\nSubject: S\n\n\0\1"
    assert text_of_message(zipped) == "S"


def test_predictions_come_in_the_order_of_names(mails, tmp_path):
    saved = here("fit", "mails", "--model", "m", "--max-iter", 20, cwd=tmp_path)
    assert saved.returncode == 0, saved.stderr
    assert load(tmp_path / "m").recipe_["documents"] is True
    inbox = written(tmp_path / "inbox", {"1.txt": "cash prize win", "2.txt": "lunch at noon"})
    done = here("predict", "m", inbox, cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, ["spam", "ham"])
    (tmp_path / "new.csv").write_text("text\nwin cash now\n")
    assert here("predict", "m", "new.csv", cwd=tmp_path).stdout.split() == ["spam"]
    assert_refused("score", "m", inbox, cwd=tmp_path, code="unknown-column")


def test_what_cannot_be_read_is_named(mails, tmp_path):
    written(tmp_path, {"flat/a": "x", "flat/b": "y", "bare/a/.keep": ""})
    assert_refused("fit", "flat", cwd=tmp_path, code="no-file")
    assert_refused("fit", "bare", cwd=tmp_path, code="no-rows")
    assert_refused("fit", "flat", "--format", "folder", cwd=tmp_path, code="unknown-column")
    with refused(DataError, "too-large"):
        list(open_source(mails, max_line=20).batches())
    source = open_source(mails)
    (mails / "ham" / "b.txt").unlink()
    with refused(DataError, "no-file"):
        list(source.batches())
    written(mails, {"spam/4.txt": "caf\xe9".encode("latin-1")})
    assert_refused("fit", "mails", cwd=tmp_path, code="encoding")
    written(tmp_path, {"box.mbox": "From a@example.com\nSubject: S\n\nwin"})
    assert_refused("fit", "box.mbox", cwd=tmp_path, code="wrong-format")
    for label in ("u", "v"):
        written(tmp_path / "tables", {f"{label}/0.csv": "x,y\n1,2\n"})
    with refused(DataError, "wrong-format", path=tmp_path / "tables" / "u" / "0.csv"):
        open_source(tmp_path / "tables")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_tables_in_folders_have_the_columns_of_their_names(tmp_path, ending):
    for label, year, x in (("u", 2023, 1.0), ("v w", 2024, 2.0)):
        folder = tmp_path / "parts" / f"kind={label}".replace(" ", "%20") / f"year={year}"
        folder.mkdir(parents=True)
        write(folder, {"x": [x, x + 1], "y": [0, 1]}, ending)
    source = open_source(tmp_path / "parts", target="y")
    X = np.concatenate([batch.X.toarray() for batch in source.batches()])
    assert source.feature_names == ["x", "year", "kind=u", "kind=v w"]
    assert X.tolist() == [
        [1, 2023, 1, 0], [2, 2023, 1, 0], [2, 2024, 0, 1], [3, 2024, 0, 1],
    ]  # fmt: skip
    one = open_source(folder, recipe=source.recipe())
    assert next(one.batches()).X.toarray().tolist() == X[2:].tolist()
    assert open_source(folder, target="y").feature_names == ["x"]


WORDS = ["good", "bad", "film", "fun", "day", "sun", "rain"]  # signs of both kinds, no collisions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a text and a number, whose classes are not separable."""
    place, rng = tmp_path_factory.mktemp("texts"), random.Random(1)
    lines = ["text,size,y"]
    for _ in range(300):
        words = rng.sample(WORDS, rng.randint(1, 5))
        share = 0.3 + 0.3 * ("good" in words) - 0.2 * ("bad" in words)
        size = round(rng.gauss(50, 20), 1)
        lines.append(f"{' '.join(words)},{size},{int(rng.random() < share)}")
    (place / "a.csv").write_text("\n".join(lines) + "\n")
    return place


def by_name(summary):
    """The coefficients of a summary that are not left out, by name."""
    return {row.name: row for row in summary.coefficients if row.status != "dependent"}


def assert_same_tables(hashed, own):
    assert hashed.keys() == own.keys()
    for name, row in own.items():
        assert hashed[name].status == row.status
        assert np.allclose(hashed[name][1:7], row[1:7], rtol=1e-6, atol=1e-9, equal_nan=True), name


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"intervals": "profile"}])
def test_logistic_regression(folder, options):
    """With hashed words as with a column for each."""
    hashed, own = (
        LogisticRegression(**options).fit(
            open_source(folder / "a.csv", target="y", text={"text": words}, scale="none")
        )
        for words in (Text(n_features=64), Text(vocabulary=True))
    )
    assert_same_tables(by_name(hashed.summary()), by_name(own.summary()))
    assert dict(hashed.summary().header, iterations=0) == pytest.approx(
        dict(own.summary().header, iterations=0)  # those of profiles differ
    )
    assert hashed.n_parameters_ == own.n_parameters_ == 9


def test_the_command_shows_words(folder):
    command = "fit a.csv --target y --text text --learner logistic --model m"
    done = here(*command.split(), "--scale", "none", "--text-bits", "12", cwd=folder)
    assert "\ntext:good " in done.stdout
    told = json.loads(here("summary", "m", "--json", cwd=folder).stdout)
    rows = {row["name"]: row["estimate"] for row in told["coefficients"]}
    listed = json.loads(here("inspect", "m", "--json", cwd=folder).stdout)["weights"][0]["heaviest"]
    assert all(rows[name] == weight for name, weight in listed)
    assert np.isnan(load(folder / "m").bic_)
    assert told["header"]["BIC"] is None
