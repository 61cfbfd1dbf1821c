"""What a logistic fit claims about finite estimates is proved, whatever the solver."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.suspicion import sets, suspected
from hypothesis import given, strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

import endometrial
import linsep
from command_line import here
from linsep import LogisticRegression
from linsep.batches import Batch
from linsep.errors import SeparationError, SeparationWarning
from linsep.logistic import existence, no_maximum
from linsep.logistic.ascent import Goal, Penalty, newton, solved
from linsep.logistic.likelihood import Likelihood, Terms
from linsep.logistic.rows import RowLanes
from parameters_in_order import last, weights_of
from refusals import refused
from thoroughness import examples

pytestmark = pytest.mark.compiled

SOLVERS = ("newton", "lbfgs", "gradient_ascent")


def verdict_of(X, y):
    found = linsep.separation(X, y, formulations=("multinomial",))
    return getattr(found, "multinomial", None) or found


def likelihood_of(X, codes, weights, q):
    codes, weights = codes.astype(np.int32), weights if weights.size else None
    batch = Batch(np.ascontiguousarray(X), codes, weights=weights)
    terms = Terms(q, np.zeros(X.shape[1]), np.ones(X.shape[1]), True)
    return Likelihood(RowLanes(lambda: [batch]), terms)


@examples(80, 25)
@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(4, 14), st.integers(1, 3))
def test_no_step_proves_a_maximum_that_is_not_there(seed, classes, rows, d):
    """At any weights, by any step, of rows that weigh little or much."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (rows, d)).astype(float)
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
    weights = 10.0 ** rng.integers(-12, 3, rows) if seed % 2 else np.empty(0)
    verdict = verdict_of(X, codes)
    there = verdict.kind == "overlapping" and "dependent" not in verdict.limits().values()
    likelihood = likelihood_of(X, codes, weights, classes - 1)
    nothing = Penalty(np.zeros(d + 1), 0.0)
    goal = Goal(1.0, 1e-8, 60, True, True, only=True)
    found = newton(likelihood, nothing, np.zeros(likelihood.shape), goal)
    assert found.proved is there or (there and weights.size)
    for _ in range(5):
        B = rng.standard_normal(likelihood.shape) * rng.choice([0.1, 1.0, 10.0])
        point = likelihood.at(B)
        for step in (solved(point.hessian, point.gradient)[0], np.zeros_like(B), B):
            assert there or not existence.examined(likelihood, point, step)[0]


def test_the_proof_is_that_of_exact_arithmetic():
    """The step's longest move, and a step that is too long by a little."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    likelihood = likelihood_of(X, np.array([0, 1, 0, 1]), np.empty(0), 1)
    B = np.zeros((1, 2))
    point = likelihood.at(B)
    step = solved(point.hessian, point.gradient)[0]
    moves = likelihood.moves(step)
    scores = step[0, 0] * X[:, 0] + step[0, 1]
    assert moves.apart == np.abs(scores).max()
    proof = existence._Proof.begun(likelihood, point, step)
    assert moves.apart < proof.by_moves(moves) < 1.02 * moves.apart
    assert proof.by_curvature() > moves.apart


@pytest.mark.parametrize("solver", SOLVERS)
def test_endometrial_data_as_r_prints_them(solver):
    X, y = endometrial.X, endometrial.y
    more = {"max_iter": 50} if solver == "gradient_ascent" else {}
    with pytest.warns(SeparationWarning) as caught:
        found = LogisticRegression(solver=solver, **more).fit(X, y)
    assert caught[0].message.verdict.kind == "quasi-separable"
    assert last(found, "limits_")[0].tolist() == ["+inf", "finite", "finite", "finite"]
    assert np.round(weights_of(found)[0, 1:], 4).tolist() == list(endometrial.ESTIMATES)
    assert np.round(last(found, "standard_errors_")[0, 1:], 4).tolist() == list(endometrial.ERRORS)


@examples(60, 10)
@given(st.integers(0, 10**6), st.sampled_from(SOLVERS))
def test_every_solver_ends_in_the_same_question(seed, solver):
    """Indicators of rare properties: most of these data sets are quasi-separable."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 60))
    X = np.column_stack([rng.standard_normal(n).round(1), rng.random((n, 2)) < 0.15])
    y = rng.integers(0, 2 + seed % 2, n)
    y[:3] = [0, 1, y.max()]
    verdict = verdict_of(X, y)
    more = {"max_iter": 30, "tol": 1e-3} if solver == "gradient_ascent" else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = LogisticRegression(solver=solver, **more).fit(X, y)
    warned = [w for w in caught if issubclass(w.category, SeparationWarning)]
    assert bool(warned) == (verdict.kind != "overlapping")
    assert set(last(found, "limits_").ravel()) <= {
        "finite",
        "dependent",
        "+inf",
        "-inf",
        "infinite",
    }
    if verdict.kind == "overlapping":
        assert last(found, "limits_").ravel().tolist() == expected(verdict, found)


