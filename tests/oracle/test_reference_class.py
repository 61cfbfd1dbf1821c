"""``reference`` names the class of two that is -1: weights, scores, bounds, files, streams."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import linsep
from linsep import (
    AROW,
    SCW,
    BalancedWinnow,
    KernelPerceptron,
    KernelSoftMargin,
    LogisticRegression,
    MarginPerceptron,
    OnlineLogistic,
    PassiveAggressive,
    Perceptron,
    SoftMargin,
    Winnow,
    datasets,
    trace,
)
from linsep.errors import DataError, ModelFileError
from linsep.estimators._common.explaining import explained
from refusals import refused

RNG = np.random.default_rng(3)
X = RNG.integers(0, 2, (40, 5)).astype(float)
SIGNS = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
#: the positive class is the smaller label
NAMED = np.where(SIGNS > 0, "apple", "pear")
FRAME = pd.DataFrame(X, columns=list("abcde"))
LEARNERS = [
    Perceptron(),
    Perceptron(keep="average", shuffle=False),
    Perceptron(keep="vote", max_iter=3),
    Perceptron(update="batch", normalize=True, class_weight={"apple": 2.0}),
    MarginPerceptron(),
    PassiveAggressive(max_iter=9),
    Winnow(tie="positive", max_iter=9),
    BalancedWinnow(early_stopping=True, max_iter=9),
    KernelPerceptron(kernel="linear"),
]


def weights(model):
    """The weights, of features or rows, and the intercept."""
    coef = model.dual_coef_ if hasattr(model, "dual_coef_") else model.coef_
    return coef.tolist(), getattr(model, "intercept_", np.zeros(1)).tolist()


def signed(model):
    """The same learner for the labels -1 and 1."""
    return clone(model).set_params(class_weight={1: 2.0} if model.class_weight else None)


@pytest.mark.parametrize("model", LEARNERS, ids=repr)
def test_the_fit_is_that_of_labels_of_the_other_order(model, tmp_path):
    plain = signed(model).fit(X, SIGNS)
    named = clone(model).set_params(reference="pear").fit(X, NAMED)
    assert weights(named) == weights(plain)
    assert named.reference_ == "pear"
    assert named.classes_.tolist() == ["apple", "pear"]
    assert named.mistakes_.tolist() == plain.mistakes_.tolist()
    assert (named.decision_function(X) == 0.0 - plain.decision_function(X)).all()
    assert ((named.predict(X) == "apple") == (plain.predict(X) == 1)).all()
    assert named.score(X, NAMED) == plain.score(X, SIGNS)
    path = linsep.save(named, tmp_path / "named.linsep")
    assert (linsep.load(path).predict(X) == named.predict(X)).all()
    assert linsep.load(path).reference_ == "pear"


@pytest.mark.parametrize("model", LEARNERS, ids=repr)
def test_the_smaller_class_is_the_default(model):
    default = clone(model).fit(X, NAMED)
    named = clone(model).set_params(reference="apple").fit(X, NAMED)
    assert weights(named) == weights(default)
    assert default.reference_ == named.reference_ == "apple"


LINEAR = [
    Perceptron(keep="average"), MarginPerceptron(), PassiveAggressive(max_iter=9), AROW(), SCW(),
    OnlineLogistic(), BalancedWinnow(max_iter=9),
    SoftMargin(), SoftMargin(loss="squared_hinge", class_weight="balanced"),
    LogisticRegression(l2=1.0),
]  # fmt: skip


@pytest.fixture
def table(tmp_path):
    lines = [",".join([*map(str, row), label]) for row, label in zip(X, NAMED, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,c,d,e,kind", *lines]) + "\n")
    return tmp_path / "rows.csv"


@pytest.mark.parametrize("reference", ["apple", "pear"])
@pytest.mark.parametrize("model", [*LINEAR, KernelSoftMargin()], ids=repr)
def test_a_file_gives_the_model_of_arrays(model, reference, table, tmp_path):
    known = clone(model).set_params(reference=reference).fit(X, NAMED)
    rows = linsep.open_source(table, target="kind", scale="none")
    found = clone(model).set_params(reference=reference).fit(rows)
    path = linsep.save(found, tmp_path / "found.linsep")
    for one in (found, linsep.load(path)):
        assert one.classes_.tolist() == ["apple", "pear"]
        assert one.reference_ == reference
        scores = one.decision_function(FRAME)
        assert np.allclose(scores, known.decision_function(X), rtol=1e-6, atol=1e-9)
        assert one.predict(FRAME).tolist() == known.predict(X).tolist()
        assert one.score(rows) == known.score(X, NAMED)


@pytest.mark.parametrize("reference", [None, "apple", "pear"])
@pytest.mark.parametrize("model", LINEAR, ids=repr)
def test_products_add_up_to_the_score_of_the_class_that_is_not_the_reference(
    model, reference, table
):
    fitted = clone(model).set_params(reference=reference).fit(X, NAMED)
    positive = "apple" if reference == "pear" else "pear"
    source = linsep.open_source(table, target="kind", scale="none")
    for row in range(9):
        found = explained(fitted, source, row)
        total = sum(term["product"] for term in found["terms"])
        assert abs(total - found["score"]) < 1e-9
        assert abs(found["rounding"]) < 1e-9
        assert (found["score"] > 0) == (found["prediction"] == positive)
        assert found["score_of"].startswith(positive)
        assert found["prediction"] == fitted.predict(X)[row]


def test_files_give_the_weights_of_arrays(tmp_path):
    lines = [",".join([*map(str, row), label]) for row, label in zip(X, NAMED, strict=True)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,c,d,e,kind", *lines]) + "\n")
    weighed = {"class_weight": {"apple": 2.0}, "reference": "pear"}
    for how in ({"reference": "pear"}, weighed, weighed | {"early_stopping": True}):
        read = linsep.open_source(path, target="kind", scale="none", cache=tmp_path)
        found, arrays = Perceptron(**how).fit(read), Perceptron(**how).fit(X, NAMED)
        assert weights(found) == weights(arrays)
        assert found.score(read) == arrays.score(X, NAMED) == found.training_accuracy_
        assert (found.decision_function(read) == arrays.decision_function(X)).all()
        assert (found.predict(read) == arrays.predict(X)).all()


def test_one_row_after_another_gives_the_same_weights():
    whole = Perceptron(shuffle=False, max_iter=1, reference="pear").fit(X, NAMED)
    model = Perceptron(reference="pear")
    for row, label in zip(X, NAMED, strict=True):
        model.partial_fit([row], [label], classes=["apple", "pear"])
    assert weights(model) == weights(whole)
    model.reference = None
    with pytest.raises(ValueError, match="partial_fit needs the reference of the last fit"):
        model.partial_fit(X, NAMED)


@pytest.mark.parametrize("start", [[0.25] * 5, [0, 0.5, 0.5, 0, 0]])
def test_students_of_the_notes_have_the_weights_of_the_trace(start):
    frame = datasets.load_students(as_frame=True)
    people = frame.data
    begin = {"coef_init": start[1:], "intercept_init": start[0]}
    model = Perceptron(shuffle=False, reference="F").fit(people, frame.target, **begin)
    made = trace(Perceptron(shuffle=False), people, frame.target, reference="F", **begin)
    ((intercept, *coef),) = made[-1].weights
    assert weights(model) == ([coef], [intercept])
    assert sum(row.mistakes for row in made) == model.mistakes_.sum()
    assert str(trace(model, people, frame.target, **begin)) == str(made)
    assert str(model.equation_).endswith(" means A")


def test_bounds_and_margins_have_the_signs_of_the_reference():
    plain, named = Winnow().fit(X, SIGNS), Winnow(reference="pear").fit(X, NAMED)
    assert str(named.bounds(X, NAMED)) == str(plain.bounds(X, SIGNS))
    assert linsep.geometric_margin(named, X, NAMED) == linsep.geometric_margin(plain, X, SIGNS)
    assert str(named.equation_) == str(plain.equation_).replace("means 1", "means apple")


@pytest.mark.parametrize("reference", ["no", "yes"])
def test_margins_of_a_logistic_regression_do_not_depend_on_the_reference(reference):
    rows, labels = [[-1.0], [0.0], [1.0], [2.0]], ["no", "no", "yes", "yes"]
    model = linsep.LogisticRegression(l2=1.0, reference=reference).fit(rows, labels)
    assert linsep.geometric_margin(model, rows, labels) == pytest.approx(0.5)


@pytest.mark.parametrize("update", ["single", "batch"])
def test_the_cycle_of_a_run_has_its_sides(update):
    rows, labels = datasets.load_inseparable_points(return_X_y=True)
    begin = {"coef_init": [1, 1], "intercept_init": 1}
    model = Perceptron(shuffle=False, update=update, reference=2).fit(rows, labels, **begin)
    signs = Perceptron(shuffle=False, update=update).fit(rows, labels == 1, **begin)
    assert model.cycle_.verify(rows, labels)
    assert model.cycle_.weights == signs.cycle_.weights
    assert model.cycle_.sentence == signs.cycle_.sentence
    assert linsep.from_json(model.cycle_.to_json()).verify(rows, labels)


def test_cross_validation_counts_the_same_rows():
    scores = [
        cross_val_score(Perceptron(reference=reference), X, NAMED, scoring="roc_auc", cv=4)
        for reference in (None, "pear")
    ]
    assert scores[0].tolist() == pytest.approx(scores[1].tolist())
    assert scores[1].mean() > 0.9


@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron()], ids=repr)
def test_other_references_are_refused_in_one_sentence(model, tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n2 1:2\n3 1:3\n")
    with refused(DataError, "unknown-label", option="reference"):
        clone(model).set_params(reference="plum").fit(X, NAMED)
    named = tmp_path / "named.svm"
    named.write_text("1 1:1\n2 1:2\n")
    with refused(DataError, "unknown-label", option="reference"):
        clone(model).set_params(reference=7).fit(linsep.open_source(named))
    several = clone(model).set_params(reference=1)
    with refused(DataError, "class-count", option="reference"):
        several.fit([[1.0], [2.0], [3.0]], [1, 2, 3])
    with refused(DataError, "class-count", option="reference"):
        several.fit(linsep.open_source(path))
    with refused(DataError, "class-count", option="reference"):
        several.partial_fit([[1.0]], [1], classes=[1, 2, 3])


def test_a_model_file_with_another_reference_is_refused(tmp_path):
    model = Perceptron(reference="pear").fit(X, NAMED)
    model._learned_with["reference"] = model.reference = "plum"
    path = linsep.save(model, tmp_path / "odd.linsep")
    with refused(ModelFileError, "bad-model-file"):
        linsep.load(path)


def test_what_is_made_of_a_run_has_the_signs_of_the_reference():
    rows, labels = datasets.load_four_points(return_X_y=True)
    names, how = np.where(labels == 1, "first", "second"), {"shuffle": False}
    plain, named = Perceptron(**how), Perceptron(reference="second", **how)
    made = linsep.convergence(named, rows, names)
    assert str(made) == str(linsep.convergence(plain, rows, labels))
    measured = [linsep.PerceptronCriterion() for _ in range(2)]
    plain.set_callbacks(measured[0]).fit(rows, labels)
    named.set_callbacks(measured[1]).fit(rows, names)
    assert measured[0].criterion_.tolist() == measured[1].criterion_.tolist()
    assert trace(plain, rows, names, reference="second").plot().updates[0].after.tolist() == (
        trace(named, rows, names).plot().updates[0].after.tolist()
    )
