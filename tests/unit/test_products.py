"""Products of columns: their values, names and places, in any batches of any table."""

import json
from zlib import crc32

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import linsep
from linsep import model_files, open_source
from linsep.errors import DataError
from linsep.sources.tables.table import TableSource
from refusals import refused


def people(n=210):
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "x": rng.normal(size=n),
            "z": rng.normal(size=n) * (rng.random(n) < 0.7),
            "f": rng.random(n) < 0.5,
            "city": rng.choice(["Aachen", "Bonn", "Köln"], n),
            "size": rng.choice(["l", "m"], n),
            "a:b": rng.normal(size=n),
        }
    )


PEOPLE = people()
CASES = [["x:z"], ["z:z"], ["x:city"], ["x:z", "x:city", "city:size", "z:size"], ["a:b:x"],
         ["a:b:size"], ["f:city"]]  # fmt: skip
MAIN = ["x", "z", "f", "a:b", "city=Aachen", "city=Bonn", "city=Köln", "size=l", "size=m"]


def features(source):
    """Names and dense rows of a source."""
    parts = [batch.X for batch in source.batches()]
    return source.feature_names, np.vstack([p.toarray() if sp.issparse(p) else p for p in parts])


def expected(products):
    """Names and values of the products, by hand."""
    names, values = [], []
    for product in products:
        cut = next(
            k for k, c in enumerate(product)
            if c == ":" and product[:k] in PEOPLE and product[k + 1 :] in PEOPLE
        )  # fmt: skip
        sides = []
        for name in (product[:cut], product[cut + 1 :]):
            column = PEOPLE[name]
            levels = sorted(set(column)) if name in ("city", "size") else []
            sides.append(
                [(f"{name}={v}", (column == v).to_numpy(float)) for v in levels]
                or [(name, column.to_numpy(float))]
            )
        for one, first in sides[0]:
            for other, second in sides[1]:
                names.append(f"{one}:{other}")
                values.append(first * second)
    return names, np.column_stack(values)


def test_values_and_names():
    for products in CASES:
        names, rows = features(open_source(PEOPLE, target="y", products=products))
        more, values = expected(products)
        assert names == MAIN + more
        assert (rows[:, len(MAIN) :] == values).all()
        plain = features(open_source(PEOPLE, target="y"))
        assert (plain[0], (rows[:, : len(MAIN)] == plain[1]).all()) == (MAIN, True)


def test_batches_recipes_and_files_give_the_same_bits(tmp_path):
    for products in CASES:
        whole = open_source(PEOPLE, target="y", products=products)
        names, rows = features(whole)
        recipe = json.loads(json.dumps(whole.recipe()))
        parts = TableSource([pa.table(PEOPLE)], target="y", products=products, batch_rows=17)
        some = PEOPLE[PEOPLE.city == "Bonn"].iloc[::-1]
        again = open_source(some.drop(columns="y"), recipe=recipe, labeled=False)
        PEOPLE.iloc[:100].to_csv(tmp_path / "1.csv", index=False)
        PEOPLE.iloc[100:].to_csv(tmp_path / "2.csv", index=False)
        files = open_source(tmp_path, target="y", products=products)
        for source, wanted in ((parts, rows), (again, rows[some.index]), (files, rows)):
            found = features(source)
            assert (found[0], (found[1] == wanted).all()) == (names, True)


def test_without_text_rows_are_dense():
    frame = PEOPLE[["y", "x", "z"]]
    source = open_source(frame, target="y", products="x:z")
    (batch,) = source.batches()
    assert source.feature_names == ["x", "z", "x:z"]
    assert (batch.X[:, 2] == frame.x * frame.z).all()


def test_pairs_that_do_not_occur_have_no_feature_and_neither_do_reference_levels():
    frame = PEOPLE[(PEOPLE.city != "Bonn") | (PEOPLE["size"] != "m")]
    source = open_source(frame, target="y", products=["city:size"])
    assert features(source)[0][len(MAIN) :] == [
        "city=Aachen:size=l", "city=Aachen:size=m", "city=Bonn:size=l", "city=Köln:size=l",
        "city=Köln:size=m",
    ]  # fmt: skip
    met = features(open_source(PEOPLE, recipe=source.recipe()))[1]
    pair = (PEOPLE.city == "Bonn") & (PEOPLE["size"] == "m")
    assert (met[pair, len(MAIN) :] == 0).all()
    coded = open_source(
        PEOPLE, target="y", products=["city:size", "x:city"], reference_level="first"
    )
    assert features(coded)[0][4:] == [
        "city=Bonn", "city=Köln", "size=m", "city=Bonn:size=m", "city=Köln:size=m", "x:city=Bonn",
        "x:city=Köln",
    ]  # fmt: skip