def expected(verdict, found):
    """The verdict's words, the reference being the class whose weights it has not."""
    said = verdict.limits()
    assert sorted(said) == sorted(found.param_names_)
    return list(said.values())


@pytest.mark.parametrize("solver", SOLVERS)
def test_separation_is_an_error_whatever_ended_the_climb(solver):
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1]
    for max_iter in (1, 7, 100):
        model = LogisticRegression(solver=solver, on_separation="raise", max_iter=max_iter)
        with refused(SeparationError, "separated"):
            model.fit(X, y)


def test_gradient_ascent_leaves_out_what_others_add_up_to():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 2))
    y = (rng.random(60) < 1 / (1 + np.exp(-A[:, 0]))).astype(int)
    X = np.column_stack([A, A[:, 0] - A[:, 1]])
    found = LogisticRegression(solver="gradient_ascent", max_iter=5000).fit(X, y)
    assert last(found, "limits_")[0].tolist() == ["finite", "finite", "dependent", "finite"]
    plain = LogisticRegression().fit(A, y)
    assert np.allclose(weights_of(found)[0, [0, 1, 3]], weights_of(plain), atol=1e-6)
    assert np.allclose(
        last(found, "standard_errors_")[0, [0, 1, 3]], last(plain, "standard_errors_"), rtol=1e-6
    )


@pytest.mark.parametrize(
    "options",
    [{"solver": solver} for solver in ("newton", "lbfgs", "gradient_ascent")]
    + [{"penalty": "firth"}, {"intervals": "profile"}],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_whose_features_are_all_left_out(options, classes):
    model = LogisticRegression(fit_intercept=False, **options)
    model.fit(np.zeros((6, 2)), np.arange(6) % classes)
    assert (last(model, "limits_") == "dependent").all()
    assert model.log_likelihood_ == pytest.approx(-6 * np.log(classes))
    assert "x1  dependent" in str(model.summary())


def test_advice_about_the_rate_is_the_right_way_round():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = (rng.random(80) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)

    def said(**how):
        with pytest.warns(ConvergenceWarning) as caught:
            found = LogisticRegression(solver="gradient_ascent", **how).fit(X, y)
        assert (last(found, "limits_") == "finite").all()
        return str(caught[0].message)

    assert "raise the learning rate" in said(learning_rate=1e-4, max_iter=50)
    assert "raise max_iter" in said(max_iter=3)
    over = said(learning_rate=0.12, max_iter=9)
    assert "lower it" in over
    assert "raise" not in over
    assert re.search(r"about [\d.e+-]+ standard errors away", over)


@pytest.mark.parametrize(
    ("X", "y", "weights"),
    [
        ([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1], 1e-12),
        ([[1.0], [2.0], [3.0], [4.0], [2.5]], [0, 0, 1, 1, 1], [1e-12, 1, 1, 1e-12, 1e-12]),
    ],
)
def test_tiny_weights_do_not_hide_a_separation(X, y, weights):
    weights = np.broadcast_to(np.asarray(weights, dtype=float), len(y))
    for solver in SOLVERS:
        with pytest.warns(SeparationWarning):
            found = LogisticRegression(solver=solver).fit(X, y, weights)
        assert last(found, "limits_")[0].tolist() == ["+inf", "-inf"]


def test_weights_that_are_all_small_change_no_estimate():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :3]
    plain, small = (
        LogisticRegression().fit(X, y),
        LogisticRegression().fit(X, y, np.full(569, 1e-9)),
    )
    assert small.stop_reason_ == "converged"
    assert np.allclose(weights_of(small), weights_of(plain), rtol=1e-9)
    assert (last(small, "limits_") == "finite").all()


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_where_there_is_a_maximum_nobody_is_asked(monkeypatch, solver):
    """Overlap is proved on the way: pairs of real classes, strong signals, nearly separable."""
    asked = []
    monkeypatch.setattr(no_maximum, "outcome_of_suspect", lambda *given: asked.append(given))
    loaders = load_iris, load_wine, load_breast_cancer
    iris, wine, cancer = (load(return_X_y=True) for load in loaders)
    sets = [(iris[0][50:], iris[1][50:]), (wine[0][:, :2], wine[1]), (cancer[0][:, :15], cancer[1])]
    rng = np.random.default_rng(0)
    S = rng.standard_normal((200, 2))
    edge = (S[:, 0] > 0).astype(int)
    near = np.argsort(np.abs(S[:, 0]))[2:5]
    edge[near] = 1 - edge[near]
    strong = (rng.random(200) < 1 / (1 + np.exp(-16 * S[:, 0]))).astype(int)
    for X, y in [*sets, (S, edge), (S, strong)]:
        assert (last(LogisticRegression(solver=solver).fit(X, y), "limits_") == "finite").all()
    assert not asked


