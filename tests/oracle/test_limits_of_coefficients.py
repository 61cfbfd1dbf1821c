"""What becomes of coefficients: what an exact oracle says, in any order of the rows."""

import json
import warnings
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.datasets import load_svmlight_file

from checkers_agree import accepts, accepts_alone
from fourier_motzkin import limits_of, of_classes, two_sided
from linsep import LogisticRegression, from_json, load, save, separation
from linsep.errors import DataError, SeparationWarning
from linsep.separability.recession import Cone
from parameters_in_order import last
from thoroughness import examples, some

pytestmark = pytest.mark.compiled

small = st.integers(-2, 2)


def tables(classes, most_columns, most_rows=8):
    return st.integers(1, most_columns).flatmap(
        lambda d: st.lists(
            st.tuples(*[small] * d, st.integers(0, classes - 1)), min_size=2, max_size=most_rows
        ).filter(lambda rows: len({row[-1] for row in rows}) == classes)
    )


def parts(rows):
    table = np.array(rows)
    return table[:, :-1], table[:, -1]


def assert_told(verdict, X, y, rows, fit_intercept):
    """The limits, which verify, and are those of the oracle."""
    limits = list(verdict.limits().values())
    assert limits == limits_of(rows, X.shape[1] + fit_intercept, fit_intercept)
    check = verdict.verify(X, y, exact=True)
    assert check, check.reason
    assert from_json(verdict.to_json()) == verdict
    return limits


@examples(60)
@given(tables(2, 3), st.booleans(), st.randoms(use_true_random=False))
def test_two_classes_agree_with_the_oracle_in_any_order(rows, fit_intercept, random):
    X, y = parts(rows)
    verdict = separation(X, y, fit_intercept=fit_intercept)
    if verdict.kind == "separable":
        return
    limits = assert_told(verdict, X, y, two_sided(X, y, fit_intercept), fit_intercept)
    random.shuffle(rows)
    X, y = parts(rows)
    assert list(separation(X, y, fit_intercept=fit_intercept).limits().values()) == limits


@examples(40)
@given(tables(3, 1, 6), st.booleans())
def test_several_classes_agree_with_the_oracle(rows, fit_intercept):
    X, y = parts(rows)
    verdict = separation(
        X, y, fit_intercept=fit_intercept, formulations=("multinomial",)
    ).multinomial
    if verdict.kind != "separable":
        assert_told(verdict, X, y, of_classes(X, y, fit_intercept), fit_intercept)


@pytest.mark.parametrize(
    ("X", "y", "limits"),
    [
        ([[0, 0], [0, 0], [1, 0], [1, 1]], [0, 1, 1, 1], ["+inf", "infinite", "finite"]),
        ([[0, 0], [0, 0], [1, 1], [-1, 1]], [0, 1, 1, 1], ["infinite", "+inf", "finite"]),
        ([[0, 0], [0, 0], [1, 0], [0, 1]], [0, 1, 1, 0], ["+inf", "-inf", "finite"]),
    ],
)
def test_no_order_of_four_rows_changes_a_sign(X, y, limits):
    X, y = np.array(X), np.array(y)
    for order in list(permutations(range(4)))[::2]:
        verdict = separation(X[list(order)], y[list(order)])
        assert list(verdict.limits().values()) == limits


def test_floats_of_all_sizes_have_the_signs_of_whole_numbers():
    X = np.array([[0, 0, 3], [0, 0, 3], [1, 0, 3], [2, -1, 3], [0, 1, 0]])
    y = np.array([0, 1, 1, 1, 1])
    limits = limits_of(two_sided(X, y, True), 4, True)
    for scale in ([1e-300, 1.0, 1e300], [1e16, 2.0**-1000, 1e-5], [1.0, 1.0, 1.0]):
        verdict = separation(X * np.array(scale), y)
        assert list(verdict.limits().values()) == limits
        assert verdict.verify(X * np.array(scale), y, exact=True)


def test_the_supremum_of_classes_that_only_rounding_separates_is_zero():
    x = np.array([1.8, -3.1, 1.0, 0.1, 1.3, 0.4])
    with pytest.warns(SeparationWarning, match="The data are separable"):
        model = LogisticRegression().fit(np.column_stack([x, 2 * x + 1]), [0, 1, 1, 0, 1, 1])
    assert (model.log_likelihood_, model.mcfadden_r2_) == (0.0, 1.0)


def test_the_first_of_columns_that_depend_on_each_other_is_kept():
    x = np.array([1.0, 2.0, 3.0, 3.0, 4.0])
    y = np.array([0, 0, 0, 1, 1])
    X = np.column_stack([np.ones(5), x, 2 * x, x + 1, x**2])
    for fit_intercept, dependent in ((True, [0, 2, 3]), (False, [2, 3])):
        verdict = separation(X, y, fit_intercept=fit_intercept)
        limits = assert_told(verdict, X, y, two_sided(X, y, fit_intercept), fit_intercept)
        assert [j for j, word in enumerate(limits) if word == "dependent"] == dependent
    overlapping = separation(np.vstack([X, X]), np.repeat([0, 1], 5))
    assert overlapping.kind == "overlapping"
    assert list(overlapping.limits().values()) == [
        "dependent", "finite", "dependent", "dependent", "finite", "finite",
    ]  # fmt: skip
    assert "dependent   x0, x2, x3: linear combinations of" in str(overlapping)


