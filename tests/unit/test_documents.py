"""Folders of texts, and hashed words of tables."""

import json
import random
import shutil
from email.message import EmailMessage

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_files

import linsep
from command_line import assert_refused, here
from linsep import LinearRegression, LogisticRegression, Perceptron, Text, load, open_source
from linsep.errors import DataError, SeparationWarning
from linsep.linear.least_squares import DependentFeaturesWarning
from linsep.plot import CoefficientDisplay
from linsep.sources.tables.documents import Documents, text_of_message
from parameters_in_order import last
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


@pytest.mark.compiled
def test_folders_are_labels_and_files_texts(mails):
    found = Documents([mails])
    assert rows_of(found) == [(TEXTS[name], name.split("/")[0]) for name in READ]
    assert [found.where(k) for k in range(6)] == [str(mails / name) for name in READ]
    assert found.n_rows == 6
    assert found.position == found.size == sum(len(TEXTS[name].encode()) for name in READ)


@pytest.mark.compiled
def test_a_text_beside_folders_of_texts_is_no_data(mails):
    """README.txt made svmlight text of the folder."""
    (mails / "README.txt").write_text("About these mails")
    assert [b.y.size for b in open_source(mails, text="text").batches()] == [len(READ)]
    (mails / "rows.svm").write_text("1 1:2\n")
    assert open_source(mails / "rows.svm").kind == "svmlight"
    with refused(DataError, "not-a-number", row=1):
        list(open_source(mails).batches())


@pytest.mark.compiled
def test_texts_are_those_of_scikit_learn(mails):
    """Which does not look into deeper folders."""
    (mails / "spam" / "deeper" / "3.txt").unlink()
    (mails / "spam" / "deeper").rmdir()
    (mails / "ham" / ".hidden").unlink()
    shutil.rmtree(mails / "ham" / ".git")
    theirs = load_files(mails, encoding="utf-8", shuffle=False)
    names = [theirs.target_names[code] for code in theirs.target]
    expected = sorted(zip(theirs.data, names, strict=True))
    assert sorted(rows_of(Documents([mails]))) == expected


@pytest.mark.compiled
def test_learning_mixes_the_labels_always_in_the_same_way(tmp_path):
    texts = {f"{label}/{k}": f"word{k}" for label in "ab" for k in range(200)}
    folder = written(tmp_path / "two", texts)
    first, second = (np.concatenate([b.y for b in open_source(folder).batches()]) for _ in "12")
    assert first.tolist() == second.tolist()
    assert sorted(first) == ["a"] * 200 + ["b"] * 200
    assert 60 < np.count_nonzero(first[:200] == "a") < 140
    fitted = Perceptron(shuffle=False).fit(open_source(folder))
    in_order = open_source(folder, recipe=fitted.recipe_)
    assert np.concatenate([b.y for b in in_order.batches()]).tolist() == sorted(first)


@pytest.mark.compiled
def test_the_model_is_that_of_the_same_texts_in_arrays(mails):
    fitted = Perceptron(max_iter=5).fit(open_source(mails))
    rows = rows_of(Documents([mails], mixed=True))
    X = Text().fit_transform([text for text, _ in rows])
    same = Perceptron(max_iter=5).fit(X, [label for _, label in rows])
    np.testing.assert_array_equal(fitted.coef_, same.coef_)
    vocabulary = open_source(mails, text={"text": Text(vocabulary=True)})
    learned = Perceptron(max_iter=5).fit(vocabulary)
    assert "text:cash" in learned.feature_names_in_


@pytest.mark.compiled
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


@pytest.mark.compiled
def test_messages_in_folders_are_texts(mails):
    mail = message("grüße", "Mittag", "latin-1")
    (mails / "ham" / "c.eml").write_bytes(bytes(mail))
    assert ("Mittag\n\ngrüße\n", "ham") in rows_of(Documents([mails]))


@pytest.mark.compiled
def test_predictions_come_in_the_order_of_names(mails, tmp_path):
    saved = here("fit", "mails", "--model", "m", "--max-iter", 20, cwd=tmp_path)
    assert saved.returncode == 0, saved.stderr
    assert "2 classes (ham, spam), 6 rows" in saved.stdout
    inbox = written(tmp_path / "inbox", {"1.txt": "cash prize win", "2.txt": "lunch at noon"})
    done = here("predict", "m", inbox, cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, ["spam", "ham"])
    done = here("score", "m", "mails", cwd=tmp_path)
    assert done.stdout.startswith("accuracy")
    (tmp_path / "new.csv").write_text("text\nwin cash now\n")
    assert here("predict", "m", "new.csv", cwd=tmp_path).stdout.split() == ["spam"]
    assert_refused("score", "m", inbox, cwd=tmp_path, code="unknown-column")


