"""Errors in the words of who reads them: parameters in Python, options on the command line."""

import re

import pytest

import linsep
from command_line import assert_refused, here
from linsep.errors import DataError, LinsepError, hint
from linsep.sources import open_source
from linsep.sources.tables.table import TableSource

pytestmark = pytest.mark.compiled

ROWS = "a,t,kind\n1,p,x\n2,q,y\n3,p,x\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS)
    (tmp_path / "hole.csv").write_text("a,t,kind\n1,p,x\n,q,y\n")
    (tmp_path / "typo.csv").write_text("a,t,kind\n1,p,x\n2x,q,y\n")
    (tmp_path / "bare.csv").write_text("a,t\n1,p\n")
    (tmp_path / "gap.csv").write_text("a,t,kind\n1,p,x\n2,q,\n")
    (tmp_path / "zero.svm").write_text("1 0:1\n")
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n")
    assert here("fit", "t.csv", "--target", "kind", "--model", "m", cwd=tmp_path).returncode == 0
    assert here("fit", "t.svm", "--model", "s", cwd=tmp_path).returncode == 0
    return tmp_path


def test_ways_are_told_in_the_words_of_python():
    error = DataError(
        "a.csv has {odd} rows",
        "mend it",
        hint("drop {}", missing="drop", exclude=["it's"], force=True),
    )
    assert str(error) == (
        'a.csv has {odd} rows: mend it or drop missing="drop", exclude=["it\'s"] and force=True.'
    )
    assert str(error.at("x: ")).startswith("x: a.csv has")
    assert str(error.of_model()) == (
        'a.csv has {odd} rows: mend it or retrain the model with missing="drop", exclude=["it\'s"] '
        "and force=True."
    )
    assert error.render(lambda hint: None) == "a.csv has {odd} rows: mend it."
    assert str(LinsepError("A whole sentence.")) == "A whole sentence."


def test_python_users_read_parameters(folder):
    def said(action):
        with pytest.raises(LinsepError) as caught:
            action()
        assert "--" not in str(caught.value)
        return str(caught.value)

    def read(name, **options):
        return lambda: list(open_source(folder / name, **options).batches())

    assert 'missing="drop"' in said(read("hole.csv", target="kind"))
    assert 'exclude=["a"]' in said(read("hole.csv", target="kind"))
    assert "name it with target." in said(read("t.csv"))
    assert "leave out index_base." in said(read("t.csv", target="kind", index_base=1))
    assert "leave out target and hash_bits." in said(read("t.svm", target="kind", hash_bits=3))
    assert "index_base=0" in said(read("zero.svm", index_base=1))
    model = linsep.load(folder / "m")
    assert "force=True" in said(lambda: linsep.save(model, folder / "m"))
    assert 'retrain the model with missing="zero"' in said(read("hole.csv", recipe=model.recipe_))


def test_command_users_read_options(folder):
    fit = ("fit", "hole.csv", "--target", "kind")
    assert_refused(*fit, cwd=folder, code="missing-value")
    assert_refused("fit", "t.csv", cwd=folder, code="no-labels")
    assert_refused("fit", "zero.svm", "--index-base", 1, cwd=folder, code="out-of-range")
    assert_refused("fit", "t.svm", "--hash-bits", 3, cwd=folder, code="conflict")
    assert_refused("fit", "t.svm", "--model", "m", cwd=folder, code="file-exists")
    assert_refused("trace", "hole.csv", "--target", "kind", cwd=folder, code="missing-value")
    fit = ("fit", "t.svm", "--early-stopping", "--validation-fraction", "0.01")
    assert_refused(*fit, cwd=folder, code="too-few-rows")
    names = "a b,t,kind\n,p,x\n"
    (folder / "spaced.csv").write_text(names)
    assert_refused("fit", "spaced.csv", "--target", "kind", cwd=folder, code="missing-value")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "predict m hole.csv",
            "line 3, column 'a' has no value: fill it in, retrain the model with ",
        ),
        (
            "predict m typo.csv",
            "holds '2x', not a number: correct it or retrain the model",
        ),
        (
            "score m bare.csv",
            "no label column 'kind', which the model was trained on, only a, t: add",
        ),
        ("score m gap.csv", "no label .*: fill it in or retrain the model with --missing drop"),
        ("predict s zero.svm", "line 1: the index is 0, .*: retrain the model with --index-base 0"),
        ("fit t.csv --target kind --test bare.csv", "bare.csv has no label column 'kind', which"),
    ],
)
def test_what_a_model_fixes_is_for_learning_it_again(folder, command, said):
    done = here(*command.split(), cwd=folder)
    assert done.returncode == 1
    assert re.search(said, done.stderr), done.stderr
    before, _, _ = done.stderr.partition("retrain the model with")
    assert not re.search("--(missing|exclude|target|index-base)", before)