def regression_rows(X, y, reference):
    """The rows of a regression of the other class's odds against the reference's."""
    return two_sided(X, y != reference, True)


@pytest.mark.parametrize("seed", some(range(12), 5))
@pytest.mark.parametrize("reference", [0, 1])
def test_a_logistic_regression_has_the_signs_of_the_oracle(seed, reference):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (7, 1 + seed % 2))
    y = X @ rng.integers(-2, 3, X.shape[1]) + rng.integers(0, 2, 7) * (seed % 3 > 0) > 0
    y[:2] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(reference=reference).fit(X, y.astype(int))
        order = rng.permutation(7)
        again = LogisticRegression(reference=reference).fit(X[order], y[order].astype(int))
    if model.separation_ is not None:
        expected = limits_of(regression_rows(X, y, reference), X.shape[1] + 1, True)
        assert last(model, "limits_").ravel().tolist() == expected
    assert last(model, "limits_").tolist() == last(again, "limits_").tolist()


@pytest.mark.parametrize("reference", [0, 1, 2])
def test_contrasts_of_several_classes_have_the_signs_of_the_oracle(reference):
    X, y = np.array([[0], [1], [1], [2], [2], [3]]), np.array([0, 0, 1, 1, 2, 2])
    with pytest.warns(SeparationWarning):
        model = LogisticRegression(reference=reference).fit(X, y)
    rows = of_classes(X, np.where(y == reference, 2, np.where(y == 2, reference, y)), True)
    expected = np.array(limits_of(rows, 2, True)).reshape(2, 2)
    for block, own in enumerate([2 if k == reference else k for k in (0, 1)]):
        ours = [k for k in range(3) if k != reference].index(own)
        assert last(model, "limits_")[ours].tolist() == expected[block].tolist()


@pytest.mark.parametrize("change", ["multipliers", "rows", "coefficient", "sign"])
def test_signs_that_were_edited_are_refused(change):
    X = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 1], [-1, 1, 1]])
    y = np.array([0, 1, 1, 1])
    verdict = separation(X, y)
    assert verdict.limits() == {
        "x0": "infinite", "x1": "+inf", "x2": "dependent", "intercept": "finite",
    }  # fmt: skip
    plain = json.loads(verdict.to_json())
    signs = plain["verdicts"][0]["signs"]
    (name,) = signs
    if change == "multipliers":
        signs[name]["multipliers"] = ["0x77", "0x1"]
    elif change == "rows":
        signs[name]["rows"] = [2] * len(signs[name]["rows"])
    elif change == "coefficient":
        plain["verdicts"][0]["signs"] = {"0": signs[name]}
    else:
        plain["verdicts"][0]["signs"] = {"2": signs[name]}
    try:
        check = from_json(json.dumps(plain)).verify(X, y, exact=True)
    except DataError:
        return
    assert not check
    assert "sign" in check.reason


# Where the work runs out.


def under(monkeypatch, seconds):
    """Let the signs of all coefficients together take so many seconds of estimated work."""
    monkeypatch.setattr("linsep.separability.recession.MOST_WORK", seconds)


@pytest.mark.parametrize("seed", some(range(12)))
@pytest.mark.parametrize("work", [0.0, 3e-6, 2e-5])
def test_no_claim_depends_on_the_order_of_rows_or_on_the_work(monkeypatch, seed, work):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.integers(-1, 2, (10, 3)), np.zeros((2, 3), int)])
    scores = X @ rng.integers(1, 3, 3)
    y = np.where(scores == 0, np.arange(12) % 2, scores > 0).astype(int)
    whole = separation(X, y)
    assert whole.kind == "quasi-separable"
    assert whole.unchecked == ()
    expected = whole.limits()
    assert list(expected.values()) == limits_of(two_sided(X, y, True), 4, True)
    under(monkeypatch, work)
    for _ in range(6):
        order = rng.permutation(12)
        verdict = separation(X[order], y[order])
        for name, word in verdict.limits().items():
            assert word in (expected[name], "sign not checked")
            if word == "sign not checked":
                assert expected[name] in ("+inf", "-inf", "infinite")
        assert from_json(verdict.to_json()) == verdict
        assert verdict.verify(X[order], y[order])


