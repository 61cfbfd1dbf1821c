"""Ctrl-C during a logistic regression: the weights so far are kept, and what they are is said; a
checkpoint from which it goes on.
"""

import os
import random
import signal
import warnings
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from campaign.presses import traced
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import linsep
from command_line import here
from linsep import Checkpoint, LogisticRegression
from linsep.errors import CheckpointError
from linsep.logistic import firth, limits
from linsep.logistic.checkpointing import Journal
from linsep.logistic.task import RowLanes, Steps, UnfinishedWarning
from linsep.sources.arrays import ArraySource
from parameters_in_order import ends_of, last, weights_of
from refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::linsep.logistic.task.UnfinishedWarning")

rng = np.random.default_rng(5)
X = rng.normal(size=(240, 3))
Y = (X @ [1.0, -1.0, 0.5] + rng.logistic(size=240) > 0).astype(int)
SEPARABLE = np.where(X[:, 1] > 0.1, 1, 0)


def beyond_memory():
    found = ArraySource(X, Y, batch_rows=60)
    found.memory_bytes = 0
    return found


FITS = {
    "newton": lambda m: m.fit(X, Y),
    "gradient ascent": lambda m: m.set_params(solver="gradient_ascent", max_iter=30).fit(X, Y),
    "firth": lambda m: m.set_params(penalty="firth").fit(X, Y),
    "profiles": lambda m: m.set_params(intervals="profile").fit(X, Y),
    "separable": lambda m: m.fit(X, SEPARABLE),
    "a source beyond memory": lambda m: m.fit(beyond_memory()),
    "a separable source": lambda m: m.fit(ArraySource(X, SEPARABLE, batch_rows=60)),
}


