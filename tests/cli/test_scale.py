"""What all rows of a table tell before the first is learned: scaling, the order of indicators."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import linsep
from command_line import assert_refused, here
from linsep.errors import DataError
from linsep.sources import open_source
from linsep.sources.tables.encoding import Moments
from linsep.sources.tables.table import TableSource
from refusals import refused
from whole_files import load_table


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    income, share = rng.normal(5e4, 1e4, 200).round(), rng.random(200).round(3)
    kinds = np.where((income - 5e4) / 1e4 + 4 * (share - 0.5) > 0, "a", "b")
    rows = [f"{i},{s},7,{'qp'[k % 2]},{y}" for k, (i, s, y) in
            enumerate(zip(income, share, kinds, strict=True))]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["income,share,same,word,kind", *rows]) + "\n")
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n")
    return tmp_path


def test_moments_are_those_of_numpy():
    rng = np.random.default_rng(1)
    X = rng.normal(1e6, 3, (3000, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 3], X[:7, 2] = 0.1, np.nan
    moments = Moments(4)
    for part in np.array_split(X, [7, 90, 91, 1400]):
        moments.add(part)
    means, spreads, _ = moments.described()
    np.testing.assert_allclose(means, np.nanmean(X, axis=0), rtol=1e-12)
    np.testing.assert_allclose(spreads[:3], np.nanstd(X, axis=0)[:3], rtol=1e-9)
    assert (means[3], spreads[3]) == (0.1, 1.0)  # whose sum is rounded


@pytest.mark.parametrize("cuts", [[1], [1023, 1024], range(1, 2500)])
def test_moments_do_not_depend_on_how_rows_are_cut(cuts):
    X = np.random.default_rng(2).lognormal(0, 3, (2500, 3))
    whole, cut = Moments(3), Moments(3)
    whole.add(X)
    for part in np.split(X, cuts):
        cut.add(part)
    for one, other in zip(whole.described(), cut.described(), strict=True):
        assert one.tolist() == other.tolist()


def test_rows_left_out_count_for_nothing(folder):
    (folder / "d.csv").write_text("x,w,z,kind\n1,p,5,a\n900,o,,b\n3,q,6,a\n800,o,7,\n")
    source = TableSource([folder / "d.csv"], target="kind", missing="drop", scale="standard")
    assert source.recipe()["scale"] == {"x": [2.0, 1.0], "z": [5.5, 0.5]}
    assert source.feature_names == ["x", "z", "w=p", "w=q"]
    with refused(DataError, "bad-option", option="scale"):
        load_table(folder / "d.csv", target="kind", scale="big")


def mixed(folder, rows=700):
    """A table as one Parquet file of small row groups and as three CSV files."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "big": rng.normal(1e5, 7, rows),
            "town": rng.choice(list("cab"), rows),
            "small": rng.random(rows) * 1e-3,
            "size": rng.choice(["XL", "S"], rows),
        }
    )
    score = (table.big - 1e5) / 7 + (table.town == "a") * 2 - 1000 * table.small
    table["y"] = np.where(score > 0.5, "yes", "no")
    pq.write_table(pa.Table.from_pandas(table), folder / "m.parquet", row_group_size=50)
    paths = [folder / f"m{k}.csv" for k in range(3)]
    for path, span in zip(paths, ((0, 1), (1, 300), (300, rows)), strict=True):
        table[slice(*span)].to_csv(path, index=False)
    return table, [folder / "m.parquet"], paths


def test_rows_do_not_depend_on_files_batches_or_memory(folder):
    table, *sources = mixed(folder)
    expected = np.hstack([
        StandardScaler().fit_transform(table[["big", "small"]]),
        OneHotEncoder(sparse_output=False).fit_transform(table[["town", "size"]]),
    ])  # fmt: skip
    how, found = {"target": "y", "scale": "standard"}, []
    for paths in sources:
        for batch_rows, memory in ((None, 1 << 20), (None, 0), (7, 0)):
            source = TableSource(paths, batch_rows=batch_rows, **how)
            source.memory_bytes = memory
            batches = list(source.batches())
            assert {batch.X.shape[1] for batch in batches} == {7}
            found.append(np.vstack([batch.X.toarray() for batch in batches]))
            assert source.feature_names == [
                "big", "small", "town=a", "town=b", "town=c", "size=S", "size=XL"]  # fmt: skip
            last = f"{paths[-1].name} " + ("row 700" if len(paths) == 1 else "row 400")
            assert source.where(699).endswith(last)
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-9)
    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_the_same_model_from_memory_cache_and_stream(folder, monkeypatch):
    _, (path,), _ = mixed(folder)
    how = {"target": "y", "scale": "standard"}
    X, y, _ = load_table(path, **how)
    models = [linsep.Perceptron(keep="average", max_iter=5).fit(X, y)]
    kept = 0
    for memory, cache in ((1 << 20, None), (0, None), (0, folder / "cache"), (0, folder / "cache")):
        source = open_source(path, **how, cache=cache)
        source.memory_bytes = memory
        models.append(linsep.Perceptron(keep="average", max_iter=5).fit(source))
        kept += source.kept is not None
    assert kept == 2
    for model in models[1:]:
        assert np.array_equal(model.coef_, models[0].coef_)
        assert np.array_equal(model.intercept_, models[0].intercept_)
        assert model.recipe_ == models[1].recipe_
    scaled = models[0].predict(X).tolist()
    assert models[-1].predict(open_source(path, recipe=models[-1].recipe_)).tolist() == scaled


