"""Models whose arrays a file or another process holds learn on, and change nothing there."""

import copy

import joblib
import numpy as np
import pytest

import linsep

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
Y = (X @ [1.0, -2.0, 0.5] > 0.1).astype(int)
MODELS = [
    linsep.Perceptron(keep="last"),
    linsep.Perceptron(keep="average"),
    linsep.Perceptron(keep="vote"),
    linsep.Perceptron(keep="best"),
    linsep.PassiveAggressive(max_iter=9),
    linsep.MarginPerceptron(gamma=0.1),
    linsep.Winnow(max_iter=9),
    linsep.BalancedWinnow(max_iter=9),
]


def taught(model, mode, folder):
    """The model, learned from half of the rows and loaded with arrays that are the file's."""
    rows = abs(X) if isinstance(model, linsep.Winnow) else X
    joblib.dump(copy.deepcopy(model).partial_fit(rows[:20], Y[:20], [0, 1]), folder / "m.joblib")
    return rows, joblib.load(folder / "m.joblib", mmap_mode=mode)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_partial_fit_goes_on_with_arrays_of_its_own(model, mode, tmp_path):
    rows, mapped = taught(model, mode, tmp_path)
    before = (tmp_path / "m.joblib").read_bytes()
    mapped.partial_fit(rows[20:], Y[20:])
    whole = copy.deepcopy(model).partial_fit(rows, Y, [0, 1])
    assert np.array_equal(mapped.decision_function(rows), whole.decision_function(rows))
    assert (tmp_path / "m.joblib").read_bytes() == before


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_warm_fit_goes_on_with_arrays_of_its_own(model, tmp_path):
    rows, mapped = taught(model, "r", tmp_path)
    known = joblib.load(tmp_path / "m.joblib")
    scores = [m.set_params(warm_start=True).fit(rows, Y).decision_function(rows)
              for m in (mapped, known)]  # fmt: skip
    assert np.array_equal(*scores)
