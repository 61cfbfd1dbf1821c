"""Parts by themselves: orders of rows, growing weights, winners of matches, lanes, the tree."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from linsep.batches import Batch
from linsep.compiled.loop import most_wins
from linsep.lanes import FAN, Lanes, Tree, lane_rows, lanes_of, merged
from linsep.rows.arrays import FEW, MANY, SMALL, shuffled
from linsep.teaching.textbook import predict_ovo


def test_every_row_is_visited_once_in_an_order_of_each_pass():
    for n_rows, group_size in ((0, FEW), (2, MANY), (100, FEW), (SMALL + 64 * 7, MANY)):
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


@given(st.data(), st.integers(3, 5))
def test_winners_of_matches_are_those_of_the_twin(data, k):
    matches = k * (k - 1) // 2
    score = st.integers(-2, 2) | st.sampled_from([-(2**50), 2**50, 2**50 + 1])
    scores = data.draw(st.lists(score, min_size=matches, max_size=matches))
    for tie, equal in (("negative", 0), ("positive", 1), ("random", 2)):
        found = most_wins(k, equal, np.array(scores, float), np.empty((2, k)))
        assert found == predict_ovo(scores, k, tie)


def grown(a, b):
    return f"({a}+{b})"


def tree_of(count):
    tree = Tree(grown)
    for k in range(count):
        tree.push(str(k))
    return tree.total()


@given(st.lists(st.integers(0, 200), min_size=1, max_size=9), st.integers(2, 4))
def test_neighboring_parts_can_be_added_anywhere(counts, fan):
    """Pieces of neighbors are added up, and those of such groups again."""
    parts, first = [], 0
    for count in counts:
        part = Tree(grown, first)
        for k in range(first, first + count):
            part.push(str(k))
        parts.append((first, part.rest))
        first += count
    while len(parts) > 1:
        groups = [parts[k : k + fan] for k in range(0, len(parts), fan)]
        parts = [
            (group[0][0], merged(grown, group[0][0], [p for _, p in group]).rest)
            for group in groups
        ]
    assert merged(grown, 0, [parts[0][1]]).total() == tree_of(first)


def test_a_worker_sends_few_pieces():
    part = Tree(grown, 5)
    for k in range(5, 5 + 10_000):
        part.push(str(k))
    assert len(part.rest) < 2 * FAN * 5


def test_the_tree_is_one_of_groups_of_eight():
    assert tree_of(0) is None
    assert tree_of(3) == "((0+1)+2)"
    assert tree_of(9) == "(" + tree_of(8) + "+8)"
    assert tree_of(17).startswith("((" + tree_of(8) + "+")


def rows_of(kind, n, width=3):
    random = np.random.default_rng(n)
    X = random.normal(size=(n, width)) * (random.random((n, width)) < 0.5)
    return sp.csr_matrix(X) if kind == "sparse" else X


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_lanes_do_not_depend_on_blocks(kind, monkeypatch):
    monkeypatch.setattr("linsep.lanes.SPARSE_ROWS", 40)
    monkeypatch.setattr("linsep.lanes.DENSE_VALUES", 200)
    monkeypatch.setattr("linsep.lanes.LEAST_ROWS", 4)
    X, y = rows_of(kind, 203), np.arange(203.0)
    for sizes in ([203], [1] * 203, [50, 3, 150], [40, 40, 40, 40, 43]):
        edges = np.cumsum([0, *sizes])
        blocks = [Batch(X[a:b], y[a:b]) for a, b in pairwise(edges)]
        lanes = list(lanes_of(blocks))
        assert {lane.y.size for lane in lanes[:-1]} == {lane_rows(X)}
        assert np.array_equal(np.concatenate([lane.y for lane in lanes]), y)
        total = Lanes(lambda blocks=blocks: iter(blocks)).sum(column_sums, np.add)
        assert np.array_equal(total, Lanes(lambda: iter([Batch(X, y)])).sum(column_sums, np.add))


def column_sums(lane):
    X = lane.X.toarray() if sp.issparse(lane.X) else lane.X
    return np.pad(X.sum(axis=0), (0, 3 - X.shape[1]))
