"""Text columns: their words as features, from raw files to predictions."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

import linsep
from command_line import assert_refused, here, table
from linsep import AROW, Text, open_source

ROWS = [
    ("spam", 2.5, "red", "Free prize, call now", "WIN"),
    ("ham", 1.0, "blue", "see you at home", "re: home"),
    ("spam", 3.0, "red", "call to claim your prize", "PRIZE claim"),
    ("ham", 0.5, "red", "call me, Élodie ΣΑΣ", ""),
    ("spam", 2.0, "blue", "", "free free entry"),
    ("ham", 1.5, "blue", "home now? see you", "lunch"),
]
NAMES = ["kind", "length", "color", "body", "subject"]

FIT_BODY = ["fit", "mail.csv", "--target", "kind", "--text", "body"]


@pytest.fixture
def folder(tmp_path):
    cells = [[a, b, c, f'"{d}"', f'"{e}"'] for a, b, c, d, e in ROWS]
    table(tmp_path, "mail.csv", NAMES, cells)
    return tmp_path


def read(path, **how):
    source = open_source(path, target="kind", **how)
    batches = list(source.batches())
    return sp.vstack([sp.csr_matrix(batch.X) for batch in batches]).toarray(), source


def column(number):
    return [row[number] for row in ROWS]


def test_words_stand_behind_numbers_and_indicators(folder):
    X, source = read(folder / "mail.csv", text=["body", "subject"])
    hashed = [HashingVectorizer(n_features=1 << 18).transform(column(k)).toarray() for k in (3, 4)]
    colors = np.array([[c == "blue", c == "red"] for c in column(2)])
    wanted = np.column_stack([column(1), colors, *hashed])
    assert np.array_equal(X, wanted)
    assert source.feature_names is None
    assert source.feature(0) == "feature 'length'"
    assert source.feature(1) == "feature 'color=blue'"
    place = 3 + int(np.flatnonzero(hashed[0][1])[0])
    assert source.feature(place)[9:-1] in {"body:see", "body:you", "body:at", "body:home"}


def test_a_vocabulary_for_one_column_and_characters_for_another(folder):
    how = {
        "body": Text(vocabulary=True, use_idf=True, ngram_range=(1, 2), min_df=2),
        "subject": Text(analyzer="char_wb", ngram_range=(3, 3), n_features=64, norm="l1"),
    }
    X, source = read(folder / "mail.csv", text=how, exclude=["length", "color"])
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2).fit(column(3))
    letters = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), n_features=64, norm="l1"
    ).transform(column(4))
    assert np.array_equal(
        X, np.column_stack([words.transform(column(3)).toarray(), letters.toarray()])
    )
    again, _ = read(folder / "mail.csv", recipe=json.loads(json.dumps(source.recipe())))
    assert np.array_equal(X, again)
    only, source = read(
        folder / "mail.csv", text={"body": how["body"]}, exclude=NAMES[1:3] + NAMES[4:]
    )
    assert source.feature_names == [f"body:{term}" for term in words.get_feature_names_out()]
    assert np.array_equal(only, words.transform(column(3)).toarray())


def test_from_raw_text_to_predictions(folder):
    options = ["--target", "kind", "--text", "body", "--text", "subject", "--reference", "ham"]
    done = here("fit", "mail.csv", *options, "--model", "m.linsep", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = here("predict", "m.linsep", "mail.csv", cwd=folder)
    assert done.stdout.split() == column(0)
    done = here("inspect", "m.linsep", "--top", "40", "--json", cwd=folder)
    shown = dict(json.loads(done.stdout)["weights"][0]["heaviest"])
    assert shown["body:prize"] > 0 > shown["body:home"]
    model = linsep.load(folder / "m.linsep")
    X, _ = read(folder / "mail.csv", text=["body", "subject"], scale="standard")
    same = AROW(keep="average", max_iter=10, reference="ham", random_state=0)
    assert np.array_equal(same.fit(sp.csr_matrix(X), column(0)).coef_, model.coef_)
    fit = [*FIT_BODY, "--text-bits", "2", "--exclude", "color", "--exclude", "subject"]
    assert here(*fit, "--model", "n.linsep", cwd=folder).returncode == 0
    shown = here("inspect", "n.linsep", "--top", "9", cwd=folder).stdout
    assert "(shares its column with " in shown
    terms, columns = linsep.load(folder / "n.linsep").recipe_["seen"]["body"]
    for term, place in zip(terms, columns, strict=True):
        assert HashingVectorizer(n_features=4).transform([term]).indices.tolist() == [place]


def test_a_vocabulary_on_the_command_line(folder):
    options = ["--vocabulary", "--ngrams", "1-2", "--min-df", "2", "--max-df", "0.9", "--tf-idf"]
    options += ["--sublinear", "--norm", "none", "--keep-case", "--binary", "--exclude", "color"]
    fit = [*FIT_BODY, "--exclude", "subject", *options]
    done = here(*fit, "--exclude", "length", "--model", "m.linsep", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    model = linsep.load(folder / "m.linsep")
    theirs = TfidfVectorizer(
        ngram_range=(1, 2), min_df=2, max_df=0.9, sublinear_tf=True, norm=None, lowercase=False,
        binary=True,
    ).fit(column(3))  # fmt: skip
    terms = [f"body:{term}" for term in theirs.get_feature_names_out()]
    assert model.get_feature_names_out().tolist() == terms
    assert here("predict", "m.linsep", "mail.csv", cwd=folder).returncode == 0


def test_bytes_that_are_not_utf8(folder):
    (folder / "bad.csv").write_bytes(b"kind,body\nspam,free prize\nham,caf\xe9 at\n")
    body = pa.array([b"fine", b"caf\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"kind": ["a", "b"], "body": body}), folder / "bad.parquet")
    for name, more in (("bad.csv", []), ("bad.parquet", []), ("bad.parquet", ["--vocabulary"])):
        fit = ("fit", name, "--target", "kind", "--text", "body", *more)
        assert_refused(*fit, cwd=folder, code="encoding", said=f"{name} row 2, column 'body'")


#: options that are refused, with the code of the error, None for wrong use
REFUSED = [
    ("--text length", "column-type"), ("--text bodi", "unknown-column"),
    ("--text kind", "column-role"), ("--text body --exclude body", "column-role"),
    ("--tf-idf", None), ("--text body --min-df 2", None), ("--text body --min-df 1.5", None),
    ("--text body --ngrams 2-1", None), ("--text body --vocabulary --text-bits 9", None),
    ("--text body --vocabulary --min-df 7", "no-columns"),
]  # fmt: skip


def test_refusals(folder):
    fit = ["fit", "mail.csv", "--target", "kind", "--exclude", "subject"]
    for words, code in REFUSED:
        assert_refused(*fit, *words.split(), cwd=folder, code=code, exit_code=1 if code else 2)
    table(folder, "other.csv", ["kind", "subject"], [["ham", "home"]])
    two = "fit mail.csv other.csv --target kind --text body --text subject"
    assert_refused(*two.split(), cwd=folder, code="unknown-column")
    (folder / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    assert_refused("fit", "rows.svm", "--text", "a", cwd=folder, code="conflict")


@pytest.mark.parametrize("how", [
    ["--vocabulary", "--tf-idf", "--ngrams", "1-2", "--min-df", "2"],
    ["--text-bits", "9", "--norm", "none", "--binary", "--keep-case", "--analyzer", "char"],
])  # fmt: skip
def test_a_verdict_on_words_is_proved_and_verified(tmp_path, how):
    texts = ["Free entry", "free prize now", "see you now", "you said so", "so free we are", "ok"]
    rows = [f"{'spam' if 'ree' in text else 'ham'},{k},{text}" for k, text in enumerate(texts)]
    given = ["--target", "kind", "--text", "text", "--exclude", "w", *how]
    for verdict in ("separable", "quasi-separable"):
        (tmp_path / "t.csv").write_text("\n".join(["kind,w,text", *rows]) + "\n")
        rows.append("ham,0,Free entry")
        words = ("separate", "t.csv", *given, "--proof", "p.json", "--force")
        done = here(*words, cwd=tmp_path)
        assert done.stdout.startswith(f"verdict     {verdict}")
        command = re.search("linsep (verify .*)", done.stdout)[1].split()
        assert {*given} < {*command}
        assert here(*command, cwd=tmp_path).returncode == 0
        other = here("verify", "p.json", "t.csv", *given, "--sublinear", cwd=tmp_path)
        assert (other.returncode, "read with words" in other.stderr) == (1, True)