@pytest.mark.compiled
def test_what_cannot_be_read_is_named(mails, tmp_path):
    written(tmp_path, {"flat/a": "x", "flat/b": "y", "empty/.keep": "", "bare/a/.keep": ""})
    assert_refused("fit", "flat", cwd=tmp_path, code="no-file")
    assert_refused("fit", "empty", cwd=tmp_path, code="no-file")
    assert_refused("fit", "bare", cwd=tmp_path, code="no-rows")
    assert_refused("fit", "flat", "--format", "folder", cwd=tmp_path, code="unknown-column")
    written(mails, {"spam/4.txt": "caf\xe9".encode("latin-1")})
    assert_refused("fit", "mails", cwd=tmp_path, code="encoding")
    written(tmp_path, {"box.mbox": "From a@example.com\nSubject: S\n\nwin"})
    assert_refused("fit", "box.mbox", cwd=tmp_path, code="wrong-format")


@pytest.mark.compiled
def test_a_text_that_is_too_long_or_gone_is_named(mails):
    with refused(DataError, "too-large"):
        list(open_source(mails, max_line=20).batches())
    source = open_source(mails)
    (mails / "ham" / "b.txt").unlink()
    with refused(DataError, "file-changed"):
        list(source.batches())


@pytest.mark.compiled
def test_a_model_of_a_folder_is_saved_and_read(mails, tmp_path):
    fitted = Perceptron().fit(open_source(mails))
    back = linsep.load(linsep.save(fitted, tmp_path / "m"))
    assert back.recipe_ == fitted.recipe_
    assert back.recipe_["documents"] is True


WORDS = ["good", "bad", "film", "fun", "day", "sun", "rain"]  # signs of both kinds, no collisions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a text and a number, whose classes are not separable; and one where they are."""
    place, rng = tmp_path_factory.mktemp("texts"), random.Random(1)
    lines, separable = ["text,size,y,z"], ["text,y"]
    for _ in range(300):
        words = rng.sample(WORDS, rng.randint(1, 5))
        share = 0.3 + 0.3 * ("good" in words) - 0.2 * ("bad" in words)
        size = round(rng.gauss(50, 20), 1)
        lines.append(f"{' '.join(words)},{size},{int(rng.random() < share)},{rng.gauss(share, 1)}")
        separable.append(f"{' '.join(words)},{int('good' in words)}")
    (place / "a.csv").write_text("\n".join(lines) + "\n")
    (place / "s.csv").write_text("\n".join(separable) + "\n")
    return place


def sources(folder, target="y", file="a.csv", bits=6, **options):
    """The file with its words hashed, and with a column for each."""
    return [
        open_source(folder / file, target=target, text={"text": words}, **options)
        for words in (Text(n_features=1 << bits), Text(vocabulary=True))
    ]


def by_name(summary):
    """The coefficients of a summary that are not left out, by name."""
    return {row.name: row for row in summary.coefficients if row.status != "dependent"}


def assert_same_tables(hashed, own):
    assert hashed.keys() == own.keys()
    for name, row in own.items():
        assert hashed[name].status == row.status
        assert np.allclose(hashed[name][1:7], row[1:7], rtol=1e-6, atol=1e-9, equal_nan=True), name


@pytest.mark.compiled
@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"penalty": "firth"}, {"intervals": "profile"}])
def test_logistic_regression(folder, options):
    hashed, own = (
        LogisticRegression(**options).fit(s) for s in sources(folder, exclude=["z"], scale="none")
    )
    assert_same_tables(by_name(hashed.summary()), by_name(own.summary()))
    assert (
        hashed.summary().header == own.summary().header or options
    )  # iterations of profiles differ
    assert hashed.n_parameters_ == own.n_parameters_ == 9


@pytest.mark.compiled
def test_linear_regression(folder):
    found = sources(folder, "z", exclude=["y"], scale="standard")
    with pytest.warns(DependentFeaturesWarning, match=r"^text:column 0, .* and 51 more are zero"):
        hashed = LinearRegression().fit(found[0])
    own = LinearRegression().fit(found[1])
    assert_same_tables(by_name(hashed.summary()), by_name(own.summary()))
    assert "size" in hashed.summary().notes[0]
    terms = [sorted(str(model.equation_).split(" = ")[1].split(" ")) for model in (hashed, own)]
    assert terms[0] == terms[1]  # in the units of a column that was scaled


