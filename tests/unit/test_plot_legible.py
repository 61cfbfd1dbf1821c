"""Colors that color-blind readers can tell apart; texts that do not collide; one minus sign."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.colors import to_rgb
from sklearn.datasets import load_digits, make_blobs
from sklearn.naive_bayes import GaussianNB

from linsep import LogisticRegression, Perceptron, SoftMargin
from linsep.plot import (
    AugmentationDisplay,
    ConfusionDisplay,
    DecisionDisplay,
    LogisticDisplay,
    PrecisionRecallDisplay,
    ReliabilityDisplay,
    RocDisplay,
    WeightImageDisplay,
)
from linsep.plot.display import MARKERS, colors, with_minus
from pictures import faults

pytestmark = pytest.mark.compiled
#: Machado, Oliveira and Fernandes (2009), severity 1, of linear RGB
SEEN = {
    "everyone": np.eye(3),
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}  # fmt: skip
TO_XYZ = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
]


def lab(colors, seen):
    """Colors in CIELAB (D65), as they are seen."""
    rgb = np.array([to_rgb(color) for color in colors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ np.transpose(seen), 0, 1) @ np.transpose(TO_XYZ)
    t = xyz / [0.95047, 1.0, 1.08883]
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.column_stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])]
    )


def nearest(colors, seen):
    return min(np.linalg.norm(a - b) for a, b in combinations(lab(colors, seen), 2))


def test_lab_is_that_of_the_standard():
    red, gray = lab(["#ff0000", "#808080"], SEEN["everyone"])
    assert red == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    assert gray == pytest.approx([53.59, 0.0, 0.0], abs=0.02)
    tableau = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2"]
    assert nearest(tableau, SEEN["protanopia"]) < 10  # the usual palette would fail


def test_anyone_can_tell_ten_classes_apart():
    for seen in SEEN.values():
        for n in range(2, 11):
            assert nearest(colors(n), seen) >= 15.0
            assert len(set(MARKERS[:n])) == n


def test_weight_images_are_white_at_zero_and_symmetric():
    X, y = load_digits(return_X_y=True)
    shown = WeightImageDisplay.from_estimator(Perceptron(max_iter=3).fit(X, y))
    for image in shown.images_:
        low, high = image.get_clim()
        assert low == -high
        assert min(image.cmap(image.norm(0.0))[:3]) > 0.95
        below, above = image.cmap(image.norm(low)), image.cmap(image.norm(high))
        assert below[2] > below[0]
        assert above[0] > above[2]
        for seen in SEEN.values():
            assert nearest([below, above, "white"], seen) > 15


LONG = np.array([f"a class with a name of many words, number {k}" for k in range(30)])


@pytest.mark.thorough
@pytest.mark.parametrize("k", [2, 4, 10, 25])
@pytest.mark.parametrize(
    "picture",
    [DecisionDisplay, RocDisplay, PrecisionRecallDisplay, ConfusionDisplay, ReliabilityDisplay],
    ids=lambda picture: picture.__name__,
)
def test_no_text_is_cut_or_collides_with_long_names(picture, k):
    X, codes = make_blobs(300, centers=k, random_state=1)
    model = GaussianNB().fit(X, LONG[codes])
    assert faults(picture.from_estimator(model, X, LONG[codes])) == []


def test_a_legend_says_how_many_classes_it_leaves_out():
    X, codes = make_blobs(300, centers=25, random_state=1)
    shown = DecisionDisplay.from_estimator(GaussianNB().fit(X, LONG[codes]), X, LONG[codes])
    assert "and 5 more" in [text.get_text() for text in shown.legend_.get_texts()]


def test_a_hyphen_before_a_number_is_a_minus():
    for text, wanted in [
        ("-1", "\N{MINUS SIGN}1"),
        ("x = -.5, y=-2e-05", "x = \N{MINUS SIGN}.5, y=\N{MINUS SIGN}2e\N{MINUS SIGN}05"),
        ("2024-01-02", "2024-01-02"),
        ("p-value of a-1", "p-value of a-1"),
        ("from 3 to -inf", "from 3 to \N{MINUS SIGN}inf"),
        ("Hosmer-Lemeshow --2", "Hosmer-Lemeshow --2"),
    ]:
        assert with_minus(text) == wanted
        with rc_context({"axes.unicode_minus": False}):
            assert with_minus(text) == text


def test_all_texts_of_a_picture_have_the_minus_of_its_axes():
    X = np.array([[-5.0], [-4.0], [-3.0], [-2.5]])
    y = np.array([-1, -1, 1, 1])
    logistic = LogisticRegression(l2=1.0).fit(X, y)
    for shown in (
        LogisticDisplay.from_estimator(logistic, X, y),
        AugmentationDisplay.from_estimator(Perceptron().fit(X, y), X, y),
        RocDisplay.from_estimator(SoftMargin().fit(X, y), X, y),
    ):
        assert faults(shown) == []
        assert any("\N{MINUS SIGN}" in text.get_text() for text in shown.legend_.get_texts()) or (
            shown.legend_.get_texts()[0].get_text().startswith("1")
        )
