"""What a score of zero is in training: each note's perceptron, against the twin and by hand."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from test_worked_numbers import LONG, OVERLAP, XOR

from linsep import Perceptron, convergence, from_json, load, save, textbook, trace
from linsep.errors import ParameterError
from linsep.sources import ArraySource
from refusals import refused
from sharded import fit_in_shards
from storages import classes_of, per_pass, replayed, store
from thoroughness import examples

ZEROS = ("mistake", "negative", "correct")
SPARING = ZEROS[1:]
RULES = {"single": textbook.Perceptron, "batch": textbook.BatchPerceptron}
#: scheme, update, keep, storage
CASES = [
    ("binary", "single", "best", "dense64"), ("binary", "batch", "average", "dense32"),
    ("binary", "single", "vote", "csr64"), ("ovr", "single", "average", "csr32"),
    ("ovr", "batch", "best", "dense64"), ("ovo", "single", "last", "dense64"),
    ("ovo", "batch", "vote", "csr32"),
    pytest.param("ovr", "single", "last", "csr32", marks=pytest.mark.compiled),
]  # fmt: skip
small = st.integers(-2, 2)


def drawn(data, k, machines, zero, fit_intercept):
    """Rows of small whole numbers, whose scores are often zero, labels, and initial weights."""
    X = data.draw(st.lists(st.tuples(small, small), min_size=k, max_size=8))
    y = [*range(k), *(data.draw(st.integers(0, k - 1)) for _ in X[k:])]
    if zero != "correct" and data.draw(st.booleans()):
        return X, y, None, None
    coef = [[data.draw(small), data.draw(small)] for _ in range(machines)]
    intercept = [data.draw(small) * fit_intercept for _ in range(machines)]
    for w, b in zip(coef, intercept, strict=True):
        w[0] = w[0] or 1 - abs(b)  # no machine starts at zero
    return X, y, coef, intercept


def options_of(scheme, update, zero, **more):
    return {"multiclass": classes_of(scheme)[1], "update": update, "zero": zero, **more}


def start_of(scheme, coef, intercept):
    """Initial weights as the twin takes them."""
    if coef is None or scheme != "binary":
        return {"weights": coef, "intercept": intercept}
    return {"weights": coef[0], "intercept": intercept[0]}


@pytest.mark.parametrize(("scheme", "update", "keep", "storage"), CASES)
@examples(60, 15)
@given(st.data())
def test_every_rule_does_what_its_twin_does_to_the_bit(scheme, update, keep, storage, data):
    k, zero = classes_of(scheme)[0], data.draw(st.sampled_from(ZEROS))
    tie = data.draw(st.sampled_from(["negative", "positive"]))
    fit_intercept, shuffle = data.draw(st.booleans()), data.draw(st.booleans())
    X, y, coef, intercept = drawn(data, k, {2: 1, 3: 3}[k], zero, fit_intercept)
    counted = data.draw(st.sampled_from([None, [2, 1, 0.5, 0, 1, 1, 2, 4][: len(X)]]))
    steps = list(textbook.run(
        RULES[update](zero=zero), scheme, X, y, k, max_iter=7, tie=tie, fit_intercept=fit_intercept,
        row_weights=counted, orders=replayed(len(X), 0) if shuffle else None,
        **start_of(scheme, coef, intercept),
    ))  # fmt: skip
    model = Perceptron(max_iter=7, tie=tie, fit_intercept=fit_intercept, shuffle=shuffle, keep=keep,
                       **options_of(scheme, update, zero))  # fmt: skip
    model.fit(store(X, storage), y, coef, intercept if fit_intercept else None, counted)
    if model.stop_reason_ == "cycle":
        steps = [step for step in steps if step.pass_number < model.n_iter_]
    assert model.mistakes_.tolist() == per_pass(steps)
    assert model.n_updates_ == sum(step.updates for step in steps)
    twin = textbook.kept(steps, keep, scheme, k, tie=tie, X=X, y=y, row_weights=counted, zero=zero)
    W, b = (
        ([twin.weights], [twin.intercept]) if scheme == "binary" else (twin.weights, twin.intercept)
    )
    if keep == "average":  # sums of changes are not summed as weights are
        np.testing.assert_allclose(model.coef_, W, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(model.intercept_, b, rtol=1e-12, atol=1e-12)
    else:
        assert (model.coef_.tolist(), model.intercept_.tolist()) == (W, b)


def reflected_scores(scheme, weights, intercept, X, y, k):
    """y times the score of every row and each of its machines, exactly."""
    how = textbook.schemes.SCHEMES[scheme](k, "negative")
    machines = how.machines(weights, intercept)
    return [
        s.y * s.score for x, code in zip(X, y, strict=True) for s in how.show(machines, x, 1, code)
    ]


@pytest.mark.parametrize(
    ("update", "scheme"), [("single", "binary"), ("batch", "ovr"), ("single", "ovo")]
)
@examples(60, 10)
@given(st.data())
def test_converged_means_that_every_score_has_its_sign(scheme, update, data):
    k, zero = classes_of(scheme)[0], data.draw(st.sampled_from(ZEROS))
    fit_intercept = data.draw(st.booleans())
    X, y, coef, intercept = drawn(data, k, {2: 1, 3: 3}[k], zero, fit_intercept)
    start = {"coef_init": coef, "intercept_init": intercept if fit_intercept else None}
    model = Perceptron(max_iter=12, shuffle=data.draw(st.booleans()), fit_intercept=fit_intercept,
                       **options_of(scheme, update, zero))  # fmt: skip
    model.fit(np.array(X, float), y, **start)
    traced = trace(model, np.array(X, float), y, **start)
    assert (traced.stop_reason, traced.stopped) == (
        model.stop_reason_, f"{model.stop_reason_}: {model.stop_sentence_}"
    )  # fmt: skip
    W, b = (model.coef_[0], model.intercept_[0]) if k == 2 else (model.coef_, model.intercept_)
    signed = reflected_scores(scheme, W.tolist(), b.tolist(), X, y, k)
    if model.stop_reason_ in ("converged", "clean"):
        assert min(signed) >= 0
        assert (model.stop_reason_ == "converged") == (min(signed) > 0)
    if model.stop_reason_ == "clean":
        assert zero != "mistake"
        assert "do not separate the rows" in model.stop_sentence_
    if model.stop_reason_ == "converged" and scheme == "binary":
        assert model.separation(X, y).kind == "separable"
    if model.stop_reason_ == "cycle":
        assert model.cycle_.verify(X, y)
        assert from_json(model.cycle_.to_json()) == model.cycle_
        if scheme == "binary":
            assert model.cycle_.zero == zero
            assert model.separation(X, y).kind != "separable"


NOTES = [
    (LONG, "single", {
        "mistake": (232, 446, [-31, 12, 2], None), "negative": (173, 332, [-23, 10, 1], None),
        "correct": (112, 217, [-16, 8, 0], None),
    }),
    (LONG, "batch", {
        "mistake": (116, 115, [-33, 13, 2], None), "negative": (26, 25, [-13, 5, 1], None),
    }),
    (OVERLAP, "single", {
        "mistake": (130, None, None, (121, 130)), "negative": (126, None, None, (117, 126)),
        "correct": (119, None, None, (110, 119)),
    }),
    (OVERLAP, "batch", {"correct": (215, None, None, (201, 215))}),
]  # fmt: skip


def test_runs_of_the_notes():
    for run, update, zero, expected in [
        (run, update, zero, e) for run, update, by in NOTES for zero, e in by.items()
    ]:
        passes, updates, end, cycle = expected
        model = Perceptron(shuffle=False, update=update, zero=zero, fit_intercept=run.fit_intercept)
        model.fit(run.X, run.y, [run.weights], [run.intercept] if run.fit_intercept else None)
        assert model.n_iter_ == passes
        assert updates in (None, model.n_updates_)
        assert end in (None, [model.intercept_[0], *model.coef_[0]])
        found = model.cycle_
        assert (None if found is None else (found.first, found.again)) == cycle
        # What is said to separate the rows has no score of zero.
        signed = np.array(run.y) * (np.array(run.X) @ model.coef_[0] + model.intercept_[0])
        reason = "converged" if signed.min() > 0 else "clean"
        assert model.stop_reason_ == (reason if cycle is None else "cycle")


def test_exclusive_or_with_zeros_of_the_negative_class():
    """By hand: (1,1)+ 0 is a mistake; (1,-1)- and (-1,1)- have 0 and are right; (-1,-1)+ -2."""
    table = trace(Perceptron(fit_intercept=False, shuffle=False, zero="negative"), XOR.X, XOR.y)
    assert [row.scores for row in table] == [(0,), (0,), (0,), (-2,)]
    assert [row.mistakes for row in table] == [1, 0, 0, 1]
    assert [row.weights[0][1:] for row in table] == [(1, 1), (1, 1), (1, 1), (0, 0)]
    assert table.stop_reason == "cycle"


LEFT = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.array([1, 0, 0])


def test_a_clean_pass_with_zeros_does_not_separate(tmp_path):
    X, y = LEFT  # through 0: positive rows above 0, negative ones at 0
    model = Perceptron(fit_intercept=False, zero="negative").fit(X, y)
    assert (model.stop_reason_, model.n_iter_) == ("clean", 2)
    assert (X @ model.coef_[0]).tolist() == [1, 0, 0]
    assert model.predict(X).tolist() == [1, 0, 0]  # tie is "negative", too
    assert model.separation(X, y).kind == "quasi-separable"
    back = load(save(model, tmp_path / "m"))
    assert (back.stop_reason_, back.zero) == ("clean", "negative")


def test_accuracy_of_a_clean_pass_is_measured():
    """A run that separates its rows predicts all of them; zeros are predicted by ``tie``."""
    X, y = LEFT
    for tie, share in (("negative", 1.0), ("positive", 1 / 3)):
        model = Perceptron(fit_intercept=False, zero="negative", tie=tie).fit(ArraySource(X, y))
        assert model.stop_reason_ == "clean"
        assert model.training_accuracy_ == pytest.approx(share)
        assert model.score(X, y) == pytest.approx(share)


def test_correct_from_zero_is_refused():
    model = Perceptron(zero="correct")
    for act in (model.fit, partial(trace, model), partial(convergence, model)):
        with refused(ParameterError, "conflict"):
            act(XOR.X, XOR.y)


def test_correct_from_zero_is_refused_for_rows_that_come_later_and_one_machine_of_several():
    X, y = np.eye(3), [0, 1, 2]
    with refused(ParameterError, "conflict"):
        Perceptron(zero="correct", multiclass="ovr").partial_fit(X, y, classes=y)
    coef = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    with refused(ParameterError, "conflict"):
        Perceptron(zero="correct", multiclass="ovr").fit(X, y, coef)


def test_native_learning_of_several_classes_has_no_zero():
    X, y = np.eye(3), [0, 1, 2]
    model = Perceptron(zero="negative")
    for learn in (lambda: model.fit(X, y, X), lambda: model.partial_fit(X, y, classes=y)):
        with refused(ParameterError, "conflict", option="zero"):
            learn()


@examples(15, 5)
@given(st.data())
def test_shards_learn_by_the_rule_of_their_twin(data):
    mixing = "mistakes"
    X = data.draw(st.lists(st.tuples(small, small), min_size=8, max_size=8))
    y = [0, 1, *(data.draw(st.integers(0, 1)) for _ in X[2:])]
    *_, last = textbook.parameter_mixing(
        textbook.Perceptron(zero="negative"), "binary", [(X[:4], y[:4]), (X[4:], y[4:])],
        mixing=mixing, max_iter=5,
    )  # fmt: skip
    model = Perceptron(shuffle=False, zero="negative", max_iter=5)
    fit_in_shards(model, np.array(X, float), np.array(y), [4, 4], mixing)
    assert model.mixture_.mistakes[-1].tolist() == last.mistakes
    np.testing.assert_allclose(model.coef_, [last.weights], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("tie", "row"), [("negative", 0), ("positive", 2)])
def test_a_class_that_wins_a_tie_is_no_separation(tie, row):
    """The native rule makes no mistake in the zero row, whose scores are all zero."""
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.array([row, 0, 1, 2])
    model = Perceptron(fit_intercept=False, shuffle=False, tie=tie).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.separation(X, y).multinomial.kind != "separable"
    assert model.set_params(tie="random", max_iter=20).fit(X, y).stop_reason_ != "converged"
