"""Verdicts against elimination in fractions: of few rows, of all sizes, of many rows, of files."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from fourier_motzkin import kind_of
from linsep import open_source, separation
from linsep.certificate.constraints import combination, dot
from linsep.separability.exact import alternative, exact_split
from linsep.separability.time_limit import Work
from thoroughness import examples, some

EXTREMES = [0, 1e300, -1e300, 1e-300, 5e-324, -5e-324, 1.0, -1.0, 1e16, 1e-16, 2.0**53, 1.7e308]


rows = st.integers(1, 3).flatmap(
    lambda d: st.lists(
        st.dictionaries(
            st.integers(0, d), st.integers(-3, 3).filter(bool) | st.integers(-(2**80), 2**80)
        ).map(lambda row: {j: m for j, m in row.items() if m}),
        min_size=1,
        max_size=7,
    )
)


def assert_decided(X, y, **how):
    verdict = separation(X, y, **how)
    for one in verdict.verdicts() if hasattr(verdict, "verdicts") else [verdict]:
        assert one.kind != "undecided", one.reason
        assert one.verify(X, y, exact=True), one.verify(X, y, exact=True).reason
    return verdict


@examples(150)
@given(rows.filter(all))
def test_one_of_the_alternatives_holds_exactly(given_rows):
    w, multipliers = alternative(given_rows, Work())
    if w is not None:
        assert all(dot(row, w) > 0 for row in given_rows)
    else:
        assert multipliers
        assert min(multipliers.values()) > 0
        scaled = [(x, given_rows[i]) for i, x in multipliers.items()]
        assert not combination(scaled)


@examples(100)
@given(rows)
def test_splits_are_those_of_the_oracle(given_rows):
    w, multipliers, span = exact_split(given_rows, Work())
    inside = [i for i, row in enumerate(given_rows) if not span.remainder(row)]
    assert all(Fraction(x) > 0 for x in multipliers.values())
    assert not combination((x, given_rows[i]) for i, x in multipliers.items())
    for i, row in enumerate(given_rows):
        assert dot(row, w) == 0 if i in inside else dot(row, w) > 0
    size = max((max(row, default=0) for row in given_rows), default=0) + 1
    dense = [[row.get(j, 0) for j in range(size)] for row in given_rows]
    kind, bound = kind_of(dense)
    expected = "separable" if not inside else "quasi-separable" if w else "overlapping"
    assert kind == expected
    assert kind != "quasi-separable" or bound == inside


def mixed(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-300, 300, (n, d)), rng


def test_numbers_of_all_sizes_within_columns():
    X, rng = mixed(40, 12, 0)
    assert_decided(X, rng.integers(0, 2, 40))
    assert_decided(rng.choice(EXTREMES, (60, 5)), rng.integers(0, 2, 60))


def test_a_column_that_nearly_depends_on_the_others():
    rng = np.random.default_rng(7)
    X = rng.integers(-2, 3, (150, 20)).astype(float)
    X[:, 3] = X[:, 5] / 3
    y = rng.integers(0, 2, 150)
    X[:, -1] = -(X[:, :-1] @ rng.integers(-3, 4, 19))
    X[:, -1] = np.nextafter(X[:, -1], np.where(y, np.inf, -np.inf))
    assert_decided(X, y)


# The widest margin, where floats do not find it.


def assert_width(X, y, **how):
    verdict = assert_decided(X, y, margin="max", **how)
    assert verdict.kind == "separable"
    assert verdict.verify(X, y), verdict.verify(X, y).reason
    low, high = verdict.margin
    assert high * (1 - 1e-6) <= low <= high
    return low


def test_margins_of_long_integers_and_their_small_differences():
    X = np.array([[2**62 + 3, 5], [2**62 + 4, 7], [2**62 + 9, 6], [2**62 + 8, 5]])
    y = np.array([0, 0, 1, 1])
    assert assert_width(X, y) == pytest.approx(assert_width(X - np.array([2**62, 0]), y), rel=1e-6)


def noisy(n_rows, d, noise, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, d))
    return X, X @ rng.standard_normal(d) / np.sqrt(d) + noise * rng.standard_normal(n_rows) > 0


def shifted(X):
    return X + 1e6


def outlying(X):
    X = X.copy()
    X[::1000] *= 1e30
    return X


@pytest.mark.parametrize("change", [shifted, outlying])
def test_columns_of_any_scale(change):
    X, y = noisy(6_000, 19, 0.2)
    X = change(X)
    verdict = separation(X, y)
    assert verdict.kind == "overlapping"
    assert verdict.verify(X, y, exact=True)


def test_dependent_columns_and_columns_of_one_value():
    X, y = noisy(6_000, 18, 0.2)
    for column in (X[:, 0] * 2, np.ones(len(X)), np.zeros(len(X))):
        Z = np.column_stack([X, column])
        verdict = separation(Z, y)
        assert verdict.kind == "overlapping"
        assert len(verdict.space.rows) == 19
        assert verdict.verify(Z, y, exact=True)


def test_many_rows_that_are_separable_or_nearly():
    X, v = noisy(15_000, 20, 0.0)
    assert separation(X, v).kind == "separable"
    half = X.copy()
    half[:, 0] = np.where(v, 1.0, -1.0)
    half[::2, 0] = 0.0
    y = np.where(half[:, 0] == 0, np.random.default_rng(1).random(len(X)) > 0.5, v)
    verdict = separation(half, y)
    assert verdict.kind == "quasi-separable"
    assert verdict.boundary == tuple(np.flatnonzero(half[:, 0] == 0).tolist())
    one = v.copy()
    one[7] = not one[7]
    assert separation(X, one).verify(X, one, exact=True)


def test_frames_and_files_give_the_same_rows(tmp_path):
    X, y = noisy(15_000, 20, 0.3)
    plain = separation(X, y)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(20)])
    assert separation(table, y).witness == plain.witness
    table.assign(y=y.astype(int)).to_parquet(tmp_path / "rows.parquet")
    assert separation(open_source(tmp_path / "rows.parquet", target="y")).witness == plain.witness


def written(path, X, y):
    last = X.shape[1] - 1  # written even where it is zero: it tells how many there are
    lines = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        used = [f"{j + 1}:{x!r}" for j, x in enumerate(row) if x or j == last]
        lines.append(f"{label} {' '.join(used)}")
    path.write_text("\n".join(lines) + "\n")
    source = open_source(str(path))
    source.memory_bytes = 100
    return source


def drawn(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([5, 40, 700])), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)).round(1) if seed % 2 else rng.integers(-2, 3, (n, d)).astype(float)
    score = X @ rng.normal(size=d)
    y = (score > np.median(score)).astype(int)
    if seed % 3 == 0:
        y[rng.integers(n)] ^= 1
    if seed % 5 == 0:
        X[:, -1] = np.nextafter(X[:, 0], np.where(y, np.inf, -np.inf))
    y[0], y[1] = 0, 1
    return X, y


@pytest.mark.parametrize("seed", some((1, 0, 3, 2), 2))
def test_verdicts_on_streams_are_those_on_arrays(tmp_path, seed):
    X, y = drawn(seed)
    margin = "max" if seed % 2 else None
    source = written(tmp_path / "rows.svm", X, y)
    here, there = separation(X, y, margin=margin), separation(source, margin=margin)
    assert here.kind == there.kind
    assert here.kind != "separable" or here.margin == pytest.approx(there.margin, rel=1e-6)
    assert here.kind != "quasi-separable" or here.boundary == there.boundary
    for verdict in (here, there):
        assert verdict.verify(source, exact=True), verdict.verify(source, exact=True).reason
        assert verdict.verify(X, y, exact=True), verdict.verify(X, y, exact=True).reason


def test_many_rows_that_overlap_have_a_witness_of_one_row_more_than_weights():
    X, y = noisy(20_000, 20, 0.1)
    fit_intercept = True
    verdict = separation(X, y)
    assert verdict.kind == "overlapping"
    assert len(verdict.witness.rows) == 20 + fit_intercept + 1
    signs, total = np.where(y, 1, -1), [Fraction(0)] * (20 + fit_intercept)
    for i, m in zip(verdict.witness.rows, verdict.witness.multipliers, strict=True):
        row = [*X[i].tolist(), 1.0][: len(total)]
        total = [t + m * int(signs[i]) * Fraction(x) for t, x in zip(total, row, strict=True)]
        assert m > 0
    assert not any(total)
    assert verdict.verify(X, y)
    assert not verdict.verify(X, ~y)


def test_too_little_time_is_undecided():
    X, rng = mixed(60, 20, 0)
    y = rng.integers(0, 2, 60)
    verdict = separation(X, y, time_limit=1e-3)
    assert verdict.kind == "undecided"
    assert verdict.verify(X, y).holds is None
