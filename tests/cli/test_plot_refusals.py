"""Every kind of picture of every learner on the command line: drawn, or refused in a sentence that
the command line can follow."""

import re

import numpy as np
import pytest

from command_line import here
from linsep.catalog import LEARNERS
from linsep.cli.models import PICTURES
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled
#: what only Python knows: keywords, attributes, names of arrays, classes without the command
OF_PYTHON = re.compile(r"\w+=|model\.|\bX\b|\by has|Display(?! or `linsep plot)")
OTHERS = ("logistic", "linear", "naive-bayes", "soft-margin", "kernel-soft-margin")


def rows(kinds, columns=3):
    """Rows of whole numbers, of two classes, three, or a number."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (24, columns))
    score = X @ [2, -1, 1][:columns] + rng.integers(0, 3, 24)
    y = {2: np.where(score > 3, "x", "y"), 3: np.array(["u", "v", "w"])[score % 3], 0: score}[kinds]
    if kinds == 1:  # for Winnow
        X, y = X % 2, np.where(X[:, 0] % 2, "x", "y")
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y, strict=True)]
    return "\n".join([",".join([*"abc"[:columns], "kind"]), *lines, ""])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusals")
    tables = {"two": rows(2), "three": rows(3), "one": rows(2, 1), "number": rows(0), "bits": ""}
    X = np.random.default_rng(0).integers(0, 2, (24, 3))
    tables["bits"] = "a,b,c,kind\n" + "".join(f"{a},{b},{c},{'xy'[a]}\n" for a, b, c in X)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


MODELS = [
    *[(name, "bits" if name == "winnow" else "two") for name in [*LEARNERS, *OTHERS]],
    ("perceptron", "three"), ("perceptron", "one"), ("kernel", "one"), ("logistic", "three"),
    ("soft-margin", "three"), ("scw", "three"),
]  # fmt: skip
MODELS = list(
    dict.fromkeys((name, "number" if name == "linear" else data) for name, data in MODELS)
)
CASES = [
    (kind, *model)
    for k, kind in enumerate(PICTURES)
    for n, model in enumerate(MODELS)
    if THOROUGH or (k + 2 * n) % 5 == 0 or (kind, model) == ("updates", ("logistic", "two"))
]


def fitted(folder, learner, data):
    path = folder / f"{learner}-{data}.linsep"
    if not path.exists():
        words = ["fit", f"{data}.csv", "--target", "kind", "--learner", learner, "--model", path]
        few = [] if learner in OTHERS else ["--max-iter", 3]
        done = here(*words, *few, cwd=folder)
        assert done.returncode == 0, done.stderr
    return path


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "learner", "data"), CASES)
def test_a_refusal_is_a_sentence_of_the_command_line(folder, tmp_path, kind, learner, data):
    path = tmp_path / f"picture.{'html' if kind == 'run' else 'png'}"
    files = [f"{data}.csv"] if PICTURES[kind].rows else []
    done = here(
        *["plot", kind, fitted(folder, learner, data), *files, "--output", path, "--dpi", 20],
        cwd=folder,
    )
    if done.returncode == 0:
        assert path.read_bytes().startswith((b"\x89PNG", b"<!"))
        return
    assert done.returncode in (1, 2), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert not OF_PYTHON.search(done.stderr), done.stderr
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("probability", "logistic", "two"), "name one or two to draw, such as --feature a."),
        (("decision", "perceptron", "two", "--feature", "a"), "such as --feature a --feature b"),
        (("images", "perceptron", "two"), "pass the height and width of the images with --shape."),
        (("probability", "logistic", "three"), "with DecisionDisplay or `linsep plot decision`."),
        (("decision", "perceptron", "one"), "or `linsep plot augmentation`."),
        (("reliability", "perceptron", "two"), "`linsep fit --calibrate`"),
        (("regression", "linear", "number"), "name the one to draw, such as --feature a."),
    ],
    ids=lambda words: " ".join(words[:3]) if isinstance(words, tuple) else "",
)  # fmt: skip
def test_advice_names_options(folder, tmp_path, words, said):
    kind, learner, data, *more = words
    files = [f"{data}.csv"] if PICTURES[kind].rows else []
    model = fitted(folder, learner, data)
    done = here("plot", kind, model, *files, *more, "-o", tmp_path / "p.png", cwd=folder)
    assert done.returncode == 1
    assert said in done.stderr
    followed = re.findall(r"--feature (\w)", said)
    if followed:
        options = [word for name in followed for word in ("--feature", name)]
        done = here("plot", kind, model, *files, *options, "-o", tmp_path / "p.png", cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")


def test_images_have_the_shape_that_is_asked_for(folder, tmp_path):
    model = fitted(folder, "perceptron", "two")
    done = here("plot", "images", model, "--shape", "1x3", "-o", tmp_path / "p.png", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    done = here("plot", "images", model, "--shape", "2x2", "-o", tmp_path / "q.png", cwd=folder)
    assert "Images of 2 x 2 pixels have 4 pixels, but there are 3 features." in done.stderr
    done = here("plot", "images", model, "--shape", "wide", "-o", tmp_path / "q.png", cwd=folder)
    assert done.returncode == 2
    assert "--shape must be a height and a width in pixels, as in 8x8" in done.stderr


@pytest.mark.parametrize("asked", [(), ("--mistakes", 1), ("--mistakes", 500)])
def test_fewer_mistakes_than_asked_for_are_drawn(folder, tmp_path, asked):
    (folder / "easy.csv").write_text("a,b,kind\n1,2,x\n2,1,x\n-1,-2,y\n-2,-1,y\n")
    easy = folder / "easy.linsep"
    if not easy.exists():
        here(*["fit", "easy.csv", "--target", "kind", "--scale", "none", "--keep", "last"],
             *["--no-shuffle", "--model", easy], cwd=folder)  # fmt: skip
    done = here("plot", "updates", easy, "easy.csv", *asked, "-o", tmp_path / "p.svg", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mistake 1" in (tmp_path / "p.svg").read_text()
