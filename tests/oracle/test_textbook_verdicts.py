"""Verdicts, cycles and orders of the textbook against those of the library and of NumPy."""

import warnings
from fractions import Fraction
from random import Random

import numpy as np
import pytest

import linsep
from linsep.lab.declared import SHOWN
from linsep.lab.run import arguments_of, labels_of, trace_of
from linsep.lab.scene import checked_scene
from linsep.teaching.textbook.separation import among, decided, joint_rows, root, separation
from linsep.teaching.textbook.shuffling import orders_of, permutation, seed_of
from scenes import random_scenes


def random_rows(random, k=2, most=200):
    """Return rows and classes: repeated, on a line, huge, tiny, separable or not."""
    n, grid = random.choice([2, 3, 5, 8, 15, 40, most]), random.choice([2, 5, 1000])
    unit = random.choice([1, 1, 0.1, 1e-200, 1e5])
    X = [[random.randint(-grid, grid) * unit for _ in range(2)] for _ in range(n)]
    W = [[random.uniform(-1, 1) for _ in range(3)] for _ in range(k)]
    separable = random.random() < 0.5

    def code(x):
        if not separable:
            return random.randrange(k)
        return max(range(k), key=lambda c: W[c][0] * x[0] + W[c][1] * x[1] + W[c][2] * unit * grid)

    codes = [code(x) for x in X]
    present = sorted(set(codes))
    return X, [present.index(code) for code in codes], len(present)


@pytest.mark.parametrize("seed", range(2))
def test_verdicts_on_two_classes(seed):
    random = Random(seed)
    for _ in range(12):
        X, codes, k = random_rows(random)
        if k < 2:
            continue
        intercept = random.random() < 0.6
        found = separation(X, [2 * code - 1 for code in codes], fit_intercept=intercept)
        want = linsep.separation(np.array(X), codes, fit_intercept=intercept, margin="max")
        assert found.kind == want.kind
        Z = [[s * Fraction(v) for v in (*x, 1)[: 2 + intercept]]
             for x, s in zip(X, (2 * code - 1 for code in codes), strict=True)]  # fmt: skip
        if found.kind == "separable":
            low, high = root(found.square)
            assert Fraction(low) ** 2 <= found.square <= Fraction(high) ** 2
            assert want.margin[0] <= high
            assert low <= want.margin[1]
            assert min(sum(p * q for p, q in zip(z, found.weights, strict=True)) for z in Z) > 0
            continue
        for multipliers in (found.multipliers, found.spanning):
            assert min(multipliers.values()) > 0
            assert not any(sum(m * Z[i][j] for i, m in multipliers.items())
                           for j in range(2 + intercept))  # fmt: skip
        if found.kind == "quasi-separable":
            assert found.boundary == list(want.boundary)
            values = [sum(p * q for p, q in zip(z, found.weights, strict=True)) for z in Z]
            assert [i for i, value in enumerate(values) if value == 0] == found.boundary
            assert min(values) == 0


@pytest.mark.parametrize("seed", range(1))
def test_joint_verdicts_on_several_classes(seed):
    random = Random(seed)
    for _ in range(5):
        X, codes, k = random_rows(random, random.choice([3, 4]), most=40)
        if k < 3:
            continue
        found = linsep.separation(np.array(X), codes)
        assert decided(joint_rows(X, codes, True)).kind == found.multinomial.kind


def test_a_point_among_others_is_their_mean():
    X = [[0, 0], [4, 0], [0, 4], [9, 9]]
    assert among([1, 1], X[:3]) == {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}
    assert among([2, 0], X) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert among([-1, 0], X) is None
    with pytest.raises(TimeoutError):
        among([1, 1], X, until=0.0)


@pytest.mark.parametrize("n", [1, 7, 500])
def test_orders_are_those_of_numpy(n):
    for state in (0, 1, 77, 2**31 - 1):
        seed = seed_of(state)
        assert seed == np.random.RandomState(state).randint(2**31 - 1)
        for number in (1, 2, 500):
            want = np.random.default_rng([seed, number]).permutation(n).tolist()
            assert permutation(n, seed, number) == want == orders_of(n, state, True)(number)
    assert orders_of(n, 3, True)(0) == orders_of(n, 3, False)(5) == list(range(n))


def traced(scene):
    """The trace of a scene by the library."""
    called, (y, reference) = arguments_of(scene), labels_of(scene)
    return linsep.trace(
        called.make(), scene.X, y, reference=reference,
        feature_names=list(scene.features), row_names=[str(k + 1) for k in range(len(y))],
        **called.start, **{"rounds" if scene["beyond"] else "max_rounds": scene["rounds"]},
    )  # fmt: skip


def outcome(run, scene):
    """What a function returns for a scene, or the error that it raises."""
    try:
        return run(scene)
    except ValueError as problem:
        return problem


@pytest.mark.parametrize("seed", range(1))
def test_the_lab_runs_as_the_library_traces(seed):
    met = 0
    for scene in random_scenes(48, seed):
        if scene["learner"] == "kernel" or len(set(scene.codes)) < 2:
            continue
        found, want = outcome(trace_of, scene), outcome(traced, scene)
        if isinstance(want, ValueError):
            assert str(found) == str(want)
        else:  # the errors after each step are the library's alone
            rows = [row._replace(errors=None) for row in want]
            assert (found[:], found.start) == (type(found[:])(rows), want.start)
            met += 1
    assert met > 20


def test_the_lab_makes_the_twins_that_estimators_name():
    for scene in random_scenes(60, seed=9):
        called, shown = arguments_of(scene), SHOWN[scene["learner"]]
        if scene["learner"] == "kernel":
            assert shown.rule == ""
        else:
            assert shown.rule_of(called.parameters) == called.make().twin()


@pytest.mark.parametrize("seed", range(2))
def test_cycles_are_those_of_the_library(seed):
    random, reasons = Random(seed), set()
    for _ in range(40):
        k, unit = random.choice([2, 2, 3, 4]), random.choice([1, 1, 0.1, 0.3])
        points = [[random.randint(-3, 3) * unit, random.randint(-3, 3) * unit, random.randrange(k)]
                  for _ in range(random.choice([3, 4, 5, 8]))]  # fmt: skip
        settings = {
            "learner": random.choice(["perceptron", "batch"]), "rounds": 400,
            "rate": random.choice([1.0, 0.5, 0.1, 0.3]), "intercept": random.random() < 0.5,
            "classes": random.choice(["native", "ovr", "ovo"]),
            "start": random.choice([[0, 0, 0], [1, 1, 1], [0.1, 0, -0.3]]),
        }  # fmt: skip
        scene = checked_scene(points, "", [], ["x1", "x2"], settings, 0)
        if len(set(scene.codes)) < 2:
            continue
        found, want = trace_of(scene), traced(scene)
        assert found.stopped == want.stopped
        assert found[:] == want[:]
        reasons.add(str(found.stop_reason))
    assert {"cycle", "converged"} <= reasons


def test_a_shuffled_kernel_run_is_that_of_the_estimator():
    from linsep.lab.run import kernel_steps

    scene = checked_scene(
        [[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1], [3, 1, 1]], "", [], ["x1", "x2"],
        {"learner": "kernel", "shuffle": True, "seed": 5, "width": 1.0}, 0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = arguments_of(scene).make().fit(scene.X, scene.codes)
    last = list(kernel_steps(scene))[-1]
    whole = np.zeros(len(scene.points))
    whole[model.support_] = model.dual_coef_[0]
    assert last.weights[: len(whole)] == whole.tolist()
