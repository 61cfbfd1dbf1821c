"""Parts of an online fit by themselves: visiting orders, growing weights, winners of matches."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from linsep.compiled.loop import most_wins
from linsep.learners.state import State
from linsep.rows.arrays import FEW, MANY, SMALL, ClassRuns, shuffled, slices
from linsep.teaching.textbook import predict_ovo

pytestmark = pytest.mark.both


@pytest.mark.parametrize("group_size", [FEW, MANY])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 100, SMALL, SMALL + 1, SMALL + 64 * 7, 50_000])
def test_every_row_is_visited_once_in_an_order_of_each_pass(n_rows, group_size):
    orders = [
        shuffled(n_rows, *key, group_size).tolist() for key in ((1, 1), (1, 2), (2, 1), (1, 1))
    ]
    for order in orders:
        assert sorted(order) == list(range(n_rows))
    assert orders[0] == orders[3]
    if n_rows > 2:
        assert orders[0] != orders[1] != orders[2] != orders[0]


def test_large_orders_read_memory_in_stretches_but_mix_sorted_labels():
    n_rows = 4 * SMALL
    few, many = (shuffled(n_rows, 0, 1, group_size) for group_size in (FEW, MANY))
    assert few.dtype == many.dtype == np.int64
    for order, group_size in ((few, FEW), (many, MANY)):
        for start in range(0, n_rows, 64 * group_size):
            assert len(set(order[start : start + 64 * group_size] // 64)) == group_size
    sorted_labels = np.arange(n_rows) < n_rows // 2
    shares = sorted_labels[many].reshape(-1, 64).mean(axis=1)
    assert 0.1 < shares.min() < shares.max() < 0.9


def test_neighbors_of_one_class_need_more_mixing():
    rng = np.random.default_rng(0)
    mixed, by_class = rng.integers(0, 3, 1000), np.repeat([0, 1, 2], 300)
    rare = (np.arange(1000) % 50 == 0).astype(int)
    for codes, group_size in ((mixed, FEW), (by_class, MANY), (rare, FEW)):
        assert ClassRuns().see(codes).group_size == group_size
    for codes in (mixed, by_class):
        pieces = ClassRuns()
        for a, b in pairwise([0, 0, 1, 400, len(codes)]):
            pieces.see(codes[a:b])
        whole = ClassRuns().see(codes)
        assert pieces._changes == whole._changes
        assert pieces._counts.tolist() == whole._counts.tolist()


def test_slices_are_the_order_in_pieces():
    assert [piece.tolist() for piece in slices(np.arange(5), 2)] == [[0, 1], [2, 3], [4]]
    assert list(slices(np.arange(0), 2)) == []


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_grow_with_the_features(n_classes):
    state = State("native", n_classes, 2, fit_intercept=True)
    other, (coef, intercept) = state.like_weights("other"), state.split(state.W)
    coef[:], intercept[:], other[-1] = 3.0, 7.0, 5.0
    for width in (1, 3, 4, 50):
        state.grow(width)
        assert state.n_features == max(2, width)
        coef, intercept = state.split(state.W)
        assert coef.shape == (state.n_columns, max(2, width))
        assert (coef[:, :2] == 3.0).all()
        assert (coef[:, 2:] == 0.0).all()
        assert (intercept == 7.0).all()
        others = state.split(state.like_weights("other"))
        assert (others[0] == 0.0).all()
        assert (others[1] == 5.0).all()


@given(st.data(), st.integers(3, 5))
def test_winners_of_matches_are_those_of_the_twin(data, k):
    matches = k * (k - 1) // 2
    score = st.integers(-2, 2) | st.sampled_from([-(2**50), 2**50, 2**50 + 1])
    scores = data.draw(st.lists(score, min_size=matches, max_size=matches))
    for tie, equal in (("negative", 0), ("positive", 1), ("random", 2)):
        found = most_wins(k, equal, np.array(scores, float), np.empty((2, k)))
        assert found == predict_ovo(scores, k, tie)
