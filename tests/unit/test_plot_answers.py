"""Pictures of answers to labeled rows: scikit-learn's numbers, weights, ties, many classes."""

import io

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.svm import LinearSVC

import linsep
from linsep import plot
from linsep.errors import DataError
from refusals import refused

KINDS = ("Roc", "PrecisionRecall", "Gain", "Threshold", "Confusion")


def rows(n_classes, n=300, seed=0):
    X, y = make_classification(
        n, 8, n_informative=6, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )
    X = X.round(0)  # so that scores tie
    weights = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    return X, np.array([f"class {k}" for k in range(n_classes)])[y], weights


def drawn(kind, model, X, y, **named):
    return getattr(plot, f"{kind}Display").from_estimator(model, X, y, **named)


def test_curves_are_those_of_scikit_learn():
    for weighted, n_classes in [(False, 2), (True, 3)]:
        X, y, weights = rows(n_classes)
        weights = weights if weighted else None
        model = linsep.LogisticRegression(l2=1.0).fit(X[:150], y[:150])
        scores = model.predict_proba(X)
        roc = drawn("Roc", model, X, y, sample_weight=weights)
        precise = drawn("PrecisionRecall", model, X, y, sample_weight=weights)
        gain = drawn("Gain", model, X, y, sample_weight=weights)
        assert list(roc.classes) == list(model.classes_[1 if n_classes == 2 else 0 :])
        for label, one in roc.classes.items():
            own, column = y == label, scores[:, list(model.classes_).index(label)]
            false, true, _ = metrics.roc_curve(
                own, column, sample_weight=weights, drop_intermediate=False
            )
            number = list(roc.classes).index(label)
            assert np.allclose(roc.curves_[number].get_xydata(), np.column_stack([false, true]))
            area = metrics.roc_auc_score(own, column, sample_weight=weights)
            assert one.auc == pytest.approx(area)
            assert f"AUC {area:.3g}" in roc.curves_[number].get_label()
            precision, recall, _ = metrics.precision_recall_curve(
                own, column, sample_weight=weights
            )
            line = precise.curves_[number].get_xydata()
            assert np.allclose(line[1:], np.column_stack([recall, precision])[-2::-1])
            average = metrics.average_precision_score(own, column, sample_weight=weights)
            assert np.sum(np.diff(line[:, 0]) * line[1:, 1]) == pytest.approx(average)
            said = model.predict(X) == label
            w = np.ones(len(y)) if weights is None else weights
            share, found = np.average(said, weights=w), (w * said * own).sum() / (w * own).sum()
            assert gain.points_[number].get_xydata()[0] == pytest.approx([share, found])
            assert roc.points_[number].get_ydata() == pytest.approx([found])
            assert precise.points_[number].get_xydata()[0] == pytest.approx(
                [found, (w * said * own).sum() / (w * said).sum()]
            )


def test_lift_is_that_of_the_highest_scores():
    scores = np.arange(20.0)
    y = np.isin(scores, [19, 17, 3, 1])
    model = linsep.Perceptron(max_iter=1).fit(scores[:, None], scores > 10)
    model.decision_function = np.ravel
    display = drawn("Gain", model, scores[:, None], y)
    assert "lift 2.5 in the first 10%" in display.curves_[0].get_label()  # one of four


def test_thresholds_are_counted_row_by_row():
    X, y, w = rows(2)
    for reference, positive in [(None, "class 1"), ("class 1", "class 0")]:
        model = linsep.LogisticRegression(l2=1.0, reference=reference).fit(X[:150], y[:150])
        display = drawn("Threshold", model, X, y, sample_weight=w)
        assert display.name == f"probability of {positive}"
        number, own = model.predict_proba(X)[:, int(not reference)], y == positive
        for k in range(0, len(display.at), 7):
            said = number >= display.at[k]
            if not (w * said).any():
                assert np.isnan(display.curves["precision"][k])
                continue
            assert {name: curve[k] for name, curve in display.curves.items()} == pytest.approx({
                "precision": metrics.precision_score(own, said, sample_weight=w),
                "recall": metrics.recall_score(own, said, sample_weight=w),
                "F1": metrics.f1_score(own, said, sample_weight=w),
                "share predicted": np.average(said, weights=w),
            })  # fmt: skip
        assert (display.used, display.usual, display.usual_) == (0.5, 0.5, None)