def test_values_that_are_unseen_or_rare():
    source = open_source(PEOPLE, target="y", products=["x:city", "city:size"])
    names, _ = features(source)
    other = open_source(PEOPLE.assign(city="Rom"), recipe=source.recipe())
    rows = features(other)[1]
    assert other.unseen == {"city": len(PEOPLE)}
    assert (rows[:, len(MAIN) :] == 0).all()
    few = PEOPLE.assign(city=PEOPLE.city.where(PEOPLE.index > 3, ["p", "q", "p", "r"][0] + "q"))
    names, rows = features(
        open_source(few, target="y", products=["x:city", "city:size"], min_count=10)
    )
    rare = [name for name in names if "rare" in name]
    assert rare[:2] == [rare[0], f"x:{rare[0]}"]
    first = few.city == "pq"
    assert (rows[:, names.index(rare[1])] == few.x * first).all()


def test_scaled_and_filled_numbers_are_multiplied_as_they_are_learned():
    frame = PEOPLE[["y", "x", "z", "city"]].copy()
    frame.loc[3, "x"], frame.loc[5, "city"] = np.nan, None
    source = open_source(
        frame, target="y", products=["x:z", "x:city"], scale="standard", missing="mean"
    )
    names, rows = features(source)
    at = {name: rows[:, k] for k, name in enumerate(names)}
    assert at["x"].std() == pytest.approx(1, abs=0.01)
    assert (at["x:z"] == at["x"] * at["z"]).all()
    assert (at["x:city=Bonn"] == at["x"] * at["city=Bonn"]).all()
    assert (at["x:city=Bonn"][5], at["city=Bonn"][5]) == (0, 0)


def test_hashed_values():
    names = [f"x:city={v}" for v in ("Aachen", "Bonn", "Köln")]
    bits = 12
    source = open_source(PEOPLE, target="y", products=["x:city", "x:z"], hash_bits=bits)
    assert source.feature_names is None
    rows = np.vstack([batch.X.toarray() for batch in source.batches()])
    for name, city in zip(names, ("Aachen", "Bonn", "Köln"), strict=True):
        place = 4 + (crc32(name.encode()) & ((1 << bits) - 1))
        assert (rows[:, place] == PEOPLE.x * (PEOPLE.city == city)).all()
    assert (rows[:, 4 + (crc32(b"x:z") & ((1 << bits) - 1))] == PEOPLE.x * PEOPLE.z).all()


REFUSED = [
    ("x", "bad-option"),
    ("x:", "unknown-column"),
    (3, "bad-option"),
    ("x:zz", "unknown-column"),
    ("x:y", "unknown-column"),
    ("city:city", "duplicate-name"),
]


def test_what_is_no_product_is_refused():
    for product, code in REFUSED:
        with refused(DataError, code):
            open_source(PEOPLE, target="y", products=[product])
    frame = PEOPLE.rename(columns={"a:b": "x:z"})
    with refused(DataError, "duplicate-name"):
        open_source(frame, target="y", products=["x:z"])
    frame = pd.DataFrame({"y": [0, 1], "a": [1, 2], "b:c": [1, 3], "a:b": [2, 1], "c": [4, 3]})
    with refused(DataError, "bad-option", option="products"):
        open_source(frame, target="y", products=["a:b:c"])


def test_models_keep_products(tmp_path):
    model = linsep.fit(PEOPLE, target="y", products=["x:city", "x:z"], learner="logistic")
    model_files.save(model, tmp_path / "m.linsep")
    loaded = linsep.load(tmp_path / "m.linsep")
    wanted = model.predict_proba(PEOPLE)
    assert (loaded.predict_proba(PEOPLE.iloc[::-1]) == wanted[::-1]).all()
    with refused(linsep.exports.ExportError, "unsupported"):
        linsep.export(model, tmp_path / "m.sql")
    for edit in (
        lambda stored: stored["columns"].append("x"), lambda stored: stored.pop("features"),
        lambda stored: stored["columns"].__setitem__(0, "q"),
    ):  # fmt: skip
        recipe = json.loads(json.dumps(model.recipe_))
        edit(recipe["products"][0])
        with refused(DataError, "bad-model-file"):
            open_source(PEOPLE, recipe=recipe)
