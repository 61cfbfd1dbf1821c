"""``--plot FILE`` of the commands whose result is no model."""

import pytest

from command_line import assert_refused, here

pytestmark = pytest.mark.compiled
TWO = "a,b,kind\n" + "".join(f"{k % 7},{k % 5},{'xy'[k % 7 > 3]}\n" for k in range(40))
PNG = b"\x89PNG"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.csv").write_text(TWO)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("trace", "two.csv", "--target", "kind", "--no-shuffle"),
        ("separate", "two.csv", "--target", "kind"),
        ("separate", "two.csv", "--target", "kind", "--margin", "max"),
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_a_command_draws_its_result(folder, words):
    plain = here(*words, cwd=folder)
    drawn = here(*words, "--plot", "p.png", cwd=folder)
    assert drawn.returncode == 0, drawn.stderr
    assert drawn.stdout.splitlines()[:3] == plain.stdout.splitlines()[:3]
    assert (folder / "p.png").read_bytes().startswith(PNG)
    assert_refused(*words, "--plot", "p.png", cwd=folder, code="file-exists")


def test_verdicts_on_several_classes_are_not_drawn(folder):
    (folder / "three.csv").write_text("a,b,kind\n1,0,x\n2,1,y\n3,3,z\n4,1,z\n")
    done = here("separate", "three.csv", "--target", "kind", "--plot", "p.png", cwd=folder)
    assert done.returncode == 1
    assert "more than two classes are not drawn" in done.stderr
    assert not (folder / "p.png").exists()