def test_one_column_to_leave_out_may_be_a_string(folder):
    source = TableSource([folder / "t.csv"], target="kind", exclude="a")
    assert [batch.X.shape[1] for batch in source.batches()] == [2]
    assert source.recipe()["exclude"] == ["a"]
    source = open_source(folder / "t.csv", target="kind", exclude="t")
    assert [batch.X.shape[1] for batch in source.batches()] == [1]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--max-iter", "0", "--max-iter must be a whole number of at least 1, not"),
        ("--max-iter", "1.5", "--max-iter must be a whole number of at least 1, not '1.5'"),
        (
            "--learning-rate",
            "0",
            "--learning-rate must be a number above 0 or 'auto' with --learner logistic, not '0'",
        ),
        ("--learning-rate", "nan", "'auto' with --learner logistic, not 'nan'"),
        ("--validation-fraction", "1", "must be a number above 0 and below 1, not '1'"),
        ("--tie", "never", "--tie must be one of 'negative', 'positive', 'random', not 'never'"),
        ("--missing", "skip", "--missing must be one of 'error', 'zero', 'drop', 'mean', not 's"),
        ("--hash-bits", "31", "whole number of at least 1 and at most 30, not '31'"),
        ("--index-base", "2", "--index-base must be a whole number of at least 0 and at most 1"),
        ("--random-state", "-1", "at least 0 and at most 4294967295, not '-1'"),
        ("--learner", "svm", "--learner must be one of 'perceptron', .*'pa'"),
        ("--bogus", "1", "no such option: --bogus.*; see `.* fit --help`"),
    ],
)
def test_values_that_options_do_not_take_are_wrong_use(folder, option, value, said):
    assert_refused(
        "fit", "t.csv", option, value, cwd=folder, said=rf"^linsep: error: .*{said}", exit_code=2
    )


def test_options_that_do_not_go_together_are_wrong_use(folder):
    trace = ("trace", "t.svm", "--early-stopping")
    assert_refused(*trace, cwd=folder, code="bad-option", exit_code=2)
    (folder / "three.svm").write_text("0 1:1\n1 2:1\n2 3:1\n")
    fit = ("fit", "three.svm", "--learner", "balanced-winnow", "--threshold", 1)
    assert_refused(*fit, cwd=folder, code="conflict", exit_code=2)
    assert_refused(
        "fit", "t.svm", "--C", 2, cwd=folder, said="--C is for --learner pa", exit_code=2
    )
    assert here(cwd=folder).returncode == 2


def test_an_option_without_its_value_points_to_the_help_of_its_command(folder):
    said = "^linsep: error: option '--target' requires an argument; see `linsep fit --help`"
    assert_refused("fit", "t.csv", "--target", cwd=folder, said=said, exit_code=2)


def test_wrong_use_is_one_sentence(folder):
    for words in (
        ["fit"],
        ["learn"],
        ["--bogus"],
        ["fit", "t.csv", "--max-iter"],
        ["inspect", "m", "--top=x"],
    ):
        done = here(*words, cwd=folder)
        assert done.returncode == 2
        assert re.fullmatch(r"linsep: error: [^\n]+\.\n", done.stderr), done.stderr
