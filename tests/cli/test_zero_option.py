"""``--zero``: what a score of zero is to the perceptron, on the command line."""

import json

import pytest

from command_line import assert_refused, here, table
from linsep import load

XOR, FIVE = "exclusive_or.csv", "five_points.csv"


@pytest.fixture
def notes(tmp_path):
    table(tmp_path, XOR, ["x1", "x2", "y"], [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])
    rows = [(1, 1, -1), (3, 2, 1), (2, 4, 1), (3, 4, 1), (2, 3, -1)]
    table(tmp_path, FIVE, ["x1", "x2", "y"], rows)
    table(tmp_path, "three.csv", ["x", "y"], [(0, "a"), (1, "b"), (2, "c")])
    return tmp_path


def test_a_trace_of_each_rule(notes):
    how = ("trace", XOR, "--target", "y", "--no-fit-intercept", "--no-shuffle", "--zero")
    for zero, expected in (("mistake", ["yes"] * 4), ("negative", ["yes", "no", "no", "yes"])):
        done = here(*how, zero, cwd=notes)
        assert (done.returncode, done.stderr) == (0, "")
        _, *rows = done.stdout.splitlines()
        last = rows[len(expected)]
        assert [row.split()[6] for row in rows[: len(expected)]] == expected
        assert last.startswith("cycle: the weights before pass 1 recurred before pass 2")


def test_a_fit_that_leaves_zeros_does_not_claim_to_separate(notes):
    how = (FIVE, "--target", "y", "--no-shuffle", "--scale", "none", "--keep", "last",
           "--init-weights", "-1,0,0", "--max-iter", 300)  # fmt: skip
    for zero, passes, reason in (("mistake", 232, "converged"), ("correct", 112, "clean")):
        model = f"{zero}.linsep"
        done = here("fit", *how, "--zero", zero, "--model", model, cwd=notes)
        assert done.returncode == 0, done.stderr
        assert f"passes       {passes}," in done.stdout
        stopped = next(line for line in done.stdout.splitlines() if line.startswith("stopped"))
        assert stopped.split()[1] == f"{reason}:"
        assert ("do not separate" in stopped) == (reason == "clean")
        assert load(notes / model).zero == zero
        shown = here("inspect", model, cwd=notes).stdout
        assert ("--zero correct" in shown) == (zero == "correct")
    # The row (2, 4) of +1 has the score 0, which --tie predicts.
    done = here("score", "correct.linsep", FIVE, "--json", cwd=notes)
    assert json.loads(done.stdout)["accuracy"] == 0.8


@pytest.mark.parametrize("command", ["fit", "trace"])
def test_correct_needs_initial_weights(notes, command):
    for start in ((), ("--init-weights", "0,0,0")):
        assert_refused(command, FIVE, "--target", "y", "--zero", "correct", *start, cwd=notes,
                       code="conflict", exit_code=2)  # fmt: skip


def test_several_classes_need_machines_with_two_sides(notes):
    how = ("fit", "three.csv", "--target", "y", "--zero", "negative")
    said = "--multiclass ovr, --multiclass ovo or --zero mistake"
    assert_refused(*how, cwd=notes, code="conflict", exit_code=2)
    assert here(*how, "--multiclass", "ovr", cwd=notes).returncode == 0
    how = ("fit", FIVE, "--target", "y", "--zero")
    said = "--zero must be one of 'mistake', 'negative', 'correct'"
    assert_refused(*how, "maybe", cwd=notes, said=said, exit_code=2)
    said = "--zero is for --learner perceptron, not pa"
    assert_refused(*how, "negative", "--learner", "pa", cwd=notes, said=said, exit_code=2)


def test_a_grid_says_that_a_pass_was_clean(notes):
    rows = [(1, 0, "p"), (0, 1, "n"), (0, -1, "n")] * 20
    table(notes, "left.csv", ["x1", "x2", "y"], rows)
    how = ("tune", "left.csv", "--target", "y", "--no-fit-intercept", "--scale", "none", "--json")
    done = here(*how, "--grid", "zero=mistake,negative", cwd=notes)
    assert done.returncode == 0, done.stderr
    stopped = {m["parameters"]["zero"]: m["stop_reason"] for m in json.loads(done.stdout)["models"]}
    assert stopped == {"mistake": "dropped", "negative": "clean"}  # the last weights go on and on
    assert_refused(*how, "--grid", "zero=mistake,correct", cwd=notes, code="conflict", exit_code=2)


def test_a_proof_of_a_cycle_is_verified(notes):
    how = ("--no-fit-intercept", "--no-shuffle", "--scale", "none", "--keep", "last")
    learn = ("fit", XOR, "--target", "y", *how, "--zero", "negative", "--model", "m.linsep")
    fit = here(*learn, cwd=notes)
    assert "stopped      cycle:" in fit.stdout, fit.stdout + fit.stderr
    cycle = load(notes / "m.linsep").cycle_
    (notes / "proof.json").write_text(cycle.to_json())
    done = here("verify", "proof.json", XOR, "--target", "y", cwd=notes)
    assert done.returncode == 0, done.stderr
    assert "2 mistakes in 1 pass" in done.stdout
    assert "mistakes of the positive side only" in done.stdout
