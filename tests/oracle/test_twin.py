"""Compiled passes against the plain-Python twin, which is the oracle of every learner."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from linsep import Perceptron
from linsep.certificate.cycles import Cycle
from linsep.compiled.rows import as_rows
from linsep.estimators.labels import pairs
from linsep.teaching.textbook import scores as twin_scores
from storages import SCHEMES, STORAGES, per_pass, replayed, store, twin_predict, twin_steps
from thoroughness import examples

PASSES = 8
#: every scheme and every storage, and with the compiler one of each scheme
STORED = [
    *zip([*SCHEMES, "binary", "native"], STORAGES, strict=True),
    *(pytest.param(scheme, storage, marks=pytest.mark.compiled) for scheme, storage in (
        ("binary", "dense32"), ("native", "dense64"), ("ovr", "csr32"), ("ovo", "csr64"))),
]  # fmt: skip
POWERS = (0.25, 0.5, 1.0, 2.0)


@st.composite
def problems(draw, scheme):
    """Rows of small integers and every option of a fit, so that all arithmetic is exact."""
    k = 2 if scheme == "binary" else draw(st.integers(3, 4))
    n, d = draw(st.integers(k, 9)), draw(st.integers(1, 5))
    machines = {"binary": 1, "ovo": k * (k - 1) // 2}.get(scheme, k)
    small = st.integers(-3, 3)

    def table(rows, columns, values=small):
        return draw(
            st.lists(
                st.lists(values, min_size=columns, max_size=columns), min_size=rows, max_size=rows
            )
        )

    weights = st.sampled_from((0.0, 0.5, 1.0, 2.0, 3.0))
    y = list(range(k)) + draw(st.lists(st.integers(0, k - 1), min_size=n - k, max_size=n - k))
    return SimpleNamespace(
        k=k,
        X=table(n, d),
        y=draw(st.permutations(y)),
        fit_intercept=(fit_intercept := draw(st.booleans())),
        shuffle=draw(st.booleans()),
        random_state=draw(st.integers(0, 99)),
        rate=draw(st.sampled_from(POWERS)),
        max_iter=draw(st.integers(1, PASSES)),
        class_weight=draw(st.none() | st.just(dict(zip(range(k), (2.0, 0.5, 1.0, 4.0))))),  # noqa: B905
        sample_weight=draw(st.none() | st.lists(weights, min_size=n, max_size=n).filter(any)),
        coef=draw(st.none() | st.just(table(machines, d))),
        intercept=table(1, machines)[0] if fit_intercept and draw(st.booleans()) else None,
        new_rows=table(4, d),
        tie=draw(st.sampled_from(("negative", "positive", "random"))),
    )


def twin_of(scheme, p):
    """The steps of the twin with the options of a problem."""
    first = (lambda given: given) if scheme != "binary" else (lambda given: given and given[0])
    importance = p.sample_weight
    if p.class_weight is not None:
        importance = [
            (p.sample_weight[i] if p.sample_weight else 1.0) * p.class_weight[c]
            for i, c in enumerate(p.y)
        ]
    start = {"weights": first(p.coef), "intercept": first(p.intercept)}
    if scheme == "native":
        start["tie"] = p.tie
    return twin_steps(
        scheme, p.X, p.y, p.k,
        fit_intercept=p.fit_intercept, learning_rate=p.rate, max_iter=p.max_iter,
        row_weights=importance, orders=replayed(len(p.X), p.random_state) if p.shuffle else None,
        **{name: value for name, value in start.items() if value is not None},
    )  # fmt: skip


def fitted(scheme, storage, p):
    return Perceptron(
        multiclass="native" if scheme == "binary" else scheme,
        fit_intercept=p.fit_intercept, shuffle=p.shuffle, random_state=p.random_state,
        learning_rate=p.rate, max_iter=p.max_iter, class_weight=p.class_weight, tie=p.tie,
    ).fit(
        store(p.X, storage), p.y, coef_init=p.coef, intercept_init=p.intercept,
        sample_weight=p.sample_weight,
    )  # fmt: skip


def vectors_of(scheme, cycle, step):
    """The weights that a cycle is about, after a step of the twin."""
    W, b = step.weights, step.intercept
    if scheme in ("binary", "native"):
        return W, b
    known = pairs(cycle.n_classes) if scheme == "ovo" else [(k,) for k in range(cycle.n_classes)]
    sides = cycle.negative + cycle.positive if scheme == "ovo" else cycle.positive
    return W[known.index(sides)], b[known.index(sides)]


@pytest.mark.filterwarnings("ignore:All rows of class.* have weight 0")
@pytest.mark.parametrize(("scheme", "storage"), STORED)
@examples(40, 15)
@given(data=st.data())
def test_exact_arithmetic_gives_exactly_the_twin(scheme, storage, data):
    p = data.draw(problems(scheme))
    steps, model = twin_of(scheme, p), fitted(scheme, storage, p)
    cycle = model.cycle_
    if cycle is not None:  # after which the estimator sees no sense in going on
        steps = [s for s in steps if s.pass_number < cycle.again]
        for one in [cycle] if isinstance(cycle, Cycle) else cycle:
            first = [s for s in steps if s.pass_number == one.first - 1]
            if first:
                assert vectors_of(scheme, one, first[-1]) == vectors_of(scheme, one, steps[-1])
    last = steps[-1]
    W, b = (
        (last.weights, last.intercept) if scheme != "binary" else ([last.weights], [last.intercept])
    )
    assert model.coef_.tolist() == W
    assert model.intercept_.tolist() == b
    counts = per_pass(steps)
    assert model.mistakes_.tolist() == counts
    assert model.n_iter_ == len(counts)
    reason = "max_iter" if cycle is None else "cycle"
    assert model.stop_reason_ == ("converged" if counts[-1] == 0 else reason)
    assert model.n_updates_ == sum(counts)

    rows = store(p.new_rows, storage)
    expected = [twin_scores(x, W, b) for x in p.new_rows]
    scores = (
        model.fitted_run().state.scores(as_rows(rows), 4, model.fitted_run().state.W).reshape(4, -1)
    )
    assert scores.tolist() == expected
    if p.tie == "random":
        return
    assert model.predict(rows).tolist() == [
        twin_predict(scheme, s if scheme != "binary" else s[0], p.k, p.tie) for s in expected
    ]


TOLERANCE = Fraction(1, 10**9)


def doubtful(scheme, score, weights):
    """Whether rounding could turn a decision: scores near zero, or for native near each other."""
    if scheme == "binary":
        score, weights = [score], [weights]
    if scheme == "native":
        (a, v), (b, w) = sorted(zip(score, weights, strict=True), key=lambda pair: -pair[0])[:2]
        return a - b < TOLERANCE and v != w
    return any(abs(s) < TOLERANCE and any(w) for s, w in zip(score, weights, strict=True))


@pytest.mark.parametrize(("scheme", "storage"), STORED[:6])
@examples(13, 5)
@given(seed=st.integers(0, 2**32 - 1))
def test_rounding_changes_no_decision_that_is_clear(scheme, storage, seed):
    rng = np.random.default_rng(seed)
    k = 2 if scheme == "binary" else 3
    X = rng.standard_normal((12, 4)).astype(np.float32)
    y = [0, 1, k - 1, *rng.integers(0, k, 9).tolist()]
    exact = [[Fraction(float(v)) for v in x] for x in X]
    steps = twin_steps(scheme, exact, y, k, max_iter=4)
    before = [[0] * 4] if scheme == "binary" else [[[0] * 4] * len(steps[0].weights)]
    before += [step.weights for step in steps[:-1]]
    if any(doubtful(scheme, s.score, w) for s, w in zip(steps, before, strict=True)):
        return
    model = Perceptron(
        multiclass="native" if scheme == "binary" else scheme, shuffle=False, max_iter=4
    ).fit(store(X, storage), y)
    assert model.mistakes_.tolist() == per_pass(steps)
    W, b = steps[-1].weights, steps[-1].intercept
    if scheme == "binary":
        W, b = [W], [b]
    np.testing.assert_allclose(model.coef_, np.array(W, float), rtol=1e-9, atol=1e-12)
    for x, predicted in zip(exact, model.predict(store(X, storage)), strict=True):
        score = twin_scores(x, W, b)
        if not doubtful(scheme, *((score, W) if scheme != "binary" else (score[0], W[0]))):
            assert predicted == twin_predict(scheme, score if scheme != "binary" else score[0], k)
