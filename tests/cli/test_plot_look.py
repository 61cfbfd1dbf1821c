"""How pictures look: options of commands that draw, colors, names that can be read."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest
from matplotlib import colormaps, rc_context
from matplotlib.colors import to_hex, to_rgb
from PIL import Image
from sklearn.datasets import load_digits, make_blobs
from sklearn.naive_bayes import GaussianNB

from command_line import assert_refused, here
from linsep import Perceptron, SoftMargin
from linsep.errors import ParameterError
from linsep.plot import (
    ConfusionDisplay,
    DecisionDisplay,
    ReliabilityDisplay,
    RocDisplay,
    WeightImageDisplay,
    palette,
)
from linsep.plot.display import MARKERS, colors, cut, with_minus
from linsep.plot.palettes import DISTINCT, hue
from pictures import faults
from refusals import refused

pytestmark = pytest.mark.compiled


TWO = "a,b,kind\n" + "".join(f"{k % 7},{k % 5},{'xy'[k % 7 > 3]}\n" for k in range(40))
X, Y = make_blobs(90, centers=3, random_state=0)
MODEL = Perceptron(keep="average").fit(X, Y)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("look")
    (folder / "two.csv").write_text(TWO)
    fit = ("fit", "two.csv", "--target", "kind", "--keep", "last", "--model", "m")
    assert here(*fit, cwd=folder).returncode == 0
    return folder


def pixels(path):
    with Image.open(path) as image:
        return image.size


COMMANDS = {
    "plot": ("plot", "decision", "m", "two.csv", "--output"),
    "updates": ("plot", "updates", "m", "two.csv", "--output"),
    "trace": ("trace", "two.csv", "--target", "kind", "--max-rounds", 20, "--plot"),
    "separate": ("separate", "two.csv", "--target", "kind", "--plot"),
}


def test_every_command_that_draws_takes_the_options(folder, tmp_path):
    look = ("--size", "9x5", "--title", "My rows, -1 $x^2$", "--palette", "red,#00ff00")
    files = [(name, f"{name}.svg") for name in COMMANDS] + [("plot", "p.png"), ("plot", "p.pdf")]
    for name, file in files:
        done = here(*COMMANDS[name], tmp_path / file, *look, "--dpi", 50, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
    for name in COMMANDS:
        text = (tmp_path / f"{name}.svg").read_text()
        assert 'width="648pt" height="360pt"' in text
        assert "#00ff00" in text
        assert DISTINCT[0].lower() not in text
    assert pixels(tmp_path / "p.png") == (450, 250)
    pdf = (tmp_path / "p.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/MediaBox [ 0 0 648 360 ]" in pdf


def test_what_cannot_be_drawn_like_that_is_said(folder, tmp_path):
    words = ("plot", "decision", folder / "m", folder / "two.csv", "-o", "p.png")
    for look in (
        "--size 8", "--size 0.1x4", "--dpi 1", "--size 0.5x0.5", "--size 90x90 --dpi 2400",
        "--title $\\frac$", "--palette tab1O", "--palette red",
    ):  # fmt: skip
        assert_refused(*words, *look.split(), cwd=tmp_path, exit_code=2)
    for command in ("trace", "separate"):
        words = (command, folder / "two.csv", "--target", "kind", "--dpi", 100)
        assert_refused(*words, cwd=tmp_path, exit_code=2)


def test_texts_do_not_collide_at_any_size(tmp_path):
    for size in [(3.5, 2.6), (16.0, 10.0)]:
        shown = DecisionDisplay.from_estimator(MODEL, X, Y)
        shown.save(tmp_path / "p.png", size=size, title="A title of many words " * 5, dpi=72)
        assert pixels(tmp_path / "p.png") == tuple(int(72 * side) for side in size)
        assert faults(shown) == []


def test_a_palette_is_one_of_matplotlib():
    for name in ["Set2", "tab20", "viridis", "Greys"]:
        with palette(name):
            found = [to_hex(color) for color in colors(3)]
            shown = DecisionDisplay.from_estimator(MODEL, X, Y)
        spread = [0, 1, 2] if name in ("Set2", "tab20") else [0.0, 0.5, 1.0]
        assert found == [to_hex(colormaps[name](place)) for place in spread]
        drawn = [to_hex(points.get_facecolor()[0]) for points in shown.points_]
        assert drawn == found
        assert colors(3) == list(DISTINCT[:3])


def test_colors_repeat_for_lines_and_classes_need_their_own():
    with palette(["black", "red"]):
        assert [hue(k) for k in (0, 5)] == ["black", "red"]
        with refused(ParameterError, "bad-option"):
            DecisionDisplay.from_estimator(MODEL, X, Y)
    assert hue(1) == DISTINCT[1]
    for wrong in ([], "", "blurple", ["red", 5]):
        with refused(ParameterError, "bad-option", option="colors"), palette(wrong):
            pass


def test_pictures_of_numbers_have_the_color_map():
    with palette("Purples"):
        assert ConfusionDisplay.from_estimator(MODEL, X, Y).image_.get_cmap().name == "Purples"
    assert ConfusionDisplay.from_estimator(MODEL, X, Y).image_.get_cmap().name == "Blues"


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


def test_anyone_can_tell_ten_classes_apart():
    for seen in SEEN.values():
        for n in range(2, 11):
            assert nearest(colors(n), seen) >= 15.0
            assert len(set(MARKERS[:n])) == n


def test_the_lab_has_the_same_colors():
    style = files("linsep.lab").joinpath("page/style.css").read_text()
    assert re.findall(r"--class-\d: (#\w+)", style) == [color.lower() for color in DISTINCT]


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
@pytest.mark.parametrize("k", [2, 10, 25])
def test_no_text_is_cut_or_collides_with_long_names(k):
    X, codes = make_blobs(300, centers=k, random_state=1)
    model = GaussianNB().fit(X, LONG[codes])
    for picture in (DecisionDisplay, RocDisplay, ConfusionDisplay, ReliabilityDisplay):
        assert faults(picture.from_estimator(model, X, LONG[codes])) == []


def test_a_legend_is_inside_of_a_picture_of_any_size(tmp_path):
    X, codes = make_blobs(60, centers=4, random_state=1)
    shown = RocDisplay.from_estimator(GaussianNB().fit(X, LONG[codes]), X, LONG[codes])
    shown.save(tmp_path / "p.png", size=(7, 4))
    assert shown.legend_.get_window_extent().x1 <= shown.figure_.bbox.x1


def test_a_legend_says_how_many_classes_it_leaves_out():
    X, codes = make_blobs(300, centers=25, random_state=1)
    shown = DecisionDisplay.from_estimator(GaussianNB().fit(X, LONG[codes]), X, LONG[codes])
    assert "and 5 more" in [text.get_text() for text in shown.legend_.get_texts()]
    some = codes < 21  # a line would hide one line
    of_some = DecisionDisplay.from_estimator(
        GaussianNB().fit(X[some], codes[some]), X[some], codes[some]
    )
    assert [text.get_text() for text in of_some.legend_.get_texts()][:21] == [*map(str, range(21))]


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


def test_letters_of_no_font_are_escaped_without_a_warning(tmp_path, caplog):
    labels = np.where(Y > 0, "caf\u00e9 \u221a", "\U000f1234 $x")  # of a private area
    shown = DecisionDisplay.from_estimator(Perceptron().fit(X, labels), X, labels)
    shown.save(tmp_path / "p.png", dpi=30, title="\u57ce\u5e02 \U000f1234")
    assert caplog.records == []
    texts = [text.get_text() for text in shown.legend_.get_texts()]
    assert texts[:2] == ["caf\u00e9 \u221a", "\\U000f1234 \\$x"]


def test_names_are_cut_where_they_still_differ():
    assert cut(["short", "a long name", "some long name"], 9) == ["short", "a long...", "some l..."]
    assert cut(["a long name 1", "a long name 2"], 9) == ["...name 1", "...name 2"]


def test_many_mistakes_and_support_vectors_are_dots():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(700, 2)), rng.integers(0, 2, 700)
    shown = DecisionDisplay.from_estimator(SoftMargin().fit(Z, y), Z, y)
    assert len(shown.mistakes_.get_offsets()) == shown.wrong.sum() > 300
    for dots in (shown.mistakes_, shown.marked_[-1]):
        assert (dots.get_sizes() < 10).all()
    assert not np.array_equal(shown.mistakes_.get_facecolor(), shown.marked_[-1].get_facecolor())
