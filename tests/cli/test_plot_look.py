"""How pictures look: options of commands that draw, and the same in Python."""

import re

import pytest
from matplotlib import colormaps
from matplotlib.colors import to_hex
from PIL import Image
from sklearn.datasets import make_blobs

from command_line import assert_refused, here
from linsep import Perceptron
from linsep.errors import ParameterError
from linsep.plot import ConfusionDisplay, DecisionDisplay, palette
from linsep.plot.display import colors
from linsep.plot.palettes import COLORS, DISTINCT
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
    for name, words in COMMANDS.items():
        (tmp_path / name).mkdir()
        png, svg, pdf = (tmp_path / name / f"p.{kind}" for kind in ("png", "svg", "pdf"))
        for file in (png, svg, pdf):
            done = here(*words, file, *look, "--dpi", 50, cwd=folder)
            assert (done.returncode, done.stderr) == (0, "")
        assert pixels(png) == (450, 250)
        text = svg.read_text()
        assert 'width="648pt" height="360pt"' in text
        assert "#00ff00" in text
        assert DISTINCT[0].lower() not in text
        assert pdf.read_bytes().startswith(b"%PDF")
        assert b"/MediaBox [ 0 0 648 360 ]" in pdf.read_bytes()


def test_what_cannot_be_drawn_like_that_is_said(folder, tmp_path):
    for look, said, code in [
        (("--size", "8"), "--size must be the width and the height in inches", 2),
        (("--size", "0.1x4"), "of 0.5 to 100 each, as in 8x6", 2),
        (("--dpi", "1"), "--dpi", 2),
        (("--size", "0.5x0.5"), "0.5 x 0.5 inches is too small for the drawing", 2),
        (("--size", "90x90", "--dpi", "2400"), "216,000 x 216,000 pixels does not fit", 2),
        (("--title", "$\\frac$"), "has a formula that matplotlib cannot parse", 2),
        (("--palette", "tab1O"), "nor a color map of matplotlib: name one such as tab10", 2),
        (("--palette", "red"), r"The palette red has too few colors \(2 are needed\)", 2),
    ]:
        words = ("plot", "decision", folder / "m", folder / "two.csv", "-o", "p.png")
        assert_refused(*words, *look, cwd=tmp_path, said=said, exit_code=code)


def test_options_of_a_picture_need_one(folder):
    for command in ("trace", "separate"):
        words = (command, "two.csv", "--target", "kind", "--dpi", 100)
        assert_refused(*words, cwd=folder, said="--dpi needs --plot FILE, the picture", exit_code=2)


def test_texts_do_not_collide_at_any_size(tmp_path):
    for size in [(3.5, 2.6), (6.4, 4.8), (16.0, 10.0)]:
        for title in ["", "A title of many words that does not fit in a single line " * 2]:
            shown = DecisionDisplay.from_estimator(MODEL, X, Y)
            shown.save(tmp_path / "p.png", size=size, title=title, dpi=72)
            assert pixels(tmp_path / "p.png") == tuple(int(72 * side) for side in size)
            assert faults(shown) == []


def test_a_title_leaves_those_of_the_picture(tmp_path):
    shown = ConfusionDisplay.from_estimator(MODEL, X, Y)
    before = shown.ax_.get_title()
    shown.save(tmp_path / "p.svg", title="Confusion")
    assert shown.ax_.get_title() == before
    assert "Confusion" in (tmp_path / "p.svg").read_text()


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
        assert COLORS[5] == "red"
        assert len(COLORS) == 2
        with refused(ParameterError, "bad-option"):
            DecisionDisplay.from_estimator(MODEL, X, Y)
    assert COLORS[:2] == DISTINCT[:2]
    for wrong in ([], "", "blurple", ["red", 5]):
        with refused(ParameterError, "bad-option", option="colors"), palette(wrong):
            pass


def test_pictures_of_numbers_have_the_color_map():
    with palette("Purples"):
        assert ConfusionDisplay.from_estimator(MODEL, X, Y).image_.get_cmap().name == "Purples"
    assert ConfusionDisplay.from_estimator(MODEL, X, Y).image_.get_cmap().name == "Blues"
    given = ConfusionDisplay.from_estimator(MODEL, X, Y, cmap="Greens")
    assert given.image_.get_cmap().name == "Greens"


def test_help_has_the_options(folder):
    for command in ("plot", "trace", "separate"):
        text = here(command, "--help", cwd=folder).stdout
        assert all(re.search(rf"{option}\b", text) for option in ("--dpi", "--size", "--palette"))
