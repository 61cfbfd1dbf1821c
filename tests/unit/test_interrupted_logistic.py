"""Ctrl-C during a logistic regression: the weights so far are kept, and what they are is said."""

import random
import signal
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from campaign.presses import traced
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import linsep
from command_line import here
from linsep import LogisticRegression
from linsep.logistic import fitting, limits, profiles
from linsep.logistic.solution import Steps, UnfinishedWarning
from linsep.sources.arrays import ArraySource
from parameters_in_order import ends_of, last, weights_of
from refusals import refused

pytestmark = pytest.mark.uncompiled

rng = np.random.default_rng(5)
X = rng.normal(size=(240, 3))
Y = (X @ [1.0, -1.0, 0.5] + rng.logistic(size=240) > 0).astype(int)
SEPARABLE = np.where(X[:, 1] > 0.1, 1, 0)


def source(cached):
    found = ArraySource(X, Y, batch_rows=60)
    found.memory_bytes = 0 if cached else 1 << 20
    return found


FITS = {
    "newton": lambda m: m.fit(X, Y),
    "gradient ascent": lambda m: m.set_params(solver="gradient_ascent", max_iter=30).fit(X, Y),
    "l2": lambda m: m.set_params(l2=1.0).fit(X, Y),
    "firth": lambda m: m.set_params(penalty="firth").fit(X, Y),
    "profiles": lambda m: m.set_params(intervals="profile").fit(X, Y),
    "separable": lambda m: m.fit(X, SEPARABLE),
    "a source": lambda m: m.fit(source(False)),
    "a source beyond memory": lambda m: m.fit(source(True)),
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
    found, of = {}, Steps.of

    def noting(self, *how):
        report = of(self, *how)

        def note(*given):
            report(*given)
            found[self.so_far().n_iter] = self.so_far().weights

        return note

    model, lines = LogisticRegression(), []
    with monkeypatch.context() as patch:
        patch.setattr(Steps, "of", noting)
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
        of = Steps.of

        def patched(self, *how):
            report = of(self, *how)

            def reporting(*given):
                report(*given)
                if self.so_far().n_iter == n_iter:
                    press()

            return reporting

        monkeypatch.setattr(Steps, "of", patched)

    return pressing


@pytest.mark.parametrize("name", ["newton", "gradient ascent", "l2", "firth"])
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
    said = "finite" if name in ("l2", "firth") else "not checked"
    assert set(last(model, "limits_").flat) == {said}
    assert "interrupted" in str(model.summary())


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
    monkeypatch.setattr(limits.Contrasts, "limits", press)
    model = LogisticRegression()
    with (
        pytest.warns(UnfinishedWarning),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, SEPARABLE)
    assert model.stop_reason_ == "interrupted"
    assert set(last(model, "limits_").flat) == {"not checked"}
    assert model.score(X, SEPARABLE) > 0.9


@pytest.mark.parametrize("penalty", [None, "firth"])
def test_intervals_so_far_are_kept(monkeypatch, penalty):
    how = {"penalty": penalty, "intervals": "profile"}
    whole, interval, worked_out = LogisticRegression(**how).fit(X, Y), profiles.Profile, []

    class Pressed(interval):
        def interval(self, level, runs=""):
            worked_out.append(0)
            if len(worked_out) == 3:
                press()
            return super().interval(level, runs)

    monkeypatch.setattr(profiles, "Profile", Pressed)
    model = LogisticRegression(**how)
    with (
        pytest.warns(UnfinishedWarning),
        pytest.raises(KeyboardInterrupt),
    ):
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


def test_before_the_first_step_there_is_nothing_to_keep(rows, monkeypatch):
    monkeypatch.setattr(fitting, "_start", press)
    done = here("fit", "rows.svm", "--learner", "logistic", "--model", "m", cwd=rows)
    assert (done.returncode, done.stderr) == (130, "linsep: interrupted; nothing was saved.\n")
    assert not (rows / "m").exists()
