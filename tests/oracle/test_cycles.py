"""Runs whose weights recur stop, with a proof that nothing else will happen."""

import dataclasses
import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from test_worked_numbers import OVERLAP, XOR, estimator

from command_line import here
from linsep import KernelPerceptron, Perceptron, from_json, load, save, textbook
from linsep.certificate.cycles import Cycle, Cycles
from linsep.errors import DataError
from linsep.estimators.labels import pairs
from linsep.kernels import RBF
from linsep.sources import ArraySource
from refusals import refused
from storages import SCHEMES, classes_of
from thoroughness import examples

XOR_X, XOR_Y = np.array(XOR.X, float), np.array(XOR.y)


def fitted(X, y, **options):
    return Perceptron(shuffle=False, **options).fit(X, y)


small = st.integers(-3, 3)


@examples(30)
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
        for meant in (X, table[:, :2]):  # of 0.1, 0.2 and 0.3, only the latter are meant exactly
            assert model.separation(meant, y).kind != "separable"
        after = np.append(model.coef_, model.intercept_)
        exact = [w / model.cycle_.unit for w in model.cycle_.weights]  # whole numbers of any length
        np.testing.assert_allclose(exact, after, rtol=1e-9, atol=1e-9)


RULES = {"single": textbook.Perceptron(), "batch": textbook.BatchPerceptron()}


def machine_of(scheme, cycle):
    """The number of the machine that a cycle is about."""
    if scheme == "ovr":
        return cycle.positive[0]
    return pairs(cycle.n_classes).index(cycle.negative + cycle.positive)


def states(scheme, update, X, y, k, passes, tie):
    """The weights of each machine before every pass of the twin, in whole numbers, and whether the
    last pass was clean.
    """
    steps = list(textbook.run(RULES[update], scheme, X, y, k, max_iter=passes, tie=tie))
    ends = {step.pass_number: step for step in steps}
    clean = not any(step.mistakes for step in steps if step.pass_number == steps[-1].pass_number)
    joint = scheme in ("binary", "native")
    found = [[(s.weights, s.intercept)] if joint else list(zip(s.weights, s.intercept, strict=True))
             for s in ends.values()]  # fmt: skip
    zero = [0] * len(X[0])
    first = {"binary": [(zero, 0)], "native": [([zero] * k, [0] * k)]}
    return [first.get(scheme, [(zero, 0)] * len(found[0])), *found], clean


@pytest.mark.parametrize("update", RULES)
@pytest.mark.parametrize("scheme", SCHEMES)
@examples(20, 20)
@given(st.lists(st.tuples(small, small), min_size=3, max_size=7), st.data())
def test_every_machine_stops_where_it_was_before(scheme, update, rows, data):
    k, multiclass = classes_of(scheme)
    X, tie = (
        [list(row) for row in rows],
        data.draw(st.sampled_from(["negative", "positive", "random"])),
    )
    y = [*range(k), *(data.draw(st.integers(0, k - 1)) for _ in rows[k:])]
    passes = 25
    before, clean = states(scheme, update, X, y, k, passes, tie)
    options = {"multiclass": multiclass, "max_iter": passes, "tie": tie}
    model = fitted(np.array(X, float), y, update=update, **options)
    back = next(
        (p for p in range(1, len(before))
         if all(any(h[m] == now for h in before[:p]) for m, now in enumerate(before[p]))), None,
    )  # fmt: skip
    if clean and back in (None, len(before) - 1):
        assert (model.stop_reason_, model.cycle_) == ("converged", None)
        return
    assert model.stop_reason_ == ("max_iter" if back is None else "cycle")
    if back is None:
        return
    assert model.n_iter_ == model.cycle_.again == back
    assert from_json(model.cycle_.to_json()) == model.cycle_
    for cycle in [model.cycle_] if isinstance(model.cycle_, Cycle) else model.cycle_:
        # It is the shortest: the weights were not the same before any pass in between.
        m = 0 if len(before[0]) == 1 else machine_of(scheme, cycle)
        assert before[cycle.first][m] == before[back][m]
        assert all(h[m] != before[back][m] for h in before[cycle.first + 1 : back])
    check = model.cycle_.verify(np.array(X), y)
    assert check, check.reason
    if update == "single":
        # The same machine in the space of a kernel, with the constant feature in its values.
        kernel = KernelPerceptron(kernel="poly", degree=1, shuffle=False, **options)
        kernel.fit(np.array(X, float), y)
        assert (kernel.stop_reason_, kernel.n_iter_) == ("cycle", back)
        gram = np.array(X) @ np.array(X).T + 1
        check = kernel.cycle_.verify(gram, y)
        assert check, check.reason
        assert from_json(kernel.cycle_.to_json()) == kernel.cycle_
        lengths = [
            [c.again - c.first for c in ([found] if isinstance(found, Cycle) else found)]
            for found in (model.cycle_, kernel.cycle_)
        ]
        assert lengths[0] == lengths[1]


def test_kernel_machines_on_exact_values():
    K = XOR_X @ XOR_X.T
    model = KernelPerceptron(kernel="linear", shuffle=False).fit(XOR_X, XOR_Y)
    assert (model.stop_reason_, model.n_iter_) == ("cycle", 1)
    assert model.cycle_.verify(K, XOR_Y)
    assert not model.cycle_.verify(K + np.eye(4), XOR_Y)
    assert not model.cycle_.verify(K, -XOR_Y * [1, 1, 1, -1])
    # The same row in two classes cannot be told apart, whatever the kernel.
    X, y = np.array([[0.0], [0.4], [0.4], [1.1]]), [0, 1, 0, 1]
    twice = KernelPerceptron(shuffle=False, gamma=1.0, max_iter=50).fit(X, y)
    assert twice.cycle_.verify(RBF(1.0)(X), y)
    X[2] = 0.5
    apart = KernelPerceptron(shuffle=False, gamma=1.0, max_iter=50).fit(X, y)
    assert (apart.stop_reason_, apart.cycle_) == ("max_iter", None)