@pytest.fixture
def unchecked(monkeypatch):
    """A verdict without work for signs, with its rows, none of which proves one by itself."""
    X = np.array([
        [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [1, 1, 1, 0, 0], [-1, 1, 1, 0, 0],
        [0, 0, 1, 1, 1], [0, 0, 1, 1, -1],
    ])  # fmt: skip
    y = np.array([0, 1, 1, 1, 0, 0])
    under(monkeypatch, 0.0)
    return X, y, separation(X, y)


def test_where_the_work_ran_out_it_says_not_checked(tmp_path, unchecked):
    X, y, verdict = unchecked
    assert verdict.limits() == {
        "x0": "infinite", "x1": "sign not checked", "x2": "dependent", "x3": "sign not checked",
        "x4": "infinite", "intercept": "finite",
    }  # fmt: skip
    assert "sign not checked  x1, x3" in str(verdict)
    assert from_json(verdict.to_json()).limits() == verdict.limits()
    with pytest.warns(SeparationWarning, match=r"x1 \(sign not checked\)"):
        model = LogisticRegression().fit(X, y)
    assert last(model, "limits_")[0].tolist() == list(verdict.limits().values())
    assert np.isnan(last(model)[0, [0, 1, 3]]).all()
    save(model, tmp_path / "m")
    model = load(tmp_path / "m")
    assert last(model, "limits_")[0].tolist() == list(verdict.limits().values())
    assert "Sign not checked: the coefficient diverges" in str(model.summary())


def test_both_checkers_read_what_was_not_checked(unchecked):
    X, y, verdict = unchecked

    def holds(text):
        """Whether both checkers confirm a proof; they must agree."""
        ours, theirs = accepts(text, X, y), accepts_alone(text, X, y)
        assert ours == theirs
        return ours

    text = verdict.to_json()
    assert holds(text)
    plain = json.loads(text)
    known = plain["verdicts"][0]["unchecked"]
    assert known == list(verdict.unchecked) != []
    dependent = [j for j, word in enumerate(verdict.limits().values()) if word == "dependent"]
    wrong_ones = [[], None, "1", {"1": 1}, known * 2, known[::-1], [True], [99], dependent]
    for wrong in [*wrong_ones, [float(known[0])], [-1], [str(known[0])]]:
        plain["verdicts"][0]["unchecked"] = wrong
        assert not holds(json.dumps(plain, indent=1) + "\n"), wrong
    del plain["verdicts"][0]["unchecked"]
    assert holds(json.dumps(plain, indent=1) + "\n")  # says less


def test_a_row_that_is_a_multiple_of_a_coefficient_needs_no_work(monkeypatch):
    """Modulo the boundary, in any order and in lanes; numbers of all sizes."""
    under(monkeypatch, 0.0)
    monkeypatch.setattr("linsep.separability.data.LANE_VALUES", 20)
    rng = np.random.default_rng(0)
    scales = np.array([1e-150, 3e-9, 0.1, 1.0, 7.0, 1e6, 1e90, 1.0])
    bound = np.vstack([np.eye(8)[-2:], -np.eye(8)[-2:]])
    some = np.hstack([np.diag(scales[:6]), rng.integers(-3, 4, (6, 2))])
    X, y = np.vstack([bound, some * [[1], [-1], [1], [1], [-1], [1]]]), np.ones(10, int)
    y[[0, 5, 8]] = 0
    X[[0, 5, 8]] *= -1
    for _ in range(4):
        order = rng.permutation(10)
        verdict = separation(X[order], y[order], fit_intercept=False)
        signs = ["+inf", "-inf", "+inf", "+inf", "-inf", "+inf", "finite", "finite"]
        assert list(verdict.limits().values()) == signs
        assert all(len(proof.rows) == 1 for proof in verdict.signs.values())
        assert verdict.verify(X[order], y[order], exact=True)


def test_nothing_is_tried_again_when_the_work_has_run_out(monkeypatch):
    under(monkeypatch, 0.0)
    tried, against = [], Cone._against

    def noting(self, target, side):
        tried.append(1)
        return against(self, target, side)

    monkeypatch.setattr(Cone, "_against", noting)
    X = np.eye(30) + np.eye(30)[:, ::-1] * 2  # no row has one entry
    verdict = separation(np.vstack([X, 0 * X[:2]]), np.append(np.ones(30), [0, 1]))
    assert len(verdict.unchecked) == 30
    assert len(tried) == 1


@pytest.mark.thorough
def test_the_order_of_web_pages_changes_no_claim(shared_data):
    """w8a: 300 columns; single rows prove 49 of 55 signs, and three coefficients have both."""
    X, y = load_svmlight_file(str(shared_data / "libsvm" / "w8a.gz"))
    said = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        said.append(separation(X[order], y[order]).limits())
    assert said[0] == said[1] == said[2]
    counts = Counter(said[0].values())
    assert counts == {"finite": 209, "-inf": 44, "dependent": 34, "+inf": 11, "infinite": 3}


@examples(30)
@given(tables(2, 3), st.booleans())
def test_of_very_many_weights_only_signs_are_not_looked_for(rows, fit_intercept):
    X, y = parts(rows)
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        all_told = last(LogisticRegression(fit_intercept=fit_intercept).fit(X, y), "limits_")
        patch.setattr("linsep.logistic.no_maximum.MOST_FACTORED", 0)
        few_told = last(LogisticRegression(fit_intercept=fit_intercept).fit(X, y), "limits_")
    told = ["finite", "dependent"]
    expected = np.where(np.isin(all_told, told), all_told, "sign not checked")
    assert few_told.tolist() == expected.tolist()
