"""Words, n-grams and their weights, against scikit-learn and the plain-Python twin."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.utils import get_tags, murmurhash3_32
from sklearn.utils.estimator_checks import (
    check_estimator,
    check_estimator_cloneable,
    check_estimator_repr,
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
)

from linsep import Text, textbook
from linsep.errors import DataError, ParameterError
from linsep.sources import text as counting
from refusals import refused
from thoroughness import examples

ALL = np.r_[:0xD800, 0xE000:0x110000].astype("<u4").tobytes().decode("utf-32-le")
ODD = "aAzZ09_ \t\n\u00a0\u2003.,-'éÉßİıΣσς\u0301\u0307ǅÅ日本\u200d😀𝐀𐐀ٱ²½\x1c\x85"
CUTS = st.fixed_dictionaries(
    {
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "ngram_range": st.tuples(st.integers(1, 3), st.integers(0, 3)).map(
            lambda pair: (pair[0], sum(pair))
        ),
        "lowercase": st.booleans(),
    }
)
letters = st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"]))
TEXTS = st.lists(st.text(letters, max_size=40), min_size=1, max_size=6)
RULES = [
    check_estimator_cloneable,
    check_estimator_repr,
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
]


def assert_same(ours, theirs, exactly=True):
    """Equal matrices, to the last bit, with the same values stored."""
    theirs.sort_indices()
    assert ours.shape == theirs.shape
    assert np.array_equal(ours.indptr, theirs.indptr)
    assert np.array_equal(ours.indices, theirs.indices)
    if exactly:
        assert np.array_equal(ours.data, theirs.data)
    else:
        assert np.allclose(ours.data, theirs.data, rtol=1e-14, atol=0)


def as_matrix(rows, n_columns):
    data = [(i, j, v) for i, row in enumerate(rows) for j, v in row.items()]
    i, j, v = zip(*data, strict=True) if data else ((), (), ())
    return sp.csr_matrix((np.array(v, float), (i, j)), shape=(len(rows), n_columns))


@pytest.mark.every
@examples(60)
@given(TEXTS, CUTS)
def test_the_twin_cuts_texts_as_scikit_learn(texts, cut):
    analyze = HashingVectorizer(**cut).build_analyzer()
    for text in texts:
        assert sorted(textbook.grams(text, **cut)) == sorted(analyze(text))


@examples(60)
@given(st.binary(max_size=20))
def test_the_twin_hashes_as_scikit_learn(key):
    assert textbook.murmurhash3(key) == murmurhash3_32(key, seed=0)


@pytest.mark.every
@examples(60)
@given(
    TEXTS,
    CUTS,
    st.sampled_from([1, 2, 7, 1 << 10, 1 << 18]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["l1", "l2", None]),
)
def test_hashed_columns_are_those_of_scikit_learn(texts, cut, n_features, signed, binary, norm):
    how = cut | {
        "n_features": n_features, "alternate_sign": signed, "binary": binary, "norm": norm,
    }  # fmt: skip
    found = Text(**how).fit_transform(texts)
    assert_same(found, HashingVectorizer(**how).transform(texts))
    terms = [textbook.grams(text, **cut) for text in texts]
    rows = [textbook.hashed_row(row, n_features, signed) for row in terms]
    rows = [textbook.weighted_row(row, binary=binary, norm=norm) for row in rows]
    assert_same(found, as_matrix(rows, n_features), exactly=False)


@examples(60)
@given(
    TEXTS,
    TEXTS,
    CUTS,
    st.fixed_dictionaries(
        {
            "min_df": st.sampled_from([1, 2, 0.0, 0.3]),
            "max_df": st.sampled_from([1.0, 0.6, 3]),
            "binary": st.booleans(),
            "sublinear_tf": st.booleans(),
            "use_idf": st.booleans(),
            "norm": st.sampled_from(["l1", "l2", None]),
        }
    ),
)
def test_vocabularies_and_weights_are_those_of_scikit_learn(texts, others, cut, how):
    theirs, ours = TfidfVectorizer(**cut, **how), Text(vocabulary=True, **cut, **how)
    try:
        theirs.fit(texts)
    except ValueError:
        with refused(DataError, "no-columns"):
            ours.fit(texts)
        return
    found = ours.fit_transform(texts)
    assert ours.vocabulary_ == theirs.vocabulary_
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert_same(found, theirs.transform(texts))
    assert_same(ours.transform(others), theirs.transform(others))


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("analyzer", "lowercase"), [("word", True), ("char", False), ("char_wb", True)]
)
def test_every_code_point(analyzer, lowercase):
    """Each between letters, between blanks, and all of them in one text of 4 MB."""
    texts = [ALL, *("".join(f"{c}{c}b {c} " for c in ALL[k::997]) for k in range(0, 997, 50))]
    how = {"analyzer": analyzer, "lowercase": lowercase, "ngram_range": (1, 2)}
    how["n_features"] = 1 << 20
    assert_same(Text(**how).transform(texts), HashingVectorizer(**how).transform(texts))


@pytest.mark.compiled  # long texts
@pytest.mark.parametrize(
    ("analyzer", "lowercase"), [("word", True), ("char", False), ("char_wb", True)]
)
def test_ascii_and_words_of_every_length(analyzer, lowercase):
    """ASCII has loops of its own, short words have, and more n-grams than are hashed at a time."""
    rng = np.random.default_rng(0)
    texts = ["".join(map(chr, rng.integers(0, 128, size))) for size in (0, 1, 2, 31, 33, 400, 1500)]
    texts += [" ".join("aZ_9"[n % 4] * n for n in range(40)), "ab" * 20, " ".join(["word"] * 300)]
    how = {"analyzer": analyzer, "lowercase": lowercase, "ngram_range": (1, 3)}
    hashed = {"n_features": 1 << 12}
    theirs = HashingVectorizer(**how, **hashed).transform(texts)
    assert_same(Text(**how, **hashed).transform(texts), theirs)
    ours, theirs = Text(vocabulary=True, **how), TfidfVectorizer(use_idf=False, **how)
    expected = theirs.fit_transform(texts)
    assert_same(ours.fit_transform(texts), expected)
    assert ours.vocabulary_ == theirs.vocabulary_


def test_signed_counts_keep_their_sign_under_a_logarithm():
    how = {"n_features": 3, "norm": None}
    texts = ["aa bb cc dd ee ff gg hh", "aa aa aa bb"]
    plain = Text(**how).transform(texts).toarray()
    assert (plain < 0).any()
    found = Text(sublinear_tf=True, **how).transform(texts).toarray()
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(plain, np.sign(plain) * (1 + np.log(np.abs(plain))), 0)
    assert np.array_equal(found, wanted)


def test_arrow_arrays_are_texts():
    texts = ["ab cd", "", "ef İx"]
    for kind in (pa.string(), pa.large_string()):
        column = pa.chunked_array(
            [pa.array(["no", *texts[:2]], kind)[1:], pa.array(texts[2:], kind)]
        )
        assert_same(Text().transform(column), Text().transform(texts))
    for texts in [[], ["", "a", ""]]:
        for column in (texts, pa.array(texts, pa.string())):
            assert_same(Text().transform(column), sp.csr_matrix((len(texts), 1 << 18)))


@pytest.mark.filterwarnings("ignore:Can't test estimator Text")
def test_scikit_learn_estimator_rules():
    """Those that need no numbers: ``check_estimator`` passes all text vectorizers over."""
    for check in RULES:
        check("Text", Text())
    check_estimator(Text(), on_fail=None)
    for tags, theirs in (
        (get_tags(Text()), get_tags(HashingVectorizer())),
        (get_tags(Text(vocabulary=True)), get_tags(TfidfVectorizer())),
    ):
        assert tags.input_tags == theirs.input_tags
        assert tags.requires_fit == theirs.requires_fit


def test_bad_parameters():
    for parameters, code in [
        ({"analyzer": "words"}, "bad-option"),
        ({"norm": "l3"}, "bad-option"),
        ({"ngram_range": (2, 1)}, "bad-option"),
        ({"ngram_range": 2}, "bad-option"),
        ({"ngram_range": (1, 101)}, "bad-option"),
        ({"n_features": 0}, "bad-option"),
        ({"n_features": 1 << 31}, "bad-option"),
        ({"vocabulary": True, "max_df": True}, "bad-option"),
        ({"min_df": 2}, "needs-option"),
    ]:
        with refused(ParameterError, code):
            Text(**parameters).fit(["ab"])


def test_bad_texts():
    for texts, code in [
        ("one", "bad-value"),
        (["a", None], "bad-value"),
        (["a", 1.5], "bad-value"),
        (["a", "b\ud800"], "encoding"),
        (pa.array(["a", None]), "missing-value"),
        (pa.array([1, 2]), "bad-value"),
    ]:
        with refused(DataError, code):
            Text().transform(texts)


def test_bytes_that_are_not_utf8():
    for bad in (b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"):
        fine = b"a\xc3\xa9\xce\xa3 "
        texts = pa.array([b"fine \xce\xa3", fine + bad + b" b"], pa.binary()).view(pa.string())
        for how in ({}, {"vocabulary": True}):
            with refused(DataError, "encoding", row=1):
                Text(**how).fit_transform(texts)


def test_a_vocabulary_beyond_its_bound(monkeypatch):
    texts = ["aa bb cc", "dd ee ff"]
    for name, value in (("MOST_TERMS", 4), ("MOST_BYTES", 8)):
        with monkeypatch.context() as patched:
            patched.setattr(counting, name, value)
            empty = counting.empty_vocabulary
            patched.setattr(
                counting, "empty_vocabulary", lambda *room, of=empty: of(*room or (4, 8))
            )
            with refused(DataError, "too-large"):
                Text(vocabulary=True).fit(texts)


@pytest.mark.compiled
def test_a_vocabulary_that_grows_counts_each_text_once():
    texts = [" ".join(f"w{k % 5000}" for k in range(n, n + 3000)) for n in range(0, 9000, 500)]
    theirs = TfidfVectorizer().fit(texts)
    ours = Text(vocabulary=True, use_idf=True).fit(texts)
    assert np.array_equal(ours.idf_, theirs.idf_)


@pytest.mark.parametrize(("bits", "pieces"), [(5, [3, 1, 2]), (18, [6]), (31, [1] * 6)])
def test_threads_and_pieces_change_nothing(bits, pieces, monkeypatch):
    """Rows, and the terms that name columns, whatever is counted at the same time."""
    words = [f"w{k * k % 701}" for k in range(3000)]
    texts = [" ".join(words[k::6]) + " é" for k in range(6)]
    column = pa.chunked_array(
        [texts[sum(pieces[:k]) : sum(pieces[: k + 1])] for k in range(len(pieces))]
    )
    monkeypatch.setattr(counting, "PIECE", 700)
    how = Text(n_features=min(1 << bits, (1 << 31) - 1))
    counter = counting.TextCounter(how, keep_terms=True)
    theirs = HashingVectorizer(n_features=how.n_features)
    assert_same(counter.rows(column), theirs.transform(texts))
    known, columns = counter.terms_kept()
    assert known == list(dict.fromkeys(" ".join(texts[k][:-2] for k in range(6)).split()))
    assert columns == theirs.transform(known).indices.tolist()


def test_terms_of_the_first_texts_are_kept(monkeypatch):
    monkeypatch.setattr(counting, "NAMED_BYTES", 20)
    counter = counting.TextCounter(Text(), keep_terms=True)
    for texts in (["aa bb"], ["cc dd aa"], ["ee"]):
        counter.rows(pa.array(texts))
    assert counter.terms_kept()[0] == ["aa", "bb", "cc", "dd"]  # which are all that have room


def test_bytes_that_are_not_utf8_behind_other_pieces(monkeypatch):
    monkeypatch.setattr(counting, "PIECE", 8)
    texts = pa.chunked_array([[b"aa bb cc dd"] * 3, [b"ee ff", b"gg \xff"]], pa.binary())
    for how in ({}, {"vocabulary": True}):
        counter = counting.TextCounter(Text(**how))
        with pytest.raises(counting.NotUtf8) as found:
            (counter.learn if how else counter.rows)(texts)
        assert found.value.text == 4


@pytest.mark.compiled
def test_loops_are_compiled_for_one_kind_of_buffers():
    """Arrow's own may be written to, those of a file may not; without letters there is none."""
    stored = pa.BufferOutputStream()
    with pa.ipc.new_stream(stored, pa.schema({"text": pa.string()})) as writer:
        writer.write_table(pa.table({"text": ["a b"]}))
    read = pa.ipc.open_stream(stored.getvalue()).read_all()["text"].chunk(0)
    for column in (pa.array(["a b"]), pa.array([""]), read):
        assert not counting.texts_of(column).data.flags.writeable