def quietly(go, tick=None):
    """What is warned of, and the KeyboardInterrupt if one came; ``tick`` is called at each line."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with warnings.catch_warnings(record=True, action="always") as caught:
            try:
                with nullcontext() if tick is None else traced(tick):
                    go()
            except KeyboardInterrupt as press:
                return caught, press
        return caught, None
    finally:
        signal.signal(signal.SIGINT, handler)


def pressing_at(*lines):
    """A tick that presses Ctrl-C at lines of a fit."""
    seen = 0

    def tick():
        nonlocal seen
        seen += 1
        if seen in lines:
            signal.raise_signal(signal.SIGINT)

    return tick


def weights_of_steps(fit, monkeypatch):
    """The weights after each step of a fit that nobody interrupts, and its lines."""
    found, report = {}, Steps.report

    def noting(self, *given):
        report(self, *given)
        found[self.known.n_iter] = self.known.weights

    model, lines = LogisticRegression(), []
    with monkeypatch.context() as patch:
        patch.setattr(Steps, "report", noting)
        quietly(lambda: fit(model))
    quietly(lambda: fit(LogisticRegression()), lambda: lines.append(0))
    return model, found, len(lines)


@pytest.mark.compiled
@pytest.mark.parametrize("name", FITS)
def test_pressed_at_any_line(name, monkeypatch):
    fit, draw = FITS[name], random.Random(name)
    quietly(lambda: fit(LogisticRegression()))  # compile what it needs
    whole, steps, lines = weights_of_steps(fit, monkeypatch)
    kept = 0
    for k in range(20):
        # some late: how many lines come before the first step depends on what else is loaded
        first = 1 if k < 16 else lines - lines // 20
        line, model = draw.randrange(first, lines + 1), LogisticRegression()
        again = [line + draw.randrange(1, 500)] * (k % 2)
        caught, press = quietly(lambda model=model: fit(model), pressing_at(line, *again))
        if not hasattr(model, "coef_"):
            assert press is not None
            with pytest.raises(NotFittedError):
                check_is_fitted(model)
            continue
        kept += 1
        assert model.predict(X).shape == Y.shape
        assert str(model.summary())
        unfinished = [w for w in caught if isinstance(w.message, UnfinishedWarning)]
        if model.stop_reason_ == "interrupted":
            assert press is not None
            assert [str(w.message) for w in unfinished] == [model.stop_sentence_]
            assert np.isnan(last(model, "standard_errors_")).all()
            assert np.isnan([model.aic_, model.bic_, *model.likelihood_ratio_[::2]]).all()
            np.testing.assert_array_equal(weights_of(model), steps[model.n_iter_])
        else:
            np.testing.assert_array_equal(model.coef_, whole.coef_)
            assert model.stop_reason_ == whole.stop_reason_
    assert kept >= 2


def press(*_):
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def after(monkeypatch):
    """Press Ctrl-C when so many steps were made."""

    def pressing(n_iter):
        report = Steps.report

        def reporting(self, *given):
            report(self, *given)
            if self.known.n_iter == n_iter:
                press()

        monkeypatch.setattr(Steps, "report", reporting)

    return pressing


@pytest.mark.parametrize("name", ["newton", "gradient ascent", "firth"])
def test_the_weights_so_far_are_kept(name, after):
    after(2)
    model = LogisticRegression()
    with pytest.warns(UnfinishedWarning) as caught, pytest.raises(KeyboardInterrupt):
        FITS[name](model)
    assert (model.n_iter_, model.stop_reason_) == (2, "interrupted")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.log_likelihood_ > model.null_log_likelihood_
    assert model.covariance_ is None
    said = "finite" if name == "firth" else "not checked"
    assert set(last(model, "limits_").flat) == {said}


def test_a_later_fit_forgets_an_earlier_one(after):
    model = LogisticRegression().fit(X, Y)
    after(10_000)
    with refused(ValueError, "class-count"):
        model.fit(X, np.zeros(240))
    assert model.predict(X).shape == (240,)  # nothing was begun
    with pytest.raises(linsep.errors.SeparationError):
        LogisticRegression.fit(model.set_params(on_separation="raise"), X, SEPARABLE)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_question_is_given_up(monkeypatch):
    monkeypatch.setattr(limits, "limits_of", press)
    model = LogisticRegression()
    with pytest.warns(UnfinishedWarning), pytest.raises(KeyboardInterrupt):
        model.fit(X, SEPARABLE)
    assert model.stop_reason_ == "interrupted"
    assert set(last(model, "limits_").flat) == {"not checked"}
    assert model.score(X, SEPARABLE) > 0.9


def test_intervals_so_far_are_kept(monkeypatch):
    how = {"penalty": "firth", "intervals": "profile"}
    monkeypatch.setattr("linsep.logistic.firth.block_rows", lambda _: 0)  # one after another
    whole, intervals, worked_out = LogisticRegression(**how).fit(X, Y), firth.Profiles, []

    class Pressed(intervals):
        def intervals(self, of, limits):
            worked_out.append(0)
            if len(worked_out) == 3:
                press()
            return super().intervals(of, limits)

    monkeypatch.setattr(firth, "Profiles", Pressed)
    model = LogisticRegression(**how)
    with pytest.warns(UnfinishedWarning), pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    np.testing.assert_array_equal(weights_of(model), weights_of(whole))
    assert model.stop_reason_ == "converged"
    assert set(last(model, "limits_").flat) == {"finite"}
    for found, expected in zip(ends_of(model), ends_of(whole), strict=True):
        np.testing.assert_array_equal(found[0, :2], expected[0, :2])
        assert np.isnan(found[0, 2:]).all()


@pytest.fixture
def rows(tmp_path):
    lines = [
        f"{y} " + " ".join(f"{j}:{v!r}" for j, v in enumerate(x, start=1))
        for y, x in zip(Y.tolist(), X.tolist(), strict=True)
    ]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_command_keeps_them(rows, after):
    after(2)
    done = here("fit", "rows.svm", "--learner", "logistic", "--model", "m", cwd=rows)
    assert done.returncode == 130
    assert done.stderr.count("\n") == 1
    copy = linsep.load(rows / "m")
    assert (copy.n_iter_, copy.stop_reason_) == (2, "interrupted")
    assert copy.predict(X).shape == (240,)
    assert copy.stop_sentence_ in " ".join(here("summary", "m", cwd=rows).stdout.split())


# A logistic regression goes on from a checkpoint, to the same bits, without its passes made.

draw = np.random.default_rng(9)
ROWS = draw.normal(size=(400, 4)) * [1, 2, 5, 0.1] + [3, 0, 0, 1]
SCORES = ROWS @ draw.normal(size=(4, 3))
CLASSES = (SCORES + 4 * draw.gumbel(size=SCORES.shape)).argmax(axis=1)
#: more weights than a Hessian is computed for
WIDE = sp.random(80, 2600, density=0.01, random_state=1, format="csr")
WIDE_LABELS = (WIDE @ draw.normal(size=2600) + 0.1 * draw.normal(size=80) > 0).astype(int)
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


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("how", "y", "every"),
    [
        ({}, CLASSES, 3), ({"l2": 0.5}, CLASSES, 3),
        ({"penalty": "firth"}, CLASSES > 0, 40), ({"intervals": "profile"}, CLASSES > 0, 20),
        ({"solver": "gradient_ascent", "learning_rate": 1e-4, "max_iter": 30}, CLASSES > 0, 12),
    ],
    ids=["newton", "l2", "firth", "profile", "ascent"],
)  # fmt: skip
def test_every_solver_goes_on(tmp_path, monkeypatch, how, y, every):
    # profiles of few rows are evaluated in one loop, without a journal
    monkeypatch.setattr("linsep.logistic.firth.block_rows", lambda _: 0)
    expected = LogisticRegression(**how).fit(ROWS, y)
    found, times = ended(
        lambda path: LogisticRegression(**how).fit(ROWS, y, checkpoint=path), tmp_path / "c", every
    )
    assert times > 1
    assert_same_bits(found, expected)
    if how.get("intervals"):
        np.testing.assert_array_equal(ends_of(found), ends_of(expected))
    assert os.listdir(tmp_path) == []


@pytest.mark.compiled
def test_many_weights_go_on(tmp_path):
    def fit(path=None):
        return LogisticRegression(l2=1.0).fit(WIDE, WIDE_LABELS, checkpoint=path)

    found, times = ended(fit, tmp_path / "c", 14)
    assert times > 1
    assert_same_bits(found, fit())


@pytest.mark.compiled
def test_passes_are_not_made_again(tmp_path, monkeypatch):
    def fit(path=None):
        return LogisticRegression().fit(ROWS, CLASSES, checkpoint=path)

    total, passes = RowLanes.sum, []

    def counted(self, work, *of):
        passes.extend([work] * isinstance(work, partial))  # but those of moments, which are none
        return total(self, work, *of)

    monkeypatch.setattr(RowLanes, "sum", counted)
    fit()
    whole = len(passes)
    passes.clear()
    _, times = ended(fit, tmp_path / "c", 2)
    assert len(passes) <= whole + times


@pytest.mark.compiled
def test_sources_go_on(tmp_path):
    dump_svmlight_file(ROWS, CLASSES, str(tmp_path / "t.svm"))

    def fit(path=None):
        source = linsep.open_source(tmp_path / "t.svm")
        source.memory_bytes = 0
        return LogisticRegression().fit(source, checkpoint=path)

    found, times = ended(fit, tmp_path / "c", 3)
    assert times > 1
    assert_same_bits(found, fit())


def of_rows(path):
    return LogisticRegression().fit(ROWS, CLASSES, checkpoint=path)


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
            of_rows(path)


@pytest.mark.compiled
def test_an_interrupt_before_the_rows_are_checked_changes_nothing(tmp_path, monkeypatch):
    left(tmp_path / "c")
    before = (tmp_path / "c").read_bytes()

    def pressed(*of):
        raise KeyboardInterrupt

    monkeypatch.setattr("linsep.checkpoints.fits.SavedFit.check_arrays", pressed)
    with pytest.raises(KeyboardInterrupt):
        of_rows(tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == before


@pytest.mark.compiled
def test_another_fit_is_refused(tmp_path):
    path = tmp_path / "c"
    left(path)
    for model, rows, code in (
        (LogisticRegression(l2=1.0), ROWS, "bad-checkpoint"),
        (LogisticRegression(), ROWS + 1, "bad-checkpoint"),
        (linsep.Perceptron(), ROWS, "bad-checkpoint"),
    ):
        with refused(CheckpointError, code):
            model.fit(rows, CLASSES, checkpoint=path)
    arrays, about = Checkpoint(path).read()
    for wrong in ({"passes": 3}, {"passes": [["at", 9]]}, {"passes": [[1, 0]]}):
        Checkpoint(path).write(arrays, about | wrong)
        with refused(CheckpointError, "bad-checkpoint"):
            of_rows(path)
