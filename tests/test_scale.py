"""Columns of different scale: the advice, and ``--scale``, which a model remembers."""

import json

import numpy as np
import pytest

import linsep
from command_line import here, refused
from linsep.errors import DataError
from linsep.sources import open_source
from linsep.sources.moments import Moments
from linsep.sources.tables import TableSource, load_table


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    income, share = rng.normal(5e4, 1e4, 200).round(), rng.random(200).round(3)
    kinds = np.where((income - 5e4) / 1e4 + 4 * (share - 0.5) > 0, "a", "b")
    rows = [f"{i},{s},7,{'pq'[k % 2]},{y}" for k, (i, s, y) in
            enumerate(zip(income, share, kinds, strict=True))]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["income,share,same,word,kind", *rows]) + "\n")
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n")
    return tmp_path


def test_moments_are_those_of_numpy():
    rng = np.random.default_rng(1)
    X = rng.normal(1e6, 3, (500, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 3], X[:7, 2] = 5.0, np.nan
    moments = Moments(4)
    for part in np.array_split(X, [7, 90, 91, 400]):
        moments.add(part)
    np.testing.assert_allclose(moments.means, np.nanmean(X, axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.spreads[:3], np.nanstd(X, axis=0)[:3], rtol=1e-9)
    assert moments.spreads[3] == 1.0
    assert Moments(2).spreads.tolist() == [1.0, 1.0]
    huge = Moments(1)
    huge.add(np.array([[1e300], [-1e300]]))
    assert huge.spreads.tolist() == [1.0]


def test_scaled_rows(folder):
    plain, _, names = load_table(folder / "t.csv", target="kind")
    X, _, _ = load_table(folder / "t.csv", target="kind", scale=True)
    assert names[:3] == ["income", "share", "same"]
    expected = plain.toarray()
    numbers = expected[:, :3]
    spread = np.where(numbers.std(axis=0) > 0, numbers.std(axis=0), 1)
    expected[:, :3] = (numbers - numbers.mean(axis=0)) / spread
    np.testing.assert_allclose(X.toarray(), expected, rtol=1e-9, atol=1e-12)
    source = TableSource([folder / "t.csv"], target="kind", scale=True)
    recipe = json.loads(json.dumps(source.recipe()))
    again, _, _ = load_table(folder / "t.csv", recipe=recipe | {"text": {"word": {"q": 3}}})
    np.testing.assert_allclose(again.toarray()[:, :3], expected[:, :3], rtol=1e-9, atol=1e-12)
    for bad in ({"income": [0, 1]}, {"income": 3}, 7):
        with pytest.raises(DataError, match="damaged"):
            TableSource([folder / "t.csv"], target="kind", recipe=recipe | {"scale": bad})


def test_missing_values_are_filled_before_they_are_scaled(folder):
    (folder / "h.csv").write_text("x,kind\n1,a\n,b\n3,a\n")
    zero, _, _ = load_table(folder / "h.csv", target="kind", missing="zero", scale=True)
    mean, _, _ = load_table(folder / "h.csv", target="kind", missing="mean", scale=True)
    assert (zero.ravel().tolist(), mean.ravel().tolist()) == ([-1, -2, 1], [-1, 0, 1])


def test_uneven_columns_are_told_and_scaled_on_demand(folder):
    fit = ("fit", "t.csv", "--target", "kind", "--max-iter", 30)
    shown = here(*fit, cwd=folder).stdout
    assert "advice       'share' spans 0.9" in shown
    assert "'income' 44006: --scale" in shown
    assert shown.count("--scale brings columns to one scale") == 1
    plain = json.loads(here(*fit, "--json", cwd=folder).stdout)
    assert list(plain["uneven_columns"]) == ["share", "income"]
    fit = (*fit, "--scale", "--test", "t.csv", "--model", "m")
    scaled = json.loads(here(*fit, "--json", cwd=folder).stdout)
    assert scaled["uneven_columns"] is None
    assert scaled["test"]["accuracy"] == scaled["training_accuracy"] > plain["training_accuracy"]
    told = json.loads(here("score", "m", "t.csv", "--json", cwd=folder).stdout)
    assert told["accuracy"] == scaled["training_accuracy"]
    model = linsep.load(folder / "m")
    source = open_source(folder / "t.csv", recipe=model.recipe_)
    assert model.score(source) == told["accuracy"]
    refused("fit", "t.svm", "--scale", cwd=folder, said="leave out --scale")
    assert "advice" not in here("fit", "t.svm", cwd=folder).stdout
