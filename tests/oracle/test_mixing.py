"""Iterative parameter mixing against its plain-Python twin."""

from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from family import CONFIGURED
from linsep import (
    AROW,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    bounds,
    load,
    save,
    textbook,
)
from linsep.catalog import LINEAR
from linsep.errors import ParameterError
from linsep.teaching.tracing import rule_of
from refusals import refused
from sharded import fit_in_shards

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


def mixed_like_its_twin(learner, rule, X, y, rows, n_classes, mixing, *, multiclass, **how):
    """The averaged model of a learner and the last epoch of its twin, after a comparison."""
    scheme = "binary" if n_classes == 2 else multiclass
    shards = cut(X, y, rows)
    *_, last = textbook.parameter_mixing(
        rule, scheme, shards, n_classes, mixing=mixing, max_iter=how["max_iter"]
    )
    for keep, weights, intercept in (
        ("last", last.weights, last.intercept),
        ("average", last.average, last.average_intercept),
    ):
        model = learner(multiclass=multiclass, shuffle=False, keep=keep, **how)
        fit_in_shards(model, X, y, rows, mixing)
        np.testing.assert_allclose(model.coef_, np.atleast_2d(weights), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.intercept_, np.atleast_1d(intercept), atol=1e-9)
        assert model.mixture_.mistakes[-1].tolist() == last.mistakes
        np.testing.assert_allclose(model.mixture_.shares[-1], last.mixture)
    return model, last


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 1000), st.sampled_from([2, 3]), st.lists(st.integers(4, 20), min_size=1,
    max_size=10), st.sampled_from(["uniform", "mistakes"]),
    st.sampled_from(["native", "ovr", "ovo"]),
)  # fmt: skip
@pytest.mark.parametrize("learner", [Perceptron, PassiveAggressive])
def test_the_same_as_in_plain_python(learner, seed, n_classes, rows, mixing, multiclass):
    X, y = drawn(seed, n_classes, rows, whole=False)  # no score is nearly zero
    mixed_like_its_twin(
        learner, RULES[learner], X, y, rows, n_classes, mixing, multiclass=multiclass, max_iter=4
    )


def remembering(name, **more):
    command, parameters = CONFIGURED[name]
    return LINEAR[command](**parameters | {"shuffle": False} | more)


@pytest.mark.parametrize(
    ("name", "n_classes", "multiclass", "mixing"),
    [
        ("arow", 3, "native", "uniform"),
        ("scw", 2, "ovr", "mistakes"),
        ("online-logistic", 3, "ovo", "uniform"),
        ("online-logistic-plain", 3, "ovr", "mistakes"),
    ],
)
def test_what_is_beside_the_weights_is_mixed_as_in_plain_python(
    name, n_classes, multiclass, mixing
):
    rows = [12, 3, 25]
    X, y = drawn(7, n_classes, rows, whole=False)
    X[:12, 2] = 0.0  # a feature that the first shard does not know
    model, last = mixed_like_its_twin(
        partial(remembering, name), rule_of(remembering(name)), X, y, rows, n_classes, mixing,
        multiclass=multiclass, max_iter=3,
    )  # fmt: skip
    if hasattr(model, "variances_"):
        found = [*model.variances_[0], model.intercept_variances_[0]]
        np.testing.assert_allclose(found, last.memory[0].variances[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "n_classes", "keep"), [("arow", 3, "last"), ("online-logistic", 2, "average")]
)
def test_one_shard_is_an_ordinary_fit(name, n_classes, keep):
    X, y = drawn(3, n_classes, [40], whole=False)
    one = remembering(name, max_iter=4, keep=keep).fit(X, y)
    mixed = fit_in_shards(remembering(name, max_iter=4, keep=keep), X, y, [40])
    assert mixed.stop_reason_ == one.stop_reason_
    np.testing.assert_allclose(mixed.coef_, one.coef_, rtol=1e-10, atol=1e-12)
    # It goes on as one machine does.
    for model in (one, mixed):
        model.partial_fit(X, y)
    np.testing.assert_allclose(mixed.coef_, one.coef_, rtol=1e-10, atol=1e-12)


#: five rows of the notes, of which two shards have the first two, and the third
NOTES = ([[1, 1], [3, 2], [2, 4]], [0, 1, 1])