def replaced(cycle, **fields):
    return dataclasses.replace(cycle, **fields)


def test_cycles_of_several_machines(tmp_path):
    X, y = np.array([*OVERLAP.X, (-9, -9), (-9, -8)], float), [*OVERLAP.y, 3, 3]
    model = fitted(X, y, multiclass="ovr")
    assert isinstance(model.cycle_, Cycles)
    # The rows of the third class are far from all others, and their machine is done.
    assert [cycle.positive for cycle in model.cycle_] == [(0,), (1,)]
    assert model.cycle_.verify(X, y)
    first, second = model.cycle_
    assert not Cycles((first, replaced(second, positive=(2,), negative=(0, 1)))).verify(X, y)
    assert load(save(model, tmp_path / "m")).cycle_ == model.cycle_
    source = fitted(ArraySource(X, np.array(y), batch_rows=3), None, multiclass="ovr")
    assert source.cycle_ == model.cycle_


def test_decimals_whose_floats_are_separable_are_no_cycle():
    # The decimals (-0.3, 0), (-0.2, -0.1) and (-0.1, -0.2) lie on a line, their floats do not.
    X, y = np.array([[-0.2, -0.1], [-0.1, -0.2], [-0.3, 0.0], [-0.1, 0.2]]), [0, 1, 1, 1]
    model = fitted(X, y, max_iter=100)
    assert model.separation(X, y).kind == "separable"
    assert (model.stop_reason_, model.cycle_) == ("max_iter", None)
    exact = fitted(np.rint(10 * X), y, max_iter=100)
    assert (exact.stop_reason_, exact.cycle_.base) == ("cycle", 2)


def test_decimals_are_taken_for_decimals():
    rng = np.random.default_rng(1)
    X, y = rng.integers(-30, 30, (8, 2)) / 10, np.arange(8) % 2
    model = fitted(X, y, max_iter=3000, learning_rate=0.1)
    assert model.stop_reason_ == "cycle"
    assert model.cycle_.base == 10
    assert model.cycle_.verify(X, y)
    assert model.separation(X, y).kind != "separable"


def test_the_command_line_verifies_it(tmp_path):
    (tmp_path / "cycle.json").write_text(fitted(XOR_X, XOR_Y, fit_intercept=False).cycle_.to_json())
    for labels, code in (("1 -1 -1 1", 0), ("1 -1 -1 -1", 1)):
        lines = [f"{y} 1:{a} 2:{b}" for y, (a, b) in zip(labels.split(), XOR.X, strict=True)]
        (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
        assert here("verify", "cycle.json", "rows.svm", cwd=tmp_path).returncode == code


def changed(cycle, **fields):
    plain = json.loads(cycle.to_json())
    plain["cycle"] |= fields
    return json.dumps(plain, indent=1) + "\n"


def test_runs_that_have_no_cycle():
    X, y = np.tile(XOR_X, (5, 1)), np.tile(XOR_Y, 5)
    for options in ({"shuffle": True}, {"keep": "average"}, {"normalize": True}):
        model = Perceptron(**({"shuffle": False, "max_iter": 8} | options)).fit(X, y)
        assert (model.stop_reason_ != "cycle", model.cycle_) == (True, None)
    rng = np.random.default_rng(0)
    model = fitted(rng.standard_normal((20, 3)), np.arange(20) % 2, max_iter=200)
    assert (model.stop_reason_, model.n_iter_, model.cycle_) == ("max_iter", 200, None)


def test_the_batch_rule_on_the_five_points_of_the_notes():
    X, y = np.array(OVERLAP.X, float), OVERLAP.y
    model = Perceptron(update="batch", shuffle=False)
    model.fit(X, y, coef_init=[[1, 1]], intercept_init=[1])
    assert (model.cycle_.first, model.cycle_.again, model.n_iter_) == (258, 272, 272)
    assert model.cycle_.verify(X, y)
    assert not replaced(model.cycle_, update="single").verify(X, y)


def test_sources_cycle_like_arrays():
    X, y = np.array(OVERLAP.X, float), OVERLAP.y
    array = fitted(X, y)
    assert array.stop_reason_ == "cycle"
    assert fitted(ArraySource(X, np.array(y), batch_rows=2), None).cycle_ == array.cycle_


@pytest.mark.parametrize("fields", [
    {"weights": ["0x1", "0x0", "0x0"]}, {"passes": 8}, {"unit": "0x0"}, {"positive": [2]},
    {"tie": "none"}, {"base": 3}, {"fit_intercept": False}, {"n_rows": 6},
], ids=str)  # fmt: skip
def test_tampered_cycles_fail(fields):
    cycle = estimator(OVERLAP, 1000).cycle_
    assert cycle.verify(OVERLAP.X, OVERLAP.y)
    assert from_json(changed(cycle, **fields)).verify(OVERLAP.X, OVERLAP.y).holds is False


def test_other_rows_and_texts_fail():
    cycle, X, y = estimator(OVERLAP, 1000).cycle_, OVERLAP.X, OVERLAP.y
    assert not cycle.verify([(0.5, 1), *X[1:]], y)
    assert not cycle.verify(X, [1, 1, 1, -1, 1])
    assert not cycle.verify(X, [1, 1, 0, -1, 1])
    for text in (
        cycle.to_json()[:-20], changed(cycle, more=1), changed(cycle, passes="9"),
        cycle.to_json().replace('"base": 2', '"base": 2, "base": 2'),
    ):  # fmt: skip
        with refused(DataError, "bad-proof"):
            from_json(text)