def test_a_confusion_matrix_counts_rows_or_weights():
    X, y, weights = rows(3)
    model = linsep.Perceptron(keep="average", max_iter=9).fit(X[:150], y[:150])
    for given in (None, weights, weights / 7):
        display = drawn("Confusion", model, X, y, sample_weight=given)
        expected = metrics.confusion_matrix(y, model.predict(X), sample_weight=given)
        assert np.allclose(display.counts, expected)
        share = expected[0, 0] / expected[0].sum()
        assert display.texts_[0].get_text().endswith(f"\n{100 * share:.0f}%")


def test_many_classes_are_a_mean_and_the_most_confused():
    X, y, _ = rows(24, 2400)
    model = linsep.LogisticRegression(l2=1.0).fit(X[:400], y[:400])
    display = drawn("Roc", model, X, y)
    areas = [one.auc for one in display.classes.values()]
    probabilities, w = model.predict_proba(X), [y == label for label in model.classes_]
    each = [metrics.roc_auc_score(own, p) for own, p in zip(w, probabilities.T, strict=True)]
    assert np.allclose(areas, each)
    said = [line.get_label() for line in display.curves_]
    assert said[0] == f"mean of 24 classes: AUC {np.mean(each):.3g}"
    assert {f"highest {max(each):.3g}", f"lowest {min(each):.3g}"} == {
        text.partition(":")[0] for text in said[1:]
    }
    assert len(display.others_) == 24
    confused = drawn("Confusion", model, X, y)
    whole = metrics.confusion_matrix(y, model.predict(X))
    mistakes = whole.sum(axis=0) + whole.sum(axis=1) - 2 * np.diag(whole)
    most = set(model.classes_[np.argsort(-mistakes, kind="stable")[:20]])
    assert set(confused.names) == most
    assert confused.title == "the 20 of 24 classes with the most mistakes"


def test_classifiers_of_other_libraries_are_drawn():
    for model in [TheirLogistic(), LinearSVC()]:
        X, y, _ = rows(2)
        model.fit(X[:150], y[:150])
        scores = model.decision_function(X)
        roc = drawn("Roc", model, X, y)
        area = metrics.roc_auc_score(y == "class 1", scores)
        assert [one.auc for one in roc.classes.values()] == pytest.approx([area])
        assert drawn("Threshold", model, X, y).used == (
            0.5 if hasattr(model, "predict_proba") else 0
        )


def test_rows_with_their_labels_need_no_y(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,w,kind\n" + "".join(f"{k % 7},{k % 5},{k % 3},{'xy'[k % 7 > 3]}\n"
                                             for k in range(60)))  # fmt: skip
    model = linsep.fit(path, target="kind", weight="w")
    display = drawn("Confusion", model, path, None)
    assert display.counts.sum() == sum(k % 3 for k in range(60))


def test_every_picture_is_drawn_or_refused_in_a_sentence():
    X, y = load_iris(return_X_y=True)
    three = linsep.Perceptron(max_iter=5).fit(X, y)
    for kind in KINDS:
        two = linsep.Perceptron(max_iter=5).fit(X[:100], y[:100])
        drawn(kind, two, X[:100], y[:100]).save(io.BytesIO(), format="png")
        with refused(DataError, "unknown-label", row=101):
            drawn(kind, two, X, y)
        with refused(DataError, "no-labels"):
            drawn(kind, two, X[:100], None)
        with refused(DataError, "unsupported"):
            drawn(kind, linsep.LinearRegression().fit(X[:, :2], X[:, 2]), X[:, :2], y)
        if kind != "Confusion":
            with refused(DataError, "class-count"):
                drawn(kind, two, X[:50], y[:50])
    with refused(DataError, "class-count"):
        drawn("Threshold", three, X, y)
