"""``linsep plot``: pictures of saved models, and what is refused."""

import pytest

from command_line import assert_refused, here

pytestmark = pytest.mark.compiled
TWO = "a,b,kind\n" + "".join(f"{k % 7},{k % 5},{'xy'[k % 7 > 3]}\n" for k in range(40))
STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    (folder / "two.csv").write_text(TWO)
    (folder / "xor.csv").write_text("a,b,kind\n0,0,x\n1,1,x\n0,1,y\n1,0,y\n")
    (folder / "two-names.csv").write_text(TWO.replace("a,b", "width,height"))
    (folder / "unlabeled.csv").write_text("a,b\n1,2\n3,4\n5,1\n")
    (folder / "rows.svm").write_text("".join(f"{k % 2} {1 + k % 2}:1 3:{k}\n" for k in range(9)))
    (folder / "ones.svm").write_text("1 1:1\n1 2:1\n")
    (folder / "wider.svm").write_text("1 1:1 2:2 9:3\n0 2:1\n")
    for name, options in {
        "p.linsep": ("two.csv", "--target", "kind"),
        "two-names.linsep": ("two-names.csv", "--target", "kind"),
        "logistic.linsep": ("two.csv", "--target", "kind", "--learner", "logistic", "--l2", 1),
        "svm.linsep": ("rows.svm",),
        "xor.linsep": (
            "xor.csv",
            "--target",
            "kind",
            "--no-shuffle",
            "--keep",
            "last",
            "--scale",
            "none",
            "--max-iter",
            50,
        ),
        "kernel.linsep": ("two.csv", "--target", "kind", "--learner", "kernel"),
        "soft.linsep": ("two.csv", "--target", "kind", "--learner", "soft-margin"),
        "linear.linsep": ("two.csv", "--target", "b", "--learner", "linear", "--exclude", "kind"),
    }.items():
        assert here("fit", *options, "--model", name, cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize(
    "drawn",
    [
        ("decision", "p.linsep", "two.csv"),
        ("decision", "p.linsep", "unlabeled.csv"),
        ("decision", "p.linsep", "two.csv", "--feature", "b", "--feature", "a"),
        ("decision", "svm.linsep", "rows.svm"),
        ("decision", "svm.linsep", "wider.svm"),
        ("margins", "p.linsep", "two.csv"),
        ("curve", "p.linsep"),
        ("gap", "soft.linsep"),
        ("decision", "soft.linsep", "two.csv"),
        ("coefficients", "logistic.linsep", "--odds"),
        ("probability", "logistic.linsep", "two.csv"),
        ("diagnostics", "logistic.linsep", "two.csv", "--feature", "b"),
        ("diagnostics", "linear.linsep", "two.csv"),
        ("augmentation", "p.linsep", "two.csv"),
        ("kernel", "kernel.linsep", "two.csv"),
        ("updates", "xor.linsep", "xor.csv"),
        ("bounds", "xor.linsep", "xor.csv"),
        ("cycle", "xor.linsep", "xor.csv"),
        ("roc", "p.linsep", "two.csv"),
        ("precision-recall", "logistic.linsep", "two.csv"),
        ("confusion", "svm.linsep", "wider.svm"),
        ("threshold", "logistic.linsep", "two.csv"),
        ("gain", "kernel.linsep", "two.csv"),
        ("regression", "linear.linsep", "two.csv", "--feature", "a"),
        ("assumptions", "linear.linsep", "two.csv"),
    ],
)
def test_every_picture_is_written(models, tmp_path, drawn):
    path = tmp_path / "picture.png"
    done = here("plot", *drawn, "--output", path, cwd=models)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"picture  {path}\n"
    assert path.read_bytes().startswith(STARTS["png"])


def test_a_picture_is_replaced_whatever_names_the_rows(models, tmp_path):
    (tmp_path / "picture.png").write_text("old")
    for rows in (models / "tw?.csv", models / "two.csv"):
        drawn = ("decision", "p.linsep", rows, "--output", tmp_path / "picture.png", "--force")
        done = here("plot", *drawn, cwd=models)
        assert done.returncode == 0, done.stderr
    (tmp_path / "rows.png").write_text(TWO)
    for rows in ("rows.png", "row?.png"):
        drawn = ("decision", models / "p.linsep", rows, "--format", "csv", "--output", "rows.png")
        assert_refused("plot", *drawn, "--force", cwd=tmp_path, code="conflict")
    assert (tmp_path / "rows.png").read_text() == TWO


@pytest.mark.parametrize("ending", STARTS)
def test_the_ending_is_the_format(models, tmp_path, ending):
    path = tmp_path / f"picture.{ending}"
    assert here("plot", "curve", "p.linsep", "--output", path, cwd=models).returncode == 0
    assert path.read_bytes().startswith(STARTS[ending])


@pytest.mark.parametrize(
    ("drawn", "said", "code"),
    [
        (("decision", "p.linsep"), "linsep plot decision needs DATA", 1),
        (("curve", "p.linsep", "two.csv"), "linsep plot curve is drawn without DATA", 1),
        (("curve", "logistic.linsep"), "is not trained in passes", 1),
        (("coefficients", "p.linsep"), "Perceptron has no intervals", 1),
        (("gap", "p.linsep"), "Perceptron has no gap; use a SoftMargin", 1),
        (("margins", "p.linsep", "unlabeled.csv"), "label", 1),
        (
            ("decision", "two-names.linsep", "two-names.csv", "--feature", "width"),
            "one is named: name two, such as --feature",
            1,
        ),
        (
            ("decision", "p.linsep", "two.csv", "--feature", "z"),
            "one is named: name two, such as --feature a --feature b",
            1,
        ),
        (("decision", "linear.linsep", "two.csv"), "decision draws a classifier", 1),
        (("assumptions", "p.linsep", "two.csv"), "assumptions draws a linear regression", 1),
        (
            ("roc", "linear.linsep", "two.csv"),
            "roc draws a classifier, which linear.linsep is not",
            1,
        ),
        (("gain", "p.linsep", "unlabeled.csv"), "label", 1),
        (("confusion", "p.linsep"), "linsep plot confusion needs DATA", 1),
        (
            ("roc", "svm.linsep", "ones.svm"),
            "these are of class 1: add rows of other classes",
            1,
        ),
        (("curve", "p.linsep", "--odds"), "--odds is for `linsep plot coefficients`", 2),
        (("margins", "p.linsep", "two.csv", "--feature", "a"), "--feature is for decision", 2),
        (("images", "p.linsep"), "2 features", 1),
        (("flowers", "p.linsep"), "KIND must be one of 'decision'", 2),
    ],
)
def test_what_cannot_be_drawn_is_said_and_nothing_is_written(models, tmp_path, drawn, said, code):
    path = tmp_path / "picture.png"
    assert_refused("plot", *drawn, "--output", path, cwd=models, said=said, exit_code=code)
    assert not path.exists()


def test_files_are_not_overwritten_and_have_a_known_ending(models, tmp_path):
    path = tmp_path / "picture.png"
    path.write_text("mine")
    assert_refused(
        "plot", "curve", "p.linsep", "--output", path, cwd=models, code="file-exists", exit_code=1
    )
    assert path.read_text() == "mine"
    assert here("plot", "curve", "p.linsep", "-o", path, "--force", cwd=models).returncode == 0
    assert path.read_bytes().startswith(STARTS["png"])
    other = tmp_path / "picture.jpg"
    assert_refused(
        "plot", "curve", "p.linsep", "-o", other, cwd=models, said="must end in .png", exit_code=2
    )


def test_a_run_is_an_animation(models, tmp_path):
    for model in ("p.linsep", "svm.linsep"):
        path, rows = tmp_path / f"{model}.gif", "rows.svm" if "svm" in model else "two.csv"
        done = here("plot", "run", model, rows, "--output", path, cwd=models)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"picture  {path}\n"
        assert path.read_bytes().startswith(b"GIF89a")
        assert_refused("plot", "run", model, rows, "-o", path, cwd=models, code="file-exists")


@pytest.mark.parametrize(
    ("drawn", "said", "code"),
    [
        (("run", "p.linsep", "two.csv", "-o", "a.png"), r"must end in \.gif for run", 2),
        (("curve", "p.linsep", "-o", "a.gif"), r"must end in \.png, \.svg or \.pdf for curve", 2),
        (("run", "p.linsep", "two.csv", "-o", "a.mp4"), r"must end in \.gif for run", 2),
        (("run", "p.linsep", "-o", "a.gif"), "linsep plot run needs DATA", 1),
        (("run", "logistic.linsep", "two.csv", "-o", "a.gif"), "makes no updates to show", 1),
        (("run", "linear.linsep", "two.csv", "-o", "a.gif"), "run draws a classifier", 1),
        (("run", "p.linsep", "other.csv", "-o", "a.gif"), "not the rows that the model learned", 1),
        (
            ("run", "p.linsep", "two.csv", "-o", "a.gif", "--feature", "a", "--feature", "z"),
            "There is no feature 'z'",
            1,
        ),
    ],
)
def test_what_is_no_animation_is_said(models, drawn, said, code):
    header, *rows = TWO.splitlines()
    (models / "other.csv").write_text("\n".join([header, *rows[::-1]]) + "\n")
    assert_refused("plot", *drawn, cwd=models, said=said, exit_code=code)
