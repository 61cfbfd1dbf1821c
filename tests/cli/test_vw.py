"""Vowpal Wabbit's text: learning, predicting and scoring, and what is refused."""

import json
import random

import numpy as np
import pytest
import scipy.sparse as sp

from command_line import assert_refused, here
from linsep import Perceptron, open_source
from linsep.errors import DataError
from linsep.sources.vw import Rules, VwSource
from refusals import refused
from whole_files import parse_vw

WORDS = ["free", "prize", "call", "home", "see", "you", "win", "12", "été"]


def lines(n=120, seed=0):
    draw = random.Random(seed)
    for k in range(n):
        words = draw.sample(WORDS, draw.randint(1, 5))
        spam = "free" in words or "prize" in words
        weight = draw.choice(["", " 0.5", " 3", " 0"])
        yield (
            f"{1 if spam else -1}{weight} 'm{k}|words {' '.join(words)} "
            f"|numbers:0.5 length:{len(words)} hour:{draw.random():.3f}\n"
        )


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "mail.vw"
    path.write_text("".join(lines()))
    return path


def rows(rules):
    """The rows of the plain parser as arrays."""
    found = [parse_vw(line.rstrip("\n").encode(), rules) for line in lines()]
    X = sp.lil_matrix((len(found), 1 << rules.bits))
    for k, row in enumerate(found):
        for column, value in row[3].items():
            X[k, column] = value
    labels, weights = ([row[part] for row in found] for part in (0, 1))
    return X.tocsr(), np.array(labels), np.array(weights)


def test_a_file_is_learned_as_its_rows(text):
    for options, how, rules in [
        ({}, {}, Rules()),
        (
            {"interactions": ["wn", "ww"], "hash_bits": 10, "ignore_namespaces": "x"},
            {"early_stopping": True},
            Rules(10, ((ord("w"), ord("n")), (ord("w"), ord("w")))),
        ),
        ({"keep_namespaces": "n", "hash_bits": 5}, {"keep": "best"}, Rules(5, (), NOT_NUMBERS)),
    ]:
        X, y, weights = rows(rules)
        theirs = Perceptron(max_iter=4, **how).fit(X, y, sample_weight=weights)
        source = open_source(text, **options)
        ours = Perceptron(max_iter=4, **how).fit(source)
        assert np.array_equal(ours.coef_, theirs.coef_)
        assert np.array_equal(ours.intercept_, theirs.intercept_)
        again = open_source(text, recipe=ours.recipe_)
        assert again.recipe() == source.recipe() == open_source(text, **as_lists(options)).recipe()
        assert ours.score(again) == pytest.approx(theirs.score(X, y, weights), abs=1e-14)
        assert (X != next(iter(again.batches())).X).nnz == 0


def as_lists(options):
    return {k: list(v) if k.endswith("namespaces") else v for k, v in options.items()}


NOT_NUMBERS = frozenset(range(256)) - {ord("n")}


def test_the_commands(text, tmp_path):
    learn = ["fit", text, "--interactions", "wn", "--hash-bits", "12", "--model", "m.linsep"]
    summary = json.loads(here(*learn, "--test", text, "--json", cwd=tmp_path).stdout)
    assert (summary["features"], summary["test"]["rows"]) == (4096, 120)
    weights = [float(line.split("'")[0][2:].strip() or 1) for line in lines()]
    assert summary["test"]["weight"] == sum(weights)
    new = tmp_path / "new.vw"
    new.write_text("".join("|" + line.split("|", 1)[1] for line in lines()))
    with_labels = here("predict", "m.linsep", text, cwd=tmp_path).stdout
    assert here("predict", "m.linsep", new, cwd=tmp_path).stdout == with_labels
    assert_refused("score", "m.linsep", new, cwd=tmp_path, code="missing-value")
    text.with_suffix(".csv").write_text("a,y\n1,2\n")
    assert_refused("predict", "m.linsep", "mail.csv", cwd=tmp_path, code="wrong-format")
    assert_refused("fit", text, "mail.csv", cwd=tmp_path, code="mixed-formats")
    for words, code in (
        ((text, "--target", "y"), "conflict"), ((text, "--interactions", "abc"), "bad-option"),
        ((text, "--index-base", "1"), "conflict"),
        (("mail.csv", "--target", "y", "--interactions", "ab"), "conflict"),
    ):  # fmt: skip
        assert_refused("fit", *words, cwd=tmp_path, code=code)


def test_separate_leaves_out_importance_0(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("1 | a\n-1 0 | a\n\n-1 | b\n")
    done = here("separate", path, "--hash-bits", "5", cwd=tmp_path)
    assert "separable" in done.stdout
    source = VwSource([path], bits=5)
    assert sum(batch.X.shape[0] for batch in source.exactly()) == 2
    assert source.where(1).endswith("line 4")
    assert sum(batch.X.shape[0] for batch in source.batches()) == 3
    assert source.where(1).endswith("line 2")


LINES = [
    ("1 2 3 4 | a", "bad-line"), ("1,2 | a", "bad-value"), ("1:0.5 | a", "bad-value"),
    ("shared | a", "unsupported"), ("1| a", "bad-line"), ("| a", "missing-value"),
    ("1 a b", "bad-line"), ("spam | a", "not-a-number"), ("nan | a", "not-finite"),
    ("1e400 | a", "not-exact"), ("9007199254740993 | a", "not-exact"),
    ("1 -2 | a", "out-of-range"), ("1 inf | a", "not-finite"), ("1 1 0.5 | a", "unsupported"),
    ("1 |:2 a", "bad-line"), ("1 |a:b c", "not-a-number"), ("1 | a:", "missing-value"),
    ("1 | a:1e400", "overflow"), ("1 | a:nan", "not-finite"), ("1 | a:1:2", "not-a-number"),
    ("1 | :word", "bad-line"), ("1 |n:1e200 a:1e200", "overflow"),
    ("1 |a x:1e200 |b y:1e200", "overflow"), ("1 | x:1e308 x:1e308", "overflow"),
    (b"1 | caf\xe9", "encoding"),
]  # fmt: skip


def test_lines_that_are_refused(tmp_path):
    path = tmp_path / "bad.vw"
    for line, code in LINES:
        text = line if isinstance(line, bytes) else line.encode()
        path.write_bytes(b"1 |a x\n\n" + text + b"\n")
        with refused(DataError, code, path=path, row=3):
            list(open_source(path, interactions="ab").batches())


def test_interactions_that_are_too_many(tmp_path):
    """Four thousand features times as many are gigabytes in some lines: a sentence says so."""
    (tmp_path / "rows.vw").write_text("1 |a b |c d\n-1 |a e |c f\n")
    fit = ["fit", "rows.vw", "--interactions", "ac", "--model", "m.linsep"]
    assert here(*fit, cwd=tmp_path).returncode == 0
    words = " ".join(f"w{k}" for k in range(4_000))
    (tmp_path / "wide.vw").write_text(f"1 |a {words} |c {words}\n" * 20)
    assert_refused("predict", "m.linsep", "wide.vw", cwd=tmp_path, code="too-large", exit_code=1)
