"""Names of options in other programs lead to ours, and not to what looks alike."""

import pandas as pd
import pytest

import linsep
from command_line import here
from linsep.other_names import advice_for

pytestmark = pytest.mark.uncompiled
#: what users type, and the option of ours that they are told
COMMANDS = {
    "--seed 1": "--random-state", "--alpha 1": "--l2", "--n_jobs 2": "", "--maxit 3": "--max-iter",
    "-b 20": "--hash-bits", "-t": "linsep predict", "--average": "--keep average",
    "--learner soft-margin --cost 3": "--C", "--learner logistic --C 1": "--l2",
    "--learner logistic --penalty l2": "--l2", "--na.values ?": "--null-values",
}  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_name_our_option(tmp_path, words):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(20)))
    done = here("fit", "t.csv", "--target", "y", *words.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert COMMANDS[words] in done.stderr
    assert "Possible options" not in done.stderr


@pytest.mark.parametrize("name", ["alpha", "epochs", "penalty", "sep"])
def test_python_names_our_parameter(name):
    frame = pd.DataFrame({"x": range(9), "y": list("abababaab")})
    with pytest.raises((TypeError, ValueError)) as caught:
        linsep.fit(frame, target="y", learner="logistic", **{name: "x"})
    assert all(ours in str(caught.value) for ours in advice_for(name).settings)


def test_a_misspelled_name_of_ours_is_none_of_others(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n")
    with pytest.raises(TypeError, match="max_iter"):
        linsep.fit(tmp_path / "t.csv", target="y", max_itr=3)
    assert advice_for("max_itr") is None
