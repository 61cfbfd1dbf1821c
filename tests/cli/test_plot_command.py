"""``linsep plot`` and ``--plot``: pictures of saved models and of results, and what is refused."""

import pytest

from command_line import assert_refused, here

TWO = "a,b,kind\n" + "".join(f"{k % 7},{k % 5},{'xy'[k % 7 > 3]}\n" for k in range(40))


PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    (folder / "two.csv").write_text(TWO)
    (folder / "xor.csv").write_text("a,b,kind\n0,0,x\n1,1,x\n0,1,y\n1,0,y\n")
    (folder / "two-names.csv").write_text(TWO.replace("a,b", "width,height"))
    (folder / "unlabeled.csv").write_text("a,b\n1,2\n3,4\n5,1\n")
    (folder / "rows.svm").write_text("".join(f"{k % 2} {1 + k % 2}:1 3:{k}\n" for k in range(9)))
    (folder / "ones.svm").write_text("1 1:1\n1 2:1\n")
    (folder / "four.svm").write_text("1 1:1 4:1\n0 2:1 3:1\n")
    (folder / "wider.svm").write_text("1 1:1 2:2 9:3\n0 2:1\n")
    for name, options in {
        "p.linsep": ("two.csv", "--target", "kind"),
        "two-names.linsep": ("two-names.csv", "--target", "kind"),
        "logistic.linsep": ("two.csv", "--target", "kind", "--learner", "logistic", "--l2", 1),
        "svm.linsep": ("rows.svm",),
        "four.linsep": ("four.svm",),
        "xor.linsep": (
            "xor.csv", "--target", "kind", "--no-shuffle", "--keep", "last", "--scale", "none",
            "--max-iter", 50,
        ),
        "kernel.linsep": ("two.csv", "--target", "kind", "--learner", "kernel"),
        "soft.linsep": ("two.csv", "--target", "kind", "--learner", "soft-margin"),
        "linear.linsep": ("two.csv", "--target", "b", "--learner", "linear", "--exclude", "kind"),
    }.items():  # fmt: skip
        assert here("fit", *options, "--model", name, cwd=folder).returncode == 0
    return folder


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


def test_a_run_is_an_animation(models, tmp_path):
    for model in ("p.linsep", "svm.linsep"):
        path, rows = tmp_path / f"{model}.gif", "rows.svm" if "svm" in model else "two.csv"
        done = here("plot", "run", model, rows, "--output", path, cwd=models)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"picture  {path}\n"
        assert path.read_bytes().startswith(b"GIF89a")
        assert_refused("plot", "run", model, rows, "-o", path, cwd=models, code="file-exists")


#: one of each kind, and of each way in which rows and features are given
DRAWN = """
decision p.linsep unlabeled.csv
decision p.linsep two.csv --feature b --feature a
decision svm.linsep wider.svm
margins p.linsep two.csv
curve p.linsep
gap soft.linsep
coefficients logistic.linsep --odds
probability logistic.linsep two.csv --feature a
diagnostics logistic.linsep two.csv --feature b
diagnostics linear.linsep two.csv
augmentation p.linsep two.csv
kernel kernel.linsep two.csv
updates xor.linsep xor.csv
bounds xor.linsep xor.csv
cycle xor.linsep xor.csv
roc p.linsep two.csv
precision-recall logistic.linsep two.csv
confusion svm.linsep wider.svm
threshold logistic.linsep two.csv
gain kernel.linsep two.csv
regression linear.linsep two.csv --feature a
assumptions linear.linsep two.csv
images four.linsep
"""


@pytest.mark.parametrize("drawn", DRAWN.strip().split("\n"))
def test_every_picture_is_written(models, tmp_path, drawn):
    path = tmp_path / "picture.png"
    done = here("plot", *drawn.split(), "--output", path, "--dpi", 20, cwd=models)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"picture  {path}\n"
    assert path.read_bytes().startswith(PNG)


REFUSED = """
1 decision p.linsep -o p.png
1 curve p.linsep two.csv -o p.png
1 curve logistic.linsep -o p.png
1 gap p.linsep -o p.png
1 margins p.linsep unlabeled.csv -o p.png
1 decision two-names.linsep two-names.csv --feature width -o p.png
1 decision p.linsep two.csv --feature z -o p.png
1 decision linear.linsep two.csv -o p.png
1 assumptions p.linsep two.csv -o p.png
1 roc linear.linsep two.csv -o p.png
1 roc svm.linsep ones.svm -o p.png
1 reliability p.linsep two.csv -o p.png
1 images p.linsep -o p.png
2 curve p.linsep --odds -o p.png
2 margins p.linsep two.csv --feature a -o p.png
2 flowers p.linsep -o p.png
2 run p.linsep two.csv -o a.png
2 curve p.linsep -o a.gif
2 curve p.linsep -o a.jpg
1 run p.linsep -o a.gif
1 run logistic.linsep two.csv -o a.gif
1 run linear.linsep two.csv -o a.gif
1 run p.linsep other.csv -o a.gif
1 run p.linsep two.csv -o a.gif --feature a --feature z
"""


def test_what_cannot_be_drawn_is_refused(models):
    header, *rows = TWO.splitlines()
    (models / "other.csv").write_text("\n".join([header, *rows[::-1]]) + "\n")
    for line in REFUSED.strip().split("\n"):
        code, *words = line.split()
        assert_refused("plot", *words, cwd=models, exit_code=int(code))


def test_a_command_draws_its_result(models, tmp_path):
    for words in (
        ("trace", models / "two.csv", "--target", "kind", "--no-shuffle"),
        ("separate", models / "two.csv", "--target", "kind", "--margin", "max"),
    ):
        plain = here(*words, cwd=tmp_path)
        drawn = here(*words, "--plot", f"{words[0]}.png", cwd=tmp_path)
        assert drawn.returncode == 0, drawn.stderr
        assert drawn.stdout.splitlines()[:3] == plain.stdout.splitlines()[:3]
        assert drawn.stdout.splitlines()[-1] == f"picture  {words[0]}.png"
        as_data = (*words, *(("--json",) if words[0] == "separate" else ("--format", "csv")))
        drawn = here(*as_data, "--plot", "beside.png", "--force", cwd=tmp_path).stdout
        assert drawn.count("\n") == here(*as_data, cwd=tmp_path).stdout.count("\n")
        assert (tmp_path / f"{words[0]}.png").read_bytes().startswith(PNG)
        assert_refused(*words, "--plot", f"{words[0]}.png", cwd=tmp_path, code="file-exists")
    (tmp_path / "three.csv").write_text("a,b,kind\n1,0,x\n2,1,y\n3,3,z\n4,1,z\n")
    done = here("separate", "three.csv", "--target", "kind", "--plot", "p.png", cwd=tmp_path)
    assert done.returncode == 1
    assert not (tmp_path / "p.png").exists()


def test_fewer_mistakes_than_asked_for_are_drawn(tmp_path):
    (tmp_path / "easy.csv").write_text("a,b,kind\n1,2,x\n2,1,x\n-1,-2,y\n-2,-1,y\n")
    here(*["fit", "easy.csv", "--target", "kind", "--scale", "none", "--keep", "last"],
         *["--no-shuffle", "--model", "easy"], cwd=tmp_path)  # fmt: skip
    draw = ("plot", "updates", "easy", "easy.csv", "-o", "p.svg")
    assert (here(*draw, cwd=tmp_path).returncode, here(*draw, cwd=tmp_path).returncode) == (0, 1)
    assert "mistake 1" in (tmp_path / "p.svg").read_text()