@pytest.mark.compiled
def test_names_of_weights_have_the_sign_of_the_column(folder):
    """What zips names with arrays agrees with the table."""
    hashed, own = (
        LogisticRegression().fit(s) for s in sources(folder, exclude=["z"], scale="none")
    )
    ratios, found = ({row.name: row for row in m.odds_ratios().coefficients} for m in (own, hashed))
    for name in WORDS:
        term = f"text:{name}"
        assert found[term].estimate == pytest.approx(ratios[term].estimate, rel=1e-5)
    assert {"-text:film", "-text:fun", "-text:day", "text:good"} < set(hashed.param_names_)
    drawn = CoefficientDisplay.from_estimator(hashed)
    rows = by_name(hashed.summary())
    assert set(drawn.names) == {"size", *(f"text:{name}" for name in WORDS)}
    assert drawn.estimates.tolist() == [rows[name].estimate for name in drawn.names]


@pytest.mark.compiled
def test_naive_bayes(folder):
    for file, words in (("h", ["--text-bits", "12"]), ("v", ["--vocabulary"])):
        fit = "fit a.csv --target y --exclude z --text text --learner naive-bayes --scale none"
        assert here(*fit.split(), "--model", file, *words, cwd=folder).returncode == 0
    tables = [json.loads(here("summary", m, "--json", cwd=folder).stdout) for m in "hv"]
    hashed, own = ({f["name"]: f for f in table["features"]} for table in tables)
    for name, feature in own.items():
        for number in ("means", "weights"):
            assert hashed[name][number] == pytest.approx(feature[number], rel=1e-6)
    shown = here("summary", "h", cwd=folder).stdout
    assert "text:film" in shown
    assert "column" not in shown


@pytest.mark.compiled
@pytest.mark.parametrize("memory", [1 << 30, 100])
def test_very_many_columns_are_no_parameters(folder, memory):
    """Of 2^14 columns those in no row are not counted, and have no limit of their own."""
    models = []
    for source in sources(folder, file="s.csv", bits=14):
        source.memory_bytes = memory
        with pytest.warns(SeparationWarning) as caught:
            models.append(LogisticRegression().fit(source))
        models[-1].limits_told = caught[0].message.limits
    hashed, own = models
    told = {name: w for name, w in hashed.limits_told.items() if w != "dependent"}
    assert told == own.limits_told
    assert hashed.n_parameters_ == own.n_parameters_ == 8
    statuses = [{name: row.status for name, row in by_name(m.summary()).items()} for m in models]
    assert statuses[0] == statuses[1]
    assert statuses[0]["text:good"] == "+inf"


@pytest.mark.compiled
def test_very_many_columns_in_memory(folder):
    """The maximum over very many columns is that over those in a row, which have a Hessian."""
    lines = [line.split(",") for line in (folder / "a.csv").read_text().splitlines()[1:]]
    X, y = Text().fit_transform([line[0] for line in lines]), [int(line[2]) for line in lines]
    used = np.unique(X.indices)
    wide = LogisticRegression(tol=1e-8).fit(X, y)
    narrow = LogisticRegression().fit(X[:, used], y)
    assert wide.n_parameters_ == narrow.n_parameters_ == 8
    assert np.allclose(wide.coef_[:, used], narrow.coef_, rtol=1e-5)
    assert np.count_nonzero(wide.coef_) == 7
    assert wide.log_likelihood_ == pytest.approx(narrow.log_likelihood_, rel=1e-9)
    assert wide.likelihood_ratio_[1] == narrow.likelihood_ratio_[1]
    assert np.isnan([wide.aic_, wide.bic_, *wide.likelihood_ratio_[::2]]).all()  # not proved
    penalized = LogisticRegression(l2=0.1).fit(X, y)
    assert not (last(penalized, "limits_") == "dependent").any()


@pytest.mark.compiled
def test_the_command_shows_words(folder):
    command = "fit a.csv --target y --exclude z --text text --learner logistic --model m"
    done = here(*command.split(), "--scale", "none", "--text-bits", "12", cwd=folder)
    assert "\ntext:good " in done.stdout
    assert "... and 4,089 that are dependent; --json has all" in done.stdout
    assert "column " not in done.stdout.split("\n\n")[1]
    table = json.loads(here("summary", "m", "--json", cwd=folder).stdout)["coefficients"]
    rows = {row["name"]: row["estimate"] for row in table}
    listed = json.loads(here("inspect", "m", "--json", cwd=folder).stdout)["weights"][0]["heaviest"]
    assert all(rows[name] == weight for name, weight in listed)
    assert np.isnan(load(folder / "m").bic_)
    assert table_bic(folder) is None
    done = here("summary", "m", "--top", "3", cwd=folder)
    assert "and 6 more, with smaller z and 4,089 that are dependent" in done.stdout


def table_bic(folder):
    return json.loads(here("summary", "m", "--json", cwd=folder).stdout)["header"]["BIC"]
