"""A logistic regression goes on from a checkpoint, to the same bits, without its passes made."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import linsep
import linsep.errors
from linsep import Checkpoint, LogisticRegression
from linsep.errors import CheckpointError
from linsep.logistic.checkpointing import Journal
from linsep.logistic.objective import Objective
from parameters_in_order import ends_of, last
from refusals import refused

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:The fit was interrupted"),
    pytest.mark.filterwarnings("ignore:Gradient ascent ended"),
]

rng = np.random.default_rng(9)
X = rng.normal(size=(400, 4)) * [1, 2, 5, 0.1] + [3, 0, 0, 1]
SCORES = X @ rng.normal(size=(4, 3))
Y = (SCORES + 4 * rng.gumbel(size=SCORES.shape)).argmax(axis=1)
#: more weights than a Hessian is computed for
WIDE = sp.random(80, 2600, density=0.01, random_state=1, format="csr")
LABELS = (WIDE @ rng.normal(size=2600) + 0.1 * rng.normal(size=80) > 0).astype(int)
EXACT = ("coef_", "intercept_", "log_likelihood_", "n_iter_", "covariance_", "limits_")


def ended(fit, path, every):
    """Interrupt a fit after every so many new passes until it ends; count the processes."""
    result = Journal.result

    for times in range(1, 200):
        count = []

        def pressed(self, what, given, compute, count=count):
            def counted():
                count.append(1)
                if len(count) > every:
                    raise KeyboardInterrupt
                return compute()

            return result(self, what, given, counted)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Journal, "result", pressed)
            try:
                return fit(path), times
            except KeyboardInterrupt:
                assert path.exists()
    raise AssertionError("it does not end")


def assert_same_bits(one, other):
    for name in EXACT:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (one.stop_reason_, one.stop_sentence_) == (other.stop_reason_, other.stop_sentence_)


@pytest.mark.parametrize(
    ("how", "y", "every"),
    [
        ({}, Y, 3), ({"l2": 0.5}, Y, 3),
        ({"penalty": "firth"}, Y > 0, 40), ({"intervals": "profile"}, Y > 0, 20),
        ({"solver": "gradient_ascent", "learning_rate": 1e-4, "max_iter": 30}, Y > 0, 12),
    ],
    ids=["newton", "l2", "firth", "profile", "ascent"],
)  # fmt: skip
def test_every_solver_goes_on(tmp_path, monkeypatch, how, y, every):
    # profiles of few rows are evaluated in one loop, without a journal
    monkeypatch.setattr("linsep.logistic.firth.block_rows", lambda _: 0)
    expected = LogisticRegression(**how).fit(X, y)
    found, times = ended(
        lambda path: LogisticRegression(**how).fit(X, y, checkpoint=path), tmp_path / "c", every
    )
    assert times > 1
    assert_same_bits(found, expected)
    if how.get("intervals"):
        np.testing.assert_array_equal(ends_of(found), ends_of(expected))
    assert os.listdir(tmp_path) == []


def test_many_weights_go_on(tmp_path):
    def fit(path=None):
        return LogisticRegression(l2=1.0).fit(WIDE, LABELS, checkpoint=path)

    found, times = ended(fit, tmp_path / "c", 14)
    assert times > 1
    assert_same_bits(found, fit())


def test_separable_rows_go_on_to_the_same_verdict(tmp_path):
    y = (X[:, 0] > 3).astype(int)

    def fit(path=None):
        with pytest.warns(linsep.errors.SeparationWarning):
            return LogisticRegression().fit(X, y, checkpoint=path)

    found, times = ended(fit, tmp_path / "c", 3)
    assert times > 1
    np.testing.assert_array_equal(last(found, "limits_"), last(fit(), "limits_"))


def test_passes_are_not_made_again(tmp_path, monkeypatch):
    def fit(path=None):
        return LogisticRegression().fit(X, Y, checkpoint=path)

    total, passes = Objective.sum, []
    monkeypatch.setattr(
        Objective, "sum", lambda self, *of, **how: passes.append(1) or total(self, *of, **how)
    )
    fit()
    whole = len(passes)
    passes.clear()
    _, times = ended(fit, tmp_path / "c", 2)
    # each process standardizes the features anew, by one pass
    assert len(passes) <= whole + times


@pytest.mark.parametrize("memory", [0, 1 << 28])
def test_sources_go_on(tmp_path, memory):
    dump_svmlight_file(X, Y, str(tmp_path / "t.svm"))

    def fit(path=None):
        source = linsep.open_source(tmp_path / "t.svm")
        source.memory_bytes = memory
        return LogisticRegression().fit(source, checkpoint=path)

    found, times = ended(fit, tmp_path / "c", 3)
    assert times > 1
    assert_same_bits(found, fit())


def fit(path):
    return LogisticRegression().fit(X, Y, checkpoint=path)


def left(path):
    """Leave a checkpoint of two passes."""
    result = Journal.result

    def pressed(self, *of):
        if len(self.records) == 2:
            raise KeyboardInterrupt
        return result(self, *of)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "result", pressed)
        with pytest.raises(KeyboardInterrupt):
            fit(path)


def test_an_interrupt_before_the_rows_are_checked_changes_nothing(tmp_path, monkeypatch):
    left(tmp_path / "c")
    before = (tmp_path / "c").read_bytes()

    def pressed(*of):
        raise KeyboardInterrupt

    monkeypatch.setattr("linsep.checkpoints.fits.SavedFit.check_arrays", pressed)
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == before


def test_another_fit_is_refused(tmp_path):
    path = tmp_path / "c"
    left(path)
    for model, rows, code in (
        (LogisticRegression(l2=1.0), X, "bad-checkpoint"),
        (LogisticRegression(), X + 1, "bad-checkpoint"),
        (linsep.Perceptron(), X, "bad-checkpoint"),
    ):
        with refused(CheckpointError, code):
            model.fit(rows, Y, checkpoint=path)
    arrays, about = Checkpoint(path).read()
    for wrong in ({"passes": 3}, {"passes": [["at", 9]]}, {"passes": [[1, 0]]}):
        Checkpoint(path).write(arrays, about | wrong)
        with refused(CheckpointError, "bad-checkpoint"):
            fit(path)
