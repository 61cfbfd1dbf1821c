"""Weights that come back: found by the engine, proved by a replay in whole numbers."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import here
from linsep import Perceptron, from_json, load, save
from linsep.errors import DataError
from linsep.sources import ArraySource
from linsep.theory.cycles import Cycle
from test_worked_numbers import OVERLAP, XOR, estimator

XOR_X, XOR_Y = np.array(XOR.X, float), np.array(XOR.y)


def fitted(X, y, **options):
    return Perceptron(shuffle=False, **options).fit(X, y)


small = st.integers(-3, 3)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(small, small, st.booleans()), min_size=3, max_size=7),
    st.booleans(),
    st.sampled_from([1.0, 0.5, 0.1, 3.0]),
    st.sampled_from([1, 10, 8]),
)
def test_what_is_claimed_is_true(rows, fit_intercept, rate, scale):
    """On rows that nothing separates every run cycles in the end; on others none does."""
    table = np.array(rows, float)
    X, y = table[:, :2] / scale, table[:, 2]
    if len(set(y.tolist())) < 2:
        return
    model = fitted(X, y, fit_intercept=fit_intercept, learning_rate=rate, max_iter=400)
    assert (model.stop_reason_ == "cycle") == (model.cycle_ is not None)
    if model.cycle_ is not None:
        assert model.n_iter_ == model.cycle_.again
        assert model.cycle_.verify(X, y)
        assert model.cycle_.verify(sp.csr_matrix(X), y)
        assert from_json(model.cycle_.to_json()) == model.cycle_
        # Of 0.1, 0.2 and 0.3, the floats can be separable where the decimals are not.
        meant = X if model.cycle_.base == 2 else table[:, :2]
        assert model.separation(meant, y).kind != "separable"
        after = np.append(model.coef_, model.intercept_)
        exact = [w / model.cycle_.unit for w in model.cycle_.weights]  # whole numbers of any length
        np.testing.assert_allclose(exact, after, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_exclusive_or_in_any_storage(store):
    for scale in (1.0, 0.1, 2.0**-20, 1e6):
        model = fitted(store(XOR_X * scale), XOR_Y, fit_intercept=False)
        assert (model.stop_reason_, model.n_iter_) == ("cycle", 1)
        assert model.cycle_.verify(store(XOR_X * scale), XOR_Y)


def test_decimals_are_taken_for_decimals():
    rng = np.random.default_rng(1)
    X, y = rng.integers(-30, 30, (8, 2)) / 10, np.arange(8) % 2
    model = fitted(X, y, max_iter=3000, learning_rate=0.1)
    assert model.stop_reason_ == "cycle"
    assert model.cycle_.base == 10
    assert model.cycle_.verify(X, y)


@pytest.mark.parametrize("options", [
    {"shuffle": True}, {"keep": "average"}, {"schedule": "inverse"}, {"update": "batch"},
    {"learning_rate": lambda k: 1.0}, {"early_stopping": True}, {"normalize": True},
    {"class_weight": {-1: 2.0}},
])  # fmt: skip
def test_runs_that_have_no_cycle(options):
    X, y = np.tile(XOR_X, (5, 1)), np.tile(XOR_Y, 5)
    model = Perceptron(**({"shuffle": False, "max_iter": 8} | options)).fit(X, y)
    assert model.stop_reason_ != "cycle"
    assert model.cycle_ is None


def test_random_floats_are_left_alone():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    model = fitted(X, y, max_iter=200)
    assert (model.stop_reason_, model.n_iter_, model.cycle_) == ("max_iter", 200, None)
    assert "linsep.separation(X, y)" in model.stop_sentence_


def test_weights_up_to_the_cycle_are_those_of_the_run():
    for passes in (1, 60, 130):
        one, other = estimator(OVERLAP, passes), estimator(OVERLAP, 1000)
        assert one.mistakes_.tolist() == other.mistakes_[:passes].tolist()
    assert one.coef_.tolist() == other.coef_.tolist()


def test_sources_cycle_like_arrays():
    X, y = np.array(OVERLAP.X, float), OVERLAP.y
    array = fitted(X, y)
    source = fitted(ArraySource(X, np.array(y), batch_rows=2), None)
    assert array.stop_reason_ == source.stop_reason_ == "cycle"
    assert array.cycle_ == source.cycle_


def test_the_command_line_says_it(tmp_path):
    rows = "".join(f"{label} 1:{a} 2:{b}\n" for (a, b), label in zip(XOR.X, XOR.y, strict=True))
    (tmp_path / "xor.svm").write_text(rows)
    done = here("fit", "xor.svm", "--no-shuffle", "--no-fit-intercept", "--no-cache", cwd=tmp_path)
    said = " ".join(done.stdout.split())
    assert "cycle: the weights before pass 1 came back before pass 2, so no number" in said


def test_the_command_line_verifies_it(tmp_path):
    (tmp_path / "cycle.json").write_text(fitted(XOR_X, XOR_Y, fit_intercept=False).cycle_.to_json())
    for labels, code in (("1 -1 -1 1", 0), ("1 -1 -1 -1", 1)):
        lines = [f"{y} 1:{a} 2:{b}" for y, (a, b) in zip(labels.split(), XOR.X, strict=True)]
        (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
        assert here("verify", "cycle.json", "rows.svm", cwd=tmp_path).returncode == code


def test_a_model_file_keeps_it(tmp_path):
    model = fitted(XOR_X, XOR_Y, fit_intercept=False)
    back = load(save(model, tmp_path / "m"))
    assert back.cycle_ == model.cycle_
    assert back.stop_sentence_ == model.stop_sentence_


def changed(cycle, **fields):
    plain = json.loads(cycle.to_json())
    plain["cycle"] |= fields
    return json.dumps(plain)


def test_tampered_cycles_fail():
    cycle = estimator(OVERLAP, 1000).cycle_
    X, y = OVERLAP.X, OVERLAP.y
    assert cycle.verify(X, y)
    for fields, said in [
        ({"weights": ["0x1", "0x0", "0x0"]}, "the weights are others"),
        ({"weights": ["0x1"]}, "no sense"),
        ({"again": 129}, "the weights are others"),
        ({"first": 130}, "no sense"),
        ({"base": 3}, "no sense"),
        ({"power": -1}, "no sense"),
        ({"step": "0x0"}, "no sense"),
        ({"fit_intercept": False}, "the weights are others"),
        ({"n_rows": 6}, "6 rows of 2 features, these are 5 of 2"),
    ]:
        check = from_json(changed(cycle, **fields)).verify(X, y)
        assert not check
        assert said in check.reason
    assert not cycle.verify([(0.5, 1), *X[1:]], y)
    assert not cycle.verify(X, [1, 1, 1, -1, 1])
    assert not cycle.verify(X, [1, 1, 0, -1, 1])
    for text in (
        cycle.to_json()[:-20],
        changed(cycle, more=1),
        changed(cycle, weights=[1, 2, 3]),
        changed(cycle, first="0"),
        changed(cycle, again=True),
    ):
        with pytest.raises(DataError, match=r"damaged|altered"):
            from_json(text)


def test_weights_that_separate_are_no_cycle():
    cycle = Cycle(0, 1, (1, 0), 1, 1, 2, 0, False, 2, 1)
    check = cycle.verify([[1], [-1]], [1, 0])
    assert not check
    assert "no update" in check.reason
