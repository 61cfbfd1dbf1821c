"""Pictures of classifiers of scikit-learn: drawn as they decide, or refused in one sentence."""

from contextlib import suppress

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import RFE
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsOneClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from linsep import plot
from linsep.errors import LinsepError
from linsep.plot import DecisionDisplay
from refusals import refused

mpl.use("agg")
EVERY = {
    "GaussianProcessClassifier": GaussianProcessClassifier(),
    "KNeighborsClassifier": KNeighborsClassifier(), "RidgeClassifier": RidgeClassifier(),
    "SVC": SVC(), "GaussianNB": GaussianNB(), "LogisticRegression": LogisticRegression(),
    "DecisionTreeClassifier": DecisionTreeClassifier(), "NearestCentroid": NearestCentroid(),
    "FixedThresholdClassifier": FixedThresholdClassifier(LogisticRegression()),
    "OneVsOneClassifier": OneVsOneClassifier(LogisticRegression()),
    "StackingClassifier": StackingClassifier([("a", LogisticRegression())]),
}  # fmt: skip
NAMES = np.array(["ant", "bee", "cow"], dtype=object)
POINTS, CODES = make_blobs(60, centers=3, n_features=2, random_state=0)


def learned(name, k):
    """A classifier of k classes with labels of text, and its rows."""
    rows = k > CODES
    X, y = POINTS[rows], NAMES[CODES[rows]]
    return EVERY[name].fit(X, y), X, y


def test_classifiers_are_drawn_as_they_decide():
    for name, k in [*((name, 2) for name in EVERY), ("SVC", 3), ("OneVsOneClassifier", 3)]:
        model, X, y = learned(name, k)
        shown = DecisionDisplay.from_estimator(model, X, y, resolution=20)
        places = np.stack(np.meshgrid(shown.xs, shown.ys), axis=-1).reshape(-1, 2)
        said = np.searchsorted(model.classes_, model.predict(places)).reshape(20, 20)
        assert np.array_equal(shown.codes, said)
        assert shown.wrong.tolist() == (model.predict(X) != y).tolist()
        if k == 2:
            assert ((shown.boundary >= 0) == (said == 1))[shown.boundary != 0].all()
            assert (shown.line_ is None) != (shown.curve_ is None)
        else:
            assert (shown.boundary, len(shown.borders_)) == (None, 3)


KINDS = {
    "GaussianProcessClassifier": 2, "KNeighborsClassifier": 3, "RidgeClassifier": 2, "SVC": 3,
    "GaussianNB": 2, "LogisticRegression": 3,
}  # fmt: skip
#: which of these each picture accepts
DRAWN = {
    "AugmentationDisplay": ["RidgeClassifier"],
    **dict.fromkeys(
        ("MarginDisplay", "CoefficientDisplay", "NeuronDisplay", "WeightImageDisplay"),
        ("RidgeClassifier", "LogisticRegression"),
    ),
    "ReliabilityDisplay": list(KINDS.keys() - {"RidgeClassifier", "SVC"}),
    "ThresholdDisplay": [kind for kind, k in KINDS.items() if k == 2],
    "ConfusionDisplay": list(KINDS),
    "GainDisplay": list(KINDS),
    "PrecisionRecallDisplay": list(KINDS),
    "RocDisplay": list(KINDS),
}


def test_other_pictures_are_drawn_or_refused():
    """Those that need weights, probabilities or a kernel that other kinds do not have."""
    kinds = [name for name in dir(plot) if hasattr(getattr(plot, name), "from_estimator")]
    for name in sorted(set(kinds) - {"DecisionDisplay"}):
        draw = getattr(plot, name).from_estimator
        rowless = name.split("D")[0] in ("WeightImage", "Coefficient", "Neuron", "LearningCurve")
        drawn = []
        for kind, k in KINDS.items():
            model, X, y = learned(kind, k)
            how = {"shape": (1, 2)} if name == "WeightImageDisplay" else {}
            with suppress(LinsepError, TypeError):  # the latter for what is no estimator of linsep
                shown = draw(model, **how) if rowless else draw(model, X, y)
                assert shown.figure_ is not None
                drawn.append(kind)
        assert drawn == [kind for kind in KINDS if kind in DRAWN.get(name, ())]


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    """Inside or outside a circle, without scores and without a count of features."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(np.square(np.asarray(X) - 3).sum(axis=1) < 4).astype(int)]


def test_a_classifier_that_only_predicts():
    X = np.random.default_rng(0).uniform(0, 6, (50, 2))
    y = np.where(np.square(X - 3).sum(axis=1) < 4, "in", "an outer")
    shown = DecisionDisplay.from_estimator(OnlyPredicts().fit(X, y), X, y, resolution=60)
    assert set(np.unique(shown.boundary)) == {-0.5, 0.5}
    assert shown.ax_.get_xlabel() == "x0"
    found = np.vstack(shown.curve_.get_paths()[0].vertices)
    radii = np.hypot(*(found - 3).T)
    assert abs(radii - 2).max() < 0.15  # one place of the grid
    confused = plot.ConfusionDisplay.from_estimator(OnlyPredicts().fit(X, y), X, y)
    assert np.trace(confused.counts) == 50
    with refused(LinsepError, "unsupported"):
        plot.RocDisplay.from_estimator(OnlyPredicts().fit(X, y), X, y)


def test_a_threshold_of_another_probability_is_drawn():
    model, X, y = learned("FixedThresholdClassifier", 2)
    model.set_params(threshold=0.9, pos_label="bee", response_method="predict_proba").fit(X, y)
    shown = DecisionDisplay.from_estimator(model, X, y)
    found = shown.curve_.get_paths()[0].vertices
    assert abs(model.predict_proba(found)[:, 1] - 0.9).max() < 0.1
    assert (np.sign(shown.boundary) == 2 * shown.codes - 1).all()


def test_features_that_a_selection_keeps_are_no_support_vectors():
    frame = pd.DataFrame(POINTS, columns=["a", "b"])
    model = RFE(LogisticRegression(), n_features_to_select=1).fit(frame, CODES)
    assert not DecisionDisplay.from_estimator(model, frame, CODES, resolution=20).marked_


def test_sparse_weights():
    for k in [2, 3]:
        rows = k > CODES
        X = np.column_stack([POINTS, POINTS[:, 0] ** 2])[rows]
        model = SGDClassifier(random_state=0).fit(X, CODES[rows])
        wanted = DecisionDisplay.from_estimator(model, X, CODES[rows], resolution=20)
        found = DecisionDisplay.from_estimator(model.sparsify(), X, CODES[rows], resolution=20)
        assert np.array_equal(found.codes, wanted.codes)
        assert (found.line_ is None) == (wanted.line_ is None) == (k == 3)


def test_several_outputs_are_refused():
    both = np.column_stack([CODES, CODES == 1])
    model = MultiOutputClassifier(LogisticRegression()).fit(POINTS, both)
    with refused(LinsepError, "unsupported"):
        DecisionDisplay.from_estimator(model, POINTS)