def test_reference_levels(folder):
    (folder / "r.csv").write_text("a,x,b,y\nlow,1,u,p\nhigh,2,w,q\nmid,3,v,p\n,4,u,q\n")
    how = {"target": "y", "missing": "zero"}
    X, _, names = load_table(folder / "r.csv", **how, reference_level="first")
    assert names == ["x", "a=low", "a=mid", "b=v", "b=w"]
    assert X.toarray().tolist() == [
        [1, 1, 0, 0, 0], [2, 0, 0, 0, 1], [3, 0, 1, 1, 0], [4, 0, 0, 0, 0]]  # fmt: skip
    source = TableSource([folder / "r.csv"], reference_level={"a": "mid"}, **how)
    assert source.recipe()["reference"] == {"a": "mid", "b": "u"}
    assert source.feature_names == ["x", "a=high", "a=low", "b=v", "b=w"]
    (folder / "new.csv").write_text("a,x,b\nmid,0,t\n")
    new = TableSource(
        [folder / "new.csv"], target=None, recipe=source.recipe(), require_target=False
    )
    assert next(new.batches()).X.toarray().tolist() == [[0, 0, 0, 0, 0]]
    assert new.unseen == {"b": 1}  # a reference level is known
    for level, code in (
        ({"c": "u"}, "unknown-column"),
        ({"a": "hgih"}, "unknown-value"),
        ("last", "bad-option"),
    ):
        with refused(DataError, code):
            load_table(folder / "r.csv", **how, reference_level=level)
    with refused(DataError, "conflict", option="reference_level"):
        load_table(folder / "r.csv", **how, reference_level={"a": "mid"}, hash_bits=3)
    (folder / "one.csv").write_text("a,y\nu,p\nu,q\n")
    with refused(DataError, "no-columns"):
        load_table(folder / "one.csv", target="y", reference_level="first")


def test_commands_scale_and_average_by_themselves(folder):
    fit = ("fit", "t.csv", "--target", "kind", "--max-iter", 30, "--test", "t.csv")
    plain = json.loads(here(*fit, "--json", cwd=folder).stdout)
    said = ("--scale", "standard", "--keep", "average", "--model", "m")
    told = json.loads(here(*fit, *said, "--json", cwd=folder).stdout)
    for summary in (plain, told):
        assert (summary["scale"], summary["keep"]) == ("standard", "average")
        del summary["seconds"], summary["model"]
    assert plain == told
    scored = json.loads(here("score", "m", "t.csv", "--json", cwd=folder).stdout)
    assert scored["accuracy"] == told["training_accuracy"] == told["test"]["accuracy"]
    model = linsep.load(folder / "m")
    assert model.score(open_source(folder / "t.csv", recipe=model.recipe_)) == scored["accuracy"]


@pytest.mark.filterwarnings("ignore:overflow")  # of powers, in weights of Winnow
def test_columns_left_as_they_are(folder):
    fit = ("fit", "t.csv", "--target", "kind", "--max-iter", 30, "--scale", "none")
    assert here(*fit, "--keep", "last", "--model", "m", cwd=folder).returncode == 0
    X, y, _ = load_table(folder / "t.csv", target="kind")
    textbook = linsep.Perceptron(max_iter=30).fit(X, y)
    assert np.array_equal(linsep.load(folder / "m").coef_, textbook.coef_)
    for learner in ("winnow", "linear", "logistic", "naive-bayes"):
        target = "income" if learner == "linear" else "kind"
        fit = ("fit", "t.csv", "--target", target, "--learner", learner)
        assert json.loads(here(*fit, "--json", cwd=folder).stdout)["scale"] == "none"
    assert_refused("fit", "t.svm", "--scale", "standard", cwd=folder, code="conflict")
    assert_refused(*fit, "--scale", "both", cwd=folder, exit_code=2)