def test_variances_in_fractions():
    """From the published steps: the precisions of shards are 3, 11, 6 and 2, 5, 17."""
    first, second = (Fraction(-3, 32), Fraction(7, 32), Fraction(2, 32)), Fraction(1, 22)
    grown = [(2, 10, 5), (1, 4, 16)]
    means = [
        (n * w + m * v) / (n + m)
        for n, m, w, v in zip(*grown, first, (second, 2 * second, 4 * second), strict=True)
    ]
    X, y = [[Fraction(v) for v in row] for row in NOTES[0]], NOTES[1]
    shards = [(X[:2], y[:2]), (X[2:], y[2:])]
    (epoch,) = textbook.parameter_mixing(textbook.AROW(), "binary", shards, max_iter=1)
    assert [epoch.intercept, *epoch.weights] == means
    # What one machine knows after the three rows.
    assert epoch.memory[0].variances == ([Fraction(1, 15), Fraction(1, 22), Fraction(1, 4)],)
    model = fit_in_shards(AROW(max_iter=1, shuffle=False), np.array(X, float), np.array(y), [2, 1])
    np.testing.assert_allclose([*model.intercept_, *model.coef_[0]], np.array(means, float))
    np.testing.assert_allclose(model.variances_, [[1 / 15, 1 / 22]])


def test_a_feature_that_one_shard_alone_knows_keeps_its_weight():
    for name in ("arow", "online-logistic"):
        X, y = drawn(2, 2, [20, 20], whole=False)
        X[20:, 1] = 0.0
        model = fit_in_shards(remembering(name, keep="last", max_iter=1), X, y, [20, 20])
        alone = remembering(name, keep="last", max_iter=1).fit(X[:20], y[:20])
        assert model.coef_[0, 1] == pytest.approx(alone.coef_[0, 1], rel=1e-14)
        assert model.coef_[0, 0] != pytest.approx(alone.coef_[0, 0], rel=1e-3)


def test_the_same_bits_where_every_sum_is_exact():
    rows = [6] * 32
    X, y = drawn(9, 2, rows)
    *_, last = textbook.parameter_mixing(
        textbook.Perceptron(), "binary", cut(X, y, rows), max_iter=5
    )
    model = fit_in_shards(Perceptron(shuffle=False, max_iter=5), X, y, rows)
    assert np.array_equal(model.coef_, [last.weights])


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
    for multiclass in ("native", "ovo"):
        how = {"multiclass": multiclass, "keep": "average", "max_iter": 5}
        one = fit_in_shards(Perceptron(**how), X[order], y[order], [20, 20])
        two = fit_in_shards(Perceptron(**how), X[order], y[order], [0, 20, 0, 0, 20])
        # Shards are numbered, and shuffled by their number.
        assert one.mistakes_[0] == two.mistakes_[0]
        assert two.mixture_.shares[0].tolist() == [0, 0.5, 0, 0, 0.5]


def test_what_mixing_cannot_do_is_refused_by_name():
    X, y = drawn(5, 2, [40])
    for model, option in (
        (Perceptron(keep="vote"), "keep"), (Perceptron(update="batch"), "update"),
        (Perceptron(early_stopping=True), "early_stopping"),
    ):  # fmt: skip
        with refused(ParameterError, "bad-option", option=option):
            fit_in_shards(model, X, y, [20, 20])
    with refused(ParameterError, "unsupported"):
        fit_in_shards(MarginPerceptron(), X, y, [20, 20])
    with refused(ParameterError, "bad-option", option="mixing"):
        fit_in_shards(Perceptron(), X, y, [20, 20], "best")


def test_a_mixed_model_bounds_the_margin_and_no_mistakes(tmp_path):
    X, y = drawn(4, 2, [20, 20], separable=True)
    model = fit_in_shards(Perceptron(), X, y, [20, 20], "mistakes")
    assert "mistake bounds" in model.bounds(X, y).left_out
    assert model.report_["||w||/M"].value >= bounds(X, y).margin[0]
    loaded = load(save(model, tmp_path / "m.linsep"))
    assert "||w||/M" in loaded.report_.left_out
    model.partial_fit(X, y)
    assert "mistake bounds" in model.bounds(X, y).left_out
