"""Ctrl-C while a regression reads a source: the rows so far are kept, and it is said."""

import signal

import numpy as np
import pytest

import linsep
from command_line import here
from linsep import GaussianNaiveBayes, LinearRegression, open_source
from linsep.sources.svmlight import SvmlightSource

rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 3)) + np.array([1e3, 0, 0])
Y = (X @ [0.5, -1.0, 0.2] + rng.standard_normal(3000) > 500).astype(int)


@pytest.fixture
def pressed(tmp_path, monkeypatch):
    """A file of several batches, and Ctrl-C while the batches of these numbers are read."""
    lines = [f"{y} 1:{a!r} 2:{b!r} 3:{c!r}\n" for y, (a, b, c) in zip(Y, X.tolist(), strict=True)]
    (tmp_path / "rows.svm").write_text("".join(lines))
    batches, readings = SvmlightSource.batches, []

    def press(*when, reading=None):
        def pressing(self):
            readings.append(0)
            for batch in batches(self):
                readings[-1] += 1
                if readings[-1] in when and reading in (None, len(readings)):
                    signal.raise_signal(signal.SIGINT)
                yield batch

        monkeypatch.setattr(SvmlightSource, "batches", pressing)
        small = SvmlightSource.__init__.__kwdefaults__ | {"chunk_bytes": 1 << 14}
        monkeypatch.setattr(SvmlightSource.__init__, "__kwdefaults__", small)
        return readings

    return press


def same(one, other):
    for name in ("means_", "variances_", "priors_", "coef_", "intercept_"):
        if hasattr(one, name):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)


@pytest.mark.parametrize("kind", [LinearRegression, GaussianNaiveBayes])
def test_the_rows_before_are_kept(tmp_path, pressed, kind):
    pressed(5, 6)  # who presses twice stops nothing that the first press has set going
    model = kind()
    with (
        pytest.warns(UserWarning, match="interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(open_source(tmp_path / "rows.svm"))
    rows = model._fitted.n_rows if kind is LinearRegression else model.n_rows_
    assert 0 < rows < 3000
    assert model.stop_reason_ == "interrupted"
    same(model, kind().fit(X[:rows], Y[:rows]))
    linsep.save(model, tmp_path / "m")
    copy = linsep.load(tmp_path / "m")
    same(copy, model)
    assert copy.stop_reason_ == "interrupted"
    model.fit(X, Y)
    assert not hasattr(model, "stop_reason_")


def test_a_later_reading_is_not_kept(tmp_path, pressed, monkeypatch):
    """Rows that were read once are read again for their digits: half of that is no use."""
    monkeypatch.setattr("linsep.linear.least_squares._is_unsure", lambda _: True)
    readings = pressed(5, reading=2)  # a factor, then residuals
    model = LinearRegression()
    with pytest.raises(KeyboardInterrupt):
        model.fit(open_source(tmp_path / "rows.svm"))
    assert readings[0] > 5
    assert not hasattr(model, "coef_")


def test_the_command_keeps_them(tmp_path, pressed):
    pressed(5)
    done = here("fit", "rows.svm", "--learner", "linear", "--model", "m", cwd=tmp_path)
    assert done.returncode == 130
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "m").exists()


def test_before_the_first_row_there_is_nothing_to_keep(tmp_path, pressed):
    pressed(1)
    done = here("fit", "rows.svm", "--learner", "naive-bayes", "--model", "m", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "linsep: interrupted; nothing was saved.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm"]
