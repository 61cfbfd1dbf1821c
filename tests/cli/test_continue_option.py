"""`linsep fit --continue`: a saved model learns more rows, as if they had followed its own."""

import json

import pytest

import linsep
from command_line import assert_refused, here
from linsep import Perceptron

ROWS = "".join(
    f"{k % 7},{(k * k) % 11},{('red', 'blue', 'green')[k % 3]},{'yes' if k % 7 > 3 else 'no'}\n"
    for k in range(120)
)


@pytest.fixture
def parts(tmp_path):
    lines, header = ROWS.splitlines(keepends=True), "a,b,c,y\n"
    for name, some in (("all", lines), ("first", lines[:70]), ("more", lines[70:])):
        (tmp_path / f"{name}.csv").write_text(header + "".join(some))
    fit = ("--target", "y", "--scale", "none", "--max-iter", 1)
    for learner in ("perceptron", "arow"):
        for name in ("all", "first"):
            model = f"{learner}-{name}"
            how = (*fit, "--learner", learner, "--model", model)
            assert here("fit", f"{name}.csv", *how, cwd=tmp_path).returncode == 0
    return tmp_path


@pytest.mark.parametrize("learner", ["perceptron", "arow"])
def test_the_bits_are_those_of_one_fit(parts, learner):
    go_on = ("more.csv", "--continue", f"{learner}-first", "--model", "later")
    done = here("fit", *go_on, "--test", "all.csv", "--json", cwd=parts)
    assert done.returncode == 0, done.stderr
    whole, later = (linsep.load(parts / name) for name in (f"{learner}-all", "later"))
    in_python = linsep.load(parts / f"{learner}-first")
    for batch in linsep.open_source(parts / "more.csv", recipe=in_python.recipe_).batches():
        in_python.partial_fit(batch)
    weights = [m.coef_.tobytes() + m.intercept_.tobytes() for m in (later, in_python, whole)]
    assert len({*weights}) == 1
    found = json.loads(done.stdout)
    assert (found["rows"], found["training_accuracy"], found["test"]["accuracy"]) == (
        50,
        None,
        later.score(str(parts / "all.csv")),
    )


def test_what_does_not_go_with_it_is_refused(parts):
    go_on = ("fit", "more.csv", "--continue", "arow-first")
    assert_refused(*go_on, cwd=parts, exit_code=2, said="--model")
    for option in (("--target", "y"), ("--learner", "pa"), ("--C", 1), ("--no-cache",)):
        assert_refused(*go_on, "--model", "m", *option, cwd=parts, exit_code=2, said=option[0])
    assert_refused(*go_on, "--model", "arow-all", cwd=parts, code="file-exists")
    learner = ("--learner", "logistic", "--l2", 1, "--model", "logistic")
    assert here("fit", "all.csv", "--target", "y", *learner, cwd=parts).returncode == 0
    assert_refused(*go_on[:3], "logistic", "--model", "m", cwd=parts, code="unsupported")


def test_an_interrupt_keeps_what_was_learned(parts, monkeypatch):
    learn = Perceptron.partial_fit

    def pressed(self, *args, **how):
        learn(self, *args, **how)
        raise KeyboardInterrupt

    monkeypatch.setattr(Perceptron, "partial_fit", pressed)
    go_on = ("more.csv", "--continue", "perceptron-first", "--model", "later")
    assert here("fit", *go_on, cwd=parts).returncode == 130
    whole, later = (linsep.load(parts / name).coef_ for name in ("perceptron-all", "later"))
    assert later.tobytes() == whole.tobytes()
