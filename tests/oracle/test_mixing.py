"""Iterative parameter mixing against its plain-Python twin, and its mistake bound."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linsep import PassiveAggressive, Perceptron, textbook
from linsep.errors import ParameterError
from linsep.learners.mixing import fit_in_shards

RULES = {Perceptron: textbook.Perceptron(), PassiveAggressive: textbook.PassiveAggressive()}


def cut(X, codes, rows):
    edges = np.cumsum([0, *rows])
    return [(X[a:b].tolist(), codes[a:b].tolist()) for a, b in pairwise(edges)]


def drawn(seed, n_classes, rows, separable=False, whole=True):
    random = np.random.default_rng(seed)
    X = random.integers(-4, 5, (sum(rows), 3)).astype(float)
    X = X if whole else X + random.random(X.shape)
    score = X @ [1, -2, 1] + 0.5
    y = score > 0 if n_classes == 2 else np.digitize(score, [-3, 3])
    if not separable:
        y = np.where(random.random(len(y)) < 0.1, 0, y)
        y[:n_classes] = np.arange(n_classes)
    return X, y.astype(int)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 1000), st.sampled_from([2, 3]), st.lists(st.integers(4, 20), min_size=1,
    max_size=10), st.sampled_from(["uniform", "mistakes"]),
    st.sampled_from(["native", "ovr", "ovo"]),
)  # fmt: skip
@pytest.mark.parametrize("learner", [Perceptron, PassiveAggressive])
def test_the_same_as_in_plain_python(learner, seed, n_classes, rows, mixing, multiclass):
    X, y = drawn(seed, n_classes, rows, whole=False)  # no score is nearly zero
    scheme = "binary" if n_classes == 2 else multiclass
    *_, last = textbook.parameter_mixing(
        RULES[learner], scheme, cut(X, y, rows), n_classes, mixing=mixing, max_iter=4
    )
    for keep, weights, intercept in (
        ("last", last.weights, last.intercept),
        ("average", last.average, last.average_intercept),
    ):
        model = learner(multiclass=multiclass, shuffle=False, max_iter=4, keep=keep)
        fit_in_shards(model, X, y, rows, mixing)
        np.testing.assert_allclose(model.coef_, np.atleast_2d(weights), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            model.intercept_, np.atleast_1d(intercept), rtol=1e-12, atol=1e-12
        )
        assert model.mixture_.mistakes[-1].tolist() == last.mistakes
        np.testing.assert_allclose(model.mixture_.shares[-1], last.mixture)


@pytest.mark.parametrize("shards", [2, 4, 32])
def test_the_same_bits_where_every_sum_is_exact(shards):
    rows = [6] * shards
    X, y = drawn(9, 2, rows)
    *_, last = textbook.parameter_mixing(
        textbook.Perceptron(), "binary", cut(X, y, rows), max_iter=5
    )
    model = fit_in_shards(Perceptron(shuffle=False, max_iter=5), X, y, rows)
    assert np.array_equal(model.coef_, [last.weights])


@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_one_shard_is_an_ordinary_fit(keep, shuffle):
    X, y = drawn(3, 3, [70])
    how = {"keep": keep, "shuffle": shuffle, "max_iter": 6, "random_state": 5}
    one, mixed = Perceptron(**how).fit(X, y), fit_in_shards(Perceptron(**how), X, y, [70])
    assert mixed.mistakes_.tolist() == one.mistakes_.tolist()
    assert mixed.stop_reason_ == one.stop_reason_
    assert mixed.progressive_accuracy_ == one.progressive_accuracy_
    if keep == "last":
        assert np.array_equal(mixed.coef_, one.coef_)
    np.testing.assert_allclose(mixed.coef_, one.coef_, rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("mixing", ["uniform", "mistakes"])
@pytest.mark.parametrize("multiclass", ["native", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_bound_of_mixing_is_kept(mixing, multiclass, n_classes):
    rows = [10, 25, 5, 12]
    X, y = drawn(4, n_classes, rows, separable=True)
    if n_classes == 3:
        X = np.column_stack([X, 9.0 * np.eye(3)[y]])
    model = fit_in_shards(Perceptron(multiclass=multiclass, shuffle=False), X, y, rows, mixing)
    assert model.stop_reason_ == "converged"
    found = model.bounds(X, y)
    weighted = found["parameter mixing"]
    assert weighted.kept
    assert weighted.counted == model.mixture_.weighted_mistakes < model.mistakes_.sum()
    every = found["parameter mixing, all shards"]
    assert every.kept
    assert every.counted == model.mistakes_.sum()
    assert every.value == 4 * weighted.value
    assert found["||w||/M"].kept
    assert weighted.value == pytest.approx(
        Perceptron(multiclass=multiclass).fit(X, y).bounds(X, y)["Novikoff"].value
    )


def test_a_clean_pass_changes_no_bit_and_separates_all_rows():
    rows = [7] * 3  # three equal weights, summed and divided, need not be those weights
    X, y = drawn(8, 2, rows, separable=True)
    model = fit_in_shards(Perceptron(learning_rate=0.1), X, y, rows)
    assert model.stop_reason_ == "converged"
    assert model.score(X, y) == 1.0
    assert model.mixture_.mistakes[-1].tolist() == [0, 0, 0]


def test_empty_shards_and_labels_that_some_shards_lack():
    X, y = drawn(5, 3, [40])
    order = np.argsort(y, kind="stable")
    for multiclass in ("native", "ovr", "ovo"):
        how = {"multiclass": multiclass, "keep": "average", "max_iter": 5}
        one = fit_in_shards(Perceptron(**how), X[order], y[order], [20, 20])
        two = fit_in_shards(Perceptron(**how), X[order], y[order], [0, 20, 0, 0, 20])
        # Shards are numbered, and shuffled by their number.
        assert one.mistakes_[0] == two.mistakes_[0]
        assert two.mixture_.shares[0].tolist() == [0, 0.5, 0, 0, 0.5]
        assert two.mixture_.learning_shards == 2


def test_what_mixing_cannot_do_is_refused_by_name():
    from linsep import KernelPerceptron, MarginPerceptron, Winnow

    X, y = drawn(5, 2, [40])
    refused = [
        (Perceptron(keep="vote"), "keep='vote'"), (Perceptron(keep="best"), "keep='best'"),
        (Perceptron(schedule="inverse"), "schedule='inverse'"),
        (Perceptron(update="batch"), "update='batch'"),
        (Perceptron(learning_rate=lambda k: 1.0), "a function as learning_rate"),
        (Perceptron(early_stopping=True), "early_stopping=True"),
        (MarginPerceptron(), "MarginPerceptron cannot"), (Winnow(), "Winnow cannot"),
        (KernelPerceptron(), "KernelPerceptron cannot"),
    ]  # fmt: skip
    for model, words in refused:
        with pytest.raises(ParameterError, match=words):
            fit_in_shards(model, X, y, [20, 20])
    with pytest.raises(ParameterError, match="mixing is 'best': choose"):
        fit_in_shards(Perceptron(), X, y, [20, 20], "best")


@pytest.mark.compiled
def test_a_mixed_model_states_no_bound_that_it_does_not_keep(tmp_path):
    from linsep import load, save

    X, y = drawn(4, 2, [20, 20], separable=True)
    model = fit_in_shards(Perceptron(), X, y, [20, 20])
    save(model, tmp_path / "m.linsep")
    loaded = load(tmp_path / "m.linsep")
    assert "mixed other weights" in loaded.bounds(X, y).left_out["mistake bounds"]
    assert "mixed other weights" in loaded.report_.left_out["||w||/M"]
    model.partial_fit(X, y)
    assert not hasattr(model, "mixture_")
    assert "mixed other weights" in model.bounds(X, y).left_out["mistake bounds"]
    aggressive = fit_in_shards(PassiveAggressive(), X, y, [20, 20])
    assert "about the perceptron" in aggressive.bounds(X, y).left_out["mistake bounds"]
