"""docs/how-to/text.md is true: its Python, its commands on real messages, and its table."""

import csv
import gzip
import json

import numpy as np
import pytest

from documents import ROOT, run_commands
from linsep import PassiveAggressive, Text

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


def messages(shared_data):
    with gzip.open(shared_data / "text" / "sms_spam.tsv.gz", "rt") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    return [row for k, row in enumerate(rows) if k % 5], rows[::5]


def test_commands(shared_data, tmp_path):
    for name, rows in zip(("sms", "sms-test"), messages(shared_data), strict=True):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["kind", "message"], *rows])
    for k, (kind, text) in enumerate(messages(shared_data)[0][:500]):
        for path in (tmp_path / "mails" / kind / f"{k}.txt", tmp_path / "inbox" / f"{k}.txt"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    assert run_commands("docs/how-to/text.md", tmp_path) == 5


def cell(choice, column):
    lines = (ROOT / "docs/how-to/text.md").read_text("utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith(f"| {choice} |"))
    return float(line.split("|")[column + 2])


def right(learned, held_out, text, **parameters):
    (y, texts), (y_test, test) = (zip(*rows, strict=True) for rows in (learned, held_out))
    model = PassiveAggressive(C=0.3, keep="average", max_iter=10, **parameters)
    model.fit(text.fit_transform(texts), np.array(y))
    return round(100 * model.score(text.transform(test), np.array(y_test)), 2)


def test_the_table_on_messages(shared_data):
    found = right(*messages(shared_data), Text(analyzer="char_wb", ngram_range=(2, 5)))
    assert found == cell("`--analyzer char_wb --ngrams 2-5`", 1)
    assert found > cell("LinearSVC of scikit-learn on TfidfVectorizer's words", 0)


def test_the_table_on_newsgroups(shared_data):
    parts = []
    for part in ("train", "test"):
        with gzip.open(shared_data / "text" / f"20news.{part}.jsonl.gz", "rt") as lines:
            parts.append([(one["group"], one["text"]) for one in map(json.loads, lines)])
    text = Text(sublinear_tf=True, use_idf=True)
    found = right(*parts, text, multiclass="ovr")
    assert found == cell("`--sublinear --tf-idf`", 3)
    assert found > cell("LinearSVC of scikit-learn on TfidfVectorizer's words", 2)