def test_iterations_are_counted_through_a_question(monkeypatch):
    """The steps before and after the verdict, as many as without the suspicion."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 2))
    y = (X[:, 0] > 0).astype(int)
    near = np.argsort(np.abs(X[:, 0]))[1]
    y[near] = 1 - y[near]
    plain = LogisticRegression().fit(X, y)
    monkeypatch.setattr("linsep.logistic.ascent.examined", lambda *given: (False, True))
    asked = LogisticRegression().fit(X, y)
    assert asked.separation_.kind == "overlapping"
    assert asked.n_iter_ == plain.n_iter_
    assert np.allclose(weights_of(asked), weights_of(plain), rtol=1e-9)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_what_is_not_checked_is_not_called_finite(monkeypatch, solver):
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.standard_normal((80, 3)))
    y = rng.integers(0, 2, 80)
    monkeypatch.setattr("linsep.logistic.rows.MOST_WEIGHTS", 0)
    found = LogisticRegression(solver=solver).fit(X, y)
    assert set(last(found, "limits_").ravel()) == {"not checked"}
    assert "not checked" in str(found.summary())
    assert (last(LogisticRegression(solver=solver, l2=1.0).fit(X, y), "limits_") == "finite").all()


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient_ascent"])
def test_four_students_are_separable_for_every_solver(tmp_path, solver):
    """Gradient ascent printed standard errors of 4.75e8."""
    data = Path(__file__).parents[2] / "docs" / "students.csv"
    words = ("fit", str(data), "--target", "grade", "--exclude", "name", "--learner", "logistic")
    done = here(*words, "--solver", solver, "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert "The data are separable, so the likelihood has no maximum" in done.stderr
    said = {row["name"]: row for row in json.loads(done.stdout)["summary"]["coefficients"]}
    assert {name: row["status"] for name, row in said.items()} == {
        "attendance": "-inf",
        "tall": "infinite",
        "sleeps": "+inf",
        "gum": "dependent",
        "intercept": "+inf",
    }
    assert all(row["standard_error"] is None for row in said.values())


@pytest.mark.thorough
def test_separation_is_hardly_ever_suspected_where_there_is_none():
    asked = [suspected(X, y)[0] for _, X, y in sets(60)]
    assert len(asked) == 60
    assert sum(asked) <= 1


def test_a_separation_by_rounding_errors_is_said():
    """2 x + 1, rounded, separates classes that overlap in x."""
    x, y = np.array([1, 3, 3, 2, 1, 2, 0, 3]) * 0.1, [1, 1, 0, 1, 0, 1, 0, 1]
    X = np.column_stack([x, 2 * x + 1])
    assert linsep.separation(x[:, None], y).kind == "overlapping"
    assert linsep.separation(X, y).kind != "overlapping"
    said = "x1 is a combination of earlier columns up to rounding, and the classes overlap without "
    with pytest.warns(SeparationWarning, match=said):
        model = LogisticRegression().fit(X, y)
    text = " ".join(str(model.summary()).split())
    assert said in text
    assert "the separation depends on the last digits of the data, so leave it out." in text
    with pytest.warns(SeparationWarning) as found:
        model = LogisticRegression().fit(np.column_stack([X, np.array(y) + 0.5]), y)
    assert "up to rounding" not in str(found[0].message) + str(model.summary())
